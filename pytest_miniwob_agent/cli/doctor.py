"""`miniwob-agent doctor`: what a run needs, a line a check, and what mends what is wrong."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from pytest_miniwob_agent.browser.environment import FONT, Browser, find_browser
from pytest_miniwob_agent.cassettes.lint import lint
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import BrowserError, UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.secrets import redact
from pytest_miniwob_agent.core.text import counted, sanitize_line, sanitize_lines
from pytest_miniwob_agent.plugin.collecting import NoItems, collect
from pytest_miniwob_agent.tasks.catalogue import OTHER

PACKAGE = "pytest-miniwob-agent"

DRIVER = (
    "on Debian and Ubuntu `apt-get install chromium-driver`, elsewhere the chromedriver of that "
    "version on PATH"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found; nothing is wrong unless it says what would `mend` it."""

    what: str
    found: str
    mend: str = ""
    note: bool = False
    """Whether it is only worth knowing, as much can be done without."""

    def __str__(self) -> str:
        word = "note" if self.note else "WRONG" if self.mend else "ok"
        mend = f"\n{'':<28}-> {self.mend}" if self.mend else ""
        return f"{word:<6}{self.what:<22}{self.found}{mend}"


def run(options: Namespace) -> int:
    """Print what is well and what is not; 1 if something has to be mended."""
    wrong = 0
    for finding in examine(options.browser, options.pytest_args):
        print(redact(str(finding)), flush=True)
        wrong += bool(finding.mend and not finding.note)
    print(f"{wrong or 'nothing'} to mend")
    return 1 if wrong else 0


def examine(browser: str | None, pytest_args: Sequence[str]) -> Iterator[Finding]:
    """Check one thing after the other; what needs a broken thing is not checked."""
    yield from _versions()
    yield from _browser(browser)
    yield from _cassettes(pytest_args)
    yield _key()


def _versions() -> Iterator[Finding]:
    """Python and the packages, by what the installed package says that it needs."""
    about = metadata.metadata(PACKAGE)
    python = platform.python_version()
    needed = SpecifierSet(about["Requires-Python"])
    mend = "" if python in needed else f"use a Python {needed}"
    yield Finding("Python", python, mend)
    yield Finding(PACKAGE, about["Version"])
    for line in metadata.requires(PACKAGE) or ():
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            found = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            found = "not installed"
        well = found != "not installed" and requirement.specifier.contains(found, prereleases=True)
        if not well:
            found += f", needed is {requirement.specifier}"
        yield Finding(requirement.name, found, "" if well else f"pip install '{requirement}'")


def _browser(path: str | None) -> Iterator[Finding]:
    """Browser and driver, their versions, and whether they work together."""
    try:
        chromium = find_browser(path)
    except BrowserError as error:
        found, _, mend = str(error).partition(": ")
        yield Finding("Chromium", found, mend or "name one that exists")
        return
    version = _version(chromium)
    yield Finding("Chromium", f"{version} ({chromium})")
    driver = shutil.which("chromedriver")
    if driver is None:
        yield Finding(
            "chromedriver", "none on PATH, so that selenium looks for one itself, also by "
            "downloading it", DRIVER, note=True,
        )  # fmt: skip
    else:
        of_driver = _version(driver)
        same = of_driver.partition(".")[0] == version.partition(".")[0]
        mend = "" if same else f"have one of Chromium's version, {version}: {DRIVER}"
        yield Finding("chromedriver", f"{of_driver} ({driver})", mend)
    started = Browser(path)
    try:
        page = started.environment(Case("click-button", OTHER, 0))
        observation = page.reset()
        fonts = page.fonts()
    except BrowserError as error:
        yield Finding(
            "page", sanitize_line(error), "see the lines above; both must be of one version"
        )
        return
    finally:
        started.close()
    read = bool(observation.goal and observation.elements)
    yield Finding(
        "page",
        f"click-button loads, {counted(len(observation.elements), 'element')} read",
        "" if read else "reinstall the pages: pip install --force-reinstall miniwob",
    )
    ours = fonts == [FONT]
    yield Finding(
        "font",
        f"{' and '.join(map(sanitize_line, fonts)) or 'none'} for all text",
        "" if ours else f"it should be {FONT} alone: pip install --force-reinstall font-roboto",
    )


def _version(program: str) -> str:
    """The version that a program tells of itself."""
    try:
        told = subprocess.run(
            [program, "--version"], capture_output=True, text=True, errors="replace", timeout=30
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        told = str(error)
    match = re.search(r"\d+(\.\d+)+", told)
    return match[0] if match else f"of unknown version: {sanitize_line(told)}"


def _cassettes(pytest_args: Sequence[str]) -> Iterator[Finding]:
    """The recorded calls of the items that pytest collects here."""
    try:
        used = collect(pytest_args)
    except NoItems as error:
        found, _, mend = str(error).partition(": ")
        yield Finding("items", found, mend, note=True)
        return
    except UsageError as error:
        lines = sanitize_lines(str(error)).split("\n")
        yield Finding("items", f"{lines[0]} {lines[-1]}", "see what `pytest --collect-only` says")
        return
    if used.model_folders:
        agents = ", ".join(sorted(used.model_folders))
        yield Finding("items", f"{len(used.stems)} with recorded calls of {sanitize_line(agents)}")
    if used.cases:
        yield Finding("items", f"{len(used.cases)} with an agent or model of a fixture")
    lacking = [stem for stem in used.stems if not (used.folder / f"{stem}.yaml").is_file()]
    have = len(used.stems) - len(lacking)
    yield Finding(
        "cassettes",
        f"{have} of {len(used.stems)} recorded in {display_path(used.folder)}"
        + (
            f", not {sanitize_line(lacking[0])}" + (" and others" * (len(lacking) > 1))
            if lacking
            else ""
        ),
        "pytest --miniwob-record=new_episodes records them" if lacking else "",
    )
    findings = lint(used)
    wrong = [finding for finding in findings if not finding.note]
    if findings:
        one = (wrong or findings)[0]
        yield Finding(
            "cassettes",
            f"{counted(len(wrong or findings), 'problem')}, "
            f"such as {display_path(one.path)}: {one.kind}",
            "miniwob-agent cassettes lint tells them all",
            note=not wrong,
        )


def _key() -> Finding:
    """Whether there is a key; only whether."""
    if os.environ.get("OPENAI_API_KEY"):
        return Finding("OPENAI_API_KEY", "is set")
    return Finding(
        "OPENAI_API_KEY",
        "is not set, and only recording needs it",
        "export OPENAI_API_KEY=..., or any text for a server of your own that asks for none",
        note=True,
    )
