"""All ways to the model, recorded from a server over HTTP and replayed: chat, clients, a server."""

import json
import re
import threading
import time

import pytest
import yaml
from support.projects import suite_source

from pytest_miniwob_agent.core.chat import ToolCall
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.models.apis import CHAT, find_api
from pytest_miniwob_agent.models.bodies import EVENT_STREAM

AGENTS = '''
    import asyncio, gzip, json, pathlib, urllib.error, urllib.request, uuid, zlib
    from concurrent.futures import ThreadPoolExecutor
    import openai, pytest
    from pytest_miniwob_agent import Click, tools_of
    from pytest_miniwob_agent.models.http import httpx

    TOOLS = tools_of([Click])

    def act(env, llm, answer):
        """Carry out the calls of an answer in the Chat Completions form."""
        for call in answer.tool_calls or []:
            function = getattr(call, "function", call)
            transition = env.call(function.name, function.arguments)
        return transition

    class MadeUp:
        """Sends a name that differs each time, and says so."""
        name = "made-up"
        def normalize(self, request):
            request["messages"][0]["name"] = "somebody"
            return request
        def solve(self, env, llm, note):
            env.reset()
            for goal in ("open", "save"):
                asked = {"role": "user", "name": uuid.uuid4().hex, "content": goal}
                act(env, llm, llm.chat([asked], "act", tools=TOOLS))

    class Loop:
        """Goes on with the message of each answer, as the documentation shows it."""
        name = "loop"
        def solve(self, env, llm, note):
            env.reset()
            messages = [{"role": "user", "content": "open"}]
            for goal in ("save", "done"):
                answer = llm.chat(messages, "act", tools=TOOLS)
                act(env, llm, answer)
                result = {"role": "tool", "tool_call_id": answer.tool_calls[0].id, "content": goal}
                messages += [answer.message, result]

    class Halves:
        """Passes half of a surrogate pair on, as a page's text may end with one."""
        name = "halves"
        def solve(self, env, llm, note):
            env.reset()
            half = "\\ud83d"
            llm.complete("say " + half, "act")
            content = [{"type": "text", "text": half + "\\ude00"}]
            asked = [{"role": "user", "name": half, "content": content}]
            act(env, llm, llm.chat(asked, "act", tools=TOOLS))
            body = {"messages": [{"role": "user", "content": half + "save"}], half: 1}
            data = json.dumps({"model": llm.model, **body}).encode()
            asked = urllib.request.Request(llm.base_url + "/chat/completions", data,
                                           {"Content-Type": "application/json"})
            [choice] = json.loads(urllib.request.urlopen(asked).read())["choices"]
            env.call("click", choice["message"]["tool_calls"][0]["function"]["arguments"])

    class Client:
        """Plain and streamed, Chat Completions and Responses, and an unknown path."""
        name = "client"
        def solve(self, env, llm, note):
            env.reset()
            assert llm.client.max_retries == llm.async_client.max_retries == 0  # the run retries
            ask = [{"role": "user", "content": "open"}]
            plain = llm.client.chat.completions.create(model=llm.model, messages=ask, tools=TOOLS)
            call = plain.choices[0].message.tool_calls[0].function
            env.call(call.name, call.arguments)
            ids = [plain.id]
            with llm.client.responses.stream(model=llm.model, input="say") as stream:
                text = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
                ids.append(stream.get_final_response().output_text)
            response = llm.client.responses.create(model=llm.model, input="say", instructions="Be.")
            assert response.output_text == text == "said"
            embedded = llm.client.embeddings.create(model="e", input=text, encoding_format="float")
            assert embedded.data[0].embedding == [0.5]
            ask = [{"role": "user", "content": "save " + " ".join(ids)}]
            arguments = ""
            for chunk in llm.client.chat.completions.create(
                model=llm.model, messages=ask, tools=TOOLS, stream=True,
                stream_options={"include_usage": True},
            ):
                for choice in chunk.choices:
                    for call in choice.delta.tool_calls or []:
                        arguments += call.function.arguments or ""
            env.call("click", arguments)

    class Async:
        """Equal and unequal calls at the same time, twice; each task makes a second call."""
        name = "async"
        async def ask(self, llm, text):
            answer = await llm.async_client.chat.completions.create(
                model=llm.model, messages=[{"role": "user", "content": text}])
            return answer.choices[0].message.content
        async def twice(self, llm, text):
            return await self.ask(llm, f"again {await self.ask(llm, text)}")
        async def solve(self, env, llm, note):
            env.reset()
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self.twice(llm, f"word {n}")) for n in (3, 1, 2)]
            texts = await asyncio.gather(*(self.ask(llm, "sample") for _ in range(4)))
            await self.ask(llm, str([task.result() for task in tasks] + texts))
            env.step(Click(1))
            env.step(Click(2))

    class Server:
        """Raw requests: Messages under a doubled /v1, unknown JSON, and what can't be recorded."""
        name = "server"
        def ask(self, llm, path, body, method="POST", **others):
            headers = {"Content-Type": "application/json", "Authorization": "Bearer of-framework",
                       "x-api-key": "of-framework", "x-goog-api-key": "of-framework"}
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            url = path if "://" in path else llm.base_url + path
            asked = urllib.request.Request(url, data, headers | others, method=method)
            try:
                with urllib.request.urlopen(asked) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()
        def solve(self, env, llm, note):
            env.reset()
            ask = [{"role": "user", "content": "say"}]
            for path, body in [
                ("/v1/messages?beta=true", {"max_tokens": 9, "messages": ask}),
                ("/messages", {"max_tokens": 9, "messages": ask, "stream": True}),
                ("/v1beta/models/g:generateContent?key=of-framework",
                 {"contents": [{"role": "user", "parts": [{"text": "say"}]}]}),
                ("/chat/completions", {"messages": ask}),
            ]:
                status, text = self.ask(llm, path, {"model": llm.model, **body})
                assert status == 200 and "said" in text, text
            for path in ("/chat/completions", "/messages", "/v1beta/models/g:generateContent"):
                assert self.ask(llm, path, None, "GET")[0] == 405
            assert self.ask(llm, "/models", {})[0] == 405
            for path in ("", "/fine_tuning/jobs", "/files", "/v1beta/cachedContents", "/api/chat",
                         "/threads/t/messages", "/model/m/converse", "/deployments/completions",
                         "/audio/speech", "/chat/completions/c", "/x/chat/completions"):
                for method in ("POST", "GET"):
                    status, text = self.ask(llm, path, {}, method)
                    assert (status, "/chat/completions, /completions" in text) == (404, True)
            for others in ({"Origin": "http://a"}, {"Host": "a:1"}, {"Content-Type": "text/plain"}):
                status, _ = self.ask(llm, "/chat/completions", {"messages": ask}, **others)
                assert status in (403, 415)
            host, _, secret = llm.base_url.rpartition("/v1")[0].rpartition("/")
            assert len(secret) > 20
            for guess in ("", "/x", "/" + "x" * len(secret)):
                body = {"messages": ask}
                assert self.ask(llm, f"{host}{guess}/v1/chat/completions", body)[0] == 403
            status, text = self.ask(llm, "/chat/completions", b"[]")
            assert (status, "not a JSON object" in text) == (400, True)
            env.step(Click(1))
            env.step(Click(2))

    class Google(Server):
        """All versions of Google's API, and Vertex's; what the client of OpenAI can't record."""
        name = "google"
        def solve(self, env, llm, note):
            env.reset()
            root = llm.base_url.removesuffix("/v1")
            parts = [{"text": "say"}]
            asked = {"model": llm.model, "contents": [{"role": "user", "parts": parts}]}
            vertex = "projects/p/locations/global/publishers/google/models/g"
            for path in ("/v1/models/g:generateContent", f"/v1/{vertex}:generateContent",
                         "/v1beta1/publishers/google/models/g:streamGenerateContent?alt=sse"):
                for address in (root, llm.base_url):
                    status, text = self.ask(llm, address + path, asked)
                    assert (status, "said" in text, '"parts"' in text) == (200, True, True), text
            for path in (f"/v1/{vertex.replace('google', 'meta')}:rawPredict", "/v1/models/a:b"):
                assert self.ask(llm, root + path, asked)[0] in (404, 405)
            with pytest.raises(openai.APIStatusError, match="put the data into the request"):
                llm.client.files.create(file=("a.txt", b"a"), purpose="assistants")
            with pytest.raises(openai.APIStatusError, match="without batches and background mode"):
                llm.client.responses.retrieve("resp_1")
            env.step(Click(1))
            env.step(Click(2))

    class Paths(Server):
        """What clients of Azure, Bedrock, OpenRouter, Ollama and vLLM send."""
        name = "paths"
        def solve(self, env, llm, note):
            env.reset()
            azure = {"api_key": "of-framework", "api_version": "2024-10-21", "max_retries": 0}
            ask = {"model": llm.model, "messages": [{"role": "user", "content": "say"}]}
            for where in (
                {"base_url": llm.base_url}, {"azure_endpoint": llm.base_url},
                {"azure_endpoint": llm.base_url, "azure_deployment": "d/e"},
            ):
                client = openai.AzureOpenAI(**where, **azure)
                assert client.chat.completions.create(**ask).choices[0].message.content == "said"
                chunks = list(client.chat.completions.create(**ask, stream=True))
                assert chunks[0].choices[0].delta.content == "said"
                if "azure_deployment" not in where:
                    assert client.responses.create(model=llm.model, input="say").output_text
                    assert [model.id for model in client.models.list()] == [llm.model]
            for client in (openai.OpenAI(base_url=llm.base_url, api_key="any"), llm.client):
                assert [model.id for model in client.models.list()] == [llm.model]
                assert client.models.retrieve(llm.model).id == llm.model
                with pytest.raises(openai.NotFoundError, match=f"the item's is {llm.model}"):
                    client.models.retrieve("another/model")
            body = json.dumps(ask).encode()
            deflated = zlib.compressobj(wbits=-15)
            raw = deflated.compress(body) + deflated.flush()
            root, chat = llm.base_url.removesuffix("/v1"), "/v1/chat/completions"
            nameless = json.dumps({"messages": ask["messages"]}).encode()
            for path, data, *encoding in [
                ("/v1/openai/v1/chat/completions", body), ("/v1/api/v1/chat/completions/", body),
                ("/openai/deployments/m/chat/completions?api-version=1", nameless),
                ("/chat/completions", body), ("/v1/models/chat/completions", body),
                ("/v1beta/openai/chat/completions", body), (chat, body, "identity"),
                (chat, gzip.compress(body), "gzip"), (chat, gzip.compress(body), "X-GZIP"),
                (chat, zlib.compress(body), "deflate"), (chat, raw, "deflate"),
                (chat, zlib.compress(gzip.compress(body)), "gzip, deflate"),
                (chat, iter([body[:9], body[9:]])),
            ]:
                headers = {"Content-Encoding": encoding[0]} if encoding else {}
                headers["Content-Type"] = "Application/JSON; charset=utf-8"
                answer = httpx.post(root + path, content=data, headers=headers)
                assert (answer.status_code, "said" in answer.text) == (200, True), answer.text
            for encoding, data, status, reason in [
                ("compress", body, 415, "can't be read as compress"), ("?", body, 415, "send gzip"),
                ("gzip", body, 400, "not gzip"),
                ("gzip", gzip.compress(body)[:-20], 400, "not a JSON"),
            ]:
                headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
                answer = httpx.post(root + chat, content=data, headers=headers)
                assert (answer.status_code, reason in answer.text) == (status, True), answer.text
            for method in ("HEAD", "OPTIONS"):
                answer = httpx.request(method, llm.base_url + "/models")
                assert (answer.status_code, answer.content) == (200, b"")
                assert "POST" in answer.headers["allow"]
            assert httpx.head(llm.base_url + "/chat/completions").status_code == 405
            assert httpx.options(llm.base_url + "/chat/completions").status_code == 200
            assert httpx.head(llm.base_url + "/files").status_code == 404
            env.step(Click(1))
            env.step(Click(2))
'''


