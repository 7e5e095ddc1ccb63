"""Running apps as items: recorded from the app, replayed without it, equal however they run.

Each folder beside this file is a project with an app; a model's server follows the rules below.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from support.answers import completion
from support.playwright_scripts import print_script, run_scripts
from support.projects import ROOT, RUNS_OF_APPS
from support.servers import ChatServer

from pytest_miniwob_agent.browser.local import find_browser

for name in ("pytest_django", "pytest_flask"):
    pytest.importorskip(name)  # an environment from before they were among the development tools

pytestmark = [pytest.mark.integration, pytest.mark.sweep]

APPS = ROOT / ".cache" / "apps"
"""What `make apps` makes: the front of `notes`, and an environment for `servers`."""

LOGIN = [
    ("enter", "textbox .*Username", {"text": "admin"}),
    ("enter", "textbox .*Password", {"text": "secret"}),
    ("click", 'button "Log in"', {}),
    ("click", 'link "Users"', {}),
]
RULES = {
    'add the user "carol"': [
        *LOGIN,
        ("click", 'link "Add user"', {}),
        ("enter", "textbox .*Username", {"text": "carol"}),
        ("enter", 'textbox "Password:', {"text": "Xk29-sop"}),
        ("enter", 'textbox "Password conf', {"text": "Xk29-sop"}),
        ("click", 'button "Save"', {}),
    ],
    "delete the user bob": [
        *LOGIN,
        ("click", 'link "bob"', {}),
        ("click", 'link "Delete"', {}),
        ("click", 'button "Yes', {}),
    ],
    "order two mugs": [
        ("enter", 'textbox "Name"', {"text": "ann"}),
        ("enter", 'textbox "Password"', {"text": "coffee"}),
        ("click", 'button "Log in"', {}),
        ("enter", 'textbox "Name"', {"text": "ann"}),
        ("enter", 'textbox "Password"', {"text": "tea"}),
        ("click", 'button "Log in"', {}),
        ("enter", 'searchbox "Search"', {"text": "mu"}),
        ("press", "", {"key": "ENTER"}),
        ("click", 'button "Add mug"', {}),
        ("click", 'button "Add mug"', {}),
        ("click", 'link "Basket: 2"', {}),
        ("enter", 'textbox "Address"', {"text": "5 Quay"}),
        ("click", 'button "Order"', {}),
    ],
    "answer what a": [
        ("enter", 'textbox "Name"', {"text": "ann"}),
        ("enter", 'textbox "Password"', {"text": "tea"}),
        ("click", 'button "Log in"', {}),
        ("answer", r"(?P<text>\d+) euros", {}),
    ],
    "Write a note": [
        ("click", 'button "New note"', {}),
        ("click", 'button "Save"', {}),
        ("enter", 'textbox "Title"', {"text": "Eggs"}),
        ("click", 'button "Save"', {}),
        ("click", 'link "All notes"', {}),
        ("click", 'link "About"', {}),
        ("click", 'link "Home"', {}),
        ("click", 'button "Delete Milk"', {}),
    ],
    "Search for bread": [
        ("enter", 'textbox "Search"', {"text": "bread"}),
        ("click", 'button "Delete Bread"', {}),
    ],
    "Add the product": [
        ("click", 'link "Create"', {}),
        ("enter", 'textbox "Name', {"text": "vase"}),
        ("enter", 'spinbutton "Price', {"text": "7"}),
        ("click", 'button "Save"', {}),
    ],
    "Delete the product": [
        ("click", 'button "Delete', {}),
        ("accept", "", {}),
    ],
    "how many cups": [
        ("click", "select . from cups", {}),
        ("press", "", {"key": "END"}),
        ("type", "", {"text": " where price > 3"}),
        ("click", 'button "Run SQL"', {}),
        ("answer", r"returning (?P<text>\d+) rows", {}),
    ],
    "gradio": [
        ("enter", 'textbox "name"', {"text": "Ann"}),
        ("click", 'button "Submit"', {}),
    ],
    "streamlit": [
        ("enter", 'textbox "Name"', {"text": "Ann"}),
        ("click", 'button "Greet"', {}),
    ],
    "jupyter": [
        ("click", "Python 3", {}),
        ("enter", "textbox", {"text": "6 * 7"}),
        ("click", 'button "Run this cell', {}),
    ],
}  # fmt: skip
"""By a part of the goal: the tool of each answer, what its line of the screen is like, and further
arguments. The line gives the element, or what the pattern's groups name."""


