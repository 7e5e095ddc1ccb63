"""Keys and tokens in texts: found before a text is recorded, replaced in texts that are shown."""

from __future__ import annotations

import os
import re

_FORMS = {
    "Anthropic key": r"\bsk-ant-[\w-]{20,}",
    "OpenAI key": r"\bsk-(?!ant-)[\w-]{20,}",
    "Google key": r"\bAIza[\w-]{35}",
    "Azure key": (
        # Newer keys have a signature; older ones are 32 hexadecimal digits, found by the header.
        r"\b[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}"
        r"|(?<=api-key)\W{1,6}[0-9a-f]{32}\b"
    ),
    "AWS key": (
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
        r"|(?<=aws_secret_access_key)\W{1,6}[\w/+]{40}|(?<=SecretAccessKey)\W{1,6}[\w/+]{40}"
    ),
    "GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_\w{22,}",
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}",
    "bearer token": r"\b[Bb]earer\s+(?=[\w.~+/-]*\d)[\w.~+/-]{16,}=*",
    "password in a URL": r"(?<=://)[^\s/@:]+:[^\s/@]+(?=@)",
}
_ANY = {kind: re.compile(pattern) for kind, pattern in _FORMS.items()}

_SHORTEST = 8
"""Length from which the value of `OPENAI_API_KEY` counts as a key: a shorter one is a placeholder,
whose letters may be in any text."""


def find(text: str) -> list[tuple[str, int]]:
    """The kind and position of every key in a text: known forms, and that in `OPENAI_API_KEY`."""
    return [
        (kind, match.start()) for kind, form in _forms().items() for match in form.finditer(text)
    ]


def redact(text: str) -> str:
    """The text with every key replaced by its kind, such as `[OpenAI key]`."""
    for kind, form in _forms().items():
        text = form.sub(f"[{kind}]", text)
    return text


def _forms() -> dict[str, re.Pattern[str]]:
    key = os.environ.get("OPENAI_API_KEY", "")
    if len(key) < _SHORTEST:
        return _ANY
    return {"value of OPENAI_API_KEY": re.compile(re.escape(key)), **_ANY}
