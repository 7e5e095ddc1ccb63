"""`miniwob-agent compare` as text, Markdown and JSON, and a gate's verdict as lines."""

import json
import re

import pytest
from support.git import git
from support.made_results import HOSTILE, after, before, joined, make_result, run_of

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.core.text import wrap
from pytest_miniwob_agent.results.comparison import Comparison
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.gate import Gate, judge
from pytest_miniwob_agent.terminal.views import ComparisonView, verdict_lines


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    before().write(tmp_path / "old.jsonl")
    after().write(tmp_path / "new.jsonl")
    return tmp_path


@pytest.mark.parametrize("results", [Results(()), before()], ids=["no items", "one set-up"])
def test_one_file_with_nothing_to_compare_within_it_is_an_error(files, capsys, results):
    results.write(files / "one.jsonl")
    assert main(["compare", "one.jsonl"]) == 2
    assert "one.jsonl has one agent and model" in capsys.readouterr().err


class TestText:
    def test_it_shows_setup_rates_changed_items_calls_and_tokens(self, files, capsys):
        assert main(["compare", "old.jsonl", "new.jsonl"]) == 0
        printed = capsys.readouterr().out
        lines = printed.splitlines()
        assert lines[:7] == [
            "results: old.jsonl -> new.jsonl",
            "agent: reflective",
            "model: m -> m2",
            "samples per item: 1",
            'parameters: {"temperature":0} -> {"temperature":1}',
            "prompt extra.txt: not used -> dd",
            "prompt plan.txt: aa -> cc",
        ]
        table = {line.split()[0]: line.split()[1:4] for line in lines if "(" in line}
        assert table["whole"] == ["30", "93.3", "(79–98)"]
        assert table["n-screen-n-step"][:2] == ["20", "90"]
        assert "95 % intervals, over the items that both have" in printed.replace("\n", " ")
        item = "  n-screen-n-step/click-pie"
        lost = f"{item}/5: solved in trial 1 -> unsolved (cycle ×2, failed)"
        assert lines[lines.index("worse (2)") + 1] == lost
        gained = f"{item}/0: unsolved (cycle ×2, failed) -> solved in trial 1"
        assert lines[lines.index("better (1)") + 1] == gained
        assert "model calls: all 60 -> 90; plan 60 -> 60; reflect 0 -> 30" in lines
        assert "tokens: completion 300 -> 600; prompt 30,000 -> unknown" in lines

    def test_it_fits_the_terminal_and_has_no_colours(self, files, capsys):
        long = {"task": "a-task-of-an-exceedingly-long-name", "category": "c" * 40}
        old = [make_result(s, s % 3 > 0, repeat=r) for s in range(40) for r in (1, 2, 3)]
        new = [make_result(s, repeat=r) for s in range(40) for r in (1, 2)]
        for name, runs in (("old", old), ("new", new)):
            odd = make_result(0, name == "old", **long)
            Results((odd, *runs)).write(files / f"{name}.jsonl")
        assert main(["compare", "old.jsonl", "new.jsonl", "--gate", "items"]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        assert not any("\x1b" in line for line in lines)

    def test_it_shows_pass_at_k_and_flips_of_repeats(self, files, capsys):
        run_of(["+++", "+--"]).write(files / "old.jsonl")
        run_of(["++-", "+--"]).write(files / "new.jsonl")
        assert main(["compare", "old.jsonl", "new.jsonl"]) == 0
        printed = capsys.readouterr().out
        rows = {line[:25].strip(): line[25:].split() for line in printed.splitlines()}
        # Two items with 3 of 3 and 1 of 3 solved; then 2 of 3 and 1 of 3.
        assert rows["pass@2"] == ["83.3", "83.3"]
        assert rows["pass^2"] == ["50", "16.7"]
        assert rows["solved in 2 or more"] == ["50", "50"]
        assert rows["flips between two samples"] == ["33.3", "66.7"]
        assert "95 % intervals, over the items that both have" in printed.replace("\n", " ")
        assert "click-pie/1: 3 of 3 solved (correct; correct; correct) ->" in printed

    def test_calls_and_tokens_are_those_of_the_samples_that_are_compared(self, files, capsys):
        for name, count in (("old", 2), ("new", 3)):
            samples = tuple(make_result(0, repeat=n) for n in range(1, count + 1))
            Results(samples).write(files / f"{name}.jsonl")
        assert main(["compare", "old.jsonl", "new.jsonl", "--format", "json"]) == 0
        data = json.loads(capsys.readouterr().out)
        assert data["calls"]["after"] == data["calls"]["before"] == {"all": 4, "plan": 4}
        assert data["tokens"]["after"] == {"prompt": 2000, "completion": 20}

    def test_items_of_one_side_inconclusive_items_and_partial_runs_are_listed(self, files, capsys):
        run_of("++").write(files / "old.jsonl")
        run_of("++e", first=2, partial=["-x"]).write(files / "new.jsonl")
        assert main(["compare", "old.jsonl", "new.jsonl"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert "only before: n-screen-n-step/click-pie/1" in lines
        assert "only after: n-screen-n-step/click-pie/3, n-screen-n-step/click-pie/4" in lines
        assert "error after: 1 (n-screen-n-step/click-pie/4)" in lines
        assert "partial run after: -x" in lines

    def test_runs_without_common_items_are_compared_and_fail_a_gate(self, files, capsys):
        Results((make_result(77),)).write(files / "new.jsonl")
        for form in ("text", "markdown", "json"):
            assert main(["compare", "old.jsonl", "new.jsonl", "--format", form]) == 0
            out = capsys.readouterr().out
            said = "No item is solved or unsolved in both files, so there are no rates to compare."
            assert (said in out, "points" in out) == (form != "json", False)
        assert main(["compare", "old.jsonl", "new.jsonl", "--gate", "paired"]) == 1
        assert "no item is in both result sets" in capsys.readouterr().out


def runs(limits=5, answered=("m-2025",), fingerprints=("fp_1",), **fields):
    """Results with differences that may explain a change: limits, and what answered."""
    limits = limits and Limits(limits)
    fields |= {"response_models": answered, "system_fingerprints": fingerprints, "limits": limits}
    return Results(tuple(make_result(seed, **fields) for seed in range(3)))


class TestWarnings:
    def test_other_limits_and_another_version_of_the_model_are_warned_of(self, files, capsys):
        runs().write(files / "old.jsonl")
        runs(1, ("m-2026",), ("fp_2",)).write(files / "new.jsonl")
        texts = [
            "limits: 5 trials, 30 steps, 500 calls -> 1 trial, 30 steps, 500 calls",
            "model that answered: m-2025 -> m-2026",
            "system fingerprint: fp_1 -> fp_2",
        ]
        assert main(["compare", "old.jsonl", "new.jsonl"]) == 0
        lines = capsys.readouterr().out.splitlines()
        warned = [line for line in lines if line.startswith("warning: ")]
        assert warned == [f"warning: {text}" for text in texts]
        main(["compare", "old.jsonl", "new.jsonl", "--format", "json"])
        assert json.loads(capsys.readouterr().out)["warnings"] == texts

    def test_what_is_unknown_or_was_asked_of_another_model_is_not_warned_of(self):
        assert Comparison(runs(), runs(None, ("m-2026",), ("fp_2",), model="m2")).warnings == []

    def test_several_fingerprints_in_another_order_are_no_difference(self):
        both = Comparison(runs(fingerprints=("a", "b")), runs(fingerprints=("b", "a")))
        assert both.warnings == []


class TestExitStatus:
    @pytest.mark.parametrize(
        ("gate", "status", "printed"),
        [
            ("items", 1, "gate items: FAILED\n  2 items solved before"),
            ("rate:5", 0, "gate rate:5: passed\n"),
            ("paired", 1, "gate paired:0.05: inconclusive, which fails the run\n"),
            ("paired,lenient", 0, "gate paired:0.05,lenient: inconclusive\n"),
            ("items,calls:+40%", 1, "more than calls:+40% allows\n"),
        ],
    )
    def test_a_red_or_inconclusive_gate_is_1_and_a_green_or_lenient_one_0(
        self, files, capsys, gate, status, printed
    ):
        assert main(["compare", "old.jsonl", "new.jsonl", "--gate", gate]) == status
        assert printed in capsys.readouterr().out

    def test_wrong_usage_is_2(self, files, capsys):
        assert main(["compare", "old.jsonl", "new.jsonl", "--gate", "pared"]) == 2
        assert "did you mean paired" in capsys.readouterr().err
        assert main(["compare", "old.jsonl", "none.jsonl"]) == 2
        assert "there is no results file none.jsonl" in capsys.readouterr().err


def test_lines_break_between_words_alone():
    name = "n-screen-n-step/" + "a-task-of-an-exceedingly-long-name" * 2
    assert wrap(f"- {name}: lost", 40, 2) == ["  -", f"    {name}:", "    lost"]


class TestSeveral:
    def test_each_is_compared_with_the_first_and_corrected(self, files, capsys):
        run_of("+" * 20).write(files / "a.jsonl")
        run_of("+" * 14 + "-" * 6).write(files / "b.jsonl")
        run_of("+" * 16 + "-" * 4).write(files / "c.jsonl")
        runs = ["compare", "a.jsonl", "b.jsonl", "c.jsonl"]
        assert main(runs) == 0
        printed = capsys.readouterr().out
        # 6 and 4 of 20 pairs differ, all for the worse: 2 / 2⁶ and 2 / 2⁴, by Holm 4 / 2⁶ first.
        assert "2: b.jsonl\n3: c.jsonl\n" in printed
        rows = [line.split() for line in printed.splitlines()]
        assert ["0.031", "0.062"] in [row[-2:] for row in rows]
        assert ["0.12", "0.12"] in [row[-2:] for row in rows]
        main([*runs, "--format", "json"])
        assert json.loads(capsys.readouterr().out)["p_holm"] == [0.0625, 0.125]

    def test_a_gate_judges_one(self, files, capsys):
        assert main(["compare", "old.jsonl", "new.jsonl", "new.jsonl", "--gate", "items"]) == 2
        assert "--gate judges one run" in capsys.readouterr().err


def test_by_task_says_so_and_has_the_verdict_by_task_too(files, capsys):
    main(["compare", "old.jsonl", "new.jsonl", "--by-task", "--gate", "paired"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "over the tasks that both have, whose seeds count as one; p is" in printed
    assert re.search(r"gate paired:0.05:by-task: inconclusive.* interval [^)]*, by task\)", printed)


def test_without_a_baseline_nothing_is_judged(files, capsys, monkeypatch):
    git(files, "init", "-q", "-b", "main")
    git(files, "commit", "-q", "--allow-empty", "-m", "x")
    arguments = ["compare", "git:main", "new.jsonl", "--gate", "items"]
    remark = "no baseline yet, nothing judged: main has no new.j"
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith(remark)
    assert main([*arguments, "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"miniwob_compare": 1, "baseline": None}
    assert printed.err.startswith(remark)


def test_json_has_rates_items_tokens_and_the_gate(files, capsys):
    assert main(["compare", "old.jsonl", "new.jsonl", "--format", "json", "--gate", "items"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert set(data) == {
        "miniwob_compare", "setup", "warnings", "partial", "rates", "by_task", "items",
        "missing", "new", "unclear", "calls", "tokens", "grades", "gate",
    }  # fmt: skip
    whole = data["rates"].pop("whole")
    assert (whole["items"], whole["worse"], whole["better"]) == (30, 2, 1)
    assert whole["before"]["rate"] == pytest.approx(28 / 30)
    assert whole["difference"] == pytest.approx(-1 / 30)
    assert whole["interval"][0] < -1 / 30 < whole["interval"][1]
    # Of three pairs that differ at most one is better in 4 of 8 patterns.
    assert (whole["p_worse"], whole["p_two_sided"]) == (0.5, 1)
    assert set(data["rates"]) == {"1-screen-1-step", "n-screen-n-step"}
    assert len(data["items"]) == 30
    (lost,) = [each for each in data["items"] if each["item"] == "n-screen-n-step/click-pie/5"]
    assert lost["change"] == -1
    (sample,) = lost["after"]
    assert (sample["outcome"], sample["endings"]) == ("unsolved", ["cycle", "cycle", "failed"])
    assert data["tokens"]["after"] == {"prompt": None, "completion": 600}
    gate = data["gate"]
    assert (gate["verdict"], gate["failed"]) == ("failed", True)
    assert gate["reasons"][0]["kind"] == "regressed"
    assert gate["progressed"] == ["n-screen-n-step/click-pie/0"]
    main(["compare", "old.jsonl", "new.jsonl", "--format", "json", "--gate", "paired"])
    gate = json.loads(capsys.readouterr().out)["gate"]
    assert (gate["verdict"], gate["failed"]) == ("inconclusive", True)
    (reason,) = gate["reasons"]
    assert reason["kind"] == "undecided"
    assert "record more seeds" in reason["hint"]


def test_no_line_of_text_is_a_workflow_command():
    base = Results(
        (make_result(0, task=HOSTILE), make_result(1, task="x " + "y" * 57 + "::stop-commands::t"))
    )
    head = Results((make_result(0, False, task=HOSTILE), make_result(1, task="z")))
    for width in range(40, 100):
        text = ComparisonView(Comparison(base, head), judge(base, head, Gate())).text(width)
        assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
        assert "\x1b" not in text


def test_markdown_is_the_text_as_a_block_of_code_that_nothing_ends():
    names = {"task": HOSTILE, "model": "```\n# x", "prompts": {HOSTILE: "x"}}
    base = Results((make_result(0, **names), make_result(1, **names)))
    head = Results((make_result(0, False, task=HOSTILE), make_result(1, task=HOSTILE)))
    view = ComparisonView(Comparison(base, head), judge(base, head, Gate()))
    text = view.markdown()
    assert text.startswith("### MiniWoB++ results\n\nGate `items`: **failed**\n\n```\nresults: ")
    assert text.endswith("again\n```\n")
    assert text.count("```") == 2
    assert "\x1b" not in text
    text.encode()


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
    red = judge(run_of("++++-+"), run_of("+--++"), Gate.parse("rate:50"))  # one is missing
    assert "  2 items no longer solved" in verdict_lines(red, 200)
    assert verdict_lines(verdict, 200, changes=False) == ["gate rate:50: passed"]


def test_an_item_of_two_reasons_is_listed_once():
    # The whole lists the items; a category that is red too does not list them again.
    base = joined(run_of("+" * 40), run_of("+" * 40, "1-screen-1-step"))
    head = joined(run_of("-" * 12 + "+" * 28), run_of("-" + "+" * 39, "1-screen-1-step"))
    verdict = judge(base, head, Gate.parse("paired"))
    names = [reason.text.partition(":")[0] for reason in verdict.reasons]
    assert names == ["whole", "n-screen-n-step"]
    assert [bool(reason.hint) for reason in verdict.reasons] == [False, True]
    lines = verdict_lines(verdict, 200)
    for pair in verdict.regressed:
        assert lines.count(f"    {pair}") == 1
