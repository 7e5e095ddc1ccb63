"""Running apps in pytest runs: recorded with their traffic, and replayed without the app."""

import json
import shutil
import sys
import textwrap
from math import inf, nan
from unittest.mock import patch

import pytest
from support.apps import APP, count_starts, plan
from support.projects import Project

from pytest_miniwob_agent import AppTask
from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.plugins.certify import apps as certified_apps

NOTES = """
    import json
    from urllib.parse import parse_qs

    NOTES = []
    PAGE = '''<!DOCTYPE html><title>Notes</title><h1>Notes</h1><ul></ul>
        <form method=post action=/login><label>Name <input name=user></label><button>Log in</button>
        </form><label>Note <input id=note></label><button onclick=add()>Add</button>
        <a href=/other>Other</a> <a href=/data.csv>Data</a> <a href=/nothing>Nothing</a>
        <a href=http://elsewhere.example/>Out</a> <img src=/gone.png>
        <script src=/app.js></script>'''
    SCRIPT = '''
        const show = async () => {
          const notes = await (await fetch("/api/notes")).json();
          document.querySelector("ul").innerHTML = notes.map((n) => `<li>${n}</li>`).join("");
        };
        const add = async () => {
          const body = JSON.stringify({ text: note.value, key: Math.random(), at: Date.now() });
          await fetch("/api/notes", { method: "POST", body });
          setTimeout(show, 300);
        };
        show();'''

    class Handler(AppHandler):
        def do_GET(self):
            match self.path:
                case "/": self.answer(PAGE)
                case "/app.js": self.answer(SCRIPT, "text/javascript")
                case "/api/notes": self.answer(json.dumps(NOTES), "application/json")
                case "/data.csv":
                    named = "attachment; filename=all.csv"
                    self.answer("a,b", "text/csv", Content_Disposition=named)
                case "/nothing": self.answer(status=204)
                case "/away": self.answer(status=302, Location="https://login.example/in")
                case "/locked": self.answer(status=401, WWW_Authenticate="Basic realm=staging")
                case "/broken": self.answer(status=500)
                case "/large": self.answer("x" * 1_000_001)
                case "/other":
                    host, cookie = self.headers["Host"], self.headers["Cookie"]
                    self.answer(f"<h1>{cookie}</h1><a href=http://{host}/>Back</a>")
                case _: self.answer(status=404)

        def do_POST(self):
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if self.path == "/login":
                user = parse_qs(sent)["user"][0]
                home = f"http://{self.headers['Host']}/other"
                self.answer(status=303, Location=home, Set_Cookie=f"user={user}; HttpOnly")
            else:
                NOTES.append(json.loads(sent)["text"])
                self.answer("{}", "application/json", 201)
"""

