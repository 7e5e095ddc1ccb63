r"""Keys, tokens and passwords in data: found before it is sent or kept, replaced where it is shown.

Data is searched as it is, and not as JSON or YAML: an escape such as `\n` there puts a letter in
front of a key. So `find` and `mask` take data of any kind and walk it to its texts.
"""

from __future__ import annotations

import binascii
import copy
import operator
import os
import re
from base64 import b64decode
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, TypeVar

KEY_VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
"""The environment variables with keys of model servers."""

KEY_VARIABLE = "MINIWOB_KEY_VARIABLE"
"""The environment variable with the name of a further one, which `--miniwob-key-variable` sets."""

_SHORTEST = 8
"""Length from which a text can be a secret, also the value of a `KEY_VARIABLES`: a shorter one is a
placeholder, whose letters may be in any text."""

_SECRET_NAME = re.compile("key|token|secret|password|authorization", re.IGNORECASE)
"""Names whose values may be secrets."""

_PICTURE = re.compile(
    r"(?:data:image/[\w.+-]+;base64,|iVBORw0KGgo|/9j/|R0lGOD|UklGR)[A-Za-z0-9+/]*+={0,2}"
)
"""A data URL or the Base64 of a picture, whose letters may look like a key by chance."""

_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""The start of a word, also after an escape such as `\\n`: a log may quote a text so."""

_BEGUN = r"(?:(?<![A-Za-z0-9].)|(?<=\\[nrt].))"
"""The same behind the first character, which is searched for faster where it is a rare one."""

_IS = r"[\\\"'`]{0,4} ?(?:=>|:=|[:=])\s{0,12}(?:- )?[\\\"'`]{0,4}"
"""Stands between a name and its value in code, JSON, YAML, headers and queries."""

_VALUE = (
    # With a digit, or in mixed case and not a name in code: others are words and placeholders.
    r"((?=[\w+/.~-]{0,200}?\d)[\w+/.~-]{12,}={0,2}"
    r"|(?=[\w-]{0,200}?[a-z])(?=[\w-]{0,200}?[A-Z])[\w-]{16,}(?![\w.(\[-]))"
)

_NAME = (
    r"(?:(?i:(?:access|account|api|app|auth|client|private|refresh|secret|service|session"
    r"|subscription)[-_ ]?(?:key|token|secret)|authorization)"
    r"|[A-Z\d]_(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD))"
)
"""Names such as `x-api-key`, `accessToken`, `DB_PASSWORD`."""

_ENDS = ("key", "token", "secret", "password", "passwd", "authorization")
_MARKS = ("=", ":", " =", " :", '"', "'", "`", "\\")
"""The ends of such names, and what `_IS` begins with."""

_FORMS = [
    (kind, marks.split("|") if marks else [], re.compile(pattern, re.ASCII))
    for kind, marks, pattern in (
        ("private key", "-----begin",
         r"-----BEGIN (?:[A-Z\d]+ )*PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----)){0,20000}"
         r"(?:-----END (?:[A-Z\d]+ )*PRIVATE KEY(?: BLOCK)?-----)?"),
        ("Anthropic key", "sk-ant-", _START + r"sk-ant-[\w-]{20,}"),
        ("OpenRouter key", "sk-or-", _START + r"sk-or-[\w-]{20,}"),
        ("OpenAI key", "sk-", _START + r"sk-[\w-]{20,}"),
        ("Google key", "aiza|ya29.", _START + r"(?:AIza[\w-]{35}|ya29\.[\w-]{20,})"),
        ("Azure key", "jqqj99", _START + r"[A-Za-z\d]{52}JQQJ99[A-Za-z\d]{26}"),
        ("AWS key", "akia|asia|absk",
         _START + r"(?:(?:AKIA|ASIA)[A-Z\d]{16}(?![A-Za-z\d])|ABSK[A-Za-z\d+/]{100,}={0,2})"),
        ("key of a model server", "gsk_|xai-|hf_|pplx-|r8_|nvapi-|csk-|tgp_v1_|fw_",
         _START + r"(?:(?:gsk_|xai-|hf_|pplx-|r8_|nvapi-|csk-|tgp_v1_)[\w-]{30,}"
         r"|fw_[A-Za-z\d]{22,})"),
        ("GitHub token", "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_",
         _START + r"(?:gh[pousr]_[A-Za-z\d]{36,}|github_pat_\w{22,})"),
        ("Slack token", "xox|xapp-|hooks.slack.com/",
         _START + r"(?:xox[a-z]-(?=[\w-]{0,200}?\d)[\w-]{10,}|xapp-\d-[\w-]{20,})"
         r"|(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w+/]{40,}"),
        ("token of a service", "glpat-|npm_|pypi-|dckr_|k_live_|k_test_|hvs.|hvb.|hvr.|shp|sq0",
         _START + r"(?:glpat-|npm_|pypi-|dckr_[po]at_|[sr]k_(?:live|test)_|hv[bsr]\.|shp[a-z]{2}_"
         r"|sq0[a-z]{3}-)[\w-]{20,}(?:\.\w+)*"),
        ("token of a service", "eaaa|sk",
         "[ES]" + _BEGUN + r"(?:(?<=E)AAA[\w-]{56,}|(?<=S)K[\da-f]{32}(?![\w-]))"),
        ("Discord token", ".",
         "[MNO]" + _BEGUN + r"[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"),
        ("bearer token", "bearer",
         _START + r"(?i:bearer)\s+(?=[\w.~+/-]{0,200}?\d)[\w.~+/-]{15,}[\w~+/-]=*"),
        ("Basic credentials", "basic",
         _START + r"(?i:basic)\s+([A-Za-z\d+/]{6,}={0,2})(?![\w+/=])"),
        ("JSON Web Token", "eyj", _START + r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*"),
        ("password in a URL", "://",
         r"://([^\s/@:]*:[^\s/@]+)@|://((?=[\w.~-]{0,200}?\d)[\w.~-]{20,})@"),
        ("key in a URL", "key=|token=|sig=|signature=",
         r"[?&](?i:key|token|auth|sig|signature)=((?=[\w%+/.~-]{0,200}?\d)[\w%+/.~-]{16,}=*)"),
        ("API key", "",
         _NAME + _IS + "(?:[A-Za-z]+ )?" + _VALUE),
    )
]  # fmt: skip
"""The forms of secrets: a name, lower-case texts, and a pattern. A text with such a secret contains
one of the lower-case texts. If the pattern has a group, the group is the secret.

