"""Replay and recording of an item's calls, over real HTTP on loopback."""

import contextlib
import gzip
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_miniwob_agent import (
    CassetteError,
    Drift,
    Limits,
    ModelError,
    Origin,
    Pending,
)
from pytest_miniwob_agent.cassettes.files import ItemFiles
from pytest_miniwob_agent.cassettes.format import read_cassette
from pytest_miniwob_agent.cassettes.modes import Record
from pytest_miniwob_agent.cassettes.recording import RecordedModel, Server
from pytest_miniwob_agent.core.chat import ModelRequest, Usage
from pytest_miniwob_agent.models.client import LiveModel
from pytest_miniwob_agent.models.params import kept_params
from pytest_miniwob_agent.models.requests import chat_request

from .cassette_files import make_call

STEM = "reflective/m/click-menu-2/1"
MODELS = contextlib.ExitStack()


@pytest.fixture(autouse=True)
def closed_models():
    with MODELS:
        yield


def model_of(files, url=None, params=None, model="m", retries=1):
    params = {"temperature": 0} if params is None else params

    def connect(on_unusable):
        return LiveModel(model, params, base_url=url, retries=retries, on_unusable=on_unusable)

    server = MODELS.enter_context(contextlib.closing(Server(connect)))
    return RecordedModel(files, server, model, kept_params(params))


def model(folder, record, *args, **options):
    return model_of(ItemFiles(folder, STEM, Record(record)), *args, **options)


def play(folder, record, *prompts, url=None, limits=None, **options):
    llm = model(folder, record, url, **options)
    texts = [llm.complete(prompt, "plan").text for prompt in prompts]
    llm.finish(limits or Limits())
    return texts


def ask(llm, prompt, origin):
    messages = [{"role": "user", "content": prompt}]
    llm.post(chat_request(llm.model, messages, llm.params), origin)


def prompts_in(path):
    return [call.request.text for call in read_cassette(path)]


@pytest.fixture
def recorded(tmp_path, chat_server):
    chat_server.reply = lambda prompt: f"answer to {prompt}"
    play(tmp_path, "new_episodes", "one", "two\nlines", url=chat_server.url)
    return tmp_path / f"{STEM}.yaml"


@pytest.fixture
def partial(tmp_path):
    return tmp_path / f"{STEM}.partial.yaml"


class TestReplay:
    def test_recorded_calls_are_answered_whatever_the_server(self, tmp_path, recorded, chat_server):
        chat_server.requests.clear()
        llm = model(tmp_path, "none", "http://127.0.0.1:1/some/gateway")
        completion = llm.complete("one", "plan")
        assert completion.text == "answer to one"
        assert (completion.prompt_tokens, completion.completion_tokens) == (11, 3)
        assert llm.complete("two\nlines", "plan").text == "answer to two\nlines"
        assert chat_server.requests == []
        llm.finish(Limits())
        usage = llm.tape.usage
        assert usage["replayed"] == Usage(calls=2, prompt=22, completion=6)
        assert usage["recorded"] == usage["left"] == Usage()

    @pytest.mark.parametrize(
        "change",
        [{}, {"params": {"temperature": 1}}, {"params": {}}, {"model": "other"}],
        ids=["prompt", "parameter", "missing parameter", "model"],
    )
    def test_a_change_anywhere_in_the_body_is_drift(self, tmp_path, recorded, chat_server, change):
        chat_server.requests.clear()
        with pytest.raises(Drift, match="does not hold call 1"):
            play(tmp_path, "none", "one" if change else "One", url=chat_server.url, **change)
        assert chat_server.requests == []

    def test_a_call_is_replayed_exactly_once(self, tmp_path, recorded):
        with pytest.raises(Drift, match=r"the item ended after 1\. Not made:\s+call 2"):
            play(tmp_path, "none", "one")
        llm = model(tmp_path, "none")
        llm.complete("one", "plan")
        with pytest.raises(Drift, match="it repeats the request of call 1, which was replayed"):
            llm.complete("one", "plan")
        llm.complete("two\nlines", "plan")
        with pytest.raises(Drift, match="more calls than the 2 that are recorded"):
            llm.complete("three", "plan")

    @pytest.mark.parametrize(
        ("places", "two"),
        [
            ([(1, 0), (2, 0), (3, 0)], Limits(trials=2)),
            ([(1, 0), (1, 1), (1, 2)], Limits(steps=1)),
        ],
        ids=["trials", "steps"],
    )
    def test_calls_beyond_the_limits_of_a_run_are_neither_drift_nor_dropped(
        self, tmp_path, chat_server, places, two
    ):
        def play(record, count, limits):
            llm = model(tmp_path, record, chat_server.url)
            for prompt, place in list(zip(("one", "two", "three"), places, strict=True))[:count]:
                ask(llm, prompt, Origin("plan", *place, {}, "a", "b"))
            llm.finish(limits)
            return llm.files.cassette.read_bytes()

        before = play("new_episodes", 3, Limits())
        for record in ("none", "new_episodes"):
            assert play(record, 2, two) == before
            assert play(record, 1, Limits(calls=1)) == before
        with pytest.raises(Drift):
            play("none", 1, two)


