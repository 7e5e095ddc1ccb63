"""What apps send at the edges of HTTP, recorded and replayed."""

APP = '''
    import base64
    import hashlib
    import socketserver
    import threading

    import pytest

    PAGE = """<!DOCTYPE html><script src=/lib.js integrity="sha384-DIGEST"></script>
        <script type=importmap>
        {"imports": {"own": "/own.js"}, "integrity": {"/own.js": "WRONG"}}</script>
        <script src=/wide.js></script><button onclick=ask()>Ask</button><script>
        const show = (text) => document.body.insertAdjacentHTML("beforeend", `<p>${text}</p>`);
        const PATHS = ["closed", "short", "cut", "old", "packed", "lines", "flaky", "flaky",
          "early", "parts", "head", "away"];
        const added = document.createElement("script");
        Object.assign(added, { src: "/added.js", integrity: "WRONG" });
        document.head.append(added);
        const ask = async () => {
          const { own } = await import("own");
          show(`${self.lib} ${self.wide} ${own} ${self.added} ${added.integrity === "WRONG"}`);
          for (const path of PATHS) {
            try {
              const answer = await fetch(path, { method: path === "head" ? "HEAD" : "GET" });
              const [named, size] = ["x-name", "content-length"].map((k) => answer.headers.get(k));
              const { status, statusText } = answer;
              show([path, status, statusText, await answer.text(), named, size].join(" "));
            } catch (error) {
              show(`${path} ${error.name}`);
            }
          }
        };</script>"""
    HINTS = "HTTP/1.1 103 Early Hints\\r\\nLink: </x>; rel=preload\\r\\n\\r\\n"
    OK = "HTTP/1.1 200 OK\\r\\n"
    PARTS = "2\\r\\nab\\r\\n0\\r\\n\\r\\n"
    left = iter([b""])

    def answer(body, *headers, status="200 OK", length=0):
        body = body if isinstance(body, bytes) else body.encode()
        head = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {length or len(body)}", "", ""]
        return "\\r\\n".join(head).encode("latin-1") + body

    def answer_to(path, address):
        lib = f"self.lib = 'http://app.localhost' === '{address}'"
        digest = base64.b64encode(hashlib.sha384(lib.encode()).digest()).decode()
        wide = f"\\ufeffself.wide = '{address}'".encode("utf-16-le")
        script, html = "Content-Type: text/javascript", "Content-Type: text/html"
        cut = f"{OK}Transfer-Encoding: chunked\\r\\nContent-Type: %s\\r\\n\\r\\n9\\r\\nab"
        return {
            "/": lambda: HINTS.encode() + answer(
                PAGE.replace("DIGEST", digest).replace("WRONG", f"sha384-{'A' * 64}"), html
            ),
            "/own.js": lambda: answer("export const own = true", script),
            "/added.js": lambda: answer("self.added = true", script),
            "/lib.js": lambda: answer(lib, script),
            "/wide.js": lambda: answer(wide, script),
            "/closed": lambda: b"",
            "/short": lambda: answer("ab", length=9),
            "/cut": lambda: (cut % "text/plain").encode(),
            "/lines": lambda: (cut % "text/x-ndjson").encode(),
            "/old": lambda: b"just text",
            "/packed": lambda: answer("ab", "Content-Encoding: gzip"),
            "/flaky": lambda: next(left, answer("done")),
            "/parts": lambda: (cut % "text/plain").replace("9\\r\\nab", PARTS).encode(),
            "/head": lambda: answer("", length=9),
            "/away": lambda: answer("gone", status="404 GONE AWAY"),
            "/early": lambda: HINTS.encode() * 2 + answer("done", "X-Name: caf\\u00e9"),
        }.get(path, lambda: answer("", status="404 Not Found"))()

    class Raw(socketserver.StreamRequestHandler):
        def handle(self):
            path = self.rfile.readline().split()[1].decode()
            while self.rfile.readline().strip():
                pass
            self.wfile.write(answer_to(path, f"http://127.0.0.1:{self.server.server_address[1]}"))

    @pytest.fixture
    def app():
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Raw) as server:
            threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
            yield f"http://127.0.0.1:{server.server_address[1]}"
            server.shutdown()
'''

ANSWERS = """
    true http://app.localhost true true true
    closed TypeError
    short TypeError
    cut TypeError
    old TypeError
    packed TypeError
    lines TypeError
    flaky TypeError
    flaky 200 OK done 4
    early 200 OK done café 4
    parts 200 OK ab
    head 200 OK 9
    away 404 GONE AWAY gone 4
"""


def test_a_page_gets_what_a_browser_gives_it_of_broken_and_announced_answers(app_pages):
    prompts = app_pages.write_task({}, ["click id=1"])
    app_pages.makeconftest(APP)
    recorded = app_pages.record()
    recorded.assert_outcomes(passed=1)
    shown = [line.split('"')[1] for line in prompts[1].splitlines() if line.startswith("text ")]
    assert shown == ANSWERS.strip().replace("    ", "").splitlines()
    [said] = [line for line in recorded.outlines if line.startswith("cassettes/")]
    for path in ("closed", "short", "cut", "old", "packed", "flaky"):
        assert f"GET /{path} was a network error for the page" in said
    assert "a stream was a network error for the page" in said
    app_pages.replay(passed=1).stdout.no_fnmatch_line("*network error*")
