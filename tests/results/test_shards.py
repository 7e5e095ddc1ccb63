"""Shards: what the head of their results says, and the errors of a merge."""

import json
from dataclasses import replace

import pytest
from support.damage import damaged
from support.made_results import joined, run_of

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.results.file import Shard, merge_results, parse_results

SUITE = {"commit": "c0ffee", "--miniwob-trials": "5"}


def shards(*parts, deselected=()):
    """The results of a suite's shards, each a text of outcomes; their seeds follow each other."""
    runs = []
    for part in parts:
        runs.append(run_of(part, first=sum(len(run.items) for run in runs) + 1))
    items = len(joined(*runs).results) + len(deselected)
    of_all = {"of": len(parts), "items": items, "deselected": deselected, "suite": SUITE}
    found = []
    for number, run in enumerate(runs, start=1):
        shard = Shard(number=number, selected=len(run.results), **of_all)
        found.append(replace(run, source=f"{number}.jsonl", shard=shard))
    return found


def changed(results, **fields):
    return replace(results, shard=replace(results.shard, **fields))


SHARD = {"number": 1, "of": 2, "selected": 0, "items": 0, "deselected": [], "suite": {}}


@pytest.mark.parametrize(
    "shard",
    [None, {"number": 2}, SHARD | {"of": 999999999999}, *(wrong for _, wrong in damaged(SHARD))],
)
def test_a_damaged_head_is_an_error_that_names_the_line(shard):
    head = {"items": 0, "miniwob_results": 2, "partial": [], "shard": SHARD}
    assert parse_results(f"{json.dumps(head)}\n", "f").shard == Shard(**SHARD | {"deselected": ()})
    text = f"{json.dumps({**head, 'shard': shard})}\n"
    with pytest.raises(UsageError, match=r"^f:1 does not describe a shard \(.*\); run it again"):
        parse_results(text, "f")


def test_merged_results_are_those_of_one_run_in_any_order():
    parts = shards("+-", "", "+d")
    assert merge_results(parts[::-1]) == joined(*parts)


def test_what_was_deselected_or_did_not_run_makes_the_merged_run_a_partial_one():
    first, second = shards("++", "+", deselected=("other/x/1",))
    merged = merge_results([replace(first, results=first.results[:1]), second])
    assert merged.partial == ("1 item deselected", "1 item did not run")


def test_an_item_of_two_tests_may_be_in_two_shards_if_its_results_are_equal():
    first, second = shards("+", "")
    again = replace(first.results[0], test="a.py::test")
    first = replace(first, results=(replace(first.results[0], test="b.py::test"),))
    second = changed(replace(second, results=(again,)), selected=1)
    assert merge_results([first, second]).results == (again,)
    other = replace(second, results=(replace(again, steps=9),))
    with pytest.raises(UsageError, match=r"click-pie/1 was run more than once, with different"):
        merge_results([first, other])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda a, b, c: [b], r"^missing of 3 shards: 1, 3; run .*--splits=3 --group=1 .*=1/3\)"),
        (lambda a, b, c: [a, b, c, b], r"^shard 2 of 3 is given twice, 2.jsonl and 2.jsonl: leave"),
        (lambda a, b, c: [a, changed(b, of=2)], r"^2.jsonl \(shard 2 of 2\) .*: it has shards 2"),
        (lambda a, b, c: [a, b, replace(c, shard=None)], r"^3.jsonl does not come from a shard: "),
        (
            lambda a, b, c: [a, b, changed(c, suite={"commit": "", "--miniwob-trials": "1"})],
            r"^3.jsonl .*: it has commit none \(not c0ffee\), --miniwob-trials 1 \(not 5\); run",
        ),
        (lambda a, b, c: [a, b, changed(c, selected=0)], r"^1 item went to no shard: all shards"),
        (
            lambda a, b, c: [a, replace(b, results=(*b.results, a.results[0])), c],
            r"^1 item went to several .*\(n-screen-n-step/click-pie/1\): all shards must",
        ),
    ],
)
def test_what_are_not_the_shards_of_one_suite_is_an_error_that_names_it(spoil, message):
    with pytest.raises(UsageError, match=message):
        merge_results(spoil(*shards("+-", "+", "+")))
