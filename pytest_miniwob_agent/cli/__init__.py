"""The command `miniwob-agent`.

- `episodes`: one recorded item in the terminal or in a window, and copies of an agent's prompts.
- `cassettes`: recorded calls, and calls that wait for a Batch API.
- `results`: what runs have written: exports, comparisons, tables and reports.
- `tasks`: the tasks, your own pages, and whether pages are deterministic.
- `doctor`: what a run needs.
- `arguments`: what several commands share.

What only a command's own function needs is imported there, so that `--help` is fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pytest_miniwob_agent.cli import cassettes, doctor, episodes, results, tasks
from pytest_miniwob_agent.cli.arguments import Parser
from pytest_miniwob_agent.core.errors import MiniwobError
from pytest_miniwob_agent.core.secrets import mask

COMMANDS = (
    doctor.add_doctor,
    episodes.add_show,
    episodes.add_play,
    cassettes.add_cassettes,
    cassettes.add_batch,
    episodes.add_prompts,
    results.add_compare,
    results.add_results,
    results.add_tables,
    tasks.add_tasks,
    tasks.add_new_task,
    tasks.add_open,
    tasks.add_certify,
)
"""What adds the parsers of the commands, in the order of `--help`."""

EXAMPLES = """\
Examples:

  miniwob-agent doctor                          is everything there?
  miniwob-agent show click-menu-2/1000          what did the agent do?
  miniwob-agent cassettes lint                  is every recording intact and used?
  miniwob-agent compare git:main results.jsonl  what did a change do?

Arguments after -- are those of the pytest run whose items are meant. docs/your-own-pages.md and
docs/test-your-app.md show how to bring pages and a running app.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, 1 if it found a problem, or 2 for wrong usage."""
    parser = Parser(
        prog="miniwob-agent",
        description="Tools for the pytest plugin pytest-miniwob-agent, which runs web agents on "
        "MiniWoB++ pages and replays their model calls.",
        epilog=EXAMPLES,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in COMMANDS:
        add(commands)
    given = list(sys.argv[1:] if arguments is None else arguments)
    end = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:end])
    if hasattr(options, "pytest_args"):  # argparse takes none behind an option
        options.pytest_args += given[end + 1 :]
    elif others := given[end + 1 :]:
        parser.error(
            f"this command runs no pytest, and takes nothing behind --: {' '.join(others)}"
        )
    try:
        status: int = options.run(options)
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does after some lines
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (MiniwobError, OSError) as error:
        print(mask(f"miniwob-agent: {error}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print()
        return 130
    return status
