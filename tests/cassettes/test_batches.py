"""`miniwob-agent batch` against a server that speaks the Batch API over real HTTP."""

import gc
import hashlib
import json
import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest
from batch_server import BatchServer, Gate
from projects import solve_menu

from pytest_miniwob_agent import ModelError
from pytest_miniwob_agent.cassettes.deferred.batches import KEPT, Batches
from pytest_miniwob_agent.cli import main

KEY = "sk-" + "a" * 40
LEAK = "ghp_" + "a1" * 18


@pytest.fixture
def server():
    server = BatchServer(KEY)
    yield server
    server.close()


@pytest.fixture
def folder(tmp_path, monkeypatch, server):
    """The current folder, with the key and the address of the server in the environment."""
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
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in requests)
    path.write_text(text, encoding="utf-8")
    return [line["custom_id"] for line in requests]


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
    """Call `miniwob-agent batch`, which exits with a code; what it prints, or its error line."""

    def batch(*arguments, code=0):
        capsys.readouterr()
        assert main(["batch", *arguments]) == code
        out, err = capsys.readouterr()
        assert KEY not in out + err
        return err if code == 2 else out

    return batch


def start(*arguments):
    """Start `miniwob-agent batch` in another process."""
    command = "import sys; from pytest_miniwob_agent.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", command, "batch", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_rounds_of_batches_record_a_suite(project, server, batch, monkeypatch):
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
        batch("submit")
        batch("status", "--wait")
        out = batch("fetch")
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
    out = batch("submit")
    assert "`pytest --miniwob-record=defer` writes it" in out


def test_the_waiting_requests_are_uploaded_sorted_under_the_digest_of_their_content(
    folder, server, batch
):
    requests = [request(2), request(1)]
    write(folder, *requests)
    assert batch("submit") == "batch_1  2 requests for m, submitted\n"
    [file] = server.files.values()
    assert server.requests(file["id"]) == [requests[1], requests[0]]
    digest = hashlib.sha256(file["content"].encode()).hexdigest()[:32]
    assert file["filename"] == f"miniwob-{digest}.jsonl"


def test_no_request_is_submitted_twice(folder, server, batch):
    server.auto = False
    first = write(folder, request(1), request(2))
    batch("submit")
    out = batch("submit")
    assert out == ("nothing to submit\n2 requests in flight: `miniwob-agent batch status --wait`\n")
    second = write(folder, request(1), request(2), request(3))
    out = batch("submit")
    assert out.startswith("batch_2  1 request for m, submitted\n")
    server.work("batch_1")
    out = batch("submit")  # takes what is answered
    assert out.splitlines() == [
        "batch_1  completed  2 answers, 0 errors",
        "nothing to submit",
        "1 request in flight: `miniwob-agent batch status --wait`",
        "2 requests answered. next: "
        "pytest --miniwob-record=defer --miniwob-answers=.miniwob/answers.jsonl",
    ]
    assert set(answers(folder)) == set(first)
    server.work("batch_2")
    before = (folder / ".miniwob/answers.jsonl").read_text(encoding="utf-8")
    batch("fetch")
    assert set(answers(folder)) == set(second)
    after = (folder / ".miniwob/answers.jsonl").read_text(encoding="utf-8")
    assert after.startswith(before)
    calls = len(server.calls)
    out = batch("fetch")
    assert out.startswith("3 requests answered. next: pytest ")
    assert len(server.calls) == calls
    assert (folder / ".miniwob/answers.jsonl").read_text(encoding="utf-8") == after
    assert server.submitted == dict.fromkeys(second, 1)


