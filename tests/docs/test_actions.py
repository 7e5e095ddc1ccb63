"""The example of docs/actions.md works."""

import re

from projects import ROOT

TEXT = (ROOT / "docs" / "actions.md").read_text("utf-8")


def test_the_example_prints_the_action_that_its_comment_shows(capsys):
    [source] = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)
    exec(source, {})
    [comment] = re.findall(r"# (.*)", source)
    assert capsys.readouterr().out == comment + "\n"
