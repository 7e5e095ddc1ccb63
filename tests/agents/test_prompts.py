"""Prompts and their replacement, file by file."""

import pytest
from support.projects import REFLECTIVE_PROMPTS

from pytest_miniwob_agent.agents.prompts import Prompts
from pytest_miniwob_agent.core.errors import UsageError


def test_a_users_file_replaces_the_built_in_one(tmp_path):
    (tmp_path / "ground.txt").write_text("Where is $action on $screen? It costs $$5.\n")
    prompts = Prompts(REFLECTIVE_PROMPTS, tmp_path)
    assert prompts.fill("ground", action="A", screen="S") == "Where is A on S? It costs $5."
    assert prompts.fill("actions") == Prompts(REFLECTIVE_PROMPTS).fill("actions")


def test_values_are_filled_in_literally(tmp_path):
    (tmp_path / "ground.txt").write_text("$action|$screen")
    filled = Prompts(REFLECTIVE_PROMPTS, tmp_path).fill(
        "ground", action="$screen {x} %s \\1", screen="$$"
    )
    assert filled == "$screen {x} %s \\1|$$"


def test_a_value_may_have_any_name(tmp_path):
    (tmp_path / "greet.txt").write_text("Hello $name, from $self.")
    assert Prompts(tmp_path).fill("greet", name="Ann", self="Bob") == "Hello Ann, from Bob."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "$action on $scren",
            r"ground\.txt: this prompt has no value \$scren; its values are \$ac",
        ),
        ("$action only", r"ground\.txt: this prompt must contain \$screen"),
        ("$action $screen for 5$", r"ground\.txt: a \$ without a name"),
    ],
)
def test_a_text_with_other_values_is_refused_before_it_is_needed(tmp_path, text, message):
    (tmp_path / "ground.txt").write_text(text)
    with pytest.raises(UsageError, match=message):
        Prompts(REFLECTIVE_PROMPTS, tmp_path)


def test_an_agents_own_text_with_other_values_is_refused(tmp_path):
    (tmp_path / "greet.txt").write_text("Hello $name.")
    with pytest.raises(UsageError, match=r"greet\.txt: this prompt has no value \$name"):
        Prompts(tmp_path).fill("greet")


def test_a_recorded_item_whose_prompt_has_other_values_is_an_error_and_no_drift(record):
    folder = record.mkdir("prompts")
    (folder / "plan.txt").write_text("$actions $goal $screen", "utf-8")
    result = record.runpytest("-k", "click-menu-2", "--miniwob-prompts=prompts")
    assert result.parseoutcomes() == {"errors": 2, "deselected": 10}
    assert "plan.txt: this prompt must contain $history; its values are" in result.stdout.str()


def test_a_file_with_the_name_of_no_prompt_is_refused(tmp_path):
    (tmp_path / "plam.txt").write_text("x")
    with pytest.raises(UsageError, match=r"plam\.txt: .* no such prompt \(did you mean plan\.txt"):
        Prompts(REFLECTIVE_PROMPTS, tmp_path)


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(UsageError, match="nowhere is not a folder"):
        Prompts(REFLECTIVE_PROMPTS, tmp_path / "nowhere")
