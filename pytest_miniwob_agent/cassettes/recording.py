"""The model of an item: answers calls from the item's tape, or asks a server and records.

Every call is written at once into an unfinished recording beside the cassette. Only the end of the
item changes the cassette, so an interrupted recording loses no completion; see `files`.
"""

from __future__ import annotations

import copy
import http.client
import json
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.cassettes.drift import drift_of_call, drift_of_unused_calls
from pytest_miniwob_agent.cassettes.files import ItemFiles, Pictures
from pytest_miniwob_agent.cassettes.folder import other_models
from pytest_miniwob_agent.cassettes.modes import Record
from pytest_miniwob_agent.cassettes.tape import Call, Request, Tape, batch_id
from pytest_miniwob_agent.cassettes.varying import (
    Propose,
    find_made_up,
    propose_method,
)
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse, Usage
from pytest_miniwob_agent.core.data import canonical_json, changed_parts, digest
from pytest_miniwob_agent.core.errors import (
    AnswersUsedUp,
    CassetteError,
    CassetteNotWritten,
    NotRecorded,
    Pending,
    RecordingStopped,
    UsageError,
)
from pytest_miniwob_agent.core.events import OF_TEST, Completion, Origin
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.pace import Pace
from pytest_miniwob_agent.core.text import listed
from pytest_miniwob_agent.models.apis import parse_answer, recorded_type, response_to
from pytest_miniwob_agent.models.budget import Budget
from pytest_miniwob_agent.models.requests import ChatCalls, read_completion

if TYPE_CHECKING:
    from pytest_miniwob_agent.models.client import LiveModel, OnUnusable

