"""The agent that writes scripts (WebWISE, Tao et al., 2024, sections 4.2 to 4.5).

The page is shown as a list of objects (4.2), and the model answers with a small script that calls
`click`, `enter_text` and `scroll` on them (4.3). The objects are then shown again and the next
script is asked for, until the page judges (4.4, algorithm 1). Prompts may show examples: given
ones (k = 1), or those that the agent solved itself (4.5).

`page` is what such a script sees and does. `interpreter` runs scripts, with what `language` has of
Python. Prompts, and with them parameters and messages, call a script a program.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.agents.registry import (
    check_choice,
    check_flag,
    check_integer,
    variant_name,
)
from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.data import canonical_json, digest
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Completion, Ending, Note, Remark, TrialEnded
from pytest_miniwob_agent.core.files import display_path, write_output
from pytest_miniwob_agent.core.observations import Transition
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.protocols import LLM, Environment
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.plugins.webwise.interpreter import ScriptError, interpret
from pytest_miniwob_agent.plugins.webwise.page import ASKED_FOR, PageJudged, ScriptPage
from pytest_miniwob_agent.screen import legal

FOLDER = Path(__file__).with_name("prompts")

SCRIPTS = 10
"""Scripts per trial, algorithm 1's T."""

SCRIPT_LIMIT = 2_000
"""Characters of an earlier script that are shown again."""

ERROR_LIMIT = 300
"""Characters of a script's error."""

EXAMPLES_PER_TASK = 2
"""Examples of a task that a run saves, as in the paper."""

REMARK = "example"
"""The subject of a `Remark` whose text is an example, without its task, as JSON."""

TASK_MESSAGES = 13
"""Wordings of the message that asks for several steps (table 5): `task-message-1.txt` and so on."""

_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.S)

OBJECTS = {"filtered": "", "whole": "whole-dom", "none": "instruction-only"}
EXAMPLES = {"none": "", "built-in": "1-shot"}
"""What is shown of the page (5) and of examples, each with its part of the agent's name."""


