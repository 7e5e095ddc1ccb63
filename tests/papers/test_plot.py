"""Tables drawn as one SVG."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from pytest_miniwob_agent.plugins.papers.output import draw
from pytest_miniwob_agent.plugins.papers.tables import Table


def table(*rows, title="Title"):
    cells = [{"task": task, "run": run, "paper": paper} for task, run, paper in rows]
    return Table("name", title, "", cells, {}, {"run": "this run", "paper": "the paper"})


def marks(*rows):
    root = ElementTree.fromstring(draw([("agent", table(*rows))]))
    found = [
        one for one in root.iter("{http://www.w3.org/2000/svg}rect") if one.get("height") == "9"
    ]
    return [(float(one.get("x")), float(one.get("width")), one.get("class")) for one in found]


def texts(*tables):
    return [one.text for one in ElementTree.fromstring(draw(tables)).iter() if one.text]


def test_bars_are_as_long_as_their_shares():
    whole, half = marks(("a", 1.0, 0.5))
    assert (whole[0], whole[2], half[2]) == (half[0], "c0", "c1")
    assert half[1] == pytest.approx(whole[1] / 2)


def test_negative_shares_go_to_the_left():
    above, below = marks(("a", 0.25, -0.5))
    assert below[0] + below[1] == pytest.approx(above[0])
    assert below[1] == pytest.approx(2 * above[1])


def test_what_has_no_value_has_no_bar():
    assert len(marks(("a", 1.0, None), ("b", None, "TLE"), ("c", 0.0, ""))) == 2
    assert draw([("agent", table(("a", None, None)))]) == ""


def test_a_cell_may_have_several_percents():
    long, short = marks(("a", "80, 40", None))
    assert long[1] == pytest.approx(2 * short[1])
    assert "80, 40" in texts(("agent", table(("a", "80, 40", None))))
    assert marks(("a", "40, 80", None)) == [long, short]  # the shorter one in front


def test_many_columns_are_told_apart_and_everything_fits():
    columns = {f"column {number} with a long name": f"key {number}" * 4 for number in range(5)}
    row = {"task": "a-task-with-a-long-name", **dict.fromkeys(columns, "100, 100, 100")}
    root = ElementTree.fromstring(draw([("agent", Table("name", "Title", "", [row], {}, columns))]))
    bars = [one for one in root.iter() if one.get("height") == "9"]
    assert len({bar.get("class") for bar in bars}) == 5
    shown = [
        (float(one.get("x")), one.get("y"), one.text)
        for one in root.iter()
        if one.get("x") and one.text
    ]
    ends = [x + 6 * len(text) for x, _, text in shown]
    assert max(ends) <= 720
    keys = [one for one in shown if one[2].startswith("key")]
    for (x, y, text), (next_x, next_y, _) in pairwise(keys):
        assert y != next_y or next_x > x + 6 * len(text)


def test_runs_and_columns_are_named():
    found = texts(("agent with model", table(("a", 1.0, 0.5))))
    assert {"Title", "agent with model, in percent", "this run", "the paper", "a", "50"} <= {*found}


def test_it_has_colours_for_light_and_dark():
    style = draw([("agent", table(("a", 1.0, 0.5)))])
    assert "--page: #fff" in style
    assert "@media (prefers-color-scheme: dark)" in style


def test_hostile_names_do_not_break_it():
    evil = 'a<b>&"\n\x1b[1m'
    found = texts((evil, table((evil, 1.0, 0.5), title=evil)))
    assert 'a<b>&" [1m' in found
    assert not any("\x1b" in text for text in found)
