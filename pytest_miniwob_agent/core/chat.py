"""Calls of a model: requests and answers as they go over HTTP, messages to read, tokens."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from difflib import SequenceMatcher
from itertools import chain
from typing import Any


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model's server, any JSON that is posted.

    `path` has no host, such as `/v1/chat/completions`. `headers` and `query` are sent on but never
    stored, and keys in them are replaced by those of the environment. `upstream` is the name of the
    server that `--miniwob-upstream` gives, and the path there: `ollama/api/chat`.
    """

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: str = field(default="", repr=False)
    upstream: str = ""


REFUSALS = (400, 413, 422)
"""The statuses of refusals that may have their reason in the content of a call."""


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """The answer to a `ModelRequest`: JSON, an event stream as a whole, or any other content.

    A `status` of `REFUSALS` is that of a refused call, whose answer is JSON with the reason.
    """

    content: bytes
    content_type: str = "application/json"
    status: int = 200


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; `arguments` is JSON as the model wrote it, so maybe not valid."""

    id: str
    name: str
    arguments: str

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})"


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation, for people to read.

    `role` is the server's word for who speaks. `tool_call_id` is that of the call which a tool's
    result belongs to. In the text, a picture is `[picture pictures/<digest>.png]`.
    """

    role: str
    text: str
    tool_calls: tuple[ToolCall, ...] = field(default=(), metadata={"optional": True})
    tool_call_id: str | None = field(default=None, metadata={"optional": True})

    def __str__(self) -> str:
        return "\n".join([*([self.text] if self.text else []), *map(str, self.tool_calls)])


def new_messages(messages: Sequence[Message], before: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages of a request that the request before it did not have, in order."""
    # autojunk would not compare messages that a long conversation repeats.
    opcodes = SequenceMatcher(None, before, messages, autojunk=False).get_opcodes()
    new = (messages[start:stop] for tag, _, _, start, stop in opcodes if tag != "equal")
    return tuple(chain.from_iterable(new))


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls and their tokens; `uncounted` is the number of calls without a token count.

    Of the prompt tokens the provider had `cached` some, and has `written` some into its cache.
    """

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    uncounted: int = 0
    cached: int = field(default=0, metadata={"optional": True})
    written: int = field(default=0, metadata={"optional": True})

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(operator.add, astuple(self), astuple(other)))

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*map(operator.sub, astuple(self), astuple(other)))

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens of the calls with a count."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class GraderUsage:
    """The usage of the calls that graders of an item made of a model."""

    model: str
    replayed: Usage = Usage()
    recorded: Usage = Usage()

    def __add__(self, other: GraderUsage) -> GraderUsage:
        replayed, recorded = self.replayed + other.replayed, self.recorded + other.recorded
        return GraderUsage(self.model, replayed, recorded)


def token_count(value: Any) -> int | None:
    """Return a server's token count, or None if it is not a possible number of tokens."""
    # Not isinstance(), as True is an int.
    return value if type(value) is int and 0 <= value < 10**12 else None
