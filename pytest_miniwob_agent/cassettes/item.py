"""The model calls of one item: replayed from its cassette, recorded into it, or told to be missing.

Nothing is patched: `CassetteTransport` is the transport of the item's own client, so that neither
the browser driver's traffic nor anybody else's is touched.

While an item is being recorded its calls are in a file beside the cassette (`1000.partial.yaml`),
whole after every call; it takes the cassette's place when the item has come to its end. So a
recording that breaks off loses nothing, and damages nothing that was there.
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

import httpx2

from pytest_miniwob_agent.cassettes.drift import drift_of_call, drift_of_rest
from pytest_miniwob_agent.cassettes.file import (
    URL,
    Call,
    bypass_vcr,
    completion_of,
    dump_cassette,
    load_cassette,
    read_cassette,
    usage_of,
    write_cassette,
)
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import CassetteError, ModelError, NotRecorded, Pending
from pytest_miniwob_agent.core.events import Origin
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.core.protocols import Observer
from pytest_miniwob_agent.core.usage import Usage
from pytest_miniwob_agent.models.budget import Budget


class Record(StrEnum):
    """What may happen at a model call (`--miniwob-record`)."""

    NONE = "none"
    ONCE = "once"
    NEW_EPISODES = "new_episodes"
    ALL = "all"
    DEFER = "defer"


def stem(agent: str, model: str, case: Case) -> str:
    """An item's cassette below the cassette folder, without its ending."""
    return "/".join(
        re.sub(r"[^\w.-]+", "_", part) for part in (agent, model, case.task, case.sample)
    )