Where several match the same text, the first one gives the kind. Issuers document these forms, and
scanners such as gitleaks and detect-secrets know them too.
"""

Data = TypeVar("Data")


class Secret(NamedTuple):
    """A secret in data: what it is called, and its text."""

    kind: str
    text: str


def find(data: Any) -> list[Secret]:
    """Find the secrets in a text, or in all texts of a mapping, sequence or dataclass.

    A text is searched together with the name that it has, as in `{"x-api-key": "..."}`.
    """
    found: list[Secret] = []
    pairs = _known()

    def search(text: str, name: str) -> str:
        spans = _spans(text, name, pairs)
        found.extend(Secret(kind, text[start:end]) for start, end, kind in spans)
        return text

    map_texts(data, search)
    return found


def mask(data: Data, known: Collection[str] = ()) -> Data:
    """Return the data with each secret replaced by its kind, such as `[OpenAI key]`.

    Data without a secret is returned itself, and no data is changed. `known` are texts that are
    secrets whatever their form.
    """
    pairs = _known(known)

    def replace(text: str, name: str) -> str:
        for start, end, kind in reversed(_spans(text, name, pairs)):
            text = f"{text[:start]}[{kind}]{text[end:]}"
        return text

    masked: Data = map_texts(data, replace)
    return masked


def _known(values: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return texts that are secrets by their kind: those given, and those in `KEY_VARIABLES`."""
    names = [*KEY_VARIABLES, *filter(None, [os.environ.get(KEY_VARIABLE)])]
    pairs = [(f"value of {name}", os.environ.get(name, "")) for name in names]
    pairs += [("not shown", value) for value in values]
    return [(kind, value) for kind, value in pairs if len(value) >= _SHORTEST]


def map_texts(data: Any, change: Callable[[str, str], str], name: str = "") -> Any:
    """Return data with its texts changed by a function of text and name.

    Data whose texts stay the same is returned itself. Constructors of dataclasses are not called.
    """
    if isinstance(data, str):
        return data if isinstance(data, Enum) else change(data, name)
    if isinstance(data, Mapping):
        changed = {map_texts(k, change): map_texts(v, change, str(k)) for k, v in data.items()}
        before, after = chain(data, data.values()), chain(changed, changed.values())
        return data if all(map(operator.is_, before, after)) else changed
    if isinstance(data, list | tuple):
        parts = [map_texts(part, change, name) for part in data]
        if all(map(operator.is_, data, parts)):
            return data
        return parts if isinstance(data, list) else tuple(parts)
    if is_dataclass(data) and not isinstance(data, type):
        result = data
        for part in data.__dataclass_fields__:
            value = getattr(data, part, None)
            if (new := map_texts(value, change, part)) is not value:
                result = copy.copy(data) if result is data else result
                object.__setattr__(result, part, new)  # of frozen ones too
        return result
    return data


def _spans(text: str, name: str, known: Sequence[tuple[str, str]]) -> list[tuple[int, int, str]]:
    """Return start, end and kind of every secret in a text, in order; they do not overlap."""
    if len(text) < _SHORTEST or _PICTURE.fullmatch(text):
        return []
    if name and _SECRET_NAME.search(name):
        head = len(name) + 1
        found = _spans(f"{name}={text}", "", known)
        return [
            (max(start - head, 0), end - head, kind) for start, end, kind in found if end > head
        ]
    matches = [
        (match.start(), match.end(), -1, kind)
        for kind, value in known
        for match in re.finditer(re.escape(value), text)
    ]
    matches += _in_form(text)
    merged: list[tuple[int, int, int, str]] = []
    for start, end, rank, kind in sorted(matches):
        if merged and start < merged[-1][1]:  # two that overlap are one, of the first kind
            last = merged.pop()
            start, end = last[0], max(end, last[1])
            rank, kind = min(last[2:], (rank, kind))
        merged.append((start, end, rank, kind))
    return [(start, end, kind) for start, end, _, kind in merged]


@lru_cache(maxsize=1024)  # the texts of a screen and a conversation come again and again
def _in_form(text: str) -> tuple[tuple[int, int, int, str], ...]:
    """Return start, end, place in the table and kind of what has a form of it, usually none."""
    lowered = text.lower()
    named = [name + mark for name in _ENDS if name in lowered for mark in _MARKS]
    found = []
    for rank, (kind, marks, pattern) in enumerate(_FORMS):
        possible = any(map(lowered.__contains__, marks or named))
        for match in pattern.finditer(text) if possible else ():
            start, end = match.span(match.lastindex or 0)
            if kind != "Basic credentials" or _is_name_and_password(text[start:end]):
                found.append((start, end, rank, kind))
    return tuple(found)


def _is_name_and_password(text: str) -> bool:
    """Return True for the Base64 of `name:password`, as in the header of Basic authentication."""
    try:
        name, colon, password = b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return False
    return bool(colon) and f"{name}{password}".isprintable()
