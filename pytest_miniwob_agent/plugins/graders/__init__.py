"""Graders: `graders=` of the marker and of `AppTask`, and `miniwob_graders`.

`grader` has the functions of users, `trajectory` those that look at actions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.hookspec import Run, Step
from pytest_miniwob_agent.plugin.options import option

if TYPE_CHECKING:
    import pytest

    from pytest_miniwob_agent.core.events import Episode
    from pytest_miniwob_agent.core.grades import Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of this plugin."""

    graders: str | None = option(
        "graders of all items, beside those of their markers: module:function, separated by commas",
        metavar="MODULE:FUNCTION",
        ini_type="linelist",
        group="Graders",
    )


def pytest_miniwob_options() -> type:
    return Options


def pytest_miniwob_marker_arguments() -> Mapping[str, Callable[[Any], Any]]:
    from pytest_miniwob_agent.plugins.graders.grader import read_graders

    return {"graders": read_graders}


def pytest_miniwob_grade(item: pytest.Item, problem: Any, episode: Episode) -> Sequence[Grade]:
    from pytest_miniwob_agent.plugin.state import options_of
    from pytest_miniwob_agent.plugins.graders.grader import grade_episode, load_graders

    return grade_episode(
        episode,
        load_graders(options_of(item.config, Options).graders),
        problem.page.app.graders if problem.page.app else (),
        problem.arguments.get("graders", ()),
    )


class _Summary(Step):
    """Counts the items that each grader passes."""

    _counts: Mapping[str, tuple[int, int]] = {}

    def finish(self, run: Run) -> None:
        counts: dict[str, tuple[int, int]] = {}
        for outcome in run.items:
            for grade in outcome.result.grades:
                passed, of = counts.get(grade.grader, (0, 0))
                counts[grade.grader] = passed + grade.passed, of + 1
        self._counts = counts

    def show(self, terminal: pytest.TerminalReporter) -> None:
        if self._counts and terminal.verbosity >= 0:
            shown = (f"{name} {passed}/{of}" for name, (passed, of) in self._counts.items())
            terminal.line(f"graders: {', '.join(shown)}")


def pytest_miniwob_step() -> Step:
    return _Summary()
