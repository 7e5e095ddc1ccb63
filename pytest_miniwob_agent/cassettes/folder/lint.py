"""`miniwob-agent cassettes lint`: the problems of a cassette folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_miniwob_agent.cassettes.folder.stems import (
    PARTIAL,
    UNUSED,
    CassetteFile,
    Used,
    cassette_files,
    model_folder_of,
    stray_files,
)
from pytest_miniwob_agent.cassettes.format.call import Call
from pytest_miniwob_agent.cassettes.format.file import read_cassette
from pytest_miniwob_agent.cassettes.format.validation import line_of_call
from pytest_miniwob_agent.cassettes.tape.pictures import read_picture, unused_pictures
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.errors import CassetteError
from pytest_miniwob_agent.core.text import counted


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a file, or a note: something to know that needs no fix.

    `kind` is one of `leak`, `damaged`, `orphan`, `stray`, and for notes `broken off` and `unused`;
    `what` explains it.
    """

    kind: str
    path: Path
    what: str
    note: bool = False


def lint_folder(used: Used) -> list[Finding]:
    """Return the problems and notes of a cassette folder, file by file."""
    findings: list[Finding] = []
    for file in cassette_files(used.folder):
        findings += _check_file(used, file)
    for path in unused_pictures(used.folder):
        findings.append(Finding("orphan", path, "no cassette refers to it"))
    for path in stray_files(used.folder):
        findings.append(Finding("stray", path, "left by a write that was killed"))
    return findings


def _check_file(used: Used, file: CassetteFile) -> Iterator[Finding]:
    path = file.path
    if file.ending == PARTIAL:
        what = "an unfinished recording; recording the item continues it"
        yield Finding("broken off", path, what, note=True)
    damage = ""
    calls: Sequence[Call] = ()
    try:
        calls = read_cassette(path)
        for digest in {digest for call in calls for digest in call.request.pictures}:
            read_picture(used.folder, digest)
    except CassetteError as error:
        damage = str(error)
    for line, kind in _find_leaks(path.read_text(encoding="utf-8", errors="replace"), calls):
        yield Finding("leak", path, f"{kind} in line {line}: revoke the key, then record again")
    if damage:
        yield Finding("damaged", path, damage)
        return
    if file.ending == UNUSED:
        what = (
            f"{counted(len(calls), 'call')} that the item does not make now; recording takes "
            f"{'it' if len(calls) == 1 else 'them'} before it pays"
        )
        yield Finding("unused", path, what, note=True)
    if used.lacks(file.stem):
        yield Finding("orphan", path, "no item uses it")


def _find_leaks(text: str, calls: Sequence[Call]) -> list[tuple[int, str]]:
    """Return line and kind of every secret in a cassette.

    Its calls are searched, and its text, which has comments and, if it is damaged, no calls.
    """
    found = [(1, secret) for secret in secrets.find(text)]
    for index, call in enumerate(calls):
        if hidden := secrets.find((call.body, call.answer)):
            start = line_of_call(text, index)  # takes long, as it reads the text again
            found += [(start, secret) for secret in hidden]
    leaks = set()
    for start, secret in found:
        words = secret.text.partition("\n")[0]
        lines = enumerate(text.split("\n")[start - 1 :], start)
        # A secret that is written with an escape is reported at the start of its call.
        leaks.add((next((number for number, line in lines if words in line), start), secret.kind))
    return sorted(leaks)


def unchecked_folders(used: Used) -> dict[str, int]:
    """Count the cassettes in each model folder whose agent and model no item of the run uses.

    It is unknown which of them other runs use.
    """
    counts = Counter(model_folder_of(file.stem) for file in cassette_files(used.folder))
    return {name: count for name, count in counts.items() if name not in used.model_folders}
