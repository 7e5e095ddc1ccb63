"""The results file: what is written is read again, and what is wrong is named."""

import json
import subprocess

import pytest

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.results.file import Result, Results, parse_results, read_results


def result(seed=1, repeat=1, outcome="solved", **more):
    defaults = {
        "category": "other", "task": "click-pie", "agent": "reflective", "model": "m",
        "params": {"temperature": 0.0}, "prompts": {"plan.txt": "ab12"},
        "solved_at": 1 if outcome == "solved" else None,
        "endings": ("correct",) if outcome == "solved" else ("cycle", "failed"),
        "steps": 3, "calls": {"plan": 2}, "tokens": {"prompt": 10, "completion": None},
    }  # fmt: skip
    return Result(seed=seed, repeat=repeat, outcome=outcome, **defaults | more)


def git(folder, *arguments):
    subprocess.run(
        ["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments],
        check=True,
        capture_output=True,
    )


def test_what_is_written_is_read_again(tmp_path):
    results = Results((result(2, outcome="drifted", reason="a | b\n::c"), result(1)), ("-k pie",))
    path = tmp_path / "new" / "results.jsonl"
    results.write(path)
    assert read_results(path) == results
    lines = path.read_bytes().decode().split("\n")
    assert lines[0] == '{"items":2,"miniwob_results":1,"partial":["-k pie"]}'
    assert [json.loads(line)["case"] for line in lines[1:3]] == [
        "other/click-pie/1",
        "other/click-pie/2",
    ]
    assert lines[1] == (
        '{"agent":"reflective","calls":{"plan":2},"case":"other/click-pie/1","category":"other",'
        '"endings":["correct"],"model":"m","outcome":"solved","params":{"temperature":0.0},'
        '"prompts":{"plan.txt":"ab12"},"reason":"","repeat":1,"seed":1,"solved_at":1,"steps":3,'
        '"task":"click-pie","tokens":{"completion":null,"prompt":10}}'
    )
    assert [entry.name for entry in path.parent.iterdir()] == ["results.jsonl"]


def test_samples_belong_to_their_item():
    results = Results((result(repeat=10, outcome="unsolved"), result(repeat=2), result()))
    assert [each.case for each in results.results] == [
        "other/click-pie/1",
        "other/click-pie/1-10",
        "other/click-pie/1-2",
    ]
    samples = results.items["other/click-pie/1"]
    assert [each.repeat for each in samples.results] == [1, 2, 10]
    assert (samples.solved, samples.told) == (2, 3)
    assert samples.count_as_solved()
    assert samples.count_as_solved(2)
    assert not samples.count_as_solved(3)


def test_half_of_the_samples_do_not_count_as_solved():
    results = Results((result(), result(repeat=2, outcome="unsolved")))
    assert not results.items["other/click-pie/1"].count_as_solved()


def test_samples_that_could_not_be_told_do_not_count():
    results = Results((result(), result(repeat=2, outcome="drifted")))
    assert results.items["other/click-pie/1"].share == 1


def test_one_file_holds_one_agent():
    with pytest.raises(UsageError, match=r"click-pie/1 is there twice \(agents reflective and x\)"):
        Results((result(), result(agent="x")))


def test_a_file_that_cannot_be_written(tmp_path):
    (tmp_path / "folder" / "x").mkdir(parents=True)
    with pytest.raises(UsageError, match="folder can't be written"):
        Results((result(),)).write(tmp_path / "folder")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def changed(**fields):
    """The text of a file whose second line has other fields."""
    head, line = Results((result(),)).text().splitlines()
    data = {name: value for name, value in (json.loads(line) | fields).items() if value != "drop"}
    return f"{head}\n{json.dumps(data)}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"^f:1 is no JSON .*write the file again"),
        ("[]\n", r"^f:1 is no JSON object"),
        ('{"a":1}\n', r"^f:1 is not the first line of a results file of version 1"),
        ('{"miniwob_results":2,"partial":[],"items":0}\n', r"^f:1 is not the first line"),
        ('{"miniwob_results":1,"partial":"no","items":0}\n', r"^f:1: partial must be a list"),
        ('{"miniwob_results":1,"partial":[],"items":2}\n', r"^f should hold 2 items .* holds 0"),
        (changed() + "<<<<<<< HEAD\n", r"^f:3 is left over from a merge; take one side whole"),
        (changed() + "\n", r"^f:3 is no JSON"),
        (changed(steps=-1), r"^f:2: steps must be a number, not -1"),
        (changed(steps=True), r"^f:2: steps must be a number, not True"),
        (changed(repeat=0), r"^f:2: repeat must be a number from 1"),
        (changed(outcome="slved"), r"^f:2: outcome must be one of solved, .* not 'slved'"),
        (changed(outcome=["solved"]), r"^f:2: outcome must be one of"),
        (changed(tokens={"prompt": 1}), r"^f:2: tokens must be an object with prompt and"),
        (changed(calls={"plan": "2"}), r"^f:2: calls must be an object of numbers"),
        (changed(model="drop"), r"^f:2: model is missing"),
        (changed(modle="m"), r"^f:2: no field is called 'modle' \(did you mean model"),
        (changed(case="other/click-pie/2"), r"^f:2: case is '.*/2' and should be '.*/1'"),
        (changed(solved_at=None), r"^f:2: other/click-pie/1 is solved, but solved_at None"),
        (changed(outcome="unsolved"), r"^f:2: other/click-pie/1 is unsolved, but solved_at 1"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(text, message):
    with pytest.raises(UsageError, match=message):
        parse_results(text, "f")


def test_a_line_separator_in_a_text_is_no_end_of_line():
    results = Results((result(outcome="error", reason="one\u2028two\x85three"),))
    assert parse_results(results.text(), "f") == results


def test_any_text_is_written_and_read_again(tmp_path):
    results = Results((result(outcome="error", reason="half a pair \ud83d, \x00, \r\n, \\, é"),))
    results.write(tmp_path / "r.jsonl")
    assert read_results(tmp_path / "r.jsonl") == results


def test_no_such_file(tmp_path):
    with pytest.raises(UsageError, match=r"there is no results file .*pytest --miniwob-results="):
        read_results(tmp_path / "none.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="binary can't be read"):
        read_results(tmp_path / "binary")
    with pytest.raises(UsageError, match="can't be read"):
        read_results(tmp_path)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository in whose folder sub a results file was committed twice and then deleted."""
    git(tmp_path, "init", "-q", "-b", "main")
    path = tmp_path / "sub" / "r.jsonl"
    for outcome in ("solved", "unsolved"):
        Results((result(outcome=outcome),)).write(path)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", outcome)
    path.unlink()
    monkeypatch.chdir(path.parent)
    return tmp_path


def test_a_file_as_it_was_at_a_commit(repository):
    assert read_results("git:main:r.jsonl").results[0].outcome == "unsolved"
    assert read_results("git:main~1:r.jsonl").results[0].outcome == "solved"
    assert read_results("git:main~1", beside="r.jsonl").results[0].outcome == "solved"
    assert read_results("git:main", beside=repository / "sub" / "r.jsonl").source == (
        f"git:main:{repository / 'sub' / 'r.jsonl'}"
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("git:main", "names no file; write it as git:REF:PATH"),
        ("git::r.jsonl", "names no file"),
        ("git:no-such:r.jsonl", "there is no commit no-such here; fetch it first.*fetch origin"),
        ("git:origin/x:r.jsonl", "for instance git fetch origin x:refs/remotes/origin/x "),
        ("git:--help:r.jsonl", "there is no commit --help here"),
        ("git:main:none.jsonl", r"main has no file sub/none\.jsonl; .*commit it there"),
        ("git:main:../../r.jsonl", "the file is not inside the repository"),
    ],
)
def test_what_is_not_at_a_commit(repository, source, message):
    with pytest.raises(UsageError, match=message):
        read_results(source)


def test_no_repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageError, match="is in no git repository"):
        read_results("git:main:r.jsonl")


def test_no_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs git, which is not installed"):
        read_results("git:main:r.jsonl")
