"""The zero-shot agent with structured reflection (Li et al., 2023).

`agent` is the algorithm: run, play, act, reflect. `planning` has the three planners, `memory` what
is kept between trials, `dialogue` what the model is shown and asked, `screens` the ways to show a
screen, and `replies` reads plans and suggestions.
"""

from pytest_miniwob_agent.agents.reflective.agent import ReflectiveAgent

__all__ = ["ReflectiveAgent"]
