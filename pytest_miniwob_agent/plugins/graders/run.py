"""The graders of an item, and what they say of its episode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.plugin.collection import get_problem
from pytest_miniwob_agent.plugin.state import options_of
from pytest_miniwob_agent.plugins.graders import Options
from pytest_miniwob_agent.plugins.graders.grader import Grader, load_graders, read_graders
from pytest_miniwob_agent.plugins.graders.judged import REPLIES, Judge, LastPicture

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.recording import RecordedModel
    from pytest_miniwob_agent.core.events import Episode
    from pytest_miniwob_agent.core.grades import Grade
    from pytest_miniwob_agent.core.protocols import Observer

_PICTURE = pytest.StashKey[LastPicture]()


def find_graders(config: pytest.Config, problem: Any) -> list[Grader]:
    """Return the graders of an item: those of all items, of its task, and of its marker.

    Raises:
        UsageError: one can't be found, or two have the same name.
    """
    of_task = problem.page.app.graders if problem.page.app else ()
    sources = load_graders(options_of(config, Options).graders), of_task
    return read_graders([*sources[0], *sources[1], *problem.arguments.get("graders", ())])


def observe(item: pytest.Item) -> Observer | None:
    """Return what keeps the picture that a judge of the item sees, if one does."""
    graders = find_graders(item.config, get_problem(item))
    if not any(isinstance(each, Judge) and each.sees == "picture" for each in graders):
        return None
    item.stash[_PICTURE] = LastPicture()
    return item.stash[_PICTURE]


def count_calls(config: pytest.Config, problem: Any) -> dict[str, int]:
    """Return how many calls the judges of an item make at most, by model."""
    counts: dict[str, int] = {}
    for each in find_graders(config, problem):
        if isinstance(each, Judge):
            model = each.model or options_of(config, Options).judge_model or ""
            counts[model] = counts.get(model, 0) + REPLIES
    return counts


def grade_episode(item: pytest.Item, problem: Any, episode: Episode) -> Sequence[Grade]:
    """Return the grades of an item's episode; raises what a grader raises."""
    picture, graders = item.stash.get(_PICTURE, None), find_graders(item.config, problem)
    for each in graders:
        if isinstance(each, Judge) and not (item.config.rootpath / each.labels).exists():
            raise UsageError(f"{each.name}: there are no labels {each.labels}")
    return [
        each.judge(
            episode, picture.shot if picture else None, lambda model: _open_model(item, model)
        )
        if isinstance(each, Judge)
        else each(episode)
        for each in graders
    ]


@contextmanager
def _open_model(item: pytest.Item, model: str | None) -> Iterator[RecordedModel]:
    from pytest_miniwob_agent.plugin.item import RUN

    options = options_of(item.config, Options)
    model = model or options.judge_model
    if model is None:
        raise UsageError(
            "a judge has no model: give --miniwob-judge-model, miniwob_judge_model in the ini "
            "file, or judged(..., model=...)"
        )
    with item.stash[RUN].open_grader_model(
        model, options.judge_base_url, options.judge_key_variable
    ) as llm:
        yield llm
