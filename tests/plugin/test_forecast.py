"""The forecast of a recording."""

import shutil

import pytest
from support.projects import REFLECTIVE_PROMPTS, solve_menu
from support.sweeps import swept


def test_a_recording_begins_with_what_it_will_take(record):
    for path in record.path.glob("cassettes/reflective/m/click-tab*/2.yaml"):
        path.unlink()
    result = record.record("--miniwob-prices=m 1000 1000", "-k", "/2")
    result.assert_outcomes(passed=6)
    line = (
        "recording 5 items (1 more replay): at most 2,500 model calls; by reflective/m of your "
        "cassettes about 15 calls and 210 tokens, $0.21"
    )
    assert " ".join(result.outlines).count(line) == 1
    result = record.record("-k", "/2")
    result.stdout.no_fnmatch_line("recording *")


@pytest.mark.parametrize("workers", ["-n0", *swept("-n2")])
def test_where_drift_causes_the_recording_its_limit_is_said_once(record, capfd, workers):
    prompts = record.path / "prompts"
    shutil.copytree(REFLECTIVE_PROMPTS, prompts)
    plan = prompts / "plan.txt"
    plan.write_text(plan.read_text() + "Now.")
    line = "recorded calls no longer fit: recording at most 1,000 model calls in 2 recorded items"
    options = (f"--miniwob-prompts={prompts}", "-k", "click-menu-2")
    for where, times in ((workers, 1), ("-n0", 0)):
        record.record(*options, where).assert_outcomes(passed=2)
        assert capfd.readouterr().err.count(line) == times


def test_a_first_recording_is_measured_by_our_own(project):
    project.server.reply = solve_menu
    result = project.record("--miniwob-max-calls=1")
    line = "recording 12 items: at most 1 model call; by our own recordings about 22 calls and"
    assert line in " ".join(result.outlines)
