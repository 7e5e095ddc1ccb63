"""What else the three papers show, in tables and figures, with a run's values.

Figures whose numbers the papers do not print have the run's values alone, in the figure's form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from pytest_miniwob_agent.core.text import percent
from pytest_miniwob_agent.plugins.papers.tables import (
    PAPER,
    RCI,
    RCI_GPT_4,
    TRIALS,
    Paper,
    Table,
    captioned,
    mean,
    published,
    rate_within,
    system_name,
)
from pytest_miniwob_agent.results.file import Samples
from pytest_miniwob_agent.results.statistics import Change, p_changed, power

Rows = list[dict[str, Any]]
Run = dict[tuple[str, int], Samples]
"""The items of a run by task and seed."""

SOTA = {"SL": "SotA (SL)", "RL": "SotA (RL)", "both": "SotA (SL+RL)"}
"""The best rates of RCI's figure 10: of systems that were trained in these ways."""

MEMORIES = {
    "reflective": "both",
    "reflective-plain-memory": "w/o structured mem",
    "reflective-unconstrained-memory": "w/o action constraint",
    "reflective-none-memory": "no memory",
    "reflective-retry-memory": "random retry",
    "reflective-retry-then-plan-memory": "retry, plan",
}
"""The variants of the reflective agent's figure 7, with its names, and three controls."""

KINDS = {
    "wrong_answers": {"Y": "mean, wrong answers", "N": "mean, no wrong answers"},
    "target_hidden": {"Y": "mean, target hidden", "N": "mean, target in sight"},
}
"""The kinds of tasks in WebWISE's table 4."""


def run_tables(paper: Paper) -> list[Table]:
    makers = {
        "paper": (_by_trials, _capacity),
        "rci": (_demonstrations, _residuals),
        "webwise": (_methods, _beside_rci),
    }
    further = [make(paper) for make in makers[paper.suite]]
    return [*paper.tables, *(table for table in further if table.rows)]


def variant_tables(papers: Sequence[Paper]) -> list[Table]:
    """Return the tables that compare variants of an agent."""
    makers = (_ablations, _memories, _memories_by_trials, _memory_tests, _messages)
    return [table for make in makers if (table := make(papers)).rows]


def _completion_by_task(paper: Paper) -> dict[str, dict[str, Any]]:
    return {row["task"]: row for rows in paper.completion.values() for row in rows}


def _cell(text: str) -> float | str | None:
    return float(text) if text[:1].isdigit() else text or None


def _means(name: str, rows: Rows) -> Rows:
    """A row of the means of the numbers in rows, to whole percents; empty without rows."""
    numbers = {
        column: [row[column] for row in rows if isinstance(row[column], float)]
        for column in (rows[0] if rows else ())
    }
    means = {column: round(mean(found), 2) for column, found in numbers.items() if found}
    return [{"task": name} | means] if means else []


def _by_trials(paper: Paper) -> Table:
    rows: Rows = []
    for category in sorted(paper.items):
        for trials in range(1, max(paper.trials) + 1):
            items = paper.items[category].values()
            run = mean([float(rate_within(of_task, trials)) for of_task in items])
            tasks, name = paper.completion[category], f"{PAPER} T={trials}"
            # A mean of fewer tasks would not be of the same as the run's.
            printed = mean([t[name] for t in tasks]) if all(name in t for t in tasks) else None
            rows.append({"completion": f"{category}, T={trials}", "run": run, "paper": printed})
    bars = {"run": "this run", "paper": "the paper's agent"}
    return captioned("completion_by_trials", rows, bars)


def _capacity(paper: Paper) -> Table:
    tasks = paper.items.get("1-screen-n-step", {})
    probes = [*tasks.get("click-checkboxes", []), *tasks.get("click-checkboxes-large", [])]
    firsts = [one.results[0] for one in probes]
    actions = [first.steps / max(1, len(first.endings)) for first in firsts]
    rows: Rows = []
    for given in published("capacity.csv") if probes else ():
        least, below = int(given["from"]), int(given["below"] or 10**9)
        items = [one for one, n in zip(probes, actions, strict=True) if least <= n < below]
        items = items if given["counted"] == "gold actions" else []  # candidates are not known
        number = f"{least} or more" if least else f"under {below}"
        row: dict[str, Any] = {"task": f"{given['task']}, {number} {given['counted']}"}
        row |= {"run": float(rate_within(items, 1)) if items else None, "of": len(items) or None}
        rows.append(
            row | {"paper": _cell(given["completion_rate"]), "its items": given["examples"]}
        )
    return captioned("planning_capacity", rows)


