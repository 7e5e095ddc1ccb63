"""Commits: the one that is checked out, and files as they were at others."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from pytest_miniwob_agent.core.errors import UsageError

_ELSEWHERE = {"GIT_DIR", "GIT_WORK_TREE"}
"""Variables that name a repository to git, as in its hooks, which need not be that of the file."""


def read_at_commit(ref: str, path: Path) -> str:
    """The text of a file as it was at a commit of the repository that the file is in.

    Args:
        ref: a name of the commit, as git takes it.
        path: the file, relative to the working directory or absolute. It need not exist now.

    Raises:
        UsageError: git, the repository, the commit or the file is missing; the message says what to
            do.
    """
    source = f"git:{ref}:{path}"
    file = path.resolve()
    folder = next(parent for parent in file.parents if parent.is_dir())
    try:
        top = _git(folder, "rev-parse", "--show-toplevel")
    except FileNotFoundError:
        raise UsageError(f"{source} needs git, which is not installed") from None
    if top.returncode:
        raise UsageError(f"{source}: {folder} is not in a git repository ({top.stderr.strip()})")
    root = Path(top.stdout.removesuffix("\n")).resolve()
    commit = _commit(root, ref)
    if commit is None:
        raise UsageError(f"{source}: there is no commit {ref} in {root}{_remedy(root, ref)}")
    inside = file.relative_to(root).as_posix()
    blob = _git(root, "cat-file", "blob", f"{commit}:{inside}")
    if blob.returncode:
        raise UsageError(
            f"{source}: {ref} has no file {inside}; write it with pytest "
            f"--miniwob-results={path} and commit it there"
        )
    return blob.stdout


def checked_out(folder: Path) -> str:
    """The id of the commit that is checked out around a folder; empty if git knows of none."""
    try:
        return _commit(folder, "HEAD") or ""
    except OSError:  # there is no git
        return ""


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name not in _ELSEWHERE},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )


def _commit(root: Path, ref: str) -> str | None:
    """The id of a commit, or None if the repository does not have it."""
    if ref.startswith("-"):  # no ref begins like an option
        return None
    found = _git(root, "rev-parse", "--verify", "--quiet", ref + "^{commit}")
    return None if found.returncode else found.stdout.strip()


def _remedy(root: Path, ref: str) -> str:
    """The end of a message about a missing commit: how to fetch it, if it can be fetched."""
    remotes = _git(root, "remote").stdout.split()
    if not remotes or ref.startswith("-") or "@{" in ref:  # @{1} and the like are never fetched
        return ""
    name = re.split("[~^]", ref)[0]
    known = _commit(root, name) is not None
    shallow = _git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"
    if known and not shallow:
        return f": {name} does not go back that far"
    fetch = ["git", *([] if Path.cwd().is_relative_to(root) else ["-C", str(root)]), "fetch"]
    if shallow and (name != ref or _ABBREVIATED.fullmatch(name)):
        fetch.append("--unshallow")  # the commit may be older than what was fetched
    if not known:
        fetch += _what_to_fetch(name, remotes)
    return f"; fetch it first: {' '.join(fetch)} (a clone made by CI often holds one commit only)"


_ABBREVIATED = re.compile("[0-9a-f]{7,39}")
_COMPLETE = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


def _what_to_fetch(name: str, remotes: list[str]) -> list[str]:
    """The remote and what to fetch of it, so that the repository has `name` afterwards."""
    remote, _, branch = name.partition("/")
    if branch and remote in remotes:
        return [remote, f"{branch}:refs/remotes/{name}"]
    remote = "origin" if "origin" in remotes else remotes[0]
    if _ABBREVIATED.fullmatch(name):
        return [remote]
    return [remote, name if _COMPLETE.fullmatch(name) else f"{name}:{name}"]
