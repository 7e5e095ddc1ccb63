"""The folder of a project: the same in whatever form an option is written."""

from textwrap import dedent

import pytest
from projects import REFLECTIVE_PROMPTS, recorded_files, solve_menu

from pytest_miniwob_agent.plugin.inner import collect


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


def test_cassettes_lie_in_the_working_directory_without_an_ini_file(beside, chat_server):
    (beside.mine / "tox.ini").unlink()
    chat_server.reply = solve_menu
    result = beside.runpytest(
        "--miniwob-prompts", "../prompts", "-n1", "--miniwob-model=m",
        "-k", "click-menu-2/1", "--miniwob-record=once",
        f"--miniwob-base-url={chat_server.url}",
    )  # fmt: skip
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["miniwob cassettes: cassettes"])
    assert (beside.mine / "cassettes/reflective/m/click-menu-2/1.yaml").exists()
    assert not recorded_files(beside)


SUITE = """
    import pytest

    @pytest.mark.miniwob("click-option", seeds=[7])
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved
"""


def test_suites_own_cassettes_but_are_collected_only_by_commands(project, monkeypatch):
    monkeypatch.chdir(project.path)
    project.mkdir("suites").joinpath("more.py").write_text(dedent(SUITE))
    with project.path.joinpath("tox.ini").open("a") as file:
        file.write("\nminiwob_suites = suites/*.py\n")
    mine = collect(["-k", "click-menu-2/1"]).used
    assert "reflective/m/click-option/7" in mine.stems
    assert set(mine.stems) - set(mine.deselected) == {"reflective/m/click-menu-2/1"}
    [test] = project.path.glob("test_*.py")
    assert "reflective/m/click-option/7" not in collect([str(test)]).used.stems
    with project.path.joinpath("tox.ini").open("a") as file:
        file.write("\n    none/*.py\n")
    assert "miniwob_suites: none/*.py matches no file" in collect([]).problem
