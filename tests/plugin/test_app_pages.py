"""What pages of running apps do: windows, downloads, several origins, dialogs; programs on them."""

import gzip
import re
from pathlib import Path

import pytest

from pytest_miniwob_agent.browser import gate_commands
from pytest_miniwob_agent.cassettes.upkeep import check_files

OPENER = """<!DOCTYPE html><title>Opener</title>
    <button onclick="window.open('/popup?x', 'p', 'width=300')">Open</button>
    <p id=said>nothing</p><script>
    window.take = (text) => setTimeout(() => { said.textContent = text; }, 100);</script>"""
POPUP = """<!DOCTYPE html><title>Popup</title><h1>A window</h1><input aria-label=Name id=name>
    <button onclick="opener.take(textOf()); window.close()">Give</button>
    <script>const textOf = () => document.querySelector("#name").value;</script>"""


def test_actions_go_to_a_window_that_the_page_opens_and_back_and_to_that_of_a_link(play):
    pages = {
        "/": f"{OPENER}<a href=/next target=_blank>Next</a>",
        "/popup": POPUP,
        "/next": "<h1>Next</h1><a href=/last>Last</a>",
        "/last": "<h1>Last</h1>",
    }
    plans = ["click id=1"], ['enter "bob" to id=5', "click id=6"], ["click id=3"], ["click id=5"]
    prompts = play(pages, *plans, solved="trial.answer and trial.url.endswith('/last')")
    assert 'heading "A window"' in prompts[1]
    assert 'text "bob"' in prompts[2]
    assert 'heading "Next"' in prompts[3]


def test_the_clock_of_a_page_begins_at_that_of_its_task_and_refreshes_it(play):
    pages = {
        "/": "<h1></h1><script>document.querySelector('h1').append(new Date().toJSON())</script>"
        "<a href=/wait>Wait</a>",
        "/wait": "<meta http-equiv=refresh content='3; url=/there'><h1>Wait</h1>",
        "/there": "<h1>There</h1>",
    }
    solved = "trial.answer and trial.url.endswith('/there')"
    task = 'app="app", clock=1893456000.5'
    prompts = play(pages, ["click id=2"], solved=solved, task=task)
    assert 'heading "2030-01-01T00:00:00.500Z"' in prompts[0]
    assert 'heading "There"' in prompts[1]


KEYS = """
    import gzip

    class Leaking(Handler):
        def do_GET(self):
            if self.path == "/stream":
                self.answer(f"id: SECRET-{'7x' * 4}\\ndata: 1\\n\\n", "text/event-stream")
            elif self.path == "/packed":
                self.send_response(200)
                content = gzip.compress(b"AKIA" + b"ABCD1234" * 2)
                self.send_header("Content-Type", "application/x-env")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            else:
                super().do_GET()

    @pytest.fixture
    def leaking_app():
        with serving(Leaking) as url:
            yield url
"""
SCRIPT = """
const PANEL_KEY = 'aB3z_aB3z_aB3z_aB3z_';
const WIDGET_KEY = 'wq8z7t6s5r4p';
const POSITION_KEY = 'HTML5_QRCODE_DATA';
const address = `https://${user}:${password}@${host}`;
window.CSRF_TOKEN = 'bC4y_bC4y_bC4y_bC4y_';
"""
LEAKS = r"""cassettes/*/1.traffic.jsonl is not written, as the traffic holds what looks like *
  the answer to GET /app.js, line 2: API key: const PANEL_KEY = 'aB3z\u2026';
  the answer to GET /app.js, line 3: API key: const WIDGET_KEY = 'wq8\u2026';
  the answer to GET /packed, unpacked: AWS key: AKIA\u2026
  what is sent by POST /save: GitHub token: ghp_\u2026
  message 2 of trial 1: matches AppTask(redact=[[]...[]]): SEC\u2026
  AppTask(redact=[[]r"(?<=PANEL_KEY = ')\w+", r"(?<=WIDGET_KEY = ')\w+"[]]) keeps them *
  `redact` can't replace the others where they are: let the app leave them out
  what is no secret belongs in AppTask(allow=[[]r"(?<=PANEL_KEY = ')\w+", r"*
""".splitlines()


