"""Two result sets side by side: which items they share, and how the rates changed over them.

Results are paired by item (category, task and seed), over all samples of the item on either side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby

from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.results import statistics
from pytest_miniwob_agent.results.file import Result, Results, Samples


@dataclass(frozen=True, slots=True)
class Pair:
    """An item of which both sides could tell, with its samples before and after."""

    item: str
    category: str
    before: Samples
    after: Samples

    @property
    def change(self) -> Fraction:
        """The share of solved samples after, less that before."""
        return self.after.share - self.before.share

    def __str__(self) -> str:
        return f"{self.item}: {story(self.before)} -> {story(self.after)}"


def story(samples: Samples) -> str:
    """An item's outcome in a few words: solved or not, and how its trials ended."""
    if len(samples.results) > 1:
        told = "; ".join(_endings(result) for result in samples.results)
        return f"{samples.solved} of {samples.told} solved ({told})"
    (result,) = samples.results
    if result.solved:
        return f"solved in trial {result.solved_at}"
    return f"{result.outcome} ({_endings(result)})" if result.endings else result.outcome


def _endings(result: Result) -> str:
    """The trials' endings in order, equal ones in a row counted: `cycle, failed ×2`."""
    if not result.told or not result.endings:
        return result.outcome
    groups = [(ending, len(list(group))) for ending, group in groupby(result.endings)]
    return ", ".join(ending + (f" ×{count}" if count > 1 else "") for ending, count in groups)


@dataclass(frozen=True)
class Change:
    """What happened to the solved rate over some pairs, of which there must be one or more.

    A rate is the mean of the items' shares of solved samples. Intervals are at 95 %.
    """

    pairs: tuple[Pair, ...]

    @cached_property
    def before(self) -> float:
        """The rate before."""
        return float(sum(pair.before.share for pair in self.pairs) / len(self.pairs))

    @cached_property
    def after(self) -> float:
        """The rate after."""
        return float(sum(pair.after.share for pair in self.pairs) / len(self.pairs))

    @cached_property
    def differences(self) -> tuple[Fraction, ...]:
        """The change of every item, from -1 to 1."""
        return tuple(pair.change for pair in self.pairs)

    @cached_property
    def difference(self) -> Fraction:
        """The rate after, less that before."""
        return sum(self.differences, Fraction(0)) / len(self.pairs)

    @property
    def before_interval(self) -> tuple[float, float]:
        """Wilson's interval for the rate before."""
        shares = [float(pair.before.share) for pair in self.pairs]
        return statistics.rate_interval(shares, self._samples[0])

    @property
    def after_interval(self) -> tuple[float, float]:
        """Wilson's interval for the rate after."""
        shares = [float(pair.after.share) for pair in self.pairs]
        return statistics.rate_interval(shares, self._samples[1])

    @property
    def interval(self) -> tuple[float, float]:
        """The interval for the paired difference."""
        before = [float(pair.before.share) for pair in self.pairs]
        after = [float(pair.after.share) for pair in self.pairs]
        return statistics.difference_interval(before, after, self._samples)

    @property
    def _samples(self) -> tuple[int, int]:
        return sum(p.before.told for p in self.pairs), sum(p.after.told for p in self.pairs)

    @property
    def lost(self) -> int:
        """Items that changed for the worse."""
        return sum(each < 0 for each in self.differences)

    @property
    def gained(self) -> int:
        """Items that changed for the better."""
        return sum(each > 0 for each in self.differences)

    @property
    def moved(self) -> float:
        """The mean square of the differences; for one sample an item the share that changed."""
        return float(sum(each * each for each in self.differences)) / len(self.pairs)

    @cached_property
    def p_worse(self) -> float:
        """The one-sided p-value for a change for the worse."""
        return statistics.worse(self.differences)

    @cached_property
    def p_changed(self) -> float:
        """The two-sided p-value of the same test."""
        return statistics.changed(self.differences)


