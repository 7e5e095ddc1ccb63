"""The model of an item: answers calls from the item's recording, or asks a server and records."""

from __future__ import annotations

import http.client
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vcr import patch

from pytest_miniwob_agent.cassettes.recording import Recording
from pytest_miniwob_agent.cassettes.tape import Call, Request
from pytest_miniwob_agent.core.chat import ModelRequest, ModelResponse
from pytest_miniwob_agent.core.data import digest
from pytest_miniwob_agent.core.errors import CassetteError, CassetteNotWritten, RecordingStopped
from pytest_miniwob_agent.core.events import OF_TEST, Completion, Origin
from pytest_miniwob_agent.core.files import check_writable, display_path
from pytest_miniwob_agent.models.apis import answer_of, response_to, usage_of_answer
from pytest_miniwob_agent.models.budget import Budget
from pytest_miniwob_agent.models.requests import ChatCalls, read_completion

if TYPE_CHECKING:
    from pytest_miniwob_agent.models.client import LiveModel


class RecordedModel(ChatCalls):
    """The model of an item. A call that is on the tape neither needs nor imports a client.

    `params` go with every chat call, and `connect` makes the client of the server, at the first
    call that is not on the tape. Without a budget there is no limit.
    """

    def __init__(
        self,
        recording: Recording,
        model: str,
        params: Mapping[str, Any],
        connect: Callable[[], LiveModel],
        budget: Budget | None = None,
    ) -> None:
        self.recording = recording
        self.model = model
        self.params = params
        self._connect = connect
        self._budget = budget
        self._server: LiveModel | None = None
        self._mutex = threading.Lock()

    @property
    def live(self) -> bool:
        """True if calls that are not recorded go to the server."""
        return self.recording.live

    def post(self, request: ModelRequest, origin: Origin = OF_TEST) -> ModelResponse:
        """Answer a request from the recording, or record the server's answer in it.

        Raises:
            CassetteError: the call is not recorded and may not be made, or it or its completion
                holds a key.
            RecordingStopped: there is no room for its completion.
            Pending: the call is not recorded and waits for a completion.
            MiniwobError: any other that the client of the server raises.
        """
        asked = self.recording.request_of(request.path, request.body)
        with self.recording.making(origin) as number:
            call = self.recording.play(asked, origin, number)
            if call is None and not self.recording.live:
                raise self.recording.missing_call(asked, origin)
            if call is None:
                self.recording.check_secrets(asked, origin, request.body)
                call = self._record(request, asked, origin, number)
        # The agent gets now exactly what it will get in replay.
        return response_to(call.request.path, call.body, call.recorded, digest(call.key))

    def _ask(
        self, request: ModelRequest, purpose: str, files: Mapping[str, str], text: str | None
    ) -> Completion:
        return read_completion(self.post(request), text_only=text is not None)

    def _record(self, request: ModelRequest, asked: Request, origin: Origin, number: int) -> Call:
        """Ask the server and record its answer."""
        server = self._connected()
        with bypass_vcr():
            response = server.post(request, origin)
        answer = answer_of(asked.path, response.content, response.content_type)
        usage = usage_of_answer(asked.path, answer)
        try:
            call = self.recording.add(asked, answer, origin, number)
        except CassetteNotWritten as error:
            self.recording.add_unusable("not written", usage)
            reason = f"a completion that was paid for could not be kept: {error}"
            if self._budget is not None:
                self._budget.stop(f"no more model calls are made: {reason}")
            folder = Path(tempfile.mkdtemp(prefix="miniwob-rescued-"))
            path = self.recording.rescue(asked, answer, origin, folder)
            raise RecordingStopped(
                f"{reason}. It is in {path} instead: make room, copy the content of {folder} over "
                "the cassette folder, and run again to continue from there"
            ) from None
        except CassetteError:
            self.recording.add_unusable("looks like a secret", usage)
            raise
        if self._budget is not None:
            self._budget.add_recorded(usage)
        return call

    def _connected(self) -> LiveModel:
        """Return the client of the server, after a check that completions can be kept."""
        with self._mutex:
            if self._server is None:
                path = self.recording.partial_path
                try:
                    check_writable(path)
                except OSError as error:
                    raise CassetteNotWritten(
                        "no model call was made, as its completion could not be kept: "
                        f"{display_path(path)} can't be written: {error}. Make room there, or name "
                        "another folder with --miniwob-cassettes"
                    ) from None
                self._server = self._connect()
            return self._server

    def for_replay(self) -> RecordedModel:
        """Return the model of the same recording at its start, which makes no live call."""
        return RecordedModel(self.recording.for_replay(), self.model, self.params, self._connect)

    def close(self) -> None:
        """Close the connection to the server."""
        if self._server is not None:
            self._server.close()


@contextmanager
def bypass_vcr() -> Iterator[None]:
    """Send HTTP requests past every vcrpy cassette that a user's test has open.

    vcrpy replaces the methods of HTTP clients, `httpx2` among them, while a cassette is open.
    """
    if patch._HTTPConnection is http.client.HTTPConnection:
        yield  # no cassette is open; a reset would cost 0.4 ms
    else:
        with patch.force_reset():
            yield
