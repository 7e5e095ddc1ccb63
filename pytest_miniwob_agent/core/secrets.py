r"""Keys, tokens and passwords in data: found before it is sent or kept, masked where it is shown.

Whatever is to be sent or stored is searched here, with what its encodings hide (`decoding`): `find`
names the secrets, and `refuse` is an error. Data is searched as it is, and not as JSON or YAML: an
escape such as `\n` there puts a letter in front of a key. So data of any kind is walked to its
strings.

A string is a secret by its value: it has the form of an issuer's keys, or it follows a name
such as `apiKey` and is not made of words, as names and placeholders are.
"""

from __future__ import annotations

import binascii
import copy
import operator
import os
import re
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar

from pytest_miniwob_agent.core.decoding import Unsearchable, View, views
from pytest_miniwob_agent.core.errors import CassetteError

KEY_VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
"""The environment variables with keys of model servers."""

KEY_VARIABLE = "MINIWOB_KEY_VARIABLE"
"""The environment variable with the names of further ones: that of `--miniwob-key-variable`, and
those for `--miniwob-upstream`."""

# Length from which a string can be a secret, also the value of a `KEY_VARIABLES`: a shorter one is
# a placeholder, whose letters may be in any text.
_SHORTEST = 8

# Names whose values may be secrets.
_SECRET_NAME = re.compile("key|token|secret|password|authorization", re.IGNORECASE)

# A data URL or the Base64 of a picture, whose letters may look like a key by chance.
_PICTURE = re.compile(
    r"(?:data:image/[\w.+-]+;base64,|iVBORw0KGgo|/9j/|R0lGOD|UklGR)[A-Za-z0-9+/]*+={0,2}"
)

# The start of a word, also after an escape such as `\n`, as a log may quote text, and after a
# letter that is a length in binary data.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=[\0-\x1f\x7f-\x9f\ufffd][A-Za-z0-9]))"

# The same after the first character: a rare one is searched for faster.
_BEGUN = r"(?:(?<![A-Za-z0-9].)|(?<=\\[nrt].))"

# Stands between a name and its value in code, JSON, YAML, headers and queries.
_IS = r"[\\\"'`]{0,4} ?(?:=>|:=|[:=])\s{0,12}(?:- )?[\\\"'`]{0,4}"

_VALUE = (
    # With a digit, or in mixed case and not a name in code: others are words and placeholders.
    r"((?=[\w+/.~-]{0,200}?\d)[\w+/.~-]{12,}={0,2}"
    r"|(?=[\w-]{0,200}?[a-z])(?=[\w-]{0,200}?[A-Z])[\w-]{16,}(?![\w.(\[-]))"
)

_ENDS = ("key", "token", "secret", "password", "passwd", "authorization")

# The end of a name that has a value, in lower case.
_NAMED = re.compile(
    f"(?:{'|'.join(_ENDS)})"
    r"(?=[\\\"'`]{0,4} ?(?:=>|:=|[:=]))"
)

# Names such as `accessToken`, `DB_PASSWORD`, and those of headers whose value is always a key.
_NAME = re.compile(
    r"(?P<header>(?i:x-api-key|authorization))\Z"
    r"|(?:(?i:(?:access|account|api|app|auth|client|private|refresh|secret|service|session"
    r"|subscription)[-_ ]?(?:key|token|secret))"
    r"|[A-Z\d]_(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD))\Z",
    re.ASCII,
)

_VALUE_OF = re.compile(f"{_IS}(?:[A-Za-z]+ )?{_VALUE}", re.ASCII)

# Names of tokens that an app gives to each page, to know its forms by.
_OF_PAGE = re.compile(r"[cx]srf[\w-]*\Z", re.IGNORECASE)

# The parts of a name in code, and those of them that are words.
_CHUNK = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WORD = re.compile("(?!.*[^aeiou]{5})(?=.{3})[a-z]*[aeiou][a-z]*", re.IGNORECASE)

# A placeholder for user and password.
_NOBODY = re.compile(
    r".*:(?:\$.*|%\w|%\(\w+\)s|[*.?x_-]+)"
    r"|(?:user|username|usr|name|login):(?:pass|password|passwd|pwd|secret)",
    re.IGNORECASE,
)

