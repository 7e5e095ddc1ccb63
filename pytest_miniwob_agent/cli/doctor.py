"""`miniwob-agent doctor`: checks what a run needs, and shows how to fix what is missing."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from importlib import metadata
from itertools import chain
from typing import TYPE_CHECKING

from pytest_miniwob_agent.builtin import joined
from pytest_miniwob_agent.cli.arguments import add_browser, add_pytest_args
from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import BrowserError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.observations import Transition
from pytest_miniwob_agent.core.secrets import KEY_VARIABLE, KEY_VARIABLES
from pytest_miniwob_agent.core.text import counted, listed
from pytest_miniwob_agent.hookspec import Check
from pytest_miniwob_agent.tasks.catalogue import OTHER

if TYPE_CHECKING:
    from pytest_miniwob_agent.browser.process import Browser
    from pytest_miniwob_agent.plugin.inner import Collector

PACKAGE = "pytest-miniwob-agent"


def add_doctor(parser: ArgumentParser) -> None:
    parser.description = (
        "Check the versions of packages, Chromium and its driver (or the Selenium "
        "Grid), that a page loads and reacts to clicks, its font, the cassettes of the items that "
        "pytest collects here, and that there is a key, which is not shown. Exits with 1 if there "
        "is a problem."
    )
    add_pytest_args(parser)
    add_browser(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the checks; return 1 if something must be fixed."""
    problems = 0
    for check in examine(options.browser, options.pytest_args):
        print(check, flush=True)
        problems += bool(check.fix and not check.note)
    print(f"{problems or 'nothing'} to fix")
    return 1 if problems else 0


def examine(browser: str | None, pytest_args: Sequence[str]) -> Iterator[Check]:
    """Make all checks in order, except for those that need something that is broken."""
    from pytest_miniwob_agent.browser.process import Browser
    from pytest_miniwob_agent.plugin.inner import collect

    yield from check_versions()
    collected = collect(pytest_args)
    settings, config = collected.settings, collected.config
    checks: list[Check] = []
    launcher = None
    if config is not None:
        checks += chain(*joined(config.hook.pytest_miniwob_checks(config=config)))
        launcher = config.hook.pytest_miniwob_launcher(config=config)
    yield from checks
    if browser is None and launcher is not None:
        if not any(check.fix for check in checks):
            hint = "see the documentation of the plugin that launches the browser"
            yield from check_page(Browser(launcher=launcher), hint)
    elif browser is None and settings is not None and settings.browser is not None:
        yield from check_browser(str(settings.browser), "miniwob_browser")
    else:
        yield from check_browser(browser)
    yield from check_cassettes(collected)
    named = settings.key_variable if settings else os.environ.get(KEY_VARIABLE)
    yield check_key(named or "")


def check_versions() -> Iterator[Check]:
    """Check Python and the packages against the requirements of the installed package."""
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    about = metadata.metadata(PACKAGE)
    python, needed = platform.python_version(), SpecifierSet(about["Requires-Python"])
    yield Check("Python", python, "" if python in needed else f"use a Python {needed}")
    yield Check(PACKAGE, about["Version"])
    for requirement in map(Requirement, metadata.requires(PACKAGE) or ()):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            found = metadata.version(requirement.name)
            fits = requirement.specifier.contains(found, prereleases=True)
        except metadata.PackageNotFoundError:
            found, fits = "not installed", False
        found += "" if fits else f", {requirement.specifier} is required"
        yield Check(requirement.name, found, "" if fits else f"pip install '{requirement}'")


