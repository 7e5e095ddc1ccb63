"""The folder of cassettes as a whole: what is wrong with it, what it holds, what no item uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pytest_miniwob_agent.cassettes.file import (
    Call,
    load_cassette,
    messages_text,
    read_cassette,
    usage_of,
)
from pytest_miniwob_agent.core import secrets
from pytest_miniwob_agent.core.data import canonical_json
from pytest_miniwob_agent.core.errors import CassetteError, UsageError
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.core.usage import Usage
from pytest_miniwob_agent.tasks.catalogue import OTHER, installed_tasks


@dataclass(frozen=True, slots=True)
class Used:
    """The cassettes that the items of a pytest run use.

    Args:
        folder: the cassette folder.
        stems: cassettes of items whose agent and model are known, see `cassette.stem`.
        tails: task and sample of items whose agent or model a fixture of the user's decides.
    """

    folder: Path
    stems: Collection[str]
    tails: Collection[str] = ()

    def has(self, stem: str) -> bool:
        """Whether an item uses this cassette."""
        return stem in self.stems or _tail(stem) in self.tails

    @property
    def shelves(self) -> set[str]:
        """The folders of agent and model that the items use."""
        return {_head(stem) for stem in self.stems}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a file; a note is nothing that has to be mended."""

    kind: str
    path: Path
    what: str
    note: bool = False


def lint(used: Used) -> list[Finding]:
    """All that is wrong with a cassette folder, file by file."""
    findings = []
    contents: dict[str, Path] = {}
    for path in files(used.folder):
        stem = _stem(used.folder, path)
        if _is_partial(path):
            findings.append(
                Finding(
                    "broken off",
                    path,
                    "a recording that did not come to its end; recording the item goes on with it",
                    note=True,
                )
            )
        text = path.read_text(encoding="utf-8", errors="replace")
        for kind, position in secrets.find(text):
            line = text.count("\n", 0, position) + 1
            findings.append(
                Finding("leak", path, f"{kind} in line {line}: revoke the key, then record again")
            )
        try:
            calls, about = load_cassette(path)
        except CassetteError as error:
            findings.append(Finding("damaged", path, str(error)))
            continue
        if not _is_partial(path):
            if "schema" not in about:
                findings.append(
                    Finding(
                        "stale",
                        path,
                        "does not say where its calls come from; a run with "
                        "--miniwob-record=new_episodes, or defer, brings it up to date",
                    )
                )
            content = canonical_json([(call.key, call.text) for call in calls])
            if content in contents:
                findings.append(
                    Finding("duplicate", path, f"the same calls as {contents[content]}", note=True)
                )
            contents.setdefault(content, path)
        if _head(stem) in used.shelves and not used.has(stem):
            findings.append(Finding("orphan", path, "no item uses it"))
    findings += [
        Finding("stray", path, "left by a write that was killed") for path in strays(used.folder)
    ]
    return findings


def unseen(used: Used) -> dict[str, int]:
    """Cassettes by agent and model of which no item is in the run, so that nothing is known."""
    heads = Counter(_head(_stem(used.folder, path)) for path in files(used.folder))
    tails = {_head(stem) for stem in _stems(used.folder) if _tail(stem) in used.tails}
    return {head: count for head, count in heads.items() if head not in used.shelves | tails}


def prunable(used: Used) -> list[Path]:
    """The files that no item uses, in the folders of agents and models that items use."""
    return [
        *(
            path
            for path in files(used.folder)
            if _head(stem := _stem(used.folder, path)) in used.shelves and not used.has(stem)
        ),
        *strays(used.folder),
    ]


def remove(folder: Path, paths: Collection[Path]) -> None:
    """Remove files, and the folders below `folder` that become empty."""
    for path in paths:
        path.unlink(missing_ok=True)
        for parent in path.parents:
            if parent == folder or any(parent.iterdir()):
                break
            parent.rmdir()


def files(folder: Path) -> list[Path]:
    """The cassettes of a folder, those of broken-off recordings among them.

    A folder of that name may hold cassettes of the user's own tests too, at another depth.
    """
    return sorted(path for path in folder.glob("*/*/*/*.yaml") if not path.name.startswith("."))


def strays(folder: Path) -> list[Path]:
    """What a killed write left beside a cassette."""
    return sorted(folder.glob("*/*/*/.*.yaml.*"))


@dataclass(slots=True)
class Stats:
    """What the cassettes of an agent and a model hold for one category of tasks."""

    items: int = 0
    purposes: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    size: int = 0


def stats(folder: Path) -> dict[tuple[str, str], Stats]:
    """By agent and model (`reflective/claude`), and by category.

    Raises:
        CassetteError: a damaged file.
    """
    rows: dict[tuple[str, str], Stats] = {}
    for path in files(folder):
        if _is_partial(path):
            continue
        stem = _stem(folder, path)
        task = _tail(stem).partition("/")[0]
        row = rows.setdefault((_head(stem), installed_tasks().get(task, OTHER)), Stats())
        calls = read_cassette(path)
        row.items += 1
        row.purposes.update(call.origin.purpose if call.origin else "unknown" for call in calls)
        row.usage += usage_of(calls)
        row.size += path.stat().st_size
    return dict(sorted(rows.items()))


def find(folder: Path, case: str) -> Path:
    """The cassette of a case: an item's id, task and seed, or the file itself.

    Raises:
        UsageError: there is none, or more than one agent or model has it.
    """
    if (path := Path(case)).is_file():
        return path
    tail = "/".join(case.split("/")[-2:])
    stems = _stems(folder)
    found = [stem for stem in stems if stem == case or _tail(stem) == tail]
    if not found:
        raise UsageError(
            f"{folder} has no cassette of {case}"
            + nearest(tail, sorted({_tail(stem) for stem in stems}))
        )
    if len(found) > 1:
        raise UsageError(f"{case} is recorded more than once; name one of {', '.join(found)}")
    return folder / f"{found[0]}.yaml"


def conversation(path: Path) -> Iterator[str]:
    """The calls of a cassette to read, a text each.

    Raises:
        CassetteError: a damaged file.
    """
    for number, call in enumerate(read_cassette(path), start=1):
        where = f": {call.origin}" if call.origin else ""
        yield f"=== call {number}{where} ===\n{messages_text(call.body)}"
        yield f"--- {call.answer.get('model', 'model')}{_tokens(call)} ---\n{call.text}"


def _tokens(call: Call) -> str:
    return f", {call.tokens[0]:,} + {call.tokens[1]:,} tokens" if call.tokens else ""


def _is_partial(path: Path) -> bool:
    return path.name.endswith(".partial.yaml")


def _stem(folder: Path, path: Path) -> str:
    name = path.relative_to(folder).as_posix()
    return name.removesuffix(".yaml").removesuffix(".partial")


def _stems(folder: Path) -> list[str]:
    return [_stem(folder, path) for path in files(folder) if not _is_partial(path)]


def _head(stem: str) -> str:
    return "/".join(stem.split("/")[:-2])


def _tail(stem: str) -> str:
    return "/".join(stem.split("/")[-2:])