# What a page gets in the place of what matches `AppTask(redact=[...])`.
_STAND_IN = re.compile(r"redacted-\d+")

# Least length of a match in noise: a shorter one is there by chance.
_LEAST_IN_NOISE = 12

# The forms of secrets: a name, lower-case marks, and a pattern. Text with such a secret contains
# one of the marks. If the pattern has a group, the group is the secret.
#
# If several match the same text, the first one gives the kind. Issuers document these forms, and
# scanners such as gitleaks and detect-secrets know them too.
_FORMS = [
    (kind, marks.split("|") if marks else [], re.compile(pattern, re.ASCII))
    for kind, marks, pattern in (
        ("private key", "-----begin",
         r"-----BEGIN (?:[A-Z\d]+ )*PRIVATE KEY(?: BLOCK)?-----"
         r"(?=[\s\S]{0,300}?[A-Za-z\d+/]{16})(?:[^-]|-(?!----)){0,20000}"
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
         r"://([^\s/@:\"'`{}<>\[\]\\|]*:[^\s/@\"'`{}<>\[\]\\|]+)@"
         r"|://((?=[\w.~-]{0,200}?\d)[\w.~-]{20,})@"),
        ("key in a URL", "key=|token=|sig=|signature=",
         r"[?&](?i:key|token|auth|sig|signature)=((?=[\w%+/.~-]{0,200}?\d)[\w%+/.~-]{16,}=*)"),
    )
]  # fmt: skip

# Kinds whose form also fits names, such as those of classes in style sheets.
_BY_VALUE = (
    "OpenAI key", "key of a model server", "token of a service", "bearer token", "key in a URL",
)  # fmt: skip

# Kinds that are known by what is before them.
_BY_NAME = ("API key", "Basic credentials", "key in a URL", "password in a URL")

REDACTED = "matches AppTask(redact=[...])"
"""The kind of what an app's author has named."""

# Characters around a secret that are searched for others: more than the longest one has.
_NEAR = 25_000

# Characters of a string that is not kept with what was found in it.
_LONG = 100_000

