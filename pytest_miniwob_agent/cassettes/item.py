"""The model calls of one item: replayed from its cassette, or recorded into it.

While an item is being recorded, its calls are in a file beside the cassette (`1000.partial.yaml`),
which is complete after every call and replaces the cassette at the end of the item. So a recording
that is interrupted loses no completion and leaves the existing cassette as it was.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.call import URL, Call, usage_of
from pytest_miniwob_agent.cassettes.drift import drift_of_call, drift_of_unused_calls
from pytest_miniwob_agent.cassettes.file import (
    dump_cassette,
    load_cassette,
    read_cassette,
    write_cassette,
)
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import CassetteError, NotRecorded, Pending
from pytest_miniwob_agent.core.events import Origin
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.protocols import Observer
from pytest_miniwob_agent.core.usage import Usage


class Record(StrEnum):
    """The modes of recording (`--miniwob-record`)."""

    NONE = "none"
    ONCE = "once"
    NEW_EPISODES = "new_episodes"
    ALL = "all"
    DEFER = "defer"


def stem(agent: str, model: str, case: Case) -> str:
    """Return the path of an item's cassette below the cassette folder, without its ending."""
    return "/".join(
        re.sub(r"[^\w.-]+", "_", part) for part in (agent, model, case.task, case.sample)
    )


