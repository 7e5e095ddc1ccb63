"""Shards: the parts of a suite that run separately, and the merge of their results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import counted, listed

SPLIT_ALIKE = (
    "all shards must split the same items in the same way: with pytest-split use "
    "--splitting-algorithm=least_duration and the same durations, or the same order of the items; "
    "then run all shards again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A part of a suite, as the head of its results and of its report describes it.

    Args:
        number: its number, from 1 to `of`.
        of: the number of shards.
        selected: the number of items that this shard was to run.
        items: the number of items of the suite, with deselected ones.
        deselected: the ids of the cases that were deselected, such as by `-k`.
        suite: what is equal in all shards, by name: the commit, a digest of the items, and the
            options that decide what an item does.
    """

    number: int
    of: int
    selected: int
    items: int
    deselected: tuple[str, ...]
    suite: Mapping[str, str]

    def __str__(self) -> str:
        return f"shard {self.number} of {self.of}"

    def to_data(self) -> dict[str, Any]:
        """Return the shard in plain JSON types."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Any, where: str) -> Shard:
        """Return the shard that `to_data` was called on; `where` names the place in messages.

        Raises:
            UsageError: it is not the data of one.
        """
        try:
            shard = cls(**data | {"deselected": tuple(data["deselected"])})
            valid = 1 <= shard.number <= shard.of and shard.selected <= shard.items
        except (KeyError, TypeError):
            valid = False
        if not valid:
            raise UsageError(f"{where} does not describe a shard; run the shard again")
        return shard

    def difference(self, other: Shard) -> str:
        """Describe how the suites of two shards differ; empty if they do not."""
        ours, others = (
            {"shards": str(shard.of), "items": str(shard.items)} | dict(shard.suite)
            for shard in (self, other)
        )
        return ", ".join(
            f"{name} {ours.get(name) or 'none'} (not {others.get(name) or 'none'})"
            for name in {**ours, **others}
            if ours.get(name) != others.get(name)
        )


def check_shards(sources: Sequence[tuple[str, Shard | None]]) -> list[Shard]:
    """Check that these are the shards of one suite, all of them, each once; return them.

    Args:
        sources: the file or folder of each shard, and its head; None if it comes from a whole run.

    Raises:
        UsageError: they are not; the message names the shard and says what to do.
    """
    known: dict[int, tuple[str, Shard]] = {}
    for source, shard in sources:
        if shard is None:
            raise UsageError(
                f"{source} does not come from a shard: its run had neither --splits and --group of "
                "pytest-split nor --miniwob-shard. Merge what shards wrote; a whole run needs no "
                "merge"
            )
        _, first = next(iter(known.values()), (source, shard))
        if difference := shard.difference(first):
            raise UsageError(
                f"{source} ({shard}) does not belong to the suite of {first}: it has "
                f"{difference}; run those that differ again, like the others"
            )
        if shard.number in known:
            raise UsageError(
                f"{shard} is given twice, {known[shard.number][0]} and {source}: leave one out"
            )
        known[shard.number] = source, shard
    shards = [shard for _, shard in known.values()]
    of = shards[0].of
    if missing := [number for number in range(1, of + 1) if number not in known]:
        raise UsageError(
            f"missing of {counted(of, 'shard')}: {listed(map(str, missing), most=20)}; run what is "
            f"missing (--splits={of} --group={missing[0]} of pytest-split, or "
            f"--miniwob-shard={missing[0]}/{of}) and merge all shards"
        )
    selected = sum(shard.selected for shard in shards)
    if (lost := shards[0].items - len(deselected_of(shards)) - selected) > 0:
        raise UsageError(f"{counted(lost, 'item')} went to no shard: {SPLIT_ALIKE}")
    return shards


def deselected_of(shards: Iterable[Shard]) -> set[str]:
    """Return the cases that were deselected in any shard."""
    return {case for shard in shards for case in shard.deselected}
