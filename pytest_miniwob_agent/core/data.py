"""Plain JSON data: to values and back, strings that can be encoded or vary by run, digests."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from enum import EnumType, StrEnum
from functools import cache
from math import inf
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.secrets import Data, map_strings


def to_data(value: Any) -> Any:
    """Turn a value into plain JSON types; actions and events get a `kind`.

    A field that is `optional` by its metadata is left out if it is empty.
    """
    if hasattr(value, "__dataclass_fields__"):
        data = {
            field.name: to_data(part)
            for field in fields(value)
            if (part := getattr(value, field.name)) or not field.metadata.get("optional")
        }
        if isinstance(value, Action):  # without its absent parts
            data = {name: part for name, part in data.items() if part is not None}
            data["kind"] = type(value).__name__.lower()
        elif hasattr(value, "kind"):
            data["kind"] = value.kind
        return data
    if isinstance(value, tuple | list):
        return [to_data(item) for item in value]
    if isinstance(value, Mapping):
        return {key: to_data(value[key]) for key in sorted(value)}
    return str(value) if isinstance(value, StrEnum) else value


Count = Annotated[int, lambda count: count >= 0]
Reward = Annotated[float, lambda reward: -1 <= reward <= 1]
Share = Annotated[float, lambda share: 0 <= share <= 1]


def from_data(kind: type[Data], data: Any, path: str = "") -> Data:
    """Return plain JSON data as a value of a type: the way back from `to_data`.

    That is one of JSON, `Any`, a `StrEnum` or a dataclass; `X | None`; a list, tuple or mapping of
    one type; or `Annotated[X, check]`, with a function that is true of the values that are valid.
    Fields of a dataclass that are `optional`, or have a default if none is, may be left out.

    Raises:
        ValueError: a part is missing, unknown or of another type; the message names its path.
    """
    any_kind: Any = kind
    value: Data = _read(_shape(any_kind), data, path)
    return value


def _read(shape: tuple[Any, Any], value: Any, path: str) -> Any:
    kind, inner = shape
    # Not isinstance(), as True is an int; and a float may be written as an integer.
    if not inner and (type(value) is kind is not float or kind is Any):
        return value
    if kind is Annotated:
        if inner[1](found := _read(inner[0], value, path)):
            return found
    elif kind is None:
        return None if value is None else _read(inner[0], value, path)
    elif isinstance(value, list) and kind in (list, tuple):
        return kind([_read(inner[0], one, f"{path}[{n}]") for n, one in enumerate(value)])
    elif isinstance(value, dict) and kind in (dict, Mapping):
        return {name: _read(inner[1], one, f"{path}.{name}") for name, one in value.items()}
    elif isinstance(value, dict) and hasattr(kind, "__dataclass_fields__"):
        shapes, needed = inner
        if not needed <= value.keys() <= shapes.keys():
            name = min(value.keys() - shapes or needed - value.keys())
            raise _wrong(f"{path}.{name}", "is missing" if name in shapes else "is unknown")
        return kind(**{k: _read(shapes[k], one, f"{path}.{k}") for k, one in value.items()})
    elif kind is float and type(value) in (int, float) and -inf < value < inf:
        return value
    elif isinstance(kind, EnumType) and value in [*kind]:
        return kind(value)
    raise _wrong(path, f"can't be {json.dumps(value)[:80]}")


@cache
def _shape(kind: Any) -> tuple[Any, Any]:
    """Return a type without its parameters, None for `X | None`; and what it is made of.

    Of a dataclass that is the shapes of its fields, and the names of those that must be there.
    """
    inner = get_args(kind)
    if get_origin(kind) is Annotated:
        return Annotated, (_shape(inner[0]), inner[1])
    if hasattr(kind, "__dataclass_fields__"):
        types = get_type_hints(kind, include_extras=True)
        shapes = {one.name: _shape(types[one.name]) for one in fields(kind) if one.init}
        optional = {one.name for one in fields(kind) if one.metadata.get("optional")}
        needed = {one.name for one in fields(kind) if one.default is one.default_factory is MISSING}
        return kind, (shapes, shapes.keys() - optional if optional else needed)
    plain = None if type(None) in inner else get_origin(kind) or kind
    return plain, tuple(map(_shape, inner))


def _wrong(path: str, problem: str) -> ValueError:
    return ValueError(f"`{path.removeprefix('.')}` {problem}" if path else f"it {problem}")


def well_formed(data: Data) -> Data:
    """Return a string, or data of any kind, with strings that can be encoded.

    Halves of a surrogate pair are joined, or become U+FFFD alone. Data without one is itself.
    """

    def change(text: str, name: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text

    changed: Data = map_strings(data, change)
    return changed


def canonical_json(data: Any) -> str:
    """JSON with sorted keys and no spaces: equal data gives equal strings."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(text: str) -> str:
    """The first 12 hexadecimal digits of a string's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def changed_parts(before: Any, after: Any, name: str = "") -> Iterator[str]:
    """Yield the names of the parts of two JSON values that differ, such as `messages[1].id`."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            inner = f"{name}.{key}" if name else str(key)
            if key not in before or key not in after:
                yield inner
            else:
                yield from changed_parts(before[key], after[key], inner)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after, strict=True)):
            yield from changed_parts(*pair, f"{name}[{index}]")
    elif before != after:
        yield name


