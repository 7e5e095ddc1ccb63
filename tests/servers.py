"""Model servers on the loopback interface, whose answers a test decides."""

import contextlib
import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.apis import CHAT, api_of, path_of, sse

OTHER_APIS = ("/v1/responses", "/v1/messages")
"""The paths whose answers are no chat completions."""


class ChatServer:
    """An OpenAI-compatible server on loopback whose answers a test decides.

    `reply` maps a prompt to a text or a `Completion`, which is sent in the form of the API of the
    path, as a stream if that is asked for; to a ready body (dict or bytes), a status code, or a
    status code with a body. `encode` compresses what is sent, and `retry_after` goes with refusals,
    in seconds. The prompt is the text of the last message.
    """

    def __init__(self):
        self.reply = lambda prompt: "DONE"
        self.encode = None
        self.retry_after = None
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
                answer = server.reply(server.prompt(self.path, body))
                status, kind = 200, "application/json"
                if isinstance(answer, int):
                    answer = (answer, {"error": {"message": f"status {answer}"}})
                if isinstance(answer, tuple):
                    status, answer = answer
                if isinstance(answer, str | Completion):
                    kind, answer = server.answer(self.path, body, answer)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                if server.retry_after and status != 200:
                    self.send_header("Retry-After-Ms", str(1000 * server.retry_after))
                if server.encode:
                    data = server.encode(data)
                    self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Set-Cookie", "session=secret-cookie")
                with contextlib.suppress(ConnectionError):  # the client may be gone by now
                    self.end_headers()
                    self.wfile.write(data)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def prompt(self, path, body):
        """The prompt of a request: its last message; of text agents, the only one."""
        path = path_of(urlsplit(path).path)
        messages = api_of(CHAT if "messages" in body and path not in OTHER_APIS else path).messages(
            body
        )
        return messages[-1].text

    def answer(self, path, body, said):
        """The content type and the body of an answer that says this."""
        path = path_of(urlsplit(path).path)
        if isinstance(said, str):
            if path not in OTHER_APIS and not body.get("stream"):
                return "application/json", self.completion(said, body["model"])
            said = Completion(said, 11, 3, body.get("model"))
        api = api_of(path)
        answer = api.served(api.answer(said), str(len(self.requests)))
        if not body.get("stream"):
            return "application/json", answer
        stream = sse.write_events(api.events(answer), named=path != CHAT)
        return sse.CONTENT_TYPE, stream.encode()

    def completion(self, text, model="m"):
        return {
            "id": f"chatcmpl-{len(self.requests)}",
            "created": 1_700_000_000 + len(self.requests),
            "object": "chat.completion",
            "model": model,
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text},
                }
            ],
            "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
        }

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class RawServer:
    """A server on loopback that sends the bytes a test gives it, HTTP or not, and hangs up.

    `answer` maps the number of a request, from 1 up, to the pieces that are sent one by one; it may
    wait between them.
    """

    def __init__(self):
        self.answer = lambda number: [b""]
        self.requests = 0
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                length = 0
                while (line := self.rfile.readline()) not in (b"\r\n", b""):
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                self.rfile.read(length)
                server.requests += 1
                with contextlib.suppress(ConnectionError):  # the client may be gone by now
                    for piece in server.answer(server.requests):
                        self.wfile.write(piece)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
