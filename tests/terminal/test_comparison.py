"""`miniwob-agent compare`: as text, Markdown and JSON, and what GitHub Actions is told."""

import io
import json
import re
import subprocess
import sys

import lxml.html
import pytest

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.text import sanitize_line
from pytest_miniwob_agent.results.comparison import Comparison
from pytest_miniwob_agent.results.file import Result, Results
from pytest_miniwob_agent.results.gate import Gate, judge
from pytest_miniwob_agent.terminal import layout
from pytest_miniwob_agent.terminal.comparison import Summary, announce

EVIL = (
    "a|b`<img src=x>`\r\n::error::gone %0A @someone #1 _x_ [l](http://e) \x1b[31m## ::set-env "
    "\ud83d"
)
"""What would be markup, a mention, a terminal's escape or a workflow command."""


def result(seed, solved=True, category="n-screen-n-step", **more):
    defaults = {
        "task": "click-pie", "agent": "reflective", "model": "m", "params": {"temperature": 0},
        "prompts": {"plan.txt": "aa", "reflect.txt": "bb"},
        "outcome": "solved" if solved else "unsolved", "solved_at": 1 if solved else None,
        "endings": ("correct",) if solved else ("cycle", "cycle", "failed"), "steps": 3,
        "calls": {"plan": 2}, "tokens": {"prompt": 1000, "completion": 10},
    }  # fmt: skip
    return Result(category=category, seed=seed, **defaults | more)


def before(count=30):
    easy = [result(seed, category="1-screen-1-step") for seed in range(10)]
    return Results((*easy, *(result(seed, seed > 1) for seed in range(count - 10))), source="old")


def after(count=30):
    new = {
        "model": "m2", "params": {"temperature": 1}, "calls": {"plan": 2, "reflect": 1},
        "prompts": {"plan.txt": "cc", "reflect.txt": "bb", "extra.txt": "dd"},
        "tokens": {"prompt": None, "completion": 20},
    }  # fmt: skip
    easy = [result(seed, category="1-screen-1-step", **new) for seed in range(10)]
    hard = [result(seed, seed not in (1, 5, 6), **new) for seed in range(count - 10)]
    return Results((*easy, *hard), source="new")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    before().write(tmp_path / "old.jsonl")
    after().write(tmp_path / "new.jsonl")
    return tmp_path


