"""The steps of `miniwob-agent cassettes`, on a project with cassettes of some of its items."""

import io

import pytest
import yaml
from support.projects import INNER_RUNS, ROOT, suite_source

from pytest_miniwob_agent.cassettes.files import ItemFiles
from pytest_miniwob_agent.cassettes.folder import stem
from pytest_miniwob_agent.cassettes.format import write_cassette
from pytest_miniwob_agent.cassettes.modes import Record
from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.case import Case

from .cassette_files import ORIGIN, make_call, plant

FOLDER = "cassettes/reflective/m"
MENU = f"{FOLDER}/click-menu-2/1.yaml"


@pytest.fixture
def run(capsys):
    """Call the command, which exits with a status; what it prints, or its error line."""

    def call(*args, status=0):
        capsys.readouterr()
        assert main(["cassettes", *args]) == status
        out, err = capsys.readouterr()
        return err if status == 2 else out

    return call


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = plant(tmp_path, MENU)
    summary = type(ORIGIN)("summarise", 1, 1, ORIGIN.prompts, "c" * 12, "d" * 12)
    usage = {"prompt_tokens": 11, "completion_tokens": 3}
    write_cassette(
        path,
        [
            make_call("The goal: open\nthe menu", "click id=1", usage=usage),
            make_call("Summarise", "The menu was opened.", summary, usage=usage),
        ],
    )
    return tmp_path


