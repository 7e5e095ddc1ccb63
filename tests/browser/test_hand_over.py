"""Pages that are handed over to programs, friendly and hostile ones, in a real Chromium."""

import json
import time
from contextlib import ExitStack, suppress

import pytest
from support.driving import Driving, Program, Refused, driven
from support.in_browser import windows
from support.own_pages import TASK
from support.scripted import Solving, actions, play
from support.servers import wait_until
from support.sweeps import swept
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from pytest_miniwob_agent import (
    Acted,
    Called,
    Case,
    Click,
    Element,
    Ending,
    HoverAt,
    Limits,
    Observer,
    ProgramError,
    StepLimit,
    UsageError,
    run_episode,
)
from pytest_miniwob_agent.browser.miniwob_page import MiniwobPage
from pytest_miniwob_agent.testing import FakePage, ScriptedLLM

pytestmark = pytest.mark.integration


@pytest.fixture
def drive(page):
    def drive(work, task="click-test-2", page=None, make=page, **more):
        agent = work if hasattr(work, "solve") else Driving(work)
        episode, _ = play(
            agent, page or make(task, 1000), lambda *call: "reply", raising=True, **more
        )
        return episode

    return drive


def test_what_a_program_does_is_the_actions_of_the_trial(drive):
    def work(program, page, llm):
        program.click("#tt")
        program.type("Lo")
        program.run(  # which tells the page of what was typed, and is no further action
            "for (const type of ['input', 'change'])"
            "  document.querySelector('#tt').dispatchEvent(new Event(type, { bubbles: true }))"
        )
        program.press("Home")
        button = program.point("#subbtn")
        assert not page.done
        program.mouse(button, "mouseMoved", "mousePressed", "mouseReleased")  # and no script
        assert page.done

    episode = drive(work, "enter-text")
    assert actions(episode) == [
        "click <input #tt>", 'enter "Lo" to <input #tt>', "press HOME", 'click <button> "Submit"',
    ]  # fmt: skip
    assert episode.endings == (Ending.FAILED,)
    assert episode.reward == -1


def test_scripted_input_is_an_action_too_but_not_what_the_page_does_itself(drive):
    def work(program, page, llm):
        program.run(
            "(() => { const list = document.querySelector('select'); list.selectedIndex = 1;"
            "for (const type of ['input', 'change'])"
            "  list.dispatchEvent(new Event(type, { bubbles: true })); })()"
        )
        program.run("document.querySelector('button').click()")
        assert page.done

    [chosen, clicked] = actions(drive(work, "choose-list"))
    assert chosen.startswith('choose "')
    assert clicked == 'click <button> "Submit"'


def test_a_drag_and_a_double_click_are_one_action_each(drive, pages):
    page = pages.make(f'<p id="a">from</p><p id="b">to</p>{TASK}')

    def work(program, page, llm):
        program.mouse(program.point("#a"), "mouseMoved", "mousePressed")
        program.mouse(program.point("#b"), "mouseMoved", "mouseReleased")
        point = program.point("#a")
        for count in (1, 2):
            for kind in ("mousePressed", "mouseReleased"):
                program.call(
                    "Input.dispatchMouseEvent", type=kind, x=point[0], y=point[1], button="left",
                    clickCount=count,
                )  # fmt: skip

    assert actions(drive(work, page=page)) == [
        'drag <p> "from" to <p> "to"',
        'double click <p> "from"',
    ]


def test_what_the_browser_drags_itself_is_a_drag(drive, pages):
    page = pages.make(
        """<p id="a" draggable="true">from</p>
            <p id="b" ondragover="event.preventDefault()" ondrop="this.textContent = 'there'">to</p>
            <script>const task = {
              goal: "Drag.", reward: () => Number(b.textContent === "there") };</script>"""
    )

    def work(program, page, llm):
        program.call("Input.setInterceptDrags", enabled=True)
        program.mouse(program.point("#a"), "mouseMoved", "mousePressed")
        program.mouse(program.point("#b"), "mouseMoved", button="left")
        x, y = program.point("#b")
        data = {"items": [], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            program.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)
        program.mouse(program.point("#b"), "mouseReleased")
        assert page.done

    assert actions(drive(work, page=page)) == ['drag <p> "from" to <p> "to"']


def test_the_clock_moves_on_after_input_and_for_a_promise_alone(drive):
    times = []

    def work(program, page, llm):
        def now():
            times.append(program.run("Date.now()"))
            return times[-1]

        began = now()
        assert now() == began
        program.run("new Promise((resolve) => setTimeout(resolve, 5000))")
        assert now() == began + 5000
        script = "new Promise((resolve) => setTimeout(resolve, 1000))"
        promise = program.call("Runtime.evaluate", expression=script)["result"]["objectId"]
        assert now() == began + 5000
        program.call("Runtime.awaitPromise", promiseObjectId=promise)
        assert now() == began + 6000
        program.run("setTimeout(() => { window.later = 'come'; }, 3000)")
        assert program.run("window.later") is None
        program.click("#query")
        assert program.run("window.later") == "come"

    first = drive(work)
    seen = times.copy()
    times.clear()
    assert drive(work).events == first.events
    assert times == seen


