"""For tests of your own agents: fakes, and a contract.

- `fakes`: a page without a browser, a model without a server; replies, tool calls, programs and
  pages that no agent may fail on.
- `faulty`: a model that damages one answer of another.
- `playwright`: the reward of an `AppTask` on a page of Playwright.
- `contract`: the tests that every agent must pass, their page, and the rules of an episode.
"""

from pytest_miniwob_agent.testing.contract import agent_contract
from pytest_miniwob_agent.testing.fakes import FakePage, ScriptedLLM, VisibleFakePage
from pytest_miniwob_agent.testing.faulty import FAULTS, FaultyLLM

__all__ = ["FAULTS", "FakePage", "FaultyLLM", "ScriptedLLM", "VisibleFakePage", "agent_contract"]