class WebWISEAgent:
    """Write a script for the objects of the page, then another one for the result.

    An episode is one trial.

    Args:
        prompts: a folder of prompts that replace the built-in ones, file by file.
        steps: `multi`, or `single`: the first script that can be run has to do all (4.3).
        examples: `none`, `built-in`: one for each task of the paper and two more, or the path of
            examples that an earlier run has saved (4.5).
        objects: `filtered` (4.2), `whole`: every visible element, or `none`: the task alone, for
            `single` steps only.
        task_message: the number of a wording of the paper's table 5, 1 to 13, or 0 for ours; for
            `multi` steps only.
        history: `all` earlier scripts are shown, or `none`, so that a script is written for the
            present objects alone (algorithm 1).
        messages: `one`, or `three` system messages before the task: functions, rules and steps
            (appendix C.1); for objects that are shown.
        as_published: no history, and `three` messages, as in the paper.
        programs: scripts per trial; those that can't be run count too.
        save_examples: the path of a file to write when the run is over: what its items solved
            without an example (4.5). It changes neither the agent's name nor any prompt.
        task: the name of the task, for its examples; the plugin gives it.
    """

    answers_dialogs = False  # the paper's pages have none

    def __init__(
        self,
        prompts: str | Path | None = None,
        *,
        steps: str = "multi",
        examples: str = "none",
        objects: str = "filtered",
        task_message: int = 0,
        history: str = "all",
        messages: str = "one",
        as_published: bool = False,
        programs: int = SCRIPTS,
        save_examples: str | None = None,
        task: str = "",
    ) -> None:
        self.single = check_choice("steps", steps, ("multi", "single")) == "single"
        self.objects = check_choice("objects", objects, tuple(OBJECTS))
        if objects == "none" and not self.single:
            raise UsageError(
                "--miniwob-agent-params: objects 'none' is a variant of the single step, since "
                'further steps need the objects: give "steps": "single" too'
            )
        message = check_integer("task_message", task_message, 0, TASK_MESSAGES)
        if message and self.single:
            raise UsageError(
                "--miniwob-agent-params: task_message belongs to the multi-step form, so leave out "
                '"steps": "single"'
            )
        worded = f"task-message-{message}" if message else ""
        self.asked = "single-step" if self.single else worded or "multi-step"
        self.programs = check_integer("programs", programs, 1, 1_000)
        self.prompts = Prompts(FOLDER, prompts)
        self.zero_shot = examples == "none"
        self.examples = self._examples(examples, task)
        self._saved = None if save_examples is None else Path(save_examples).absolute()
        published = check_flag("as_published", as_published)
        forgets = check_choice("history", history, ("all", "none")) == "none"
        parted = check_choice("messages", messages, ("one", "three")) == "three"
        if parted and objects == "none":
            raise UsageError(
                "--miniwob-agent-params: objects 'none' has one message, so leave out messages"
            )
        self.forgets, self.parted = (
            forgets or published,
            parted or (published and objects != "none"),
        )
        single = self.single and "single-step"
        shots = EXAMPLES.get(examples, "auto-context")
        own = [forgets and "no-history", parted and "three-messages"]
        own = ["as-published"] if published else own
        self.variant_of = "webwise"
        self.name = variant_name(self.variant_of, single, OBJECTS[objects], worded, shots, *own)

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        _Trial(self, env, llm, note).run()

    def counts(self, action: Action) -> bool:
        """Return True for what scripts ask for; clearing a field or holding CTRL is part of it."""
        return isinstance(action, ASKED_FOR)

    def run_finished(self, outcomes: Sequence[Outcome]) -> str | None:
        """Save the examples of a run, if asked to; returns a line for the summary."""
        if self._saved is None:
            return None
        file, examples = display_path(self._saved), _solved_examples(outcomes)
        if not examples:
            return f"no examples to save; {file} is not written"
        write_output(self._saved, "".join(f"{example}\n" for example in examples))
        return f"saved {counted(len(examples), 'example')} to {file}"

    def _examples(self, source: str, task: str) -> Prompt:
        """Fill in the part of the prompt with the task's examples; empty if there are none."""
        if source == "none":
            return Prompt()
        path, name = Path(source), "own-example"
        if source == "built-in":
            path, name = FOLDER / "examples.jsonl", "example"
        if not path.is_file():
            raise UsageError(
                f"--miniwob-agent-params: examples {source!r} is not one of {', '.join(EXAMPLES)}, "
                "nor a file of examples, as the parameter save_examples writes it"
            )
        text = path.read_text(encoding="utf-8")
        try:
            examples = [json.loads(line) for line in text.split("\n") if line.strip()]
            filled = [self._example(name, one) for one in examples if one["task"] == task]
        except (ValueError, TypeError, LookupError) as error:
            raise UsageError(f"{path}: a line of it is not an example: {error!r}") from None
        if not filled:
            return Prompt()
        shown = Prompt.joined(filled)
        shown.files = {**shown.files, path.name: digest(text)}
        frame = "examples-instruction-only" if self.objects == "none" else "examples"
        return Prompt.joined([self.prompts.fill(frame, examples=shown), Prompt("")])

    def _example(self, name: str, example: Mapping[str, Any]) -> Prompt:
        stages = example["stages"]
        if self.single:  # its scripts as one
            script = "\n".join(stage["program"] for stage in stages)
            stages = [{"objects": stages[0]["objects"], "program": script}]
        shown = Prompt.joined(self.with_objects("stage", **stage) for stage in stages)
        return self.prompts.fill(name, goal=example["goal"], stages=shown)

    def with_objects(self, name: str, objects: str, **values: str) -> Prompt:
        if self.objects == "none":
            return self.prompts.fill(f"{name}-instruction-only", **values)
        return self.prompts.fill(name, objects=objects, **values)