def test_no_time_passes_while_a_model_is_asked(browser):
    times = []

    class Slow(ScriptedLLM):
        def post(self, *request):
            for _ in range(2):
                times.append(agent.program.run("Date.now()"))
                time.sleep(0.2)
            return super().post(*request)

    def work(program, page, llm):
        agent.program = program
        endless = "new Promise((resolve) => setTimeout(resolve, 1e9))"
        program.send("Runtime.evaluate", expression=endless, awaitPromise=True)
        llm.complete("What now?", "ask")

    agent, case = Driving(work), Case("click-test", "1-screen-1-step", 1000)
    page = MiniwobPage(browser, case)
    run_episode(case, agent, page, Slow(["reply"]), Limits(), model="m")
    assert times[0] == times[1]


def test_calls_and_actions_are_in_the_order_in_which_they_were_made(drive):
    def work(program, page, llm):
        llm.complete("first", "ask")
        program.click("#query")
        llm.complete("second", "ask")

    events = [type(event) for event in drive(work).events]
    assert [kind for kind in events if kind in (Called, Acted)] == [Called, Acted, Called]


def test_pictures_are_taken_before_each_action_with_its_point(drive):
    class Camera(Observer):
        wants_pictures = True

        def __init__(self):
            self.taken = []

        def on_picture(self, shot, trial, step, action):
            self.taken.append((step, str(action), shot.points))

    camera, points = Camera(), []

    def work(program, page, llm):
        points.append(tuple(map(round, program.point("#query"))))
        program.click("#query")
        assert not page.done

    drive(work, observers=[camera])
    [action] = [f'click <div> "{text}"' for text in ["Click button ONE."]]
    assert camera.taken == [(0, action, (points[0],)), (1, "None", ())]


def test_a_limit_refuses_all_that_the_program_sends_and_the_model(drive):
    refused = []

    def work(program, page, llm):
        for _ in range(3):
            with suppress(Refused):
                program.click("#query")
        for command in ("Runtime.evaluate", "Page.captureScreenshot"):
            with pytest.raises(Refused, match="2 actions are used up"):
                program.call(command, expression="1")
        with pytest.raises(StepLimit):
            llm.complete("More?", "ask")
        program.session, target = None, program.target
        program.call("Target.closeTarget", targetId=target)
        assert "Target.detachedFromTarget" in program.events  # Playwright waits for that
        refused.append(True)

    episode = drive(work, steps=2)
    assert refused
    assert len(actions(episode)) == 2
    assert episode.endings == (Ending.STEP_LIMIT,)


@pytest.mark.parametrize("end", [KeyboardInterrupt, OSError])  # such as of a full disk
def test_who_follows_the_run_may_end_it(end, drive):
    """As `miniwob-agent play` does; the program is not left waiting for an answer."""
    ended = []

    class Leaving(Observer):
        def on_event(self, event):
            if isinstance(event, Acted):
                raise end

    def work(program, page, llm):
        for script in ("document.querySelector('#query').click()", "1"):
            program.send("Runtime.evaluate", expression=script)
        with pytest.raises(ConnectionClosed):
            for _ in iter(lambda: program.socket.recv(timeout=10), None):
                pass
        ended.append(True)

    with pytest.raises(end):
        drive(work, observers=[Leaving()])
    assert ended


def test_scripts_take_no_more_actions_than_the_limit_allows(drive):
    def work(program, page, llm):
        program.run(
            "document.querySelectorAll('button').forEach((one) => { one.onclick = null; });"
            "for (let n = 0; n < 1000; n++) document.querySelector('#query').click()"
        )
        with pytest.raises(Refused):
            program.run("1")

    assert len(actions(drive(work, steps=3))) == 3


def test_after_a_limit_the_agent_may_begin_another_trial(drive):
    @Solving
    def agent(env):
        for _ in range(2):
            env.reset()
            with suppress(StepLimit), driven(env) as (program, _):
                for _ in range(3):
                    program.click("#query")

    episode = drive(agent, steps=2)
    assert episode.endings == (Ending.STEP_LIMIT, Ending.STEP_LIMIT)
    assert episode.steps == 4


def test_the_first_verdict_counts_and_later_input_does_nothing(drive):
    def work(program, page, llm):
        buttons = program.run(
            "[...document.querySelectorAll('button')].map((one) => one.innerText)"
        )
        wrong = 1 + buttons.index("TWO")
        program.click(f"button:nth-of-type({wrong})")
        assert page.done
        program.run("document.querySelectorAll('button').forEach((one) => one.click())")
        for _ in range(100):
            program.mouse((80, 100), "mousePressed", "mouseReleased")
        program.run("document.querySelector('#sync-task-cover').click()")

    episode = drive(work)
    assert actions(episode) == ['click <button> "TWO"']
    assert episode.rewards == (-1,)


@pytest.mark.parametrize("blocks", [2, *swept(3)])
def test_an_honest_program_may_get_the_page_several_times(blocks, browser, drive):
    @Solving
    def agent(env):
        for _ in range(2):
            seen = env.reset()
            one, two = (find(seen, text) for text in ("ONE", "TWO"))
            wrong = two if seen.goal == "Click button ONE." else one
            env.step(HoverAt((5, 5)))
            for number in range(blocks):
                with driven(env) as (program, page):
                    program.click("#query" if number < blocks - 1 else wrong)
                    assert page.done == (number == blocks - 1)

    def find(seen, text):
        place = [one.text for one in seen.elements if one.tag == "button"].index(text)
        return f"button:nth-of-type({place + 1})"

    episode = drive(agent, trials=2)
    assert episode.endings == (Ending.FAILED, Ending.FAILED)
    for trial in (1, 2):
        assert len(actions(episode, trial)) == blocks + 1


