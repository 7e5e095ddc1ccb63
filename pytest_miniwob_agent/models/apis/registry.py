"""The model APIs: each registered once, and found by the path of a request."""

from __future__ import annotations

from pytest_miniwob_agent.models.apis.api import API, Provider
from pytest_miniwob_agent.models.apis.chat_completions import ChatCompletions
from pytest_miniwob_agent.models.apis.messages import Messages
from pytest_miniwob_agent.models.apis.responses import Responses


class Gemini(API):
    """Google's own API, whose requests and answers are passed on unread."""

    path = "/v1beta/"
    provider = Provider(
        "GEMINI_API_KEY", "x-goog-api-key", "https://generativelanguage.googleapis.com/v1"
    )


CHAT = ChatCompletions.path
"""The path of Chat Completions as cassettes and batch files name it: without a host."""

APIS: tuple[API, ...] = (ChatCompletions(), Responses(), Messages(), Gemini())

OTHER = API()


def api_of(path: str) -> API:
    """Return the API that reads requests to a path; `OTHER` if none does."""
    return next((api for api in APIS if path == api.path), OTHER)


def provider_of(path: str) -> Provider:
    """Return the provider of requests to a path, or to one below it such as `count_tokens`."""
    return next((api for api in APIS if path.startswith(api.path)), OTHER).provider


def path_of(url_path: str) -> str:
    """Return the path of a request as cassettes name it, from that of its URL.

    The server's own part is left out, so that calls which were recorded through a gateway are
    replayed without one: `/openai/v1/v1/responses` gives `/v1/responses`.
    """
    _, version, rest = url_path.rpartition("/v1/")
    if version:
        # An address that ends in /v1, and a path that begins with a version of its own.
        return f"/{rest}" if rest.startswith(Gemini.path[1:]) else f"/v1/{rest}"
    for api in APIS:
        if url_path.endswith(f"/{api.path.removeprefix('/v1/')}"):
            return api.path
    return url_path
