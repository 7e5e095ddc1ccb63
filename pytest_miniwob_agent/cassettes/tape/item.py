"""The model calls of one item: replayed from its cassette, or recorded into it.

While an item is being recorded, its calls are in a file beside the cassette (`1000.partial.yaml`),
which is complete after every call. At the end of the item the cassette is written, and the calls
that the item did not make are set aside; see `item_files`. So a recording that is interrupted loses
no completion and leaves the existing cassette as it was.

In one file because all methods work on the same lists of calls, under one lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.cassettes.drift.errors import drift_of_call, drift_of_unused_calls
from pytest_miniwob_agent.cassettes.format.call import OF_TEST, Call, Request, usage_of
from pytest_miniwob_agent.cassettes.tape.files import ItemFiles, without
from pytest_miniwob_agent.cassettes.tape.lock import digest_of_path, lock_item
from pytest_miniwob_agent.cassettes.tape.normalize import Normalize, normalized_request
from pytest_miniwob_agent.cassettes.tape.pictures import Pictures
from pytest_miniwob_agent.cassettes.tape.place import Place, clear_place, place_in, set_place
from pytest_miniwob_agent.cassettes.tape.run_of_item import RunOfItem
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import CassetteError, NotRecorded, Pending
from pytest_miniwob_agent.core.events import Called, Event, Origin
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.protocols import Observer
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.core.usage import Usage

if TYPE_CHECKING:
    from filelock import BaseFileLock


class Record(StrEnum):
    """The modes of recording (`--miniwob-record`)."""

    NONE = "none"
    ONCE = "once"
    NEW_EPISODES = "new_episodes"
    ALL = "all"
    DEFER = "defer"


class ItemCassette(Observer):
    """The recorded calls of one item; its methods may be called from several threads.

    Until `close`, no other process can record the item.

    Args:
        folder: the cassette folder.
        stem: the item's cassette in it, see `names.stem`.
        record: the mode of recording.
        former: the cassette under its name of earlier versions, see `names.former_cassette`.
        locks: the folder of lock files; None if nothing else can record the item.
        run: a folder of this run, which its processes share, for what they recorded; None if no
            other test of the run has the item.
        test: the id of the test that has the item.
        kept_pictures: the folder for pictures that no cassette has; None to keep none.
        normalize: the agent's, see `normalize.normalized_request`; None if it has none.

    Attributes:
        path: the cassette.
        partial_path: the file of an unfinished recording.
        remarks: what the user must know about the item's files.
        writes: True if calls may be added, dropped or changed.
        live: True if a call that is not recorded may go to the server.
        unusable: what answers took that were paid for and are not recorded, by the reason.

    Raises:
        CassetteError: a file can't be read as a cassette, or this process has it open already.
    """

    def __init__(
        self,
        folder: Path,
        stem: str,
        record: Record,
        *,
        former: Path | None = None,
        locks: Path | None = None,
        run: Path | None = None,
        test: str = "",
        kept_pictures: Path | None = None,
        normalize: Normalize | None = None,
    ) -> None:
        self._normalize = normalize
        self._pictures = Pictures(folder, kept_pictures)
        self._files = ItemFiles(folder, stem, former)
        self.path = self._files.cassette
        self.partial_path = self._files.partial
        self.stem = stem
        self.remarks: list[str] = []
        self._mutex = threading.RLock()
        self._played: list[Call] = []
        self._recorded: list[Call] = []
        self.unusable: dict[str, Usage] = {}
        self._overlaps: dict[Call, int] = {}
        self._places: dict[Call, Place] = {}
        self._begun = 0
        self._root = Place(self, None, 0, 0)
        self._stored: list[Call] = []
        self._unused: list[Call] = []
        self._episode_ended = False
        self._run = RunOfItem(run / "recorded" / digest_of_path(self.path), test) if run else None
        self._lock: BaseFileLock | None = None
        if locks is not None and self._may_write(record):
            self._lock = lock_item(locks, self.path)
        try:
            self._existed = self._files.source.exists()
            self._again = self._run is not None and self._run.has_another_test()
            anew = record is Record.ALL and not self._again
            self.record = Record.NEW_EPISODES if self._again and record is Record.ALL else record
            self.writes = self._may_write(record)
            self.live = self.writes and record is not Record.DEFER
            self._unplayed = self._load(anew)
        except BaseException:
            self.close()
            raise

    def _may_write(self, record: Record) -> bool:
        """Return True if a mode allows to write; `once` depends on the files, so ask again."""
        return record is not Record.NONE and not (
            record is Record.ONCE and self._files.source.exists()
        )

    def _load(self, anew: bool) -> list[Call]:
        """Return the calls to replay: those of an unfinished recording, then the cassette's."""
        source = self._files.source
        if source != self.path:
            level = 1 if source.parents[1] != self.path.parents[1] else 0  # the model, or the task
            self.remarks.append(
                f"{display_path(source.parents[level])} is read under its name of earlier "
                f"versions: rename that folder to {display_path(self.path.parents[level])}"
            )
        self._stored = [] if anew else self._read(self._files.read(), source)
        if not self.writes:
            return list(self._stored)
        partial, remark = self._files.take_up(all_anew=anew)
        self.remarks += [remark] if remark else []
        partial = self._read(partial, self.partial_path)
        calls = [*partial, *without(self._stored, partial)]
        self._unused = without(
            map(self._pictures.of_earlier_version, self._files.read_unused()), calls
        )
        return calls

    def _read(self, calls: Sequence[Call], path: Path) -> list[Call]:
        """Return the calls of a file, whose pictures are there."""
        self._pictures.check(calls, path)
        return [self._pictures.of_earlier_version(call) for call in calls]

    def close(self) -> None:
        """Let others record the item."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def calls(self) -> Sequence[Call]:
        """All calls: those of this run in their order, then those that were not replayed."""
        return [*self._played, *self._unplayed]

    @property
    def replayed(self) -> Usage:
        """The calls that were answered from the file."""
        return usage_of(call for call in self._played if call not in self._recorded)

    @property
    def recorded(self) -> Usage:
        """The calls that were answered by a server."""
        return usage_of(self._recorded)

    @property
    def left(self) -> Usage:
        """The episode's recorded calls that were not made, with estimates for missing counts."""
        return usage_of((call for call in self._unplayed if not call.of_test), estimate=True)

    @property
    def _origin(self) -> Origin | None:
        """The origin of the present call; None outside of the episode."""
        place = place_in(self)
        return place.origin if place else None

    def rewind(self) -> None:
        """Replay the episode from the start again, with the calls that are recorded by now."""
        with self._mutex:
            again = [call for call in self._played if not call.of_test]
            self._unplayed = [*again, *self._unplayed]
            self._played = [call for call in self._played if call.of_test]
            self._overlaps.clear()
            self._root = Place(self, None, 0, 0)

    @contextlib.contextmanager
    def replaying(self) -> Iterator[None]:
        """Replay the episode from the start again and record nothing; then go on as before."""
        before = (self._played, self._unplayed, self.record, self.writes, self.live)
        overlaps = dict(self._overlaps)
        self.rewind()
        self.record, self.writes, self.live = Record.NONE, False, False
        try:
            yield
        finally:
            self._played, self._unplayed, self.record, self.writes, self.live = before
            self._overlaps = overlaps
            clear_place()

    def before_episode(self, case: Case) -> None:
        """Replay from the start again, see `rewind`."""
        self.rewind()

    def before_call(self, origin: Origin) -> None:
        """Note where the next call of this thread or task comes from."""
        self._begin(origin)

    def on_event(self, event: Event) -> None:
        """End a call: the thread or task that made it goes on."""
        if isinstance(event, Called) and (place := place_in(self)):
            place.end()

    def _begin(self, origin: Origin | None) -> None:
        with self._mutex:
            self._begun += 1
            place = Place(self, origin, len(self._played), self._begun)
            set_place(place, self._root)

    def request_of(self, path: str, body: Any) -> Request:
        """Return a request as it is matched and stored.

        Args:
            path: that of its API.
            body: the JSON that is posted.

        Raises:
            UsageError: the agent's `normalize` can't be used.
        """
        request = normalized_request(path, body, self._normalize)
        return replace(request, body=self._pictures.take_out(request.body))

    def replay(self, request: Request) -> Call | None:
        """Return the first unplayed call with this request, or None. Each is replayed once.

        One whose pictures differ by no more than is tolerated counts if there is no equal one.

        While the item is recorded, an unused call may take its place; in mode `all` none does.
        """
        key = request.key
        if self._origin is None:
            self._begin(None)
        with self._mutex:
            lists = [self._unplayed]
            if self.writes and self.record is not Record.ALL:
                lists.append(self._unused)
            found = [(call, calls) for calls in lists for call in calls]
            equal = (pair for pair in found if pair[0].key == key)
            alike = (pair for pair in found if self._pictures.are_alike(pair[0].request, request))
            for call, calls in chain(equal, alike):
                self._pictures.keep_others(call.request, request)
                calls.remove(call)
                self._play(call, request)
                return call
            return None

    def add(self, request: Request, answer: Any) -> Call:
        """Record a call that was just made, and write the file.

        Calls that several threads made at the same time are sorted by their requests, so that
        equal runs give equal files. Those of asyncio tasks are also sorted by their `Place`.

        Raises:
            CassetteError: the completion holds a key; nothing of it is kept.
            CassetteNotWritten: there is no room, or no permission.
        """
        call = Call(request, answer, self._origin or OF_TEST)
        with self._mutex:
            self._place(call)
            place = place_in(self)
            began = min(place.began if place else len(self._played), len(self._played))
            while place and place.parent and began and self._in_task(self._played[began - 1]):
                began -= 1
            others = self._played[began:]
            began = min([began, *(self._overlaps.get(other, began) for other in others)])
            overlapping = sorted([*self._played[began:], call], key=self._order)
            played = [*self._played[:began], *overlapping]
            self._save([*played, *self._unplayed])
            self._played = played
            self._overlaps.update(dict.fromkeys(overlapping, began))
            self._recorded.append(call)
        return call

    def rescue(self, request: Request, answer: Any, folder: Path) -> Path:
        """Write the recording, with a call that `add` could not keep, into another folder.

        The folder can be copied over the cassette folder, for the next recording to continue from.

        Raises:
            CassetteNotWritten: there is no room, or no permission.
        """
        call = Call(request, answer, self._origin or OF_TEST)
        with self._mutex:
            calls = [*self._played, call, *self._unplayed]
            self._pictures.write(calls, folder)
            return self._files.rescue(calls, folder, all_anew=self.record is Record.ALL)

    def add_unusable(self, reason: str, usage: Usage) -> None:
        """Count an answer that was paid for and can't be used."""
        with self._mutex:
            self.unusable[reason] = self.unusable.get(reason, Usage()) + usage

    def add_for_next_run(self, request: Request, answer: Any) -> None:
        """Record a call that the next run will make, and write the file.

        Raises:
            CassetteError: the completion holds a key; nothing of it is kept.
        """
        call = Call(request, answer)
        with self._mutex:
            self._save([*self.calls, call])
            self._unplayed.append(call)

    def end_episode(self, limits: Limits) -> None:
        """End the episode; the test may make further calls, which belong to no trial.

        Calls beyond the run's limits are not drift.

        Raises:
            Drift: recorded calls of the episode were not made, and the cassette may not be changed.
        """
        self._episode_ended = True
        clear_place()
        if not self.writes:
            self._check_made([call for call in self._unplayed if not call.of_test], limits)

    def finish(self, limits: Limits, *, passed: bool | None = True) -> None:
        """End the item: write the cassette, without calls that were not made, if that is allowed.

        They are kept beside it, see `item_files`. Calls beyond the run's limits are not drift; they
        stay in the cassette, unless other calls were recorded.

        Args:
            limits: the run's limits.
            passed: True if the test passed. False if it failed, so that it may not have made all
                its calls: those outside of the episode stay in the cassette. None if it broke off:
                without a complete episode, the recording remains unfinished.

        Raises:
            Drift: recorded calls were not made, and the cassette may not be changed.
            CassetteError: another test of this run needs the calls that were not made.
        """
        if passed is None and not self._episode_ended:
            return
        with self._mutex:
            if self.writes:
                self._write(limits, bool(passed))
            elif passed:
                self._check_made(self._unplayed, limits)

    def _check_made(self, calls: Sequence[Call], limits: Limits) -> None:
        beyond = self._beyond(limits)
        if unused := [call for call in calls if call not in beyond]:
            path = display_path(self._files.source)
            raise drift_of_unused_calls(path, self.calls, len(self._played), unused)

    def _beyond(self, limits: Limits) -> list[Call]:
        """Return the unplayed calls that the limits do not allow."""
        return [
            call
            for number, call in enumerate(self._unplayed, start=len(self._played) + 1)
            if number > limits.calls or call.is_beyond(limits)
        ]

    def _write(self, limits: Limits, passed: bool) -> None:
        beyond = [] if self._recorded and not self._again else self._beyond(limits)
        stay = [call for call in self._unplayed if call in beyond or (call.of_test and not passed)]
        kept = [*self._played, *stay]
        dropped = [call for call in self._unplayed if call not in stay]
        if dropped and self._again:
            raise CassetteError(
                f"{display_path(self.path)} holds {counted(len(dropped), 'call')} that another "
                "test of this run has made and this one has not: tests with the same task, seed, "
                "agent and model share a cassette, so that they must make the same calls. Give "
                "one of them other seeds, or an agent of another name"
            )
        if set(kept) == set(self._stored):
            kept = self._stored  # threads may have replayed them in another order
        self._files.finish(kept, [*self._unused, *dropped])
        if self._run is not None:
            self._run.add_test()

    def has_request(self, id_: str) -> bool:
        """Return True if the request with this id in a batch file is recorded."""
        seen: Counter[str] = Counter()
        for call in [*self.calls, *self._unused]:
            if id_ == self._request_id(call.key, seen[call.key]):
                return True
            seen[call.key] += 1
        return False

    def _request_id(self, key: str, earlier: int) -> str:
        """Return the id of a request in a batch file, after so many equal ones in this item."""
        return f"{self.stem}#{hashlib.sha256(key.encode()).hexdigest()[:16]}-{earlier}"

    def missing_call(self, request: Request) -> CassetteError:
        """Return the error for a call that is not recorded and may not be made.

        Raises:
            CassetteError: the call would be deferred, but holds a key.
        """
        if self.record is Record.DEFER:
            self.check_secrets(request)
            earlier = sum(call.key == request.key for call in self.calls)
            return Pending(
                {
                    "custom_id": self._request_id(request.key, earlier),
                    "method": "POST",
                    "url": request.path,
                    "body": self._pictures.put_in(request.body),
                }
            )
        if not self._existed:
            partial = f"; an unfinished recording is in {display_path(self.partial_path)}"
            return NotRecorded(
                f"there is no cassette {display_path(self.path)}"
                + (partial if self.partial_path.exists() else "")
            )
        path = display_path(self._files.source)
        return drift_of_call(
            path, request, self._origin or OF_TEST, self.calls, len(self._played), self._pictures
        )

    def check_secrets(self, request: Request, sent: Any = None) -> None:
        """Check that a request may leave this machine and be stored.

        Args:
            request: the request as it is stored.
            sent: its body as it is sent, where that is another one.

        Raises:
            CassetteError: it holds a key.
        """
        if found := secrets.find([request.body, sent] if request.normalized else request.body):
            origin = f" ({self._origin})" if self._origin else ""
            raise CassetteError(
                f"the call was not made{origin}: its request holds what looks like a secret "
                f"({found[0].kind}), which would be stored in {self.path}"
            )

    def _play(self, call: Call, request: Request) -> None:
        if self.writes:
            call.origin = self._origin or call.origin or OF_TEST
            if request.normalized != call.request.normalized:
                call.request = request
        self._place(call)
        self._played.append(call)

    def _place(self, call: Call) -> None:
        if place := place_in(self):
            self._places[call] = place

    def _in_task(self, call: Call) -> bool:
        place = self._places.get(call)
        return place is not None and place.parent is not None

    def _order(self, call: Call) -> tuple[int, str, int]:
        """Return what a call is sorted by among those that were made at the same time."""
        place = self._places.get(call)
        return place.order(call.key) if place else (0, call.key, 0)

    def _save(self, calls: Sequence[Call]) -> None:
        self._pictures.write(calls)
        self._files.save(calls, all_anew=self.record is Record.ALL)
