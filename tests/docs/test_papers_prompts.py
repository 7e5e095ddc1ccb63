"""docs/papers-prompts.md: its tables are true, and a folder of that form is used."""

import re
from string import Template

import pytest
from support import scripted
from support.projects import ROOT
from support.scripted import button, menu

from pytest_miniwob_agent.agents.reflective import ReflectiveAgent
from pytest_miniwob_agent.agents.registry import prompt_files
from pytest_miniwob_agent.plugins.rci.agent import RCIAgent
from pytest_miniwob_agent.plugins.webwise.agent import WebWISEAgent
from pytest_miniwob_agent.testing import FakePage

PAGE = (ROOT / "docs" / "papers-prompts.md").read_text("utf-8")
SECTIONS = {
    name.strip().rpartition(" ")[2]: text
    for name, _, text in (part.partition("\n") for part in PAGE.split("\n## ")[1:])
}
AGENTS = {"rci": "RCI", "webwise": "WebWISE", "reflective": "agent"}


def told(agent):
    """The files of each row of an agent's table, with the values that the row names."""
    for line in re.findall(r"^\| (.+) \|$", SECTIONS[AGENTS[agent]], re.M)[2:]:
        _, files, values = (cell.strip() for cell in f"{line} ".split(" |"))
        names = re.findall(r"`([\w-]+)\.txt`", files)
        yield names, set(re.findall(r"\$(\w+)", values))


def page():
    return FakePage(
        "Save $5",
        {"start": [button(1, "Save")]},
        rewards={("start", "click id=1"): 1.0},
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_the_tables_have_the_values_of_the_files(agent):
    files = {
        path.stem: set(Template(path.read_text("utf-8")).get_identifiers())
        for path in prompt_files(agent)
    }
    rows = list(told(agent))
    assert len(rows) > 5
    for names, values in rows:
        assert names
        assert set().union(*(files[name] for name in names)) == values
        for name in names:
            assert files[name] == values or "rough-plan" in names


def test_a_folder_of_made_up_texts_is_sent_by_rci(tmp_path):
    texts = {
        "whole-rules": "You can say clickxpath.",
        "plan": "$rules\n$page\nTask: $goal\nThe plan is:",
        "question-critique": "$rules\n$page\nTask: $goal\nPlan: $plan\nAny mistake?",
        "improve": "$rules\n$page\nTask: $goal\nPlan: $plan\nSaid: $critique\nBetter:",
        "task": "$rules\n$page\nTask: $goal\nPlan: $plan\nDone: $history\nNext:",
        "state": "$rules\n$page\nTask: $goal\nPlan: $plan\nDone: $history\nWas: $instruction\nNow:",
        "agent": "$rules\n$page\nTask: $goal\nMeant: $proposal\nWas: $instruction\n$problem\nNow:",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    replies = ["1. Save", "None.", "1. Save it", "save", "save it", "clickxpath //button"]
    agent = RCIAgent(str(tmp_path), as_published=True)
    episode, llm = scripted.play(agent, page(), replies)
    assert episode.solved
    sent = [text for _, text in llm.prompts]
    assert [text.rpartition("\n")[2] for text in sent] == [
        "The plan is:", "Any mistake?", "Better:", "Next:", "Now:", "Now:",
    ]  # fmt: skip
    assert all(text.startswith("You can say clickxpath.\n<") for text in sent)
    assert all("\nTask: Save $5\n" in text for text in sent)


def test_a_folder_of_made_up_texts_is_sent_by_webwise(tmp_path):
    for name, text in {
        "system": "Write Python. $functions",
        "functions": "click(tag, text)",
        "rules": "No more than that.",
        "multi-step": "Step by step.",
        "task": "$examples Task: $goal\nPast: $history\nSee: $objects",
    }.items():
        (tmp_path / f"{name}.txt").write_text(text)
    agent = WebWISEAgent(str(tmp_path), as_published=True)
    episode, llm = scripted.play(agent, page(), ['```\nclick("button", "Save")\n```'])
    assert episode.solved
    [(_, sent)] = llm.prompts
    found = str(sent)
    for text in ("Write Python. click(tag, text)", "No more than that.", "Step by step."):
        assert text in found
    assert "Task: Save $5" in found


def test_a_folder_of_made_up_texts_is_sent_by_the_reflective_agent(tmp_path):
    (tmp_path / "actions.txt").write_text("click id=N")
    (tmp_path / "plan.txt").write_text("$actions\nTask: $goal\n$history\n$screen\nActions:")
    (tmp_path / "reflect.txt").write_text("$actions\nTask: $goal\n$trajectory\n$ending\nFor action")
    replies = ["click id=1", "Opened it.", "click id=3", scripted.advice(1, "click id=5")]
    episode, llm = scripted.play(ReflectiveAgent(str(tmp_path)), menu(5, 3), replies, trials=2)
    assert episode.solved_at == 2
    plan, reflect = (scripted.prompts(llm, purpose)[0] for purpose in ("plan", "reflect"))
    assert plan.startswith("click id=N\nTask: ")
    assert plan.endswith("\nActions:")
    assert reflect.endswith("\nFor action")