def test_all_secrets_of_a_page_are_told_and_none_is_kept(app_pages):
    page = """<script src=/app.js></script><button onclick="fetch('/save', { method: 'POST',
        body: 'gh' + 'p_' + 'a1'.repeat(18) })">Save</button><script>
        new EventSource('/stream').onmessage = () => {}; fetch('/packed');</script>"""
    pages = {"/": page.replace("onclick=", "id=save onclick="), "/app.js": SCRIPT, "/save": "done"}
    pages["/"] += "<script>save.click()</script>"
    task = r'app="leaking_app", redact=[r"SECRET-\w+"]'
    prompts = app_pages.write_task(pages, task=task, conftest=KEYS)
    result = app_pages.record()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([line.replace("\\u2026", "\u2026") for line in LEAKS])
    assert prompts == []
    stored = app_pages.path.glob("cassettes/**/*.*")
    kept = [gzip.decompress(file.read_bytes()) for file in stored if file.suffix == ".gz"]
    assert [content for content in kept if b"_KEY" in content or content[:2] == b"\x1f\x8b"] == []
    assert list(app_pages.path.glob("cassettes/**/1.*")) == []

    hidden, allowed = r"(?<=PANEL_KEY = ')\w+", [r"(?<=WIDGET_KEY = ')\w+", r"AKIA\w+", r"ghp_\w+"]
    task = f'app="leaking_app", redact=[r"{hidden}"], allow={allowed}'
    app_pages.play(pages, task=task, conftest=KEYS)
    bodies = [gzip.decompress(file.read_bytes()) for file in app_pages.path.glob("**/*.gz")]
    [script] = [body.decode() for body in bodies if b"PANEL_KEY" in body]
    assert "PANEL_KEY = 'redacted-1'" in script
    assert "wq8z7t6s5r4p" in script
    assert [found for _, found in check_files(app_pages.path / "cassettes", Path()) if found] == []


FORM = """<form method=post enctype=multipart/form-data action=/form>
    <input type=file name=cv id=cv><button>Send</button></form>
    <button id=fetch
        onclick="fetch('/fetch', { method: 'POST', body: new FormData(cv.form) })"></button>
    <button id=raw onclick="const raw = new XMLHttpRequest(); raw.open('POST', '/raw');
        raw.send(cv.files[0])"></button>"""

UPLOADER = """
    from pytest_miniwob_agent import Click, Upload

    class Uploader:
        name = "uploader"

        def solve(self, env, llm, note):
            env.reset()
            env.step(Upload("files/cv.txt", 1))
            for button in (3, 4, 2):
                env.step(Click(button))

    @pytest.fixture
    def miniwob_agent():
        return Uploader()
"""


def test_a_file_of_the_task_is_uploaded(app_pages):
    app_pages.mkdir("files").joinpath("cv.txt").write_text("I am able")
    pages = {"/": FORM, "/form": "<h1>Thanks</h1>", "/fetch": "", "/raw": ""}
    sent = {"/form": {"cv": "I am able"}, "/fetch": {"cv": "I am able"}, "/raw": "I am able"}
    asked = " and ".join(f"trial.asked('POST', {path!r}, {body!r})" for path, body in sent.items())
    task = "app='app', files=['files/cv.txt']"
    app_pages.play(pages, solved=f"{asked} or None", task=task, conftest=UPLOADER)


def test_a_printed_test_waits_for_the_response_to_what_an_action_sends(play, call):
    page = """<button onclick="send()">Save</button><script>
        const send = () => fetch("/saved", { method: "POST", body: "1" });</script>"""
    solved = "trial.answer and trial.asked('POST', '/saved') or None"
    play({"/": page, "/saved": "Saved"}, ["click id=1"], solved=solved)
    _, printed, said = call("show", "apps/task/1", "--as", "playwright")
    assert said == ""
    expected = """\
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.get_by_role("button", name="Save").click()
    # The answer is "done".
"""
    assert expected in printed


def test_a_file_to_upload_that_is_not_there_is_an_error(app_pages):
    app_pages.write_task({}, task="app='app', files=['cv.txt']")
    result = app_pages.record()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines("*task: `files` names 'cv.txt', which is not a file of *")


