"""Parts of requests and answers that several APIs have in common, read with care.

Servers and agents may send any JSON: what has another form than expected is read as empty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_miniwob_agent.core.chat import ToolCall, token_count
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.pictures.references import digest_in, read_base64, reference_to

_WHOLE = ("format", "id", "role", "signature", "status", "thought_signature", "type")
"""Names of texts that a stream never sends in pieces, though maybe again."""


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a mapping, otherwise an empty one."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the mappings in a list, none if it is not one."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return [item for item in value if isinstance(item, Mapping)] if is_list else []


def text(value: Any) -> str:
    """Return the value if it is a text, otherwise an empty one."""
    return value if isinstance(value, str) else ""


def json_text(value: Any) -> str:
    """Return a text as it is, and all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parsed(text: str) -> Any:
    """Return what a JSON text stands for, an empty object for an empty one; otherwise the text."""
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text


def joined(value: Any, piece: Any, name: str = "") -> Any:
    """Return a streamed value with a further piece of it; `name` is the one that both have.

    Texts are appended, objects are merged, and an item of a list goes on with the item that it
    continues, or is a new one. All else, and what names a thing as a whole, is replaced.
    """
    if isinstance(value, str) and isinstance(piece, list):
        value = [{"type": "text", "text": value}] if value else []
    if isinstance(value, list) and isinstance(piece, str):
        piece = [{"type": "text", "text": piece}] if piece else []
    if isinstance(piece, Mapping):
        value = mapping(value)
        return {**value, **{key: joined(value.get(key), part, key) for key, part in piece.items()}}
    if isinstance(piece, list):
        items = list(value) if isinstance(value, list) else []
        for item in piece:
            places = reversed(range(len(items)))
            at = next((at for at in places if _continues(items, at, item)), len(items))
            items[at : at + 1] = [joined(next(iter(items[at : at + 1]), None), item)]
        return items
    if isinstance(value, str) and isinstance(piece, str) and name not in _WHOLE:
        return value + piece
    return value if piece is None or (piece == "" and value is not None) else piece


def _continues(items: Sequence[Any], at: int, piece: Any) -> bool:
    """Return True if a piece of a list goes on with the item at a place.

    Both have the same number and type. Without numbers it is the last item, and only texts and
    calls go on: others come as a whole. Some servers give all calls the same number, and another
    id to each piece; what begins a call has its name.
    """
    item = items[at]
    if not isinstance(item, Mapping) or not isinstance(piece, Mapping):
        return False
    index, kind = piece.get("index"), item.get("type")
    if index != item.get("index") or piece.get("type", kind) not in (kind, None):
        return False
    named = bool(mapping(piece.get("function")).get("name"))
    if index is None and at == len(items) - 1:
        going_on = any(name in piece for name in ("text", "thinking", "signature"))
        return not named and ("function" in piece or (going_on and not item.get("signature")))
    other = bool(item.get("id") and piece.get("id")) and item["id"] != piece["id"]
    return index is not None and not (other and (named or "function" not in piece))


def tool_call(id_: Any, name: Any, arguments: Any) -> ToolCall:
    """Return a call of a tool."""
    return ToolCall(text(id_), text(name), json_text(arguments))


def content_text(content: Any) -> str:
    """Return the content of a message, a text or a list of parts, as one text."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, Sequence):
        return canonical_json(content)
    return "\n".join(map(_part_text, content))


def _part_text(part: Any) -> str:
    match part:
        case str():
            return part
        case {"text": str() as said}:
            return said
        case {"refusal": str() as refusal}:
            return f"[refusal] {refusal}"
        case {"image_url": str() as url} | {"image_url": {"url": str() as url}}:
            return _picture(url)
        case {"source": {"type": "url", "url": str() as url}}:
            return _picture(url)
        case {"source": {"type": "base64", "media_type": kind, "data": str() as data}}:
            return _picture(data if digest_in(data) else f"data:{kind};base64,{data}")
    return canonical_json(part)


def _picture(url: str) -> str:
    """Describe a picture, if possible by its file's name."""
    kind, comma, data = url.removeprefix("data:").partition(";base64,")
    if not comma:
        return f"[picture {url}]"
    if kind.startswith("image/") and (found := read_base64(data)):
        return f"[picture {reference_to(found[0])}]"
    return f"[picture {kind}, {len(data) * 3 // 4:,} bytes]"


def cached_tokens(answer: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many tokens of a prompt the provider had in its cache, and wrote into it.

    OpenAI's, Anthropic's and Google's fields, see the documentation of each on prompt caching.
    """
    usage = mapping(answer.get("usage") or answer.get("usageMetadata"))
    details = mapping(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    counts = {**usage, **details}
    names = ("cached_tokens", "cache_read_input_tokens", "cachedContentTokenCount")
    cached = next(filter(None, (token_count(counts.get(name)) for name in names)), 0)
    return cached, token_count(usage.get("cache_creation_input_tokens")) or 0
