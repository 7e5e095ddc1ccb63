"""The recording of one item: its tape, and the files that the tape is read from and kept in.

Every call is written at once into an unfinished recording beside the cassette. Only the end of the
item changes the cassette, so an interrupted recording loses no completion; see `files`.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.cassettes.drift import drift_of_call, drift_of_unused_calls
from pytest_miniwob_agent.cassettes.files import ItemFiles, Pictures, without
from pytest_miniwob_agent.cassettes.folder import other_models
from pytest_miniwob_agent.cassettes.tape import Call, Request, Tape, batch_id, usage_of
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.chat import Usage
from pytest_miniwob_agent.core.data import changed_parts
from pytest_miniwob_agent.core.errors import CassetteError, NotRecorded, Pending, UsageError
from pytest_miniwob_agent.core.events import OF_TEST, Origin
from pytest_miniwob_agent.core.files import display_path, write_atomically
from pytest_miniwob_agent.core.text import listed
from pytest_miniwob_agent.pictures.references import FOLDER

if TYPE_CHECKING:
    from filelock import BaseFileLock


Normalize = Callable[[dict[str, Any]], Mapping[str, Any]]
"""An agent's `normalize`: gets a copy of a request's body, returns it as it is to be matched."""


class Record(StrEnum):
    """The modes of recording (`--miniwob-record`)."""

    NONE = "none"
    NEW_EPISODES = "new_episodes"
    ALL = "all"
    DEFER = "defer"


class Recording:
    """The recording of one item, for several threads; no other process records it until `close`.

    Args:
        folder: the cassette folder.
        stem: the item's cassette in it.
        mode: the mode of recording.
        state: the project's folder `.miniwob`, for locks, unused calls, and pictures that no
            cassette has; None to lock nothing, to keep no pictures, and for one below `folder`.
        run: a folder that the processes of this run share; None if no other test has the item.
        normalize: the agent's; None if it has none.
        on_wait: is told that another process has the item for long.

    Attributes:
        remarks: what the user must know about the item's files.
        writes: True if calls may be added, dropped or changed.
        live: True if a call that is not recorded may go to the server.
        unusable: the usage of answers that were paid for and are not recorded, by reason.

    Raises:
        CassetteError: a file can't be read as a cassette, or this process has it open already.
    """

    def __init__(
        self,
        folder: Path,
        stem: str,
        mode: Record,
        *,
        state: Path | None = None,
        run: Path | None = None,
        normalize: Normalize | None = None,
        on_wait: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._normalize = normalize
        self._pictures = Pictures(folder, state and state / FOLDER)
        self._files = ItemFiles(folder, stem, state or folder / ".miniwob")
        self.path = self._files.cassette
        self.partial_path = self._files.partial
        self.stem = stem
        self.remarks: list[str] = []
        self.unusable: dict[str, Usage] = {}
        self._mutex = threading.RLock()
        self._recorded: list[Call] = []
        self._episode_ended = False
        self._done_in_run = run and run / "recorded" / self._files.id
        self._lock: BaseFileLock | None = None
        if state is not None and mode is not Record.NONE:
            self._lock = self._files.lock(on_wait)
        try:
            self._existed = self.path.exists()
            if mode is Record.ALL and self._done_in_run is not None and self._done_in_run.exists():
                mode = Record.NEW_EPISODES  # another test of this run has paid for the item
            self.mode = mode
            self.writes = mode is not Record.NONE
            self.live = self.writes and mode is not Record.DEFER
            self.tape = self._load()
        except BaseException:
            self.close()
            raise

    def _load(self) -> Tape:
        """Return the calls to replay: those of an unfinished recording, then the cassette's."""
        anew = self.mode is Record.ALL
        self._stored = [] if anew else self._files.read()
        self._unused: list[Call] = []
        if not self.writes:
            return Tape(self._stored, alike=self._pictures.are_alike)
        partial, self.remarks = self._files.take_up(all_anew=anew)
        calls = [*partial, *without(self._stored, partial)]
        unused = without(self._files.read_unused(), calls)
        if anew:  # asks for everything again, and keeps what it has
            self._unused, unused = unused, []
        return Tape(calls, unused, self._pictures.are_alike)

    def close(self) -> None:
        """Let others record the item."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def calls(self) -> Sequence[Call]:
        """All calls: those of this run in their order, then those that were not made."""
        return self.tape.calls

    @property
    def replayed(self) -> Usage:
        """The calls that were answered from the file."""
        return usage_of(call for call in self.tape.made if call not in self._recorded)

    @property
    def recorded(self) -> Usage:
        """The calls that were answered by a server."""
        return usage_of(self._recorded)

    @property
    def left(self) -> Usage:
        """The episode's recorded calls that were not made, with estimates for missing counts."""
        return usage_of((call for call in self.tape.left if not call.of_test), estimate=True)

    def rewind(self) -> None:
        """Replay the episode from the start again, with the calls that are recorded by now."""
        with self._mutex:
            self.tape.rewind()

    def for_replay(self) -> Recording:
        """Return the same recording at its episode's start, which writes nothing."""
        other = copy.copy(self)
        other.mode, other.writes, other.live = Record.NONE, False, False
        other.tape = Tape(self.tape.calls, alike=self._pictures.are_alike)
        return other

    @contextmanager
    def making(self, origin: Origin) -> Iterator[int]:
        """Make one call, whose number in the tape this yields."""
        with self._mutex:
            number = self.tape.begin(origin)
        try:
            yield number
        finally:
            with self._mutex:
                self.tape.end(number)

    def request_of(self, path: str, body: Any) -> Request:
        """Return a request as it is matched and stored: normalized, with references to pictures.

        Raises:
            UsageError: the agent's `normalize` does not return JSON.
        """
        request = Request(path, body)
        if self._normalize is not None:
            changed: Any = self._normalize(copy.deepcopy(body))
            try:
                changed = json.loads(json.dumps(dict(changed), allow_nan=False))
            except (TypeError, ValueError) as error:
                raise UsageError(
                    f"the agent's normalize() must return the body of a request, as JSON: {error}"
                ) from None
            request = Request(path, changed, tuple(changed_parts(body, changed)))
        return replace(request, body=self._pictures.take_out(request.body))

    def play(self, request: Request, origin: Origin = OF_TEST, number: int = 0) -> Call | None:
        """Return the recorded call that answers a request, or None; each is played once."""
        with self._mutex:
            call = self.tape.play(request, number)
            if call is None:
                return None
            for digest in set(request.pictures).difference(call.request.pictures):
                self._pictures.path_of(digest)  # keeps it: it only looks like the recorded one
            if self.writes:
                call.origin, call.written = origin, ""
                if request.normalized != call.request.normalized:
                    call.request = request
            return call

    def add(self, request: Request, answer: Any, origin: Origin = OF_TEST, number: int = 0) -> Call:
        """Record a call that was just made, and write the file; raises as `write_cassette` does."""
        call = Call(request, answer, origin)
        with self._mutex:
            self._save([*self.tape.made, call, *self.tape.left])
            self.tape.add(call, number)
            self._recorded.append(call)
        return call

    def add_for_next_run(self, request: Request, answer: Any) -> None:
        """Record a call that the next run will make, as `add` does."""
        call = Call(request, answer)
        with self._mutex:
            self._save([*self.calls, call])
            self.tape.left.append(call)

    def _save(self, calls: Sequence[Call], rescue: Path | None = None) -> Path:
        self._pictures.write(calls, rescue)
        return self._files.save(calls, all_anew=self.mode is Record.ALL, rescue=rescue)

    def rescue(self, request: Request, answer: Any, origin: Origin, folder: Path) -> Path:
        """Write the recording, with a call that `add` could not keep, below another folder."""
        with self._mutex:
            calls = [*self.tape.made, Call(request, answer, origin), *self.tape.left]
            return self._save(calls, rescue=folder)

    def add_unusable(self, reason: str, usage: Usage) -> None:
        """Count an answer that was paid for and can't be used."""
        with self._mutex:
            self.unusable[reason] = self.unusable.get(reason, Usage()) + usage

    def end_episode(self, limits: Limits) -> None:
        """End the episode, after which the test may make further calls; raises as `finish` does."""
        self._episode_ended = True
        if not self.writes:
            self._check_made([call for call in self.tape.left if not call.of_test], limits)

    def finish(self, limits: Limits, *, passed: bool | None = True) -> None:
        """End the item: write the cassette, and beside it the calls that were not made.

        Calls beyond the limits stay in the cassette, unless other calls were recorded. If the test
        failed (`passed` is False), its calls outside of the episode stay; if it broke off (None)
        without a whole episode, the recording stays unfinished.

        Raises:
            Drift: recorded calls were not made, and the cassette may not be changed.
        """
        if passed is None and not self._episode_ended:
            return
        with self._mutex:
            if self.writes:
                self._write(limits, bool(passed))
            elif passed:
                self._check_made(self.tape.left, limits)

    def _check_made(self, calls: Sequence[Call], limits: Limits) -> None:
        beyond, made = self._beyond(limits), len(self.tape.made)
        if unused := [call for call in calls if call not in beyond]:
            raise drift_of_unused_calls(display_path(self.path), self.calls, made, unused)

    def _beyond(self, limits: Limits) -> list[Call]:
        """Return the calls that were not made and that the limits do not allow."""
        beyond = []
        for number, call in enumerate(self.tape.left, start=len(self.tape.made) + 1):
            origin = call.origin or OF_TEST
            too_late = origin.trial > limits.trials or origin.step > limits.steps
            if too_late or number > limits.calls:
                beyond.append(call)
        return beyond

    def _write(self, limits: Limits, passed: bool) -> None:
        beyond = [] if self._recorded else self._beyond(limits)
        left = self.tape.left
        stay = [call for call in left if call in beyond or (call.of_test and not passed)]
        kept = [*self.tape.in_stable_order(), *stay]
        if set(kept) == set(self._stored):
            kept = self._stored  # threads may have replayed them in another order
        dropped = [call for call in left if call not in stay]
        self._files.finish(kept, [*self._unused, *self.tape.spare, *dropped])
        if self._done_in_run is not None:
            write_atomically(self._done_in_run, "")

    def missing_call(self, request: Request, origin: Origin = OF_TEST) -> CassetteError:
        """Return the error for a call that is not recorded and may not be made."""
        if self.mode is Record.DEFER:
            self.check_secrets(request, origin)
            earlier = sum(call.key == request.key for call in self.calls)
            id_ = batch_id(self.stem, request.key, earlier)
            line = {"custom_id": id_, "method": "POST", "url": request.path}
            return Pending({**line, "body": self._pictures.put_in(request.body)})
        path, partial = display_path(self.path), ""
        if not self._existed:
            if self.partial_path.exists():
                partial = f"; an unfinished recording is in {display_path(self.partial_path)}"
            return NotRecorded(f"there is no cassette {path}{partial}{self._other_models()}")
        made = len(self.tape.made)
        return drift_of_call(path, request, origin, self.calls, made, self._pictures)

    def _other_models(self) -> str:
        """Name the models that the agent is recorded with, if this is none of them."""
        model, agent = self.path.parents[1], self.path.parents[2].name
        others = other_models(model.parents[1], self.stem)
        if model.exists() or not others:
            return ""
        return f"; {agent} is recorded with {listed(others)}: name one with --miniwob-model"

    def check_secrets(self, request: Request, origin: Origin, sent: Any = None) -> None:
        """Check a request before it leaves this machine; `sent` is its body as it is sent.

        Raises:
            CassetteError: it holds a key.
        """
        if found := secrets.find([request.body, sent] if request.normalized else request.body):
            where = "" if origin == OF_TEST else f" ({origin})"
            raise CassetteError(
                f"the call was not made{where}: its request holds what looks like a secret "
                f"({found[0].kind}), which would be stored in {self.path}"
            )
