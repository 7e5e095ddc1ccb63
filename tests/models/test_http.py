"""The HTTP library of the model's client, where a user's test mocks it."""

import asyncio
import json
import threading

from support.answers import completion

from pytest_miniwob_agent.core.chat import ModelResponse
from pytest_miniwob_agent.models.http import PastMocks, httpx
from pytest_miniwob_agent.models.requests import async_openai_client, openai_client


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


def test_the_client_of_an_item_passes_by_the_cassette_of_a_users_vcrpy(tmp_path):
    import vcr  # takes long

    def post(request):
        return ModelResponse(json.dumps(completion("here")).encode())

    async def post_later(request):
        return post(request)

    ask = {"model": "m", "messages": [{"role": "user", "content": "Where?"}]}
    with vcr.use_cassette(tmp_path / "theirs.yaml", record_mode="none"):
        answers = [openai_client(post, "m").chat.completions.create(**ask)]
        later = async_openai_client(post_later, "m").chat.completions.create(**ask)
        answers.append(asyncio.run(later))
    assert [one.choices[0].message.content for one in answers] == ["here", "here"]
