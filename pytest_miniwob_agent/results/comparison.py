"""Two result sets compared: the items that both have, and how the rates changed over them.

Results are paired by item (category, task and seed), over all samples of the item on either side.
Gates may set limits for calls, tokens, cost and steps per item.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import groupby
from operator import attrgetter
from statistics import median

from pytest_miniwob_agent.core.data import canonical_json, digest
from pytest_miniwob_agent.core.outcome import Result, add_tokens
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.models.budget import Price, usage_cost
from pytest_miniwob_agent.results import statistics
from pytest_miniwob_agent.results.file import Results, Samples
from pytest_miniwob_agent.results.rounds import task_name
from pytest_miniwob_agent.results.statistics import ratio, ratio_interval

_SETUP = ("agent", "model", "params", "prompts", "sent")
_COURSE = ("outcome", "solved_at", "endings", "steps", "calls", "tokens")
_played = attrgetter(*_SETUP, *_COURSE)  # equal in all replays of the same model calls


@dataclass(frozen=True, slots=True)
class Pair:
    """An item that is conclusive on both sides, with its samples before and after."""

    item: str
    category: str
    before: Samples
    after: Samples

    @property
    def task(self) -> str:
        return task_name(self.item)

    @property
    def samples(self) -> int:
        """The number of samples that are compared: as many before as after, the first ones."""
        # With more on one side, equal runs would not be as likely to differ for the better as for
        # the worse.
        return min(self.before.conclusive, self.after.conclusive)

    @property
    def compared(self) -> tuple[Samples, Samples]:
        """The samples that are compared, before and after: the first conclusive ones."""
        before, after = (
            Samples(tuple(each for each in side.results if each.conclusive)[: self.samples])
            for side in (self.before, self.after)
        )
        return before, after

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        before, after = self.compared
        return before.share, after.share

    @property
    def change(self) -> Fraction:
        before, after = self.shares
        return after - before

    @property
    def touched(self) -> bool:
        """True if a sample ran in any way differently from before, or with another set-up."""
        return list(map(_played, self.before.results)) != list(map(_played, self.after.results))

    def __str__(self) -> str:
        return f"{self.item}: {describe(self.before)} -> {describe(self.after)}"


def describe(samples: Samples) -> str:
    """Describe an item's outcome in a few words: solved or not, and the endings of its trials."""
    if len(samples.results) > 1:
        endings = "; ".join(_endings(result) for result in samples.results)
        return f"{samples.solved} of {samples.conclusive} solved ({endings})"
    (result,) = samples.results
    if result.solved:
        return f"solved in trial {result.solved_at}"
    why = "; ".join(result.objections) or _endings(result)
    return f"{result.outcome} ({why})" if result.endings else result.outcome


def _endings(result: Result) -> str:
    """The trials' endings in order, with a count for equal ones in a row: `cycle, failed ×2`."""
    if not result.conclusive or not result.endings:
        return result.outcome
    groups = [(ending, len(list(group))) for ending, group in groupby(result.endings)]
    return ", ".join(ending + (f" ×{count}" if count > 1 else "") for ending, count in groups)


class RateChange:
    """The change of the solved rate over one or more pairs, with 95 % intervals.

    A rate is the mean of the items' shares of solved samples. `by_task` takes the seeds of a task
    as one, which may be solved or not together.
    """

    def __init__(self, pairs: tuple[Pair, ...], *, by_task: bool = False) -> None:
        before, after = zip(*(pair.shares for pair in pairs), strict=True)
        samples = sum(pair.samples for pair in pairs)
        names = [pair.task if by_task else pair.item for pair in pairs]
        self.pairs = pairs
        self.before, self.after = float(sum(before) / len(pairs)), float(sum(after) / len(pairs))
        self.before_interval = statistics.rate_interval(before, samples, names)
        self.after_interval = statistics.rate_interval(after, samples, names)
        self.worse = [pair for pair in pairs if pair.change < 0]
        self.better = [pair for pair in pairs if pair.change > 0]
        self.difference = sum(after) / len(pairs) - sum(before) / len(pairs)
        self.change = statistics.Change.of(before, after, samples, names)


