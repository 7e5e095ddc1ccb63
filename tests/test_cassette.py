"""Cassettes and the model client, over real HTTP on loopback."""

import json

import pytest
import yaml

from conftest import solve_menu
from pytest_miniwob_agent.cassette import CassetteTransport, ItemCassette, Record, stem
from pytest_miniwob_agent.core import CassetteError, ModelError, Pending, UsageError
from pytest_miniwob_agent.llm import OpenAILLM

STEM = "reflective/m/click-menu-2/1"


def model(folder, record, url=None, params=None, model="m", retries=1):
    cassette = ItemCassette(folder, STEM, Record(record))
    llm = OpenAILLM(
        model,
        params if params is not None else {"temperature": 0},
        base_url=url,
        transport=CassetteTransport(cassette),
        live=cassette.live,
        retries=retries,
    )
    return cassette, llm


@pytest.fixture
def recorded(tmp_path, chat_server):
    """A cassette with the calls `one` and `two\\nlines`."""
    chat_server.reply = lambda prompt: f"answer to {prompt}"
    _, llm = model(tmp_path, "new_episodes", chat_server.url)
    llm.complete("one", "plan")
    llm.complete("two\nlines", "plan")
    return tmp_path / f"{STEM}.yaml"


def test_a_recorded_call_is_replayed_without_a_server(tmp_path, recorded, chat_server):
    chat_server.requests.clear()
    cassette, llm = model(tmp_path, "none", chat_server.url)
    completion = llm.complete("one", "plan")
    assert completion.text == "answer to one"
    assert (completion.prompt_tokens, completion.completion_tokens) == (11, 3)
    assert llm.complete("two\nlines", "plan").text == "answer to two\nlines"
    assert chat_server.requests == []
    assert (cassette.replayed, cassette.recorded) == (2, 0)


def test_the_host_is_no_part_of_the_match(tmp_path, recorded):
    _, llm = model(tmp_path, "none", "http://127.0.0.1:1/some/gateway")
    assert llm.complete("one", "plan").text == "answer to one"
    _, llm = model(tmp_path, "none")
    assert llm.complete("one", "plan").text == "answer to one"


@pytest.mark.parametrize(
    "change",
    [{"prompt": "One"}, {"params": {"temperature": 1}}, {"params": {}}, {"model": "other"}],
)
def test_the_whole_body_is_part_of_the_match(tmp_path, recorded, chat_server, change):
    prompt = change.pop("prompt", "one")
    chat_server.requests.clear()
    _, llm = model(tmp_path, "none", chat_server.url, **change)
    with pytest.raises(CassetteError, match="does not hold call 1"):
        llm.complete(prompt, "plan")
    assert chat_server.requests == []


def test_a_miss_shows_what_changed(tmp_path, recorded):
    _, llm = model(tmp_path, "none")
    with pytest.raises(CassetteError) as miss:
        llm.complete("two\nother lines", "plan")
    assert "-lines\n+other lines" in str(miss.value)
    assert "recorded as call 2" in str(miss.value)
    assert str(recorded) in str(miss.value)


def test_a_call_replays_once(tmp_path, recorded):
    _, llm = model(tmp_path, "none")
    llm.complete("one", "plan")
    with pytest.raises(CassetteError, match="equal to call 1, which was replayed already"):
        llm.complete("one", "plan")


def test_equal_prompts_are_separate_samples_in_order(tmp_path, chat_server):
    answers = iter(["first", "second"])
    chat_server.reply = lambda prompt: next(answers)
    _, llm = model(tmp_path, "new_episodes", chat_server.url)
    assert [llm.complete("p", "plan").text for _ in range(2)] == ["first", "second"]
    _, llm = model(tmp_path, "none")
    assert [llm.complete("p", "plan").text for _ in range(2)] == ["first", "second"]


def test_a_missing_cassette(tmp_path):
    _, llm = model(tmp_path, "none")
    with pytest.raises(CassetteError, match=r"there is no cassette .*click-menu-2.1\.yaml"):
        llm.complete("one", "plan")


def test_new_episodes_replays_and_records_the_rest(tmp_path, recorded, chat_server):
    chat_server.requests.clear()
    cassette, llm = model(tmp_path, "new_episodes", chat_server.url)
    llm.complete("one", "plan")
    llm.complete("three", "plan")
    assert [request["messages"][0]["content"] for request in chat_server.requests] == ["three"]
    assert (cassette.replayed, cassette.recorded) == (1, 1)


def test_all_records_anew(tmp_path, recorded, chat_server):
    chat_server.reply = lambda prompt: "new answer"
    _, llm = model(tmp_path, "all", chat_server.url)
    assert llm.complete("one", "plan").text == "new answer"
    [only] = yaml.safe_load(recorded.read_text(encoding="utf-8"))["interactions"]
    assert only["response"]["body"]["choices"][0]["message"]["content"] == "new answer"


