"""Runs without pytest's own plugins, and with those that retry, repeat or parametrize tests.

What is not installed for development has a stand-in, which does the same at the same hook.
"""

import json
import re

import pytest
from support.projects import FAKE_PAGE, INNER_RUNS, solve_menu
from support.sweeps import swept

USED = ("capture", "logging", "debugging", "skipping", "terminal")
"""Plugins of pytest whose options or state we use."""

OTHERS = (
    "assertion", "cacheprovider", "doctest", "faulthandler", "junitxml", "legacypath",
    "monkeypatch", "pastebin", "recwarn", "setuponly", "setupplan", "stepwise", "subtests",
    "terminalprogress", "threadexception", "tmpdir", "unittest", "warnings", "xdist",
)  # fmt: skip


def fails_on_tabs(prompt):
    return "click id=3" if "for click-tab " in prompt and ">Save<" in prompt else solve_menu(prompt)


@pytest.mark.parametrize(
    "names",
    [
        *swept(*([name] for name in USED[1:-1])),
        ["capture"],
        USED[-1:],
        OTHERS,
    ],
)
def test_a_run_ends_in_order_without_plugins_of_pytest(project, chat_server, names):
    chat_server.reply = fails_on_tabs
    without = [f"-pno:{name}" for name in names]

    def run(results, *args):
        """Return the outcomes. On the command line, the plugin's options are switched off too."""
        result = project.runpytest(
            *without, "-k", "click-menu-2/ or click-tab/", "--miniwob-trials=1",
            f"--miniwob-results={results}.jsonl", *args,
        )  # fmt: skip
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        [file] = project.path.glob(f"{results}*.jsonl")
        return sorted(json.loads(line)["outcome"] for line in file.read_text().splitlines()[1:])

    recorded = run("base", "--miniwob-record=all", f"--miniwob-base-url={chat_server.url}")
    assert recorded == ["solved", "solved", "unsolved", "unsolved"]
    changed = FAKE_PAGE.replace("Open the", "{('Close', 'Open')[miniwob_case.seed % 2]} the")
    project.makeconftest(changed)
    more = ["--miniwob-seeds=1-3", "--miniwob-baseline=base.jsonl", "--miniwob-report=report"]
    found = run("new", *more)
    assert found == ["drifted", "drifted", "error", "error", "solved", "unsolved"]
    assert (project.path / "report/index.html").exists()


BACKENDS = """
import pytest
{fixture}

@pytest.mark.anyio
@pytest.mark.miniwob("click-menu-2", seeds=[1])
async def test_twice(miniwob_episode):
    assert miniwob_episode.solved

@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@pytest.mark.miniwob("click-menu-2", seeds=[1])
async def test_once(miniwob_episode):
    assert miniwob_episode.solved

@pytest.mark.miniwob("click-menu-2", seeds=[1, 2])
def test_solved(miniwob_episode):
    assert miniwob_episode.solved
"""

OWN = """
@pytest.fixture(params=["trio", "asyncio"])
def anyio_backend(request):
    return request.param
"""


@pytest.mark.parametrize("fixture", ["", OWN], ids=["default", "own"])
def test_only_a_test_that_anyio_runs_with_two_backends_is_refused(record, monkeypatch, fixture):
    monkeypatch.setenv("PYTEST_ADDOPTS", INNER_RUNS.replace("-pno:anyio", ""))
    record.path.joinpath("test_x.py").write_text(BACKENDS.format(fixture=fixture))
    result = record.runpytest("test_x.py", "--miniwob-results=results.jsonl")
    result.assert_outcomes(passed=3, errors=2)
    [advice] = set(re.findall(r"choose one of its param.*", result.stdout.str()))
    assert "@pytest.mark.parametrize('anyio_backend', ['" in advice


LATE = """
import unittest
import pytest

pytestmark = pytest.mark.miniwob("click-menu-2", seeds=[1])

def test_asks_later(request):
    request.getfixturevalue("miniwob_episode")

@pytest.mark.usefixtures("miniwob_episode")
class TestCase(unittest.TestCase):
    def test_method(self):
        pass

@pytest.fixture
def page(request):
    return request.getfixturevalue("miniwob_page")

def test_by_a_fixture(page):
    pass

@pytest.mark.usefixtures("miniwob_case")
def test_has_a_case(request):
    assert request.getfixturevalue("miniwob_episode").solved

def test_needs_none():
    pass
"""


def test_a_test_without_a_case_that_asks_for_a_fixture_is_told_what_it_lacks(record):
    plain = "def test_unmarked(request): request.getfixturevalue('miniwob_llm')"
    record.write(LATE, test_plain=plain)
    record.path.joinpath("text.txt").write_text(">>> getfixture('miniwob_agent')\n")
    result = record.runpytest("--doctest-glob=*.txt")
    result.assert_outcomes(passed=2, failed=3, errors=2)
    output = result.stdout.str()
    assert "StashKey" not in output
    lacking = "has a miniwob marker but no miniwob fixture: give it the parameter miniwob_episode"
    for name in ("test_asks_later", "TestCase::test_method", "test_by_a_fixture"):
        assert f"{name} {lacking}" in output
    for name in ("test_unmarked", "text.txt"):
        assert f"{name} asks for a miniwob fixture but selects no tasks: mark it" in output


