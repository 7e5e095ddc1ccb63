"""The results file: writing, reading, and errors with the line that is wrong."""

import json
import math

import pytest
from support.damage import damaged

from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.outcome import Result, Status, Tokens
from pytest_miniwob_agent.results.file import Results, parse_results, read_results


def result(seed=1, repeat=1, outcome="solved", **more):
    defaults = {
        "category": "other", "task": "click-pie", "agent": "reflective", "model": "m",
        "params": {"temperature": 0.0}, "prompts": {"plan.txt": "ab12"},
        "limits": Limits(),
        "response_models": ("m-1",), "system_fingerprints": ("fp_1", "fp_2"),
        "solved_at": 1 if outcome == "solved" else None,
        "endings": ("correct",) if outcome == "solved" else ("cycle", "failed"),
        "rewards": (1.0,) if outcome == "solved" else (0.0, 0.5),
        "steps": 3, "calls": {"plan": 2}, "tokens": Tokens(10, None),
    }  # fmt: skip
    return Result(seed=seed, repeat=repeat, outcome=Status(outcome), **defaults | more)


def test_results_are_read_as_they_were_written(tmp_path):
    results = Results((result(2, outcome="drifted", reason="a | b\n::c"), result(1)), ("-k pie",))
    path = tmp_path / "new" / "results.jsonl"
    results.write(path)
    assert read_results(path) == results
    lines = path.read_bytes().decode().split("\n")
    assert lines[0] == '{"items":2,"miniwob_results":2,"partial":["-k pie"]}'
    assert [json.loads(line)["seed"] for line in lines[1:3]] == [1, 2]
    assert lines[1] == (
        '{"agent":"reflective","calls":{"plan":2},"case":"other/click-pie/1","category":"other",'
        '"endings":["correct"],"limits":{"calls":500,"steps":30,"trials":5},"model":"m",'
        '"outcome":"solved","params":{"temperature":0.0},"prompts":{"plan.txt":"ab12"},"reason":"",'
        '"repeat":1,"response_models":["m-1"],"rewards":[1.0],"seed":1,"solved_at":1,"steps":3,'
        '"system_fingerprints":["fp_1","fp_2"],"task":"click-pie","test":"",'
        '"tokens":{"completion":null,"prompt":10}}'
    )
    assert [entry.name for entry in path.parent.iterdir()] == ["results.jsonl"]


def test_samples_are_grouped_by_item_in_the_order_of_repeats():
    results = Results((result(repeat=10, outcome="unsolved"), result(repeat=2), result()))
    cases = ["other/click-pie/1", "other/click-pie/1-10", "other/click-pie/1-2"]
    assert [each.case for each in results.results] == cases
    samples = results.items["other/click-pie/1"]
    assert [each.repeat for each in samples.results] == [1, 2, 10]
    assert (samples.solved, samples.conclusive) == (2, 3)
    assert samples.count_as_solved()
    assert samples.count_as_solved(2)
    assert not samples.count_as_solved(3)


def test_half_of_the_samples_is_not_enough_and_inconclusive_ones_do_not_count():
    half = Results((result(), result(repeat=2, outcome="unsolved"))).items["other/click-pie/1"]
    assert not half.count_as_solved()
    one = Results((result(), result(repeat=2, outcome="drifted"))).items["other/click-pie/1"]
    assert one.share == 1


def test_a_file_that_cannot_be_written_is_a_usage_error(tmp_path):
    (tmp_path / "folder" / "x").mkdir(parents=True)
    with pytest.raises(UsageError, match="folder can't be written"):
        Results((result(),)).write(tmp_path / "folder")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def changed(**fields):
    head, line = Results((result(),)).text().splitlines()
    data = {name: value for name, value in (json.loads(line) | fields).items() if value != "drop"}
    return f"{head}\n{json.dumps(data)}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"^f:1 is not as it was written \(Expecting value: .*write the file again"),
        ("2\n", r"^f:1 .* \(it can't be 2\)"),
        ("[" * 100_000 + "\n", r"^f:1 .* \(maximum recursion depth"),
        (
            '{"a":1}\n',
            r"^f:1 .* is None, not the version 2\); write the file again with pytest",
        ),
        ('{"miniwob_results":3,"partial":[],"items":0}\n', r"^f:1 .* is 3, not the version 2"),
        ('{"miniwob_results":2,"items":0}\n', r"^f:1 .* \(`partial` can't be null\)"),
        ('{"miniwob_results":2,"partial":[1],"items":0}\n', r"^f:1 .* \(`partial\[0\]` can't be 1"),
        ('{"miniwob_results":2,"partial":[]}\n', r"^f holds 0 items, but its .* says None"),
        ('{"miniwob_results":2,"partial":[],"items":2}\n', r"^f holds 0 items, but .* says 2"),
        (changed() + "<<<<<<< HEAD\n", r"^f:3 is a conflict marker of a merge; take one side"),
        (changed() + "\n", r"^f:3 is not as it was written \(Expecting value"),
        (
            changed(outcome="slved"),
            r"^f:2 is not as it was written \(`outcome` can't be \"slved\"\)",
        ),
        (changed(model="drop"), r"^f:2 .* \(`model` is missing\); write the file"),
        (changed(case="other/click-pie/2"), r"^f:2 .* \(`case` can't be \"other/click-pie/2\"\)"),
        (changed(calls={"plan": True}), r"^f:2 .* \(`calls.plan` can't be true\)"),
        (changed(steps=-1), r"^f:2 .* \(`steps` can't be -1\)"),
        (
            changed(limits={"trials": 0, "steps": 1, "calls": 1}),
            r"^f:2 .* \(trials must be at least 1",
        ),
        (changed(rewards=[1.5]), r"^f:2 .* \(`rewards\[0\]` can't be 1.5\)"),
        (changed(rewards=[math.nan]), r"^f:2 .* \(`rewards\[0\]` can't be NaN\)"),
        (
            Results((result(1), result(2), result(1, outcome="unsolved"))).text(),
            r"^f:3 has other/click-pie/1 again, which line 2 has: .*write the file again",
        ),
    ],
)
def test_an_error_in_a_file_is_reported_with_its_line(text, message):
    with pytest.raises(UsageError, match=message):
        parse_results(text, "f")


def test_any_part_of_another_type_is_reported_with_its_path():
    more = {"setup": "a/m", "sent": {"tools": "ab12"}, "typings": 1, "payload": "shown"}
    full = result(**more, app="live", tokens=Tokens(10, 2, 3, 4), limits=Limits(any_reward=True))
    head, line = Results((full,)).text().splitlines()
    for path, changed in damaged(json.loads(line)):
        if not path.startswith(".params."):
            with pytest.raises(UsageError) as error:
                parse_results(f"{head}\n{json.dumps(changed)}\n", "f")
            assert str(error.value).startswith("f:2 is not as it was written (")
            assert f"(`{path[1:]}`" in str(error.value) or path in ("", ".case")


def test_any_text_is_written_and_read(tmp_path):
    text = "one\u2028two\x85three, half a pair \ud83d, \x00, \r\n, \\, é"
    results = Results((result(outcome="error", reason=text),))
    results.write(tmp_path / "r.jsonl")
    assert read_results(tmp_path / "r.jsonl") == results


def test_a_missing_or_unreadable_file_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match=r"there is no results file .*pytest --miniwob-results="):
        read_results(tmp_path / "none.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="binary can't be read"):
        read_results(tmp_path / "binary")
    with pytest.raises(UsageError, match="can't be read"):
        read_results(tmp_path)
