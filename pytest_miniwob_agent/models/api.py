"""What a model API is, and what several APIs have in common; pictures in the JSON of requests.

Servers and agents may send any JSON: what has another form than expected is read as empty. A
picture is data, or a reference to a file: the path below the cassette folder,
`pictures/<digest>.png`. It replaces a data URL (`image_url` of Chat Completions and
Responses), or the `data` beside a media type (Messages).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pytest_miniwob_agent.core.chat import Message, ToolCall, token_count
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.events import Completion

FOLDER = "pictures"
"""The folder of pictures in the cassette folder."""

_REFERENCE = re.compile(rf"{FOLDER}/([0-9a-f]{{16}})\.png")
_DATA_URL = re.compile(r"data:(image/[\w.+-]+);base64,")
_MEDIA_TYPES = ("media_type", "mime_type", "mimeType")


def _reference(digest: str) -> str:
    return f"{FOLDER}/{digest}.png"


def _read_reference(value: Any) -> str | None:
    match = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    return match[1] if match else None


def extract(body: Any) -> tuple[Any, dict[str, bytes]]:
    """Return JSON with references in the place of pictures, and the PNGs by their digests.

    Data that a PNG can't hold stays as it is; a picture of another format becomes a PNG.
    """
    taken: dict[str, bytes] = {}

    def change(kind: str, data: str) -> tuple[str, str] | None:
        if _read_reference(data) or (found := read_base64(data)) is None:
            return None
        digest, png = found
        taken[digest] = png
        return "image/png", _reference(digest)

    return _changed(body, change), taken


def embed(body: Any, read: Callable[[str], bytes]) -> Any:
    """Return JSON with pictures in the place of references; `read` returns the PNG of a digest."""

    def change(kind: str, data: str) -> tuple[str, str] | None:
        digest = _read_reference(data)
        return ("image/png", base64.b64encode(read(digest)).decode()) if digest else None

    return _changed(body, change)


def without_pictures(body: Any) -> Any:
    """Return JSON with nothing in the place of references to pictures."""
    return _changed(body, lambda kind, data: (kind, "") if _read_reference(data) else None)


def digests_in(body: Any) -> list[str]:
    """Return the digests of the references in JSON, in their order."""
    found: list[str] = []

    def note(kind: str, data: str) -> None:
        if digest := _read_reference(data):
            found.append(digest)

    _changed(body, note)
    return found


@lru_cache(maxsize=64)  # the pictures of a conversation come again with every call
def read_base64(data: str) -> tuple[str, bytes] | None:
    """Return digest and PNG of a picture; None for data that a PNG can't hold."""
    from pytest_miniwob_agent import pictures

    try:
        file = base64.b64decode(data, validate=True)
        pixels = pictures.decoded(file)
    except (binascii.Error, pictures.NotAPicture):
        return None
    png = file if pictures.is_bare_png(file) else pictures.encode_png(pixels)
    return pictures.pixel_digest(pixels), png


def _changed(
    value: Any, change: Callable[[str, str], tuple[str, str] | None], name: str = ""
) -> Any:
    """Return JSON with its pictures changed; itself if nothing changes.

    `change` gets the media type of a picture, and its data in Base64 or a reference; it returns
    both as they are to be, or None to leave them. `name` is the name that the value has.
    """
    if isinstance(value, str) and name in ("url", "image_url"):
        new = None
        if match := _DATA_URL.match(value):
            new = change(match[1], value[match.end() :])
        elif _read_reference(value):
            new = change("image/png", value)
        if new is None or not new[1] or _read_reference(new[1]):
            return new[1] if new else value
        return f"data:{new[0]};base64,{new[1]}"
    if isinstance(value, list):
        parts = [_changed(part, change) for part in value]
        same = all(part is before for part, before in zip(parts, value, strict=True))
        return value if same else parts
    if not isinstance(value, Mapping):
        return value
    for kind_name in _MEDIA_TYPES:
        kind, data = value.get(kind_name), value.get("data")
        if isinstance(kind, str) and kind.startswith("image/") and isinstance(data, str):
            new = change(kind, data)
            return {**value, kind_name: new[0], "data": new[1]} if new else value
    changed = {key: _changed(part, change, str(key)) for key, part in value.items()}
    return value if all(changed[key] is value[key] for key in value) else changed


