"""Completions that don't fit on the disk: none is paid for and lost."""

import shutil

import pytest
from support.projects import solve_menu, suite_source
from support.sweeps import swept

from pytest_miniwob_agent.cassettes.format import read_cassette


@pytest.fixture(autouse=True)
def folder_of_what_is_rescued(project, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(project.mkdir("tmp")))
    monkeypatch.setattr("tempfile.tempdir", None)


def test_nothing_is_paid_where_the_folder_of_cassettes_can_not_be_written(project, chat_server):
    project.path.joinpath("cassettes").write_text("in the folder's place")
    result = project.record("-k", "click-menu-2")
    result.assert_outcomes(errors=2, deselected=10)
    assert chat_server.requests == []
    result.stdout.fnmatch_lines(
        [
            "no model call was made, as its completion could not be kept: cassettes/reflective/m/"
            "click-menu-2/1.partial.yaml can't be written: * name another folder with "
            "--miniwob-cassettes"
        ]
    )
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize("workers", ["-n0", *swept("-n2")])
def test_a_completion_that_can_not_be_kept_is_rescued_and_stops_all_workers(
    project, chat_server, workers
):
    """The folder is lost while the second call of the first item is answered."""
    project.makepyfile(suite_source('"click-menu-2", seeds=[1, 2, 3, 4]'))
    cassettes, lost = project.path / "cassettes", project.path / "lost"
    cassettes.symlink_to(project.mkdir("gone"))
    lost.write_text("in the folder's place")
    asked = []

    def reply(prompt):
        if ">Save<" in prompt and cassettes.is_dir():
            asked.append(len(chat_server.requests))
            lost.replace(cassettes)  # in an instant, so that no worker makes the folder anew
        return solve_menu(prompt)

    chat_server.reply = reply
    result = project.record(workers)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in result.stdout.str()
    assert result.parseoutcomes().keys() <= {"error", "errors"}
    assert len(chat_server.requests) <= asked[0] + 1  # the other worker may have one under way
    stopped = "a completion that was paid for could not be kept: cassettes/*can't be written: "
    result.stdout.fnmatch_lines(
        [f"{stopped}*. It is in *: make room, copy*", f"! *Interrupted: *{stopped}*"]
    )
    result.stdout.fnmatch_lines(["unusable answers, paid for and not recorded: * not written"])

    rescued = list(project.path.glob("tmp/miniwob-rescued-*"))
    texts = [
        call.completion.text
        for folder in rescued
        for path in folder.rglob("*.partial.yaml")
        for call in read_cassette(path)
    ]
    assert "click id=2" in texts

    cassettes.unlink()
    (project.path / "gone").rename(cassettes)
    paid = len(chat_server.requests)
    for folder in rescued:
        assert str(folder) in result.stdout.str()
        shutil.copytree(folder, cassettes, dirs_exist_ok=True)
    chat_server.reply = solve_menu
    project.record().assert_outcomes(passed=4)
    assert len(chat_server.requests) == 12
    assert paid < 12


def test_no_call_is_paid_where_calls_can_not_be_counted_any_more(project, chat_server):
    """The ledger is lost while the item's last call is answered."""

    def reply(prompt):
        if ">Save<" in prompt:
            [ledger] = project.path.glob("tmp/miniwob-*/ledger.json")
            ledger.unlink()
            ledger.mkdir()
        return solve_menu(prompt)

    chat_server.reply = reply
    result = project.record("-k", "click-menu-2")
    assert "Traceback" not in result.stdout.str()
    result.stdout.fnmatch_lines(["calls can no longer be counted: *ledger.json can't be *"])
    [partial] = project.path.glob("cassettes/**/*.partial.yaml")
    assert read_cassette(partial)[-1].completion.text == "click id=2"
    assert len(read_cassette(partial)) == len(chat_server.requests) == 3
