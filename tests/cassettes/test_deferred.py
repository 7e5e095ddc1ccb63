"""Deferred recording: requests are written to `pending.jsonl`, answers go into cassettes."""

import json
from itertools import repeat

import pytest
from support.answers import completion
from support.projects import solve_menu
from support.sweeps import swept

from pytest_miniwob_agent import Pending
from pytest_miniwob_agent.cassettes.deferred import read_pending, take_answers, update_pending
from pytest_miniwob_agent.cassettes.files import ItemFiles
from pytest_miniwob_agent.cassettes.modes import Record
from pytest_miniwob_agent.cassettes.recording import RecordedModel, Server

STEM = "reflective/m/click-menu-2/1"
SECRET = "sk-" + "a1" * 20


def item(cassettes, stem=STEM):
    return RecordedModel(ItemFiles(cassettes, stem, Record.DEFER), Server(None), "m", {})


def pending(cassettes, prompt, stem=STEM):
    """The request that waits when an item makes the same call again and again."""
    llm = item(cassettes, stem)
    with pytest.raises(Pending) as waiting:
        list(map(llm.complete, repeat(prompt), repeat("plan")))
    return waiting.value.request


def answer(request, text="DONE"):
    response = {"status_code": 200, "request_id": "r", "body": completion(text)}
    return {"custom_id": request["custom_id"], "response": response, "error": None}


@pytest.fixture
def files(tmp_path):
    request = pending(tmp_path, "one")
    update_pending(tmp_path / "pending.jsonl", {STEM}, [request])
    return tmp_path / "answers.jsonl", tmp_path / "pending.jsonl", tmp_path, request


def write(path, *lines):
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    )


def test_an_answer_is_recorded_in_its_cassette_once(files):
    answers, batch, cassettes, request = files
    waiting = batch.read_text()
    write(answers, answer(request, "click id=1"), answer(request, "click id=1"))
    assert take_answers(*files[:3]) == ["1 completion recorded, 1 recorded before"]
    assert not batch.exists()
    assert item(cassettes).complete("one", "plan").text == "click id=1"
    before = (cassettes / f"{STEM}.partial.yaml").read_bytes()
    batch.write_text(waiting)  # as if the run had died before it wrote the batch file
    assert take_answers(*files[:3]) == ["0 completions recorded, 2 recorded before"]
    assert (cassettes / f"{STEM}.partial.yaml").read_bytes() == before
    assert not batch.exists()


def test_a_second_sample_of_an_equal_prompt_has_another_id(files):
    answers, batch, cassettes, request = files
    write(answers, answer(request))
    take_answers(answers, batch, cassettes)
    second = pending(cassettes, "one")
    assert second["custom_id"] == request["custom_id"].removesuffix("0") + "1"
    update_pending(batch, {STEM}, [second])
    write(answers, answer(second))
    assert take_answers(answers, batch, cassettes) == ["1 completion recorded"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"custom_id": "a/b/c/1#0123-0", "response": None}, "no request with this id is waiting"),
        ({"response": None}, "not a whole line of a batch file"),
        ('{"custom_id": "a/b/c/1#0123-0", "respo', "skipped: not a whole line of a batch file"),
    ],
    ids=["unknown id", "no id", "truncated"],
)
def test_an_unusable_line_is_reported_and_the_others_are_taken(files, line, problem):
    answers, batch, cassettes, request = files
    write(answers, line, answer(request))
    recorded, reported = take_answers(answers, batch, cassettes)
    assert recorded == "1 completion recorded"
    assert problem in reported
    assert f"{answers}:1" in reported


@pytest.mark.parametrize(
    "part",
    [
        {"response": None, "error": {"code": "batch_expired", "message": "too late"}},
        {"response": {"status_code": 429, "body": {"error": {"message": "too late"}}}},
        {"response": {"status_code": 200, "body": {"too late": 1}}},
        {"response": {"status_code": 200, "body": completion(f"too late\n\t{SECRET}")}},
    ],
    ids=["error", "refusal", "no completion", "a secret"],
)
def test_an_error_in_the_answer_file_leaves_the_request_waiting(files, part):
    answers, batch, cassettes, request = files
    write(answers, {**answer(request), **part})
    recorded, problem = take_answers(answers, batch, cassettes)
    assert recorded == "0 completions recorded"
    assert "too late" in problem or "holds what looks like a secret (OpenAI key)" in problem
    assert SECRET not in problem
    assert list(read_pending(batch)) == [request["custom_id"]]
    assert not list(cassettes.glob("**/*.yaml"))


