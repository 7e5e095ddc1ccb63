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
    "GOOGLE_VERTEX_BASE_URL", "GEMINI_API_BASE", "GROQ_BASE_URL", "MISTRAL_BASE_URL",
)  # fmt: skip
"""Variables for an address to which a client adds the whole path: Anthropic, Azure, `google-genai`,
Groq, Mistral."""

UPSTREAMS = {
    "OLLAMA_HOST": "/ollama",
    "CO_API_URL": "/cohere",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "/bedrock",
    "ANTHROPIC_BEDROCK_BASE_URL": "/bedrock",
    "MINIWOB_UPSTREAM_URL": "",
}
"""Variables for the addresses of servers that `--miniwob-upstream` names: Ollama, Cohere, Amazon
Bedrock by boto3 and by `anthropic`; and for the address to which any other name is added."""

KEYS = (
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "GEMINI_API_KEY",
    "GOOGLE_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "CO_API_KEY", "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
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
        **{variable: f"{whole}/upstream{name}" for variable, name in UPSTREAMS.items()},
        **dict.fromkeys(KEYS, NO_KEY),
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


def past_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which the addresses of this machine are reached without a proxy."""
    # Of two, a client reads one: which one, differs.
    upper, lower = environment.get("NO_PROXY"), environment.get("no_proxy")
    return {
        name: f"{others},{HERE}" if others else HERE
        for name, others in (("NO_PROXY", upper or lower), ("no_proxy", lower or upper))
    }