class TestText:
    def test_it_says_what_changed(self, files, capsys):
        assert main(["compare", "old.jsonl", "new.jsonl"]) == 0
        printed = capsys.readouterr().out
        lines = printed.splitlines()
        assert lines[:7] == [
            "results: old.jsonl -> new.jsonl",
            "agent: reflective",
            "model: m -> m2",
            "samples an item: 1",
            'parameters: {"temperature":0} -> {"temperature":1}',
            "prompt extra.txt: not used -> dd",
            "prompt plan.txt: aa -> cc",
        ]
        table = {line.split()[0]: line.split()[1:4] for line in lines if "(" in line}
        assert table["whole"] == ["30", "93.3", "(79–98)"]
        assert table["n-screen-n-step"][:2] == ["20", "90"]
        assert "exact McNemar test" in printed.replace("\n", " ")
        worse = lines.index("worse (2)")
        assert lines[worse + 1] == (
            "  n-screen-n-step/click-pie/5: solved in trial 1 -> unsolved (cycle ×2, failed)"
        )
        better = lines.index("better (1)")
        assert lines[better + 1] == (
            "  n-screen-n-step/click-pie/0: unsolved (cycle ×2, failed) -> solved in trial 1"
        )
        assert "model calls: all 60 -> 90; plan 60 -> 60; reflect 0 -> 30" in lines
        assert "tokens: completion 300 -> 600; prompt 30,000 -> unknown" in lines

    @pytest.mark.parametrize("columns", [80, 120])
    def test_it_fits_the_terminal_and_has_no_colours(self, files, capsys, monkeypatch, columns):
        monkeypatch.setenv("COLUMNS", str(columns))
        long = {"task": "a-task-of-an-exceedingly-long-name", "category": "c" * 40}
        old = [result(s, s % 3 > 0, repeat=r) for s in range(40) for r in (1, 2, 3)]
        new = [result(s, repeat=r) for s in range(40) for r in (1, 2)]
        for name, runs in (("old", old), ("new", new)):
            odd = result(0, name == "old", **long)
            Results((odd, *runs)).write(files / f"{name}.jsonl")
        assert main(["compare", "old.jsonl", "new.jsonl", "--gate", "items"]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= columns
        assert not any("\x1b" in line for line in lines)

    def test_repeats(self, files, capsys):
        def runs(*solved):
            return Results(
                tuple(
                    result(seed, each == "+", repeat=repeat)
                    for seed, samples in enumerate(solved)
                    for repeat, each in enumerate(samples, start=1)
                )
            )

        runs("+++", "+--").write(files / "old.jsonl")
        runs("++-", "+--").write(files / "new.jsonl")
        assert main(["compare", "old.jsonl", "new.jsonl"]) == 0
        printed = capsys.readouterr().out
        rows = {line[:25].strip(): line[25:].split() for line in printed.splitlines()}
        # Two items with 3 of 3 and 1 of 3 solved; then 2 of 3 and 1 of 3.
        assert rows["pass@1"] == ["66.7", "50"]
        assert rows["pass@2"] == ["83.3", "83.3"]
        assert rows["pass^2"] == ["50", "16.7"]
        assert rows["solved in 2 or more"] == ["50", "50"]
        assert rows["flips between two samples"] == ["33.3", "66.7"]
        assert "exact sign-flip test" in printed.replace("\n", " ")
        assert (
            "  n-screen-n-step/click-pie/0: 3 of 3 solved (correct; correct; correct) ->"
        ) in printed

    def test_what_is_on_one_side_only(self, files, capsys):
        Results((result(1), result(7), result(8, outcome="error", solved_at=None)), ("-x",)).write(
            files / "new.jsonl"
        )
        Results((result(1), result(2)), ()).write(files / "old.jsonl")
        assert main(["compare", "old.jsonl", "new.jsonl"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert "only before: n-screen-n-step/click-pie/2" in lines
        assert "only after: n-screen-n-step/click-pie/7, n-screen-n-step/click-pie/8" in lines
        assert "error after: 1 (n-screen-n-step/click-pie/8)" in lines
        assert "partial run after: -x" in lines

    def test_tokens_are_known_only_if_all_of_them_are(self, files, capsys):
        some = [result(1), result(2, tokens={"prompt": None, "completion": 7})]
        Results(tuple(some)).write(files / "old.jsonl")
        Results((result(1), result(2))).write(files / "new.jsonl")
        assert main(["compare", "old.jsonl", "new.jsonl"]) == 0
        printed = capsys.readouterr().out
        assert "tokens: completion 17 -> 20; prompt unknown -> 2,000\n" in printed

    def test_nothing_in_common(self, files, capsys):
        Results((result(77),)).write(files / "new.jsonl")
        for form in ("text", "markdown", "json"):
            assert main(["compare", "old.jsonl", "new.jsonl", "--format", form]) == 0
        assert main(["compare", "old.jsonl", "new.jsonl", "--gate", "paired"]) == 1
        assert "no item is in both result sets" in capsys.readouterr().out


class TestGate:
    def test_red_is_1_and_green_is_0(self, files, capsys):
        assert main(["compare", "old.jsonl", "new.jsonl", "--gate", "items"]) == 1
        assert "gate items: FAILED\n  2 items solved before" in capsys.readouterr().out
        assert main(["compare", "old.jsonl", "new.jsonl", "--gate", "paired"]) == 0
        assert "gate paired:0.05: passed\n" in capsys.readouterr().out

    def test_a_wrong_call_is_2(self, files, capsys):
        assert main(["compare", "old.jsonl", "new.jsonl", "--gate", "pared"]) == 2
        assert "did you mean paired" in capsys.readouterr().err
        assert main(["compare", "old.jsonl", "none.jsonl"]) == 2
        assert "there is no results file none.jsonl" in capsys.readouterr().err

    def test_the_command_itself(self, files):
        found = subprocess.run(
            [sys.executable, "-c", "import sys; from pytest_miniwob_agent.cli import main; "
             "sys.exit(main())", "compare", "old.jsonl", "new.jsonl", "--gate", "items"],
            capture_output=True, encoding="utf-8",
        )  # fmt: skip
        assert found.returncode == 1
        assert "gate items: FAILED" in found.stdout
        assert found.stderr == ""


def test_a_file_as_it_was_at_a_commit(files, capsys):
    def git(*arguments):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    before().write(files / "r.jsonl")
    git("add", ".")
    git("commit", "-q", "-m", "baseline")
    after().write(files / "r.jsonl")
    assert main(["compare", "git:main", "r.jsonl", "--format", "json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["setup"][0]["before"] == "git:main:r.jsonl"
    assert (first["whole"]["worse"], first["whole"]["better"]) == (2, 1)
    assert main(["compare", "git:main:old.jsonl", "new.jsonl", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["whole"] == first["whole"]
    assert main(["compare", "git:main", "git:main"]) == 2
    assert "names no file" in capsys.readouterr().err


def test_json_is_complete(files, capsys):
    assert main(["compare", "old.jsonl", "new.jsonl", "--format", "json", "--gate", "items"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert set(data) == {
        "miniwob_compare", "setup", "partial", "whole", "categories", "items", "missing", "new",
        "unclear", "calls", "tokens", "gate",
    }  # fmt: skip
    assert data["whole"]["items"] == 30
    assert data["whole"]["before"]["rate"] == pytest.approx(28 / 30)
    assert data["whole"]["difference"] == pytest.approx(-1 / 30)
    low, high = data["whole"]["interval"]
    assert low < -1 / 30 < high
    assert data["whole"]["p_two_sided"] == 1.0
    assert data["whole"]["p_worse"] == 0.5
    assert set(data["categories"]) == {"1-screen-1-step", "n-screen-n-step"}
    assert len(data["items"]) == 30
    assert data["items"][-1]["item"] == "n-screen-n-step/click-pie/9"
    (lost,) = [each for each in data["items"] if each["item"] == "n-screen-n-step/click-pie/5"]
    assert lost["change"] == -1
    assert lost["after"]["samples"] == [
        {"outcome": "unsolved", "solved_at": None, "endings": ["cycle", "cycle", "failed"]}
    ]
    assert data["tokens"]["after"] == {"prompt": None, "completion": 600}
    assert data["gate"]["passed"] is False
    assert data["gate"]["reasons"][0]["kind"] == "regressed"
    assert data["gate"]["progressed"] == ["n-screen-n-step/click-pie/0"]


def tables_of(markdown):
    """The cells of every table, as GitHub splits them: at pipes that are not escaped."""
    tables, last = [], ""
    for line in markdown.splitlines():
        if line.startswith("|"):
            if not last.startswith("|"):
                tables.append([])
            tables[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        last = line
    return tables


class TestMarkdown:
    def test_its_shape(self, files, capsys):
        arguments = ["compare", "old.jsonl", "new.jsonl", "--format", "markdown"]
        assert main([*arguments, "--gate", "items"]) == 1
        text = capsys.readouterr().out
        assert text.startswith(
            "### MiniWoB++ results\n\nGate `items`: **failed**\n\n- 2 items solved"
        )
        setup, rates, worse, better = tables_of(text)
        assert setup[0] == ["", "before", "after"]
        assert rates[0] == ["", "items", "before", "after", "points", "p"]
        assert rates[1] == [":--", *["--:"] * 5]
        assert rates[2][:3] == ["whole", "30", "93.3 (79–98)"]
        assert [row[0] for row in worse[2:]] == [
            "<code>n-screen-n-step/click-pie/5</code>",
            "<code>n-screen-n-step/click-pie/6</code>",
        ]
        assert better[2][2] == "<code>solved in trial 1</code>"
        for table in (setup, rates, worse, better):
            assert len({len(row) for row in table}) == 1
        # A blank line before each table, or it is none.
        lines = text.splitlines()
        for number, line in enumerate(lines):
            if line.startswith("|") and not lines[number - 1].startswith("|"):
                assert lines[number - 1] == ""

    def test_foreign_text_stays_text(self):
        evil = [result(s, task=EVIL, model=EVIL, prompts={EVIL: "x"}) for s in range(2)]
        lost = [result(0, False, task=EVIL), result(1, task=EVIL, outcome="error", solved_at=None,
                reason=EVIL)]  # fmt: skip
        base, head = Results(tuple(evil)), Results(tuple(lost), (EVIL,))
        text = Summary(Comparison(base, head), judge(base, head, Gate())).markdown()
        for table in tables_of(text):
            assert len({len(row) for row in table}) == 1
        assert "\x1b" not in text
        assert "\r" not in text
        text.encode()
        assert not re.search(
            r"@someone|(?<!&)#1|&#64;someone|&#35;1|\[l\]|http:|<img|`<|_x_|a\|b", text
        )
        assert text.count("a&#124;b&#96;&#60;img src=x&#62;&#96;") >= 4
        # A browser shows what was there, less what moves cursors and ends lines.
        node = lxml.html.fromstring(f"<p>{layout.escape(EVIL)}</p>")
        shown = node.text_content()
        assert shown == sanitize_line(EVIL)
        assert [each.tag for each in node] == [lxml.html.etree.Comment] * 2
        assert node[0].tail.startswith("someone")  # apart from the sign that would call him
        assert shown.startswith("a|b`<img src=x>` : :error::gone %0A @someone #1 _x_ [l](http://e)")


class TestGitHubActions:
    def told(self, gate=None, base=None, head=None, **environ):
        base, head = base or before(), head or after()
        verdict = judge(base, head, Gate.parse(gate)) if gate else None
        stream = io.StringIO()
        announce(Summary(Comparison(base, head), verdict), environ, stream)
        return stream.getvalue().splitlines()

    def test_elsewhere_nothing_is_said(self, tmp_path):
        assert self.told(GITHUB_STEP_SUMMARY=str(tmp_path / "s")) == []
        assert not (tmp_path / "s").exists()

    def test_regressions_are_errors(self):
        assert self.told(GITHUB_ACTIONS="true") == [
            "::error title=MiniWoB++ regression::n-screen-n-step/click-pie/5: solved in trial 1 -> "
            "unsolved (cycle ×2, failed)",
            "::error title=MiniWoB++ regression::n-screen-n-step/click-pie/6: solved in trial 1 -> "
            "unsolved (cycle ×2, failed)",
        ]

    def test_a_red_gate_is_an_error_and_under_a_green_one_they_are_warnings(self):
        red = self.told("items", GITHUB_ACTIONS="true")
        assert red[0] == "::error title=MiniWoB++ gate::2 items solved before and no longer"
        assert len(red) == 3
        green = self.told("paired", GITHUB_ACTIONS="true")
        assert [line.split(" ")[0] for line in green] == ["::warning", "::warning"]

    def test_there_are_no_more_than_github_shows(self):
        head = Results(tuple(result(seed, False) for seed in range(20)))
        found = self.told("items", head=head, GITHUB_ACTIONS="true")
        assert len(found) == 10
        # 20 items of which 18 were solved before, one reason for them and one for what is missing.
        assert found[-1] == "::error title=MiniWoB++::and 11 more; see the job's summary"

    def test_foreign_text_is_no_command(self):
        base = Results((result(0, task=EVIL),))
        head = Results((result(0, False, task=EVIL, endings=(EVIL,)),))
        (line,) = self.told(base=base, head=head, GITHUB_ACTIONS="true")
        assert line.startswith("::error title=MiniWoB++ regression::n-screen-n-step/a|b")
        assert "%250A" in line
        assert "\x1b" not in line

    def test_properties_are_escaped(self):
        assert layout.command("error", "a,b:c%\n", "x,y: 100%\r\n::z") == (
            "::error title=a%2Cb%3Ac%25%0A::x,y: 100%25%0D%0A::z"
        )

    def test_the_job_summary_is_appended_to_unasked(self, files, capsys, monkeypatch):
        summary = files / "summary.md"
        summary.write_text("# Before\n")
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        assert main(["compare", "old.jsonl", "new.jsonl", "--format", "json"]) == 0
        assert summary.read_text().startswith("# Before\n### MiniWoB++ results\n")
        out, err = capsys.readouterr()
        json.loads(out)
        assert err.startswith("::error title=MiniWoB++ regression::n-screen-n-step/click-pie/5")

    def test_no_line_of_text_is_a_command_either(self):
        base = Results(
            (result(0, task=EVIL), result(1, task="x " + "y" * 57 + "::stop-commands::t"))
        )
        head = Results((result(0, False, task=EVIL), result(1, task="z")))
        for width in range(40, 100):
            text = Summary(Comparison(base, head), judge(base, head, Gate())).text(width)
            assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
            assert "\x1b" not in text
