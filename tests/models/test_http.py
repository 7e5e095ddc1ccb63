"""The HTTP library of the model's client, where a user's test mocks it."""

import threading

from pytest_miniwob_agent.models.http import PastMocks, httpx


def test_requests_of_other_threads_stay_mocked(chat_server, monkeypatch):
    past_mocks = PastMocks()
    mocked = httpx.Response(200, text="mocked")
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda *_: mocked)
    found = []

    def ask():
        found.append(httpx.get(f"{chat_server.url}/models").status_code)

    with past_mocks():
        ask()
        other = threading.Thread(target=ask)
        other.start()
        other.join()
    ask()
    assert found == [501, 200, 200]  # the server answers no GET
