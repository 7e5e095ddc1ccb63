"""Moves of the page's clock: which of those of a recording is due."""

from pytest_miniwob_agent.core.pace import Move, Pace


def test_a_move_is_due_after_what_came_before_it_whatever_is_left_of_others():
    asked, silent = Move(1, 0, "call-1", "call-2", 500), Move(1, 0, "", "call-1", 900)
    pace = Pace([asked, silent], strict=True)
    pace.begin_trial()
    assert pace.due() == silent
    assert pace.due("call-2") == asked
