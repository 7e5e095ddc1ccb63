"""Plain JSON data, texts that can be encoded, and digests of texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any

from pytest_miniwob_agent.core.actions import Action
from pytest_miniwob_agent.core.secrets import Data, map_texts


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


def well_formed(data: Data) -> Data:
    """Return a text, or data of any kind, with texts that can be encoded.

    Halves of a surrogate pair are joined, or become U+FFFD alone. Data without one is itself.
    """

    def change(text: str, name: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text

    changed: Data = map_texts(data, change)
    return changed


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
