"""The agent that criticises and improves its own output (`rci`, sections 2 and 3.2, appendix D).

A plan is made, criticised and improved. Then, until the page judges, the next instruction is taken
from the plan (task grounding), fitted to the page (state grounding), and reworded while it can't be
carried out (agent grounding). There is one trial.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_miniwob_agent.agents.parameters import check_choice, check_integer
from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.agents.rci.instructions import (
    Inadmissible,
    Instruction,
    find_actions,
    parse_instruction,
)
from pytest_miniwob_agent.core.actions import Action, Hold, Release
from pytest_miniwob_agent.core.data import digest
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Ending, Note, TrialEnded
from pytest_miniwob_agent.core.observations import Transition
from pytest_miniwob_agent.core.protocols import LLM, Environment
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.tasks.catalogue import installed_tasks

GROUNDINGS = 3
"""Rewordings of an instruction that can't be carried out (2.2.2)."""

PAGE_LIMIT = 24_000
"""Characters of a page's HTML in a prompt: three times the longest page."""

REPLY_LIMIT = 4_000
"""Characters of a reply that are read, and that later prompts repeat."""

REPEATS = 2
"""Allowed repetitions of an instruction other than `press` while the page stays the same."""

WITHOUT = ("none", "plan", "state", "agent")
"""Parts that an ablation can leave out (3.2.4)."""


class RCIAgent:
    """Plan, critique, improved plan; then each instruction grounded in task, state and agent.

    Args:
        prompts: a folder of texts that replace the built-in ones, file by file.
        critiques: rounds in which the plan is criticised and improved.
        exemplars: worked examples to show: `none`, `built-in`, or a folder with files TASK.txt for
            tasks, and default.txt for all others.
        without: the part to leave out: one of `WITHOUT`.
        task: the name of the task, for its exemplars; the plugin gives it.

    Raises:
        UsageError: an argument is none of these, or a file of exemplars has the name of no task.
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
        self._prompts = Prompts(Path(__file__).with_name("prompts"), prompts)
        self._critiques = check_integer("critiques", critiques, 0, 9)
        self._without = check_choice("without", without, WITHOUT)
        self._exemplars = _read_exemplars(exemplars, task)
        parts = {
            "few-shot": exemplars != "none",
            f"critiques-{critiques}": critiques != 1,
            f"without-{without}": without != WITHOUT[0],
        }
        self.name = "-".join(["rci", *(part for part, differs in parts.items() if differs)])

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        """Play one trial."""
        goal = env.reset().goal
        groundings = 0 if self._without == "agent" else GROUNDINGS
        trial = _Trial(self._prompts, self._exemplars, goal, env, llm, groundings)
        plan = "" if self._without == "plan" else trial.plan(self._critiques)
        note(trial.follow(plan, fit=self._without != "state"))

    def counts(self, action: Action) -> bool:
        """Return True for what an instruction says; CTRL is only held to keep other options."""
        return not isinstance(action, Hold | Release)


def _read_exemplars(source: str, task: str) -> Prompt | None:
    """Read the worked examples for a task; None where there are none."""
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
    known = {"default", task, *installed_tasks()}
    for name, path in files.items():  # a name that is like none of them may be a page of one's own
        if name not in known and (hint := nearest(name, sorted(known))):
            raise UsageError(f"{path}: there is no task {name!r}{hint}")
    chosen = files.get(task, files.get("default"))
    if chosen is None:
        return None
    text = chosen.read_text(encoding="utf-8").strip()
    exemplars = Prompt(text)
    exemplars.files = {f"exemplars/{chosen.name}": digest(text)}
    return exemplars


_ID = re.compile(r"\bid=(\d+)")
"""An element in an error of the browser, which the page's HTML names by its `data-ref`."""


