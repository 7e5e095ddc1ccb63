"""Forms of keys, tokens and passwords: the table that `secrets` searches by.

Key formats are facts that their issuers document, and that scanners such as gitleaks and
detect-secrets know too. `docs/cassettes.md` says why neither of them is a dependency.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable
from typing import NamedTuple


class Form(NamedTuple):
    """A form of secrets.

    Attributes:
        kind: the name that people are shown.
        marks: lower-case texts, one of which is in every text with such a secret, in any case. Most
            texts have none of them, and need no other test.
        pattern: a regular expression, ASCII; its group, if it has one, is the secret.
        check: a further test of the secret.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str
    check: Callable[[str], bool] | None = None


def is_name_and_password(text: str) -> bool:
    """Return True for the base64 of `name:password`, as in the header of Basic authentication."""
    try:
        name, colon, password = b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return False
    return bool(colon) and f"{name}{password}".isprintable()


_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[abfnrtv0])|(?<=\\x[\da-fA-F]{2})|(?<=\\u[\da-fA-F]{4}))"
"""The start of a word, also after an escape such as `\\n`: a log may quote a text so."""

_END = r"(?![A-Za-z0-9])"

_IS = r"[\\\"'`]{0,4} ?(?:=>|:=|[:=])\s{0,12}(?:- )?[\\\"'`]{0,4}"
"""Stands between a name and its value in code, JSON, YAML, headers and queries."""

_IS_MARKS = ("=", ":", " =", " :", '"', "'", "`", "\\")
"""The texts that `_IS` begins with."""

_VALUE = (
    # With a digit, or in mixed case and not a name in code: others are words and placeholders.
    r"((?=[\w+/.~-]{0,200}?\d)[\w+/.~-]{12,}={0,2}"
    r"|(?=[\w-]{0,200}?[a-z])(?=[\w-]{0,200}?[A-Z])[\w-]{16,}(?![\w.(\[-]))"
)

_NAMES = (
    "access", "account", "api", "app", "auth", "client", "private", "refresh", "secret", "service",
    "session", "subscription",
)  # fmt: skip

_NAMED = r"(?i:key|token|secret)(?:{})".format(
    "|".join(
        rf"(?<={name}{gap}{what})"
        for name in (f"(?i:{name})" for name in _NAMES)
        for gap in ("", "[-_ ]")
        for what in ("(?i:key)", "(?i:token)", "(?i:secret)")
    )
)
"""The end of a name such as `x-api-key`, `accessToken` or `CLIENT_SECRET`."""


def _key(kind: str, prefix: str, rest: str) -> Form:
    """Return the form of keys that begin with a prefix."""
    return Form(kind, (prefix.lower(),), _START + re.escape(prefix) + rest)


