"""Apps for projects: a server that runs while their items are recorded, and pages that it serves.

`APP` and what follows it are the source of a `conftest.py`.
"""

from support.projects import Project

APP = """
    import ssl
    import subprocess
    import threading
    from contextlib import contextmanager
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    import pytest

    class AppHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, body="", kind="text/html", status=200, **headers):
            content = body.encode()
            self.send_response(status)
            headers = {"Content_Type": kind, "Content_Length": str(len(content))} | headers
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args):
            pass

    @contextmanager
    def serving(handler, context=None):
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http{'s' * bool(context)}://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        server.server_close()

    @pytest.fixture
    def app(request):
        with open(request.config.rootpath / "starts", "a") as file:
            file.write("started\\n")
        with serving(Handler) as url:
            yield url

    @pytest.fixture
    def secure_app():
        key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem"
        make = f"openssl req -x509 {key} -subj /CN=localhost -out cert.pem"
        subprocess.run(make.split(), check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("cert.pem", "key.pem")
        with serving(Handler, context) as Handler.secure:
            yield Handler.secure
"""
"""A running app, also by https; its `Handler`, an `AppHandler`, follows.

The file `starts` has a line for each start.
"""

PAGES = """
    from pages import PAGES

    class Handler(AppHandler):
        other = secure = ""

        def do_GET(self):
            path = self.path.partition("?")[0]
            found = PAGES.get(path, (404, "", {}))
            status, body, headers = found if isinstance(found, tuple) else (200, found, {})
            body = body.replace("HOST", self.headers["Host"]).replace("OTHER", Handler.other)
            body = body.replace("SECURE", Handler.secure)
            if 300 <= status < 400:
                headers = {**headers, "Location": body}
            kind = "text/javascript" if path.endswith(".js") else "text/html"
            self.answer(body, kind, status, **headers)

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

    @pytest.fixture
    def other_app():
        with serving(Handler) as Handler.other:
            yield Handler.other
"""
"""An app of the pages of `pages`, by their paths: a string, or status, string and headers.

The text of a redirection is its target. In a text, HOST is the app's host; OTHER and SECURE are the
addresses of the same pages elsewhere, and by https.
"""

TEST = """
    import pytest
    from pytest_miniwob_agent import AppTask

    TASK = AppTask("task", goal="Do it.", solved_when=lambda trial: {solved}, {task})

    @pytest.mark.miniwob(TASK, seeds=[1], trials=1, {marker})
    def test_task(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
        assert all(text in miniwob_episode.explain() for text in {said})
"""


def count_starts(project):
    """Return how often the `app` of a project was started."""
    starts = project.path / "starts"
    return len(starts.read_text().splitlines()) if starts.exists() else 0


def plan(*actions):
    """Return a model's answer that plans some actions."""
    return "\n".join(["PLAN:", *actions])


class AppPages(Project):
    """A project with a task on an app of some pages, which a model solves by plans of actions."""

    def write_task(
        self,
        pages,
        *plans,
        solved="trial.answer",
        task='app="app"',
        marker="",
        said=(),
        conftest="",
    ):
        """Write the task, which the model solves by lists of actions, and at last by an answer.

        Args:
            pages: those of `PAGES`.
            plans: the lists of actions.
            solved: source that tells whether a `trial` is solved.
            task: source of further arguments of the `AppTask`.
            marker: source of further arguments of the marker.
            said: parts of what explains the episode.
            conftest: further source, such as fixtures of other apps.

        Returns:
            a list to which each prompt for a plan is added.
        """
        test = TEST.format(solved=solved, task=task, marker=marker, said=said)
        self.write(test, APP + PAGES + conftest, pages=f"PAGES = {pages!r}")
        left, prompts = iter(plans), []

        def reply(prompt):
            if "PLAN:" not in prompt:
                return "It was done."
            prompts.append(prompt)
            return plan(*next(left, ['answer "done"']))

        self.server.reply = reply
        return prompts

    def play(self, pages, *plans, **more):
        """Record a task as `write_task` takes it, and replay it without the app; the prompts."""
        prompts = self.write_task(pages, *plans, **more)
        self.record().assert_outcomes(passed=1)
        starts = count_starts(self)
        self.replay(passed=1)
        assert count_starts(self) == starts
        return prompts
