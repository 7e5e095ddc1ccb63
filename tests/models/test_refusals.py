"""Refusals of a server, as real servers word them, and the option that helps."""

import pytest
from projects import solve_menu

from pytest_miniwob_agent.core.errors import ModelError

TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
    "value is supported."
)
MAX_TOKENS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)
TEXTS = {
    "of OpenAI": (
        400, {"message": TEMPERATURE, "param": "temperature", "code": "unsupported_value"},
        {"temperature": 0, "seed": 1},
        "; leave temperature out of --miniwob-llm-params",
    ),
    "with the name of another parameter": (
        400, {"message": MAX_TOKENS, "param": "max_tokens"}, {"max_tokens": 9, "seed": 1},
        "; name it max_completion_tokens in --miniwob-llm-params",
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
    "for the model, in words": (
        400, {"message": "Invalid model name passed in model=m."}, {},
        "; name another model with --miniwob-model",
    ),
    "for the address": (
        404, {"message": "Not Found"}, {},
        "; check --miniwob-base-url: most servers' addresses end in /v1",
    ),
    "for the key": (
        401, {"message": "Incorrect API key provided"}, {},
        "; the key is taken from OPENAI_API_KEY",
    ),
    "for the messages": (
        400, {"message": "Too long", "param": "messages"}, {"seed": 1}, "Too long",
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


def test_a_reasoning_model_is_recorded_with_the_default_parameters(one_item, chat_server):
    """A server that refuses every temperature; with one, the message says to leave it out."""

    def reply(prompt):
        if "temperature" in chat_server.requests[-1]:
            return 400, {"error": {"message": TEMPERATURE, "param": "temperature"}}
        return solve_menu(prompt)

    chat_server.reply = reply
    result = one_item.run_item(chat_server.url, '--miniwob-llm-params={"temperature": 0}')
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["plan call: *refused the call: *; leave temperature out of --miniwob-llm-params"]
    )
    one_item.run_item(chat_server.url).assert_outcomes(passed=1)