TESTS = """
    import pytest
    from conftest import NOTES
    from pytest_miniwob_agent import AppTask

    def clear(app, seed):
        NOTES.clear()

    ADD = AppTask(
        "add-note", app="app", goal=lambda seed: f"Add the note milk {seed}.",
        setup=clear,
        reward=lambda app, trial: f"milk {trial.seed}" in NOTES,
    )
    LOGIN = AppTask(
        "log-in", app="app", goal="Log in as bob, and say who is logged in.", setup=clear,
        solved_when=lambda trial: trial.answer and (
            "bob" in trial.answer and trial.url.endswith("/other")
            and trial.asked("POST", "/login", {"user": "bob"})
            and not trial.asked("POST", "/login", {"user": "eve"})
        ),
    )

    @pytest.mark.miniwob(ADD, LOGIN, seeds=[1], trials=2)
    def test_notes(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""


def reply(prompt):
    if "Add the note milk" in prompt:
        return plan('enter "milk 1" to id=4', "click id=5")
    if 'heading "user=bob"' in prompt:
        return plan('answer "bob is"')
    return plan('enter "bob" to id=2', "click id=3")


@pytest.fixture
def app(pytester, chat_server):
    project = Project(pytester, chat_server)
    chat_server.reply = reply
    project.write(TESTS, APP + NOTES)
    return project


def use_recordings(project, kept, reply):
    """Have the recordings of a model that replies so, and no file of starts."""
    project.use_recordings(kept, reply)
    project.path.joinpath("starts").unlink(missing_ok=True)
    return project


@pytest.fixture
def recorded(app, recordings):
    return use_recordings(app, recordings / "notes", reply)


def change(project, before, after):
    source = project.test_file.read_text()
    assert before in source
    project.test_file.write_text(source.replace(before, after))


def test_an_item_is_recorded_with_the_app_and_replayed_without(app):
    app.record("--miniwob-results=live.jsonl").assert_outcomes(passed=2)
    live = app.path.joinpath("live.jsonl").read_bytes()
    app.replay("--miniwob-results=replayed.jsonl", passed=2)
    assert app.path.joinpath("replayed.jsonl").read_bytes() == live
    assert count_starts(app) == 2
    [login] = app.path.glob("cassettes/*/*/log-in/*.traffic.jsonl")
    assert "HttpOnly" not in login.read_text()  # no session is on the tape
    assert "app.localhost" in login.read_text()
    assert "127.0.0.1" not in login.read_text()


def test_recording_again_needs_no_app_until_something_is_not_on_the_tape(recorded):
    before = recorded.recorded()
    recorded.record().assert_outcomes(passed=2)
    now = recorded.recorded(), count_starts(recorded), recorded.server.requests
    assert now == (before, 0, [])
    change(recorded, "say who is", "tell me who is")
    recorded.record().assert_outcomes(passed=2)
    assert count_starts(recorded) == 1  # of one item alone
    assert recorded.server.requests
    recorded.replay(passed=2)


@pytest.mark.sweep
def test_an_item_without_a_model_call_does_not_keep_others_from_being_recorded(app):
    app.makepyfile(
        TESTS,
        silent="""
            from pytest_miniwob_agent import Click, Enter

            class Silent:
                name = "silent"

                def solve(self, env, llm, note):
                    if "milk" not in env.reset(screen="tree").goal:
                        llm.complete("What now?", "ask")
                    env.step(Enter("milk 1", 4))
                    env.step(Click(5))
        """,
    )
    agent = "--miniwob-agent=silent:Silent"
    app.record(agent, "-k", "add-note").assert_outcomes(passed=1)
    result = app.record(agent)
    result.assert_outcomes(passed=1, failed=1)
    assert "recording 1 item (1 more replay): at most 500 model calls" in " ".join(result.outlines)
    app.replay(agent, passed=1, failed=1)


@pytest.mark.sweep
def test_an_app_that_shows_the_time_is_named_when_it_is_recorded_again(app):
    said = "*add-note/1: after the same actions, the app shows something else*AppTask(scrub=*"

    def record():
        for traffic in app.path.glob("cassettes/*/*/add-note/*.traffic.jsonl"):
            traffic.unlink()
        return app.record("-k", "add-note").stdout

    change(app, "import pytest", "import time\nimport pytest")
    change(app, "NOTES.clear()", "NOTES[:] = [f'at {time.time()}']")
    record().no_fnmatch_line(said)
    record().fnmatch_lines([said])
    change(app, "setup=clear", "scrub={r'at [^\"]+': 'at ten'}, setup=clear")
    record()
    again = record()
    again.no_fnmatch_line(said)
    again.fnmatch_lines(["*0 recorded*"])


def test_other_requests_than_those_of_the_tape_are_drift(recorded):
    [tape] = recorded.path.glob("cassettes/*/*/add-note/*.traffic.jsonl")
    lines = [json.loads(line) for line in tape.read_text().splitlines()]
    post = next(line for line in lines if line.get("method") == "POST")
    post |= {"sent": "0" * 32, "shown": post["shown"].replace("milk", "cream")}
    tape.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = recorded.runpytest("-k", "add-note")
    said = "*POST /api/notes was made with another body at step 2*"
    result.stdout.fnmatch_lines([said, "*cream*", "*milk*", "*1 drifted*"])


def test_a_request_that_is_not_made_any_more_is_drift(recorded):
    [tape] = recorded.path.glob("cassettes/*/*/log-in/*.traffic.jsonl")
    lines = tape.read_text().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if '"status"' in line)
    extra = json.loads(lines[place]) | {"kind": "XHR", "url": "http://app.localhost/api/extra"}
    tape.write_text("".join([*lines[: place + 1], json.dumps(extra) + "\n", *lines[place + 1 :]]))
    result = recorded.runpytest("-k", "log-in")
    result.stdout.fnmatch_lines(["*not made: GET /api/extra at step 0*", "*1 drifted*"])


def test_a_picture_that_is_not_on_the_tape_is_not_there(recorded):
    [tape] = recorded.path.glob("cassettes/*/*/add-note/*.traffic.jsonl")
    text = tape.read_text()
    assert text.count("/gone.png") == 1
    tape.write_text(text.replace("/gone.png", "/other.png"))
    recorded.replay("-k", "add-note", passed=1)


def test_answers_that_are_no_pages(app):
    app.makepyfile("""
        import hashlib
        import pytest
        from pytest_miniwob_agent import AppTask

        DIGEST = hashlib.sha256(b"a,b").hexdigest()
        GET = AppTask(
            "get-data", app="app", goal="Get the data.",
            solved_when=lambda trial: trial.downloads == {"all.csv": DIGEST} or None,
        )

        @pytest.mark.miniwob(GET, seeds=[1], trials=1)
        def test_data(miniwob_episode):
            assert miniwob_episode.solved, miniwob_episode.explain()
            assert "GET http://elsewhere.example/; AppTask(origins" in miniwob_episode.explain()
    """)
    app.server.reply = lambda prompt: plan("click id=8", "click id=9", "click id=7")
    app.record_and_replay(passed=1)


ERRORS = {
    'start="/away"': ["*does not begin at /away: *leads out of the app: GET https://login.example/*"
                      "AppTask(origins=*"],
    'start="/none"': ["*the app answers GET /none, *with the status 404: correct its `start`*"],
    'start="/broken"': ["*the app answers GET /broken, *with the status 500: correct its `start`*"],
    'start="/large"': ["*GET /large got more bytes than * (1,000,000): *--miniwob-max-answer*"],
    'start=lambda seed: "none"': ["*start must be a path that begins with /*not 'none'"],
    'app="no_such_app"': ["*there is no such fixture*"],
    'app="http://127.0.0.1:9"': ["*the app at http://127.0.0.1:9 does not answer GET /: HTTPC*"],
    'app="taken"': ["*OSError:*", "*The fixture 'taken'*port that is taken*bind port 0*"],
    'app="number"': ["*the app 'number' is 8000, which is no address*"],
    'app="http://127.0.0.1:9/shop/"': ["*has a path, /shop/, *give the path as start='/shop/'*"],
    'start="/locked"': ["*asks for a user and password at GET /locked, *write USER:PASSWORD@*"],
    'app="asks_for_more"': ["*fixture 'no_such_fixture' not found*"],
    'reward=lambda app, trial: "yes"': ["*the reward of AppTask 't*' was 'yes'; it is a number*"],
    "reward=lambda app, trial: 1.5": ["*the reward of AppTask 't*' was 1.5; it is a number*"],
    "reward=fail": ["*reward of AppTask 't*' failed at test_x.py:6: OSError: no database"],
    "setup=fail": ["*setup of AppTask 't*' failed at test_x.py:6: OSError: no database"],
    "reward=None, solved_when=fails_later": ["*solved_when of *:10: TimeoutError: no database"],
}  # fmt: skip
"""What a task's author gets wrong, and the lines that say so."""


