"""Programs that are recorded at one pace and replayed at another, in a real Chromium."""

import time

import pytest
from support.driving import Driving, Program
from support.scripted import actions, play

from pytest_miniwob_agent.core.pace import Pace

pytestmark = pytest.mark.integration

BODY = """
    <button onclick="fetch('data.json').then(() => { out.textContent = 'answered'; })">Go</button>
    <p id="out">nothing</p><p id="clock">0</p>
    <script>
      setInterval(() => { clock.textContent = Number(clock.textContent) + 1; }, 1000);
      const task = { goal: "Read.", reward: () => 0 };
    </script>"""
LONG = 3
"""Real seconds that a program takes; twice as much is more than passes on the page by an action."""


def read(program):
    return program.run("out.textContent + clock.textContent + Date.now()")


def reads(program, page, llm, slow):
    """Is slow before each of its commands, and after an answer of the model."""
    program.click("button")
    for _ in range(2):
        time.sleep(LONG * slow)
        yield read(program)
        llm.complete("What now?", "ask")


def presses(program, page, llm, slow):
    """Is slow within a click."""
    point = program.point("button")
    program.mouse(point, "mouseMoved", "mousePressed")
    time.sleep(LONG * slow)
    program.mouse(point, "mouseReleased")
    yield read(program)


def ends(program, page, llm, slow):
    """Is slow before its end, when the page judges what it has done."""
    program.run("setTimeout(() => { document.querySelector('button').click(); }, 1500)")
    time.sleep(2 * LONG * slow)
    yield page.done


def hears(program, page, llm, slow):
    """Waits for an event, and sends nothing."""
    program.call("Runtime.enable")
    program.run("setTimeout(() => { console.log('It has come.'); }, 1500)")
    while "Runtime.consoleAPICalled" not in program.events:
        program.receive()
    time.sleep(slow)
    yield read(program)


def polls(program, page, llm, slow):
    """Asks until a deadline, which is a matter of how often."""
    program.click("button")
    for _ in range(4 + 20 * slow):
        program.run("document.title")
    yield read(program)


def beats(program, page, llm, slow):
    """Asks the same again and again in another connection."""
    with Program(page.cdp_url) as other:
        for _ in range(2):
            program.click("button")
            for _ in range(1 + 9 * slow):
                other.run("document.title")
            yield read(program)


def goes_on(program, page, llm, slow):
    """Goes on beside a promise that nothing fulfils."""
    endless = "new Promise((resolve) => setTimeout(resolve, 1e9))"
    program.send("Runtime.evaluate", expression=endless, awaitPromise=True)
    for _ in range(2):
        time.sleep(0.3 * slow)
        yield read(program)


def answers(program, page, llm, slow):
    """Is slow to answer what the page asks for, while it asks for something else."""
    program.call("Fetch.enable")
    program.click("button")
    number = program.send("Runtime.evaluate", expression="out.textContent")
    while "Fetch.requestPaused" not in program.events:
        program.receive()
    time.sleep(2 * slow)
    request = program.events["Fetch.requestPaused"]["requestId"]
    program.send("Fetch.continueRequest", requestId=request)
    yield program.answer(number)["result"]["value"]
    program.call("Fetch.disable")
    yield read(program)


TOGETHER = (reads, answers, presses, ends)


@pytest.mark.parametrize(
    ("works", "slow_in_replay"),
    [
        (TOGETHER, TOGETHER[:2]),
        *(
            pytest.param(works, slow, marks=pytest.mark.sweep)
            for works, slow in [
                (TOGETHER, TOGETHER[2:]),
                ((ends, hears), (ends,)),
                ((ends, hears), (hears,)),
                ((hears, goes_on), (hears, goes_on)),
                ((beats, hears, goes_on), ()),
                *(
                    ((one,), slow)
                    for one in (polls, beats, goes_on, hears)
                    for slow in ((), (one,))
                ),
            ]
        ),
    ],
)
def test_a_replay_is_that_of_the_recording_at_another_pace(works, slow_in_replay, pages):
    """What is not slow in the replay is slow in the recording."""
    page = pages.make(BODY, data_json="{}")

    def run(pace, recording):
        seen = []

        def work(*driven):
            for one in works:
                seen.extend(one(*driven, (one in slow_in_replay) != recording))

        episode, _ = play(Driving(work), page, lambda *call: "reply", raising=True, pace=pace)
        return seen, actions(episode)

    pace = Pace()
    recorded = run(pace, recording=True)
    assert run(Pace(pace.moves, strict=True), recording=False) == recorded
