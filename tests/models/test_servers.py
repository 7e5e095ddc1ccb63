"""Servers that we did not write, and servers that misbehave: all over real HTTP on loopback."""

import contextlib
import gzip
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from itertools import pairwise
from pathlib import Path

import pytest
from projects import solve_menu

from pytest_miniwob_agent.cassettes.file import read_cassette
from pytest_miniwob_agent.cassettes.item import ItemCassette, Record
from pytest_miniwob_agent.cassettes.transport import CassetteTransport
from pytest_miniwob_agent.core.errors import ModelError
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.models.budget import Budget
from pytest_miniwob_agent.models.client import OpenAILLM


def completion(text="click id=1"):
    return {
        "id": "chatcmpl-1",
        "created": 1_700_000_000,
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }


def response(body, *headers, status="200 OK", length=None, kind="application/json"):
    """A response as it goes over the wire; a body that is no bytes is sent as JSON."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", *headers]
    if length is not False:
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(body, size=7, end=b"0\r\n\r\n"):
    """A response in chunks."""
    head = response(b"", "Transfer-Encoding: chunked", length=False)
    chunks = [body[start : start + size] for start in range(0, len(body), size)]
    return [head, *(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks), end]


def message(content):
    body = completion()
    body["choices"][0]["message"]["content"] = content
    return body


def nonsense(where, value):
    """A completion with one field replaced."""
    body = completion()
    body[where] = value
    return body


WHOLE = json.dumps(completion()).encode()
NO_TEXT = "answered with no chat completion that has a text: "

# What is sent back, and what the message says of it. All of these are answers that came through
# whole: asking again would be paid again, so that nothing is asked again.
MALFORMED = {
    "JSON that is cut off": (response(WHOLE[:-40]), NO_TEXT + '\'{"id": "chatcmpl-1"'),
    "no JSON": (response(b"{'choices': []}"), NO_TEXT),
    "empty": (response(b""), NO_TEXT + "''"),
    "no object": (response([1, 2]), NO_TEXT + "'[1, 2]'"),
    "null": (response(b"null"), NO_TEXT + "'null'"),
    "an error": (response({"error": "overloaded"}), NO_TEXT + "'{\"error\": \"overloaded\"}'"),
    "no choices": (response(nonsense("choices", [])), NO_TEXT),
    "choices are a text": (response(nonsense("choices", "done")), NO_TEXT),
    "a choice is null": (response(nonsense("choices", [None])), NO_TEXT),
    "a message is null": (response(nonsense("choices", [{"message": None}])), NO_TEXT),
    "a content is null": (response(message(None)), NO_TEXT),
    "a content is a list": (response(message([{"type": "text", "text": "a"}])), NO_TEXT),
    "a lone surrogate": (response(message("click \ud800")), NO_TEXT),
    "NaN": (response(nonsense("usage", {"prompt_tokens": float("nan")})), NO_TEXT),
    "a number too large": (response(WHOLE.replace(b"14}", b"1e999}")), NO_TEXT),
    "nested too deep": (response(b"[" * 200_000), NO_TEXT),
    "no UTF-8": (response(WHOLE.replace(b"click", b"cl\xffck")), NO_TEXT),
    "HTML": (
        response(b"<html>\n<body>Log in</body>\n</html>", kind="text/html"),
        NO_TEXT + "'<html> <body>Log in</body> </html>'",
    ),
    "a stream of events": (
        response(b"data: " + WHOLE + b"\n\ndata: [DONE]\n\n", kind="text/event-stream"),
        NO_TEXT + "'data: {",
    ),
    "no content": (response(b"", status="204 No Content"), NO_TEXT + "status 204, ''"),
    "another status": (response(completion(), status="201 Created"), NO_TEXT + "status 201, "),
    "damaged gzip": (
        response(b"damaged" + gzip.compress(WHOLE), "Content-Encoding: gzip"),
        "answered with a body that can't be decoded: ",
    ),
    "half of a gzip": (
        response(gzip.compress(WHOLE)[:60], "Content-Encoding: gzip"),
        NO_TEXT,
    ),
    "redirected": (
        response(b"", "Location: /v2/elsewhere", status="302 Found"),
        "redirects calls to http://127.0.0.1:",
    ),
    "refused": (
        response({"error": {"message": "no such model"}}, status="404 Not Found"),
        "refused the call: Error code: 404 - no such model",
    ),
}  # fmt: skip


@pytest.fixture
def one_item(project):
    """The project with one item, which makes three calls; run it with a server and arguments."""
    project.makepyfile(
        """
        import pytest

        @pytest.mark.miniwob("click-menu-2", seeds=[1])
        def test_solves(miniwob_episode):
            assert miniwob_episode.solved, miniwob_episode.explain()
        """
    )
    project.cassette = project.path / "cassettes/reflective/m/click-menu-2/1.yaml"

    def run(server=None, *args, record="new_episodes"):
        url = [f"--miniwob-base-url={server.url}"] if server else []
        return project.runpytest(f"--miniwob-record={record}", *url, *args)

    project.run_item = run
    return project


@contextlib.contextmanager
def session(folder, server=None, params=None, retries=0, budget=None):
    """The model of an item, recording from a server or replaying; the item then ends."""
    record = Record.NEW_EPISODES if server else Record.NONE
    cassette = ItemCassette(folder, "a/m/t/1", record)
    with CassetteTransport(cassette, budget) as transport:
        yield OpenAILLM(
            "m",
            params or {},
            base_url=server and server.url,
            transport=transport,
            live=cassette.live,
            retries=retries,
        )
    if cassette.calls:
        cassette.finish(Limits())


def files(project):
    return [path for path in project.path.glob("cassettes/**/*") if path.is_file()]


class TestMalformed:
    def test_each_is_an_error_of_one_line_and_leaves_nothing(
        self, project, raw_server, chat_server
    ):
        """An item for each kind. The next run, with a server in good health, records well."""
        project.makepyfile(
            f"""
            import pytest

            @pytest.mark.miniwob("click-menu-2", seeds="1-{len(MALFORMED)}")
            def test_solves(miniwob_episode):
                assert miniwob_episode.solved, miniwob_episode.explain()
            """
        )
        raw_server.answer = lambda number: [list(MALFORMED.values())[number - 1][0]]
        result = project.runpytest(
            "--miniwob-record=new_episodes", f"--miniwob-base-url={raw_server.url}", "--tb=short"
        )
        result.assert_outcomes(errors=len(MALFORMED))
        assert raw_server.requests == len(MALFORMED)
        lines = [line for line in result.outlines if line.startswith("plan call: ")]
        for (kind, (_, about)), line in zip(MALFORMED.items(), lines, strict=True):
            assert line.startswith(f"plan call: {raw_server.url}/ {about}"), kind
            assert len(line) < 300, kind
        assert "Traceback" not in result.stdout.str()
        assert not [line for line in result.outlines if line.startswith(("E ", ">"))]
        assert files(project) == []

        chat_server.reply = solve_menu
        result = project.runpytest(
            "--miniwob-record=new_episodes", f"--miniwob-base-url={chat_server.url}"
        )
        result.assert_outcomes(passed=len(MALFORMED))
        assert len(files(project)) == len(MALFORMED)
        project.runpytest().assert_outcomes(passed=len(MALFORMED))

    def test_a_good_cassette_stays_and_the_next_run_goes_on(self, one_item, chat_server):
        chat_server.reply = solve_menu
        one_item.run_item(chat_server).assert_outcomes(passed=1)
        before = one_item.cassette.read_bytes()
        anew = ("--miniwob-llm-params={}",)
        chat_server.reply = lambda prompt: b"<html>" if ">Save<" in prompt else solve_menu(prompt)
        one_item.run_item(chat_server, *anew).assert_outcomes(errors=1)
        assert one_item.cassette.read_bytes() == before
        one_item.run_item(record="none").assert_outcomes(passed=1)

        chat_server.reply = solve_menu
        chat_server.requests.clear()
        one_item.run_item(chat_server, *anew).assert_outcomes(passed=1)
        assert len(chat_server.requests) == 1
        assert files(one_item) == [one_item.cassette]
        one_item.run_item(None, *anew, record="none").assert_outcomes(passed=1)

    def test_a_key_in_it_is_not_shown(self, one_item, raw_server):
        key = "sk-proj-" + "Ab1" * 12
        raw_server.answer = lambda number: [response({"error": f"wrong key {key}"})]
        result = one_item.run_item(raw_server)
        result.stdout.fnmatch_lines([f"plan call: {raw_server.url}/ *wrong key [[]OpenAI key[]]*"])
        assert key[:16] not in result.stdout.str()


class TestParameters:
    def test_a_timeout_reaches_the_client_and_not_the_server(self, one_item, chat_server):
        """The first reply is held back until the client has asked again."""
        again = threading.Event()

        def reply(prompt):
            if len(chat_server.requests) == 1:
                assert again.wait(30)
            again.set()
            return solve_menu(prompt)

        chat_server.reply = reply
        params = '--miniwob-llm-params={"timeout": 1, "temperature": 0}'
        one_item.run_item(chat_server, params).assert_outcomes(passed=1)
        assert len(chat_server.requests) > 3
        assert all("timeout" not in request for request in chat_server.requests)
        one_item.run_item(record="none").assert_outcomes(passed=1)

    def test_beyond_the_timeout(self, tmp_path, chat_server):
        over = threading.Event()
        chat_server.reply = lambda prompt: str(over.wait(30))
        with session(tmp_path, chat_server, params={"timeout": 0.2}, retries=0) as llm:
            with pytest.raises(ModelError, match=r"/v1/ can't be reached: timed out$"):
                llm.complete("one", "plan")
            over.set()
        assert not list(tmp_path.iterdir())

    def test_what_only_the_server_knows(self, one_item, chat_server):
        chat_server.reply = solve_menu
        params = '--miniwob-llm-params={"extra_body": {"top_k": 40}}'
        one_item.run_item(chat_server, params).assert_outcomes(passed=1)
        assert {request["top_k"] for request in chat_server.requests} == {40}
        one_item.run_item(None, params, record="none").assert_outcomes(passed=1)

    def test_what_the_client_does_not_know(self, one_item, chat_server):
        result = one_item.run_item(chat_server, '--miniwob-llm-params={"top_k": 40}')
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(
            ["--miniwob-llm-params: *'top_k'; what only this server knows goes into \"extra_body\""]
        )
        assert "Traceback" not in result.stdout.str()

    @pytest.mark.parametrize("name", ["model", "messages", "stream"])
    def test_what_is_not_for_users(self, one_item, name):
        result = one_item.run_item(None, f'--miniwob-llm-params={{"{name}": true}}')
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*--miniwob-llm-params: can't set {name}"])


class TestUnusual:
    """Answers that are odd but whole: recorded, and replayed as the agent saw them."""

    @pytest.mark.parametrize(
        ("pieces", "text"),
        [
            (chunked(WHOLE), "click id=1"),
            ([bytes([byte]) for byte in response(completion())], "click id=1"),
            ([response(completion(), kind="text/plain")], "click id=1"),
            ([response(completion(), "X-Junk: " + "x" * 5000)], "click id=1"),
            ([response(completion(), length=False)], "click id=1"),
            ([response(completion("x" * 2_000_000))], "x" * 2_000_000),
            ([response(completion("\x00\x1b[31m\u2028é🎈\t"))], "\x00\x1b[31m\u2028é🎈\t"),
            ([response(nonsense("usage", "much"))], "click id=1"),
            ([response(nonsense("usage", {"prompt_tokens": "7"}))], "click id=1"),
            ([response(b'{"choices": [], ' + WHOLE[1:])], "click id=1"),
            ([response(gzip.compress(WHOLE), "Content-Encoding: gzip")], "click id=1"),
        ],
        ids=[
            "chunked",
            "byte by byte",
            "wrong type",
            "long header",
            "no length",
            "huge",
            "control characters",
            "usage is a text",
            "usage counts in texts",
            "a key twice",
            "gzip",
        ],
    )
    def test_is_recorded(self, tmp_path, raw_server, pieces, text):
        raw_server.answer = lambda number: pieces
        with session(tmp_path, raw_server, retries=0) as llm:
            live = llm.complete("one", "plan")
        assert live.text == text
        with session(tmp_path) as llm:
            assert llm.complete("one", "plan") == live


def test_a_redirect_that_keeps_the_call_is_followed(one_item, raw_server, chat_server):
    """The server that answers is not named in the cassette, and gets no key for another one."""
    chat_server.reply = solve_menu
    there = f"Location: {chat_server.url}/chat/completions"
    raw_server.answer = lambda number: [response(b"", there, status="308 Permanent Redirect")]
    one_item.run_item(raw_server).assert_outcomes(passed=1)
    assert (raw_server.requests, len(chat_server.requests)) == (3, 3)
    assert all("authorization" not in headers for headers in chat_server.headers)
    one_item.run_item(record="none").assert_outcomes(passed=1)


# Answers that did not come through: these are asked for again.
CUT = {
    "no byte": [b""],
    "half a status line": [b"HTTP/1.1 2"],
    "half a body": [response(WHOLE[:-40], length=len(WHOLE))],
    "half of the chunks": chunked(WHOLE, end=b"")[:-5],
    "no HTTP": [b"SSH-2.0-OpenSSH\r\n"],
}


class TestCutOff:
    @pytest.mark.parametrize("kind", CUT)
    def test_is_an_error(self, tmp_path, raw_server, kind):
        raw_server.answer = lambda number: CUT[kind]
        with (
            session(tmp_path, raw_server, retries=0) as llm,
            pytest.raises(
                ModelError, match=r"^plan call: http://127\S* can't be reached: "
            ) as error,
        ):
            llm.complete("one", "plan")
        assert "\n" not in str(error.value)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("kind", CUT)
    def test_is_asked_for_again(self, tmp_path, raw_server, kind):
        raw_server.answer = lambda number: CUT[kind] if number == 1 else [response(completion())]
        with session(tmp_path, raw_server, retries=1) as llm:
            live = llm.complete("one", "plan")
        assert raw_server.requests == 2
        with session(tmp_path) as llm:
            assert llm.complete("one", "plan") == live


class TestRateLimits:
    @pytest.mark.parametrize(
        ("header", "delay"), [("Retry-After: 1", 1.0), ("Retry-After-Ms: 700", 0.7)]
    )
    def test_the_server_says_how_long_to_wait(self, tmp_path, raw_server, header, delay):
        """Longer than the client's own first back-off, which is half a second."""
        times = []
        refusal = response({"error": {}}, header, status="429 Too Many Requests")

        def answer(number):
            times.append(time.monotonic())
            return [refusal if number < 3 else response(completion())]

        raw_server.answer = answer
        with session(tmp_path, raw_server, retries=2) as llm:
            llm.complete("one", "plan")
        assert [later - earlier >= delay for earlier, later in pairwise(times)] == [True, True]

    def test_a_call_that_waits_does_not_hold_its_place(self, tmp_path, chat_server):
        """One call at a time: while one waits to ask again, another goes through."""
        order = []
        refused = threading.Event()

        def reply(prompt):
            order.append(prompt)
            if len(order) > 1:
                return "DONE"
            refused.set()
            return 429

        chat_server.reply = reply
        chat_server.retry_after = 2

        def call(name):
            budget = Budget(tmp_path, concurrency=1)
            with session(tmp_path / name, chat_server, retries=1, budget=budget) as llm:
                llm.complete(name, "plan")

        waiting = threading.Thread(target=call, args=("one",))
        waiting.start()
        assert refused.wait(30)
        call("two")
        waiting.join()
        assert order == ["one", "two", "one"]


