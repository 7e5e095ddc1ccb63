"""Job summary and annotations of GitHub Actions."""

import io
import json

from made_results import HOSTILE, after, before, make_result

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.results.comparison import Comparison
from pytest_miniwob_agent.results.file import Results
from pytest_miniwob_agent.results.gate import Gate, judge
from pytest_miniwob_agent.terminal.comparison import ComparisonView
from pytest_miniwob_agent.terminal.github import annotation, report_to_github


class TestAnnotations:
    def annotations(self, gate=None, base=None, head=None, **environ):
        base, head = base or before(), head or after()
        verdict = judge(base, head, Gate.parse(gate)) if gate else None
        stream = io.StringIO()
        report_to_github(ComparisonView(Comparison(base, head), verdict), environ, stream)
        return stream.getvalue().splitlines()

    def test_elsewhere_nothing_is_written(self, tmp_path):
        assert self.annotations(GITHUB_STEP_SUMMARY=str(tmp_path / "s")) == []
        assert not (tmp_path / "s").exists()

    def test_regressions_are_errors_without_a_gate(self):
        assert self.annotations(GITHUB_ACTIONS="true") == [
            "::error title=MiniWoB++ regression::n-screen-n-step/click-pie/5: solved in trial 1 -> "
            "unsolved (cycle ×2, failed)",
            "::error title=MiniWoB++ regression::n-screen-n-step/click-pie/6: solved in trial 1 -> "
            "unsolved (cycle ×2, failed)",
        ]

    def test_a_red_gate_is_an_error_and_regressions_under_a_green_one_are_warnings(self):
        red = self.annotations("items", GITHUB_ACTIONS="true")
        assert red[0] == "::error title=MiniWoB++ gate::2 items solved before and no longer"
        assert len(red) == 3
        green = self.annotations("rate:50", GITHUB_ACTIONS="true")
        assert [line.split(" ")[0] for line in green] == ["::warning", "::warning"]

    def test_an_inconclusive_gate_is_a_warning(self, tmp_path):
        summary = tmp_path / "summary.md"
        found = self.annotations("paired", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
        assert [line.split(" ")[0] for line in found] == ["::warning"] * 3
        assert found[0].startswith(
            "::warning title=MiniWoB++ gate is inconclusive::2 worse, 1 better: no change for"
        )
        text = summary.read_text()
        assert "Gate `paired:0.05`: **inconclusive**\n\n```\nresults: " in text
        assert "  -> about 175 items would decide" in text

    def test_at_most_as_many_as_github_shows_are_written(self):
        head = Results(tuple(make_result(seed, False) for seed in range(20)))
        found = self.annotations("items", head=head, GITHUB_ACTIONS="true")
        assert len(found) == 10
        # 20 items of which 18 were solved before, one reason for them and one for what is missing.
        assert found[-1] == "::error title=MiniWoB++::and 11 more; see the job's summary"

    def test_hostile_text_does_not_become_a_command(self):
        base = Results((make_result(0, task=HOSTILE),))
        head = Results((make_result(0, False, task=HOSTILE, endings=(HOSTILE,)),))
        (line,) = self.annotations(base=base, head=head, GITHUB_ACTIONS="true")
        assert line.startswith("::error title=MiniWoB++ regression::n-screen-n-step/a|b")
        assert "%250A" in line
        assert "\x1b" not in line

    def test_properties_of_a_command_are_escaped(self):
        assert annotation("error", "a,b:c%\n", "x,y: 100%\r\n::z") == (
            "::error title=a%2Cb%3Ac%25%0A::x,y: 100%25%0D%0A::z"
        )


def test_compare_appends_to_the_job_summary(tmp_path, capsys, monkeypatch):
    before().write(tmp_path / "old.jsonl")
    after().write(tmp_path / "new.jsonl")
    monkeypatch.chdir(tmp_path)
    summary = tmp_path / "summary.md"
    summary.write_text("# Before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["compare", "old.jsonl", "new.jsonl", "--format", "json"]) == 0
    assert summary.read_text().startswith("# Before\n### MiniWoB++ results\n")
    out, err = capsys.readouterr()
    json.loads(out)
    assert err.startswith("::error title=MiniWoB++ regression::n-screen-n-step/click-pie/5")
