"""An agent that writes programs (`webwise`): filtered objects of the page, step by step.

The page is shown as a list of objects (4.2), and the model answers with a small program that calls
`click`, `enter_text` and `scroll` on them (4.3). In the multi-step form the objects are shown again
after each program and the next one is asked for, until the page judges (4.4, algorithm 1). Examples
may stand in the prompt: one that is given (k = 1), or those that the agent solved itself (4.5).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.agents.parameters import check_choice
from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.agents.webwise.examples import (
    REMARK,
    Example,
    Stage,
    read_pool,
    remark_of,
)
from pytest_miniwob_agent.agents.webwise.interpreter import ProgramError, interpret
from pytest_miniwob_agent.agents.webwise.objects import (
    Object,
    find_objects,
    read_objects,
    render_objects,
)
from pytest_miniwob_agent.core.actions import Action, Choose, Click, Hold, Press, Release, Type
from pytest_miniwob_agent.core.data import digest
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Ending, Note, Remark, TrialEnded
from pytest_miniwob_agent.core.observations import Transition
from pytest_miniwob_agent.core.protocols import LLM, Environment
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.screen import legal

PROGRAMS = 10
"""Programs a trial, algorithm 1's T."""

MAX_CLEARED = 100
"""Characters of a field's value that make room for a text: as often as a key can be pressed."""

HISTORY_LIMIT = 16_000
"""Characters of objects that are shown again with the programs that were written for them."""

PROGRAM_LIMIT = 2_000
"""Characters that are shown again of a program."""

STEPS = ("multi", "single")
EXAMPLES = ("none", "built-in")

_BUILT_IN_EXAMPLES = Path(__file__).with_name("prompts") / "examples.jsonl"

_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.S)
_CODE = re.compile(
    r"\s*(?:(?:click|enter_text|scroll|objects|print)\s*\(|(?:for|while|if|elif)\b.*[:(\[{]|else\s*:"
    r"|[A-Za-z_]\w*(?:\[.*\])?\s*[-+*/]?=(?!=)|#|(?:pass|break|continue)\s*$"
    r"|import\s+\w+\s*$|from\s+\w+\s+import\b|def\s+\w+\(|try\s*:)"
)
_REST = re.compile(r"[ \t)\]}].*\S")


def extract_program(reply: str) -> str:
    """The program in a reply: what is fenced, or the lines from the first to the last of code.

    Raises:
        ProgramError: there is none.
    """
    if blocks := _FENCED.findall(reply):
        program = "\n".join(block.strip("\n") for block in blocks)
    else:
        lines = reply.split("\n")
        code = [at for at, line in enumerate(lines) if _CODE.match(line)]
        if not code:
            raise ProgramError("there is no program in the answer")
        last = code[-1]
        while last + 1 < len(lines) and _REST.match(lines[last + 1]):
            last += 1
        program = "\n".join(lines[code[0] : last + 1])
    if not program.strip():
        raise ProgramError("there is no program in the answer")
    return textwrap.dedent(program).strip()


class WebWISEAgent:
    """Writes a program for the objects of the page, and another one for what came of it.

    An episode is one trial.

    Args:
        prompts: a folder of texts that replace the built-in ones, file by file.
        steps: `multi`, or `single`: the first program that can be run has to do all (4.3).
        examples: `none`, `built-in`: one for each of some tasks, or the path of a pool, as
            `--miniwob-examples` writes it (4.5).
        programs: how many programs a trial may have; those that can't be run count too.
        task: the name of the task, for its examples; the plugin gives it.

    Raises:
        UsageError: an argument is none of these, the folder of prompts is not right, or the pool
            can't be read.
    """

    def __init__(
        self,
        prompts: str | Path | None = None,
        *,
        steps: str = "multi",
        examples: str = "none",
        programs: int = PROGRAMS,
        task: str = "",
    ) -> None:
        self.steps = check_choice("steps", steps, STEPS)
        if type(programs) is not int or programs < 1:
            raise UsageError(
                f"--miniwob-agent-params: programs {programs!r} is no number from 1 up"
            )
        self.programs = programs
        self.prompts = Prompts(Path(__file__).with_name("prompts"), prompts)
        self.examples = self._examples(examples, task)
        parts = ["webwise"]
        if steps == "single":
            parts.append("single-step")
        if examples != "none":
            parts.append("1-shot" if examples == "built-in" else "auto-context")
        self.name = "-".join(parts)
        self.zero_shot = examples == "none"

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        """Write and run programs until the page judges or there have been enough of them."""
        _Trial(self, env, llm, note).run()

    def _examples(self, source: str, task: str) -> Prompt:
        """The part of the prompt with the task's examples; empty where there are none."""
        if source == "none":
            return Prompt.joined(())
        path = _BUILT_IN_EXAMPLES if source == "built-in" else Path(source)
        if not path.is_file():
            raise UsageError(
                f"--miniwob-agent-params: examples {source!r} is not one of {', '.join(EXAMPLES)}, "
                "nor a file of examples, as --miniwob-examples writes it"
            )
        pool = read_pool(path)
        if not (examples := pool.of(task)):
            return Prompt.joined(())
        name = "example" if source == "built-in" else "own-example"
        told = Prompt.joined(self._example(name, example) for example in examples)
        told.files = {**told.files, path.name: digest(pool.text)}
        return Prompt.joined([self.prompts.fill("examples", examples=told), Prompt("")])

    def _example(self, name: str, example: Example) -> Prompt:
        """An example in the words of a prompt; for a single program as a single program."""
        stages = example.stages
        if self.steps == "single":
            program = "\n".join(stage.program for stage in stages)
            stages = (Stage(stages[0].objects, program),)
        told = [
            self.prompts.fill("stage", objects=stage.objects, program=stage.program)
            for stage in stages
        ]
        return self.prompts.fill(name, goal=example.goal, stages=Prompt.joined(told))


