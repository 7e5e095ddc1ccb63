"""Figures that docs/agents.md gives of recorded runs, computed from their results and cassettes."""

import re
from collections import Counter, defaultdict
from fractions import Fraction
from math import sqrt
from pathlib import Path

import pytest
import yaml

from pytest_miniwob_agent.results.file import read_results
from pytest_miniwob_agent.results.statistics import Change, exact_interval, p_changed, rate_interval

CASSETTES = Path(__file__).parents[2] / "cassettes"
PAGE = " ".join((CASSETTES.parent / "docs/agents.md").read_text("utf-8").split())


def runs(name):
    found = defaultdict(dict)
    for one in read_results(str(CASSETTES / f"{name}.jsonl")).results:
        found[one.agent][one.task, one.seed] = one
    return found


def solved(run, trials=5):
    return {item: (one.solved_at or 9) <= trials for item, one in run.items()}


def calls(run, *purposes):
    return sum(
        sum(one.calls.get(purpose, 0) for purpose in purposes or one.calls) for one in run.values()
    )


def pairs(before, after, trials=5):
    """The numbers of solved items, of those that one run alone solves, interval and p-values."""
    items = sorted(before.keys() & after.keys())
    first, then = solved(before, trials), solved(after, trials)
    old = [Fraction(first[item]) for item in items]
    new = [Fraction(then[item]) for item in items]
    change = Change.of(old, new, len(items), list(map(str, items)))
    by_page = Change.of(old, new, len(items), [task for task, _ in items]).p_changed
    low, high = change.interval()
    gains = [after - before for before, after in zip(old, new, strict=True)]
    alone = (gains.count(-1), gains.count(1))
    return len(items), sum(old), sum(new), alone, low, high, p_changed(gains), by_page


def texts(agent, item):
    """The texts of the page as the first prompt has it."""
    file = CASSETTES / agent / "claude" / item[0] / f"{item[1]}.yaml"
    first, *_ = yaml.load(file.read_text("utf-8"), yaml.CSafeLoader)["interactions"]
    prompt = first["request"]["body"]["messages"][-1]["content"]
    page = prompt.partition("<body")[2].partition("</body>")[0]
    return {" ".join(text.split()) for text in re.split("<[^>]*>", page)}


@pytest.fixture(scope="module")
def memories():
    return runs("memories")


@pytest.fixture(scope="module")
def both():
    return runs("rci/paper")["rci"], runs("rci-as-published/paper")["rci-as-published"]


class TestRCIAsPublished:
    def test_one_item_fewer_is_solved(self, both):
        items, before, after, _, _, _, p, _ = pairs(*both)
        assert (items, before, after, p) == (54, 54, 53, 1)
        for run, row in zip(both, ("rci", "rci-as-published"), strict=True):
            count = sum(solved(run).values())
            low, high = (round(100 * end) for end in exact_interval(count, 54))
            actions = sum(one.steps for one in run.values())
            cells = f"54 | {count} ({low} to {high} %) | {calls(run)} | {actions}"
            assert f"| `{row}` | {cells} |" in PAGE

    def test_the_calls_differ_on_four_tasks(self, both):
        before, after = both
        changed = {
            task: (calls({0: one}), calls({0: after[task, seed]}))
            for (task, seed), one in before.items()
            if calls({0: one}) != calls({0: after[task, seed]})
        }
        assert changed == {
            "click-collapsible-2": (9, 7),
            "guess-number": (35, 27),
            "terminal": (13, 14),
            "enter-date": (15, 20),
        }

    def test_pages_with_hidden_texts_are_all_solved(self, both):
        hiding = [item for item in both[1] if texts("rci-as-published", item) - texts("rci", item)]
        assert ("click-tab-2", 1000) in hiding
        for run in both:
            assert all(solved(run)[item] for item in hiding)
        low, high = (round(100 * end) for end in exact_interval(len(hiding), len(hiding)))
        told = f"{len(hiding)} pages that hide texts of their HTML at first ({low} to {high} %)"
        assert told in PAGE

    def test_agent_grounding_was_asked_for_on_two_tasks(self, both):
        before, after = both
        assert calls(before, "agent") == 0
        assert {task for task, seed in after if calls({0: after[task, seed]}, "agent")} == {
            "enter-date", "terminal",
        }  # fmt: skip

    def test_agent_grounding_solves_terminal_alone(self):
        found = runs("rci-as-published/grounding")
        with_it, without = (found[f"rci{name}-as-published"] for name in ("", "-without-agent"))
        for task in ("terminal", "enter-date"):
            own, other = (
                {item: one for item, one in run.items() if item[0] == task}
                for run in (with_it, without)
            )
            cells = (len(own), sum(solved(own).values()), sum(solved(other).values()))
            shown = " | ".join(map(str, (*cells, calls(own, "agent"))))
            assert f"| `{task}` | {shown} |" in PAGE
        items, before, after, alone, low, high, p, by_page = pairs(without, with_it)
        assert (items, before, after, alone) == (9, 0, 4, (0, 4))
        assert f"interval {100 * low:+.0f} to {100 * high:+.0f}; exact p = {p:.2f}" in PAGE
        assert by_page == 1


