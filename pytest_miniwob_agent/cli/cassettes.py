"""Recorded model calls: `miniwob-agent cassettes` checks, removes, counts and prints them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miniwob_agent.cassettes.folder import ASIDE, PENDING, TRAFFIC, find_cassette
from pytest_miniwob_agent.cli.arguments import add_pytest_args
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.text import counted

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.folder import Used


def add_cassettes(parser: ArgumentParser) -> None:
    parser.description = "Check, count, tidy up and read recorded model calls."
    steps = parser.add_subparsers(required=True, metavar="STEP", dest="step")

    def add_step(run: Callable[[Namespace], int], summary: str, more: str = "") -> ArgumentParser:
        description = more or f"{summary.capitalize()}."
        parser = steps.add_parser(run.__name__, help=summary, description=description)
        parser.set_defaults(run=run)
        if run in (lint, prune):
            add_pytest_args(parser)
        else:
            parser.add_argument(
                "--cassettes",
                type=Path,
                metavar="DIR",
                help="the folder of cassettes (default: that of the ini file, or cassettes)",
            )
        return parser

    used = "not even one that is deselected (-k, -m, --deselect), or in a file of miniwob_suites"
    add_step(
        lint,
        "list problems",
        "List problems of the cassettes of the items that pytest collects here: keys, damaged "
        "files, missing and changed pictures and bodies of apps, and files that no item uses, "
        f"{used}. Exits with 1 if anything must be fixed.",
    )
    parser = add_step(
        prune,
        "remove those that no item uses, and unused calls, pictures and bodies",
        f"Remove the cassettes that no item uses, {used}, with the traffic of their apps; unused "
        "calls (.miniwob/unused); and pictures and bodies that nothing refers to. Asks first. "
        "Cassettes of other agents and models stay, unless options after -- name them, such as "
        "-- --miniwob-model=gpt-5.",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    what = "count items, calls, tokens, requests of apps and bytes, by agent, model and category"
    add_step(stats, what)
    parser = add_step(show, "print the calls of an item as a conversation, with requests of an app")
    what = "an item's id (n-screen-n-step/click-menu-2/1000), its end, or a file"
    parser.add_argument("case", metavar="CASE", help=what)


def lint(options: Namespace) -> int:
    """Print the problems of cassettes; return 1 if one must be fixed."""
    from pytest_miniwob_agent.cassettes.upkeep import Checked, check_files, lint_folder

    checked: list[Checked] = []  # while pytest collects the items
    used = _used_cassettes(options, lambda *folders: checked.append(check_files(*folders)))
    findings = lint_folder(used, *checked)
    for finding in findings:
        note = " (note)" if finding.note else ""
        print(f"{display_path(finding.path)}: {finding.kind}{note}: {finding.what}")
    problems = sum(not finding.note for finding in findings)
    if any(finding.kind in ("unused", "orphan") for finding in findings):
        print("`miniwob-agent cassettes prune` removes unused calls, and files that nothing uses")
    cassettes = sum(file.ending != TRAFFIC for file in used.files)
    print(f"{counted(cassettes, 'cassette')}, {problems} to fix")
    return 1 if problems else 0


def prune(options: Namespace) -> int:
    """Remove unused cassettes and calls; return 1 if the answer was not yes."""
    from pytest_miniwob_agent.cassettes.files import is_recording
    from pytest_miniwob_agent.cassettes.upkeep import prunable_files, remove_files

    used = _used_cassettes(options)
    paths = prunable_files(used)
    if not paths:
        print("nothing to remove: every cassette is used by an item, and there are no unused calls")
        return 0
    for path in paths:
        print(display_path(path))
    if not options.yes:
        try:
            answer = input(f"Remove {counted(len(paths), 'file')}? [y/N] ")
        except EOFError:
            answer = ""
        if answer.strip().lower() not in ("y", "yes"):
            print("nothing removed; use --yes to skip the question")
            return 1
    if is_recording(used.unused.parent):
        raise UsageError("nothing removed, as a run is recording, which may need these files")
    remove_files(used.folder, paths)
    print(f"{len(paths)} removed")
    return 0


def _used_cassettes(
    options: Namespace, begin: Callable[[Path, Path], None] = lambda folder, unused: None
) -> Used:
    from pytest_miniwob_agent.plugin.inner import used_cassettes

    used = used_cassettes(options.pytest_args, begin)
    if used.deselected:
        count = counted(len(used.deselected), "item")
        print(f"{count} deselected, or in miniwob_suites alone, counted as using a cassette")
    return used


def stats(options: Namespace) -> int:
    from pytest_miniwob_agent.cassettes.upkeep import count_calls
    from pytest_miniwob_agent.plugin.reading import read_ini_option

    folder, shown = options.cassettes or read_ini_option("cassettes"), ""
    rows = count_calls(folder, PENDING.with_name(ASIDE))
    if not any(row.items for row in rows.values()):
        where = display_path(folder)
        raise UsageError(f"there are no cassettes in {where}; name their folder with --cassettes")
    for (model_folder, category), row in rows.items():
        if model_folder != shown:
            print(shown := model_folder)
        calls = ", ".join(f"{count} {purpose}" for purpose, count in sorted(row.purposes.items()))
        tokens = "unknown" if row.usage.uncounted == row.usage.calls else f"{row.usage.tokens:,}"
        unused = f", {counted(row.unused, 'unused call')}" if row.unused else ""
        count = counted(len(row.pictures), "picture")
        size = f"{row.size / 1000:,.0f} kB"
        if row.pictures:
            size += f", {count} of {sum(row.pictures.values()) / 1000:,.0f} kB"
        if row.exchanges:
            count = counted(row.exchanges, "request")
            size += f", {count} of apps of {sum(row.bodies.values()) / 1000:,.0f} kB"
        print(
            f"  {category:<16} {row.items:>4} items  {row.usage.calls:>5} calls: {calls}\n"
            f"  {'':<16} {'':>4}        {tokens} tokens, {size}{unused}"
        )
    return 0


def show(options: Namespace) -> int:
    from pytest_miniwob_agent.cassettes.upkeep import shown_calls
    from pytest_miniwob_agent.plugin.inner import collect
    from pytest_miniwob_agent.plugin.reading import read_ini_option

    folder = options.cassettes or read_ini_option("cassettes")
    path = find_cassette(folder, options.case, lambda: collect([]).used.stems)
    print(display_path(path), *shown_calls(path), sep="\n\n")
    return 0
