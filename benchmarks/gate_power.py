"""How often each gate goes red: where a change does nothing, and where it costs 5, 10 or 20 points.
And whether intervals and p-values keep what they promise where it does nothing.

    python benchmarks/gate_power.py [--changes 1000]

An item is solved with a chance of its own, drawn from a beta distribution with mean 0.85; most
items are solved almost always or almost never. Baseline and changed run are drawn from the chances
independently, so that a change that does nothing flips items all the same: 5 % of them in a calm
suite, 17 % in a restless one. A change that costs d points lowers every chance by the share
d / 85; with one sample an item that is the same as breaking this share of the items for good. Items
are spread over three categories as the paper's 43 tasks are, 10 : 20 : 13.

The verdicts are those of `results.gate.judge`, from results as a run writes them.
Seeds are fixed: every run of this script prints the same figures.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence

from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.results.comparison import Change, Comparison
from pytest_miniwob_agent.results.file import Result, Results
from pytest_miniwob_agent.results.gate import Gate, judge
from pytest_miniwob_agent.tasks.catalogue import CATEGORIES

RATE = 0.85
GATES = ("items", "paired", "rate:5", "rate:10")
SIZES = (10, 25, 100, 325)
DROPS = (0, 5, 10, 20)
SUITES = {"calm": (0.05, 1), "restless": (0.17, 1), "restless, 3 samples": (0.17, 3)}
"""The share of items that differ between two equal runs, and samples an item."""
SAMPLES = ((1, 1), (3, 3), (3, 1), (1, 3), (5, 1))
"""Samples an item before and after, for which intervals and p-values are looked at."""


def suite(chance: random.Random, flips: float, size: int) -> list[float]:
    """The chance of each item, for a share of items that flip between two equal runs."""
    # Two samples of an item differ with the chance 2·E[p(1-p)] = 2·RATE·(1-RATE)·k / (k + 1).
    k = flips / (2 * RATE * (1 - RATE) - flips)
    return [chance.betavariate(RATE * k, (1 - RATE) * k) for _ in range(size)]


def run(chance: random.Random, chances: Sequence[float], repeats: int) -> Results:
    """One run over a suite whose items are solved with these chances."""
    spread = [name for name, tasks in CATEGORIES.items() for _ in tasks]
    random.Random(0).shuffle(spread)
    results = []
    for seed, solvable in enumerate(chances):
        for repeat in range(1, repeats + 1):
            solved = chance.random() < solvable
            results.append(
                Result(
                    category=spread[seed % len(spread)], task="t", seed=seed, repeat=repeat,
                    agent="a", model="m", outcome=Status.SOLVED if solved else Status.UNSOLVED,
                    solved_at=1 if solved else None,
                )
            )  # fmt: skip
    return Results(tuple(results))


def reds(flips: float, repeats: int, size: int, drop: int, changes: int) -> dict[str, float]:
    """The share of changes for which each gate goes red."""
    chance = random.Random(f"{flips} {repeats} {size} {drop}")
    counts = dict.fromkeys(GATES, 0)
    for _ in range(changes):
        chances = suite(chance, flips, size)
        before = run(chance, chances, repeats)
        after = run(chance, [each * (1 - drop / 100 / RATE) for each in chances], repeats)
        for gate in GATES:
            counts[gate] += not judge(before, after, Gate.parse(gate)).passed
    return {gate: count / changes for gate, count in counts.items()}


def no_change(size: int, before: int, after: int, changes: int) -> tuple[float, float]:
    """Of changes that do nothing in a restless suite, with so many samples an item on both sides:
    the share of intervals that hold zero, and of p-values for the worse up to 0.05."""
    chance = random.Random(f"{size} {before} {after}")
    held = alarms = 0
    for _ in range(changes):
        chances = suite(chance, 0.17, size)
        found = Change(Comparison(run(chance, chances, before), run(chance, chances, after)).pairs)
        low, high = found.interval
        held += low <= 0 <= high
        alarms += found.p_worse <= 0.05
    return held / changes, alarms / changes


def main() -> None:
    """Print percentages as Markdown: red verdicts for each drop of `DROPS`, then `no_change`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--changes", type=int, default=1000, metavar="N", help="default: 1000")
    changes = parser.parse_args().changes
    print("| suite | items |" + "".join(f" `{gate}` |" for gate in GATES))
    print("| :-- | --: |" + " --: |" * len(GATES))
    for name, (flips, repeats) in SUITES.items():
        for size in SIZES:
            shares = []
            for drop in DROPS:
                print(f"{name}, {size} items, {drop} points", file=sys.stderr)
                shares.append(reds(flips, repeats, size, drop, changes))
            cells = (" / ".join(f"{100 * share[gate]:.1f}" for share in shares) for gate in GATES)
            print(f"| {name} | {size} | {' | '.join(cells)} |", flush=True)
    print("\n| items | samples before | after | intervals that hold zero | p up to 0.05 |")
    print("| --: | --: | --: | --: | --: |")
    for size in SIZES[1:]:
        for before, after in SAMPLES:
            print(f"{size} items, {before} and {after} samples", file=sys.stderr)
            held, alarms = no_change(size, before, after, changes)
            print(f"| {size} | {before} | {after} | {100 * held:.1f} | {100 * alarms:.1f} |")


if __name__ == "__main__":
    main()