def test_answers_are_found_on_the_server_again_by_whoever_has_the_same_requests(
    folder, server, batch
):
    """Over several pages of the lists; not those of batches that are older than the answers."""
    ids = write(folder, *(request(n, f"m{n}") for n in range(5)))
    batch("submit")
    write(folder, *(request(n, f"m{n}") for n in range(6)))
    server.batches["batch_3"]["created_at"] -= KEPT
    out = batch("submit")
    assert out.count("  completed  1 answer, 0 errors") == 4
    again = server.batches["batch_6"]["input_file_id"], server.batches["batch_7"]["input_file_id"]
    assert "file-3" in again  # the file is uploaded once
    assert server.submitted[ids[2]] == 2
    assert sum(server.submitted.values()) == 7
    server.files.clear()  # as if they were deleted at the provider, to get other answers
    (folder / ".miniwob/answers.jsonl").unlink()
    assert batch("submit").count("submitted\n") == 6


def test_an_answer_with_a_key_is_not_kept_and_asked_for_again(folder, server, batch):
    first, second = write(folder, request(1), request(2))
    server.reply = lambda prompt: f"line\n{LEAK}" if "prompt 2" in prompt else "DONE"
    batch("submit")
    out = batch("fetch", code=1)
    assert "its completion holds what looks like a secret (GitHub token), and is not kept" in out
    assert "1 request failed: `miniwob-agent batch submit` submits them again\n" in out
    assert answers(folder) == {first: "DONE"}
    for path in folder.rglob("*.*"):
        assert LEAK not in (path.read_text() if path.is_file() else "")
    server.reply = lambda prompt: "LATER"
    batch("submit")
    batch("fetch")
    assert answers(folder) == {first: "DONE", second: "LATER"}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("call", "after", "grown"),
    [
        ("POST /v1/files", False, False),
        ("POST /v1/files", True, True),
        ("POST /v1/batches", True, False),
        ("POST /v1/batches", True, True),
    ],
    ids=["before all", "with the file, grown", "with the batch", "with the batch, grown"],
)
def test_a_killed_submit_is_continued_without_submitting_twice(
    folder, server, batch, call, after, grown
):
    """With what the server has by then; `grown`: then more requests are pending."""
    ids = write(folder, request(1), request(2))
    gate = server.fail(call, Gate(), after=after)
    process = start("submit")
    assert gate.reached.wait(60), process.communicate()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    if grown:
        ids = write(folder, request(1), request(2), request(3))

    batch("submit")
    assert server.submitted == dict.fromkeys(ids, 1)
    assert len(server.files) == len({file["filename"] for file in server.files.values()})
    batch("fetch")
    assert set(answers(folder)) == set(ids)


@pytest.mark.integration
def test_a_second_call_waits_for_the_first(folder, server):
    server.auto = False
    ids = write(folder, request(1), request(2))
    gate = server.fail("POST /v1/batches", Gate(), after=True)
    first = start("submit")
    assert gate.reached.wait(60), first.communicate()
    second = start("submit")
    gate.opened.set()
    assert first.communicate()[0] == "batch_1  2 requests for m, submitted\n"
    assert second.communicate()[0].startswith("nothing to submit\n2 requests in flight")
    assert server.submitted == dict.fromkeys(ids, 1)


def test_a_batch_is_found_again_after_its_connection_broke(folder, server, batch):
    """The client would repeat the call by itself and make a second batch."""
    ids = write(folder, request(1))
    server.fail("POST /v1/batches", "drop", after=True)
    err = batch("submit", code=2)
    assert err.startswith(f"miniwob-agent: {server.url} can't be reached: ")
    assert err.endswith("; `miniwob-agent batch submit` continues from there\n")
    server.auto = False
    assert batch("submit").startswith("nothing to submit\n1 request in flight")
    assert server.submitted == dict.fromkeys(ids, 1)


