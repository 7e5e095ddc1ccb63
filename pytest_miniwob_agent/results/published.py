"""A run's figures in the form of the reflective agent's paper, with the published ones.

Completion by trials (tables 10 to 12), means (tables 5 and 6), the significance of more trials
(tables 7 and 13) and the planner calls that staging saves (table 8). A run of RCI or WebWISE is
tabulated by the suite of its own paper. The published figures are in the folder `data`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.results import statistics
from pytest_miniwob_agent.results.file import Result, Results, Samples
from pytest_miniwob_agent.tasks.catalogue import task_fact

TRIALS = (1, 3, 5)
"""The numbers of trials that the paper tabulates."""

PAPER = "reflective-agent (PaLM 2 L)"
"""The paper's agent, as the published figures name it."""

SIGNIFICANCE, PLANNING = "n-screen-n-step", "1-screen-n-step"
"""The categories whose tasks the paper's tables 13 and 8 list one by one."""


FUNCTIONS = {
    "1": "1 function",
    "2": "2 functions",
    "3": "3 to 6 functions",
    "variable": "variable functions",
}
"""The groups of WebWISE's tasks by the number of functions that a solution calls (its table 4)."""

NOT_CHOOSING = ("summarise", "ground", "reflect", "critique")
"""Purposes of calls that choose no actions; every other call counts as one of the planner."""


