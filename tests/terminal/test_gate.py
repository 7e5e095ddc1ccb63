"""A gate's verdict as lines for a terminal."""

from made_results import joined, run_of

from pytest_miniwob_agent.results.gate import Gate, judge
from pytest_miniwob_agent.terminal.comparison import verdict_lines


def test_a_red_verdict_fits_the_width_and_lists_items_and_hints():
    verdict = judge(run_of("+" * 30), run_of("-" * 25 + "+" * 4), Gate())
    for width in (60, 80, 200):
        lines = verdict_lines(verdict, width, most=3)
        assert max(map(len, lines)) <= width
    assert verdict_lines(verdict, 100, most=3) == [
        "gate items: FAILED",
        "  1 item of the baseline did not run",
        "    n-screen-n-step/click-pie/30",
        "  -> run them too; if they were removed on purpose, write the baseline again",
        "  25 items solved before and no longer",
        "    n-screen-n-step/click-pie/1: solved in trial 1 -> unsolved (cycle, failed)",
        "    n-screen-n-step/click-pie/10: solved in trial 1 -> unsolved (cycle, failed)",
        "    n-screen-n-step/click-pie/11: solved in trial 1 -> unsolved (cycle, failed)",
        "    and 22 more",
        "  -> fix the change; if the loss is wanted, write the baseline again",
    ]
    assert verdict_lines(judge(run_of("+"), run_of("+"), Gate())) == ["gate items: passed"]


def test_a_green_verdict_lists_the_changes_that_the_gate_allows():
    verdict = judge(run_of("++++-+"), run_of("+--+++"), Gate.parse("rate:50"))
    assert verdict_lines(verdict, 200, most=1, more="all with -v") == [
        "gate rate:50: passed",
        "  2 items no longer solved, which this gate allows",
        "    n-screen-n-step/click-pie/2: solved in trial 1 -> unsolved (cycle, failed)",
        "    and 1 more (all with -v)",
        "  1 item solved now and not in the baseline",
        "    n-screen-n-step/click-pie/5: unsolved (cycle, failed) -> solved in trial 1",
    ]
    assert len(verdict_lines(verdict, 200, most=None)) == 6
    assert verdict_lines(verdict, 200, changes=False) == ["gate rate:50: passed"]


def test_an_item_of_two_reasons_is_listed_once():
    # The whole lists the items; a category that is red too does not list them again.
    base = joined(run_of("+" * 40), run_of("+" * 40, "1-screen-1-step"))
    head = joined(run_of("-" * 12 + "+" * 28), run_of("-" + "+" * 39, "1-screen-1-step"))
    verdict = judge(base, head, Gate.parse("paired"))
    assert [reason.text.partition(":")[0] for reason in verdict.reasons] == [
        "whole",
        "n-screen-n-step",
    ]
    assert [bool(reason.hint) for reason in verdict.reasons] == [False, True]
    lines = verdict_lines(verdict, 200)
    for pair in verdict.regressed:
        assert lines.count(f"    {pair}") == 1
