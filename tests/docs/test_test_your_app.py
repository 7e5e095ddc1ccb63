"""The fixtures and tests of docs/test-your-app.md are recorded, and replayed without the app."""

import re
import shutil

import pytest
from support.projects import INNER_RUNS, ROOT, Project

TEXT = (ROOT / "docs" / "test-your-app.md").read_text("utf-8")
PAGE = "<form method=post><label>New <input name=new></label><button>Add</button></form>"

FLASK = f"""
    from flask import Flask, redirect, request

    app, NOTES = Flask(__name__), []

    @app.get("/")
    def show():
        return {PAGE!r}

    @app.post("/")
    def add():
        NOTES.append(request.form["new"])
        return redirect("/")
"""
NODE = """
    let todos = [];
    require("http").createServer((request, response) => {
      if (request.method === "DELETE") todos = [];
      const api = request.url === "/api/todos";
      response.setHeader("Content-Type", api ? "application/json" : "text/html");
      const parts = [];
      request.on("data", (part) => parts.push(part)).on("end", () => {
        const sent = new URLSearchParams(parts.join(""));
        if (request.method === "POST") todos.push(sent.get("new"));
        response.end(api ? JSON.stringify(todos) : `PAGE`);
      });
    }).listen(process.env.PORT, "127.0.0.1");
""".replace("PAGE", PAGE)

STEPS = {
    "delete the user bob": [
        ('enter "admin" to {}', "Username"), ('enter "secret" to {}', "Password"),
        ("click {}", 'button "Log in'), ("click {}", 'link "Users'), ("click {}", 'link "bob'),
        ("click {}", 'link "Delete'), ("click {}", 'button "Yes'),
    ],
    "Add the note milk 1": [('enter "milk 1" to {}', 'textbox "New'), ("click {}", "button")],
    "Add the note milk 2": [('enter "milk 2" to {}', 'textbox "New'), ("click {}", "button")],
    "Buy milk": [('enter "Buy milk" to {}', 'textbox "New'), ("click {}", "button")],
}  # fmt: skip
"""By a part of the goal: each action, and what the line of its element has."""


class Steps:
    """A model that takes the steps of each goal in order."""

    def __init__(self):
        self.left = {goal: list(steps) for goal, steps in STEPS.items()}

    def __call__(self, prompt):
        if "PLAN:" not in prompt:
            return "It was done."
        action, what = next(left for goal, left in self.left.items() if goal in prompt).pop(0)
        [*_, id_] = re.findall(rf"{what}.* (id=\d+)", prompt)
        return f"PLAN:\n{action.format(id_)}"


@pytest.fixture
def play(pytester, chat_server):
    def run(test, fixture, *arguments, passed=1, **modules):
        found = re.findall(r"^```python\n# (\w+)\.py\n(.*?)^```$", TEXT, re.M | re.S)
        named = (text for name, text in found if name == "conftest" and f"def {fixture}" in text)
        project = Project(pytester, chat_server)
        project.write(conftest=next(named, ""), **modules, **{test: dict(found)[test]})
        chat_server.reply = Steps()
        recorded = project.record("--setup-show", *arguments)
        recorded.assert_outcomes(passed=passed)
        recorded.stdout.fnmatch_lines([f"*SETUP    [FS] {fixture}*"])
        replayed = project.replay("--setup-show", *arguments, passed=passed)
        replayed.stdout.no_fnmatch_line(f"*SETUP    [FS] {fixture}*")

    return run


@pytest.mark.sweep
def test_django(play, pytester, monkeypatch):
    """In processes of their own, as Django is set up once in a process."""
    monkeypatch.setenv("PYTEST_ADDOPTS", INNER_RUNS.replace("-pno:django", ""))
    monkeypatch.setattr(pytester, "runpytest", pytester.runpytest_subprocess)
    for name in ("settings", "urls"):
        shutil.copy(ROOT / "tests" / "apps" / "django_admin" / f"{name}.py", pytester.path)
    play("test_admin", "live_server", "--ds=settings")


def test_flask(play):
    play("test_notes", "notes_app", passed=2, notes=FLASK)


@pytest.mark.skipif(not shutil.which("node"), reason="there is no Node.js")
def test_a_command(play, pytester):
    pytester.makefile(".js", server=NODE)
    play("test_todos", "todo_app")