def test_once_records_only_where_there_is_no_cassette(tmp_path, chat_server):
    _, llm = model(tmp_path, "once", chat_server.url)
    llm.complete("one", "plan")
    _, llm = model(tmp_path, "once", chat_server.url)
    assert llm.complete("one", "plan").text == "DONE"
    with pytest.raises(CassetteError, match="does not hold call 2"):
        llm.complete("two", "plan")
    assert len(chat_server.requests) == 1


def test_the_file_is_readable_and_holds_no_secret(tmp_path, chat_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-key")
    chat_server.reply = lambda prompt: "first line\nsecond line"
    _, llm = model(tmp_path, "new_episodes", chat_server.url)
    llm.complete("A prompt\nof two lines with \u00fc and \u201cquotes\u201d.", "plan")
    text = (tmp_path / f"{STEM}.yaml").read_text(encoding="utf-8")
    assert chat_server.headers[0]["authorization"] == "Bearer sk-planted-key"
    for secret in ("sk-planted-key", "secret-cookie", "127.0.0.1", "chatcmpl", "created"):
        assert secret not in text
    assert (
        "          A prompt\n          of two lines with \u00fc and \u201cquotes\u201d.\n" in text
    )


@pytest.mark.parametrize(
    "answer", [400, 401, {"choices": []}, {"error": "no"}, b"<html>", b'{"choices": [{"mess']
)
def test_what_is_no_completion_is_an_error_and_is_not_recorded(tmp_path, chat_server, answer):
    chat_server.reply = lambda prompt: answer
    _, llm = model(tmp_path, "new_episodes", chat_server.url)
    with pytest.raises(ModelError):
        llm.complete("one", "plan")
    assert not (tmp_path / f"{STEM}.yaml").exists()


def test_a_refused_call_is_sent_again(tmp_path, chat_server):
    answers = iter([429, 503, "at last"])
    chat_server.reply = lambda prompt: next(answers)
    cassette, llm = model(tmp_path, "new_episodes", chat_server.url, retries=2)
    assert llm.complete("one", "plan").text == "at last"
    assert cassette.recorded == 1


def test_a_server_that_is_not_there(tmp_path):
    _, llm = model(tmp_path, "new_episodes", "http://127.0.0.1:1/v1", retries=0)
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:1/v1/ can't be reached"):
        llm.complete("one", "plan")


def test_a_live_call_to_the_vendor_needs_a_key(tmp_path):
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        model(tmp_path, "new_episodes")


def test_defer_replays_and_tells_what_waits(tmp_path, recorded):
    _, llm = model(tmp_path, "defer")
    llm.complete("one", "plan")
    with pytest.raises(Pending) as waiting:
        llm.complete("three", "plan")
    request = waiting.value.request
    assert request["custom_id"].startswith(f"{STEM}#")
    assert request["method"] == "POST"
    assert request["url"] == "/v1/chat/completions"
    assert request["body"]["messages"] == [{"role": "user", "content": "three"}]
    assert request["body"]["temperature"] == 0


@pytest.mark.parametrize(
    "text",
    [
        "interactions: [",
        "just words",
        "a: 1",
        "interactions:\n- request: {}\n",
        "<<<<<<< HEAD\ninteractions: []\n=======\n",
    ],
)
def test_a_damaged_cassette_is_an_error_that_names_the_file(tmp_path, text):
    path = tmp_path / f"{STEM}.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CassetteError, match=r"1\.yaml is no cassette"):
        model(tmp_path, "none")


def test_names_are_safe_as_folders():
    assert stem("pkg.mod:Agent", "vendor/model-7b", "t", 3) == "pkg.mod_Agent/vendor_model-7b/t/3"


def test_every_completion_is_on_disk_before_the_agent_sees_it(tmp_path, chat_server):
    chat_server.reply = solve_menu
    _, llm = model(tmp_path, "new_episodes", chat_server.url)
    for count in (1, 2, 3):
        llm.complete(f"prompt {count}", "plan")
        text = (tmp_path / f"{STEM}.yaml").read_text(encoding="utf-8")
        assert len(yaml.safe_load(text)["interactions"]) == count
    assert [path.name for path in (tmp_path / STEM).parent.iterdir()] == ["1.yaml"]


def test_vcrpy_reads_our_cassettes(recorded):
    from vcr.serialize import deserialize

    from pytest_miniwob_agent.cassette import _Yaml

    requests, responses = deserialize(recorded.read_text(encoding="utf-8"), _Yaml)
    assert json.loads(requests[0].body)["messages"][0]["content"] == "one"
    assert b"answer to one" in responses[0]["body"]["string"]