FORMS = (
    Form(
        "private key",
        ("private key",),
        r"-----BEGIN (?:[A-Z\d]+ )*PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]|-(?!----)){0,20000}-----END (?:[A-Z\d]+ )*PRIVATE KEY(?: BLOCK)?-----"
        r"|[\w+/=\s\\]*)",
    ),
    # Model servers.
    _key("Anthropic key", "sk-ant-", r"[\w-]{20,}"),
    _key("OpenRouter key", "sk-or-", r"[\w-]{20,}"),
    _key("OpenAI key", "sk-", r"(?!ant-|or-)[\w-]{20,}"),
    _key("Google key", "AIza", r"[\w-]{35}"),
    _key("Google token", "ya29.", r"[\w-]{20,}"),
    _key("Google token", "GOCSPX-", r"[\w-]{28}"),
    _key("Groq key", "gsk_", r"[A-Za-z\d]{40,}"),
    _key("xAI key", "xai-", r"[A-Za-z\d]{40,}"),
    _key("Hugging Face token", "hf_", r"[A-Za-z\d]{30,}"),
    _key("Hugging Face token", "api_org_", r"[A-Za-z\d]{30,}"),
    _key("Perplexity key", "pplx-", r"[A-Za-z\d]{40,}"),
    _key("Replicate token", "r8_", r"[A-Za-z\d]{37,}"),
    _key("NVIDIA key", "nvapi-", r"[\w-]{40,}"),
    _key("Cerebras key", "csk-", r"[a-z\d]{40,}"),
    _key("Together key", "tgp_v1_", r"[\w-]{40,}"),
    _key("Databricks token", "dapi", r"[a-f\d]{32}" + _END),
    _key("LangSmith key", "lsv2_", r"(?:pt|sk)_[a-f\d]{32}_[a-f\d]{10}"),
    # Clouds.
    Form(
        "Azure key",
        ("jqqj99", "api-key", "accountkey="),
        # Newer keys have a signature; older ones are 32 hexadecimal digits, found by the header.
        _START + r"[A-Za-z\d]{52}JQQJ99[A-Za-z\d]{26}"
        r"|(?i:api-key)\W{1,6}([\da-f]{32})\b|(?i:AccountKey)=([A-Za-z\d+/]{86}==)",
    ),
    Form("Azure client secret", ("q~",), _START + r"[\w.~-]{3}\dQ~[\w.~-]{30,33}[\w~-]" + _END),
    _key("AWS key", "AKIA", r"[A-Z\d]{16}" + _END),
    _key("AWS key", "ASIA", r"[A-Z\d]{16}" + _END),
    _key("AWS key", "ABSK", r"[A-Za-z\d+/]{100,}={0,2}"),
    Form(
        "AWS key",
        ("secret_access_key", "secretaccesskey", "secret-access-key"),
        r"(?i:secret[-_]?access[-_]?key)" + _IS + r"([\w/+]{40})(?![\w/+])",
    ),
    Form("DigitalOcean token", ("_v1_",), _START + r"do[opr]_v1_[a-f\d]{64}"),
    # Where code and words are kept.
    Form(
        "GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        _START + r"gh[pousr]_[A-Za-z\d]{36,}",
    ),
    _key("GitHub token", "github_pat_", r"\w{22,}"),
    Form(
        "GitLab token",
        ("gl",),
        _START + r"gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-(?:t\d_)?[\w-]{20,}"
        r"(?:\.\w{2,})*",
    ),
    _key("GitLab token", "GR1348941", r"[\w-]{20,}"),
    _key("Slack token", "xox", r"[a-z]-(?=[\w-]{0,200}?\d)[\w-]{10,}"),
    _key("Slack token", "xapp-", r"\d-[\w-]{20,}"),
    Form(
        "Slack token",
        ("hooks.slack.com/",),
        r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w+/]{40,}",
    ),
    _key("npm token", "npm_", r"[A-Za-z\d]{36}" + _END),
    _key("PyPI token", "pypi-", r"[\w-]{60,}"),
    _key("Docker token", "dckr_", r"(?:pat|oat)_[\w-]{27,}"),
    Form("Stripe key", ("k_live_", "k_test_"), _START + r"[sr]k_(?:live|test)_[A-Za-z\d]{20,}"),
    _key("SendGrid key", "SG.", r"[\w-]{22}\.[\w-]{43}"),
    Form("Telegram token", (":aa",), _START + r"\d{8,10}:AA[\w-]{33}(?![\w-])"),
    # Forms of headers and addresses.
    Form(
        "bearer token",
        ("bearer",),
        _START + r"(?i:bearer)\s+(?=[\w.~+/-]{0,200}?\d)[\w.~+/-]{15,}[\w~+/-]=*",
    ),
    Form(
        "Basic credentials",
        ("basic",),
        _START + r"(?i:basic)\s+([A-Za-z\d+/]{6,}={0,2})(?![\w+/=])",
        is_name_and_password,
    ),
    Form("JSON Web Token", ("eyj",), _START + r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*"),
    Form(
        "password in a URL",
        ("://",),
        r"://([^\s/@:]*:[^\s/@]+)@|://((?=[\w.~-]{0,200}?\d)[\w.~-]{20,})@",
    ),
    Form(
        "key in a URL",
        ("key=", "token=", "sig=", "signature="),
        r"[?&](?i:key|token|auth|sig|signature)=((?=[\w%+/.~-]{0,200}?\d)[\w%+/.~-]{16,}=*)",
    ),
    # Values by their names, for keys without a form of their own.
    Form(
        "API key",
        tuple(what + mark for what in ("key", "token", "secret") for mark in _IS_MARKS),
        _NAMED + _IS + _VALUE,
    ),
    Form(
        "key of a variable",
        ("_key", "_token", "_secret", "_password", "_passwd", "_pwd"),
        r"_(?<=[A-Z\d]_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD)" + _IS + _VALUE,
    ),
    Form(
        "authorization",
        ("authorization",),
        r"(?i:authorization)" + _IS + r"(?:[A-Za-z]+ )?" + _VALUE,
    ),
)
"""All forms. Where several match the same text, the first one gives the kind."""
