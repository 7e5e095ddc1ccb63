"""Results of the shards of a suite, joined into those of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.results.file import Result, Results
from pytest_miniwob_agent.results.shard import Part, check_parts, doubled, reasons_for_partial


def merge_results(parts: Sequence[Results]) -> Results:
    """Return the results that one run of all items would have written.

    Args:
        parts: the results of each shard, in any order.

    Raises:
        UsageError: they are not the shards of one suite, all of them, each once.
    """
    shards = check_parts([_part(each) for each in parts], "--miniwob-results")
    found: dict[str, tuple[Result, str]] = {}
    for part in parts:
        for result in part.results:
            if result.case not in found:
                found[result.case] = result, part.source
                continue
            known, source = found[result.case]
            if known.test == result.test:
                raise doubled(result.case, (source, part.source))
            if replace(known, test=result.test) != result:
                raise UsageError(
                    f"{result.case} was run by two tests, {known.test} ({source}) and "
                    f"{result.test} ({part.source}), with different results: run one agent and "
                    "one model at a time, and each item in one test"
                )
            if result.test < known.test:  # as in a run of all items
                found[result.case] = result, part.source
    return Results(
        tuple(result for result, _ in found.values()), reasons_for_partial(shards, found.keys())
    )


def _part(results: Results) -> Part:
    digests: dict[str, set[str]] = {}
    for result in results.results:
        for name, digest in result.prompts.items():
            digests.setdefault(f"prompt {name} of {result.agent}", set()).add(digest)
    # A file that differs between the items of a shard may differ between shards too.
    prompts = {name: each.pop() for name, each in digests.items() if len(each) == 1}
    ran = frozenset(result.case for result in results.results)
    return Part(results.source, results.shard, ran, prompts)
