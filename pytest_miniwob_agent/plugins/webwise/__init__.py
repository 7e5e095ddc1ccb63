"""WebWISE: an agent that writes programs of a small language.

`agent` is the agent, `language` has its functions, `interpreter` runs a program, and `page` is the
page as programs see it; `prompts/` has its prompt files.
"""

from __future__ import annotations


def pytest_miniwob_agents() -> dict[str, str]:
    return {"webwise": f"{__name__}.agent:WebWISEAgent"}
