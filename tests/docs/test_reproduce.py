"""The commands of docs/reproduce.md: their suites collect, with the parameters that they name."""

import re
import shlex

import pytest
from support.projects import ROOT

PAGE = (ROOT / "docs" / "reproduce.md").read_text("utf-8").replace("\\\n", " ")
EXAMPLES = ROOT / "pytest_miniwob_agent" / "plugins" / "webwise" / "prompts" / "examples.jsonl"

ITEMS = {
    "paper.py": 1075,
    "reflective_ablation.py": 375,
    "reflection.py": 224,
    "memories.py": 660,
    "reflective_grounding.py": 18,
    "rci.py": 54,
    "rci_ablation.py": 45,
    "rci_grounding.py": 18,
    "webwise.py": 240,
    "webwise_methods.py": 384,
    "webwise_auto_context.py": 66,
    "webwise_multi_step.py": 66,
    "webwise_task_messages.py": 286,
}
SEEDS = {"--miniwob-seeds=0-9": 480, "--miniwob-seeds=1002-1004": 33}
"""The numbers of items of commands that name seeds."""

COMMANDS = re.findall(r"^\$ pytest tests/suites/(\w+\.py)(.*)$", PAGE, re.M)


@pytest.fixture
def collected(shipped):
    def collected(*args):
        run = shipped(*args, "--collect-only", "-q")
        assert run.ret == 0
        return run.stdout.str().count("::test_solves[")

    return collected


def test_every_suite_is_in_a_command():
    assert {suite for suite, _ in COMMANDS} == set(ITEMS)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, id=" ".join(command), marks=[pytest.mark.sweep] * (number > 3))
        for number, command in enumerate(COMMANDS)
    ],
)
def test_the_suite_of_a_command_collects(collected, command, tmp_path):
    suite, options = command
    pool = tmp_path / "pool.jsonl"
    pool.write_bytes(EXAMPLES.read_bytes())
    items = next((SEEDS[seeds] for seeds in SEEDS if seeds in options), ITEMS[suite])
    assert collected(suite, *shlex.split(options.replace("pool.jsonl", str(pool)))) == items


@pytest.mark.parametrize(
    ("suite", "options"),
    [
        ("rci_ablation.py", ["-k", "few-shot/"]),
        ("reflective_ablation.py", ["-k", "reflective/"]),
    ],
)
def test_a_part_that_the_page_names_can_be_picked(collected, suite, options):
    assert f"`-k {options[1]}`" in PAGE
    assert collected(suite, *options) == {"rci": 9, "reflective": 125}[suite.partition("_")[0]]
