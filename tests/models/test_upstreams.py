"""Servers that `--miniwob-upstream` names, in their wire formats: recorded, and not asked again."""

import base64
import json
import re
import sys

import boto3  # noqa: F401 (once: inner runs would load parts of it anew)
import pytest
import yaml
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from support.answers import amazon_events, completion, events, lines
from support.projects import suite_source
from support.servers import WireServer

from pytest_miniwob_agent.cassettes.format import read_cassette
from pytest_miniwob_agent.models.bodies import read_events, record_body

CLIENTS = """
    import json, pathlib, urllib.error, urllib.request
    from pytest_miniwob_agent import Click

    class Client:
        def solve(self, env, llm, note):
            env.reset()
            said = self.ask(llm, f"{llm.base_url}/upstream/{self.upstream}")
            pathlib.Path("said.json").write_text(json.dumps(said))
            env.step(Click(1))
            env.step(Click(2))
        def post(self, url, body):
            headers = {"Content-Type": "application/json", "Authorization": "Bearer of-framework"}
            data = None if body is None else json.dumps(body).encode()
            asked = urllib.request.Request(url, data, headers)
            try:
                with urllib.request.urlopen(asked) as answer:
                    return [answer.status, answer.headers["Content-Type"], answer.read().hex()]
            except urllib.error.HTTPError as error:
                return [error.code, error.headers["Content-Type"], error.read().decode()]

    class Ollama(Client):
        name, upstream = "lines", "ollama"
        def ask(self, llm, url):
            import ollama
            client = ollama.Client(url)
            ask = {"model": llm.model, "messages": [{"role": "user", "content": "Hi"}]}
            said = [client.chat(**ask).message.content]
            said += [part.message.content for part in client.chat(**ask, stream=True)]
            said += [part.response for part in client.generate(llm.model, "Hi", stream=True)]
            client._client.close()
            return said

    class Bedrock(Client):
        name, upstream = "bedrock", "bedrock"
        def ask(self, llm, url):
            import boto3, botocore.config
            client = boto3.client("bedrock-runtime", endpoint_url=url, region_name="eu-west-1",
                aws_access_key_id="none", aws_secret_access_key="none",
                config=botocore.config.Config(signature_version="v4"))
            model = "eu.m-v1:0"
            ask = {"modelId": model,
                   "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
            said = [client.converse(**ask)["output"]["message"]["content"][0]["text"]]
            said += [event["contentBlockDelta"]["delta"]["text"]
                     for event in client.converse_stream(**ask)["stream"]
                     if "contentBlockDelta" in event]
            body = json.dumps({"prompt": "Hi"})
            said.append(json.load(client.invoke_model(modelId=model, body=body)["body"])["text"])
            stream = client.invoke_model_with_response_stream(modelId=model, body=body)["body"]
            return said + [json.loads(event["chunk"]["bytes"])["text"] for event in stream]

    class Refused(Client):
        name, upstream = "refused", "ollama"
        def ask(self, llm, url):
            said = [self.post(f"{url}/text", {}), self.post(f"{url}/fails", {})]
            client = llm.client
            tries = [
                lambda: client.realtime.connect(model="m").enter(),
                lambda: client.responses.create(model="m", input="Hi", background=True),
                lambda: client.batches.create(
                    input_file_id="f", endpoint="/v1/responses", completion_window="24h"),
                lambda: client.responses.cancel("r"),
            ]
            for call in tries:
                try:
                    said.append(str(call()))
                except Exception as error:
                    said.append(str(error))
            return said + [
                self.post(f"{llm.base_url}/messages/batches", {}), self.post(f"{url}/x", []),
                self.post(f"{llm.base_url}/api/chat", {}), self.post(f"{url}/api/tags", None),
            ]

    class Unnamed(Client):
        name, upstream = "unnamed", "nobody"
        def ask(self, llm, url):
            try:
                llm.client.post("/upstream/nobody/x", body={}, cast_to=object)
            except Exception as error:
                return [str(error), self.post(f"{url}/x", {})]

    class Raw(Client):
        name, upstream = "raw", "other-1"
        def ask(self, llm, url):
            said = []
            for path in ("/v2/chat", "/text", "/speech", "/v1/chat/completions?key=of-framework"):
                said.append(self.post(url + path, {"model": llm.model, "messages": [
                    {"role": "user", "content": "Hi"}]}))
            base = llm.base_url.removesuffix("/v1")
            said.append(self.post(base + "/v1beta/interactions", {"model": "g", "input": "Hi"}))
            return said
"""

