"""Apps that send more than answers: by WebSockets, event sources, streams and long polls."""

import hashlib
import json
import re

import pytest

from pytest_miniwob_agent.browser import gate_commands
from pytest_miniwob_agent.cassettes.traffic import Bodies
from pytest_miniwob_agent.plugins.apps import live_sockets, live_trial, recorded_app

TALKING = """
    import os
    import time

    from websockets.frames import Opcode
    from websockets.server import ServerProtocol

    SAID = threading.Semaphore(0)

    class Talking(Handler):
        def begin_events(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()

        def do_GET(self):
            if self.headers["Upgrade"]:
                self.talk()
            elif self.path == "/events":
                self.begin_events()
                last = self.headers["Last-Event-ID"] or "nothing"
                if last == "nothing":
                    self.wfile.write(b"\\xef\\xbb\\xbfdata: first\\n\\nevent:\\ndata: plain\\n\\n")
                self.wfile.write(b"retry: 500\\n\\nevent: tick\\r\\nid: 7\\r\\n")
                time.sleep(0.05)  # parts may end anywhere, also between the lines of an event
                self.wfile.write(f"data: {last}\\r\\n\\r\\n".encode())
            elif self.path == "/ticks":
                self.begin_events()
                for _ in range(10_000):
                    self.wfile.write(b"data: tick\\n\\n")
                    time.sleep(0.02)
            elif self.path == "/late":
                self.begin_events()
                for word in ("late", "last"):
                    time.sleep(0.8)
                    self.wfile.write(f"data: {word}\\n\\n".encode())
            elif self.path == "/soon":
                self.begin_events()
                time.sleep(float(os.environ["SOON"]))
                self.wfile.write(b"data: soon\\n\\n")
            elif self.path == "/poll":
                SAID.acquire()
                self.answer("heard")
            elif self.path == "/slow":
                time.sleep(1.2)  # longer than a request may take that others wait for
                self.answer("slow")
            else:
                super().do_GET()

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/say":
                SAID.release()
                return self.answer("said")
            self.begin_events()
            for word in ("one", "two", "three"):
                if self.path == "/endless" and word == "three":
                    return self.request.recv(1)  # until the page has enough
                self.wfile.write(f"data: {word} http://{self.headers['Host']}\\n\\n".encode())
                time.sleep(0.01)

        def talk(self):
            socket = ServerProtocol(select_subprotocol=lambda _, given: "chat" if given else None)
            head = f"GET {self.path} HTTP/1.1\\r\\n{self.headers}".replace("\\n", "\\r\\n")
            socket.receive_data(head.replace("\\r\\r", "\\r").encode())
            [request] = socket.events_received()
            socket.send_response(socket.accept(request))
            while True:
                for data in socket.data_to_send():
                    self.request.sendall(data)
                if socket.close_expected() or not (data := self.request.recv(4096)):
                    break
                socket.receive_data(data)
                for frame in socket.events_received():
                    if socket.close_expected():  # it came with the frame: no answer is sent then
                        break
                    if frame.opcode is Opcode.TEXT:
                        said = f"{frame.data.decode()}, {self.headers['Cookie']}"
                        socket.send_text(f"{said} at http://{self.headers['Host']}/".encode())
                    elif frame.opcode is Opcode.BINARY:
                        socket.send_binary(frame.data[::-1])
            self.close_connection = True

    Handler = Talking
"""


AGENT = 'agents=[("reflective", {"screen": "tree", "actions": "all"})]'


@pytest.fixture
def talk(app_pages):
    """Record a page that talks with its app, and replay it; its tape, and the last screen."""

    def talk(script, *actions, body="<p></p>", more=(), app="app", **task):
        page = f"{body}<script>{script}</script>"
        pages = {"/": (200, page, {"Set_Cookie": "user=bob; HttpOnly"})} | dict(more)
        plans = [actions] if actions else []
        task = ", ".join(f"{name}={value}" for name, value in {"app": repr(app), **task}.items())
        *_, prompt = app_pages.play(pages, *plans, task=task, marker=AGENT, conftest=TALKING)
        [tape] = app_pages.path.glob("cassettes/*/*/task/*.traffic.jsonl")
        screen = re.sub(r" id=\d+| focused", "", prompt[prompt.index("The screen now:") :])
        return tape, [line.strip() for line in screen.split("\n\n")[0].splitlines()[1:]]

    return talk