def test_what_an_author_gets_wrong_is_said_with_what_to_do(app):
    given = 'goal="G", **{"app": "app", "reward": lambda app, trial: 0} | dict'
    tasks = [f'AppTask("t{n}", {given}({wrong}))' for n, wrong in enumerate(ERRORS, start=2)]
    app.makepyfile(f"""
        import socket
        import pytest
        from pytest_miniwob_agent import AppTask

        def fail(*args):
            raise OSError('no database')

        def fails_later(trial):
            if trial.asked("POST", "/login"):
                raise TimeoutError('no database')

        @pytest.fixture
        def taken():
            with socket.create_server(("127.0.0.1", 0)) as first:
                socket.create_server(first.getsockname())

        @pytest.fixture
        def number():
            return 8000

        @pytest.fixture
        def asks_for_more(no_such_fixture):
            pass

        @pytest.mark.miniwob({", ".join(tasks)}, seeds=[1], trials=1)
        def test_tasks(miniwob_episode):
            pass
    """)
    result = app.record("--miniwob-max-answer=1")
    result.assert_outcomes(errors=len(ERRORS))
    for lines in ERRORS.values():
        result.stdout.fnmatch_lines(lines)
    result.stdout.no_fnmatch_line("*traceback entries are hidden*")
    assert not list(app.path.glob("cassettes/**/*.traffic.jsonl"))