CHUNK = {"bytes": base64.b64encode(b'{"text": "piece"}').decode()}
AMAZON = "application/vnd.amazon.eventstream"
JSON = "application/json"


def chat_of_ollama(body):
    """What `/api/chat` answers: lines of JSON, unless a request wants no stream."""
    said = ("He", "llo") if body["stream"] else ("Hello",)
    parts = [{"model": "m", "message": {"role": "assistant", "content": text}} for text in said]
    parts[-1] |= {"done": True, "eval_count": 2}
    return ("application/x-ndjson" if body["stream"] else JSON), lines(*parts)


ANSWERS = {
    "/api/chat": chat_of_ollama,
    "/api/generate": ("application/x-ndjson", lines(
        {"model": "m", "response": "\u00e9", "done": False}, {"response": "!", "done": True},
    )),
    "/model/eu.m-v1:0/converse": (JSON, json.dumps({
        "output": {"message": {"role": "assistant", "content": [{"text": "Hello"}]}},
        "stopReason": "end_turn", "metrics": {"latencyMs": 1},
        "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3},
    }).encode()),
    "/model/eu.m-v1:0/converse-stream": (AMAZON, amazon_events(
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "He"}}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "llo"}}),
        ("messageStop", {"stopReason": "end_turn"}),
    )),
    "/model/eu.m-v1:0/invoke": (JSON, b'{"text": "whole"}'),
    "/model/eu.m-v1:0/invoke-with-response-stream": (
        AMAZON, amazon_events(("chunk", CHUNK), ("chunk", CHUNK)),
    ),
    "/v2/chat": ("text/event-stream", events(
        {"type": "content-delta", "delta": {"message": {"content": {"text": "Hi"}}}},
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
    )),
    "/text": ("text/plain; charset=utf-8", "Grüße".encode()),
    "/speech": ("audio/mpeg", b"ID3\x00\xff"),
    "/v1/chat/completions": (JSON, json.dumps(completion("Hi")).encode()),
    "/v1beta/interactions": (JSON, b'{"id": "i", "outputs": [{"text": "Hi"}]}'),
}  # fmt: skip


@pytest.fixture
def server():
    server = WireServer()
    server.answers = dict(ANSWERS)
    yield server
    server.close()


@pytest.fixture
def clients(project, server, monkeypatch):
    """A project with the clients of above; `run` records or replays one, and returns its words."""
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "OTHER_1_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.setenv(name, f"the-{name.lower().replace('_', '-')}")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    project.makepyfile(suite_source('"click-menu-2", seeds=[1]'), clients=CLIENTS)
    project.syspathinsert()

    def run(name, upstreams=None, record="new_episodes", **outcomes):
        options = [f"--miniwob-agent=clients:{name}", f"--miniwob-record={record}"]
        if upstreams is None and record != "none":
            names = ("ollama", "bedrock", "other-1", "gemini")
            upstreams = ",".join(f"{each}={server.root}" for each in names)
        options += [f"--miniwob-upstream={upstreams}"] if upstreams else []
        asked = len(server.requests)
        project.result = project.runpytest(*options)
        assert record != "none" or len(server.requests) == asked
        project.result.assert_outcomes(**outcomes or {"passed": 1})
        said = project.path / "said.json"
        return json.loads(said.read_text()) if said.exists() else None

    project.run = run
    project.file = lambda name: project.path / f"cassettes/{name}/m/click-menu-2/1.yaml"
    return project


def answers_in(path):
    calls = yaml.safe_load(path.read_text())["interactions"]
    return {call["request"]["uri"]: call["response"] for call in calls}


def test_lines_of_json_are_recorded_as_they_came(clients, server):
    said = clients.run("Ollama")
    assert said == ["Hello", "He", "llo", "\u00e9", "!"]
    keys = {headers.get("authorization") for _, headers, _ in server.requests}
    assert keys == {"Bearer the-ollama-api-key"}
    [*_, generated] = yaml.safe_load(clients.file("lines").read_text())["interactions"]
    assert generated["request"]["uri"] == "/ollama/api/generate"
    assert generated["response"]["headers"] == {"Content-Type": ["application/x-ndjson"]}
    assert generated["response"]["body"] == ANSWERS["/api/generate"][1].decode()
    assert clients.run("Ollama", record="none") == said  # without the option, too


