"""The steps of `miniwob-agent cassettes`: lint, prune, stats and show."""

from __future__ import annotations

import gc
import math
import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from pytest_miniwob_agent.cassettes.files import read_picture
from pytest_miniwob_agent.cassettes.folder import (
    BODIES,
    PARTIAL,
    TRAFFIC,
    UNUSED,
    CassetteFile,
    Used,
    cassette_files,
    parse_case,
    parse_model_folder,
    stray_files,
)
from pytest_miniwob_agent.cassettes.format import load_cassette, read_cassette
from pytest_miniwob_agent.cassettes.tape import Call, Request, total_usage
from pytest_miniwob_agent.cassettes.traffic import Bodies, Traffic
from pytest_miniwob_agent.core.app import CATEGORY
from pytest_miniwob_agent.core.chat import Usage
from pytest_miniwob_agent.core.errors import CassetteError
from pytest_miniwob_agent.core.secrets import Secret, find, mask
from pytest_miniwob_agent.core.text import counted, sanitize_line, sanitize_lines, section_lines
from pytest_miniwob_agent.models.api import FOLDER
from pytest_miniwob_agent.models.apis import CHAT
from pytest_miniwob_agent.tasks.catalogue import installed_tasks

# Files from which on several processes are worth their start.
_MANY = 200


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a file, or a note: something to know that needs no fix.

    `kind` is one of `leak`, `damaged`, `orphan`, `stray`, and for notes `broken off`, `unused`
    and `alone`; `what` explains it.
    """

    kind: str
    path: Path
    what: str
    note: bool = False


Checked = Iterable[tuple[CassetteFile, list[Finding]]]
"""The files of a folder with what was found in each."""


def check_files(folder: Path, unused: Path) -> Checked:
    """Check the files of a cassette folder.

    Many are checked by several processes, which begin at once.
    """
    files = cassette_files(folder, unused)
    check = partial(_check_file, folder)
    if len(files) <= _MANY:
        return zip(files, map(check, files), strict=True)
    # They leave little garbage behind.
    pool = ProcessPoolExecutor(initializer=gc.disable)
    found = pool.map(check, files, chunksize=32)
    pool.shutdown(wait=False)  # ends its processes when all is done
    return zip(files, found, strict=True)


def lint_folder(used: Used, checked: Checked | None = None) -> list[Finding]:
    """Return the problems and notes of a cassette folder, file by file.

    `checked` is the result of `check_files`, if that has been called already.
    """
    findings: list[Finding] = []
    for file, found in checked or check_files(used.folder, used.unused):
        findings += found
        if used.lacks(file.stem) and all(each.kind != "damaged" for each in found):
            findings.append(Finding("orphan", file.path, "no item uses it"))
    for path in unnamed_files(used):
        findings.append(Finding("orphan", path, "no cassette and no traffic refers to it"))
    for path in stray_files(used.folder):
        findings.append(Finding("stray", path, "left by a write that was killed"))
    return findings


def _check_file(folder: Path, file: CassetteFile) -> list[Finding]:
    path = file.path
    findings: list[Finding] = []
    if file.ending == PARTIAL:
        what = "an unfinished recording; recording the item continues it"
        findings.append(Finding("broken off", path, what, note=True))
    elif file.ending == TRAFFIC and not (folder / f"{file.stem}.yaml").exists():
        what = "no cassette is beside it: right if the item's agent calls no model"
        findings.append(Finding("alone", path, what, note=True))
    damage = ""
    calls: Sequence[Call] = ()
    allow: Sequence[str] = ()
    of_bodies: list[str] = []
    try:
        traffic = folder / f"{file.stem}{TRAFFIC}"
        if file.ending == TRAFFIC:
            tape = Traffic.load(path)
            allow = tape.allow
            for digest, what in tape.bodies.items():
                found = _find_in_body(folder, digest)
                of_bodies += [f"{one} in {what}" for one in _named(found, allow)]
        else:
            with suppress(CassetteError):  # which is told of the traffic itself
                allow = Traffic.load(traffic).allow if traffic.exists() else ()
            calls = read_cassette(path)
            for digest in {digest for call in calls for digest in call.request.pictures}:
                read_picture(folder, digest)
    except (CassetteError, FileNotFoundError) as error:  # a link may lead to nothing
        damage = str(error)
    # Damaged files are searched, too.
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    told = dict.fromkeys([*_find_leaks(text, calls, allow), *of_bodies])
    leaks = (f"{leak}: revoke the key, then record again" for leak in told)
    findings += [Finding("leak", path, what) for what in leaks]
    if damage:
        findings.append(Finding("damaged", path, damage))
    elif file.ending == UNUSED:
        what = f"{counted(len(calls), 'call')} that the item no longer makes"
        findings.append(Finding("unused", path, what, note=True))
    return findings


@cache  # several items have the same bodies
def _find_in_body(folder: Path, digest: str) -> list[Secret]:
    return find(Bodies(folder).read(digest))


def _named(secrets: Iterable[Secret], allow: Collection[str]) -> Iterator[str]:
    for secret in secrets:
        if not secret.is_allowed(allow):
            yield f"{secret.kind} {secret.encoding}".rstrip()


def _find_leaks(text: str, calls: Sequence[Call], allow: Collection[str]) -> list[str]:
    """Name the keys in a cassette's text, else those that only a call shows.

    In the text they are written with an escape, or in pieces as in a stream.
    """
    found = [secret for secret in find(text) if not secret.is_allowed(allow)]
    leaks = [f"{secret.kind} in line {secret.line}" for secret in found if not secret.encoding]
    plain = all(call.request.path == CHAT and isinstance(call.answer, dict) for call in calls)
    if not leaks and (found or not plain or "\\" in text or "''" in text):
        for number, call in enumerate(calls, start=1):
            leaks += [f"{one} in call {number}" for one in _named(call.secrets, allow)]
    if not leaks:
        lines = enumerate(text.split("\n") if found else [], start=1)
        leaks = [f"{one} in line {n}" for n, line in lines for one in _named(find(line), allow)]
    return list(dict.fromkeys(leaks))


def prunable_files(used: Used) -> list[Path]:
    """Return the files to remove: what no item or cassette uses, unused calls, and left-overs.

    Cassettes of agents and models that no item uses are not among them.
    """
    unused = [
        path
        for path, stem, ending in used.files
        if used.lacks(stem) or (ending == UNUSED and parse_model_folder(stem) in used.model_folders)
    ]
    return [*unused, *unnamed_files(used, removed=unused), *stray_files(used.folder)]


def unnamed_files(used: Used, removed: Collection[Path] = ()) -> list[Path]:
    """Return the pictures and bodies that no cassette or traffic refers to, but for `removed` ones.

    All files are searched as text, so that damaged ones count, and unused calls.
    """
    stored = [*(used.folder / FOLDER).glob("[!.]*.png"), *(used.folder / BODIES).glob("[!.]*.gz")]
    named = {
        digest
        for path, _, _ in (used.files if stored else ())
        if path not in removed and path.is_file()
        for digest in re.findall("[0-9a-f]{16,}", path.read_text("utf-8", errors="replace"))
    }
    return sorted(path for path in stored if path.stem not in named)


def remove_files(folder: Path, paths: Collection[Path]) -> None:
    """Remove files, and the folders below `folder` that become empty."""
    for path in paths:
        path.unlink(missing_ok=True)
        for parent in path.parents:
            if parent == folder or any(parent.iterdir()):
                break
            parent.rmdir()


@dataclass(slots=True)
class Stats:
    """The counts of the cassettes of an agent and a model, for one category of tasks.

    `size` is in bytes, `unused` a number of calls, and `pictures` and `bodies` have the sizes by
    digest.
    """

    items: int = 0
    purposes: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    size: int = 0
    unused: int = 0
    pictures: dict[str, int] = field(default_factory=dict)
    exchanges: int = 0
    bodies: dict[str, int] = field(default_factory=dict)


def count_calls(folder: Path, unused: Path) -> dict[tuple[str, str], Stats]:
    """Return the counts by agent and model (`reflective/claude`) and by category, sorted.

    `unused` is the folder of unused calls.

    Raises:
        CassetteError: a damaged file.
    """
    rows: dict[tuple[str, str], Stats] = {}
    for path, stem, ending in cassette_files(folder, unused):
        if ending == PARTIAL:
            continue
        has_app = (folder / f"{stem}{TRAFFIC}").exists()
        category = installed_tasks().get(parse_case(stem).partition("/")[0], "own pages")
        category = CATEGORY if has_app else category
        row = rows.setdefault((parse_model_folder(stem), category), Stats())
        if ending == TRAFFIC:
            traffic = Traffic.load(path)
            row.items += not (folder / f"{stem}.yaml").exists()
            row.exchanges += sum(len(trial.exchanges) for trial in traffic.trials)
            row.size += path.stat().st_size
            for digest in traffic.bodies:
                row.bodies[digest] = Bodies(folder).size(digest)
            continue
        calls = read_cassette(path)
        if ending == UNUSED:
            row.unused += len(calls)
            continue
        row.items += 1
        row.purposes.update(call.origin.purpose if call.origin else "unknown" for call in calls)
        row.usage += total_usage(calls)
        row.size += path.stat().st_size
        for digest in {digest for call in calls for digest in call.request.pictures}:
            row.pictures[digest] = len(read_picture(folder, digest))
    return dict(sorted(rows.items()))


def shown_calls(path: Path) -> Iterator[str]:
    """Yield a block of lines for each request and each completion of a cassette.

    A request is shown with the messages that are new since the one before, and with its tools if
    they changed; before it what an app's page asked for until then, a line each. Before all there
    is the pace of a program, a line for each move of the page's clock.

    Raises:
        CassetteError: a damaged file.
    """
    stem = path.name.removesuffix(TRAFFIC).removesuffix(".yaml")
    traffic = path.with_name(f"{stem}{TRAFFIC}")
    path = path.with_name(f"{stem}.yaml") if path == traffic else path
    exchanges = deque(_exchange_lines(traffic) if traffic.exists() else ())

    def shown_until(trial: float, step: float) -> Iterator[str]:
        lines = []
        while exchanges and exchanges[0][0] <= (trial, step):
            lines.append(exchanges.popleft()[1])
        if lines:
            yield sanitize_lines(mask("\n".join(["=== requests of the page ===", *lines])))

    before: Call | None = None  # the last call of a conversation
    calls, noted = load_cassette(path) if path.exists() or not exchanges else ([], None)
    if noted and (moves := noted.pace):
        yield "\n".join(["=== pace of the program ===", *map(str, moves)])
    for number, call in enumerate(calls, start=1):
        if call.origin:
            yield from shown_until(call.origin.trial, call.origin.step)
        request = call.request
        is_text = request.path == CHAT and not request.tools and len(request.messages) == 1
        origin = f": {call.origin}" if call.origin else ""
        lines = [
            f"=== call {number}{origin} ===",
            *_request_lines(request, None if is_text else before),
        ]
        yield sanitize_lines(mask("\n".join(lines)))
        said = mask(call.completion)
        tokens = f", {said.tokens[0]:,} + {said.tokens[1]:,} tokens" if said.tokens else ""
        stream = ", a stream" if isinstance(call.answer, str) else ""
        lines = [f"--- {sanitize_line(said.model or 'model')}{tokens}{stream} ---"]
        for name, text in said.sections:
            lines += section_lines(name, text)
        yield "\n".join(lines)
        if not is_text:
            before = call
    yield from shown_until(math.inf, 0)


def _exchange_lines(path: Path) -> Iterator[tuple[tuple[int, int], str]]:
    for number, trial in enumerate(Traffic.load(path).trials, start=1):
        for one in trial.exchanges:
            sent = f" {' '.join(one.shown.split())[:80]}" if one.shown else ""
            kind = next((v for k, v in one.headers if k.lower() == "content-type"), "")
            failed = "a network error" if one.failed else "no answer"
            got = f"{one.status} {kind}".rstrip() if one.status else failed
            yield (number, one.step), f"trial {number}, step {one.step}: {one.request}{sent}: {got}"


def _request_lines(request: Request, before: Call | None) -> Iterator[str]:
    messages = request.messages
    if request.path != CHAT:
        yield f"path: {request.path}"
    if request.normalized:
        yield f"normalized: {', '.join(request.normalized)}"
    if request.tools != (before.request.tools if before else {}):
        yield f"tools: {', '.join(request.tools) or 'none'}"
    if len(messages) == 1:
        yield request.text
        return
    new = tuple(messages)
    if before is not None:
        new = before.completion.unseen(messages, before.request.messages)
    if earlier := len(messages) - len(new):
        yield f"… {counted(earlier, 'earlier message')}"
    for message in new:
        yield f"[{message.role}]\n{message}"
