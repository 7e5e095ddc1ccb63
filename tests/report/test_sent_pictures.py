"""Pictures that a model was sent, in the data and the folder of a report."""

import pytest
from drawn import page_with_button
from made_report import items

from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.errors import Cause, ChangedPicture
from pytest_miniwob_agent.core.events import Called, Completion
from pytest_miniwob_agent.core.outcome import DriftDetails, Outcome, Status
from pytest_miniwob_agent.report.folder import Report

CASE = Case("click-menu-2", "n-screen-n-step", 1)
RECORDED, PRESENT, GONE = (f"{digit * 16}.png" for digit in "123")
DIFFERENCE = f"{'1' * 16}-{'2' * 16}.png"


@pytest.fixture
def folder(tmp_path):
    """A report on an item that was sent two pictures, one without a file, and then drifted."""
    cassettes, kept = tmp_path / "cassettes" / "pictures", tmp_path / ".miniwob" / "pictures"
    for parent, name in ((cassettes, RECORDED), (kept, PRESENT), (kept, DIFFERENCE)):
        parent.mkdir(parents=True, exist_ok=True)
        (parent / name).write_bytes(page_with_button())
    paths = (f"cassettes/pictures/{RECORDED}", *(f".miniwob/{n}" for n in (PRESENT, DIFFERENCE)))
    changed = ChangedPicture(1, "8 pixels differ", *paths)
    added = ChangedPicture(2, "added", None, "../../../etc/passwd")
    prompt = f"[user]\n[picture pictures/{RECORDED}]\n[picture pictures/{GONE}]\nWhat is this?"
    outcome = Outcome(
        case=CASE,
        agent="looker",
        model="m",
        status=Status.DRIFTED,
        events=(Called(1, 0, "look", prompt, Completion("A button")),),
        drift=DriftDetails("report", (Cause("page", "picture 1"),), (), (changed, added)),
    )
    report = Report(tmp_path / "report")
    report.write([outcome], judged=False, sent=[cassettes, kept])
    return tmp_path / "report"


def test_an_item_has_the_pictures_that_it_sent_and_those_that_drifted_until_the_next_report(folder):
    item = items(folder)[CASE.id]
    assert item["sent"] == [RECORDED]
    names = {"recorded": RECORDED, "present": PRESENT, "difference": DIFFERENCE}
    assert item["changed"] == [
        {"what": "picture 1: 8 pixels differ", **names},
        {"what": "picture 2: added"},
    ]
    assert {path.name for path in (folder / "pictures").iterdir()} == set(names.values())
    Report(folder).write([], judged=False)
    assert not list((folder / "pictures").iterdir())
