"""Agents by name: those that installed packages bring, found by their entry points."""

import pytest

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
def install(project, monkeypatch):
    """Put a package where Python finds it, with the metadata that an installer leaves there."""
    site = project.mkdir("site")
    monkeypatch.setenv("PYTHONPATH", str(site))

    def install(name, entry, source=AGENT):
        package = name.replace("-", "_")
        site.joinpath(f"{package}.py").write_text(source)
        info = site / f"{package}-1.0.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        info.joinpath("entry_points.txt").write_text(f"[miniwob_agents]\n{entry}\n")

    return install


def run(project, agent):
    return project.runpytest_subprocess(f"--miniwob-agent={agent}", "-k", "click-menu-2")


def test_an_installed_package_brings_an_agent(project, install):
    install("stubborn-agent", "stubborn = stubborn_agent:Stubborn")
    run(project, "stubborn").assert_outcomes(passed=2, deselected=10)


def test_a_name_that_two_packages_have(project, install):
    install("stubborn-agent", "mule = stubborn_agent:Stubborn")
    install("other-agent", "mule = other_agent:Stubborn")
    result = run(project, "mule")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*more than one package has an agent 'mule': other-agent (other_agent:Stubborn), "
            "stubborn-agent (stubborn_agent:Stubborn); name the class itself*"
        ]
    )
    run(project, "other_agent:Stubborn").assert_outcomes(passed=2, deselected=10)


def test_the_built_in_agents_keep_their_names(record, install):
    install("stubborn-agent", "reflective = stubborn_agent:Stubborn")
    result = run(record, "reflective")
    result.assert_outcomes(passed=2, deselected=10)
    result.stdout.fnmatch_lines(["model calls: 6 replayed, 0 recorded"])


def test_a_wrong_name_is_told_the_right_ones(project, install):
    install("stubborn-agent", "stubborn = stubborn_agent:Stubborn")
    result = run(project, "stuborn")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*called 'stuborn' (did you mean stubborn?): give one of reflective, *stubborn or *"]
    )


@pytest.mark.parametrize(
    ("entry", "source", "message"),
    [
        (
            "= broken_agent:Broken",
            "import nowhere",
            "*can't import broken_agent: No module*nowhere*",
        ),
        ("= broken_agent:Broken", "", "*broken_agent has no 'Broken'*"),
        ("= broken_agent", AGENT, "*broken-agent has it at broken_agent, not at a module:Class*"),
    ],
)
def test_a_broken_package_breaks_its_own_runs_only(project, install, entry, source, message):
    install("broken-agent", f"broken {entry}", source)
    install("stubborn-agent", "stubborn = stubborn_agent:Stubborn")
    result = run(project, "broken")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])
    run(project, "stubborn").assert_outcomes(passed=2, deselected=10)


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("builtins:dict", "*agent 'builtins:dict': can't be made: no signature found for *dict*"),
        ("string:digits", "*agent 'string:digits': can't be made: '0123456789' is not a callable*"),
    ],
)
def test_what_is_no_agent_is_an_error_in_words(project, agent, message):
    result = run(project, agent)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*ValueError*")
