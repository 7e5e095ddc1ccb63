"""The merge of shards: the check that they belong together, and the results of one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import counted, listed
from pytest_miniwob_agent.results.file import Results, Shard, one_per_case

SPLIT_ALIKE = (
    "all shards must split the same items in the same way: with pytest-split use "
    "--splitting-algorithm=least_duration and the same durations, or the same order of the items; "
    "then run all shards again"
)


def merge_results(parts: Sequence[Results]) -> Results:
    """Return the results that one run of all items would have written.

    Raises:
        UsageError: the parts are not the shards of one suite, all of them, each once.
    """
    shards = check_shards([(part.source, part.shard) for part in parts])
    results = [result for part in parts for result in part.results]
    runs = Counter((result.case, result.test) for result in results)
    if doubled := [case for (case, _), count in runs.items() if count > 1]:
        raise UsageError(
            f"{counted(len(doubled), 'item')} went to several shards ({listed(doubled)}): "
            f"{SPLIT_ALIKE}"
        )
    merged = one_per_case(results)
    deselected = _deselected(shards)
    not_run = shards[0].items - deselected - len(merged)
    reasons = [(deselected, "deselected"), (not_run, "did not run")]
    return Results(merged, tuple(f"{counted(n, 'item')} {what}" for n, what in reasons if n))


def check_shards(sources: Sequence[tuple[str, Shard | None]]) -> list[Shard]:
    """Return the shards of these files or folders, which must be all of one suite, each once.

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
        if difference := _difference(shard, first):
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
    if (lost := shards[0].items - _deselected(shards) - selected) > 0:
        raise UsageError(f"{counted(lost, 'item')} went to no shard: {SPLIT_ALIKE}")
    return shards


def _difference(shard: Shard, other: Shard) -> str:
    ours, others = (
        {"shards": str(one.of), "items": str(one.items), **one.suite} for one in (shard, other)
    )
    return ", ".join(
        f"{name} {ours.get(name) or 'none'} (not {others.get(name) or 'none'})"
        for name in {**ours, **others}
        if ours.get(name) != others.get(name)
    )


def _deselected(shards: Sequence[Shard]) -> int:
    return len({case for shard in shards for case in shard.deselected})