@pytest.mark.parametrize("limits", [(2, 10_000), (10, 500)], ids=["requests", "bytes"])
def test_a_file_has_one_model_and_a_limited_size(folder, server, limits):
    ids = write(folder, *(request(n, model) for n in range(5) for model in ("m", "n")))
    lines = []
    pending = folder / ".miniwob/pending.jsonl"
    with closing(Batches(pending, None, lines.append, limits=limits)) as batches:
        batches.submit()
    counts = sorted(line.split("  ")[1].split(",")[0] for line in lines)
    assert counts == [
        "1 request for m", "1 request for n",
        *["2 requests for m"] * 2, *["2 requests for n"] * 2,
    ]  # fmt: skip
    assert max(file["bytes"] for file in server.files.values()) <= limits[1]
    assert server.submitted == dict.fromkeys(ids, 1)


def test_requests_answered_by_errors_are_submitted_again(folder, server, batch):
    server.reply = lambda prompt: "DONE" if "0" in prompt else {"message": "too\nlong"}
    ids = write(folder, *(request(n) for n in range(8)))
    batch("submit")
    out = batch("status", "--wait", code=1)
    assert out == (
        "batch_1  completed  1 completed, 7 failed, 8 in all\nnext: miniwob-agent batch fetch\n"
    )
    out = batch("fetch", code=1)
    lines = out.splitlines()
    assert lines[0] == "batch_1  completed  1 answer, 7 errors"
    assert lines[1] == f"  {ids[1]}: too long"
    assert lines[6:8] == [
        "  and 2 more",
        "7 requests failed: `miniwob-agent batch submit` submits them again",
    ]
    server.reply = lambda prompt: "LATER"
    assert "\nbatch_2  7 requests for m, submitted\n" in batch("submit")
    batch("fetch")
    assert answers(folder) == {ids[0]: "DONE"} | dict.fromkeys(ids[1:], "LATER")


def test_the_answers_of_an_incomplete_batch_are_kept(folder, server, batch):
    server.auto = False
    ids = write(folder, *(request(n) for n in range(3)))
    batch("submit")
    server.work("batch_1", "expired", upto=2)
    batch("status", code=1)
    out = batch("fetch", code=1)
    assert f"  {ids[2]}: The batch was expired.\n" in out
    assert set(answers(folder)) == set(ids[:2])
    assert "batch_2  1 request for m, submitted" in batch("submit")
    assert server.submitted == {ids[0]: 1, ids[1]: 1, ids[2]: 2}


def test_requests_of_a_failed_batch_are_submitted_again_once(folder, server, batch):
    """Though file and content are the same."""
    server.auto = False
    ids = write(folder, request(1))
    batch("submit")
    server.refuse("batch_1", "enqueued token limit reached")
    out = batch("status", code=1)
    assert "batch_1  failed  0 completed, 0 failed, 1 in all: enqueued token limit reached" in out
    out = batch("fetch", code=1)
    assert "batch_1  failed  0 answers, 1 error: enqueued token limit reached" in out
    assert "batch_2  1 request for m, submitted\n" in batch("submit")
    assert "1 request in flight" in batch("submit")
    assert len(server.files) == 1
    server.work("batch_2")
    batch("fetch")
    assert set(answers(folder)) == set(ids)


def test_requests_without_a_completion_are_submitted_again(folder, server, batch):
    """As the server has dropped it, or as the answer is empty."""
    server.reply = lambda prompt: None if "2" in prompt else "DONE"
    first, second = write(folder, request(1, "m"), request(2, "n"))
    batch("submit")
    server.work("batch_1")
    server.work("batch_2")
    del server.files["file-3"]
    out = batch("fetch", code=1)
    assert f"  {first}: no answer came back\n" in out
    assert f"  {second}: answered with no chat completion that has a text" in out
    assert not (folder / ".miniwob/answers.jsonl").exists()
    assert batch("submit").count("submitted\n") == 2