class ItemCassette(Observer):
    """The recorded calls of one item.

    Args:
        folder: the cassette folder.
        stem: the item's cassette in it, see `stem`.
        record: what may happen at a call that is not recorded.

    Raises:
        CassetteError: the file can't be read as a cassette.
    """

    def __init__(self, folder: Path, stem: str, record: Record) -> None:
        self.path = folder / f"{stem}.yaml"
        self.aside = folder / f"{stem}.partial.yaml"
        self.stem = stem
        self.record = record
        self.found = self.path.exists()
        self.writes = record is not Record.NONE and not (record is Record.ONCE and self.found)
        self.live = self.writes and record is not Record.DEFER
        """Whether a call that is not recorded may go to the server."""
        self._origin: Origin | None = None
        self._played: list[Call] = []
        self._recorded: list[Call] = []
        self._rest = self._load()

    def _load(self) -> list[Call]:
        """What there is to replay: what an earlier recording left, then the cassette."""
        kept = read_cassette(self.path) if self.found and self.record is not Record.ALL else []
        if not (self.writes and self.aside.exists()):
            return kept
        left, about = load_cassette(self.aside)
        if self.record is Record.ALL:  # an earlier `all` is gone on with, nothing older
            return left if about.get("recording") == Record.ALL else []
        held = Counter(_content(call) for call in left)
        for call in kept:
            if held[_content(call)]:
                held[_content(call)] -= 1
            else:
                left.append(call)
        return left

    @property
    def calls(self) -> Sequence[Call]:
        """All calls: those of this run in their order, then those not replayed."""
        return [*self._played, *self._rest]

    @property
    def replayed(self) -> Usage:
        """What was answered from the file."""
        return usage_of(call for call in self._played if call not in self._recorded)

    @property
    def recorded(self) -> Usage:
        """What was answered by a server."""
        return usage_of(self._recorded)

    @property
    def left(self) -> Usage:
        """The recorded calls that were not made, lengths standing in for missing token counts."""
        return usage_of(self._rest, reckon=True)

    def rewind(self) -> None:
        """Begin again: what is recorded by now is replayed from its start."""
        self._rest = [*self._played, *self._rest]
        self._played = []

    def freeze(self) -> None:
        """Begin again with what is recorded by now; from here on nothing is recorded."""
        self.rewind()
        self.record = Record.NONE
        self.writes = self.live = False

    def before_episode(self, case: Case) -> None:
        """Begin again, see `rewind`."""
        self.rewind()

    def before_call(self, origin: Origin) -> None:
        """Note where the next call comes from."""
        self._origin = origin

    def replay(self, body: bytes) -> Call | None:
        """The recorded call with this request, each once and in order; None where none is."""
        key = canonical_json(json.loads(body))
        call = next((call for call in self._rest if call.key == key), None)
        if call is not None:
            self._rest.remove(call)
            self._play(call)
        return call

    def add(self, body: bytes, answer: Mapping[str, Any]) -> Call:
        """Record a call that was just made, and write the file.

        Raises:
            CassetteError: the completion holds a key; nothing is kept of it.
        """
        call = Call(json.loads(body), answer, self._origin)
        self._save([*self._played, call, *self._rest])
        self._play(call)
        self._recorded.append(call)
        return call

    def put(self, body: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Keep a completion for the next run, and write the file.

        Raises:
            CassetteError: the completion holds a key; nothing is kept of it.
        """
        call = Call(body, answer)
        self._save([*self.calls, call])
        self._rest.append(call)

    def finish(self, limits: Limits) -> None:
        """The item has come to its end. What is left over is dropped where recording is allowed.

        Calls beyond the run's limits are neither drift nor dropped, unless others are recorded now.

        Raises:
            Drift: recorded calls were not made.
        """
        beyond = [
            call
            for number, call in enumerate(self._rest, start=len(self._played) + 1)
            if number > limits.calls or _is_beyond(call, limits)
        ]
        if not self.writes:
            if left := [call for call in self._rest if call not in beyond]:
                raise drift_of_rest(display_path(self.path), self.calls, len(self._played), left)
            return
        kept = [*self._played, *([] if self._recorded else beyond)]
        if not kept:
            self.path.unlink(missing_ok=True)
        elif not (self.found and self.path.read_text("utf-8") == dump_cassette(kept)):
            write_cassette(self.path, kept)
        self.aside.unlink(missing_ok=True)

    def holds(self, id_: str) -> bool:
        """Whether the request with this id in a batch file is recorded."""
        seen: Counter[str] = Counter()
        for call in self.calls:
            digest = _digest(call.key)
            if id_ == f"{self.stem}#{digest}-{seen[digest]}":
                return True
            seen[digest] += 1
        return False

    def miss(self, body: bytes) -> CassetteError:
        """What to raise at a call that is not recorded and may not be made."""
        data = json.loads(body)
        key = canonical_json(data)
        if self.record is Record.DEFER:
            self.check(body)
            earlier = sum(call.key == key for call in self.calls)
            return Pending(
                # The id says which cassette, which request, and how many equal ones precede it.
                {
                    "custom_id": f"{self.stem}#{_digest(key)}-{earlier}",
                    "method": "POST",
                    "url": URL,
                    "body": data,
                }
            )
        if not self.found:
            broken_off = f"; a recording that broke off is in {display_path(self.aside)}"
            return NotRecorded(
                f"there is no cassette {display_path(self.path)}"
                + (broken_off if self.aside.exists() else "")
            )
        return drift_of_call(
            display_path(self.path), data, self._origin, self.calls, len(self._played)
        )

    def check(self, body: bytes) -> None:
        """Whether a request may leave this machine and be kept.

        Raises:
            CassetteError: it holds a key.
        """
        if leaks := secrets.find(body.decode()):
            where = f" ({self._origin})" if self._origin else ""
            raise CassetteError(
                f"the call was not made{where}: its request holds what looks like a secret "
                f"({leaks[0][0]}), which would be kept in {self.path}"
            )

    def _play(self, call: Call) -> None:
        call.origin = self._origin or call.origin
        self._played.append(call)

    def _save(self, calls: Sequence[Call]) -> None:
        about = {"recording": str(self.record)} if self.record is Record.ALL else {}
        write_cassette(self.aside, calls, **about)


def _is_beyond(call: Call, limits: Limits) -> bool:
    """Whether a recorded call can only be made with more trials or actions than there may be."""
    origin = call.origin
    return origin is not None and (origin.trial > limits.trials or origin.step > limits.steps)


class CassetteTransport(httpx2.BaseTransport):
    """The transport of an item's model client: the cassette first, the server if that is allowed.

    Args:
        cassette: the item's calls.
        budget: limits the calls that the server gets; None for no limit.

    Raises (wrapped by the client):
        CassetteError: the call is not recorded and none may be made, or it holds a key.
        Pending: the call is not recorded and waits for a completion.
        BudgetReached: the run may make no more calls.
        ModelError: the server's answer came through, but is no completion. Only an answer that did
            not come through is asked for again, as each may have been paid for.
    """

    def __init__(self, cassette: ItemCassette, budget: Budget | None = None) -> None:
        self._cassette = cassette
        self._budget = budget
        self._server: httpx2.HTTPTransport | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request from the cassette, or record the server's answer in it."""
        body = request.read()
        if (call := self._cassette.replay(body)) is not None:
            return httpx2.Response(200, json=call.answer)
        if not self._cassette.live:
            raise self._cassette.miss(body)
        self._cassette.check(body)
        if self._budget is None:
            return self._ask(request, body)[0]
        with self._budget.call() as spent:
            response, call = self._ask(request, body)
            if call is not None:
                spent(usage_of([call]))
        return response

    def _ask(self, request: httpx2.Request, body: bytes) -> tuple[httpx2.Response, Call | None]:
        """The response that the client gets, and the call if that is a completion."""
        if self._server is None:
            self._server = httpx2.HTTPTransport()
        with bypass_vcr():
            response = self._server.handle_request(request)
            try:
                response.read()
            except httpx2.DecodingError as error:
                raise ModelError(f"answered with a body that can't be decoded: {error}") from None
        if response.status_code in _REDIRECTS and "location" in response.headers:
            there = request.url.join(response.headers["location"])
            raise ModelError(
                f"redirects calls to {there}; give the server's own address with --miniwob-base-url"
            )
        if not response.is_success:
            return response, None
        answer = completion_of(response.status_code, response.content)
        if answer is None:
            raise ModelError(
                "answered with no chat completion that has a text: " + _beginning(response)
            )
        call = self._cassette.add(body, answer)
        # Not the response itself: what the agent sees now is what it will see in replay.
        return httpx2.Response(200, json=answer), call

    def close(self) -> None:
        """Close the connection to the server."""
        if self._server is not None:
            self._server.close()


_REDIRECTS = (301, 302, 303)
"""Those after which a client asks for a page and does not repeat the call."""


def _beginning(response: httpx2.Response) -> str:
    """What a response that is no completion begins with, on one line."""
    text = secrets.redact(" ".join(response.content[:1000].decode("utf-8", "replace").split()))
    status = "" if response.status_code == 200 else f"status {response.status_code}, "
    return status + repr(text if len(text) <= 100 else text[:100] + "…")


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _content(call: Call) -> str:
    return call.key + canonical_json(call.answer)
