"""The memory of the reflective agent: its trials, and what it has learnt from them (5.2)."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_miniwob_agent.core.actions import Action, Click, elements_of
from pytest_miniwob_agent.core.events import Ending
from pytest_miniwob_agent.core.observations import Observation
from pytest_miniwob_agent.core.parsing import Command

_LAST_WAS_WRONG = (Ending.FAILED, Ending.CYCLE, Ending.NO_CHANGE, Ending.EXCEPTION)


@dataclass(slots=True)
class Trial:
    """The screens of a trial, the actions between them, and its ending.

    Action k was taken on `screens[k]`. Until the page judges there is one screen more than actions.
    `invalid` is a last line that could not be carried out. `pictures` are PNGs of the screens,
    where the agent's variant shows them.
    """

    screens: list[Observation]
    actions: list[Action] = field(default_factory=list)
    ending: Ending = Ending.INCOMPLETE
    detail: str = ""
    invalid: str = ""
    pictures: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class Memory:
    """The knowledge that is kept between trials: algorithm 1's R and D.

    The suggestions R are kept as their result: `prefix` are the actions to repeat without asking,
    earlier suggestions among them, and `suggestion` is the next action after them. `mistakes` is D:
    actions by step. Of the other kinds of memory, `plain` keeps every suggestion as a note,
    enforces and forgets none, and has no D (7.1); `traces` also keeps the actions of every trial
    that was ended by its last action (9.6).
    """

    kind: str = "structured"
    prefix: tuple[Action, ...] = ()
    suggestion: Command | None = None
    mistakes: dict[int, set[Action]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    traces: set[tuple[Action, ...]] = field(default_factory=set)

    def update(self, step: int, trial: Trial, suggestion: Command) -> None:
        """Correct a step of a trial; drops what was known of later steps."""
        taken = tuple(trial.actions)
        self.prefix = taken[:step]
        if self.kind == "plain":
            instead = f" instead of {taken[step]}" if step < len(taken) else ""
            self.notes.append(f"For action index={step}, you should {suggestion.line}{instead}.")
            return
        if step < len(taken) and not _uses_element_of(taken[step], suggestion):
            self.mistakes.setdefault(step, set()).add(taken[step])
        self.suggestion = suggestion
        self.mistakes = {at: actions for at, actions in self.mistakes.items() if at <= step}

    def keep(self, trial: Trial) -> None:
        """Keep the actions of a trial that was ended by its last action, if `traces` are kept."""
        if self.kind == "traces" and trial.ending in _LAST_WAS_WRONG and not trial.invalid:
            self.traces.add(tuple(trial.actions))

    def mistakes_after(self, taken: tuple[Action, ...]) -> set[Action]:
        """Return the actions that are known to be mistakes after those taken."""
        dead_ends = {trace[-1] for trace in self.traces if trace[:-1] == taken}
        return self.mistakes.get(len(taken), set()) | dead_ends


def _uses_element_of(wrong: Action, suggestion: Command) -> bool:
    """True if a click is to be another action on its element, which then must keep its id.

    A suggestion that does not name its element may mean that of the click.
    """
    if not isinstance(wrong, Click):
        return False
    instead = suggestion.action or suggestion.on(wrong.element)
    return instead != wrong and wrong.element in elements_of(instead)
