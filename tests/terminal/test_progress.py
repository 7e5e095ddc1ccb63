"""The line of figures while a run records, on a terminal that the test plays."""

import os
import pty
import re
import struct
import subprocess
import sys
import termios
from fcntl import ioctl

import pytest
from projects import solve_menu

WIDTH, HEIGHT = 80, 24
FIGURES = re.compile(r"(\d+)/12 items, (\d+) calls? recorded, ([\d,]+) tokens")


class Screen:
    """What a terminal shows of what was written to it: as much of VT100 as a run uses."""

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
                assert code[-1] in "m\\", f"{code!r} is not played here"

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.lines)


@pytest.fixture
def on_terminal(project, monkeypatch):
    """Run pytest with a terminal for its output; what came of it is played on a `Screen`."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*args):
        ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *args], cwd=project.path, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        data = b""
        try:
            while piece := os.read(ours, 65536):
                data += piece
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        process.wait()
        screen = Screen()
        screen.feed(data.decode())
        return screen

    return run


@pytest.mark.parametrize("how", [["-n0"], ["-n0", "-v"], ["-n2"]])
def test_a_recording_shows_its_figures_and_leaves_nothing_behind(on_terminal, chat_server, how):
    chat_server.reply = solve_menu
    args = [*how, "--miniwob-prices=m 100 1000", "-p", "no:cacheprovider"]
    screen = on_terminal("--miniwob-record=all", f"--miniwob-base-url={chat_server.url}", *args)
    told = [FIGURES.search(text) for text in screen.seen]
    counts = [int(found[1]) for found in told]
    assert counts == sorted(counts)
    assert {0, 6, 12} <= set(counts)
    assert told[-1].groups() == ("12", "36", "504")
    assert any(re.search(r"tokens, \$0.\d+, about \d+ s left$", text) for text in screen.seen)
    assert all(len(FIGURES.findall(text)) == 1 for text in screen.seen)
    assert not FIGURES.search(screen.text())

    replayed = on_terminal(*args)
    assert not replayed.seen
    if "-n0" in how:  # workers end their items in any order
        assert steady(screen.text()) == steady(replayed.text())


def steady(text):
    """The text without what differs between a recording and its replay."""
    lines = re.sub(r"\d+\.\d+ ?s", "0 s", text).replace("=", "").splitlines()
    return [line.strip() for line in lines if not line.startswith(("model calls", "tokens", "mon"))]


@pytest.mark.parametrize("args", [["-q"], ["-s"]])
def test_no_figures_where_others_write(on_terminal, chat_server, args):
    chat_server.reply = solve_menu
    screen = on_terminal(
        "--miniwob-record=all", f"--miniwob-base-url={chat_server.url}", "-k", "click-menu-2", *args
    )
    assert "2 passed" in screen.text()
    assert not screen.seen


def test_no_figures_where_there_is_no_terminal(project, chat_server):
    chat_server.reply = solve_menu
    result = project.runpytest_subprocess(
        "--miniwob-record=all", f"--miniwob-base-url={chat_server.url}", "-k", "click-menu-2"
    )
    result.assert_outcomes(passed=2, deselected=10)
    assert "\x1b" not in result.stdout.str()
    result.stdout.no_fnmatch_line("*calls recorded*")
