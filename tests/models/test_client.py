"""The client of a model server: parameters, redirects, rate limits."""

import threading
import time

import pytest
from support.answers import completion, response

from pytest_miniwob_agent.core.chat import ToolCall
from pytest_miniwob_agent.core.errors import ModelError, UsageError
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.budget import Budget


def test_a_replay_says_what_really_answered(session, chat_server):
    names = {"model": "m-2026-01-01", "system_fingerprint": "fp_1"}
    chat_server.reply = lambda prompt: chat_server.completion("Hello.") | names
    with session(chat_server) as llm:
        recorded = llm.complete("one", "plan")
    with session() as llm:
        assert llm.complete("one", "plan") == recorded
    assert (recorded.model, recorded.system_fingerprint) == ("m-2026-01-01", "fp_1")


@pytest.mark.parametrize("second", ["two", {"content": "two"}, {"role": None}, None])
def test_a_message_is_a_mapping_with_a_role(session, chat_server, second):
    wrong = r'^message 1 of llm\.chat is not a mapping with a "role", but '
    with session(chat_server) as llm, pytest.raises(TypeError, match=wrong):
        llm.chat([{"role": "user", "content": "one"}, second], "plan")
    assert chat_server.requests == []


@pytest.mark.parametrize("messages", ["one", {"role": "user", "content": "one"}, []])
def test_messages_are_a_list_that_is_not_empty(session, chat_server, messages):
    with session(chat_server) as llm, pytest.raises(TypeError, match="takes a list of messages"):
        llm.chat(messages, "plan")
    assert chat_server.requests == []


def test_a_tool_call_where_the_agent_offers_none_needs_a_text_beside_it(session, chat_server):
    calls = (ToolCall("c", "click", "{}"),)
    chat_server.reply = lambda prompt: Completion(prompt, tool_calls=calls)
    with session(chat_server) as llm:
        assert llm.complete("said", "plan").text == "said"
        with pytest.raises(ModelError, match="it calls a tool, but the agent offers no tools"):
            llm.complete("", "plan")


class TestParameters:
    def test_an_extra_body_is_sent_as_further_parameters(self, session, chat_server):
        with session(chat_server, {"extra_body": {"top_k": 40}}) as llm:
            llm.complete("one", "plan")
        assert chat_server.requests[0]["top_k"] == 40

    def test_a_parameter_that_the_client_does_not_know_is_an_error_with_a_hint(
        self, session, chat_server
    ):
        hint = "'top_k'; put a parameter that only this server knows into \"extra_body\""
        with session(chat_server, {"top_k": 40}) as llm, pytest.raises(UsageError, match=hint):
            llm.complete("one", "plan")


def test_a_redirect_that_keeps_method_and_body_is_followed(session, raw_server, chat_server):
    there = f"Location: {chat_server.url}/chat/completions"
    raw_server.answer = lambda number: [response(b"", there, status="308 Permanent Redirect")]
    with session(raw_server) as llm:
        llm.complete("one", "plan")
    assert (raw_server.requests, len(chat_server.requests)) == (1, 1)
    assert "authorization" not in chat_server.headers[0]


class TestRateLimits:
    def test_the_client_waits_as_long_as_the_server_demands(self, session, raw_server, monkeypatch):
        refusal = response({"error": {}}, "Retry-After: 7", status="429 Too Many Requests")
        raw_server.answer = lambda number: [refusal if number < 3 else response(completion())]
        waits = []
        monkeypatch.setattr(time, "sleep", waits.append)
        with session(raw_server, retries=2) as llm:
            llm.complete("one", "plan")
        assert waits == [pytest.approx(7), pytest.approx(7)]

    def test_a_call_that_waits_to_be_retried_does_not_hold_its_place(
        self, session, tmp_path, chat_server, monkeypatch
    ):
        """With one call at a time, a second call goes through while the first one waits."""
        order = []
        refused, second_is_over = threading.Event(), threading.Event()

        def reply(prompt):
            order.append(prompt)
            if len(order) > 1:
                return "DONE"
            refused.set()
            return 429

        chat_server.reply = reply
        chat_server.retry_after = 7
        sleep = time.sleep  # which also waits for locks
        monkeypatch.setattr(
            time, "sleep", lambda wait: second_is_over.wait(300) if wait == 7 else sleep(wait)
        )

        def call(name):
            budget = Budget(tmp_path, concurrency=1)
            with session(chat_server, retries=1, budget=budget, folder=tmp_path / name) as llm:
                llm.complete(name, "plan")

        first = threading.Thread(target=call, args=("one",))
        first.start()
        assert refused.wait(300)
        call("two")
        second_is_over.set()
        first.join()
        assert order == ["one", "two", "one"]