def published(name: str) -> list[dict[str, str]]:
    """The rows of a file of published figures."""
    text = (Path(__file__).with_name("data") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


@dataclass(frozen=True)
class Paper:
    """The paper's tables for a run; an item counts once, with the share of its samples.

    Args:
        results: the results of the run.
        any_reward: count every reward above 0 as solved, as the paper's code does, and not only the
            full one.
    """

    results: Results
    any_reward: bool = False

    def __post_init__(self) -> None:
        if self.any_reward:
            results = tuple(replace(r, solved_at=_rewarded_at(r)) for r in self.results.results)
            object.__setattr__(self, "results", replace(self.results, results=results))

    @cached_property
    def suite(self) -> str:
        """The suite of the run's agent: `rci` or `webwise`, and `paper` for any other agent."""
        families = {result.agent.partition("-")[0] for result in self.conclusive}
        family = families.pop() if len(families) == 1 else ""
        return family if family in ("rci", "webwise") else "paper"

    def _group(self, result: Result) -> str:
        """The table of an item: its category, or its group in the paper of the run's agent."""
        if self.suite == "paper" or not (group := task_fact(result.task, self.suite)):
            return result.category
        return FUNCTIONS.get(group, group) if self.suite == "webwise" else "RCI's suite"

    @cached_property
    def items(self) -> dict[str, dict[str, list[Samples]]]:
        """The conclusive samples of items, by category (or group) and task."""
        found: dict[str, dict[str, list[Samples]]] = {}
        for samples in self.results.items.values():
            conclusive = tuple(result for result in samples.results if result.conclusive)
            if conclusive:
                tasks = found.setdefault(self._group(conclusive[0]), {})
                tasks.setdefault(conclusive[0].task, []).append(Samples(conclusive))
        return {name: dict(sorted(tasks.items())) for name, tasks in sorted(found.items())}

    @cached_property
    def conclusive(self) -> list[Result]:
        """The results that are solved or unsolved."""
        return [result for result in self.results.results if result.conclusive]

    @cached_property
    def trials(self) -> tuple[int, ...]:
        """The numbers of `TRIALS` that the run has figures for; one of 1 trial has none for 5.

        RCI and WebWISE play one trial, whatever a run allows.
        """
        if self.suite != "paper":
            return TRIALS[:1]
        most = max((max(len(r.endings), r.solved_at or 1) for r in self.conclusive), default=0)
        all_solved = all(result.solved_at is not None for result in self.conclusive)
        return tuple(t for t in TRIALS if t <= most or (all_solved and most))

    @cached_property
    def rates(self) -> dict[str, dict[str, float]]:
        """Published completion rates by task and system; the setting is part of the name."""
        found: dict[str, dict[str, float]] = {}
        for row in published("results.csv"):
            found.setdefault(row["task"], {})[_system(row)] = float(row["completion_rate"])
        return found

    @cached_property
    def completion(self) -> list[dict[str, Any]]:
        """Tables 10 to 12: completion by task and number of trials, and the published figures."""
        return [
            {
                "group": group,
                "category": items[0].results[0].category,
                "task": task,
                "items": len(items),
                "completion": {f"T={t}": float(_rate(items, t)) for t in self.trials},
                "published": self.rates.get(task, {}),
            }
            for group, tasks in self.items.items()
            for task, items in tasks.items()
        ]

    def systems(self) -> list[dict[str, Any]]:
        """Mean completion by category and published system, over the tasks that both have."""
        rows = []
        for category in self.items:
            tasks = [row for row in self.completion if row["group"] == category]
            for system in dict.fromkeys(name for row in tasks for name in row["published"]):
                shared = [row for row in tasks if system in row["published"]]
                means = {
                    f"T={t}": _mean([row["completion"][f"T={t}"] for row in shared])
                    for t in self.trials
                }
                rows.append(
                    {
                        "category": category,
                        "system": system,
                        "shared_tasks": len(shared),
                        "published": _mean([row["published"][system] for row in shared]),
                        "completion": means,
                    }
                )
        return rows

    def functions(self) -> list[dict[str, Any]]:
        """WebWISE's tables 2 and 3: completion by number of functions; empty for other agents."""
        if self.suite != "webwise":
            return []
        systems: dict[str, dict[str, float]] = {}
        if ours := {
            group: _mean([float(_rate(items, 1)) for items in self.items[name].values()])
            for group, name in FUNCTIONS.items()
            if name in self.items
        }:
            systems["this run"] = ours
        for row in published("functions.csv"):
            rates = systems.setdefault(_system(row), {})
            rates[row["functions"]] = float(row["completion_rate"])
        return [{"system": name, "completion": rates} for name, rates in systems.items()]

    def significance(self) -> list[dict[str, Any]]:
        """Tables 7 and 13: the significance of more trials, by category and by task.

        The exact test and McNemar's chi-square are one-tailed, the t-test two-tailed.
        """
        given = {
            (row["what"], int(row["from_trials"]), int(row["to_trials"])): row["p_value"]
            for row in published("pvalues.csv")
        }
        groups = [
            (category, [samples for items in tasks.values() for samples in items], pair)
            for category, tasks in self.items.items()
            for pair in ((1, 3), (3, 5), (1, 5))
        ]
        last = (1, self.trials[-1])
        groups += [(task, items, last) for task, items in self.items.get(SIGNIFICANCE, {}).items()]
        rows = []
        for what, items, (few, more) in groups:
            if few == more or not {few, more} <= set(self.trials):
                continue
            gains = [_within(samples, more) - _within(samples, few) for samples in items]
            paper = given.get((what, few, more))
            rows.append(
                {
                    "what": what,
                    "kind": "category" if what in self.items else "task",
                    "items": len(items),
                    "from_trials": few,
                    "to_trials": more,
                    "from_solved": float(_rate(items, few) * len(items)),
                    "to_solved": float(_rate(items, more) * len(items)),
                    "p_exact": statistics.p_worse([-gain for gain in gains]),
                    "p_chi_square": statistics.matched_chi_square(gains),
                    "p_t": statistics.paired_t(gains),
                    "p_published": float(paper) if paper else None,
                }
            )
        return rows

    def planning(self) -> list[dict[str, Any]]:
        """Table 8: planner calls made, and those needed with one call for each action.

        `first` counts the samples that were solved in their first trial, `all` every sample with
        all of its trials. Empty for an agent without stages: one that makes no fewer calls than
        it takes actions.
        """
        if (_planned(self.conclusive)["saved"] or 0) <= 0:
            return []
        groups = {task: [items] for task, items in self.items.get(PLANNING, {}).items()}
        groups |= {category: list(tasks.values()) for category, tasks in self.items.items()}
        given = published("planning.csv")
        rows = []
        for what, tasks in groups.items():
            every = [result for items in tasks for samples in items for result in samples.results]
            parts = {"first": [result for result in every if result.solved_at == 1], "all": every}
            row: dict[str, Any] = {part: _planned(results) for part, results in parts.items()}
            row["published"] = [
                {p: _saving(int(r[f"{p}_iterative"]), int(r[f"{p}_staged"])) for p in parts}
                for r in given
                if r["task"] == what
            ]
            rows.append({"what": what} | row)
        return rows


def _system(row: dict[str, str]) -> str:
    """The name of a published system, with its setting."""
    return f"{row['system']} {row['setting']}".strip()


def _rewarded_at(result: Result) -> int | None:
    """The first trial with a reward above 0, None if there is none."""
    rewards = enumerate(result.rewards, start=1)
    return next((trial for trial, reward in rewards if reward > 0), None)


def _within(samples: Samples, trials: int) -> Fraction:
    """The share of samples that were solved within this number of trials."""
    solved = sum(r.solved_at is not None and r.solved_at <= trials for r in samples.results)
    return Fraction(solved, len(samples.results))


def _rate(items: Sequence[Samples], trials: int) -> Fraction:
    return sum((_within(samples, trials) for samples in items), Fraction(0)) / len(items)


def _mean(rates: Sequence[float]) -> float:
    return sum(rates) / len(rates)


def _planned(results: Sequence[Result]) -> dict[str, Any]:
    staged = sum(
        count
        for result in results
        for purpose, count in result.calls.items()
        if purpose not in NOT_CHOOSING
    )
    return _saving(sum(result.steps for result in results), staged)


def _saving(iterative: int, staged: int) -> dict[str, Any]:
    saved = 1 - staged / iterative if iterative else None
    return {"iterative": iterative, "staged": staged, "saved": saved}
