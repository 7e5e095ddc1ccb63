"""`miniwob-agent batch` against a server that speaks the Batch API over real HTTP."""

import json
import os
import signal
import subprocess
import sys

import pytest
from batch_server import BatchServer, Gate
from projects import solve_menu

from pytest_miniwob_agent.cassettes.batches import Batches
from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.errors import ModelError, UsageError

KEY = "sk-" + "a" * 40


@pytest.fixture
def server():
    server = BatchServer(KEY)
    yield server
    server.close()


@pytest.fixture
def folder(tmp_path, monkeypatch, server):
    """The current folder of a user who records with this server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    return tmp_path


def request(number, model="m", prompt=None):
    prompt = f"prompt {number}\u2028é" if prompt is None else prompt
    return {
        "custom_id": f"reflective/{model}/click-tab/{number}#0123-0",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": model, "messages": [{"role": "user", "content": prompt}]},
    }


def write(folder, *requests):
    path = folder / ".miniwob/pending.jsonl"
    path.parent.mkdir(exist_ok=True)
    text = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in requests)
    path.write_text(text, encoding="utf-8")
    return [each["custom_id"] for each in requests]


def answers(folder):
    """Texts of the answer file, by request id."""
    path = folder / ".miniwob/answers.jsonl"
    lines = path.read_text(encoding="utf-8").strip().split("\n") if path.exists() else []
    answers = [json.loads(line) for line in lines]
    texts = {
        answer["custom_id"]: answer["response"]["body"]["choices"][0]["message"]["content"]
        for answer in answers
    }
    assert len(texts) == len(answers)
    return texts


@pytest.fixture
def batch(capsys):
    """Call `miniwob-agent batch`: exit code, what it printed, and its error line."""

    def batch(*arguments):
        capsys.readouterr()
        code = main(["batch", *arguments])
        out, err = capsys.readouterr()
        assert KEY not in out + err
        return code, out, err

    return batch


def start(*arguments):
    """`miniwob-agent batch` as a process of its own."""
    command = "import sys; from pytest_miniwob_agent.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", command, "batch", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_rounds_record_a_suite(project, server, batch, monkeypatch):
    """Defer, submit, status, fetch, answers, ... until nothing waits; then replay."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    server.reply = solve_menu
    extra = []
    rounds = 0
    while True:
        result = project.runpytest("--miniwob-record=defer", *extra)
        if not (project.path / ".miniwob/pending.jsonl").exists():
            break
        rounds += 1
        assert batch("submit")[0] == 0
        assert batch("status", "--wait")[0] == 0
        code, out, _ = batch("fetch")
        assert code == 0
        next_command = out.splitlines()[-1].partition("next: pytest ")[2]
        extra = next_command.split()[1:]
        assert extra == ["--miniwob-answers=.miniwob/answers.jsonl"]
    items = len(server.submitted) // 3
    assert rounds == 3  # plan, a sentence on what was done, plan
    assert set(server.submitted.values()) == {1}
    result.assert_outcomes(passed=items)
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    result = project.runpytest()
    result.assert_outcomes(passed=items)
    result.stdout.fnmatch_lines([f"model calls: {items * 3} replayed, 0 recorded"])
    code, out, _ = batch("submit")
    assert code == 0
    assert "`pytest --miniwob-record=defer` writes it" in out


def test_what_is_sent_is_what_waits(folder, server, batch):
    requests = [request(2), request(1)]
    write(folder, *requests)
    code, out, _ = batch("submit")
    assert (code, out) == (0, "batch_1  2 requests for m, submitted\n")
    [file] = server.files.values()
    assert server.requests(file["id"]) == [requests[1], requests[0]]
    assert server.batches["batch_1"]["metadata"] == {"file": file["filename"]}


