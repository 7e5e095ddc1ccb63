"""Agents by name: built-in ones, those of installed packages, and classes by their path."""

import sys

import pytest

from pytest_miniwob_agent import UsageError
from pytest_miniwob_agent.agents.registry import load_agent

AGENT = """
from pytest_miniwob_agent import Click


class Stubborn:
    name = "stubborn"

    def solve(self, env, llm, note):
        while True:
            env.reset()
            env.step(Click(1))
            if env.step(Click(2)).solved:
                return
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a package where Python finds it, with the metadata that an installer leaves there."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    modules = []

    def install(name, entry, source=AGENT):
        package = name.replace("-", "_")
        modules.append(package)
        site.joinpath(f"{package}.py").write_text(source)
        info = site / f"{package}-1.0.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        info.joinpath("entry_points.txt").write_text(f"[miniwob_agents]\n{entry}\n")

    yield install
    for module in modules:
        sys.modules.pop(module, None)


def refuse(name, **given):
    with pytest.raises(UsageError) as caught:
        load_agent(name, **given)
    return str(caught.value)


def test_an_agent_of_an_installed_package_is_found_after_the_built_in_ones(install):
    install("stubborn-agent", "stubborn = stubborn_agent:Stubborn\nreflective = nowhere:Agent")
    assert load_agent("stubborn", item={"task": "click-tab"}).name == "stubborn"
    assert load_agent("reflective").name == "reflective"


def test_a_name_that_two_packages_have_is_refused(install):
    install("stubborn-agent", "mule = stubborn_agent:Stubborn")
    install("other-agent", "mule = other_agent:Stubborn")
    assert refuse("mule").startswith(
        "more than one package has an agent 'mule': other-agent (other_agent:Stubborn), "
        "stubborn-agent (stubborn_agent:Stubborn); name the class itself"
    )
    assert load_agent("other_agent:Stubborn").name == "stubborn"


def test_an_unknown_name_is_refused_with_the_known_ones(install):
    install("stubborn-agent", "stubborn = stubborn_agent:Stubborn")
    assert refuse("stuborn") == (
        "no agent is called 'stuborn' (did you mean stubborn?): give one of reflective, rci, "
        "webwise, tools, program, stubborn, package.module:Class, or a program by its path or with "
        "its arguments"
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import nowhere", "can't import broken_agent: No module named"),
        ("", "broken_agent has no 'Broken'"),
    ],
)
def test_a_broken_package_is_refused_with_its_fault(install, source, message):
    install("broken-agent", "broken = broken_agent:Broken", source)
    assert message in refuse("broken")


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("builtins:dict", "agent 'builtins:dict': can't be made: no signature found for builtin"),
        ("string:digits", "agent 'string:digits': can't be made: '0123456789' is not a callable"),
        ("json:JSONDecoder", "JSONDecoder lacks a `name` or a method solve(env, llm, note)"),
        ("nowhere:Agent", "agent 'nowhere:Agent': can't import nowhere: No module named 'nowhere'"),
    ],
)
def test_a_path_that_is_not_one_of_an_agent_is_refused(agent, message):
    assert message in refuse(agent)


def test_a_module_that_pytest_does_not_import_from_its_folder_is_refused_with_the_setting(
    tmp_path, monkeypatch
):
    """As where the tests are in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_agent_here.py").write_text("")
    message = refuse("my_agent_here:Mine")
    assert 'add pythonpath = ["."] to its ini file (below [pytest] in pytest.toml' in message


@pytest.mark.parametrize("name", ["..", " ", "x" * 101, 5])
def test_the_name_of_an_agent_must_fit_a_folder(install, name):
    install("named-agent", "named = named_agent:Stubborn", AGENT.replace('"stubborn"', repr(name)))
    assert "can't be that of a folder" in refuse("named")


class TestArguments:
    SOURCE = (
        AGENT
        + """
    def __init__(self, tries=1, *, prompts=None, task=""):
        self.given = tries, prompts, task
"""
    )

    @pytest.fixture(autouse=True)
    def _installed(self, install):
        install("trying-agent", "trying = trying_agent:Stubborn", self.SOURCE)

    def test_an_agent_gets_parameters_prompts_and_task(self, tmp_path):
        agent = load_agent("trying", tmp_path, {"tries": 3}, item={"task": "click-tab"})
        assert agent.given == (3, tmp_path, "click-tab")

    @pytest.mark.parametrize(
        ("param", "message"),
        [
            ("trys", "agent 'trying' takes no 'trys' (did you mean tries?); it takes tries"),
            ("task", "agent 'trying' takes no 'task'"),
            ("prompts", "takes no 'prompts'; it takes tries; give the folder by --miniwob-prompts"),
        ],
    )
    def test_an_unknown_parameter_is_refused(self, param, message):
        assert message in refuse("trying", params={param: 1})


def test_a_run_gives_an_installed_agent_its_task(project, install):
    source = AGENT.replace("while True", "while self.task == 'click-menu-2'")
    source += "\n    def __init__(self, task):\n        self.task = task\n"
    install("stubborn-agent", "stubborn = stubborn_agent:Stubborn", source)
    result = project.runpytest("--miniwob-agent=stubborn", "-k", "click-menu-2")
    result.assert_outcomes(passed=2, deselected=10)