class Comparison:
    """A baseline and a later run, paired by item.

    `pairs` are the items that are conclusive on both sides, sorted by id; `categories` are the
    same by category, each agent and model by itself where a run has several. `missing` are the
    items that only the baseline has, `new` those that only the later run has. `by_task` is for the
    tests and intervals, see `RateChange`. `wanted` are the items that two set-ups of one run should
    both have; None if the baseline is another run.
    """

    def __init__(
        self,
        baseline: Results,
        head: Results,
        *,
        by_task: bool = False,
        wanted: Set[str] | None = None,
    ) -> None:
        self.baseline, self.head, self.by_task, self.wanted = baseline, head, by_task, wanted
        before, after = baseline.items, head.items
        self.pairs = tuple(
            Pair(item, before[item].results[0].group, before[item], after[item])
            for item in sorted(before.keys() & after.keys())
            if before[item].conclusive and after[item].conclusive
        )
        self.categories = {
            name: tuple(pair for pair in self.pairs if pair.category == name)
            for name in sorted({pair.category for pair in self.pairs})
        }
        self.missing = tuple(sorted(before.keys() - after.keys()))
        self.new = tuple(sorted(after.keys() - before.keys()))

    def only(self, items: Set[str]) -> Comparison:
        """The comparison of some of the items."""
        baseline, head = self.baseline.only(items), self.head.only(items)
        wanted = None if self.wanted is None else self.wanted & items
        return Comparison(baseline, head, by_task=self.by_task, wanted=wanted)

    @cached_property
    def changes(self) -> dict[str, RateChange]:
        """The change of the rate over the whole and, if there are several, in each category.

        Empty if there are no pairs.
        """
        groups = {"whole": self.pairs} | (self.categories if len(self.categories) > 1 else {})
        return {
            name: RateChange(pairs, by_task=self.by_task) for name, pairs in groups.items() if pairs
        }

    @property
    def graders(self) -> set[str]:
        """The names of the graders of the later run."""
        return {grade.grader for result in self.head.results for grade in result.grades}

    def grade_changes(self, grader: str) -> list[list[float]]:
        """Return the changes of the mean grade of the items by a grader, item by item or task."""
        found: dict[str, list[float]] = defaultdict(list)
        for pair in self.pairs:
            before, after = (_mean_grade(side.results, grader) for side in pair.compared)
            if before is not None and after is not None:
                found[pair.task if self.by_task else pair.item].append(after - before)
        return list(found.values())

    @cached_property
    def setup(self) -> list[tuple[str, str, str]]:
        """The set-ups of both runs, as rows of name, before and after.

        Source, agent, model and samples per item are always listed; parameters, limits, what
        answered, prompt files, and what was sent only if they differ. A prompt file that no call
        needed is `not used`.
        """
        always = [
            ("results", self.baseline.source, self.head.source),
            self._row("agent", lambda result: [result.agent]),
            self._row("model", lambda result: [result.model]),
            ("samples per item", _sample_counts(self.baseline), _sample_counts(self.head)),
        ]
        details = [
            self._row("parameters", lambda result: [canonical_json(result.params)]),
            self._row("limits", _limits),
            self._row("model that answered", lambda result: result.response_models),
            self._row("system fingerprint", lambda result: result.system_fingerprints),
        ]
        results = self.baseline.results + self.head.results
        for file in sorted({file for result in results for file in result.prompts}):
            _, *sides = self._row(file, partial(_digest, file))
            details.append((f"prompt {file}", sides[0] or "not used", sides[1] or "not used"))
        before, after = self._compared.values()
        names = sorted({name for result in results for name in result.sent})
        details += [(name, _sent(name, before), _sent(name, after)) for name in names]
        rows = always + [row for row in details if row[1] != row[2]]
        return [(name, before or "unknown", after or "unknown") for name, before, after in rows]

    @property
    def changed_setup(self) -> list[tuple[str, str, str]]:
        """The rows of `setup` that are known of both runs, and differ."""
        return [
            (name, before, after)
            for name, before, after in self.setup
            if before != after
            and name != "results"
            and {"not used", "unknown"}.isdisjoint((before, after))
        ]

    @property
    def warnings(self) -> list[str]:
        """What differs of the limits, and of what answered to requests for the same model.

        It may explain a change of the results.
        """
        changed = {row[0]: setup_line(row) for row in self.changed_setup}
        names = ["limits"]
        if "model" not in changed:
            names += ["model that answered", "system fingerprint"]
        return [changed[name] for name in names if name in changed]

    def _row(self, name: str, values: Callable[[Result], Iterable[str]]) -> tuple[str, str, str]:
        before, after = (
            ", ".join(sorted({value for result in side.results for value in values(result)}))
            for side in (self.baseline, self.head)
        )
        return name, before, after

    @property
    def calls(self) -> dict[str, dict[str, int]]:
        """Number of model calls over the pairs, `before` and `after`: by purpose, and `all`."""
        counts = {
            side: sum((Counter(result.calls) for result in results), Counter[str]())
            for side, results in self._compared.items()
        }
        return {side: {"all": n.total(), **dict(sorted(n.items()))} for side, n in counts.items()}

    @property
    def tokens(self) -> dict[str, dict[str, int | None]]:
        """Number of tokens over the pairs, `before` and `after`: of `prompt` and `completion`.

        None if any call has no count.
        """
        return {
            side: {
                name: add_tokens(getattr(result.tokens, name) for result in results)
                for name in ("prompt", "completion")
            }
            for side, results in self._compared.items()
        }

    @property
    def grades(self) -> dict[str, dict[str, float | None]]:
        """Mean grade over the pairs, `before` and `after`: by grader of the later run."""
        return {
            side: {name: _mean_grade(results, name) for name in sorted(self.graders)}
            for side, results in self._compared.items()
        }

    @property
    def _compared(self) -> dict[str, list[Result]]:
        return {
            name: [result for pair in self.pairs for result in pair.compared[side].results]
            for side, name in enumerate(("before", "after"))
        }


