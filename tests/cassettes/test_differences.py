"""The lines of two texts that differ."""

from pytest_miniwob_agent.cassettes.drift.differences import diff


def test_a_long_line_is_folded_around_its_change():
    head = "word " * 200
    old, new = f"{head}left {head}", f"{head}right {head}"
    minus, plus = diff(old, new)
    assert "left" in minus
    assert "right" in plus
    assert len(minus) < 120
    assert minus.startswith("- … word")
    assert minus.endswith("…")


def test_long_lines_with_nothing_in_common_are_shown_in_full():
    assert diff("a" * 500, "b" * 500) == ["- " + "a" * 500, "+ " + "b" * 500]


def test_added_and_removed_lines_are_marked():
    assert diff("a\nb\nc", "a\nc\nd") == ["  a", "- b", "  c", "+ d"]


def test_unchanged_lines_are_folded():
    lines = [str(number) for number in range(20)]
    changed = [*lines[:10], "ten", *lines[11:]]
    assert diff("\n".join(lines), "\n".join(changed)) == [
        "  … 8 unchanged lines", "  8", "  9", "- 10", "+ ten", "  11", "  12",
        "  … 7 unchanged lines",
    ]  # fmt: skip
