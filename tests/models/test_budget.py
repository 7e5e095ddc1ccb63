"""Budgets of live calls, over real HTTP and real workers, and prices."""

import contextlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from support.projects import solve_menu

from pytest_miniwob_agent.core.chat import Usage
from pytest_miniwob_agent.core.errors import BudgetReached, UsageError
from pytest_miniwob_agent.models.budget import Budget, Price, money, parse_prices, usage_cost

CALL = Usage(calls=1, prompt=1_000_000, completion=100_000)


@pytest.fixture
def live(project, chat_server):
    chat_server.reply = solve_menu
    return lambda *more, only="click-menu-2": project.record("-k", only, *more)


def test_a_run_stops_at_the_most_calls_and_the_next_one_continues(live, chat_server):
    result = live("--miniwob-max-calls=4")
    assert len(chat_server.requests) == 4
    assert result.parseoutcomes() == {"passed": 1, "budget": 1, "deselected": 10}
    result.stdout.fnmatch_lines(
        ["budget: --miniwob-max-calls=4 is reached, 1 item skipped; run again to continue"]
    )
    live("--miniwob-max-calls=2").assert_outcomes(passed=2, deselected=10)
    assert len(chat_server.requests) == 6


def test_after_a_stop_of_record_all_it_says_what_continues(live, chat_server):
    result = live("--miniwob-max-calls=4", "--miniwob-record=all")
    result.stdout.fnmatch_lines(
        [
            "*1 item skipped; run with --miniwob-record=new_episodes, which replays older "
            "cassettes, to continue"
        ]
    )
    live("--miniwob-max-calls=2").assert_outcomes(passed=2, deselected=10)
    assert len(chat_server.requests) == 6


def test_items_that_need_no_live_call_run_beyond_the_budget(live, chat_server):
    live(only="click-menu-2/2")
    result = live("--miniwob-max-calls=1", "-p", "no:randomly")
    assert result.parseoutcomes() == {"passed": 1, "budget": 1, "deselected": 10}
    assert len(chat_server.requests) == 4


def test_a_run_stops_at_the_most_cost(live, chat_server):
    """11 prompt and 3 completion tokens per call: 14 cents."""
    result = live("--miniwob-max-cost=0.5", "--miniwob-prices=m 1e4 1e4")
    assert result.parseoutcomes() == {"passed": 1, "budget": 1, "deselected": 10}
    assert len(chat_server.requests) == 4
    reason = "--miniwob-max-cost=0.5 is reached: $0.56 spent, 1 item"
    result.stdout.fnmatch_lines(["tokens: 56 spent*", "money: $0.56 spent*", f"budget: {reason}*"])


def test_each_repeat_is_an_item_with_a_cassette(project, live):
    live("--miniwob-repeats=2", only="click-menu-2/1").assert_outcomes(passed=2, deselected=22)
    folder = project.path / "cassettes/reflective/m/click-menu-2"
    assert sorted(path.name for path in folder.iterdir()) == ["1-2.yaml", "1.yaml"]


class Gauge:
    """The number of threads that are in it at once, and the most there have been."""

    def __init__(self):
        self.inside = self.most = 0
        self._lock = threading.Lock()

    def __enter__(self):
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)

    def __exit__(self, *error):
        with self._lock:
            self.inside -= 1


@pytest.mark.sweep
def test_workers_share_the_most_calls_and_the_most_under_way(live, chat_server):
    gauge = Gauge()

    def reply(prompt):
        with gauge:
            time.sleep(0.2)
        return solve_menu(prompt)

    chat_server.reply = reply
    result = live("-n3", "--miniwob-concurrency=2", "--miniwob-max-calls=10", only="click")
    assert gauge.most == 2
    assert len(chat_server.requests) == 10
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] + outcomes["budget"] == 12
    assert outcomes["passed"] <= 3


