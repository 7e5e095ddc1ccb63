"""Programs in any language as agents: `--miniwob-agent='node agent.mjs'`.

`agent` runs the program on the item's page, `environment` has the variables that it gets.
"""

from __future__ import annotations


def pytest_miniwob_agents() -> dict[str, str]:
    return {"program": f"{__name__}.agent:ProgramAgent"}