def unused_of(cassette):
    """The file of an item's unused calls, where no project has a folder for it."""
    folder, stem = cassette.parents[3], cassette.relative_to(cassette.parents[3]).with_suffix("")
    return folder / ".miniwob" / "unused" / f"{stem}.unused.yaml"


class TestRecord:
    def test_new_episodes_replays_records_the_rest_and_puts_the_unused_aside(
        self, tmp_path, recorded, partial, chat_server
    ):
        chat_server.requests.clear()
        before = recorded.stat().st_mtime_ns
        play(tmp_path, "new_episodes", "one", "two\nlines", url=chat_server.url)
        assert recorded.stat().st_mtime_ns == before  # not written again
        play(tmp_path, "new_episodes", "one", "three", url=chat_server.url)
        assert [request["messages"][0]["content"] for request in chat_server.requests] == ["three"]
        assert prompts_in(recorded) == ["one", "three"]
        assert not partial.exists()
        play(tmp_path, "new_episodes", "one", url=chat_server.url)
        assert prompts_in(recorded) == ["one"]
        play(tmp_path, "new_episodes", url=chat_server.url)
        assert not recorded.exists()
        unused = unused_of(recorded)
        assert prompts_in(unused) == ["two\nlines", "three", "one"]

    def test_defer_replays_and_raises_the_request_that_waits(self, tmp_path, recorded):
        llm = model(tmp_path, "defer")
        llm.complete("one", "plan")
        with pytest.raises(Pending) as waiting:
            llm.complete("three", "plan")
        request = waiting.value.request
        assert request.pop("custom_id").startswith(f"{STEM}#")
        messages = [{"role": "user", "content": "three"}]
        body = {"model": "m", "messages": messages, "temperature": 0}
        assert request == {"method": "POST", "url": "/v1/chat/completions", "body": body}

    def test_every_completion_is_on_disk_before_the_agent_sees_it(
        self, tmp_path, partial, chat_server
    ):
        llm = model(tmp_path, "new_episodes", chat_server.url)
        for count in (1, 2, 3):
            llm.complete(f"prompt {count}", "plan")
            assert len(read_cassette(partial)) == count
        assert [path.name for path in partial.parent.iterdir()] == [partial.name]


def test_calls_of_threads_are_all_kept_in_the_same_order_each_time(tmp_path, chat_server):
    """None is answered before all have arrived."""
    prompts = [f"prompt {number}" for number in range(4)]
    arrived = threading.Barrier(len(prompts))

    def reply(prompt):
        arrived.wait(300)
        return f"answer to {prompt}"

    chat_server.reply = reply
    files = []
    for folder in (tmp_path / "1", tmp_path / "2"):
        llm = model(folder, "new_episodes", chat_server.url)
        with ThreadPoolExecutor(len(prompts)) as threads:
            texts = list(threads.map(lambda prompt: llm.complete(prompt, "plan").text, prompts))  # noqa: B023
        assert texts == [f"answer to {prompt}" for prompt in prompts]
        assert sorted(prompts_in(llm.files.partial)) == prompts
        llm.finish(Limits())
        files.append(llm.files.cassette.read_bytes())
    assert files[0] == files[1]
    chat_server.requests.clear()
    play(tmp_path / "1", "new_episodes", *reversed(prompts), url=chat_server.url)
    assert llm.files.cassette.read_bytes() == files[0]
    assert chat_server.requests == []


def test_a_cassette_that_is_damaged_while_its_item_is_recorded_is_replaced(tmp_path):
    files = ItemFiles(tmp_path, STEM, Record.NEW_EPISODES)
    files.load()
    files.cassette.parent.mkdir(parents=True)
    files.cassette.write_bytes(b"\xff")
    files.finish([make_call()], [])
    assert len(read_cassette(files.cassette)) == 1


