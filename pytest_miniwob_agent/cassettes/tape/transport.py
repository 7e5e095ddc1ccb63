"""The HTTP transport of an item's model client: replays and records its calls.

Nothing is patched: only the item's own client has this transport, so that the traffic of the
browser's driver and of other clients is not touched.
"""

from __future__ import annotations

import json
import tempfile
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx2

from pytest_miniwob_agent.cassettes.format.call import Call, Request, usage_of_answer
from pytest_miniwob_agent.cassettes.tape.bypass_vcr import bypass_vcr
from pytest_miniwob_agent.cassettes.tape.item import ItemCassette
from pytest_miniwob_agent.cassettes.tape.unusable import describe_unusable
from pytest_miniwob_agent.core.data import digest
from pytest_miniwob_agent.core.errors import (
    CassetteError,
    CassetteNotWritten,
    ModelError,
    PermanentError,
    RecordingStopped,
)
from pytest_miniwob_agent.core.files import check_writable, display_path
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.models.apis import CHAT, api_of, path_of, sse
from pytest_miniwob_agent.models.apis.recorded import answer_of, completion_of
from pytest_miniwob_agent.models.budget import Budget, Payment
from pytest_miniwob_agent.models.client import http_client
from pytest_miniwob_agent.models.failures import advice_on_connection, forbid_retry, is_hopeless
from pytest_miniwob_agent.models.params import shown_url

_REDIRECTS = (301, 302, 303)
"""Those after which a client asks for a page and does not repeat the call."""