def test_nothing_is_submitted_twice(folder, server, batch):
    server.auto = False
    first = write(folder, request(1), request(2))
    batch("submit")
    code, out, _ = batch("submit")
    assert code == 0
    assert "nothing to submit" in out
    assert "2 requests already in flight: `miniwob-agent batch status`" in out

    second = write(folder, request(1), request(2), request(3))
    _, out, _ = batch("submit")
    assert out.startswith("batch_2  1 request for m, submitted\n")

    server.work("batch_1")
    _, out, _ = batch("submit")
    assert "2 requests already in a batch that is over: `miniwob-agent batch fetch`" in out
    code, out, _ = batch("fetch")
    assert code == 0
    assert "1 batch not over yet: `miniwob-agent batch status --wait`" in out
    assert set(answers(folder)) == set(first)
    _, out, _ = batch("submit")
    assert "2 requests already answered: `pytest --miniwob-record=defer --miniwob-answers=" in out

    server.work("batch_2")
    before = (folder / ".miniwob/answers.jsonl").read_text(encoding="utf-8")
    assert batch("fetch")[0] == 0
    assert set(answers(folder)) == set(second)
    after = (folder / ".miniwob/answers.jsonl").read_text(encoding="utf-8")
    assert after.startswith(before)
    calls = len(server.calls)
    code, out, _ = batch("fetch")
    assert code == 0
    assert out.startswith("nothing new to fetch\n3 requests answered. next: pytest ")
    assert len(server.calls) == calls
    assert (folder / ".miniwob/answers.jsonl").read_text(encoding="utf-8") == after
    assert server.submitted == dict.fromkeys(second, 1)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("call", ["GET /v1/files", "POST /v1/files", "POST /v1/batches"])
@pytest.mark.parametrize("grown", [False, True], ids=["same", "grown"])
def test_killed_while_submitting(folder, server, batch, call, after, grown):
    """At any moment; and also if more requests wait by then."""
    ids = write(folder, request(1), request(2))
    gate = server.fail(call, Gate(), after=after)
    process = start("submit")
    assert gate.reached.wait(60), process.communicate()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    made = len(server.batches)
    assert made == (call == "POST /v1/batches" and after)
    if grown:
        ids = write(folder, request(1), request(2), request(3))

    code, out, _ = batch("status")
    assert code == 1
    assert out == "(no id)  not made yet: `miniwob-agent batch submit` goes on with it\n"
    code, out, _ = batch("submit")
    assert code == 0
    assert out.count("found again") == made
    assert server.submitted == dict.fromkeys(ids, 1)
    assert len(server.files) == len({file["filename"] for file in server.files.values()})
    assert batch("status", "--wait")[0] == 0
    assert batch("fetch")[0] == 0
    assert set(answers(folder)) == set(ids)


def test_killed_while_fetching(folder, server, batch):
    ids = write(folder, request(1), request(2))
    batch("submit")
    server.work("batch_1")
    gate = server.fail("GET /v1/files/file-2/content", Gate())
    process = start("fetch")
    assert gate.reached.wait(60), process.communicate()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert answers(folder) == {}
    assert batch("fetch")[0] == 0
    assert set(answers(folder)) == set(ids)
    assert server.submitted == dict.fromkeys(ids, 1)


def test_a_state_that_is_older_than_the_answers(folder, server, batch):
    """As if the process had died between the two writes."""
    ids = write(folder, request(1), request(2))
    batch("submit")
    state = folder / ".miniwob/batches.json"
    before = state.read_text()
    assert batch("fetch")[0] == 0
    text = (folder / ".miniwob/answers.jsonl").read_text(encoding="utf-8")
    state.write_text(before)
    assert batch("fetch")[0] == 0
    assert (folder / ".miniwob/answers.jsonl").read_text(encoding="utf-8") == text
    assert set(answers(folder)) == set(ids)


def test_a_lost_state(folder, server, batch):
    """The server tells by the name of the file, over as many pages as its lists have."""
    ids = write(folder, *(request(n, f"m{n}") for n in range(5)))
    batch("submit")
    (folder / ".miniwob/batches.json").unlink()
    _, out, _ = batch("submit")
    assert out.count("submitted before and found again") == 5
    assert server.submitted == dict.fromkeys(ids, 1)
    assert batch("fetch")[0] == 0
    assert set(answers(folder)) == set(ids)


