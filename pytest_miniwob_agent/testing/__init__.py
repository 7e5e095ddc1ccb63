"""Tests for your own agents: fakes of page and model, and the contract that agents must keep."""

from pytest_miniwob_agent.testing.contract import agent_contract
from pytest_miniwob_agent.testing.fakes import (
    FakeEnvironment,
    ScriptedLLM,
    VisibleFakeEnvironment,
)

__all__ = ["FakeEnvironment", "ScriptedLLM", "VisibleFakeEnvironment", "agent_contract"]
