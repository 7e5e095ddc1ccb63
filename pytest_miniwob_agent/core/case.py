"""Cases, and the limits of an episode on one."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_miniwob_agent.core.errors import UsageError


def split_task(task: str) -> tuple[str, str]:
    """Return a task without its perturbation, and the perturbation: `shop` and `overlay`.

    That of a clean task is empty.
    """
    base, _, perturbation = task.partition("~")
    return base, perturbation


@dataclass(frozen=True, slots=True)
class Case:
    """One problem: a task of a category, generated from a seed.

    The task of a perturbed problem has the perturbation after a `~`: `shop~overlay`.
    `repeat` numbers the recorded samples of the same problem from 1. If a test has several
    agents or models, `setup` is the folder of the case's cassettes: `tools/gpt-5`.
    """

    task: str
    category: str
    seed: int
    repeat: int = 1
    setup: str = field(default="", metadata={"optional": True})

    @classmethod
    def from_id(cls, id_: str) -> Case:
        """Return the case that has this `id`."""
        *setup, category, task, sample = id_.split("/")
        seed, _, repeat = sample.partition("-")
        return cls(task, category, int(seed), int(repeat or 1), "/".join(setup))

    @property
    def sample(self) -> str:
        """Seed and repeat: `1000`, and `1000-2` for the second sample."""
        return str(self.seed) if self.repeat == 1 else f"{self.seed}-{self.repeat}"

    @property
    def group(self) -> str:
        """The category, after the set-up if there is one."""
        return f"{self.setup}/{self.category}" if self.setup else self.category

    @property
    def id(self) -> str:
        """The pytest item's id, for instance `n-screen-n-step/click-menu-2/1000`."""
        return f"{self.group}/{self.task}/{self.sample}"

    @property
    def item(self) -> str:
        """The id without the repeat, which all samples of a problem share."""
        return f"{self.group}/{self.task}/{self.seed}"

    @property
    def base(self) -> str:
        """The task without its perturbation: `shop` of `shop~overlay`."""
        return split_task(self.task)[0]

    @property
    def perturbation(self) -> str:
        """The name of the task's perturbation, empty if it is clean."""
        return split_task(self.task)[1]

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Limits:
    """The most trials in an episode, actions in a trial, and model calls in an episode.

    There are no limits of time, so that an episode does not depend on the speed of the machine.
    With `any_reward` a reward above 0 counts as the full one, as in BrowserGym's protocol. With
    `graded` the page does not judge: the trial, which is the only one, gets the full reward when
    the agent ends it, and graders decide.

    Raises:
        UsageError: a limit is below 1.
    """

    trials: int = 5
    steps: int = 30
    calls: int = 500
    any_reward: bool = field(default=False, metadata={"optional": True})
    graded: bool = field(default=False, metadata={"optional": True})

    def __post_init__(self) -> None:
        for name in ("trials", "steps", "calls"):
            if (most := getattr(self, name)) < 1:
                raise UsageError(f"{name} must be at least 1, not {most}")
