"""The traffic of an app's page: recorded beside the cassette, and replayed without the app.

`1000.traffic.jsonl` has a line for the app (its origins, and the page's clock), and for each trial
a line that begins it (goal and start), one per exchange in the order in which the page got the
answers, one per message that came later, by a socket for instance, and one that ends it (the
judge's reward). Bodies of answers are below `bodies`, compressed, by their digests; items share
them. Lists of headers that come again are numbers of the exchange that had them first.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pytest_miniwob_agent.cassettes.folder import BODIES
from pytest_miniwob_agent.cassettes.format import check_version, write_recorded
from pytest_miniwob_agent.core.app import PageRequest, is_time
from pytest_miniwob_agent.core.data import Count, Reward, from_data
from pytest_miniwob_agent.core.errors import CassetteError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.observations import SCREEN_VERSION

SCHEMA = 1

LARGEST = 500_000_000
"""Bytes of the largest body that is recorded or read; a small file may hold far more."""

SHOWN = 2_000
"""Characters of a body that is kept to be shown where another one is sent."""


Digest = Annotated[str, re.compile("([0-9a-f]{32})?").fullmatch]
Header = Annotated[str, lambda line: ": " in line]
Status = Annotated[int, range(1000).__contains__]


def body_digest(body: bytes) -> str:
    """Return the digest of a body; empty for an empty one."""
    return hashlib.sha256(body).hexdigest()[:32] if body else ""


class Bodies:
    """The bodies below a cassette folder, by their digests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / BODIES

    def path(self, digest: str) -> Path:
        return self._folder / f"{digest}.gz"

    def size(self, digest: str) -> int:
        """Return the bytes of a body's file; raises as `read` does."""
        self.read(digest)
        return self.path(digest).stat().st_size

    def write(self, body: bytes) -> str:
        """Write a body unless it is there, and return its digest; raises as `write_recorded`."""
        digest = body_digest(body)
        if digest and not self.path(digest).exists():
            write_recorded(self.path(digest), gzip.compress(body, 9, mtime=0))
        return digest

    def read(self, digest: str) -> bytes:
        """Return a body.

        Raises:
            CassetteError: it is missing, damaged or was changed.
        """
        if not digest:
            return b""
        path = self.path(digest)
        try:
            with gzip.open(path) as file:
                body = file.read(LARGEST + 1)
            problem = "" if body_digest(body) == digest else "was changed"
            problem = problem if len(body) <= LARGEST else "is too large for a recording"
        except FileNotFoundError:
            problem = "is missing"
        except (OSError, EOFError, zlib.error):
            problem = "is damaged"
        if problem:
            raise CassetteError(
                f"the body {display_path(path)} of an app's answer {problem}: restore it (git "
                f"checkout -- {display_path(path)}), or record the item again"
            )
        return body


@dataclass(eq=False)
class Exchange:
    """A request and its answer on the tape; without a status no answer comes, or it has `failed`.

    What comes later has the number `socket`. A `phrase` is not the usual one of the status.
    """

    step: Count
    kind: str
    method: str
    url: str
    sent: Digest = ""
    shown: str = ""
    status: Status | None = None
    headers: Sequence[tuple[str, str]] = ()
    body: Digest = ""
    socket: int = 0
    failed: bool = False
    phrase: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.method, self.url, self.sent, max(self.socket, 0)

    @property
    def request(self) -> PageRequest:
        """The request, without what was sent."""
        return PageRequest(self.kind, self.method, self.url)

    def __str__(self) -> str:
        return f"{self.request} at step {self.step}"


@dataclass(eq=False)
class Trial:
    """A trial on the tape; `reward` came with question `questions`, after `made` exchanges.

    A message came once the page had made `after` strict requests, at the instant `at` of its clock,
    when it had asked `turn` times since then whether one has come.
    """

    goal: str
    start: str
    exchanges: list[Exchange] = field(default_factory=list, init=False)
    messages: list[dict[str, Any]] = field(default_factory=list, init=False)
    reward: Reward = 0.0
    questions: Count = 0
    made: Count = 0


@dataclass
class _Message:
    """A line of a message; with a status, it is an answer that came late."""

    socket: int
    type: str
    at: float
    after: Count
    turn: Count = 0
    body: Digest = ""
    data: str = ""
    binary: bool = False
    name: str = ""
    last: str = ""
    retry: Count = 0
    fatal: bool = False
    protocol: str = ""
    code: int = 0
    reason: str = ""
    status: Status = 0
    headers: list[Annotated[list[str], lambda pair: len(pair) == 2]] = field(default_factory=list)
    stream: int = 0
    phrase: str = ""