@pytest.mark.parametrize("wrong", [
    {"app": ""}, {"app": len}, {"goal": " "}, {"start": "admin/"}, {"setup": "prepare"},
    {"reward": 1}, {"dialogs": True}, {"dialogs": {"confirm": "yes"}}, {"dialogs": {"alert": True}},
    {"scrub": {"(": ""}}, {"scrub": {"a": r"\1"}}, {"scrub": ["a"]}, {"redact": "key"},
    {"redact": ["["]}, {"ready": True}, {"clock": "2030-01-01"}, {"clock": inf}, {"clock": nan},
    {"origins": "https://login.example"}, {"perturb": "late"}, {"viewport": (0, 720)},
    {"viewport": 1280}, {"viewport": (True, 720)},
], ids=str)  # fmt: skip
def test_an_argument_that_can_not_be_used_is_named_at_once(wrong):
    given = {"app": "shop", "goal": "Buy it.", "reward": lambda app, trial: 1} | wrong
    [name] = wrong
    with pytest.raises(UsageError, match=rf"AppTask 'buy': {name} must be .*, not"):
        AppTask("buy", **given)
    with pytest.raises(UsageError, match="AppTask 'buy' needs one judge"):
        AppTask("buy", app="shop", goal="Buy it.")


@pytest.mark.parametrize(("path", "said"), [
    ("*/*/add-note/*.traffic.jsonl", "*traffic*can't be read*"),
    ("bodies/*", "*the body*is damaged: restore it (git checkout*"),
])  # fmt: skip
def test_damage_to_a_tape_says_how_to_get_it_back(recorded, path, said):
    for file in recorded.path.glob(f"cassettes/{path}"):
        file.write_bytes(file.read_bytes()[:-9])
    result = recorded.runpytest("-k", "add-note")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said])


@pytest.fixture
def certify(app, monkeypatch, capsys):
    monkeypatch.chdir(app.path)

    def run(*words):
        with patch.dict(sys.modules):  # the project's modules are forgotten again
            status = main(["certify", *words])
        return status, pytest.LineMatcher(capsys.readouterr().out.splitlines())

    return run


@pytest.mark.sweep
def test_certify_begins_tasks_several_times_and_says_what_differs(app, certify, monkeypatch):
    """Whatever the project's agent, model and options are, which have no part in it."""
    monkeypatch.setattr(certified_apps, "PAUSE", 0.01)
    app.makeini(
        "[pytest]\nminiwob_model = gpt-5\nminiwob_prices = gpt-5 1 1\nminiwob_max_cost = 5\n"
        "miniwob_prompts = prompts\naddopts = -x -p no:randomly\npythonpath = .\n"
    )
    app.makepyfile(
        test_more="""
        import time
        from pathlib import Path
        import pytest
        from conftest import NOTES
        from pytest_miniwob_agent import AppTask
        from pytest_miniwob_agent.testing import ScriptedLLM

        class Caller:
            name = "caller"

            def solve(self, env, llm, note):
                Path("called").touch()

        @pytest.fixture
        def miniwob_agent():
            return Caller()

        @pytest.fixture
        def miniwob_llm():
            return ScriptedLLM([])

        def note_the_time(app, seed):
            NOTES[:] = [f"at {time.time()}"]

        def work_once(app, seed, starts=[]):
            starts.append(seed)
            assert len(starts) == 1

        given = dict(app="app", goal="G", reward=lambda app, trial: 0)
        SAME = AppTask("same", setup=lambda app, seed: NOTES.clear(), **given)
        TIME = AppTask("time", setup=note_the_time, **given)
        ten = {r"at [\\d.]+": "at ten"}
        SCRUBBED = AppTask("scrubbed", setup=note_the_time, scrub=ten, **given)
        ONCE = AppTask("once", setup=work_once, **given)
        GONE = AppTask("gone", **given | {"app": "http://127.0.0.1:9"})

        @pytest.mark.miniwob(SAME, TIME, SCRUBBED, ONCE, GONE, seeds=[1], trials=1)
        def test_tasks(miniwob_episode):
            pass

        def test_other():
            raise ValueError
    """
    )

    status, out = certify("test_more.py")
    assert status == 1
    out.fnmatch_lines([
        "same    test_more.py::test_tasks[[]apps/same/1], the first page alone, *",
        "DIFFERS test_more.py::test_tasks[[]apps/time/1], *",
        '  -*"at *',
        '  +*"at *',
        "same    *apps/scrubbed/1], *",
        "DIFFERS *apps/once/1], *",
        "  *: AssertionError*",
        "DIFFERS *apps/gone/1], *",
        "  *does not answer*",
        "*AppTask(scrub=*AppTask(clock=*",
        "2 of 5 show the same each time",
    ])  # fmt: skip
    assert not app.path.joinpath("called").exists()
    assert not app.path.joinpath("cassettes").exists()