class Mask(NamedTuple):
    """A kind of text, by a name such as `date` and a regular expression."""

    name: str
    pattern: str

    def after(self, text: str) -> Mask:
        """Return the same kind, but only where it follows a string, such as `Today: `.

        Pages have dates of their own: masked everywhere, a changed page would replay as if it were
        the recorded one.
        """
        return Mask(self.name, f"(?<={re.escape(text)})(?:{self.pattern})")


_CLOCK = r"\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp][Mm]\b)?"
_ZONE = r" ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)\b"
_TIME = rf"(?:(?:T|,? (?:at )?){_CLOCK}(?:{_ZONE})?)?"
_WEEKDAY = r"(?:\b(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? )?"
_MONTH = r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = r"\b\d\d?(?:st|nd|rd|th)?"
_NUMBERS = r"\d{4}[-/.]\d\d?[-/.]\d\d?|\b\d\d?[/.]\d\d?[/.]\d{4}"

DATE = Mask(
    "date",
    rf"{_WEEKDAY}(?:{_NUMBERS}|{_MONTH} {_DAY},? \d{{4}}|{_DAY}[ -]{_MONTH},?[ -]\d{{4}}){_TIME}"
    rf"|{_WEEKDAY}{_MONTH} +{_DAY} {_CLOCK}(?: [A-Z]{{3,4}})? \d{{4}}|\d{{8}}T\d{{6}}Z?",
)
TIME = Mask("time", rf"(?<![\d:.]){_CLOCK}(?:{_ZONE})?(?![\d:])")
TIMESTAMP = Mask("timestamp", r"(?<![\w.-])1[6-9]\d{8}(?:\d{3}|\.\d+)?(?![\w-])")
ID = Mask("id", "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HEX = Mask("hex", "(?<![0-9A-Za-z])[0-9a-f]{32,}(?![0-9A-Za-z])")
PATH = Mask("path", r"/(?:home|private|root|tmp|Users|var)(?:/[\w.+-]*\w)+")
ADDRESS = Mask("address", r"(?:127\.0\.0\.1|localhost):\d+")
VERSION = Mask("version", r"\b\d+\.\d+\.\d+\w*")

MASKS = (DATE, TIME, TIMESTAMP, ID, HEX, PATH, ADDRESS, VERSION)
"""The kinds that are known; drift names them, and says what leaves them out."""


def masked(request: Any, *masks: Mask) -> Any:
    """Return a request's body, or any JSON, with placeholders such as `<date>` for kinds of text.

    Pictures stay as they are.
    """
    if isinstance(request, Mapping):
        return {key: masked(part, *masks) for key, part in request.items()}
    if isinstance(request, list):
        return [masked(part, *masks) for part in request]
    if isinstance(request, str) and not request.startswith(("data:", "pictures/")):
        for name, pattern in masks:
            request = re.sub(pattern, f"<{name}>", request)
    return request