REPEAT = """
    def pytest_generate_tests(metafunc):
        metafunc.fixturenames.append("_repeat_step")
        metafunc.parametrize("_repeat_step", range(2), indirect=True)

    @pytest.fixture
    def _repeat_step(request):
        return request.param
"""


def test_an_item_that_a_plugin_repeats_counts_once(record):
    record.makeconftest(FAKE_PAGE + REPEAT)
    args = ["-k", "click-menu-2", "--miniwob-results=results.jsonl", "--miniwob-report=report"]
    result = record.runpytest(*args)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["n-screen-n-step * 2/2 *", "model calls: 12 replayed*"])
    assert len((record.path / "results.jsonl").read_text().splitlines()) == 3


def test_of_an_item_that_is_repeated_the_run_that_fails_counts(project):
    own = """
    from pytest_miniwob_agent import Completion

    @pytest.fixture
    def miniwob_llm(_repeat_step):
        class Model:
            def complete(self, prompt, purpose):
                if ">Save<" not in prompt:
                    return Completion("click id=1")
                return Completion("click id=2" if _repeat_step == {solved} else "click id=3")
        return Model()
    """
    for solved in (0, 1):
        project.makeconftest(FAKE_PAGE + REPEAT + own.replace("{solved}", str(solved)))
        result = project.runpytest("-k", "click-menu-2/1", "--miniwob-trials=1")
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines(["n-screen-n-step * 0/1 *"])


AGENT = """
    from pathlib import Path

    from pytest_miniwob_agent import Click

    class Agent:
        name = "shaky"

        def solve(self, env, llm, note):
            if {late}:
                env.reset()
            runs = Path("runs")
            runs.write_text(runs.read_text() + "." if runs.exists() else ".")
            if len(runs.read_text()) <= {failures}:
                raise RuntimeError("not this time")
            env.reset()
            env.step(Click(1))
            env.step(Click(2))
"""

RETRY = """
    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(item, call):
        '''Repeat a call that failed, and let its report say how that ended, as pytest-retry.'''
        report = (yield).get_result()
        if call.when == "call" and call.excinfo:
            hook = item.ihook
            nobody = pytest.Class.from_parent(item.session, name="Nobody")
            hook.pytest_runtest_teardown(item=item, nextitem=nobody)
            item._initrequest()
            pytest.CallInfo.from_call(lambda: hook.pytest_runtest_setup(item=item), when="setup")
            again = pytest.CallInfo.from_call(
                lambda: hook.pytest_runtest_call(item=item), when="call"
            )
            once_more = pytest.TestReport.from_item_and_call(item, again)
            report.outcome, report.longrepr = once_more.outcome, once_more.longrepr
"""


@pytest.fixture
def shaky(project):
    """Run one item of an agent that raises an exception so many times."""

    def run(failures, *args, late=False, conftest=""):
        (project.path / "runs").unlink(missing_ok=True)
        # A name per text: Python takes a compiled module of the same second and size for this one.
        name = f"mine_{failures}"
        project.makepyfile(**{name: AGENT.format(failures=failures, late=late)})
        project.makeconftest(FAKE_PAGE + conftest)
        result = project.runpytest(
            "-k", "click-menu-2/1", "-opythonpath=.", f"--miniwob-agent={name}:Agent",
            "--miniwob-record=all", "--miniwob-results=results.jsonl", *args,
        )  # fmt: skip
        [file] = project.path.glob("results*.jsonl")
        result.item = json.loads(file.read_text().splitlines()[1])
        file.unlink()
        result.runs = len((project.path / "runs").read_text())
        return result

    return run


@pytest.mark.parametrize("late", [False, True], ids=["at once", "after it has played"])
@pytest.mark.parametrize("plugin", ["rerunfailures", "stand-in for pytest-retry"])
def test_plugins_retry_an_exception_of_the_agent(shaky, monkeypatch, plugin, late):
    retry, options = RETRY, []
    if plugin == "rerunfailures":
        retry, options = "", ["--reruns=1"]
        monkeypatch.setenv("PYTEST_ADDOPTS", INNER_RUNS.replace("-pno:rerunfailures", ""))
    result = shaky(1, *options, late=late, conftest=retry)
    assert result.parseoutcomes()["passed"] == 1
    assert (result.runs, result.item["outcome"]) == (2, "solved")
    result.stdout.fnmatch_lines(["n-screen-n-step * 1/1 *"])
    result = shaky(2, *options, late=late, conftest=retry)
    assert result.runs == 2
    assert result.parseoutcomes()["failed" if late else "errors"] == 1
    assert result.item["outcome"] == "unsolved" if late else "error"


ANNOTATE = """
    def pytest_runtest_logreport(report):
        '''Name the place of a failure, as plugins that annotate commits.'''
        if report.when == "call" and report.failed:
            place = report.longrepr.reprtraceback.reprentries[0].reprfileloc
            print(f"::error file={place.path},line={place.lineno}")
"""


def test_an_exception_of_the_agent_is_a_failed_call_in_its_own_file(shaky):
    result = shaky(1, conftest=ANNOTATE)
    result.assert_outcomes(errors=1)  # inconclusive
    result.stdout.fnmatch_lines(["*::error file=mine_*.py,line=14", "*RuntimeError: not this time"])
    assert "hooks.py" not in result.stdout.str()


def test_set_up_alone_shows_an_exception_of_the_agent(shaky):
    shaky(1, "--setup-only").stdout.fnmatch_lines(["*ERROR at setup of *", "*not this time"])