@pytest.mark.parametrize(
    "name", ["rci/ablation", "webwise/multi-step", "webwise-single-step/auto-context"]
)
def test_ablations_are_at_the_ceiling_which_the_page_says(name):
    for agent, run in runs(name).items():
        own = {item: one for item, one in run.items() if item[1] >= 1000}  # others gave examples
        count = sum(solved(own).values())
        low, high = (round(100 * end) for end in exact_interval(count, len(own)))
        assert f"{count} of {len(own)} ({low} to {high} %)" in PAGE
        assert re.search(rf"`{agent}` {calls(own)}\b", PAGE)
        assert all(solved(run).values())
    assert "at the ceiling, and decide nothing" in PAGE


def test_planners_are_at_the_ceiling_within_three_trials():
    found = runs("reflection")
    for name in ("reflective-iterative", "reflective-plan-then-adapt"):
        own = {item: one for item, one in found[name].items() if item[0] != "login-user-popup"}
        assert pairs(found["reflective"], own, 3)[:3] == (24, 24, 24)
    assert "all 24 items within three trials: at the ceiling, which decides nothing" in PAGE


def test_methods_of_webwise_that_are_recorded_at_one_seed():
    tasks = {task for task, seed in runs("webwise/paper")["webwise"] if seed == 1000}
    methods = ["webwise", "webwise-single-step"]
    methods += [f"webwise-single-step-{name}" for name in ("instruction-only", "whole-dom")]
    recorded = {
        agent: sum((CASSETTES / f"{agent}/claude/{task}/1000.yaml").exists() for task in tasks)
        for method in methods
        for agent in (method, f"{method}-1-shot")
    }
    counts = {name: count for name, count in recorded.items() if count}
    assert counts == {
        "webwise": 48,
        "webwise-1-shot": 11,
        "webwise-single-step": 11,
        "webwise-single-step-instruction-only": 48,
    }
    assert f"other {8 * len(tasks) - sum(counts.values())} items of `webwise_methods.py`" in (
        CASSETTES.parent / "docs/reproduce.md"
    ).read_text("utf-8")


def test_webwise_solves_nearly_all_without_seeing_the_page():
    blind = runs("webwise/instruction-only")["webwise-single-step-instruction-only"]
    seeing = {item: one for item, one in runs("webwise/paper")["webwise"].items() if item in blind}
    for run in (blind, seeing):
        count = sum(solved(run, 5).values())
        low, high = (round(100 * end) for end in exact_interval(count, len(run)))
        assert f"{count} ({low} to {high} %) with {calls(run)}" in PAGE