def test_a_page_that_another_has_led_to_may_be_handed_over_again(drive, pages):
    page = pages.make(
        f"<a href=second>Go on</a>{TASK}",
        second_html="""<button onclick="yes++">Yes</button><script>
            let yes = 0; const task = { reward: () => yes > 1 ? 1 : 0 };</script>""",
    )

    @Solving
    def agent(env):
        env.reset()
        for what in ("a", "button", "button"):
            with driven(env) as (program, _):
                program.click(what)

    episode = drive(agent, page=page)
    assert actions(episode) == ['click <a> "Go on"', *['click <button> "Yes"'] * 2]
    assert episode.solved


WRONG = """[...document.querySelectorAll('button')].find((one) =>
    !document.querySelector('#query').innerText.includes(one.innerText)).click()"""
REWARDS = {
    "evaluated": "core.endEpisode(1, true)",
    "named as core.js": "core.endEpisode(1)\n//# sourceURL=http://miniwob.localhost/core/core.js",
    "in a script element": "document.body.append(Object.assign("
    "document.createElement('script'), { text: 'core.endEpisode(1, true)' }))",
    "from a data URL": "new Promise((onload) => document.body.append(Object.assign("
    "document.createElement('script'),"
    "{ src: 'data:text/javascript,core.endEpisode(1)', onload })))",
    "in an attribute": "document.querySelector('#query').setAttribute("
    "'onclick', 'core.endEpisode(1, true)')",
    "in an attribute of HTML": "document.querySelector('#query').innerHTML ="
    "'<img src=x onerror=core.endEpisode(1)>'",
    "without our object": "miniwobAgent.inside = miniwobAgent = null; delete window.miniwobAgent;"
    "core.endEpisode(1)",
    "in a timer": "setTimeout('core.endEpisode(1)', 10)",
    "as a timer": "setTimeout(core.endEpisode, 10, 1)",
    "as a listener": "document.querySelector('#query').addEventListener("
    "'click', core.endEpisode.bind(core, 1))",
    "in a link": "void (location.href = 'javascript:core.endEpisode(1)')",
    "in a function": "new Function('core.endEpisode(1)')()",
    "in eval": "eval('core.endEpisode(1)')",
    "in another realm": "document.body.append(Object.assign(document.createElement('iframe'),"
    "{ id: 'realm' })), realm.contentWindow.eval('parent.core.endEpisode(1)')",
    "by a library of the page": "d3.selectAll('button').each(core.endEpisode.bind(core, 1))",
    "by the page's own handler": f"core.clearTimer = core.endEpisode.bind(core, 1);{WRONG}",
    "with another stack": "Error.stackTraceLimit = 0; core.endEpisode(1)",
    "with a stack of its own": "Error.prepareStackTrace = () => 'at http://miniwob.localhost/x';"
    "core.endEpisode(1)",
    "with other built-ins": "Error.prepareStackTrace = (_, calls) => calls;"
    "Object.getPrototypeOf(new Error().stack[0]).getScriptHash = () => 'any';"
    "Set.prototype.has = Array.prototype.some = RegExp.prototype.test = () => true;"
    "core.endEpisode(1)",
    "as an object": "core.endEpisode({ n: 0, valueOf() { return this.n++; } })",
}


FEW = ("in an attribute", "by the page's own handler", "as an object")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        *(
            pytest.param(
                script, "gave itself a reward", marks=[pytest.mark.sweep] * (name not in FEW)
            )
            for name, script in REWARDS.items()
        ),
        ("WOB_RAW_REWARD_GLOBAL = 1, WOB_DONE_GLOBAL = true", "changed the page's verdict"),
        pytest.param("core.startEpisodeReal()", "began another episode", marks=pytest.mark.sweep),
        ("genProblem()", "began another episode"),
    ],
)
def test_a_program_that_judges_itself_ends_the_item_with_an_error(script, reason, drive):
    def work(program, page, llm):
        program.run(script)
        program.click("#query")
        page.done  # noqa: B018

    with pytest.raises(ProgramError, match=reason):
        drive(work)


@pytest.mark.parametrize(
    "script",
    [
        "location.href = 'click-button.html'",
        *swept("location.reload()"),
    ],
)
def test_a_program_that_leaves_ends_the_item_with_an_error(script, drive):
    def work(program, page, llm):
        program.run(f"window.stays = true; {script}")
        with suppress(Refused):
            while program.run("window.stays"):
                pass
        page.done  # noqa: B018

    with pytest.raises(ProgramError, match="has left click-test-2"):
        drive(work)


def test_an_item_after_some_that_have_ended_with_an_error_is_driven(drive):
    for name in ("evaluated", "without our object", "with other built-ins"):
        with pytest.raises(ProgramError):
            drive(lambda program, page, llm, name=name: program.run(REWARDS[name]))
    assert actions(drive(lambda program, page, llm: program.click("#query"))) != []


def test_a_verdict_stays_as_the_page_gives_it_whatever_is_replaced(drive):
    def work(program, page, llm):
        program.run(
            "core.updateDisplay = core.clearTimer = console.log ="
            f"() => {{ WOB_RAW_REWARD_GLOBAL = 1; }}; core = {{ endEpisode: 1 }}; {WRONG}"
        )
        assert page.done

    assert drive(work).rewards == (-1,)


