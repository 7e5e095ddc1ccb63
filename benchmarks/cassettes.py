"""Loading cassettes: ours against those that vcrpy records of the same calls by default.

`python benchmarks/cassettes.py [ROUNDS]` makes the calls of every shipped cassette again, against a
server on this machine that answers what is recorded, with vcrpy's own recording and default YAML
around them. Then it reads both forms in turn and prints the ratio of the medians of processor time:
as vcrpy recorded them, and with the headers taken out, which it has no default for.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import openai
import vcr
from vcr.persisters.filesystem import FilesystemPersister
from vcr.serializers import yamlserializer

from pytest_miniwob_agent.cassettes.format.call import Call, Request
from pytest_miniwob_agent.cassettes.format.file import read_cassette
from pytest_miniwob_agent.models.apis import CHAT

CASSETTES = Path(__file__).parent.parent / "cassettes"


def main(rounds: int) -> None:
    """Record, measure and print."""
    files = sorted(CASSETTES.glob("**/*.yaml"))
    with tempfile.TemporaryDirectory() as folder:
        recorded = [Path(folder, f"{number}.yaml") for number in range(len(files))]
        with server([call for file in files for call in read_cassette(file)]) as url:
            for path, file in zip(recorded, files, strict=True):
                record(path, url, read_cassette(file))
        bare = [path.with_suffix(".bare.yaml") for path in recorded]
        for path, other in zip(recorded, bare, strict=True):
            requests, responses = load(path)
            for request, response in zip(requests, responses, strict=True):
                request.headers, response["headers"] = {}, {}
            data = {"requests": requests, "responses": responses}
            FilesystemPersister.save_cassette(other, data, yamlserializer)
        work: dict[str, Callable[[], object]] = {
            "ours": lambda: [read_cassette(path) for path in files],
            "vcrpy": lambda: [load(path) for path in recorded],
            "vcrpy, no headers": lambda: [load(path) for path in bare],
        }
        seconds: dict[str, list[float]] = {name: [] for name in work}
        for _ in range(rounds):
            for name, each in work.items():
                start = time.process_time()
                each()
                seconds[name].append(time.process_time() - start)
    print(f"{len(files)} cassettes, {rounds} rounds; milliseconds a cassette, and ours to it")
    ours = statistics.median(seconds["ours"])
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"{name:<18} {1000 * median / len(files):.2f}  {ours / median:.2f}")


def load(path: Path) -> tuple[list[vcr.request.Request], list[dict[str, object]]]:
    """Requests and responses of a cassette, as vcrpy reads it by default."""
    requests, responses = FilesystemPersister.load_cassette(path, yamlserializer)
    return requests, responses


def record(path: Path, url: str, calls: list[Call]) -> None:
    """Make the calls with vcrpy recording."""
    client = openai.OpenAI(api_key="none", base_url=url)
    with vcr.use_cassette(str(path), match_on=("body",), allow_playback_repeats=False):
        for call in calls:
            client.post("/chat/completions", body=dict(call.body), cast_to=object)


@contextmanager
def server(calls: list[Call]) -> Iterator[str]:
    """A server that answers every recorded request."""
    answers = {call.key: json.dumps(call.answer).encode() for call in calls}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = answers[Request(CHAT, body).key]
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}/v1"
    http.shutdown()
    http.server_close()
    thread.join()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 20)