class RulesServer(ChatServer):
    """A model that follows `RULES`: the same answer to the same request, tools or not."""

    def __init__(self):
        super().__init__()
        self.on_call = None  # is called with each request, before it is answered

    def response(self, url, body):
        if self.on_call:
            self.on_call()
        return 200, "application/json", json.dumps(self.answer(body)).encode()

    def answer(self, body):
        texts = [message.get("content") or "" for message in body["messages"]]
        if not body.get("tools"):
            return completion("I see.")
        rules = next(rules for goal, rules in RULES.items() if goal in "\n".join(texts))
        done = sum(message["role"] == "assistant" for message in body["messages"])
        if done >= len(rules):
            return completion("There is nothing left to do.")
        tool, pattern, arguments = rules[done]
        if pattern:
            found = [
                match for line in texts[-1].splitlines() if (match := re.search(pattern, line))
            ]
            if not found:
                return completion(f"I see no {pattern} in:\n{texts[-1]}")
            id = re.search(r" id=(\d+)", found[0].string)
            arguments = arguments | (found[0].groupdict() or {"element": int(id[1])})
        return completion("", calls=[(tool, arguments)])


class Project:
    """A copy of a project in which pytest runs; `arguments` are of each run."""

    def __init__(self, source, folder, arguments):
        self.folder = shutil.copytree(source, folder / source.name)
        self.arguments = arguments
        self.cassettes = self.folder / "cassettes"
        self.results = self.folder / "results.jsonl"
        self.fixtures = self.folder / "fixtures.txt"

    def start(self, *arguments, **environment):
        """Start pytest, in a process group of its own."""
        self.results.unlink(missing_ok=True)
        self.fixtures.unlink(missing_ok=True)
        own = {
            "APPS": str(APPS),
            "FIXTURES": str(self.fixtures),
            "PYTEST_ADDOPTS": RUNS_OF_APPS,
            "PYTHONPATH": f"{ROOT / 'tests'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        }
        command = [
            sys.executable, "-m", "pytest", "-psupport.plugins.fixtures",
            "--miniwob-results=results.jsonl", *self.arguments, *arguments,
        ]  # fmt: skip
        return subprocess.Popen(
            command, cwd=self.folder, env=os.environ | own | environment, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def run(self, *arguments, **environment):
        """Run pytest; returns the results, and the names of the fixtures that were set up."""
        with self.start(*arguments, **environment) as process:
            output = process.communicate()[0]
        assert process.returncode == 0, output
        return self.results.read_bytes(), self.fixtures.read_text().split()

    def record(self, model):
        return self.run(*recording(model), OPENAI_API_KEY="none")

    def tapes(self):
        files = (path for path in self.cassettes.rglob("*") if path.is_file())
        return {path.relative_to(self.cassettes): path.read_bytes() for path in files}


IN_ORDER = "-pno:randomly"


def recording(model):
    return IN_ORDER, "--miniwob-record=new_episodes", f"--miniwob-base-url={model.url}"


@pytest.fixture(scope="module")
def model():
    model = RulesServer()
    yield model
    model.close()


FRONT = APPS / "notes" / "dist"
SERVERS = APPS / "venv" / ".installed"

DJANGO = {"django_db_setup", "live_server"}

NAMED = {
    "django": ("django_admin", DJANGO, None, []),
    "program": (
        "django_admin", DJANGO, None,
        ["--miniwob-agent=program:Program", "--miniwob-agent-params={}"],
    ),
    "flask": ("flask_shop", {"app", "live_server"}, None, []),
    "react": ("notes", {"built"}, FRONT, ["-kbuilt"]),
    "vite": ("notes", {"built", "dev"}, FRONT, ["-kdev"]),
    "flask-admin": ("servers", {"flask_admin"}, SERVERS, ["-kproduct"]),
    "datasette": ("servers", {"datasette"}, SERVERS, ["-kdatasette"]),
    "gradio": ("servers", {"gradio"}, SERVERS, ["-kgradio"]),
    "streamlit": ("servers", {"streamlit"}, SERVERS, ["-kstreamlit"]),
    "jupyter": ("servers", {"jupyter"}, SERVERS, ["-kjupyter"]),
}  # fmt: skip
"""By name: a folder, the fixtures of the app, what it needs to be made, and arguments."""


def app_params(*names):
    """Parameters of `recorded`; one worker runs all tests of an app."""
    return [pytest.param(name, marks=pytest.mark.xdist_group(f"app-{name}")) for name in names]


@pytest.fixture(scope="module", params=app_params(*NAMED))
def recorded(request, model, tmp_path_factory):
    name, started, needs, arguments = NAMED[request.param]
    if needs and not needs.exists():
        pytest.skip(f"no {needs}: run make apps")
    project = Project(ROOT / "tests" / "apps" / name, tmp_path_factory.mktemp("apps"), arguments)
    results, fixtures = project.record(model)
    assert started.issubset(fixtures)
    return project, results, started


@contextmanager
def load(processes):
    """Keep the machine's cores busy, for a minute at most."""
    busy = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
    started = [subprocess.Popen([sys.executable, "-c", busy]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def check(recorded, *arguments, **environment):
    project, results, started = recorded
    tapes = project.tapes()
    replayed, fixtures = project.run(*arguments, **environment)
    assert replayed == results
    assert project.tapes() == tapes
    assert started.isdisjoint(fixtures)


LIVE = "--miniwob-app=live"


TOLD = {
    "broken": "unsolved",
    "button": "drifted",
    "column": "drifted",
    "order": "drifted",
    "slower": "solved",
}
USED_UP = "the recorded answers are used up"
MORE_CELLS = ["says", "</tr>", "<th>New</th></tr>"]
USERS = "<tr><td class=.action-checkbox.*?</tr>"
GRADIO, STREAMLIT = ["edits", "greet_with_gradio.py"], ["edits", "greet_with_streamlit.py"]
NOTES = {
    "broken": (["ignores", "DELETE /api/notes/"], USED_UP),
    "button": (["says", "New note", "Add note"], '+ button "Add note"'),
    "column": (["says", r'"title":"(\w+)"', r'"title":"\1 (new)"'], '+     link "Milk (new)"'),
    "order": (["reverses", r'{"id".*?}'], '+     link "Bread" id=5'),
    "slower": (["waits", "/api/notes"], ""),
}
PLANTED = {
    "django": ("add-user", {
        "broken": (["ignores", "POST .*/add/"], USED_UP),
        "button": (["says", 'value="Save"', 'value="Store"'], '+   button "Store"'),
        "column": (MORE_CELLS, '+       columnheader "New"'),
        "order": (["reverses", USERS], '+       rowheader "bob"'),
        "slower": (["waits", "/auth/user/"], ""),
    }),
    "program": ("delete-user", {
        "broken": (["ignores", "POST .*/delete/"], USED_UP),
        "button": (["says", ">Delete</a>", ">Remove</a>"], "+ Remove"),
        "slower": (["waits", "/auth/user/"], ""),
    }),
    "flask": ("order", {
        "broken": (["ignores", "POST /order"], USED_UP),
        "button": (["says", "<button>Order", "<button>Buy"], '+ button "Buy"'),
        "column": (["says", "</li>", " (new)</li>"], '+   listitem "mug (new)"'),
        "order": (["reverses", r'\["\w+",\d+\]'], '+     text "plate, 9 euros" id=12'),
        "slower": (["waits", "/order|/api/products"], ""),
    }),
    "react": ("search-built", NOTES),
    "vite": ("search-dev", NOTES),
    "flask-admin": ("delete-product", {
        "broken": (["ignores", "POST .*/delete/"], USED_UP),
        "button": (["says", "Delete Record", "Remove record"], '+       button "Remove record"'),
        "slower": (["waits", "/admin/product/"], ""),
    }),
    "datasette": ("datasette", {  # nothing is broken: the task has its answer from the page
        "button": (["says", "Run SQL", "Ask"], '+ button "Ask"'),
        "slower": (["waits", "/shop"], ""),
    }),
    "gradio": ("gradio", {
        "broken": ([*GRADIO, 'f"Hello.*?"', "''"], USED_UP),
        "button": (["says", '"Submit"', '"Greet"'], '+   button "Greet"'),
        "slower": (["waits", "/gradio_api/queue"], ""),
    }),
    "streamlit": ("streamlit", {
        "broken": ([*STREAMLIT, 'f"Hello.*?"', "''"], USED_UP),
        "button": ([*STREAMLIT, "Greet", "Salute"], '+   button "Salute"'),
        "slower": ([*STREAMLIT, r"\A", "import time\ntime.sleep(2)\n"], ""),
    }),
    "jupyter": ("jupyter", {
        "broken": (["says", '("text/plain": ?")42', r"\g<1>41"], USED_UP),
        "button": (["says", "Run this cell", "Do this cell"], '+         button "Do this cell'),
        "slower": (["waits", "POST /api/"], ""),
    }),
}  # fmt: skip
"""By name: an item, changes of its app as the plugin `planted` makes them, and what is said of
each. A further column and another order are drift as another button is: the apps that take longer
to start have the button alone."""


def test_it_passes_on_the_app_as_it_is_and_a_change_is_told(recorded, request, tmp_path):
    source, results, started = recorded
    item, changes = PLANTED[request.node.callspec.params["recorded"]]
    project = Project(source.folder, tmp_path, source.arguments)
    own = {
        "PLANTED": json.dumps({name: how for name, (how, _) in changes.items()}),
        "PLANTED_IN": item,
        "SEEN": str(tmp_path / "seen.json"),
    }
    live, fixtures = project.run("-psupport.plugins.planted", IN_ORDER, LIVE, **own)
    assert started.issubset(fixtures)
    solved = b'"outcome":"solved"'
    assert live.count(solved) == results.count(solved) == live.count(b'"app":"live"')
    seen = json.loads((tmp_path / "seen.json").read_text())
    told = {name: status for name, (status, _) in seen.items()}
    assert told == {name: TOLD[name] for name in changes}, seen
    for name, (_, said) in changes.items():
        assert said in seen[name][1]
    assert project.tapes() == source.tapes()


def test_its_replay_is_the_same_in_whole_chromium_by_a_worker_elsewhere_in_any_order(recorded):
    whole = find_browser(headed=True)
    check(recorded, "-n1", MINIWOB_BROWSER=whole, TZ="Asia/Tokyo", LANG="de_DE.UTF-8")


@pytest.mark.parametrize("recorded", app_params("vite", "streamlit"), indirect=True)
def test_the_replay_of_an_app_with_sockets_is_the_same_on_a_busy_machine(recorded):
    with load(3):
        check(recorded, IN_ORDER)


@pytest.mark.parametrize(
    "recorded", app_params(*(name for name in NAMED if name != "program")), indirect=True
)
def test_its_items_run_as_playwright_tests(recorded, tmp_path):
    project = Project(recorded[0].folder, tmp_path, recorded[0].arguments)
    lines = map(json.loads, recorded[1].decode().splitlines())
    cases = [line["case"] for line in lines if "case" in line]
    apps = {"APPS": str(APPS)}
    runs = [print_script(project.folder, case, *project.arguments, **apps) for case in cases]
    assert [run.stderr for run in runs] == [""] * len(cases)
    name = project.folder.name
    plugins = {
        "django_admin": ["pytest_django"],
        "flask_shop": ["pytest_flask"],
        "notes": ["flask"],
    }.get(name, [])
    if "-kjupyter" in project.arguments:
        apps["SLOW_MO"] = "1000"  # JupyterLab drops a click on Run before there is a kernel
    run_scripts(project.folder, [run.stdout for run in runs], *plugins, **apps)


@pytest.mark.parametrize("recorded", app_params("django"), indirect=True)
def test_the_app_is_started_again_for_the_item_that_has_changed(recorded, model, tmp_path):
    project, results, _ = recorded
    changed = Project(project.folder, tmp_path, project.arguments)
    [tests] = changed.folder.glob("test_*.py")
    goal = re.compile(r"""\.(['"])""")  # its end
    tests.write_text(goal.sub(r"!\1", tests.read_text(), count=1))
    assert changed.record(model)[1].count("transactional_db") == 1
    assert changed.tapes() != project.tapes()
    check((changed, results, DJANGO), IN_ORDER)


def test_a_recording_killed_at_a_call_loses_that_call_only(model, tmp_path):
    number = 9
    project = Project(ROOT / "tests" / "apps" / "flask_shop", tmp_path, ["-korder"])
    model.requests.clear()

    def kill():
        if len(model.requests) == number:
            os.killpg(process.pid, signal.SIGKILL)

    model.on_call = kill
    process = project.start(*recording(model), OPENAI_API_KEY="none")
    process.communicate()
    model.on_call = None
    assert len(model.requests) == number
    results, _ = project.record(model)
    assert len(model.requests) == 13 + 1
    check((project, results, {"live_server"}), IN_ORDER)


def record_until(last, source, folder, model):
    project = Project(source, folder, ["-korder"])
    changes = folder / "changes.txt"
    own = {"KILL_AT": str(last), "CHANGES": str(changes), "OPENAI_API_KEY": "none"}
    model.requests.clear()
    project.start("-psupport.plugins.kill", *recording(model), **own).communicate()
    return project, changes.read_text().splitlines()


@pytest.fixture(
    scope="module",
    params=[pytest.param(kind, marks=pytest.mark.xdist_group(kind)) for kind in ("first", "again")],
)
def whole(request, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    source = ROOT / "tests" / "apps" / "flask_shop"
    if request.param == "again":
        earlier = Project(source, folder / "earlier", ["-korder"])
        earlier.record(model)
        source = earlier.folder
        tests = source / "test_shop.py"
        tests.write_text(tests.read_text().replace("5 Quay.", "5 Quay!"))
    _, changes = record_until(-1, source, folder, model)
    return source, changes, len(model.requests)


@pytest.mark.parametrize("moment", [0.5, 1])
def test_a_recording_killed_at_any_moment_loses_no_call_but_the_one_under_way(
    whole, model, tmp_path, moment
):
    """Before a body, a call, traffic or a cassette is written, or the unfinished one removed."""
    source, changes, needed = whole
    last = int(moment * (len(changes) - 1))
    project, made = record_until(last, source, tmp_path, model)
    assert len(made) == last + 1
    asked = len(model.requests)
    results, _ = project.record(model)
    under_way = made[-1].endswith(".partial.yaml") and "rename" in made[-1]
    assert asked < needed or not under_way
    assert len(model.requests) == needed + under_way
    check((project, results, {"live_server"}), IN_ORDER)