@pytest.mark.parametrize(
    ("left", "again"),
    [("addEventListener('mousemove', () => core.endEpisode(1))", False),
     ("setTimeout(() => { WOB_RAW_REWARD_GLOBAL = 1; WOB_DONE_GLOBAL = true; }, 6000)", True)],
)  # fmt: skip
def test_what_a_program_has_left_cheats_neither_between_blocks_nor_in_the_next(left, again, drive):
    @Solving
    def agent(env):
        env.reset()
        with suppress(ZeroDivisionError), driven(env) as (program, page):
            program.run(left)
            raise ZeroDivisionError
        if again:
            with driven(env) as (program, page):
                for _ in range(2):
                    program.click("#query")
                    assert not page.done
        for x in (5, 15):
            env.step(HoverAt((x, 5)))

    with pytest.raises(ProgramError, match="has cheated"):
        drive(agent)


def test_dialogs_that_a_program_does_not_hear_of_get_the_default_answer(drive, pages):
    def work(program, page, llm):
        assert program.run("[alert('a'), confirm('b'), prompt('c')]") == [None, False, None]
        program.click("p")

    page = pages.make(f"<p>x</p>{TASK}")
    assert 'page: nobody was there to answer: confirm("b")' in drive(work, page=page).explain()


def test_a_dialog_that_a_program_leaves_open_is_dismissed(drive, pages):
    button = """<button onclick="setTimeout(() => confirm('Sure?'), 3000)">Go</button>"""
    page = pages.make(button + TASK)

    def work(program, page, llm):
        program.call("Page.enable")
        program.click("button")

    assert actions(drive(work, page=page)) == ['click <button> "Go"', 'dismiss "Sure?"']


def test_a_frame_that_is_added_while_a_program_drives_has_its_dialogs_dismissed(drive, pages):
    page = pages.make(
        """<button>Go</button><script>
            let said = null;
            const frame = document.createElement("iframe");
            frame.src = "inner.html";
            document.querySelector("button").onclick = () => document.body.append(frame);
            const task = { goal: "g", reward: () => said === false ? 1 : 0 };</script>""",
        inner_html="""<script>parent.eval(`said = ${confirm("Sure?")}`);</script>""",
    )

    def work(program, page, llm):
        program.call("Page.enable")
        program.click("button")

    assert drive(work, page=page).solved


def test_a_page_with_frames_of_other_origins_may_be_handed_over(drive, pages):
    page = pages.make(
        """<iframe sandbox srcdoc="x"></iframe>
            <button onclick="clicked = 1">Go</button><script>
            let clicked = 0; const task = { goal: "g", reward: () => clicked };</script>"""
    )
    assert drive(lambda program, page, llm: program.click("button"), page=page).solved


CORE = """<script src="/core/core.js"></script><div id="wrap"><div id="query"></div>
    <div id="area">{}</div></div><script>genProblem = () => {{}}; core.getUtterance = () => "go";
    onload = () => core.startEpisode();</script>"""
JUDGING = CORE.format(
    """<button onclick="core.endEpisode(1)">Yes</button><p>Yes</p>
    <script>document.querySelector("p").onclick = () => core.endEpisode(1);</script>"""
)


@pytest.mark.parametrize(
    ("first", "what"),
    [("<a href='second'>Go on</a>", "button"), ("<a href='second'>Go on</a>", None), ("", "p")],
    ids=["next-button", "next-cheat", "first-handler"],
)
def test_each_page_of_your_own_has_scripts_that_may_judge(first, what, drive, pages):
    page = pages.make(CORE.format(first) if first else JUDGING, second_html=JUDGING)

    def work(program, handed, llm):
        if first:
            program.click("a")
            assert not handed.done
        if what:
            program.click(what)
            assert handed.done
        else:
            program.run(REWARDS["in a script element"])

    if what:
        assert drive(work, page=page).solved
    else:
        with pytest.raises(ProgramError, match="gave itself a reward"):
            drive(work, page=page)


def test_a_program_reaches_nothing_that_the_witness_goes_by(drive):
    def work(program, page, llm):
        def found(expression):
            return program.call("Runtime.evaluate", expression=expression)["result"]["objectId"]

        program.call("Runtime.enable")
        shown = program.call("Runtime.getProperties", objectId=found("miniwobAgent.inside"))
        assert "[[Scopes]]" not in str(shown)
        for number in range(100):
            with suppress(Refused):
                expression = "typeof miniwobAgent.recognize"
                found = program.call("Runtime.evaluate", expression=expression, contextId=number)
                assert found["result"]["value"] == "undefined"
        params = {"frameId": program.target, "worldName": "miniwob-agent"}
        with pytest.raises(Refused, match="Cannot find context"):
            program.call("Page.createIsolatedWorld", **params)
        with pytest.raises(Refused, match="was refused"):
            program.call("Runtime.queryObjects", prototypeObjectId="1")

    drive(work)


def test_scripts_in_the_pages_own_world_are_counted_in_a_remark(drive):
    def work(program, page, llm):
        for script in ("1", "2", "1", "3"):
            program.run(script)
        world = program.call("Page.createIsolatedWorld", frameId=program.target)
        params = {"expression": "({})", "contextId": world["executionContextId"]}
        made = program.call("Runtime.evaluate", **params)["result"]["objectId"]
        program.call("Runtime.callFunctionOn", functionDeclaration="() => 1", objectId=made)
        added = {"source": "1", "worldName": "of the program"}
        program.call("Page.addScriptToEvaluateOnNewDocument", **added)

    assert "scripts of the program in the page's own world, which can change how it judges: 3" in (
        drive(work).explain()
    )


JUDGE = "Object.defineProperty(window, 'task', { value: { reward: () => 1 } })"