def test_sockets(talk, app_pages):
    script = """
        const show = (text) => document.querySelector("ul").append(
            Object.assign(document.createElement("li"), { textContent: text }));
        const ws = new WebSocket(`ws://${location.host}/ws`, ["none", "chat"]);
        ws.binaryType = "arraybuffer";
        let early = "";
        try { ws.send("x"); } catch (error) { early = error.name; }
        ws.onopen = () => show(`open ${ws.protocol} ${early} ${ws instanceof EventTarget}`);
        ws.addEventListener("message", ({ data, origin }) => show(typeof data === "string"
            ? `got ${data} from ${origin}` : `got bytes ${new Uint8Array(data)}`));
        ws.onclose = ({ code, reason, wasClean }) => show(`closed ${code} ${reason} ${wasClean}`);
        const events = new EventSource("/events");
        events.onmessage = ({ data }) => show(data);
        events.addEventListener("tick", ({ data }) => {
            show(`tick after ${data}`);
            if (data === "7") events.close();
        });
        const say = () => {
            ws.send("hello");
            ws.send(new Blob([new Uint8Array([0, 200, 7])]));
            ws.send("last");
        };
        const frame = document.createElement("iframe");
        frame.src = "/frame";
        document.body.append(frame);
    """
    body = """<title>T</title><button onclick=say()>Say</button>
        <button onclick="ws.send(new Blob(['bye'])); ws.close(3001, 1)">End</button>
        <button onclick="this.append('.')">Wait</button>
        <ul></ul>"""
    inner = """<p>Frame</p><script>
        const ws = new WebSocket("ws://HOST/inner");
        ws.onopen = () => ws.send("in");
        ws.onmessage = ({ data }) => { document.querySelector("p").textContent = data; };
        </script>"""
    actions = "click id=1", "click id=3", "click id=3", "click id=2"
    tape, screen = talk(script, *actions, body=body, more={"/frame": inner})
    # A slow machine may record them in another order.
    assert sorted(line for line in screen if line.startswith(("listitem", "text"))) == [
        'listitem "closed 3001 1 true"',
        'listitem "first"',
        'listitem "got bytes 7,200,0"',
        'listitem "got hello, user=bob at http://app.localhost/ from ws://app.localhost"',
        'listitem "got last, user=bob at http://app.localhost/ from ws://app.localhost"',
        'listitem "open chat InvalidStateError true"',
        'listitem "plain"',
        'listitem "tick after 7"',
        'listitem "tick after nothing"',
        'text "in, user=bob at http://app.localhost/"',
    ]
    assert "127.0.0.1" not in tape.read_text()
    assert "HttpOnly" not in tape.read_text()
    assert hashlib.sha256(b"bye").hexdigest()[:32] in tape.read_text()
    tape.write_text(
        tape.read_text()
        .replace('"shown": "hello"', '"shown": "hi"')
        .replace(hashlib.sha256(b"hello").hexdigest()[:32], hashlib.sha256(b"hi").hexdigest()[:32])
    )
    result = app_pages.runpytest()
    result.stdout.fnmatch_lines(
        [
            "*a message on the socket /ws was made with another body*",
            "*hi*",
            "*hello*",
            "*1 drifted*",
        ]
    )


def test_an_app_by_https_has_sockets_and_its_dialogs_are_answered_as_the_task_says(talk):
    """With a certificate that nobody has signed, as a test makes one."""
    script = """
        const add = (text) => { document.querySelector("p").textContent += `${text} `; };
        const ws = new WebSocket("/ws");
        ws.onopen = () => ws.send(`hello ${location} ${isSecureContext}`);
        ws.onmessage = ({ data }) => add(data);
    """
    body = "<button onclick=\"add(confirm('Sure?') + prompt('Name?'))\">Ask</button><p></p>"
    dialogs = {"confirm": True, "prompt": "bob"}
    _, screen = talk(script, "click id=1", body=body, app="secure_app", dialogs=dialogs)
    said = "hello https://app.localhost/ true, user=bob at http://app.localhost/ truebob"
    assert screen == ['button "Ask"', f'text "{said}"']


def test_streamed_answers(talk):
    script = """
        const add = (text) => { document.querySelector("p").textContent += text; };
        const ask = (path, more) => fetch(path, { method: "POST", body: "hi", ...more });
        const run = async () => {
          const answer = await ask("/chat");
          add(`${answer.url} ${answer.headers.get("miniwob-stream")}: `);
          const reader = answer.body.getReader();
          for (let part; !(part = await reader.read()).done;) {
            add(new TextDecoder().decode(part.value));
          }
          add(`and ${(await (await ask("/chat")).text()).length} letters, `);
          const giver = new AbortController();
          const endless = (await ask("/endless", { signal: giver.signal })).body.getReader();
          add(new TextDecoder().decode((await endless.read()).value));
          giver.abort();
          endless.read().catch(({ name }) => add(name));
        };
        run();
    """
    tape, screen = talk(script)
    app = "http://app.localhost"
    said = f"data: one {app} data: two {app} data: three {app}"
    assert screen == [f'text "{app}/chat null: {said} and 98 letters, data: one {app} AbortError"']
    assert tape.read_text().count('"type": "message"') >= 3


