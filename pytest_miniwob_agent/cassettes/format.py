"""The file of a cassette: reading, checking and writing it as a whole.

It is a vcrpy cassette (https://vcrpy.readthedocs.io) in YAML, with JSON bodies as mappings and
strings of several lines as blocks, to be read in a pull request; what is binary is in Base64, and
`decoded` has the events of such a stream. Besides `request` and `response`,
a call says where it was made (`core.events.Origin`), and from which other item its answer was
taken; this is ignored when matching.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

import yaml
from yaml.constructor import ConstructorError

from pytest_miniwob_agent.cassettes.tape import Call, Request
from pytest_miniwob_agent.core.app import is_time
from pytest_miniwob_agent.core.chat import REFUSALS
from pytest_miniwob_agent.core.data import from_data, to_data
from pytest_miniwob_agent.core.errors import CassetteError, CassetteNotWritten
from pytest_miniwob_agent.core.events import Origin
from pytest_miniwob_agent.core.files import display_path, write_atomically
from pytest_miniwob_agent.core.observations import SCREEN_VERSION
from pytest_miniwob_agent.core.pace import Move
from pytest_miniwob_agent.core.secrets import refuse
from pytest_miniwob_agent.models.apis import CHAT, is_answer, recorded_type
from pytest_miniwob_agent.models.bodies import AWS_STREAM, EVENT_STREAM, sent_body

SCHEMA = 3
"""The newest schema of cassettes: files with answers that are neither JSON nor an event stream have
it, others with refused calls the second one, and all others the first."""

END = "...\n"
"""The last line of a file."""

NO_CALLS = " []\n"
"""What a file without calls has instead."""

DEEPEST = 200
"""The deepest nesting of lists and mappings that is read."""

_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7})(?: |$)", re.M)


@dataclass
class Noted:
    """What a cassette has besides its calls."""

    version: Annotated[int, (1).__eq__]
    schema: int
    screens: int = 1
    clock: Annotated[float, is_time] | None = None
    pace: list[Move] | None = None
    began_from: str | None = None
    recording: str = ""


@dataclass
class _Request:
    method: Annotated[str, "POST".__eq__]
    uri: str
    body: dict[str, Any]
    headers: dict[str, Any]


@dataclass
class _Status:
    code: Annotated[int, (200, *REFUSALS).__contains__]
    message: str


@dataclass
class _Response:
    status: _Status
    headers: dict[str, Any]
    body: Any
    decoded: Any = None


@dataclass
class _Interaction:
    request: _Request
    response: _Response
    call: dict[str, Any] = field(default_factory=dict)


def read_cassette(path: Path) -> list[Call]:
    """Return the calls of a cassette, in order.

    Raises:
        CassetteError: the file is damaged; the message names the place and how to fix it.
    """
    return load_cassette(path)[0]


def load_cassette(path: Path) -> tuple[list[Call], Noted]:
    """Return the calls of a cassette, and what else it has; raises as `read_cassette` does."""
    place, calls = "", list[Call]()
    try:
        text = path.read_text(encoding="utf-8")
        # The search is slow, and most files have no such mark.
        if any(mark * 7 in text for mark in "<=>") and _CONFLICT.search(text):
            raise ValueError("a git conflict is not resolved")
        if not text.endswith("\n" + END):
            raise ValueError("it is truncated: the end marker (...) is missing")
        data = _parse(text)
        check_version("schema", data.get("schema"), SCHEMA)
        interactions = from_data(list[Any], data.pop("interactions", None), "interactions")
        noted = from_data(Noted, data)
        check_version("version of screens", noted.screens, SCREEN_VERSION)
        for number, interaction in enumerate(interactions, start=1):
            place = f"call {number}: "
            calls.append(_make_call(from_data(_Interaction, interaction)))
    except (FileNotFoundError, NotADirectoryError):
        raise
    except Exception as error:  # noqa: BLE001 - the file may be anybody's
        problem = " ".join(str(error).split()).replace('in "<unicode string>", line', "in line")
        raise CassetteError(
            f"{display_path(path)}: not a readable cassette: {place}{problem}. Restore the file "
            "(git checkout), or delete it and record the item again"
        ) from None
    return calls, noted


def _make_call(interaction: _Interaction) -> Call:
    request, response, beside = interaction.request, interaction.response, interaction.call
    body, answer, status = request.body, response.body, response.status.code
    messages = body.get("messages"), "request.body.messages"
    if request.uri == CHAT and not from_data(list[dict[str, Any]], *messages):
        raise ValueError("it has no chat messages")
    types = from_data(list[str], response.headers.get("Content-Type", []), "response.headers")
    kind = recorded_type(request.uri, "".join(types[:1])) if isinstance(answer, str) else ""
    if status != 200:
        from_data(dict[str, Any], answer, "response.body")
    elif not is_answer(request.uri, answer, kind):
        raise ValueError("`response.body` is not an answer of a model")
    normalized = from_data(tuple[str, ...], beside.pop("normalized", []), "call.normalized")
    answered_in = from_data(str, beside.pop("answered_in", ""), "call.answered_in")
    origin = from_data(Origin, beside, "call") if beside else None
    asked = Request(request.uri, body, normalized)
    return Call(asked, answer, origin, "", answered_in, status, kind)


def write_cassette(
    path: Path, calls: Sequence[Call], *, allow: Collection[str] = (), **metadata: Any
) -> None:
    """Write a cassette atomically, with further keys (`dump_cassette`).

    `allow` are regular expressions of what looks like a key but isn't one.

    Raises:
        CassetteError: a string in a call looks like a key; nothing is written.
        CassetteNotWritten: there is no room, or no permission; the old file is unchanged.
    """
    for number, call in enumerate(calls, start=1):
        refuse(call.secrets, f"{display_path(path)} was not written: call {number}", allow=allow)
    text = dump_cassette(calls, **metadata)
    write_recorded(path, text, durable=True)  # it may be the only copy of what was paid for


def write_recorded(path: Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write a file of a recording as `write_atomically` does.

    Raises:
        CassetteNotWritten: there is no room, or no permission; the old file is unchanged.
    """
    try:
        write_atomically(path, content, durable=durable)
    except OSError as error:
        raise CassetteNotWritten(f"{display_path(path)} can't be written: {error}") from None


