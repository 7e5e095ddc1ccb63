"""Files that are written atomically."""

import os
import socket
import threading
from pathlib import Path

import pytest

from pytest_miniwob_agent.core.files import (
    check_output,
    check_writable,
    display_path,
    write_atomically,
    write_output,
)


@pytest.mark.parametrize(
    ("content", "written"),
    [
        ("caf\u00e9\n", b"caf\xc3\xa9\n"),
        ("half \ud83d", b"half \\ud83d"),
        (b"\x89PNG\r\n", b"\x89PNG\r\n"),
    ],
    ids=["text", "half of a surrogate pair", "bytes"],
)
def test_text_and_bytes_are_written_in_a_new_folder(tmp_path, content, written):
    path = tmp_path / "new" / "file"
    write_atomically(path, content)
    assert path.read_bytes() == written
    assert list(path.parent.iterdir()) == [path]


def test_an_error_keeps_the_old_file_and_leaves_no_other(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def fail(self, target):
        raise OSError("no space left")

    monkeypatch.setattr(type(path), "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_can_be_written_is_left_as_it_is(tmp_path):
    path = tmp_path / "new" / "file"
    check_writable(path)
    assert list(path.parent.iterdir()) == []
    path.write_text("old")
    check_writable(path)
    assert path.read_text() == "old"
    with pytest.raises(FileExistsError):
        check_writable(path / "below")


@pytest.mark.parametrize(
    ("link", "inside"),
    [
        ("project/r.jsonl", "data/r.jsonl"),
        ("project/r.jsonl", "data/new.jsonl"),
        ("project/r.jsonl", "../other/r.jsonl"),
        ("project/r.jsonl", "../new.jsonl"),
        ("other/link.jsonl", "r.jsonl"),
        ("other/link.jsonl", "../project/data/r.jsonl"),
    ],
)
def test_an_output_follows_links_within_the_project_alone(tmp_path, monkeypatch, link, inside):
    for folder in ("project/data", "other"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "r.jsonl").write_text("old")
    monkeypatch.chdir(tmp_path / "project")
    path = tmp_path / link
    path.symlink_to(inside)
    before = {file: file.read_text() for file in tmp_path.rglob("*.jsonl") if file.exists()}
    if inside.startswith(".."):
        for write in (check_output, lambda path: write_output(path, "new")):
            with pytest.raises(OSError, match=r"a link leads to .*, which is not below"):
                write(path)
        assert not (tmp_path / "new.jsonl").exists()
    else:
        check_output(path)
        write_output(path, "new")
        before |= {path: "new", path.resolve(): "new"}
    assert {file: file.read_text() for file in before} == before
    assert path.is_symlink()


def test_an_output_leaves_the_project_by_no_linked_folder(tmp_path, monkeypatch):
    for folder in ("project/data", "other"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    for link, target in (("inside", "data"), ("outside", "../other")):
        Path(link).symlink_to(target)
    write_output(Path("inside/new/r.jsonl"), "new")
    assert Path("data/new/r.jsonl").read_text() == "new"
    for write in (check_output, lambda path: write_output(path, "new")):
        for file in (Path("outside/new/r.jsonl"), tmp_path / "project/outside/r.jsonl"):
            with pytest.raises(OSError, match=r"a link leads to .*, which is not below"):
                write(file)
    assert list(tmp_path.joinpath("other").iterdir()) == []


def test_an_output_goes_into_a_fifo_and_what_is_open_and_replaces_neither(tmp_path):
    fifo, got = tmp_path / "fifo", []
    os.mkfifo(fifo)
    check_output(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_text()))
    reader.start()
    write_output(fifo, "caf\u00e9")
    reader.join(10)
    assert got == ["caf\u00e9"]
    assert fifo.is_fifo()
    with pytest.raises(OSError, match="not a regular file"):
        write_atomically(fifo, "x")
    assert fifo.is_fifo()
    file = tmp_path / "file"
    with file.open("w") as opened:  # as the shell opens it for what a command prints
        opened.write("before ")
        opened.flush()
        write_output(Path(f"/dev/fd/{opened.fileno()}"), "new")
    assert file.read_text() == "before new"


def test_an_output_is_no_socket_and_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for write in (check_output, lambda path: write_output(path, "new")):
            with pytest.raises(OSError, match="not a regular file"):
                write(tmp_path / "socket")
            with pytest.raises(OSError, match=r"folder|regular"):
                write(tmp_path)


def test_a_hostile_name_of_a_file_is_shown_as_one_harmless_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = str(display_path(tmp_path / "a\n::error::b\x1b[31m.yaml"))
    assert shown == "a : :error::b [31m.yaml"
    assert display_path(tmp_path / "a  b.yaml").name == "a  b.yaml"