class TestControls:
    @pytest.mark.parametrize("trials", [3, 5])
    @pytest.mark.parametrize("name", ["none", "retry"])
    def test_retry_then_plan_beside_the_other_controls(self, memories, name, trials):
        run = memories[f"reflective-{name}-memory"]
        found = pairs(run, memories["reflective-retry-then-plan-memory"], trials)
        items, before, after, alone, low, high, *ps = found
        points = f"{float(100 * (after - before) / items):+.1f}"
        p, page = (f"{value:.2g}" if value >= 0.001 else f"{value:.0e}" for value in ps)
        cells = (
            items, trials, before, after, f"{points} ({100 * low:+.0f} to {100 * high:+.0f})",
            f"{alone[0]} and {alone[1]}", p, page,
        )  # fmt: skip
        assert f"| `{name}` | {' | '.join(map(str, cells))} |" in PAGE

    @pytest.mark.parametrize("trials", [3, 5])
    def test_what_is_solved_after_the_first_trial(self, memories, trials):
        items = memories["reflective-retry-then-plan-memory"].keys()
        later = []
        for name in ("reflective", "reflective-retry-then-plan-memory", "reflective-none-memory"):
            run = {item: memories[name][item] for item in items}
            first = solved(run, 1)
            assert list(first.values()).count(False) == 40
            later.append(sum(solved(run, trials).values()) - sum(first.values()))
        assert f"| {trials} | {' | '.join(map(str, later))} |" in PAGE

    def test_retry_often_has_nothing_left_to_do(self, memories):
        run = memories["reflective-retry-memory"]
        unsolved = [one for one in run.values() if one.solved_at is None]
        endings = Counter(str(ending) for one in unsolved for ending in one.endings[1:])
        assert len(unsolved) == 113
        assert (endings.total(), endings["incomplete"]) == (452, 187)
        by_page = defaultdict(list)
        for (task, _), good in solved(run).items():
            by_page[task].append(good)
        assert [len(page) for page in by_page.values() if not any(page)] == [8] * 5

    def test_without_a_memory_most_plans_are_repeated(self):
        repeated = []
        for file in sorted((CASSETTES / "reflective-none-memory/claude").rglob("*.yaml")):
            last = {}
            recorded = yaml.load(file.read_text("utf-8"), yaml.CSafeLoader)
            for one in recorded["interactions"]:
                if one["call"]["purpose"] == "plan":
                    prompt = one["request"]["body"]["messages"][0]["content"]
                    answer = one["response"]["body"]["choices"][0]["message"]["content"]
                    if one["call"]["trial"] > 1 and prompt in last:
                        repeated.append(answer == last[prompt])
                    last[prompt] = answer
        assert (len(repeated), sum(repeated)) == (199, 159)


def test_the_error_of_browsergyms_rate_by_problem_and_by_task():
    file = CASSETTES / "reflective-full-screen-all-actions/browsergym.jsonl"
    by_task = defaultdict(list)
    for one in read_results(str(file)).results:
        by_task[one.task].append(one.solved_at is not None)
    items = sum(map(len, by_task.values()))
    rate = sum(map(sum, by_task.values())) / items
    by_problem = sqrt(rate * (1 - rate) / items)
    error = sqrt(sum((sum(own) - rate * len(own)) ** 2 for own in by_task.values())) / items
    shown = [f"{100 * value:.1f}" for value in (rate, by_problem, error)]
    ends = [f"{100 * (rate + side * 1.96 * error):.1f}" for side in (-1, 1)]
    assert [*shown, *ends] == ["96.8", "0.7", "1.2", "94.5", "99.1"]
    names = [task for task, own in by_task.items() for _ in own]
    shares = [Fraction(one) for own in by_task.values() for one in own]
    low, high = (f"{100 * end:.1f}" for end in rate_interval(shares, items, names))
    told = f"{sum(shares)} of the {items} problems: {shown[0]} percent (95 % interval over the "
    assert f"{told}{len(by_task)} tasks {low} to {high})" in PAGE


class TestReflectiveGrounding:
    def test_the_table_has_both_agents(self):
        found = runs("reflective/grounding")
        for name in ("reflective", "reflective-no-grounding"):
            run = found[name]
            cells = [str(len(run))]
            for trials in (1, 3):
                count = sum(solved(run, trials).values())
                low, high = (round(100 * end) for end in exact_interval(count, len(run)))
                cells.append(f"{count} ({low} to {high} %)")
            cells += [str(calls(run, "ground")), str(calls(run) - calls(run, "ground"))]
            assert f"| `{name}` | {' | '.join(cells)} |" in PAGE

    @pytest.mark.parametrize("trials", [1, 3])
    def test_the_difference_has_its_interval(self, trials):
        found = runs("reflective/grounding")
        run = found["reflective-no-grounding"]
        _, before, after, alone, low, high, p, _ = pairs(run, found["reflective"], trials)
        shown = f"{100 * low:+.0f} to {100 * high:+.0f}; exact p = {p:.2g}"
        assert f"{after} against {before} ({alone[1]} and {alone[0]} alone; {shown})" in PAGE

    def test_elsewhere_no_recorded_call_is_one(self):
        purposes = Counter()
        for file in CASSETTES.glob("**/*.jsonl"):
            for one in read_results(str(file)).results:
                if one.agent.startswith("reflective") and file.stem != "grounding":
                    purposes.update(one.calls)
        assert purposes["plan"] > 1000
        assert purposes["ground"] == 0


