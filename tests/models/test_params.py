"""Parts of a call that are sent but never kept: which they are, and texts without them."""

import pytest

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.models import params

PARAMS = {
    "temperature": 0,
    "extra_body": {"top_k": 1},
    "extra_headers": {"Authorization": "Token abc", "X-Team": "blue"},
    "extra_query": {"code": ["q1", 2]},
}


def test_headers_and_queries_are_not_kept_and_their_texts_are_known():
    params.check_params(PARAMS)
    assert params.kept_params(PARAMS) == {"temperature": 0, "extra_body": {"top_k": 1}}
    url = "http://me:p%40ss@host/v1?api_key=k"
    known = ["2", "Token abc", "abc", "blue", "k", "me", "p@ss", "q1"]
    assert params.sent_only_strings(PARAMS, url) == known
    assert params.sent_only_strings({}, None) == params.sent_only_strings({}, "http://[") == []


def test_an_address_is_shown_without_user_and_query_and_sent_without_its_query():
    url = "http://me:pass@host:1/v1?api_key=k#x"
    assert params.shown_url(url) == "http://***@host:1/v1?***"
    assert params.shown_url("http://host:1/v1/") == "http://host:1/v1/"
    assert params.shown_url("http://[") == "(not shown)"
    query = {"api_key": "k", "v": "1"}
    assert params.split_url("http://me:p@host/v1?api_key=k&v=1") == ("http://me:p@host/v1", query)
    assert params.split_url("http://host/v1/") == ("http://host/v1/", {})
    assert params.split_url(None) == (None, {})


@pytest.mark.parametrize("url", ["http://", "http://[::1", "ftp://h/v1", "http://h:x/v1", "h"])
def test_an_address_has_a_scheme_and_a_host(url):
    assert not params.is_server(url)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"extra_headers": ["the-value"]}, "extra_headers must be an object$"),
        ({"extra_headers": {"x-a": 12345, "x-b": "the-value"}}, "value of x-a must be a string$"),
    ],
)
def test_a_wrong_value_is_an_error_that_does_not_show_it(given, message):
    with pytest.raises(UsageError, match=message) as error:
        params.check_params(given)
    assert "the-value" not in str(error.value)
    assert "12345" not in str(error.value)