# The rules of fakellm: a model that solves the fake page, and one that is not there.
RULES = """
rules:
  - name: a wrong model
    when: {model_matches: gone}
    respond: {status: 404, error: "there is no model gone"}
  - name: summarise
    when: {messages_contain: "Say in one short sentence"}
    respond: {content: "The menu was opened."}
  - name: the menu is open
    when: {messages_contain: ">Save<"}
    respond: {content: "click id=2"}
  - name: the menu is closed
    respond: {content: "click id=1"}
"""


class Server:
    """A server of somebody else's in a process of its own: fakellm or llmock, from PyPI."""

    def __init__(self, name, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        rules = folder / "rules.yaml"
        rules.write_text(RULES)
        args = {
            "fakellm": ["--config", str(rules)],
            "llmock": ["--response-style", "echo", "--log-level", "warning"],
        }
        self.root = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.root}/v1"
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    str(Path(sys.executable).with_name(name)),
                    *["serve", "--host", "127.0.0.1", "--port", str(self.port)],
                    *args[name],
                ],
                stdout=log,
                stderr=log,
            )
        try:
            self._wait(folder / "log")
        except BaseException:
            self.stop()
            raise

    def _wait(self, log):
        deadline = time.monotonic() + 60
        while self._process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            time.sleep(0.05)
        raise RuntimeError(f"the server did not start:\n{log.read_text()}")

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.root + path, data, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def stop(self):
        self._process.terminate()
        self._process.wait(30)


