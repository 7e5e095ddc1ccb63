"""`miniwob-agent certify`."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

from pytest_miniwob_agent.browser.local import LocalLauncher, is_shell
from pytest_miniwob_agent.browser.own_page import UNANSWERED, open_page
from pytest_miniwob_agent.browser.process import Browser
from pytest_miniwob_agent.cli.arguments import (
    OF_APPS,
    add_pytest_args,
    add_selectors,
    make_catalogue,
    on_apps,
    read_selectors,
    show_progress,
)
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import write_output
from pytest_miniwob_agent.core.observations import SCREENS
from pytest_miniwob_agent.core.text import counted, sanitize_line, sanitize_lines
from pytest_miniwob_agent.plugins.certify.apps import certify_apps
from pytest_miniwob_agent.plugins.certify.certification import certify
from pytest_miniwob_agent.tasks.selectors import parse_seeds, select_cases

ELSEWHERE = {"FONTCONFIG_FILE": os.devnull, "LANGUAGE": "de", "TZ": "Asia/Tokyo"}
"""The environment of another machine: its fonts, language and time zone."""


def add_certify(parser: ArgumentParser) -> None:
    parser.description = (
        "Load each page several times, in different browsers, orders and paces and "
        "once with the fonts, language and time zone of another machine, take the same actions on "
        "it, and compare all observations. Exits with 1 if any differ. If SELECTOR is a test file, "
        "or a test in it, its items on apps are started several times each, take their recorded "
        "actions if they have some, and are compared."
    )
    add_selectors(parser)
    parser.add_argument("--seeds", help="such as 1000-1024,7 (1000-1001)")
    parser.add_argument(
        "--screen",
        choices=SCREENS,
        help="the screens to compare; full also tries actions at points and by the page's clock "
        "(compact)",
    )
    parser.add_argument(
        "--pixels",
        action="store_true",
        help="compare pictures of the pages, too; as in cassettes, colours may differ by 1 of 255",
    )
    parser.add_argument(
        "--headed",
        action="store_true",
        help="add a pass in a window, of the first browser that is not a headless shell",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the verdicts as JSON")
    parser.add_argument(
        "--browser",
        action="append",
        metavar="PATH",
        help="the Chromium or Chrome to use; given more than once, the pages must be the same in "
        "all of them. A chromedriver in the browser's folder is preferred to that on PATH",
    )
    add_pytest_args(parser, OF_APPS)
    parser.set_defaults(run=certify_pages)


def certify_pages(options: Namespace) -> int:
    """Print a verdict for each case; 1 if a page is not deterministic."""
    if on_apps(options, *options.selectors):
        return _certify_apps(options)
    catalogue = make_catalogue(options)
    selectors = read_selectors(options, catalogue)
    seeds = parse_seeds("1000-1001" if options.seeds is None else options.seeds)
    cases = select_cases(selectors, seeds, catalogue=catalogue)
    first, *more = options.browser or [None]
    others = {path: partial(Browser, path) for path in more if path != first}
    if options.headed:
        whole = next((path for path in options.browser or () if not is_shell(path)), None)
        others["in a window"] = partial(Browser, whole, headed=True)
    verdicts = certify(
        cases,
        lambda browser, case: open_page(browser, case, catalogue.pages[case.task]),
        partial(Browser, first),
        others,
        show_progress,
        screen=options.screen or "compact",
        pixels=options.pixels,
        start_elsewhere=partial(Browser, launcher=LocalLauncher(first, env=ELSEWHERE)),
    )
    show_progress("")
    for verdict in verdicts:
        result = "same"
        if verdict.difference:
            lacks = verdict.difference.startswith(UNANSWERED)
            result = "LACKS" if lacks else "DIFFERS" if verdict.observations else "ERROR"
        print(f"{result:<8}{verdict.case}, {verdict.observations} observations")
        if verdict.difference:
            print("  " + sanitize_lines(verdict.difference).replace("\n", "\n  "))
        for remark in verdict.remarks:
            print(f"  page: {sanitize_line(remark)}")
    if options.output:
        found = {
            one.case.id: {"observations": one.observations, "difference": one.difference}
            for one in verdicts
        }
        text = json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False)
        write_output(options.output, text + "\n")
    failed = [verdict for verdict in verdicts if verdict.difference]
    if any(one.case.task in catalogue.own_tasks for one in failed if one.observations):
        print("docs/your-own-pages.md has the usual causes, and what to do about each")
    print(f"{len(cases) - len(failed)} of {len(cases)} cases are deterministic")
    return 1 if failed else 0


def _certify_apps(options: Namespace) -> int:
    of_pages = ("pages", "seeds", "screen", "pixels", "headed", "output")
    given = [f"--{name}" for name in of_pages if getattr(options, name)]
    browsers = [f"--miniwob-browser={path}" for path in options.browser or ()]
    if len(browsers) > 1:
        given.append("a second --browser")
    if given:
        raise UsageError(
            f"{', '.join(given)}: for pages alone. An app's test names its seeds, and its items "
            "are compared by what they show at several starts, in one browser"
        )
    found = certify_apps([*options.selectors, *browsers, *options.pytest_args])
    for item, (difference, screens) in found.items():
        seen = (
            counted(screens, "screen") if screens else "the first page alone, without a recording"
        )
        print(f"{'DIFFERS' if difference else 'same':<8}{item}, {seen}")
        if difference:
            print("  " + sanitize_lines(difference).replace("\n", "\n  "))
    failed = sum(bool(difference) for difference, _ in found.values())
    if failed:
        print(
            "Have `setup` prepare the app; replace what differs by AppTask(scrub=...); for times, "
            "freeze the app's clock and set AppTask(clock=...)"
        )
    print(f"{len(found) - failed} of {len(found)} show the same each time")
    return 1 if failed else 0