@pytest.mark.sweep
def test_certify_takes_the_recorded_actions_on_the_app(recorded, certify, monkeypatch):
    """Behind a login, the first page says nothing."""
    monkeypatch.setattr(certified_apps, "PAUSE", 0.01)
    before = recorded.recorded()
    status, out = certify("test_x.py")
    out.fnmatch_lines(["same *add-note/1], 3 screens", "same *log-in/1], 4 screens"])
    assert (status, recorded.recorded()) == (0, before)
    source = recorded.path.joinpath("conftest.py")
    time = "{__import__('time').time()}"
    source.write_text(source.read_text().replace("<h1>{cookie}</h1>", f"<h1>{{cookie}}{time}</h1>"))
    status, out = certify("test_x.py", "--", "-k", "log-in")
    out.fnmatch_lines(["DIFFERS *log-in/1], *", "*after 2 actions*"])
    assert (status, recorded.recorded()) == (1, before)


def test_certify_takes_the_browser_that_is_named(app, certify):
    _, out = certify("test_x.py", "--browser=/none", "--", "-k", "log-in")
    out.fnmatch_lines(["*log-in*", "*/none*", "0 of 1 show the same each time"])


def test_an_item_without_traffic_names_the_command_that_records_it(app):
    result = app.runpytest("-k", "add-note")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no traffic*add-note*", "*--miniwob-record=new_episodes*"])


def test_items_of_apps_and_of_other_pages_take_turns_in_a_browser(recorded):
    """One after the other, as a run in random order has them."""
    recorded.makepyfile(
        test_other="""
        import pytest
        from pytest_miniwob_agent.testing import ScriptedLLM

        @pytest.fixture
        def miniwob_llm():
            return ScriptedLLM(["click id=1"])

        @pytest.mark.miniwob("click-test", seeds=[1, 2])
        def test_solves(miniwob_episode):
            assert miniwob_episode.solved, miniwob_episode.explain()
    """
    )
    apps = "test_x.py::test_notes"
    items = [f"{apps}[apps/log-in/1]", "test_other.py", f"{apps}[apps/add-note/1]"]
    recorded.replay(*items, passed=4)


def test_functions_of_a_task_run_in_no_event_loop(app):
    """Django's models refuse to work in one, in which an agent's `async def solve` is."""
    app.makepyfile("""
        import asyncio
        import pytest
        from pytest_miniwob_agent import AppTask, Click

        class Waiting:
            name = "waiting"

            async def solve(self, env, llm, note):
                env.reset()
                await asyncio.sleep(0)
                assert env.step(Click(5)).done

        @pytest.fixture
        def miniwob_agent():
            return Waiting()

        def no_loop(app, _):
            with pytest.raises(RuntimeError):
                asyncio.get_running_loop()
            return getattr(_, "url", "") and bool(_.requests)

        TASK = AppTask(
            "x", app="app", goal="g", setup=no_loop,
            reward=lambda app, trial: no_loop(app, trial) and trial.asked("POST", "/api/notes"),
        )

        @pytest.mark.miniwob(TASK, seeds=[1], trials=1)
        def test_x(miniwob_episode):
            assert miniwob_episode.solved, miniwob_episode.explain()
    """)
    app.record_and_replay(passed=1)