def test_fresh_samples(folder, server, batch):
    """Without the state and the file on the server, there is nothing to be found again."""
    write(folder, request(1))
    batch("submit")
    (folder / ".miniwob/batches.json").unlink()
    del server.files["file-1"]
    assert batch("submit")[1] == "batch_2  1 request for m, submitted\n"


def test_two_at_once(folder, server):
    server.auto = False
    ids = write(folder, request(1), request(2))
    gate = server.fail("POST /v1/batches", Gate(), after=True)
    one = start("submit")
    assert gate.reached.wait(60), one.communicate()
    two = start("submit")
    assert two.stdout.readline() == "waiting for another `miniwob-agent batch` to end\n"
    gate.opened.set()
    assert one.communicate()[0] == "batch_1  2 requests for m, submitted\n"
    assert two.communicate()[0].startswith("nothing to submit\n2 requests already in flight")
    assert (one.returncode, two.returncode) == (0, 0)
    assert server.submitted == dict.fromkeys(ids, 1)


def test_a_connection_that_breaks_after_the_batch_was_made(folder, server, batch):
    """The client would try again by itself and make a second one."""
    ids = write(folder, request(1))
    server.fail("POST /v1/batches", "drop", after=True)
    code, _, err = batch("submit")
    assert code == 2
    assert err.startswith(f"miniwob-agent: {server.url} can't be reached: ")
    assert err.endswith("; `miniwob-agent batch submit` goes on from there\n")
    code, out, _ = batch("submit")
    assert (code, out.splitlines()[0]) == (
        0,
        "batch_1  1 request for m, submitted before and found again",
    )
    assert server.submitted == dict.fromkeys(ids, 1)


def test_one_model_a_file_and_the_limits(folder, server):
    requests = [request(n, model) for n in range(5) for model in ("m", "n")]
    ids = write(folder, *requests)
    said = []
    pending = folder / ".miniwob/pending.jsonl"
    Batches(pending, None, said.append, most_requests=2).submit()
    counts = ["2 requests for m", "2 requests for n", "1 request for m", "1 request for n"]
    assert sorted(line.split("  ")[1].split(",")[0] for line in said) == sorted(
        [*counts, *counts[:2]]
    )
    assert server.submitted == dict.fromkeys(ids, 1)
    for file in server.files.values():
        lines = server.requests(file["id"])
        assert len(lines) <= 2
        assert len({line["body"]["model"] for line in lines}) == 1


def test_the_size_of_a_file(folder, server):
    ids = write(folder, *(request(n) for n in range(5)))
    pending = folder / ".miniwob/pending.jsonl"
    Batches(pending, None, print, most_bytes=500).submit()
    sizes = [file["bytes"] for file in server.files.values()]
    assert len(sizes) == 3
    assert max(sizes) <= 500
    assert server.submitted == dict.fromkeys(ids, 1)


def test_a_request_that_is_too_large(folder, server):
    [_, id_] = write(folder, request(1), request(2, prompt="x" * 500))
    batches = Batches(folder / ".miniwob/pending.jsonl", None, print, most_bytes=500)
    with pytest.raises(UsageError, match=f"{id_} has 6.. bytes, the Batch API takes 500"):
        batches.submit()
    assert not server.submitted


def test_requests_that_came_back_as_errors(folder, server, batch):
    server.reply = lambda prompt: "DONE" if "0" in prompt else {"message": "too\nlong"}
    ids = write(folder, *(request(n) for n in range(8)))
    batch("submit")
    code, out, _ = batch("status", "--wait")
    assert code == 1
    assert out == (
        "batch_1  completed  1 completed, 7 failed, 8 in all\nnext: miniwob-agent batch fetch\n"
    )
    code, out, _ = batch("fetch")
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "batch_1  completed  1 answer, 7 errors"
    assert lines[1] == f"  {ids[1]}: too long"
    assert lines[6:8] == ["  and 2 more", "  `miniwob-agent batch submit` submits 7 requests again"]
    server.reply = lambda prompt: "LATER"
    assert batch("submit")[1].startswith("batch_2  7 requests for m, submitted\n")
    assert batch("fetch")[0] == 0
    assert answers(folder) == {ids[0]: "DONE"} | dict.fromkeys(ids[1:], "LATER")