def test_status_shows_each_batch_on_a_line(folder, server, batch):
    server.auto = False
    write(folder, request(1), request(2, "n"), request(3, "o"))
    batch("submit")
    server.work("batch_1")
    batch("fetch")
    server.work("batch_2")
    write(folder, request(1), request(2, "n"), request(3, "o"), request(4))
    assert batch("status") == (
        "batch_2  completed  1 completed, 0 failed, 1 in all\n"
        "batch_3  in_progress  0 completed, 0 failed, 1 in all\n"
        "1 request not submitted: `miniwob-agent batch submit`\n"
        "next: miniwob-agent batch fetch\n"
    )


@pytest.mark.parametrize("how", [None, 403])
def test_a_step_closes_its_connection(folder, server, batch, how):
    """It does not leave that to the garbage collector, which may warn of it at any time."""
    write(folder, request(1))
    if how:
        server.fail("POST /v1/files", how)
    gc.disable()
    try:
        batch("submit", code=2 if how else 0)
        assert server.calls
        assert server.wait_until_left()
    finally:
        gc.enable()


def test_status_reports_progress_while_it_waits(folder, server):
    server.auto = False
    write(folder, request(1), request(2))
    lines, progress = [], []

    def wait(text):
        progress.append(text)
        server.work("batch_1")

    with closing(
        Batches(folder / ".miniwob/pending.jsonl", None, lines.append, pause=0)
    ) as batches:
        batches.submit()
        assert batches.status(wait)
    assert progress == ["1 batch running, 0 of 2 requests done", ""]
    assert lines[-2] == "batch_1  completed  2 completed, 0 failed, 2 in all"


@pytest.mark.integration
def test_waiting_can_be_interrupted_with_ctrl_c(folder, server, batch):
    server.auto = False
    ids = write(folder, request(1))
    batch("submit")
    process = start("status", "--wait")
    gate = server.fail("GET /v1/batches", Gate())
    assert gate.reached.wait(60), process.communicate()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    # Python ends by the signal itself if it interrupted source that was being executed from a text,
    # as some imports do, though the interrupt was handled; a shell shows 130 for both.
    assert process.returncode in (130, -signal.SIGINT)
    assert err == "interrupted; nothing is lost, run it again to continue\n"
    server.work("batch_1")
    batch("fetch")
    assert set(answers(folder)) == set(ids)


@pytest.mark.parametrize("step", ["submit", "status", "fetch"])
def test_a_step_without_a_batch_file_says_how_to_get_one(folder, batch, step):
    out = batch(step)
    assert out.startswith("no request is pending in .miniwob/pending.jsonl; `pytest ")
    assert list(folder.iterdir()) == []


def test_the_answers_are_beside_the_named_batch_file(folder, server, batch):
    write(folder, request(1))
    (folder / ".miniwob").rename(folder / "my files")
    option = "--pending=my files/pending.jsonl"
    batch("submit", option)
    named = "--pending='my files/pending.jsonl'"
    out = batch("status", option, f"--base-url={server.url}")
    assert out.endswith(f"next: miniwob-agent batch fetch {named} --base-url={server.url}\n")
    out = batch("fetch", option)
    assert out.endswith("--miniwob-answers='my files/answers.jsonl'\n")
    assert (folder / "my files/answers.jsonl").exists()


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
    "a page": (b"<html>\n<h1>Log\nin</h1></html>", "gave an invalid answer for"),
    "no batch": ({}, "gave an invalid answer for"),
    "a list": ([], "gave an invalid answer for"),
}


@pytest.mark.parametrize(
    "call",
    ["GET /v1/files", "POST /v1/files", "POST /v1/batches", "GET /v1/batches",
     "GET /v1/files/file-1/content", "GET /v1/files/file-2/content"],
)  # fmt: skip
def test_every_error_is_one_line_and_submit_continues(folder, server, batch, call):
    """One batch has to be found and read, and one to be made."""
    write(folder, request(1, "a"))
    batch("submit")
    ids = write(folder, request(1, "a"), request(2, "b"))
    for name, (how, text) in ERRORS.items():
        if "content" in call and not isinstance(how, int):
            continue  # any other content is one of a file
        server.fail(call, how, times=6)
        err = batch("submit", code=2)
        assert err.startswith(f"miniwob-agent: {server.url} "), name
        assert text in err, name
        assert err.count("\n") == 1, name
        server.faults.clear()
    batch("submit")
    batch("fetch")
    assert set(answers(folder)) == set(ids)
    assert server.submitted == dict.fromkeys(ids, 1)


