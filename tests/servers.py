"""Model servers on the loopback interface, whose answers a test decides."""

import contextlib
import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ChatServer:
    """An OpenAI-compatible server on loopback whose answers a test decides.

    `reply` maps a prompt to a text, a ready body (dict or bytes), a status code, or a status code
    with a body; `encode` compresses what is sent, and `retry_after` goes with refusals, in seconds.
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
                answer = server.reply(body["messages"][0]["content"])
                status = 200
                if isinstance(answer, int):
                    answer = (answer, {"error": {"message": f"status {answer}"}})
                if isinstance(answer, tuple):
                    status, answer = answer
                if isinstance(answer, str):
                    answer = server.completion(answer, body["model"])
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                if server.retry_after and status != 200:
                    self.send_header("Retry-After-Ms", str(1000 * server.retry_after))
                if server.encode:
                    data = server.encode(data)
                    self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Type", "application/json")
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
