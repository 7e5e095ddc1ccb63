"""How long it takes to join the results of shards, and to judge them.

    python benchmarks/merge.py [--seeds N] [--shards N]

Makes up results of the 43 tasks of the reflective agent's paper at 1,000 seeds, as 20 shards write
them, and joins, compares and judges them as `results merge` and `compare --gate` do. Seconds are
those of the processor.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.results.file import Result, Results, read_results
from pytest_miniwob_agent.results.gate import Gate, judge
from pytest_miniwob_agent.results.merge import merge_results
from pytest_miniwob_agent.results.shard import Shard

ROOT = Path(__file__).parent.parent
LOST = 0.03
"""The share of the items that each of the two compared runs does not solve."""

T = TypeVar("T")


def timed(name: str, function: Callable[[], T]) -> T:
    begin = time.process_time()
    result = function()
    print(f"{name:<36} {time.process_time() - begin:6.1f} s", flush=True)
    return result


def write_shards(results: Sequence[Result], count: int, folder: Path) -> list[Path]:
    paths = []
    for index in range(count):
        part = results[index::count]
        shard = Shard(
            number=index + 1,
            of=count,
            selected=len(part),
            items=len(results),
            deselected=(),
            suite={},
        )
        paths.append(folder / f"{index}.jsonl")
        Results(tuple(part), (str(shard),), shard=shard).write(paths[-1])
    return paths


def spoiled(results: Results, seed: int) -> Results:
    """The results with some items that are not solved."""
    chance = random.Random(seed)
    lost: dict[str, Any] = {"outcome": Status.UNSOLVED, "solved_at": None, "rewards": (0.0,)}
    return Results(
        tuple(replace(each, **lost) if chance.random() < LOST else each for each in results.results)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--shards", type=int, default=20)
    options = parser.parse_args()
    known = read_results(ROOT / "cassettes/reflective/paper.jsonl").results
    first = {(result.category, result.task): result for result in known}
    results = [replace(each, seed=n) for each in first.values() for n in range(options.seeds)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = timed("writing the shards", lambda: write_shards(results, options.shards, folder))
        parts = timed("reading them", lambda: [read_results(path) for path in paths])
        whole = timed("joining them", lambda: merge_results(parts))
        timed("writing the whole", lambda: whole.write(folder / "all.jsonl"))
        size = (folder / "all.jsonl").stat().st_size
    gate = Gate.parse("paired")
    before, after = spoiled(whole, 1), spoiled(whole, 2)
    timed("judging by `paired`", lambda: judge(before, after, gate))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"{len(results):,} items, {size / 1e6:.0f} MB; peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