def _memories(papers: Sequence[Paper]) -> Table:
    runs = _runs_by_memory(papers, 3)
    rows: Rows = []
    for task, items in _shared_items(runs).items():
        rates = {name: float(_rate(run, items, 3)) for name, run in runs.items()}
        rows.append({"task": task, "items": len(items)} | rates)
    rows += _means("mean", rows)
    return captioned("memories", rows, {name: name for name in runs})


def _memories_by_trials(papers: Sequence[Paper]) -> Table:
    runs = _runs_by_memory(papers, *TRIALS)
    groups = _shared_items(runs)
    if groups:
        groups["all"] = [item for items in groups.values() for item in items]
    rows: Rows = []
    for task, items in groups.items():
        row: dict[str, Any] = {"task": task, "items": len(items)}
        for name, run in runs.items():
            row[name] = ", ".join(percent(float(_rate(run, items, trials))) for trials in TRIALS)
        rows.append(row)
    return captioned("memories_by_trials", rows, {name: name for name in runs})


def _memory_tests(papers: Sequence[Paper]) -> Table:
    runs = _runs_by_memory(papers, *TRIALS)
    whole = runs.pop("both", {})
    rows: Rows = []
    for name, run in runs.items():
        items = sorted(whole.keys() & run.keys())
        tasks = [task for task, _ in items]
        for trials in TRIALS if items else ():
            its = [rate_within([run[item]], trials) for item in items]
            both = [rate_within([whole[item]], trials) for item in items]
            change = Change.of(both, its, len(items), list(map(str, items)))
            low, high = change.interval()
            gains = [after - before for before, after in zip(both, its, strict=True)]
            rows.append(
                {
                    "memory": name,
                    "T": str(trials),
                    "items": len(items),
                    "both": mean(list(map(float, both))),
                    "it": mean(list(map(float, its))),
                    "low": low,
                    "high": high,
                    "exact": p_changed(gains),
                    "by page": Change.of(both, its, len(items), tasks).p_changed,
                    "power": power(len(items), 0.1, change.flips),
                }
            )
    return captioned("memory_tests", rows)


def _runs_by_memory(papers: Sequence[Paper], *trials: int) -> dict[str, Run]:
    return {
        MEMORIES[paper.agent]: {
            (task, one.results[0].seed): one
            for tasks in paper.items.values()
            for task, items in tasks.items()
            for one in items
        }
        for paper in papers
        if paper.agent in MEMORIES and set(trials) <= set(paper.trials)
    }


def _shared_items(runs: Mapping[str, Run]) -> dict[str, list[tuple[str, int]]]:
    """The items that all runs have, by task; empty if there is one run alone."""
    shared = set.intersection(*map(set, runs.values())) if len(runs) > 1 else set()
    found: dict[str, list[tuple[str, int]]] = {}
    for item in sorted(shared):
        found.setdefault(item[0], []).append(item)
    return found


def _rate(run: Run, items: Sequence[tuple[str, int]], trials: int) -> Fraction:
    return rate_within([run[item] for item in items], trials)


def _demonstrations(paper: Paper) -> Table:
    given = {system_name(row): row for row in published("demonstrations.csv")}
    shared = [row for row in _completion_by_task(paper).values() if row.keys() >= given.keys()]
    number = None if "few-shot" in paper.agent else 0
    if not shared:
        return captioned("rci_demonstrations", [])
    rate = mean([row["T=1"] for row in shared])
    rows: Rows = [{"system": "this run", "all": number, "per task": number, "rate": rate}]
    for name, row in given.items():
        cells = {"system": name, "all": row["demonstrations"], "per task": row["per_task"]}
        rows.append(cells | {"rate": mean([task[name] for task in shared])})
    return captioned("rci_demonstrations", rows)


