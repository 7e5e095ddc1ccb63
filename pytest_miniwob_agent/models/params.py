"""Parameters of model calls, which `--miniwob-llm-params` gives, and addresses of servers.

Some parts are sent but never kept: headers, queries, and users in addresses. They hold what a
server or a gateway wants to know about its caller, often a key, and do not decide the answer. So
cassettes do not hold them, and they are neither stored nor shown anywhere.
"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

from pytest_miniwob_agent.core.errors import UsageError

OPTION = "--miniwob-llm-params"
"""The option that gives parameters."""

SENT_ONLY = ("extra_headers", "extra_query")
"""The parameters that are sent but never kept."""


def check_params(params: Mapping[str, Any]) -> None:
    """Check the parameters that are sent but never kept; no `UsageError` shows their values."""
    for name in SENT_ONLY:
        if not isinstance(params.get(name, {}), dict):
            raise UsageError(f"{OPTION}: {name} must be an object")
    headers = params.get("extra_headers", {})
    if wrong := sorted(name for name, value in headers.items() if not isinstance(value, str)):
        raise UsageError(
            f"{OPTION}: extra_headers: the value of {', '.join(wrong)} must be a string"
        )


def kept_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that may be stored and shown."""
    return {name: value for name, value in params.items() if name not in SENT_ONLY}


def sent_only_strings(params: Mapping[str, Any], url: str | None) -> list[str]:
    """Return the strings of a call that are sent but never kept, to mask them where they appear."""
    parts = _split(url or "")
    found = [parts.username, parts.password, *(value for _, value in parse_qsl(parts.query))]
    strings = [unquote(part) for part in found if part]
    for name in SENT_ONLY:
        for value in (params.get(name) or {}).values():
            strings += map(str, value if isinstance(value, list) else [value])
    # The word after `Bearer` and the like, too, as a server may quote it alone.
    return sorted({*strings, *(string.rpartition(" ")[2] for string in strings)})


def split_url(url: str | None) -> tuple[str | None, dict[str, str]]:
    """Return a server's address without its query, and the query, which goes with every call."""
    parts = _split(url or "")
    if not parts.query:
        return url, {}
    return urlunsplit(parts._replace(query="")), dict(parse_qsl(parts.query))


def basic_auth(user: str, password: str) -> dict[str, str]:
    """Return the header of HTTP basic authentication, in UTF-8 (RFC 7617)."""
    given = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {given}"}


def is_server(url: str) -> bool:
    """Return True if a string is the address of an HTTP server."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of an address that can't be split, or of its port
        return False


def shown_url(url: str) -> str:
    """Return an address with `***` instead of its user and query."""
    parts = _split(url)
    user, _, host = parts.netloc.rpartition("@")
    kept, query = f"***@{host}" if user else host, "***" if parts.query else ""
    return urlunsplit((parts.scheme, kept, parts.path, query, "")) or "(not shown)"


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        # The client reports an address that is not valid.
        return urlsplit("")


def option_with(params: Mapping[str, Any]) -> str:
    """Return the option that gives these parameters, as it is written in a shell."""
    return f"{OPTION}={shlex.quote(json.dumps(dict(params), ensure_ascii=False))}"