class ItemCassette(Observer):
    """The recorded calls of one item.

    Args:
        folder: the cassette folder.
        stem: the item's cassette in it, see `stem`.
        record: the mode of recording.

    Attributes:
        path: the cassette.
        partial_path: the file of an unfinished recording.
        writes: True if calls may be added, dropped or changed.
        live: True if a call that is not recorded may go to the server.
        unusable: what answers took that were paid for and are not recorded, by the reason.

    Raises:
        CassetteError: the file can't be read as a cassette.
    """

    def __init__(self, folder: Path, stem: str, record: Record) -> None:
        self._folder = folder
        self.path = folder / f"{stem}.yaml"
        self.partial_path = folder / f"{stem}.partial.yaml"
        self.stem = stem
        self.record = record
        self._existed = self.path.exists()
        self.writes = record is not Record.NONE and not (record is Record.ONCE and self._existed)
        self.live = self.writes and record is not Record.DEFER
        self._origin: Origin | None = None
        self._played: list[Call] = []
        self._recorded: list[Call] = []
        self.unusable: dict[str, Usage] = {}
        self._unplayed = self._load()

    def _load(self) -> list[Call]:
        """Return the calls to replay: those of an unfinished recording, then the cassette's."""
        calls = read_cassette(self.path) if self._existed and self.record is not Record.ALL else []
        if not (self.writes and self.partial_path.exists()):
            return calls
        partial, metadata = load_cassette(self.partial_path)
        if self.record is Record.ALL:  # continues an unfinished `all`, but no other mode
            return partial if metadata.get("recording") == Record.ALL else []
        copied = Counter(_content(call) for call in partial)
        for call in calls:
            if copied[_content(call)]:
                copied[_content(call)] -= 1
            else:
                partial.append(call)
        return partial

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
        """The recorded calls that were not made, with estimates for missing token counts."""
        return usage_of(self._unplayed, estimate=True)

    def rewind(self) -> None:
        """Replay from the start again, with the calls that are recorded by now."""
        self._unplayed = [*self._played, *self._unplayed]
        self._played = []

    def freeze(self) -> None:
        """Replay from the start again, and record nothing from here on."""
        self.rewind()
        self.record = Record.NONE
        self.writes = self.live = False

    def before_episode(self, case: Case) -> None:
        """Replay from the start again, see `rewind`."""
        self.rewind()

    def before_call(self, origin: Origin) -> None:
        """Note where the next call comes from."""
        self._origin = origin

    def replay(self, body: bytes) -> Call | None:
        """Return the first unplayed call with this request, or None. Each is replayed once."""
        key = canonical_json(json.loads(body))
        call = next((call for call in self._unplayed if call.key == key), None)
        if call is not None:
            self._unplayed.remove(call)
            self._play(call)
        return call

    def add(self, body: bytes, answer: Mapping[str, Any]) -> Call:
        """Record a call that was just made, and write the file.

        Raises:
            CassetteError: the completion holds a key; nothing of it is kept.
            CassetteNotWritten: there is no room, or no permission.
        """
        call = Call(json.loads(body), answer, self._origin)
        self._save([*self._played, call, *self._unplayed])
        self._play(call)
        self._recorded.append(call)
        return call

    def rescue(self, body: bytes, answer: Mapping[str, Any], folder: Path) -> Path:
        """Write the recording, with a call that `add` could not keep, into another folder.

        The folder can be copied over the cassette folder, for the next recording to continue from.

        Raises:
            CassetteNotWritten: there is no room, or no permission.
        """
        path = folder / self.partial_path.relative_to(self._folder)
        call = Call(json.loads(body), answer, self._origin)
        self._save([*self._played, call, *self._unplayed], path)
        return path

    def add_unusable(self, reason: str, usage: Usage) -> None:
        """Count an answer that was paid for and can't be used."""
        self.unusable[reason] = self.unusable.get(reason, Usage()) + usage

    def add_for_next_run(self, body: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Record a call that the next run will make, and write the file.

        Raises:
            CassetteError: the completion holds a key; nothing of it is kept.
        """
        call = Call(body, answer)
        self._save([*self.calls, call])
        self._unplayed.append(call)

    def finish(self, limits: Limits) -> None:
        """End the item: write the cassette, without calls that were not made, if that is allowed.

        Calls beyond the run's limits are no drift. They are kept, unless other calls were recorded.

        Raises:
            Drift: recorded calls were not made, and the cassette may not be changed.
        """
        beyond = [
            call
            for number, call in enumerate(self._unplayed, start=len(self._played) + 1)
            if number > limits.calls or _is_beyond(call, limits)
        ]
        if not self.writes:
            if unused := [call for call in self._unplayed if call not in beyond]:
                path = display_path(self.path)
                raise drift_of_unused_calls(path, self.calls, len(self._played), unused)
            return
        kept = [*self._played, *([] if self._recorded else beyond)]
        if not kept:
            self.path.unlink(missing_ok=True)
        elif not (self._existed and self.path.read_text("utf-8") == dump_cassette(kept)):
            write_cassette(self.path, kept)
        self.partial_path.unlink(missing_ok=True)

    def has_request(self, id_: str) -> bool:
        """Return True if the request with this id in a batch file is recorded."""
        seen: Counter[str] = Counter()
        for call in self.calls:
            if id_ == self._request_id(call.key, seen[call.key]):
                return True
            seen[call.key] += 1
        return False

    def _request_id(self, key: str, earlier: int) -> str:
        """Return the id of a request in a batch file, after so many equal ones in this item."""
        return f"{self.stem}#{hashlib.sha256(key.encode()).hexdigest()[:16]}-{earlier}"

    def missing_call(self, body: bytes) -> CassetteError:
        """Return the error for a call that is not recorded and may not be made.

        Raises:
            CassetteError: the call would be deferred, but holds a key.
        """
        request = json.loads(body)
        key = canonical_json(request)
        if self.record is Record.DEFER:
            self.check_secrets(body)
            earlier = sum(call.key == key for call in self.calls)
            return Pending(
                {
                    "custom_id": self._request_id(key, earlier),
                    "method": "POST",
                    "url": URL,
                    "body": request,
                }
            )
        if not self._existed:
            partial = f"; an unfinished recording is in {display_path(self.partial_path)}"
            return NotRecorded(
                f"there is no cassette {display_path(self.path)}"
                + (partial if self.partial_path.exists() else "")
            )
        path = display_path(self.path)
        return drift_of_call(path, request, self._origin, self.calls, len(self._played))

    def check_secrets(self, body: bytes) -> None:
        """Check that a request may leave this machine and be stored.

        Raises:
            CassetteError: it holds a key.
        """
        if leaks := secrets.find(body.decode()):
            origin = f" ({self._origin})" if self._origin else ""
            raise CassetteError(
                f"the call was not made{origin}: its request holds what looks like a secret "
                f"({leaks[0][0]}), which would be stored in {self.path}"
            )

    def _play(self, call: Call) -> None:
        call.origin = self._origin or call.origin
        self._played.append(call)

    def _save(self, calls: Sequence[Call], path: Path | None = None) -> None:
        metadata = {"recording": str(self.record)} if self.record is Record.ALL else {}
        write_cassette(path or self.partial_path, calls, **metadata)


def _is_beyond(call: Call, limits: Limits) -> bool:
    """Return True if a recorded call needs more trials or actions than the limits allow."""
    origin = call.origin
    return origin is not None and (origin.trial > limits.trials or origin.step > limits.steps)


def _content(call: Call) -> str:
    return call.key + canonical_json(call.answer)