@pytest.fixture
def start(tmp_path):
    """Start one of the servers, by its name."""
    with contextlib.ExitStack() as stack:

        def start(name):
            server = Server(name, tmp_path)
            stack.callback(server.stop)
            return server

        yield start


@pytest.fixture
def fakellm(start):
    return start("fakellm")


@pytest.fixture
def llmock(start):
    return start("llmock")


@pytest.fixture(params=["fakellm", "llmock"])
def server(request, start):
    return start(request.param)


class TestOthers:
    """Servers that we did not write."""

    def test_a_recording_replays_when_the_server_is_gone(self, one_item, fakellm):
        """The rules solve the page."""
        one_item.run_item(fakellm, record="once").assert_outcomes(passed=1)
        fakellm.stop()
        result = one_item.run_item(fakellm, record="none")
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(["model calls: 3 replayed, 0 recorded"])

    def test_the_same_completion_and_nothing_of_the_server(self, one_item, server):
        """An echo does not solve the page: the item fails, and so does its replay, alike."""
        one_item.run_item(server, record="once")
        calls = read_cassette(one_item.cassette)
        body = json.loads(json.dumps(calls[0].body))
        answer = server.ask("/v1/chat/completions", body)
        assert calls[0].text == answer["choices"][0]["message"]["content"]
        counts = (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"])
        assert calls[0].tokens == counts
        assert min(counts) > 0
        text = one_item.cassette.read_text()
        for trace in ("127.0.0.1", str(server.port), "chatcmpl", "created", "uvicorn", "system_f"):
            assert trace not in text
        server.stop()

        before = one_item.cassette.read_bytes()
        result = one_item.run_item(server, record="none")
        result.stdout.fnmatch_lines([f"model calls: {len(calls)} replayed, 0 recorded"])
        assert result.parseoutcomes().keys() <= {"passed", "failed"}
        assert one_item.cassette.read_bytes() == before

    def test_a_model_that_is_not_there(self, one_item, fakellm):
        result = one_item.run_item(fakellm, "--miniwob-model=gone")
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(
            [f"plan call: {fakellm.url}/ refused the call: *404 - *there is no model gone*"]
        )
        assert "Traceback" not in result.stdout.str()
        assert files(one_item) == []
        one_item.run_item(fakellm).assert_outcomes(passed=1)

    def test_a_route_that_is_not_there(self, one_item, server):
        server.url = f"{server.root}/api"
        result = one_item.run_item(server)
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines([f"plan call: {server.root}/api/ refused the call: *404*"])
        assert "Traceback" not in result.stdout.str()
        assert files(one_item) == []

    def test_faults_that_pass(self, one_item, llmock):
        """The server itself judges how its client took them."""
        faults = [
            {"type": "fail", "status": 429, "times": 2, "retry_after": 0.2},
            {"type": "fail", "status": 503, "times": 1},
        ]
        llmock.ask("/_llmock/scenario", {"behaviors": faults})
        one_item.run_item(llmock).assert_outcomes(failed=1)
        verdict = llmock.ask("/_llmock/verdict")
        assert verdict["findings"] == []
        assert verdict["faults_injected"] == 3
        assert verdict["attempts"] == len(read_cassette(one_item.cassette)) + 3

    def test_a_fault_that_does_not(self, one_item, llmock):
        """Not asked again, as the verdict would tell."""
        llmock.ask(
            "/_llmock/scenario", {"behaviors": [{"type": "fail", "status": 400, "times": 9}]}
        )
        result = one_item.run_item(llmock)
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines([f"plan call: {llmock.url}/ refused the call: *400*"])
        verdict = llmock.ask("/_llmock/verdict")
        assert (verdict["findings"], verdict["attempts"]) == ([], 1)
        assert files(one_item) == []