def test_a_process_opens_an_item_for_recording_once_at_a_time(tmp_path):
    first = ItemFiles(tmp_path, STEM, Record.DEFER, state=tmp_path)
    with pytest.raises(CassetteError, match=r"1\.yaml is being recorded by this process already"):
        ItemFiles(tmp_path, STEM, Record.NEW_EPISODES, state=tmp_path)
    ItemFiles(tmp_path, STEM, Record.NONE, state=tmp_path).close()
    first.close()
    ItemFiles(tmp_path, STEM, Record.NEW_EPISODES, state=tmp_path).close()


@pytest.mark.skipif(sys.platform == "darwin", reason="paths of macOS are UTF-8")
def test_a_path_that_is_no_utf_8_can_be_recorded_in(tmp_path, chat_server):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    for record, url in (("new_episodes", chat_server.url), ("none", None)):
        files = ItemFiles(folder, STEM, Record(record), state=folder / ".miniwob")
        llm = model_of(files, url, {})
        llm.complete("one", "plan")
        llm.finish(Limits())
        files.close()
    assert len(chat_server.requests) == 1


def test_all_records_an_item_once_in_a_run_for_all_tests(tmp_path, chat_server):
    for _ in ("test_one", "test_other"):
        files = ItemFiles(tmp_path, STEM, Record.ALL, run=tmp_path / "run")
        llm = model_of(files, chat_server.url, {})
        llm.complete("one", "plan")
        llm.finish(Limits())
    assert len(chat_server.requests) == 1


class TestInterruptedRecording:
    @pytest.mark.parametrize("record", ["new_episodes", "all"])
    def test_it_leaves_the_cassette_alone_and_is_continued_by_the_next_run(
        self, tmp_path, recorded, partial, chat_server, record
    ):
        before = recorded.read_bytes()
        chat_server.reply = lambda prompt: 400 if prompt == "four" else f"new answer to {prompt}"
        with pytest.raises(ModelError):
            play(tmp_path, record, "one", "three", "four", url=chat_server.url)
        assert recorded.read_bytes() == before
        assert "three" in prompts_in(partial)
        play(tmp_path, "none", "one", "two\nlines")  # the good one still replays

        chat_server.reply = lambda prompt: "at last"
        chat_server.requests.clear()
        texts = play(tmp_path, "new_episodes", "one", "three", "four", url=chat_server.url)
        assert texts[1:] == ["new answer to three", "at last"]
        assert len(chat_server.requests) == 1
        assert prompts_in(recorded) == ["one", "three", "four"]
        assert not partial.exists()

    def test_a_missing_cassette_is_an_error_that_names_the_files(self, tmp_path, chat_server):
        with pytest.raises(CassetteError, match=r"no cassette .*click-menu-2.1\.yaml"):
            play(tmp_path, "none", "one", url=chat_server.url)
        assert chat_server.requests == []
        llm = model(tmp_path, "new_episodes", chat_server.url)
        llm.complete("one", "plan")
        with pytest.raises(CassetteError, match=r"unfinished recording is in .*1\.partial\.yaml"):
            play(tmp_path, "none", "one")
        assert play(tmp_path, "new_episodes", "one", url=chat_server.url) == ["DONE"]
        assert len(chat_server.requests) == 1


class TestUnusedCalls:
    @pytest.fixture
    def unused(self, tmp_path, recorded, chat_server):
        """Those that a run with a wrong parameter put aside."""
        wrong = {"temperature": 1}
        play(tmp_path, "new_episodes", "one", "two\nlines", url=chat_server.url, params=wrong)
        chat_server.requests.clear()
        return unused_of(recorded)

    @pytest.mark.parametrize("record", ["new_episodes", "defer"])
    def test_they_are_taken_before_a_call_is_paid_for(
        self, tmp_path, recorded, unused, chat_server, record
    ):
        wrong = recorded.read_text()
        texts = play(tmp_path, record, "one", "two\nlines", url=chat_server.url)
        assert texts == ["answer to one", "answer to two\nlines"]
        assert chat_server.requests == []
        assert [call.body["temperature"] for call in read_cassette(recorded)] == [0, 0]
        assert [call.body["temperature"] for call in read_cassette(unused)] == [1, 1]
        play(tmp_path, record, "one", "two\nlines", url=chat_server.url, params={"temperature": 1})
        assert chat_server.requests == []
        assert recorded.read_text() == wrong

    def test_the_file_is_removed_when_all_are_used(self, tmp_path, unused, chat_server):
        llm = model(tmp_path, "new_episodes", chat_server.url)
        for prompt in ("one", "two\nlines"):
            llm.complete(prompt, "plan")
            llm.chat([{"role": "user", "content": prompt}], "plan", temperature=1)
        llm.finish(Limits())
        assert not unused.exists()
        assert chat_server.requests == []

    def test_none_never_reads_them(self, tmp_path, unused):
        unused.write_text("damaged")
        with pytest.raises(Drift, match="the model or its parameters: temperature 1, now 0"):
            play(tmp_path, "none", "one")

    def test_all_neither_takes_nor_loses_them(self, tmp_path, recorded, unused, chat_server):
        before = unused.read_bytes()
        chat_server.reply = lambda prompt: "anew"
        assert play(tmp_path, "all", "one", url=chat_server.url) == ["anew"]
        assert [call.completion.text for call in read_cassette(recorded)] == ["anew"]
        assert unused.read_bytes() == before
        recorded.unlink()
        assert play(tmp_path, "new_episodes", "one", url=chat_server.url) == ["answer to one"]
        assert len(chat_server.requests) == 1


