"""`miniwob-agent tables` on the shipped results: the papers' further tables and figures."""

import contextlib
import functools
import io
import json
import re
from dataclasses import replace
from math import comb
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.outcome import Result, Status
from pytest_miniwob_agent.plugins.papers.figures import MEMORIES
from pytest_miniwob_agent.plugins.papers.tables import published
from pytest_miniwob_agent.results.file import Results, read_results

CASSETTES = Path(__file__).parents[2] / "cassettes"


def shipped(folder, name="paper"):
    return str(CASSETTES / folder / f"{name}.jsonl")


REFLECTION = str(CASSETTES / "reflection.jsonl")
"""The pages on which plans fail, with several agents."""


@functools.cache
def printed(*arguments):
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(io.StringIO()) as out,
    ):
        patch.setenv("COLUMNS", "80")
        assert main(["tables", *arguments]) == 0
    return out.getvalue()


def show(*files):
    lines = printed(*files).splitlines()
    assert max(map(len, lines)) <= 80
    return [re.sub(" +", " ", line) for line in lines]


def data(*files):
    return json.loads(printed(*files, "--format", "json"))


def by_first(rows):
    return {next(iter(row.values())): row for row in rows}


def solved_in(file, task, trials=1):
    found = [one for one in read_results(file).results if one.task == task]
    return sum(one.solved_at is not None and one.solved_at <= trials for one in found) / len(found)


class TestWebWISE:
    def test_table_1_has_the_run_beside_nine_columns(self):
        lines = show(shipped("webwise"))
        assert "By method (WebWISE's table 1)" in lines
        assert "task run I0 I1 F0 F1 D0 D1 W0 W1 A0" in lines
        (large,) = [line for line in lines if "TLE TLE 46" in line]
        assert large.startswith("click-checkboxes-large ")
        assert large.endswith(" 0 4 26 90 TLE TLE 46 100 89")
        rows = by_first(data(shipped("webwise"))["webwise_methods"])
        assert {*rows} > {row["task"] for row in published("webwise.csv")}
        assert rows["terminal"]["run"] == solved_in(shipped("webwise"), "terminal")
        assert rows["enter-time"]["WebWISE (gpt-3.5-turbo) k=0"] == 0
        assert rows["enter-time"]["Automatic context generation k=0"] is None

    def test_its_last_rows_are_means_by_the_kinds_of_table_4(self):
        lines = show(shipped("webwise"))
        means = [re.sub(r" \d+", "", line, count=1) for line in lines if line.startswith("mean, ")]
        assert means == [  # without the run's
            "mean, wrong answers 12 42 40 62 40 43 46 69 45",
            "mean, no wrong answers 12 57 70 89 71 82 77 97 81",
            "mean, target hidden 8 32 14 39 16 17 26 55 15",
            "mean, target in sight 14 56 68 88 69 80 74 92 80",
        ]

    def test_table_6_has_the_run_s_result_against_rci(self):
        lines = show(shipped("webwise"))
        assert "WebWISE and RCI (WebWISE's table 6)" in lines
        assert "task run k=1 RCI RCI's k paper's run's" in lines
        rows = by_first(data(shipped("webwise"))["webwise_rci"])
        assert len(rows) == 39
        engine = rows["search-engine"]
        assert [engine[name] for name in ("k=1", "RCI", "RCI's k", "paper's")] == [
            0.2, 1.0, "22", "lost",
        ]  # fmt: skip
        for row in list(rows.values())[:-1]:
            assert (row["run's"] == "win") == (row["run"] > row["RCI"])
            assert (row["run's"] == "lost") == (row["run"] < row["RCI"])
        assert (rows["mean"]["k=1"], rows["mean"]["RCI"]) == (0.88, 0.92)

    def test_table_5_has_runs_with_its_task_messages(self, tmp_path):
        tasks = {"click-pie": True, "terminal": False}
        results = [
            Result(
                category="other", task=task, seed=1, agent="webwise-task-message-4-1-shot",
                model="m", outcome=Status.SOLVED if solved else Status.UNSOLVED,
                solved_at=1 if solved else None, endings=("correct" if solved else "failed",),
            )
            for task, solved in tasks.items()
        ]  # fmt: skip
        file = tmp_path / "r.jsonl"
        Results(tuple(results)).write(file)
        rows = data(str(file))["webwise_messages"]
        assert len(rows) == 13
        assert rows[3] == {
            "message": "4", "k=0": None, "k=1": 0.5, "paper k=0": 0.54, "paper k=1": 0.74,
        }  # fmt: skip
        assert rows[4]["k=1"] is None