@pytest.fixture
def agents(project, chat_server, monkeypatch):
    """A project with the agents of above; `run` takes one's name, and records or replays."""
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-anthropic")
    monkeypatch.setenv("GEMINI_API_KEY", "key-of-gemini")
    project.makepyfile(suite_source('"click-menu-2", seeds=[1]'), agents=AGENTS)
    project.syspathinsert()
    chat_server.reply = reply

    def run(name, *args, record="new_episodes"):
        if record != "none":
            args += (f"--miniwob-base-url={chat_server.url}",)
        limits = ("--miniwob-trials=1", "--miniwob-steps=5")
        agent = f"--miniwob-agent=agents:{name}"
        return project.runpytest(f"--miniwob-record={record}", agent, *limits, *args)

    project.run = run
    project.calls = lambda name: yaml.safe_load(project.file(name).read_text())["interactions"]
    project.file = lambda name: project.path / f"cassettes/{name}/m/click-menu-2/1.yaml"
    project.server = chat_server
    return project


def click(id_):
    call = ToolCall(f"call_{id_}", "click", json.dumps({"element": id_}))
    return Completion("", 11, 3, "m", tool_calls=(call,))


def reply(prompt):
    if prompt.startswith("say"):
        return "said"
    if "contents" in prompt:
        return {"candidates": [{"content": {"parts": [{"text": "said"}]}}]}
    if "encoding_format" in prompt:
        return {"data": [{"embedding": [0.5], "index": 0, "object": "embedding"}]}
    return click(2) if ("Save" in prompt and "Quit" in prompt) or "save" in prompt else click(1)


