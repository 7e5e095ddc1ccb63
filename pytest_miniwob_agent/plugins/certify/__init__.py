"""Whether pages and apps are deterministic: `miniwob-agent certify`.

`certification` compares pages, `apps` items on apps, `command` is the command.
"""

from __future__ import annotations

from pytest_miniwob_agent.hookspec import Subcommand


def pytest_miniwob_commands() -> list[Subcommand]:
    text = "check that pages are deterministic"
    return [Subcommand("certify", text, f"{__name__}.command:add_certify")]
