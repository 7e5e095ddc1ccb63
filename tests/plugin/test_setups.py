"""Several agents and models in one suite: the marker's `agents` and `models`."""

import json
import shutil

import pytest
from support.answers import completion
from support.projects import FAKE_PAGE, REFLECTIVE_PROMPTS, solve_menu

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.results.file import read_results

AGENTS = """
    import os

    from pytest_miniwob_agent import Click

    class Base:
        second = 2

        def __init__(self, more=None):
            pass

        def solve(self, env, llm, note):
            screen = env.reset()
            llm.complete(f"{self.name}: what now, on {screen.goal}?", "plan")
            env.step(Click(1))
            env.step(Click(self.second))

        def run_finished(self, outcomes):
            with open("finished", "a") as file:
                print(os.environ.get("PYTEST_XDIST_WORKER", "controller"), self.name, file=file)
            return f"{self.name} has {', '.join(str(each.case) for each in outcomes)}"

    class Right(Base):
        name = "right"

    class Wrong(Base):
        name = "wrong"
        second = 3

    class Tuned(Base):
        def __init__(self, second=2, more=None):
            self.name, self.second = f"tuned-{second}", second
"""

TEST = """
    from pathlib import Path
    import pytest

    @pytest.mark.miniwob("click-menu-2", seeds=[1], {more})
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""

MENU = "n-screen-n-step/click-menu-2/1"


@pytest.fixture
def run(project):
    project.server.reply = solve_menu
    project.syspathinsert()
    project.makeini("[pytest]\n")
    project.makepyfile(mine=AGENTS)

    def run(more, *args, record="new_episodes"):
        project.makepyfile(TEST.format(more=more))
        if record == "none":
            return project.runpytest(*args)
        return project.record(*args, mode=record)

    run.path = project.path
    run.server = project.server
    return run


TWO = 'agents=[("mine:Right", {"more": Path("x")}), "mine:Wrong"], models=["m", "n"]'


def test_each_agent_works_with_each_model_and_all_are_told_apart(run):
    results = run.path / "r.jsonl"
    recorded = run(TWO, "-n1")
    recorded.assert_outcomes(passed=2, failed=2)
    finished = f"right has right/m/{MENU}, right/n/{MENU}"
    assert finished in " ".join(recorded.stdout.str().split())
    assert run.path.joinpath("finished").read_text() == "controller right\ncontroller wrong\n"
    assert {request["model"] for request in run.server.requests} == {"m", "n"}
    replayed = run(TWO, f"--miniwob-results={results}", "--miniwob-report=report", record="none")
    replayed.assert_outcomes(passed=2, failed=2)
    found = {result.case: (result.agent, result.model) for result in read_results(results).results}
    assert found == {
        f"{agent}/{model}/{MENU}": (agent, model) for agent in ("right", "wrong") for model in "mn"
    }
    assert (run.path / "cassettes/wrong/n/click-menu-2/1.yaml").exists()
    assert (run.path / f"report/data/items/wrong/n/{MENU}.js").exists()
    text = replayed.stdout.str()
    assert "right with m" in text
    assert "wrong with n" in text
    assert finished in " ".join(text.split())


def test_a_run_is_compared_item_by_item_with_the_same_agent_and_model(run):
    results = run.path / "r.jsonl"
    run(TWO, f"--miniwob-results={results}")
    baseline = f"--miniwob-baseline={results}"
    changed = (run.path / "mine.py").read_text().replace('"right"\n', '"right"\n    second = 3\n')
    (run.path / "mine.py").write_text(changed)
    result = run(TWO, baseline, record="none")
    result.stdout.fnmatch_lines(["  2 items solved before and no longer"])


def test_items_are_chosen_by_their_agent_or_model_and_the_command_line_overrides(run):
    run(TWO, "-k", "wrong/n").assert_outcomes(failed=1, deselected=3)
    run(TWO, "--miniwob-agent=mine:Right").assert_outcomes(passed=2)
    result = run(TWO, "--miniwob-model=other", "-v")
    result.stdout.fnmatch_lines([f"*right/other/{MENU}*"])
    assert (run.path / "cassettes/right/other").is_dir()


def test_only_models_or_only_agents_with_parameters_may_be_named(run):
    result = run('models=["m", "vendor/x:free"]', "--miniwob-agent=mine:Right", "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines([f"*right/vendor_x_free~*/{MENU}*"])
    tuned = 'agents=["mine:Right", ("mine:Tuned", {"second": 3})]'
    result = run(tuned, "--miniwob-model=m", "-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([f"*right/m/{MENU}*", f"*tuned-3/m/{MENU}*"])


def test_an_agent_may_have_prompts_of_its_own_and_shares_answers_to_equal_ones(run, project):
    shutil.copytree(REFLECTIVE_PROMPTS, project.mkdir("new") / "prompts")
    (project.path / "new/prompts/plan.txt").write_text(
        "Plan $goal on $screen, after $actions and $history"
    )
    more = 'models="m", agents=["reflective", ("reflective", {"prompts": "new/prompts"})]'
    result = run(more, "--miniwob-results=r.jsonl")
    result.assert_outcomes(passed=2)
    assert "1 replayed (1 shared)" in result.stdout.str()
    found = read_results(project.path / "r.jsonl").results
    assert [one.agent for one in found] == ["reflective-prompts", "reflective"]
    one, other = (one.prompts for one in found)
    assert [name for name in one if one[name] != other[name]] == ["plan.txt"]


@pytest.mark.sweep
def test_a_parameter_that_no_worker_could_send_is_told_at_the_end(run):
    more = 'agents=[("mine:Tuned", {"more": lambda: 1})], models=["m"]'
    result = run(more, "-n1", "--miniwob-results=r.jsonl")
    result.assert_outcomes(passed=1)
    assert "no worker could send the parameters" in result.stdout.str()
    assert [one.case for one in read_results(run.path / "r.jsonl").results] == [f"tuned-2/m/{MENU}"]


WRONG = {
    "agents=[]": "the miniwob marker's agents are empty",
    "agents=[3]": "must be names or module:Class",
    'agents=["reflectiv"]': "no agent is called 'reflectiv'",
    'models=["m", ""]': "must be ids of models, not ''",
    'agents=["rci"]': "no model is named",
    'models=["m", "m"]': "names reflective/m twice",
    'models="m", agents=[("rci", {"prompts": "none"})]': "none is not a folder",
    'agents=["tools", ("tools", {})], models="m"': "names tools/m twice",
}


def test_what_cannot_be_told_apart_or_made_is_an_error_of_the_collection(run, project):
    project.makepyfile(**{f"test_{n}": TEST.format(more=more) for n, more in enumerate(WRONG)})
    result = run('models="m"')
    result.assert_outcomes(errors=len(WRONG))
    said = " ".join(result.stdout.str().split())
    assert [error for error in WRONG.values() if error not in said] == []
    assert not run.server.requests


@pytest.mark.parametrize(
    "test",
    [
        """
        @pytest.mark.parametrize("model", ["m", "n"])
        @pytest.mark.miniwob("click-menu-2", seeds=[1])
        def test_model(miniwob_episode, model):
            pass
        """,
        """
        @pytest.fixture(params=["right", "wrong"])
        def miniwob_agent(request):
            return getattr(mine, request.param.title())()

        @pytest.mark.miniwob("click-menu-2", seeds=[1])
        def test_agent(miniwob_episode):
            pass
        """,
        """
        class TestRight:
            @pytest.fixture
            def miniwob_agent(self):
                return mine.Right()

            @pytest.mark.miniwob("click-menu-2", seeds=[1])
            def test_agent(self, miniwob_episode):
                pass

        @pytest.mark.miniwob("click-menu-2", seeds=[1])
        def test_other(miniwob_episode):
            pass
        """,
    ],
    ids=["parameter", "parametrized fixture", "other fixture"],
)
def test_a_case_with_two_models_or_agents_is_refused_before_it_is_recorded(run, project, test):
    text = "import mine\nimport pytest\n\n"
    project.makepyfile(test_two=text + "\n".join(line[8:] for line in test.splitlines()))
    result = run('models="m"', "test_two.py", "--miniwob-model=m", "--miniwob-results=r.jsonl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*can't be told apart in cassettes and results: name agents*"])
    assert not run.server.requests


def test_a_fixture_that_gives_another_agent_than_the_marker_is_an_error(run, project):
    project.makeconftest(
        FAKE_PAGE
        + """
    import mine

    @pytest.fixture
    def miniwob_agent():
        return mine.Right()
