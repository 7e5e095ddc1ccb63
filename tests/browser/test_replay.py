"""Replays of recorded items: equal events wherever they run, also after a lost browser."""

import json
import os
import subprocess
import sys

import pytest
from support.projects import ROOT, SUITE_RUNS
from support.selenium_grid import free_port
from support.sweeps import swept

# One worker makes the replays that the tests compare; one of the tests needs the Grid.
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("grid")]

SUITE = 69
"""Number of items in the shipped suite."""

FEW = "(pie or autocomplete or collapsible-2) and 1000 or menu-2 and 1001"
"""Selects items with animations, delays and lists, and one that is not solved."""


def replay(folder, *args, **env):
    """Replay the shipped suite in a process of its own; see `support.plugins.events`."""
    events, slept, sending = (folder / name for name in ("events.json", "slept", "sending"))
    slept.write_text("")
    own = {"PYTEST_ADDOPTS": SUITE_RUNS, "PYTHONPATH": str(ROOT / "tests")}
    files = {"EVENTS": str(events), "SLEPT": str(slept), "SENDING": str(sending)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "tests/test_suite.py",
        "-p",
        "support.plugins.events",
        *args,
    ]
    everything = os.environ | own | files | env
    result = subprocess.run(command, cwd=ROOT, env=everything, capture_output=True, text=True)
    assert result.returncode == pytest.ExitCode.OK, result.stdout
    return json.loads(events.read_text()), slept.read_text(), sending.read_text()


@pytest.fixture(scope="module", params=["few", *swept("all")])
def selected(request):
    return ["-k", FEW] if request.param == "few" else []


@pytest.fixture(scope="module")
def plain(selected, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    return replay(folder, *selected)


def test_every_item_replays_from_its_cassette_alone_and_does_not_sleep(plain, selected):
    outcomes, slept, sending = plain
    assert len(outcomes) == (4 if selected else SUITE)
    for outcome, carried in outcomes.values():
        assert outcome in ("passed", "skipped")  # skipped: how a report says xfailed
        assert carried["recorded"]["calls"] == carried["left"]["calls"] == 0
        assert carried["replayed"]["calls"] == carried["episode"]["calls"]
    assert (slept, sending) == ("", "")


FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <cachedir>{folder}</cachedir>
  <match target="pattern">
    <edit name="family" mode="assign" binding="strong"><string>monospace</string></edit>
    <edit name="weight" mode="assign" binding="strong"><const>bold</const></edit>
  </match>
</fontconfig>
"""


@pytest.mark.sweep
def test_a_window_fonts_language_and_time_zone_make_no_difference(
    plain, selected, tmp_path, display
):
    """Without -n: two windows on one display would take each other's focus."""
    display.move_mouse(60, 250)  # over the task, as a mouse may well be
    fonts = tmp_path / "fonts.conf"
    fonts.write_text(FONTS.format(folder=tmp_path))
    elsewhere = {"TZ": "Asia/Tokyo", "LANG": "de_DE.UTF-8", "FONTCONFIG_FILE": str(fonts)}
    args = ["--miniwob-headed", *selected]
    assert replay(tmp_path, *args, DISPLAY=display.name, **elsewhere) == plain


@pytest.mark.parametrize("selected", ["few"], indirect=True)
def test_a_grid_workers_and_their_order_make_no_difference(plain, selected, tmp_path, grid):
    """Each worker serves its pages at a port after the one that is given."""
    serve = f"--miniwob-serve=127.0.0.1:{free_port(following=1)}"
    outcomes, *_ = replay(
        tmp_path, "-n2", "-prandomly", f"--miniwob-remote={grid.with_user}", serve, *selected
    )
    assert outcomes == plain[0]
    assert grid.sessions() == []


def test_all_43_tasks_have_a_solved_episode():
    lines = (ROOT / "cassettes" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines[1:]]
    assert len(items) == SUITE
    assert len({item["task"] for item in items if item["outcome"] == "solved"}) == 43


CLUMSY = """
    import os
    import signal
    from pathlib import Path
    import pytest
    from pytest_miniwob_agent import Press

    def kill(driver, victim):
        pid = driver.service.process.pid if victim == "driver" else (
            driver.capabilities["goog:processID"]
        )
        if "chrom" not in os.readlink(f"/proc/{pid}/exe"):  # a script, as Debian's headless shell
            pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)

    class Clumsy:
        '''Calls the model, kills its browser or the driver, and calls it again.'''

        name = "clumsy"

        def __init__(self, browser, kills):
            self.browser, self.kills = browser, kills

        def solve(self, env, llm, note):
            env.reset()
            llm.complete("first", "plan")
            if self.kills:
                kill(self.browser.driver, self.kills.pop())
            env.step(Press("TAB"))
            llm.complete("second", "plan")

    KILLS = {1: ["browser"], 2: ["browser", "browser"], 3: ["driver"]}

    @pytest.fixture
    def miniwob_agent(miniwob_browser, miniwob_case):
        kills = KILLS if "KILL" in os.environ else {}
        return Clumsy(miniwob_browser, kills.get(miniwob_case.seed, []))

    @pytest.mark.miniwob("click-button", seeds="1-3")
    def test_runs(miniwob_episode):
        assert (miniwob_episode.steps, miniwob_episode.calls) == (1, 2)
"""


@pytest.mark.sweep
@pytest.mark.own_browser
def test_an_item_whose_browser_dies_is_run_again_once_and_loses_no_completion(project, monkeypatch):
    monkeypatch.setenv("KILL", "1")
    project.write(CLUMSY, "")
    result = project.record("-v")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*/2[]] ERROR*", "*/3[]] PASSED*"])  # it gets a new browser
    result.stdout.fnmatch_lines(["the browser failed while doing press TAB: *"])
    assert len(project.server.requests) == 5  # none twice, and one of the item that is an error
    result.stdout.fnmatch_lines(["model calls: 0 replayed, 5 recorded"])
    monkeypatch.delenv("KILL")
    result = project.replay(passed=2, errors=1)  # the error is not recorded
    result.stdout.fnmatch_lines(["model calls: 4 replayed, 0 recorded"])
