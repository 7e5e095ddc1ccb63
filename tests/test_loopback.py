"""The server in threads of this process."""

from pytest_miniwob_agent.loopback import LoopbackServer


def test_a_server_that_is_woken_up_while_it_is_closed_ends(monkeypatch):
    server = LoopbackServer(lambda environ, start_response: [], 1)
    trigger = server._server.trigger
    pull = trigger._physical_pull

    def pull_late():
        pull()  # as a request does that ends at this moment
        server._thread.join(0.2)
        pull()

    monkeypatch.setattr(trigger, "_physical_pull", pull_late)
    server.close()
    assert not server._thread.is_alive()
