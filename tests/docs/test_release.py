"""The check of a release's tag."""

import runpy

import pytest
from support.projects import ROOT

problems = runpy.run_path(str(ROOT / ".ci" / "check-version"))["problems"]


@pytest.mark.parametrize(
    ("tag", "changes", "expected"),
    [
        ("v0.2.0", "## [0.2.0] - 2026-12-01", []),
        ("v0.2.0", "## [0.2.0]", ["CHANGELOG.md has no line `## [0.2.0] - YYYY-MM-DD`"]),
        (
            "0.2.0",
            "## [0.2.0] - 2026-12-01",
            ["the tag is 0.2.0, but pyproject.toml has the version 0.2.0"],
        ),
    ],
)
def test_a_tag_names_the_version_and_changes_are_listed(tmp_path, tag, changes, expected):
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{changes}\n")
    assert problems(tag, tmp_path) == expected