def test_a_message_that_was_changed_is_an_error_of_the_item(talk, app_pages):
    """And no wait for what the browser's thread was to deliver."""
    script = """
        const ws = new WebSocket(`ws://${location.host}/ws`);
        ws.onopen = () => ws.send("x".repeat(2_001));
        ws.onmessage = ({ data }) => { document.querySelector("p").textContent = data.length; };
    """
    tape, _ = talk(script)
    text = tape.read_text()
    message = json.loads(next(line for line in text.splitlines() if '"message"' in line))
    digest = Bodies(app_pages.path / "cassettes").write(b"\xff" * 2_001)
    for changed, problem in (
        (text.replace(message["body"], digest), "can't be read"),
        (
            text.replace('"after": ', '"after": -'),
            "traffic.jsonl:* can't be read: `after` can't be",
        ),
    ):
        tape.write_text(changed)
        app_pages.replay(errors=1).stdout.fnmatch_lines([f"the *{problem}*"])


def test_secrets_that_an_app_sends_are_an_error(app_pages):
    sid, header, late = (f"AKIA{part * 2}" for part in ("ABCD1234", "EFGH5678", "IJKL9012"))
    page = """<p></p><script>
        fetch("/header");
        new WebSocket("ws://app.localhost/ws").onopen = ({ target }) => target.send("hello");
        fetch("/slow"); fetch("/other");
        </script>"""
    pages = {
        "/": (200, page, {"Set_Cookie": f"sid={sid}; HttpOnly"}),  # which is not on the tape
        "/header": (200, "", {"X_Key": header}),
    }
    app_pages.write_task(pages, conftest=TALKING.replace('answer("slow")', f'answer("{late}")'))
    result = app_pages.record()
    result.assert_outcomes(errors=1)
    said = sorted(line.partition(": AWS key: ")[0] for line in result.outlines if "AWS key" in line)
    assert [re.sub("[0-9]+ of", "* of", line) for line in said] == [
        "  a header of the answer to GET /header",
        "  message * of trial 1",
        "  message * of trial 1",
    ]
    assert not list(app_pages.path.glob("cassettes/**/*.traffic.jsonl"))


def test_a_message_that_is_too_large_is_an_error(app_pages):
    page = """<p></p><script>new WebSocket('ws://app.localhost/ws').onopen =
        ({ target }) => target.send(new Uint8Array(1_000_001))</script>"""
    app_pages.write_task({"/": page}, conftest=TALKING)
    result = app_pages.record("--miniwob-max-answer=1")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*a message has more bytes than * (1,000,000): *max-answer*"])


LATE = """
    const events = new EventSource("/late");
    events.onmessage = ({ data }) => { document.querySelector("p").textContent = data; };
"""


def test_a_page_that_asks_for_something_at_each_message(talk, monkeypatch):
    """Its clock goes on before the app, which never is, is silent."""
    monkeypatch.setattr(live_sockets, "LONGEST", 0.05)
    script = """
        let count = 0;
        const events = new EventSource("/ticks");
        events.onmessage = async ({ data }) => {
          const text = await (await fetch("/more")).text();
          document.querySelector("p").textContent = `${++count} ${text}`;
        };
    """
    _, [screen] = talk(script, more={"/more": "more"})
    assert 0 < int(re.fullmatch('text "(.*) more"', screen)[1]) < 10_000


@pytest.mark.sweep
def test_an_agent_that_waits_sees_what_comes_late(talk):
    """Later than a recording waits for a message by itself."""
    _, screen = talk(LATE, "wait 4 s")
    assert screen[0] == 'text "last"'
    changes = [line.partition(" text=")[2] for line in screen[1:]]
    # A slow machine may see the first one before it waits.
    assert ", ".join(changes) in "late, last"


def test_a_live_app_is_awaited_that_is_slower_than_when_it_was_recorded(
    talk, app_pages, monkeypatch
):
    """For a while: it may have nothing more to say."""
    monkeypatch.setenv("SOON", "0")
    _, screen = talk(LATE.replace("/late", "/soon"))
    assert screen == ['text "soon"']
    monkeypatch.setenv("SOON", "1")
    app_pages.replay("--miniwob-app=live", passed=1)
    monkeypatch.setenv("SOON", "30")
    monkeypatch.setattr(live_trial, "SLOWER", 0.5)
    app_pages.runpytest("--miniwob-app=live").stdout.fnmatch_lines(['- text "soon"*'])


