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
import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.folder import BODIES
from pytest_miniwob_agent.cassettes.format import checked_clock, checked_screens
from pytest_miniwob_agent.core.app import PageRequest
from pytest_miniwob_agent.core.errors import CassetteError
from pytest_miniwob_agent.core.files import display_path, write_atomically

SCHEMA = 1

LARGEST = 500_000_000
"""Bytes of the largest body that is recorded or read; a small file may hold far more."""

SHOWN = 2_000
"""Characters of a body that is kept to be shown where another one is sent."""


def digest_of(body: bytes) -> str:
    """Return the digest of a body; empty for none."""
    return hashlib.sha256(body).hexdigest()[:32] if body else ""


class Bodies:
    """The bodies below a cassette folder, by their digests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / BODIES

    def file_of(self, digest: str) -> Path:
        """Return the file of a body."""
        return self._folder / f"{digest}.gz"

    def size_of(self, digest: str) -> int:
        """Return the bytes of a body's file; raises as `read` does."""
        self.read(digest)
        return self.file_of(digest).stat().st_size

    def write(self, body: bytes) -> str:
        """Write a body unless it is there, and return its digest; raises an `OSError`."""
        digest = digest_of(body)
        if digest and not self.file_of(digest).exists():
            write_atomically(self.file_of(digest), gzip.compress(body, 9, mtime=0))
        return digest

    def read(self, digest: str) -> bytes:
        """Return a body.

        Raises:
            CassetteError: it is missing, damaged or was changed.
        """
        if not digest:
            return b""
        path = self.file_of(digest)
        try:
            with gzip.open(path) as file:
                body = file.read(LARGEST + 1)
            problem = "" if digest_of(body) == digest else "was changed"
            problem = problem if len(body) <= LARGEST else "is larger than a recording takes"
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
    """A request and its answer on the tape; without a status none is to come, or it has `failed`.

    What comes later has the number `socket`.
    """

    step: int
    kind: str
    method: str
    url: str
    sent: str = ""
    shown: str = ""
    status: int | None = None
    headers: Sequence[tuple[str, str]] = ()
    body: str = ""
    socket: int = 0
    failed: bool = False

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What a request is matched by."""
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
    exchanges: list[Exchange] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    reward: float = 0.0
    questions: int = 0
    made: int = 0


@dataclass(eq=False)
class Traffic:
    """The traffic of an item: origins in the browser, the app's own first, and trials.

    `screens` is the version of the page's screens (`observations.SCREEN_VERSION`), `clock` the
    page's clock at the beginning of each trial, in seconds since 1970 (`core.app.Beginning`),
    `code` has digests of the task's functions by their names (`core.code_digest`), and `allow` is
    the task's.
    """

    origins: list[str]
    trials: list[Trial] = field(default_factory=list)
    screens: int = 1
    clock: float | None = None
    code: dict[str, str] = field(default_factory=dict)
    allow: list[str] = field(default_factory=list)

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
        """Return the traffic as lines of JSON."""
        noted: dict[str, Any] = {"screens": self.screens} if self.screens > 1 else {}
        noted |= {} if self.clock is None else {"clock": self.clock}
        noted |= {"code": self.code} if self.code else {}
        noted |= {"allow": self.allow} if self.allow else {}
        lines: list[Any] = [{"schema": SCHEMA, "origins": self.origins, **noted}]
        known: dict[tuple[tuple[str, str], ...], int] = {}
        count = 0
        for trial in self.trials:
            lines.append({"goal": trial.goal, "start": trial.start})
            for one in trial.exchanges:
                headers = tuple(one.headers)
                line = {
                    "step": one.step, "kind": one.kind, "method": one.method, "url": one.url,
                    "sent": one.sent, "shown": one.shown, "status": one.status,
                    "headers": known.get(headers, [": ".join(pair) for pair in headers]),
                    "body": one.body, "socket": one.socket or None, "failed": one.failed or None,
                }  # fmt: skip
                if headers:
                    known.setdefault(headers, count)
                count += 1
                lines.append(
                    {name: value for name, value in line.items() if value not in ("", None, [])}
                )
            end = {name: getattr(trial, name) for name in ("reward", "questions", "made")}
            lines += [*trial.messages, end]
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)

    @classmethod
    def load(cls, path: Path) -> Traffic:
        """Read the traffic of an item.

        Raises:
            CassetteError: the file can't be read; the message names the line.
        """
        place, known = str(display_path(path)), list[Sequence[tuple[str, str]]]()
        try:
            # Not `splitlines`: texts in JSON may have other ends of lines, such as U+2028.
            first, *others = path.read_text("utf-8").rstrip("\n").split("\n")
            place += ":1"
            head = json.loads(first)
            if head["schema"] != SCHEMA:
                raise ValueError(f"it has schema {head['schema']}, not {SCHEMA}")
            traffic = cls(
                _origins(head),
                screens=checked_screens(head.get("screens", 1)),
                clock=checked_clock(head),
                code=_code(head),
                allow=[re.compile(one).pattern for one in head.get("allow", [])],
            )
            for number, text in enumerate(others, start=2):
                place = f"{display_path(path)}:{number}"
                traffic._add(_checked(json.loads(text)), known)
        except Exception as error:  # noqa: BLE001 - the file may be anybody's
            raise CassetteError(
                f"the traffic {place} can't be read: {error}. Restore it (git "
                f"checkout -- {display_path(path)}), or record the item again"
            ) from None
        return traffic

    def _add(self, line: dict[str, Any], known: list[Sequence[tuple[str, str]]]) -> None:
        """Add a line of the file; `known` are the headers of the exchanges so far."""
        if "goal" in line:
            self.trials.append(Trial(**line))
        elif not self.trials:
            raise ValueError("no trial has begun")
        elif "reward" in line:
            vars(self.trials[-1]).update(line)
        elif "after" in line:
            self.trials[-1].messages.append(line)
        else:
            given = line.pop("headers", [])
            if isinstance(given, int):
                headers = known[given]
            else:
                headers = [tuple(one.split(": ", 1)) for one in given]
            known.append(headers)
            self.trials[-1].exchanges.append(Exchange(headers=headers, **line))


def _origins(head: dict[str, Any]) -> list[str]:
    origins = head["origins"]
    texts = isinstance(origins, list) and all(isinstance(one, str) for one in origins)
    if not (texts and origins and all(re.fullmatch("https?://[^/]+", one) for one in origins)):
        raise ValueError(f"`origins` can't be {json.dumps(origins)}")
    return list(origins)


def _code(head: dict[str, Any]) -> dict[str, str]:
    code = head.get("code", {})
    if not isinstance(code, dict) or not all(isinstance(one, str) for one in code.values()):
        raise ValueError(f"`code` can't be {json.dumps(code)}")
    return dict(code)


def _checked(line: Any) -> dict[str, Any]:
    """Return a line whose fields have values as they are written; raises a `ValueError`."""
    if not isinstance(line, dict):
        raise ValueError("it is no JSON object")
    is_message = "after" in line
    for name, value in line.items():
        if not _fits(name, value, is_message=is_message):
            raise ValueError(f"`{name}` can't be {json.dumps(value)[:80]}")
    needed = {"socket", "type", "at"} if is_message else set()
    needed |= {"headers", "stream", "body"} if is_message and "status" in line else set()
    if missing := sorted(needed - line.keys()):
        raise ValueError(f"`{missing[0]}` is missing")
    if line.get("binary"):
        base64.b64decode(line.get("data", ""), validate=True)
    return line


def _fits(name: str, value: Any, *, is_message: bool) -> bool:
    whole, text = type(value) is int, isinstance(value, str)
    match name:
        case "after" | "made" | "questions" | "retry" | "step" | "turn":
            return whole and value >= 0
        case "code" | "socket" | "stream":
            return whole
        case "status":
            return whole and 0 <= value <= 999
        case "at":
            return (whole or isinstance(value, float)) and abs(value) < math.inf
        case "reward":
            return (whole or isinstance(value, float)) and -1 <= value <= 1
        case "binary" | "failed" | "fatal":
            return isinstance(value, bool)
        case "body" | "sent":
            return text and bool(re.fullmatch("([0-9a-f]{32})?", value))
        case "headers" if is_message:
            pairs = isinstance(value, list) and all(isinstance(one, list) for one in value)
            return pairs and all([type(part) for part in one] == [str, str] for one in value)
        case "headers" if isinstance(value, list):
            return all(isinstance(one, str) and ": " in one for one in value)
        case "headers":
            return whole and value >= 0
        case "data" | "goal" | "kind" | "last" | "method" | "name" | "protocol" | "reason":
            return text
        case "shown" | "start" | "type" | "url":
            return text
    return False
