"""Graders: functions of an episode, and what they say as a grade."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Episode
from pytest_miniwob_agent.core.grades import Grade
from pytest_miniwob_agent.core.text import sanitize_line

Verdict = bool | float | Grade


@dataclass(frozen=True, slots=True)
class Grader:
    """A named function of an episode that says whether it passes.

    Args:
        name: its name in results, gates and reports.
        function: returns True, False, a score from 0 to 1, or a `Grade` with a reason.
    """

    name: str
    function: Callable[[Episode], Verdict]

    def __call__(self, episode: Episode) -> Grade:
        """Grade an episode.

        Raises:
            TypeError: the function returns something else.
        """
        verdict = self.function(episode)
        grade = verdict if isinstance(verdict, Grade) else Grade(verdict)
        if not (isinstance(grade.score, bool | int | float) and 0 <= grade.score <= 1):
            raise TypeError(
                f"the grader {self.name} must return True, False, a number from 0 to 1 or a Grade, "
                f"not {verdict!r}"
            )
        return Grade(float(grade.score), sanitize_line(str(grade.reason)), self.name)


def grader(function: Callable[[Episode], Verdict]) -> Grader:
    """Make a grader of a function, with its name: a decorator."""
    return Grader(function.__name__, function)


def read_graders(given: Any) -> list[Grader]:
    """Return the graders of a marker or a task.

    Raises:
        UsageError: one is no function, or two have the same name.
    """
    graders = []
    for each in given if isinstance(given, list | tuple) else [given]:
        if not isinstance(each, Grader) and not hasattr(each, "__name__"):
            raise UsageError(
                "graders must be functions of an episode, or made by `grader` or `trajectory`, "
                f"not {each!r}"
            )
        graders.append(each if isinstance(each, Grader) else grader(each))
    names = [each.name for each in graders]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"two graders are called {twice[0]!r}: rename one of them")
    return graders


def load_graders(names: str | None) -> list[Grader]:
    """Return the graders of the option.

    Raises:
        UsageError: there is no such function.
    """
    found = []
    for name in (names or "").replace(",", "\n").split():
        module, _, function = name.partition(":")
        try:
            found.append(getattr(importlib.import_module(module), function))
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(
                f"miniwob_graders: there is no {name!r} ({error}); name module:function, such as "
                "graders:keeps_others"
            ) from error
    return read_graders(found)
