"""The folder of a project: the same in whatever form an option is written."""

import json
import re
import shlex
from pathlib import Path

import pytest
from support.projects import REFLECTIVE_PROMPTS, solve_menu, suite_source

from pytest_miniwob_agent.plugin.inner import collect


def test_cassettes_lie_in_the_working_directory_without_an_ini_file(project, monkeypatch):
    """Beside it there is the folder of prompts, whose parent is pytest's rootdir."""
    mine, prompts = project.mkdir("mine"), project.mkdir("prompts")
    prompts.joinpath("plan.txt").write_text((REFLECTIVE_PROMPTS / "plan.txt").read_text())
    for path in project.path.glob("*.py"):
        path.rename(mine / path.name)
    (project.path / "tox.ini").unlink()
    monkeypatch.chdir(mine)
    project.server.reply = solve_menu
    options = "--miniwob-prompts ../prompts --miniwob-model=m -n1 -k click-menu-2/1"
    result = project.record(*options.split())
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["miniwob cassettes: cassettes"])
    assert (mine / "cassettes/reflective/m/click-menu-2/1.yaml").exists()
    assert project.recorded() == {}


def test_suites_own_cassettes_but_are_collected_only_by_commands(project, monkeypatch):
    monkeypatch.chdir(project.path)
    project.mkdir("suites").joinpath("more.py").write_text(
        suite_source('"click-option", seeds=[7]')
    )
    project.write(ini="miniwob_suites = suites/*.py\n")
    mine = collect(["-k", "click-menu-2/1"]).used
    assert "reflective/m/click-option/7" in mine.stems
    assert set(mine.stems) - set(mine.deselected) == {"reflective/m/click-menu-2/1"}
    assert "reflective/m/click-option/7" not in collect(["test_x.py"]).used.stems
    project.write(ini="miniwob_suites = suites/*.py\n    none/*.py\n")
    assert "miniwob_suites: none/*.py matches no file" in collect([]).problem


INI = "miniwob_baseline = base.jsonl\nminiwob_results = new.jsonl\n"


@pytest.mark.parametrize(
    ("folder", "args"),
    [
        (".", "--rootdir=.."),
        pytest.param(".", "--rootdir=below", marks=pytest.mark.sweep),
        pytest.param("..", "{project} --rootdir=.", marks=pytest.mark.sweep),
        ("..", "{project} --rootdir={project}/below -c {project}/tox.ini"),
        ("..", "--config-file={project}/tox.ini --rootdir=. {project}"),
        ("below", "../test_x.py"),
    ],
)
def test_what_an_ini_file_says_counts_from_its_folder(record, monkeypatch, folder, args):
    project = record.path
    record.write(suite_source('"click-menu-2", seeds=[1, 2]'), ini=INI)
    record.mkdir("below")
    args = args.format(project=project.name).split()
    record.runpytest("--miniwob-baseline=").assert_outcomes(passed=2)
    expected = project.joinpath("new.jsonl").rename(project / "base.jsonl").read_text()

    monkeypatch.chdir(project / folder)
    result = record.runpytest(*args)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*gate items: passed*"])
    tests = [json.loads(text)["test"] for text in expected.splitlines()[1:]]
    written = (project / "new.jsonl").read_text().splitlines()[1:]
    assert [json.loads(line)["test"] for line in written] == tests
    assert set(tests) == {"test_x.py::test_solves"}

    # An item that is not recorded, by the command that is printed for it.
    result = record.runpytest(*args, "--miniwob-seeds=3")
    [command] = re.findall(
        "(?:Record it with: |\n)(pytest .*miniwob-record=.*)", result.stdout.str()
    )
    more = [f"--miniwob-base-url={record.server.url}", "--miniwob-baseline=", "-n0"]
    result = record.runpytest(*shlex.split(command)[1:], *more)
    result.assert_outcomes(passed=1)
    assert (project / "cassettes/reflective/m/click-menu-2/3.yaml").exists()


def test_a_command_names_the_ini_file_of_the_run_where_pytest_would_find_another(
    record,
):
    """A folder has its own for runs in it, which one from above does not use."""
    inner = record.mkdir("inner")
    record.test_file.rename(inner / "test_x.py")
    inner.joinpath("pytest.ini").write_text("[pytest]\n")
    result = record.runpytest("inner", ".", "-k", "click-menu-2", "--miniwob-seeds=3")
    [command] = re.findall("Record it with: pytest (.*)", result.stdout.str())
    assert "-c tox.ini" in command
    server = f"--miniwob-base-url={record.server.url}"
    record.runpytest(*shlex.split(command), server).assert_outcomes(passed=1)


def test_a_null_device_as_the_ini_file_is_no_folder(record):
    for options in ([], ["--rootdir=."]):
        few = ("-k", "click-menu-2", "--miniwob-model=m")
        record.replay("-c", "/dev/null", *few, *options, passed=2, deselected=10)
        assert not Path("/dev/cassettes").exists()
