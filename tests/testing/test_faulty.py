"""Answers of a model that are damaged on purpose."""

import json

import pytest

from pytest_miniwob_agent import Completion, ToolCall
from pytest_miniwob_agent.testing import FAULTS, FaultyLLM, ScriptedLLM

CALL = Completion("", tool_calls=(ToolCall("1", "click", '{"element": 1}'),))


@pytest.mark.parametrize("fault", FAULTS)
def test_one_answer_is_damaged_and_the_others_are_not(fault):
    llm = FaultyLLM(ScriptedLLM(["click id=1", CALL, CALL, CALL]), fault, call=2)
    first, second, *others = [
        llm.chat([{"role": "user", "content": "go"}], "act") for _ in range(4)
    ]
    assert first.text == "click id=1"
    assert llm.damaged == 2
    assert all(one.tool_calls[0].arguments == '{"element": 1}' for one in others)
    match fault:
        case "refusal":
            assert second.refusal
            assert not second.tool_calls
        case "unknown-tool":
            assert second.tool_calls[0].name == "click_now"
        case _:
            with pytest.raises(json.JSONDecodeError):
                json.loads(second.tool_calls[0].arguments)
            assert (second.finish_reason == "length") == (fault == "cut-off")


def test_where_there_is_nothing_to_damage_it_is_the_next_answer():
    llm = FaultyLLM(ScriptedLLM(["click id=1", CALL]), "damaged-json")
    llm.complete("go", "act")
    assert not llm.damaged
    llm.chat([{"role": "user", "content": "go"}], "act")
    assert llm.damaged == 2


PROJECT = """
    import pytest
    from pytest_miniwob_agent import Completion, Perturbation, ToolCall
    from pytest_miniwob_agent.testing import FAULTS, FaultyLLM, ScriptedLLM

    @pytest.fixture
    def miniwob_llm(miniwob_case):
        call = ToolCall("1", "click", '{"element": 1}')
        llm = ScriptedLLM([Completion("", tool_calls=(call,))] * 3)
        return FaultyLLM(llm, miniwob_case.perturbation)

    @pytest.mark.miniwob("click-test", seeds=[1], trials=1, perturb=[*map(Perturbation, FAULTS)])
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""


def test_a_fault_is_a_perturbation_of_an_item(pytester):
    pytester.makepyfile(PROJECT)
    result = pytester.runpytest("-v", "-p", "no:randomly", "--miniwob-agent=tools")
    result.assert_outcomes(passed=4)
    for fault in FAULTS:
        assert f"1-screen-1-step/click-test~{fault}/1" in result.stdout.str()
