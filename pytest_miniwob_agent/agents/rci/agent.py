"""The agent that criticises and improves its own output (`rci`, sections 2 and 3.2, appendix D).

A plan is made, criticised and improved. Then, until the page judges, the next instruction is drawn
from the plan (task grounding), fitted to the page (state grounding), and put into words that can be
carried out for as long as it is not (agent grounding). One trial, without a second one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_miniwob_agent.agents.parameters import check_choice
from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.agents.rci.xpath import BadXPath, Found, find
from pytest_miniwob_agent.core.actions import (
    Action,
    Choose,
    Click,
    Hold,
    Hover,
    Press,
    Release,
    Type,
)
from pytest_miniwob_agent.core.data import digest
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Ending, Note, TrialEnded
from pytest_miniwob_agent.core.protocols import LLM, Environment
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.tasks.catalogue import installed_tasks

GROUNDINGS = 3
"""How often an instruction that can't be carried out is put into other words (2.2.2)."""

PAGE_LIMIT = 24_000
"""Characters of a page's HTML that a prompt holds: three times the longest of the pages."""

REPLY_LIMIT = 4_000
"""Characters of a reply that are read, and that a later prompt repeats."""

KEYS = ("enter", "arrowleft", "arrowright", "arrowup", "arrowdown", "backspace")
"""What `press` takes (listing 1)."""

REPEATS = 2
"""How often an instruction other than `press` may be repeated while nothing that shows changes."""

WITHOUT = ("none", "plan", "state", "agent")
"""What an ablation can leave out (3.2.4)."""


class Inadmissible(Exception):
    """An instruction that can't be carried out; the message says why."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a reply, split at its first word; `done` has no argument."""

    verb: str
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.argument}".strip()


_LEAD = re.compile(
    r"(?:[\s\-*\u2022>]|\(?\d+\s*[.):](?=\s)"
    r"|(?:[a-z]+ ){0,3}(?:instruction|step|answer)\s*+\d*+\s*+(?:is\s*+)?:)*",
    re.I,
)
_FORM = re.compile(r"(type|press|clickoption|movemouse|clickxpath)\s+(\S.*)", re.I)
_DONE = re.compile(r"\W*(?:done|none|nothing(?: (?:is )?left(?: to do)?)?)\W*", re.I)
_STOP = re.compile(r"(?<=[\w\])*\"'])[.,;]+$")
_WRAPPERS = ("``", '""', "''", "\u201c\u201d", "**")


def parse_instruction(reply: str) -> Instruction:
    """Read the first instruction of a reply, leniently about what stands around it.

    Raises:
        Inadmissible: there is none of the five forms, or it presses a key that is not allowed.
    """
    for line in reply.splitlines():
        for part in (line, *re.findall(r"`([^`]+)`", line)):
            part = _unwrap(part.strip())
            part = _unwrap(part[_LEAD.match(part).end() :].strip())  # type: ignore[union-attr]
            if match := _FORM.fullmatch(part):
                return _instruction(match[1].lower(), match[2].strip())
            if _DONE.fullmatch(part):
                return Instruction("done")
    raise Inadmissible("it is of none of the five forms")


def _instruction(verb: str, argument: str) -> Instruction:
    """An instruction without what people put around its argument."""
    if verb != "type":
        argument = _STOP.sub("", argument)
    bare = _unwrap(argument)
    if bare and argument[0] not in bare:  # "a" or "b" is not a text in quotes
        argument = bare
    if verb == "press":
        argument = argument.lower()
        if argument not in KEYS:
            raise Inadmissible(f"there is no key of that name to press, only {', '.join(KEYS)}")
    return Instruction(verb, argument)


def _unwrap(text: str) -> str:
    """The text without the quotes, code marks or stars that enclose it."""
    while len(text) > 1 and text[0] + text[-1] in _WRAPPERS:
        text = text[1:-1].strip()
    return text