class TestRCI:
    def test_figures_5_and_6_have_the_groups_of_table_4(self):
        lines = show(shipped("rci"))
        start = lines.index("Ablations (RCI's figures 5 and 6)")
        assert "click-tab-2-hard at 76 instead of 56" in " ".join(lines[start:])
        assert "agent easy medium hard" in lines[start:]
        assert lines[-2:] == [
            "RCI few-shot, table 4 97.3 69.3 38.7",
            "RCI few-shot, table 18 97.3 69.3 45.3",
        ]
        run, *_ = data(shipped("rci"))["rci_ablations"]
        hard = ("click-tab-2-hard", "count-shape", "guess-number")
        found = [solved_in(shipped("rci"), task) for task in hard]
        assert run["hard"] == pytest.approx(sum(found) / 3)

    def test_a_run_without_all_tasks_of_a_group_has_no_row(self):
        assert "Ablations (RCI's figures 5 and 6)" not in show(shipped("rci", "results"))

    def test_figure_4_b_has_the_demonstrations(self):
        lines = show(shipped("rci"))
        assert "Demonstrations (RCI's figure 4 b)" in lines
        assert "WebN-T5-3B 12000 - 52.1" in lines
        rows = by_first(data(shipped("rci"))["rci_demonstrations"])
        assert (rows["this run"]["all"], rows["this run"]["per task"]) == (0, 0)
        assert rows["RCI (gpt-4 where used) few-shot"]["per task"] == "2 to 3"

    def test_figure_10_begins_with_the_task_that_rci_loses_most(self):
        assert "Above the state of the art (RCI's figure 10)" in show(shipped("rci"))
        rows = data(shipped("rci"))["rci_residuals"]
        assert len(rows) == 54
        assert (rows[0]["task"], rows[0]["RCI-both"]) == ("guess-number", -0.8)
        assert (rows[-1]["task"], rows[-1]["RCI-both"]) == ("terminal", 1.0)
        assert rows[0]["run-both"] == solved_in(shipped("rci"), "guess-number") - 1


class TestReflectiveAgent:
    def test_figures_4_to_6_go_through_five_trials(self):
        assert "Completion by number of trials (figures 4 to 6)" in show(shipped("reflective"))
        rows = data(shipped("reflective"))["completion_by_trials"]
        printed = {row["completion"]: row["paper"] for row in rows}
        assert len(printed) == 15
        assert round(printed["n-screen-n-step, T=1"], 3) == 0.723
        assert printed["n-screen-n-step, T=2"] is None
        assert round(printed["n-screen-n-step, T=5"], 3) == 0.871
        assert all(0 <= row["run"] <= 1 for row in rows)

    def test_a_printed_mean_is_over_all_tasks_of_the_run_or_left_out(self, tmp_path):
        first = read_results(shipped("reflective")).results[0]
        mine = replace(first, task="page-of-mine")
        file = tmp_path / "r.jsonl"
        Results((first, mine)).write(file)
        rows = data(str(file))["completion_by_trials"]
        assert [row["paper"] for row in rows] == [None] * len(rows)

    def test_table_9_counts_the_items_by_their_actions(self):
        lines = show(shipped("reflective"))
        assert "Capacity of one plan (table 9)" in lines
        assert "social-media-all, 10 or more candidates - - 40 20" in lines
        rows = data(shipped("reflective"))["planning_capacity"]
        assert [row["paper"] for row in rows] == [1.0, 0.9, 0.8, 0.4]
        assert rows[0]["of"] + rows[1]["of"] == 50  # two tasks at 25 seeds
        assert rows[1]["of"] > 0

    def test_figure_7_compares_memories_over_the_items_that_all_have(self):
        lines = show(REFLECTION)
        assert "Memory of reflections (figure 7)" in lines
        assert "task items w/o structured mem w/o action constraint both" in lines
        rows = by_first(data(REFLECTION)["memories"])
        assert len(rows) == 13  # twelve pages and their mean
        assert {row["items"] for task, row in rows.items() if task != "mean"} == {3}
        found = [
            one.solved_at is not None and one.solved_at <= 3
            for one in read_results(REFLECTION).by_setup["reflective/claude"].results
            if one.task == "four-keys" and one.seed <= 1002
        ]
        assert rows["four-keys"]["both"] == pytest.approx(sum(found) / 3)
        assert "Memory of reflections (figure 7)" not in show(str(CASSETTES / "results.jsonl"))

    def test_memories_are_tested_in_pairs_within_one_three_and_five_trials(self):
        assert "Memories beside the structured one" in show(REFLECTION)
        rows = {(row["memory"], row["T"]): row for row in data(REFLECTION)["memory_tests"]}
        assert [T for _, T in rows] == ["1", "3", "5"] * 2
        runs = [
            {(one.task, one.seed): one.solved_at or 9 for one in read_results(REFLECTION)
             .by_setup[f"reflective{memory}/claude"].results}
            for memory in ("", "-unconstrained-memory")
        ]  # fmt: skip
        items = runs[0].keys() & runs[1].keys()
        for most in (1, 3, 5):
            row = rows["w/o action constraint", str(most)]
            own, its = ([run[item] <= most for item in items] for run in runs)
            won = sum(after > before for before, after in zip(own, its, strict=True))
            lost = won - sum(its) + sum(own)
            tail = sum(comb(lost + won, k) for k in range(min(lost, won) + 1)) / 2 ** (lost + won)
            assert row["items"] == len(items)
            assert row["exact"] == pytest.approx(min(1, 2 * tail))
            assert row["low"] < (won - lost) / len(items) < row["high"]
            assert 0 < row["power"] < 1
        whole = by_first(data(REFLECTION)["memories_by_trials"])["all"]
        rates = [rows["w/o structured mem", most]["it"] for most in ("1", "3", "5")]
        assert len(whole["w/o structured mem"].split(", ")) == len(rates)

    def test_the_documentation_has_the_pairs_of_all_memories_of_a_run(self):
        file = str(CASSETTES / "memories.jsonl")
        show(file)  # which checks that five memories fit into 80 columns
        controls = {"no memory", "random retry", "retry, plan"}
        assert all(row.keys() > controls for row in data(file)["memories"])
        found = []
        for row in data(file)["memory_tests"]:
            both, it, low, high = (100 * row[name] for name in ("both", "it", "low", "high"))
            solved = (f"{row['items'] * rate / 100:.0f}" for rate in (both, it))
            points = f"{it - both:+.1f} ({low:+.0f} to {high:+.0f})"
            ps = (f"{p:.2g}" if p >= 0.001 else f"{p:.0e}" for p in (row["exact"], row["by page"]))
            cells = (str(row["items"]), *solved, points, *ps, f"{100 * row['power']:.0f} %")
            if row["T"] != "1":
                found.append((row["memory"], row["T"], *cells))
        page = (CASSETTES.parent / "docs" / "agents.md").read_text("utf-8")
        told, name = [], ""
        for line in page.partition("### The memories on")[2].partition("\n## ")[0].splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if cells[1:2] in (["3"], ["5"]):
                name = MEMORIES[f"reflective-{cells[0].split('`')[1]}-memory"] if cells[0] else name
                told.append((name, *cells[1:6], *cells[7:]))
        assert sorted(told) == sorted(found)

    def test_several_files_have_their_tables_by_name(self):
        files = [shipped("rci"), shipped("webwise")]
        found = data(*files)
        assert [name for name in found if name in files] == files
        assert all(found[file]["completion"] for file in files)


