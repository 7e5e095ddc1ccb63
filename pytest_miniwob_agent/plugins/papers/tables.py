"""A run's figures in the form of the reflective agent's paper, with the published ones.

Completion by trials (tables 10 to 12), the significance of more trials (tables 7 and 13) and the
planner calls that staging saves (table 8). A run of RCI or WebWISE is tabulated by the suite of its
own paper; `figures` has what else the papers show. Their figures are in the folder `data`.
"""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.outcome import Result
from pytest_miniwob_agent.results.file import Results, Samples
from pytest_miniwob_agent.results.statistics import below, p_worse, rate_interval
from pytest_miniwob_agent.tasks.catalogue import PROBLEM_LISTS, task_fact

TRIALS = (1, 3, 5)  # the paper has tables for these
PAPER = "reflective-agent (PaLM 2 L)"  # its agent, as the published figures name it

RCI = "RCI (gpt-3.5-turbo) few-shot"
RCI_GPT_4 = "RCI (gpt-4 where used) few-shot"

SHARED = {"WebN-T5-3B", "CC-Net (SL+RL)", RCI}
"""The systems of tables 5 and 6 with rates by task; shared tasks are those that all have."""

FUNCTIONS = {
    "1": "1 function",
    "2": "2 functions",
    "3": "3 to 6 functions",
    "variable": "variable functions",
}
"""The groups of WebWISE's tasks by the number of functions that a solution calls (its table 4)."""

BROWSERGYM = PROBLEM_LISTS["browsergym"].limits
"""The limits of BrowserGym's protocol."""

NOT_CHOOSING = ("summarise", "ground", "reflect", "critique")
"""Purposes of calls that choose no actions; every other call counts as one of the planner."""


