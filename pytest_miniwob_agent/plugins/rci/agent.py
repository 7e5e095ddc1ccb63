"""The agent that criticises and improves its own output (RCI, Kim et al., 2023).

A plan is made, criticised and improved. Then, until the page judges, the next instruction is taken
from the plan (task grounding), fitted to the page (state grounding), and reworded while it can't be
carried out (agent grounding). There is one trial. (Sections 2 and 3.2, appendix D.)

XPaths of instructions are evaluated on the HTML that the model was shown, at a bounded cost.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lxml import etree, html

from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.agents.registry import (
    check_choice,
    check_flag,
    check_integer,
    variant_name,
)
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
from pytest_miniwob_agent.screen import legal

FOLDER = Path(__file__).with_name("prompts")

GROUNDINGS = 3
"""Rewordings of an instruction that can't be carried out (2.2.2)."""

PAGE_LIMIT = 24_000
"""Characters of a page's HTML in a prompt: three times the longest page."""

REPLY_LIMIT = 4_000
"""Characters of a reply that are read, and that later prompts repeat."""

REPEATS = 2
"""Allowed repetitions of an instruction other than `press` while the page stays the same."""

NOT_STATE_GROUNDED = ("click-dialog-2",)
"""Tasks without state grounding in the paper (F.1)."""

KEYS = ("enter", "arrowleft", "arrowright", "arrowup", "arrowdown", "backspace")
"""Keys that `press` takes (listing 1)."""

NO_FORM = "it is of none of the five forms"
"""What agent grounding says of an instruction that can't be read."""

XPATH_LIMIT = 500
"""Characters of an XPath."""

COST_LIMIT = 100_000_000
"""Elements that an XPath may look at."""


class RCIAgent:
    """Plan, critique, improved plan; then each instruction grounded in task, state and agent.

    Args:
        prompts: a folder of prompts that replace the built-in ones, file by file.
        critiques: rounds in which the plan is criticised and improved.
        exemplars: worked examples to show: `none`, `built-in`, or a folder with files TASK.txt for
            tasks, and default.txt for all others. `built-in` is the paper's setting: for each of 36
            tasks as many as it had, and no state grounding if it left that out (F.1).
        without: the part that an ablation leaves out (3.2.4): `plan`, `state`, `agent` or `none`.
        forms: `lenient`, or `strict`: an instruction is read only in the forms of listing 1.
        problem: `named`, or `unnamed`: agent grounding only says that no form fits.
        html: `visible`, or `whole`: prompts have the HTML of hidden elements too.
        critique: `checklist`, or `question`: the plan's problems are asked for in one sentence.
        as_published: `strict`, `unnamed`, `whole` and `question`, as in the paper.
        task: the name of the task, for its exemplars; the plugin gives it.
    """

    answers_dialogs = False  # the paper's pages have none

    def __init__(
        self,
        prompts: str | Path | None = None,
        *,
        critiques: int = 1,
        exemplars: str = "none",
        without: str = "none",
        forms: str = "lenient",
        problem: str = "named",
        html: str = "visible",
        critique: str = "checklist",
        as_published: bool = False,
        task: str = "",
    ) -> None:
        self.prompts = Prompts(FOLDER, prompts)
        self.critiques = check_integer("critiques", critiques, 0, 9)
        self.without = check_choice("without", without, ("none", "plan", "state", "agent"))
        published = check_flag("as_published", as_published)
        strict = check_choice("forms", forms, ("lenient", "strict")) == "strict"
        unnamed = check_choice("problem", problem, ("named", "unnamed")) == "unnamed"
        whole = check_choice("html", html, ("visible", "whole")) == "whole"
        question = check_choice("critique", critique, ("checklist", "question")) == "question"
        self.strict, self.unnamed = strict or published, unnamed or published
        self.whole = whole or published
        self.critique = "question-critique" if question or published else "critique"
        excepted = exemplars == "built-in" and task in NOT_STATE_GROUNDED
        self.state_grounding = self.without != "state" and not excepted
        self.rules = self._rules(exemplars, task)
        self.variant_of = "rci"
        self.name = variant_name(
            self.variant_of,
            exemplars != "none" and "few-shot",
            critiques != 1 and f"critiques-{critiques}",
            without != "none" and f"without-{without}",
            published and "as-published",
            strict and not published and "strict-forms",
            unnamed and not published and "unnamed-problem",
            whole and not published and "whole-html",
            question and not published and "question-critique",
        )

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        trial = _Trial(self, env, llm)
        trial.plan()
        note(trial.follow())

    def counts(self, action: Action) -> bool:
        """Return True for what an instruction says; CTRL is only held to keep other options."""
        return not isinstance(action, Hold | Release)

    def _rules(self, source: str, task: str) -> Prompt:
        rules = self.prompts.fill("whole-rules" if self.whole else "rules")
        if source == "none":
            return rules
        folder = FOLDER / "exemplars" if source == "built-in" else Path(source)
        files = {path.stem: path for path in folder.glob("*.txt")}
        if not files:
            raise UsageError(
                f"--miniwob-agent-params: exemplars {source!r} is not none, built-in, or a folder "
                "with files TASK.txt or default.txt"
            )
        if (chosen := files.get(task, files.get("default"))) is None:
            return rules
        exemplars = Prompt(chosen.read_text(encoding="utf-8").strip())
        exemplars.files = {f"exemplars/{chosen.name}": digest(exemplars)}
        return self.prompts.fill("exemplars", rules=rules, exemplars=exemplars)


