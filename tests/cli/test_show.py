"""`miniwob-agent show`: which item is meant, where it is replayed, and what it exits with."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from support.projects import FAKE_PAGE, INI, TEST_FILE

from .shown_episode import EPISODE

STARTS_A_PROGRAM = """
import subprocess
import sys

import pytest


@pytest.fixture(autouse=True)
def starts_a_program():
    subprocess.run([sys.executable, "-c", "print('ready')"], stdout=sys.stdout, check=True)
"""

THEIRS = """
def pytest_addoption(parser):
    parser.addoption("--theirs")
    parser.addoption("--theirs-end")


def pytest_load_initial_conftests(early_config):
    if name := early_config.known_args_namespace.theirs:
        open(name, "w").close()


def pytest_sessionfinish(session):
    if name := session.config.option.theirs_end:
        open(name, "w").close()
"""
"""A plugin that writes files."""

STAGE = """
import pytest


def pytest_addoption(parser):
    parser.addoption("--stage")


def pytest_configure(config):
    if config.option.stage != "test":
        raise pytest.UsageError("there is no such stage")
"""


def files(folder):
    return {
        (path, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and not {"__pycache__", ".pytest_cache"} & set(path.parts)
    }


def test_a_reader_that_stops_reading_ends_the_command_without_a_traceback(recorded):
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-m", "pytest_miniwob_agent", "show", "click-menu-2/1"],
        cwd=recorded.path, stdout=writer, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(writer)
    assert (result.returncode, result.stderr) == (1, "")


def test_the_command_of_a_failure_shows_the_item(project, chat_server, call):
    chat_server.reply = lambda prompt: "click id=3" if ">Save" in prompt else "click id=1"
    result = project.record(
        "-k", "click-tab/1",
        "--miniwob-model=other model", '--miniwob-agent-params={"memory": "plain"}',
        "--miniwob-cassettes=my cassettes", "--miniwob-trials=2", "--miniwob-report=my report",
    )  # fmt: skip
    shown = dict(line.split(": ", 1) for line in result.outlines if ": " in line)
    assert shown["in the report"] == "my report/index.html#/item/1-screen-1-step/click-tab/1"
    program, *words = shlex.split(shown["all of it"])
    status, out, _ = call(*words)
    assert (program, status) == ("miniwob-agent", 0)
    assert out.endswith("\nnot solved, best reward -1: reflective-plain-memory with other model\n")
    assert out.count("=== trial") == 2


class TestItem:
    def test_an_item_can_be_named_by_its_ids(self, recorded, call):
        case = "n-screen-n-step/click-menu-2/1"
        module = recorded.test_file.name
        assert call("show", case) == (0, EPISODE, "")
        assert call("show", f"{module}::test_solves[{case}]") == (0, EPISODE, "")

    def test_the_agent_may_start_a_program_that_writes_to_the_output(self, recorded, call):
        conftest = recorded.path / "conftest.py"
        text = conftest.read_text() if conftest.exists() else ""
        conftest.write_text(text + STARTS_A_PROGRAM)
        assert call("show", "click-menu-2/1") == (0, EPISODE, "")

    @pytest.mark.parametrize(
        ("test", "case", "message"),
        [
            (TEST_FILE, "click-menu-2/77", "no item collected here is called click-menu-2/77 "),
            (TEST_FILE, "1", r"6 items are called 1; name one: .*click-menu-2/1\]"),
            (
                "",
                "click-menu-2/1",
                "no MiniWoB[+][+] item collected here; run this in the",
            ),
            ("import nothing", "1", "pytest can't run the item:\n(.|\n)*No module named 'nothing'"),
        ],
        ids=["none", "several", "no items", "pytest fails"],
    )
    def test_what_names_no_item_is_an_error(self, project, call, test, case, message):
        project.test_file.write_text(test)
        status, out, err = call("show", case)
        assert (status, out) == (2, "")
        assert re.match(f"miniwob-agent: {message}", err)


class TestReplay:
    def test_an_item_that_drifts_is_shown_up_to_the_drift(self, recorded, call):
        recorded.makeconftest(FAKE_PAGE.replace('"Save"', '"Store"'))
        status, out, _ = call("show", "click-menu-2/1")
        assert status == 1
        assert out.startswith(EPISODE.partition("action 0")[0] + "action 0: click id=1\nscreen:\n")
        assert '  <a id="2" pos="top-left">Store</a>\n' in out
        assert "\nit goes no further: reflective with m\n" in out
        assert out.count("=== trial") == 1

    def test_an_item_that_is_not_recorded_shows_how_to_record_it(self, project, call):
        status, out, _ = call("show", "click-menu-2/2")
        assert status == 1
        assert "goal: Open the menu and click Save, for click-menu-2 2\n" in out
        assert re.search(r"\nRecord it with: pytest .*--miniwob-record=new_episodes\n", out)

    def test_nothing_is_written(self, recorded, call, monkeypatch):
        """Neither by us nor by pytest, nor by a plugin that nobody knows, unless it is told to."""
        recorded.makepyfile(theirs=THEIRS)
        conftest = recorded.path / "conftest.py"
        conftest.write_text(conftest.read_text() + STAGE)
        writing = (
            "--miniwob-report=report --junitxml=junit.xml --basetemp=temporary -n 2 "
            "--theirs early.txt --stage=test"
        )
        outputs = "miniwob_results = results.jsonl\nminiwob_record = all\n"
        recorded.makeini(f"{INI}addopts = {writing}\n{outputs}")
        options = f"{os.environ['PYTEST_ADDOPTS']} -p theirs --theirs-end=end.txt"
        monkeypatch.setenv("PYTEST_ADDOPTS", options)
        monkeypatch.syspath_prepend(recorded.path)
        before = files(recorded.path)
        assert call("show", "click-menu-2/1")[:2] == (0, EPISODE)
        assert call("show", "click-menu-2/1", "--", "--help")[0] == 2
        assert call("cassettes", "lint")[0] == 0
        assert files(recorded.path) == before

        status, _, err = call("show", "click-menu-2/1", "--", "--stage=live", "--theirs=early.txt")
        assert status == 2
        assert err == (
            "miniwob-agent: pytest can't run the item:\n"
            "options of other plugins in addopts are ignored here, as are those that write "
            "(basetemp, numprocesses, theirs_end, xmlpath); name what the tests need after --\n"
            "ERROR: there is no such stage\n"
        )
        assert {path.name for path, _ in files(recorded.path) - before} == {"early.txt"}
