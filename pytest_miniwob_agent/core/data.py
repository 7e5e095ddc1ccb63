"""Plain JSON data, and digests of texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from pytest_miniwob_agent.core.actions import Action


def to_data(value: Any) -> Any:
    """Turn a value into plain JSON types; actions and events get a `kind`.

    A field that is `optional` by its metadata is left out where it is empty.
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


def from_data(kind: Any, data: Any) -> Any:
    """Return the value that `to_data` was called on.

    Args:
        kind: its type: a dataclass, or an enumeration, tuple, mapping or union of such types. A
            field with `decode` in its metadata is read by that function.
        data: plain JSON types; keys that are no fields are ignored.

    Raises:
        ValueError: an action or event is of no known kind.
    """
    return _decoder(kind)(data)


@cache
def _decoder(kind: Any) -> Callable[[Any], Any]:
    parts = [part for part in get_args(kind) if part is not NoneType]
    if get_origin(kind) is tuple and Ellipsis in parts:
        item = _decoder(parts[0])
        return lambda data: tuple(map(item, data))
    if get_origin(kind) is tuple:
        items = list(map(_decoder, parts))
        return lambda data: tuple(item(part) for item, part in zip(items, data, strict=True))
    if get_origin(kind) is Mapping:
        value = _decoder(parts[1])
        return lambda data: {key: value(part) for key, part in data.items()}
    if isinstance(kind, UnionType) and len(parts) == 1:
        inner = _decoder(parts[0])
        return lambda data: None if data is None else inner(data)
    if isinstance(kind, UnionType) and all(map(is_dataclass, parts)):
        kinds = {getattr(part, "kind", part.__name__.lower()): _decoder(part) for part in parts}
        return lambda data: _known(kinds, data["kind"])(data)
    if is_dataclass(kind):
        return partial(_read_fields, kind)
    is_enum = isinstance(kind, type) and issubclass(kind, StrEnum)
    return kind if is_enum else lambda data: data


def _read_fields(kind: Any, data: Mapping[str, Any]) -> Any:
    return kind(**{name: read(data[name]) for name, read in _fields(kind) if name in data})


@cache
def _fields(kind: Any) -> list[tuple[str, Callable[[Any], Any]]]:
    hints = get_type_hints(kind)
    return [
        (field.name, field.metadata.get("decode") or _decoder(hints[field.name]))
        for field in fields(kind)
    ]


def _known(kinds: Mapping[str, Callable[[Any], Any]], name: str) -> Callable[[Any], Any]:
    if name not in kinds:
        raise ValueError(f"{name!r} is none of {', '.join(kinds)}")
    return kinds[name]


def canonical_json(data: Any) -> str:
    """JSON with sorted keys and no spaces: equal data gives equal text."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(text: str) -> str:
    """The first 12 hexadecimal digits of a text's SHA-256."""
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