@dataclass(slots=True)
class _Wording:
    """An instruction as it was proposed and as it is worded now, with the rewordings left."""

    page: str
    proposal: str
    reply: str
    left: int


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
        """Ask for a plan on the start page, criticise it and improve it (explicit RCI)."""
        page = self._env.html()
        plan = self._ask("plan", page)
        for _ in range(critiques):
            critique = self._ask("critique", page, plan=plan)
            plan = self._ask("improve", page, plan=plan, critique=critique)
        return plan

    def follow(self, plan: str, fit: bool) -> TrialEnded:
        """Carry out one instruction after another; returns the ending."""
        done: list[str] = []
        page, repeated = "", 0
        while True:
            before, page = page, self._env.html()
            wording = self._propose(page, plan, done, fit)
            try:
                while (found := self._ground(wording)) is not None:
                    instruction, actions = found
                    same = page == before and done[-1:] == [str(instruction)]
                    repeated = repeated + 1 if same and instruction.verb != "press" else 0
                    if repeated == REPEATS:
                        detail = f"again and again: {_bounded(done[-1], 200)}"
                        return TrialEnded(Ending.NO_CHANGE, detail)
                    transition = self._carry_out(actions)
                    if transition is None or not transition.error:
                        break
                    self._reword(wording, _ID.sub(r'data-ref="\1"', transition.error))
                else:
                    return TrialEnded(Ending.INCOMPLETE, "nothing was left to do")
            except Inadmissible as error:
                return TrialEnded(Ending.EXCEPTION, str(error))
            if transition is not None and transition.solved:
                return TrialEnded(Ending.CORRECT)
            if transition is not None and transition.done:
                return TrialEnded(Ending.FAILED, f"reward {transition.reward:g}")
            done.append(str(instruction))

    def _propose(self, page: str, plan: str, done: list[str], fit: bool) -> _Wording:
        """Ask for the next instruction, and fit it to the page."""
        context = {"plan": plan or "There is none.", "history": _numbered(done)}
        reply = proposal = self._ask("task", page, **context)
        if fit:
            reply = self._ask("state", page, **context, instruction=proposal)
        return _Wording(page, proposal, reply, self._groundings)

    def _ground(self, wording: _Wording) -> tuple[Instruction, tuple[Action, ...]] | None:
        """Find an instruction's actions, rewording it if need be; None where nothing is left to do.

        Raises:
            Inadmissible: no wording of it can be carried out.
        """
        while True:
            try:
                instruction = parse_instruction(wording.reply)
                if instruction.verb == "done":
                    return None
                return instruction, find_actions(instruction, wording.page)
            except Inadmissible as error:
                self._reword(wording, str(error))

    def _reword(self, wording: _Wording, problem: str) -> None:
        """Ask for another wording of an instruction that can't be carried out.

        Raises:
            Inadmissible: there were as many as are allowed.
        """
        if not wording.left:
            raise Inadmissible(f"{problem}: {_bounded(wording.reply, 200)!r}")
        wording.left -= 1
        wording.reply = self._ask(
            "agent",
            wording.page,
            proposal=wording.proposal,
            instruction=wording.reply,
            problem=problem,
        )

    def _carry_out(self, actions: Sequence[Action]) -> Transition | None:
        """Take actions until one of them fails or ends the trial; returns the last transition."""
        transition = None
        for number, action in enumerate(actions):
            transition = self._env.step(action)
            if transition.error:
                for held in actions[:number]:
                    if isinstance(held, Hold):
                        self._env.step(Release(held.key))
            if transition.error or transition.done:
                break
        return transition

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
    """List what was done, one instruction a line."""
    return (
        "\n".join(f"{at}. {_bounded(line, 300)}" for at, line in enumerate(lines, 1)) or "None yet."
    )


def _bounded(text: str, limit: int) -> str:
    """Cut a text to a number of characters, and replace halves of surrogate pairs."""
    if len(text) > limit:
        text = f"{text[:limit]}\n[{len(text) - limit} more characters are left out]"
    return text.encode("utf-8", "replace").decode()