@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_a_part_of_the_answers(folder, server, batch, status):
    server.auto = False
    ids = write(folder, *(request(n) for n in range(3)))
    batch("submit")
    server.work("batch_1", status, upto=2)
    assert batch("status")[0] == 1
    assert "batch fetch`" in batch("submit")[1]  # what was answered is not paid for twice
    assert sum(server.submitted.values()) == 3
    code, out, _ = batch("fetch")
    assert code == 1
    assert f"  {ids[2]}: The batch was {status}.\n" in out
    assert set(answers(folder)) == set(ids[:2])
    assert "batch_2  1 request for m, submitted" in batch("submit")[1]
    assert server.submitted == {ids[0]: 1, ids[1]: 1, ids[2]: 2}
    server.work("batch_2")
    assert batch("fetch")[0] == 0
    assert set(answers(folder)) == set(ids)


def test_a_batch_that_failed_as_a_whole(folder, server, batch):
    """Its requests are submitted again, and once only, though file and content are the same."""
    server.auto = False
    ids = write(folder, request(1))
    batch("submit")
    server.refuse("batch_1", "enqueued token limit reached")
    code, out, _ = batch("status")
    assert code == 1
    assert "batch_1  failed" in out
    assert "enqueued token limit reached" in out
    code, out, _ = batch("fetch")
    assert code == 1
    assert (
        "batch_1 failed without an answer (enqueued token limit reached): "
        "`miniwob-agent batch submit` submits its 1 request again"
    ) in out
    assert batch("submit")[1] == "batch_2  1 request for m, submitted\n"
    assert "already in flight" in batch("submit")[1]
    assert len(server.files) == 1
    server.work("batch_2")
    assert batch("fetch")[0] == 0
    assert set(answers(folder)) == set(ids)


def test_a_failed_batch_is_submitted_again_without_a_fetch(folder, server, batch):
    server.auto = False
    write(folder, request(1))
    batch("submit")
    server.refuse("batch_1", "no")
    out = batch("submit")[1]
    assert "batch_1 failed without an answer (no)" in out
    assert "batch_2  1 request for m, submitted" in out


def test_answers_that_the_server_has_dropped(folder, server, batch):
    ids = write(folder, request(1))
    batch("submit")
    server.work("batch_1")
    del server.files["file-2"]
    code, out, _ = batch("fetch")
    assert code == 1
    assert "batch_1: file-2 is no longer on the server\n" in out
    assert f"  {ids[0]}: no answer came back\n" in out
    assert "batch_2  1 request for m, submitted" in batch("submit")[1]


def test_a_reply_without_a_text_is_an_error(folder, server, batch):
    server.reply = lambda prompt: None
    write(folder, request(1))
    batch("submit")
    code, out, _ = batch("fetch")
    assert code == 1
    assert "no completion: " in out
    assert not (folder / ".miniwob/answers.jsonl").exists()
    assert batch("submit")[1] == "batch_2  1 request for m, submitted\n"


def test_a_batch_that_expired_without_an_answer(folder, server, batch):
    server.auto = False
    write(folder, request(1))
    batch("submit")
    server.batches["batch_1"]["status"] = "expired"
    out = batch("submit")[1]
    assert "batch_1 expired without an answer: `" in out
    assert "batch_2  1 request for m, submitted" in out
    assert "1 request already in flight" in batch("submit")[1]


def test_status_of_several(folder, server, batch):
    server.auto = False
    write(folder, request(1), request(2, "n"), request(3, "o"))
    batch("submit")
    server.work("batch_1")
    batch("fetch")
    server.work("batch_2")
    assert batch("status") == (
        0,
        "batch_1  fetched  1 request\n"
        "batch_2  completed  1 completed, 0 failed, 1 in all\n"
        "batch_3  in_progress  0 completed, 0 failed, 1 in all\n"
        "next: miniwob-agent batch fetch\n",
        "",
    )


