"""The conversation of one trial, in the Chat Completions form and within bounds.

Answers go back in a form that every server takes: what is not valid, or endless, is replaced, and
calls are numbered, so that prompts do not depend on the ids that a server makes up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.core.tools import BadCall, parse_arguments

SCREENS_LIMIT = 16_000
"""Characters of the screens in a prompt: older screens are left out, and a longer one is cut."""

ANSWERS_SHOWN = 30
"""Answers in a prompt, with their results: the latest ones."""

TEXT_LIMIT = 4_000
"""Characters of an answer's text that later prompts repeat."""

ARGUMENTS_LIMIT = 10_000
"""Characters of a call's arguments that later prompts repeat: more than any action has."""

CALLS_LIMIT = 50
"""Calls of one answer that are carried out, and that later prompts repeat."""

NOTHING = "(no answer)"
"""The text in place of an empty answer, which some servers refuse to be sent."""


class Conversation:
    """The messages of one trial; `task` is the user's first message without its screen."""

    def __init__(self, prompts: Prompts, system: Prompt, task: Prompt, screen: str) -> None:
        self._prompts = prompts
        self._system = system
        self._task = task
        self._screen = screen
        self._exchanges: list[tuple[list[dict[str, Any]], str | None]] = []
        self._calls = 0

    def add(
        self, completion: Completion, results: Sequence[Prompt], screen: str | None = None
    ) -> None:
        """Add an answer, the results of its first calls, and the screen below the last of them.

        Of an answer without calls, the result is the user's next message.
        """
        text = _sendable((completion.text or completion.refusal or "").strip()[:TEXT_LIMIT])
        answer: dict[str, Any] = {"role": "assistant", "content": text or NOTHING}
        calls = completion.tool_calls[: len(results)]
        if not calls:
            replies = [{"role": "user", "content": result} for result in results]
        else:
            ids = [f"call{self._calls + number:05}" for number in range(1, len(calls) + 1)]
            self._calls += len(calls)
            answer["content"] = text or None
            answer["tool_calls"] = [
                {"id": id_, "type": "function", "function": _echo(call.name, call.arguments)}
                for id_, call in zip(ids, calls, strict=True)
            ]
            replies = [
                {"role": "tool", "tool_call_id": id_, "content": result}
                for id_, result in zip(ids, results, strict=True)
            ]
        self._exchanges.append(([answer, *replies], screen))

    def messages(self) -> list[dict[str, Any]]:
        """The messages of the next request."""
        exchanges = self._exchanges[-ANSWERS_SHOWN:]
        screens = self._screens([self._screen, *(screen for _, screen in exchanges)])
        task = [self._task, screens[0]]
        if left_out := len(self._exchanges) - len(exchanges):
            task.append(self._prompts.fill("earlier", count=str(left_out)))
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": self._system},
            {"role": "user", "content": Prompt.joined(filter(None, task))},
        ]
        for (exchange, _), screen in zip(exchanges, screens[1:], strict=True):
            messages += exchange
            if screen:
                content = Prompt.joined([messages[-1]["content"], screen])
                messages[-1] = {**messages[-1], "content": content}
        return messages

    def _screens(self, screens: Sequence[str | None]) -> list[Prompt]:
        """Show the latest screens that fit, and say of the older ones that they are left out."""
        room = SCREENS_LIMIT
        shown = []
        for screen in reversed(screens):
            if screen is None:
                shown.append(Prompt())
            elif room == SCREENS_LIMIT or len(screen) <= room:
                room -= len(screen)
                shown.append(self._prompts.fill("now", screen=screen[:SCREENS_LIMIT] or "(empty)"))
            else:
                room = -1  # so that no older one is shown either
                shown.append(self._prompts.fill("left-out"))
        return shown[::-1]


def _echo(name: str, arguments: str) -> dict[str, str]:
    """A call's name and arguments as they can be sent back: a name, and a JSON object."""
    try:
        parse_arguments(arguments)
    except BadCall:
        arguments = "{}"
    arguments = _sendable(arguments).strip()
    if not arguments or len(arguments) > ARGUMENTS_LIMIT:
        arguments = "{}"
    valid = re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
    return {"name": name if valid else "unknown", "arguments": arguments}


def _sendable(text: str) -> str:
    """The text without halves of surrogate pairs, which can't be encoded."""
    return text.encode("utf-8", "replace").decode("utf-8")
