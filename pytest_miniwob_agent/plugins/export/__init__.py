"""Results for other tools: `miniwob-agent results export`.

`table` makes the table, `command` is the command.
"""

from __future__ import annotations

from pytest_miniwob_agent.hookspec import Subcommand


def pytest_miniwob_commands() -> list[Subcommand]:
    text = "write results as a table for other tools"
    return [Subcommand("results export", text, f"{__name__}.command:add_export")]
