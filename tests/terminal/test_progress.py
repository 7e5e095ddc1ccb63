"""The line of figures while a run records, on a terminal that the test plays."""

import re

import _pytest.capture
import pytest
from projects import solve_menu

WIDTH, HEIGHT = 80, 24
FIGURES = re.compile(r"(\d+)/12 items, (\d+) calls? recorded, ([\d,]+) tokens")


class Screen:
    """The contents of a terminal after some output: as much of VT100 as a run uses."""

    def __init__(self):
        self.lines = [[]]
        self.row = self.column = 0
        self.top = 0
        self.saved = (0, 0)
        self.seen = []

    def down(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])
        if self.row - self.top == HEIGHT:
            self.top += 1

    def put(self, character):
        if self.column == WIDTH:
            self.column = 0
            self.down()
        line = self.lines[self.row]
        line += " " * (self.column + 1 - len(line))
        line[self.column] = character
        self.column += 1

    def feed(self, text):
        for code, character in re.findall(
            r"(\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x1b]*\x1b\\|[DM78]))|([^\x1b])", text, re.S
        ):
            if character == "\n":
                self.down()
            elif character == "\r":
                self.column = 0
            elif character:
                self.put(character)
            elif code == "\x1bD":
                self.down()
            elif code == "\x1bM":
                assert self.row > self.top
                self.row -= 1
            elif code == "\x1b7":
                self.saved = (self.row - self.top, self.column)
            elif code == "\x1b8":
                self.seen.append(self.text())
                self.row, self.column = self.top + self.saved[0], self.saved[1]
            elif code == "\x1b[B":
                assert self.row - self.top < HEIGHT - 1, "there is no line below"
                self.row += 1
            elif code == "\x1b[J":
                del self.lines[self.row][self.column :]
                del self.lines[self.row + 1 :]
            else:
                assert code[-1] in "m\\", f"{code!r} is not supported here"

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.lines)


@pytest.fixture
def run(project, chat_server, monkeypatch, capsys):
    """Run pytest in process, with an output that claims to be a terminal; return its `Screen`."""
    chat_server.reply = solve_menu
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setenv("LINES", str(HEIGHT))
    monkeypatch.setattr(_pytest.capture.CaptureIO, "isatty", lambda _: True)

    def run(*args):
        capsys.readouterr()
        project.runpytest_inprocess(*args)
        screen = Screen()
        screen.feed(capsys.readouterr().out.replace("\n", "\r\n"))  # as a terminal's driver does
        return screen

    return run


@pytest.fixture
def recording(chat_server):
    """The options of a recording."""
    return ["--miniwob-record=all", f"--miniwob-base-url={chat_server.url}"]


OPTIONS = ["--miniwob-prices=m 100 1000", "-p", "no:cacheprovider"]


def check_figures(screen):
    """Check that the figures were always in one line, rose to the end, and are gone."""
    found = [FIGURES.search(text) for text in screen.seen]
    counts = [int(match[1]) for match in found]
    assert counts == sorted(counts)
    assert {0, 6, 12} <= set(counts)
    assert found[-1].groups() == ("12", "36", "504")
    assert any(re.search(r"tokens, \$0.\d+, about \d+ s left$", text) for text in screen.seen)
    assert all(len(FIGURES.findall(text)) == 1 for text in screen.seen)
    assert not FIGURES.search(screen.text())


@pytest.mark.parametrize(
    "verbose", [[], pytest.param(["-v"], marks=pytest.mark.sweep)], ids=["letters", "verbose"]
)
def test_a_recording_shows_its_figures_and_leaves_the_output_of_a_replay(run, recording, verbose):
    screen = run(*recording, *verbose, *OPTIONS)
    check_figures(screen)
    replayed = run(*verbose, *OPTIONS)
    assert not replayed.seen
    assert without_figures(screen.text()) == without_figures(replayed.text())


def without_figures(text):
    """The lines without what differs between a recording and its replay."""
    text = re.sub(r"recording 12 items: .*?\n\n", "\n", text, flags=re.DOTALL)
    lines = re.sub(r"\d+\.\d+ ?s", "0 s", text).replace("=", "").splitlines()
    return [line.strip() for line in lines if not line.startswith(("model calls", "tokens", "mon"))]


@pytest.mark.sweep
def test_workers_show_the_same_figures(run, recording):
    screen = run(*recording, *OPTIONS, "-n2")
    check_figures(screen)
    assert screen.text().count("recording 12 items: at most 6,000 model calls") == 1


@pytest.mark.parametrize(("term", "option"), [("xterm", "-q"), ("xterm", "-s"), ("dumb", "-v")])
def test_no_figures_where_they_are_not_wanted_or_can_not_be_redrawn(
    run, recording, monkeypatch, term, option
):
    monkeypatch.setenv("TERM", term)
    screen = run(*recording, "-k", "click-menu-2/1", option)
    assert "1 passed" in screen.text()
    assert not screen.seen


def test_no_figures_where_there_is_no_terminal(project, chat_server, recording):
    chat_server.reply = solve_menu
    result = project.runpytest(*recording, "-k", "click-menu-2/1")
    assert "\x1b" not in result.stdout.str()
    result.stdout.no_fnmatch_line("*calls recorded*")
