"""Model servers on the loopback interface, whose answers a test decides."""

import contextlib
import http.client
import json
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote, urlsplit

from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.apis import CHAT, find_api, recorded_path
from pytest_miniwob_agent.models.bodies import EVENT_STREAM
from support.answers import completion


class LoopbackServer:
    """A server on a free port, with a thread per connection, until it is closed."""

    def __init__(self, handler):
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        serve = self._server.serve_forever
        self._thread = threading.Thread(target=serve, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class ChatServer(LoopbackServer):
    """An OpenAI-compatible server whose answers a test decides.

    `reply` maps the text of the last message to a text or a `Completion`, which is sent in the form
    of the API of the path, as a stream if that is asked for; to a ready body (dict or bytes), a
    status code, or a status code with a body.
    """

    def __init__(self):
        self.reply = lambda prompt: "DONE"
        self.encode = None  # compresses what is sent
        self.kind = None  # the content type of ready bodies
        self.retry_after = None  # seconds, which go with refusals
        self.requests = []
        self.headers = []
        self.paths = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(body)
                server.paths.append(self.path)
                server.headers.append({k.lower(): v for k, v in self.headers.items()})
                with contextlib.suppress(ConnectionError):  # the client may be gone by now
                    server.send(self, *server.response(self.path, body))

            def log_message(self, *args):
                pass

        super().__init__(Handler)

    def response(self, url, body):
        """Return status, content type and content of the answer to a request."""
        path = recorded_path(urlsplit(url).path)
        api = find_api(path)
        other = api.path not in ("", CHAT)  # its answers are no chat completions
        read_as = CHAT if "messages" in body and not other else path
        answer = self.reply(find_api(read_as).messages(body)[-1].text)
        status, kind = 200, self.kind or "application/json"
        if isinstance(answer, int):
            answer = (answer, {"error": {"message": f"status {answer}"}})
        if isinstance(answer, tuple):
            status, answer = answer
        streams = api.streams(path, body)
        plain = not other and not streams
        if isinstance(answer, str) and plain:
            answer = self.completion(answer, body["model"])
        elif isinstance(answer, str):
            answer = Completion(answer, 11, 3, body.get("model"))
        if isinstance(answer, Completion):
            answer = api.served(api.answer(answer), str(len(self.requests)))
            if streams:
                kind, answer = EVENT_STREAM, api.stream(answer).encode()
        return status, kind, answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    def send(self, handler, status, kind, content):
        headers = {"Content-Type": kind, "Set-Cookie": "session=secret-cookie"}
        if self.retry_after and status != 200:
            headers["Retry-After-Ms"] = 1000 * self.retry_after
        if self.encode:
            content = self.encode(content)
            headers["Content-Encoding"] = "gzip"
        handler.send_response(status)
        for name, value in (headers | {"Content-Length": len(content)}).items():
            handler.send_header(name, str(value))
        handler.end_headers()
        handler.wfile.write(content)

    def completion(self, text, model="m"):
        """A chat completion with a number of its own."""
        number = len(self.requests)
        return completion(text, model) | {"id": f"chatcmpl-{number}", "created": 1_700_000_000}


class WireServer(LoopbackServer):
    """A server of any API.

    `answers` maps a path to content type, content, and maybe a status; or to a function that
    returns them for the body of a request.
    """

    def __init__(self):
        self.answers = {}
        self.requests = []  # triples of path, headers and body
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.requests.append((self.path, headers, body))
                answer = server.answers[unquote(urlsplit(self.path).path)]
                answer = answer(json.loads(body)) if callable(answer) else answer
                kind, content, *status = answer
                self.send_response(*(status or [200]))
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args):
                pass

        super().__init__(Handler)
        self.root = self.url.removesuffix("/v1")


class RawServer(LoopbackServer):
    """A server that sends the bytes a test gives it, HTTP or not, and hangs up.

    `answer` maps the number of a request, from 1 up, to the pieces that are sent one by one; it may
    wait between them.
    """

    def __init__(self):
        self.answer = lambda number: [b""]
        self.requests = 0
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                self.rfile.readline()
                headers = http.client.parse_headers(self.rfile)
                self.rfile.read(int(headers.get("Content-Length", 0)))
                server.requests += 1
                with contextlib.suppress(ConnectionError):  # the client may be gone by now
                    for piece in server.answer(server.requests):
                        self.wfile.write(piece)

        super().__init__(Handler)


def wait_until(condition, say=str):
    """Wait until a condition holds; `say` describes what was waited for."""
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end, say()
        time.sleep(0.05)
