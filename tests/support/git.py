"""Git repositories of tests."""

import subprocess

WHO = ("-c", "user.name=n", "-c", "user.email=n@example.org")


def git(folder, *words):
    """Run git in this folder, as somebody; what it prints."""
    command = ["git", "-C", folder, *WHO, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit(folder, *names):
    """Commit these files, or all; a folder that is no repository yet becomes one, with `main`."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", *(names or ["."]))
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
