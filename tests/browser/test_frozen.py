"""Frozen copies of pages: `miniwob-agent freeze` of an address, a HAR file and a WACZ archive."""

import functools
import gzip
import http.server
import json
import threading
import zipfile

import pytest
from own_pages import Pages, click, texts

from pytest_miniwob_agent.browser.frozen import sources
from pytest_miniwob_agent.browser.frozen.har import Exchange, har_text
from pytest_miniwob_agent.cli import main

pytestmark = pytest.mark.integration

PAGE = """<!DOCTYPE html>
<html><head><title>App</title>
<meta http-equiv="Content-Security-Policy" content="default-src * 'unsafe-inline'">
<link rel="stylesheet" href="../style.css?v=1" integrity="sha256-no">
</head><body>
<p id="said">€</p><img src="{cdn}/dot.png" width="9" height="9">
<button onclick="add()">Add</button> <a href="{site}/next.html">Next</a>
<script>
const API = "{cdn}/v1";
const say = (text) => {{ said.textContent = text; }};
fetch("/app/items?page=1").then((a) => a.json()).then((all) => say(all.join()));
const add = async () => {{
  const answer = await fetch(API + "/cart", {{ method: "POST", body: "mug" }});
  say(`${{answer.status}} ${{(await answer.json()).name}} at ${{new Date().getFullYear()}}`);
}};
</script></body></html>"""

TASK = """
window.task = {
  goal: "Add a mug.",
  reward: (seed, { asked }) => asked("POST", "/_at/:host/v1/cart") ? 1 : 0,
};
"""


@pytest.fixture
def servers():
    """The addresses of a site and of a second server, and what they were asked for."""
    asked = []
    places = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            page = PAGE.format(**places).encode()
            answers = {
                "/": (302, "text/plain", b""),
                "/app/start": (200, "text/html; charset=utf-8", page),
                "/style.css?v=1": (200, "text/css", b"button { color: rgb(255, 0, 0) }"),
                "/app/items?page=1": (200, "application/json", '["pot", "mug €"]'.encode()),
                "/dot.png": (200, "image/png", b"\x89PNG"),
            }
            self.answer(*answers.get(self.path, (404, "text/plain", b"")))

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(201, "application/json", b'{"name": "mug"}')

        def answer(self, status, kind, body):
            self.send_response(status)
            headers = {"Content-Type": kind, "Access-Control-Allow-Origin": "*"}
            if status == 302:
                headers["Location"] = "/app/start"
            for name, value in (headers | {"Content-Length": len(body)}).items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    running = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
    for name, server in zip(("site", "cdn"), running, strict=True):
        places[name] = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=functools.partial(server.serve_forever, 0.01), daemon=True).start()
    yield places, asked
    for server in running:
        server.shutdown()
        server.server_close()


def recorded(site, cdn):
    """The exchanges of a person who has opened the page and clicked Add."""
    page = PAGE.format(site=site, cdn=cdn).encode()
    items = '["pot", "mug €"]'.encode()
    return [
        Exchange("GET", f"{site}/", "", 302, "text/plain", "/app/start", b""),
        Exchange("GET", f"{site}/app/start", "", 200, "text/html", "", page),
        Exchange("GET", f"{site}/style.css?v=1", "", 200, "text/css", "", b"button { color: red }"),
        Exchange("GET", f"{cdn}/dot.png", "", 200, "image/png", "", b"\x89PNG"),
        Exchange("GET", f"{site}/app/items?page=1", "", 200, "application/json", "", items),
        Exchange("POST", f"{cdn}/v1/cart", "mug", 201, "application/json", "", b'{"name": "mug"}'),
    ]


def warc_record(kind, url, number, lines, body):
    """A record of a WARC file (ISO 28500); those with one number belong together."""
    payload = "\r\n".join([*lines, "", ""]).encode() + body
    head = [
        "WARC/1.1", f"WARC-Type: {kind}", f"WARC-Target-URI: {url}",
        f"WARC-Record-ID: <urn:{kind}:{number}>", f"WARC-Concurrent-To: <urn:response:{number}>",
        f"Content-Type: application/http; msgtype={kind}", f"Content-Length: {len(payload)}",
    ]  # fmt: skip
    return gzip.compress("\r\n".join([*head, "", ""]).encode() + payload + b"\r\n\r\n")


def write_wacz(path, exchanges, encoding="utf-8"):
    """Write an archive as recorders of pages do: compressed records, requests behind responses."""
    records = []
    for number, one in enumerate(exchanges):
        text = "text/" in one.type
        kind = f"{one.type}; charset={encoding}" if text else one.type
        lines = [f"HTTP/1.1 {one.status} OK", f"Content-Type: {kind}"]
        if one.location:
            lines.append(f"Location: {one.location}")
        body = one.body.decode().encode(encoding) if text else one.body
        records.append(warc_record("response", one.url, number, lines, body))
        asked = [f"{one.method} / HTTP/1.1", "Host: shop.example"]
        records.append(warc_record("request", one.url, number, asked, one.sent.encode()))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.warc.gz", b"".join(records))
        page = json.dumps({"url": exchanges[0].url, "title": "App"})
        archive.writestr("pages/pages.jsonl", '{"format": "json-pages-1.0"}\n' + page + "\n")


