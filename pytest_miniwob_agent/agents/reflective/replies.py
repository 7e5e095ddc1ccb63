"""Replies to the reflective agent: plans and ids; `suggestions` reads its reflections."""

from __future__ import annotations

import re

from pytest_miniwob_agent.core.parsing import (
    ANY_VERB,
    ID,
    VERB,
    Command,
    Unreadable,
    id_of,
    parse_action,
    quote,
    strip_marks,
)

_NOTHING = re.compile(
    r"\W*+(?:(?:done|none|nothing|no (?:further |more )?(?:plan|actions?)\b.*)\W*)?", re.I | re.S
)
_PLAN = re.compile(r"^[ \t#*`]{0,20}plan[ \t]{0,20}:[ \t*`]*+", re.I | re.M)
_LONE_ID = re.compile(r"\D{0,20}(\d+)\D{0,20}")


def without_thoughts(reply: str) -> str:
    """Return what follows the last line that begins with `PLAN:`; all of it without such a line."""
    return _PLAN.split(reply)[-1]


def parse_plan(reply: str, all_actions: bool = False) -> list[Command | Unreadable]:
    """Read the actions of a reply, one a line; prose between them is skipped.

    A line that begins like an action but can't be read ends the plan, with the error in its place.
    Empty where the reply says that nothing is left to do.

    Raises:
        Unreadable: there is no action.
    """
    verb = ANY_VERB if all_actions else VERB
    plan: list[Command | Unreadable] = []
    for line in reply.splitlines():
        if verb.match(strip_marks(line)):
            try:
                plan.append(parse_action(line, all_actions))
            except Unreadable as error:
                return [*plan, error]
    if not plan and not _NOTHING.fullmatch(reply):
        raise Unreadable(f"no action in the reply: {quote(reply)}")
    return plan


def parse_id(reply: str) -> int | None:
    """Read the id in a reply, in the form `id=4` or as the only number in a few words."""
    match = ID.search(reply) or _LONE_ID.fullmatch(reply.strip())
    return id_of(match) if match else None