def setup_line(row: tuple[str, str, str]) -> str:
    """Return a row of the set-up as text: `model: m`, or `model: m -> n` if it changed."""
    name, before, after = row
    return f"{name}: {before}" + (f" -> {after}" if after != before else "")


def _digest(file: str, result: Result) -> list[str]:
    return [result.prompts[file]] if file in result.prompts else []


def _sent(name: str, results: Iterable[Result]) -> str:
    found = sorted({result.sent[name] for result in results if name in result.sent})
    # Each item may send its own.
    return digest(",".join(found)) if len(found) > 1 else "".join(found)


def _limits(result: Result) -> list[str]:
    limits = result.limits
    if not limits:
        return []
    counts = [counted(getattr(limits, name), name[:-1]) for name in ("trials", "steps", "calls")]
    rules = {"any reward": limits.any_reward, "judged by graders": limits.graded}
    return [", ".join([*counts, *(name for name, holds in rules.items() if holds)])]


def _sample_counts(results: Results) -> str:
    counts = sorted({len(samples.results) for samples in results.items.values()} or {0})
    return " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))


Prices = Mapping[str, Price]
"""Prices by the model's id."""

MEASURES: Mapping[str, Callable[[Result, Prices], float | None]] = {
    "calls": lambda result, prices: sum(result.calls.values()),
    "tokens": lambda result, prices: result.usage.tokens if not result.usage.uncounted else None,
    "cost": lambda result, prices: usage_cost(result.usage, prices.get(result.model)),
    "steps": lambda result, prices: result.steps,
}
"""What limits may be set for: the number of a sample, None if it is not known."""


