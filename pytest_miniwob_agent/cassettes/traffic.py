"""The traffic of an app's page: recorded beside the cassette, and replayed without the app.

`1000.traffic.jsonl` has a line for the app (its origins), and for each trial a line that begins it
(goal and start), one per exchange in the order in which the page got the answers, and one that ends
it (the judge's reward). Bodies of answers are below `bodies`, compressed, by their digests; items
share them. Lists of headers that come again are numbers of the exchange that had them first.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pytest_miniwob_agent.cassettes.drift import diff
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.app import AppTask, AppTrial, PageRequest, PageResponse
from pytest_miniwob_agent.core.errors import (
    CassetteError,
    CassetteNotWritten,
    Cause,
    Drift,
    NotRecorded,
    PageError,
)
from pytest_miniwob_agent.core.files import display_path, write_atomically

BODIES = "bodies"
"""The folder of bodies, below the cassette folder."""

TRAFFIC = ".traffic.jsonl"
"""The ending of the file of an item's traffic."""

SCHEMA = 1

_SHOWN = 2_000
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
            body = gzip.decompress(path.read_bytes())
            problem = "" if digest_of(body) == digest else "was changed"
        except FileNotFoundError:
            problem = "is missing"
        except (OSError, EOFError):
            problem = "is damaged"
        if problem:
            raise CassetteError(
                f"the body {display_path(path)} of an app's answer {problem}: restore it (git "
                f"checkout -- {display_path(path)}), or record the item again"
            )
        return body


@dataclass(eq=False)
class Exchange:
    """A request and its answer on the tape; without a status nothing came."""

    step: int
    kind: str
    method: str
    url: str
    sent: str = ""
    shown: str = ""
    status: int | None = None
    headers: Sequence[tuple[str, str]] = ()
    body: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What a request is matched by."""
        return self.method, self.url, self.sent

    def __str__(self) -> str:
        return f"{PageRequest(self.kind, self.method, self.url)} at step {self.step}"


@dataclass(eq=False)
class Trial:
    """A trial on the tape; `reward` came with question `questions`, after so many exchanges."""

    goal: str
    start: str
    exchanges: list[Exchange] = field(default_factory=list)
    reward: float = 0.0
    questions: int = 0


@dataclass(eq=False)
class Traffic:
    """The traffic of an item: origins in the browser, the app's own first, and trials."""

    origins: list[str]
    trials: list[Trial] = field(default_factory=list)

    def dump(self) -> str:
        """Return the traffic as lines of JSON."""
        lines: list[Any] = [{"schema": SCHEMA, "origins": self.origins}]
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
                    "body": one.body,
                }  # fmt: skip
                known.setdefault(headers, count)
                count += 1
                lines.append(
                    {name: value for name, value in line.items() if value not in ("", None)}
                )
            lines.append({"reward": trial.reward, "questions": trial.questions})
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)

    @classmethod
    def load(cls, path: Path) -> Traffic:
        """Read the traffic of an item.

        Raises:
            CassetteError: the file can't be read.
        """
        known: list[Sequence[tuple[str, str]]] = []
        try:
            head, *lines = map(json.loads, path.read_text("utf-8").splitlines())
            if head["schema"] != SCHEMA:
                raise ValueError(f"it has schema {head['schema']}, not {SCHEMA}")
            traffic = cls(head["origins"])
            for line in lines:
                if "goal" in line:
                    traffic.trials.append(Trial(**line))
                elif "reward" in line:
                    last = traffic.trials[-1]
                    last.reward, last.questions = line["reward"], line["questions"]
                else:
                    given = line.pop("headers", [])
                    if isinstance(given, int):
                        headers = known[given]
                    else:
                        headers = [tuple(one.split(": ", 1)) for one in given]
                    known.append(headers)
                    traffic.trials[-1].exchanges.append(Exchange(headers=headers, **line))
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise CassetteError(
                f"the traffic {display_path(path)} can't be read: {error}. Restore it (git "
                f"checkout -- {display_path(path)}), or record the item again"
            ) from None
        return traffic


