"""Commits: the one that is checked out, and files as they were at others."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from pytest_miniwob_agent.core.errors import NoResultsYet, UsageError


def read_at_commit(ref: str, path: Path, written: Path | None = None) -> str:
    """Return the text of a file, which need not exist now, as it was at a commit of its repository.

    `ref` is a name that git takes, or a branch of the remote origin, `written` a file that this run
    writes.

    Raises:
        NoResultsYet: the commit has no such file, which is here or which a run is to write.
        UsageError: git, the repository, the commit or the file is missing.
    """
    source = f"git:{ref}:{path}"
    file, written = path.resolve(), written and written.resolve()
    folder = next(parent for parent in file.parents if parent.is_dir())
    try:
        top = _git(folder, "rev-parse", "--show-toplevel")
    except FileNotFoundError:
        raise UsageError(f"{source} needs git, which is not installed") from None
    if top.returncode:
        raise UsageError(f"{source}: {folder} is not in a git repository ({top.stderr.strip()})")
    root = Path(top.stdout.removesuffix("\n")).resolve()
    commit = _commit(root, ref) or _commit(root, f"origin/{ref}")
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
    inside = file.relative_to(root).as_posix()
    blob = _git(root, "cat-file", "blob", f"{commit}:{inside}")
    if blob.returncode and (file == written or file.exists()):
        raise NoResultsYet(f"{ref} has no {inside} yet")
    if blob.returncode:
        raise UsageError(
            f"{source}: {ref} has no file {inside}; write it with pytest "
            f"--miniwob-results={path} and commit it there"
        )
    return blob.stdout


def checked_out(folder: Path) -> str:
    """Return the id of the commit that is checked out around a folder, empty if there is none."""
    try:
        return _commit(folder, "HEAD")
    except OSError:  # there is no git
        return ""


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # In git's hooks two variables name a repository, which need not be that of the file.
    others = ("GIT_DIR", "GIT_WORK_TREE")
    environ = {name: value for name, value in os.environ.items() if name not in others}
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=environ,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )


def _commit(root: Path, ref: str) -> str:
    """Return the id of a commit, empty if the repository does not have it."""
    if ref.startswith("-"):  # no ref begins like an option
        return ""
    return _git(root, "rev-parse", "--verify", "--quiet", ref + "^{commit}").stdout.strip()
