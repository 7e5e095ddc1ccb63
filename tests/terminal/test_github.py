"""Job summary and annotations of GitHub Actions."""

import json

import pytest
from support.made_results import HOSTILE, after, before, make_result

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.results.comparison import Comparison
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.gate import Gate, judge
from pytest_miniwob_agent.terminal.views import ComparisonView, report_to_github


@pytest.fixture
def annotations(capsys, monkeypatch, tmp_path):
    """The annotations on a comparison; the job's summary is the file `summary`."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))

    def annotations(gate=None, base=None, head=None):
        base, head = base or before(), head or after()
        verdict = judge(base, head, Gate.parse(gate)) if gate else None
        view = ComparisonView(Comparison(base, head), verdict)
        report_to_github(view.markdown(), verdict, view.changed[0])
        return capsys.readouterr().err.splitlines()

    return annotations


def test_elsewhere_nothing_is_written(annotations, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "")
    assert annotations() == []
    assert not (tmp_path / "summary").exists()


def test_regressions_are_errors_without_a_gate(annotations):
    begin = "::error title=MiniWoB++ regression::n-screen-n-step/click-pie"
    end = "solved in trial 1 -> unsolved (cycle ×2, failed)"
    assert annotations() == [f"{begin}/5: {end}", f"{begin}/6: {end}"]


def test_a_red_gate_is_an_error_and_regressions_under_a_green_one_are_warnings(annotations):
    red = annotations("items")
    assert red[0] == "::error title=MiniWoB++ gate::2 items solved before and no longer"
    assert len(red) == 3
    green = annotations("rate:50")
    assert [line.split(" ")[0] for line in green] == ["::warning", "::warning"]


@pytest.mark.parametrize(("gate", "kind"), [("paired", "error"), ("paired,lenient", "warning")])
def test_an_inconclusive_gate_is_an_error_unless_it_is_lenient(annotations, tmp_path, gate, kind):
    found = annotations(gate)
    assert [line.split(" ")[0] for line in found] == [f"::{kind}"] * 3
    title = f"::{kind} title=MiniWoB++ gate is inconclusive::2 worse, 1 better: too few items"
    assert found[0].startswith(title)
    text = (tmp_path / "summary").read_text()
    assert f"Gate `{Gate.parse(gate)}`: **inconclusive**\n\n```\nresults: " in text


def test_at_most_as_many_as_github_shows_are_written(annotations):
    head = Results(tuple(make_result(seed, False) for seed in range(20)))
    found = annotations("items", head=head)
    assert len(found) == 10
    # 20 items (18 were solved before), one reason for them and one for what is missing.
    assert found[-1] == "::error title=MiniWoB++::and 11 more; see the job's summary"


def test_hostile_text_does_not_become_a_command(annotations):
    base = Results((make_result(0, task=HOSTILE),))
    head = Results((make_result(0, False, task=HOSTILE, endings=(HOSTILE,)),))
    (line,) = annotations(base=base, head=head)
    assert line.startswith("::error title=MiniWoB++ regression::n-screen-n-step/a|b")
    assert "%250A" in line
    assert "%0D%0A::error::gone" in line
    assert "\x1b" not in line


@pytest.mark.parametrize("heads", [1, 2])
def test_compare_appends_to_the_job_summary(annotations, tmp_path, capsys, heads):
    before().write(tmp_path / "old.jsonl")
    after().write(tmp_path / "new.jsonl")
    (tmp_path / "summary").write_text("# Before\n")
    files = [str(tmp_path / name) for name in ("old.jsonl", *["new.jsonl"] * heads)]
    assert main(["compare", *files, "--format", "json"]) == 0
    assert (tmp_path / "summary").read_text().startswith("# Before\n### MiniWoB++ results\n")
    json.loads(capsys.readouterr().out)