class TestWithCollectedItems:
    @pytest.fixture
    def project(self, project, monkeypatch):
        monkeypatch.chdir(project.path)
        plant(project.path, MENU)
        return project

    def test_the_pre_commit_hook_lints(self, project, run):
        [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
        name, command, *args = hook["entry"].split()
        assert (name, command, hook["pass_filenames"]) == ("miniwob-agent", "cassettes", False)
        assert "0 to fix" in run(*args)

    def test_lint_lists_the_problems(self, project, run):
        plant(project.path, f"{FOLDER}/click-menu-2/9.yaml")
        partial = f"{FOLDER}/click-menu-2/2.partial.yaml"
        plant(project.path, partial)
        plant(project.path, "cassettes/reflective/other/click-menu-2/1.yaml")
        out = run("lint", status=1)
        assert out.splitlines() == [
            f"{partial}: broken off (note): an unfinished recording; recording the item "
            "continues it",
            f"{FOLDER}/click-menu-2/9.yaml: orphan: no item uses it",
            "`miniwob-agent cassettes prune` removes unused calls, and files that nothing uses",
            "4 cassettes, 1 to fix",
        ]

    def test_cassettes_of_deselected_items_are_used(self, project, run):
        plant(project.path, f"{FOLDER}/click-menu-2/9.yaml")
        plant(project.path, f"{FOLDER}/click-tab/1.yaml")
        test = project.test_file.name
        item = f"{test}::test_solves[1-screen-1-step/click-tab/1]"
        project.makeini(
            "[pytest]\nminiwob_model = m\nmarkers = other\n"
            f"addopts = -p no:randomly --lf -k click-tab -m 'not other' --deselect={item}\n"
        )
        # With `--lf`, pytest does not even collect the files without an item that failed.
        project.runpytest(project.makepyfile(test_failing="def test_click_tab(): assert False"))
        out = run("prune", "--yes")
        assert out.splitlines() == [
            "3 items deselected, or in miniwob_suites alone, counted as using a cassette",
            f"{FOLDER}/click-menu-2/9.yaml",
            "1 removed",
        ]

    @pytest.mark.parametrize("ini", ["", "testpaths = *.py", "miniwob_suites = test_other.py"])
    def test_cassettes_of_files_that_are_not_named_are_used(self, project, run, ini):
        project.makeini(f"[pytest]\nminiwob_model = m\n{ini}\n")
        project.makepyfile(test_other=suite_source('"click-pie", seeds=[1]'))
        used = plant(project.path, f"{FOLDER}/click-pie/1.yaml")
        plant(project.path, f"{FOLDER}/click-pie/2.yaml")
        out = run("prune", "--yes", "--", project.test_file.name)
        assert out.splitlines() == [f"{FOLDER}/click-pie/2.yaml", "1 removed"]
        assert used.exists()

    def test_a_case_that_names_no_agent_uses_the_cassettes_of_every_agent(self, project, run):
        """It may be run with `--miniwob-agent=tools`, which another test names."""
        project.makepyfile(test_named=suite_source('"click-pie", seeds=[1], agents=["tools"]'))
        used = plant(project.path, "cassettes/tools/m/click-menu-2/1.yaml")
        plant(project.path, "cassettes/tools/m/click-menu-2/9.yaml")
        out = run("prune", "--yes")
        assert "cassettes/tools/m/click-menu-2/9.yaml" in out
        assert out.endswith("1 removed\n")
        assert used.exists()

    def test_arguments_after_two_dashes_choose_the_items(self, project, run):
        plant(project.path, "cassettes/reflective/other/click-menu-2/7-2.yaml")
        plant(project.path, "cassettes/reflective/other/click-menu-2/1.yaml")
        options = ["--miniwob-model=other", "--miniwob-seeds=7", "--miniwob-repeats=2"]
        out = run("lint", "--", *options, status=1)
        [orphan] = (line for line in out.splitlines() if "orphan" in line)
        assert orphan.startswith("cassettes/reflective/other/click-menu-2/1.yaml: ")

    def test_what_cannot_be_collected_is_an_error_with_pytests_output(self, project, run):
        project.makepyfile("import no_such_module")
        err = run("lint", status=2)
        assert "pytest can't collect the items" in err
        assert "no_such_module" in err
        project.makepyfile("")
        err = run("lint", status=2)
        assert "no item collected here uses a cassette; run this in the directory" in err

    def test_prune_removes_unused_files_after_a_yes_alone(self, project, run, monkeypatch):
        orphan = plant(project.path, f"{FOLDER}/gone-task/1.yaml")
        for answer in ("\n", ""):  # Enter, and no terminal
            monkeypatch.setattr("sys.stdin", io.StringIO(answer))
            out = run("prune", status=1)
            assert out.startswith(f"{FOLDER}/gone-task/1.yaml\n")
            assert "Remove 1 file? [y/N]" in out
            assert "nothing removed; use --yes to skip the question" in out
            assert orphan.exists()
        monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
        out = run("prune")
        assert out.endswith("1 removed\n")
        assert not orphan.parent.exists()
        assert (project.path / MENU).exists()
        out = run("prune", "--yes")
        assert out.startswith("nothing to remove")

    def test_prune_removes_nothing_while_an_item_is_recorded(self, project, run):
        body = plant(
            project.path, f"cassettes/bodies/{'a' * 32}.gz"
        )  # its traffic is not there yet
        folder, state = project.path / "cassettes", project.path / ".miniwob"
        recording = ItemFiles(folder, "reflective/m/task/1", Record.NEW_EPISODES, state=state)
        assert "nothing removed, as a run is recording" in run("prune", "--yes", status=2)
        assert body.exists()
        recording.close()
        assert run("prune", "--yes").endswith("1 removed\n")


def test_stats_count_by_model_and_category(folder, run):
    plant(folder, f"{FOLDER}/click-menu-2/2.yaml")
    plant(folder, f"{FOLDER}/click-menu-2/3.partial.yaml")
    plant(folder, f"{FOLDER}/no-such-task/1.yaml")
    plant(folder, ".miniwob/unused/reflective/m/no-such-task/1.unused.yaml")
    out = run("stats")
    pytest.LineMatcher(out.splitlines()).fnmatch_lines(
        [
            "reflective/m",
            "  n-screen-n-step     2 items      3 calls: 2 plan, 1 summarise",
            "*28 tokens, * kB",
            "  own pages           1 items      1 calls: 1 plan",
            "*unknown tokens, * kB, 1 unused call",
        ]
    )
    err = run("stats", "--cassettes=none", status=2)
    assert "there are no cassettes in none; name their folder with --cassettes" in err


def test_stats_and_show_read_the_folder_of_the_ini_file(folder, run, monkeypatch):
    (folder / "pytest.ini").write_text("[pytest]\nminiwob_cassettes = kept\n")
    assert "there are no cassettes in kept" in run("stats", status=2)
    (folder / "cassettes").rename(folder / "kept")
    assert "2 calls: 1 plan, 1 summarise" in run("stats")
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    assert "The menu was opened." in run("show", "click-menu-2/1")
    err = run("show", "click-menu-2/1", "--cassettes=cassettes", status=2)
    assert "cassettes has no cassette of click-menu-2/1" in err


def test_show_takes_the_id_of_a_page_whose_name_has_capitals(folder, run):
    case = Case(task="SignUp", category="pages", seed=1)
    plant(folder, f"cassettes/{stem('reflective/m', case)}.yaml")
    assert "=== call 1" in run("show", "pages/SignUp/1")


@pytest.mark.parametrize(
    "case",
    [
        "n-screen-n-step/click-menu-2/1",
        "click-menu-2/1",
        "reflective/m/n-screen-n-step/click-menu-2/1",
        "reflective/m/click-menu-2/1",
        MENU,
    ],
    ids=["id", "end of an id", "id with agent and model", "stem", "file"],
)
def test_show_prints_the_calls_as_a_conversation(folder, run, case):
    if case.startswith("reflective"):
        plant(folder, "cassettes/rci/m/click-menu-2/1.yaml")
    out = run("show", case)
    assert out == (
        f"{MENU}\n"
        "\n=== call 1: plan, trial 1, step 0 ===\nThe goal: open\nthe menu\n"
        "\n--- m, 11 + 3 tokens ---\nclick id=1\n"
        "\n=== call 2: summarise, trial 1, step 1 ===\nSummarise\n"
        "\n--- m, 11 + 3 tokens ---\nThe menu was opened.\n"
    )


def test_show_names_what_it_can_not_decide_on(folder, run):
    err = run("show", "rci/m/n-screen-n-step/click-menu-2/1", status=2)
    assert "has no cassette of rci/m/n-screen-n-step/click-menu-2/1\n" in err
    err = run("show", "click-menu/1", status=2)
    assert "has no cassette of click-menu/1 (did you mean click-menu-2/1" in err
    copy = plant(folder, "copy.yml")
    copy.write_text((folder / MENU).read_text())
    assert "=== call 2" in run("show", "copy.yml")
    (folder / MENU).write_text("")
    err = run("show", MENU, status=2)
    assert "it is truncated" in err


@pytest.mark.integration
def test_show_takes_the_model_of_the_ini_file_of_several(folder, run, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", INNER_RUNS)
    plant(folder, "cassettes/reflective/other/click-menu-2/1.yaml")
    err = run("show", "click-menu-2/1", status=2)
    assert "name one of reflective/m/click-menu-2/1, reflective/other/click-menu-2/1" in err
    (folder / "pytest.ini").write_text("[pytest]\nminiwob_model = other\nminiwob_seeds = 1\n")
    (folder / "test_show.py").write_text(suite_source('"click-menu-2"'))
    out = run("show", "click-menu-2/1")
    assert out.startswith("cassettes/reflective/other/click-menu-2/1.yaml\n")
