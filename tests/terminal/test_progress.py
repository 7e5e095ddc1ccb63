"""The line of figures while a run records, on a terminal."""

import re

import _pytest.capture
import pytest
from support.projects import solve_menu
from support.sweeps import swept

DRAWN = re.compile(r"\x1bD\x1bM\x1b7\x1b\[B\r([^\x1b\n]*)\x1b8")
"""The line as it is drawn below the cursor, which returns to its place."""

FIGURES = re.compile(r"(\d+)/12 items, (\d+) calls? recorded, ([\d,]+) tokens")
OPTIONS = ["--miniwob-prices=m 100 1000", "-pno:cacheprovider", "-pno:warnings", "--color=no"]


@pytest.fixture
def run(project, monkeypatch, capsys):
    project.server.reply = solve_menu
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(_pytest.capture.CaptureIO, "isatty", lambda _: True)

    def run(how, *args):
        capsys.readouterr()
        how(*args)
        return capsys.readouterr().out

    return run


def check_figures(output):
    """Check that the figures rose to the end, and were erased before anything else was shown."""
    lines = DRAWN.findall(output)
    found = [FIGURES.match(line).groups() for line in lines]
    counts = [int(items) for items, _, _ in found]
    assert counts == sorted(counts)
    assert {0, 6, 12} <= set(counts)
    assert found[-1] == ("12", "36", "504")
    assert any(re.search(r"tokens, \$0.\d+, about \d+ s left$", line) for line in lines)
    assert max(map(len, lines)) < 80
    # Only the last of pytest's percentages comes beside it, in the line above.
    assert re.findall(r"\x1b8(?!\x1b\[J| +\[100%\])", output) == []


def without_figures(output):
    text = DRAWN.sub("", output).replace("\x1b[J", "")
    text = re.sub(r"recording 12 items: .*?\n\n", "\n", text, flags=re.DOTALL)
    lines = re.sub(r"\d+\.\d+ ?s( \(\d+:\d+:\d+\))?", "0 s", text).replace("=", "").splitlines()
    return [line.strip() for line in lines if not line.startswith(("model calls", "tokens", "mon"))]


@pytest.mark.parametrize("verbose", [[], *swept(["-v"])], ids=["letters", "verbose"])
def test_a_recording_shows_its_figures_and_leaves_the_output_of_a_replay(project, run, verbose):
    recorded = run(project.record, *verbose, *OPTIONS)
    check_figures(recorded)
    replayed = run(project.runpytest, *verbose, *OPTIONS)
    assert "\x1b[J" not in replayed
    assert without_figures(recorded) == without_figures(replayed)


@pytest.mark.sweep
def test_workers_show_the_same_figures(project, run):
    output = run(project.record, *OPTIONS, "-n2")
    check_figures(output)
    assert output.count("recording 12 items: at most 6,000 model calls") == 1


@pytest.mark.parametrize(("term", "option"), [("xterm", "-q"), ("xterm", "-s"), ("dumb", "-v")])
def test_no_figures_where_they_are_not_wanted_or_can_not_be_redrawn(
    project, run, monkeypatch, term, option
):
    monkeypatch.setenv("TERM", term)
    output = run(project.record, "-k", "click-menu-2/1", option)
    assert "1 passed" in output
    assert not DRAWN.search(output)


def test_no_figures_where_there_is_no_terminal(project):
    project.server.reply = solve_menu
    result = project.record("-k", "click-menu-2/1")
    assert "\x1b" not in result.stdout.str()
