"""`miniwob-agent show`: which item is meant, where it is replayed, and what it exits with."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from projects import FAKE_PAGE
from shown_episode import EPISODE

FRAIL_PAGE = (
    FAKE_PAGE.replace("return FakeEnvironment(", "return Frail(")
    + """
    from pytest_miniwob_agent import BrowserLost

    class Frail(FakeEnvironment):
        left = 3  # actions until it is lost

        def step(self, action):
            self.left -= 1
            if not self.left:
                raise BrowserLost("it crashed")
            return super().step(action)
"""
)


def files(folder):
    """All files of a folder but what Python and pytest keep for themselves."""
    return {
        path
        for path in folder.rglob("*")
        if path.is_file() and not {"__pycache__", ".pytest_cache"} & set(path.parts)
    }


class TestInItsOwnProcess:
    def test_the_whole_episode_is_printed(self, recorded, call):
        assert call("show", "click-menu-2/1") == (0, EPISODE, "")

    def test_a_reader_that_stops_reading_ends_the_command_without_a_traceback(self, recorded):
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run(
            [sys.executable, "-m", "pytest_miniwob_agent", "show", "click-menu-2/1"],
            cwd=recorded.path, stdout=writer, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        os.close(writer)
        assert (result.returncode, result.stderr) == (1, "")

    def test_the_command_of_a_failure_shows_the_item(self, project, chat_server):
        """With the agent, cassettes and limits of the run, in the folder in which it ran."""
        chat_server.reply = lambda prompt: "click id=3" if ">Save" in prompt else "click id=1"
        options = (
            "-k", "click-tab/1", "--miniwob-record=once", f"--miniwob-base-url={chat_server.url}",
            "--miniwob-model=other model", '--miniwob-agent-params={"memory": "plain"}',
            "--miniwob-cassettes=my cassettes", "--miniwob-trials=2", "--miniwob-report=my report",
        )  # fmt: skip
        here, by_a_worker = (
            dict(line.split(": ", 1) for line in result.outlines if ": " in line)
            for result in (project.runpytest(*options), project.runpytest(*options, "-n1"))
        )
        assert here["in the report"] == "my report/index.html#/item/1-screen-1-step/click-tab/1"
        for what in ("all of it", "in the report"):
            assert here[what] == by_a_worker[what]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        shown = subprocess.run(
            here["all of it"], shell=True, cwd=project.path, env={**os.environ, "PATH": path},
            capture_output=True, text=True,
        )  # fmt: skip
        assert shown.returncode == 0, shown.stderr
        assert shown.stdout.endswith(
            "\nnot solved, best reward -1: reflective-plain-memory with other model\n"
        )
        assert shown.stdout.count("=== trial") == 2


class TestItem:
    @pytest.mark.parametrize("name", ["case id", "pytest's id"])
    def test_an_item_can_be_named_by_its_ids(self, recorded, call, name):
        case = "n-screen-n-step/click-menu-2/1"
        if name == "pytest's id":
            module = next(recorded.path.glob("test_*.py")).name
            case = f"{module}::test_solves[{case}]"
        assert call("show", case) == (0, EPISODE, "")

    @pytest.mark.parametrize(
        ("case", "message"),
        [
            ("click-menu-2/77", "no item here is called click-menu-2/77 "),
            ("1", r"\d+ items are called 1; name one: .*click-menu-2/1\]"),
        ],
        ids=["none", "several"],
    )
    def test_a_name_of_no_item_or_of_several_is_an_error(self, project, call, case, message):
        status, out, err = call("show", case)
        assert (status, out) == (2, "")
        assert re.match(f"miniwob-agent: {message}", err)

    def test_a_folder_without_items_is_an_error(self, project, call):
        for path in project.path.glob("test_*.py"):
            path.unlink()
        status, _, err = call("show", "click-menu-2/1")
        assert status == 2
        assert "no MiniWoB++ item here: run this where your tests are" in err

    def test_the_output_of_a_pytest_that_fails_is_shown(self, project, call):
        project.makepyfile(test_broken="import nothing_of_that_name")
        status, _, err = call("show", "click-menu-2/1")
        assert status == 2
        assert err.startswith("miniwob-agent: pytest can't run the item:\n")
        assert "nothing_of_that_name" in err


class TestReplay:
    def test_an_unsolved_item_has_a_result(self, project, chat_server, call):
        chat_server.reply = lambda prompt: "click id=3" if ">Save" in prompt else "click id=1"
        project.runpytest(
            "-k", "click-tab/1", "--miniwob-record=once", f"--miniwob-base-url={chat_server.url}"
        ).assert_outcomes(failed=1, deselected=11)
        status, out, _ = call("show", "click-tab/1")
        assert status == 0
        assert out.endswith("\nnot solved, best reward -1: reflective with m\n")

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

    def test_an_episode_that_begins_again_after_a_lost_browser_is_shown_again(self, recorded, call):
        recorded.makeconftest(FRAIL_PAGE)
        status, out, _ = call("show", "click-menu-2/1")
        assert status == 0
        first, again = out.split("\nThe browser was lost: the episode begins again in a new one.\n")
        assert "\naction 0: click id=1\n" in first
        assert f"item: n-screen-n-step/click-menu-2/1\n{again}" == EPISODE

    def test_nothing_is_written(self, recorded, call):
        before = {path: path.stat().st_mtime_ns for path in files(recorded.path)}
        with recorded.path.joinpath("tox.ini").open("a") as ini:
            ini.write("\n  --miniwob-report=report --junitxml=junit.xml -n 2\n")
            ini.write("miniwob_results = results.jsonl\nminiwob_record = all\n")
        assert call("show", "click-menu-2/1")[:2] == (0, EPISODE)
        after = {path: path.stat().st_mtime_ns for path in files(recorded.path)}
        changed = {path.name for path in after if after[path] != before.get(path)}
        assert changed == {"tox.ini"}
