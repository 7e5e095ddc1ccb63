"""How often the gates decide which way, by simulation: the tables of docs/statistics.md.

    python benchmarks/gate_power.py [--changes 1000] [TABLE ...]

An item is solved with a chance of its own. Baseline and changed run are drawn from the chances
independently, so that a change that does nothing flips items all the same: 5 % of them in a calm
suite, 17 % in a restless one, 50 % in a hard one. In calm and restless suites the chances are drawn
from a beta distribution with mean 0.85; most items are solved almost always or almost never. In a
hard suite every chance is 0.5. A change that costs d points lowers all chances by the same share.

Tables: `paired` (red and passing verdicts of the gate `paired`), `others` (red verdicts of the
other gates), `samples` (intervals and p-values where both sides have different numbers of samples)
and `baselines` (false alarms by the rule that makes a run the next baseline).

The verdicts are those of `results.gate.judge`, from results as a run writes them.
Seeds are fixed: every run of this script prints the same figures.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.results.comparison import Change, Comparison
from pytest_miniwob_agent.results.file import Result, Results
from pytest_miniwob_agent.results.gate import Gate, Verdict, judge

DROPS = (0, 5, 10, 20)
"""Points that a change costs. Of those that cost something there are a quarter as many."""
SIZES = (10, 25, 100, 325)
CATEGORIES = (3, 10)
SAMPLES = ((1, 1), (3, 3), (3, 1), (1, 3), (5, 1), (1, 5))
"""Samples an item before and after, for which intervals and p-values are looked at."""

SERIES = 10
"""Changes that do nothing, one after the other, that are judged by the baseline of a rule."""


@dataclass(frozen=True)
class Suite:
    """A suite of items, each of which is solved with a chance of its own.

    Args:
        rate: the mean of the chances.
        flips: the share of items that differ between two equal runs.
        samples: samples an item, on both sides.
    """

    rate: float
    flips: float
    samples: int = 1

    def chances(self, chance: random.Random, size: int) -> list[float]:
        """The chance of each item."""
        # Two samples of an item differ with the chance 2·E[p(1-p)] = 2·rate·(1-rate)·k / (k + 1).
        most = 2 * self.rate * (1 - self.rate)
        if self.flips >= most:
            return [self.rate] * size
        k = self.flips / (most - self.flips)
        return [chance.betavariate(self.rate * k, (1 - self.rate) * k) for _ in range(size)]


SUITES = {
    "calm": Suite(0.85, 0.05),
    "restless": Suite(0.85, 0.17),
    "hard": Suite(0.5, 0.5),
    "restless, 3 samples": Suite(0.85, 0.17, 3),
    "hard, 3 samples": Suite(0.5, 0.5, 3),
}
EVEN = Suite(0.95, 0.095)
"""A suite in which every item is solved 95 times of 100."""


@cache
def result(category: int, seed: int, repeat: int, solved: bool, prompt: str) -> Result:
    """One sample of an item, with the digest of the prompt that it ran with."""
    return Result(
        category=f"c{category}", task="t", seed=seed, repeat=repeat, agent="a", model="m",
        prompts={"plan.txt": prompt}, outcome=Status.SOLVED if solved else Status.UNSOLVED,
        solved_at=1 if solved else None,
    )  # fmt: skip


def run(
    chance: random.Random,
    chances: Sequence[float],
    samples: int,
    categories: int = 3,
    prompt: str = "before",
) -> Results:
    """One run over a suite whose items are solved with these chances.

    Of three categories the sizes are as those of the paper's 43 tasks, 10 : 20 : 13.
    """
    spread = range(categories) if categories != 3 else [0] * 10 + [1] * 20 + [2] * 13
    spread = random.Random(0).sample(spread, len(spread))
    return Results(
        tuple(
            result(spread[seed % len(spread)], seed, repeat, chance.random() < solvable, prompt)
            for seed, solvable in enumerate(chances)
            for repeat in range(1, samples + 1)
        )
    )


def verdicts(
    suite: Suite, size: int, categories: int, drop: int, changes: int, gates: Sequence[str]
) -> Iterator[list[Verdict]]:
    """The verdicts of the gates on changes that cost `drop` points each."""
    chance = random.Random(f"{suite} {size} {categories} {drop}")
    for _ in range(changes):
        chances = suite.chances(chance, size)
        before = run(chance, chances, suite.samples, categories)
        lowered = [each * max(0.0, 1 - drop / 100 / suite.rate) for each in chances]
        after = run(chance, lowered, suite.samples, categories, "after")
        yield [judge(before, after, Gate.parse(gate)) for gate in gates]


def paired_shares(
    suite: Suite, size: int, categories: int, drop: int, changes: int
) -> tuple[float, float]:
    """The shares of changes for which `paired` is red, and for which it passes."""
    found = [each for (each,) in verdicts(suite, size, categories, drop, changes, ["paired"])]
    return sum(v.failed for v in found) / changes, sum(v.passed for v in found) / changes


def no_change(
    suite: Suite, size: int, before: int, after: int, changes: int
) -> tuple[float, float]:
    """The share of 95 % intervals that hold zero, and that of p-values for the worse up to 0.05.

    Over changes that do nothing, with so many samples an item on both sides.
    """
    chance = random.Random(f"{suite} {size} {before} {after}")
    held = alarms = 0
    for _ in range(changes):
        chances = suite.chances(chance, size)
        found = Change(Comparison(run(chance, chances, before), run(chance, chances, after)).pairs)
        low, high = found.interval
        held += low <= 0 <= high
        alarms += found.p_worse <= 0.05
    return held / changes, alarms / changes


def _rate(results: Results) -> int:
    return sum(each.solved for each in results.results)


RULES: dict[str, Callable[[Results, Results, Verdict], bool]] = {
    "never": lambda baseline, head, verdict: False,
    "the run of each change that is kept, whatever it shows": lambda baseline, head, verdict: (
        not verdict.failed
    ),
    "each run that came out better": lambda baseline, head, verdict: _rate(head) > _rate(baseline),
}
"""Rules by which a run becomes the next baseline."""


def false_alarms(rule: str, suite: Suite, size: int, changes: int) -> tuple[float, float]:
    """Red verdicts on the second and on the last of `SERIES` changes that do nothing.

    The baseline of each is that which the rule has left.
    """
    chance = random.Random(f"{suite} {size}")
    red = [0] * SERIES
    for _ in range(changes):
        chances = suite.chances(chance, size)
        baseline = run(chance, chances, suite.samples)
        for number in range(SERIES):
            head = run(chance, chances, suite.samples, prompt="after")
            verdict = judge(baseline, head, Gate.parse("paired"))
            red[number] += verdict.failed
            if RULES[rule](baseline, head, verdict):
                baseline = head
    return red[0] / changes, red[-1] / changes


def _number(changes: int, drop: int) -> int:
    """The number of changes that are simulated of a drop."""
    return changes if not drop else -(-changes // 4)


def _percents(shares: Sequence[float]) -> str:
    return " / ".join(f"{100 * share:.1f}" for share in shares)


def paired_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `paired`."""
    yield "suite", "items", "categories", "red", "passed"
    for name, suite in SUITES.items():
        for size in SIZES:
            for categories in CATEGORIES:
                shares = [
                    paired_shares(suite, size, categories, drop, _number(changes, drop))
                    for drop in DROPS
                ]
                red, passed = zip(*shares, strict=True)
                yield name, size, categories, _percents(red), _percents(passed)