class TestPlot:
    @pytest.mark.parametrize(
        ("files", "titles"),
        [
            (
                [shipped("reflective")],
                ["Planner calls, solved in the first trial", "Planner calls, all trials",
                 "Completion by number of trials (figures 4 to 6)"],
            ),
            (
                [shipped("rci")],
                ["Ablations (RCI's figures 5 and 6)", "Systems, RCI's suite",
                 "Above the state of the art (RCI's figure 10)"],
            ),
            ([shipped("webwise")], ["By method (WebWISE's table 1)"]),
        ],
    )  # fmt: skip
    def test_it_has_the_figures_of_the_paper(self, files, titles, tmp_path, capsys):
        file = tmp_path / "new" / "figures.svg"
        assert main(["tables", *files, "--plot", str(file)]) == 0
        assert titles[-1] in capsys.readouterr().out
        root = ElementTree.parse(file).getroot()
        found = [one.text for one in root.iter() if one.get("class") == "title"]
        assert found == titles

    def test_several_files_are_compared_first(self, tmp_path, capsys):
        file = tmp_path / "figures.svg"
        assert main(["tables", REFLECTION, "--plot", str(file)]) == 0
        texts = [one for one in ElementTree.parse(file).getroot().iter() if one.text]
        first = next(one.text for one in texts if one.get("class") == "title")
        assert first == "Memory of reflections (figure 7)"
        assert "w/o structured mem" in [one.text for one in texts]

    def test_a_file_that_can_t_be_written_is_a_usage_error(self, tmp_path, capsys):
        (tmp_path / "file").write_text("", encoding="utf-8")
        path = tmp_path / "file" / "figures.svg"
        assert main(["tables", shipped("webwise"), "--plot", str(path)]) == 2
        assert f"{path} can't be written: " in capsys.readouterr().err

    def test_nothing_to_draw_is_a_usage_error(self, tmp_path, capsys):
        file = tmp_path / "figures.svg"
        first = read_results(shipped("rci", "results")).results[0]
        other = tmp_path / "r.jsonl"
        Results((replace(first, category="mine", task="page-of-mine"),)).write(other)
        assert main(["tables", str(other), "--plot", str(file)]) == 2
        assert "nothing to draw" in capsys.readouterr().err
        assert not file.exists()