def test_half_of_a_surrogate_pair_in_a_prompt_is_sent_as_another_character(agents):
    agents.run("Halves").assert_outcomes(passed=1)
    first, second, third = agents.server.requests
    assert first["messages"][0]["content"] == "say \ufffd"
    assert second["messages"][0]["name"] == "\ufffd"
    assert second["messages"][0]["content"][0]["text"] == "\U0001f600"
    assert (third["messages"][0]["content"], third["\ufffd"]) == ("\ufffdsave", 1)
    agents.run("Halves", record="none").assert_outcomes(passed=1)
    assert len(agents.server.requests) == 3


def test_what_an_agent_normalizes_is_sent_as_it_is_and_stored_with_its_place(agents):
    agents.run("MadeUp").assert_outcomes(passed=1)
    names = [request["messages"][0]["name"] for request in agents.server.requests]
    assert len({*names, "somebody"}) == 3
    assert [call["call"]["purpose"] for call in agents.calls("made-up")] == ["act", "act"]
    for call in agents.calls("made-up"):
        assert call["call"]["normalized"] == ["messages[0].name"]
        assert call["request"]["body"]["messages"][0]["name"] == "somebody"
    result = agents.run("MadeUp", record="none")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["model calls: 2 replayed, 0 recorded", "tokens: *28 avoided"])
    assert len(agents.server.requests) == 2