TWO_ORIGINS = 'app="app", origins=["other_app"]'

GOING = """<!DOCTYPE html><button onclick=inOrder()>In order</button>
    <button onclick=giveUp()>Give up</button> <button onclick=leave()>Leave</button><p id=out></p>
    <script>
    const add = (text) => { out.textContent += `${text} `; };
    const ask = (path, more) => fetch(path, more).then((answer) => answer.text()).then(add);
    const made = async () => { for (let tick = 0; tick < 100; tick++) await null; };
    const runOn = () => { for (let count = 0; count < 3e8; count++); };
    const inOrder = async () => {
      // Some other tools take U+2028 for the end of a line.
      ask("/1", {method: "POST", body: "a\\u2028b\\u0085c"}); ask("/2"); ask("/3");
      await made();
      runOn();
    };
    const giveUp = async () => {
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.contentWindow.fetch("/1"); frame.remove();
      const request = new XMLHttpRequest();
      request.open("GET", "/1");
      request.onabort = () => add("aborted");
      request.send(); request.abort();
      const begin = () => {
        const control = new AbortController();
        fetch("/1", {signal: control.signal}).catch((error) => add(error.name));
        return control;
      };
      const first = begin(); await made(); runOn(); first.abort();
      ask("/2");
    };
    const leave = () => {
      addEventListener("pagehide", () => {
        navigator.sendBeacon("/4", "bye"); fetch("/2", {keepalive: true}); });
      location = "/3";
    };
    </script>"""


@pytest.mark.sweep
def test_an_app_is_asked_what_scripts_ask_for_and_do_not_give_up_in_their_order(play, monkeypatch):
    """Until a script's end, Chromium does not announce its requests."""
    monkeypatch.setattr(gate_commands, "ANNOUNCED", 0.02)  # a script runs on for longer
    pages = {"/": GOING, "/1": "1", "/2": "2", "/3": "3", "/4": ""}
    asked = r"trial.asked('POST', '/1', 'a\u2028b\u0085c') and trial.asked('POST', '/4')"
    solved = f"trial.answer and {asked} and len(trial.requests) == 1 + 3 + 1 + 3 or None"
    prompts = play(pages, *([f"click id={id_}"] for id_ in (1, 2, 3)), solved=solved)
    assert 'text "1 2 3"' in prompts[1]
    assert 'text "1 2 3 aborted AbortError 2"' in prompts[2]
    assert 'text "3"' in prompts[3]


def test_a_page_under_a_strict_policy_is_used_as_any_other(play):
    policy = (
        "default-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; "
        "base-uri 'none'; object-src 'none'"
    )
    script = """document.querySelector("button").onclick = async () => {
        history.pushState({}, "", "/there");
        document.querySelector("p").textContent = await (await fetch("/data")).text();
    };"""
    page = "<button>Go</button><p></p><script src=/page.js></script>"
    pages = {
        "/": (200, page, {"Content_Security_Policy": policy}),
        "/page.js": script,
        "/data": "here",
    }
    solved = "trial.answer and trial.url.endswith('/there')"
    assert 'text "here"' in play(pages, ["click id=1"], solved=solved)[1]


HOSTS = """
    import socket

    @pytest.fixture
    def at(app, monkeypatch):
        '''Have the app be at other hosts.'''
        find, own = socket.getaddrinfo, ("127.0.0.1", int(app.rpartition(":")[2]))
        hosts = ("localhost", "www.shop.example", "login.shop.example",
                 "staging.xn--lden-loa.example")
        monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, *given, **more: find(
            *(own if host in hosts and port == 80 else (host, port)), *given, **more))

    @pytest.fixture
    def plain_app(at):
        return "http://Staging.L\u00e4den.example:80"

    @pytest.fixture
    def local_app(at):
        return "http://localhost"

    @pytest.fixture
    def shop_app(at):
        return "http://www.shop.example"

    @pytest.fixture
    def login_app(at):
        return "http://login.shop.example"
"""


