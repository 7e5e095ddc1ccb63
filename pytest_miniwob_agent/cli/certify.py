"""`miniwob-agent certify`: checks that pages are deterministic."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from functools import partial
from pathlib import Path

from pytest_miniwob_agent.cli.arguments import Commands, add_selectors, catalogue_of, selectors_of
from pytest_miniwob_agent.cli.progress import show_progress
from pytest_miniwob_agent.core.observations import SCREENS
from pytest_miniwob_agent.core.text import sanitize_line

NO_FONTS = {"FONTCONFIG_FILE": os.devnull}
"""The environment of a machine without fonts of its own."""


def add(commands: Commands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "certify",
        help="check that pages are deterministic",
        description="Load each page several times, in different browsers, orders and paces and "
        "once without the machine's fonts, take the same actions on it, and compare all "
        "observations. Exits with 1 if any differ.",
    )
    add_selectors(parser)
    parser.add_argument("--seeds", default="1000-1001", help="such as 1000-1024,7 (%(default)s)")
    parser.add_argument(
        "--screen",
        choices=SCREENS,
        default="compact",
        help="the screens to compare; full also tries actions at points and by the page's clock "
        "(%(default)s)",
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
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print a verdict for each case; 1 if a page is not deterministic."""
    from pytest_miniwob_agent.browser.certification import certify
    from pytest_miniwob_agent.browser.environment import open_environment
    from pytest_miniwob_agent.browser.local import LocalLauncher, is_shell
    from pytest_miniwob_agent.browser.pages import UNANSWERED
    from pytest_miniwob_agent.browser.process import Browser
    from pytest_miniwob_agent.tasks.selectors import parse_seeds, select_cases

    catalogue = catalogue_of(options)
    selectors = selectors_of(options, catalogue)
    cases = select_cases(selectors, parse_seeds(options.seeds), catalogue=catalogue)
    first, *more = options.browser or [None]
    others = {path: partial(Browser, path) for path in more if path != first}
    if options.headed:
        whole = next((path for path in options.browser or () if not is_shell(path)), None)
        others["in a window"] = partial(Browser, whole, headed=True)
    verdicts = certify(
        cases,
        lambda browser, case: open_environment(browser, case, catalogue.pages[case.task]),
        partial(Browser, first),
        others,
        show_progress,
        screen=options.screen,
        pixels=options.pixels,
        start_elsewhere=partial(Browser, launcher=LocalLauncher(first, env=NO_FONTS)),
    )
    show_progress("")
    for verdict in verdicts:
        result = "same"
        if verdict.difference:
            lacks = verdict.difference.startswith(UNANSWERED)
            result = "LACKS" if lacks else "DIFFERS" if verdict.observations else "ERROR"
        print(f"{result:<8}{verdict.case}, {verdict.observations} observations")
        if verdict.difference:
            print("  " + verdict.difference.replace("\n", "\n  "))
        for remark in verdict.remarks:
            print(f"  page: {sanitize_line(remark)}")
    if options.output:
        found = {
            one.case.id: {"observations": one.observations, "difference": one.difference}
            for one in verdicts
        }
        text = json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False)
        options.output.write_text(text + "\n", encoding="utf-8")
    failed = [verdict for verdict in verdicts if verdict.difference]
    if any(one.case.task in catalogue.own_tasks for one in failed if one.observations):
        print("docs/your-own-pages.md has the usual causes, and what to do about each")
    print(f"{len(cases) - len(failed)} of {len(cases)} cases are deterministic")
    return 1 if failed else 0
