"""Reports: reading one, and one of made-up outcomes."""

import json
import re
from dataclasses import replace

from pytest_miniwob_agent.core.actions import Click, Enter, Press
from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.errors import Cause
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Completion,
    Ending,
    Episode,
    Reflected,
    TrialEnded,
    TrialStarted,
)
from pytest_miniwob_agent.core.observations import Element, Observation, Transition
from pytest_miniwob_agent.core.outcome import (
    RECORD_IT,
    Change,
    DriftDetails,
    Earlier,
    Outcome,
    Picture,
    Result,
    Status,
)
from pytest_miniwob_agent.plugins.report.folder import Report
from pytest_miniwob_agent.results.gate import Gate, judge
from support.drawn_pictures import page_with_button
from support.made_results import run_of


def read(path):
    """Return the JSON value of a data file."""
    match = re.fullmatch(r"miniwobReport\.\w+\((.*)\);\n", path.read_text("ascii"))
    return json.loads(match[1])


def index(folder):
    return read(folder / "data" / "index.js")


def items(folder):
    """Return the data of each item by its id."""
    files = (folder / "data" / "items").rglob("*.js")
    return {data["id"]: data for data in map(read, files)}


def pictures(item):
    """Return trial and step of every picture of an item."""
    return [(frame["trial"], frame["step"]) for frame in item["frames"] if "picture" in frame]


