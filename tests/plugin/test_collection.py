"""Collection: markers, seeds and limits, the agent, and the ids of items."""

import subprocess
import sys
from math import inf

import pytest

from pytest_miniwob_agent import UsageError
from pytest_miniwob_agent.plugin.collection import selected_cases
from pytest_miniwob_agent.plugin.settings import BY_MARKER, Settings

IDS = [
    "n-screen-n-step/click-menu-2/1",
    "n-screen-n-step/click-menu-2/2",
    "1-screen-1-step/click-tab/1",
]


def select(*args, options=None, ini=None, **kwargs):
    fields = dict.fromkeys(Settings.__dataclass_fields__) | (options or {})
    fields["ini"] = dict.fromkeys(BY_MARKER) | (ini or {})
    return list(selected_cases(pytest.mark.miniwob(*args, **kwargs).mark, Settings(**fields)))


def item_ids(result):
    return [line for line in result.outlines if "::" in line]


class TestMarker:
    def test_every_task_that_is_selected_is_run_at_every_seed(self):
        ids = [case.id for case, _ in select("click-menu-2", "click-tab*", seeds=[1, 2])]
        assert len(ids) == 12  # click-menu-2 and five click-tab tasks
        assert set(IDS) < set(ids)

    @pytest.mark.parametrize(
        ("seeds", "expected"),
        [("1-2,7", [1, 2, 7]), (range(3), [0, 1, 2]), (4, [4]), ("", list(range(1000, 1025)))],
    )
    def test_seeds_are_ranges_sequences_or_a_number_or_those_of_the_paper(self, seeds, expected):
        assert [case.seed for case, _ in select("click-menu-2", seeds=seeds)] == expected

    def test_option_marker_ini_file_and_default_count_in_this_order(self):
        def found(**given):
            (case, limits), *_ = select("click-menu-2", **given)
            return case.seed, limits.trials, limits.steps

        names = ("seeds", "trials", "steps")
        in_file = dict(zip(names, ([4], 4, 4), strict=True))
        of_marker = dict(zip(names, ([3], 3, 3), strict=True))
        on_line = dict(zip(names, ([2], 2, 2), strict=True))
        assert found(**of_marker, ini=in_file, options=on_line) == (2, 2, 2)
        assert found(**of_marker, ini=in_file) == (3, 3, 3)
        assert found(ini=in_file) == (4, 4, 4)
        assert found() == (1000, 5, 30)

    def test_repeats_are_items(self):
        assert [case.sample for case, _ in select("click-tab", seeds=[4], repeats=2)] == [
            "4",
            "4-2",
        ]

    @pytest.mark.parametrize(
        ("args", "kwargs", "message"),
        [
            (["click-meny"], {}, "did you mean click-menu"),
            (["click-tab"], {"seeds": ["a"]}, r"seeds must be integers from 0 up: \['a'\]"),
            (["click-tab"], {"seeds": []}, "seeds must be integers from 0 up"),
            (["click-tab"], {"seed": [1]}, r"knows no seed \(did you mean seeds\?\)"),
            (["click-tab"], {"seeds": [True]}, "seeds must be integers from 0 up"),
            (["click-tab"], {"trials": 0}, "marker's trials: 0 must be a positive integer"),
            (["click-tab"], {"trials": 2.7}, "marker's trials: 2.7 must be a positive integer"),
            (["click-tab"], {"steps": inf}, "marker's steps: inf must be a positive integer"),
            (["click-tab"], {"repeats": True}, "marker's repeats: True must be a positive integer"),
            ([], {}, "the miniwob marker selects nothing"),
            ([3], {}, "selector 3 is neither a string nor"),
        ],
    )
    def test_a_wrong_argument_is_named(self, args, kwargs, message):
        with pytest.raises(UsageError, match=message):
            select(*args, **kwargs)


class TestItems:
    @pytest.mark.parametrize(
        ("args", "count"),
        [
            (["-k", "n-screen and not click-tab"], 2),
            (["-m", "not miniwob"], 0),
            (["--miniwob-seeds=5-7,9"], 24),
        ],
    )
    def test_pytests_own_options_and_seeds_select_items(self, project, args, count):
        assert len(item_ids(project.runpytest("--collect-only", "-q", *args))) == count

    def test_a_case_of_two_markers_is_one_item(self, project):
        project.makepyfile(
            """
            import pytest

            @pytest.mark.miniwob("click-menu-2", "n-screen-n-step", seeds=[1, 1])
            @pytest.mark.miniwob("click-menu*", seeds="1-2")
            def test_solves(miniwob_episode): pass
            """
        )
        collected = item_ids(project.runpytest("--collect-only", "-q"))
        assert len(collected) == len(set(collected)) == 16
        assert any(line.endswith(f"::test_solves[{IDS[0]}]") for line in collected)

    def test_a_marker_needs_a_fixture(self, project):
        project.makepyfile(
            """
            import unittest
            import pytest

            class TestMenu(unittest.TestCase):
                @pytest.mark.miniwob("click-menu-2", seeds=[1])
                def test_it(self):
                    pass
            """
        )
        result = project.runpytest()
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*::TestMenu::test_it has a miniwob marker but no miniwob f*"])

    def test_collecting_imports_neither_browser_nor_client(self, project):
        code = (
            "import sys, pytest; pytest.main(['--collect-only', '-q']); "
            "print([m for m in ('selenium', 'openai', 'vcr', 'yaml', 'lxml') "
            "if m in sys.modules])"
        )
        result = subprocess.run(
            [sys.executable, "-c", code], cwd=project.path, capture_output=True, text=True
        )
        assert "click-menu-2/1]" in result.stdout
        assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--miniwob-agent=reflectiv", "*no agent is called 'reflectiv' (did you mean reflective*"),
        ('--miniwob-agent-params={"size": 1}', "*agent 'reflective' takes no 'size'*"),
    ],
    ids=["name", "parameters"],
)
def test_an_agent_that_can_not_be_made_is_a_collection_error(project, option, message):
    result = project.runpytest(option)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])
    for line in ("*Traceback*", "*UsageError*"):
        result.stdout.no_fnmatch_line(line)


def test_a_mark_of_the_module_is_for_the_tests_that_ask_for_a_fixture(project):
    project.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.miniwob("click-menu-2", seeds=[1], trials=3)

        def test_goal(miniwob_case, miniwob_limits):
            assert miniwob_case.seed == 1
            assert miniwob_limits.trials == 3

        def test_helper():
            pass
        """
    )
    project.runpytest().assert_outcomes(passed=2)