def dump_cassette(
    calls: Sequence[Call],
    screens: int = 1,
    pace: Sequence[Move] | None = None,
    **metadata: Any,
) -> str:
    """Return the text of a cassette, with further keys.

    The pace is that of a program; None for other agents.
    """
    for call in calls:
        # Each becomes YAML once, as a file grows call by call.
        call.written = call.written or _dump_call(call)
    # Early cassettes do not have the version of screens: there was one.
    noted: dict[str, Any] = {"screens": screens} if screens > 1 else {}
    noted |= {} if pace is None else {"pace": to_data(pace)}
    schema = max((3 if call.kind else 2 if call.status != 200 else 1 for call in calls), default=1)
    head = _dump({"version": 1, "schema": schema, **noted, **metadata})
    return f"{head}interactions:\n{''.join(call.written for call in calls) or NO_CALLS}{END}"


def _dump_call(call: Call) -> str:
    source = to_data(call.origin) if call.origin else {}
    if call.request.normalized:
        source["normalized"] = list(call.request.normalized)
    if call.answered_in:
        source["answered_in"] = call.answered_in
    streamed = EVENT_STREAM if isinstance(call.answer, str) else "application/json"
    interaction: dict[str, Any] = {"call": source} if source else {}
    interaction["request"] = {
        "method": "POST",
        "uri": call.request.path,
        "body": dict(call.body),
        "headers": {},
    }
    interaction["response"] = {
        "status": {"code": call.status, "message": HTTPStatus(call.status).phrase},
        "headers": {"Content-Type": [call.kind or streamed]},
        "body": call.recorded,
    }
    if call.kind == AWS_STREAM:
        interaction["response"]["decoded"] = call.events
    return _dump([interaction])


class Serializer:
    """A vcrpy serializer that reads cassettes, for `vcr.VCR.register_serializer`."""

    def deserialize(self, text: str) -> dict[str, Any]:
        """Return vcrpy's data of a cassette, with bodies as strings of JSON.

        Raises:
            ValueError: the text is YAML, but not a mapping.
            yaml.YAMLError: the text is not YAML, or holds other types than JSON has.
        """
        data = _parse(text)
        for interaction in data["interactions"]:
            request, response = interaction["request"], interaction["response"]
            request["body"] = json.dumps(request["body"])
            [kind], body = response["headers"]["Content-Type"], response["body"]
            streamed = isinstance(body, str)
            response["body"] = {"string": sent_body(body, kind) if streamed else json.dumps(body)}
        return data


def _parse(text: str) -> dict[str, Any]:
    opened = text.count("[") + text.count("{") + len(re.findall("[-?] +[-?] ", text))
    if opened > DEEPEST and _too_deep(text):
        raise ValueError("it is nested too deeply")
    return from_data(dict[str, Any], yaml.load(text, _Loader))


def check_version(what: str, value: Any, newest: int) -> None:
    """Raise a `ValueError` if this package does not know the version of a form of files."""
    if type(value) is not int or not 1 <= value <= newest:
        raise ValueError(
            f"its {what} is {value!r}, and this version of pytest-miniwob-agent knows 1 to {newest}"
        )


def _too_deep(text: str) -> bool:
    """Return True if YAML is nested so deeply that reading all of it would crash."""
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
        return self._value(node, set())

    def _value(self, node: yaml.Node, seen: set[yaml.Node]) -> Any:
        if node in seen:
            raise ConstructorError(None, None, "an alias, which no cassette has", node.start_mark)
        seen.add(node)
        value = node.value
        match node.tag.removeprefix("tag:yaml.org,2002:"), node:
            case "str", yaml.ScalarNode():
                return value
            case "seq", yaml.SequenceNode():
                return [self._value(item, seen) for item in value]
            case "map", yaml.MappingNode():
                pass
            case _:
                return self._other(node)
        if not all(key.tag == _STRING for key, _ in value):
            raise ConstructorError(None, None, "a key is not a string", node.start_mark)
        mapping = {self._value(k, seen): self._value(v, seen) for k, v in value}
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
    """Writes strings of several lines as literal blocks."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def analyze_scalar(self, scalar: str) -> Any:
        analysis = super().analyze_scalar(scalar)
        analysis.allow_block = _BLOCK.fullmatch(scalar) is not None
        if re.search("[\x85\u2028\u2029]", scalar):  # line breaks that only double quotes keep
            analysis.allow_flow_plain = analysis.allow_block_plain = False
            analysis.allow_single_quoted = False
        return analysis


# PyYAML quotes a string with a tab or with a space at the end of a line. In a literal block both
# are safe, except for a tab before all else, a last line of nothing else, and characters that YAML
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
    text: str = yaml.dump(
        data,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=1_000_000,
        explicit_end=True,
    )
    # PyYAML ends some documents with the marker, and others not.
    return text.removesuffix(END)