def test_truncated_answers_are_an_error_and_change_no_file(folder, server, batch):
    write(folder, request(1), request(2))
    batch("submit")
    server.work("batch_1")
    server.files["file-2"]["content"] = server.files["file-2"]["content"][:-20]
    before = files_of(folder)
    err = batch("fetch", code=2)
    assert err == "miniwob-agent: file-2, line 2, is not an answer of a batch file\n"
    assert files_of(folder) == before


@pytest.mark.parametrize(
    ("key", "url", "message"),
    [
        ("sk-" + "b" * 40, None, "Error code: 401 - Incorrect API key"),
        ("", "", "needs OPENAI_API_KEY in the environment, or a server of your own named by "),
        (KEY, "127.0.0.1:8000/v1", "--base-url or OPENAI_BASE_URL must be an http or https"),
        (KEY, "http://[/v1", "--base-url or OPENAI_BASE_URL must be an http or https address"),
    ],
    ids=["wrong key", "no key", "no scheme", "no host"],
)
def test_a_key_or_an_address_that_is_not_valid_is_an_error(
    folder, batch, monkeypatch, key, url, message
):
    write(folder, request(1))
    monkeypatch.setenv("OPENAI_API_KEY", key)
    if url is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    err = batch("submit", code=2)
    assert message in err


def test_a_server_that_does_not_listen_is_an_error(folder, server, batch):
    closed = BatchServer()
    closed.close()
    write(folder, request(1))
    with (
        closing(
            Batches(folder / ".miniwob/pending.jsonl", closed.url, print, retries=0)
        ) as batches,
        pytest.raises(ModelError, match=r"can't be reached: .*refused"),
    ):
        batches.submit()
    batch("submit")


@pytest.mark.parametrize("name", ["pending.jsonl", "answers.jsonl"])
def test_a_damaged_file_is_an_error_and_nothing_is_submitted(folder, server, batch, name):
    write(folder, request(1))
    (folder / ".miniwob" / name).write_text("garbage\n")
    before = files_of(folder)
    err = batch("submit", code=2)
    assert name in err
    assert files_of(folder) == before
    assert not server.submitted


def test_a_request_with_a_key_is_not_submitted(folder, server, batch):
    """Of a file that a person wrote."""
    write(folder, request(1), request(2, prompt=f"line\n{LEAK}"))
    err = batch("submit", code=2)
    assert "click-tab/2#0123-0 holds what looks like a secret (GitHub token): nothing was" in err
    assert LEAK not in err
    assert not server.submitted


def test_each_path_gets_a_batch_of_its_own_and_nothing_is_streamed(folder, server, batch):
    chat, responses = request(1), request(2)
    chat["body"] |= {"stream": True, "stream_options": {"include_usage": True}}
    responses |= {"url": "/v1/responses", "body": {"model": "m", "input": "prompt", "stream": True}}
    server.auto = False
    write(folder, chat, responses)
    assert batch("submit") == (
        "batch_1  1 request for m, submitted\n"
        "batch_2  1 request for m at /v1/responses, submitted\n"
    )  # fmt: skip
    assert [made["endpoint"] for made in server.batches.values()] == [
        chat["url"], responses["url"],
    ]  # fmt: skip


def test_a_path_that_the_batch_api_has_not_is_an_error(folder, server, batch):
    write(folder, request(1) | {"url": "/v1/messages"})
    err = batch("submit", code=2)
    assert "is a request to /v1/messages, which the Batch API does not take" in err
    assert server.batches == {}
