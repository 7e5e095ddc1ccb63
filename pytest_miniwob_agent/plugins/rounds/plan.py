"""What a gate of pairs takes to find a loss: the table of `--miniwob-plan`."""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from pytest_miniwob_agent.core.errors import MiniwobError, UsageError
from pytest_miniwob_agent.core.text import counted, percent, text_table, wrap
from pytest_miniwob_agent.models.budget import Price, money, usage_cost
from pytest_miniwob_agent.plugin.reading import read_settings
from pytest_miniwob_agent.plugin.results import load_baseline
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.gate import MARGIN, PAIRED, Gate
from pytest_miniwob_agent.results.rounds import LEAST_ITEMS, ROUNDS, Look
from pytest_miniwob_agent.results.statistics import NORMAL, Change, flip_rate

LOSSES = 0.05, 0.1, 0.2
POWER = 0.8
RUNS = 400
"""The number of runs that are drawn of the gate until-decided."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of pairs of items, if a change loses a share `loss` of all items.

    `flips` are those of a change that does nothing, `rate` is that of solved items before. The
    change is taken to lower all chances of items by the same factor.
    """

    rate: float
    flips: float
    loss: float

    @property
    def changed(self) -> float:
        """The share of items that are lost or gained."""
        return min(1.0, max(self.loss, self.flips + self.loss * (1 - self.flips / self.rate)))

    def items(self, level: float) -> int:
        """The number of items of which McNemar's test finds the loss with the chance `POWER`.

        R. J. Connor, Biometrics 43 (1987), 207-211.
        """
        z, found = NORMAL.inv_cdf(1 - level / 2), NORMAL.inv_cdf(POWER)
        spread = math.sqrt(self.changed - self.loss**2)
        return math.ceil(((z * math.sqrt(self.changed) + found * spread) / self.loss) ** 2)

    def until_decided(self, items: int, alpha: float) -> tuple[float, float]:
        """The mean number of items until the gate decides, of so many at most, in drawn runs.

        And the share of these runs that find the loss.
        """
        draw, total, red = random.Random(0), 0, 0
        weights = (self.changed + self.loss) / 2, (self.changed - self.loss) / 2, 1 - self.changed
        count = number_of_rounds(items)
        ends = [math.ceil(items * number / count) for number in range(1, count + 1)]
        shares = tuple(end / items for end in ends)
        bounds = [
            NORMAL.inv_cdf(1 - Look(shares, number).level(alpha) / 2)
            for number in range(1, count + 1)
        ]
        for _ in range(RUNS):
            moves = draw.choices((-1, 1, 0), weights, k=items)
            for end, bound in zip(ends, bounds, strict=True):
                lost, gained = moves[:end].count(-1), moves[:end].count(1)
                found = Change((gained - lost) / end, (gained + lost) / end, end)
                fell = found.statistic() <= -bound
                if fell or found.statistic(-float(MARGIN)) >= bound:
                    break
            total, red = total + end, red + fell
        return total / RUNS, red / RUNS


def number_of_rounds(items: int) -> int:
    return max(1, min(ROUNDS, items // LEAST_ITEMS))


def show_plan(config: pytest.Config) -> int:
    """Print the plan of a run's gate and baseline; the exit status.

    Raises:
        pytest.UsageError: there is no baseline, or the gate is none of pairs.
    """
    try:
        settings = read_settings(config)
        gate = Gate.parse(settings.gate)
        if gate.kind not in PAIRED:
            raise UsageError(
                f"--miniwob-plan is for the gates {' and '.join(PAIRED)}, not {gate}: name one "
                f"with --miniwob-gate={PAIRED[1]}"
            )
        baseline = load_baseline(settings, asked_for=True)
        if isinstance(baseline, str) or baseline is None or baseline.first is not None:
            why = f" ({baseline})" if isinstance(baseline, str) else ""
            raise UsageError(
                "--miniwob-plan needs the results of an earlier run, for instance of a few items: "
                f"name them with --miniwob-baseline=FILE{why}"
            )
        lines = plan_lines(baseline.results, gate, settings.find_price)
    except MiniwobError as error:
        raise pytest.UsageError(str(error)) from None
    for line in lines:
        print(line)
    return 0


def plan_lines(
    baseline: Results, gate: Gate, find_price: Callable[[str | None], Price | None]
) -> list[str]:
    """Return the plan for a baseline, a table of 80 columns below what it is made of.

    Raises:
        UsageError: the baseline has no item that is solved or none that is not.
    """
    width = min(80, shutil.get_terminal_size().columns)
    results = [result for result in baseline.results if result.conclusive]
    rate = sum(result.solved for result in results) / max(1, len(results))
    if not rate:
        raise UsageError(f"{baseline.source} has no solved item, so that none can be lost")
    samples = [each for each in baseline.items.values() if each.conclusive > 1]
    if samples:
        flips = sum(flip_rate(each.conclusive, each.solved) for each in samples) / len(samples)
        source = f"two samples of an item differ in {percent(flips)} % of {len(samples)} items"
    else:
        flips = 2 * rate * (1 - rate)
        source = (
            f"without repeats, two runs are taken to differ in {percent(flips)} % of the items, as "
            "if all were alike: the most there can be"
        )
    costs = [usage_cost(result.usage, find_price(result.model)) for result in results]
    known = [cost for cost in costs if cost is not None]
    each = math.fsum(known) / len(known) if len(known) == len(costs) else None
    rows = [["a loss of", "items", "money", "at most", "on average", "money", "found"]]
    for loss in LOSSES:
        expected = Expected(rate, flips, loss)
        fixed = expected.items(gate.alpha)
        rounds = number_of_rounds(fixed)
        last = Look(tuple(n / rounds for n in range(1, rounds + 1)), rounds)
        most = expected.items(last.level(gate.alpha))
        mean, found = expected.until_decided(most, gate.alpha)
        fixed_cost, cost = (money(each and each * number) for number in (fixed, mean))
        figures = f"{fixed:,}", fixed_cost, f"{most:,}", f"{mean:,.0f}", cost, f"{found:.0%}"
        rows.append([f"{100 * loss:g} points", *figures])
    table = text_table(rows, width)
    end = table[0].index("money") + len("money")
    heading = f"{'paired':>{end}}{'until-decided':>{len(table[0]) - end}}"
    note = (
        f"{baseline.source}: {counted(len(baseline.items), 'item')}, {percent(rate)} % solved; "
        f"{source}. With so many items paired finds the loss in 80 % of the runs, at an ALPHA of "
        f"{gate.alpha:g}; until-decided in as many as drawn runs show, as it may rule out a loss "
        f"of {float(100 * MARGIN):g} points first. The money is that of one set-up: a gate that "
        "compares two set-ups of one run records both."
    )
    by_task = "By task it takes more, as far as the items of a task change together."
    return [
        *wrap(note, width),
        "",
        heading,
        *table,
        *(wrap(by_task, width) if gate.by_task else []),
    ]
