"""The agent that writes programs (WebWISE, sections 4.2 to 4.5).

The page is shown as a list of objects (4.2), and the model answers with a small program that calls
`click`, `enter_text` and `scroll` on them (4.3). The objects are then shown again and the next
program is asked for, until the page judges (4.4, algorithm 1). Prompts may show examples: given
ones (k = 1), or those that the agent solved itself (4.5).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_miniwob_agent.agents.parameters import check_choice, check_integer, variant_name
from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.agents.webwise.examples import (
    REMARK,
    Example,
    Stage,
    read_examples,
    remark_of,
    write_examples,
)
from pytest_miniwob_agent.agents.webwise.interpreter import interpret
from pytest_miniwob_agent.agents.webwise.language import ProgramError
from pytest_miniwob_agent.agents.webwise.page import PageJudged, ProgramPage, is_asked_for
from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.data import digest
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Ending, Note, Remark, TrialEnded
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.observations import Transition
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.protocols import LLM, Environment
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.screen import legal

PROGRAMS = 10
"""Programs per trial, algorithm 1's T."""

PROGRAM_LIMIT = 2_000
"""Characters of an earlier program that are shown again."""

ERROR_LIMIT = 300
"""Characters of a program's error."""

_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.S)

OBJECTS = {"filtered": "", "whole": "whole-dom", "none": "instruction-only"}
EXAMPLES = {"none": "", "built-in": "1-shot"}
"""What is shown of the page (5) and of examples, each with its part of the agent's name."""


class WebWISEAgent:
    """Write a program for the objects of the page, then another one for the result.

    An episode is one trial.

    Args:
        prompts: a folder of texts that replace the built-in ones, file by file.
        steps: `multi`, or `single`: the first program that can be run has to do all (4.3).
        examples: `none`, `built-in`: one for each task of the paper and two more, or the path of
            examples that an earlier run has saved (4.5).
        objects: `filtered` (4.2), `whole`: every visible element, or `none`: the task alone, for
            `single` steps only.
        programs: programs per trial; those that can't be run count too.
        save_examples: the path of a file to write when the run is over: what its items solved
            without an example (4.5). It changes neither the agent's name nor any prompt.
        task: the name of the task, for its examples; the plugin gives it.
    """

    def __init__(
        self,
        prompts: str | Path | None = None,
        *,
        steps: str = "multi",
        examples: str = "none",
        objects: str = "filtered",
        programs: int = PROGRAMS,
        save_examples: str | None = None,
        task: str = "",
    ) -> None:
        self.single = check_choice("steps", steps, ("multi", "single")) == "single"
        self.objects = check_choice("objects", objects, tuple(OBJECTS))
        if objects == "none" and not self.single:
            raise UsageError(
                "--miniwob-agent-params: objects 'none' is a variant of the single step, since "
                'further steps go by the objects: give "steps": "single" too'
            )
        self.programs = check_integer("programs", programs, 1, 1_000)
        self.prompts = Prompts(Path(__file__).with_name("prompts"), prompts)
        self.zero_shot = examples == "none"
        self.examples = self._examples(examples, task)
        self._saved = None if save_examples is None else _check_saved(save_examples, examples)
        single = self.single and "single-step"
        shots = EXAMPLES.get(examples, "auto-context")
        self.name = variant_name("webwise", single, OBJECTS[objects], shots)

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        """Write and run programs until the page judges or there have been enough of them."""
        _Trial(self, env, llm, note).run()

    def counts(self, action: Action) -> bool:
        """Return True for what programs ask for; clearing a field or holding CTRL is part of it."""
        return is_asked_for(action)

    def run_finished(self, outcomes: Sequence[Outcome]) -> str | None:
        """Save the examples of a run, if asked to; returns a line for the summary.

        Raises:
            UsageError: the file can't be written.
        """
        if self._saved is None:
            return None
        number = write_examples(self._saved, outcomes)
        file = display_path(self._saved)
        if not number:
            return f"no examples to save; {file} is not written"
        return f"saved {counted(number, 'example')} to {file}"

    def _examples(self, source: str, task: str) -> Prompt:
        """Fill in the part of the prompt with the task's examples; empty where there are none."""
        if source == "none":
            return Prompt()
        path, name = Path(source), "own-example"
        if source == "built-in":
            path, name = Path(__file__).with_name("prompts") / "examples.jsonl", "example"
        if not path.is_file():
            raise UsageError(
                f"--miniwob-agent-params: examples {source!r} is not one of {', '.join(EXAMPLES)}, "
                "nor a file of examples, as the parameter save_examples writes it"
            )
        examples, text = read_examples(path)
        filled = [self._example(name, example) for example in examples if example.task == task]
        if not filled:
            return Prompt()
        shown = Prompt.joined(filled)
        shown.files = {**shown.files, path.name: digest(text)}
        frame = "examples-instruction-only" if self.objects == "none" else "examples"
        return Prompt.joined([self.prompts.fill(frame, examples=shown), Prompt("")])

    def _example(self, name: str, example: Example) -> Prompt:
        """Fill an example into its prompt; in the single-step form its programs as one."""
        stages = example.stages
        if self.single:
            program = "\n".join(stage.program for stage in stages)
            stages = (Stage(stages[0].objects, program),)
        shown = Prompt.joined(
            self.with_objects("stage", stage.objects, program=stage.program) for stage in stages
        )
        return self.prompts.fill(name, goal=example.goal, stages=shown)

    def with_objects(self, name: str, objects: str, **values: str) -> Prompt:
        """Fill in a prompt that shows objects, or its form without them."""
        if self.objects == "none":
            return self.prompts.fill(f"{name}-instruction-only", **values)
        return self.prompts.fill(name, objects=objects, **values)