Data = TypeVar("Data")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in data.

    Args:
        kind: what it is called.
        text: the secret itself.
        encoding: how it is hidden, as `decoding.View` says it; empty if it can be read.
        whole: the string that it was found in.
        start: its place there.
    """

    kind: str
    text: str
    encoding: str = ""
    whole: str = field(default="", repr=False)
    start: int = 0

    @property
    def line(self) -> int:
        """The number of its line."""
        return self.whole.count("\n", 0, self.start) + 1

    @property
    def excerpt(self) -> str:
        """What is around it in its line, with the first characters of the secret alone."""
        end = self.start + len(self.text)
        # Masked before they are cut: a part of another secret is not recognized.
        before = mask(self.whole[max(self.start - _NEAR, 0) : self.start]).splitlines()[-1:]
        after = mask(self.whole[end : end + _NEAR]).splitlines()[:1]
        return f"{''.join(before)[-40:]}{self._head}\u2026{''.join(after)[:20]}".strip()

    @property
    def pattern(self) -> str:
        """A regular expression that finds it by its name, or else by its first characters."""
        before = self.whole[: self.start][-60:]
        name = re.search(r"[\w-]+[^\w\n]{1,12}\Z", before) if self.kind in _BY_NAME else None
        head = f"(?<={_escaped(name[0])})" if name else _escaped(self._head)
        left = self.text if name else self.text[len(self._head) :]
        others = "".join(sorted(set(re.sub(r"\w", "", left, flags=re.ASCII))))
        spaced = bool(re.search(r"\s", others))
        letters = _escaped(re.sub(r"\s", "", others)).replace("-", r"\-") + r"\s" * spaced
        one = rf"[\w{letters}]" if letters else r"\w"
        return head + one + (f"{{{len(left)}}}" if spaced else "+")

    def is_allowed(self, patterns: Collection[str]) -> bool:
        """Return True if one of these regular expressions matches it, with what is around it."""
        found = (match.span() for one in patterns for match in re.finditer(one, self.whole))
        return _is_within((self.start, self.start + len(self.text)), found)

    @property
    def _head(self) -> str:
        return self.text[: min(len(self.text) // 4, 4)]


def _escaped(text: str) -> str:
    return re.sub(r"\\([ #&~\-])", r"\1", re.escape(text))


def find(
    data: Any,
    charset: str = "utf-8",
    *,
    redact: Collection[str] = (),
) -> list[Secret]:
    """Find the secrets in bytes or a string, or in all strings of a mapping, sequence or dataclass.

    A string is searched together with the name that it has, as in `{"x-api-key": "..."}`, and with
    what its encodings hide.

    Args:
        data: the data.
        charset: that of bytes.
        redact: regular expressions of further secrets.
    """
    found: list[Secret] = []
    pairs = _known()

    def search(data: Any, name: str) -> Any:
        here: dict[tuple[str, str], Secret] = {}
        for view in views(data, charset):
            text = view.text
            spans = _spans(text, "" if view.encoding else name, pairs)
            for one in redact:
                spans += [(*span, REDACTED) for span in _matches(one, view)]
            for start, end, kind in spans:
                secret = Secret(kind, text[start:end], view.encoding, text, start)
                here.setdefault((kind, secret.text), secret)
        found.extend(here.values())
        return data

    try:
        search(data, "") if isinstance(data, bytes) else map_strings(data, search)
    except Unsearchable as error:
        found.append(Secret(f"what {error}", ""))
    return found


def refuse(
    found: Iterable[Secret], what: str, then: str = "", *, allow: Collection[str] = ()
) -> None:
    """Refuse what is to be sent or stored, for the secrets that were found in it.

    Raises:
        CassetteError: there is one, and it is not allowed; the message begins with `what`, and ends
            with `then`.
    """
    for secret in found:
        if not secret.is_allowed(allow):
            raise CassetteError(f"{what} holds what looks like a secret ({secret.kind}){then}")


def _matches(pattern: str, view: View) -> list[tuple[int, int]]:
    """Return the spans of what a user's pattern finds, but for stand-ins, and noise by chance."""
    spans = [match.span() for match in re.finditer(pattern, view.text) if match[0]]
    if spans:
        stand_ins = [match.span() for match in _STAND_IN.finditer(view.text)]
        spans = [span for span in spans if not _is_within(span, stand_ins)]
    if any(end - start < _LEAST_IN_NOISE for start, end in spans) and view.is_noise:
        return [(start, end) for start, end in spans if end - start >= _LEAST_IN_NOISE]
    return spans


def _is_within(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in others)


def mask(data: Data, known: Collection[str] = ()) -> Data:
    """Return the data with each secret replaced by its kind, such as `[OpenAI key]`.

    Data without a secret is returned itself, and no data is changed. `known` are strings that are
    secrets whatever their form.
    """
    pairs = _known(known)

    def replace(text: str, name: str) -> str:
        # From the end, so that the places of the others stay right.
        for start, end, kind in reversed(_spans(text, name, pairs)):
            text = f"{text[:start]}[{kind}]{text[end:]}"
        return text

    masked: Data = map_strings(data, replace)
    return masked