@pytest.mark.parametrize("streamed", [False, True])
def test_a_server_gets_back_what_it_added_to_a_message(agents, streamed):
    """As Gemini demands it, which answers 400 otherwise."""
    extra = {"google": {"thought_signature": "SIG"}}

    def answer(prompt):
        first, second = (click(number).message for number in (1, 2))
        for message in (first, second):
            message["reasoning_details"] = [{"data": "D"}]
            message["tool_calls"][0]["extra_content"] = extra
        if agents.server.requests[-1]["messages"][1:2] not in ([], [first]):
            return 400, {"error": {"message": "the signature is missing"}}
        body = agents.server.completion(None) | {"citations": ["c"]}
        body["choices"][0]["message"] = second if prompt == "save" else first
        return find_api(CHAT).stream(body).encode() if streamed else body

    agents.server.reply = answer
    agents.server.kind = EVENT_STREAM if streamed else None
    agents.run("Loop").assert_outcomes(passed=1)
    if not streamed:
        assert agents.calls("loop")[0]["response"]["body"]["citations"] == ["c"]
    agents.run("Loop", record="none").assert_outcomes(passed=1)
    assert len(agents.server.requests) == 2


def test_the_client_is_recorded_and_replayed_plain_and_streamed(agents, monkeypatch):
    agents.run("Client").assert_outcomes(passed=1)
    calls = agents.calls("client")
    assert [call["request"]["uri"] for call in calls] == [
        "/v1/chat/completions", "/v1/responses", "/v1/responses", "/v1/embeddings",
        "/v1/chat/completions",
    ]  # fmt: skip
    streams = [isinstance(call["response"]["body"], str) for call in calls]
    assert streams == [False, True, False, False, True]
    types = [call["response"]["headers"]["Content-Type"] for call in calls]
    assert types[1] == types[4] == ["text/event-stream"]
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name)
    asked = len(agents.server.requests)
    result = agents.run("Client", record="none")
    result.assert_outcomes(passed=1)
    assert len(agents.server.requests) == asked
    result.stdout.fnmatch_lines(["tokens: 0 spent, 56 and unknown avoided"])  # that of embeddings


