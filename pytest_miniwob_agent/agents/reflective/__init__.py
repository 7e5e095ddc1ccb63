"""The zero-shot agent with structured reflection."""

from pytest_miniwob_agent.agents.reflective.agent import ReflectiveAgent

__all__ = ["ReflectiveAgent"]
