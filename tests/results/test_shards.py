"""Shards: what the head of their results says, and the errors of a merge."""

from dataclasses import replace

import pytest
from made_results import joined, run_of

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.results.file import Results, parse_results
from pytest_miniwob_agent.results.gate import Gate, judge
from pytest_miniwob_agent.results.merge import merge_results
from pytest_miniwob_agent.results.shard import Shard, seed_ranges

SETUP = {"--miniwob-model": "m", "--miniwob-trials": "5"}


def shards(*parts, deselected=(), **fields):
    """The results of a suite's shards, each a text of outcomes; their seeds follow each other."""
    runs = []
    for part in parts:
        first = sum(len(run.items) for run in runs) + 1
        runs.append(run_of(part, first=first))
    collected = frozenset(result.case for result in joined(*runs).results) | set(deselected)
    return [
        replace(
            run,
            source=f"{number}.jsonl",
            shard=Shard(
                number=number,
                of=len(parts),
                commit="c0ffee",
                setup=SETUP,
                collected=collected,
                deselected=frozenset(deselected),
                **fields,
            ),
        )
        for number, run in enumerate(runs, start=1)
    ]


def changed(results, **fields):
    return replace(results, shard=replace(results.shard, **fields))


def test_a_shard_is_read_as_it_was_written():
    first, _ = shards(["+", "+-"], ["-"], deselected=["other/x/7", "other/x/8", "other/x/8-3"])
    first = changed(first, not_run=frozenset(["n-screen-n-step/click-pie/3"]))
    head, *_ = first.text().splitlines()
    assert '"deselected":{"other/x":["7-8","","8"]}' in head
    assert '"collected":{"n-screen-n-step/click-pie":["1-3","2"],"other/x":' in head
    assert parse_results(first.text(), "f") == first


@pytest.mark.parametrize(
    "shard",
    ["null", "[]", '{"number":2}', '{"number":3,"of":2}', '{"number":"1","of":"2"}'],
)
def test_a_damaged_head_is_an_error_that_names_the_line(shard):
    text = f'{{"items":0,"miniwob_results":2,"partial":[],"shard":{shard}}}\n'
    with pytest.raises(UsageError, match=r"^f:1 does not describe a shard; run the shard again"):
        parse_results(text, "f")


def test_seeds_are_shown_as_ranges():
    assert seed_ranges([7, 1, 2, 3, 9, 10]) == "1-3,7,9-10"
    assert seed_ranges([]) == ""


def test_merged_results_are_those_of_one_run_in_any_order():
    parts = shards("+-", "", "+d")
    assert merge_results(parts[::-1]) == joined(*parts)


def test_what_was_deselected_or_did_not_run_makes_the_merged_run_a_partial_one():
    first, second = shards("++", "+", deselected=["other/x/1"])
    first = replace(
        changed(first, not_run=frozenset([first.results[1].case])), results=first.results[:1]
    )
    merged = merge_results([first, second])
    assert merged.partial == ("1 item deselected", "1 item did not run")


def test_an_item_of_two_tests_may_be_in_two_shards_if_its_results_are_equal():
    first, second = shards("+", "")
    again = replace(first.results[0], test="a.py::test")
    first = replace(first, results=(replace(first.results[0], test="b.py::test"),))
    assert merge_results([first, replace(second, results=(again,))]).results == (again,)
    other = replace(second, results=(replace(again, steps=9),))
    with pytest.raises(UsageError, match=r"click-pie/1 was run by two tests, b.py::test \(1.jsonl"):
        merge_results([first, other])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda a, b, c: [a, c],
            r"^shard 2 of 3 is missing: .*run it if .*\(--splits=3 --group=2 .*-shard=2/3\)",
        ),
        (lambda a, b, c: [b], r"^shards 1, 3 of 3 are missing: .*run them if .*--group=1 "),
        (
            lambda a, b, c: [a, b, c, replace(b, source="copy.jsonl")],
            r"^shard 2 of 3 is given twice, 2.jsonl and copy.jsonl: leave one out",
        ),
        (
            lambda a, b, c: [a, changed(b, of=2)],
            r"^1.jsonl is shard 1 of 3, but 2.jsonl is shard 2 of 2: ",
        ),
        (lambda a, b, c: [a, b, replace(c, shard=None)], r"^3.jsonl is not of a shard: "),
        (
            lambda a, b, c: [a, changed(b, commit="dead"), c],
            r"^2.jsonl \(shard 2 of 3\) is of commit dead, but shard 1 of 3 is of commit c0ffee: ",
        ),
        (
            lambda a, b, c: [changed(a, commit=""), b, c],
            r"^1.jsonl \(shard 1 of 3\) is of commit unknown, but shard 2 of 3 ",
        ),
        (
            lambda a, b, c: [a, b, changed(c, setup=SETUP | {"--miniwob-model": "other"})],
            r"^3.jsonl \(shard 3 of 3\) has --miniwob-model other, but shard 1 of 3 has .* m: ",
        ),
        (
            lambda a, b, c: [a, changed(b, setup=SETUP | {"--miniwob-agent": "rci"}), c],
            r"^2.jsonl .* has --miniwob-agent rci, but shard 1 of 3 has --miniwob-agent none",
        ),
        (
            lambda a, b, c: [a, b, changed(c, setup=SETUP | {"--miniwob-trials": "1"})],
            r"^3.jsonl .* has --miniwob-trials 1, but shard 1 of 3 has --miniwob-trials 5",
        ),
        (
            lambda a, b, c: [prompted(a, "aa"), prompted(b, "bb"), c],
            r"^2.jsonl .* has prompt plan.txt of a bb, but shard 1 of 3 has prompt .* aa: ",
        ),
        (
            lambda a, b, c: [a, b, replace(c, results=())],
            r"^1 item went to no shard: n-screen-n-step/click-pie/4; all shards must split",
        ),
        (
            lambda a, b, c: [a, replace(b, results=(*b.results, a.results[0])), c],
            r"^n-screen-n-step/click-pie/1 was run by 1.jsonl and 2.jsonl: all shards must split",
        ),
    ],
)
def test_what_are_not_the_shards_of_one_suite_is_an_error_that_names_it(spoil, message):
    with pytest.raises(UsageError, match=message):
        merge_results(spoil(*shards("+-", "+", "+")))


def prompted(results, digest):
    """Results whose calls were made of another prompt file."""
    return replace(
        results, results=tuple(replace(r, prompts={"plan.txt": digest}) for r in results.results)
    )


def test_a_gate_on_one_shard_does_not_miss_the_items_of_the_others():
    first, _ = shards("+-", "+")
    baseline = run_of("++++")  # the last one is no longer collected
    verdict = judge(baseline, first, Gate.parse("items"), first.elsewhere)
    assert verdict.missing == ("n-screen-n-step/click-pie/4",)
    assert verdict.left_out == ("n-screen-n-step/click-pie/3",)
    assert "shard 1 of 2, so not judged here: 1 item of the baseline" in verdict.notes
    assert Results(first.results).elsewhere == frozenset()