Normalize = Callable[[dict[str, Any]], Mapping[str, Any]]
"""An agent's `normalize`: gets a copy of a request's body, returns it as it is to be matched."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """How the requests of an item are matched: without pictures, and as `normalize` leaves them."""

    pictures: Pictures
    normalize: Normalize | None = None

    def request(self, path: str, body: Any) -> Request:
        """Return a request as it is matched and stored: normalized, with references to pictures.

        Raises:
            UsageError: the agent's `normalize` does not return JSON.
        """
        request = Request(path, body)
        if self.normalize is not None:
            changed: Any = self.normalize(copy.deepcopy(body))
            try:
                changed = json.loads(json.dumps(dict(changed), allow_nan=False))
            except (TypeError, ValueError) as error:
                raise UsageError(
                    f"the agent's normalize() must return the body of a request, as JSON: {error}"
                ) from None
            request = Request(path, changed, tuple(changed_parts(body, changed)))
        return replace(request, body=self.pictures.extract(request.body))


class Server:
    """The server that answers what is not on the tape; connected at the first such call.

    Args:
        connect: makes the client, given what counts unusable answers.
        budget: the limits on live calls; None for no limit.

    Attributes:
        unusable: the usage of answers that were paid for and are not recorded, by reason.
    """

    def __init__(
        self, connect: Callable[[OnUnusable], LiveModel], budget: Budget | None = None
    ) -> None:
        self._connect = connect
        self._budget = budget
        self._live: LiveModel | None = None
        self._mutex = threading.RLock()
        self.unusable: dict[str, Usage] = {}

    @property
    def connected(self) -> bool:
        return self._live is not None

    def post(self, request: ModelRequest, origin: Origin) -> ModelResponse:
        """Ask the server, past every vcrpy cassette; raises as the client does."""
        with self._mutex:
            if self._live is None:
                self._live = self._connect(self.count_unusable)
        with bypass_vcr():
            return self._live.post(request, origin)

    def count_kept(self, usage: Usage) -> None:
        if self._budget is not None:
            self._budget.add_recorded(usage)

    def count_unusable(self, reason: str, usage: Usage) -> None:
        with self._mutex:
            self.unusable[reason] = self.unusable.get(reason, Usage()) + usage

    def stop(self, reason: str) -> None:
        if self._budget is not None:
            self._budget.stop(reason)

    def close(self) -> None:
        if self._live is not None:
            self._live.close()


class RecordedModel(ChatCalls):
    """The model of an item, for several threads. A call on the tape needs and imports no client.

    Args:
        files: the item's, whose mode says what may be written and asked for.
        server: answers calls that are not on the tape.
        model: the model's id.
        params: go with every chat call.
        normalize: the agent's, if it has one.
        propose: says how the agent leaves out what differs from run to run.
        check_path: is told the path of each call; what it raises, the call raises.

    Raises:
        CassetteError: a file can't be read as a cassette.
    """

    def __init__(
        self,
        files: ItemFiles,
        server: Server,
        model: str,
        params: Mapping[str, Any],
        normalize: Normalize | None = None,
        propose: Propose = propose_method,
        check_path: Callable[[str], None] = lambda path: None,
    ) -> None:
        self.files = files
        self.server = server
        self.model = model
        self.params = params
        self.mode = files.mode
        self.tape = files.load()
        self.pace = files.pace
        self._matcher = Matcher(files.pictures, normalize)
        self._propose = propose
        self._check_path = check_path
        self._mutex = threading.RLock()
        self._episode_ended = False
        # True while a live app is checked with the recorded answers: some may be left over, and
        # nothing is written.
        self.checks_app = False
        # Called once, with the recorded and the present request, if the page shows something else
        # after the same actions.
        self.on_other_page: Callable[[Request, Request], None] = lambda then, now: None

    @property
    def live(self) -> bool:
        """True if calls that are not recorded go to the server."""
        return self.mode.live

    def post(self, request: ModelRequest, origin: Origin = OF_TEST) -> ModelResponse:
        """Answer a request from the tape, or record the server's answer.

        Raises:
            CassetteError: the call is not recorded and may not be made, or it or its completion
                holds a key.
            RecordingStopped: there is no room for its completion.
            Pending: the call is not recorded and waits for a completion.
            MiniwobError: any other that the client of the server raises.
        """
        self._check_path(request.path)
        asked = self._matcher.request(request.path, request.body)
        with self._making(origin) as number:
            call = self._play(asked, origin, number)
            if call is None and self.mode.writes:
                if not origin.outside:
                    self.pace.leave_tape()
                self._report_other_page(asked, origin)
                self._check_secrets(asked, origin, request.body if self.mode.live else None)
                if self.mode.live:
                    self._check_conversation(Request(request.path, request.body))
                with self.files.alone():
                    call = self._share(asked, origin, number)
                    if call is None and self.mode.live:
                        call = self._record(request, asked, origin, number)
            if call is None:
                if self.checks_app and not self._has_answer_left(origin):
                    raise AnswersUsedUp(
                        "the recorded answers are used up: the app, as it is now, does not judge "
                        "as it did when the item was recorded"
                    )
                raise self._missing_call(asked, origin)
        # The agent gets now exactly what it will get in replay.
        path, id_ = call.request.path, digest(call.key)
        return response_to(path, call.body, call.recorded, id_, call.status, call.kind)

    def _ask(
        self, request: ModelRequest, purpose: str, files: Mapping[str, str], text: str | None
    ) -> Completion:
        return read_completion(self.post(request), text_only=text is not None)

    @contextmanager
    def _making(self, origin: Origin) -> Iterator[int]:
        with self._mutex:
            number = self.tape.begin(origin)
        try:
            yield number
        finally:
            with self._mutex:
                self.tape.end(number)

    def _report_other_page(self, request: Request, origin: Origin) -> None:
        for call in self.tape.left:
            then = call.origin
            if (
                then
                and not then.outside
                and then.page != origin.page
                and _place(then) == _place(origin)
            ):
                self.on_other_page(call.request, request)
                self.on_other_page = lambda then, now: None
                break

    def _play(self, request: Request, origin: Origin, number: int) -> Call | None:
        with self._mutex:
            call = self.tape.play(request, number)
            if call is None:
                return None
            # Pictures that are only like the recorded ones are kept, for people.
            for picture in set(request.pictures).difference(call.request.pictures):
                self.files.pictures.shown_path(picture)
            if self.mode.writes:
                call.origin, call.written = origin, ""
                if request.normalized != call.request.normalized:
                    call.request = request
            return call

    def _has_answer_left(self, now: Origin) -> bool:
        origins = [call.origin for call in self.tape.left if not call.outside]
        return now.outside or any(then is None or then.trial <= now.trial for then in origins)

    def _share(self, request: Request, origin: Origin, number: int) -> Call | None:
        if origin.of_grader:  # each item is judged by itself
            return None
        with self._mutex:
            call = self.files.shared(request, self._count_equal(request))
            if call is None:
                return None
            self.tape.spare.append(call)
            played = self._play(request, origin, number)
            self.tape.shared.append(call)
            # Not at the end alone: until then, other items may look for answers to equal requests.
            self.files.save(self.tape.calls)
            return played

    def _count_equal(self, request: Request) -> int:
        return sum(call.key == request.key for call in self.tape.calls)

    def _record(self, request: ModelRequest, asked: Request, origin: Origin, number: int) -> Call:
        if not self.server.connected:
            self.files.check_room()
        response = self.server.post(request, origin)
        if response.status != 200:
            answer = secrets.mask(json.loads(response.content))
            call = Call(asked, answer, origin, status=response.status)
            with self._mutex:
                self.tape.add(call, number)
            return call
        answer = parse_answer(asked.path, response.content, response.content_type)
        call = Call(asked, answer, origin, kind=recorded_type(asked.path, response.content_type))
        usage = call.completion.usage
        with self._mutex:
            calls = [*self.tape.made, call, *self.tape.left]
            try:
                self.files.save(calls)
            except CassetteNotWritten as error:
                self.server.count_unusable("not written", usage)
                raise self._rescue(calls, error) from None
            except CassetteError:
                self.server.count_unusable("looks like a secret", usage)
                raise
            self.tape.add(call, number)
        self.server.count_kept(usage)
        return call

    def _rescue(self, calls: Sequence[Call], error: CassetteNotWritten) -> RecordingStopped:
        reason = f"a completion that was paid for could not be kept: {error}"
        self.server.stop(f"no more model calls are made: {reason}")
        folder = Path(tempfile.mkdtemp(prefix="miniwob-rescued-"))
        path = self.files.save(calls, rescue=folder)
        return RecordingStopped(
            f"{reason}. It is in {path} instead: make room, copy the content of {folder} over "
            f"the cassette folder, and {self.files.mode.again} to continue from there"
        )

    def rewind(self) -> None:
        """Replay the episode from the start again, with the calls that are recorded by now."""
        with self._mutex:
            self.tape.rewind()
            self.pace.rewind()

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """Replay alone, in a block; a call that is not recorded is `NotRecorded`."""
        before = self.mode, self.pace.replays
        self.mode, self.pace.replays = Record.NONE, True
        try:
            yield
        finally:
            self.mode, self.pace.replays = before

    def for_grader(self, model: str, server: Server) -> RecordedModel:
        """Return a model for graders, on the same tape, whose calls another server answers."""
        other = copy.copy(self)
        other.model, other.server = model, server
        other._matcher = Matcher(self.files.pictures)
        return other

    def for_replay(self) -> RecordedModel:
        """Return the same model at its episode's start, which records nothing."""
        other = copy.copy(self)
        other.mode = Record.NONE
        other.tape = Tape(self.tape.calls, alike=self.files.pictures.are_alike)
        other.pace = Pace(self.pace.moves, strict=True)
        return other

    def end_episode(self, limits: Limits) -> None:
        """End the episode, after which the test may make further calls; raises as `finish` does."""
        self._episode_ended = True
        if not self.mode.writes:
            self._check_made([call for call in self.tape.left if not call.outside], limits)

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
            tape = self.tape
            if self.mode.writes and not self.checks_app:
                beyond = [] if tape.added else tape.beyond(limits)
                stay = [one for one in tape.left if one in beyond or (one.outside and not passed)]
                dropped = [call for call in tape.left if call not in stay]
                self.files.finish([*tape.in_stable_order(), *stay], [*tape.spare, *dropped])
            elif passed:
                self._check_made(tape.left, limits)

    def find_made_up(self, agent: str, seen: str, *, live_clock: bool) -> list[str]:
        """Say what the calls that were recorded now hold that differs from run to run, if anything.

        `seen` is the text of the page, and `live_clock` tells if its clock began at the present.
        """
        hidden = self.pace.moves is not None
        found = find_made_up(self.tape, seen, hidden=hidden, live_clock=live_clock)
        if not found:
            return []
        return [
            f"{agent}: its requests hold what will differ in the next run, which then drifts: "
            f"{listed(map(str, found))}. {self._propose(found)}"
        ]

    def _check_made(self, calls: Sequence[Call], limits: Limits) -> None:
        beyond, made = self.tape.beyond(limits), len(self.tape.made)
        # The calls of a grader that the item no longer has, or whose plugin is blocked, can stay.
        calls = [call for call in calls if call not in beyond and not call.of_grader]
        if unused := [call for call in calls if call.outside or not self.checks_app]:
            path = display_path(self.files.cassette)
            raise drift_of_unused_calls(path, self.tape.calls, made, unused)

    def _missing_call(self, request: Request, origin: Origin) -> CassetteError:
        files, calls = self.files, self.tape.calls
        if self.mode is Record.DEFER:
            if files.clock is not None:
                files.save(calls)  # the answer will be to what the page shows at that time
            id_ = batch_id(files.stem, request.key, self._count_equal(request))
            line: dict[str, Any] = {"custom_id": id_, "method": "POST", "url": request.path}
            line["body"] = files.pictures.embed(request.body)
            if files.allow:
                line["allow"] = list(files.allow)
            return Pending(line, files.stem if origin.of_grader else files.group)
        path, partial = display_path(files.cassette), ""
        if not files.existed:
            if files.partial.exists():
                partial = f"; an unfinished recording is in {display_path(files.partial)}"
            return NotRecorded(f"there is no cassette {path}{partial}{self._other_models()}")
        return drift_of_call(
            path, request, origin, calls, len(self.tape.made), files.pictures, self._propose
        )

    def _other_models(self) -> str:
        model, agent = self.files.cassette.parents[1], self.files.cassette.parents[2].name
        others = other_models(model.parents[1], self.files.stem)
        if model.exists() or not others:
            return ""
        return f"; {agent} is recorded with {listed(others)}: name one with --miniwob-model"

    def _check_conversation(self, request: Request) -> None:
        """Check that a request does not continue what was said in an earlier recording.

        Raises:
            CassetteError: it does, and the server may have forgotten that.
        """
        replayed = [call for call in self.tape.made if call not in self.tape.added]
        for name, id_ in request.continues.items():
            if any(id_ in canonical_json(call.answer) for call in replayed):
                raise CassetteError(
                    f"the call was not made: its {name}, {id_}, is from an earlier recording, and "
                    "a conversation that the server keeps is recorded whole. Record the item with "
                    "--miniwob-record=all"
                )

    def _check_secrets(self, request: Request, origin: Origin, sent: Any) -> None:
        """Check a request before it leaves this machine; `sent` is its body as it is sent.

        Raises:
            CassetteError: it holds a key.
        """
        where = "" if origin == OF_TEST else f" ({origin})"
        secrets.refuse(
            secrets.find([request.body, sent] if request.normalized else request.body),
            f"the call was not made{where}: its request",
            f", which would be stored in {self.files.cassette}",
            allow=self.files.allow,
        )


def _place(origin: Origin) -> tuple[str, int, int, str]:
    return origin.purpose, origin.trial, origin.step, origin.actions


@contextmanager
def bypass_vcr() -> Iterator[None]:
    """Send HTTP requests past every vcrpy cassette that a user's test has open."""
    # While one is open, vcrpy replaces the methods of HTTP clients, httpx2 among them.
    if hasattr(http.client.HTTPConnection, "cassette"):
        from vcr.patch import force_reset

        with force_reset():
            yield
    else:
        yield  # no cassette is open, and vcrpy maybe not imported
