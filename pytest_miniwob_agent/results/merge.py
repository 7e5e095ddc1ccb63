"""The merge of the results of shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import counted, listed
from pytest_miniwob_agent.results.file import Results, one_per_case
from pytest_miniwob_agent.results.shard import SPLIT_ALIKE, check_shards, deselected_of


def merge_results(parts: Sequence[Results]) -> Results:
    """Return the results that one run of all items would have written.

    Args:
        parts: the results of each shard, in any order.

    Raises:
        UsageError: they are not the shards of one suite, all of them, each once.
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
    deselected = len(deselected_of(shards))
    not_run = shards[0].items - deselected - len(merged)
    reasons = [(deselected, "deselected"), (not_run, "did not run")]
    return Results(merged, tuple(f"{counted(n, 'item')} {what}" for n, what in reasons if n))