@pytest.mark.parametrize(
    ("script", "given"),
    [
        (JUDGE, True),
        pytest.param(JUDGE.replace("() => 1", "(() => 1).bind()"), True, marks=pytest.mark.sweep),
        ("came = 1", False),
    ],
)
def test_a_program_gives_the_next_page_no_judge_before_it_is_there(script, given, drive, pages):
    page = pages.make(
        f"<a href=second.html>Go on</a>{TASK}",
        second_html="<p>No</p><script>window.task = { reward: () => 0 };</script>",
    )

    def work(program, page, llm):
        program.call("Page.enable")
        program.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        program.click("a")
        program.click("p")
        assert not page.done

    if not given:
        assert actions(drive(work, page=page)) == ['click <a> "Go on"', 'click <p> "No"']
    else:
        with pytest.raises(ProgramError, match="gave a page its judge"):
            drive(work, page=page)


def test_a_program_that_takes_the_listeners_away_which_watch_it_has_cheated(drive, pages):
    page = pages.make(
        """<button onclick="which = 1">A</button><button onclick="which = 2">B</button><script>
            let which = 0; const task = { goal: "g", reward: () => [0, -1, 1][which] };</script>"""
    )
    script = """Object.entries(getEventListeners(window)).forEach(([type, all]) => all.forEach(
        ({ listener }) => removeEventListener(type, listener, true)));
        document.querySelectorAll("button").forEach((button) => button.click())"""

    def work(program, page, llm):
        program.call("Runtime.evaluate", expression=script, includeCommandLineAPI=True)
        assert page.done

    with pytest.raises(ProgramError, match="took the listeners away"):
        drive(work, page=page)


def test_a_binding_of_a_program_replaces_nothing_of_ours(drive):
    def work(program, page, llm):
        for name in ("miniwobAgent", "miniwobNetwork"):
            program.call("Runtime.addBinding", name=name)
        program.run("miniwobNetwork('no message of ours')")
        program.click("#query")

    assert len(actions(drive(work))) == 1


@pytest.mark.parametrize("way", ["from a world of its own", "by the protocol", None])
def test_scripts_that_a_program_inserts_otherwise_are_told_by_a_remark(way, drive, pages):
    page = pages.make(f"""<p onclick="this.title = 'x'">No</p>{TASK}""")

    def work(program, page, llm):
        if way == "by the protocol":
            root = program.call("DOM.getDocument")["root"]["nodeId"]
            node = program.call("DOM.querySelector", nodeId=root, selector="p")["nodeId"]
            image = "<img src='data:,' onerror='came = 1'><p>No</p>"
            program.call("DOM.setOuterHTML", nodeId=node, outerHTML=image)
        elif way:
            world = program.call("Page.createIsolatedWorld", frameId=program.target)
            script = "const one = document.createElement('script'); one.text = 'came = 1';"
            params = {"expression": f"{script} document.body.append(one)"}
            program.call("Runtime.evaluate", **params, contextId=world["executionContextId"])
        program.click("p")
        assert program.run("window.came ?? null") == (1 if way else None)

    told = drive(work, page=page).explain()
    assert ("the page got further scripts" in told) == bool(way)


ANSWER = {"responseCode": 200, "body": "dGFzayA9IHsgcmV3YXJkOiAoKSA9PiAxIH0="}  # a task of its own


def test_no_program_answers_for_the_pages_and_scripts_that_judge(drive, pages):
    page = pages.make(
        f"<a href=second.html>Go on</a>{TASK}",
        second_html="<p>No</p><script src=judge.js></script>",
        judge_js="task = { reward: () => 0 };",
        other_js="task = { reward: () => 1 };",
    )
    elsewhere = {"url": "http://pages.localhost/other.js"}

    def work(program, page, llm):
        x, y = program.point("a")
        program.call("Fetch.enable", patterns=[{"urlPattern": "*.html"}, {"urlPattern": "*.js"}])
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": x, "y": y, "button": "left", "clickCount": 1}
            program.send("Input.dispatchMouseEvent", type=kind, **where)
        for url, answers in (
            ("second.html", {"fulfillRequest": ANSWER}),
            ("judge.js", {"fulfillRequest": ANSWER, "continueRequest": elsewhere}),
        ):
            request = program.paused(url)
            for method, answer in answers.items():
                with pytest.raises(Refused, match=f"Fetch.{method} was refused: .* judge"):
                    program.call(f"Fetch.{method}", requestId=request, **answer)
            program.send("Fetch.continueRequest", requestId=request)
        program.click("p")
        assert not page.done

    assert actions(drive(work, page=page))[-1] == 'click <p> "No"'


def test_a_program_leaves_nothing_to_the_next_item_but_the_browser(drive):
    image = "new Promise((loaded) => { const image = new Image(); image.onload = image.onerror ="
    show = f"{image} () => loaded(image.naturalWidth); image.src = '/none.png'; }})"
    pixel = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

    def leave(program, page, llm):
        program.call("Network.setCookie", name="left", value="1", domain="other.test", path="/")
        program.call("Fetch.enable", patterns=[{"urlPattern": "*none.png"}])
        program.send("Runtime.evaluate", expression=f"kept = {show}")
        request = program.paused("none.png")
        program.call("Fetch.fulfillRequest", requestId=request, responseCode=200, body=pixel)
        assert program.run("kept") == 1

    def look(program, page, llm):
        assert program.call("Network.getAllCookies")["cookies"] == []
        assert len(program.call("Page.getNavigationHistory")["entries"]) == 1
        assert program.run(show) == 0

    drive(leave)
    drive(look, "enter-text")