def test_waiting_tells_how_far_it_is(folder, server):
    server.auto = False
    write(folder, request(1), request(2))
    said, told = [], []
    batches = Batches(folder / ".miniwob/pending.jsonl", None, said.append)
    batches.submit()

    def progress(text):
        told.append(text)
        server.work("batch_1")

    assert batches.status(progress)
    assert told == ["1 batch to go, 0 of 2 requests done", ""]
    assert said[-2] == "batch_1  completed  2 completed, 0 failed, 2 in all"


def test_waiting_can_be_interrupted(folder, server, batch):
    server.auto = False
    ids = write(folder, request(1))
    batch("submit")
    process = start("status", "--wait")
    gate = server.fail("GET /v1/batches/batch_1", Gate())
    assert gate.reached.wait(60), process.communicate()
    gate.opened.set()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err == "interrupted; nothing is lost, run it again to continue\n"
    server.work("batch_1")
    assert batch("fetch")[0] == 0
    assert set(answers(folder)) == set(ids)


@pytest.mark.parametrize("step", ["status", "fetch"])
def test_nothing_was_submitted(folder, batch, step):
    code, out, _ = batch(step)
    assert code == 0
    assert out == (
        "nothing was submitted: there is no .miniwob/batches.json; `miniwob-agent batch submit`\n"
    )


def test_nothing_waits(folder, batch):
    code, out, _ = batch("submit")
    assert code == 0
    assert out.startswith("nothing to submit: there is no .miniwob/pending.jsonl; `pytest ")
    assert list(folder.iterdir()) == []


def test_files_elsewhere(folder, server, batch):
    write(folder, request(1))
    (folder / ".miniwob").rename(folder / "of mine")
    option = "--pending=of mine/pending.jsonl"
    batch("submit", option)
    code, out, _ = batch("fetch", option)
    assert code == 0
    assert out.endswith("--miniwob-answers='of mine/answers.jsonl'\n")
    assert (folder / "of mine/answers.jsonl").exists()


def files_of(folder):
    return {
        path.name: path.read_bytes()
        for path in (folder / ".miniwob").iterdir()
        if path.name != "batches.lock"
    }


ERRORS = {
    "refused": (403, "status 403"),
    "too many": (429, "status 429"),
    "broken": (500, "status 500"),
    "a page": (b"<html>\n<h1>Log\nin</h1></html>", "answered"),
    "no batch": ({}, "answered"),
    "a list": ([], "answered"),
}


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize(
    "call", ["GET /v1/files", "POST /v1/files", "POST /v1/batches", "GET /v1/batches"]
)
def test_errors_while_submitting(folder, server, batch, call, name):
    """One batch is to be found again, and one to be made."""
    how, text = ERRORS[name]
    ids = write(folder, request(1, "a"))
    batch("submit")
    (folder / ".miniwob/batches.json").unlink()
    ids = write(folder, request(1, "a"), request(2, "b"))
    server.fail(call, how, times=6)
    code, _, err = batch("submit")
    assert code == 2
    assert err.startswith(f"miniwob-agent: {server.url} ")
    assert text in err
    assert err.count("\n") == 1
    server.faults.clear()
    assert batch("submit")[0] == 0
    assert batch("fetch")[0] == 0
    assert set(answers(folder)) == set(ids)
    assert server.submitted == dict.fromkeys(ids, 1)


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("call", ["GET /v1/batches/batch_2", "GET /v1/files/file-4/content"])
def test_errors_while_fetching(folder, server, batch, call, name):
    how, _ = ERRORS[name]
    ids = write(folder, request(1), request(2))
    batch("submit")
    batch("fetch")
    ids = write(folder, request(1), request(2), request(3))
    batch("submit")
    server.work("batch_2")
    before = files_of(folder)
    server.fail(call, how, times=6)
    code, out, err = batch("fetch")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert files_of(folder) == before
    server.faults.clear()
    assert batch("fetch")[0] == 0
    assert set(answers(folder)) == set(ids)


