"""`miniwob-agent batch`: has the calls of deferred recording answered by a Batch API."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miniwob_agent.cassettes.deferred.batch_command import PENDING
from pytest_miniwob_agent.cli.arguments import Commands
from pytest_miniwob_agent.cli.progress import show_progress
from pytest_miniwob_agent.core.errors import UsageError

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.deferred.batches import Batches

DESCRIPTION = """\
Have the calls of deferred recording answered by a provider's Batch API.

  pytest --miniwob-record=defer        writes the calls without a completion to
                                       .miniwob/pending.jsonl
  miniwob-agent batch submit           submits them to the provider
  miniwob-agent batch status --wait    waits until they are answered
  miniwob-agent batch fetch            downloads them to .miniwob/answers.jsonl
  pytest --miniwob-record=defer --miniwob-answers=.miniwob/answers.jsonl
                                       records them, and waits for the next

Repeat the last four until no request is waiting. Every step can be interrupted and repeated: a
request is never in two batches at a time, and never submitted again once it is answered. The key is
taken from OPENAI_API_KEY.

Requests of items that the last deferred run did not collect (of a seed, a task, an agent or a model
that is no longer used) are not submitted; `drop unused` removes them. An answer that holds what
looks like a secret is refused; `drop refused` forgets it, so that `submit` asks again.
"""

STEPS = {
    "submit": "submit the requests that wait and are not in a batch yet",
    "status": "show the progress of the batches",
    "fetch": "write the answers of completed batches to answers.jsonl",
    "drop": "remove requests or answers that are in the way",
}


def add(commands: Commands) -> None:
    """Add the arguments of all steps."""
    steps = commands.add_parser(
        "batch",
        help="have the calls of deferred recording answered by a provider's Batch API",
        description=DESCRIPTION,
    ).add_subparsers(required=True, metavar="STEP", dest="step")
    for step, summary in STEPS.items():
        parser = steps.add_parser(step, help=summary, description=f"{summary.capitalize()}.")
        parser.add_argument(
            "--pending",
            type=Path,
            metavar="FILE",
            default=PENDING,
            help="the batch file; batches.json and answers.jsonl are beside it (%(default)s)",
        )
        parser.set_defaults(run=run, base_url=None)
        if step != "drop":
            parser.add_argument(
                "--base-url",
                metavar="URL",
                help="the server (default: OPENAI_BASE_URL, or OpenAI's)",
            )
        else:
            parser.add_argument(
                "what",
                choices=["unused", "refused"],
                metavar="unused | refused",
                help="unused: requests of items that the last deferred run did not collect; "
                "refused: answers that hold what looks like a secret, which are then asked for "
                "again",
            )
        if step == "status":
            parser.add_argument(
                "--wait", action="store_true", help="wait until all batches are completed"
            )


def run(options: Namespace) -> int:
    """Carry out a step; 1 if a batch failed, 130 after an interrupt."""
    from pytest_miniwob_agent.cassettes.deferred.batches import Batches

    batches = Batches(options.pending, options.base_url, lambda line: print(line, flush=True))
    try:
        with closing(batches):
            succeeded = _carry_out(batches, options)
    except OSError as error:
        raise UsageError(str(error)) from error
    except KeyboardInterrupt:
        show_progress("")
        print("interrupted; nothing is lost, run it again to continue", file=sys.stderr)
        return 130
    return 0 if succeeded else 1


def _carry_out(batches: Batches, options: Namespace) -> bool:
    """Carry out the step; False if a batch failed."""
    if options.step == "submit":
        batches.submit()
        return True
    if options.step == "fetch":
        return batches.fetch()
    if options.step == "status":
        return batches.status(show_progress if options.wait else None)
    batches.drop_unused() if options.what == "unused" else batches.drop_refused()
    return True
