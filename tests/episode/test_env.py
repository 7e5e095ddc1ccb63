"""What agents may ask of the environment."""

import pytest

from pytest_miniwob_agent import Case, Click, Element, Limits, UsageError, run_episode
from pytest_miniwob_agent.testing import FakePage, ScriptedLLM


def test_what_is_no_action_is_not_taken_for_one():
    class Steps:
        name = "steps"

        def solve(self, env, llm, note):
            env.reset()
            for wrong in (None, "click id=1", Click):
                with pytest.raises(UsageError, match=r"an action, such as Click\(4\), and not"):
                    env.step(wrong)
            env.step(Click(1))

    page = FakePage(
        "Click.", {"only": [Element(1, "button", "ONE")]}, rewards={("only", "click id=1"): 1.0}
    )
    limits = Limits(trials=1, steps=1)
    episode = run_episode(
        Case("fake", "other", 0), Steps(), page, ScriptedLLM([]), limits, model="m"
    )
    assert episode.solved
