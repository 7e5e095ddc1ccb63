"""The folder of a project: the same in whatever form an option is written."""

from textwrap import dedent

from projects import REFLECTIVE_PROMPTS, recorded_files, solve_menu

from pytest_miniwob_agent.plugin.inner import collect


def test_cassettes_lie_in_the_working_directory_without_an_ini_file(
    project, chat_server, monkeypatch
):
    """Beside it there is the folder of prompts, whose parent is pytest's rootdir."""
    mine, prompts = project.mkdir("mine"), project.mkdir("prompts")
    prompts.joinpath("plan.txt").write_text((REFLECTIVE_PROMPTS / "plan.txt").read_text())
    for path in project.path.glob("*.py"):
        path.rename(mine / path.name)
    (project.path / "tox.ini").unlink()
    monkeypatch.chdir(mine)
    chat_server.reply = solve_menu
    options = (
        "--miniwob-prompts ../prompts --miniwob-model=m --miniwob-record=once -n1 "
        f"-k click-menu-2/1 --miniwob-base-url={chat_server.url}"
    )
    result = project.runpytest(*options.split())
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["miniwob cassettes: cassettes"])
    assert (mine / "cassettes/reflective/m/click-menu-2/1.yaml").exists()
    assert not recorded_files(project)


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
