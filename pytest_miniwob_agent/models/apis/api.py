"""The API of a request, by its path."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pytest_miniwob_agent.core.chat import Message
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.events import Completion

CHAT = "/v1/chat/completions"
"""The path of Chat Completions as cassettes and batch files name it: without a host."""


class API(Protocol):
    """One form of requests and answers. What has another form than expected is read as empty."""

    path: str
    """The path of the form, without a host."""

    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        """Return the messages of a request."""
        ...

    def tools(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the tools that a request offers, by their names."""
        ...

    def is_answer(self, answer: Mapping[str, Any]) -> bool:
        """Return False for an answer that says nothing."""
        ...

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        """Return what an answer says."""
        ...

    def answer(self, completion: Completion) -> dict[str, Any]:
        """Return an answer that says this; the opposite of `completion`."""
        ...

    def served(self, answer: Mapping[str, Any], digest: str) -> dict[str, Any]:
        """Return an answer with what clients expect of it, where a cassette leaves that out.

        The id is made of `digest`, so that equal calls have equal ids.
        """
        ...

    def collect(self, events: Sequence[Any]) -> dict[str, Any]:
        """Return the answer that the events of a stream add up to; empty if its end is missing."""
        ...

    def events(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the events of a stream that adds up to an answer."""
        ...


class OtherAPI:
    """Any JSON, of which nothing else is known."""

    path = ""

    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        """Return the request as one message of JSON."""
        return [Message("request", json.dumps(body, indent=2, ensure_ascii=False))]

    def tools(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return none."""
        return {}

    def is_answer(self, answer: Mapping[str, Any]) -> bool:
        """Return True."""
        return True

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        """Return the answer as a text of JSON."""
        return Completion(canonical_json(answer))

    def answer(self, completion: Completion) -> dict[str, Any]:
        """Return an answer with a text alone."""
        return {"text": completion.text}

    def served(self, answer: Mapping[str, Any], digest: str) -> dict[str, Any]:
        """Return the answer as it is."""
        return dict(answer)

    def collect(self, events: Sequence[Any]) -> dict[str, Any]:
        """Return the events as they are."""
        return {"events": list(events)} if events else {}

    def events(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the answer as the only event."""
        return [dict(answer)]


def api_of(path: str) -> API:
    """Return the API of a path."""
    from pytest_miniwob_agent.models.apis.chat_completions import ChatCompletions
    from pytest_miniwob_agent.models.apis.messages import Messages
    from pytest_miniwob_agent.models.apis.responses import Responses

    for api in (ChatCompletions(), Responses(), Messages()):
        if path == api.path:
            return api
    return OtherAPI()


def path_of(url_path: str) -> str:
    """Return the path of a request as cassettes name it, from that of its URL.

    The server's own part is left out, so that calls which were recorded through a gateway are
    replayed without one: `/openai/v1/v1/responses` gives `/v1/responses`.
    """
    _, version, rest = url_path.rpartition("/v1/")
    if version:
        # An address that ends in /v1, and a path that begins with a version of its own.
        return f"/{rest}" if rest.startswith("v1beta/") else f"/v1/{rest}"
    for path in (CHAT, "/v1/responses", "/v1/messages"):
        if url_path.endswith(path.removeprefix("/v1")):
            return path
    return url_path
