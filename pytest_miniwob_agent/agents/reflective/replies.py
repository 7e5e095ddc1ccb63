"""Replies to the reflective agent: plans, ids, and the suggestions of reflections."""

from __future__ import annotations

import re
from collections.abc import Iterator

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

_INDEX = re.compile(r"action\W{0,9}index\W{0,9}(\d++)\W", re.I)
_QUOTED = re.compile(r'"[^"\n]*"|(?<!\w)\'[^\'\n]*\'(?!\w)|\u201c[^\u201d\n]*\u201d')
_STORED = re.compile("\ue000(\\d+)\ue001")
_WARNED_OF = re.compile(
    r"(?:\b(?:instead of|rather than|avoid(?:ing)?|not|never|without)|n['\u2019]t)\b[^,;.:\n]*",
    re.I,
)
_NEXT = re.compile(r"[;\n]|,?\s(?:and\s)?(?:then|afterwards|after that)\b|\.\s", re.I)

Plan = list[Command | Unreadable]
"""Commands, and behind them an error if the next line could not be read."""

MAX_SENTENCE = 2_500
"""Characters of a suggestion that are read: more than the longest text that can be typed."""

MAX_WORDS = 40
"""Words that are tried as an action."""


def parse_plan(reply: str, all_actions: bool = False) -> Plan:
    """Read the actions of a reply, one per line; prose between them is skipped.

    They follow the last line that begins with `PLAN:`, if there is one. A line that begins like an
    action but can't be read ends the plan, with the error in its place. Empty where the reply says
    that nothing is left to do.

    Raises:
        Unreadable: there is no action.
    """
    verb = ANY_VERB if all_actions else VERB
    reply = _PLAN.split(reply)[-1]
    plan: Plan = []
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


def parse_suggestion(reply: str, all_actions: bool, screens: int) -> tuple[int, Command]:
    """Read step and action of `For action index=A, you should B.`.

    Of several suggestions the last is meant, of several actions in one the first. Actions that a
    sentence warns of are skipped: those after words such as `instead of` and `not`.

    Raises:
        Unreadable: no action is suggested, or one for a step beyond the number of screens.
    """
    verb = ANY_VERB if all_actions else VERB
    _, *pieces = _INDEX.split(reply)
    parts = list(zip(pieces[::2], pieces[1::2], strict=True))  # a number and what follows it
    advice = [part for part in parts if re.search(r"\bshould\b", part[1], re.I)]
    for number, sentence in reversed(advice or parts):
        for actions in _clauses(sentence[:MAX_SENTENCE], verb):
            commands = list(filter(None, (_parse_start(text, all_actions) for text in actions)))
            if not commands:
                continue
            if (step := int(number[:100])) >= screens:
                raise Unreadable(f"there is no screen for an action {step} among those above")
            whole = (command for command in commands if command.action is not None)
            return step, next(whole, commands[0])  # preferably one that names its element
    raise Unreadable(f"no suggestion in the reply: {quote(reply)}")


def _clauses(sentence: str, verb: re.Pattern[str]) -> Iterator[list[str]]:
    """Yield for each clause its texts from the verb of an action to the end of the clause.

    Texts in quotes are put aside meanwhile: what is typed may contain `then` or `not`.
    """
    stored = _QUOTED.findall(sentence)
    numbers = iter(range(len(stored)))
    plain = _QUOTED.sub(
        lambda _: f"\ue000{next(numbers)}\ue001", re.sub("[\ue000\ue001]", "\ufffd", sentence)
    )
    plain = _WARNED_OF.sub(" ", plain)
    for clause in _NEXT.split(plain):
        yield [
            _STORED.sub(lambda match: stored[int(match[1])], clause[found.start() :])
            for found in verb.finditer(clause)
        ]


def _parse_start(text: str, all_actions: bool) -> Command | None:
    """Parse the longest beginning of a text that is an action: reasons may stand behind it."""
    words = text.split(" ")[:MAX_WORDS]
    for end in range(len(words), 0, -1):
        try:
            command = parse_action(" ".join(words[:end]), all_actions)
        except Unreadable:
            continue
        return command if command.action is not None or end > 1 else None  # not a bare `click`
    return None