def test_streams_of_amazon_are_recorded_with_a_view_for_people(clients, server, monkeypatch):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "the-bearer-key")
    said = clients.run("Bedrock")
    assert said == ["Hello", "He", "llo", "whole", "piece", "piece"]
    assert {headers["authorization"] for _, headers, _ in server.requests} == {
        "Bearer the-bearer-key"
    }
    answers = answers_in(clients.file("bedrock"))
    streamed = answers["/bedrock/model/eu.m-v1:0/converse-stream"]
    assert base64.b64decode(streamed["body"]) == ANSWERS["/model/eu.m-v1:0/converse-stream"][1]
    assert streamed["decoded"][1]["contentBlockDelta"]["delta"] == {"text": "He"}
    pieces = answers["/bedrock/model/eu.m-v1:0/invoke-with-response-stream"]["decoded"]
    assert pieces == [{"chunk": {"text": "piece"}}] * 2
    assert "the-bearer-key" not in clients.file("bedrock").read_text()
    call = read_cassette(clients.file("bedrock"))[1]
    assert '{"messageStop":{"stopReason":"end_turn"}}' in call.completion.text
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    assert clients.run("Bedrock", record="none") == said


SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=AKIDREAL/\d{8}/eu-west-1/bedrock/aws4_request, "
    r"SignedHeaders=content-type;host;x-amz-date, Signature=[0-9a-f]{64}"
)


def test_what_a_client_signs_is_signed_anew_or_refused(clients, server, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDREAL")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "the-real-secret")
    said = clients.run("Bedrock")
    signatures = [headers["authorization"] for _, headers, _ in server.requests]
    assert all(SIGNED.fullmatch(each) for each in signatures), signatures
    assert signatures[0].endswith(sign(server, *server.requests[0]))
    stored = clients.file("bedrock").read_text()
    assert "AKIDREAL" not in stored
    assert "Signature" not in stored
    assert clients.run("Bedrock", record="none") == said
    monkeypatch.setitem(sys.modules, "botocore.auth", None)
    monkeypatch.delenv("OTHER_1_API_KEY")
    clients.run("Raw", "other-1=https://bedrock-runtime.eu-west-1.amazonaws.com", errors=1)
    clients.result.stdout.fnmatch_lines(
        ["*which needs botocore: pip install 'pytest-miniwob-agent[[]amazon]', or*"]
    )


def sign(server, path, headers, body):
    """Return the signature of a request as it came, by botocore."""
    auth = SigV4Auth(Credentials("AKIDREAL", "the-real-secret"), "bedrock", "eu-west-1")
    signed = {name: headers[name] for name in ("content-type", "host", "x-amz-date")}
    request = AWSRequest("POST", server.root + path, signed, body)
    request.context["timestamp"] = headers["x-amz-date"]
    return auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)


def test_any_content_is_recorded_from_a_server_that_is_named(clients, server):
    said = clients.run("Raw")
    kinds = ["text/event-stream", "text/plain", "audio/mpeg", JSON, JSON]
    assert [kind for _, kind, _ in said] == kinds
    contents = [bytes.fromhex(content) for _, _, content in said]
    assert contents[:3] == [ANSWERS[path][1] for path in ("/v2/chat", "/text", "/speech")]
    answers = answers_in(clients.file("raw"))
    assert list(answers) == [
        "/other-1/v2/chat", "/other-1/text", "/other-1/speech", "/v1/chat/completions",
        "/v1beta/interactions",
    ]  # fmt: skip
    assert answers["/other-1/text"]["body"] == "Grüße"
    assert answers["/other-1/speech"]["body"] == "SUQzAP8="
    paths = [path for path, *_ in server.requests]
    assert paths == ["/v2/chat", "/text", "/speech", "/v1/chat/completions", "/v1beta/interactions"]
    keys = [headers.get("authorization") for _, headers, _ in server.requests]
    assert keys == ["Bearer the-other-1-api-key"] * 4 + ["Bearer the-gemini-api-key"]
    assert server.requests[-1][1]["x-goog-api-key"] == "the-gemini-api-key"
    assert "of-framework" not in str(server.requests) + clients.file("raw").read_text()
    assert clients.run("Raw", record="none") == said


