"""Answers that are paid for and can't be used: counted, named in the ledger, and explained."""

import json

import pytest
from support.answers import completion, completion_of, response

from pytest_miniwob_agent.core.chat import Usage
from pytest_miniwob_agent.models.apis import CHAT, describe_unusable, parse_usage

PRICES = "--miniwob-prices=m 1e4 1e4"


def out_of_tokens(reasoning=500, content=None):
    body = completion_of(content)
    body["choices"][0]["finish_reason"] = "length"
    details = {"reasoning_tokens": reasoning}
    body["usage"] = {
        "prompt_tokens": 11, "completion_tokens": 500, "completion_tokens_details": details,
    }  # fmt: skip
    return body


def test_an_answer_without_a_text_uses_up_the_limits_and_is_in_the_ledger(project, chat_server):
    """511 tokens at a cent each."""
    chat_server.reply = lambda prompt: out_of_tokens(content="")
    result = project.record("--miniwob-max-calls=1", "--miniwob-max-cost=0.01", PRICES)
    assert len(chat_server.requests) == 1
    assert result.parseoutcomes() == {"errors": 1, "budget": 11}
    assert project.recorded() == {}
    result.stdout.fnmatch_lines(
        [
            "plan call: *ran out of tokens (finish_reason is length, 500 used); *",
            "model calls: 0 replayed, 0 recorded, 1 unusable",
            "unusable answers, paid for and not recorded: 1 out of tokens before any text",
            "tokens: 511 spent, 0 avoided",
            "money: $5.11 spent, $0.00 avoided",
            "budget: --miniwob-max-calls=1 is reached, *",
        ]
    )


def test_malformed_and_cut_off_answers_count_at_an_unknown_cost(project, raw_server):
    whole = json.dumps(completion()).encode()
    for answer, reason, budget in (
        (
            response(whole[:-40], length=len(whole)),
            "cut off or not decodable",
            "budget: --miniwob-max-cost can't be kept: an answer from the server had no token *",
        ),
        (
            response(completion("AKIA" + "A1B2C3D4" * 2)),
            "looks like a secret",
            "budget: --miniwob-max-cost=0.01 is *",
        ),
    ):
        raw_server.requests = 0
        raw_server.answer = lambda number, answer=answer: [answer]
        url = f"--miniwob-base-url={raw_server.url}"
        result = project.record(url, "--miniwob-max-cost=0.01", PRICES, "-k", "click-menu-2")
        assert raw_server.requests == 1
        result.stdout.fnmatch_lines([f"unusable answers, paid for*: 1 {reason}", budget])
    assert project.recorded() == {}


def with_choice(**choice):
    body = completion_of(None)
    body["choices"][0].update(choice)
    return body


@pytest.mark.parametrize(
    ("body", "request_", "reason", "report"),
    [
        (
            out_of_tokens(0), {"max_tokens": 5000}, "out of tokens before any text",
            ', 500 used); raise "max_tokens" in --miniwob-llm-params',
        ),
        (
            with_choice(finish_reason="length", message={"content": ""}) | {"usage": "n/a"}, {},
            "out of tokens before any text", 'is length); raise "max_completion_tokens" in',
        ),
        (
            with_choice(finish_reason="content_filter"), {},
            "held back by a content filter", "the server's content filter held it back",
        ),
        (completion_of(None), {}, "no text", "no chat completion with text: "),
        ({"choices": "n/a"}, {}, "no chat completion", "no chat completion with text: "),
    ],
)  # fmt: skip
def test_the_reason_is_named_and_the_option_that_helps(body, request_, reason, report):
    unusable = describe_unusable(CHAT, 200, json.dumps(body).encode(), request_)
    assert unusable == describe_unusable(CHAT, 200, body, request_)
    assert unusable.reason == reason
    assert report in unusable.report


@pytest.mark.parametrize("count", [-1, True, 1.5, "7", None, 10**400])
def test_an_impossible_token_count_is_unknown(count):
    body = completion_of(None) | {"usage": {"prompt_tokens": 11, "completion_tokens": count}}
    assert parse_usage(CHAT, body) == Usage(1, uncounted=1)
