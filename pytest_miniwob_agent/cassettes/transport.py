"""The HTTP transport of an item's model client: replays and records its calls.

Nothing is patched: only the item's own client has this transport, so that the traffic of the
browser's driver and of other clients is not touched.
"""

from __future__ import annotations

import httpx2

from pytest_miniwob_agent.cassettes.bypass_vcr import bypass_vcr
from pytest_miniwob_agent.cassettes.call import Call, completion_of, usage_of
from pytest_miniwob_agent.cassettes.item import ItemCassette
from pytest_miniwob_agent.core.errors import ModelError
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import shorten
from pytest_miniwob_agent.models.budget import Budget
from pytest_miniwob_agent.models.params import shown_url

_REDIRECTS = (301, 302, 303)
"""Those after which a client asks for a page and does not repeat the call."""


class CassetteTransport(httpx2.BaseTransport):
    """Answers calls from the cassette, or from the server if the cassette is live.

    Args:
        cassette: the item's calls.
        budget: limits the calls to the server; None for no limit.

    Raises (wrapped by the client):
        CassetteError: the call is not recorded and may not be made, or it holds a key.
        Pending: the call is not recorded and waits for a completion.
        BudgetReached: the run may make no more calls.
        ModelError: the server's answer arrived, but is not a completion. The call is repeated only
            if no answer arrived, as each answer may have been paid for.
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
            raise self._cassette.missing_call(body)
        self._cassette.check_secrets(body)
        if self._budget is None:
            return self._ask_server(request, body)[0]
        with self._budget.call() as spent:
            response, call = self._ask_server(request, body)
            if call is not None:
                spent(usage_of([call]))
        return response

    def _ask_server(
        self, request: httpx2.Request, body: bytes
    ) -> tuple[httpx2.Response, Call | None]:
        """Return the response for the client, and the recorded call if it is a completion."""
        if self._server is None:
            self._server = httpx2.HTTPTransport()
        with bypass_vcr():
            response = self._server.handle_request(request)
            try:
                response.read()
            except httpx2.DecodingError as error:
                raise ModelError(f"answered with a body that can't be decoded: {error}") from None
        if response.status_code in _REDIRECTS and "location" in response.headers:
            address = shown_url(str(request.url.join(response.headers["location"])))
            raise ModelError(
                f"redirects calls to {address}; name that server with --miniwob-base-url"
            )
        if not response.is_success:
            return response, None
        answer = completion_of(response.status_code, response.content)
        if answer is None:
            raise ModelError(
                "answered with no chat completion that has a text: " + _describe(response)
            )
        call = self._cassette.add(body, answer)
        # Not the response itself: the agent gets now exactly what it will get in replay.
        return httpx2.Response(200, json=answer), call

    def close(self) -> None:
        """Close the connection to the server."""
        if self._server is not None:
            self._server.close()


def _describe(response: httpx2.Response) -> str:
    """Return the status, if it is not 200, and the shortened text of a response."""
    text = shorten(redact(response.content.decode("utf-8", "replace")))
    status = "" if response.status_code == 200 else f"status {response.status_code}, "
    return status + repr(text)
