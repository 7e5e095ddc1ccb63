"""The agent that works by native tool calls: the actions are the model's tools.

A trial is one conversation. The model calls tools, several in one answer if it likes. The result of
each call says what came of it, and below the last result is the screen that the calls led to.

Answers go back in a form that every server takes: what is not valid, or endless, is replaced, and
calls are numbered, so that prompts do not depend on the ids that a server makes up. What a provider
has added to the message and its calls goes back as it came, and so does an id that holds more than
a name, such as a signature.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.agents.registry import check_choice, variant_name
from pytest_miniwob_agent.core.actions import (
    Action,
    Answer,
    DialogAction,
    InputAction,
    NavigationAction,
    Upload,
)
from pytest_miniwob_agent.core.data import well_formed
from pytest_miniwob_agent.core.errors import StepLimit
from pytest_miniwob_agent.core.events import Completion, Ending, Note, TrialEnded
from pytest_miniwob_agent.core.observations import SCREENS, Transition
from pytest_miniwob_agent.core.parsing import InvalidToolCall, parse_arguments, tools_of
from pytest_miniwob_agent.core.protocols import LLM, Environment
from pytest_miniwob_agent.screen import render

PAPER_TOOLS = ("click", "enter", "press", "hold", "release")
"""The actions of the reflective agent's paper."""

POINT_TOOLS = ("click_at", "hover_at", "drag_from")
"""The actions that need to be given boxes."""

FULL_SCREEN_TOOLS = (*POINT_TOOLS, "wait", "follow")
"""The actions that need to be given boxes and to know what moves."""

MISSES = 3
"""Answers in a row after which a trial ends, if nothing of any of them could be carried out."""

CALLS_SHOWN = 40
"""Calls of a failed trial that the next trial's model is shown: the latest ones."""

SCREENS_LIMIT = 16_000
"""Characters of the screens in a prompt: older screens are left out, and a longer one is cut."""

TEXT_LIMIT = 4_000
"""Characters of an answer's text that later prompts repeat."""

ARGUMENTS_LIMIT = 10_000
"""Characters of a call's arguments that later prompts repeat: more than any action has."""

CALLS_LIMIT = 50
"""Calls of one answer that are carried out, and that later prompts repeat."""

LONGEST_ID = 64
"""Characters of a call's id that is no more than a name."""

NOTHING = "(no answer)"
"""The text in place of an empty answer, which some servers refuse to be sent."""


class ToolsAgent:
    """Native tool calls, several in one answer, until the page judges.

    Args:
        prompts: a folder of prompts that replace the built-in ones, file by file.
        actions: `paper` for the actions of the reflective agent's paper, `all` for every action;
            those at points and by the clock only together with the full screen. On apps it has all
            of them in both cases.
        screen: `compact`, `full` for everything that shows, or `tree` for roles, names and states;
            by default the tree on your own pages and apps, else compact.
    """

    def __init__(
        self, prompts: str | Path | None = None, *, actions: str = "paper", screen: str = ""
    ) -> None:
        self.prompts = Prompts(Path(__file__).with_name("prompts"), prompts)
        all_actions = check_choice("actions", actions, ("paper", "all")) == "all"
        self.answers = {tool["function"]["name"]: tool for tool in tools_of(DialogAction)}
        self.upload, self.answer = tools_of([Upload, Answer])
        tools, inputs, navigation = (
            {tool["function"]["name"]: tool for tool in tools_of(kind)}
            for kind in (Action, InputAction, NavigationAction)
        )
        self.screen = screen and check_choice("screen", screen, SCREENS)
        without = {"full": (), "tree": POINT_TOOLS}.get(screen, FULL_SCREEN_TOOLS)
        self.tools = {
            name: tool
            for name, tool in tools.items()
            if name in PAPER_TOOLS or (all_actions and name not in without)
        }
        self.further = inputs | navigation if all_actions else navigation
        on_apps = () if screen == "full" else POINT_TOOLS
        self.app_tools = {name: tool for name, tool in tools.items() if name not in on_apps}
        self.further_on_apps = inputs | navigation
        screen_part = screen and f"{screen}-screen"
        self.variant_of = "tools"
        self.name = variant_name(self.variant_of, screen_part, all_actions and "all-actions")

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        before: list[Prompt] = []
        while True:
            trial = _Trial(self, env, llm, before)
            end = trial.play()
            note(end)
            if end.ending is Ending.CORRECT:
                return
            before = [trial.report(end.ending)]


