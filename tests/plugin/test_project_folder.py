"""The folder of a project: the same in whatever form an option is written."""

import pytest
from projects import REFLECTIVE_PROMPTS, recorded_files, solve_menu


@pytest.fixture
def beside(project, monkeypatch):
    """Run a project in `mine/`, beside which there is a folder of prompts; tox.ini may be there."""
    mine, prompts = project.mkdir("mine"), project.mkdir("prompts")
    prompts.joinpath("plan.txt").write_text((REFLECTIVE_PROMPTS / "plan.txt").read_text())
    for path in [*project.path.glob("*.py"), project.path / "tox.ini"]:
        path.rename(mine / path.name)
    monkeypatch.chdir(mine)
    project.mine = mine
    return project


@pytest.mark.parametrize(
    "args",
    [["--miniwob-prompts=../prompts"], ["--miniwob-prompts", "../prompts", "-n1"]],
    ids=["=", "blank, -n1"],
)
def test_cassettes_lie_in_the_working_directory_without_an_ini_file(beside, chat_server, args):
    (beside.mine / "tox.ini").unlink()
    chat_server.reply = solve_menu
    result = beside.runpytest(
        *args, "--miniwob-model=m", "-k", "click-menu-2/1", "--miniwob-record=once",
        f"--miniwob-base-url={chat_server.url}",
    )  # fmt: skip
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["miniwob cassettes: cassettes, of the working directory, as there is no ini file"]
    )
    assert (beside.mine / "cassettes/reflective/m/click-menu-2/1.yaml").exists()
    assert not recorded_files(beside)


def test_an_ini_file_that_pytest_overlooks_is_an_error_that_names_the_form(beside):
    result = beside.runpytest("--miniwob-prompts", "../prompts")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*pytest did not read tox.ini, *: write --miniwob-prompts=../prompts"]
    )
    result = beside.runpytest("--miniwob-prompts=../prompts", "--collect-only")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["miniwob cassettes: cassettes, by tox.ini"])


def test_a_value_that_changes_nothing_is_no_error(beside):
    (beside.mine / "prompts").mkdir()
    result = beside.runpytest("--miniwob-prompts", "prompts", "--collect-only")
    assert result.ret == pytest.ExitCode.OK
