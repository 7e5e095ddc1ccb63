"""Model calls on disk: one vcrpy cassette an item, replayed, recorded, or filled from a batch file.

Nothing is patched: `CassetteTransport` is the transport of the item's own client, so that neither
the browser driver's traffic nor anybody else's is touched. What is stored is what counts for a
match (the whole request body) and what the agent reads (the completion), and neither hosts, keys,
times nor random ids.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import httpx2
import yaml
from vcr.cassette import Cassette
from vcr.persisters.filesystem import CassetteNotFoundError
from vcr.record_mode import RecordMode
from vcr.request import Request
from vcr.serialize import deserialize, serialize

from pytest_miniwob_agent.core import CassetteError, Pending, canonical_json

URL = "/v1/chat/completions"
"""The endpoint as cassettes and batch files name it: without a host."""

KEPT = ("object", "model", "choices", "usage")
"""What is stored of a response body; the rest (ids, times) differs at every call."""


class Record(StrEnum):
    """What may happen at a model call (`--miniwob-record`)."""

    NONE = "none"
    ONCE = "once"
    NEW_EPISODES = "new_episodes"
    ALL = "all"
    DEFER = "defer"


def stem(agent: str, model: str, task: str, seed: int) -> str:
    """An item's cassette below the cassette folder, without its ending."""
    return "/".join(re.sub(r"[^\w.-]+", "_", part) for part in (agent, model, task, str(seed)))


class ItemCassette:
    """The recorded calls of one item.

    Args:
        folder: the cassette folder.
        stem: the item's cassette in it, see `stem`.
        record: what may happen at a call that is not recorded.

    Raises:
        CassetteError: the file can't be read as a cassette.
    """

    def __init__(self, folder: Path, stem: str, record: Record) -> None:
        self.path = folder / f"{stem}.yaml"
        self.stem = stem
        self.record = record
        self.replayed = 0
        self.recorded = 0
        self.found = self.path.exists()
        options: dict[str, Any] = {
            "path": str(self.path),
            "record_mode": RecordMode.NEW_EPISODES,  # what may be recorded is decided here
            "match_on": (_same_body,),
            "serializer": _Yaml,
            "persister": _Files,
        }
        try:
            self._tape = Cassette(**options) if record is Record.ALL else Cassette.load(**options)
        except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CassetteError(
                f"{self.path} is no cassette: {type(error).__name__}: {error}"
            ) from error

    @property
    def live(self) -> bool:
        """Whether a call that is not recorded may go to the server."""
        return self.record in (Record.NEW_EPISODES, Record.ALL) or (
            self.record is Record.ONCE and not self.found
        )

    def rewind(self) -> None:
        """Begin again: what is recorded by now is replayed from its start."""
        self._tape.rewind()
        self._tape.rewound = True  # in `all`, vcrpy would not replay what it has just recorded
        self.replayed = 0

    def replay(self, body: bytes) -> dict[str, Any] | None:
        """The recorded response to a request body, each once and in order; None where none is."""
        request = _request(body)
        if not self._tape.can_play_response_for(request):
            return None
        self.replayed += 1
        response: dict[str, Any] = self._tape.play_response(request)
        return response

    def add(self, body: bytes, answer: Mapping[str, Any]) -> None:
        """Record a completion and write the file."""
        kept = {key: answer[key] for key in KEPT if key in answer}
        response = {
            "status": {"code": 200, "message": "OK"},
            "headers": {"Content-Type": ["application/json"]},
            "body": {"string": json.dumps(kept, ensure_ascii=False).encode()},
        }
        self._tape.append(_request(body), response)
        # Equal prompts are separate samples: this one has had its turn.
        self._tape.play_counts[len(self._tape) - 1] += 1
        self.recorded += 1
        _Files.save_cassette(
            self.path,
            {"requests": self._tape.requests, "responses": self._tape.responses},
            _Yaml,
        )

    def holds(self, id_: str) -> bool:
        """Whether the request with this id in a batch file is recorded."""
        seen: Counter[str] = Counter()
        for request in self._tape.requests:
            digest = _digest(request.body)
            if id_ == f"{self.stem}#{digest}-{seen[digest]}":
                return True
            seen[digest] += 1
        return False

    def miss(self, body: bytes) -> CassetteError:
        """What to raise at a call that can't be replayed."""
        if self.record is Record.DEFER:
            earlier = sum(_same_request(body, request.body) for request in self._tape.requests)
            return Pending(
                # The id says which cassette, which request, and how many equal ones precede it.
                {
                    "custom_id": f"{self.stem}#{_digest(body)}-{earlier}",
                    "method": "POST",
                    "url": URL,
                    "body": json.loads(body),
                }
            )
        if not self.found:
            return CassetteError(f"there is no cassette {self.path}")
        call = self.replayed + 1
        head = f"{self.path} does not hold call {call} of this item"
        if not len(self._tape):
            return CassetteError(f"{head}: it is empty")
        return CassetteError(f"{head}. {self._difference(body)}")

    def _difference(self, body: bytes) -> str:
        """How the request differs from the recorded one that is most like it."""
        now = _lines(body)
        nearest = max(
            range(len(self._tape)),
            key=lambda index: difflib.SequenceMatcher(
                None, _lines(self._tape.requests[index].body), now, autojunk=False
            ).ratio(),
        )
        recorded = _lines(self._tape.requests[nearest].body)
        if recorded == now:
            return f"It is equal to call {nearest + 1}, which was replayed already"
        diff = difflib.unified_diff(
            recorded, now, f"recorded as call {nearest + 1}", "now", n=1, lineterm=""
        )
        return "\n".join(["What changed:", *diff])