def freeze(source, folder):
    return main(["freeze", str(source), "app", "--pages", str(folder)])


def play(folder, browser):
    """Play the page with a task of its own; returns its first and last screens, and remarks."""
    (folder / "app/task.js").write_text(TASK)
    env = Pages(folder, browser).open("app")
    seen = env.reset()
    return seen, click(env, seen, "Add"), list(env.remarks())


def test_an_address_is_copied_with_what_its_scripts_ask_for(servers, tmp_path, browser, capsys):
    places, asked = servers
    folder = tmp_path / "pages"
    assert freeze(f"{places['site']}/", folder) == 0
    assert "app/task.js has a goal and a reward to fill in" in capsys.readouterr().out
    files = {path.relative_to(folder / "app").as_posix() for path in folder.glob("app/**/*.*")}
    cdn = places["cdn"].partition("://")[2]
    assert files >= {"index.html", "app/start.html", "style.css", "task.js", "index.har"}
    assert f"_at/{cdn}/dot.png" in files
    asked.clear()
    seen, last, remarks = play(folder, browser)
    assert {"pot,mug €", "Add", "Next"} <= set(texts(seen))
    assert not last.done or last.solved
    assert f"nothing answers POST //{cdn}/v1/cart" in remarks  # nobody had clicked
    assert asked == []


@pytest.mark.parametrize("kind", ["har", "wacz"])
def test_a_recording_answers_what_was_done_in_it(tmp_path, browser, kind):
    site, cdn = "https://shop.example", "https://api.shop.example:8443"
    source = tmp_path / f"shop.{kind}"
    if kind == "har":
        source.write_text(har_text(f"{site}/", recorded(site, cdn)))
    else:
        write_wacz(source, recorded(site, cdn), "iso-8859-15")
    folder = tmp_path / "pages"
    assert freeze(source, folder) == 0
    html = (folder / "app/app/start.html").read_text()
    assert "Content-Security-Policy" not in html
    assert "integrity" not in html
    assert 'const API = "http://pages.localhost/_at/api.shop.example:8443/v1"' in html
    seen, last, remarks = play(folder, browser)
    assert "pot,mug €" in texts(seen)
    assert last.solved
    assert remarks == []


def test_a_frozen_page_shows_the_recorded_answer(tmp_path, browser):
    site = "https://shop.example"
    source = tmp_path / "shop.har"
    source.write_text(har_text(f"{site}/app/start", recorded(site, site)[1:]))
    folder = tmp_path / "pages"
    assert freeze(source, folder) == 0
    (folder / "app/task.js").write_text(TASK.replace("? 1 : 0", "? 0 : 0"))
    env = Pages(folder, browser).open("app")
    assert "201 mug at 2020" in texts(click(env, env.reset(), "Add").observation)


def test_what_is_done_in_the_window_is_recorded(servers, tmp_path, display, monkeypatch):
    monkeypatch.setenv("DISPLAY", display.name)
    places, _ = servers
    waited = []
    page, found = sources.read_source(f"{places['site']}/", lambda: waited.append(True))
    assert waited
    assert page == f"{places['site']}/app/start"
    assert {one.url for one in found} >= {f"{places['site']}/style.css?v=1"}


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("no.har", None, "there is no file"),
        ("no.har", b"{}", "is not a HAR file (KeyError: 'log')"),
        ("no.har", har_text("https://a.test/x", []).encode(), "gave no answer"),
        ("no.har", har_text("", recorded("https://a.test", "https://a.test")[2:]).encode(),
         "gave status 200, text/css"),
    ],
)  # fmt: skip
def test_what_is_no_page_is_named(tmp_path, capsys, name, content, error):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert freeze(tmp_path / name, tmp_path / "pages") == 2
    assert error in capsys.readouterr().err
    assert not (tmp_path / "pages").exists()


def test_an_archive_without_responses_or_a_taken_name_is_an_error(tmp_path, capsys):
    write_wacz(tmp_path / "a.wacz", recorded("https://a.test", "https://a.test"))
    with zipfile.ZipFile(tmp_path / "empty.wacz", "w") as archive:
        archive.writestr("pages/pages.jsonl", "")
    assert freeze(tmp_path / "empty.wacz", tmp_path / "pages") == 2
    assert "is not a WACZ archive" in capsys.readouterr().err
    assert freeze(tmp_path / "a.wacz", tmp_path / "pages") == 0
    assert freeze(tmp_path / "a.wacz", tmp_path / "pages") == 2
    assert "exists: choose another name" in capsys.readouterr().err


def test_an_address_that_nobody_serves_is_an_error(tmp_path, capsys):
    assert freeze("http://127.0.0.1:9/", tmp_path / "pages") == 2
    assert "has no page: http://127.0.0.1:9/ gave no answer" in capsys.readouterr().err
