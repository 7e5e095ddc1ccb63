"""Files that are written atomically."""

import pytest

from pytest_miniwob_agent.core.files import check_writable, display_path, write_atomically


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


def test_a_hostile_name_of_a_file_is_shown_as_one_harmless_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = str(display_path(tmp_path / "a\n::error::b\x1b[31m.yaml"))
    assert shown == "a : :error::b [31m.yaml"
    assert display_path(tmp_path / "a  b.yaml").name == "a  b.yaml"
