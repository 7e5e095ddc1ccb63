"""A server on loopback that speaks the part of OpenAI's API which batches need, and can fail."""

import contextlib
import json
import threading
import time
from collections import Counter
from email import message_from_bytes
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Gate:
    """A fault: the response is held back until the test, or the end of it, lets it go."""

    def __init__(self):
        self.reached = threading.Event()
        self.opened = threading.Event()


class BatchServer:
    """Files and batches in memory. A batch is worked off when batches are listed.

    `reply` maps a prompt to a text, or to an error as the API words it (dict). `page` is how much a
    list gives at once. `submitted` counts how often each request came into a batch.

    `auto` False leaves batches in progress until `work` ends them. `fail` plans faults.
    """

    def __init__(self, key=None):
        self.reply = lambda prompt: "DONE"
        self.key = key
        self.page = 2
        self.auto = True
        self.files = {}
        self.batches = {}
        self.submitted = Counter()
        self.calls = []
        self.faults = []
        self.gates = []
        self.lock = threading.RLock()
        self.connections = 0
        self.counted = threading.Condition()
        self.clock = int(time.time()) - 1000
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # a body would wait 40 ms behind its headers

            def setup(self):
                super().setup()
                server.count_connection(1)

            def finish(self):
                super().finish()
                server.count_connection(-1)

            def do_POST(self):
                server.handle(self, "POST")

            def do_GET(self):
                server.handle(self, "GET")

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    def close(self):
        for gate in self.gates:
            gate.opened.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def count_connection(self, change):
        with self.counted:
            self.connections += change
            self.counted.notify_all()

    def wait_until_left(self, seconds=30):
        """Wait until no client is connected; return False if one still is."""
        with self.counted:
            return self.counted.wait_for(lambda: self.connections == 0, seconds)

    def fail(self, call, how, *, after=False, times=1):
        """Plan a fault for the next calls that begin with `call`, such as `POST /v1/batches`.

        `how`: a status, bytes (as HTML), a dict or list (as JSON), `drop` (the connection), or a
        `Gate`. With `after`, the call has its effect first; behind
        a gate it has it otherwise when the gate opens.
        """
        if isinstance(how, Gate):
            self.gates.append(how)
        self.faults += [(call, how, after)] * times
        return how

    def handle(self, http, method):
        body = http.rfile.read(int(http.headers.get("Content-Length") or 0))
        path = urlsplit(http.path).path
        with self.lock:
            call = f"{method} {path}"
            self.calls.append(call)
            fault = next((fault for fault in self.faults if call.startswith(fault[0])), None)
            if fault:
                self.faults.remove(fault)
            _, how, after = fault or ("", None, False)
            result = None if fault and not after else self.answer(http, method, path, body)
        if isinstance(how, Gate):
            how.reached.set()
            how.opened.wait()
            if not after:
                with self.lock:
                    result = self.answer(http, method, path, body)
        with contextlib.suppress(ConnectionError):  # the client may be gone by now
            if how == "drop":
                http.close_connection = True
                return
            status, content = result or (200, {})
            if isinstance(how, int):
                status, content = how, {"error": {"message": f"status {how}"}}
            elif isinstance(how, bytes | dict | list):
                content = how
            self.send(http, status, content)

    def send(self, http, status, content):
        kind = "text/html" if isinstance(content, bytes) else "application/json"
        if isinstance(content, str):
            kind, content = "application/octet-stream", content.encode()
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        http.send_response(status)
        http.send_header("Content-Type", kind)
        http.send_header("Content-Length", str(len(data)))
        http.send_header("retry-after-ms", "1")
        http.end_headers()
        http.wfile.write(data)

    def answer(self, http, method, path, body):
        """Status and content of a call without faults."""
        key = http.headers.get("Authorization", "").removeprefix("Bearer ")
        if not key or self.key not in (None, key):
            return 401, {"error": {"message": f"Incorrect API key provided: {key[:6]}***"}}
        match (method, *path.removeprefix("/v1/").split("/")):
            case ("POST", "files"):
                return self.upload(http.headers["Content-Type"], body)
            case ("GET", "files"):
                query = parse_qs(urlsplit(http.path).query)
                [purpose] = query["purpose"]
                files = [file for file in self.files.values() if file["purpose"] == purpose]
                return self.listed(files, query)
            case ("GET", "files", id_, "content") if id_ in self.files:
                return 200, self.files[id_]["content"]
            case ("POST", "batches"):
                return self.create(json.loads(body))
            case ("GET", "batches"):
                for id_, batch in self.batches.items():
                    if self.auto and batch["status"] == "in_progress":
                        self.work(id_)
                query = parse_qs(urlsplit(http.path).query)
                return self.listed(list(self.batches.values()), query)
        return 404, {"error": {"message": f"No such object: {path}"}}

    def listed(self, items, query):
        items = [{k: v for k, v in item.items() if k != "content"} for item in reversed(items)]
        after = query.get("after", [None])[0]
        start = next((n for n, item in enumerate(items, start=1) if item["id"] == after), 0)
        stop = start + min(self.page, int(query.get("limit", ["20"])[0]))
        return 200, {"object": "list", "data": items[start:stop], "has_more": stop < len(items)}

    def upload(self, content_type, body):
        message = message_from_bytes(
            b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body, policy=HTTP
        )
        parts = {
            part.get_param("name", header="content-disposition"): part
            for part in message.iter_parts()
        }
        return 200, self.put(
            parts["file"].get_filename(),
            parts["purpose"].get_payload(decode=True).decode(),
            parts["file"].get_payload(decode=True).decode(),
        )

    def put(self, name, purpose, content):
        self.clock += 1
        id_ = f"file-{len(self.files) + 1}"
        self.files[id_] = {
            "id": id_,
            "object": "file",
            "bytes": len(content.encode()),
            "created_at": self.clock,
            "filename": name,
            "purpose": purpose,
            "status": "processed",
            "content": content,
        }
        return {k: v for k, v in self.files[id_].items() if k != "content"}

    def create(self, body):
        lines = self.requests(body["input_file_id"])
        assert {line["url"] for line in lines} == {body["endpoint"]}
        assert not any("stream" in line["body"] for line in lines)
        assert body["completion_window"] == "24h"
        assert len({line["body"]["model"] for line in lines}) == 1
        self.submitted.update(line["custom_id"] for line in lines)
        self.clock += 1
        id_ = f"batch_{len(self.batches) + 1}"
        self.batches[id_] = {
            "id": id_,
            "object": "batch",
            "endpoint": body["endpoint"],
            "completion_window": body["completion_window"],
            "input_file_id": body["input_file_id"],
            "created_at": self.clock,
            "status": "in_progress",
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
            "output_file_id": None,
            "error_file_id": None,
        }
        return 200, self.batches[id_]

    def requests(self, file):
        return [json.loads(line) for line in self.files[file]["content"].strip().split("\n")]

    def work(self, id_, status="completed", upto=None):
        """End a batch: its first `upto` requests are answered, the others as the API words it."""
        batch = self.batches[id_]
        output, errors = [], []
        for number, request in enumerate(self.requests(batch["input_file_id"])):
            answer = self.reply(request["body"]["messages"][0]["content"])
            line = {"id": f"batch_req_{number}", "custom_id": request["custom_id"]}
            if upto is not None and number >= upto:
                error = {"code": "batch_expired", "message": f"The batch was {status}."}
                errors.append({**line, "response": None, "error": error})
            elif isinstance(answer, dict):
                response = {"status_code": 400, "request_id": "r", "body": {"error": answer}}
                errors.append({**line, "response": response, "error": None})
            else:
                completion = {
                    "id": f"chatcmpl-{number}",
                    "object": "chat.completion",
                    "model": request["body"]["model"],
                    "choices": [{"index": 0, "message": {"role": "assistant", "content": answer}}],
                }
                response = {"status_code": 200, "request_id": "r", "body": completion}
                output.append({**line, "response": response, "error": None})
        output.reverse()  # the API promises no order
        for field, lines in ("output_file_id", output), ("error_file_id", errors):
            if lines:
                text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
                batch[field] = self.put(f"{id_}.jsonl", "batch_output", text)["id"]
        batch["request_counts"] |= {"completed": len(output), "failed": len(errors)}
        batch["status"] = status

    def refuse(self, id_, message):
        """Fail a batch as a whole, before any of its requests was answered."""
        error = {"code": "invalid", "message": message, "line": None, "param": None}
        self.batches[id_]["status"] = "failed"
        self.batches[id_]["errors"] = {"object": "list", "data": [error]}