def find_actions(instruction: Instruction, page: str) -> tuple[Action, ...]:
    """What an instruction other than `done` does on the page with this HTML.

    Raises:
        Inadmissible: its XPath is none, or selects nothing that it could be done to.
    """
    match instruction.verb:
        case "type":
            return (Type(instruction.argument),)
        case "press":
            return (Press(instruction.argument.upper()),)
    try:
        found = find(page, instruction.argument)
    except BadXPath as error:
        raise Inadmissible(f"its XPath can't be followed, {error}") from None
    if not found:
        raise Inadmissible("its XPath selects no element of the page as it is shown")
    match instruction.verb:
        case "clickxpath":
            return (Click(found[0].ref),)
        case "movemouse":
            return (Hover(found[0].ref),)
    return _choose(found[0], page)


def _choose(option: Found, page: str) -> tuple[Action, ...]:
    """How an option is selected, beside those that are where its list allows several."""
    this = f'//option[@data-ref="{option.ref}"]'
    if not find(page, this):
        raise Inadmissible("its XPath selects no <option>; anything else takes clickxpath")
    if dropping := find(page, f"{this}/ancestor::select[not(@multiple or @size > 1)]"):
        return (Choose(option.text, dropping[0].ref),)
    if not find(page, f"{this}/ancestor::select[@multiple]"):
        return (Click(option.ref),)
    if find(page, f"{this}[@selected]"):
        return ()
    return (Hold("CTRL"), Click(option.ref), Release("CTRL"))


class RCIAgent:
    """Plan, critique, improved plan; then each instruction grounded in task, state and agent.

    Args:
        prompts: a folder of texts that replace the built-in ones, file by file.
        critiques: how often the plan is criticised and improved.
        exemplars: worked examples to show: `none`, `built-in`, or a folder with a file TASK.txt for
            each task, and default.txt for all others.
        without: what to leave out: one of `WITHOUT`.
        task: the name of the task, for its exemplars; the plugin gives it.

    Raises:
        UsageError: an argument is none of these, or a file of exemplars is named after no task.
    """

    def __init__(
        self,
        prompts: str | Path | None = None,
        *,
        critiques: int = 1,
        exemplars: str = "none",
        without: str = "none",
        task: str = "",
    ) -> None:
        if type(critiques) is not int or not 0 <= critiques <= 9:
            raise UsageError(
                f"--miniwob-agent-params: critiques {critiques!r} is no number from 0 to 9"
            )
        self._prompts = Prompts(Path(__file__).with_name("prompts"), prompts)
        self._critiques = critiques
        self._without = check_choice("without", without, WITHOUT)
        self._exemplars = _read_exemplars(exemplars, task)
        parts = {
            "few-shot": exemplars != "none",
            f"critiques-{critiques}": critiques != 1,
            f"without-{without}": without != WITHOUT[0],
        }
        self.name = "-".join(["rci", *(part for part, other in parts.items() if other)])

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        """Play one trial."""
        goal = env.reset().goal
        groundings = 0 if self._without == "agent" else GROUNDINGS
        trial = _Trial(self._prompts, self._exemplars, goal, env, llm, groundings)
        plan = "" if self._without == "plan" else trial.plan(self._critiques)
        note(trial.follow(plan, fit=self._without != "state"))


def _read_exemplars(source: str, task: str) -> Prompt | None:
    """The worked examples for a task, as a text that knows its file; None where there are none."""
    if source == "none":
        return None
    folder = Path(source)
    if source == "built-in":
        folder = Path(__file__).with_name("prompts") / "exemplars"
    files = {path.stem: path for path in sorted(folder.glob("*.txt"))}
    if not files:
        raise UsageError(
            f"--miniwob-agent-params: exemplars {source!r} is not none, built-in, or a folder with "
            "files TASK.txt or default.txt"
        )
    known = {"default", *installed_tasks()}
    for name, path in files.items():
        if name not in known:
            raise UsageError(f"{path} is named after no task" + nearest(name, sorted(known)))
    chosen = files.get(task, files.get("default"))
    if chosen is None:
        return None
    text = chosen.read_text(encoding="utf-8").strip()
    exemplars = Prompt(text)
    exemplars.files = {f"exemplars/{chosen.name}": digest(text)}
    return exemplars


