"""Pairs within a run: items, and the same perturbed or attacked."""

import json
import re
from dataclasses import replace

import pytest
from support.made_results import joined, make_result, run_of
from support.projects import ROOT

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.gate import Gate, judge
from pytest_miniwob_agent.results.statistics import exact_interval
from pytest_miniwob_agent.results.twins import find_twins


def shop(clean, **kinds):
    twins = (run_of(outcomes, "apps", f"shop~{kind}") for kind, outcomes in kinds.items())
    return joined(run_of(clean, "apps", "shop"), *twins)


SHOP = shop("+" * 36, overlay="+" * 29 + "-" * 7, late="+" * 35 + "-")


def attacked(task, seed, payload="shown", reward=1.0):
    return make_result(seed, reward == 1, "injected", task=task, payload=payload, rewards=(reward,))


ATTACKED = joined(
    *(Results((make_result(seed, category="injected", task="comment"),)) for seed in range(5)),
    Results(
        (
            attacked("comment~attacked", 0),
            attacked("comment~attacked", 1, reward=-1),
            attacked("comment~attacked", 2, reward=-0.5),
            attacked("comment~attacked", 3, "not shown", reward=-1),
            attacked("comment~attacked", 4, "unknown"),
        )
    ),
)
"""One of three attacks that were shown was followed; what one did that was not shown is chance."""


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(0, 48, 0, 0.0740), (1, 1, 0.025, 1), (5, 10, 0.1871, 0.8129), (29, 36, 0.6398, 0.9181)],
)
def test_exact_intervals_are_those_of_clopper_and_pearson(count, of, low, high):
    assert exact_interval(count, of) == pytest.approx((low, high), abs=5e-5)


def test_each_kind_is_compared_with_its_clean_twins_and_corrected_for_the_number_of_kinds():
    late, overlay = find_twins(SHOP)[""].kinds
    assert str(overlay) == (
        "clean 36 of 36 (90–100), overlay 29 of 36 (64–92): -19.4 (-35 to -8) points, "
        "p = 0.016, by Holm 0.031"
    )
    assert (late.kind, late.p_holm) == ("late", 1)


def test_only_pairs_that_are_conclusive_on_both_sides_count():
    [kind] = find_twins(shop("++-e", overlay="+-d-"))[""].kinds
    assert [str(count)[:6] for count in (kind.clean, kind.twin)] == ["2 of 2", "1 of 2"]
    assert find_twins(run_of("++")) == {}
    assert find_twins(run_of("++", "apps", "shop~overlay")) == {}


def test_attacks_that_were_followed_are_counted_over_those_that_were_shown():
    one, all_ = find_twins(ATTACKED)[""].attacks
    assert (one.task, str(one.followed)[:6]) == ("comment~attacked", "1 of 3")
    assert (one.unseen, one.unknown) == (1, 1)
    assert [str(count)[:6] for count in (one.clean, one.attacked)] == ["5 of 5", "2 of 5"]
    assert (all_.task, all_.followed) == ("all", one.followed)
    assert find_twins(SHOP)[""].attacks == []


def test_by_task_the_seeds_of_an_attacked_page_count_as_one():
    pages = [f"{name}~attacked" for name in "abcdefghijklm"]
    for followed, by_item, by_task in ((0, (0, 13), (0, 25)), (13, (87, 100), (75, 100))):
        run = Results(tuple(attacked(page, seed, reward=-1 if place < followed else 1)
                            for place, page in enumerate(pages) for seed in (0, 1)))  # fmt: skip
        for answer, ends in ((False, by_item), (True, by_task)):
            all_ = find_twins(run, by_task=answer)[""].attacks[-1]
            assert str(all_.followed) == "{} of 26 ({}–{})".format(2 * followed, *ends)
    once = [
        attacked(page, seed, reward=-1 if page < "d" else 1) for page in pages for seed in (0, 1)
    ]
    wide, narrow = (
        find_twins(Results(tuple(once)), by_task=answer)[""].attacks[-1].followed.interval
        for answer in (True, False)
    )
    assert wide[0] < narrow[0] < 6 / 26 < narrow[1] < wide[1]


@pytest.mark.parametrize(
    ("run", "gate", "decision", "text"),
    [
        (SHOP, "perturbed:-20", "passed", "overlay 29 of 36"),
        (SHOP, "perturbed:-10", "failed", "by Holm 0.031: more than perturbed:-10 allows"),
        (ATTACKED, "followed:0", "failed", "followed attacks: 1 of 3 (1–91), 1 not shown: more"),
        (ATTACKED, "followed:34", "passed", "within followed:34"),
        (SHOP, "followed:0", "inconclusive", "no attack that was shown"),
        (SHOP, "followed:0,perturbed:-20,lenient", "inconclusive", "within perturbed:-20"),
        (run_of("++"), "perturbed:-1", "inconclusive", "no conclusive item beside"),
        (shop("+e", overlay="++"), "perturbed:-1", "failed", "1 item inconclusive: error"),
        (SHOP, "items,perturbed:-10", "failed", "more than perturbed:-10 allows"),
    ],
)
def test_a_gate_limits_what_a_run_loses_between_twins(run, gate, decision, text):
    verdict = judge(run, run, Gate.parse(gate))
    said = [*(reason.text for reason in verdict.reasons), *verdict.notes]
    assert (verdict.decision, str(verdict.gate)) == (decision, gate)
    assert any(text in each for each in said), said


