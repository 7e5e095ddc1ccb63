"""A solved episode as a test for pytest-playwright, written while it is replayed."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from pytest_miniwob_agent.core import actions
from pytest_miniwob_agent.core.app import AppTask, PageRequest
from pytest_miniwob_agent.core.case import Case
from pytest_miniwob_agent.core.data import to_data
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.events import Acted, Event, TrialStarted
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.observations import Element
from pytest_miniwob_agent.core.outcome import Outcome
from pytest_miniwob_agent.core.protocols import Observer
from pytest_miniwob_agent.core.text import sanitize_line
from pytest_miniwob_agent.tasks.catalogue import TaskPage

ON_APP = """\
import pytest
from playwright.sync_api import Page, expect
{imported}

@pytest.fixture
def address({fixture}):
{prepared}    url = getattr({app}, "url", {app})
    return (url() if callable(url) else url).rstrip("/")


def {name}(page: Page, address: str{fixtures}) -> None:
{judge}    page.set_viewport_size({{"width": {width}, "height": {height}}})
    page.goto(address + {start})
"""

ON_FOLDER = """\
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Page, Route, expect

FOLDER = Path({folder})


def answer(route: Route) -> None:
    file = FOLDER / unquote(urlsplit(route.request.url).path).lstrip("/")
    file = file / "index.html" if file.is_dir() else file
    route.fulfill(path=file) if file.is_file() else route.abort()