def test_a_damaged_cassette_delays_only_its_own_answer(files):
    answers, batch, cassettes, request = files
    other = pending(cassettes, "two", "reflective/m/click-tab/1")
    update_pending(batch, set(), [other])
    path = cassettes / f"{STEM}.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("<<<<<<< HEAD\n")
    write(answers, answer(request), answer(other))
    recorded, problem = take_answers(answers, batch, cassettes)
    assert recorded == "1 completion recorded"
    assert "a git conflict is not resolved" in problem
    assert list(read_pending(batch)) == [request["custom_id"]]


def test_line_separators_inside_a_text_do_not_end_a_line(tmp_path):
    """U+2028 and the like in a JSON lines file."""
    text = "one\u2028two\x85three\x0cfour"
    request = pending(tmp_path, text)
    batch, answers = tmp_path / "pending.jsonl", tmp_path / "answers.jsonl"
    update_pending(batch, set(), [request])
    assert read_pending(batch) == {request["custom_id"]: request}
    answers.write_text(json.dumps(answer(request, text), ensure_ascii=False), encoding="utf-8")
    assert take_answers(answers, batch, tmp_path) == ["1 completion recorded"]
    assert item(tmp_path).complete(text, "plan").text == text


def test_damaged_and_missing_files_are_reported_before_the_run(project):
    args = ["--miniwob-record=defer"]
    result = project.runpytest(*args, "--miniwob-answers=x.jsonl")
    result.stderr.fnmatch_lines(["*there is no file *x.jsonl"])
    folder = project.mkdir(".miniwob")
    folder.joinpath("pending.jsonl").write_text("garbage\n")
    project.path.joinpath("x.jsonl").touch()
    for extra in ([], ["--miniwob-answers=x.jsonl"]):
        result = project.runpytest(*args, *extra)
        result.stderr.fnmatch_lines(["*pending.jsonl:1 is not a whole line of a batch file*"])
    result = project.runpytest("--miniwob-answers=x.jsonl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--miniwob-answers goes with --miniwob-record=defer*"])


def test_a_run_replaces_the_requests_of_its_own_items_and_drops_those_of_items_that_are_gone(
    files,
):
    _, batch, cassettes, request = files
    tab = "reflective/m/click-tab/1"
    other, mine = pending(cassettes, "two", tab), pending(cassettes, "two", "mine/x/click-pie/2")
    ids = [line["custom_id"] for line in (request, other, mine)]
    assert update_pending(batch, {tab, "mine/x/click-pie/2"}, [other, mine]) == ids
    changed = pending(cassettes, "changed")
    update_pending(batch, {STEM}, [changed])
    assert set(read_pending(batch)) == {changed["custom_id"], *ids[1:]}
    update_pending(batch, {STEM}, [request], {STEM, "mine/x/click-pie/2"})
    assert set(read_pending(batch)) == {ids[0], ids[2]}
    assert update_pending(batch, {STEM}, [], {STEM}) == []
    assert not batch.exists()


@pytest.mark.parametrize("workers", ["-n0", *swept("-n2")])
def test_workers_share_one_batch_file(project, workers):
    args = ["--miniwob-record=defer", "-k", "click-menu-2"]
    batch = project.path / ".miniwob/pending.jsonl"
    result = project.runpytest(*args, "-v")
    assert result.parseoutcomes() == {"waiting": 2, "deselected": 10}
    result.stdout.fnmatch_lines(["*click-menu-2/1* waiting *"])
    first = read_pending(batch)
    texts = [solve_menu(line["body"]["messages"][0]["content"]) for line in first.values()]
    write(project.path / "answers.jsonl", *map(answer, first.values(), texts))
    result = project.runpytest(*args, "--miniwob-answers=answers.jsonl", workers)
    assert result.parseoutcomes()["waiting"] == 2
    result.stdout.fnmatch_lines(["miniwob answers: 2 completions recorded"])
    second = read_pending(batch)
    assert (len(first), len(second), len(first | second)) == (2, 2, 4)


def test_a_quiet_run_names_the_answers_that_it_could_not_take(project):
    write(project.path / "answers.jsonl", {"custom_id": "a/b/c/1#0123-0", "response": None})
    args = ["--miniwob-record=defer", "--miniwob-answers=answers.jsonl", "-k", "click-menu-2/1"]
    result = project.runpytest(*args, "-q")
    result.stdout.fnmatch_lines(["*answers.jsonl:1: a/b/c/1#*: no request with this id is waiting"])