def test_an_app_elsewhere_may_be_served_by_plain_http(play):
    page = """<button onclick="fetch('/two').then((r) => r.text()).then((t) => p.append(t))">Go
        </button><button onclick="const a = document.createElement('a'); a.download = 'all.txt';
        a.href = window.URL.createObjectURL(new Blob(['abc'])); a.click()">Get</button><p id=p></p>
        <script>p.append(`${origin} ${isSecureContext} ${navigator.clipboard}`)</script>"""
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of "abc"
    solved = f"trial.answer and trial.downloads == {{'all.txt': '{digest}'}} or None"
    pages, plan = {"/": page, "/two": " and more"}, ["click id=1", "click id=2"]
    prompts = play(pages, plan, solved=solved, task='app="plain_app"', conftest=HOSTS)
    assert "http://staging.xn--lden-loa.example false undefined and more" in prompts[1]


LOCKED = """
    import base64

    @pytest.fixture
    def locked_app():
        class Locked(Handler):
            def do_GET(self):
                if self.path == "/closed":
                    return self.answer(status=401, WWW_Authenticate="Basic realm=api")
                scheme, given = self.headers.get("Authorization", "None ").split()
                self.path += f"{scheme}{base64.b64decode(given).count(b':p@ss:')}"
                super().do_GET()

        with serving(Locked) as url:
            yield url.replace("//", "//%E2%82%AC:p%40ss:@")
"""


def test_the_user_in_an_address_is_sent_to_the_app(play):
    page = """<p id=p></p><script>
        const get = async (headers) => p.append(await (await fetch("/", { headers })).text());
        get({}).then(() => get({ authorization: "Own " + btoa(":p@ss:") }))
          .then(() => fetch("/closed")).then(({ status }) => p.append(` and ${status}`));
        </script>"""
    pages = {"/Basic1": page, "/Own1": "its own"}
    [prompt] = play(pages, task='app="locked_app"', conftest=LOCKED)
    assert "its own and 401" in prompt


def test_an_app_ends_cookies_and_clears_what_its_pages_have_stored(play):
    page = """<p id=p></p><script>
        const ask = async (keep, show, ...paths) => {
          for (const path of paths) {
            keep();
            await fetch(path);
            p.append(show() || "none", " ");
          }
        };
        const keep = () => {
          document.cookie = "sid=7";
          localStorage.kept = sessionStorage.kept = 1;
        };
        const kept = () => [document.cookie, localStorage.kept, sessionStorage.kept].join();
        ask(() => {}, () => document.cookie, "/foreign", "/new", "/aged", "/new", "/dated")
          .then(() => ask(keep, kept, "/other", "/cookies", "/storage", "/all"));
        </script>"""
    cookies = {
        "/foreign": "sid=8; Domain=other.example",
        "/new": "sid=7; expires=Fri, 31 Dec 9999 23:59:59 GMT; Domain=127.0.0.1",
        "/aged": "sid=; Max-Age=0; Domain=127.0.0.1",
        "/dated": "sid=; expires=Fri, 31 Dec 1999 23:59:59 GMT; Domain=127.0.0.1",
    }
    clear = {
        "/other": '"x"', "/cookies": '"cache", "cookies"', "/storage": '"storage"', "/all": '"*"'
    }  # fmt: skip
    answers = {path: (200, "", {"Set_Cookie": cookie}) for path, cookie in cookies.items()}
    answers |= {path: (200, "", {"Clear_Site_Data": what}) for path, what in clear.items()}
    [prompt] = play({"/": page, **answers})
    assert 'text "none sid=7 none sid=7 none sid=7,1,1 ,1,1 sid=7,, ,,"' in prompt


def test_an_app_at_the_default_port_of_this_machine_keeps_its_links(play):
    page = """<a href="http://localhost/there?next=http%3A%2F%2Flocalhost%2Fback">Go</a>
        <p>my.localhost, localhost:1</p>"""
    there = "<h1>There</h1><p id=p></p><script>p.append(location)</script>"
    pages = {"/": page, "/there": there}
    prompts = play(pages, ["click id=1"], task='app="local_app"', conftest=HOSTS)
    assert "my.localhost, localhost:1" in prompts[0]
    address = "http://app.localhost/there?next=http%3A%2F%2Fapp.localhost%2Fback"
    assert f'text "{address}"' in prompts[1]


