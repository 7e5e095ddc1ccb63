"""`miniwob-agent batch` against a server that speaks the Batch API over real HTTP."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import openai
import pytest
from support.apps import AppPages, plan
from support.projects import solve_menu

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.plugins.batch import batches
from pytest_miniwob_agent.plugins.batch.batches import Batches

from .batch_server import BatchServer

KEY = "sk-" + "a" * 40
LEAK = "ghp_" + "a1" * 18


@pytest.fixture
def server():
    server = BatchServer(KEY)
    yield server
    server.close()


@pytest.fixture
def folder(tmp_path, monkeypatch, server):
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
    path = folder / ".miniwob/answers.jsonl"
    answers = [json.loads(line) for line in path.read_text("utf-8").strip().split("\n")]
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


def test_rounds_of_batches_record_a_suite(project, server, batch, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    server.reply = solve_menu
    args = ["--miniwob-record=defer", "-k", "click-menu-2"]
    project.runpytest(*args)
    for _ in range(3):  # plan, a sentence on what was done, plan
        assert (project.path / ".miniwob/pending.jsonl").exists()
        batch("submit")
        batch("status", "--wait")
        option = "--miniwob-answers=.miniwob/answers.jsonl"
        assert batch("fetch").endswith(f"next: pytest --miniwob-record=defer {option}\n")
        result = project.runpytest(*args, option)
    assert not (project.path / ".miniwob/pending.jsonl").exists()
    assert (len(server.submitted), set(server.submitted.values())) == (6, {1})
    assert result.parseoutcomes()["passed"] == 2
    monkeypatch.delenv("OPENAI_API_KEY")
    result = project.runpytest("-k", "click-menu-2")
    result.stdout.fnmatch_lines(["model calls: 6 replayed, 0 recorded"])
    for step in ("submit", "status", "fetch"):
        out = batch(step)
        assert out.startswith("no request is pending in .miniwob/pending.jsonl; `pytest --miniwob-")


def test_what_an_app_shows_and_allows_is_sent_and_recorded(
    pytester, chat_server, server, batch, monkeypatch
):
    app_pages = AppPages(pytester, chat_server)
    task = r'app="app", allow=[r"ghp_\w+"]'
    app_pages.write_task({"/": f"<p>{LEAK}</p>"}, task=task)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    prompts = []

    def reply(prompt):
        prompts.append(prompt)
        return f'{LEAK} is on it.\n{plan("""answer "done" """)}'

    server.reply = reply
    app_pages.record(mode="defer")
    batch("submit")
    batch("fetch")
    option = "--miniwob-answers=.miniwob/answers.jsonl"
    app_pages.record(option, mode="defer").assert_outcomes(passed=1)
    assert [LEAK in prompt for prompt in prompts] == [True]
    app_pages.replay(passed=1)


def test_no_request_is_submitted_twice(folder, server, batch):
    server.auto = False
    first = write(folder, request(2), request(1))
    assert batch("submit") == "batch_1  2 requests for m, submitted\n"
    [file] = server.files.values()
    assert server.requests(file["id"]) == [request(1), request(2)]
    digest = hashlib.sha256(file["content"].encode()).hexdigest()[:32]
    assert file["filename"] == f"miniwob-{digest}.jsonl"
    assert batch("submit").startswith("nothing to submit\n2 requests in flight: ")
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
    batch("fetch")
    assert set(answers(folder)) == set(second)
    calls = len(server.calls)
    assert batch("fetch").startswith("3 requests answered. next: pytest ")
    assert len(server.calls) == calls
    assert server.submitted == dict.fromkeys(second, 1)


def test_answers_are_found_on_the_server_again_by_whoever_has_the_same_requests(
    folder, server, batch
):
    """Over several pages of the lists; not in old batches, and not in those of deleted files."""
    write(folder, *(request(n, f"m{n}") for n in range(5)))
    batch("submit")
    server.batches["batch_3"]["created_at"] -= batches.KEPT
    assert batch("submit").count("  completed  1 answer, 0 errors") == 4
    batch("fetch")
    server.files.clear()
    (folder / ".miniwob/answers.jsonl").unlink()
    assert batch("submit").count("submitted\n") == 5


def test_an_answer_with_a_key_is_not_kept_and_asked_for_again(folder, server, batch):
    first, second = write(folder, request(1), request(2))
    server.reply = lambda prompt: f"line\n{LEAK}" if "prompt 2" in prompt else "DONE"
    batch("submit")
    out = batch("fetch", code=1)
    assert "its completion holds what looks like a secret (GitHub token), and is not kept" in out
    assert "1 request failed: " in out
    assert answers(folder) == {first: "DONE"}
    for path in folder.rglob("*.*"):
        assert LEAK not in (path.read_text() if path.is_file() else "")
    server.reply = lambda prompt: "LATER"
    batch("submit")
    batch("fetch")
    assert answers(folder) == {first: "DONE", second: "LATER"}


@pytest.mark.parametrize(
    ("call", "how"),
    [("POST /v1/files", 400), ("POST /v1/batches", 400), ("POST /v1/batches", "drop")],
)
@pytest.mark.parametrize(("after", "grown"), [(False, True), (True, False), (True, True)])
def test_an_interrupted_submit_is_continued_without_submitting_twice(
    folder, server, batch, call, how, after, grown
):
    """With what the server has by then; `grown`: then more requests are pending."""
    ids = write(folder, request(1), request(2))
    server.fail(call, how, after=after)
    err = batch("submit", code=2)
    if how == "drop":  # the client would repeat the call by itself and make a second batch
        assert err.startswith(f"miniwob-agent: {server.url} can't be reached: ")
        assert err.endswith("; `miniwob-agent batch submit` continues from there\n")
    if grown:
        ids = write(folder, request(1), request(2), request(3))
    batch("submit")
    assert server.submitted == dict.fromkeys(ids, 1)
    assert len(server.files) == len({file["filename"] for file in server.files.values()})
    batch("fetch")
    assert set(answers(folder)) == set(ids)


def test_a_second_call_waits_for_the_first(folder, server):
    ids = write(folder, request(1), request(2))

    def submit(_):
        with closing(Batches(folder / ".miniwob/pending.jsonl", None)) as batches:
            batches.submit()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(submit, range(4)))
    assert server.submitted == dict.fromkeys(ids, 1)


@pytest.mark.parametrize(
    ("name", "limit"), [("MAX_REQUESTS", 2), ("MAX_BYTES", 500)], ids=["requests", "bytes"]
)
def test_a_file_has_one_model_and_a_limited_size(folder, server, batch, monkeypatch, name, limit):
    monkeypatch.setattr(batches, name, limit)
    ids = write(folder, *(request(n, model) for n in range(5) for model in ("m", "n")))
    lines = batch("submit").splitlines()
    assert sorted(line.split("  ")[1].split(",")[0] for line in lines) == [
        "1 request for m", "1 request for n",
        *["2 requests for m"] * 2, *["2 requests for n"] * 2,
    ]  # fmt: skip
    assert max(file["bytes"] for file in server.files.values()) <= 500
    assert server.submitted == dict.fromkeys(ids, 1)


def test_requests_answered_by_errors_are_submitted_again(folder, server, batch):
    server.reply = lambda prompt: "DONE" if "0" in prompt else {"message": "too\nlong"}
    ids = write(folder, *(request(n) for n in range(8)))
    batch("submit")
    assert "1 completed, 7 failed, 8 in all\n" in batch("status", "--wait", code=1)
    lines = batch("fetch", code=1).splitlines()
    assert lines[0] == "batch_1  completed  1 answer, 7 errors"
    assert lines[1] == f'  {ids[1]}: no completion: {{"error":{{"message":"too\\nlong"}}}}'
    assert lines[6:8] == [
        "  and 2 more",
        "7 requests failed: `miniwob-agent batch submit` submits them again",
    ]
    server.reply = lambda prompt: "LATER"
    assert "\nbatch_2  7 requests for m, submitted\n" in batch("submit")
    batch("fetch")
    assert answers(folder) == {ids[0]: "DONE"} | dict.fromkeys(ids[1:], "LATER")


def test_requests_of_failed_and_incomplete_batches_are_submitted_again_once(folder, server, batch):
    server.auto = False
    ids = write(folder, request(1), request(2))
    batch("submit")
    server.refuse("batch_1", "enqueued token limit reached")
    assert "2 in all: enqueued token limit reached" in batch("status", code=1)
    out = batch("fetch", code=1)
    assert "2 errors: enqueued token limit reached" in out
    assert "batch_2  2 requests for m, submitted\n" in batch("submit")
    assert "2 requests in flight" in batch("submit")
    assert len(server.files) == 1
    server.work("batch_2", "expired", upto=1)
    batch("status", code=1)
    assert "The batch was expired." in batch("fetch", code=1)
    assert set(answers(folder)) == {ids[0]}
    assert "batch_3  1 request for m, submitted" in batch("submit")
    assert server.submitted == {ids[0]: 2, ids[1]: 3}


def test_requests_without_a_completion_are_submitted_again(folder, server, batch):
    server.reply = lambda prompt: None if "2" in prompt else "DONE"
    first, second = write(folder, request(1, "m"), request(2, "n"))
    batch("submit")
    server.work("batch_1")
    server.work("batch_2")
    del server.files["file-3"]
    out = batch("fetch", code=1)
    assert f"  {first}: no answer came back\n" in out
    assert f"  {second}: answered with no chat completion with text" in out
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


def test_waiting_shows_progress_and_can_be_interrupted_with_ctrl_c(
    folder, server, batch, monkeypatch, capsys
):
    server.auto = False
    write(folder, request(1), request(2))
    batch("submit")

    def interrupt(seconds):
        if seconds > batches.PAUSE:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["batch", "status", "--wait"]) == 130
    err = capsys.readouterr().err
    assert err.count("1 batch running, 0 of 2 requests done") == 2
    assert err.endswith("interrupted; nothing is lost, run it again to continue\n")


def test_a_step_closes_its_connection(folder, batch, monkeypatch):
    closed = []
    close = openai.OpenAI.close
    monkeypatch.setattr(openai.OpenAI, "close", lambda client: closed.append(close(client)))
    write(folder, request(1))
    batch("submit")
    assert len(closed) == 1


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


ERRORS = {
    "refused": (403, "status 403"),
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
        server.fail(call, how)
        err = batch("submit", code=2)
        assert err.startswith(f"miniwob-agent: {server.url} "), name
        assert text in err, name
        assert err.count("\n") == 1, name
    batch("submit")
    batch("fetch")
    assert set(answers(folder)) == set(ids)
    assert server.submitted == dict.fromkeys(ids, 1)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"OPENAI_API_KEY": "sk-" + "b" * 40}, "Error code: 401 - Incorrect API key"),
        ({"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}, "needs OPENAI_API_KEY in the environment"),
        ({"OPENAI_BASE_URL": "127.0.0.1:8000/v1"}, "must be an http or https"),
    ],
    ids=["wrong key", "no key", "no scheme"],
)
def test_a_key_or_an_address_that_is_not_valid_is_an_error(
    folder, batch, monkeypatch, variables, message
):
    write(folder, request(1))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert message in batch("submit", code=2)


def test_the_server_and_the_key_are_those_of_the_ini_file(folder, server, batch, monkeypatch):
    write(folder, request(1))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.delenv("OPENAI_API_KEY")
    (folder / "pytest.ini").write_text(
        f"[pytest]\nminiwob_base_url = {server.url}\nminiwob_key_variable = MY_KEY\n"
    )
    assert "needs MY_KEY in the environment" in batch("submit", code=2)
    monkeypatch.setenv("MY_KEY", KEY)
    batch("submit")
    assert list(server.submitted.values()) == [1]


def test_damaged_files_are_an_error_and_nothing_is_submitted(folder, server, batch):
    for name in ("answers.jsonl", "pending.jsonl"):
        write(folder, request(1))
        (folder / ".miniwob" / name).write_text("garbage\n")
        assert f"{name}:1 is not a whole line of a batch file" in batch("submit", code=2)
        (folder / ".miniwob" / name).unlink()
    assert not server.submitted
    write(folder, request(1), request(2))
    batch("submit")
    server.work("batch_1")
    server.files["file-2"]["content"] = server.files["file-2"]["content"][:-20]
    assert "file-2:2 is not a whole line of a batch file" in batch("fetch", code=2)
    assert not (folder / ".miniwob/answers.jsonl").exists()


def test_requests_that_may_not_be_submitted_are_an_error(folder, server, batch):
    write(folder, request(1), request(2, prompt=f"line\n{LEAK}"))
    err = batch("submit", code=2)
    assert "click-tab/2#0123-0 holds what looks like a secret (GitHub token): nothing was" in err
    assert LEAK not in err
    write(folder, request(1) | {"url": "/v1/messages"})
    err = batch("submit", code=2)
    assert "is a request to /v1/messages, which the Batch API does not take" in err
    assert not server.submitted


def test_each_path_gets_a_batch_of_its_own_and_nothing_is_streamed(folder, server, batch):
    chat, responses = request(1), request(2)
    chat["body"] |= {"stream": True, "stream_options": {"include_usage": True}}
    responses |= {"url": "/v1/responses", "body": {"model": "m", "input": "prompt", "stream": True}}
    server.auto = False
    write(folder, chat, responses)
    assert batch("submit").count("  1 request for m, submitted\n") == 2
    paths = [made["endpoint"] for made in server.batches.values()]
    assert paths == [chat["url"], responses["url"]]