REFUSED = [
    ("Page.navigate", {"url": "about:blank"}),
    ("Page.reload", {}),
    ("Target.createTarget", {"url": "file:///etc/passwd"}),
    ("Page.crash", {}),
    ("Emulation.setVirtualTimePolicy", {"policy": "pause"}),
    ("No.suchCommand", {}),
    ("nonsense", {}),
    ("Target.sendMessageToTarget", {"message": "{}", "sessionId": "any"}),
    ("Target.attachToTarget", {"targetId": f"{1:032X}"}),
    ("Target.attachToTarget", {"targetId": f"{1:032X}", "flatten": False}),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False}),
    ("Target.exposeDevToolsProtocol", {"targetId": f"{1:032X}"}),
    ("DOM.setFileInputFiles", {"files": ["/etc/hostname"], "backendNodeId": 1}),
    ("Page.setFontSizes", {"fontSizes": {"standard": 40}}),
    ("Page.setWebLifecycleState", {"state": "frozen"}),
    ("Input.setIgnoreInputEvents", {"ignore": True}),
    ("Runtime.terminateExecution", {}),
    ("Debugger.enable", {}),
    ("Tracing.start", {}),
    ("SystemInfo.getInfo", {}),
    ("Browser.getBrowserCommandLine", {}),
    ("Tethering.bind", {"port": 9000}),
    ("Network.loadNetworkResource", {"url": "file:///etc/passwd", "options": {}}),
]


def test_commands_that_no_page_needs_are_refused_by_name(drive):
    def work(program, page, llm):
        for command, params in REFUSED:
            with pytest.raises(Refused, match=f"{command} was refused: "):
                program.call(command, **params)
        assert program.run("1 + 1") == 2

    drive(work)


def test_events_that_no_page_has_are_switched_on_to_no_effect(drive):
    def work(program, page, llm):
        for command in ("Audits.enable", "Animation.enable", "Debugger.disable"):
            assert program.call(command) == {}
        program.run("void document.body.animate([{ opacity: 0 }, { opacity: 1 }], 1000)")
        program.click("#query")
        assert "Animation.animationCreated" not in program.events

    drive(work)


def test_downloads_are_denied_whatever_a_program_sets(drive, pages, tmp_path):
    page = pages.make(TASK)

    def work(program, page, llm):
        folder = str(tmp_path / "got")
        for command in ("Browser.setDownloadBehavior", "Page.setDownloadBehavior"):
            program.call(command, behavior="allow", downloadPath=folder)
        program.run(
            "const link = document.createElement('a');"
            "Object.assign(link, { href: 'data:text/plain,x', download: 'x' }).click()"
        )
        program.click("body")

    drive(work, page=page)
    assert not (tmp_path / "got").exists()


def test_a_program_goes_back_to_what_the_page_has_pushed_and_no_further(drive, pages):
    page = pages.make(
        """<button onclick="history.pushState({}, '', '?two')">Push</button><script>
            const task = { goal: "Go back.", reward: () => Number("came" in window) };
            addEventListener("popstate", () => setTimeout(() => { came = 1; }, 500));</script>"""
    )

    def go(program, steps):
        history = program.call("Page.getNavigationHistory")
        entry = history["entries"][history["currentIndex"] + steps]
        program.call("Page.navigateToHistoryEntry", entryId=entry["id"])

    def work(program, page, llm):
        program.click("button")
        go(program, -1)
        assert page.done

    episode = drive(work, page=page)
    assert actions(episode) == ['click <button> "Push"', "go back"]
    assert episode.solved

    def leave(program, page, llm):
        program.run("history.pushState({}, '', '#two')")
        go(program, -1)
        assert program.call("Page.getNavigationHistory")["currentIndex"] == 0
        with pytest.raises(Refused, match="can't be left"):
            program.call("Page.navigateToHistoryEntry", entryId=-1)
        assert program.run("location.hash") == ""

    drive(lambda program, page, llm: None)
    drive(leave)

    def return_to_the_first(program, page, llm):
        program.click("a")
        go(program, -1)

        def shows_the_first():  # once the browser is there, after its answer
            with suppress(Refused):
                return program.run("document.querySelector('a')?.innerText") == "Go on"

        wait_until(shows_the_first)

    pages.write(second_html=f"<p>Second</p>{TASK}")
    site = pages.make(f"<a href=second.html>Go on</a>{TASK}")
    assert actions(drive(return_to_the_first, page=site)) == ['click <a> "Go on"', "go back"]


def test_a_closed_page_is_only_detached_and_the_browser_goes_on(drive):
    def work(program, page, llm):
        program.call("Browser.close")
        assert program.run("1 + 1") == 2
        program.session, target = None, program.target
        program.call("Target.closeTarget", targetId=target)
        assert "Target.detachedFromTarget" in program.events
        with Program(page.cdp_url) as again:
            again.click("#query")

    episode = drive(work)
    assert len(actions(episode)) == 1
    assert "program: the program has closed the page" in episode.explain()


def test_what_a_program_changed_of_the_browser_is_undone(drive, browser):
    def work(program, page, llm):
        program.call(
            "Emulation.setDeviceMetricsOverride", width=300, height=300, deviceScaleFactor=2,
            mobile=True,
        )  # fmt: skip
        program.call("Emulation.setEmulatedMedia", media="print")
        program.call("Emulation.setTouchEmulationEnabled", enabled=True)
        program.call("Page.addScriptToEvaluateOnNewDocument", source="window.left = true")
        assert program.run("innerWidth") != 640
        with suppress(Refused):
            program.run("void window.open('about:blank')")

    drive(work)
    seen = []
    media = "...['print', '(hover)', '(pointer: fine)'].map((one) => matchMedia(one).matches)"
    script = f"[innerWidth, innerHeight, devicePixelRatio, window.left, {media}]"

    @Solving
    def agent(env):
        env.reset()
        seen.extend(browser.call(f"(() => {script})"))

    drive(agent)
    assert seen == [640, 480, 1, None, False, True, True]
    assert windows(browser) == 1


