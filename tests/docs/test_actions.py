"""The examples of docs/actions.md work."""

import re

import pytest
from support.projects import ROOT

TEXT = (ROOT / "docs" / "actions.md").read_text("utf-8")


@pytest.mark.parametrize("source", re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S))
def test_an_example_prints_the_action_that_its_comment_shows(source, capsys):
    exec(source, {})
    [comment] = re.findall(r"# (.*)", source)
    assert capsys.readouterr().out == comment + "\n"