class TestBudget:
    def test_ctrl_c_while_the_lock_is_taken_leaves_the_budget_readable(self, tmp_path):
        """At each line of that; the end of the run reads the budget."""
        moments = 0
        for moment in range(1, 200):
            lines, folder = [], tmp_path / str(moment)
            folder.mkdir()

            def trace(frame, event, _, moment=moment, lines=lines):
                if frame.f_code.co_name == "_poll_until_acquired" and event == "line":
                    lines.append(frame.f_lineno)
                    if len(lines) == moment:
                        raise KeyboardInterrupt
                return trace

            before = sys.gettrace()
            sys.settrace(trace)
            try:
                Budget(folder).stop("full")
            except KeyboardInterrupt:
                moments += 1
            finally:
                sys.settrace(before)
            if len(lines) < moment:
                break
            assert Budget(folder).recorded() == Usage()
        assert moments > 3

    def test_threads_keep_to_both_limits(self, tmp_path):
        gauge, pair = Gauge(), threading.Barrier(2)
        made = []

        def work():
            budget = Budget(tmp_path, calls=20, concurrency=2)
            with contextlib.suppress(BudgetReached):
                while True:
                    with budget.call() as payment, gauge:
                        pair.wait(300)
                        made.append(1)
                        payment.answered = True

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 20
        assert gauge.most == 2

    @pytest.mark.integration
    def test_a_process_that_is_killed_frees_its_place_and_the_ledger(self, tmp_path):
        script = """
            import os, pathlib, signal, sys
            from pytest_miniwob_agent.models.budget import Budget
            budget = Budget(pathlib.Path(sys.argv[1]), calls=2, concurrency=1)
            with budget.call(), budget._ledger():
                os.kill(os.getpid(), signal.SIGKILL)
        """
        command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        budget = Budget(tmp_path, calls=2, concurrency=1)
        with budget.call() as payment:
            payment.answered = True
        with pytest.raises(BudgetReached), budget.call():  # the one in the dead process counts
            pass

    def test_a_cost_that_is_unknown_ends_the_run(self, tmp_path):
        budget = Budget(tmp_path, cost=1, price=(1.0, 1.0))
        with budget.call() as payment:
            payment.answered = True
        with pytest.raises(BudgetReached, match="had no token counts"), budget.call():
            pass

    def test_a_failed_call_frees_its_place_and_is_not_counted(self, tmp_path):
        budget = Budget(tmp_path, calls=1, concurrency=1)
        for _ in range(3):
            with pytest.raises(ConnectionError), budget.call():
                raise ConnectionError
        with budget.call() as payment:
            payment.answered = True
        with pytest.raises(BudgetReached, match="max-calls=1 is reached"), budget.call():
            pass


class TestPrices:
    def test_prices_are_lines_or_separated_by_commas(self):
        text = "gpt-5 1.25 10\n  own/model-7b 0 0\n\n"
        assert parse_prices(text) == {"gpt-5": Price(1.25, 10), "own/model-7b": Price(0, 0)}
        assert parse_prices("a 1 2, b 3 4") == {"a": Price(1, 2), "b": Price(3, 4)}
        rates = parse_prices("a 1 2 cached=0.1 written=1.25\nb 1 2 cached=0")
        assert rates == {"a": Price(1, 2, 0.1, 1.25), "b": Price(1, 2, 0)}
        assert parse_prices("") == {}

    @pytest.mark.parametrize(
        "text",
        ["a", "a 1", "a 1 2 3", "a x 1", "a -1 1", "a nan 1", "a 1 2 cached", "a 1 2 cached=-1",
         "a 1 2 cashed=1"],
    )  # fmt: skip
    def test_another_form_of_a_price_is_an_error(self, text):
        with pytest.raises(UsageError, match=r"is not a price: give MODEL PROMPT COMPLETION"):
            parse_prices(text)

    def test_the_cost_is_unknown_without_a_price_or_a_token_count(self):
        assert usage_cost(CALL, Price(1.25, 10)) == pytest.approx(2.25)
        assert usage_cost(CALL, None) is None
        assert usage_cost(CALL + Usage(calls=1, uncounted=1), Price(1.25, 10)) is None
        assert usage_cost(Usage(), None) == 0.0

    def test_cached_tokens_have_rates_of_their_own_if_these_are_given(self):
        usage = Usage(1, prompt=1_000_000, completion=0, cached=600_000, written=300_000)
        assert usage_cost(usage, Price(2, 10)) == pytest.approx(2)
        assert usage_cost(usage, Price(2, 10, cached=0.5)) == pytest.approx(0.2 + 0.3 + 0.6)
        assert usage_cost(usage, Price(2, 10, 0.5, 2.5)) == pytest.approx(0.2 + 0.3 + 0.75)

    def test_money_has_as_many_digits_as_small_amounts_need(self):
        amounts = [None, 0.0, 0.00123, 0.5, 12.345]
        assert list(map(money, amounts)) == ["unknown", "$0.00", "$0.0012", "$0.5", "$12.35"]
