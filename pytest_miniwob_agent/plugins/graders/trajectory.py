"""Graders of what an agent does: which actions, on which elements, in which order, how many.

An action is a pattern: its class or the name of it, the name of the element that it is done on, and
values of its fields. Names and values are strings, regular expressions (`re.compile`, which are
searched) or functions. `("Click", "Save")` is a click on an element that is named Save, and
`("Enter", "City", {"text": re.compile("Ber")})` enters a text with "Ber" in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any, get_args
from urllib.parse import urlsplit

from pytest_miniwob_agent.core.actions import Action, Answer, ByProgram, element_ids
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Acted, Episode, TrialStarted
from pytest_miniwob_agent.core.grades import Grade
from pytest_miniwob_agent.core.observations import Observation
from pytest_miniwob_agent.core.text import nearest, shorten
from pytest_miniwob_agent.plugins.graders.grader import Grader

Value = str | re.Pattern[str] | Callable[[Any], object]
Pattern = type | str | tuple[Any, ...]

_ACTIONS = {kind.__name__: kind for kind in (*get_args(Action), ByProgram)}


def did(action: type | str, name: Value | None = None, **values: Value) -> Grader:
    """Passes if the agent did an action."""
    wanted = _Pattern.read((action, name, values))

    def grade(episode: Episode) -> Grade:
        place = next((at for act, at in _acts(episode) if wanted.matches(*act)), None)
        return Grade(place is not None, place or f"no action is {wanted}")

    return Grader(f"did {wanted}", grade)


def never(action: type | str, name: Value | None = None, **values: Value) -> Grader:
    """Passes if the agent never did an action."""
    wanted = _Pattern.read((action, name, values))

    def grade(episode: Episode) -> Grade:
        place = next((at for act, at in _acts(episode) if wanted.matches(*act)), None)
        return Grade(place is None, place or "")

    return Grader(f"never {wanted}", grade)


def in_order(*actions: Pattern) -> Grader:
    """Passes if a trial had these actions in this order, whatever came between them."""
    if not actions:
        raise UsageError("in_order needs actions: without one it always passes")
    wanted = [_Pattern.read(each) for each in actions]

    def grade(episode: Episode) -> Grade:
        furthest = 0
        for trial in range(1, episode.trials + 1):
            left = iter([act for act, _ in _acts(episode, trial)])
            found = 0
            while found < len(wanted) and any(wanted[found].matches(*act) for act in left):
                found += 1
            furthest = max(furthest, found)
        if furthest == len(wanted):
            return Grade(True)
        after = f" after {wanted[furthest - 1]}" if furthest else ""
        return Grade(False, f"there is no {wanted[furthest]}{after}")

    return Grader(f"in order {' then '.join(map(str, wanted))}", grade)


def only(*actions: Pattern) -> Grader:
    """Passes if each action of the agent is one of these."""
    if not actions:
        raise UsageError("only needs actions: without one no action passes")
    wanted = [_Pattern.read(each) for each in actions]

    def grade(episode: Episode) -> Grade:
        for act, place in _acts(episode):
            if not any(each.matches(*act) for each in wanted):
                return Grade(False, place)
        return Grade(True)

    return Grader(f"only {' or '.join(map(str, wanted))}", grade)


def answered(value: Value) -> Grader:
    """Passes if the agent gave this answer."""

    def grade(episode: Episode) -> Grade:
        acts = (act for (act, _), _ in _acts(episode))
        answers = [act.text for act in acts if isinstance(act, Answer)]
        said = f"it answered {shorten(answers[-1])}" if answers else "it gave no answer"
        return Grade(bool(answers) and _fits(value, answers[-1]), said)

    return Grader(f"answered {_shown(value)}", grade)


def visited(address: Value) -> Grader:
    """Passes if a window showed this page, of an app or of a folder of your own.

    A string is compared with its path, with or without the query; a regular expression is searched
    in its address, and a function gets the address.
    """

    def grade(episode: Episode) -> Grade:
        pages = [each.url for each in episode.requests if each.leads or each.kind == "Document"]
        found = any(_is_address(address, each) for each in pages)
        return Grade(found, "" if found else f"no page is {_shown(address)}")

    return Grader(f"visited {_shown(address)}", grade)


def asked(method: str, path: str, fields: Mapping[str, Any] | None = None) -> Grader:
    """Passes if a page made a request of this method and path, with these fields among others."""
    shown = f"{method} {path}" + (f" with {dict(fields)}" if fields else "")

    def grade(episode: Episode) -> Grade:
        found = episode.asked(method, path, fields)
        return Grade(found, "" if found else f"no request is {shown}")

    return Grader(f"asked {shown}", grade)


_COUNTS = {"actions": "steps", "calls": "calls", "tokens": "tokens", "trials": "trials"}


def at_most(**most: int) -> Grader:
    """Passes if the agent needed at most so many `actions`, `calls`, `tokens` or `trials`.

    Tokens that the model's server did not count fail it.
    """
    if not most:
        raise UsageError(f"at_most needs one of {', '.join(_COUNTS)}: without it always passes")
    for name in most:
        if name not in _COUNTS:
            hint = nearest(name, list(_COUNTS))
            raise UsageError(f"at_most knows no {name}{hint}; it takes {', '.join(_COUNTS)}")
        if type(most[name]) is not int or most[name] < 0:
            raise UsageError(f"at_most takes a number from 0 on, not {name}={most[name]!r}")

    def grade(episode: Episode) -> Grade:
        found = {name: getattr(episode, _COUNTS[name]) for name in most}
        over = [name for name, count in found.items() if count is None or count > most[name]]
        said = (
            "tokens unknown" if found[name] is None else f"{found[name]:,} {name}" for name in over
        )
        return Grade(not over, ", ".join(said))

    # Gates separate their parts by commas.
    shown = " and ".join(f"{count} {name}" for name, count in most.items())
    return Grader(f"at most {shown}", grade)


class _Pattern:
    def __init__(self, kind: type, name: Value | None, values: dict[str, Value]) -> None:
        self._kind, self._name, self._values = kind, name, values

    @classmethod
    def read(cls, given: Pattern) -> _Pattern:
        action, *more = given if isinstance(given, tuple) and given else (given,)
        values = more.pop() if more and isinstance(more[-1], dict) else {}
        name = more.pop(0) if more else None
        written = action.__name__ if isinstance(action, type) else str(action)
        kind = _ACTIONS.get(written)
        if kind is None:
            hint = nearest(written, list(_ACTIONS))
            hint = ": give its parts without brackets" if isinstance(action, tuple) else hint
            raise UsageError(f"there is no action {written!r}{hint}")
        if more or not (isinstance(name, str | re.Pattern | None) or callable(name)):
            wrong = more[0] if more else name
            raise UsageError(
                f"{written} takes the name of an element, which is a string, a regular expression "
                f"or a function, and a dict of values, not {wrong!r}"
            )
        known = [one.name for one in fields(kind)]
        for each in values:
            if each not in known:
                hint = nearest(each, known)
                raise UsageError(f"{written} has no {each!r}{hint}; it has {', '.join(known)}")
        return cls(kind, name, values)

    def matches(self, action: Any, names: tuple[str, ...]) -> bool:
        return (
            type(action) is self._kind
            and (self._name is None or any(_fits(self._name, name) for name in names))
            and all(_fits(value, getattr(action, key)) for key, value in self._values.items())
        )

    def __str__(self) -> str:
        parts = [] if self._name is None else [_shown(self._name)]
        parts += [f"{key}={_shown(value)}" for key, value in self._values.items()]
        return self._kind.__name__ + (f" {' '.join(parts)}" if parts else "")


def _acts(
    episode: Episode, only_trial: int | None = None
) -> Iterator[tuple[tuple[Any, tuple[str, ...]], str]]:
    # Each action with the names of the elements that it is done on, and where that is.
    seen = Observation("")
    for event in episode.events:
        if isinstance(event, TrialStarted):
            seen = event.observation
        elif isinstance(event, Acted):
            if only_trial in (None, event.trial):
                named = {one.id: one.text or one.placeholder for one in seen.elements}
                ids = element_ids(event.action) if not isinstance(event.action, ByProgram) else ()
                names = tuple(named.get(id_, "") for id_ in ids)
                on = f" ({', '.join(map(shorten, filter(None, names)))})" if any(names) else ""
                at = f"trial {event.trial}, action {event.step}: {shorten(event.action)}{on}"
                yield (event.action, names), at
            seen = event.transition.observation


def describe_actions(episode: Episode) -> list[str]:
    """Return a line for each action: where it was done, and the names of its elements."""
    return [place for _, place in _acts(episode)]


def _fits(value: Value, found: Any) -> bool:
    match value:
        case re.Pattern():
            return bool(value.search(str(found)))
        case str():
            return value == str(found)
        case _ if callable(value):
            return bool(value(found))
    return bool(value == found)


def _is_address(value: Value, url: str) -> bool:
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return (
        value in (parts.path, parts.path + query) if isinstance(value, str) else _fits(value, url)
    )


def _shown(value: Any) -> str:
    if isinstance(value, re.Pattern):
        return f"/{value.pattern}/"
    return getattr(value, "__name__", None) or repr(value)
