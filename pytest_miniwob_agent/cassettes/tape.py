"""The tape of an item, in memory: its model calls, those that were made and those that are left."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.chat import GraderUsage, Message, Usage
from pytest_miniwob_agent.core.data import canonical_json, digest
from pytest_miniwob_agent.core.events import OF_TEST, Completion, Origin
from pytest_miniwob_agent.core.secrets import Secret, find
from pytest_miniwob_agent.models.api import digests_in, mapping, without_pictures
from pytest_miniwob_agent.models.apis import CHAT, find_api, parse_completion
from pytest_miniwob_agent.models.bodies import EVENT_STREAM, read_events

NOT_RECORDED = ("created", "id")
"""The fields of a chat completion that are not stored, as they differ at every call."""

CHARACTERS_PER_TOKEN = 4
"""A rough estimate for English, used if a server gave no token counts."""

TOKENS_OF_PICTURE = 500
"""A rough estimate for a picture of 500 x 700 pixels, used in the same case."""


CONVERSATION = {
    *("model", "messages", "input", "instructions", "system", "tools"),
    *("contents", "systemInstruction"),
}
"""The fields of a request that are not parameters."""

KEPT = ("previous_response_id", "previous_interaction_id", "conversation", "thread", "thread_id")
"""The fields of a request that name a conversation which the server keeps."""

_THREAD = re.compile("/threads/([^/]+)")


@dataclass(frozen=True)
class Request:
    """A request as it is matched and stored.

    Args:
        path: that of its API, such as `/v1/chat/completions`.
        body: the JSON that is posted, after the agent's `normalize`, with references in the place
            of pictures (`pictures.references`).
        normalized: the parts of the body that `normalize` changed, such as `messages[1].id`.
    """

    path: str
    body: Mapping[str, Any]
    normalized: tuple[str, ...] = ()

    @cached_property
    def key(self) -> str:
        """The request as a string; requests match if their keys are equal."""
        key = canonical_json(self.body)
        return key if self.path == CHAT else f"{self.path} {key}"

    @cached_property
    def pictures(self) -> list[str]:
        return digests_in(self.body)

    @cached_property
    def outline(self) -> str:
        """The key of the request without its pictures."""
        return replace(self, body=without_pictures(self.body)).key

    @property
    def continues(self) -> dict[str, str]:
        """The ids of the conversations that the server keeps and that this one continues."""
        found = {name: self.body.get(name) for name in KEPT}
        found = {name: mapping(part).get("id", part) for name, part in found.items()}
        found |= {"thread": thread[1]} if (thread := _THREAD.search(self.path)) else {}
        return {name: part for name, part in found.items() if part and isinstance(part, str)}

    @property
    def is_known(self) -> bool:
        """True if the API is one whose messages, tools and parameters can be read."""
        return bool(find_api(self.path).path)

    @property
    def messages(self) -> list[Message]:
        return find_api(self.path).messages(self.body)

    @property
    def tools(self) -> dict[str, Any]:
        return find_api(self.path).tools(self.body)

    @property
    def text(self) -> str:
        """The messages as one string; if there are several, each starts with its role."""
        messages = self.messages
        if len(messages) == 1:
            return str(messages[0])
        return "\n".join(f"[{message.role}]\n{message}" for message in messages)


@dataclass(eq=False)
class Call:
    """A recorded model call.

    Args:
        request: what was asked.
        answer: the response's body: parsed JSON, or a string (`models.bodies`).
        origin: where in its item the call was made; None for a completion of a batch that no run
            has used yet.
        written: its text in a file, so that it is made once; empty if it has to be made again.
        answered_in: the stem of the other item that the answer was taken from; empty if the item
            has asked for it itself.
        status: 200, or the HTTP status with which the server refused the call.
        kind: the type of an answer that is neither JSON nor an event stream.
    """

    request: Request
    answer: Any
    origin: Origin | None = None
    written: str = field(default="", repr=False)
    answered_in: str = ""
    status: int = 200
    kind: str = ""

    @property
    def key(self) -> str:
        return self.request.key

    @property
    def body(self) -> Mapping[str, Any]:
        return self.request.body

    @property
    def recorded(self) -> Any:
        """The stored part of the answer: of a chat completion not `NOT_RECORDED`, else all."""
        if self.request.path != CHAT or isinstance(self.answer, str):
            return self.answer
        return {name: part for name, part in self.answer.items() if name not in NOT_RECORDED}

    @cached_property
    def content(self) -> str:
        """The request and the response as one string, equal for equal calls."""
        return self.key + canonical_json(self.answer)

    @cached_property
    def secrets(self) -> list[Secret]:
        """What looks like a secret in it; of a stream also where its events add up to one."""
        events = self.events if isinstance(self.answer, str) else self.answer
        events = events if isinstance(events, list) else []
        parts = (self.body, self.recorded, self.completion, self.origin)
        return find([*parts, *events, *_joined_pieces(events)])

    @property
    def events(self) -> list[Any]:
        """The JSON of the events of a recorded stream."""
        return read_events(self.answer, self.kind or EVENT_STREAM)

    @cached_property
    def completion(self) -> Completion:
        return parse_completion(self.request.path, self.answer, self.status, self.kind)

    @property
    def outside(self) -> bool:
        """True if the call was made outside of the episode: by the test, or by a grader."""
        return self.origin is not None and self.origin.outside

    @property
    def of_grader(self) -> bool:
        """True if a grader made the call, which has a model of its own and no limits."""
        return self.origin is not None and self.origin.of_grader

    @property
    def estimated_tokens(self) -> tuple[int, int]:
        """An estimate of the tokens, from lengths: those asked, and those answered."""
        said = self.completion
        answered = len(said.text) + sum(map(len, map(str, said.tool_calls)))
        pictures = TOKENS_OF_PICTURE * len(self.request.pictures)
        asked = len(self.request.text) // CHARACTERS_PER_TOKEN + pictures
        return asked, answered // CHARACTERS_PER_TOKEN


def _joined_pieces(events: Sequence[Any]) -> set[str]:
    """Return what the strings of a stream's events add up to, whatever its API is.

    Pieces of a string have the same names above them, and mostly the same types and indices: those
    tell strings apart that come in turns. A server may leave them out, or count each piece.
    """
    pieces: dict[Any, list[str]] = defaultdict(list)

    def add(value: Any, names: str = "", types: str = "", indices: str = "") -> None:
        if isinstance(value, str):
            for place in product((types, None), (indices, None)):
                pieces[names, place].append(value)
        elif isinstance(value, Mapping):
            types += f" {value.get('type')}"
            indices += "".join(f" {n}" for name, n in value.items() if name.endswith("index"))
            for name, part in value.items():
                add(part, f"{names}.{name}", types, indices)
        elif isinstance(value, list):
            for part in value:
                add(part, names, types, indices)

    add(events)
    return set(map("".join, pieces.values()))


def batch_id(stem: str, key: str, earlier: int) -> str:
    """Return the id of an item's request in a batch file; `earlier` equal ones precede it."""
    return f"{stem}#{digest(key)}-{earlier}"


