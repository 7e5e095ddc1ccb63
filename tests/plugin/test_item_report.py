"""The outcome on its way in pytest's report of an item."""

import json
from types import SimpleNamespace

import pytest

from pytest_miniwob_agent import Case
from pytest_miniwob_agent.core.outcome import Outcome, Status
from pytest_miniwob_agent.plugin.items.report import deserialize, serialize

LONE = "\ud800"
OUTCOME = Outcome(
    case=Case("click-menu-2", "n-screen-n-step", 1),
    agent="a",
    model="m",
    status=Status.ERROR,
    message=LONE,
)


@pytest.mark.parametrize("on_worker", [True, False])
def test_an_outcome_arrives_as_it_was(on_worker):
    data = serialize({"nodeid": "x", "miniwob": OUTCOME}, on_worker=on_worker)
    json.dumps(data)
    assert deserialize(SimpleNamespace(**data)).miniwob == OUTCOME


def test_a_worker_sends_no_lone_surrogate():
    data = {"longrepr": [LONE, {LONE: (LONE, 1)}], "miniwob": OUTCOME}
    sent = serialize(data, on_worker=True)
    assert sent["longrepr"] == ["\ufffd", {"\ufffd": ("\ufffd", 1)}]
    assert sent["miniwob"].isascii()


@pytest.mark.parametrize("data", [None, {}, {"nodeid": "x"}])
def test_other_reports_stay_as_they_are(data):
    assert serialize(data, on_worker=False) == data
    report = SimpleNamespace(**(data or {}))
    assert deserialize(report) is report
