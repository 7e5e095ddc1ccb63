"""Results files as they were at a commit."""

import re
import shlex
import subprocess

import pytest
from support.git import commit, git
from support.made_results import run_of

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.results.file import as_committed, read_results

pytestmark = pytest.mark.integration


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository in whose folder sub a results file was committed twice and then deleted."""
    path = tmp_path / "sub" / "r.jsonl"
    for letter in "+-":
        run_of(letter).write(path)
        commit(tmp_path)
    path.unlink()
    monkeypatch.chdir(path.parent)
    return tmp_path


def test_a_file_is_compared_as_it_was_at_a_commit(repository, capsys):
    run_of("+").write(repository / "sub" / "r.jsonl")
    assert main(["compare", "git:main", "r.jsonl"]) == 0
    assert "better (1)" in capsys.readouterr().out


def test_a_file_is_read_as_it_was_at_a_commit(repository):
    assert read_results("git:main:r.jsonl").results[0].outcome == "unsolved"
    assert read_results("git:main~1:r.jsonl").results[0].outcome == "solved"
    assert read_results("git:main~1", beside="r.jsonl").results[0].outcome == "solved"
    path = repository / "sub" / "r.jsonl"
    assert read_results("git:main", beside=path).source == f"git:main:{path}"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("git:main", "does not name a file; write git:REF:PATH"),
        ("git::r.jsonl", "does not name a file"),
        ("git:no-such:r.jsonl", "there is no commit no-such in [^;]*$"),  # there is no remote
        ("git:--help:r.jsonl", "there is no commit --help in [^;]*$"),
        ("git:main:none.jsonl", r"main has no file sub/none\.jsonl; .*commit it there"),
        ("git:main:../../r.jsonl", "is not in a git repository"),
        ("git:main~1..main:r.jsonl", r"there is no commit main~1\.\.main in"),
        ("git:main~1...main:r.jsonl", r"there is no commit main~1\.\.\.main in"),
        ("git:^main:r.jsonl", r"there is no commit \^main in"),
        ("git:main^{tree}:r.jsonl", r"there is no commit main\^\{tree\} in"),
        ("git:main:../sub", "sub can't be read at main"),
    ],
)
def test_a_wrong_commit_or_path_is_a_usage_error(repository, source, message):
    with pytest.raises(UsageError, match=message):
        read_results(source)


def test_links_are_those_of_the_commit_and_not_of_today(repository, monkeypatch):
    """A link that a change puts in the place of its baseline leads to nothing that main has."""
    monkeypatch.chdir(repository)
    new = repository / "new"
    new.mkdir()
    run_of("+").write(new / "r.jsonl")
    (repository / "sub").rmdir()
    (repository / "sub").symlink_to("new")
    for source in ("git:main:sub/r.jsonl", f"git:main:{repository}/sub/r.jsonl"):
        assert read_results(source).results[0].outcome == "unsolved"
    (repository / "sub").unlink()
    (repository / "alias").symlink_to("new")
    commit(repository)
    assert read_results(f"git:main:{repository}/alias/r.jsonl").results[0].outcome == "solved"
    (new / "out.jsonl").symlink_to("/r.jsonl")
    commit(repository)
    with pytest.raises(UsageError, match=r"new/out\.jsonl can't be read at main \(symlink"):
        read_results(f"git:main:{new}/out.jsonl")


def test_a_damaged_repository_is_a_usage_error(repository):
    path = repository / "sub" / "r.jsonl"
    run_of("+").write(path)  # what is here does not stand for what can't be read
    [blob] = re.findall("blob (\\w+)", git(repository, "ls-tree", "main", "sub/"))
    (repository / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(UsageError, match=r"sub/r\.jsonl can't be read at main"):
        read_results("git:main:r.jsonl")
    assert as_committed(path.with_name("new.jsonl")) is None
    (repository / ".git/HEAD").write_text("garbage")
    with pytest.raises(UsageError, match="git can't read the repository of"):
        as_committed(path)


def test_the_repository_is_that_of_the_file(repository, tmp_path_factory, monkeypatch):
    path = repository / "sub" / "r.jsonl"
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    assert read_results(f"git:main:{path}").results[0].outcome == "unsolved"
    git(elsewhere, "init", "-q")
    monkeypatch.setenv("GIT_DIR", ".git")  # as in a hook of that repository
    assert read_results("git:main~1", beside=path).results[0].outcome == "solved"
    path.parent.rmdir()
    assert read_results("git:main", beside=path).results[0].outcome == "unsolved"


@pytest.fixture
def shallow(repository, tmp_path_factory, monkeypatch):
    """The last commit of a clone over the file protocol, as CI makes it; the working directory."""
    git(repository, "branch", "old", "main~1")
    git(repository, "tag", "v1", "main~1")
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")  # as hosts have it
    folder = tmp_path_factory.mktemp("clones") / "clone"
    git(repository, "clone", "-q", "--depth=1", f"file://{repository}", folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("ref", ["HEAD^", "old", "v1", "COMPLETE"])
def test_what_a_shallow_clone_lacks_is_there_after_the_command_of_the_message(
    repository, shallow, ref
):
    commit = (repository / ".git/refs/heads/old").read_text().strip()
    ref = commit if ref == "COMPLETE" else ref
    source = f"git:{ref}:{shallow / 'sub/r.jsonl'}"
    with pytest.raises(UsageError, match="fetch it first: git ") as error:
        read_results(source)
    command = re.search(r"fetch it first: (.*) \(a clone", str(error.value))[1]
    subprocess.run(shlex.split(command), check=True, capture_output=True)
    assert read_results(source).results[0].outcome == "solved"
    with pytest.raises(UsageError, match=r"fetch it first: git -C .* fetch --tags "):
        read_results(f"git:main~9:{shallow / 'sub/r.jsonl'}")


def test_a_machine_without_git_is_a_usage_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs git, which is not installed"):
        read_results("git:main:r.jsonl")
