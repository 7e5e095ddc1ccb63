"""The agent that writes programs (WebWISE, Tao et al., 2024).

`agent` is the algorithm. `objects` filters what a program can name, `page` has the functions that
act on it, `examples` saves and reads what was solved. `language` checks a program, `interpreter`
runs it, with the `functions` of Python that it may call.
"""

from pytest_miniwob_agent.agents.webwise.agent import WebWISEAgent

__all__ = ["WebWISEAgent"]
