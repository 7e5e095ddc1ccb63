"""Running apps that send without end, not at all, or in a way of their own."""

import contextlib
import socketserver
import threading
import time

import pytest
from support.servers import LoopbackServer, wait_until

from pytest_miniwob_agent import AppTask, PageError
from pytest_miniwob_agent.core.app import PageRequest
from pytest_miniwob_agent.plugins.apps import live_app, live_sockets
from pytest_miniwob_agent.plugins.apps.live_app import LiveApp


@pytest.fixture
def app():
    """The app, of whose answers a megabyte can be recorded; `sent` counts those of the app."""
    sent = []

    class Endless(socketserver.BaseRequestHandler):
        def handle(self):
            kind = self.request.recv(9_000).split()[1].removeprefix(b"/")
            content = {b"lines": b"text/event-stream", b"line": b"text/event-stream"}
            head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n\r\n" % content.get(kind, b"image/png")
            part = b"data: %s\n\n" % (b"x" * 60_000) if kind == b"lines" else bytes(60_000)
            with contextlib.suppress(OSError):
                self.request.sendall(head)
                while len(sent) < 2_000:
                    self.request.sendall(part)
                    sent.append(len(part))

    server = LoopbackServer(Endless)
    task = AppTask("t", app="a", goal="g", solved_when=lambda trial: None)
    address = server.url.removesuffix("/v1")
    app = LiveApp(task, [address], contextlib.nullcontext, largest=1_000_000)
    app.sent = sent
    yield app
    app.close()
    server.close()


def ask(app, kind, path, **more):
    request = PageRequest(kind, "GET", f"http://app.localhost{path}", **more)
    return app.answer(request, lambda: False)


def test_no_more_of_an_answer_is_read_than_a_recording_takes(app):
    with pytest.raises(
        PageError, match=r"GET /x got more bytes than a recording takes \(1,000,000"
    ):
        ask(app, "Image", "/x")
    assert len(app.sent) < 1_000


@pytest.mark.parametrize("path", ["/lines", "/line"])
def test_no_more_of_a_stream_is_read_than_a_recording_takes(app, path):
    assert ask(app, "Fetch", path).socket
    found = []

    def told():
        try:
            app.messages(0, at_once=False)
        except PageError as error:
            found.append(str(error))
        return found

    wait_until(told)
    assert "more bytes than a recording takes" in found[0]
    assert len(app.sent) < 1_000


def test_of_an_app_that_is_never_silent_the_clock_gets_the_rest_once_it_has_gone_on(monkeypatch):
    monkeypatch.setattr(live_sockets, "LONGEST", -1.0)
    inbox, taken = live_sockets.Inbox(str, 1_000), []
    inbox.expect(1, 0, longest=0)
    for data, now in (("one", 0), ("two", 0), ("three", 0), ("four", 1)):
        inbox.put(1, "message", data=data)
        taken.append([message["data"] for message in inbox.take(now)])
    assert taken == [["one"], [], [], ["two", "three", "four"]]


@pytest.fixture
def strange_app():
    """An app that closes, waits, or compresses as nobody has asked it to."""
    over = threading.Event()

    class Strange(socketserver.BaseRequestHandler):
        def handle(self):
            path = self.request.recv(9_000).split()[1]
            if path == b"/slow":
                over.wait()
            elif path == b"/late":
                time.sleep(0.3)
            elif path == b"/packed":
                head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, x-own\r\n"
                self.request.sendall(head + b"Content-Length: 2\r\n\r\nab")

    server = LoopbackServer(Strange)
    task = AppTask("t", app="a", goal="g", solved_when=lambda trial: None)
    app = LiveApp(task, [server.url.removesuffix("/v1")], contextlib.nullcontext)
    yield app
    over.set()
    app.close()
    server.close()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/closed", "GET /closed: .*closed connection without response.*names it by app='a'"),
        ("/slow", "GET /slow: not within 0.1 seconds"),
        ("/packed", r"GET /packed by x-own, which was not asked for: .*urllib3\[brotli,zstd\]"),
    ],
)
def test_a_page_that_an_app_does_not_send_is_an_error(strange_app, path, said, monkeypatch):
    monkeypatch.setattr(live_app, "PATIENCE", 0.1 if path == "/slow" else live_app.PATIENCE)
    with pytest.raises(PageError, match=said):
        ask(strange_app, "Document", path, leads=True)


def test_an_answer_that_does_not_come_later_either_is_a_network_error(strange_app, monkeypatch):
    monkeypatch.setattr(live_app, "PATIENCE", 0.1)
    number = ask(strange_app, "Image", "/late").socket
    found = []
    wait_until(lambda: found.extend(strange_app.messages(0, at_once=True) or ()) or found)
    assert [(one["socket"], one["type"]) for one in found] == [(number, "error")]
    assert found[0]["remark"].startswith("GET /late was a network error for the page")