class TestPartialOfAnotherCassette:
    @pytest.fixture
    def stale(self, tmp_path, recorded, partial, chat_server):
        """It holds a new call and copies of the old ones; a colleague's cassette has come since."""
        theirs = recorded.read_text().replace("answer to", "their answer to")
        llm = model(tmp_path, "new_episodes", chat_server.url)
        llm.complete("three", "plan")
        assert prompts_in(partial) == ["three", "one", "two\nlines"]
        recorded.write_text(theirs)
        chat_server.requests.clear()
        return partial

    def test_it_is_put_aside_and_newer_answers_win(self, tmp_path, recorded, stale, chat_server):
        before = recorded.read_bytes()
        llm = model(tmp_path, "new_episodes", chat_server.url)
        [remark] = llm.files.remarks
        assert "1.partial.yaml began from a different cassette" in remark
        assert not stale.exists()
        texts = [llm.complete(prompt, "plan").text for prompt in ("one", "two\nlines", "three")]
        assert texts == ["their answer to one", "their answer to two\nlines", "answer to three"]
        assert chat_server.requests == []
        llm.finish(Limits())
        assert recorded.read_bytes().startswith(before[:-4])
        play(tmp_path, "none", "one", "two\nlines", "three")

    @pytest.mark.parametrize("record", ["new_episodes", "all"])
    def test_one_that_began_from_the_present_cassette_is_continued(
        self, tmp_path, recorded, partial, chat_server, record
    ):
        llm = model(tmp_path, record, chat_server.url)
        llm.complete("three", "plan")
        recorded.write_bytes(recorded.read_bytes().replace(b"\n", b"\r\n"))  # git on Windows
        llm = model(tmp_path, "new_episodes", chat_server.url)
        assert llm.files.remarks == []
        assert "three" in [call.request.text for call in llm.tape.calls]

    @pytest.mark.parametrize("record", ["new_episodes", "all"])
    def test_all_puts_it_aside_and_begins_anew(self, tmp_path, partial, chat_server, record):
        model(tmp_path, record, chat_server.url).complete("one", "plan")
        chat_server.reply = lambda prompt: "anew"
        llm = model(tmp_path, "all", chat_server.url)
        [remark] = llm.files.remarks
        assert "1.partial.yaml was not continued, as --miniwob-record=all begins anew; 1 call" in (
            remark
        )
        assert not partial.exists()
        assert llm.complete("one", "plan").text == "anew"
        llm.finish(Limits())
        [aside] = read_cassette(unused_of(llm.files.cassette))
        assert aside.completion.text == "DONE"

    @pytest.mark.parametrize("record", ["new_episodes", "all"])
    def test_a_conversation_that_the_server_keeps_begins_anew(
        self, tmp_path, partial, chat_server, record
    ):
        ids = iter("ABCD")
        chat_server.reply = lambda prompt: {"id": f"resp_{next(ids)}", "output": []}

        def say(llm, previous=None):
            more = {"previous_response_id": previous} if previous else {}
            body = {"model": "m", "input": "next", **more}
            response = llm.post(ModelRequest("/v1/responses", body))
            return json.loads(response.content)["id"]

        llm = model(tmp_path, "new_episodes", chat_server.url)
        assert say(llm, say(llm)) == "resp_B"
        llm = model(tmp_path, record, chat_server.url)
        [remark] = llm.files.remarks
        assert "record=all" in remark or "keeps its conversation (previous_response_id)" in remark
        assert say(llm, say(llm)) == "resp_D"
        llm.finish(Limits())
        assert len(read_cassette(unused_of(llm.files.cassette))) == 2
        # It can't be continued from a whole recording either.
        llm = model(tmp_path, "new_episodes", chat_server.url)
        assert say(llm) == "resp_C"
        with pytest.raises(CassetteError, match=r"resp_C, is from an earlier .*record=all"):
            llm.post(
                ModelRequest("/v1/responses", {"input": "?", "previous_response_id": "resp_C"})
            )

    def test_all_records_anew_after_a_kill_between_the_last_write_and_the_unlink(
        self, tmp_path, recorded, partial, chat_server
    ):
        chat_server.reply = lambda prompt: "anew"
        llm = model(tmp_path, "all", chat_server.url)
        llm.complete("one", "plan")
        left = partial.read_bytes()
        llm.finish(Limits())
        partial.write_bytes(left)
        chat_server.requests.clear()
        llm = model(tmp_path, "all", chat_server.url)
        llm.complete("one", "plan")
        assert len(chat_server.requests) == 1
        assert llm.files.remarks == []
        assert not unused_of(recorded).exists()