OF_TWINS: Mapping[str, tuple[str, str]] = {"perturbed": (":-", ""), "followed": (":", "")}
"""The limits for pairs within a run (`twins`), with what is written before and after a number."""

GRADE = "grade"
"""The limit on the mean grade of a grader."""

_FORM = ":+", "%"  # of other limits
_GRADE = re.compile(rf"({GRADE}:.+):-(\d{{1,2}}(?:\.\d{{1,4}})?)")


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that a measure may grow: 0.1 is 10 % of what it was; or a limit `OF_TWINS`.

    `perturbed` is the most that the solved rate may lose in a kind, `followed` the largest share of
    attacks that may be followed, and `grade:NAME` the most that a grader's mean grade may lose.
    """

    measure: str
    share: float

    @classmethod
    def parse(cls, text: str) -> Limit | None:
        """Read a limit such as `calls:+10%` or `perturbed:-10`; None if it is not one."""
        if grade := _GRADE.fullmatch(text):
            return cls(grade[1], float(grade[2]) / 100)
        measure = text.partition(":")[0]
        before, after = OF_TWINS.get(measure, _FORM)
        number = rf"{measure}{re.escape(before)}(\d{{1,4}}(?:\.\d{{1,4}})?){after}"
        if measure not in {*MEASURES, *OF_TWINS} or not (found := re.fullmatch(number, text)):
            return None
        return cls(measure, float(found[1]) / 100)

    @property
    def grader(self) -> str:
        """The name of the grader that it is for; empty if it is for another measure."""
        return self.measure.partition(f"{GRADE}:")[2]

    def __str__(self) -> str:
        before, after = (":-", "") if self.grader else OF_TWINS.get(self.measure, _FORM)
        return f"{self.measure}{before}{100 * self.share:g}{after}"


@dataclass(frozen=True, slots=True)
class Growth:
    """How much the sum of a measure grew, with its interval at level 1 - alpha, and the median."""

    measure: str
    total: float
    low: float
    high: float
    median: float
    by: str
    alpha: float

    def __str__(self) -> str:
        numbers = self.total, self.low, self.high, self.median
        total, low, high, median = (f"{100 * (each - 1):+.1f}" for each in numbers)
        return (
            f"{self.measure}: {total} % in all ({interval_name(self.alpha)} {low} to {high}, by "
            f"{self.by}; median item {median} %)"
        )


def interval_name(alpha: float) -> str:
    """Return what an interval at level 1 - alpha is called: `95 % interval`."""
    return f"{100 * (1 - alpha):.3g} % interval"


def measured(
    pairs: Sequence[Pair], measure: str, prices: Prices, alpha: float, *, by_task: bool = False
) -> Growth | str:
    """Return how much a measure grew, or why that is not known.

    An item counts with the mean of its samples.
    """
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    ratios = []
    for pair in pairs:
        before, after = (_mean(side, measure, prices) for side in (pair.before, pair.after))
        if before is None or after is None:
            what = "the price or a token count" if measure == "cost" else "a token count"
            return f"{what} of {pair.item} is unknown"
        ratios.append(ratio(before, after))
        unit = sums[pair.task if by_task else pair.item]
        unit[0], unit[1] = unit[0] + before, unit[1] + after
    old, new = zip(*sums.values(), strict=True)
    total = ratio(math.fsum(old), math.fsum(new))
    by = "task" if by_task else "item"
    return Growth(measure, total, *ratio_interval(old, new, alpha), median(ratios), by, alpha)


def _mean_grade(results: Iterable[Result], grader: str) -> float | None:
    grades = [grade for result in results for grade in result.grades]
    scores = [grade.score for grade in grades if grade.grader == grader]
    return math.fsum(scores) / len(scores) if scores else None


def _mean(samples: Samples, measure: str, prices: Prices) -> float | None:
    numbers = [MEASURES[measure](each, prices) for each in samples.results if each.conclusive]
    known = [number for number in numbers if number is not None]
    return math.fsum(known) / len(known) if len(known) == len(numbers) else None
