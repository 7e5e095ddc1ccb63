"""Exports of results: the table as CSV."""

import csv
import io
from dataclasses import replace

import pytest

from pytest_miniwob_agent import Limits
from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.outcome import Result, Status, Tokens
from pytest_miniwob_agent.plugins.export.table import COLUMNS
from pytest_miniwob_agent.results.file import Results


@pytest.fixture
def export(tmp_path, capsys):
    def export(results, *args):
        Results(tuple(results)).write(tmp_path / "r.jsonl")
        status = main(["results", "export", str(tmp_path / "r.jsonl"), *args])
        return status, capsys.readouterr()

    export.folder = tmp_path
    return export


def result(task="click-tab-2", seed=7, outcome=Status.SOLVED, **more):
    solved = outcome is Status.SOLVED
    played = {"solved_at": 2, "endings": ("failed", "correct"), "rewards": (-1.0, 1.0)}
    return Result(
        category="n-screen-n-step", task=task, seed=seed, agent="tools", model="m", outcome=outcome,
        limits=Limits(),
        **(played if solved else {}), **more,
    )  # fmt: skip


FULL = {
    "steps": 4,
    "calls": {"plan": 2, "reflect": 1},
    "tokens": Tokens(2000, 100, cached=500),
    "response_models": ("m-1", "m-2"),
}


def test_a_row_has_all_that_is_known(export):
    status, printed = export(
        [result(**FULL), result(seed=8, outcome=Status.DRIFTED, reason="prompt")],
        "--prices=m 10 100",
    )
    assert status == 0
    first, second = csv.DictReader(io.StringIO(printed.out))
    assert list(first) == list(COLUMNS)
    expected = {
        "case": "n-screen-n-step/click-tab-2/7", "response_model": "m-1, m-2", "solved": "true",
        "solved_at": "2", "reward": "1.0", "trials": "2", "steps": "4", "calls": "3",
        "prompt_tokens": "2000", "completion_tokens": "100", "cached_tokens": "500",
        "cost": "0.03", "most_trials": "5", "most_steps": "30", "any_reward": "false", "reason": "",
    }  # fmt: skip
    assert {name: first[name] for name in expected} == expected
    assert (second["outcome"], second["solved"], second["reason"]) == ("drifted", "", "prompt")
    assert second["prompt_tokens"] == ""


FORMULAS = (
    "=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\nx", " =1", "\xa0=1", '"=1', "'=1", ' "=1', "\ufeff=1",
    "\x00=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20x",
)  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_is_no_formula_for_a_spreadsheet(export, text):
    served = result(task=text, response_models=(text,), rewards=(-1.0,), outcome=Status.UNSOLVED)
    _, printed = export([replace(served, agent=text, model=text, reason=text)])
    [row] = csv.DictReader(io.StringIO(printed.out, newline=""))
    texts = ("task", "agent", "model", "response_model", "reason")
    assert {name: row[name] for name in texts} == dict.fromkeys(texts, f"'{text}")
    assert row["reward"] == "-1.0"


def test_a_text_is_no_formula_where_columns_are_separated_by_semicolons(export):
    [row] = csv.DictReader(io.StringIO(export([replace(result(), model="a;=1+1;b; -2")])[1].out))
    assert row["model"] == "a;'=1+1;b;' -2"


@pytest.mark.parametrize("text", ["gpt-5", "a=b", "openai/gpt-5", "m, -x", "1e5", "<b>"])
def test_other_texts_are_as_they_were(export, text):
    [row] = csv.DictReader(io.StringIO(export([replace(result(), model=text)])[1].out))
    assert row["model"] == text


def test_a_carriage_return_neither_begins_a_cell_nor_a_row(export):
    served = result(response_models=("a\r=1",))
    [row] = csv.DictReader(io.StringIO(export([replace(served, agent="\r=1")])[1].out))
    assert (row["agent"], row["response_model"]) == ("'\n=1", "a\n=1")


def test_the_help_describes_every_column(capsys):
    with pytest.raises(SystemExit):
        main(["results", "export", "--help"])
    rows = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert rows[-len(COLUMNS) :] == [[*column] for column in COLUMNS.items()]