class CassetteTransport(httpx2.BaseTransport):
    """The transport of an item's model client: the cassette first, the server if that is allowed.

    Raises (wrapped by the client):
        CassetteError: the call is not recorded and none may be made.
        Pending: the call is not recorded and waits for a completion.
    """

    def __init__(self, cassette: ItemCassette) -> None:
        self._cassette = cassette
        self._server: httpx2.HTTPTransport | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request from the cassette, or record the server's answer in it."""
        body = request.read()
        if (recorded := self._cassette.replay(body)) is not None:
            return httpx2.Response(
                recorded["status"]["code"],
                headers=[(k, v) for k, values in recorded["headers"].items() for v in values],
                content=recorded["body"]["string"],
            )
        if not self._cassette.live:
            raise self._cassette.miss(body)
        if self._server is None:
            self._server = httpx2.HTTPTransport()
        response = self._server.handle_request(request)
        response.read()
        if (answer := completion_of(response.status_code, response.content)) is not None:
            self._cassette.add(body, answer)
        return response

    def close(self) -> None:
        """Close the connection to the server."""
        if self._server is not None:
            self._server.close()


def completion_of(status: int, body: bytes | Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The body of a response if it is a chat completion with a text: only those are recorded."""
    if status != 200:
        return None
    try:
        answer = json.loads(body) if isinstance(body, bytes) else body
        text = answer["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    return answer if isinstance(text, str) else None


def write_atomically(path: Path, text: str) -> None:
    """Write beside, then rename, so that no reader and no crash meets half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def _digest(body: bytes) -> str:
    return hashlib.sha256(canonical_json(json.loads(body)).encode()).hexdigest()[:16]


def _request(body: bytes) -> Request:
    return Request("POST", URL, body, {})


def _same_request(one: bytes, other: bytes) -> bool:
    return one == other or canonical_json(json.loads(one)) == canonical_json(json.loads(other))


def _same_body(now: Request, recorded: Request) -> None:
    assert _same_request(now.body, recorded.body)


def _lines(body: bytes) -> list[str]:
    """A request as lines to compare: parameters first, then the messages as they read."""
    data = json.loads(body)
    messages = data.pop("messages", [])
    lines = [f"{key}: {canonical_json(value)}" for key, value in sorted(data.items())]
    for message in messages:
        lines += str(message.get("content", "")).splitlines()
    return lines


class _Yaml:
    """A vcrpy serializer: JSON bodies as YAML, texts as blocks with real line breaks."""

    @staticmethod
    def serialize(cassette: dict[str, Any]) -> str:
        # What is given belongs to the tape and stays as it is.
        interactions = [
            {
                "request": {**each["request"], "body": json.loads(each["request"]["body"])},
                "response": {
                    **each["response"],
                    "body": json.loads(each["response"]["body"]["string"]),
                },
            }
            for each in cassette["interactions"]
        ]
        cassette = {**cassette, "interactions": interactions}
        return yaml.dump(
            cassette, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000
        )

    @staticmethod
    def deserialize(text: str) -> Any:
        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for interaction in data["interactions"]:
            request, response = interaction["request"], interaction["response"]
            request["body"] = json.dumps(request["body"], ensure_ascii=False)
            response["body"] = {"string": json.dumps(response["body"], ensure_ascii=False)}
        return data


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


class _Files:
    """A vcrpy persister: UTF-8 on every machine, and no half-written file."""

    @staticmethod
    def load_cassette(path: str | Path, serializer: Any) -> Any:
        try:
            text = Path(path).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise CassetteNotFoundError from None
        return deserialize(text, serializer)

    @staticmethod
    def save_cassette(path: str | Path, cassette: dict[str, Any], serializer: Any) -> None:
        write_atomically(Path(path), serialize(cassette, serializer))
