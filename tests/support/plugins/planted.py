"""A pytest plugin for inner runs: before the item of the task PLANTED_IN runs on a live app, it is
run once with each change in PLANTED, JSON by names; results lack these runs. The file in SEEN gets
what became of it, and what is said of that.

- `["edits", FILE, WHAT, INSTEAD]`: the file of the project has something else in the place of WHAT.
- `["ignores", WHAT]`: the app does not get a request such as `POST /order`, in which WHAT is found,
  nor those after it; they are answered as they are on the tape.
- `["reverses", WHAT]`: what WHAT finds in an answer or a binary message comes in another order.
- `["says", WHAT, INSTEAD]`: in answers and binary messages, something else is in the place of WHAT.
- `["waits", WHAT]`: a request is answered later.

WHAT is a regular expression.
"""

import base64
import json
import os
import re
import time
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from _pytest.runner import runtestprotocol

from pytest_miniwob_agent.cassettes.traffic import Bodies, Traffic
from pytest_miniwob_agent.core.app import PageResponse
from pytest_miniwob_agent.plugins.apps.live_app import LiveApp

LATER = 2
"""Real seconds."""


class Change:
    """A change of what apps answer; `tape` has what they answered to an item."""

    def __init__(self, tape, kind, what, instead=""):
        self.kind = kind
        self.what, self.instead = re.compile(what.encode(), re.DOTALL), instead.encode()
        self.bodies = Bodies(tape.parents[3])
        self.taped = [each for trial in Traffic.load(tape).trials for each in trial.exchanges]
        self.ignores = False

    def answer(self, request, ask):
        asked = f"{request.method} {urlsplit(request.url).path}".encode()
        if self.what.search(asked):
            self.ignores |= self.kind == "ignores"
            time.sleep(LATER * (self.kind == "waits"))
        if self.ignores and request.strict:
            return self.from_tape(request)
        found = ask(request)
        return replace(found, body=self.changed(found.body)) if found.is_text else found

    def from_tape(self, request):
        asked = request.method, request.url
        found = next(each for each in self.taped if (each.method, each.url) == asked)
        del self.taped[: self.taped.index(found) + 1]
        return PageResponse(found.status, found.headers, self.bodies.read(found.body))

    def messages(self, came):
        for message in came or ():
            if message.get("binary"):
                body = self.changed(base64.b64decode(message["data"]))
                message["data"] = base64.b64encode(body).decode()
        return came

    def changed(self, body):
        if self.kind == "says":
            return self.what.sub(self.instead, body)
        if self.kind == "reverses":
            found = self.what.findall(body)
            return self.what.sub(lambda _: found.pop(), body)
        return body


@contextmanager
def edited(path, what, instead):
    before = path.read_text()
    path.write_text(re.sub(what, instead, before))
    yield
    path.write_text(before)


@contextmanager
def planted(folder, task, kind, *how):
    if kind == "edits":
        file, *change = how
        with edited(folder / file, *change):
            yield
        return
    [tape] = folder.glob(f"cassettes/*/*/{task}/1.traffic.jsonl")
    change, ask, messages = Change(tape, kind, *how), LiveApp._ask, LiveApp.messages
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            LiveApp, "_ask", lambda app, request: change.answer(request, lambda one: ask(app, one))
        )
        patch.setattr(
            LiveApp, "messages", lambda *values, **more: change.messages(messages(*values, **more))
        )
        yield


def pytest_runtest_protocol(item):
    [_, task, _] = item.callspec.id.rsplit("/", 2)
    if task != os.environ["PLANTED_IN"]:
        return
    seen = {}
    for name, how in json.loads(os.environ["PLANTED"]).items():
        with planted(item.config.rootpath, task, *how):
            item._initrequest()
            for report in runtestprotocol(item, log=False, nextitem=item.parent):
                if hasattr(report, "miniwob"):
                    seen[name] = report.miniwob.status, report.longreprtext
    with open(os.environ["SEEN"], "w") as file:
        json.dump(seen, file)
