"""What agents may ask of the environment."""

import pytest
from support.scripted import Solving, button, play

from pytest_miniwob_agent import Click, UsageError
from pytest_miniwob_agent.testing import FakePage


def test_what_is_no_action_is_not_taken_for_one():
    @Solving
    def agent(env):
        env.reset()
        for wrong in (None, "click id=1", Click):
            with pytest.raises(UsageError, match=r"an action, such as Click\(4\), and not"):
                env.step(wrong)
        env.step(Click(1))

    rewards = {("only", "click id=1"): 1.0}
    page = FakePage("Click.", {"only": [button(1, "ONE")]}, rewards=rewards)
    assert play(agent, page, [], trials=1, steps=1)[0].solved
