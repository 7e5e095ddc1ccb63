"""The environment of a program that is an agent."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_miniwob_agent.core.secrets import find

NO_KEY = "none"
"""The value of variables for keys: the server of the item takes any."""

# Names of variables that may hold a key.
_KEY = re.compile("key|token|secret|passw|credential|auth", re.IGNORECASE)

BELOW_V1 = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
"""Variables for an address that ends in `/v1`: `openai` in Python and Node, LangChain, LiteLLM, the
AI SDK of Vercel."""

WITHOUT_V1 = (
    "ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "AZURE_OPENAI_ENDPOINT", "GOOGLE_GEMINI_BASE_URL",
    "GEMINI_API_BASE", "GROQ_BASE_URL", "MISTRAL_BASE_URL", "CO_API_URL", "OLLAMA_HOST",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
)  # fmt: skip
"""Variables for an address to which a client adds the whole path: Anthropic, Azure, `google-genai`,
Groq, Mistral, Cohere, Ollama, and Amazon Bedrock's."""

KEYS = (
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "GEMINI_API_KEY",
    "GOOGLE_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "CO_API_KEY", "AWS_BEARER_TOKEN_BEDROCK",
)  # fmt: skip
"""Variables without which clients of these do not start."""

HERE = "127.0.0.1,localhost"
"""Hosts that no proxy is asked for."""


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what looks like a key by its name or its value."""
    return {
        name: value
        for name, value in environment.items()
        if not _KEY.search(name) and not find({name: value})
    }


def for_models(base_url: str) -> dict[str, str]:
    """Return the variables by which clients of models find the item's server.

    Args:
        base_url: the server's address, which ends in `/v1`.
    """
    whole = base_url.removesuffix("/v1")
    return {
        **dict.fromkeys(BELOW_V1, base_url),
        **dict.fromkeys(WITHOUT_V1, whole),
        **dict.fromkeys(KEYS, NO_KEY),
        "AWS_REGION": "us-east-1",
    }


def past_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which the addresses of this machine are reached without a proxy."""
    return {
        name: f"{others},{HERE}" if (others := environment.get(name)) else HERE
        for name in ("NO_PROXY", "no_proxy")
    }