def test_frames_without_scripts_are_read_after_a_program_has_left(drive, pages):
    page = pages.make(f'<iframe srcdoc="<button>In</button>"></iframe>{TASK}')
    seen = []

    def work(program, page, llm):
        program.call("Runtime.enable")

    @Solving
    def reading(env):
        seen.append([element.text for element in env.reset().elements])

    for agent in (work, reading):
        drive(agent, page=page)
    assert seen == [["In"]]


def test_only_the_program_reaches_the_page_and_only_in_the_block(drive):
    urls = []

    def work(program, page, llm):
        urls.append(page.cdp_url)
        host, _, secret = page.cdp_url.rpartition("/")
        for url, origin in (
            (f"{host}/", None),
            (f"{host}/{secret[:-1]}", None),
            (page.cdp_url, "http://miniwob.localhost"),
        ):
            with pytest.raises(InvalidStatus):
                connect(url, origin=origin)

    drive(work)
    with pytest.raises(ConnectionRefusedError):
        connect(urls[0])


def test_nodes_and_the_page_have_the_same_names_in_every_run(drive):
    seen = []

    def work(program, page, llm):
        root = program.call("DOM.getDocument", depth=-1)["root"]
        seen.append((program.target, json.dumps(numbers_in(root))))
        body = root["children"][1]["children"][1]
        node = program.call("DOM.resolveNode", backendNodeId=body["backendNodeId"])["object"]
        assert node["className"] == "HTMLBodyElement"
        with pytest.raises(Refused):
            program.call("DOM.resolveNode", backendNodeId=999_999)

    drive(work)
    drive(lambda program, page, llm: program.click("#query"), "enter-text")
    drive(work)
    assert seen[0] == seen[1]


def numbers_in(node):
    return [node["backendNodeId"], [numbers_in(child) for child in node.get("children", ())]]


NO_COMMANDS = ["", "{", "[]", "1", '{"id": 1}', '{"method": "Page.enable"}', "[" * 100_000,
               '{"id": "1", "method": 5}', '{"id": 1, "method": 5}', '{"id": NaN, "method": "A.b"}',
               f'{{"id": {"9" * 5000}, "method": "A.b"}}',
               '{"id": 1, "method": "Page.enable", "params": {"x": 1e999}}',
               '{"id": 1, "method": "A.b", "params": []}',
               '{"id": 1, "method": "Page.enable", "sessionId": []}']  # fmt: skip


def test_every_message_is_answered_and_the_page_goes_on(drive):
    def work(program, page, llm):
        def answer(message):
            program.socket.send(message)
            return json.loads(program.socket.recv())

        for message in (*NO_COMMANDS, b"\xff\x00", b'{"id": 1, "method": "A.b\xff"}'):
            assert "error" in answer(message)
        for number in (0, -1, 2**30, 2**31, 2**70, 1.5, "a", True, None):
            answered = answer(json.dumps({"id": number, "method": "Browser.getVersion"}))
            assert (answered["id"], "result" in answered) == (number, type(number) is int)
        assert "result" in answer(b'{"id": 7, "method": "Browser.getVersion"}')
        assert program.run("1 + 1") == 2

    drive(work)


def test_two_connections_share_the_page_and_one_may_be_cut(drive):
    def work(program, page, llm):
        other = Program(page.cdp_url)
        other.run("window.shared = 1")
        assert program.run("window.shared") == 1
        other.send("Runtime.evaluate", expression="new Promise(() => null)", awaitPromise=True)
        other.socket.socket.close()
        program.click("#query")
        assert not page.done

    assert len(actions(drive(work))) == 1


class Silent:
    """An agent whose program sends commands, reads no answer, and leaves or stays."""

    name = "silent"

    def __init__(self, stays):
        self.stays = stays

    def solve(self, env, llm, note):
        env.reset()
        with ExitStack() as left, env.hand_over() as page:
            program = Program(page.cdp_url)
            left.callback(program.socket.socket.close)
            program.run("window.answers = 0")
            for _ in range(60):
                program.send("Runtime.evaluate", expression="answers++, 'x'.repeat(2.5e5)")
            if self.stays:
                watcher = Program(page.cdp_url)
                wait_until(lambda: watcher.run("answers") == 60)
            else:
                left.close()


@pytest.mark.parametrize("stays", [True, *swept(False)])
def test_a_program_that_never_reads_costs_its_item_alone(drive, stays):
    for _ in range(1 if stays else 5):
        drive(Silent(stays))
        assert len(actions(drive(lambda program, page, llm: program.click("#query")))) == 1


@pytest.mark.parametrize(
    ("body", "script"),
    [
        (f"<p>No</p>{TASK}", "task.reward = () => 1"),
        (CORE.format("<p>No</p>"), "WOB_RAW_REWARD_GLOBAL = 1, WOB_DONE_GLOBAL = true"),
    ],
    ids=["task", "core"],
)
def test_an_own_page_whose_verdict_is_changed_ends_with_an_error(body, script, drive, pages):
    def work(program, page, llm):
        program.run(script)
        program.click("p")

    with pytest.raises(ProgramError, match="changed the page's verdict"):
        drive(work, page=pages.make(body))


