"""The results file: one line of JSON per item, with nothing in it that changes between equal runs.

The first line holds the format's version, the number of lines that follow, the reasons if the run
was a partial one, and the `Shard` if it was one of several. Every other line is a `Result`, sorted
by case id::

    {"items":1,"miniwob_results":2,"partial":[]}
    {"agent":"reflective","case":"other/click-pie/7","category":"other", ...}
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_miniwob_agent.core.data import Count, canonical_json, from_data, to_data
from pytest_miniwob_agent.core.errors import NoResultsYet, UsageError
from pytest_miniwob_agent.core.files import same_file, write_output
from pytest_miniwob_agent.core.outcome import Result
from pytest_miniwob_agent.core.secrets import Data
from pytest_miniwob_agent.core.text import counted, listed

VERSION = 2
"""The format of the file; a reader refuses any other."""


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of one item, in the order of their repeats."""

    results: tuple[Result, ...]

    @property
    def conclusive(self) -> int:
        return sum(result.conclusive for result in self.results)

    @property
    def solved(self) -> int:
        return sum(result.solved for result in self.results)

    @property
    def share(self) -> Fraction:
        """The share of solved samples among the conclusive ones; there must be one."""
        return Fraction(self.solved, self.conclusive)

    def count_as_solved(self, at_least: int | None = None) -> bool:
        """True if `at_least` samples are solved; by default, over half of the conclusive ones."""
        return self.solved >= at_least if at_least else 2 * self.solved > self.conclusive


MOST_SHARDS = 10_000
"""The most parts of one suite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A part of a suite that ran by itself, as its results and its report describe it.

    Number `number`, from 1, `of` so many shards. It was to run `selected` of the suite's `items`;
    the cases `deselected` were left out, for example by `-k`. `suite` holds what is equal in all
    shards, by name: the commit, a digest of the items, and the options that decide what an item
    does.
    """

    number: int
    of: int
    selected: Count
    items: Count
    deselected: tuple[str, ...]
    suite: Mapping[str, str]

    def __str__(self) -> str:
        return f"shard {self.number} of {self.of}"


def read_shard(head: Mapping[str, Any], source: str) -> Shard | None:
    """Return the shard in the head of a results file or report, None for a whole run."""
    if "shard" not in head:
        return None
    try:
        shard = from_data(Shard, head["shard"], "shard")
        if not 1 <= shard.number <= shard.of <= MOST_SHARDS:
            raise ValueError(f"it can't be {shard}")
    except ValueError as error:
        raise UsageError(f"{source} does not describe a shard ({error}); run it again") from None
    return shard


@dataclass(frozen=True)
class Results:
    """The results of one run, sorted by case id.

    `partial` holds the reasons for which the run left out items; empty if it ran all of them.
    `source` names the file or commit they were read from, for messages. `shard` is the part of the
    suite that was run, None if that was the whole.
    """

    results: tuple[Result, ...]
    partial: tuple[str, ...] = ()
    source: str = field(default="the results", compare=False)
    shard: Shard | None = None

    def __post_init__(self) -> None:
        ordered = sorted(self.results, key=lambda result: result.case)
        object.__setattr__(self, "results", tuple(ordered))

    @cached_property
    def items(self) -> dict[str, Samples]:
        """The samples of every item, by `<category>/<task>/<seed>`."""
        found: dict[str, list[Result]] = {}
        for result in sorted(self.results, key=lambda result: (result.item, result.repeat)):
            found.setdefault(result.item, []).append(result)
        return {item: Samples(tuple(samples)) for item, samples in found.items()}

    def only(self, items: Container[str]) -> Results:
        """The results of these items."""
        return replace(self, results=tuple(one for one in self.results if one.item in items))

    @property
    def of_live_apps(self) -> bool:
        """True if apps answered as they are now, with the recorded answers of the model."""
        return any(result.app for result in self.results)

    @cached_property
    def by_setup(self) -> dict[str, Results]:
        """The results of each agent and model, as one run of them alone would have written them.

        Those of tests that name neither are at `""`.
        """
        found: dict[str, list[Result]] = {}
        for result in self.results:
            found.setdefault(result.setup, []).append(replace(result, setup=""))
        return {
            setup: replace(self, results=tuple(own), source=f"{setup} of {self.source}")
            if setup
            else replace(self, results=tuple(own))
            for setup, own in found.items()
        }

    def text(self) -> str:
        """The content of the file, the same for equal results."""
        head = {"miniwob_results": VERSION, "partial": self.partial, "items": len(self.results)}
        if self.shard is not None:
            head["shard"] = to_data(self.shard)
        lines = [head, *(result.to_data() for result in self.results)]
        return "".join(canonical_json(line) + "\n" for line in lines)

    def write(self, path: Path) -> None:
        try:
            write_output(path, self.text())
        except OSError as error:
            raise UsageError(f"{path} can't be written: {error}") from None


