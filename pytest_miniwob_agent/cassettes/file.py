"""The file of a cassette: model calls as a text that people review, and vcrpy reads.

A vcrpy cassette (https://vcrpy.readthedocs.io) in YAML, with JSON bodies as mappings and texts as
blocks. Beside `request` and `response` a call tells where it came from (`core.Origin`), which takes
no part in matching.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import yaml
from vcr import patch
from vcr.request import Request
from vcr.serialize import deserialize, serialize

from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.data import canonical_json, to_data
from pytest_miniwob_agent.core.errors import CassetteError
from pytest_miniwob_agent.core.events import Origin
from pytest_miniwob_agent.core.files import write_atomically
from pytest_miniwob_agent.core.usage import Usage

URL = "/v1/chat/completions"
"""The endpoint as cassettes and batch files name it: without a host."""

SCHEMA = 1
"""What this package writes; files without the key are older and lack the origin of their calls."""

KEPT = ("object", "model", "choices", "usage")
"""What is stored of a response body; the rest (ids, times) differs at every call."""

_HEADERS = {"Content-Type": ["application/json"]}
_END = "...\n"
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: |$)", re.M)


@dataclass(eq=False)
class Call:
    """A recorded model call.

    Args:
        body: the request's body.
        answer: the response's body, a chat completion.
        origin: where in its item it was made; None where the file does not say.
    """

    body: Mapping[str, Any]
    answer: Mapping[str, Any]
    origin: Origin | None = None

    @cached_property
    def key(self) -> str:
        """What a request must equal to be this one."""
        return canonical_json(self.body)

    @property
    def text(self) -> str:
        """The completion."""
        text: str = self.answer["choices"][0]["message"]["content"]
        return text

    @property
    def tokens(self) -> tuple[int, int] | None:
        """Prompt and completion tokens, or None where the server did not say."""
        usage = self.answer.get("usage") or {}
        counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
        return cast(tuple[int, int], counts) if all(isinstance(n, int) for n in counts) else None


def completion_of(status: int, body: bytes | Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The body of a response if it is a chat completion with a text: only those are recorded."""
    if status != 200:
        return None
    try:
        answer = json.loads(body) if isinstance(body, bytes) else body
        text = answer["choices"][0]["message"]["content"]
        # NaN, or half of a surrogate pair: Python reads them, but they could not be replayed.
        json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return None
    return answer if isinstance(text, str) else None


def messages_text(body: Mapping[str, Any]) -> str:
    """The messages of a request as they read."""
    messages = body["messages"]
    texts = []
    for message in messages:
        content = message.get("content")
        text = content if isinstance(content, str) else canonical_json(content)
        texts.append(text if len(messages) == 1 else f"[{message.get('role')}]\n{text}")
    return "\n".join(texts)


CHARACTERS = 4
"""Characters a token, where a length must stand for a count: what English texts have, roughly."""


def usage_of(calls: Iterable[Call], *, reckon: bool = False) -> Usage:
    """What calls amount to; `reckon` lets the lengths of texts stand for missing token counts."""
    sum_ = Usage()
    for call in calls:
        tokens = call.tokens
        if tokens is None and reckon:
            tokens = len(messages_text(call.body)) // CHARACTERS, len(call.text) // CHARACTERS
        sum_ += Usage(1, *(tokens or (0, 0)), uncounted=call.tokens is None)
    return sum_


def read_cassette(path: Path) -> list[Call]:
    """The calls of a cassette, in order.

    Raises:
        CassetteError: the file is damaged; the message names the line and what mends it.
    """
    return load_cassette(path)[0]


