"""Deferred recording: batch files out, answers in."""

import json

import pytest
from projects import solve_menu

from pytest_miniwob_agent.cassettes.item import ItemCassette, Record
from pytest_miniwob_agent.cassettes.pending import read_pending, take_answers, update_pending
from pytest_miniwob_agent.core.errors import UsageError

STEM = "reflective/m/click-menu-2/1"


def body(prompt):
    return {"model": "m", "messages": [{"role": "user", "content": prompt}]}


def pending(cassettes, prompt, stem=STEM):
    cassette = ItemCassette(cassettes, stem, Record.DEFER)
    return cassette.missing_call(json.dumps(body(prompt)).encode()).request


def answer(request, text="DONE"):
    """A line of a Batch API output file."""
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}],
    }
    return {
        "id": "batch_req_1",
        "custom_id": request["custom_id"],
        "response": {"status_code": 200, "request_id": "r", "body": completion},
        "error": None,
    }


@pytest.fixture
def files(tmp_path):
    """Answer file, batch file with one request, and the cassette folder."""
    request = pending(tmp_path, "one")
    update_pending(tmp_path / "pending.jsonl", {STEM}, [request])
    return tmp_path / "answers.jsonl", tmp_path / "pending.jsonl", tmp_path, request


def write(path, *lines):
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    )


def test_an_answer_goes_into_its_cassette(files):
    answers, batch, cassettes, request = files
    write(answers, answer(request, "click id=1"))
    taken = take_answers(answers, batch, cassettes)
    assert (taken.recorded, taken.already, taken.problems) == (1, 0, [])
    assert not batch.exists()
    cassette = ItemCassette(cassettes, STEM, Record.DEFER)
    assert cassette.replay(json.dumps(body("one")).encode()).text == "click id=1"


def test_the_same_file_twice_records_nothing_twice(files):
    answers, batch, cassettes, request = files
    write(answers, answer(request), answer(request))
    assert str(take_answers(answers, batch, cassettes)) == (
        "1 completions recorded, 1 were recorded before"
    )
    before = (cassettes / f"{STEM}.partial.yaml").read_bytes()
    taken = take_answers(answers, batch, cassettes)
    assert (taken.recorded, taken.already) == (0, 2)
    assert (cassettes / f"{STEM}.partial.yaml").read_bytes() == before


def test_answers_taken_before_a_crash_are_not_taken_again(files):
    answers, batch, cassettes, request = files
    write(answers, answer(request))
    waiting = batch.read_text()
    take_answers(answers, batch, cassettes)
    batch.write_text(waiting)  # as if the run had died before it wrote the batch file
    taken = take_answers(answers, batch, cassettes)
    assert (taken.recorded, taken.already) == (0, 1)
    assert not batch.exists()


def test_a_second_sample_of_an_equal_prompt_has_an_id_of_its_own(files):
    answers, batch, cassettes, request = files
    write(answers, answer(request))
    take_answers(answers, batch, cassettes)
    second = pending(cassettes, "one")
    assert second["custom_id"] == request["custom_id"].removesuffix("0") + "1"
    update_pending(batch, {STEM}, [second])
    write(answers, answer(second))
    assert take_answers(answers, batch, cassettes).recorded == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"custom_id": "a/b/c/1#0123-0", "response": None}, "no request with this id is waiting"),
        ({"response": None}, "is no answer of a batch file"),
        ({"custom_id": ["x"]}, "no request with this id is waiting"),
        ("[1]", "is no answer of a batch file"),
        ("words", "is no answer of a batch file"),
    ],
)
def test_lines_of_no_use_are_told_and_the_others_taken(files, line, problem):
    answers, batch, cassettes, request = files
    write(answers, line, answer(request))
    taken = take_answers(answers, batch, cassettes)
    assert taken.recorded == 1
    [told] = taken.problems
    assert problem in told
    assert f"{answers}:1" in told


@pytest.mark.parametrize(
    "part",
    [
        {"response": None, "error": {"code": "batch_expired", "message": "too late"}},
        {"response": {"status_code": 429, "body": {"error": {"message": "too late"}}}},
        {"response": {"status_code": 200, "body": {"too late": 1}}},
        {"response": "too late", "error": "too late"},
    ],
)
def test_an_error_inside_the_file_leaves_the_request_waiting(files, part):
    answers, batch, cassettes, request = files
    write(answers, {**answer(request), **part})
    taken = take_answers(answers, batch, cassettes)
    assert taken.recorded == 0
    assert "too late" in taken.problems[0]
    assert list(read_pending(batch)) == [request["custom_id"]]
    assert not list(cassettes.glob("**/*.yaml"))


