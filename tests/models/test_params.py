"""Parts of a call that are sent but never kept: which they are, and texts without them."""

import pytest

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.models.params import (
    check_params,
    kept_params,
    sent_only_texts,
    shown_url,
    split_url,
)

PARAMS = {
    "temperature": 0,
    "extra_body": {"top_k": 1},
    "extra_headers": {"Authorization": "Token abc", "X-Team": "blue"},
    "extra_query": {"code": ["q1", 2]},
}


def test_headers_and_queries_are_not_kept():
    assert kept_params(PARAMS) == {"temperature": 0, "extra_body": {"top_k": 1}}


def test_texts_that_are_sent_only_are_known():
    url = "http://me:p%40ss@host/v1?api_key=k"
    known = ["2", "Token abc", "abc", "blue", "k", "me", "p@ss", "q1"]
    assert sent_only_texts(PARAMS, url) == known
    assert sent_only_texts({}, None) == sent_only_texts({}, "http://[") == []


def test_an_address_is_shown_without_user_and_query():
    url = "http://me:pass@host:1/v1?api_key=k#x"
    assert shown_url(url) == "http://***@host:1/v1?***"
    assert shown_url(url, omitted="") == "http://host:1/v1"
    assert shown_url("http://host:1/v1/") == "http://host:1/v1/"
    assert shown_url("http://[") == "(not shown)"


def test_the_query_of_an_address_is_taken_off():
    assert split_url("http://me:p@host/v1?api_key=k&v=1") == (
        "http://me:p@host/v1",
        {"api_key": "k", "v": "1"},
    )
    assert split_url("http://host/v1/") == ("http://host/v1/", {})
    assert split_url(None) == (None, {})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"extra_headers": ["the-value"]}, "extra_headers must be an object$"),
        ({"extra_headers": {"x-a": 12345, "x-b": "the-value"}}, "value of x-a must be a text$"),
    ],
)
def test_a_wrong_value_is_an_error_that_does_not_show_it(params, message):
    with pytest.raises(UsageError, match=message) as error:
        check_params(params)
    assert "the-value" not in str(error.value)
    assert "12345" not in str(error.value)


def test_good_values_are_no_error():
    check_params(PARAMS)
    check_params({})
