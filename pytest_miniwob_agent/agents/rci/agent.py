"""The agent that criticises and improves its own output (RCI, sections 2 and 3.2, appendix D).

A plan is made, criticised and improved. Then, until the page judges, the next instruction is taken
from the plan (task grounding), fitted to the page (state grounding), and reworded while it can't be
carried out (agent grounding). There is one trial.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from pytest_miniwob_agent.agents.parameters import check_choice, check_integer, variant_name
from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.agents.rci.instructions import (
    Inadmissible,
    find_actions,
    parse_instruction,
)
from pytest_miniwob_agent.core.actions import Action, Hold, Release
from pytest_miniwob_agent.core.data import digest
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Ending, Note, TrialEnded
from pytest_miniwob_agent.core.protocols import LLM, Environment

GROUNDINGS = 3
"""Rewordings of an instruction that can't be carried out (2.2.2)."""

PAGE_LIMIT = 24_000
"""Characters of a page's HTML in a prompt: three times the longest page."""

REPLY_LIMIT = 4_000
"""Characters of a reply that are read, and that later prompts repeat."""

REPEATS = 2
"""Allowed repetitions of an instruction other than `press` while the page stays the same."""


class RCIAgent:
    """Plan, critique, improved plan; then each instruction grounded in task, state and agent.

    Args:
        prompts: a folder of texts that replace the built-in ones, file by file.
        critiques: rounds in which the plan is criticised and improved.
        exemplars: worked examples to show: `none`, `built-in`, or a folder with files TASK.txt for
            tasks, and default.txt for all others.
        without: the part that an ablation leaves out (3.2.4): `plan`, `state`, `agent` or `none`.
        task: the name of the task, for its exemplars; the plugin gives it.

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
        self.prompts = Prompts(Path(__file__).with_name("prompts"), prompts)
        self.critiques = check_integer("critiques", critiques, 0, 9)
        self.without = check_choice("without", without, ("none", "plan", "state", "agent"))
        self.exemplars = _read_exemplars(exemplars, task)
        self.name = variant_name(
            "rci",
            exemplars != "none" and "few-shot",
            critiques != 1 and f"critiques-{critiques}",
            without != "none" and f"without-{without}",
        )

    def solve(self, env: Environment, llm: LLM, note: Callable[[Note], None]) -> None:
        """Play one trial."""
        trial = _Trial(self, env, llm)
        trial.plan()
        note(trial.follow())

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
    chosen = files.get(task, files.get("default"))
    if chosen is None:
        return None
    exemplars = Prompt(chosen.read_text(encoding="utf-8").strip())
    exemplars.files = {f"exemplars/{chosen.name}": digest(exemplars)}
    return exemplars


_ID = re.compile(r"\bid=(\d+)")
"""An element in an error of the browser, which the page's HTML names by its `data-ref`."""


class _Trial:
    """One episode of the agent, which is one trial."""

    def __init__(self, agent: RCIAgent, env: Environment, llm: LLM) -> None:
        self._agent = agent
        self._env = env
        self._llm = llm
        self._goal = env.reset().goal
        self._plan = ""
        self._page = ""
        self._done: list[str] = []
        self._repeated = 0

    def plan(self) -> None:
        """Ask for a plan on the start page, criticise it and improve it (explicit RCI)."""
        self._page = self._env.html()
        if self._agent.without == "plan":
            return
        self._plan = self._ask("plan")
        for _ in range(self._agent.critiques):
            critique = self._ask("critique", plan=self._plan)
            self._plan = self._ask("improve", plan=self._plan, critique=critique)

    def follow(self) -> TrialEnded:
        """Carry out one instruction after another; returns the ending."""
        changed = True
        while True:
            try:
                end = self._next_instruction(changed)
            except Inadmissible as error:
                return TrialEnded(Ending.EXCEPTION, str(error))
            if end is not None:
                return end
            before, self._page = self._page, self._env.html()
            changed = self._page != before

    def _next_instruction(self, changed: bool) -> TrialEnded | None:
        """Ask for the next instruction, and reword it until it is carried out.

        Returns how that ended the trial, if it did. `changed` says if the page is another one than
        before the last instruction.

        Raises:
            Inadmissible: no wording of it can be carried out.
        """
        context = {"plan": self._plan or "There is none.", "history": _numbered(self._done)}
        reply = proposal = self._ask("task", **context)
        if self._agent.without != "state":
            reply = self._ask("state", **context, instruction=proposal)
        left = 0 if self._agent.without == "agent" else GROUNDINGS
        while True:
            try:
                return self._carry_out(reply, changed)
            except Inadmissible as error:
                if not left:
                    raise Inadmissible(f"{error}: {_bounded(reply, 200)!r}") from None
                left -= 1
                reply = self._ask("agent", proposal=proposal, instruction=reply, problem=str(error))

    def _carry_out(self, reply: str, changed: bool) -> TrialEnded | None:
        """Take the actions of an instruction; returns the ending of the trial, if they ended it.

        Raises:
            Inadmissible: it can't be carried out.
        """
        instruction = parse_instruction(reply)
        if instruction.verb == "done":
            return TrialEnded(Ending.INCOMPLETE, "nothing was left to do")
        actions = find_actions(instruction, self._page)
        same = not changed and self._done[-1:] == [str(instruction)]
        self._repeated = self._repeated + 1 if same and instruction.verb != "press" else 0
        if self._repeated == REPEATS:
            return TrialEnded(Ending.NO_CHANGE, f"again and again: {_bounded(self._done[-1], 200)}")
        for number, action in enumerate(actions):
            transition = self._env.step(action)
            if transition.error:
                for held in actions[:number]:
                    if isinstance(held, Hold):
                        self._env.step(Release(held.key))
                raise Inadmissible(_ID.sub(r'data-ref="\1"', transition.error))
            if transition.done:
                return TrialEnded.judged(transition)
        self._done.append(str(instruction))
        return None

    def _ask(self, purpose: str, **values: str) -> str:
        rules = self._agent.prompts.fill("rules")
        if self._agent.exemplars is not None:
            values_of_rules = {"rules": rules, "exemplars": self._agent.exemplars}
            rules = self._agent.prompts.fill("exemplars", **values_of_rules)
        page = _bounded(self._page, PAGE_LIMIT)
        prompt = self._agent.prompts.fill(
            purpose, rules=rules, goal=self._goal, page=page, **values
        )
        return _bounded(self._llm.complete(prompt, purpose).text.strip(), REPLY_LIMIT)


def _numbered(lines: list[str]) -> str:
    numbered = (f"{number}. {_bounded(line, 300)}" for number, line in enumerate(lines, 1))
    return "\n".join(numbered) or "None yet."


def _bounded(text: str, limit: int) -> str:
    """Cut a text to a number of characters, and replace halves of surrogate pairs."""
    if len(text) > limit:
        text = f"{text[:limit]}\n[{len(text) - limit} more characters are left out]"
    return text.encode("utf-8", "replace").decode()