def test_a_damaged_cassette_holds_up_only_its_own_answer(files):
    answers, batch, cassettes, request = files
    other = pending(cassettes, "two", "reflective/m/click-tab/1")
    update_pending(batch, set(), [other])
    path = cassettes / f"{STEM}.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("<<<<<<< HEAD\n")
    write(answers, answer(request), answer(other))
    taken = take_answers(answers, batch, cassettes)
    assert taken.recorded == 1
    assert "a git conflict is not resolved" in taken.problems[0]
    assert list(read_pending(batch)) == [request["custom_id"]]


def test_a_truncated_last_line(files):
    answers, batch, cassettes, request = files
    other = pending(cassettes, "two", "reflective/m/click-tab/1")
    update_pending(batch, set(), [other])
    write(answers, answer(request), json.dumps(answer(other))[:60])
    taken = take_answers(answers, batch, cassettes)
    assert taken.recorded == 1
    assert taken.problems == [f"{answers}:2 is cut off: passed over"]
    assert list(read_pending(batch)) == [other["custom_id"]]


def test_line_separators_inside_of_texts(tmp_path):
    """U+2028 and its like end no line of a JSON lines file."""
    text = "one\u2028two\x85three\x0cfour"
    request = pending(tmp_path, text)
    batch, answers = tmp_path / "pending.jsonl", tmp_path / "answers.jsonl"
    update_pending(batch, set(), [request])
    assert read_pending(batch) == {request["custom_id"]: request}
    answers.write_text(json.dumps(answer(request, text), ensure_ascii=False), encoding="utf-8")
    assert take_answers(answers, batch, tmp_path).recorded == 1
    replayed = ItemCassette(tmp_path, STEM, Record.DEFER).replay(json.dumps(body(text)).encode())
    assert replayed.text == text


def test_a_damaged_batch_file_is_told_of_before_the_run(project):
    folder = project.mkdir(".miniwob")
    folder.joinpath("pending.jsonl").write_text("garbage\n")
    result = project.runpytest("--miniwob-record=defer")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*pending.jsonl:1 is no request of a batch file*"])


def test_no_answer_file(files):
    answers, batch, cassettes, _ = files
    with pytest.raises(UsageError, match="there is no file"):
        take_answers(answers, batch, cassettes)


def test_a_damaged_batch_file(files):
    answers, batch, cassettes, request = files
    write(answers, answer(request))
    batch.write_text("garbage\n")
    with pytest.raises(UsageError, match=r"pending\.jsonl:1 is no request"):
        take_answers(answers, batch, cassettes)


def test_a_run_replaces_what_its_own_items_waited_for(files):
    _, batch, cassettes, _ = files
    other = pending(cassettes, "two", "reflective/m/click-tab/1")
    update_pending(batch, {"reflective/m/click-tab/1"}, [other])
    changed = pending(cassettes, "changed")
    assert update_pending(batch, {STEM}, [changed]) == 2
    assert set(read_pending(batch)) == {other["custom_id"], changed["custom_id"]}
    assert update_pending(batch, {STEM, "reflective/m/click-tab/1"}, []) == 0
    assert not batch.exists()


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_rounds_record_a_suite(project, workers):
    """Without a live call: defer, answer, defer, ... until nothing waits; then replay."""
    batch = project.path / ".miniwob/pending.jsonl"
    asked = []
    extra = []
    for _ in range(6):
        result = project.runpytest("--miniwob-record=defer", workers, *extra)
        if not batch.exists():
            break
        waiting = [json.loads(line) for line in batch.read_text(encoding="utf-8").splitlines()]
        assert result.parseoutcomes() == {"waiting": len(waiting)}
        result.stdout.fnmatch_lines([f"requests that wait for a completion: {len(waiting)}, in *"])
        asked.append(len(waiting))
        write(
            project.path / "answers.jsonl",
            *(
                answer(request, solve_menu(request["body"]["messages"][0]["content"]))
                for request in waiting
            ),
        )
        extra = ["--miniwob-answers=answers.jsonl"]
    items = asked[0]
    assert asked == [items] * 3  # plan, a sentence on what was done, plan
    result.assert_outcomes(passed=items)
    result = project.runpytest(workers)
    result.assert_outcomes(passed=items)
    result.stdout.fnmatch_lines([f"model calls: {items * 3} replayed, 0 recorded"])


def test_waiting_items_are_counted_as_such(project):
    result = project.runpytest("--miniwob-record=defer", "-v", "-k", "click-menu-2")
    assert result.parseoutcomes() == {"waiting": 2, "deselected": 10}
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*click-menu-2/1* waiting *"])


def test_answers_go_with_defer_only(project):
    result = project.runpytest("--miniwob-answers=x.jsonl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--miniwob-answers goes with --miniwob-record=defer*"])