def published(name: str) -> list[dict[str, str]]:
    text = (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@dataclass(frozen=True)
class Table:
    """A table of a run, whose `name` is its key in JSON; rates in its rows are from 0 to 1.

    `shown` are the columns that a terminal has room for, with their headings; all if it is empty.
    `bars` are the columns that a plot draws for each row, with what they are.
    """

    name: str
    title: str
    remark: str
    rows: list[dict[str, Any]]
    shown: Mapping[str, str] = field(default_factory=dict)
    bars: Mapping[str, str] = field(default_factory=dict)


@cache
def _captions() -> dict[str, Any]:
    text = (Path(__file__).parent / "data" / "captions.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def captioned(
    name: str,
    rows: list[dict[str, Any]],
    bars: Mapping[str, str] | None = None,
    shown: Mapping[str, str] | None = None,
    caption: str = "",
    **facts: object,
) -> Table:
    """A table with the caption of its name or of another one, which the facts fill in."""
    parts = _captions()[caption or name]
    title, remark = (parts[part].format(**facts).strip() for part in ("title", "remark"))
    return Table(name, title, remark, rows, shown or {}, bars or {})


class Paper:
    """The paper's tables for a run; an item counts once, with the share of its samples.

    With `any_reward` every reward above 0 counts as solved, as in the paper's code, and not only
    the full one. `conclusive` are the results that are solved or unsolved; `suite` is that of the
    run's agent: `rci` or `webwise`, and `paper` for any other agent.
    """

    def __init__(self, results: Results, *, any_reward: bool = False) -> None:
        self.any_reward = any_reward
        if any_reward:
            found = []
            for result in results.results:
                rewarded = [n for n, reward in enumerate(result.rewards, start=1) if reward > 0]
                found.append(replace(result, solved_at=rewarded[0] if rewarded else None))
            results = replace(results, results=tuple(found))
        self.results = results
        self.conclusive = [result for result in results.results if result.conclusive]
        families = {result.agent.partition("-")[0] for result in self.conclusive}
        self.suite = next(iter(families)) if families in ({"rci"}, {"webwise"}) else "paper"
        named = self.conclusive or results.results
        self.agent = ", ".join(sorted({result.agent for result in named}))
        self.model = ", ".join(sorted({result.model for result in named}))
        settings = {row["agent"]: row["system"] for row in published("settings.csv")}
        self.setting = settings.get(self.agent.removesuffix("-as-published"))

    @cached_property
    def items(self) -> dict[str, dict[str, list[Samples]]]:
        """The conclusive samples of items, by category (or group of the paper) and task."""
        found: dict[str, dict[str, list[Samples]]] = {}
        for samples in self.results.items.values():
            if conclusive := tuple(result for result in samples.results if result.conclusive):
                task, group = conclusive[0].task, conclusive[0].category
                if self.suite != "paper" and (fact := task_fact(task, self.suite)):
                    group = FUNCTIONS.get(fact, fact) if self.suite == "webwise" else "RCI's suite"
                found.setdefault(group, {}).setdefault(task, []).append(Samples(conclusive))
        return {name: dict(sorted(tasks.items())) for name, tasks in sorted(found.items())}

    @cached_property
    def trials(self) -> tuple[int, ...]:
        """The numbers of `TRIALS` that the run has figures for; one of 1 trial has none for 5."""
        if self.suite != "paper":  # RCI and WebWISE play one trial, whatever a run allows
            return TRIALS[:1]
        most = max((max(len(r.endings), r.solved_at or 1) for r in self.conclusive), default=0)
        all_solved = most and all(result.solved_at is not None for result in self.conclusive)
        return tuple(t for t in TRIALS if t <= most or all_solved)

    @cached_property
    def completion(self) -> dict[str, list[dict[str, Any]]]:
        """Tables 10 to 12, by category or group: the run's and the published rates of tasks."""
        rates: dict[str, dict[str, float]] = {}
        if self.suite == "webwise":
            for row in published("webwise.csv"):
                given = {name: rate for name, rate in row.items() if rate and " k=" in name}
                rates[row["task"]] = {n: float(rate) for n, rate in given.items() if rate != "TLE"}
        for row in published("results.csv"):
            rates.setdefault(row["task"], {})[system_name(row)] = float(row["completion_rate"])
        return {
            group: [
                {"task": task, "items": len(items)}
                | {f"T={t}": float(rate_within(items, t)) for t in self.trials}
                | rates.get(task, {})
                for task, items in tasks.items()
            ]
            for group, tasks in self.items.items()
        }

    @cached_property
    def tables(self) -> list[Table]:
        tables = [
            *map(self._completion, self.items),
            *map(self._systems, self.items),
            *map(self._means, self.items),
            self._functions(),
            *self._significance(),
            *self._planning(),
            self._browsergym(),
        ]
        return [table for table in tables if table.rows]

    def _completion(self, group: str) -> Table:
        rows = self.completion[group]
        counts = sorted({row["items"] for row in rows})
        range_ = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
        beside = {
            row["system"]: row["heading"]
            for row in published("columns.csv")
            if row["suite"] == self.suite
        }
        if self.setting and self.suite != "paper":  # whose columns have the star already
            beside = {self.setting: beside.get(self.setting, "same") + "*"} | {
                name: heading for name, heading in beside.items() if name != self.setting
            }
        shown = {name: name for name in ("task", *(f"T={t}" for t in self.trials))}
        items = f"{range_} item{'s' * (range_ != '1')}"
        if not any(beside.keys() & row.keys() for row in rows):
            return captioned(
                "completion", rows, None, shown, "completion_own", group=group, items=items
            )
        shown |= beside
        star = "* has the run's setting." if self.setting else self.compared
        caption, facts = f"completion_{self.suite}", {"items": items, "star": star}
        return captioned("completion", rows, None, shown, caption, group=group, **facts)

    @property
    def compared(self) -> str:
        if self.setting:
            return f"The run has the setting of {self.setting}."
        return f"No published figure has the setting of {self.agent}."

    def _mean_rates(self, tasks: Sequence[dict[str, Any]]) -> dict[str, float]:
        return {f"T={t}": mean([task[f"T={t}"] for task in tasks]) for t in self.trials}

    def _systems(self, group: str) -> Table:
        tasks = self.completion[group]
        own = {"task", "items", *(f"T={t}" for t in self.trials)}
        rows = []
        for system in dict.fromkeys(name for task in tasks for name in task if name not in own):
            shared = [task for task in tasks if system in task]
            given = mean([task[system] for task in shared])
            row = {"system": system, "tasks": len(shared), "published": given}
            rows.append(row | self._mean_rates(shared))
        bars = {"T=1": "this run", "published": "published"} if self.suite == "rci" else {}
        figure = "RCI's figure 4 (a) shows some of these." if bars else ""
        return captioned("systems", rows, bars, group=group, figure=figure)

    def _means(self, group: str) -> Table:
        """Tables 5 and 6; the printed means differ from those of the rates by task.

        A printed mean is over all tasks that the systems share, so it is left out if the run
        lacks some of these.
        """
        shared = [task for task in self.completion[group] if task.keys() >= SHARED]
        known: dict[str, set[str]] = {}
        for rate in published("results.csv"):
            if rate["category"] == group:
                known.setdefault(rate["task"], set()).add(system_name(rate))
        whole = len(shared) == sum(systems >= SHARED for systems in known.values())
        rows = []
        for given in published("means.csv"):
            if shared and given["category"] == group:
                system = given["system"]
                rates = [task[system] for task in shared if system in task]
                row = {
                    "system": system,
                    "tasks": len(shared),
                    "as printed": float(given["completion_rate"]) if whole else None,
                    "by task": mean(rates) if len(rates) == len(shared) else None,
                }
                rows.append(row | self._mean_rates(shared))
        lacking = "" if whole else "The run lacks some, so that no printed mean is of the same."
        return captioned("means", rows, group=group, lacking=lacking)

    def _browsergym(self) -> Table:
        """The solved rate under BrowserGym's protocol; without rows for runs by another one."""
        protocol = Limits(BROWSERGYM["trials"], BROWSERGYM["steps"], any_reward=True)
        runs = [result.limits for result in self.conclusive]
        rows: list[dict[str, Any]] = []
        if runs and all(one and replace(one, calls=protocol.calls) == protocol for one in runs):
            times = PROBLEM_LISTS["browsergym"].read()
            shares = {
                (samples.results[0].task, samples.results[0].seed): _within(samples, 1)
                for tasks in self.items.values()
                for items in tasks.values()
                for samples in items
            }
            found = [problem for problem in shares if problem in times]
            for name, weights in (
                ("this run, as scheduled", {problem: times[problem] for problem in found}),
                ("this run, each problem once", dict.fromkeys(found, 1)),
            ):
                episodes = sum(weights.values())
                if episodes:
                    played = [one for one, times in weights.items() for _ in range(times)]
                    rate = math.fsum(float(shares[one]) for one in played) / episodes
                    tasks = [task for task, _ in played]
                    low, high = rate_interval([shares[one] for one in played], episodes, tasks)
                    rows.append(
                        {"system": name, "episodes": episodes, "solved": rate}
                        | {"error": standard_error(rate, episodes), "low": low, "high": high}
                    )
        if rows:
            for row in published("browsergym.csv"):
                rate, error = float(row["rate"]) / 100, float(row["standard_error"]) / 100
                system = f"GenericAgent, {row['system']}"
                rows.append({"system": system, "episodes": 625, "solved": rate, "error": error})
        return captioned("browsergym", rows)

    def _functions(self) -> Table:
        """WebWISE's tables 2 and 3; without rows for other agents."""
        systems: dict[str, dict[str, Any]] = {}
        if self.suite == "webwise":
            systems["this run"] = {"system": "this run"} | {
                group: mean([task["T=1"] for task in self.completion[name]])
                for group, name in FUNCTIONS.items()
                if name in self.items
            }
            for row in published("functions.csv"):
                rates = systems.setdefault(system_name(row), {"system": system_name(row)})
                rates[row["functions"]] = float(row["completion_rate"])
        return captioned("functions", list(systems.values()), setting=self.compared)

    def _significance(self) -> list[Table]:
        """Tables 7 and 13: the significance of more trials, by category and by task."""
        given = {
            (row["what"], int(row["from_trials"]), int(row["to_trials"])): float(row["p_value"])
            for row in published("pvalues.csv")
            if row["p_value"]
        }
        # The paper lists the tasks of one category, here and in table 8.
        by_task = self.items.get("n-screen-n-step", {})
        groups = {
            "category": [
                (category, [samples for items in tasks.values() for samples in items], pair)
                for category, tasks in self.items.items()
                for pair in ((1, 3), (3, 5), (1, 5))
            ],
            "task": [(task, items, (1, self.trials[-1])) for task, items in by_task.items()],
        }
        tables = []
        for kind, tests in groups.items():
            rows = [
                {kind: what}
                | ({"trials": f"{few} to {more}"} if kind == "category" else {})
                | _test(items, few, more)
                | {"printed": given.get((what, few, more))}
                for what, items, (few, more) in tests
                if few < more and {few, more} <= set(self.trials)
            ]
            most = self.trials[-1] if self.trials else 1
            tables.append(captioned(f"significance_by_{kind}", rows, most=most))
        return tables

    def _planning(self) -> list[Table]:
        """Table 8: planner calls made, and those needed with one call for each action."""
        _, calls = _planned(self.conclusive)
        if calls >= sum(result.steps for result in self.conclusive):  # of an agent without stages
            return []
        by_task = self.items.get("1-screen-n-step", {})
        groups = {task: [items] for task, items in by_task.items()}
        groups |= {category: list(tasks.values()) for category, tasks in self.items.items()}
        tables = []
        for part in ("first", "all"):
            rows = []
            for what, tasks in groups.items():
                results = [r for items in tasks for samples in items for r in samples.results]
                if part == "first":
                    results = [result for result in results if result.solved_at == 1]
                actions, calls = _planned(results)
                printed = [
                    100 - 100 * int(row[f"{part}_staged"]) / int(row[f"{part}_iterative"])
                    for row in published("planning.csv")
                    if row["task"] == what
                ]
                saved = 1 - calls / actions if actions else None
                row = {"what": what, "actions": actions, "calls": calls, "saved": saved}
                rows.append(row | {"paper": ", ".join(f"{share:.0f}" for share in printed)})
            bars = {"saved": "saved by the run", "paper": "saved in the paper"}
            bars = bars if self.suite == "paper" else {}
            tables.append(captioned(f"planning_{part}", rows, bars))
        return tables


def system_name(row: dict[str, str]) -> str:
    return f"{row['system']} {row['setting']}".strip()


def _within(samples: Samples, trials: int) -> Fraction:
    solved = sum(r.solved_at is not None and r.solved_at <= trials for r in samples.results)
    return Fraction(solved, len(samples.results))


def rate_within(items: Sequence[Samples], trials: int) -> Fraction:
    """The share of items solved in so many trials; an item counts with the share of its samples."""
    return sum((_within(samples, trials) for samples in items), Fraction(0)) / len(items)


def mean(rates: Sequence[float]) -> float:
    return math.fsum(rates) / len(rates)  # `sum` rounds differently before Python 3.12


def _test(items: Sequence[Samples], few: int, more: int) -> dict[str, float | None]:
    """Items solved with both numbers of trials, and p-values if more trials solved more."""
    gains = [_within(samples, more) - _within(samples, few) for samples in items]
    gained = any(gains)
    return {
        "few": float(rate_within(items, few) * len(items)),
        "more": float(rate_within(items, more) * len(items)),
        "of": len(items),
        "exact": p_worse([-gain for gain in gains]) if gained else None,
        "chi²": matched_chi_square(gains) if gained else None,
        "t-test": paired_t(gains) if gained else None,
    }


def _planned(results: Sequence[Result]) -> tuple[int, int]:
    """The number of the paper's actions, and of the calls that chose them."""
    counts = [count for result in results for count in result.calls.items()]
    choosing = sum(number for purpose, number in counts if purpose not in NOT_CHOOSING)
    return sum(result.steps + result.typings for result in results), choosing


def standard_error(rate: float, count: int) -> float:
    """Return the standard error of a rate of so many independent episodes, as AgentLab has it."""
    return math.sqrt(rate * (1 - rate) / count)


def matched_chi_square(differences: Sequence[Fraction]) -> float:
    """One-tailed p-value for an improvement by McNemar's chi-square, without a correction.

    The normal approximation of the exact test, as the reflective agent's paper uses it (table 13).
    1 if nothing changed.
    """
    squares = sum(difference**2 for difference in differences)
    return below(-sum(differences) / math.sqrt(squares)) if squares else 1.0


def paired_t(differences: Sequence[Fraction]) -> float | None:
    """Two-sided p-value of the paired t-test (the paper's table 7); 1 if nothing changed.

    None for a single item, which has no variance.
    """
    if len(differences) < 2:
        return None
    squares = len(differences) * sum(difference**2 for difference in differences)
    spread = 1 - sum(differences) ** 2 / squares if squares else Fraction(1)
    return incomplete_beta(float(spread), (len(differences) - 1) / 2, 0.5)


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function, by its continued fraction.

    NIST Digital Library of Mathematical Functions, 8.17.22; if that converges slowly, by the
    one for 1 - x.
    """
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    if not x:
        return 0.0
    fraction = 1.0
    for m in range(100, 0, -1):
        fraction = 1 + m * (b - m) * x / (a + 2 * m - 1) / (a + 2 * m) / fraction
        odd = (a + m - 1) * (a + b + m - 1) * x / (a + 2 * m - 2) / (a + 2 * m - 1)
        fraction = 1 - odd / fraction
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(scale + a * math.log(x) + b * math.log1p(-x)) / a / fraction
