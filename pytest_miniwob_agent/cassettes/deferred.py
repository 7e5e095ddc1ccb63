"""Deferred recording, by files of OpenAI's Batch API.

https://platform.openai.com/docs/guides/batch

`pending.jsonl` has the requests that wait for a completion, one JSON object per line: `custom_id`,
`method`, `url` and `body`. An id is the stem of the item's cassette, a digest of the request and
the number of equal ones before it: `a/m/t/1#0123456789ab-0`. Some also have `allow`, the regular
expressions of `AppTask(allow=...)`, which no provider gets. `answers.jsonl` has the completions:
`custom_id`, `response` and `error`. One that holds what looks like a secret counts as an error and
is not stored.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.cassettes.folder import sharing_group
from pytest_miniwob_agent.cassettes.tape import Call, Request, batch_id
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import CassetteError, UsageError
from pytest_miniwob_agent.core.files import write_atomically, write_gitignore
from pytest_miniwob_agent.core.text import counted, shorten
from pytest_miniwob_agent.models.apis import CHAT, describe_unusable, is_answer

Line = dict[str, Any]
"""A line of a batch file."""


def _batch_ids(stem: str, calls: Iterable[Call]) -> set[str]:
    counts = Counter(call.key for call in calls)
    return {batch_id(stem, key, n) for key, count in counts.items() for n in range(count)}


def parse_request(line: Line) -> Request:
    """Return the request of a line."""
    return Request(str(line.get("url", CHAT)), line.get("body") or {})


def _request_stem(id_: str) -> str:
    return id_.partition("#")[0]


def read_pending(path: Path) -> dict[str, Line]:
    """Return the waiting requests by id; empty if there is no file.

    Raises:
        UsageError: a line is not a request.
    """
    hint = "; delete the file, the next run with --miniwob-record=defer writes it again"
    return parse_lines(path.read_text(encoding="utf-8"), str(path), hint) if path.exists() else {}


def parse_lines(text: str, name: str, hint: str = "") -> dict[str, Line]:
    """Return the lines of a batch file by request id; `name` is the file's in messages.

    Raises:
        UsageError: a line is damaged.
    """
    lines = {}
    for number, id_, line in batch_lines(text):
        if line is None:
            raise UsageError(f"{name}:{number} is not a whole line of a batch file{hint}")
        lines[id_] = line
    return lines


def write_pending(path: Path, requests: Iterable[Line]) -> None:
    """Write the requests, sorted; remove the file if there are none."""
    lines = sorted(json.dumps(request, ensure_ascii=False) for request in requests)
    if lines:
        write_atomically(path, "\n".join(lines) + "\n")
    else:
        path.unlink(missing_ok=True)


def update_pending(
    path: Path,
    ran: Collection[str],
    requests: Iterable[Mapping[str, Any]],
    used: Collection[str] | None = None,
    groups: Mapping[str, str] | None = None,
) -> list[str]:
    """Replace the requests of the items of a run; return the ids that the file holds now.

    `ran` are the stems of the items that ran, and `requests` what they wait for. Requests of stems
    that are not `used` by what the run collected are removed; None keeps them, for a run of a few
    items. An equal request of several items that share answers waits once, if possible by the id
    that it had before: `groups` are those of the requests (`folder.sharing_group`), by id.
    """
    groups = groups or {}
    before = read_pending(path)
    waiting = {
        id_: request
        for id_, request in before.items()
        if _request_stem(id_) not in ran and (used is None or _request_stem(id_) in used)
    }
    waiting.update((request["custom_id"], dict(request)) for request in requests)
    once: dict[str, str] = {}
    for id_ in sorted(waiting, key=lambda id_: (id_ not in before, id_.split("/"))):
        stem, _, request_id = id_.partition("#")
        once.setdefault(f"{groups.get(id_) or sharing_group(stem)}#{request_id}", id_)
    kept = set(once.values())
    waiting = {id_: request for id_, request in waiting.items() if id_ in kept}
    write_gitignore(path.parent)
    write_pending(path, waiting.values())
    return list(waiting)


def batch_lines(text: str) -> Iterator[tuple[int, str, Line | None]]:
    """Yield number, id and content of each line of a batch file; None for an invalid line."""
    # Not splitlines(): a string in JSON may hold other line breaks.
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            list(map(re.compile, data.get("allow", ())))
            yield number, str(data["custom_id"]), data
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, re.error):
            yield number, "", None


def read_answers(pending: Path) -> dict[str, Line]:
    """Return the answers in `answers.jsonl` by request id; empty if there is no file.

    Raises:
        UsageError: a line is not an answer.
    """
    path = pending.with_name("answers.jsonl")
    return parse_lines(path.read_text(encoding="utf-8"), str(path)) if path.exists() else {}


def keep_answers(
    pending: Path, requests: Mapping[str, Line], lines: Mapping[str, Line]
) -> dict[str, str]:
    """Add completions to `answers.jsonl`; return the errors of the other requests by id."""
    answers: dict[str, Line] = {}
    errors: dict[str, str] = {}
    for id_, request in requests.items():
        try:
            _completion(lines.get(id_, {}), parse_request(request), request.get("allow", ()))
            answers[id_] = lines[id_]
        except CassetteError as error:
            errors[id_] = str(error)
    if answers:
        kept = (read_answers(pending) | answers).values()
        content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in kept)
        write_atomically(pending.with_name("answers.jsonl"), content)
    return errors


def _completion(answer: Line, request: Request, allow: Collection[str]) -> Any:
    if not answer:
        raise CassetteError("no answer came back")
    response, error = answer.get("response"), answer.get("error")
    response = response if isinstance(response, dict) else {}
    body = response.get("body")
    if response.get("status_code") == 200 and body and not error:
        if not is_answer(request.path, body):
            raise CassetteError(describe_unusable(request.path, 200, body, request.body).report)
        secrets.refuse(secrets.find(answer), "its completion", ", and is not kept", allow=allow)
        return body
    raise CassetteError(shorten(secrets.mask(f"no completion: {canonical_json(error or body)}")))


def take_answers(answers: Path, pending: Path, cassettes: Path) -> list[str]:
    """Record the completions of an answer file; return what was recorded, then the problems.

    A request whose answer can't be used stays pending, and an answer is recorded only once.

    Raises:
        UsageError: there is no answer file, or the batch file is damaged.
    """
    from pytest_miniwob_agent.cassettes.files import ItemFiles
    from pytest_miniwob_agent.cassettes.modes import Record

    if not answers.is_file():
        raise UsageError(f"--miniwob-answers: there is no file {answers}")
    waiting = read_pending(pending)
    recorded = already = 0
    problems: list[str] = []
    for number, id_, answer in batch_lines(answers.read_text(encoding="utf-8")):
        try:
            if answer is None:
                raise CassetteError("not a whole line of a batch file")
            stem, line = _request_stem(id_), waiting.get(id_)
            allow = line.get("allow", ()) if line else ()
            files = ItemFiles(cassettes, stem, Record.DEFER, state=pending.parent, allow=allow)
            with closing(files):
                tape = files.load()
                problems += files.remarks
                if id_ in _batch_ids(stem, [*tape.calls, *tape.spare]):
                    already += 1
                elif line is None:
                    raise CassetteError("no request with this id is waiting")
                else:
                    asked = parse_request(line)
                    request = replace(asked, body=files.pictures.extract(asked.body))
                    completion = _completion(answer, request, allow)
                    files.save([*tape.calls, Call(request, completion)])
                    recorded += 1
            waiting.pop(id_, None)
        except CassetteError as error:
            problems.append(f"{answers}:{number}: {id_ or 'skipped'}: {error}")
    write_pending(pending, waiting.values())
    before = f", {already} recorded before" if already else ""
    return [f"{counted(recorded, 'completion')} recorded{before}", *problems]
