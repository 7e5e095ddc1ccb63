"""The fixture `miniwob_llm`: one test at a time records an item, and the item ends with it."""

import pytest
from support.projects import solve_menu

from pytest_miniwob_agent.cassettes.format import read_cassette

NEW = "--miniwob-record=new_episodes"

TWO_TESTS = """
    import pytest

    @pytest.mark.miniwob("click-menu-2", seeds=[1])
    def test_one(miniwob_episode):
        assert miniwob_episode.solved

    @pytest.mark.miniwob("click-menu-2", seeds=[1], trials=1)
    def test_other(miniwob_episode):
        assert miniwob_episode.solved
"""

OTHERS_CALLS = """
    import pytest

    @pytest.fixture
    def asked(miniwob_llm):
        return [miniwob_llm.complete(prompt, "plan").text for prompt in {prompts}]

    @pytest.mark.miniwob("click-menu-2", seeds=[1])
    def test_asks(asked, miniwob_episode, miniwob_llm):
        miniwob_llm.complete("after", "plan")
"""

MODEL_ONLY = """
    import pytest

    @pytest.mark.miniwob("click-menu-2", seeds=[1])
    def test_asks(miniwob_llm):
        for prompt in {prompts}:
            miniwob_llm.complete(prompt, "plan")
        {body}
"""


def prompts_in(path):
    return [call.request.text for call in read_cassette(path)]


@pytest.fixture
def run(project, chat_server):
    """Run the project against the server, which solves the page."""
    chat_server.reply = solve_menu

    def call(*args):
        chat_server.requests.clear()
        return project.runpytest(f"--miniwob-base-url={chat_server.url}", *args)

    return call


@pytest.mark.integration
def test_two_tests_on_one_item_pay_once_in_every_mode(project, run, chat_server):
    project.makepyfile(TWO_TESTS)
    run("--miniwob-record=all", "-n2").assert_outcomes(passed=2)
    assert len(chat_server.requests) == 3
    assert [path.name for path in project.recorded()] == ["1.yaml"]
    run("--miniwob-record=all").assert_outcomes(passed=2)
    assert len(chat_server.requests) == 3


class TestCallsOfTheTestItself:
    """Calls that are made outside of an episode: the item ends with its fixture."""

    def cassette(self, project):
        [path] = project.recorded()
        return path.name, prompts_in(path)

    def test_a_test_without_an_episode_is_recorded_and_replayed(self, project, run, chat_server):
        project.makepyfile(MODEL_ONLY.format(prompts='["one", "two"]', body="pass"))
        run(NEW).assert_outcomes(passed=1)
        assert self.cassette(project) == ("1.yaml", ["one", "two"])
        run().assert_outcomes(passed=1)
        assert chat_server.requests == []

        project.makepyfile(MODEL_ONLY.format(prompts='["one"]', body="pass"))
        result = run()
        result.assert_outcomes(passed=1, errors=1)
        result.stdout.fnmatch_lines(["*holds 2 calls, but the item ended after 1. Not made:*"])

        project.makepyfile(MODEL_ONLY.format(prompts='["one"]', body="assert False"))
        run().assert_outcomes(failed=1)
        run(NEW).assert_outcomes(failed=1)
        assert self.cassette(project) == ("1.yaml", ["one", "two"])

    def test_a_test_that_breaks_off_leaves_its_recording_unfinished(self, project, run):
        project.makepyfile(MODEL_ONLY.format(prompts='["one"]', body="1 / 0"))
        run(NEW).assert_outcomes(failed=1)
        assert self.cassette(project) == ("1.partial.yaml", ["one"])

    def test_calls_before_and_after_an_episode_are_part_of_the_item(
        self, project, run, chat_server
    ):
        project.makepyfile(OTHERS_CALLS.format(prompts='["before"]'))
        run(NEW).assert_outcomes(passed=1)
        name, prompts = self.cassette(project)
        assert (name, prompts[0], prompts[-1], len(prompts)) == ("1.yaml", "before", "after", 5)
        run("--miniwob-report=report").assert_outcomes(passed=1)
        assert chat_server.requests == []


def test_a_partial_recording_of_another_cassette_is_reported_at_the_end(project, run):
    project.makepyfile(OTHERS_CALLS.format(prompts="[]"))
    run(NEW).assert_outcomes(passed=1)
    [path] = project.recorded()
    text = path.read_text().replace("content: click id=1", "content: click id=9")
    path.with_name("1.partial.yaml").write_text(text)
    result = run(NEW)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*MiniWoB++ cassettes*", "*1.partial.yaml began from another cassette than *"]
    )
    assert [path.name for path in project.recorded()] == ["1.yaml"]
    assert [path.name for path in project.path.glob(".miniwob/unused/*/*/*/*")] == ["1.unused.yaml"]
    assert (project.path / ".miniwob/.gitignore").read_text() == "*\n"


def test_a_fixture_that_gives_no_agent_is_an_error_that_says_what_an_agent_is(pytester):
    pytester.makepyfile(TWO_TESTS + "    @pytest.fixture\n    def miniwob_agent():\n        pass\n")
    result = pytester.runpytest(NEW, "--miniwob-model=m")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        "*the fixture miniwob_agent: NoneType lacks a `name` or a method solve(env, llm, note)"
    )