def test_calls_at_the_same_time_give_equal_cassettes_and_replays(agents):
    """The server holds answers back: the first time, the calls that were begun first."""
    files = []
    for record, last in (("new_episodes", "word 3"), ("all", "word 2"), ("none", "")):
        others = threading.Semaphore(0)
        samples = iter(range(1, 5))
        lock = threading.Lock()

        def answer(prompt, last=last, others=others, samples=samples, lock=lock):
            if prompt == last:
                for _ in range(4):
                    others.acquire(timeout=300)
            elif "word" in prompt:
                others.release()
            with lock:
                return f"sample {next(samples)}" if prompt == "sample" else f"<{prompt}>"

        agents.server.reply = answer
        agents.run("Async", record=record).assert_outcomes(passed=1)
        files.append(re.sub(r"sample \d", "sample", agents.file("async").read_text()))
        texts = [
            call["request"]["body"]["messages"][0]["content"] for call in agents.calls("async")
        ]
        assert len(texts) == 11
        assert texts == sorted(texts), record
    assert files[0] == files[1] == files[2]


def test_a_server_of_the_item_takes_calls_of_models_with_any_key_and_nothing_else(
    agents, monkeypatch
):
    agents.run("Server").assert_outcomes(passed=1)
    server = agents.server
    assert server.paths == [
        "/v1/messages?beta=true", "/v1/messages", "/v1beta/models/g:generateContent",
        "/v1/chat/completions",
    ]  # fmt: skip
    headers = ("authorization", "x-api-key", "x-goog-api-key")
    anthropic = ("Bearer key-of-anthropic", "key-of-anthropic", None)
    gemini = ("Bearer key-of-gemini", None, "key-of-gemini")
    openai = ("Bearer key-of-openai", None, None)
    sent = [tuple(map(request.get, headers)) for request in server.headers]
    assert sent == [anthropic, anthropic, gemini, openai]
    assert "of-framework" not in str(server.headers) + str(server.paths)
    stored = agents.file("server").read_text()
    assert "key-of" not in stored
    assert "of-framework" not in stored
    monkeypatch.delenv("OPENAI_API_KEY")
    agents.run("Server", record="none").assert_outcomes(passed=1)
    assert len(server.paths) == 4


def test_all_versions_of_googles_api_are_recorded_with_its_keys_alone(agents, monkeypatch):
    monkeypatch.setenv("GOOGLE_API_KEY", "key-of-vertex")
    agents.run("Google").assert_outcomes(passed=1)
    keys = [request.get("x-goog-api-key") for request in agents.server.headers]
    assert keys == ["key-of-gemini"] * 2 + ["key-of-vertex"] * 4
    assert "key-of" not in agents.file("google").read_text()
    agents.run("Google", record="none").assert_outcomes(passed=1)
    assert len(agents.server.paths) == 6


def test_clients_of_all_providers_find_what_they_ask_for(agents, monkeypatch):
    """Calls are asked for at the run's own server, as plain JSON."""
    agents.run("Paths").assert_outcomes(passed=1)
    server = agents.server
    assert len(server.requests) == 21
    assert {request["model"] for request in server.requests} == {"m"}
    assert {path.partition("?")[0] for path in server.paths} == {
        "/v1/chat/completions", "/v1/responses",
    }  # fmt: skip
    assert not any("content-encoding" in headers for headers in server.headers)
    assert "of-framework" not in str(server.headers) + agents.file("paths").read_text()
    monkeypatch.delenv("OPENAI_API_KEY")
    agents.run("Paths", record="none").assert_outcomes(passed=1)
    assert len(server.requests) == 21


def test_with_a_limit_of_money_a_worker_makes_one_call_at_a_time(agents):
    """As those that are under way when it is reached add to it."""
    under_way, lock = [0, 0], threading.Lock()

    def answer(prompt):
        with lock:
            under_way[0] += 1
            under_way[1] = max(under_way)
        time.sleep(0.02)
        with lock:
            under_way[0] -= 1
        return "an answer"

    agents.server.reply = answer
    agents.run("Async", "--miniwob-max-cost=5", "--miniwob-prices=m 1 1").assert_outcomes(passed=1)
    assert under_way == [0, 1]


REFUSED = """

    class Refused(Server):
        name = "refused"
        def solve(self, env, llm, note):
            env.reset()
            status, text = self.ask(llm, "/chat/completions", {"messages": []})
            pathlib.Path("refused.txt").write_text(f"{status} {text}")

    class Uncounted(Server):
        name = "uncounted"
        def solve(self, env, llm, note):
            env.reset()
            ask = {"model": llm.model, "messages": [{"role": "user", "content": "count"}]}
            _, text = self.ask(llm, "/chat/completions", ask)
            counts = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
            assert json.loads(text)["usage"] == counts
            env.step(Click(1))
            env.step(Click(2))

    class Silent:
        name = "silent"
        def solve(self, env, llm, note):
            env.reset()
            env.step(Click(1))
            env.step(Click(2))
"""


