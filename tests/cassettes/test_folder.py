"""`miniwob-agent cassettes`, on the recorded project of conftest and as a command of its own."""

import subprocess
import sys

import pytest
from projects import FAKE_PAGE

from pytest_miniwob_agent.cli import main

FOLDER = "cassettes/reflective/m"
MENU = f"{FOLDER}/click-menu-2/1.yaml"


@pytest.fixture
def run(record, capsys, monkeypatch):
    """Call the command in the project's folder: its status and output."""
    monkeypatch.chdir(record.path)
    capsys.readouterr()

    def call(*args):
        status = main(["cassettes", *args])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def plant(record, name, text=None):
    """A file in the cassette folder, by default with the calls of an item."""
    path = record.path / FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (record.path / MENU).read_text(encoding="utf-8") if text is None else text
    path.write_text(text, encoding="utf-8")
    return path


class TestLint:
    def test_all_is_well(self, run):
        assert run("lint") == (0, "12 cassettes, 0 to fix\n", "")

    @pytest.mark.parametrize(
        ("name", "change", "told"),
        [
            ("click-menu-2/9.yaml", lambda text: text + "", "orphan: no item uses it"),
            ("gone-task/1.yaml", lambda text: text + "", "orphan: no item uses it"),
            ("click-menu-2/1.yaml", lambda text: "<<<<<<< HEAD\n" + text, "damaged: *conflict*"),
            ("click-menu-2/1.yaml", lambda text: "", "damaged: *it is empty*"),
            ("click-menu-2/.1.yaml.77", lambda text: text, "stray: left by a write that *"),
            (
                "click-menu-2/1.yaml",
                lambda text: text.replace("schema: 1\n", ""),
                "stale: does not say where its calls come from; *defer, brings it up to date",
            ),
            (
                "click-menu-2/1.yaml",
                lambda text: text.replace("The goal", "The key is AKIA" + "AB12" * 4),
                "leak: AWS key in line *: revoke the key, then record again",
            ),
        ],
    )
    def test_what_has_to_be_mended(self, record, run, name, change, told):
        plant(record, name, change((record.path / MENU).read_text(encoding="utf-8")))
        status, out, _ = run("lint")
        assert status == 1
        lines = pytest.LineMatcher(out.splitlines())
        lines.fnmatch_lines([f"{FOLDER}/{name}: {told}"])
        lines.fnmatch_lines(["1* cassettes, * to fix"])
        assert "AKIA" not in out

    def test_notes(self, record, run):
        plant(record, "click-menu-2/2.partial.yaml")
        plant(record, "click-menu-2/2.yaml")
        status, out, _ = run("lint")
        assert status == 0
        pytest.LineMatcher(out.splitlines()).fnmatch_lines_random(
            [
                f"{FOLDER}/click-menu-2/2.partial.yaml: broken off (note): *goes on with it",
                f"{FOLDER}/click-menu-2/2.yaml: duplicate (note): the same calls as *{MENU}",
            ]
        )

    def test_only_the_folders_of_the_items_agent_and_model_are_judged(self, record, run):
        plant(record, "../other/click-menu-2/1.yaml")
        status, out, _ = run("lint")
        assert status == 0
        assert "cassettes/reflective/other: not checked: 1 cassettes of an agent" in out
        status, out, _ = run("lint", "--", "--miniwob-model=other", "--miniwob-seeds=7")
        assert status == 1
        assert "cassettes/reflective/other/click-menu-2/1.yaml: orphan" in out

    def test_cassettes_of_the_users_own_tests_are_none_of_ours(self, record, run):
        folder = record.path / "cassettes/test_mine"
        folder.mkdir()
        (folder / "test_weather.yaml").write_text("interactions: []\nversion: 1\n")
        assert run("lint")[0] == 0
        assert run("prune", "--yes")[1].startswith("nothing to remove")

    def test_items_whose_agent_a_fixture_decides(self, record, run):
        record.makeconftest(
            FAKE_PAGE + "\n    @pytest.fixture\n    def miniwob_agent():\n        return None\n"
        )
        plant(record, "../../mine/m/click-menu-2/1.yaml")
        plant(record, "click-menu-2/9.yaml")
        assert run("lint")[0] == 0
        assert run("prune", "--yes")[1].startswith("nothing to remove")

    def test_repeats(self, record, run):
        plant(record, "click-menu-2/1-2.yaml")
        assert "1-2.yaml: orphan" in run("lint")[1]
        assert "orphan" not in run("lint", "--", "--miniwob-repeats=2")[1]

    def test_no_items_here(self, record, run, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        status, _, err = run("lint")
        assert status == 2
        assert "no item here uses a cassette: run this where your tests are" in err

    def test_a_run_that_cannot_be_collected(self, record, run):
        record.makepyfile("import no_such_module")
        status, _, err = run("lint")
        assert status == 2
        assert "pytest can't collect the items" in err
        assert "no_such_module" in err


class TestPrune:
    @pytest.fixture
    def orphan(self, record):
        return plant(record, "gone-task/1.yaml")

    def test_it_asks(self, record, run, orphan, monkeypatch):
        kept = sorted(record.path.glob("cassettes/**/*.yaml"))
        for said in ("", "n", "no"):
            monkeypatch.setattr("builtins.input", lambda question, said=said: said)
            status, out, _ = run("prune")
            assert status == 1
            assert out.startswith(f"{FOLDER}/gone-task/1.yaml\n")
            assert "nothing removed" in out
        assert sorted(record.path.glob("cassettes/**/*.yaml")) == kept
        monkeypatch.setattr("builtins.input", lambda question: "y")
        assert run("prune")[0] == 0
        assert sorted(record.path.glob("cassettes/**/*.yaml")) == [p for p in kept if p != orphan]
        assert not orphan.parent.exists()

    def test_it_removes_only_what_no_item_uses(self, record, run, orphan):
        stray = plant(record, "click-menu-2/.1.yaml.77", "half")
        partial = plant(record, "click-menu-2/9.partial.yaml")
        going_on = plant(record, "click-menu-2/1.partial.yaml")
        other = plant(record, "../other/click-menu-2/9.yaml")
        status, out, _ = run("prune", "--yes")
        assert status == 0
        assert "3 removed" in out
        assert not orphan.exists()
        assert not stray.exists()
        assert not partial.exists()
        assert going_on.exists()
        assert other.exists()
        record.runpytest().assert_outcomes(passed=12)

    def test_without_a_terminal_nothing_is_removed(self, record, orphan):
        result = subprocess.run(
            [sys.executable, "-m", "pytest_miniwob_agent", "cassettes", "prune"],
            cwd=record.path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )  # fmt: skip
        assert result.returncode == 1
        assert "nothing removed; --yes does not ask" in result.stdout
        assert orphan.exists()


def test_counts(run):
    status, out, _ = run("stats")
    assert status == 0
    pytest.LineMatcher(out.splitlines()).fnmatch_lines(
        [
            "reflective/m",
            "  1-screen-1-step     2 items      6 calls: 4 plan, 2 summarise",
            "*84 tokens, * kB",
            "  n-screen-n-step     6 items     18 calls: 12 plan, 6 summarise",
            "*252 tokens, * kB",
            "  other               4 items     12 calls: 8 plan, 4 summarise",
        ]
    )


def test_counts_of_nothing(run, tmp_path):
    status, _, err = run("stats", f"--cassettes={tmp_path / 'none'}")
    assert status == 2
    assert "; name their folder with --cassettes" in err


class TestShow:
    @pytest.mark.parametrize(
        "case",
        [
            "n-screen-n-step/click-menu-2/1",
            "click-menu-2/1",
            "reflective/m/click-menu-2/1",
            MENU,
        ],
        ids=["id", "end", "stem", "file"],
    )
    def test_an_item_reads_as_a_conversation(self, run, case):
        status, out, _ = run("show", case)
        assert status == 0
        lines = pytest.LineMatcher(out.splitlines())
        lines.fnmatch_lines(
            [
                MENU,
                "=== call 1: plan, trial 1, step 0 ===",
                "The goal: Open the menu and click Save*",
                "--- m, 11 + 3 tokens ---",
                "click id=1",
                "=== call 2: summarise, trial 1, step 1 ===",
                "The menu was opened.",
                "=== call 3: plan, trial 1, step 1 ===",
                "click id=2",
            ]
        )

    def test_what_is_not_there(self, run):
        status, _, err = run("show", "click-menu/1")
        assert status == 2
        assert "has no cassette of click-menu/1 (did you mean click-menu-2/1" in err

    def test_more_than_one(self, record, run):
        plant(record, "../other/click-menu-2/1.yaml")
        status, _, err = run("show", "click-menu-2/1")
        assert status == 2
        assert "name one of reflective/m/click-menu-2/1, reflective/other/click-menu-2/1" in err

    def test_a_damaged_one(self, record, run):
        (record.path / MENU).write_text("")
        status, _, err = run("show", MENU)
        assert status == 2
        assert "it is empty" in err
