"""What the reflective agent keeps of a trial, and between trials (section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_miniwob_agent.agents.reflective.screens import Screen
from pytest_miniwob_agent.core.actions import Action, Click, elements_of
from pytest_miniwob_agent.core.events import Ending
from pytest_miniwob_agent.core.parsing import Command


@dataclass(slots=True)
class Trial:
    """The screens of a trial, the actions between them, and how it ended.

    Action k was taken on `screens[k]`. `invalid` is a last line that could not be carried out.
    """

    screens: list[Screen]
    actions: list[Action] = field(default_factory=list)
    ending: Ending = Ending.INCOMPLETE
    detail: str = ""
    invalid: str = ""

    @property
    def goal(self) -> str:
        """The goal in the page's words."""
        return self.screens[0].observation.goal


class Memory:
    """What was learned in earlier trials: R and D of algorithm 1.

    R is kept as its result: `prefix` are the actions to repeat, `suggestion` is the action after
    them. `mistakes` is D: the wrong clicks of each step. Of the other kinds `unconstrained` leaves
    wrong clicks their ids (7.2), `plain` keeps suggestions as `notes` and enforces none (7.1).
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.prefix: tuple[Action, ...] = ()
        self.suggestion: Command | None = None
        self.mistakes: dict[int, set[Click]] = {}
        self.notes: list[str] = []

    def correct(self, trial: Trial, step: int, suggestion: Command) -> None:
        """Keep a suggestion for a step of a trial, and forget the mistakes of later steps."""
        wrong = trial.actions[step] if step < len(trial.actions) else None
        self.prefix = tuple(trial.actions[:step])
        if self.kind == "plain":
            instead = f" instead of {wrong}" if wrong else ""
            self.notes.append(f"For action index={step}, you should {suggestion.line}{instead}.")
            return
        self.suggestion = suggestion
        self.mistakes = {at: clicks for at, clicks in self.mistakes.items() if at <= step}
        if isinstance(wrong, Click):
            better = suggestion.action or suggestion.on(wrong.element)  # it may mean that one
            if better == wrong or wrong.element not in elements_of(better):
                self.mistakes.setdefault(step, set()).add(wrong)

    def disabled(self, step: int) -> set[int]:
        """Return the ids that the screen of a step must not show.

        A wrong click at a place in an element leaves its other places allowed.
        """
        if self.kind == "unconstrained":
            return set()
        return {click.element for click in self.mistakes.get(step, ()) if click.at is None}
