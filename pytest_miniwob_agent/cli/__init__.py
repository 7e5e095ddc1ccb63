"""The command `miniwob-agent`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from pytest_miniwob_agent.core.errors import MiniwobError, UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.tasks.selection import parse_seeds, select_cases

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


SELECTOR = (
    "task, category, glob over both, or suite: paper, rci, webwise, all (default: all, every task "
    "of the installed miniwob package)"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if all is well, 1 if it found something, 2 for a wrong call."""
    parser = argparse.ArgumentParser(
        prog="miniwob-agent", description="Tools beside the pytest plugin pytest-miniwob-agent."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    certify = commands.add_parser(
        "certify",
        help="check that pages are deterministic",
        description="Load each page in several browsers, in other orders and at another pace, do "
        "the same things on it, and compare all that is seen.",
    )
    certify.add_argument(
        "selectors", nargs="*", default=["all"], metavar="SELECTOR",
        help=SELECTOR,
    )  # fmt: skip
    certify.add_argument("--seeds", default="1000-1001", help="such as 1000-1024,7 (%(default)s)")
    certify.add_argument("--output", type=Path, metavar="FILE", help="write the verdicts as JSON")
    certify.add_argument("--browser", metavar="PATH", help="the Chromium or Chrome to use")
    certify.set_defaults(run=_certify)
    _add_doctor(commands)
    _add_show(commands)
    _add_cassettes(commands)
    _add_batch(commands)
    _add_compare(commands)
    _add_tables(commands)
    _add_tasks(commands)
    options = parser.parse_args(arguments)
    try:
        result: int = options.run(options)
    except MiniwobError as error:
        print(f"miniwob-agent: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever reads has enough, as `head` has after some lines
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return result


def _add_doctor(commands: Commands) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="check that all that a run needs is here and works",
        description="Check versions, Chromium and its driver, that a page really loads, is read "
        "and has the right font, the cassettes of the items that pytest collects here, and the "
        "key. Says what is wrong and how to mend it, and exits with 1 if something is. Nothing is "
        "asked of the network, and the key is not shown.",
    )
    doctor.add_argument("pytest_args", nargs="*", metavar="-- PYTEST ARGUMENTS", help=_RUN)
    doctor.add_argument("--browser", metavar="PATH", help="the Chromium or Chrome to use")
    doctor.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.cli.doctor import run

    return run(options)


def _add_show(commands: Commands) -> None:
    item = argparse.ArgumentParser(add_help=False)
    item.add_argument(
        "case", metavar="CASE",
        help="an item's id (n-screen-n-step/click-menu-2/1000) or its end (click-menu-2/1000); "
        "or pytest's id of it",
    )  # fmt: skip
    item.add_argument("pytest_args", nargs="*", metavar="-- PYTEST ARGUMENTS", help=_RUN)
    item.add_argument(
        "--full", action="store_true", help="whole completions, and the prompts before them"
    )
    show = commands.add_parser(
        "show",
        parents=[item],
        help="print an item's whole episode: screens, calls, actions, reflections",
        description="Replay an item from its cassette and print its whole episode: the goal, and "
        "of each trial the screens as the model saw them, the calls, the actions and what they "
        "did, how it ended, and what was learnt from it. An item that drifts is shown up to "
        "there. No model is asked and nothing is written. Exits with 1 if the item came to no "
        "result. What a cassette holds, without running anything: miniwob-agent cassettes show.",
        epilog="Items are those that pytest would run here: miniwob-agent show click-tab/3 -- "
        "tests/test_mine.py --miniwob-seeds=3",
    )
    show.set_defaults(run=_show_episode)
    play = commands.add_parser(
        "play",
        parents=[item],
        help="show a recorded episode in a window, an action at a time",
        description="Replay an item in the browser's window. The terminal tells what happens as "
        "`miniwob-agent show` does, says before each action what comes, with the pointer already "
        "there, and waits for Enter; q quits. No model is asked and nothing is written.",
        epilog="It needs a terminal and a display. Without a display: miniwob-agent show. A whole "
        "run in a window: pytest --miniwob-headed --miniwob-slowmo=500",
    )
    play.add_argument(
        "--auto", type=_milliseconds, metavar="MS",
        help="do not ask; go on after so many milliseconds",
    )  # fmt: skip
    play.set_defaults(run=_play)


_RUN = "which items are meant, as you would run them (default: all of this folder's)"


def _show_episode(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.cli.show import show

    return show(options)


def _milliseconds(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of milliseconds")
    return int(text)


def _play(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.cli.show import play

    return play(options)


def _add_cassettes(commands: Commands) -> None:
    steps = commands.add_parser(
        "cassettes",
        help="check, count, tidy up and read recorded model calls",
        description="Check, count, tidy up and read recorded model calls.",
    ).add_subparsers(required=True, metavar="STEP", dest="step")
    for step, run, brief, text in (
        (
            "lint", _lint, "tell what is wrong with them",
            "Tell what is wrong with the cassettes of the items that pytest collects here: keys in "
            "them, damaged and outdated files, and files that no item uses. Exits with 1 if "
            "anything has to be mended.",
        ),
        (
            "prune", _prune, "remove those that no item uses",
            "Remove the cassettes that no item uses, after asking. Other agents' and models' "
            "cassettes are left alone; name them after --, for instance -- --miniwob-model=gpt-5.",
        ),
    ):  # fmt: skip
        parser = steps.add_parser(step, help=brief, description=text)
        parser.add_argument(
            "pytest_args", nargs="*", metavar="-- PYTEST ARGUMENTS",
            help=_RUN,
        )  # fmt: skip
        if step == "prune":
            parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.set_defaults(run=run)
    folder = argparse.ArgumentParser(add_help=False)
    folder.add_argument(
        "--cassettes", type=Path, default=Path("cassettes"), metavar="DIR",
        help="the folder of cassettes (%(default)s)",
    )  # fmt: skip
    stats = steps.add_parser(
        "stats", parents=[folder], help="count items, calls, tokens and bytes",
        description="Count items, calls, tokens and bytes, by agent, model and category.",
    )  # fmt: skip
    stats.set_defaults(run=_stats)
    show = steps.add_parser(
        "show", parents=[folder], help="print the calls of an item as a conversation",
        description="Print the calls of an item as a conversation.",
    )  # fmt: skip
    show.add_argument(
        "case", metavar="CASE",
        help="an item's id (n-screen-n-step/click-menu-2/1000), its end, or a file",
    )  # fmt: skip
    show.set_defaults(run=_show)


def _lint(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.cassettes.folder import cassette_files
    from pytest_miniwob_agent.cassettes.lint import lint, unchecked_folders
    from pytest_miniwob_agent.plugin.collecting import collect

    used = collect(options.pytest_args)
    findings = lint(used)
    for finding in findings:
        note = " (note)" if finding.note else ""
        print(f"{display_path(finding.path)}: {finding.kind}{note}: {finding.what}")
    for head, count in unchecked_folders(used).items():
        print(
            f"{display_path(used.folder / head)}: not looked at: {count} cassettes of an agent "
            "and a model that no item here uses"
        )
    wrong = sum(not finding.note for finding in findings)
    print(f"{len(cassette_files(used.folder))} cassettes, {wrong} to mend")
    return 1 if wrong else 0


def _prune(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.cassettes.prune import prunable_files, remove_files
    from pytest_miniwob_agent.plugin.collecting import collect

    used = collect(options.pytest_args)
    paths = prunable_files(used)
    if not paths:
        print("nothing to remove: every cassette is used by an item")
        return 0
    for path in paths:
        print(display_path(path))
    if not options.yes:
        try:
            answer = input(f"Remove these {len(paths)} files? [y/N] ")
        except EOFError:
            answer = ""
        if answer.strip().lower() not in ("y", "yes"):
            print("nothing removed; --yes does not ask")
            return 1
    remove_files(used.folder, paths)
    print(f"{len(paths)} removed")
    return 0


def _stats(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.cassettes.stats import stats

    rows = stats(options.cassettes)
    if not rows:
        raise UsageError(f"{options.cassettes} holds no cassettes; name their folder: --cassettes")
    last = ""
    for (head, category), row in rows.items():
        if head != last:
            print(f"{head}")
        last = head
        calls = ", ".join(f"{count} {purpose}" for purpose, count in sorted(row.purposes.items()))
        tokens = "unknown" if row.usage.uncounted == row.usage.calls else f"{row.usage.tokens:,}"
        print(
            f"  {category:<16} {row.items:>4} items  {row.usage.calls:>5} calls: {calls}\n"
            f"  {'':<16} {'':>4}        {tokens} tokens, {row.size / 1000:,.0f} kB"
        )
    return 0


def _show(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.cassettes.conversation import conversation
    from pytest_miniwob_agent.cassettes.folder import find_cassette

    path = find_cassette(options.cassettes, options.case)
    print(display_path(path))
    for text in conversation(path):
        print(f"\n{text}")
    return 0


def _add_batch(commands: Commands) -> None:
    batch = commands.add_parser(
        "batch",
        help="have the calls of deferred recording answered by a provider's Batch API",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=_BATCH,
    )
    steps = batch.add_subparsers(required=True, metavar="STEP", dest="step")
    for step, text in {
        "submit": "submit the requests that wait and are in no batch yet",
        "status": "tell how the batches stand",
        "fetch": "put the answers of batches that are over into answers.jsonl",
    }.items():
        parser = steps.add_parser(step, help=text, description=text[0].upper() + text[1:] + ".")
        parser.add_argument(
            "--pending", type=Path, metavar="FILE", default=Path(".miniwob/pending.jsonl"),
            help="the batch file; batches.json and answers.jsonl lie beside it (%(default)s)",
        )  # fmt: skip
        parser.add_argument(
            "--base-url", metavar="URL", help="the server (default: OPENAI_BASE_URL, or OpenAI's)"
        )
        if step == "status":
            parser.add_argument("--wait", action="store_true", help="until all batches are over")
        parser.set_defaults(run=_batch)


_BATCH = """\
Have the calls of deferred recording answered by a provider's Batch API.

  pytest --miniwob-record=defer        writes the calls without a completion to
                                       .miniwob/pending.jsonl
  miniwob-agent batch submit           hands them to the provider
  miniwob-agent batch status --wait    waits until they are answered
  miniwob-agent batch fetch            brings the answers to .miniwob/answers.jsonl
  pytest --miniwob-record=defer --miniwob-answers=.miniwob/answers.jsonl
                                       records them and goes on to the next calls

Repeat the last four until nothing waits. Every step can be interrupted and called again: no
request is in two batches at a time, and none that is answered is submitted again. The key is
taken from OPENAI_API_KEY.
"""


def _batch(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.cassettes.batches import Batches

    batches = Batches(options.pending, options.base_url, lambda line: print(line, flush=True))
    try:
        if options.step == "submit":
            batches.submit()
            return 0
        if options.step == "fetch":
            return 0 if batches.fetch() else 1
        well = batches.status(_progress if options.wait else None)
    except OSError as error:
        raise UsageError(str(error)) from error
    except KeyboardInterrupt:
        _progress("")
        print("interrupted; nothing is lost, call it again to go on", file=sys.stderr)
        return 130
    return 0 if well else 1


def _add_compare(commands: Commands) -> None:
    compare = commands.add_parser(
        "compare",
        help="say what got better and worse between two runs",
        description="Compare two results files item by item: what changed, the solved rates with "
        "their intervals, calls and tokens. On GitHub Actions it also writes the job's summary.",
        epilog="A file is a path, git:REF:PATH for the file as it was at a commit, or git:REF for "
        "the other one's path there: miniwob-agent compare git:main results.jsonl",
    )
    compare.add_argument("base", metavar="BASE", help="the results before")
    compare.add_argument("head", metavar="HEAD", help="the results after")
    _add_output(compare, ["text", "markdown", "json"])
    compare.add_argument(
        "--gate", metavar="KIND",
        help="exit with 1 where this gate is red: items[:M], paired[:ALPHA] or rate:POINTS",
    )  # fmt: skip
    compare.set_defaults(run=_compare)


def _add_tables(commands: Commands) -> None:
    tables = commands.add_parser(
        "tables",
        help="set a run beside the published figures",
        description="Completion with 1, 3 and 5 trials by task, the significance of more trials "
        "and the planner calls that staging saves, each beside what was published.",
    )
    tables.add_argument("results", metavar="RESULTS", help="a results file, or git:REF:PATH")
    _add_output(tables, ["text", "markdown", "json", "csv"])
    tables.set_defaults(run=_tables)


def _add_tasks(commands: Commands) -> None:
    tasks = commands.add_parser(
        "tasks",
        help="list the tasks that there are",
        description="List tasks with their categories, the papers that used them, the actions that "
        "they take, and whether they are certified to be deterministic.",
    )
    tasks.add_argument("selectors", nargs="*", default=["all"], metavar="SELECTOR", help=SELECTOR)
    _add_output(tasks, ["text", "markdown", "json"])
    tasks.set_defaults(run=_tasks)


def _add_output(parser: argparse.ArgumentParser, formats: list[str]) -> None:
    parser.add_argument("--format", choices=formats, default="text", help="(default: %(default)s)")


def _compare(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.terminal.comparison import run

    return run(options)


def _tables(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.terminal.tables import run

    return run(options)


def _tasks(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.cli.tasks import run

    return run(options)


def _certify(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.browser.certification import certify
    from pytest_miniwob_agent.browser.environment import Browser

    chosen = select_cases(options.selectors, parse_seeds(options.seeds))
    verdicts: dict[str, dict[str, str | int]] = {}
    failed = 0
    for verdict in certify(chosen, lambda: Browser(options.browser), _progress):
        _progress("")
        failed += bool(verdict.difference)
        verdicts[verdict.case.id] = {
            "observations": verdict.observations,
            "difference": verdict.difference,
        }
        word = "DIFFERS" if verdict.difference else "same"
        print(f"{word:<8}{verdict.case}, {verdict.observations} observations")
        if verdict.difference:
            print("  " + verdict.difference.replace("\n", "\n  "))
    if options.output:
        text = json.dumps(verdicts, indent=1, sort_keys=True, ensure_ascii=False)
        options.output.write_text(text + "\n", encoding="utf-8")
    print(f"{len(chosen) - failed} of {len(chosen)} cases are deterministic")
    return 1 if failed else 0


def _progress(text: str) -> None:
    """Show one line that the next one replaces, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{text[:78]}", end="", file=sys.stderr, flush=True)