def test_tests_of_several_files_may_share_a_task_but_no_name(app):
    task = 'AppTask("x", app="app", goal="g", solved_when=lambda trial: None)'
    test = """
        import pytest
        from pytest_miniwob_agent import AppTask
        TASK

        @pytest.mark.miniwob(X, seeds=[1])
        def test_x(miniwob_episode):
            pass
    """
    app.makepyfile(tasks=f"from pytest_miniwob_agent import AppTask\nX = {task}")
    shared = textwrap.dedent(test).replace("TASK", "from tasks import X")
    app.makepyfile(test_one=shared, test_two=shared)
    app.runpytest("--collect-only", "test_one.py", "test_two.py").assert_outcomes()
    app.makepyfile(test_two=textwrap.dedent(test).replace("TASK", f"X = {task}"))
    result = app.runpytest("--collect-only", "test_one.py", "test_two.py")
    result.stdout.fnmatch_lines(["*test_two.py is called 'x', as test_one.py of another test is*"])
    twice = shared.replace("miniwob(X", f"miniwob(X, {task}")
    app.makepyfile(test_two=twice)
    result = app.runpytest("--collect-only", "test_two.py")
    result.stdout.fnmatch_lines(["*test_two.py and test_two.py are both called 'x', and would *"])


TRIALS = """
    from contextlib import suppress
    from dataclasses import replace

    import pytest
    from pytest_miniwob_agent import AppTask, Click
    from pytest_miniwob_agent.core.errors import StepLimit

    CRASHES = 0

    class Trier:
        name = "trier"

        def __init__(self, browser):
            self.browser, self.crashes = browser, CRASHES

        def solve(self, env, llm, note):
            for number in range(1, 3):
                env.reset()
                with suppress(StepLimit):
                    env.step(Click(6))
                    said = llm.complete(f"Trial {number}", "answer").text
                    if self.crashes:
                        self.crashes -= 1
                        self.browser.devtools.begin("Browser.crash", {}, "")
                    env.step(Click(12))
                    env.answer(said)

    @pytest.fixture
    def miniwob_agent(miniwob_browser):
        return Trier(miniwob_browser)

    @pytest.fixture
    def miniwob_limits(miniwob_limits):
        return replace(miniwob_limits, calls=9)

    TASK = AppTask(
        "try", app="app", goal="g", solved_when=lambda trial: trial.answer == "2" or None,
    )

    @pytest.mark.miniwob(TASK, seeds=[1])
    def test_tries(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""


def reply_last(prompt):
    return prompt[-1]


@pytest.fixture
def tries(app):
    app.write(TRIALS)
    app.server.reply = reply_last
    return app


@pytest.fixture
def tried(tries, recordings):
    return use_recordings(tries, recordings / "tries", reply_last)


@pytest.mark.sweep
def test_what_is_beyond_the_limits_of_a_run_is_no_drift(tried):
    before = tried.recorded()
    tried.replay("--miniwob-steps=1", failed=1)
    change(tried, "calls=9", "calls=1")
    tried.replay(failed=1)
    tried.record().assert_outcomes(failed=1)
    assert (tried.recorded(), count_starts(tried)) == (before, 0)


@pytest.mark.sweep
def test_a_recording_of_more_trials_than_are_played_is_made_anew(tried):
    change(tried, "(1, 3)", "(2, 3)")
    tried.runpytest().stdout.fnmatch_lines(["*: trial 2 was not played", "*1 drifted*"])
    tried.record().assert_outcomes(passed=1)
    assert (tried.server.requests, count_starts(tried)) == ([], 1)  # no call was paid for again
    tried.replay(passed=1)


@pytest.mark.sweep
def test_pictures_of_an_unsolved_item_are_those_of_its_tape(tries):
    tries.server.reply = lambda prompt: "3"
    for run in (tries.record, tries.runpytest):
        run("--miniwob-report=report").assert_outcomes(failed=1)
        assert count_starts(tries) == 1
        report = tries.path / "report"
        assert list(report.glob("pictures/*.png"))
        [item] = report.glob("data/items/apps/try/1.js")
        assert '"note":""' in item.read_text()
        shutil.rmtree(report)


@pytest.mark.sweep
@pytest.mark.own_browser
def test_an_app_begins_again_where_the_browser_is_lost(tries):
    change(tries, "CRASHES = 0", "CRASHES = 1")
    tries.record_and_replay(passed=1)
    assert (count_starts(tries), len(tries.server.requests)) == (1, 2)
