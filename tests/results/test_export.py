"""Exports of results: the table as CSV and Parquet, and the records of whole runs."""

import csv
import io
import json
import subprocess
from dataclasses import replace

import pytest
from frameworks import FRAMEWORKS, program_of
from projects import ROOT
from pyarrow import parquet

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.outcome import Status
from pytest_miniwob_agent.results.export import COLUMNS, JOURNAL
from pytest_miniwob_agent.results.file import Result, Results
from pytest_miniwob_agent.tasks.problems import PROBLEM_LISTS


@pytest.fixture
def export(tmp_path, capsys):
    """Write results and export them; returns the exit status and what was printed."""

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
        limits={"trials": 5, "steps": 30, "calls": 500},
        **(played if solved else {}), **more,
    )  # fmt: skip


FULL = {
    "steps": 4,
    "calls": {"plan": 2, "reflect": 1},
    "tokens": {"prompt": 2000, "completion": 100, "cached": 500},
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


@pytest.mark.parametrize("text", ["gpt-5", "a=b", "openai/gpt-5", "m, -x", "1e5", "<b>"])
def test_other_texts_are_as_they_were(export, text):
    [row] = csv.DictReader(io.StringIO(export([replace(result(), model=text)])[1].out))
    assert row["model"] == text


def test_a_carriage_return_neither_begins_a_cell_nor_a_row(export):
    served = result(response_models=("a\r=1",))
    [row] = csv.DictReader(io.StringIO(export([replace(served, agent="\r=1")])[1].out))
    assert (row["agent"], row["response_model"]) == ("'\n=1", "a\n=1")


def test_parquet_keeps_types_and_needs_a_file(export):
    file = export.folder / "r.parquet"
    assert export([result(**FULL)], "--format=parquet", f"--output={file}")[0] == 0
    [row] = parquet.read_table(file).to_pylist()
    assert (row["solved"], row["seed"], row["reward"], row["cost"]) == (True, 7, 1.0, None)
    status, printed = export([result()], "--format=parquet")
    assert status == 2
    assert "--output" in printed.err


def test_the_journals_row_counts_episodes_as_they_are_scheduled(export):
    times = PROBLEM_LISTS["browsergym"].read()
    twice = next(problem for problem, count in times.items() if count == 2)
    once = next(problem for problem, count in times.items() if count == 1)
    lost = next(problem for problem in list(times)[::-1] if times[problem] == 1)
    _, printed = export(
        [
            result(*twice),
            result(*once, outcome=Status.UNSOLVED),
            result(*lost, outcome=Status.ERROR),
        ],
        "--format=browsergym",
    )
    [row] = csv.DictReader(io.StringIO(printed.out))
    assert list(row) == list(JOURNAL)
    assert (row["agent_name"], row["benchmark"]) == ("tools-m", "miniwob")
    assert (row["avg_reward"], row["std_err"]) == ("0.667", "0.272")
    assert (row["n_err"], row["n_completed"]) == ("1", "3/625")
    status, printed = export([result(seed=1_000_001)], "--format=browsergym")
    assert status == 2
    assert "not in BrowserGym's schedule" in printed.err


VALIDATE = """
import json, sys
from importlib.resources import files
from jsonschema import Draft7Validator
schema = files("every_eval_ever") / "schemas" / "eval.schema.json"
Draft7Validator(json.loads(schema.read_text())).validate(json.load(sys.stdin))
"""
"""Checks a record against the schema that its collectors publish."""


def every_eval_ever(export):
    results = [result(**FULL), result("login-user", outcome=Status.UNSOLVED)]
    drifted = result("login-user", seed=8, outcome=Status.DRIFTED, reason="prompt")
    return export([*results, drifted], "--format=every-eval-ever")[1].out


def test_a_record_has_the_rate_of_all_items_and_of_each_task(export):
    [line] = every_eval_ever(export).splitlines()
    record = json.loads(line)
    assert record["model_info"]["id"] == "m"
    assert record["model_info"]["additional_details"]["agent"] == "tools"
    found = {
        each["evaluation_name"]: (
            each["score_details"]["score"],
            each["score_details"]["uncertainty"]["num_samples"],
        )
        for each in record["evaluation_results"]
    }
    assert found == {
        "miniwob": (0.5, 2),
        "miniwob/click-tab-2": (1.0, 1),
        "miniwob/login-user": (0.0, 1),
    }


def test_a_record_is_what_every_eval_ever_accepts(export):
    python = program_of(FRAMEWORKS, "python")
    subprocess.run([python, "-c", VALIDATE], input=every_eval_ever(export), text=True, check=True)


def test_the_documentation_has_every_column():
    text = (ROOT / "docs/output.md").read_text("utf-8")
    for name, meaning in COLUMNS.items():
        assert f"| `{name}` | {meaning} |" in text
