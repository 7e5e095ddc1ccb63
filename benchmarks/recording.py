"""How many items a minute are recorded by how many workers, and what a worker costs.

    python benchmarks/recording.py [--workers 1 4 8 16] [--seconds N] [--latency SECONDS]

A server on loopback answers each call as the shipped cassettes have it, after 2 seconds. For each
number of workers pytest records the suite of the reflective agent's paper anew, into a temporary
folder. Once every worker has finished an item, finished items and calls are counted for a while;
then the run is ended as by Ctrl-C. Processors in use and memory (PSS: what processes share is
divided among them) are those of the workers and their browsers. A last row replays the same items
with two workers. Linux only: reads /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.format import read_cassette
from pytest_miniwob_agent.core.data import canonical_json

ROOT = Path(__file__).parent.parent
TICKS = os.sysconf("SC_CLK_TCK")
FINISHED = re.compile(r"^\[(gw\d+)\] \[ *\d+%\] ")
"""A line of a verbose run of pytest-xdist: an item is finished."""


class Server(ThreadingHTTPServer):
    """Answers model calls from recorded ones, each after a while."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, answers: dict[str, Any], latency: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.latency = latency
        self.calls = 0
        self.unknown = 0
        self.fallback = next(iter(answers.values()))
        self.mutex = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        request = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.server.latency)
        answer = self.server.answers.get(canonical_json(json.loads(request)))
        with self.server.mutex:
            self.server.calls += 1
            self.server.unknown += answer is None
        self.send_response(200)
        body = json.dumps(answer or self.server.fallback).encode()
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        with contextlib.suppress(ConnectionError):  # the run may have ended
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def recorded_answers() -> dict[str, Any]:
    """The answers of the shipped cassettes of the paper's suite, by their requests.

    Items that asked for the same summary got it in different words, which are in their next
    requests. All of them get the same one here.
    """
    folder = ROOT / "cassettes" / "reflective" / "claude"
    calls = [call for path in folder.rglob("*.yaml") for call in read_cassette(path)]
    texts = [call.key for call in calls]
    answers = [canonical_json(call.answer) for call in calls]
    while True:
        said: dict[str, set[str]] = defaultdict(set)
        for text, answer, call in zip(texts, answers, calls, strict=True):
            if call.origin is not None and call.origin.purpose == "summarise":
                content = json.loads(answer)["choices"][0]["message"]["content"]
                said[text].add(json.dumps(content, ensure_ascii=False)[1:-1])
        changes = [(other, min(same)) for same in said.values() for other in same - {min(same)}]
        if not changes:
            return dict(zip(texts, map(json.loads, answers), strict=True))
        for other, kept in changes:
            texts = [text.replace(other, kept) for text in texts]
            answers = [answer.replace(other, kept) for answer in answers]


def descendants(root: int) -> Iterator[tuple[int, list[str]]]:
    """The processes below one, each with the fields of its `stat` behind its name."""
    stats: dict[int, list[str]] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            stats[int(entry.name)] = fields
            children[int(fields[1])].append(int(entry.name))
    waiting = children[root]
    while waiting:
        pid = waiting.pop()
        waiting += children[pid]
        yield pid, stats[pid]


def use(root: int) -> tuple[float, float]:
    """The processor seconds and MB of everything that runs below the controller of a run."""
    seconds = memory = 0.0
    for pid, fields in descendants(root):
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            shared = re.search(r"^Pss: +(\d+) kB", rollup, re.M)
        except OSError:  # it has just ended
            continue
        if shared:  # of an ended process it is empty
            seconds += (int(fields[11]) + int(fields[12])) / TICKS
            memory += int(shared[1]) / 1000
    return seconds, memory


class Run:
    """A run of the paper's suite in a process of its own, and the lines of finished items."""

    def __init__(self, workers: int, arguments: list[str]) -> None:
        self.finished = 0
        self.seen: set[str] = set()
        self.output: list[str] = []
        # In a fixed random order, so that each worker gets items of all categories.
        command = [
            sys.executable, "-m", "pytest", str(ROOT / "tests/suites/paper.py"), "-v", "-p",
            "randomly", "--randomly-seed=1", "-p", "no:cacheprovider", "-n", str(workers),
            "-o", "miniwob_baseline=", *arguments,
        ]  # fmt: skip
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "OPENAI_API_KEY": "none"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output.append(line)
            if match := FINISHED.match(line):
                self.finished += 1
                self.seen.add(match[1])

    def check(self) -> None:
        """End the benchmark if the run has ended by itself."""
        if self.process.poll() is not None:
            self._thread.join()
            sys.exit("the run ended too soon:\n" + "".join(self.output[-60:]))

    def end(self) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


def measure(name: str, workers: int, arguments: list[str], server: Server, seconds: float) -> None:
    """Print the figures of a run."""
    run = Run(workers, arguments)
    try:
        while len(run.seen) < workers:
            run.check()
            time.sleep(0.05)
        begin, items, calls = time.monotonic(), run.finished, server.calls
        used = [use(run.process.pid)]
        while (elapsed := time.monotonic() - begin) < seconds:
            run.check()
            time.sleep(min(seconds / 5, seconds - elapsed))
            used.append(use(run.process.pid))
        elapsed = time.monotonic() - begin
        items, calls = run.finished - items, server.calls - calls
    finally:
        run.end()
    print(
        f"{name:>9} {60 * items / elapsed:11.1f} {60 * calls / elapsed:11.1f} "
        f"{(used[-1][0] - used[0][0]) / elapsed:10.2f} "
        f"{statistics.median(memory for _, memory in used):8,.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 4, 8, 16])
    parser.add_argument("--seconds", type=float, default=45, help="how long to count each")
    parser.add_argument("--latency", type=float, default=2.0, help="seconds until an answer")
    options = parser.parse_args()
    # A shell that starts this in the background has SIGINT ignored, which runs would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    server = Server(recorded_answers(), options.latency)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("  workers items a min calls a min processors MB (PSS)")
    for workers in options.workers:
        with tempfile.TemporaryDirectory() as folder:
            arguments = [
                "--miniwob-record=new_episodes",
                f"--miniwob-cassettes={folder}",
                f"--miniwob-base-url=http://127.0.0.1:{server.server_port}/v1",
            ]
            measure(str(workers), workers, arguments, server, options.seconds)
    measure("2, replay", 2, [], server, options.seconds)
    print(f"{server.unknown} of {server.calls} calls are not in the shipped cassettes")


if __name__ == "__main__":
    main()
