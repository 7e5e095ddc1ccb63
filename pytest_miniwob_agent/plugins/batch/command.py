"""`miniwob-agent batch`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from contextlib import closing
from pathlib import Path

from pytest_miniwob_agent.cassettes.folder import PENDING
from pytest_miniwob_agent.cli.arguments import show_progress
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.plugins.batch.batches import Batches

DESCRIPTION = """\
Send the calls of deferred recording to a provider's Batch API.

  pytest --miniwob-record=defer        writes the calls that are not recorded
  miniwob-agent batch submit           submits them to the provider
  miniwob-agent batch status --wait    waits until they are answered
  miniwob-agent batch fetch            downloads the answers
  pytest --miniwob-record=defer --miniwob-answers=.miniwob/answers.jsonl
                                       records them, and writes the next calls

Repeat the last four until no request is pending. Each step can be interrupted and repeated: no
request is submitted while a batch holds it, or once it is answered. The key is taken from
OPENAI_API_KEY, or the variable that miniwob_key_variable of the ini file names.
"""


def add_batch(parser: ArgumentParser) -> None:
    parser.description = DESCRIPTION
    steps = parser.add_subparsers(required=True, metavar="STEP", dest="step")
    for step, summary in (
        ("submit", "submit the pending requests that are neither in a batch nor answered"),
        ("status", "show the progress of the batches"),
        ("fetch", "write the answers of batches that have ended to answers.jsonl"),
    ):
        parser = steps.add_parser(step, help=summary, description=f"{summary.capitalize()}.")
        parser.add_argument(
            "--pending",
            type=Path,
            metavar="FILE",
            default=PENDING,
            help="the batch file; answers.jsonl is beside it (%(default)s)",
        )
        parser.add_argument(
            "--base-url",
            metavar="URL",
            help="the server (default: that of the ini file, OPENAI_BASE_URL, or OpenAI's)",
        )
        if step == "status":
            parser.add_argument("--wait", action="store_true", help="wait until all batches ended")
        parser.set_defaults(run=answer_batch)


def answer_batch(options: Namespace) -> int:
    """Carry out a step; 1 if a batch or a request failed, 130 after an interrupt."""
    from pytest_miniwob_agent.plugin.reading import read_ini_option

    server = options.base_url or read_ini_option("base_url")
    try:
        with closing(Batches(options.pending, server, read_ini_option("key_variable"))) as batches:
            if options.step == "submit":
                good = batches.submit()
            elif options.step == "status":
                good = batches.status(show_progress if options.wait else None)
            else:
                good = batches.fetch()
            return 0 if good else 1
    except OSError as error:
        raise UsageError(str(error)) from error
    except KeyboardInterrupt:
        show_progress("")
        print("interrupted; nothing is lost, run it again to continue", file=sys.stderr)
        return 130
