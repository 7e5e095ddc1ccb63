"""Forms of keys, tokens and passwords: the table that `secrets` searches by.

Key formats are facts that their issuers document, and that scanners such as gitleaks and
detect-secrets know too. `docs/cassettes.md` says why neither of them is a dependency.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable
from typing import NamedTuple


class Form(NamedTuple):
    """A form of secrets.

    Args:
        kind: the name that people are shown.
        marks: lower-case texts, one of which is in every text that holds such a secret, in any
            case. Most texts have none of them, and need no other test.
        pattern: the regular expression, ASCII; its group, if it has one, is the secret.
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

FORMS = (
    Form(
        "private key",
        ("private key",),
        r"-----BEGIN (?:[A-Z\d]+ )*PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]|-(?!----)){0,20000}-----END (?:[A-Z\d]+ )*PRIVATE KEY(?: BLOCK)?-----"
        r"|[\w+/=\s\\]*)",
    ),
    # Model servers.
    Form("Anthropic key", ("sk-ant-",), _START + r"sk-ant-[\w-]{20,}"),
    Form("OpenRouter key", ("sk-or-",), _START + r"sk-or-[\w-]{20,}"),
    Form("OpenAI key", ("sk-",), _START + r"sk-(?!ant-|or-)[\w-]{20,}"),
    Form("Google key", ("aiza",), _START + r"AIza[\w-]{35}"),
    Form("Google token", ("ya29.", "gocspx-"), _START + r"(?:ya29\.[\w-]{20,}|GOCSPX-[\w-]{28})"),
    Form("Groq key", ("gsk_",), _START + r"gsk_[A-Za-z\d]{40,}"),
    Form("xAI key", ("xai-",), _START + r"xai-[A-Za-z\d]{40,}"),
    Form("Hugging Face token", ("hf_", "api_org_"), _START + r"(?:hf|api_org)_[A-Za-z\d]{30,}"),
    Form("Perplexity key", ("pplx-",), _START + r"pplx-[A-Za-z\d]{40,}"),
    Form("Replicate token", ("r8_",), _START + r"r8_[A-Za-z\d]{37,}"),
    Form("NVIDIA key", ("nvapi-",), _START + r"nvapi-[\w-]{40,}"),
    Form("Cerebras key", ("csk-",), _START + r"csk-[a-z\d]{40,}"),
    Form("Together key", ("tgp_v1_",), _START + r"tgp_v1_[\w-]{40,}"),
    Form("Databricks token", ("dapi",), _START + r"dapi[a-f\d]{32}" + _END),
    Form("LangSmith key", ("lsv2_",), _START + r"lsv2_(?:pt|sk)_[a-f\d]{32}_[a-f\d]{10}"),
    # Clouds.
    Form(
        "Azure key",
        ("jqqj99", "api-key", "accountkey="),
        # Newer keys have a signature; older ones are 32 hexadecimal digits, found by the header.
        _START + r"[A-Za-z\d]{52}JQQJ99[A-Za-z\d]{26}"
        r"|(?i:api-key)\W{1,6}([\da-f]{32})\b|(?i:AccountKey)=([A-Za-z\d+/]{86}==)",
    ),
    Form("Azure client secret", ("q~",), _START + r"[\w.~-]{3}\dQ~[\w.~-]{30,33}[\w~-]" + _END),
    Form(
        "AWS key",
        ("akia", "asia", "absk", "secret_access_key", "secretaccesskey", "secret-access-key"),
        _START + r"(?:AKIA|ASIA)[A-Z\d]{16}" + _END + "|" + _START + r"ABSK[A-Za-z\d+/]{100,}={0,2}"
        r"|(?i:secret[-_]?access[-_]?key)" + _IS + r"([\w/+]{40})(?![\w/+])",
    ),
    Form("DigitalOcean token", ("_v1_",), _START + r"do[opr]_v1_[a-f\d]{64}"),
    # Where code and words are kept.
    Form(
        "GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        _START + r"(?:gh[pousr]_[A-Za-z\d]{36,}|github_pat_\w{22,})",
    ),
    Form(
        "GitLab token",
        ("gl", "gr1348941"),
        _START + r"(?:gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-(?:t\d_)?[\w-]{20,}"
        r"(?:\.\w{2,})*|GR1348941[\w-]{20,})",
    ),
    Form(
        "Slack token",
        ("xox", "xapp-", "hooks.slack.com/"),
        _START + r"(?:xox[a-z]-(?=[\w-]{0,200}?\d)[\w-]{10,}|xapp-\d-[\w-]{20,})"
        r"|(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w+/]{40,}",
    ),
    Form("npm token", ("npm_",), _START + r"npm_[A-Za-z\d]{36}" + _END),
    Form("PyPI token", ("pypi-",), _START + r"pypi-[\w-]{60,}"),
    Form("Docker token", ("dckr_",), _START + r"dckr_(?:pat|oat)_[\w-]{27,}"),
    Form("Stripe key", ("k_live_", "k_test_"), _START + r"[sr]k_(?:live|test)_[A-Za-z\d]{20,}"),
    Form("SendGrid key", ("sg.",), _START + r"SG\.[\w-]{22}\.[\w-]{43}"),
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