def _known(values: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return pairs of a kind and a secret: those given, and those in `KEY_VARIABLES`."""
    names = [*KEY_VARIABLES, *os.environ.get(KEY_VARIABLE, "").split()]
    pairs = [(f"value of {name}", os.environ.get(name, "")) for name in names]
    pairs += [("not shown", value) for value in values]
    return [(kind, value) for kind, value in pairs if len(value) >= _SHORTEST]


def map_strings(data: Any, change: Callable[[str, str], str], name: str = "") -> Any:
    """Return data with its strings changed by a function of string and name.

    Data whose strings stay the same is returned itself. Constructors of dataclasses are not called.
    """
    if isinstance(data, str):
        return data if isinstance(data, Enum) else change(data, name)
    if isinstance(data, Mapping):
        changed = {map_strings(k, change): map_strings(v, change, str(k)) for k, v in data.items()}
        before, after = chain(data, data.values()), chain(changed, changed.values())
        return data if all(map(operator.is_, before, after)) else changed
    if isinstance(data, list | tuple):
        parts = [map_strings(part, change, name) for part in data]
        if all(map(operator.is_, data, parts)):
            return data
        return parts if isinstance(data, list) else tuple(parts)
    if is_dataclass(data) and not isinstance(data, type):
        result = data
        for part in data.__dataclass_fields__:
            value = getattr(data, part, None)
            if (new := map_strings(value, change, part)) is not value:
                result = copy.copy(data) if result is data else result
                object.__setattr__(result, part, new)  # of frozen ones too
        return result
    return data


def _spans(text: str, name: str, known: Sequence[tuple[str, str]]) -> list[tuple[int, int, str]]:
    """Return start, end and kind of every secret in a string, in order; they do not overlap."""
    if len(text) < _SHORTEST or _PICTURE.fullmatch(text):
        return []
    if name and _SECRET_NAME.search(name):
        head = len(name) + 1
        # As it would be written: the name tells what the value is.
        found = _spans(f"{name}={text}", "", known)
        return [
            (max(start - head, 0), end - head, kind) for start, end, kind in found if end > head
        ]
    matches = [
        (match.start(), match.end(), -1, kind)
        for kind, value in known
        for match in re.finditer(re.escape(value), text)
    ]
    matches += (_in_form if len(text) < _LONG else _in_form.__wrapped__)(text)
    merged: list[tuple[int, int, int, str]] = []
    for start, end, rank, kind in sorted(matches):
        if merged and start < merged[-1][1]:  # two that overlap are one, of the first kind
            last = merged.pop()
            start, end = last[0], max(end, last[1])
            rank, kind = min(last[2:], (rank, kind))
        merged.append((start, end, rank, kind))
    return [(start, end, kind) for start, end, _, kind in merged]


@lru_cache(maxsize=1024)  # the strings of a screen and a conversation come again and again
def _in_form(text: str) -> tuple[tuple[int, int, int, str], ...]:
    """Return start, end, place in the table and kind of what has one of its forms."""
    lowered = text.replace("\u0130", "I").lower()  # the one letter that would become two
    found = []
    for rank, (kind, marks, pattern) in enumerate(_FORMS):
        possible = any(map(lowered.__contains__, marks)) if marks else True
        for match in pattern.finditer(text) if possible else ():
            start, end = match.span(match.lastindex or 0)
            if _is_secret(kind, text[start:end]):
                found.append((start, end, rank, kind))
    named_at = _NAMED.finditer(lowered) if any(map(lowered.__contains__, _ENDS)) else ()
    for named in named_at:
        place = max(named.start() - 24, 0), named.end()
        name, value = _NAME.search(text, *place), _VALUE_OF.match(text, named.end())
        if not name or not value or _OF_PAGE.search(text, *place):
            continue
        if name["header"] or not _is_made_of_words(value[1]):
            found.append((*value.span(1), len(_FORMS), "API key"))
    return tuple(found)


def _is_secret(kind: str, text: str) -> bool:
    if kind == "Basic credentials":
        return _is_name_and_password(text)
    if kind == "password in a URL":
        return not (_NOBODY.fullmatch(text) if ":" in text else _is_made_of_words(text))
    return not (kind in _BY_VALUE and _is_made_of_words(text))


def _is_made_of_words(value: str) -> bool:
    """Return True for a name as in code, or a placeholder, such as `HTML5_QRCODE_DATA`."""
    chunks = _CHUNK.findall(value)
    words = [chunk for chunk in chunks if _WORD.fullmatch(chunk)]
    numbers = sum(chunk.isdigit() for chunk in chunks)
    in_words = 10 * sum(map(len, words)) >= 6 * sum(map(len, chunks))
    return len(set(value)) <= 2 or numbers == len(chunks) or (in_words and numbers <= len(words))


def _is_name_and_password(text: str) -> bool:
    """Return True for the Base64 of `name:password`, as in the header of Basic authentication."""
    try:
        name, colon, password = b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return False
    return bool(colon) and f"{name}{password}".isprintable()