def total_usage(calls: Iterable[Call], *, estimate: bool = False) -> Usage:
    """Sum up calls and tokens; `estimate` replaces missing token counts by estimates from lengths.

    Calls without a count are counted in `uncounted` in both cases.
    """
    total = Usage()
    for call in calls:
        usage = call.completion.usage
        if usage.uncounted and estimate:
            usage = Usage(1, *call.estimated_tokens, uncounted=1)
        total += usage
    return total


def sent_parts(calls: Iterable[Call], known: Mapping[str, Any]) -> dict[str, str]:
    """Return digests of the system messages, tools and parameters of calls, if there are any.

    Parameters that are `known`, as all calls of the run have them, are left out.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for request in (call.request for call in calls if call.request.is_known):
        roles = ("system", "developer")
        found["system messages"] |= {each.text for each in request.messages if each.role in roles}
        found["tools"] |= {canonical_json(request.tools)} if request.tools else set()
        own = {k: v for k, v in request.body.items() if k not in CONVERSATION and known.get(k) != v}
        found["parameters of calls"] |= {canonical_json(own)} if own else set()
    return {name: digest("\n".join(sorted(parts))) for name, parts in found.items() if parts}


class Tape:
    """The calls of one item. Each is played once: to an equal request, in the order of the calls.

    It knows of no files and no locks. `left` are the recorded calls that were not played, and
    `spare` further ones, which are played where no recorded one fits; `added` are those that a
    server answered, `deferred` those that a batch answered, once they are played, and `shared`
    those that another item has answered. `alike` says of a recorded request and another one that
    they count as equal.
    """

    def __init__(
        self,
        calls: Iterable[Call],
        spare: Iterable[Call] = (),
        alike: Callable[[Request, Request], bool] = lambda recorded, request: False,
    ) -> None:
        self.left = list(calls)
        self.spare = list(spare)
        self.added: list[Call] = []
        self.deferred: list[Call] = []
        self.shared: list[Call] = []
        self._alike = alike
        self._made: dict[Call, int] = {}
        self._begun = 0
        self._under_way: dict[int, tuple[int, int]] = {}
        self._overlapped: set[tuple[int, int]] = set()

    @property
    def made(self) -> list[Call]:
        """The calls that were played or added, in the order in which they were begun."""
        return sorted(self._made, key=self._made.__getitem__)

    @property
    def calls(self) -> list[Call]:
        """All calls: those that were made, then those that are left."""
        return [*self.made, *self.left]

    @property
    def usage(self) -> dict[str, Usage]:
        """The usage of calls that were `replayed`, of these `shared`, `recorded`, and `left`.

        Of those that are left, missing counts are estimated. Graders' calls are not among them.
        """
        replayed = [call for call in self.made if call not in self.added]
        return {
            "replayed": total_usage(call for call in replayed if not call.of_grader),
            "shared": total_usage(self.shared),
            "recorded": total_usage(call for call in self.added if not call.of_grader),
            "left": total_usage((call for call in self.left if not call.outside), estimate=True),
        }

    @property
    def graders(self) -> tuple[GraderUsage, ...]:
        """The usage of the calls of graders, by model."""
        found: dict[str, GraderUsage] = {}
        for call in self.made:
            if call.of_grader:
                model, usage = str(call.body.get("model", "")), call.completion.usage
                kind = "recorded" if call in self.added else "replayed"
                found.setdefault(model, GraderUsage(model))
                found[model] += GraderUsage(model, **{kind: usage})
        return tuple(found.values())

    def beyond(self, limits: Limits) -> list[Call]:
        """Return the calls that are left and that the limits do not allow."""
        beyond = []
        agents = [call for call in self.left if not call.outside]
        made = sum(not call.outside for call in self.made)
        for number, call in enumerate(agents, start=made + 1):
            origin = call.origin or OF_TEST
            too_late = origin.trial > limits.trials or origin.step > limits.steps
            if too_late or number > limits.calls:
                beyond.append(call)
        return beyond

    def begin(self, origin: Origin) -> int:
        """Begin a call and return its number; `end` comes once it is over."""
        self._begun += 1
        self._under_way[self._begun] = (origin.trial, origin.step)
        if len(self._under_way) > 1:
            self._overlapped.update(self._under_way.values())
        return self._begun

    def end(self, number: int) -> None:
        del self._under_way[number]

    def play(self, request: Request, number: int) -> Call | None:
        """Return the first call that answers a request, and count it as made, or None.

        Equal requests come before those that are only alike, and recorded calls before spare ones.
        """
        for equal in (True, False):
            for calls in (self.left, self.spare):
                for call in calls:
                    then = call.request
                    if then.key == request.key if equal else self._alike(then, request):
                        calls.remove(call)
                        self._made[call] = number
                        if call.origin is None and not call.answered_in:
                            self.deferred.append(call)
                        return call
        return None

    def add(self, call: Call, number: int) -> None:
        self._made[call] = number
        self.added.append(call)

    def rewind(self) -> None:
        """Play the episode from its start again; calls outside of it stay made."""
        self.left = [*(call for call in self.made if not call.outside), *self.left]
        self._made = {call: number for call, number in self._made.items() if call.outside}

    def in_stable_order(self) -> list[Call]:
        """Return the calls that were made, in an order that does not depend on the server's speed.

        If calls of one step overlapped, those of the step are sorted by purpose and request;
        all others keep the order in which they were begun.
        """
        first: dict[tuple[int, int], int] = {}

        def order(call: Call) -> tuple[int, str, str, int]:
            number = self._made[call]
            origin = call.origin
            step = (origin.trial, origin.step) if origin else (0, 0)
            if origin is None or step not in self._overlapped:
                return number, "", "", number
            return first.setdefault(step, number), origin.purpose, call.key, number

        return sorted(self.made, key=order)