def test_a_trial_begins_once_its_page_is_ready(talk):
    """By a function; a text that is ready is that of the next test."""
    ready = "lambda trial: trial.asked('OPEN', '/late') and 'last' in str(trial.observation)"
    _, screen = talk(LATE, ready=ready)
    assert screen == ['text "last"']


def test_a_page_that_is_not_ready(app_pages, monkeypatch):
    """Where it was when it was recorded, that is drift."""
    monkeypatch.setattr(recorded_app, "READY", 1.0)

    def write(ready):
        app_pages.write_task({"/": "<h1>Loading</h1>"}, task=f"app='app', ready={ready}")

    write("'Kernel idle'")
    result = app_pages.record()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([
        "AppTask 'task': trial 1 can't begin 1 s after its page was loaded, as 'Kernel idle' is "
        "missing. The page shows",
        '  heading "Loading" *',
    ])  # fmt: skip
    write("'Loading'")
    app_pages.record_and_replay(passed=1)
    write("lambda trial: False")
    result = app_pages.runpytest()
    result.stdout.fnmatch_lines(["*trial 1 can't begin * as `ready` is not True*", "*1 drifted*"])


@pytest.mark.sweep
def test_a_long_poll_holds_nothing_up(talk):
    script = """
        const add = (text) => { document.querySelector("p").textContent += `${text} `; };
        const poll = async (times) => {
          add(await (await fetch("/poll")).text());
          if (times > 1) poll(times - 1);
        };
        const say = async () => add(await (await fetch("/say", { method: "POST" })).text());
        poll(3);
        say();
        fetch("/slow").then((answer) => answer.text()).then(add);
    """
    body = (
        "<button onclick=say()>Say</button> <button onclick=this.append('.')>Wait</button> <p></p>"
    )
    tape, screen = talk(script, "click id=1", "click id=2", "click id=2", body=body)
    assert screen[2] == 'text "said slow heard said heard"'
    assert tape.read_text().count('"type": "answer"') == 2


def test_a_long_poll_holds_nothing_up_where_the_script_that_asks_runs_on(talk, monkeypatch):
    """Until the script's end, Chromium does not announce its requests."""
    monkeypatch.setattr(gate_commands, "ANNOUNCED", 0.02)
    script = """
        const add = (text) => { document.querySelector("p").textContent = text; };
        const ask = async () => {
          fetch("/poll").then((answer) => answer.text()).then(add);
          for (let tick = 0; tick < 100; tick++) await null; // it is made by then
          for (let count = 0; count < 3e8; count++);
          fetch("/say", { method: "POST" });
        };
    """
    tape, screen = talk(script, "click id=1", body="<button onclick=ask()>Ask</button><p></p>")
    assert screen[1] == 'text "heard"'
    assert tape.read_text().count('"type": "answer"') == 1


def test_workers(talk):
    script = """
        const add = ({ data }) => { document.querySelector("p").textContent += `${data} `; };
        const shared = new SharedWorker("/shared.js");
        shared.port.onmessage = add;
        shared.port.postMessage("ask");
        setTimeout(() => {
          const worker = new Worker("/own.js", { type: "module" });
          worker.onmessage = add;
          worker.postMessage("ask");
        }, 500);
        setTimeout(() => {}, 400);
    """
    more = """
        self.answer = async (to) => {
          const text = await (await fetch("/data")).text();
          const stream = await (await fetch("/chat", { method: "POST", body: "hi" })).text();
          to.postMessage([text, stream.length, Date.now(), new Date().getFullYear(),
              performance.now(), Math.random().toFixed(3)].join());
        };"""
    shared = """
        importScripts("/more.js");
        onconnect = ({ ports: [port] }) => { port.onmessage = () => answer(port); };"""
    pages = {
        "/own.js": 'import "/more.js"; onmessage = () => answer(self);',
        "/shared.js": shared,
        "/more.js": more,
        "/data": "data",
    }
    tape, screen = talk(script, more=pages, clock=1_600_000_000)
    shown = r'text "data,98,1600000000000,2020,0,(0\.\d+) data,98,1600000000400,2020,0,(0\.\d+)"'
    found = re.fullmatch(shown, screen[0])
    assert found[1] == found[2]
    assert tape.read_text().count("app.localhost/data") == 2