class CassetteTransport(httpx2.BaseTransport):
    """Answers calls from the cassette, or from the server if the cassette is live.

    Args:
        cassette: the item's calls.
        budget: limits the calls to the server; None for no limit.

    Raises (wrapped by the client):
        CassetteError: the call is not recorded and may not be made, it holds a key, or its
            completion could not be written.
        Pending: the call is not recorded and waits for a completion.
        BudgetReached: the run may make no more calls.
        RecordingStopped: a completion could not be kept, here or in another worker.
        ModelError: the server's answer arrived, but is not a completion. The call is repeated only
            if no answer arrived, as each answer may have been paid for.
    """

    def __init__(self, cassette: ItemCassette, budget: Budget | None = None) -> None:
        self._cassette = cassette
        self._budget = budget
        self._server: httpx2.Client | None = None
        self._mutex = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request from the cassette, or record the server's answer in it."""
        body = json.loads(request.read())
        asked = self._cassette.request_of(path_of(request.url.path), body)
        if (call := self._cassette.replay(asked)) is not None:
            return _response_of(call)
        if not self._cassette.live:
            raise self._cassette.missing_call(asked)
        self._cassette.check_secrets(asked, body)
        server = self._connect()
        with nullcontext(Payment()) if self._budget is None else self._budget.call() as payment:
            response = self._ask_server(server, request, payment)
            if not payment.answered:
                return response
            # Not the response itself: the agent gets now exactly what it will get in replay.
            return _response_of(self._record(asked, response, payment))

    def _connect(self) -> httpx2.Client:
        """Return the client of the server, made at the first call.

        Raises:
            CassetteNotWritten: completions can't be kept.
        """
        with self._mutex:
            if self._server is None:
                self._check_writable()
                self._server = http_client()
            return self._server

    def _check_writable(self) -> None:
        """Check that completions can be kept, before one is paid for.

        Raises:
            CassetteNotWritten: they can't be.
        """
        path = self._cassette.partial_path
        try:
            check_writable(path)
        except OSError as error:
            raise CassetteNotWritten(
                f"no model call was made, as its completion could not be kept: "
                f"{display_path(path)} can't be written: {error}. Make room there, or name another "
                "folder with --miniwob-cassettes"
            ) from None

    def _ask_server(
        self, server: httpx2.Client, request: httpx2.Request, payment: Payment
    ) -> httpx2.Response:
        """Return the response, read to its end; the payment says whether it counts."""
        complete = False
        with bypass_vcr():
            try:
                response = server.send(request, stream=True, follow_redirects=False)
            except httpx2.TransportError as error:
                # Another attempt may help against the restart of a server that has worked before.
                if not is_hopeless(error) or (self._budget and self._budget.has_succeeded()):
                    raise
                reason = f"can't be reached: {error}{advice_on_connection(error)}"
                raise PermanentError(reason) from None
            payment.answered = response.is_success
            try:
                response.read()
                complete = True
            except httpx2.DecodingError as error:
                raise ModelError(f"answered with a body that can't be decoded: {error}") from None
            finally:
                response.close()
                if payment.answered and not complete:
                    self._cassette.add_unusable("cut off or not decodable", payment.usage)
        if response.status_code in _REDIRECTS and "location" in response.headers:
            address = shown_url(str(request.url.join(response.headers["location"])))
            raise PermanentError(
                f"redirects calls to {address}; name that server with --miniwob-base-url"
            )
        forbid_retry(response)
        return response

    def _record(self, asked: Request, response: httpx2.Response, payment: Payment) -> Call:
        """Record a server's answer and return the call; count it as unusable if it can't be kept.

        Raises:
            ModelError: it holds no completion.
            CassetteError: it holds a key.
            RecordingStopped: there is no room for it.
        """
        content_type = response.headers.get("content-type", "")
        status, content = response.status_code, response.content
        answer = answer_of(asked.path, content, content_type) if status == 200 else None
        if answer is None:
            unusable = describe_unusable(status, content, asked)
            payment.usage = unusable.usage
            self._cassette.add_unusable(unusable.reason, payment.usage)
            if unusable.foreign:
                raise PermanentError(unusable.report, of_call=True)
            raise ModelError(unusable.report)
        payment.usage = usage_of_answer(asked.path, answer)
        try:
            call = self._cassette.add(asked, answer)
        except CassetteNotWritten as error:
            self._cassette.add_unusable("not written", payment.usage)
            raise self._stop(error, asked, answer) from None
        except CassetteError:
            self._cassette.add_unusable("looks like a secret", payment.usage)
            raise
        payment.recorded = True
        return call

    def _stop(self, error: CassetteNotWritten, asked: Request, answer: Any) -> RecordingStopped:
        """Rescue a completion into a temporary folder, and stop the recording of all workers."""
        reason = f"a completion that was paid for could not be kept: {error}"
        if self._budget is not None:
            self._budget.stop(f"no more model calls are made: {reason}")
        try:
            folder = Path(tempfile.mkdtemp(prefix="miniwob-rescued-"))
            path = self._cassette.rescue(asked, answer, folder)
        except (CassetteNotWritten, OSError) as second:
            said = completion_of(asked.path, answer)
            text = "\n".join([said.text, *map(str, said.tool_calls)])
            return RecordingStopped(
                f"{reason}. Nor could it be written to a temporary folder ({second}). This is its "
                f"text:\n{redact(text)}"
            )
        return RecordingStopped(
            f"{reason}. It is in {path} instead: make room, copy the content of {folder} over the "
            "cassette folder, and run again to continue from there"
        )

    def close(self) -> None:
        """Close the connection to the server."""
        if self._server is not None:
            self._server.close()


def _response_of(call: Call) -> httpx2.Response:
    """Return the answer of a call in the form that the request asks for."""
    api, answer = api_of(call.request.path), call.recorded
    if isinstance(answer, list):
        return httpx2.Response(200, json=answer)
    if not isinstance(answer, str):
        answer = api.served(answer, digest(call.key))
        if not call.request.streams:
            return httpx2.Response(200, json=answer)
        answer = sse.write_events(api.events(answer), named=call.request.path != CHAT)
    headers = {"Content-Type": sse.CONTENT_TYPE}
    return httpx2.Response(200, content=answer.encode(), headers=headers)