def one_per_case(results: Iterable[Result]) -> tuple[Result, ...]:
    """Return one result per case; several tests may run the same case, if with the same result.

    Raises:
        UsageError: a case has different results.
    """
    found: dict[str, Result] = {}
    for result in sorted(results, key=lambda result: result.test):  # in whatever order they ran
        known = found.setdefault(result.case, result)
        if replace(known, test=result.test) != result:
            raise UsageError(
                f"{result.case} was run more than once, with different results or limits; run one "
                "agent and one model at a time, and each item in one test"
            )
    return tuple(found.values())


def read_results(
    source: str | Path, beside: str | Path | None = None, written: Path | None = None
) -> Results:
    """Read results from a path, from `git:REF:PATH`, or from `git:REF`: `beside` at that commit.

    Raises:
        NoResultsYet: the commit does not have a file that is here or `written` by this run.
        UsageError: there is no such file or commit, or it does not hold results; the message names
            the line and says what to do.
    """
    name = str(source)
    if not name.startswith("git:"):
        try:
            return parse_results(Path(name).read_text(encoding="utf-8"), name)
        except FileNotFoundError:
            raise UsageError(
                f"there is no results file {name}; write one with pytest --miniwob-results={name}"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{name} can't be read: {error}") from None
    ref, _, path = name.removeprefix("git:").partition(":")
    path = path or str(beside or "")
    if not ref or not path or path.startswith("git:"):
        raise UsageError(
            f"{name} does not name a file; write git:REF:PATH (git:main:results.jsonl)"
        )
    return parse_results(read_at_commit(ref, Path(path), written), f"git:{ref}:{path}")


def parse_results(text: str, source: str) -> Results:
    """Read the text of a results file; `source` names it in messages."""
    lines = text.removesuffix("\n").split("\n")
    head = _parsed(_head, lines[0], f"{source}:1")
    results = tuple(
        _parsed(_result, line, f"{source}:{number}")
        for number, line in enumerate(lines[1:], start=2)
    )
    if len(results) != (items := head.get("items")):
        raise UsageError(
            f"{source} holds {len(results)} items, but its first line says {items}: it was "
            "truncated or edited; write it again, or take it from its commit"
        )
    found: dict[str, int] = {}
    for number, result in enumerate(results, start=2):
        if (first := found.setdefault(result.case, number)) != number:
            raise UsageError(
                f"{source}:{number} has {result.case} again, which line {first} has: a run writes "
                "an item once; write the file again, or take it from its commit"
            )
    return Results(results, head["partial"], source, read_shard(head, f"{source}:1"))


def _parsed(parse: Callable[[dict[str, Any]], Data], line: str, where: str) -> Data:
    if line.startswith(("<<<<<<<", "=======", ">>>>>>>")):
        raise UsageError(
            f"{where} is a conflict marker of a merge; take one side whole (git checkout --ours "
            "or --theirs), or write the file again"
        )
    try:
        return parse(from_data(dict[str, Any], json.loads(line)))
    except (ValueError, UsageError, RecursionError) as error:
        raise UsageError(
            f"{where} is not as it was written ({error}); write the file again with pytest "
            "--miniwob-results=FILE"
        ) from None


def _head(data: dict[str, Any]) -> dict[str, Any]:
    if (version := data.get("miniwob_results")) != VERSION:
        raise ValueError(f"its `miniwob_results` is {version!r}, not the version {VERSION}")
    return data | {"partial": from_data(tuple[str, ...], data.get("partial"), "partial")}


def _result(data: dict[str, Any]) -> Result:
    case = data.pop("case", None)
    result = from_data(Result, data)
    if case != result.case:
        raise ValueError(f"`case` can't be {json.dumps(case)}")
    return result


SPLIT_ALIKE = (
    "all shards must split the same items in the same way: with pytest-split use "
    "--splitting-algorithm=least_duration and the same durations, or the same order of the items; "
    "then run all shards again"
)


def merge_results(parts: Sequence[Results]) -> Results:
    """Return the results that one run of all items would have written.

    Raises:
        UsageError: the parts are not the shards of one suite, all of them, each once.
    """
    shards = check_shards([(part.source, part.shard) for part in parts])
    results = [result for part in parts for result in part.results]
    runs = Counter((result.case, result.test) for result in results)
    if doubled := [case for (case, _), count in runs.items() if count > 1]:
        raise UsageError(
            f"{counted(len(doubled), 'item')} went to several shards ({listed(doubled)}): "
            f"{SPLIT_ALIKE}"
        )
    merged = one_per_case(results)
    deselected = _deselected(shards)
    not_run = shards[0].items - deselected - len(merged)
    reasons = [(deselected, "deselected"), (not_run, "did not run")]
    return Results(merged, tuple(f"{counted(n, 'item')} {what}" for n, what in reasons if n))


def check_shards(sources: Sequence[tuple[str, Shard | None]]) -> list[Shard]:
    """Return the shards of these files or folders, which must be all of one suite, each once.

    Raises:
        UsageError: they are not; the message names the shard and says what to do.
    """
    known: dict[int, tuple[str, Shard]] = {}
    for source, shard in sources:
        if shard is None:
            raise UsageError(
                f"{source} does not come from a shard: its run had neither --splits and --group of "
                "pytest-split nor --miniwob-shard. Merge what shards wrote; a whole run needs no "
                "merge"
            )
        _, first = next(iter(known.values()), (source, shard))
        if difference := _difference(shard, first):
            raise UsageError(
                f"{source} ({shard}) does not belong to the suite of {first}: it has "
                f"{difference}; run those that differ again, like the others"
            )
        if shard.number in known:
            raise UsageError(
                f"{shard} is given twice, {known[shard.number][0]} and {source}: leave one out"
            )
        known[shard.number] = source, shard
    shards = [shard for _, shard in known.values()]
    of = shards[0].of
    if missing := [number for number in range(1, of + 1) if number not in known]:
        raise UsageError(
            f"missing of {counted(of, 'shard')}: {listed(map(str, missing), most=20)}; run what is "
            f"missing (--splits={of} --group={missing[0]} of pytest-split, or "
            f"--miniwob-shard={missing[0]}/{of}) and merge all shards"
        )
    selected = sum(shard.selected for shard in shards)
    if (lost := shards[0].items - _deselected(shards) - selected) > 0:
        raise UsageError(f"{counted(lost, 'item')} went to no shard: {SPLIT_ALIKE}")
    return shards


def _difference(shard: Shard, other: Shard) -> str:
    ours, others = (
        {"shards": str(one.of), "items": str(one.items), **one.suite} for one in (shard, other)
    )
    return ", ".join(
        f"{name} {ours.get(name) or 'none'} (not {others.get(name) or 'none'})"
        for name in {**ours, **others}
        if ours.get(name) != others.get(name)
    )


def _deselected(shards: Sequence[Shard]) -> int:
    return len({case for shard in shards for case in shard.deselected})


def read_at_commit(ref: str, path: Path, written: Path | None = None) -> str:
    """Return the text of a file, which need not exist now, as it was at a commit of its repository.

    `ref` is a name that git takes for one commit, or a branch of the remote origin, `written` a
    file that this run writes. Links are followed as they were at that commit.

    Raises:
        NoResultsYet: the commit has no such file, which is here or which a run is to write.
        UsageError: git, the repository, the commit or the file is missing, or can't be read.
    """
    source = f"git:{ref}:{path}"
    try:
        top = _git(_nearest_folder(path), "rev-parse", "--show-toplevel")
    except FileNotFoundError:
        raise UsageError(f"{source} needs git, which is not installed") from None
    if top.returncode:
        raise UsageError(
            f"{source}: {_nearest_folder(path)} is not in a git repository ({top.stderr.strip()})"
        )
    root = Path(top.stdout.removesuffix("\n"))
    commit = _find_commit(root, ref) or _find_commit(root, f"origin/{ref}")
    if not commit:
        hint = ""
        if "origin" in _git(root, "remote").stdout.split():
            shallow = "true" in _git(root, "rev-parse", "--is-shallow-repository").stdout
            depth = "--unshallow " if shallow else ""
            hint = (
                f"; fetch it first: git -C {root} fetch {depth}--tags origin "
                "'+refs/heads/*:refs/remotes/origin/*' (a clone made by CI often holds one commit)"
            )
        raise UsageError(f"{source}: there is no commit {ref} in {root}{hint}")
    inside = _path_in(root, path)
    found = _git(root, "cat-file", "--batch", "--follow-symlinks", given=f"{commit}:{inside}\n")
    kind, _, text = found.stdout.partition("\n")
    if re.fullmatch(r"\w+ blob \d+", kind):
        return text.removesuffix("\n")
    listed = _git(root, "--literal-pathspecs", "ls-tree", "--name-only", commit, "--", inside)
    if listed.returncode or listed.stdout or not kind.endswith(" missing"):
        reason = (listed.stderr or found.stderr or kind).strip()
        raise UsageError(f"{source}: {inside} can't be read at {ref} ({reason})")
    if (written and same_file(path, written)) or path.exists():
        raise NoResultsYet(f"{ref} has no {inside} yet")
    raise UsageError(
        f"{source}: {ref} has no file {inside}; write it with pytest "
        f"--miniwob-results={path} and commit it there"
    )


def as_committed(path: Path) -> str | None:
    """Return the text of a file at the commit that is checked out; None if it is not there.

    Raises:
        UsageError: git can't read its repository.
    """
    if not checked_out(_nearest_folder(path)):
        return None
    try:
        return read_at_commit("HEAD", path, written=path)
    except NoResultsYet:
        return None


def checked_out(folder: Path) -> str:
    """Return the id of the commit that is checked out around a folder, empty if there is none.

    Raises:
        UsageError: git can't read the repository.
    """
    try:
        status = _git(folder, "rev-parse", "--git-dir")
    except OSError:  # there is no git
        return ""
    if not status.returncode:
        return _find_commit(folder, "HEAD")
    if any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        raise UsageError(f"git can't read the repository of {folder}: {status.stderr.strip()}")
    return ""


def _nearest_folder(path: Path) -> Path:
    return next(parent for parent in Path(os.path.abspath(path)).parents if parent.is_dir())


def _path_in(root: Path, path: Path) -> str:
    # Not resolved: today's links may lead elsewhere than those of the commit.
    named = Path(os.path.abspath(path))
    for file in (named, named.parent.resolve() / named.name):  # a link may lead into it
        for parent in reversed(file.parents):
            if parent.is_dir() and parent.samefile(root):
                return file.relative_to(parent).as_posix()
    raise UsageError(f"{path} is not in {root}")


def _git(folder: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    # In git's hooks two variables name a repository, which need not be that of the file.
    others = ("GIT_DIR", "GIT_WORK_TREE")
    environ = {name: value for name, value in os.environ.items() if name not in others}
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=environ,
        input=given,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )


def _find_commit(root: Path, ref: str) -> str:
    if ref.startswith("-"):  # no ref begins like an option
        return ""
    found = _git(root, "rev-parse", "--verify", "--quiet", ref + "^{commit}")
    # A range has two lines, and ^HEAD a sign.
    one = found.returncode == 0 and re.fullmatch(r"[0-9a-f]+\n", found.stdout)
    return found.stdout.strip() if one else ""