# An element in an error of the browser, which the page's HTML names by its `data-ref`.
_ID = re.compile(r"\bid=(\d+)")


class _Trial:
    def __init__(self, agent: RCIAgent, env: Environment, llm: LLM) -> None:
        self._agent = agent
        self._env = env
        self._llm = llm
        self._goal = env.reset().goal
        self._plan = ""
        self._page = ""
        self._changed = True
        self._done: list[str] = []
        self._repeated = 0

    def plan(self) -> None:
        """Ask for a plan on the start page, criticise it and improve it (explicit RCI)."""
        self._page = self._read()
        if self._agent.without == "plan":
            return
        self._plan = self._ask("plan")
        for _ in range(self._agent.critiques):
            critique = self._ask(self._agent.critique, plan=self._plan)
            self._plan = self._ask("improve", plan=self._plan, critique=critique)

    def follow(self) -> TrialEnded:
        try:
            while (end := self._next_instruction()) is None:
                before, self._page = self._page, self._read()
                self._changed = self._page != before
        except Inadmissible as error:
            end = TrialEnded(Ending.EXCEPTION, str(error))
        return end

    def _next_instruction(self) -> TrialEnded | None:
        """Ask for the next instruction, and reword it until it is carried out.

        Returns the ending of the trial, if it ended.

        Raises:
            Inadmissible: no wording of it can be carried out.
        """
        done = [f"{number}. {_bounded(line, 300)}" for number, line in enumerate(self._done, 1)]
        history = "\n".join(done) or "None yet."
        context = {"plan": self._plan or "There is none.", "history": history}
        reply = proposal = self._ask("task", **context)
        if self._agent.state_grounding:
            reply = self._ask("state", **context, instruction=proposal)
        left = 0 if self._agent.without == "agent" else GROUNDINGS
        while True:
            try:
                return self._carry_out(reply)
            except Inadmissible as error:
                if not left:
                    raise Inadmissible(f"{error}: {_bounded(reply, 200)!r}") from None
                left -= 1
                problem = NO_FORM if self._agent.unnamed else str(error)
                reply = self._ask("agent", proposal=proposal, instruction=reply, problem=problem)

    def _carry_out(self, reply: str) -> TrialEnded | None:
        instruction = parse_instruction(reply, strict=self._agent.strict)
        if instruction.verb == "done":
            return TrialEnded(Ending.INCOMPLETE, "nothing was left to do")
        actions = find_actions(instruction, self._page)
        same = not self._changed and self._done[-1:] == [str(instruction)]
        repeated = self._repeated + 1 if same and instruction.verb != "press" else 0
        if repeated == REPEATS:
            return TrialEnded(Ending.NO_CHANGE, f"again and again: {_bounded(self._done[-1], 200)}")
        for number, action in enumerate(actions):
            transition = self._env.step(action)
            if transition.error:
                # Its keys would stay held otherwise.
                for held in actions[:number]:
                    if isinstance(held, Hold):
                        self._env.step(Release(held.key))
                self._page = self._read()  # the elements that only its HTML has can be used again
                raise Inadmissible(_ID.sub(r'data-ref="\1"', transition.error))
            if transition.done:
                return TrialEnded.judged(transition)
        self._done.append(str(instruction))
        self._repeated = repeated
        return None

    def _read(self) -> str:
        return self._env.html(whole=self._agent.whole)

    def _ask(self, name: str, **values: str) -> str:
        values |= {"goal": self._goal, "page": _bounded(self._page, PAGE_LIMIT)}
        prompt = self._agent.prompts.fill(name, rules=self._agent.rules, **values)
        purpose = "critique" if name == self._agent.critique else name
        return _bounded(self._llm.complete(prompt, purpose).text.strip(), REPLY_LIMIT)


def _bounded(text: str, limit: int) -> str:
    if len(text) > limit:
        text = f"{text[:limit]}\n[{len(text) - limit} more characters are left out]"
    return text


class Inadmissible(Exception):
    """An instruction that can't be carried out; prompts repeat the message."""


