"""Graders: `graders=` of the marker and of `AppTask`, and `miniwob_graders`.

`grader` has the functions of users, `trajectory` those that look at actions, and `judged` those
that ask a model. `run` has them grade an item.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import wrap
from pytest_miniwob_agent.hookspec import Run, Step
from pytest_miniwob_agent.models.params import shown_url
from pytest_miniwob_agent.plugin.options import option, parse_server, parse_variable

if TYPE_CHECKING:
    import pytest

    from pytest_miniwob_agent.core.events import Episode
    from pytest_miniwob_agent.core.grades import Grade
    from pytest_miniwob_agent.core.protocols import Observer, Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of this plugin."""

    graders: str | None = option(
        "graders of all items, beside those of their markers: module:function, separated by commas",
        metavar="MODULE:FUNCTION",
        ini_type="linelist",
        group="Graders",
    )
    judge_model: str | None = option(
        "the model that graders made by `judged` ask, unless they name another one",
        metavar="ID",
    )
    judge_base_url: str | None = option(
        "the server of that model, if it is not that of the agent's",
        parse=parse_server,
        metavar="URL",
        secret=True,
        shown=shown_url,
    )
    judge_key_variable: str | None = option(
        "the environment variable that holds the key of that server",
        parse=parse_variable,
        metavar="NAME",
    )


def pytest_miniwob_options() -> type:
    return Options


def pytest_miniwob_marker_arguments() -> Mapping[str, Callable[[Any], Any]]:
    from pytest_miniwob_agent.plugins.graders.grader import read_graders

    return {"graders": read_graders}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tell before any item is run that a grader of all items is missing."""
    from pytest_miniwob_agent.plugin.state import options_of

    names = options_of(metafunc.config, Options).graders
    if not names or "miniwob_case" not in metafunc.fixturenames:
        return
    import pytest

    from pytest_miniwob_agent.plugins.graders.grader import load_graders

    try:
        load_graders(names)
    except UsageError as error:
        raise pytest.Collector.CollectError(str(error)) from None


def _has_graders(config: pytest.Config, problem: Any) -> bool:
    from pytest_miniwob_agent.plugin.state import options_of

    of_task = problem.page.app and problem.page.app.graders
    return bool(of_task or problem.arguments.get("graders") or options_of(config, Options).graders)


def pytest_miniwob_grade(item: pytest.Item, problem: Any, episode: Episode) -> Sequence[Grade]:
    if not _has_graders(item.config, problem):
        return ()
    from pytest_miniwob_agent.plugins.graders.run import grade_episode

    return grade_episode(item, problem, episode)


def pytest_miniwob_observer(
    item: pytest.Item, agent: str, model: str, page: Page | None
) -> Observer | None:
    from pytest_miniwob_agent.plugin.collection import get_problem

    # Without a page the item has failed, maybe for a grader that is not there.
    if page is None or not _has_graders(item.config, get_problem(item)):
        return None
    from pytest_miniwob_agent.plugins.graders.run import observe

    return observe(item)


def pytest_miniwob_grader_calls(config: pytest.Config, problem: Any) -> Mapping[str, int]:
    if not _has_graders(config, problem):
        return {}
    from pytest_miniwob_agent.plugins.graders.run import count_calls

    return count_calls(config, problem)


def pytest_miniwob_secrets(config: pytest.Config) -> Sequence[str]:
    from pytest_miniwob_agent.plugin.state import options_of

    variable = options_of(config, Options).judge_key_variable
    return [key] if (key := os.environ.get(variable or "")) else []


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
            for line in wrap(
                f"graders: {', '.join(shown)}", terminal.config.get_terminal_writer().fullwidth
            ):
                terminal.line(line)


def pytest_miniwob_step() -> Step:
    return _Summary()