@dataclass(eq=False)
class Traffic:
    """The traffic of an item: origins in the browser, the app's own first, and trials.

    `screens` is the version of the page's screens (`observations.SCREEN_VERSION`), `clock` the
    page's clock at the beginning of each trial, in seconds since 1970 (`core.app.Beginning`),
    `code` has digests of the task's functions by their names (`core.code_digest`), and `allow` is
    the task's.
    """

    origins: Annotated[list[Annotated[str, re.compile("https?://[^/]+").fullmatch]], bool]
    trials: list[Trial] = field(default_factory=list, init=False)
    screens: int = 1
    clock: Annotated[float, is_time] | None = None
    code: dict[str, str] = field(default_factory=dict)
    allow: list[Annotated[str, re.compile]] = field(default_factory=list)

    @property
    def bodies(self) -> dict[str, str]:
        """What each body came with, by its digest."""
        found: dict[str, str] = {}
        for number, trial in enumerate(self.trials, start=1):
            found |= {one.body: f"the answer to {one}" for one in trial.exchanges if one.body}
            for count, message in enumerate(trial.messages, start=1):
                if "body" in message:
                    found[message["body"]] = f"message {count} of trial {number}"
        return found

    def dump(self) -> str:
        # Fields that are as by default are left out.
        plain = vars(Traffic([])) | {"trials": self.trials}
        noted = {name: value for name, value in vars(self).items() if value != plain[name]}
        lines: list[Any] = [{"schema": SCHEMA, **noted}]
        known: dict[tuple[tuple[str, str], ...], int] = {}
        count = 0
        for trial in self.trials:
            lines.append({"goal": trial.goal, "start": trial.start})
            for one in trial.exchanges:
                line = {k: v for k, v in vars(one).items() if v not in (vars(Exchange).get(k), [])}
                if headers := tuple(one.headers):
                    line["headers"] = known.get(headers, [": ".join(pair) for pair in headers])
                    known.setdefault(headers, count)
                count += 1
                lines.append(line)
            end = {name: getattr(trial, name) for name in ("reward", "questions", "made")}
            lines += [*trial.messages, end]
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)

    @classmethod
    def load(cls, path: Path) -> Traffic:
        """Read the traffic of an item.

        Raises:
            CassetteError: the file can't be read; the message names the line.
        """
        file, place, known = display_path(path), "", list[Sequence[tuple[str, str]]]()
        try:
            # Not splitlines(): strings in JSON may have other ends of lines, such as U+2028.
            first, *others = path.read_text("utf-8").rstrip("\n").split("\n")
            place = ":1"
            head = from_data(dict[str, Any], json.loads(first))
            check_version("schema", head.pop("schema", None), SCHEMA)
            traffic = from_data(cls, head)
            check_version("version of screens", traffic.screens, SCREEN_VERSION)
            for number, text in enumerate(others, start=2):
                place = f":{number}"
                traffic._add(from_data(dict[str, Any], json.loads(text)), known)
        except Exception as error:  # noqa: BLE001 - the file may be anybody's
            raise CassetteError(
                f"the traffic {file}{place} can't be read: {error}. Restore it (git checkout -- "
                f"{file}), or record the item again"
            ) from None
        return traffic

    def _add(self, line: dict[str, Any], known: list[Sequence[tuple[str, str]]]) -> None:
        """Add a line of the file; `known` are the headers of the exchanges so far."""
        if "goal" in line:
            self.trials.append(from_data(Trial, line))
        elif not self.trials:
            raise ValueError("no trial has begun")
        elif "reward" in line:
            end = vars(from_data(Trial, {"goal": "", "start": "", **line}))
            vars(self.trials[-1]).update((name, end[name]) for name in line)
        elif "after" in line:
            from_data(_Message, line)
            needed = {"body", "headers", "stream"} if "status" in line else set()
            if missing := needed - line.keys():
                raise ValueError(f"`{min(missing)}` is missing")
            if line.get("binary"):
                base64.b64decode(line.get("data", ""), validate=True)
            self.trials[-1].messages.append(line)
        else:
            given = line.pop("headers", [])
            exchange = from_data(Exchange, line)
            if type(given) is int and 0 <= given < len(known):
                exchange.headers = known[given]
            else:
                parts = (one.partition(": ") for one in from_data(list[Header], given, "headers"))
                exchange.headers = [(name, value) for name, _, value in parts]
            known.append(exchange.headers)
            self.trials[-1].exchanges.append(exchange)