def load_cassette(path: Path) -> tuple[list[Call], Mapping[str, Any]]:
    """The calls of a cassette, and what the file says of itself.

    Raises:
        CassetteError: as of `read`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(path, None, f"it is no UTF-8 ({error.reason})") from None
    if not text.strip():
        raise _damaged(path, None, "it is empty")
    if match := _CONFLICT.search(text):
        raise _damaged(path, _line_at(text, match.start()), "a git conflict is not resolved")
    serializer = Serializer()
    try:
        requests, responses = deserialize(text, serializer)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = min(mark.line + 1, text.count("\n") + 1) if mark else None
        raise _damaged(path, line, f"no YAML ({error.problem})") from None
    except yaml.YAMLError as error:
        raise _damaged(path, None, f"no YAML ({' '.join(str(error).split())})") from None
    except InvalidCassette as nonsense:
        raise _damaged(path, _line_of(text, nonsense.where), nonsense.what) from None
    if "schema" in serializer.about and not text.endswith("\n" + _END):
        lines = text.count("\n") + (not text.endswith("\n"))
        raise _damaged(path, lines, "it is cut off: the mark of its end (...) is missing")
    return [
        Call(json.loads(request.body), json.loads(response["body"]["string"]), origin)
        for request, response, origin in zip(requests, responses, serializer.origins, strict=True)
    ], serializer.about


def write_cassette(path: Path, calls: Sequence[Call], **about: Any) -> None:
    """Write a cassette, in one piece.

    Args:
        path: the file.
        calls: what it holds, in order.
        about: what it says of itself, beside the version and the schema.

    Raises:
        CassetteError: a text in it looks like a key; nothing is written.
    """
    text = dump_cassette(calls, **about)
    if leaks := secrets.find(text):
        kind, position = leaks[0]
        number = text.count("\n- ", 0, position)
        raise CassetteError(
            f"{path} was not written: call {number} holds what looks like a secret ({kind})"
        )
    write_atomically(path, text)


def dump_cassette(calls: Sequence[Call], **about: Any) -> str:
    """The text of a cassette."""
    data = {
        "requests": [Request("POST", URL, json.dumps(call.body), {}) for call in calls],
        "responses": [
            {
                "status": {"code": 200, "message": "OK"},
                "headers": _HEADERS,
                "body": {
                    "string": json.dumps({k: call.answer[k] for k in KEPT if k in call.answer})
                },
            }
            for call in calls
        ],
    }
    text: str = serialize(data, Serializer([call.origin for call in calls], about))
    return text


@contextmanager
def bypass_vcr() -> Iterator[None]:
    """Nothing in here goes into a vcrpy cassette that a user's test has open, or comes from it.

    vcrpy replaces the methods of HTTP clients, `httpx2` among them, while a cassette is open.
    """
    if (
        patch._HTTPConnection is http.client.HTTPConnection
    ):  # none is open: a reset would cost 0.4 ms
        yield
    else:
        with patch.force_reset():
            yield


class Serializer:
    """A vcrpy serializer, for `vcr.VCR.register_serializer`.

    Args:
        origins: where the calls that are written came from.
        about: further keys of the file.

    After `deserialize`, `origins` and `about` hold what was read.
    """

    def __init__(
        self, origins: Sequence[Origin | None] = (), about: Mapping[str, Any] | None = None
    ) -> None:
        self.origins = list(origins)
        self.about = dict(about or {})

    def serialize(self, cassette: Mapping[str, Any]) -> str:
        """The text of a cassette; what is given stays as it is."""
        interactions = []
        for index, each in enumerate(cassette["interactions"]):
            request, response = each["request"], each["response"]
            origin = self.origins[index] if index < len(self.origins) else None
            interactions.append(
                ({"call": to_data(origin)} if origin else {})
                | {
                    "request": {**request, "body": json.loads(request["body"])},
                    "response": {**response, "body": json.loads(response["body"]["string"])},
                }
            )
        return yaml.dump(
            {"version": 1, "schema": SCHEMA, **self.about, "interactions": interactions},
            Dumper=_Dumper,
            sort_keys=False,
            allow_unicode=True,
            width=1_000_000,
            explicit_end=True,
        )

    def deserialize(self, text: str) -> Any:
        """What vcrpy makes of a cassette.

        Raises:
            ValueError: the text is YAML but no cassette of ours.
        """
        data = _load(text)
        _check(data)
        self.about = {key: data[key] for key in data if key not in ("version", "interactions")}
        self.origins = []
        for interaction in data["interactions"]:
            call = interaction.get("call")
            self.origins.append(Origin(**call) if call else None)
            request, response = interaction["request"], interaction["response"]
            request["body"] = json.dumps(request["body"], ensure_ascii=False)
            response["body"] = {"string": json.dumps(response["body"], ensure_ascii=False)}
        return data


def _load(text: str) -> Any:
    """The data of a YAML text; a third faster than `yaml.load`, as most of it is texts."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        return None if node is None else _plain(loader, node)
    except (TypeError, RecursionError):  # a list as a key, or a node that holds itself
        raise InvalidCassette("it is no plain data") from None
    except yaml.constructor.ConstructorError as error:
        raise InvalidCassette(f"it is no plain data: {error.problem}") from None
    finally:
        loader.dispose()