def other_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `others`."""
    gates = ("items", "rate:5", "rate:10")
    yield "suite", "items", *(f"`{gate}`" for gate in gates)
    for name, suite in SUITES.items():
        for size in SIZES:
            red = []
            for drop in DROPS:
                number = _number(changes, drop)
                found = verdicts(suite, size, 3, drop, number, gates)
                red.append(
                    [sum(v.failed for v in each) / number for each in zip(*found, strict=True)]
                )
            yield name, size, *map(_percents, zip(*red, strict=True))


def sample_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `samples`."""
    yield "suite", "items", "samples before", "after", "intervals that hold zero", "p up to 0.05"
    for name, suite in {"restless": SUITES["restless"], "95 % each": EVEN}.items():
        for size in SIZES[1:]:
            for before, after in SAMPLES:
                found = no_change(suite, size, before, after, changes)
                yield name, size, before, after, *(f"{100 * share:.1f}" for share in found)


def baseline_rows(changes: int) -> Iterator[Sequence[object]]:
    """Rows of the table `baselines`."""
    yield "next baseline", "suite", "items", "first change", f"change {SERIES}"
    for rule in RULES:
        for name in ("restless", "hard"):
            for size in (100, 325):
                found = false_alarms(rule, SUITES[name], size, changes)
                yield rule, name, size, *(f"{100 * share:.1f}" for share in found)


TABLES = {
    "paired": paired_rows,
    "others": other_rows,
    "samples": sample_rows,
    "baselines": baseline_rows,
}


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables as Markdown, in percent; cells with several figures are for `DROPS`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--changes", type=int, default=1000, metavar="N", help="default: 1000")
    parser.add_argument(
        "tables", nargs="*", metavar="TABLE", help=f"default: all of {', '.join(TABLES)}"
    )
    options = parser.parse_args(argv)
    for name in options.tables or TABLES:
        if name not in TABLES:
            parser.error(f"no table {name}; there are {', '.join(TABLES)}")
        print(f"table {name}", file=sys.stderr)
        for number, row in enumerate(TABLES[name](options.changes)):
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
            if not number:
                left = [":--" if cell in ("suite", "next baseline") else "--:" for cell in row]
                print("| " + " | ".join(left) + " |")
        print()


if __name__ == "__main__":
    main()