class _Trial:
    """One episode of the agent, which is one trial."""

    def __init__(
        self,
        prompts: Prompts,
        exemplars: Prompt | None,
        goal: str,
        env: Environment,
        llm: LLM,
        groundings: int,
    ) -> None:
        self._prompts = prompts
        self._exemplars = exemplars
        self._goal = goal
        self._env = env
        self._llm = llm
        self._groundings = groundings

    def plan(self, critiques: int) -> str:
        """A plan by the page as it is, criticised and improved (explicit RCI)."""
        page = self._env.html()
        plan = self._ask("plan", page)
        for _ in range(critiques):
            critique = self._ask("critique", page, plan=plan)
            plan = self._ask("improve", page, plan=plan, critique=critique)
        return plan

    def follow(self, plan: str, fit: bool) -> TrialEnded:
        """Carry out one instruction after another; how that ended."""
        done: list[str] = []
        page, repeated = "", 0
        while True:
            before, page = page, self._env.html()
            try:
                found = self._ground(page, plan, done, fit)
            except Inadmissible as error:
                return TrialEnded(Ending.EXCEPTION, str(error))
            if found is None:
                return TrialEnded(Ending.INCOMPLETE, "nothing was left to do")
            instruction, actions = found
            same = page == before and done[-1:] == [str(instruction)]
            repeated = repeated + 1 if same and instruction.verb != "press" else 0
            if repeated == REPEATS:
                return TrialEnded(Ending.NO_CHANGE, f"again and again: {_bounded(done[-1], 200)}")
            for action in actions:
                transition = self._env.step(action)
                if transition.error:
                    return TrialEnded(Ending.EXCEPTION, transition.error)
                if transition.solved:
                    return TrialEnded(Ending.CORRECT)
                if transition.done:
                    return TrialEnded(Ending.FAILED, f"reward {transition.reward:g}")
            done.append(str(instruction))

    def _ground(
        self, page: str, plan: str, done: list[str], fit: bool
    ) -> tuple[Instruction, tuple[Action, ...]] | None:
        """The next instruction and what it does, None where nothing is left to do.

        Raises:
            Inadmissible: no wording of it can be carried out.
        """
        known = {"plan": plan or "There is none.", "history": _numbered(done)}
        said = proposal = self._ask("task", page, **known)
        if fit:
            said = self._ask("state", page, **known, instruction=said)
        left = self._groundings
        while True:
            try:
                instruction = parse_instruction(said)
                if instruction.verb == "done":
                    return None
                return instruction, find_actions(instruction, page)
            except Inadmissible as error:
                if not left:
                    raise Inadmissible(f"{error}: {_bounded(said, 200)!r}") from None
                left -= 1
                said = self._ask(
                    "agent", page, proposal=proposal, instruction=said, problem=str(error)
                )

    def _ask(self, purpose: str, page: str, **values: str) -> str:
        rules = self._prompts.fill("rules")
        if self._exemplars is not None:
            rules = self._prompts.fill("exemplars", rules=rules, exemplars=self._exemplars)
        prompt = self._prompts.fill(
            purpose,
            rules=rules,
            goal=self._goal,
            page=_bounded(page, PAGE_LIMIT),
            **values,
        )
        return _bounded(self._llm.complete(prompt, purpose).text.strip(), REPLY_LIMIT)


def _numbered(lines: list[str]) -> str:
    """What was done, one instruction a line."""
    return (
        "\n".join(f"{at}. {_bounded(line, 300)}" for at, line in enumerate(lines, 1)) or "None yet."
    )


def _bounded(text: str, limit: int) -> str:
    """The text up to a number of characters, and without halves of characters."""
    if len(text) > limit:
        text = f"{text[:limit]}\n[{len(text) - limit} more characters are left out]"
    return text.encode("utf-8", "replace").decode()