class BadXPath(Inadmissible):
    """An XPath that can't be evaluated."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"its XPath can't be followed, {reason}")


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
_LISTED = re.compile(rf"(?:type|clickoption|movemouse|clickxpath)\s.+|press\s(?:{'|'.join(KEYS)})")
_DONE = re.compile(r"\W*(?:done|none|nothing(?: (?:is )?left(?: to do)?)?)\W*", re.I)
_STOP = re.compile(r"(?<=[\w\])*\"'])[.,;]+$")
_WRAPPERS = ("``", '""', "''", "\u201c\u201d", "**")


def parse_instruction(reply: str, *, strict: bool = False) -> Instruction:
    """Read the first instruction of a reply; words, quotes and marks around it are skipped.

    With `strict` the reply has to match a regular expression of listing 1, or say `done`.

    Raises:
        Inadmissible: no line has one of the five forms, or it presses a key that is not allowed.
    """
    if strict and _LISTED.fullmatch(reply):
        return _instruction(*reply.split(maxsplit=1))
    lines = reply.splitlines() if not strict or _DONE.fullmatch(reply) else []
    for part in (part for line in lines for part in (line, *re.findall(r"`([^`]+)`", line))):
        part = _unwrap(_LEAD.sub("", _unwrap(part.strip()), count=1).strip())
        if match := _FORM.fullmatch(part):
            return _instruction(match[1].lower(), match[2].strip())
        if _DONE.fullmatch(part):
            return Instruction("done")
    raise Inadmissible(NO_FORM)


def _instruction(verb: str, argument: str) -> Instruction:
    # The model may put quotes around the argument, or a stop behind it.
    if verb != "type":
        argument = _STOP.sub("", argument)
    bare = _unwrap(argument)
    if bare and argument[0] not in bare:  # "a" or "b" is not a quoted string
        argument = bare
    if verb == "press":
        argument = argument.lower()
        if argument not in KEYS:
            raise Inadmissible(f"there is no key of that name to press, only {', '.join(KEYS)}")
    return Instruction(verb, argument)


def _unwrap(text: str) -> str:
    while len(text) > 1 and text[0] + text[-1] in _WRAPPERS:
        text = text[1:-1].strip()
    return text


def find_actions(instruction: Instruction, page: str) -> tuple[Action, ...]:
    """Return the actions of an instruction, other than `done`, on a page with this HTML.

    Raises:
        Inadmissible: its XPath is invalid, or selects no element that fits.
    """
    if instruction.verb == "type":
        return (Type(instruction.argument),)
    if instruction.verb == "press":
        return (Press(instruction.argument.upper()),)
    if not (found := find(page, instruction.argument)):
        raise Inadmissible("its XPath selects no element of the page as it is shown")
    ref, text = found[0]
    if instruction.verb == "clickxpath":
        return (Click(ref),)
    if instruction.verb == "movemouse":
        return (Hover(ref),)
    this = f'//option[@data-ref="{ref}"]'
    if not find(page, this):
        raise Inadmissible("its XPath selects no <option>; anything else takes clickxpath")
    if dropping := find(page, f"{this}/ancestor::select[not(@multiple or @size > 1)]"):
        return (Choose(text, dropping[0][0]),)
    if not find(page, f"{this}/ancestor::select[@multiple]"):
        return (Click(ref),)
    if find(page, f"{this}[@selected]"):
        return ()
    return (Hold("CTRL"), Click(ref), Release("CTRL"))  # keeps the others selected


def find(page: str, xpath: str) -> list[tuple[int, str]]:
    """Return id and text of each element of a page's HTML that an XPath selects.

    In the order of the page, each once; text or an attribute selects its element.

    Raises:
        BadXPath: it is not an XPath, its result is not nodes, or it could take too long.
    """
    if len(xpath) > XPATH_LIMIT:
        raise BadXPath(f"it has {len(xpath)} characters, and {XPATH_LIMIT} is the limit")
    if legal(xpath) != xpath:
        raise BadXPath("it has a character that no page can hold")
    try:
        select = etree.XPath(xpath)
        tree = html.document_fromstring(legal(page) or "<body></body>")
        if sum(1 for _ in tree.iter()) ** (1 + _outward_steps(xpath)) > COST_LIMIT:
            raise BadXPath("it looks beyond its elements too often for a page of this size")
        found = select(tree)
    except etree.XPathError as error:
        raise BadXPath(f"it is not a valid XPath: {error}") from None
    if not isinstance(found, list):
        raise BadXPath("it gives a text, a number or a truth value and selects no element")
    return [
        (int(ref), " ".join("".join(element.itertext()).split()))
        for element in tree.xpath(f"({xpath})/ancestor-or-self::*[1]")
        if (ref := element.get("data-ref", "")).isdecimal()
    ]


_STEP = re.compile(
    r"""\"[^"]*"|'[^']*'|(?P<bracket>[][])|(?P<inner>//|\.\.|\bdescendant|\bid\s*\(|\bparent\s*::)"""
    r"""|(?P<outer>\b(?:ancestor|following|preceding)[a-z-]*\s*::)"""
)


def _outward_steps(xpath: str) -> int:
    """Count the steps that may look at the whole page again for each element.

    Those are steps sideways and upwards, and in a condition also those to descendants and parents.
    """
    depth = steps = 0
    for match in _STEP.finditer(xpath):
        depth += {"[": 1, "]": -1}.get(match[0], 0)
        steps += match["outer"] is not None or (depth > 0 and match["inner"] is not None)
    return steps