def _check_saved(path: object, shown: str) -> Path:
    """Return the absolute path of the examples to save: not those that are shown."""
    param = f"--miniwob-agent-params: save_examples {path!r}"
    if not isinstance(path, str) or not path or Path(path).is_dir():
        raise UsageError(f"{param} is not the path of a file")
    if shown not in EXAMPLES and Path(path).resolve() == Path(shown).resolve():
        raise UsageError(f"{param} would overwrite the examples that the agent is shown")
    return Path(path).absolute()


def program_in(reply: str) -> str:
    """Return the program in a reply: its fenced blocks, or all of it where it has none.

    Raises:
        ProgramError: it is empty.
    """
    blocks = _FENCED.findall(reply) or [reply]
    program = textwrap.dedent("\n".join(block.strip("\n") for block in blocks)).strip()
    if not program:
        raise ProgramError("there is no program in the answer")
    return program


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A program: the objects it was written for, the number of its actions, and how it ended."""

    objects: str
    program: str
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
        self._prompts = agent.prompts
        self._llm = llm
        self._note = note
        self._goal = env.reset().goal
        self._page = ProgramPage(env, whole=agent.objects == "whole")
        self._attempts: list[_Attempt] = []

    def run(self) -> None:
        while len(self._attempts) < self._agent.programs:
            attempt = self._attempt()
            self._attempts.append(attempt)
            if attempt.judged is not None:
                self._end(attempt.judged)
                return
            if attempt.usable and self._agent.single:
                break
        error = self._attempts[-1].error
        self._note(TrialEnded(Ending.EXCEPTION if error else Ending.INCOMPLETE, error))

    def _attempt(self) -> _Attempt:
        """Ask for a program and run it."""
        objects, before = str(self._page), self._page.actions
        reply = legal(self._llm.complete(self._prompt(objects), "program").text)
        program, error, judged = reply.strip(), "", None
        try:
            program = program_in(reply)
            interpret(program, self._page.functions)
        except ProgramError as failure:
            error = " ".join(legal(str(failure)).split())[:ERROR_LIMIT]
        except PageJudged as end:
            judged = end.args[0]
        return _Attempt(objects, program, self._page.actions - before, error, judged)

    def _end(self, transition: Transition) -> None:
        """Note the page's judgement, and the example that a solved zero-shot trial makes."""
        acting = [attempt for attempt in self._attempts if attempt.actions]
        right = transition.solved and not any(attempt.error for attempt in acting)
        if right and self._agent.zero_shot:
            stages = [Stage(attempt.objects, attempt.program) for attempt in acting]
            self._note(Remark(REMARK, remark_of(self._goal, stages)))
        self._note(TrialEnded.judged(transition))

    def _prompt(self, objects: str) -> Prompt:
        values: dict[str, str] = {}
        if self._agent.objects != "none":
            steps = "single-step" if self._agent.single else "multi-step"
            names = {"functions": "functions", "rules": "rules", "steps": steps}
            values = {value: self._prompts.fill(name) for value, name in names.items()}
        values |= {"goal": self._goal, "history": self._history()}
        return self._agent.with_objects("program", objects, examples=self._agent.examples, **values)

    def _history(self) -> str:
        """Show the programs so far and their outcomes."""
        past: list[Prompt] = []
        for number, attempt in enumerate(self._attempts, start=1):
            program = attempt.program
            if len(program) > PROGRAM_LIMIT:
                program = program[:PROGRAM_LIMIT] + "…"
            values = {"number": str(number), "program": program, "outcome": self._outcome(attempt)}
            past.append(self._agent.with_objects("past", attempt.objects, **values))
        return Prompt.joined(past) if past else "(none)"

    def _outcome(self, attempt: _Attempt) -> Prompt:
        if not attempt.usable:
            return self._prompts.fill("outcome-unusable", reason=attempt.error)
        actions = counted(attempt.actions, "action")
        if attempt.error:
            return self._prompts.fill("outcome-stopped", actions=actions, reason=attempt.error)
        return self._prompts.fill("outcome-ran", actions=actions)