def _solved_examples(outcomes: Iterable[Outcome]) -> list[str]:
    """Return the examples of a run as JSON: those of the lowest seeds of each task."""
    by_task: dict[str, list[str]] = {}
    for outcome in sorted(
        outcomes, key=lambda one: (one.case.task, one.case.seed, one.case.repeat)
    ):
        case, episode = outcome.case, outcome.episode
        for event in episode.events if episode is not None and episode.solved else ():
            if isinstance(event, Remark) and event.what == REMARK:
                kept = by_task.setdefault(case.task, [])
                example = canonical_json({**json.loads(event.text), "task": case.task})
                if example not in kept and len(kept) < EXAMPLES_PER_TASK:
                    kept.append(example)
    return [example for kept in by_task.values() for example in kept]


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A script: the objects it was written for, the number of its actions, and how it ended."""

    objects: str
    script: str
    actions: int
    error: str = ""
    judged: Transition | None = None

    @property
    def usable(self) -> bool:
        """True if it counts as run: it acted, or did not fail (4.3)."""
        return self.actions > 0 or not self.error


class _Trial:
    """One episode of the agent, which is one trial."""

    def __init__(
        self, agent: WebWISEAgent, env: Environment, llm: LLM, note: Callable[[Note], None]
    ) -> None:
        self._agent = agent
        self._llm = llm
        self._note = note
        self._goal = env.reset().goal
        self._page = ScriptPage(env, whole=agent.objects == "whole")
        self._attempts: list[_Attempt] = []

    def run(self) -> None:
        while len(self._attempts) < self._agent.programs:
            attempt = self._attempt()
            self._attempts.append(attempt)
            if attempt.judged is not None:
                if attempt.judged.solved and self._agent.zero_shot:
                    self._note_example()
                self._note(TrialEnded.judged(attempt.judged))
                return
            if attempt.usable and self._agent.single:
                break
        error = self._attempts[-1].error
        self._note(TrialEnded(Ending.EXCEPTION if error else Ending.INCOMPLETE, error))

    def _attempt(self) -> _Attempt:
        objects, before = str(self._page), self._page.actions
        reply = legal(self._ask(objects).text)
        script, error, judged = reply.strip(), "", None
        try:
            blocks = _FENCED.findall(reply) or [reply]
            found = textwrap.dedent("\n".join(block.strip("\n") for block in blocks)).strip()
            if not found:
                raise ScriptError("there is no program in the answer")
            script = found
            interpret(script, self._page.functions)
        except ScriptError as failure:
            error = " ".join(legal(str(failure)).split())[:ERROR_LIMIT]
        except PageJudged as end:
            judged = end.args[0]
        return _Attempt(objects, script, self._page.actions - before, error, judged)

    def _note_example(self) -> None:
        # A script that failed on the way is no example.
        acting = [attempt for attempt in self._attempts if attempt.actions]
        if not any(attempt.error for attempt in acting):
            stages = [{"objects": one.objects, "program": one.script} for one in acting]
            self._note(Remark(REMARK, canonical_json({"goal": self._goal, "stages": stages})))

    def _ask(self, objects: str) -> Completion:
        agent, fill = self._agent, self._agent.prompts.fill
        values = {"goal": self._goal, "history": self._history(), "examples": agent.examples}
        if agent.parted:
            system = fill("system", functions=fill("functions")), fill("rules"), fill(agent.asked)
            messages = [{"role": "system", "content": text} for text in system]
            task = {"role": "user", "content": fill("task", objects=objects, **values)}
            return self._llm.chat([*messages, task], "program")
        if agent.objects != "none":
            values |= {"functions": fill("functions"), "rules": fill("rules")}
            values |= {"steps": fill(agent.asked)}
        return self._llm.complete(agent.with_objects("program", objects, **values), "program")

    def _history(self) -> str:
        agent = self._agent
        past: list[Prompt] = []
        for number, attempt in enumerate(() if agent.forgets else self._attempts, start=1):
            script = attempt.script
            if len(script) > SCRIPT_LIMIT:
                script = script[:SCRIPT_LIMIT] + "…"
            values = {"number": str(number), "program": script, "outcome": self._outcome(attempt)}
            past.append(agent.with_objects("past", attempt.objects, **values))
        return Prompt.joined(past) if past else "(none)"

    def _outcome(self, attempt: _Attempt) -> Prompt:
        fill = self._agent.prompts.fill
        if not attempt.usable:
            return fill("outcome-unusable", reason=attempt.error)
        actions = counted(attempt.actions, "action")
        if attempt.error:
            return fill("outcome-stopped", actions=actions, reason=attempt.error)
        return fill("outcome-ran", actions=actions)