def test_a_refused_call_has_the_status_that_no_framework_tries_again(agents):
    agents.makepyfile(agents=AGENTS + REFUSED)
    agents.run("Refused", record="none").assert_outcomes(errors=1)
    assert (agents.path / "refused.txt").read_text().startswith("404 {")


def test_where_a_model_counts_no_tokens_a_framework_gets_counts_of_0_and_the_run_none(agents):
    agents.makepyfile(agents=AGENTS + REFUSED)
    agents.server.reply = lambda prompt: agents.server.completion(prompt) | {"usage": None}
    agents.run("Uncounted").stdout.fnmatch_lines(["tokens: unknown spent, 0 avoided"])
    agents.run("Uncounted", record="none").assert_outcomes(passed=1)


def test_a_recording_without_a_model_call_is_remarked(agents):
    agents.makepyfile(agents=AGENTS + REFUSED)
    remark = "*was recorded without a single model call*"
    agents.run("Silent").stdout.fnmatch_lines([remark])
    agents.run("Silent", record="none").stdout.no_fnmatch_line(remark)
    agents.run("Server").stdout.no_fnmatch_line(remark)


SWALLOWING = """

    class Swallowing:
        '''Goes on after every error, as a framework may.'''
        name = "swallowing"
        def solve(self, env, llm, note):
            env.reset()
            client = llm.client
            for step in range(30000):
                try:
                    stream = client.chat.completions.create(
                        model=llm.model, messages=[{"role": "user", "content": f"step {step}"}],
                        tools=TOOLS, stream=True)
                    list(stream)
                    env.step(Click(1))
                except Exception:
                    pass
            raise AssertionError("it was never stopped")

        def normalize(self, request):
            return request | {"user": "anybody"} if "user" in request else request
"""


def test_an_agent_that_swallows_every_error_is_stopped(agents):
    """While it waits for a completion, and for the next one after an answer as JSON."""
    agents.makepyfile(agents=AGENTS + SWALLOWING)
    waiting = agents.run("Swallowing", record="defer")
    assert waiting.parseoutcomes() == {"waiting": 1}
    [line] = (agents.path / ".miniwob/pending.jsonl").read_text().splitlines()
    request = json.loads(line)
    assert (request["url"], request["body"]["stream"]) == ("/v1/chat/completions", True)
    assert agents.server.requests == []
    assert not agents.file("swallowing").exists()
    body = agents.server.completion("click")
    answer = {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}}
    (agents.path / "answers.jsonl").write_text(json.dumps(answer) + "\n")
    waiting = agents.run("Swallowing", "--miniwob-answers=answers.jsonl", record="defer")
    assert waiting.parseoutcomes() == {"waiting": 1}
    waiting.stdout.fnmatch_lines(["model calls: 1 replayed, 0 recorded, 1 waiting"])
    assert "step 1" in (agents.path / ".miniwob/pending.jsonl").read_text()


def test_a_secret_in_the_streamed_arguments_of_a_tool_is_refused(agents):
    key = "gsk_" + "aB3z" * 13
    call = ToolCall("c", "click", json.dumps({"text": key}))
    agents.server.reply = lambda prompt: Completion("", tool_calls=(call,))
    agents.makepyfile(agents=AGENTS + SWALLOWING)
    result = agents.run("Swallowing")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*looks like a secret*"])
    assert key not in str(result.stdout)
    assert not agents.file("swallowing").exists()


def test_a_stream_that_is_cut_off_is_not_kept_and_the_named_key_is_sent(agents, monkeypatch):
    monkeypatch.setenv("MY_KEY", "the-key-of-mine")
    cut = 'data: {"choices": [{"index": 0, "delta": {"content": "cl"}}]}\n\n'
    agents.server.reply = lambda prompt: cut.encode()
    agents.makepyfile(agents=AGENTS + SWALLOWING)
    result = agents.run("Swallowing", "--miniwob-key-variable=MY_KEY")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*answered with*"])
    assert len(agents.server.requests) == 1
    assert agents.server.headers[0]["authorization"] == "Bearer the-key-of-mine"
    agents.server.reply = lambda prompt: "the-key-of-mine"
    result = agents.run("Swallowing", "--miniwob-key-variable=MY_KEY")
    result.stdout.fnmatch_lines(["*looks like a secret (value of MY_KEY)*"])
    assert "the-key-of-mine" not in str(result.stdout)
