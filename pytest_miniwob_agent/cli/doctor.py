"""`miniwob-agent doctor`: checks the requirements of a run, and shows how to fix problems."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import textwrap
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from pytest_miniwob_agent.cli.arguments import Commands, add_browser, add_pytest_args
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import BrowserError, UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.secrets import KEY_VARIABLE, KEY_VARIABLES, redact
from pytest_miniwob_agent.core.text import counted, listed, sanitize_line, sanitize_lines
from pytest_miniwob_agent.tasks.catalogue import OTHER

if TYPE_CHECKING:
    from pytest_miniwob_agent.browser.grid_address import Grid
    from pytest_miniwob_agent.browser.process import Browser
    from pytest_miniwob_agent.plugin.inner_collection import Collected

PACKAGE = "pytest-miniwob-agent"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check; something is wrong if there is a `fix` and it is not a `note`."""

    what: str
    found: str
    fix: str = ""
    note: bool = False
    """True for what only some runs need."""

    def __str__(self) -> str:
        return "\n".join(self.lines(10**6))

    def lines(self, width: int) -> list[str]:
        """The lines that show it, of at most `width` columns where words are not longer."""
        word = "note" if self.note else "WRONG" if self.fix else "ok"
        parts = [(f"{word:<6}{self.what:<22}", self.found)]
        if self.fix:
            parts.append((f"{'':<28}-> ", self.fix))
        return [
            line
            for head, text in parts
            for line in textwrap.wrap(
                redact(text),
                width,
                initial_indent=head,
                subsequent_indent=" " * len(head),
                break_long_words=False,
                break_on_hyphens=False,
            )
        ]


