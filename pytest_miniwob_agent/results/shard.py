"""Shards: the parts of a suite that are run one by one, and the joining of what they write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import counted, listed
from pytest_miniwob_agent.tasks.selection import parse_seeds

_SPLIT_ALIKE = (
    "all shards must split the same items in the same way: with pytest-split use "
    "--splitting-algorithm=least_duration and the same durations, or the same order of the items; "
    "then run all shards again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A part of a suite that was run by itself, as the head of its results has it.

    Args:
        number: its number, from 1 to `of`.
        of: the number of shards.
        commit: the commit of the project's repository; empty if there is none.
        setup: the values of the options that decide what an item does, by the options' names.
        collected: ids of all cases that the collected tests select, whichever shard runs them.
        deselected: those of them that no shard was to run.
        not_run: those that this shard was to run and did not.
    """

    number: int
    of: int
    commit: str
    setup: Mapping[str, str]
    collected: frozenset[str]
    deselected: frozenset[str] = frozenset()
    not_run: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"shard {self.number} of {self.of}"

    def elsewhere(self, ran: Collection[str]) -> frozenset[str]:
        """Return the cases that went to other shards, by those that ran in this one."""
        return self.collected.difference(self.deselected, self.not_run, ran)

    def to_data(self) -> dict[str, Any]:
        """Return the shard in plain JSON types; `from_data` is the way back."""
        return {
            "number": self.number,
            "of": self.of,
            "commit": self.commit,
            "setup": dict(self.setup),
            "collected": _by_task(self.collected),
            "deselected": _by_task(self.deselected),
            "not_run": _by_task(self.not_run),
        }

    @classmethod
    def from_data(cls, data: Any, where: str) -> Shard:
        """Return the shard that `to_data` was called on; `where` names the place in messages.

        Raises:
            UsageError: it is not the data of one.
        """
        try:
            cases = {name: _cases(data[name]) for name in ("collected", "deselected", "not_run")}
            shard = cls(
                number=data["number"],
                of=data["of"],
                commit=data["commit"],
                setup=dict(data["setup"]),
                **cases,
            )
            valid = 1 <= shard.number <= shard.of and isinstance(shard.commit, str)
        except (AttributeError, KeyError, TypeError, ValueError, UsageError):
            valid = False
        if not valid:
            raise UsageError(f"{where} does not describe a shard; run the shard again")
        return shard


def _by_task(cases: Iterable[str]) -> dict[str, list[str]]:
    """Return cases in short: for each task the seeds of each of its samples, as in `1000-1024`."""
    seeds: dict[str, dict[int, list[int]]] = {}
    for case in cases:
        task, _, sample = case.rpartition("/")
        seed, _, repeat = sample.partition("-")
        seeds.setdefault(task, {}).setdefault(int(repeat or 1), []).append(int(seed))
    return {
        task: [seed_ranges(samples.get(repeat, ())) for repeat in range(1, max(samples) + 1)]
        for task, samples in sorted(seeds.items())
    }


