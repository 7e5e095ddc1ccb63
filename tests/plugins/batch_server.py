"""A server on loopback that speaks the part of OpenAI's API which batches need, and can fail."""

import json
import threading
import time
from collections import Counter
from email import message_from_bytes
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from support.answers import completion
from support.servers import LoopbackServer


class BatchServer(LoopbackServer):
    """Files and batches in memory. A batch is worked off when batches are listed.

    `reply` maps a prompt to a text, or to an error as the API words it (dict). `page` is how much a
    list gives at once. `submitted` counts how often each request came into a batch.

    `auto` False leaves batches in progress until `work` ends them. `fail` plans faults.
    """

    def __init__(self, key):
        self.reply = lambda prompt: "DONE"
        self.key = key
        self.page = 2
        self.auto = True
        self.files = {}
        self.batches = {}
        self.submitted = Counter()
        self.calls = []
        self.faults = []
        self.lock = threading.RLock()
        self.clock = int(time.time()) - 1000
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # a body would wait 40 ms behind its headers

            def do_POST(self):
                server.handle(self)

            do_GET = do_POST

            def log_message(self, *args):
                pass

        super().__init__(Handler)

    def fail(self, call, how, *, after=False):
        """Plan a fault for the next call that begins with `call`, such as `POST /v1/batches`.

        `how`: a status, bytes (as HTML), a dict or list (as JSON), or `drop` (the connection). With
        `after`, the call has its effect first.
        """
        self.faults.append((call, how, after))

    def handle(self, http):
        body = http.rfile.read(int(http.headers.get("Content-Length") or 0))
        url = urlsplit(http.path)
        call = f"{http.command} {url.path}"
        with self.lock:
            self.calls.append(call)
            fault = next((fault for fault in self.faults if call.startswith(fault[0])), None)
            if fault:
                self.faults.remove(fault)
            _, how, after = fault or ("", None, True)
            if after:
                status, content = self.answer(http, url.path, parse_qs(url.query), body)
            if fault:
                status, content = 200, how
        if how == "drop":
            http.close_connection = True
            return
        if isinstance(how, int):
            status, content = how, {"error": {"message": f"status {how}"}}
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

    def answer(self, http, path, query, body):
        """Status and content of a call without faults."""
        key = http.headers.get("Authorization", "").removeprefix("Bearer ")
        if key != self.key:
            return 401, {"error": {"message": f"Incorrect API key provided: {key[:6]}***"}}
        match (http.command, *path.removeprefix("/v1/").split("/")):
            case ("POST", "files"):
                return 200, self.upload(http.headers["Content-Type"], body)
            case ("GET", "files"):
                [purpose] = query["purpose"]
                files = [file for file in self.files.values() if file["purpose"] == purpose]
                return 200, self.listed(files, query)
            case ("GET", "files", id_, "content") if id_ in self.files:
                return 200, self.files[id_]["content"]
            case ("POST", "batches"):
                return 200, self.create(json.loads(body))
            case ("GET", "batches"):
                for id_, batch in self.batches.items():
                    if self.auto and batch["status"] == "in_progress":
                        self.work(id_)
                return 200, self.listed(list(self.batches.values()), query)
        return 404, {"error": {"message": f"No such object: {path}"}}

    def listed(self, items, query):
        items = items[::-1]
        after = query.get("after", [None])[0]
        start = next((n for n, item in enumerate(items, start=1) if item["id"] == after), 0)
        stop = start + min(self.page, int(query.get("limit", ["20"])[0]))
        return {"object": "list", "data": items[start:stop], "has_more": stop < len(items)}

    def upload(self, content_type, body):
        head = b"Content-Type: " + content_type.encode() + b"\r\n\r\n"
        parts = {
            part.get_param("name", header="content-disposition"): part
            for part in message_from_bytes(head + body, policy=HTTP).iter_parts()
        }
        purpose, content = (
            parts[name].get_payload(decode=True).decode() for name in ("purpose", "file")
        )
        return self.put(parts["file"].get_filename(), purpose, content)

    def put(self, name, purpose, content):
        self.clock += 1
        id_ = f"file-{len(self.files) + 1}"
        self.files[id_] = {
            "id": id_,
            "bytes": len(content.encode()),
            "created_at": self.clock,
            "filename": name,
            "purpose": purpose,
            "content": content,
        }
        return self.files[id_]

    def create(self, body):
        lines = self.requests(body["input_file_id"])
        assert {line["url"] for line in lines} == {body["endpoint"]}
        assert not any("stream" in line["body"] for line in lines)
        assert {key for line in lines for key in line} == {"custom_id", "method", "url", "body"}
        assert len({line["body"]["model"] for line in lines}) == 1
        self.submitted.update(line["custom_id"] for line in lines)
        self.clock += 1
        id_ = f"batch_{len(self.batches) + 1}"
        self.batches[id_] = body | {
            "id": id_,
            "created_at": self.clock,
            "status": "in_progress",
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
            "output_file_id": None,
            "error_file_id": None,
        }
        return self.batches[id_]

    def requests(self, file):
        return [json.loads(line) for line in self.files[file]["content"].strip().split("\n")]

    def work(self, id_, status="completed", upto=None):
        """End a batch: its first `upto` requests are answered, the others as the API words it."""
        batch = self.batches[id_]
        output, errors = [], []
        for number, request in enumerate(self.requests(batch["input_file_id"])):
            answer = self.reply(request["body"]["messages"][0]["content"])
            line = {"custom_id": request["custom_id"], "response": None, "error": None}
            if upto is not None and number >= upto:
                error = {"code": "batch_expired", "message": f"The batch was {status}."}
                errors.append({**line, "error": error})
            elif isinstance(answer, dict):
                errors.append(line | {"response": {"status_code": 400, "body": {"error": answer}}})
            else:
                body = completion(answer, request["body"]["model"])
                output.append(line | {"response": {"status_code": 200, "body": body}})
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