_PARTED = ("input_date", "input_time")
_DATE = re.compile(
    r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})|(?P<m2>\d{1,2})/(?P<d2>\d{1,2})/(?P<y2>\d{4})"
)
_TIME = re.compile(r"(?P<h>\d{1,2}):(?P<m>\d{2})\s*(?P<half>[ap]m)?", re.I)


class _Judged(Exception):
    """The page has judged: the program goes no further."""

    def __init__(self, transition: Transition) -> None:
        super().__init__()
        self.transition = transition


class _Page:
    """The page as programs use it: the paper's functions, acting at once."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._used: Object | None = None
        self._fresh = False
        self._flags: dict[int, str] = {}
        self._objects: tuple[Object, ...] = ()
        self.actions = 0
        """Actions taken so far."""
        self.look()

    def look(self) -> None:
        """Read the objects as they are now."""
        self._objects = read_objects(self._env.html())

    def __str__(self) -> str:
        return render_objects(self._objects, self._flags)

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """What a program can call."""
        return {
            "click": self.click,
            "enter_text": self.enter_text,
            "scroll": self.scroll,
            "objects": self.objects,
        }

    def click(self, kind: Any, name: Any = "", nth: Any = 1) -> None:
        """Click the nth of the objects of a tag or class with a text or id; choose an option."""
        kind, name = _argument("click", kind), _argument("click", name)
        if type(nth) is not int or nth < 1:
            raise ProgramError("nth is a number from 1 up")
        found = find_objects(self._objects, kind, name)
        called = kind + (f" {name!r}" if name else "")
        if not found:
            raise ProgramError(f"there is no {called} among the objects")
        if nth > len(found):
            raise ProgramError(f"there are only {len(found)} objects that fit {called}")
        each = found[nth - 1]
        if each.ref is None:
            raise ProgramError(f"{called} can't be clicked")
        if each.list_ref is not None:
            self._act(Choose(each.text, each.list_ref), called)
        elif each.among_others:  # else a click would take back what was selected before
            self._act(Hold("CTRL"))
            try:
                self._act(Click(each.ref), called)
            except ProgramError:
                self._act(Release("CTRL"))
                raise
            self._act(Release("CTRL"))
        else:
            self._act(Click(each.ref), called)
        self._flags.setdefault(each.ref, "clicked")
        self._used, self._fresh = each, True

    def enter_text(self, text: Any) -> None:
        """Type into what was clicked last, in place of what it held then."""
        text = _argument("enter_text", text)
        if self._used is None or self._used.ref is None:
            raise ProgramError("nothing was clicked that the text could be typed into")
        tag = self._used.tag
        if self._fresh and tag in _PARTED:  # the click was on any of its parts
            self._act(Press("ARROWLEFT", 3))
        elif self._fresh and text.strip("\n"):
            now = next((each for each in self._objects if each.ref == self._used.ref), None)
            if now is not None and now.value:
                self._act(Press("END"))
                self._act(Press("BACKSPACE", min(len(now.value), MAX_CLEARED)))
        self._fresh = False
        self._act(Type(_keys(tag, text)))
        self._flags[self._used.ref] = "text entered"

    def scroll(self, text: Any) -> None:
        """Nothing: an action brings its object into sight by itself. An error for no such text."""
        text = _argument("scroll", text)
        if not any(text.casefold() in each.text.casefold() for each in self._objects):
            raise ProgramError(f"there is no text {text!r} among the objects")

    def objects(self) -> list[dict[str, str | bool]]:
        """The objects as they are now."""
        return [each.to_data() for each in self._objects]

    def _act(self, action: Action, called: str = "") -> None:
        transition = self._env.step(action)
        if transition.error:  # which names elements by ids that programs do not see
            raise ProgramError(f"{called} can't be clicked" if called else transition.error)
        self.actions += isinstance(action, Click | Choose | Type)
        if transition.done:
            raise _Judged(transition)
        self.look()


def _keys(tag: str, text: str) -> str:
    """What is typed for a text: dates and times in the parts that their fields have."""
    if tag == "input_date" and (match := _DATE.fullmatch(text.strip())):
        year, month, day = match["y"], match["m"], match["d"]
        if year is None:
            month, day, year = match["m2"], match["d2"], match["y2"]
        return f"{month:0>2}{day:0>2}{year}"
    if tag == "input_time" and (match := _TIME.fullmatch(text.strip())):
        hour, half = int(match["h"]), (match["half"] or "").upper()
        half = half or ("PM" if hour >= 12 else "AM")
        return f"{(hour - 1) % 12 + 1:02}{match['m']}{half}"
    return text


def _argument(function: str, value: Any) -> str:
    """A text that a function was called with; numbers will do."""
    if type(value) in (str, int):
        return str(value)
    raise ProgramError(f"{function}() takes texts")


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A program: the objects it was written for, how many actions it took, and how it ended."""

    objects: str
    program: str
    actions: int
    error: str = ""
    judged: Transition | None = None

    @property
    def usable(self) -> bool:
        """Whether it was run at all; what did nothing before it went wrong was not (4.3)."""
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
        self._page = _Page(env)
        self._attempts: list[_Attempt] = []

    def run(self) -> None:
        """Write programs until the page judges or there have been enough of them."""
        while len(self._attempts) < self._agent.programs:
            attempt = self._attempt()
            self._attempts.append(attempt)
            if attempt.judged is not None:
                self._end(attempt.judged)
                return
            if attempt.usable and self._agent.steps == "single":
                break
        error = self._attempts[-1].error
        self._note(TrialEnded(Ending.EXCEPTION if error else Ending.INCOMPLETE, error))

    def _attempt(self) -> _Attempt:
        """Ask for a program and run it."""
        objects, before = str(self._page), self._page.actions
        reply = legal(self._llm.complete(self._prompt(objects), "program").text)
        program, error, judged = reply.strip(), "", None
        try:
            program = extract_program(reply)
            interpret(program, self._page.functions)
        except ProgramError as wrong:
            error = " ".join(legal(str(wrong)).split())
        except _Judged as end:
            judged = end.transition
        return _Attempt(objects, program, self._page.actions - before, error, judged)

    def _end(self, transition: Transition) -> None:
        """Say how the page judged; a zero-shot trial that was right makes an example."""
        if not transition.solved:
            self._note(TrialEnded(Ending.FAILED, f"reward {transition.reward:g}"))
            return
        took_part = [attempt for attempt in self._attempts if attempt.actions]
        if self._agent.zero_shot and not any(attempt.error for attempt in took_part):
            stages = [Stage(attempt.objects, attempt.program) for attempt in took_part]
            self._note(Remark(REMARK, remark_of(self._goal, stages)))
        self._note(TrialEnded(Ending.CORRECT))

    def _prompt(self, objects: str) -> Prompt:
        return self._prompts.fill(
            "program",
            functions=self._prompts.fill("functions"),
            rules=self._prompts.fill("rules"),
            steps=self._prompts.fill(f"{self._agent.steps}-step"),
            examples=self._agent.examples,
            goal=self._goal,
            history=self._history(),
            objects=objects,
        )

    def _history(self) -> str:
        """The programs so far and what came of them; of long ones the latest objects only."""
        told: list[Prompt] = []
        room = HISTORY_LIMIT
        for number, attempt in reversed(list(enumerate(self._attempts, start=1))):
            room -= len(attempt.objects)
            told.append(
                self._prompts.fill(
                    "past",
                    number=str(number),
                    objects=attempt.objects if room >= 0 else "(left out)",
                    program=_short(attempt.program),
                    outcome=self._outcome(attempt),
                )
            )
        return Prompt.joined(reversed(told)) if told else "(none)"

    def _outcome(self, attempt: _Attempt) -> Prompt:
        if not attempt.usable:
            return self._prompts.fill("outcome-unusable", reason=attempt.error)
        actions = counted(attempt.actions, "action")
        if attempt.error:
            return self._prompts.fill("outcome-stopped", actions=actions, reason=attempt.error)
        return self._prompts.fill("outcome-ran", actions=actions)


def _short(program: str) -> str:
    return program if len(program) <= PROGRAM_LIMIT else program[:PROGRAM_LIMIT] + "…"
