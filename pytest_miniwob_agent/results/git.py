"""Reading a file as it was at a commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pytest_miniwob_agent.core.errors import UsageError


def read_at_commit(ref: str, path: Path) -> str:
    """The text of a file as it was at a commit.

    Args:
        ref: a name of the commit, as git takes it.
        path: the file, relative to the working directory or absolute.

    Raises:
        UsageError: git, the repository, the commit or the file is missing; the message says what to
            do.
    """
    source = f"git:{ref}:{path}"

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                ["git", *arguments], capture_output=True, encoding="utf-8", errors="replace"
            )
        except FileNotFoundError:
            raise UsageError(f"{source} needs git, which is not installed") from None

    top = git("rev-parse", "--show-toplevel")
    if top.returncode:
        raise UsageError(
            f"{source}: {Path.cwd()} is not in a git repository ({top.stderr.strip()})"
        )
    commit = git("rev-parse", "--verify", "--quiet", ref + "^{commit}")
    if ref.startswith("-") or commit.returncode:  # no ref begins like an option
        branch = ref.removeprefix("origin/")
        refspec = ref if branch == ref else f"{branch}:refs/remotes/{ref}"
        raise UsageError(
            f"{source}: there is no commit {ref} here; fetch it first, for instance "
            f"git fetch origin {refspec} (a clone made by CI often holds one commit only)"
        )
    root = Path(top.stdout.removesuffix("\n")).resolve()
    try:
        inside = path.resolve().relative_to(root).as_posix()
    except ValueError:
        raise UsageError(f"{source}: the file is not inside the repository {root}") from None
    blob = git("cat-file", "blob", f"{commit.stdout.strip()}:{inside}")
    if blob.returncode:
        raise UsageError(
            f"{source}: {ref} has no file {inside}; write it with pytest "
            f"--miniwob-results={path} and commit it there"
        )
    return blob.stdout