def test_a_trial_goes_on_at_another_origin_and_back_with_cookies_of_their_domain(play):
    pages = {
        "/": "<a href=http://login.shop.example/login>Log in</a>"
        "<script>document.title = Math.random()</script>",
        "/login": "<h1>Log in</h1><a href=/go>Bob</a>",
        "/go": (302, "http://www.shop.example/in", {"Set_Cookie": "sid=7; Domain=.shop.example"}),
        "/in": "<p id=p></p><script>p.append(document.cookie, ' ', location)</script>",
    }
    task = 'app="shop_app", origins=["login_app"]'
    prompts = play(pages, ["click id=1"], ["click id=3"], task=task, conftest=HOSTS)
    assert 'heading "Log in" id=2' in prompts[1]  # ids go on
    assert 'text "sid=7 http://www.shop.example/in"' in prompts[2]


FORMS = """
    @pytest.fixture
    def strict_app():
        from urllib.parse import parse_qs

        class Strict(Handler):
            tokens = []

            def do_GET(self):
                first = len(Strict.tokens)
                Strict.tokens = [f"Schlüssel-a+b/{n}=" for n in range(first, first + 6)]
                fields = (f"<input type=hidden name=t value='{token}'>" for token in Strict.tokens)
                self.answer(f"<form method=post>{''.join(fields)}<button>Send</button>")

            def do_POST(self):
                sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
                if parse_qs(sent)["t"] == Strict.tokens:
                    self.do_GET()
                else:
                    self.answer("<h1>Forbidden</h1>", status=403)

        with serving(Strict) as url:
            yield url
"""


def test_an_app_gets_its_own_secrets_in_a_form_however_many_there_are(app_pages):
    task = r'app="strict_app", redact=[r"Schl\u00fcssel-[\w+/=]+"]'
    plans = ["click id=1"], ["click id=2"]
    prompts = app_pages.play({}, *plans, task=task, conftest=FORMS)
    assert len(prompts) == 3
    assert "Forbidden" not in prompts[-1]
    traffic = [path.read_text() for path in app_pages.path.glob("cassettes/**/*.jsonl")]
    assert "redacted-12" in "".join(traffic)
    assert "Schl" not in "".join([*prompts, *traffic])


def test_an_answer_without_a_type_is_a_text(play):
    page = "<h1>It took 12 ms</h1><p>token-abc</p><a href=/there>http://HOST</a>"
    task = r'app="app", redact=["token-\w+"], scrub={r"took \d+ ms": "took 1 ms"}'
    [prompt] = play({"/": (200, page, {"Content_Type": ""})}, task=task)
    assert '"It took 1 ms"' in prompt
    assert '"redacted-1"' in prompt
    assert 'link "http://app.localhost"' in prompt


PROGRAM = """
    from playwright.sync_api import sync_playwright

    class Walker:
        name = "walker"

        def solve(self, env, llm, note):
            env.reset()
            with env.hand_over() as handed, sync_playwright() as playwright:
                browser = playwright.chromium.connect_over_cdp(handed.cdp_url)
                page = browser.contexts[0].pages[0]
                page.route("**/mine", lambda route: route.fulfill(body="from the program"))
                page.route("**/app", lambda route: route.continue_())
                page.click("text=Ask")
                page.wait_for_selector("text=from the app")
                base = page.evaluate("location.origin")
                see = lambda: llm.complete(page.inner_text("body") + page.url, "see")
                see()
                assert "from the program" in page.inner_text("body")
                page.goto(f"{base}/next")
                page.click("text=Last")
                page.reload()
                page.go_back()
                see()
                with page.expect_popup() as opened:
                    page.click("text=Window")
                opened.value.click("text=Close")
                page = browser.contexts[0].new_page()
                page.goto(f"{base}/last")
                see()
                assert handed.done

    @pytest.fixture
    def miniwob_agent():
        return Walker()
"""


