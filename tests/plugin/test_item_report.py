"""The outcome on its way in pytest's report of an item."""

import json
from types import SimpleNamespace

from pytest_miniwob_agent import Case, Episode
from pytest_miniwob_agent.core.outcome import Outcome, Result, Status
from pytest_miniwob_agent.plugin.reports import deserialize, serialize

LONE = "\ud800"
OUTCOME = Outcome(
    result=Result.of(
        Episode(Case("click-menu-2", "n-screen-n-step", 1), "a", "m", ()), Status.ERROR
    ),
    message=LONE,
)


def test_an_outcome_of_a_worker_arrives_as_it_was_and_other_data_without_lone_surrogates():
    data = {"longrepr": [LONE, {LONE: (LONE, 1)}], "miniwob": OUTCOME}
    sent = serialize(data, on_worker=True)
    assert sent["longrepr"] == ["\ufffd", {"\ufffd": ("\ufffd", 1)}]
    assert deserialize(SimpleNamespace(**sent)).miniwob == OUTCOME


def test_an_outcome_is_plain_data_for_a_log_of_reports():
    data = serialize({"nodeid": "x", "miniwob": OUTCOME}, on_worker=False)
    assert json.loads(json.dumps(data))["miniwob"]["result"]["outcome"] == "error"
