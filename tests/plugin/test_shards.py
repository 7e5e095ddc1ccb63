"""Runs of shards, split by the real pytest-split, and what is joined from them."""

import re
from pathlib import Path

import pytest
from support.git import commit
from support.made_report import content
from support.projects import FAKE_PAGE, solve_menu, suite_source

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.results.file import read_results


def lose_a_tab(prompt):
    lost = "click-tab 1" in prompt and ">Save<" in prompt
    return "click id=3" if lost else solve_menu(prompt)


@pytest.fixture
def suite(project, recordings, monkeypatch):
    project.write(suite_source('"click-menu-2", "click-tab", seeds=[1, 2]'))
    project.use_recordings(recordings / "shards", lose_a_tab, "--miniwob-trials=1")
    commit(project.path)
    monkeypatch.chdir(project.path)
    return project


def run(suite, *arguments):
    return suite.runpytest("--miniwob-trials=1", *arguments)


def run_shard(suite, group, splits, *arguments):
    return run(
        suite,
        f"--splits={splits}",
        f"--group={group}",
        "--splitting-algorithm=least_duration",
        f"--miniwob-results={group}.jsonl",
        *arguments,
    )


def merge(splits, capsys):
    """Merge the results of all shards, the last one first; the status and the output."""
    capsys.readouterr()
    names = [f"{group}.jsonl" for group in range(splits, 0, -1)]
    return main(["results", "merge", *names, "-o", "all.jsonl"]), capsys.readouterr()


class TestSplits:
    def test_what_is_joined_equals_the_run_of_the_whole_suite(self, suite, capsys):
        run(suite, "--miniwob-results=base.jsonl")
        text = Path("base.jsonl").read_text()
        lost = 'click-tab/2","category"'  # solved now, and not in this baseline
        line = next(line for line in text.splitlines() if lost in line)
        worse = line.replace('"solved"', '"unsolved"').replace('"solved_at":1', '"solved_at":null')
        worse = worse.replace('"rewards":[1.0]', '"rewards":[0.0]')
        Path("base.jsonl").write_text(text.replace(line, worse))
        both = ["--miniwob-baseline=base.jsonl", "--miniwob-trace=on"]
        whole = run(suite, "--miniwob-results=whole.jsonl", "--miniwob-report=whole", *both)
        whole.assert_outcomes(passed=2, xfailed=1)  # and one that progressed
        whole.stdout.fnmatch_lines(["gate items: passed"])
        for group, workers in ((1, "-n0"), (2, "-n0"), (3, "-n1")):
            part = run_shard(suite, group, 3, f"--miniwob-report=r{group}", workers, *both)
            part.stdout.fnmatch_lines(
                [f"miniwob shard: {group} of 3", f"shard {group} of 3: not judged by itself;*"]
            )
            part.stdout.no_fnmatch_line("*gate items*")
            assert part.ret == 0
            assert read_results(f"{group}.jsonl").partial == (f"shard {group} of 3",)
        status, output = merge(3, capsys)
        assert (status, output.out) == (0, "all.jsonl: 4 items of 3 shards\n"), output.err
        assert Path("all.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
        assert main(["report", "merge", "r2", "r3", "r1", "-o", "r"]) == 0
        decided = b'"gate":{"decision":"passed","lines":[],"name":"items"}'
        of_whole = content(Path("whole"))
        of_whole["data/index.js"] = of_whole["data/index.js"].replace(decided, b'"gate":null')
        assert content(Path("r")) == of_whole  # which `compare` judges

    def test_shards_of_another_commit_or_limit_are_errors_that_name_them(self, suite, capsys):
        run_shard(suite, 1, 2, "--miniwob-steps=9")
        given = {"--miniwob-model": "m", "--miniwob-trials": "1", "--miniwob-steps": "9"}
        assert given.items() <= read_results("1.jsonl").shard.suite.items()
        run_shard(suite, 2, 2, "--miniwob-trials=2", "--miniwob-steps=9")
        status, output = merge(2, capsys)
        assert (status, Path("all.jsonl").exists()) == (2, False)
        assert "it has --miniwob-trials 1 (not 2)" in output.err
        commit(suite.path)
        run_shard(suite, 2, 2)
        assert "1.jsonl (shard 1 of 2) does not belong to the suite of" in merge(2, capsys)[1].err

    def test_a_shard_without_items_passes_and_can_be_joined(self, suite, capsys):
        arguments = ["-k", "click-menu-2/1", "--miniwob-report"]
        for group in (1, 2):
            assert run_shard(suite, group, 2, *arguments, f"r{group}").ret == 0
        assert read_results("2.jsonl").results == ()
        assert merge(2, capsys)[0] == 0
        for folders, message in (
            (["r1"], "missing of 2 shards: 2; run what is missing"),
            (["r1", "none"], "there is no none/data/index.js: name the folder of a report"),
            (["r1", "r"], "r is one of the reports that are to be merged"),
        ):
            assert main(["report", "merge", *folders, "-o", "r"]) == 2
            assert message in capsys.readouterr().err
        assert not Path("r").exists()
        index = Path("r1/data/index.js")
        text = index.read_text()
        for id_, message in (
            ('"../../../out"', "r1 has an item with the id '../../../out'"),
            ("3", "r1/data/index.js can't be read: `items[0]` can't be {"),
        ):
            index.write_text(re.sub('"id":"[^"]*"', f'"id":{id_}', text, count=1))
            assert main(["report", "merge", "r1", "r2", "-o", "r"]) == 2
            assert message in capsys.readouterr().err
        index.write_text(text)
        assert main(["report", "merge", "r1", "r2", "-o", "r"]) == 0
        result = run_shard(suite, 1, 2, "-k", "no-such-item")
        assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


class TestOtherSplitters:
    def test_a_shard_is_named_by_the_option(self, suite, capsys):
        """A splitter that says nothing of the items that it takes away."""
        suite.makeconftest(
            FAKE_PAGE
            + """
    def pytest_collection_modifyitems(config, items):
        number, of = config.getoption("miniwob_shard").split("/")
        items[:] = items[int(number) - 1 :: int(of)]
            """
        )
        for number in (1, 2):
            arguments = [f"--miniwob-shard={number}/2", f"--miniwob-results={number}.jsonl"]
            run(suite, *arguments, "-k", "not click-menu-2")
        assert merge(2, capsys)[0] == 0
        results = read_results("all.jsonl")
        assert (len(results.results), results.partial) == (2, ("2 items deselected",))
