"""The fixture `miniwob_llm`: one test at a time records an item, and the item ends with it."""

import pytest
from support.projects import solve_menu

from pytest_miniwob_agent.cassettes.format import read_cassette

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


@pytest.fixture(autouse=True)
def solving(project):
    project.server.reply = solve_menu


@pytest.mark.sweep
@pytest.mark.integration
def test_two_tests_on_one_item_pay_once_in_every_mode(project):
    project.makepyfile(TWO_TESTS)
    project.record("-n2", mode="all").assert_outcomes(passed=2)
    assert len(project.server.requests) == 3
    assert [path.name for path in project.recorded()] == ["1.yaml"]
    project.record(mode="all").assert_outcomes(passed=2)
    assert len(project.server.requests) == 6


class TestCallsOfTheTestItself:
    def cassette(self, project):
        [path] = project.recorded()
        return path.name, prompts_in(path)

    def test_a_test_without_an_episode_is_recorded_and_replayed(self, project):
        project.makepyfile(MODEL_ONLY.format(prompts='["one", "two"]', body="pass"))
        project.record().assert_outcomes(passed=1)
        assert self.cassette(project) == ("1.yaml", ["one", "two"])
        project.replay(passed=1)

        project.makepyfile(MODEL_ONLY.format(prompts='["one"]', body="pass"))
        result = project.replay(passed=1, errors=1)
        result.stdout.fnmatch_lines(["*holds 2 calls, but the item ended after 1. Not made:*"])

        project.makepyfile(MODEL_ONLY.format(prompts='["one"]', body="assert False"))
        project.replay(failed=1)
        project.record().assert_outcomes(failed=1)
        assert self.cassette(project) == ("1.yaml", ["one", "two"])

    def test_a_test_that_breaks_off_leaves_its_recording_unfinished(self, project):
        project.makepyfile(MODEL_ONLY.format(prompts='["one"]', body="1 / 0"))
        project.record().assert_outcomes(failed=1)
        assert self.cassette(project) == ("1.partial.yaml", ["one"])

    def test_calls_before_and_after_an_episode_are_part_of_the_item(self, project):
        project.makepyfile(OTHERS_CALLS.format(prompts='["before"]'))
        project.record().assert_outcomes(passed=1)
        name, prompts = self.cassette(project)
        assert (name, prompts[0], prompts[-1], len(prompts)) == ("1.yaml", "before", "after", 5)
        project.replay("--miniwob-report=report", passed=1)


def test_a_partial_recording_of_another_cassette_is_reported_at_the_end(project):
    project.makepyfile(OTHERS_CALLS.format(prompts="[]"))
    project.record().assert_outcomes(passed=1)
    [path] = project.recorded()
    text = path.read_text().replace("content: click id=1", "content: click id=9")
    path.with_name("1.partial.yaml").write_text(text)
    result = project.record()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*MiniWoB++ cassettes*", "*1.partial.yaml began from a different cassette *"]
    )
    assert [path.name for path in project.recorded()] == ["1.yaml"]
    assert [path.name for path in project.path.glob(".miniwob/unused/*/*/*/*")] == ["1.unused.yaml"]
    assert (project.path / ".miniwob/.gitignore").read_text() == "*\n"


def test_a_fixture_that_gives_no_agent_is_an_error_that_says_what_an_agent_is(project):
    project.makepyfile(TWO_TESTS + "    @pytest.fixture\n    def miniwob_agent():\n        pass\n")
    result = project.record()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines("*the fixture miniwob_agent: NoneType lacks *")
