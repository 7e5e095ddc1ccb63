"""A run beside the published figures of three papers, for `miniwob-agent tables`.

- `tables`: a run in the form of the papers' tables, beside the published figures
- `figures`: what else the papers show: further tables, variants, and the values of figures
- `command`: the command
- `output`, `plot.css`: tables as text, as JSON, and as bars in one SVG
- `data/`: the published figures
"""

from __future__ import annotations

from pytest_miniwob_agent.hookspec import Subcommand


def pytest_miniwob_commands() -> list[Subcommand]:
    text = "compare runs with the published figures"
    return [Subcommand("tables", text, f"{__name__}.command:add_tables")]
