"""`miniwob-agent prompts`: copies of an agent's prompts, which are then used."""

import pytest
from support.projects import REFLECTIVE_PROMPTS

from pytest_miniwob_agent.agents.registry import load_agent, named_agents, prompt_files

NAMED = [name for name in named_agents() if name != "program"]  # which needs a command


@pytest.mark.parametrize("agent", NAMED)
def test_all_prompts_of_every_agent_can_be_copied_and_used(agent, call, tmp_path):
    names = sorted(file.name for file in prompt_files(agent))
    assert len(names) > 5
    folder = tmp_path / "my prompts"
    status, out, _ = call("prompts", "copy", agent, str(folder))
    assert status == 0
    assert sorted(path.name for path in folder.iterdir()) == names
    assert [line.rpartition("/")[2] for line in out.splitlines()[:-2]] == names
    assert out.endswith(f" --miniwob-prompts='{folder}'\n")
    load_agent(agent, folder)  # refuses names that the agent does not know


def test_named_prompts_are_copied_with_or_without_their_ending(call, tmp_path):
    folder = tmp_path / "below/prompts"
    status, out, _ = call("prompts", "copy", "reflective", str(folder), "plan.txt", "reflect")
    assert status == 0
    assert out.splitlines()[2:] == [
        "2 prompts of reflective copied; after a change, see what it affects:",
        f"pytest --miniwob-prompts={folder}",
    ]
    for name in ("plan.txt", "reflect.txt"):
        assert (folder / name).read_bytes() == (REFLECTIVE_PROMPTS / name).read_bytes()
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reflectiv", "x"], "no agent is called 'reflectiv' (did you mean reflective"),
        (["tools", "x", "sistem"], "tools has no prompt 'sistem' (did you mean system.txt?)"),
        (["pathlib:Path", "x"], "agent 'pathlib:Path' has no folder `prompts` with "),
        (["reflective", "taken"], "taken has plan.txt already: nothing was copied"),
    ],
)
def test_what_can_not_be_copied_is_said_and_nothing_is(
    call, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/plan.txt").write_text("mine")
    status, out, err = call("prompts", "copy", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert [path.read_text() for path in tmp_path.rglob("*.txt")] == ["mine"]
    assert list(tmp_path.iterdir()) == [tmp_path / "taken"]