KEY = "sk-proj-" + "Ab1" * 12


class TestSecrets:
    def files(self, folder):
        return [path.read_text() for path in folder.rglob("*") if path.is_file()]

    @pytest.mark.parametrize(
        ("text", "reasoning", "encode"),
        [
            (f"a\r\n\t{KEY}", "", None),
            (f"use {KEY}", "", gzip.compress),
            ("fine", f"the key is {KEY}", None),
            ("you sent an-unusual-form-of-key", "", None),
        ],
        ids=["line", "gzip", "another field", "the value of the variable"],
    )
    def test_a_completion_with_a_key_is_not_stored(
        self, tmp_path, chat_server, monkeypatch, text, reasoning, encode
    ):
        monkeypatch.setenv("OPENAI_API_KEY", "an-unusual-form-of-key")

        def reply(prompt):
            body = chat_server.completion(text)
            body["choices"][0]["message"]["reasoning"] = reasoning
            return body

        chat_server.reply = reply
        chat_server.encode = encode
        with pytest.raises(CassetteError, match=r"was not written: call 1 holds") as error:
            play(tmp_path, "new_episodes", "one", url=chat_server.url)
        assert KEY not in str(error.value)
        assert self.files(tmp_path) == []

    def test_headers_are_not_stored(self, tmp_path, chat_server):
        params = {"extra_headers": {"X-Api-Key": KEY}}
        play(tmp_path, "new_episodes", "one", url=chat_server.url, params=params)
        assert chat_server.headers[0]["x-api-key"] == KEY
        [text] = self.files(tmp_path)
        for secret in (KEY, "secret-cookie", "127.0.0.1", "chatcmpl", "created"):
            assert secret not in text
        assert play(tmp_path, "none", "one", params={}) == ["DONE"]  # they are not matched either

    def test_what_goes_with_calls_alone_is_not_shown_in_errors(self, tmp_path, chat_server):
        error = {"message": f"no team blue-whale\nred-foxes {KEY}"}
        chat_server.reply = lambda prompt: (400, {"error": error})
        params = {"extra_headers": {"X-Team": "blue-whale"}, "extra_query": {"team": "red-foxes"}}
        url = f"{chat_server.url}?api_key=old-bears"
        llm = model(tmp_path, "new_episodes", url, params=params)
        with pytest.raises(ModelError, match=r"\[not shown\] \[not shown\] \[OpenAI key\]"):
            llm.complete("one", "plan")
        assert chat_server.paths == ["/v1/chat/completions?api_key=old-bears&team=red-foxes"]
        llm = model(tmp_path, "new_episodes", chat_server.url)
        message = {"role": "user", "content": "one"}
        with pytest.raises(ModelError, match=r"\[not shown\] \[not shown\] \[OpenAI key\]"):
            llm.chat([message], "plan", extra_headers={"X-A": "blue-whale", "X-B": "red-foxes"})
        password = "passw" + "0rd"
        url = f"http://me:{password}@127.0.0.1:1/v1?api_key={password}"
        llm = model(tmp_path, "new_episodes", url, retries=0)
        with pytest.raises(ModelError, match=r"http://\*\*\*@127.0.0.1:1/v1 can't be") as shown:
            llm.complete("one", "plan")
        assert password not in str(shown.value)
