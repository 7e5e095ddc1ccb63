"""Results files as they were at a commit."""

import subprocess

import pytest
from made_results import run_of

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.results.file import read_results

pytestmark = pytest.mark.integration


def git(folder, *arguments):
    subprocess.run(
        ["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments],
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository in whose folder sub a results file was committed twice and then deleted."""
    git(tmp_path, "init", "-q", "-b", "main")
    path = tmp_path / "sub" / "r.jsonl"
    for letter in "+-":
        run_of(letter).write(path)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", "results")
    path.unlink()
    monkeypatch.chdir(path.parent)
    return tmp_path


def test_a_file_is_read_as_it_was_at_a_commit(repository):
    assert read_results("git:main:r.jsonl").results[0].outcome == "unsolved"
    assert read_results("git:main~1:r.jsonl").results[0].outcome == "solved"
    assert read_results("git:main~1", beside="r.jsonl").results[0].outcome == "solved"
    assert read_results("git:main", beside=repository / "sub" / "r.jsonl").source == (
        f"git:main:{repository / 'sub' / 'r.jsonl'}"
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("git:main", "does not name a file; write git:REF:PATH"),
        ("git::r.jsonl", "does not name a file"),
        ("git:no-such:r.jsonl", "there is no commit no-such here; fetch it first.*fetch origin"),
        ("git:origin/x:r.jsonl", "for instance git fetch origin x:refs/remotes/origin/x "),
        ("git:--help:r.jsonl", "there is no commit --help here"),
        ("git:main:none.jsonl", r"main has no file sub/none\.jsonl; .*commit it there"),
        ("git:main:../../r.jsonl", "the file is not inside the repository"),
    ],
)
def test_a_wrong_commit_or_path_is_a_usage_error(repository, source, message):
    with pytest.raises(UsageError, match=message):
        read_results(source)


def test_a_folder_without_a_repository_is_a_usage_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageError, match="is not in a git repository"):
        read_results("git:main:r.jsonl")


def test_a_machine_without_git_is_a_usage_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs git, which is not installed"):
        read_results("git:main:r.jsonl")
