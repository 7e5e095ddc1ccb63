"""For people who write agents: fakes to run one on, and the tests that each must pass."""

from pytest_miniwob_agent.testing.contract import agent_contract
from pytest_miniwob_agent.testing.fakes import FakeEnvironment, ScriptedLLM

__all__ = ["FakeEnvironment", "ScriptedLLM", "agent_contract"]