class Origin(Protocol):
    """What answers live requests."""

    @property
    def origins(self) -> list[str]:
        """The origins in the browser."""

    def answer(self, request: PageRequest) -> PageResponse | None:
        """Answer a request; None if nothing comes."""


class RecordedApp:
    """The app of an item: its tape as long as that goes, or the running app, which is recorded.

    An item is replayed whole, or live whole: `go_live` begins it again with the app.

    Args:
        task: the task.
        seed: the case's seed.
        folder: the cassette folder.
        stem: the item's cassette in it.
        start: starts the app; its value for `setup` and `reward`, and what answers. None for a
            replay alone.
        anew: True to record whatever is on the tape.
    """

    def __init__(
        self,
        task: AppTask,
        seed: int,
        folder: Path,
        stem: str,
        start: Callable[[], tuple[Any, Origin]] | None,
        *,
        anew: bool = False,
    ) -> None:
        self.path = folder / f"{stem}{TRAFFIC}"
        self._task, self._seed, self._start = task, seed, start
        self._bodies = Bodies(folder)
        self._app: tuple[Any, Origin] | None = None
        self._traffic: Traffic | None = None
        self._trial = Trial("", "")
        self._left: list[Exchange] = []  # of the trial, in a replay
        self._number = self._questions = 0
        self._requests: list[PageRequest] = []
        if start is not None and (anew or not self.path.exists()):
            self.go_live()

    @property
    def live(self) -> bool:
        """True if the app runs."""
        return self._app is not None

    @property
    def can_go_live(self) -> bool:
        """True if the episode may begin again with the running app."""
        return not self.live and self._start is not None

    def go_live(self) -> None:
        """Start the app; the episode begins again."""
        assert self._start is not None
        self._app = self._start()
        self.rewind()

    def rewind(self) -> None:
        """Begin the episode again."""
        if self._app is not None:
            self._traffic = Traffic(self._app[1].origins)
        self._number = 0

    def begin_trial(self) -> tuple[str, str, str]:
        """Begin the next trial; its goal, origin, and path of its start."""
        self._questions = 0
        self._requests = []
        goal, start = self._task.goal_of(self._seed), self._task.start_of(self._seed)
        if self._app is not None:
            assert self._traffic is not None
            if self._task.setup is not None:
                self._task.setup(self._app[0], self._seed)
            self._trial = Trial(goal, start)
            self._traffic.trials.append(self._trial)
        else:
            if not self.path.exists():
                raise NotRecorded(f"there is no traffic {display_path(self.path)}")
            self._traffic = self._traffic or Traffic.load(self.path)
            if self._number == len(self._traffic.trials):
                raise self._drift(f"trial {self._number + 1} was not recorded")
            self._trial = self._traffic.trials[self._number]
            self._left = list(self._trial.exchanges)
            for name, now in (("goal", goal), ("start", start)):
                if (recorded := getattr(self._trial, name)) != now:
                    raise self._drift(f"the {name} is {now!r} now, and was {recorded!r}")
        self._number += 1
        return self._trial.goal, self._traffic.origins[0], self._trial.start

    def allows(self, url: str) -> bool:
        """True for an address of the app, or of another origin that the task names."""
        assert self._traffic is not None
        return "/".join(url.split("/")[:3]) in self._traffic.origins

    def answer(self, request: PageRequest, step: int) -> PageResponse | None:
        """Answer a request; raises a `Drift` if it is not on the tape, and as the live app does."""
        self._requests.append(request)
        if self._app is None:
            return self._replay(request, step)
        answer = self._app[1].answer(request)
        text = request.sent[:_SHOWN].decode("utf-8", "replace")
        exchange = Exchange(
            step, request.kind, request.method, request.url, digest_of(request.sent), text
        )
        if answer is not None:
            exchange.status, exchange.headers = answer.status, _kept(answer.headers)
            self._check_secrets(request, exchange, answer)
            try:
                exchange.body = self._bodies.write(answer.body)
            except OSError as error:
                raise CassetteNotWritten(f"an answer can't be kept: {error}") from None
        self._trial.exchanges.append(exchange)
        return answer

    def _replay(self, request: PageRequest, step: int) -> PageResponse | None:
        key = (request.method, request.url, digest_of(request.sent))
        found = next((one for one in self._left if one.key == key), None)
        if found is not None:
            self._left.remove(found)
        elif not request.strict:
            alike = [one for one in self._trial.exchanges if one.key == key]
            if not alike:
                return PageResponse(404)  # only some browsers ask
            found = alike[-1]
        if found is None:
            raise self._not_on_tape(request, step)
        if found.status is None:
            return None
        return PageResponse(found.status, found.headers, self._bodies.read(found.body))

    def judge(self, trial: AppTrial) -> float:
        """Return the reward of the live app's judge, of its tape, or of what the page shows."""
        self._questions += 1
        task, kept = self._task, self._trial
        trial = AppTrial(
            trial.seed, trial.url, trial.observation, trial.answer, trial.downloads, self._requests
        )
        if task.solved_when is not None:
            solved = task.solved_when(trial)
            return 0.0 if solved is None else 1.0 if solved else -1.0
        if self._app is None:
            return kept.reward if kept.reward and self._questions >= kept.questions else 0.0
        assert task.reward is not None
        said = task.reward(self._app[0], trial)
        reward = float(said or 0)
        if not -1 <= reward <= 1:
            raise PageError(
                f"the reward of AppTask {task.name!r} was {said!r}; it is a number from -1 to 1, "
                "and 0 while the task is undecided"
            )
        kept.reward, kept.questions = reward, self._questions
        return reward

    def end_trial(self) -> None:
        """Check that a replayed trial has made all its requests; raises a `Drift`."""
        missing = [one for one in self._left if one.method != "GET" or _is_strict(one)]
        self._left = []
        if missing and not self.live:
            named = "; ".join(map(str, missing))
            raise self._drift(f"of trial {self._number}, not made: {named}")

    def finish(self) -> None:
        """End the episode: check it, and write what was recorded."""
        self.end_trial()
        if self._traffic is None:
            return
        if self._app is None:
            if self._number < len(self._traffic.trials):
                raise self._drift(f"trial {self._number + 1} was not played")
            return
        text = self._traffic.dump()
        if not self.path.exists() or self.path.read_text("utf-8") != text:
            try:
                write_atomically(self.path, text)
            except OSError as error:
                raise CassetteNotWritten(
                    f"{display_path(self.path)} can't be written: {error}"
                ) from None

    def _check_secrets(
        self, request: PageRequest, exchange: Exchange, answer: PageResponse
    ) -> None:
        text = answer.body.decode("utf-8", "replace") if len(answer.body) < 2**20 else ""
        named = dict(exchange.headers)
        if found := secrets.find([request.url, exchange.shown, named, text]):
            raise CassetteError(
                f"{request} holds what looks like a secret ({found[0].kind}), which would be "
                f"stored in {display_path(self.path)}: name it by a regular expression in "
                "AppTask(redact=[...]), and neither the page nor the recording gets it"
            )

    def _not_on_tape(self, request: PageRequest, step: int) -> Drift:
        same = [one for one in self._left if one.key[:2] == (request.method, request.url)]
        if not same:
            return self._drift(f"{request} was made at step {step}, and was not recorded")
        sent = request.sent[:_SHOWN].decode("utf-8", "replace")
        what = f"{request} was made with another body at step {step}"
        return self._drift(what, diff(same[0].shown, sent))

    def _drift(self, what: str, lines: Iterable[str] = ()) -> Drift:
        text = "\n  ".join([f"{display_path(self.path)}: {what}", *lines])
        return Drift(text, [Cause("traffic", what)], [what, *lines])


def _is_strict(exchange: Exchange) -> bool:
    return PageRequest(exchange.kind, exchange.method, exchange.url).strict


def _kept(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return headers without cookies that no script sees: the page goes on without them."""
    return [
        (name, value)
        for name, value in headers
        if not (name.lower() == "set-cookie" and "httponly" in value.lower())
    ]