@pytest.mark.parametrize(
    ("form", "scripts"),
    [
        (f"<p id='p'>No</p>{TASK}", [
            "const { reward } = task; task.reward = () => 1; p.click(); task.reward = reward",
            "const own = task; task = { goal: '', reward: () => 1 }; p.click(); task = own",
            "for (const name of ['verdict', 'reward', 'watched'])"
            "  Reflect.set(miniwobAgent.inside().trial, name, 1); p.click()",
        ]),
        (CORE.format("<p id='p'>No</p>"),
         ["task = { goal: '', reward: () => 1 }; p.click(); delete window.task"]),
    ],
    ids=["task", "core"],
)  # fmt: skip
def test_what_a_program_replaces_for_a_moment_does_not_judge(form, scripts, drive, pages):
    def work(program, page, llm):
        for script in scripts:
            program.run(f"(() => {{ {script}; }})()")
            assert not page.done

    episode = drive(work, page=pages.make(form))
    assert actions(episode)[: len(scripts)] == ['click <p> "No"'] * len(scripts)
    assert not episode.solved


# As the page's judge is called, and as a frame begins, whose functions the page has changed before.
LISTENING = """<a href="second">Go on</a><script>
    window.heard = [];
    const task = { goal: "g", reward: () => { if (window.event) heard.push(event); return 0; } };
    addEventListener("pagehide", () => Object.keys(sessionStorage).forEach((key) => {
      sessionStorage[key] = sessionStorage[key].replace(/"(verdict|reward)":null/, '"$1":1'); }));
    const frame = document.createElement("iframe");
    frame.src = "inner.html";
    document.body.append(frame);
    const { contentWindow: inner } = frame;
    const told = { __proto__: null, get: (_, name) => (...values) => heard.push(name, ...values) };
    inner.parent = { miniwobAgent: new Proxy({}, told) };</script>"""


def test_scripts_of_a_page_get_nothing_that_decides(drive, pages):
    page = pages.make(
        LISTENING, second_html=f"<p>No</p>{TASK}", inner_html="<button>In a frame</button>"
    )
    heard, names = [], []

    def work(program, page, llm):
        world = program.call("Page.createIsolatedWorld", frameId=program.target)
        ours = (
            "Object.getOwnPropertyNames(globalThis).filter((name) => /^miniwob/.test(name)).join()"
        )
        params = {"expression": ours, "contextId": world["executionContextId"]}
        names.append(program.call("Runtime.evaluate", **params)["result"]["value"])
        assert not page.done
        heard.extend(program.run("heard.map(String)"))
        program.click("a")
        assert not page.done
        assert program.run("document.body.textContent").strip().startswith("No")

    assert not drive(work, page=page).solved
    assert set(heard) <= {"inside"}
    assert names == [""]


def test_a_frame_that_comes_later_is_watched_too(drive, pages):
    page = pages.make(
        """<button onclick="document.querySelector('iframe').srcdoc =
            `<form><input name=localName><button type=button>In</button></form>`">Go</button>
            <iframe></iframe>"""
        + TASK
    )

    def work(program, page, llm):
        program.click("button")
        assert not page.done
        left, top = program.run(
            "(() => { const frame = document.querySelector('iframe').getBoundingClientRect();"
            "const button = frames[0].document.querySelector('button').getBoundingClientRect();"
            "return [frame.left + button.left + 10, frame.top + button.top + 10]; })()"
        )
        program.mouse((left, top), "mouseMoved", "mousePressed", "mouseReleased")
        program.run("frames[0].document.querySelector('input').dispatchEvent(new Event('input'))")

    assert actions(drive(work, page=page)) == [
        'click <button> "Go"', 'click <button> "In"', 'enter "" to <input>',
    ]  # fmt: skip


def test_a_page_that_cannot_be_handed_over_says_what_it_lacks():
    agent = Driving(lambda *args: None)
    page = FakePage("goal", {"only": []})
    case = Case("fake", "other", 0)
    with pytest.raises(UsageError, match=r"FakePage can't be handed over .* no hand_over"):
        run_episode(case, agent, page, ScriptedLLM([]), Limits(), model="m")


def test_there_is_a_page_to_hand_over_after_a_reset_until_it_has_judged():
    @Solving
    def agent(env):
        for begin in (lambda: None, lambda: env.reset() and env.step(Click(1))):
            begin()
            with pytest.raises(RuntimeError, match=r"^hand_over\(\) needs a page: "):
                env.hand_over().__enter__()

    rewards = {("only", "click id=1"): 1.0}
    page = FakePage("goal", {"only": [Element(1, "a", "Save")]}, rewards=rewards)
    case = Case("fake", "other", 0)
    assert run_episode(case, agent, page, ScriptedLLM([]), Limits(), model="m").solved


def test_of_several_actions_of_one_script_the_last_has_the_verdict(drive):
    def work(program, page, llm):
        program.run(f"document.querySelector('#query').click(); {WRONG}")
        assert page.done

    episode = drive(work)
    acted = [event for event in episode.events if isinstance(event, Acted)]
    assert [(one.step, one.transition.done) for one in acted] == [(0, False), (1, True)]
    assert len({one.transition.observation for one in acted}) == 2


def test_the_page_is_not_the_agents_while_it_is_handed_over(drive):
    @Solving
    def agent(env):
        env.reset()
        with env.hand_over():
            for use in (env.reset, env.html, env.hand_over().__enter__):
                with pytest.raises(RuntimeError, match="handed over"):
                    use()
        assert env.html()

    drive(agent)
