"""The commands of `miniwob-agent batch` as they are shown to people."""

from __future__ import annotations

import shlex
from pathlib import Path

from pytest_miniwob_agent.core.files import shown_from_here
from pytest_miniwob_agent.models.params import shown_url

PENDING = Path(".miniwob/pending.jsonl")
"""The batch file of deferred recording, below the project's folder."""


def batch_command(step: str, pending: Path, base_url: str | None = None) -> str:
    """Return a command of `miniwob-agent batch` that works in the working directory.

    Args:
        step: the step with its arguments, such as `status --wait`.
        pending: the batch file; named in the command unless it is the default.
        base_url: the server, if an option names it; shown without a user, a password and a query.
    """
    command = f"miniwob-agent batch {step}"
    if pending.absolute() != PENDING.absolute():
        command += f" --pending={shlex.quote(str(shown_from_here(pending)))}"
    if base_url:
        command += f" --base-url={shlex.quote(shown_url(base_url))}"
    return command
