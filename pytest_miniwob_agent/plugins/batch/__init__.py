"""Deferred calls by a provider's Batch API: `miniwob-agent batch`.

`batches` submits and fetches them, `command` is the command.
"""

from __future__ import annotations

from pytest_miniwob_agent.hookspec import Subcommand


def pytest_miniwob_commands() -> list[Subcommand]:
    text = "send the calls of deferred recording to a provider's Batch API"
    return [Subcommand("batch", text, f"{__name__}.command:add_batch")]
