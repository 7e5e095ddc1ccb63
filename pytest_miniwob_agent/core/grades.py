"""Grades of an episode: what graders say of it, beside the verdict of its page."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_miniwob_agent.core.data import Share


@dataclass(frozen=True, slots=True)
class Grade:
    """What a grader says of an episode.

    Args:
        score: from 0 to 1; True is 1. An episode that gets less than 1 is not solved.
        reason: why, in a line.
        grader: the grader's name; graders leave it out.
        judge: of a model's grade, the model and where labels of people are, if there are some.
    """

    score: Share
    reason: str = field(default="", metadata={"optional": True})
    grader: str = ""
    judge: str = field(default="", metadata={"optional": True})

    @property
    def passed(self) -> bool:
        """True if the score is 1."""
        return self.score == 1

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "failed"
        score = f" with {self.score:g}" if 0 < self.score < 1 else ""
        return f"{self.grader}: {verdict}{score}" + (f", {self.reason}" if self.reason else "")