def check_browser(path: str | None, named_by: str = "--browser") -> Iterator[Check]:
    """Check that there are a browser and a driver of one version, and that a page works."""
    from pytest_miniwob_agent.browser import local
    from pytest_miniwob_agent.browser.process import Browser

    what = "Chromium"
    try:
        chromium = local.find_browser(path)
        version, hint = _printed_version(chromium), ""
        if path or os.environ.get("MINIWOB_BROWSER"):
            why = f"as {named_by if path else 'MINIWOB_BROWSER'} says"
        elif local.is_shell(chromium):
            why = "the headless shell, as it is faster"
        else:
            why = "as there is no headless shell, which is faster"
            hint = f"install it, {local.SHELL_HINT}"
        yield Check(what, f"{version} ({chromium}), {why}", hint, note=bool(hint))
        what = "chromedriver"
        driver = local.find_driver(chromium)
    except BrowserError as error:
        found, _, hint = str(error).partition(": ")
        yield Check(what, found, hint or "give the path of an existing one")
        return
    of_driver, fix = _printed_version(driver), ""
    if of_driver.partition(".")[0] != version.partition(".")[0]:
        fix = f"install the one of Chromium's version, {version}: {local.DRIVER_HINT}"
    yield Check(what, f"{of_driver} ({driver})", fix)
    yield from check_page(Browser(path))


def _printed_version(program: str) -> str:
    try:
        printed = subprocess.run(
            [program, "--version"], capture_output=True, text=True, errors="replace", timeout=30
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        printed = str(error)
    match = re.search(r"\d+(\.\d+)+", printed)
    return match[0] if match else f"of unknown version: {printed}"


def check_page(
    browser: Browser, hint: str = "see the lines above; both must be of one version"
) -> Iterator[Check]:
    """Check that a page loads and is read, its font, and that clicks land; close the browser."""
    from pytest_miniwob_agent.browser.miniwob_page import FONT, MiniwobPage
    from pytest_miniwob_agent.browser.process import BOUNDARY_EVENTS

    try:
        page = MiniwobPage(browser, Case("click-button", OTHER, 0))
        observation, fonts = page.reset(), page.fonts()
        pie = MiniwobPage(browser, Case("click-pie", OTHER, 1005))
        shown = Transition(pie.reset())
        for text in ("+", shown.observation.goal.split('"')[1]):
            elements = shown.observation.elements
            shown = pie.step(Click(next((one.id for one in elements if one.text == text), 0) or 0))
    except BrowserError as error:
        yield Check("page", str(error), hint)
        return
    finally:
        browser.close()
    count = counted(len(observation.elements), "element")
    read = observation.goal and observation.elements
    fix = "" if read else "reinstall the pages: pip install --force-reinstall miniwob"
    yield Check("page", f"click-button loads, {count} read", fix)
    fix = f"it should be {FONT} alone: pip install --force-reinstall font-roboto"
    found = f"{' and '.join(fonts) or 'none'} for all text"
    yield Check("font", found, "" if fonts == [FONT] else fix)
    found = fix = ""
    if not shown.solved:
        found = ", except on elements that insert themselves again, such as those of click-pie"
        fix = f"choose a browser that can switch {BOUNDARY_EVENTS} off, such as Chromium 150 to 156"
    yield Check("clicks", f"land{found}", fix, note=bool(fix))


def check_cassettes(collected: Collector) -> Iterator[Check]:
    from pytest_miniwob_agent.plugin.inner import NO_ITEMS

    used = collected.used
    if collected.problem:
        first, *_, last = collected.problem.split("\n")
        yield Check("items", f"{first} {last}", "see the output of `pytest --collect-only`")
        return
    if not used.stems:
        found, _, hint = NO_ITEMS.partition("; ")
        yield Check("items", found, hint, note=True)
        return
    stems = [stem for stem in used.stems if stem not in used.deselected]
    missing = [stem for stem in stems if not (used.folder / f"{stem}.yaml").is_file()]
    found = f"{len(stems) - len(missing)} of {len(stems)} recorded in {display_path(used.folder)}"
    found += f"; missing: {listed(missing, 1)}" if missing else ""
    fix = "pytest --miniwob-record=new_episodes records them" if missing else ""
    yield Check("cassettes", found, fix)


def check_key(variable: str = "") -> Check:
    """Check that there is a key, without showing it: in a variable, or in that of any provider."""
    names = [variable] if variable else KEY_VARIABLES
    found = [name for name in names if os.environ.get(name)]
    if found:
        return Check(found[0], "is set" + "".join(f", {name} too" for name in found[1:]))
    fix = f"export {names[0]}=..., or any text for your own server if it needs no key"
    return Check(names[0], "is not set, and only recording needs it", fix, note=True)