def test_the_list_of_results_has_the_items_of_each_file():
    page = (CASSETTES / "README.md").read_text("utf-8").partition("## What is here")[2]
    told = {}
    for names, _, items, solved in re.findall(
        r"^\| (`.+?) \| (.+) \| (\S+).*? \| (\S+).*? \|$", page, re.M
    ):
        first, *others = re.findall("`(.+?)`", names)
        files = [first]
        for other in others:  # `rci/` or `-both-`, in place of the folder or of a part of its name
            part = r"-[a-z]+-" if other.startswith("-") else r"^.+/"
            files.append(re.sub(part, other, first, count=1))
        told |= dict.fromkeys(files, (items, solved))
    found = {}
    for file in CASSETTES.rglob("*.jsonl"):
        results = read_results(str(file)).results
        counts = len(results), sum(one.solved for one in results)
        found[str(file.relative_to(CASSETTES))] = tuple(f"{count:,}" for count in counts)
    assert told == found


def at_seed_1000(found, agent):
    return {item: one for item, one in found[agent].items() if item[1] == 1000}


def test_ten_tasks_are_solved_in_one_trial_with_so_many_calls():
    ten = runs("tools/results")["tools"]
    counts = []
    for name, agent in (
        ("", "reflective"),
        ("tools/", "tools"),
        ("webwise/", "webwise"),
        ("rci/", "rci"),
    ):
        found = runs(f"{name}results")[agent]
        run = {item: found[item] for item in ten}
        assert all(solved(run, 1).values())
        counts.append(f"{calls(run)} (`{agent}`)")
    *first, last = counts
    assert f"ten tasks in one trial, with {', '.join(first)} and {last} model calls" in PAGE


def test_pages_on_which_plans_fail():
    menu = {
        item: one
        for item, one in runs("reflective/paper")["reflective"].items()
        if item[0] == "click-menu-2"
    }
    shares = [100 * sum(solved(menu, trials).values()) // len(menu) for trials in (1, 3, 5)]
    assert f"{shares[0]}, {shares[1]} and {shares[2]} percent of {len(menu)} items" in PAGE
    found = {
        agent: {item: one for item, one in run.items() if item[0] != "login-user-popup"}
        for agent, run in runs("reflection").items()
    }
    own = found["reflective"]
    first, third, fifth = (sum(solved(own, trials).values()) for trials in (1, 3, 5))
    assert f"solves {first}, {third} and {fifth} of {len(own)} items" in PAGE
    others = [
        sum(solved(at_seed_1000(found, name)).values()) for name in ("rci", "webwise", "tools")
    ]
    assert "{} (`rci`), {} (`webwise`) and {} (`tools`) of 12".format(*others) in PAGE


def test_the_first_trial_is_the_same_with_all_memories(memories):
    own = solved(memories["reflective"], 1)
    for run in memories.values():
        assert solved(run, 1).items() <= own.items()
    few = [good for (_, seed), good in own.items() if seed <= 1002]
    told = f"{sum(own.values())} of {len(own)} items are solved, {sum(few)} of the {len(few)} at"
    assert told in PAGE


def test_all_tasks_and_pictures():
    full, picture, both = (
        runs(f"reflective-{screen}-screen-all-actions/results")[
            f"reflective-{screen}-screen-all-actions"
        ]
        for screen in ("full", "picture", "both")
    )
    count = sum(solved(full, 1).values())
    assert count == sum(solved(full).values())
    assert f"solves {count} of the {len(full) + 2} tasks" in PAGE
    hard = picture.keys() - runs("tools/results")["tools"].keys()
    assert len(hard) == 20
    numbers = []
    for run in (full, picture, both):
        assert {item for item in hard if solved(run)[item]} == {
            item for item in hard if solved(full)[item]
        }
        assert all(solved(run)[item] for item in picture.keys() - hard)
        numbers.append(calls({item: run[item] for item in hard}))
    assert f"same {sum(solved(full)[item] for item in hard)} of the twenty" in PAGE
    text = r"{} calls with text, {} with pictures \(\d+ of them\), and {} with both"
    assert re.search(text.format(*numbers), PAGE)