def _residuals(paper: Paper) -> Table:
    rows: Rows = []
    for task, row in _completion_by_task(paper).items():
        if row.keys() >= {RCI_GPT_4, *SOTA.values()}:
            differences: dict[str, Any] = {"task": task}
            for kind, best in SOTA.items():
                for system, rate in (("run", row["T=1"]), ("RCI", row[RCI_GPT_4])):
                    differences[f"{system}-{kind}"] = round(rate - row[best], 4)
            rows.append(differences)
    rows.sort(key=lambda row: float(row["RCI-both"]))
    bars = {"run-both": "this run - SotA (SL+RL)", "RCI-both": "RCI - SotA (SL+RL)"}
    return captioned("rci_residuals", rows, bars)


def _ablations(papers: Sequence[Paper]) -> Table:
    given = published("ablation.csv")
    names = dict.fromkeys(row["group"] for row in given)
    groups = {name: {row["task"] for row in given if row["group"] == name} for name in names}
    printed = {4: given, 18: [row for row in published("results.csv") if system_name(row) == RCI]}
    systems: list[tuple[str, dict[str, float]]] = [
        (
            f"{paper.agent} with {paper.model}",
            {t: row["T=1"] for t, row in _completion_by_task(paper).items()},
        )
        for paper in papers
        if paper.suite == "rci"
    ]
    for number, found in printed.items():
        rates = {row["task"]: float(row["completion_rate"]) for row in found}
        systems.append((f"RCI few-shot, table {number}", rates))
    rows: Rows = []
    for name, rates in systems:
        # A mean of fewer tasks would not be that of the group.
        whole = {group: tasks for group, tasks in groups.items() if rates.keys() >= tasks}
        means = {group: mean([rates[t] for t in sorted(tasks)]) for group, tasks in whole.items()}
        rows += [{"agent": name} | means] if means else []
    rows = rows if len(rows) > len(printed) else []
    return captioned("rci_ablations", rows, {group: group for group in groups})


def _methods(paper: Paper) -> Table:
    rates = _completion_by_task(paper)
    short = {row["system"]: row["method"] for row in published("settings.csv") if row["method"]}
    rows: Rows = [
        {"task": row["task"], "run": rates[row["task"]]["T=1"]}
        | {kind: row[kind] for kind in KINDS}
        | {name: _cell(row[name]) for name in short}
        for row in published("webwise.csv")
        if row["task"] in rates
    ]
    means: Rows = []
    for kind, answers in KINDS.items():
        for letter, name in answers.items():
            means += _means(name, [row for row in rows if row[kind] == letter])
    shown = {"task": "task", "run": "run", **short}
    bars = {"run": "this run"} | ({paper.setting: paper.setting} if paper.setting else {})
    setting = f"The run is {short[paper.setting]}." if paper.setting else paper.compared
    return captioned("webwise_methods", rows + means, bars, shown, setting=setting)


def _beside_rci(paper: Paper) -> Table:
    rates, rows = _completion_by_task(paper), []
    for given in published("webwise.csv"):
        if given["rci_result"] and (run := rates.get(given["task"])):
            gain = run["T=1"] - run[RCI]
            row = {"task": given["task"], "run": run["T=1"]}
            row |= {"k=1": run["WebWISE (gpt-3.5-turbo) k=1"], "RCI": run[RCI]}
            row |= {"RCI's k": given["rci_examples"], "paper's": given["rci_result"]}
            rows.append(row | {"run's": "win" if gain > 0 else "lost" if gain else "draw"})
    return captioned("webwise_rci", rows + _means("mean", rows))


def _messages(papers: Sequence[Paper]) -> Table:
    runs = {
        paper.agent: mean([row["T=1"] for row in _completion_by_task(paper).values()])
        for paper in papers
        if "-task-message-" in paper.agent
    }
    rows: Rows = []
    for given in published("messages.csv") if runs else ():
        agent = f"webwise-task-message-{given['message']}"
        row = {
            "message": given["message"],
            "k=0": runs.get(agent),
            "k=1": runs.get(f"{agent}-1-shot"),
        }
        rows.append(row | {f"paper {k}": float(given[k]) for k in ("k=0", "k=1")})
    return captioned("webwise_messages", rows)