# Names of strings that a stream never sends in pieces, though maybe again.
_WHOLE = ("format", "id", "role", "signature", "status", "thought_signature", "type")


@dataclass(frozen=True, slots=True)
class Provider:
    """The default server of requests, and the key that they need there.

    `name` is OpenTelemetry's for it, and `key_variable` the environment variable with the key.
    `key_header`, which takes it, and `url` are None for OpenAI's, which the client knows.
    """

    name: str
    key_variable: str
    key_header: str | None = None
    url: str | None = None


OPENAI = Provider("openai", "OPENAI_API_KEY")


class API:
    """One form of requests and answers.

    Subclasses describe a form. The class itself stands for all others, which are recorded and
    shown as they are. Parts of an unexpected form are read as empty.

    Attributes:
        path: the path of the requests, without a host.
        provider: serves the API.
    """

    path = ""
    provider = OPENAI

    def reads(self, path: str) -> bool:
        """True for the paths of its requests."""
        return path == self.path

    def serves(self, path: str) -> bool:
        """True for the paths of its requests and for those beside them, such as `count_tokens`."""
        return path.startswith(self.path)

    def streams(self, path: str, body: Mapping[str, Any]) -> bool:
        """True if a request asks for a stream."""
        return bool(body.get("stream"))

    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        """Return the messages of a request."""
        return [Message("request", json.dumps(body, indent=2, ensure_ascii=False))]

    def tools(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the tools that a request offers, by name."""
        return {}

    def is_answer(self, answer: Mapping[str, Any]) -> bool:
        """Return False for an error and for an answer that says nothing."""
        return True

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        """Return what an answer says."""
        return Completion(canonical_json(answer))

    def answer(self, completion: Completion) -> dict[str, Any]:
        """Return an answer that says this; the opposite of `completion`."""
        return {"text": completion.text}

    def usage(self, prompt: int, completion: int) -> dict[str, Any]:
        """Return token counts as an answer has them; empty if the API does not count."""
        return {}

    def served(self, answer: Mapping[str, Any], digest: str) -> dict[str, Any]:
        """Return an answer with the fields that clients expect and cassettes leave out.

        The id is made of `digest`, so that equal calls have equal ids.
        """
        return dict(answer)

    def collect(self, events: Sequence[Any]) -> dict[str, Any]:
        """Return the answer that the events of a stream add up to; empty if its end is missing."""
        failed = any(event.get("error") for event in mappings(events))
        return {"events": list(events)} if events and not failed else {}

    def events(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the events of a stream that adds up to an answer."""
        return [dict(answer)]

    def stream(self, answer: Mapping[str, Any]) -> str:
        """Return an answer as the text of a stream, whose events are named by their `type`."""
        return "".join(
            f"event: {event.get('type')}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
            for event in self.events(answer)
        )

    def _usage(self, completion: Completion) -> dict[str, Any]:
        return {"usage": self.usage(*completion.tokens)} if completion.tokens else {}


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a mapping, otherwise an empty one."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the mappings in a list; empty if it is not a list."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return [item for item in value if isinstance(item, Mapping)] if is_list else []


def string(value: Any) -> str:
    """Return the value if it is a string, otherwise an empty one."""
    return value if isinstance(value, str) else ""


def json_text(value: Any) -> str:
    """Return a string as it is, and all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parsed_arguments(text: str) -> Any:
    """Return parsed JSON, an empty object for an empty string; the string if it is not JSON."""
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text


def joined(value: Any, piece: Any, name: str = "") -> Any:
    """Return a streamed value with a further piece of it; `name` is the one that both have.

    Strings are appended, objects are merged, and an item of a list goes on with the item that it
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
    return ToolCall(string(id_), string(name), json_text(arguments))


def content_text(content: Any) -> str:
    """Return the content of a message, a string or a list of parts, as one string."""
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
            return _describe_picture(url)
        case {"source": {"type": "url", "url": str() as url}}:
            return _describe_picture(url)
        case {"source": {"type": "base64", "media_type": kind, "data": str() as data}}:
            return _describe_picture(
                data if _read_reference(data) else f"data:{kind};base64,{data}"
            )
    return canonical_json(part)


def _describe_picture(url: str) -> str:
    kind, comma, data = url.removeprefix("data:").partition(";base64,")
    if not comma:
        return f"[picture {url}]"
    if kind.startswith("image/") and (found := read_base64(data)):
        return f"[picture {_reference(found[0])}]"
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