def add(commands: Commands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "doctor",
        help="check that everything a run needs is installed and works",
        description="Check versions, Chromium and its driver, that a page loads, can be read and "
        "clicked and has the right font, the cassettes of the items that pytest collects here, and "
        "the key. If the run's browsers are on a Selenium Grid (--miniwob-remote), that is checked "
        "in Chromium's place. Shows how to fix problems, and exits with 1 if there are any. Makes "
        "no network requests but to that Grid, and does not print the key.",
    )
    add_pytest_args(parser)
    add_browser(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print a line for each check; 1 if something must be fixed."""
    problems = 0
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10**6
    for finding in examine(options.browser, options.pytest_args):
        print("\n".join(finding.lines(width)), flush=True)
        problems += bool(finding.fix and not finding.note)
    print(f"{problems or 'nothing'} to fix")
    return 1 if problems else 0


def examine(browser: str | None, pytest_args: Sequence[str]) -> Iterator[Finding]:
    """Make all checks in order, except for those that need something that is broken."""
    yield from check_versions()
    yield from check_grid_or_browser(browser, pytest_args)
    yield from check_project(pytest_args)


def check_versions() -> Iterator[Finding]:
    """Check Python and the packages against the requirements of the installed package."""
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    about = metadata.metadata(PACKAGE)
    python = platform.python_version()
    needed = SpecifierSet(about["Requires-Python"])
    yield Finding("Python", python, "" if python in needed else f"use a Python {needed}")
    yield Finding(PACKAGE, about["Version"])
    for line in metadata.requires(PACKAGE) or ():
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            found = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            found = "not installed"
        installed = found != "not installed"
        if installed and requirement.specifier.contains(found, prereleases=True):
            yield Finding(requirement.name, found)
        else:
            found += f", {requirement.specifier} is required"
            yield Finding(requirement.name, found, f"pip install '{requirement}'")


def check_grid_or_browser(path: str | None, pytest_args: Sequence[str]) -> Iterator[Finding]:
    """Check the Grid that a run would use; the browser that is here for a path, or no Grid."""
    from pytest_miniwob_agent.plugin.inner_grid import used_grid

    grid = None
    if path is None:
        with contextlib.suppress(UsageError):  # the check of the cassettes reports it
            grid = used_grid(pytest_args)
    if grid is None:
        yield from check_browser(path)
    else:
        yield from check_grid(grid)


def check_grid(grid: Grid) -> Iterator[Finding]:
    """Check a Grid: that it answers, has places for Chrome, and that pages work there."""
    from pytest_miniwob_agent.browser.grid import GridLauncher
    from pytest_miniwob_agent.browser.process import Browser

    launcher = GridLauncher(grid.for_worker("doctor"))
    try:
        status = launcher.status()
    except BrowserError as error:
        found, _, hint = str(error).rpartition(". ")
        yield Finding("Grid", sanitize_line(found), sanitize_line(hint))
        return
    found = (
        f"Selenium {' and '.join(status.versions) or 'without nodes'} at {grid.url}, "
        f"{counted(status.slots, 'slot')} for Chrome, {status.free} free"
    )
    fix = "" if status.slots else "start a node with Chrome, see docs/grid.md"
    yield Finding("Grid", sanitize_line(found), fix)
    if status.slots and not status.free:
        yield Finding("page", "not tried, as the Grid is full", "try again later", note=True)
    elif status.slots:
        yield from check_page(Browser(launcher=launcher), "see docs/grid.md")


def check_browser(path: str | None) -> Iterator[Finding]:
    """Check browser and driver: their versions, and that they work together."""
    from pytest_miniwob_agent.browser.installed import (
        DRIVER_HINT,
        SHELL_HINT,
        find_browser,
        find_driver,
        is_shell,
    )
    from pytest_miniwob_agent.browser.process import Browser

    try:
        chromium = find_browser(path)
    except BrowserError as error:
        found, _, hint = str(error).partition(": ")
        yield Finding("Chromium", found, hint or "give the path of an existing one")
        return
    version = _version(chromium)
    named = "--browser" if path else "MINIWOB_BROWSER" if os.environ.get("MINIWOB_BROWSER") else ""
    shell = is_shell(chromium)
    if named:
        why = f"as {named} says"
    elif shell:
        why = f"the headless shell, as it is faster; for windows {_whole_browser()}"
    else:
        why = "as there is no headless shell"
    yield Finding("Chromium", f"{version} ({chromium}), {why}")
    if not named and not shell:
        yield Finding(
            "headless shell", "not installed; replays would be faster", SHELL_HINT, note=True
        )
    try:
        driver = find_driver(chromium)
    except BrowserError as error:
        found, _, hint = str(error).partition(": ")
        yield Finding("chromedriver", found, hint)
        return
    of_driver = _version(driver)
    same = of_driver.partition(".")[0] == version.partition(".")[0]
    fix = "" if same else f"install the one of Chromium's version, {version}: {DRIVER_HINT}"
    yield Finding("chromedriver", f"{of_driver} ({driver})", fix)
    yield from check_page(Browser(path))


def _whole_browser() -> str:
    """The browser that opens windows, as a text."""
    from pytest_miniwob_agent.browser.installed import find_browser

    try:
        return find_browser(headed=True)
    except BrowserError:
        return "none, and --miniwob-headed needs one"


def check_page(
    browser: Browser, hint: str = "see the lines above; both must be of one version"
) -> Iterator[Finding]:
    """Check that a page loads and is read, its font, and that clicks land; close the browser.

    `hint` is the way out where the browser does not start, or the page does not load.
    """
    from pytest_miniwob_agent.browser.environment import FONT, MiniwobEnvironment
    from pytest_miniwob_agent.browser.switches import BOUNDARY_EVENTS

    try:
        page = MiniwobEnvironment(browser, Case("click-button", OTHER, 0))
        observation = page.reset()
        fonts = page.fonts()
        clicks = browser.clicks_what_reinserts_itself()
    except BrowserError as error:
        yield Finding("page", sanitize_line(error), hint)
        return
    finally:
        browser.close()
    read = bool(observation.goal and observation.elements)
    yield Finding(
        "page",
        f"click-button loads, {counted(len(observation.elements), 'element')} read",
        "" if read else "reinstall the pages: pip install --force-reinstall miniwob",
    )
    yield Finding(
        "font",
        f"{' and '.join(map(sanitize_line, fonts)) or 'none'} for all text",
        ""
        if fonts == [FONT]
        else f"it should be {FONT} alone: pip install --force-reinstall font-roboto",
    )
    yield Finding(
        "clicks",
        "land" if clicks else "miss elements that insert themselves again, as those of click-pie",
        ""
        if clicks
        else f"this browser can't switch {BOUNDARY_EVENTS} off: choose one that can, such as "
        "Chromium 150 to 156, with --miniwob-browser",
        note=not clicks,
    )


def _version(program: str) -> str:
    """The version that a program prints."""
    try:
        printed = subprocess.run(
            [program, "--version"], capture_output=True, text=True, errors="replace", timeout=30
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        printed = str(error)
    match = re.search(r"\d+(\.\d+)+", printed)
    return match[0] if match else f"of unknown version: {sanitize_line(printed)}"


def check_project(pytest_args: Sequence[str]) -> Iterator[Finding]:
    """Check the recorded calls of the items that pytest collects here, and the key."""
    from pytest_miniwob_agent.plugin.inner_collection import collect

    try:
        collected = collect(pytest_args)
    except UsageError as error:
        lines = sanitize_lines(str(error)).split("\n")
        yield Finding(
            "items", f"{lines[0]} {lines[-1]}", "see the output of `pytest --collect-only`"
        )
        yield check_key(_named_variable(pytest_args))
        return
    yield from _check_cassettes(collected)
    yield check_key(collected.key_variable or os.environ.get(KEY_VARIABLE, ""))


def _check_cassettes(collected: Collected) -> Iterator[Finding]:
    from pytest_miniwob_agent.cassettes.folder.lint import lint_folder
    from pytest_miniwob_agent.plugin.inner_collection import NoItems

    try:
        used = collected.check()
    except NoItems as error:
        found, _, hint = str(error).partition(": ")
        yield Finding("items", found, hint, note=True)
        return
    stems, cases = (
        [each for each in part if each not in used.deselected] for part in (used.stems, used.cases)
    )
    if stems:
        agents = ", ".join(sorted(used.model_folders))
        yield Finding("items", f"{len(stems)} of {sanitize_line(agents)}")
    if cases:
        yield Finding("items", f"{len(cases)} with an agent or model of a fixture")
    missing = [stem for stem in stems if not (used.folder / f"{stem}.yaml").is_file()]
    found = f"{len(stems) - len(missing)} of {len(stems)} recorded in {display_path(used.folder)}"
    if missing:
        found += f"; missing: {sanitize_line(listed(missing, 1))}"
    fix = "pytest --miniwob-record=new_episodes records them" if missing else ""
    yield Finding("cassettes", found, fix)
    findings = lint_folder(used)
    problems = [finding for finding in findings if not finding.note]
    if findings:
        example = (problems or findings)[0]
        yield Finding(
            "cassettes",
            f"{counted(len(problems or findings), 'problem')}, "
            f"such as {display_path(example.path)}: {example.kind}",
            "miniwob-agent cassettes lint lists them all",
            note=not problems,
        )


def _named_variable(pytest_args: Sequence[str]) -> str:
    """Return what `--miniwob-key-variable` is among the arguments for pytest, or in the shell."""
    name = "--miniwob-key-variable="
    given = [each.removeprefix(name) for each in pytest_args if each.startswith(name)]
    return given[-1] if given else os.environ.get(KEY_VARIABLE, "")


def check_key(variable: str = "") -> Finding:
    """Check that there is a key, without showing it.

    Args:
        variable: the variable with it; empty for that of any provider.
    """
    names = [variable] if variable else KEY_VARIABLES
    found = [name for name in names if os.environ.get(name)]
    if found:
        return Finding(found[0], "is set" + "".join(f", {name} too" for name in found[1:]))
    return Finding(
        names[0],
        "is not set, and only recording needs it",
        f"export {names[0]}=..., or any text for your own server if it needs no key",
        note=True,
    )