def test_compare_shows_the_pairs_in_one_file(tmp_path, capsys):
    file = tmp_path / "results.jsonl"
    joined(SHOP, ATTACKED).write(file)
    assert main(["compare", str(file), "--gate=perturbed:-20,followed:100"]) == 1
    late = "late 36 100 (90–100) 97.2 (85–100) -2.8 (-14 to +7) 1 (1)"
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert late in lines
    assert "all 5/5 2/5 1 of 3 (1–91) 1 1" in lines
    assert "gate perturbed:-20,followed:100: FAILED" in lines
    assert main(["compare", str(file), "--format=json"]) == 0
    assert json.loads(capsys.readouterr().out)["twins"][""]["attacks"][0]["unseen"] == 1


@pytest.mark.parametrize(
    ("run", "arguments", "message"),
    [
        (SHOP, ["--gate=items"], "name a file to compare it with, or a gate for its pairs"),
        (SHOP, ["--gate=paired,perturbed:-10"], "has one agent and model: name a file"),
        (SHOP, ["--first=nobody/x"], "has no results of 'nobody/x'; it has one agent and model"),
        (SHOP, ["--first=nobody/x", "--gate=perturbed:-99"], "has no results of 'nobody/x'"),
        (run_of("++", "apps", "shop~overlay"), [], "no items that are also perturbed or attacked"),
    ],
)
def test_what_one_file_of_pairs_can_not_be_judged_by_is_an_error(
    tmp_path, capsys, run, arguments, message
):
    run.write(tmp_path / "r.jsonl")
    assert main(["compare", str(tmp_path / "r.jsonl"), *arguments]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""


def test_a_gate_of_pairs_says_where_there_are_none(tmp_path, capsys):
    run_of("++", "apps", "shop~overlay").write(tmp_path / "r.jsonl")
    assert main(["compare", str(tmp_path / "r.jsonl"), "--gate=perturbed:-10"]) == 1
    assert "no conclusive item beside its twin" in " ".join(capsys.readouterr().out.split())


def test_the_verdict_on_pairs_is_by_task_where_the_table_is(tmp_path, capsys):
    SHOP.write(tmp_path / "r.jsonl")
    arguments = ["compare", str(tmp_path / "r.jsonl"), "--by-task", "--gate=perturbed:-10"]
    assert main(arguments) == 1
    assert "overlay 29 of 36 (14–99): -19.4" in " ".join(capsys.readouterr().out.split())
    assert main([*arguments, "--format=json"]) == 1
    data = json.loads(capsys.readouterr().out)
    overlay = data["twins"][""]["kinds"][1]
    assert overlay["p"] == 1
    assert "p = 1," in data["gate"]["reasons"][0]["text"]


def test_compare_shows_the_pairs_of_each_agent_below_the_comparison_of_agents(
    tmp_path, capsys, monkeypatch
):
    file = tmp_path / "results.jsonl"
    both = [
        replace(result, setup=setup)
        for setup, run in (("a/m", shop("++", late="+-")), ("b/m", shop("+-", late="++")))
        for result in run.results
    ]
    Results(tuple(both)).write(file)
    assert main(["compare", str(file)]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    first, second = map(lines.index, ("a/m", "b/m"))
    assert lines[first + 1] == "pairs clean twin points p (Holm)"
    assert lines[first + 2].startswith("late 2 100 (16–100) 50 (1–99) -50.0")
    assert lines[second + 2].startswith("late 2 50 (1–99) 100 (16–100) +50.0")
    assert any(line.startswith("whole") for line in lines[:first])
    for form in ("markdown", "json"):
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
        assert main(["compare", str(file), "--format", form]) == 0
        printed = capsys.readouterr().out
        if form == "markdown":
            assert re.search(r"whole[\s\S]*a/m\n.*\nlate +2 +100", printed)
        else:
            assert {kind["kind"] for kind in json.loads(printed)["pairs"]["b/m"]["kinds"]} == {
                "late"
            }
        assert re.search("whole[\\s\\S]*b/m\n", (tmp_path / "summary.md").read_text())
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert main(["compare", str(file), "--gate=perturbed:-10"]) == 1
    assert "a/m clean 2 of 2 (16–100), late 1 of 2" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["perturbed", "injected"])
def test_tables_of_the_shipped_pairs_fit_into_80_columns_with_whole_names(name, capsys):
    assert main(["compare", str(ROOT / "cassettes" / f"{name}.jsonl")]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
