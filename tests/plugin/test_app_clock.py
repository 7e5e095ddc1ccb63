"""When the pages of an app are, and the ids that they make up: noted in what is recorded."""

import itertools
import json
import time
from types import SimpleNamespace

import pytest
from support.apps import APP, PAGES

from pytest_miniwob_agent.plugins.apps import recorded_app

DAY = 86_400
LATER = 80_000  # less than a day: no item is told that its app is a day behind

LOOKING = """
    import pytest
    from pytest_miniwob_agent import AppTask

    class Looking:
        name = "looking"

        def solve(self, env, llm, note):
            for _ in range(2):
                [shown] = [one.text for one in env.reset(screen="tree").elements]
                with open("seen", "a") as file:
                    file.write(f"{shown}\\n")

    @pytest.fixture
    def miniwob_agent():
        return Looking()

    LOOK = AppTask("look", app="app", goal="Look.", solved_when=lambda trial: None)

    @pytest.mark.miniwob(LOOK, seeds=[1, 2], trials=2)
    def test_looks(miniwob_episode):
        with open("remarks", "w") as file:
            file.write(str([one.text for one in miniwob_episode.events if one.kind == "remark"]))
"""

SHOWING = """<p></p><script>
    const made = () => `${crypto.randomUUID()} ${crypto.getRandomValues(new Uint8Array(4))}`;
    const shown = [Date.now(), made()];
    const show = () => {
      shown.push(made());
      document.querySelector("p").textContent = shown.join(";");
    };
    const worker = new Worker("/worker.js");
    worker.onmessage = ({ data }) => {
      shown.push(data);
      setTimeout(show, 3000);
    };
    worker.postMessage(1);
    </script>"""


@pytest.fixture
def days(monkeypatch):
    """Have each item be recorded most of a day after the one before; the first of these times."""
    first = int(time.time())
    later = itertools.count(first, LATER)
    clocks = SimpleNamespace(time=lambda: next(later), monotonic=time.monotonic)
    monkeypatch.setattr(recorded_app, "time", clocks)
    return first


@pytest.fixture
def looks(app_pages, days):
    """Record or replay two items of two trials each; the page's clock, and what else it shows."""
    worker = "onmessage = () => postMessage(crypto.randomUUID())"
    pages = {"/": SHOWING, "/worker.js": worker}
    app_pages.write(LOOKING, APP + PAGES, pages=f"PAGES = {pages!r}")

    def look(run, *args, **options):
        seen = app_pages.path / "seen"
        seen.unlink(missing_ok=True)
        run(*args, **options).assert_outcomes(passed=2)
        shown = [line.split(";") for line in seen.read_text().splitlines()]
        return [int(clock) // 1000 for clock, *_ in shown], [made for _, *made in shown]

    return look


def heads(project):
    """The first lines of the tapes."""
    tapes = sorted(project.path.glob("cassettes/**/*.traffic.jsonl"))
    return [json.loads(tape.read_text().partition("\n")[0]) for tape in tapes]


@pytest.mark.sweep
def test_pages_begin_when_they_are_recorded_with_ids_of_their_trial(looks, app_pages, days):
    clocks, made = looks(app_pages.record)
    assert clocks == [days, days, days + LATER, days + LATER]
    assert "Date" not in app_pages.path.joinpath("remarks").read_text()
    for ids in (*made, *zip(*made, strict=True)):  # of one trial, and of one moment in each
        assert len(set(ids)) == len(ids)
    assert looks(app_pages.runpytest) == (clocks, made)  # whatever day it is
    assert looks(app_pages.runpytest, "--miniwob-app=live") == (clocks, made)
    assert [head["clock"] for head in heads(app_pages)] == [days, days + LATER]


@pytest.mark.sweep
def test_what_is_recorded_without_a_clock_keeps_that_of_2020_and_its_ids(looks, app_pages, days):
    looks(app_pages.record)
    for tape in app_pages.path.glob("cassettes/**/*.traffic.jsonl"):
        head, rest = tape.read_text().split("\n", 1)
        without = {name: value for name, value in json.loads(head).items() if name != "clock"}
        tape.write_text(f"{json.dumps(without)}\n{rest}")
    clocks, made = looks(app_pages.runpytest)
    assert clocks == [1_600_000_000] * 4
    assert [len(set(ids)) for ids in zip(*made, strict=True)] == [1, 1, 2]  # by the seed, at last
    source = app_pages.test_file.read_text()
    app_pages.test_file.write_text(source.replace('"Look."', '"Look on."'))
    assert looks(app_pages.record) == (clocks, made)
    said = (
        "by its header Date, the app's clock is "
        f"{(days - 1_600_000_000) // DAY:,} days ahead of the page's: give the app's time as "
        "AppTask(clock=...); without it, --miniwob-record=all takes the present"
    )
    assert said in app_pages.path.joinpath("remarks").read_text()
    assert not any("clock" in head for head in heads(app_pages))
    assert looks(app_pages.record, mode="all")[0][0] > days
    assert all("clock" in head for head in heads(app_pages))


TWO_CALLS = """
    import pytest
    from pytest_miniwob_agent import AppTask

    class Caller:
        name = "caller"

        def solve(self, env, llm, note):
            [text] = [one.text for one in env.reset(screen="tree").elements]
            for purpose in ("first", "second"):
                llm.complete(f"{purpose}: {text}", purpose)
            env.answer("done")

    @pytest.fixture
    def miniwob_agent():
        return Caller()

    TASK = AppTask(
        "task", app="app", goal="Do it.", solved_when=lambda trial: trial.answer == "done" or None,
    )

    @pytest.mark.miniwob(TASK, seeds=[1], trials=1)
    def test_task(miniwob_episode):
        assert miniwob_episode.solved
"""


def test_an_unfinished_recording_goes_on_at_its_time(app_pages, days):
    """One that waits for completions, and one that an error has ended."""
    page = "<p></p><script>document.querySelector('p').textContent = Date.now();</script>"
    app_pages.write(TWO_CALLS, APP + PAGES, pages=f"PAGES = { ({'/': page})!r}")
    pending = app_pages.path / ".miniwob" / "pending.jsonl"
    asked = []
    for _ in range(2):
        app_pages.record(mode="defer")
        asked.append(pending.read_text())
    assert asked[0] == asked[1]
    app_pages.server.reply = lambda prompt: 400 if prompt.startswith("second") else "yes"
    app_pages.record().assert_outcomes(errors=1)
    app_pages.server.reply = lambda prompt: "yes"
    app_pages.server.requests.clear()
    app_pages.record().assert_outcomes(passed=1)
    [request] = app_pages.server.requests
    assert request["messages"][-1]["content"] == f"second: {days}000"
    assert heads(app_pages)[0]["clock"] == days
    app_pages.replay(passed=1)
