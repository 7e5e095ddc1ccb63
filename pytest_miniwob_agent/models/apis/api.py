"""A model API: one form of requests and answers, and the provider that serves it."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_miniwob_agent.core.chat import Message
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.events import Completion

EVENT_STREAM = "text/event-stream"
"""Content type of streams (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""


@dataclass(frozen=True, slots=True)
class Provider:
    """The default server of requests, and the key that they need there.

    `key_variable` is the environment variable with the key. `key_header`, which takes it, and `url`
    are None for OpenAI's, which the client knows.
    """

    key_variable: str
    key_header: str | None = None
    url: str | None = None


OPENAI = Provider("OPENAI_API_KEY")


class API:
    """One form of requests and answers.

    Subclasses describe a form. The class itself stands for any other JSON, which is recorded and
    shown as it is. Parts of an unexpected form are read as empty.

    Attributes:
        path: the path of the requests, without a host.
        provider: serves the API.
    """

    path = ""
    provider = OPENAI

    def reads(self, path: str) -> bool:
        """True for the paths of its requests."""
        return path == self.path

    def streams(self, path: str, body: Mapping[str, Any]) -> bool:
        """True if a request asks for a stream."""
        return bool(body.get("stream"))

    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        """Return the messages of a request."""
        return [Message("request", json.dumps(body, indent=2, ensure_ascii=False))]

    def tools(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the tools that a request offers, by name."""
        return {}

    def is_answer(self, answer: Mapping[str, Any]) -> bool:
        """Return False for an error and for an answer that says nothing."""
        return True

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        """Return what an answer says."""
        return Completion(canonical_json(answer))

    def answer(self, completion: Completion) -> dict[str, Any]:
        """Return an answer that says this; the opposite of `completion`."""
        return {"text": completion.text}

    def usage(self, prompt: int, completion: int) -> dict[str, Any]:
        """Return token counts as an answer has them; empty if the API counts none."""
        return {}

    def served(self, answer: Mapping[str, Any], digest: str) -> dict[str, Any]:
        """Return an answer with the fields that clients expect and cassettes leave out.

        The id is made of `digest`, so that equal calls have equal ids.
        """
        return dict(answer)

    def collect(self, events: Sequence[Any]) -> dict[str, Any]:
        """Return the answer that the events of a stream add up to; empty if its end is missing."""
        return {"events": list(events)} if events else {}

    def events(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the events of a stream that adds up to an answer."""
        return [dict(answer)]

    def stream(self, answer: Mapping[str, Any]) -> str:
        """Return an answer as the text of a stream, whose events are named by their `type`."""
        return "".join(
            f"event: {event.get('type')}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
            for event in self.events(answer)
        )

    def _usage(self, completion: Completion) -> dict[str, Any]:
        """Return the `usage` of an answer, or nothing if the completion has no token counts."""
        return {"usage": self.usage(*completion.tokens)} if completion.tokens else {}


def read_events(text: str) -> list[Any]:
    """Return the JSON data of a stream's events, without what is not JSON, such as `[DONE]`."""
    events = []
    for event in re.sub(r"\r\n?", "\n", text).split("\n\n"):
        lines = (line for line in event.split("\n") if line.startswith("data:"))
        with contextlib.suppress(ValueError, RecursionError):
            events.append(json.loads("\n".join(line.removeprefix("data:") for line in lines)))
    return events
