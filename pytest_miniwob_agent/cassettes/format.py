"""The file of a cassette: reading, checking and writing it as a whole.

It is a vcrpy cassette (https://vcrpy.readthedocs.io) in YAML, with JSON bodies as mappings and
texts as blocks, to be read in a pull request. Beside `request` and `response`, a call says where it
was made (`core.events.Origin`), and from which other item its answer was taken; this is ignored
when matching.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, fields
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from pytest_miniwob_agent.cassettes.tape import Call, Request
from pytest_miniwob_agent.core.app import is_time
from pytest_miniwob_agent.core.chat import REFUSALS
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.errors import CassetteError, CassetteNotWritten
from pytest_miniwob_agent.core.events import Origin
from pytest_miniwob_agent.core.files import display_path, write_atomically
from pytest_miniwob_agent.core.observations import SCREEN_VERSION
from pytest_miniwob_agent.core.pace import Move
from pytest_miniwob_agent.core.secrets import refuse
from pytest_miniwob_agent.models.api import EVENT_STREAM
from pytest_miniwob_agent.models.apis import CHAT, is_answer

SCHEMA = 2
"""The newest schema of cassettes: files with refused calls have it, all others the first one."""

END = "...\n"
"""The last line of a file."""

NO_CALLS = " []\n"
"""In the place of calls, in a file that has none."""

DEEPEST = 200
"""The deepest nesting of lists and mappings that is read."""

_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7})(?: |$)", re.M)
_ORIGIN = {field.name for field in fields(Origin)}
_BESIDE = {"normalized", "answered_in"}
_REQUEST = {"method", "uri", "body", "headers"}  # vcrpy refuses any other key


def read_cassette(path: Path) -> list[Call]:
    """Return the calls of a cassette, in order.

    Raises:
        CassetteError: the file is damaged; the message names the place and how to fix it.
    """
    return load_cassette(path)[0]


def load_cassette(path: Path) -> tuple[list[Call], dict[str, Any]]:
    """Return the calls of a cassette, and its further keys; raises as `read_cassette` does."""
    try:
        text = path.read_text(encoding="utf-8")
        if _CONFLICT.search(text):
            raise ValueError("a git conflict is not resolved")
        if not text.endswith("\n" + END):
            raise ValueError("it is truncated: the end marker (...) is missing")
        metadata = _parse(text)
        return [*map(_call_of, metadata.pop("interactions"))], metadata
    except (FileNotFoundError, NotADirectoryError):
        raise
    except Exception as error:  # noqa: BLE001 - the file may be anybody's
        problem = " ".join(str(error).split()).replace('in "<unicode string>", line', "in line")
        raise CassetteError(
            f"{display_path(path)}: not a readable cassette: {problem}. Restore the file (git "
            "checkout), or delete it and record the item again"
        ) from None


def _call_of(interaction: Mapping[str, Any]) -> Call:
    request, response = interaction["request"], interaction["response"]
    beside = dict(interaction.get("call", {}))
    normalized, answered_in = tuple(beside.pop("normalized", ())), beside.pop("answered_in", "")
    return Call(
        Request(request["uri"], request["body"], normalized),
        response["body"],
        Origin(**beside) if beside else None,
        answered_in=answered_in,
        status=response["status"]["code"],
    )


def write_cassette(
    path: Path, calls: Sequence[Call], *, allow: Collection[str] = (), **metadata: Any
) -> None:
    """Write a cassette atomically, with further keys (`dump_cassette`).

    `allow` are regular expressions of what looks like a key and is none.

    Raises:
        CassetteError: a text in a call looks like a key; nothing is written.
        CassetteNotWritten: there is no room, or no permission; the old file is unchanged.
    """
    for number, call in enumerate(calls, start=1):
        refuse(call.secrets, f"{display_path(path)} was not written: call {number}", allow=allow)
    text = dump_cassette(calls, **metadata)
    try:
        write_atomically(path, text, durable=True)  # it may be the only copy of what was paid for
    except OSError as error:
        raise CassetteNotWritten(f"{display_path(path)} can't be written: {error}") from None


def dump_cassette(
    calls: Sequence[Call],
    screens: int = 1,
    pace: Sequence[Move] | None = None,
    **metadata: Any,
) -> str:
    """Return the text of a cassette; each call becomes YAML once, as a file grows call by call.

    The first version of screens is not noted, as there was no other one, nor the pace of an agent
    that is no program.
    """
    for call in calls:
        call.written = call.written or _dump_call(call)
    noted: dict[str, Any] = {"screens": screens} if screens > 1 else {}
    noted |= {} if pace is None else {"pace": to_data(pace)}
    schema = 1 if all(call.status == 200 for call in calls) else SCHEMA
    head = _dump({"version": 1, "schema": schema, **noted, **metadata})
    return f"{head}interactions:\n{''.join(call.written for call in calls) or NO_CALLS}{END}"


def _dump_call(call: Call) -> str:
    source = to_data(call.origin) if call.origin else {}
    if call.request.normalized:
        source["normalized"] = list(call.request.normalized)
    if call.answered_in:
        source["answered_in"] = call.answered_in
    content_type = EVENT_STREAM if isinstance(call.answer, str) else "application/json"
    interaction: dict[str, Any] = {"call": source} if source else {}
    interaction["request"] = {
        "method": "POST",
        "uri": call.request.path,
        "body": dict(call.body),
        "headers": {},
    }
    interaction["response"] = {
        "status": {"code": call.status, "message": HTTPStatus(call.status).phrase},
        "headers": {"Content-Type": [content_type]},
        "body": call.recorded,
    }
    return _dump([interaction])


class Serializer:
    """A vcrpy serializer that reads cassettes, for `vcr.VCR.register_serializer`."""

    def deserialize(self, text: str) -> dict[str, Any]:
        """Return vcrpy's data of a cassette, with bodies as strings of JSON.

        Raises:
            ValueError: the text is YAML, but not a cassette of this package.
            yaml.YAMLError: the text is not YAML, or holds other types than JSON has.
        """
        data = _parse(text)
        for interaction in data["interactions"]:
            request, response = interaction["request"], interaction["response"]
            request["body"] = json.dumps(request["body"])
            response["body"] = {"string": json.dumps(response["body"])}
        return data


def _parse(text: str) -> dict[str, Any]:
    """Return the data of a cassette; raises as `Serializer.deserialize`."""
    opened = text.count("[") + text.count("{") + len(re.findall("[-?] +[-?] ", text))
    if opened > DEEPEST and _too_deep(text):
        raise ValueError("it is nested too deeply")
    data: Any = yaml.load(text, _Loader)
    if not isinstance(data, dict) or not isinstance(data.get("interactions"), list):
        raise ValueError("it has no list of interactions")
    if data.get("version") != 1:
        raise ValueError(f"its version is {data.get('version')!r} instead of 1")
    _check_known("schema", data.get("schema"), SCHEMA)
    data["screens"] = checked_screens(data.get("screens", 1))
    data["clock"] = checked_clock(data)
    if "pace" in data:
        data["pace"] = _moves(data["pace"])
    for number, interaction in enumerate(data["interactions"], start=1):
        if problem := _problem_of(interaction):
            raise ValueError(f"call {number} {problem}")
    return data


def checked_screens(value: Any) -> int:
    """Return the version of screens that a file notes; raises a `ValueError` if it is unknown."""
    return _check_known("version of screens", value, SCREEN_VERSION)


def checked_clock(head: Mapping[str, Any]) -> float | None:
    """Return the page's clock that a file notes, if any; raises a `ValueError` if it is no time."""
    clock: float | None = head.get("clock")
    if clock is not None and not is_time(clock):
        raise ValueError(f"its clock is {clock!r}, and no time in seconds since 1970")
    return clock


