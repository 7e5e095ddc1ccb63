r"""Keys, tokens and passwords in data: found before it is sent or kept, replaced where it is shown.

Data is searched as it is, and not as JSON or YAML: an escape such as `\n` there puts a letter in
front of a key. So `find` and `redact` take data of any kind and walk it to its texts.
"""

from __future__ import annotations

import copy
import operator
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeVar

from pytest_miniwob_agent.core.secret_forms import FORMS

KEY_VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
"""The environment variables with keys of model servers."""

KEY_VARIABLE = "MINIWOB_KEY_VARIABLE"
"""The environment variable with the name of a further one, which `--miniwob-key-variable` sets."""

_SHORTEST = 8
"""Length from which a text can be a secret, also the value of a `KEY_VARIABLES`: a shorter one is a
placeholder, whose letters may be in any text."""

_NAME = re.compile("key|token|secret|password|passwd|pwd|authorization", re.IGNORECASE)
"""Names whose values may be secrets."""

_PICTURES = ("data:image/", "iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")
"""First letters of pictures in Base64: of a data URL, a PNG, a JPEG, a GIF and a WebP."""

_BASE64 = re.compile(r"(?:data:image/[\w.+-]+;base64,)?[A-Za-z0-9+/]*+={0,2}")

Data = TypeVar("Data")


class Secret(NamedTuple):
    """A secret in data: what it is called, and its text."""

    kind: str
    text: str


def find(data: Any, known: Collection[str] = ()) -> list[Secret]:
    """Find the secrets in a text, or in all texts of a mapping, sequence or dataclass.

    A text is searched together with the name that it has, as in `{"x-api-key": "..."}`. `known` are
    texts that are secrets whatever their form.
    """
    found: list[Secret] = []
    pairs = _known(known)

    def search(text: str, name: str) -> str:
        spans = _spans(text, name, pairs)
        found.extend(Secret(kind, text[start:end]) for kind, start, end in spans)
        return text

    map_texts(data, search)
    return found


def redact(data: Data, known: Collection[str] = ()) -> Data:
    """Return the data with each secret replaced by its kind, such as `[OpenAI key]`.

    Data without a secret is returned itself, and no data is changed. The arguments are those of
    `find`.
    """
    pairs = _known(known)

    def replace(text: str, name: str) -> str:
        for kind, start, end in reversed(_spans(text, name, pairs)):
            text = f"{text[:start]}[{kind}]{text[end:]}"
        return text

    redacted: Data = map_texts(data, replace)
    return redacted


def _known(values: Collection[str]) -> list[tuple[str, str]]:
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
        changed = {
            map_texts(key, change): map_texts(value, change, str(key))
            for key, value in data.items()
        }
        return data if _same(data, changed) and _same(data.values(), changed.values()) else changed
    if isinstance(data, list | tuple):
        parts = [map_texts(part, change, name) for part in data]
        if _same(data, parts):
            return data
        if isinstance(data, list):
            return parts
        return data._make(parts) if hasattr(data, "_make") else tuple(parts)
    if is_dataclass(data) and not isinstance(data, type):
        changes = {}
        for part in data.__dataclass_fields__:
            value = getattr(data, part, None)
            if (new := map_texts(value, change, part)) is not value:
                changes[part] = new
        result = copy.copy(data) if changes else data
        for part, new in changes.items():
            object.__setattr__(result, part, new)  # of frozen ones too
        return result
    return data


def _same(before: Collection[Any], after: Collection[Any]) -> bool:
    return len(before) == len(after) and all(map(operator.is_, before, after))


def _is_picture(text: str) -> bool:
    """Return True for a picture in Base64, whose letters may look like a key by chance."""
    return text.startswith(_PICTURES) and _BASE64.fullmatch(text) is not None


def _spans(text: str, name: str, known: Sequence[tuple[str, str]]) -> list[tuple[str, int, int]]:
    """Return kind, start and end of every secret in a text, in order; they do not overlap."""
    if len(text) < _SHORTEST or _is_picture(text):
        return []
    if name and _NAME.search(name):
        head = len(name) + 1
        found = _spans(f"{name}={text}", "", known)
        return [
            (kind, max(start - head, 0), end - head) for kind, start, end in found if end > head
        ]
    matches = []
    for rank in _ranks(text):
        form = FORMS[rank]
        for match in _pattern(form.pattern).finditer(text):
            start, end = match.span(match.lastindex or 0)
            if form.check is None or form.check(text[start:end]):
                matches.append((start, end, rank, form.kind))
    for kind, value in known:
        matches += [
            (match.start(), match.end(), -1, kind) for match in re.finditer(re.escape(value), text)
        ]
    return _merge(matches)


@lru_cache(maxsize=1024)  # the texts of a screen and a conversation come again and again
def _ranks(text: str) -> tuple[int, ...]:
    """Return the places in the table of the forms whose marks are in a text, usually none."""
    lowered = text.lower()
    ranks = []
    for rank, form in enumerate(FORMS):
        for mark in form.marks:  # not any(): its generator takes longer than the search
            if mark in lowered:
                ranks.append(rank)
                break
    return tuple(ranks)


def _merge(matches: list[tuple[int, int, int, str]]) -> list[tuple[str, int, int]]:
    """Put matches that overlap into one, of the kind with the lowest rank."""
    merged: list[tuple[int, int, int, str]] = []
    for match in sorted(matches):
        if merged and match[0] < merged[-1][1]:
            last = merged.pop()
            rank, kind = min(last[2:], match[2:])
            match = (last[0], max(last[1], match[1]), rank, kind)
        merged.append(match)
    return [(kind, start, end) for start, end, _, kind in merged]


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