@dataclass(frozen=True)
class Comparison:
    """A baseline and a later run, paired."""

    baseline: Results
    head: Results

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The items of which both sides could tell, by id."""
        after = self.head.items
        return tuple(
            Pair(item, samples.results[0].category, samples, after[item])
            for item, samples in sorted(self.baseline.items.items())
            if samples.told and item in after and after[item].told
        )

    @cached_property
    def categories(self) -> dict[str, tuple[Pair, ...]]:
        """The pairs by category."""
        found: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            found.setdefault(pair.category, []).append(pair)
        return {name: tuple(pairs) for name, pairs in sorted(found.items())}

    @property
    def repeated(self) -> bool:
        """Whether an item of either side has more than one sample."""
        return any(len(p.before.results) > 1 or len(p.after.results) > 1 for p in self.pairs)

    @property
    def missing(self) -> tuple[str, ...]:
        """The items that the baseline has and the later run has not."""
        return tuple(sorted(self.baseline.items.keys() - self.head.items.keys()))

    @property
    def new(self) -> tuple[str, ...]:
        """The items that the baseline does not have."""
        return tuple(sorted(self.head.items.keys() - self.baseline.items.keys()))

    @property
    def unclear(self) -> tuple[Result, ...]:
        """Samples of the later run that it could not tell."""
        return tuple(result for result in self.head.results if not result.told)

    @property
    def setup(self) -> list[tuple[str, str, str]]:
        """What was compared and what differs in it: name, before, after.

        Source, agent, model and samples an item are always there; parameters and prompt files
        where they differ. A prompt file is not used where no call needed it.
        """
        rows = [
            ("results", self.baseline.source, self.head.source),
            ("agent", *self._values(lambda result: result.agent)),
            ("model", *self._values(lambda result: result.model)),
            ("samples an item", _repeats(self.baseline), _repeats(self.head)),
        ]
        parameters = self._values(lambda result: canonical_json(result.params))
        if parameters[0] != parameters[1]:
            rows.append(("parameters", *parameters))
        before, after = _digests(self.baseline), _digests(self.head)
        for name in sorted(before.keys() | after.keys()):
            one, other = before.get(name, "not used"), after.get(name, "not used")
            if one != other:
                rows.append((f"prompt {name}", one, other))
        return rows

    def _values(self, of: Callable[[Result], str]) -> tuple[str, str]:
        before, after = (
            ", ".join(sorted({of(result) for result in side.results})) or "nothing"
            for side in (self.baseline, self.head)
        )
        return before, after

    @property
    def calls(self) -> dict[str, dict[str, int]]:
        """Model calls by purpose, and `all` of them, `before` and `after`, over the pairs."""
        return {
            "before": _calls(pair.before for pair in self.pairs),
            "after": _calls(pair.after for pair in self.pairs),
        }

    @property
    def tokens(self) -> dict[str, dict[str, int | None]]:
        """Tokens of prompts and completions, likewise; None where some are not known."""
        return {
            "before": _tokens(pair.before for pair in self.pairs),
            "after": _tokens(pair.after for pair in self.pairs),
        }


def _repeats(results: Results) -> str:
    counts = {len(samples.results) for samples in results.items.values()} or {0}
    return str(min(counts)) + (f" to {max(counts)}" if len(counts) > 1 else "")


def _digests(results: Results) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for result in results.results:
        for name, digest in result.prompts.items():
            found.setdefault(name, set()).add(digest)
    return {name: ", ".join(sorted(digests)) for name, digests in found.items()}


def _calls(items: Iterable[Samples]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for samples in items:
        for result in samples.results:
            counts.update(result.calls)
    return {"all": counts.total(), **dict(sorted(counts.items()))}


def _tokens(items: Iterable[Samples]) -> dict[str, int | None]:
    every = [result.tokens for samples in items for result in samples.results]
    found: dict[str, int | None] = {}
    for name in ("prompt", "completion"):
        known = [count for tokens in every if (count := tokens[name]) is not None]
        found[name] = sum(known) if len(known) == len(every) else None
    return found