def _moves(lines: Any) -> list[Move]:
    """Return the moves that a file notes; raises a `ValueError` if they are none."""
    kinds = [int, int, str, str, int, bool]
    try:
        moves = [Move(**line) for line in lines]
        valid = all([*map(type, astuple(one))] == kinds for one in moves)
    except TypeError:
        valid = False
    if not valid:
        raise ValueError("its `pace` is no list of moves of the clock")
    return moves


def _check_known(what: str, value: Any, newest: int) -> int:
    """Return the number of a form that a file has; raises a `ValueError` if it is unknown."""
    if type(value) is not int or not 1 <= value <= newest:
        raise ValueError(
            f"its {what} is {value!r}, and this version of pytest-miniwob-agent knows 1 to {newest}"
        )
    return value


def _problem_of(interaction: Any) -> str:
    """Return what is wrong with a call of a file; empty if nothing is."""
    try:
        request = interaction["request"]
        path, body = request["uri"], request["body"]
        posts = request["method"] == "POST" and request.keys() == _REQUEST
        posts = posts and isinstance(request["headers"], dict)
        messages, response = body.get("messages"), interaction["response"]
        answer, status = response["body"], response["status"]["code"]
        beside = interaction.get("call", {})
        origin = beside.keys() - _BESIDE
    except (AttributeError, KeyError, TypeError):
        return "lacks its request or its response"
    if not (posts and isinstance(path, str)):
        return "has a request that is not one to a model"
    if path == CHAT and not (messages and all(isinstance(message, dict) for message in messages)):
        return "has no chat messages"
    if status in REFUSALS:
        if not isinstance(answer, dict):
            return "has a refusal that is no JSON object"
    elif status != 200:
        return f"has a response of status {status!r}"
    elif not is_answer(path, answer):
        return "has a response that is not an answer of a model"
    valid = (not origin or origin == _ORIGIN) and _has_types(beside)
    return "" if valid else "has no valid origin"


