"""The command `miniwob-agent`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_miniwob_agent import catalogue
from pytest_miniwob_agent.core import MiniwobError, UsageError


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
        "selectors", nargs="*", default=["*"], metavar="SELECTOR",
        help="task, category or glob (default: every task of the installed miniwob package)",
    )  # fmt: skip
    certify.add_argument("--seeds", default="1000-1001", help="such as 1000-1024,7 (%(default)s)")
    certify.add_argument("--output", type=Path, metavar="FILE", help="write the verdicts as JSON")
    certify.add_argument("--browser", metavar="PATH", help="the Chromium or Chrome to use")
    certify.set_defaults(run=_certify)
    _add_batch(commands)
    options = parser.parse_args(arguments)
    try:
        result: int = options.run(options)
    except MiniwobError as error:
        print(f"miniwob-agent: {error}", file=sys.stderr)
        return 2
    return result


def _add_batch(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    from pytest_miniwob_agent.batch import Batches

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


def _certify(options: argparse.Namespace) -> int:
    from pytest_miniwob_agent.browser import Browser
    from pytest_miniwob_agent.certify import certify

    cases = catalogue.cases(options.selectors, catalogue.parse_seeds(options.seeds))
    verdicts: dict[str, dict[str, str | int]] = {}
    failed = 0
    for verdict in certify(cases, lambda: Browser(options.browser), _progress):
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
    print(f"{len(cases) - failed} of {len(cases)} cases are deterministic")
    return 1 if failed else 0


def _progress(text: str) -> None:
    """Show one line that the next one replaces, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{text[:78]}", end="", file=sys.stderr, flush=True)
