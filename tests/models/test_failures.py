"""Failed calls: those that stop the run, and the advice on refusals as real servers word them."""

import contextlib

import openai
import pytest
from support.projects import solve_menu

from pytest_miniwob_agent.core.chat import ModelRequest
from pytest_miniwob_agent.core.errors import ModelError
from pytest_miniwob_agent.core.events import OF_TEST
from pytest_miniwob_agent.models.client import LiveModel, model_error
from pytest_miniwob_agent.models.http import httpx

STOPPED = "*!* every model call would fail*!*"


@pytest.fixture
def record_all(project):
    def run(reply, *args):
        project.server.reply = reply
        return project.record(*args)

    return run


def test_a_wrong_key_stops_the_run_after_one_request(record_all, chat_server):
    result = record_all(lambda prompt: 401)
    assert len(chat_server.requests) == 1
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*refused the call*401*OPENAI_API_KEY", STOPPED])


def test_a_web_page_in_the_place_of_an_answer_stops_the_run(record_all, chat_server):
    result = record_all(lambda prompt: b"<!doctype html><title>Hello</title>")
    assert len(chat_server.requests) == 1
    result.stdout.fnmatch_lines(["*check --miniwob-base-url: * end in /v1", STOPPED])


def test_a_closed_port_stops_the_run_at_the_first_attempt(record_all, closed_url, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("the call was repeated"))
    result = record_all(solve_menu, f"--miniwob-base-url={closed_url}")
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["*refused (start the server, or name another with *", STOPPED])


def test_three_items_in_a_row_without_an_answer_stop_the_run(record_all, chat_server):
    """The second item has its answers, so that the first one does not count."""
    chat_server.retry_after = 0.001

    def reply(prompt):
        answered = "click-menu-2 2" in prompt or "Say in one short sentence" in prompt
        return solve_menu(prompt) if answered else 500

    result = record_all(reply)
    assert result.parseoutcomes() == {"errors": 4, "passed": 1}
    result.stdout.fnmatch_lines(
        ["*!* the server answered no call of 3 items in a row, each of which was sent several tim*"]
    )


def test_a_refused_call_after_one_that_succeeded_is_the_error_of_its_item(record_all, chat_server):
    too_long = (400, {"error": {"message": "the context is too long"}})
    result = record_all(
        lambda p: too_long if "click-tab 2" in p else solve_menu(p), "-k", "click-tab/"
    )
    assert result.parseoutcomes() == {"passed": 1, "errors": 1, "deselected": 10}


@pytest.mark.parametrize(
    ("status", "error", "of_call"),
    [
        (400, {}, True),
        (400, {"code": "billing_hard_limit_reached"}, False),
        (401, {}, False),
        (429, {"type": "insufficient_quota"}, False),
        (429, {}, None),
    ],
)
def test_refusals_are_permanent_by_status_and_code(status, error, of_call):
    """The client hands on the content of `error` as the body."""
    response = httpx.Response(status, request=httpx.Request("POST", "http://h/v1"))
    found = model_error("text", openai.APIStatusError("text", response=response, body=error))
    assert getattr(found, "of_call", None) is of_call
    assert getattr(model_error("again", found), "of_call", None) is of_call


TEMPERATURE = "Unsupported value: 'temperature' does not support 0 with this model."
TEXTS = {
    "of OpenAI": (
        400, {"message": TEMPERATURE, "param": "temperature", "code": "unsupported_value"},
        {"temperature": 0, "seed": 1},
        "; leave temperature out of --miniwob-llm-params",
    ),
    "without a param": (
        400, {"message": "m models don't support temperature=0. Only temperature=1 is supported"},
        {"temperature": 0}, "; leave temperature out of --miniwob-llm-params",
    ),
    "of FastAPI": (
        422, [{"loc": ["body", "top_k"], "msg": "Extra inputs are not permitted"}],
        {"extra_body": {"top_k": 40}}, "; leave top_k out of --miniwob-llm-params",
    ),
    "for a parameter that is missing": (
        400, {"message": "Field required", "param": "max_tokens"}, {},
        '; give "max_tokens" with --miniwob-llm-params',
    ),
    "for the model": (
        404, {"message": "The model `m` does not exist", "code": "model_not_found"},
        {"temperature": 0}, "; name another model with --miniwob-model",
    ),
    "for the address": (
        404, {"message": "Not Found"}, {},
        "; check --miniwob-base-url: most servers' addresses end in /v1",
    ),
    "for the key": (
        401, {"message": "Incorrect API key provided"}, {},
        "; the key is taken from OPENAI_API_KEY",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", TEXTS)
def test_a_refusal_names_the_option_that_helps(session, chat_server, kind):
    status, error, params, advice = TEXTS[kind]
    body = {"detail": error} if isinstance(error, list) else {"error": error}
    chat_server.reply = lambda prompt: (status, body)
    with session(chat_server, params) as llm, pytest.raises(ModelError) as refused:
        llm.complete("one", "plan")
    assert str(refused.value).endswith(advice)


QUESTIONS = {
    "/v1/messages": {"messages": [{"role": "user", "content": "a"}]},
    "/v1/responses": {"input": "a"},
    "/v1beta/models/m:generateContent": {"contents": [{"parts": [{"text": "a"}]}]},
}


@pytest.mark.parametrize(
    ("path", "variable", "named"),
    [
        ("/v1/messages", None, "ANTHROPIC_API_KEY or OPENAI_API_KEY"),
        ("/v1/responses", None, "OPENAI_API_KEY"),
        ("/v1beta/models/m:generateContent", "MY_KEY", "MY_KEY"),
    ],
)
def test_a_refused_key_is_named_by_the_variables_that_may_have_it(
    chat_server, monkeypatch, path, variable, named
):
    monkeypatch.setenv("MY_KEY", "k")
    chat_server.reply = lambda prompt: 401
    model = LiveModel("m", {}, base_url=chat_server.url, retries=0, key_variable=variable)
    with contextlib.closing(model), pytest.raises(ModelError) as refused:
        model.post(ModelRequest(path, QUESTIONS[path]), OF_TEST)
    assert str(refused.value).endswith(f"; the key is taken from {named}")


def test_a_failure_names_the_server_of_its_own_api(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    model = LiveModel("m", {}, retries=0)
    with contextlib.closing(model), pytest.raises(ModelError) as failure:
        model.post(ModelRequest("/v1/messages", {"messages": []}), OF_TEST)
    assert "call: https://api.anthropic.com/v1 can't be reached" in str(failure.value)