def _cases(data: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Return the ids of the cases that `_by_task` has put in short."""
    return frozenset(
        f"{task}/{seed}" + (f"-{repeat}" if repeat > 1 else "")
        for task, samples in data.items()
        for repeat, text in enumerate(samples, start=1)
        for seed in (parse_seeds(text) if text else ())
    )


def seed_ranges(seeds: Iterable[int]) -> str:
    """Return seeds as the option takes them: `7,1000-1024`."""
    numbered = enumerate(sorted(seeds))
    rows = [[seed for _, seed in group] for _, group in groupby(numbered, lambda n: n[1] - n[0])]
    return ",".join(f"{row[0]}-{row[-1]}" if row[1:] else str(row[0]) for row in rows)


@dataclass(frozen=True, slots=True)
class Part:
    """A shard that is to be joined with others.

    Args:
        source: the file or folder that it was read from.
        shard: the shard; None if it was the run of a whole suite.
        ran: ids of the cases that it ran.
        prompts: the digests of the prompt files that its calls were made of, by file and agent.
    """

    source: str
    shard: Shard | None
    ran: frozenset[str]
    prompts: Mapping[str, str]


def check_parts(parts: Sequence[Part], option: str) -> list[Shard]:
    """Check that parts are the shards of one suite, all of them, each once; return the shards.

    Args:
        parts: the parts.
        option: the option with which a run writes one.

    Raises:
        UsageError: they are not; the message names the shard or the items and says what to do.
    """
    shards = [_shard_of(part) for part in parts]
    _check_numbers(parts, shards, option)
    pairs = list(zip(parts, shards, strict=True))
    _check_alike("is of commit", [(*pair, pair[1].commit or "unknown") for pair in pairs])
    for name in sorted({name for shard in shards for name in shard.setup}):
        values = [(*pair, pair[1].setup.get(name) or "none") for pair in pairs]
        _check_alike(f"has {name}", values)
    for name in sorted({name for part in parts for name in part.prompts}):
        digests = [(*pair, pair[0].prompts[name]) for pair in pairs if name in pair[0].prompts]
        _check_alike(f"has {name}", digests)
    _check_items(parts, shards)
    return shards


def _shard_of(part: Part) -> Shard:
    if part.shard is None:
        raise UsageError(
            f"{part.source} is not of a shard: its run had neither --splits and --group of "
            "pytest-split nor --miniwob-shard. Merge what shards wrote; a whole run needs no merge"
        )
    return part.shard


def _check_numbers(parts: Sequence[Part], shards: Sequence[Shard], option: str) -> None:
    of = shards[0].of
    known: dict[int, Part] = {}
    for part, shard in zip(parts, shards, strict=True):
        if shard.of != of:
            raise UsageError(
                f"{parts[0].source} is {shards[0]}, but {part.source} is {shard}: give the shards "
                "of one run"
            )
        if (earlier := known.setdefault(shard.number, part)) is not part:
            raise UsageError(
                f"{shard} is given twice, {earlier.source} and {part.source}: leave one out"
            )
    if missing := [number for number in range(1, of + 1) if number not in known]:
        numbers = listed(map(str, missing), most=20)
        raise UsageError(
            f"{'shards' if missing[1:] else 'shard'} {numbers} of {of} "
            f"{'are' if missing[1:] else 'is'} missing: give what a run with {option} wrote, and "
            f"{'run them' if missing[1:] else 'run it'} if there was none (--splits={of} "
            f"--group={missing[0]} of pytest-split, or --miniwob-shard={missing[0]}/{of})"
        )


def _check_alike(verb: str, values: Sequence[tuple[Part, Shard, str]]) -> None:
    """Check that a value is the same in all shards; the message names those that stand alone."""
    (usual, count), *_ = Counter(value for _, _, value in values).most_common()
    if count == len(values):
        return
    odd = [each for each in values if each[2] != usual]
    names = listed(f"{part.source} ({shard})" for part, shard, _ in odd)
    others = listed(sorted({value for _, _, value in odd}))
    like = next(shard for _, shard, value in values if value == usual)
    raise UsageError(
        f"{names} {verb} {others}, but {like} {verb} {usual}: run those that differ again, "
        "like the others"
    )


def _check_items(parts: Sequence[Part], shards: Sequence[Shard]) -> None:
    """Check that every item that was not deselected went to a shard."""
    collected, deselected = _union(shards, "collected"), _union(shards, "deselected")
    gone = collected.difference(
        deselected, _union(shards, "not_run"), *(part.ran for part in parts)
    )
    if gone:
        raise UsageError(
            f"{counted(len(gone), 'item')} went to no shard: {listed(sorted(gone))}; {_SPLIT_ALIKE}"
        )


def doubled(case: str, sources: Iterable[str]) -> UsageError:
    """Return the error for an item that several shards have run."""
    return UsageError(f"{case} was run by {' and '.join(sources)}: {_SPLIT_ALIKE}")


def reasons_for_partial(shards: Sequence[Shard], ran: Collection[str]) -> tuple[str, ...]:
    """Return the reasons for which shards have not run all items of their suite."""
    not_run = _union(shards, "not_run").difference(ran)
    deselected = _union(shards, "deselected").difference(ran, not_run)
    reasons = ((deselected, "deselected"), (not_run, "did not run"))
    return tuple(f"{counted(len(cases), 'item')} {what}" for cases, what in reasons if cases)


def _union(shards: Iterable[Shard], name: str) -> frozenset[str]:
    return frozenset().union(*(getattr(shard, name) for shard in shards))
