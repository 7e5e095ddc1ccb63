r"""Keys, tokens and passwords in data: found before it is sent or kept, replaced where it is shown.

Data is searched as it is, and not as JSON or YAML: an escape such as `\n` there puts a letter in
front of a key. So `find` and `redact` take data of any kind and walk it to its texts.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from functools import cache, lru_cache
from typing import Any, TypeVar

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


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in data.

    `keys` are the keys, field names and indexes that lead to the text that holds it, none if the
    data is that text, and `start` is its position there. A secret in a key of a mapping has that
    key as its last one. `text` is the secret itself.
    """

    kind: str
    keys: tuple[str | int, ...]
    start: int
    text: str = field(repr=False)


def find(data: Any, known: Collection[str] = ()) -> list[Secret]:
    """Find the secrets in a text, or in all texts of a mapping, sequence or dataclass.

    A text is searched together with the name that it has, as in `{"x-api-key": "..."}`.

    Args:
        data: a text, or data that holds texts.
        known: texts that are secrets whatever their form.
    """
    return list(_find(data, "", (), _known(known)))


def redact(data: Data, known: Collection[str] = ()) -> Data:
    """Return the data with each secret replaced by its kind, such as `[OpenAI key]`.

    Data without a secret is returned itself, and no data is changed. The arguments are those of
    `find`.
    """
    redacted: Data = _redact(data, "", _known(known))
    return redacted


def _known(values: Collection[str]) -> list[tuple[str, str]]:
    """Return texts that are secrets by their kind: those given, and those in `KEY_VARIABLES`."""
    names = [*KEY_VARIABLES, *filter(None, [os.environ.get(KEY_VARIABLE)])]
    pairs = [(f"value of {name}", os.environ.get(name, "")) for name in names]
    pairs += [("not shown", value) for value in values]
    return [(kind, value) for kind, value in pairs if len(value) >= _SHORTEST]


def _find(
    data: Any, name: str, keys: tuple[str | int, ...], known: Sequence[tuple[str, str]]
) -> Iterator[Secret]:
    if isinstance(data, str):
        for kind, start, end in _spans(data, name, known):
            yield Secret(kind, keys, start, data[start:end])
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _find(key, "", (*keys, key), known)
            yield from _find(value, str(key), (*keys, key), known)
    elif isinstance(data, list | tuple):
        for index, value in enumerate(data):
            yield from _find(value, name, (*keys, index), known)
    elif is_dataclass(data) and not isinstance(data, type):
        for part in data.__dataclass_fields__:
            yield from _find(getattr(data, part, None), part, (*keys, part), known)


def _redact(data: Any, name: str, known: Sequence[tuple[str, str]]) -> Any:
    if isinstance(data, str):
        if isinstance(data, Enum):
            return data
        text: str = data
        for kind, start, end in reversed(_spans(data, name, known)):
            text = f"{text[:start]}[{kind}]{text[end:]}"
        return text
    if isinstance(data, Mapping):
        redacted = {
            _redact(key, "", known): _redact(value, str(key), known) for key, value in data.items()
        }
        same = len(redacted) == len(data) and all(
            key in redacted and redacted[key] is value for key, value in data.items()
        )
        return data if same else redacted
    if isinstance(data, list | tuple):
        parts = [_redact(part, name, known) for part in data]
        if all(part is before for part, before in zip(parts, data, strict=True)):
            return data
        if isinstance(data, list):
            return parts
        return data._make(parts) if hasattr(data, "_make") else tuple(parts)
    if is_dataclass(data) and not isinstance(data, type):
        return _redact_fields(data, known)
    return data


def _redact_fields(data: Any, known: Sequence[tuple[str, str]]) -> Any:
    """Return a dataclass, or a copy of it with redacted fields; its constructor is not called."""
    result = data
    for part in data.__dataclass_fields__:
        value = getattr(data, part, None)
        if (redacted := _redact(value, part, known)) is not value:
            if result is data:
                result = copy.copy(data)
            object.__setattr__(result, part, redacted)  # of frozen ones too
    return result


def _is_picture(text: str) -> bool:
    """True for a picture in Base64, whose letters may look like a key by chance."""
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
    for rank in (_ranks_again if len(text) <= _SHORT else _ranks_of_message)(text):
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


_SHORT = 100
"""Length up to which texts are those of elements, which are the same on screen after screen."""

_ranks_again = lru_cache(maxsize=4096)(_ranks)

# The messages of a conversation come again with every call.
_ranks_of_message = lru_cache(maxsize=128)(_ranks)


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