class _Trial:
    """One trial: the model's answers, and the carrying out of their calls."""

    def __init__(self, agent: ToolsAgent, env: Environment, llm: LLM, before: list[Prompt]) -> None:
        self._prompts = agent.prompts
        self._agent = agent
        self._env = env
        self._llm = llm
        shown = agent.screen or env.default_screen
        start = env.reset(screen=shown)
        if start.answers and shown == "compact":
            shown = "tree"  # apps have no compact screen
        screen = self._prompts.fill("screen" if shown == "compact" else f"{shown}-screen")
        system = self._prompts.fill("system", screen=screen)
        task = Prompt.joined([self._prompts.fill("task", goal=start.goal), *before])
        self._messages: list[dict[str, Any]] = [
            {"role": "system", "content": system},
            {"role": "user", "content": task},
        ]
        self._screens = {1: render(start.elements)}  # each below the message of that index
        self._last = Transition(start)
        self._calls: list[str] = []
        self._answered = 0

    def play(self) -> TrialEnded:
        misses, reminded = 0, False
        while not self._last.done:
            tools = list(self._tools.values())
            completion = self._llm.chat(self._with_screens(), "act", tools=tools)
            if completion.tool_calls:
                reminded = False
                try:
                    done = self._carry_out(completion)
                except StepLimit as limit:
                    return TrialEnded(Ending.STEP_LIMIT, str(limit))
                misses = 0 if done else misses + 1
                if misses == MISSES:
                    return TrialEnded(Ending.EXCEPTION, self._last.error or "")
            elif reminded:
                return TrialEnded(Ending.INCOMPLETE, "the model calls no tool any more")
            else:
                self._add(completion, [self._prompts.fill("reminder")])
                reminded = True
        return TrialEnded.judged(self._last)

    @property
    def _tools(self) -> dict[str, dict[str, Any]]:
        if self._last.observation.dialog:
            return self._agent.answers
        seen, agent = self._last.observation, self._agent
        more = {"upload": agent.upload} if seen.files else {}
        more |= {"answer": agent.answer} if seen.answers else {}
        if seen.further:
            more |= agent.further_on_apps if seen.answers else agent.further
            if not seen.tabs:
                del more["close_tab"]
        return (agent.app_tools if seen.answers else agent.tools) | more

    def report(self, ending: Ending) -> Prompt:
        calls = [f"- {call}" for call in self._calls[-CALLS_SHOWN:]] or ["- nothing"]
        ended = self._prompts.fill(f"ending-{ending}")
        return self._prompts.fill("again", ending=ended, calls="\n".join(calls))

    def _carry_out(self, completion: Completion) -> int:
        """Carry out the calls of an answer up to the first that fails; returns how many were."""
        done = 0
        results: list[Prompt] = []
        for call in completion.tool_calls[:CALLS_LIMIT]:
            if done < len(results):
                results.append(self._prompts.fill("skipped"))
                continue
            results.append(self._call(call.name, call.arguments))
            done += self._last.error is None
            if self._last.done:
                return done
        if len(results) < len(completion.tool_calls):
            more = self._prompts.fill("too-many", most=str(CALLS_LIMIT))
            results[-1] = Prompt.joined([results[-1], more])
        self._add(completion, results)
        self._screens[len(self._messages) - 1] = render(self._last.observation.elements)
        return done

    def _call(self, name: str, arguments: str) -> Prompt:
        before = self._last.observation
        if name in self._tools:
            self._last = self._env.call(name, arguments)
        else:
            error = f"there is no such tool; the tools are {', '.join(self._tools)}"
            self._last = Transition(before, error=error)
        if self._last.error is not None:
            return self._prompts.fill("failed", error=self._last.error)
        self._calls.append(f"{name} {' '.join(arguments.split())}"[:200])
        same = render(before.elements) == render(self._last.observation.elements)
        return self._prompts.fill("unchanged" if same else "changed")

    def _add(self, completion: Completion, results: Sequence[Prompt]) -> None:
        """Add an answer and the results of its first calls, or without calls the user's reply."""
        text = (completion.text or completion.refusal or "").strip()[:TEXT_LIMIT]
        came = completion.message
        made = came.pop("tool_calls", None) or [{}] * len(completion.tool_calls)
        added = {name: part for name, part in came.items() if name != "function_call"}
        parts = came["content"] if isinstance(came["content"], list) else None
        answer: dict[str, Any] = {**added, "role": "assistant", "content": parts or text or NOTHING}
        self._messages.append(answer)
        if not completion.tool_calls:
            self._messages += [{"role": "user", "content": result} for result in results]
            return
        answer |= {"content": parts or text or None, "tool_calls": []}
        for call, one, result in zip(completion.tool_calls, made, results, strict=False):
            self._answered += 1
            id_ = call.id if len(call.id) > LONGEST_ID else f"call{self._answered:05}"
            function = {**one.pop("function", {}), **_echo(call.name, call.arguments)}
            plain = {"id": id_, "type": "function", "function": function}
            answer["tool_calls"].append({**one, **plain})
            self._messages.append({"role": "tool", "tool_call_id": id_, "content": result})

    def _with_screens(self) -> list[dict[str, Any]]:
        messages, room = list(self._messages), SCREENS_LIMIT
        for at, screen in reversed(self._screens.items()):
            if room == SCREENS_LIMIT or len(screen) <= room:
                room -= len(screen)
                shown = self._prompts.fill("now", screen=screen[:SCREENS_LIMIT] or "(empty)")
            else:
                room = -1  # so that no older one is shown either
                shown = self._prompts.fill("left-out")
            content = Prompt.joined([messages[at]["content"], shown])
            messages[at] = {**messages[at], "content": content}
        return messages


def _echo(name: str, arguments: str) -> dict[str, str]:
    """A call's name and arguments as they can be sent back: a name, and a JSON object."""
    try:
        given = parse_arguments(arguments)
        sendable = well_formed(given)
        arguments = arguments.strip() if sendable is given else json.dumps(sendable)
    except InvalidToolCall:
        arguments = ""
    if not arguments or len(arguments) > ARGUMENTS_LIMIT:
        arguments = "{}"
    valid = re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
    return {"name": name if valid else "unknown", "arguments": arguments}