def content(folder):
    """Return all files of a folder, by their paths."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


ONE, TWO = (f"n-screen-n-step/click-menu-2/{seed}" for seed in (1, 2))
"""The items of the fixture `pictured`; the first one is not solved."""


def looks(project):
    """Return the actions before which pictures were taken in the project `pictured`."""
    path = project.path / "looks.txt"
    return path.read_text().splitlines() if path.exists() else []


UNSEEN = (
    "\xad\u034f\u061c\u115f\u1160\u180e\u200b\u202e\u2028\u2029\u2063\u2066\u206a\u3164\ufeff\uffa0\ufff9"
    "\U0001d173\U000e0001\U000e0041\U000e007f\x1b\x7f\x85\ud800"
)
"""Invisible characters: tags, fillers, marks of direction and the like."""


HOSTILE = (
    "<script>alert(1)</script></script><img src=x onerror=alert(2)> javascript:alert(3) "
    "\u2028\u2029 \x1b[31mred \u202eback\u2066 \ud800 ]]> --> __proto__ ${alert(4)} {{alert(5)}}"
    + f" {UNSEEN}."
)


def made_up(case, solved_at=1, *, trials=5, goal="", text="click id=1", **fields):
    """Return the outcome of an item that was allowed so many trials.

    Each of them but the first begins with a reflection.
    """
    goal = goal or f"Click Save of {case.seed}."
    button, field = Element(1, "button", "Save", x=30, y=60), Element(2, "input_text", value="old")
    before = Observation(goal, (button, field))
    events = []
    for trial in range(1, (solved_at or trials) + 1):
        done = Transition(Observation(goal), 1.0 if trial == solved_at else -1.0, done=True)
        events.append(TrialStarted(trial, before))
        if trial > 1:
            events += [
                Called(trial, 0, "reflect", "What was wrong?", Completion(f"Not {text}", 60, 9)),
                Reflected(2, text, (1,), trial),
            ]
        events += [
            Called(trial, 0, "plan", f"Plan.\n{goal}\n{text}", Completion(text, 40, 5)),
            Acted(trial, 0, Enter(text, 2), Transition(before)),
            Acted(trial, 1, Press("TAB"), Transition(before, error="no such key here")),
            Acted(trial, 2, Click(1), done),
            TrialEnded(Ending.CORRECT if trial == solved_at else Ending.FAILED, "", trial),
        ]
    episode = Episode(case, "reflective", "m", tuple(events))
    result = Result.of(
        episode,
        Status.UNSOLVED if solved_at is None else Status.SOLVED,
        params={"temperature": 0},
        prompts={"plan.txt": "0123456789ab"},
        limits=Limits(trials=trials),
    )
    outcome = Outcome(
        result=result,
        episode=episode,
        cassette=f"reflective/m/{case.task}/{case.sample}",
    )
    return replace(outcome, **fields)


def without_result(case, status, *, model="m", prompts=(), **fields):
    """Return the outcome of an item that ended in its first trial without a result."""
    outcome = made_up(case, None)
    events = outcome.history[:3]
    episode = Episode(case, "reflective", model, events)
    result = Result.of(episode, status, prompts=dict(prompts))
    return replace(outcome, **{"result": result, "episode": None, "events": events, **fields})


def errors(folder):
    """Write a report of items without a result, most of them for the same reason; return it."""
    report = Report(folder)
    cases = [Case("click-test", "1-screen-1-step", seed) for seed in range(1, 6)]
    path = "cassettes/reflective/m/click-test/{}.yaml"
    missing = [
        without_result(
            case, Status.ERROR, error="NotRecorded", events=(),
            message=f"there is no cassette {path.format(case.seed)}{RECORD_IT}pytest {case}",
        )
        for case in cases[:3]
    ]  # fmt: skip
    drift = DriftDetails("page", (Cause("page", ""),), ())
    drifted = without_result(cases[3], Status.DRIFTED, drift=drift, message=drift.report)
    report.write([*missing, drifted, without_result(cases[4], Status.WAITING)], judged=False)
    return folder


def compared(folder):
    """Write a report of items that changed against a baseline; return its folder."""
    cases = [Case("click-test", "1-screen-1-step", seed) for seed in (1, 2, 3)]
    solved, unsolved = Earlier(1, 1, "solved in trial 1"), Earlier(0, 1, "unsolved (failed)")
    some = Earlier(1, 2, "1 of 2 solved (correct; failed)")
    pie = Case("click-pie", "n-screen-n-step", 1)
    outcomes = [
        made_up(cases[0], None, trials=1, change=Change.REGRESSED, earlier=solved),
        made_up(cases[1], None, trials=1, change=Change.REGRESSED, earlier=solved),
        made_up(cases[2], 1, trials=1, change=Change.PROGRESSED, earlier=unsolved),
        made_up(pie, 1, trials=1, earlier=some),
        made_up(replace(pie, repeat=2), 1, trials=1, earlier=some),
        made_up(replace(pie, seed=2), 1, trials=1),
    ]
    verdict = judge(run_of("++-", cases[0].category), run_of("--+", cases[0].category), Gate())
    Report(folder).write(outcomes, judged=True, verdict=verdict)
    return folder


def site(folder):
    """Write a report with an item of each kind; return its folder."""
    report = Report(folder)
    name = report.add_picture(page_with_button())
    size = (160, 210)
    pictures = (
        Picture(1, 0, name, size, points=((80, 100),), boxes=((10, 90, 140, 20),)),
        Picture(1, 1, name, size),
        Picture(1, 2, name, size, points=((20, 60), (120, 180))),
    )
    test = [Case("click-test", "1-screen-1-step", seed) for seed in (7, 8, 1000)]
    pie = [Case("click-pie", "n-screen-n-step", seed) for seed in (7, 8, 1000)]
    drift = DriftDetails("page\n- old\n+ new", (Cause("page", ""),), ())
    outcomes = [
        made_up(test[0]),
        made_up(test[1], solved_at=2, change=Change.PROGRESSED),
        without_result(test[2], Status.DRIFTED, drift=drift, message=drift.report),
        made_up(pie[0], None, trials=3, change=Change.REGRESSED, pictures=pictures),
        without_result(pie[1], Status.ERROR, error="OSError", message="no disk"),
        made_up(pie[2], 5, goal="Spin the wheel.", pictures=pictures),
    ]
    report.write(outcomes, judged=True)
    return folder