def test_what_is_not_recorded_is_refused_with_a_sentence(clients, server):
    """A refusal of the server's is recorded with its status, and what it says in another form."""
    server.answers["/fails"] = ("text/plain", b"too long", 413)
    said = clients.run("Refused")
    text, fails, *refused = said
    assert text[0] == 200
    assert (fails[0], json.loads(fails[2])["message"]) == (413, "too long")
    at_once = "only POST requests that are answered at once can be recorded, not "
    shown = [
        "sessions-over-websockets-are-not-recorded://use-a-client-of-your-own",
        f"{at_once}POST /v1/responses: ask without batches and background mode",
        f"{at_once}POST /v1/batches", "", f"{at_once}POST /v1/messages/batches",
        "the request to /v1/upstream/ollama/x is not a JSON object",
        "it takes any JSON for a server that is named by --miniwob-upstream NAME=URL",
        f"{at_once}GET /v1/upstream/ollama/api/tags",
    ]  # fmt: skip
    for sentence, each in zip(shown, refused, strict=True):
        assert sentence in str(each)
    assert len(server.requests) == 2
    assert clients.run("Refused", record="none") == said


def test_a_server_that_is_not_named_is_an_error_with_the_option_also_for_the_client(clients):
    said = clients.run("Unnamed", errors=1)
    sentence = "a call of /nobody/x can't be made, as no server is named for it: give "
    for each in said:
        text = each if isinstance(each, str) else json.loads(each[2])["message"]
        assert f"{sentence}--miniwob-upstream=nobody=URL" in text
    clients.result.stdout.fnmatch_lines([f"*{sentence}--miniwob-upstream=nobody=URL"])


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("application/x-ndjson", lines({"done": False}, {"error": "out of memory"})),
        (AMAZON, amazon_events(("modelStreamErrorException", {"message": "oh"}), kind="exception")),
    ],
)
def test_a_stream_that_ends_with_an_error_is_not_recorded(clients, server, kind, content):
    server.answers["/v2/chat"] = (kind, content)
    clients.run("Raw", errors=1)
    clients.result.stdout.fnmatch_lines(
        ["*out of memory*" if "json" in kind else "*modelStreamErr*"]
    )
    assert not clients.file("raw").exists()


@pytest.mark.parametrize(
    ("kind", "content", "status", "said"),
    [
        (JSON, b'{"error": "model is not loaded"}', 404, "Error code: 404 - model is not loaded; "),
        (JSON, b'{"detail": "no such path"}', 404, 'Error code: 404 - {"detail":"no such path"}; '),
        ("text/plain", b"Not Found", 404, "Error code: 404 - Not Found; "),
        ("text/html", b"<p>Sign in</p>", 200, "to be recorded: '<p>Sign in</p>'; "),
    ],
)
def test_what_a_server_says_is_shown_in_any_form(clients, server, kind, content, status, said):
    server.answers["/v2/chat"] = (kind, content, status)
    clients.run("Raw", errors=1)
    output = clients.result.stdout.str()
    assert f"{said}check --miniwob-upstream and the path" in output


@pytest.mark.parametrize("upstreams", ["ollama", "Ollama=http://a", "v1=http://a", "a=ftp://a"])
def test_a_wrong_name_or_address_is_an_error_that_shows_the_form(clients, upstreams):
    result = clients.runpytest(f"--miniwob-upstream={upstreams}")
    result.stderr.fnmatch_lines(["*--miniwob-upstream: give each server as NAME=URL, such as*"])


def test_content_in_a_cassette_that_is_not_base64_is_named(clients, server):
    clients.run("Raw")
    file = clients.file("raw")
    file.write_text(file.read_text().replace("SUQzAP8=", "SUQzAP8"))
    clients.run("Raw", record="none", errors=1)
    clients.result.stdout.fnmatch_lines(["*call 3: `response.body` is not an answer of a model*"])


def test_damaged_streams_of_amazon_have_no_events():
    whole = amazon_events(("a", {"b": 1}), ("text", "c"))
    assert read_events(record_body(whole, AMAZON), AMAZON) == [{"a": {"b": 1}}, {"text": "c"}]
    for length in range(1, 20):
        assert read_events(record_body(whole[:length], AMAZON), AMAZON) in ([], [{"message": ""}])
    assert read_events("?", AMAZON) == []