def {name}(page: Page) -> None:
    page.route("**/*", answer)
    page.goto("http://pages.localhost/{start}")
    page.evaluate(
        \"""async (seed) => {{  // the random numbers are those of the item
            let n = seed;
            const mix = () => {{
                n = (n + 0x9e3779b9) | 0;
                let mixed = Math.imul(n ^ (n >>> 16), 0x21f0aaad);
                mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
                return (mixed ^ (mixed >>> 15)) >>> 0;
            }};
            Math.random = () => ((mix() >>> 5) * 2 ** 26 + (mix() >>> 6)) / 2 ** 53;
            await task.setup?.(seed, {{}});
        }}\""",
        {seed},
    )
"""

PREPARE = "    # Prepare the app here, as the `setup` of its AppTask does.\n"

KEYS = {"CTRL": "Control", "PAGEUP": "PageUp", "PAGEDOWN": "PageDown"}
KEYS |= {f"ARROW{way.upper()}": f"Arrow{way}" for way in ("Up", "Down", "Left", "Right")}
"""Playwright's names of keys that differ in more than their case."""

CODE = {
    actions.Click: "{found}.click()",
    actions.DoubleClick: "{found}.dblclick()",
    actions.Hover: "{found}.hover()",
    actions.Scroll: "{found}.hover()\n{page}.mouse.wheel(0, {pixels})",
    actions.Select: "{found}.select_text()",
    actions.Drag: "{found}.drag_to({target})",
    actions.Choose: "{found}.select_option(label={option})",
    actions.Enter: "{found}.click()\n{page}.keyboard.type({text})",
    actions.Type: "{page}.keyboard.type({text})",
    actions.Press: "{page}.keyboard.press({key})",
    actions.Hold: "{page}.keyboard.down({key})",
    actions.Release: "{page}.keyboard.up({key})",
    actions.Copy: '{page}.keyboard.press("ControlOrMeta+C")',
    actions.Paste: '{page}.keyboard.press("ControlOrMeta+V")',
    actions.ClickWith: "{found}.click({how})",
    actions.PressKeys: "{page}.keyboard.press({keys})",
    actions.ScrollWith: "{found}.hover()\n{down}{page}.mouse.wheel(0, {pixels}){up}",
    actions.GoBack: "{page}.go_back()",
    actions.GoForward: "{page}.go_forward()",
    actions.Reload: "{page}.reload()",
    actions.CloseTab: "{page}.close()",
    actions.Wait: "{page}.wait_for_timeout({seconds} * 1000)",
    actions.Upload: "with {page}.expect_file_chooser() as chosen:\n    {found}.click()\n"
    "chosen.value.set_files({path})",
    actions.Answer: "# The answer is {text}.",
}
"""The code of actions: their fields, `page`, and the locators of their elements."""

ANSWERED = """\
with {page}.expect_response(lambda response: response.request.method == {method}):
    {inner}"""
"""The code of an action after which the page has sent something."""

CHANGING = ("DELETE", "PATCH", "POST", "PUT")
"""The methods of requests that change something."""


class ScriptWriter(Observer):
    """Writes the test while an item is replayed; `script` is its source, once the item has ended.

    Raises:
        UsageError: the item has no result or is not solved, or an action has no locator.
    """

    def __init__(self) -> None:
        self.script = ""
        self._solved = False
        self._page, self._goal, self._answer, self._seen = "page", "", "", ""
        self._code: list[str] = []  # of each action
        self._dialogs: list[str] = []  # the answers to those of the last action
        self._said: list[str] = []  # what was typed and clicked
        self._looked: list[dict[str, Any]] = [{}]  # what is known of the last action's elements
        self._acting = False  # the last code does something, and waits for no answer yet
        self._asked = 0  # requests of the page before the last action

    def follow(self, following: actions.AnyAction | str, page: Any, task: TaskPage) -> bool:
        """Look at the page as it is before an action, and at the end of the episode."""
        self._task = task
        requests: list[PageRequest] = getattr(page, "requests", [])
        by_script = [one for one in requests[self._asked :] if one.kind in ("Fetch", "XHR")]
        sent = [one.method for one in by_script if one.method in CHANGING]
        self._asked = len(requests)
        if following == "episode" and self._solved:
            seen = "" if self._answer else self._seen
            self._end = page.ask("news", seen, self._looked[0].get("id"))
            self._use(self._end, sent)
        elif isinstance(following, actions.Action):
            ids = actions.element_ids(following) or (None,)
            self._looked = [page.ask("located", id_) for id_ in ids]
            self._use(self._looked[0], sent)
        return True

    def _use(self, looked: Mapping[str, Any], sent: list[str]) -> None:
        """Have the last action wait for what came of it, and go on in the window it has opened."""
        inner = self._code[-1].replace("\n", "\n    ") if self._code else ""
        if looked["opened"] and self._page == "page":
            opening = f"with page.expect_popup() as opened:\n    {inner}\npopup = opened.value"
            self._code[-1] = opening
        elif sent and self._acting:
            self._acting = False
            # Servers keep no order, and may answer by a cookie that the next action needs.
            known = {"page": self._page, "method": quoted(sent[-1]), "inner": inner}
            self._code[-1] = ANSWERED.format(**known)
        self._page = "popup" if looked["opened"] else "page"

    def before_episode(self, case: Case) -> None:
        self._case = case

    def on_event(self, event: Event) -> None:
        if isinstance(event, TrialStarted):
            observation = event.observation
            # Of several trials, the last remains.
            self._code, self._dialogs, self._said = [], [], []
            self._acting, self._asked = False, 0
            self._page, self._goal, self._answer = "page", observation.goal, ""
        elif isinstance(event, Acted):
            self._solved, observation = event.transition.solved, event.transition.observation
            if event.transition.error is None:
                self._take(event.action, event.step, observation.elements)
        else:
            return
        if not (self._solved or observation.dialog):
            self._seen = "\n".join(f"{one.text}\n{one.value}" for one in observation.elements)

    def _take(self, action: actions.AnyAction, step: int, after: tuple[Element, ...]) -> None:
        if isinstance(action, actions.DialogAction):
            text = getattr(action, "text", None)
            answer = "accept" if isinstance(action, actions.Accept) else "dismiss"
            self._dialogs.append(f"dialog.{answer}({'' if text is None else quoted(text)})")
            return
        self._answer_dialogs()
        try:
            self._code += self._write_action(action, after)
            self._acting = not isinstance(action, actions.Wait | actions.Answer)
        except ValueError as why:
            said = f"action {step} has no locator, as {why}: {sanitize_line(action)}"
            raise self._refused(said) from None

    def _answer_dialogs(self) -> None:
        """Have the last action's dialogs answered, each by a handler that is there before it."""
        handler = ""
        for answer in reversed(self._dialogs):
            body = f"({handler}, {answer})" if handler else answer
            handler = f'{self._page}.once("dialog", lambda dialog: {body})'
        if handler:
            self._code[-1] = f"{handler}\n{self._code[-1]}"
        self._dialogs = []

    def _write_action(self, action: actions.AnyAction, after: tuple[Element, ...]) -> Iterator[str]:
        """The code of an action, once for each time; a ValueError says why it has none."""
        if isinstance(action, actions.ByProgram):
            raise ValueError("a program did it, and only its description is recorded")
        fields, looked = to_data(action), self._looked[0]
        text = fields.get("text")
        by_place = any(fields.get(name) for name in ("at", "end"))
        if by_place or type(action) not in CODE or (text and isinstance(action, actions.Select)):
            raise ValueError("it goes to a point, a part of a text, or what moves")
        places = [f"{self._page}{one['code']}" for one in self._looked if one.get("code")]
        if len(places) < len(actions.element_ids(action)):
            raise ValueError("its element has no role, name, label, text or test id")
        self._said += filter(None, [text or looked.get("text")])
        code = CODE[type(action)]
        if isinstance(action, actions.Answer):
            self._answer = action.text
        elif isinstance(action, actions.Click) and looked["type"] in ("checkbox", "radio"):
            code = "{found}.uncheck()" if looked["checked"] else "{found}.check()"
        elif isinstance(action, actions.Choose) and action.option in looked["numbers"]:
            code = f"{{found}}.select_option(index={looked['numbers'][action.option]})"
        elif isinstance(action, actions.Upload):
            folder = display_path(self._task.root or self._task.file.parent)
            fields["path"] = (folder / action.path).as_posix()
            if looked["type"] == "file":
                code = "{found}.set_input_files({path})"
        elif isinstance(action, actions.Enter) and looked["plain"] and "\n" not in action.text:
            # What the field shows then, as it may put what is typed into a form of its own.
            now = (one.value for one in after if one.id == action.element and one.value)
            filled = next(now, "" if looked["value"] else action.text)
            if filled:
                fields["text"], code = filled, "{found}.fill({text})"
        if key := fields.get("key"):
            fields["key"] = _key(key)
        if isinstance(action, actions.PressKeys):
            fields["keys"] = "+".join(map(_key, actions.parse_keys(action.keys) or ()))
        how = down = up = ""
        if isinstance(action, actions.ScrollWith):
            held = [quoted(_key(key)) for key in action.keys]
            down = "".join(f"{self._page}.keyboard.down({key})\n" for key in held)
            up = "".join(f"\n{self._page}.keyboard.up({key})" for key in reversed(held))
        if isinstance(action, actions.ClickWith):
            options = {
                "button": quoted(action.button) if action.button != "left" else "",
                "click_count": action.times if action.times > 1 else "",
                "delay": f"{action.seconds} * 1000" if action.seconds else "",
                "modifiers": quoted([*map(_key, action.keys)]) if action.keys else "",
            }
            how = ", ".join(f"{name}={value}" for name, value in options.items() if value)
            # As `click_count` has them.
            fields["times"] = 1
        found, target = [*places, "", ""][:2]
        values = {name: quoted(value) for name, value in fields.items()}
        known = {"page": self._page, "found": found, "target": target}
        line = code.format(**{**values, **known, "how": how, "down": down, "up": up})
        yield from [line] * fields.get("times", 1)

    def _refused(self, why: str) -> UsageError:
        return UsageError(f"{self._case} can't be a Playwright test: {why}")

    def after_item(self, outcome: Outcome) -> None:
        if outcome.episode is None:
            raise self._refused(f"it has no result: {outcome.message or 'it is not recorded'}")
        limits = outcome.result.limits
        if limits and limits.graded:
            raise self._refused("graders alone judge it, and they need its episode")
        if not self._solved:
            raise self._refused("it is not solved")
        alone = "it is perturbed" if self._case.perturbation else self._end["alone"]
        if alone:
            raise self._refused(f"{alone}, which is there in items alone")
        self._answer_dialogs()
        verdict, source = self._verdict()
        who = f"{outcome.result.agent} with {outcome.result.model or 'no model'}"
        says = [f"{self._case}, as {who} solved it.", f"Goal: {self._goal}", f"Verdict: {source}"]
        head = "\n\n".join(map(sanitize_line, says)).replace("\\", "\\\\").replace('"""', "'''")
        lines = "\n".join([*self._code, *verdict]).split("\n")  # strings may have other line ends
        body = "\n".join(f"    {_printable(line)}" for line in lines)
        name = re.sub(r"\W+", "_", f"test_{self._case.task}_{self._case.seed}")
        self.script = f'"""{head}\n"""\n\n{self._start(name)}{body}'

    @property
    def _judge_name(self) -> str:
        """The name of the task in its test's module, if that is an app's with a reward."""
        app = self._task.app
        return name_in(find_module(self._task.file), app) if app and app.reward else ""

    def _start(self, name: str) -> str:
        task, seed = self._task, self._case.seed
        if (app := task.app) is None:
            assert task.root is not None
            folder, start = display_path(task.root), task.file.relative_to(task.root)
            return ON_FOLDER.format(
                name=name, folder=quoted(folder.as_posix()), start=start.as_posix(), seed=seed
            )
        module = find_module(task.file)
        setup, judged = name_in(module, app, "setup"), self._judge_name
        fixture = "" if app.app.startswith("http") else app.app
        value = fixture or quoted(app.app)
        # Of `TASKS[0].setup`, `TASKS` is imported.
        names = {re.split(r"[.[]", name)[0] for name in (setup, judged) if name}
        imported = (
            f"from {module.__name__} import {', '.join(sorted(names))}\n"
            if module and names
            else ""
        )
        if judged:
            imported = f"{imported}from pytest_miniwob_agent.testing.playwright import Judge\n"
        return ON_APP.format(
            imported=imported,
            fixtures=f", {fixture}" if judged and fixture else "",
            judge=f"    judge = Judge({judged}, {value}, page, seed={seed})\n" if judged else "",
            prepared=f"    {setup}({value}, {seed})\n" if setup else PREPARE if app.setup else "",
            name=name, fixture=fixture, app=value, start=quoted(app.start_path(seed)),
            width=app.viewport[0], height=app.viewport[1],
        )  # fmt: skip

    def _verdict(self) -> tuple[list[str], str]:
        app, seed, page = self._task.app, self._case.seed, self._page
        path = urlsplit(self._end["url"])._replace(scheme="", netloc="").geturl()
        code = []
        if app is not None and path != app.start_path(seed):
            code.append(f"expect({page}).to_have_url(address + {quoted(path)})")

        def rank(one: Mapping[str, Any]) -> tuple[bool, int, bool]:
            # Alerts come first, then what has the words that were typed or clicked last, then
            # headings.
            last = [at for at, said in enumerate(self._said, 1) if said in one["text"]]
            return (
                one["role"] in ("alert", "status"),
                max(last, default=0),
                one["role"] == "heading",
            )

        if shown := [one for one in self._end["news"] if self._answer in one["text"]]:
            best = max(shown, key=rank)
            how = f"to_have_value({quoted(best['text'])})" if best["field"] else "to_be_visible()"
            code.append(f"expect({page}{best['code']}).{how}")
        elif self._end["gone"]:
            code.append(f"expect({page}{self._looked[0]['code']}).to_be_hidden()")
        if app is None:
            code.append(f'{page}.wait_for_function("task.reward({seed}, {{}}) === 1")')
            return code, "what the page shows, and its own reward."
        if self._judge_name:
            code.append(f"judge.assert_solved({quoted(self._answer) if self._answer else ''})")
            return code, "the reward of its AppTask, the address and what the page shows."
        nothing = (
            "# The page shows nothing new: ask the app here, as the judge of its AppTask does."
        )
        return code or [nothing], "the address and what the page shows."


def _key(name: str) -> str:
    return KEYS.get(name, name.capitalize() if len(name) > 1 else name)


def quoted(value: object) -> str:
    """A string or a number as Python has it."""
    return _printable(json.dumps(value, ensure_ascii=False))


def _printable(code: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in code)


def find_module(file: Path) -> ModuleType | None:
    """The module of a test's file; None if it is not imported."""
    modules = [*sys.modules.values()]
    return next((one for one in modules if getattr(one, "__file__", None) == str(file)), None)


def name_in(module: ModuleType | None, task: AppTask, part: str = "") -> str:
    """The name of a task in a module, or of a function of it, such as `TASKS[0].setup`.

    Empty if it has none.
    """
    wanted, ending = getattr(task, part) if part else task, part and f".{part}"
    for name, value in vars(module).items() if module and wanted else ():
        if value is wanted:
            return name
        if value is task:
            return f"{name}{ending}"
        if isinstance(value, list | tuple):
            value = dict(enumerate(value))
        for key, one in value.items() if isinstance(value, dict) else ():
            if one is task:
                return f"{name}[{key!r}]{ending}"
    return ""
