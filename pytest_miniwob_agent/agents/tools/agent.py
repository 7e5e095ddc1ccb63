"""The agent that works by native tool calls: the actions are the model's tools.

A trial is one conversation. The model calls tools, several in one answer if it likes. The result of
each call says what came of it, and below the last result is the screen that the calls led to.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import get_args

from pytest_miniwob_agent.agents.parameters import check_choice, variant_name
from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.agents.tools.conversation import CALLS_LIMIT, Conversation
from pytest_miniwob_agent.core.actions import (
    Action,
    Click,
    ClickAt,
    DragFrom,
    Enter,
    Follow,
    Hold,
    HoverAt,
    Press,
    Release,
    Wait,
)
from pytest_miniwob_agent.core.errors import StepLimit
from pytest_miniwob_agent.core.events import Completion, Ending, Note, TrialEnded
from pytest_miniwob_agent.core.observations import Observation, Transition
from pytest_miniwob_agent.core.protocols import LLM, Environment
from pytest_miniwob_agent.core.tools import tools_of
from pytest_miniwob_agent.screen import render

PAPER_ACTIONS = (Click, Enter, Press, Hold, Release)
"""The actions of the reflective agent's paper."""

FULL_SCREEN_ACTIONS = (ClickAt, HoverAt, DragFrom, Wait, Follow)
"""The actions that need to be given boxes and to know what moves."""

MISSES = 3
"""Answers in a row after which a trial ends, if nothing of any of them could be carried out."""

CALLS_SHOWN = 40
"""Calls of a failed trial that the next trial's model is shown: the latest ones."""


class ToolsAgent:
    """Native tool calls, several in one answer, until the page judges.

    Args:
        prompts: a folder of texts that replace the built-in ones, file by file.
        actions: `paper` for the actions of the reflective agent's paper, `all` for every action;
            those at points and by the clock only together with the full screen.
        screen: `compact`, or `full` for everything that shows.

    """

    def __init__(
        self, prompts: str | Path | None = None, *, actions: str = "paper", screen: str = "compact"
    ) -> None:
        self.prompts = Prompts(Path(__file__).with_name("prompts"), prompts)
        all_actions = check_choice("actions", actions, ("paper", "all")) == "all"
        self._full_screen = check_choice("screen", screen, ("compact", "full")) == "full"
        without = () if self._full_screen else FULL_SCREEN_ACTIONS
        offered = [action for action in get_args(Action) if action not in without]
        self.tools = tools_of(offered if all_actions else PAPER_ACTIONS)
        screen_part = self._full_screen and "full-screen"
        self.name = variant_name("tools", screen_part, all_actions and "all-actions")

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        """Play trials until the page is solved or the trials are used up."""
        screen = self.prompts.fill("full-screen" if self._full_screen else "screen")
        system = self.prompts.fill("system", screen=screen)
        before: list[Prompt] = []
        while True:
            start = env.reset(full=True) if self._full_screen else env.reset()
            task = Prompt.joined([self.prompts.fill("task", goal=start.goal), *before])
            conversation = Conversation(self.prompts, system, task, render(start.elements))
            trial = _Trial(self, conversation, env, llm, start)
            end = trial.play()
            note(end)
            if end.ending is Ending.CORRECT:
                return
            before = [trial.report(end.ending)]


class _Trial:
    """One trial: the model's answers, and the carrying out of their calls."""

    def __init__(
        self,
        agent: ToolsAgent,
        conversation: Conversation,
        env: Environment,
        llm: LLM,
        start: Observation,
    ) -> None:
        self._prompts = agent.prompts
        self._tools = agent.tools
        self._conversation = conversation
        self._env = env
        self._llm = llm
        self._last = Transition(start)
        self._calls: list[str] = []

    def play(self) -> TrialEnded:
        misses, reminded = 0, False
        while not self._last.done:
            completion = self._llm.chat(self._conversation.messages(), "act", tools=self._tools)
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
                self._conversation.add(completion, [self._prompts.fill("reminder")])
                reminded = True
        return TrialEnded.judged(self._last)

    def report(self, ending: Ending) -> Prompt:
        """Describe the trial, which has failed, to the model of the next one."""
        calls = [f"- {call}" for call in self._calls[-CALLS_SHOWN:]] or ["- nothing"]
        return self._prompts.fill(
            "again", ending=self._prompts.fill(f"ending-{ending}"), calls="\n".join(calls)
        )

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
        self._conversation.add(completion, results, render(self._last.observation.elements))
        return done

    def _call(self, name: str, arguments: str) -> Prompt:
        """Carry out a call; returns its result without the screen."""
        before = self._last.observation
        names = [tool["function"]["name"] for tool in self._tools]
        if name in names:
            self._last = self._env.call(name, arguments)
        else:
            error = f"there is no such tool; the tools are {', '.join(names)}"
            self._last = Transition(before, error=error)
        if self._last.error is not None:
            return self._prompts.fill("failed", error=self._last.error)
        self._calls.append(f"{name} {' '.join(arguments.split())}"[:200])
        same = render(before.elements) == render(self._last.observation.elements)
        return self._prompts.fill("unchanged" if same else "changed")