@pytest.mark.sweep
def test_a_program_goes_where_it_wants_in_an_app(play, call):
    page = """<button onclick="go()">Ask</button><p id=p></p><script>
        const text = async (path) => (await fetch(path)).text();
        const go = async () => { p.textContent = await text("/mine") + await text("/app"); };
        </script>"""
    pages = {
        "/": page,
        "/mine": "from the app, too",
        "/app": "from the app",
        "/next": "<h1>Next</h1><a href=/last>Last</a> <a href=/window target=_blank>Window</a>",
        "/last": "<h1>Last</h1>",
        "/window": "<button onclick='debugger; setTimeout(window.close, 50)'>Close</button>",
    }
    asked = "trial.asked('GET', '/app') and not trial.asked('GET', '/mine')"
    solved = f"trial.asked('GET', '/window') and trial.url.endswith('/last') and {asked} or None"
    play(pages, solved=solved, conftest=PROGRAM)
    _, _, said = call("show", "apps/task/1", "--as", "playwright")
    assert "a program did it" in said


PAY = """<h1>Pay</h1><label>Card <input id=card></label>
    <button onclick="pay()">Pay</button> <p id=p>open</p><script>
    const pay = () => setTimeout(async () => {
      p.textContent = await (await fetch("/paid")).text() + card.value;
      parent.postMessage("paid", "*");
    }, 500);
    if (parent === top) fetch(`/terms?${new Date().getFullYear()}`);</script>"""


def test_a_frame_of_another_origin_is_read_and_clicked_on(play):
    page = """<h1>Shop</h1><iframe src=OTHER/pay width=600 height=300></iframe><p id=q></p>
        <script>onmessage = ({ data }) => { q.textContent = data; };</script>"""
    pages = {"/": page, "/pay": PAY, "/paid": "thanks ", "/terms": "none"}
    prompts = play(pages, ['enter "42" to id=4', "click id=5"], task=TWO_ORIGINS)
    assert re.search(r'text "thanks 42" id=\d+\n *text "paid"', prompts[1])


def test_a_frame_that_can_not_be_read_is_named(play):
    """Its clock begins as that of the page around it."""
    page = """<h1>Shop</h1><iframe src=SECURE/pay></iframe>
        <iframe src=http://elsewhere.example/ad></iframe>"""
    play(
        {"/": page, "/pay": PAY, "/terms": "none"},
        solved="trial.answer and trial.asked('GET', '/pay') and trial.asked('GET', '/terms?2030')",
        task='app="app", origins=["secure_app"], clock=1893456000',
        said=(
            "in the element <iframe> is not read, and does not go by the page's clock: https://app",
            "a request was refused, as it leads out of the app: GET http://elsewhere.example/ad",
        ),
    )


ASKING = """<!DOCTYPE html><p id=out>nothing</p>
    <button onclick="byFetch()">Fetch</button> <button onclick="byRequest()">Request</button>
    <script>
      const byFetch = async () => {
        out.textContent = "asking";
        const answer = await fetch("/save", {method: "POST"});
        out.textContent = `${answer.status} ${await answer.text()}`;
      };
      const byRequest = () => {
        const request = new XMLHttpRequest();
        request.open("POST", "/save");
        request.onload = () => { out.textContent = `${request.status} ${request.responseText}`; };
        request.send();
        out.textContent = "asking";
      };
    </script>"""


def test_a_request_of_an_app_is_refused_once(play):
    prompts = play(
        {"/": ASKING, "/save": "saved"},
        ["click id=2"],
        ["click id=3"],
        solved="trial.answer and len(trial.requests) == 2",  # the page, and what was not refused
        marker='perturb="failing"',
    )
    assert 'text "503 {\\"error\\":' in prompts[1]
    assert 'text "200 saved"' in prompts[2]


@pytest.mark.sweep
def test_a_request_of_an_app_is_answered_late(play):
    prompts = play(
        {"/": ASKING, "/save": "saved"},
        ["click id=3"],
        ["wait 8 s"],
        solved="trial.answer and trial.asked('POST', '/save')",
        marker='perturb="slow", agents=[("reflective", {"screen": "tree", "actions": "all"})]',
    )
    assert 'text "asking"' in prompts[1]
    assert 'text "200 saved"' in prompts[2]


def test_labels_of_an_app_are_other_words(play):
    prompts = play(
        {"/": ASKING, "/save": "saved"},
        ["click id=2"],
        task='app="app", perturb={"reworded": {"Fetch": "Get", "200 {}": "It is {}"}}',
        marker='perturb="reworded"',
    )
    assert 'button "Get"' in prompts[0]
    assert 'text "It is saved"' in prompts[1]