def test_a_download_that_breaks_off(folder, server, batch):
    ids = write(folder, request(1), request(2))
    batch("submit")
    server.work("batch_1")
    server.fail("GET /v1/files/file-2/content", "cut")
    assert batch("fetch")[0] == 0  # the client tries again
    assert set(answers(folder)) == set(ids)


def test_answers_cut_off_on_the_server(folder, server, batch):
    write(folder, request(1), request(2))
    batch("submit")
    server.work("batch_1")
    whole = server.files["file-2"]["content"]
    server.files["file-2"]["content"] = whole[:-20]
    before = files_of(folder)
    code, _, err = batch("fetch")
    assert code == 2
    assert err == ("miniwob-agent: file-2 of batch_1, line 2, is no answer of a batch file\n")
    assert files_of(folder) == before
    server.files["file-2"]["content"] = whole
    assert batch("fetch")[0] == 0


def test_a_wrong_key(folder, server, batch, monkeypatch):
    write(folder, request(1))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "b" * 40)
    code, _, err = batch("submit")
    assert code == 2
    assert "Error code: 401 - Incorrect API key" in err


def test_no_key(folder, server, batch, monkeypatch):
    write(folder, request(1))
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    code, _, err = batch("submit")
    assert code == 2
    assert "needs OPENAI_API_KEY in the environment" in err
    assert "--base-url" in err


@pytest.mark.parametrize("url", ["127.0.0.1:8000/v1", "ftp://127.0.0.1/v1", "http://[/v1", "http:"])
def test_no_address(folder, batch, url):
    write(folder, request(1))
    code, _, err = batch("submit", f"--base-url={url}")
    assert code == 2
    assert "names no http or https address" in err


def test_nobody_listens(folder, batch):
    closed = BatchServer()
    closed.close()
    write(folder, request(1))
    batches = Batches(folder / ".miniwob/pending.jsonl", closed.url, print, retries=0)
    with pytest.raises(ModelError, match=r"can't be reached: .*refused"):
        batches.submit()


def test_another_server(folder, server, batch):
    """The state says whose batches these are, and no password is in it."""
    server.key = None
    address = server.url.replace("//", "//me:" + "s" * 20 + "@")
    other = BatchServer()
    try:
        server.auto = False
        ids = write(folder, request(1))
        assert batch("submit", f"--base-url={address}")[0] == 0
        assert "s" * 20 not in (folder / ".miniwob/batches.json").read_text()
        for step in "submit", "status", "fetch":
            code, _, err = batch(step, f"--base-url={other.url}/")
            assert code == 2
            assert f"are on {server.url}, not on {other.url}: name that server" in err
        assert batch("status", f"--base-url={server.url}/")[0] == 0
        server.work("batch_1")
        assert batch("fetch")[0] == 0
        write(folder, request(2))
        assert batch("submit", f"--base-url={other.url}")[0] == 0  # nothing is left on the first
        assert server.submitted == dict.fromkeys(ids, 1)
    finally:
        other.close()


@pytest.mark.parametrize("name", ["pending.jsonl", "batches.json", "answers.jsonl"])
def test_a_damaged_file(folder, server, batch, name):
    write(folder, request(1))
    (folder / ".miniwob" / name).write_text("garbage\n")
    before = files_of(folder)
    for step in "submit", "fetch":
        if step == "fetch" and name != "batches.json":
            continue
        code, _, err = batch(step)
        assert code == 2
        assert name in err
        assert files_of(folder) == before
    assert not server.submitted


def test_a_request_without_a_model(folder, server, batch):
    write(folder, {**request(1), "body": {}})
    code, _, err = batch("submit")
    assert code == 2
    assert "has no body with a model" in err


def test_a_folder_in_the_place_of_the_file(folder, batch):
    (folder / ".miniwob/pending.jsonl").mkdir(parents=True)
    code, _, err = batch("submit")
    assert code == 2
    assert "pending.jsonl" in err


def test_help_names_the_steps(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["batch", "--help"])
    out = capsys.readouterr().out
    for step in "submit", "status --wait", "fetch":
        assert f"miniwob-agent batch {step}" in out
