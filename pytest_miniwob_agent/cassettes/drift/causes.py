"""Causes of drift: the parts of a request that are not those of the recorded one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_miniwob_agent.cassettes.drift.differences import Differences
from pytest_miniwob_agent.cassettes.format.call import (
    CONVERSATION,
    Call,
    Request,
    params_of,
)
from pytest_miniwob_agent.core.data import canonical_json, changed_parts
from pytest_miniwob_agent.core.errors import ADDED, REMOVED, Cause, ChangedPicture
from pytest_miniwob_agent.core.events import OF_TEST, Origin
from pytest_miniwob_agent.core.text import listed
from pytest_miniwob_agent.models.params import option_with

SUBJECTS = {
    "prompt": "the prompt text",
    "page": "the page",
    "agent": "the agent",
    "tools": "the agent",
    "api": "the agent",
    "model": "the model or its parameters",
    "rest": "the end of the item",
}
"""What changed, by the kind of the cause."""

_SHARED = ("prompt", "model", "tools", "api")
"""The causes whose details are the same for all items that have them."""

LONG_VALUE = 160
"""Of parameters with longer values, the parts that changed are named instead."""

_OF_AGENT = {"tool_choice", "response_format", "parallel_tool_calls", "stream", "stream_options"}
"""Parameters that agents and their clients choose themselves, so that no option replays them."""


def heading(causes: Iterable[Cause]) -> str:
    """Name causes in a few words that are the same for all items with these causes."""
    details: dict[str, list[str]] = {}
    for cause in causes:
        subject = "" if cause.kind == "rest" else f"{SUBJECTS[cause.kind]} changed"
        named = details.setdefault(subject or "recorded calls were not made", [])
        if cause.kind in _SHARED and cause.what not in named:
            named.append(cause.what)
    return ", and ".join(
        f"{subject}: {', '.join(named)}" if named else subject for subject, named in details.items()
    )


def causes_of(
    request: Request,
    now: Origin | None,
    call: Call,
    differences: Differences,
    pictures: Sequence[ChangedPicture] = (),
) -> list[Cause]:
    """Return the reasons why a request is not that of a recorded call, at least one.

    `now` is where the request is made; the differences are those of the texts of the two.
    """
    recorded, where = call.request, differences.where
    causes = [*_causes_of_model(request, recorded)]
    if request.path != recorded.path:
        return [Cause("api", f"the API {recorded.path}, now {request.path}"), *causes]
    causes += _causes_of_tools(request.tools, recorded.tools)
    if request.messages == recorded.messages:
        parts = listed(changed_parts(dict(recorded.body), dict(request.body)))
        return causes or [Cause("agent", parts or "another form of the same request")]
    if request.text == recorded.text and not where:
        return causes or [Cause("agent", "the roles of its messages changed")]
    found = [*_causes_of_messages(now, call.origin, differences, _seen(pictures))]
    if found or (causes and not where):
        return causes + found
    what = differences.part or "another text from the same prompt files, actions and page"
    return [*causes, Cause("agent", f"{where}: {what}" if where else what)]


def _seen(pictures: Sequence[ChangedPicture]) -> list[str]:
    """Return how pictures differ from the recorded ones in their places."""
    both = (picture for picture in pictures if picture.what not in (ADDED, REMOVED))
    return [f"picture {picture.number}: {picture.what}" for picture in both]


def _causes_of_model(request: Request, recorded: Request) -> Iterator[Cause]:
    body, then = request.body, recorded.body
    names = {"model"}
    if request.path == recorded.path and request.is_known:  # so that its parameters are known
        names |= (body.keys() | then.keys()) - CONVERSATION
    changed = [name for name in sorted(names) if body.get(name) != then.get(name)]
    if changed:
        yield Cause("model", ", ".join(_parameter(name, then, body) for name in changed))


def _parameter(name: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Name a parameter with both values; of long ones, the parts that differ."""
    values = [canonical_json(body[name]) if name in body else "not given" for body in (then, now)]
    if max(map(len, values)) <= LONG_VALUE:
        return f"{name} {values[0]}, now {values[1]}"
    return listed(changed_parts(then.get(name), now.get(name), name))


def _causes_of_tools(now: Mapping[str, Any], then: Mapping[str, Any]) -> Iterator[Cause]:
    changed = []
    for name in dict.fromkeys([*then, *now]):
        if name not in now:
            changed.append(f"the tool {name}: removed")
        elif name not in then:
            changed.append(f"the tool {name}: added")
        elif now[name] != then[name]:
            parts = [
                "its description" if part == "description" else part or "its definition"
                for part in changed_parts(then[name], now[name])
            ]
            changed.append(f"the tool {name}: {listed(parts)}")
    if not changed and list(now) != list(then):
        changed.append("the order of its tools")
    if changed:
        yield Cause("tools", listed(changed))


def _causes_of_messages(
    now: Origin | None, then: Origin | None, differences: Differences, seen: Sequence[str]
) -> Iterator[Cause]:
    """Yield the causes that the origins show; `seen` says how pictures changed."""
    if now is None or then is None:
        return
    before = f"{differences.where}: " if differences.where else ""
    after = f", see {differences.where}" if differences.where else ""
    files = sorted(
        name
        for name in now.prompts.keys() | then.prompts.keys()
        if now.prompts.get(name) != then.prompts.get(name)
    )
    if files:
        yield Cause("prompt", ", ".join(files) + after)
    if now.actions != then.actions:
        yield Cause("agent", "its actions before this call" + after)
    elif now.page != then.page:
        texts = [line for line in differences.marked if not line[2:].startswith("[picture ")]
        shown = [line for line in texts if line.startswith("+ ")] or texts
        yield Cause("page", before + "; ".join([*(line[2:].strip() for line in shown), *seen][:2]))
    elif seen and not files:
        yield Cause("page", before + "; ".join(seen[:2]))
    if now == then == OF_TEST and not seen:
        yield Cause("agent", before + (differences.part or "another text of the test"))


def options_of(request: Request, call: Call) -> str:
    """Return the options that replay a recorded call; empty if the agent sets the parameters."""
    body, then = request.body, call.body
    options = []
    if body.get("model") != then.get("model"):
        options.append(f"--miniwob-model={shlex.quote(str(then.get('model')))}")
    if params_of(body) != (params := params_of(then)):
        names = body.keys() | params.keys()
        if any(body.get(name) != then.get(name) for name in names & _OF_AGENT):
            return ""
        params = {name: value for name, value in params.items() if name not in _OF_AGENT}
        in_file = f"miniwob_llm_params = {json.dumps(params, ensure_ascii=False)}"
        options.append(f"{option_with(params)} (in the ini file: {in_file})")
    return " ".join(options)