def _has_types(beside: Mapping[str, Any]) -> bool:
    """True if what is beside a call is of the types that are written."""
    counts = [value for name, value in beside.items() if name in ("trial", "step")]
    prompts, normalized = beside.get("prompts", {}), beside.get("normalized", [])
    if not (isinstance(prompts, dict) and isinstance(normalized, list)):
        return False
    others = beside.keys() - {"trial", "step", "prompts", "normalized"}
    texts = [*map(beside.get, others), *prompts, *prompts.values(), *normalized]
    whole = all(type(count) is int and count >= 0 for count in counts)
    return whole and all(isinstance(text, str) for text in texts)


def _too_deep(text: str) -> bool:
    """Return True if a YAML text is nested so deeply that the reader of all of it would crash."""
    depth = 0
    try:
        for event in yaml.parse(text, _Loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > DEEPEST:
                return True
    except yaml.MarkedYAMLError as error:  # libyaml 0.2.6 reads ahead, up to a limit of its own
        if error.problem == "exceeded maximum nesting depth":
            return True
        raise
    return False


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads the types that JSON has and no others, without aliases and keys that come twice.

    It makes one value after the other, which takes half the time of PyYAML's way, with generators.
    """

    def construct_document(self, node: yaml.Node) -> Any:
        return self._value_of(node, set())

    def _value_of(self, node: yaml.Node, seen: set[yaml.Node]) -> Any:
        if node in seen:
            raise ConstructorError(None, None, "an alias, as no cassette has", node.start_mark)
        seen.add(node)
        value = node.value
        match node.tag.removeprefix("tag:yaml.org,2002:"), node:
            case "str", yaml.ScalarNode():
                return value
            case "seq", yaml.SequenceNode():
                return [self._value_of(item, seen) for item in value]
            case "map", yaml.MappingNode():
                pass
            case _:
                return self._other(node)
        if not all(key.tag == _STRING for key, _ in value):
            raise ConstructorError(None, None, "a key is not a string", node.start_mark)
        mapping = {self._value_of(k, seen): self._value_of(v, seen) for k, v in value}
        if len(mapping) < len(value):
            raise ConstructorError(None, None, "a key comes twice", node.start_mark)
        return mapping

    def _other(self, node: yaml.Node) -> Any:
        try:
            return super().construct_object(node)
        except (ValueError, LookupError, OverflowError, TypeError) as error:
            reason = f"not a value of {node.tag}: {type(error).__name__}"
            raise ConstructorError(None, None, reason, node.start_mark) from None


_STRING = "tag:yaml.org,2002:str"
_TYPES = ("null", "bool", "int", "float")
_Loader.yaml_constructors = {
    tag: yaml.SafeLoader.yaml_constructors[tag]  # that of None refuses all other tags
    for tag in [None, *(f"tag:yaml.org,2002:{kind}" for kind in _TYPES)]
}


class _Dumper(yaml.SafeDumper):
    """Writes texts as literal blocks wherever they have several lines."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def analyze_scalar(self, scalar: str) -> Any:
        analysis = super().analyze_scalar(scalar)
        analysis.allow_block = _BLOCK.fullmatch(scalar) is not None
        if re.search("[\x85\u2028\u2029]", scalar):  # line breaks that only double quotes keep
            analysis.allow_flow_plain = analysis.allow_block_plain = False
            analysis.allow_single_quoted = False
        return analysis


# PyYAML quotes a text with a tab or with a space at the end of a line. In a literal block both are
# safe, except for a tab before all else, a last line of nothing else, and characters that YAML
# takes as line breaks.
_BLOCK = re.compile(
    r"(?![ \n]*\t)"
    r"[\n\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010fffe]*"
    r"(?<![ \t])"
)

_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def _dump(data: Any) -> str:
    """Return the YAML text of data without its end marker, which PyYAML adds to some by itself."""
    text: str = yaml.dump(
        data,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=1_000_000,
        explicit_end=True,
    )
    return text.removesuffix(END)