"""
    )
    result = run('agents=["mine:Wrong"], models="m"')
    result.assert_outcomes(errors=1)
    text = " ".join(result.stdout.str().split())
    assert "the marker's agents" in text


def test_the_money_of_each_model_is_counted_by_its_price(run):
    result = run('models=["m", "n"]', "--miniwob-agent=mine:Right", "--miniwob-max-cost=5")
    assert "--miniwob-max-cost needs the price of m" in " ".join(result.stdout.str().split())
    prices = "--miniwob-prices=m 1000 1000, n 2000 2000"
    result = run('models=["m", "n"]', "--miniwob-agent=mine:Right", prices, "--miniwob-max-cost=5")
    result.stdout.fnmatch_lines(["money: $0.042 spent*"])
    result = run('models=["m", "n"]', "--miniwob-agent=mine:Right", record="none")
    result.stdout.no_fnmatch_line("money: *")
    # The items of a model that was not recorded make no call.
    prices = "--miniwob-prices=m 1000 1000"
    result = run('models=["m", "o"]', "--miniwob-agent=mine:Right", prices, record="none")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["money: $0.00 spent, $0.014 avoided"])


def test_one_file_compares_its_agents_and_models_with_the_first(run, capsys):
    results = run.path / "r.jsonl"
    run(TWO, f"--miniwob-results={results}")
    capsys.readouterr()
    assert main(["compare", str(results)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "1: right/m of" in text
    assert "wrong/n of" in text
    assert "Holm" in text
    assert main(["compare", str(results), "--first=wrong/n"]) == 0
    assert "1: wrong/n of" in " ".join(capsys.readouterr().out.split())
    assert main(["compare", str(results), "--first=wrong/o"]) == 2
    assert "no results of 'wrong/o' (did you mean wrong/n" in capsys.readouterr().err
    assert main(["compare", str(results), str(results), "--first=wrong/n"]) == 2
    assert "leave out the other files" in capsys.readouterr().err


def test_requests_of_all_models_wait_in_one_batch_file(run):
    pending = run.path / ".miniwob/pending.jsonl"
    run(TWO, record="defer").stdout.fnmatch_lines(["* 4 waiting in *"])
    lines = [json.loads(line) for line in pending.read_text().splitlines()]
    assert sorted(line["body"]["model"] for line in lines) == ["m", "m", "n", "n"]
    answers = run.path / "answers.jsonl"
    bodies = (completion("1", line["body"]["model"]) for line in lines)
    responses = ({"status_code": 200, "body": body} for body in bodies)
    answered = zip((line["custom_id"] for line in lines), responses, strict=True)
    answers.write_text(
        "".join(json.dumps({"custom_id": id_, "response": said}) + "\n" for id_, said in answered)
    )
    result = run(TWO, f"--miniwob-answers={answers}", record="defer")
    result.assert_outcomes(passed=2, failed=2)
    assert not pending.exists() or not pending.read_text()