def _plain(loader: Any, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {key.value: _plain(loader, value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(loader, each) for each in node.value]
    if node.tag == "tag:yaml.org,2002:str":
        return node.value
    return loader.construct_object(node)


class InvalidCassette(ValueError):
    """Something in a cassette is not what it should be; `where` are the keys that lead to it."""

    def __init__(self, what: str, *where: str | int) -> None:
        super().__init__(what)
        self.what = what
        self.where = where


def _check(data: Any) -> None:
    """Whether parsed YAML is a cassette."""
    if not isinstance(data, dict) or not isinstance(data.get("interactions"), list):
        raise InvalidCassette("it holds no list of interactions")
    if data.get("version") != 1:
        raise InvalidCassette(
            f"vcrpy cassettes have version 1, not {data.get('version')!r}", "version"
        )
    if data.get("schema", SCHEMA) != SCHEMA:
        raise InvalidCassette(
            f"schema {data['schema']!r} is not that of this version of pytest-miniwob-agent, "
            f"{SCHEMA}",
            "schema",
        )
    if not data["interactions"]:
        raise InvalidCassette("it holds no call", "interactions")
    for number, interaction in enumerate(data["interactions"]):
        at = ("interactions", number)
        if not isinstance(interaction, dict):
            raise InvalidCassette(f"call {number + 1} is no mapping", *at)
        request, response = interaction.get("request"), interaction.get("response")
        if not isinstance(request, dict) or not isinstance(response, dict):
            raise InvalidCassette(f"call {number + 1} lacks its request or its response", *at)
        body = request.get("body")
        messages = body.get("messages") if isinstance(body, dict) else None
        if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
            raise InvalidCassette(
                f"the request of call {number + 1} holds no chat messages", *at, "request", "body"
            )
        answer = response.get("body")
        if not isinstance(answer, dict) or completion_of(200, answer) is None:
            raise InvalidCassette(
                f"the response of call {number + 1} is no chat completion with a text",
                *at, "response", "body",
            )  # fmt: skip
        if "call" in interaction and not _is_origin(interaction["call"]):
            raise InvalidCassette(
                f"call {number + 1} does not say where it comes from", *at, "call"
            )


def _is_origin(call: Any) -> bool:
    names = {
        "purpose": str,
        "trial": int,
        "step": int,
        "prompts": dict,
        "actions": str,
        "page": str,
    }
    return (
        isinstance(call, dict)
        and call.keys() == names.keys()
        and all(isinstance(call[name], kind) for name, kind in names.items())
    )


def _damaged(path: Path, line: int | None, what: str) -> CassetteError:
    where = f"{path}:{line}" if line else str(path)
    return CassetteError(
        f"{where}: not a cassette that can be read: {what}. Restore the file (git checkout), or "
        "delete it and record the item again"
    )


def _line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _line_of(text: str, where: Sequence[str | int]) -> int | None:
    """The line of what the keys lead to, or of the last of them that is there."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    line = None
    for key in where:
        if isinstance(node, yaml.MappingNode):
            pairs = [(k, value) for k, value in node.value if k.value == key]
            if not pairs:
                break
            line, node = pairs[0][0].start_mark.line + 1, pairs[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int):
            node = node.value[key]
            line = node.start_mark.line + 1
    return line


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def analyze_scalar(self, scalar: str) -> Any:
        analysis = super().analyze_scalar(scalar)
        analysis.allow_block = _BLOCK.fullmatch(scalar) is not None
        if re.search("[\x85\u2028\u2029]", scalar):  # breaks of a line, kept by double quotes only
            analysis.allow_flow_plain = analysis.allow_block_plain = False
            analysis.allow_single_quoted = False
        return analysis


# PyYAML quotes a text with a tab or with a space at the end of a line. In a literal block both are
# safe, but for a tab before all else, a last line of nothing else, and but for characters that YAML
# takes as line breaks.
_BLOCK = re.compile(
    r"(?![ \n]*\t)"
    r"[\n\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010fffe]*"
    r"(?<![ \t])"
)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
