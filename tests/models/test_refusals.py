"""Calls that a server refuses for what they hold: an agent may catch that and go on."""

import pytest
import yaml
from support.projects import suite_source

from pytest_miniwob_agent import CallRefused
from pytest_miniwob_agent.cassettes.upkeep import shown_calls

AGENTS = '''
import urllib.error, urllib.request, json
import openai
from pytest_miniwob_agent import CallRefused, Click

class Client:
    """Sends a long prompt, and a shorter one if that is refused."""
    name = "client"
    refused = openai.BadRequestError, openai.UnprocessableEntityError, openai.APIStatusError

    def ask(self, llm, text):
        messages = [{"role": "user", "content": text}]
        llm.client.chat.completions.create(model=llm.model, messages=messages)

    def solve(self, env, llm, note):
        env.reset()
        try:
            self.ask(llm, "long")
        except self.refused as refusal:
            self.ask(llm, f"short, as {type(refusal).__name__}")
        env.step(Click(1))
        env.step(Click(2))

class Later(Client):
    name = "later"
    def solve(self, env, llm, note):
        self.ask(llm, "first")
        super().solve(env, llm, note)

class Complete(Client):
    name = "complete"
    refused = CallRefused
    def ask(self, llm, text):
        llm.complete(text, "ask")

class Chat(Client):
    name = "chat"
    refused = CallRefused
    def ask(self, llm, text):
        llm.chat([{"role": "user", "content": text}], "ask", tools=[])

class Stream(Client):
    name = "stream"
    def ask(self, llm, text):
        messages = [{"role": "user", "content": text}]
        create = llm.client.chat.completions.create
        list(create(model=llm.model, messages=messages, stream=True))

class Server(Client):
    name = "server"
    refused = urllib.error.HTTPError
    def ask(self, llm, text):
        messages = [{"role": "user", "content": text}]
        data = json.dumps({"model": llm.model, "max_tokens": 9, "messages": messages}).encode()
        headers = {"Content-Type": "application/json"}
        url = f"{llm.base_url}/messages"
        urllib.request.urlopen(urllib.request.Request(url, data, headers)).read()

class Dies(Client):
    name = "dies"
    refused = ()

class Swallows(Client):
    name = "swallows"
    refused = Exception
'''

TOO_LONG = {
    "error": {"message": "too long, Bearer sk-" + "Ab1" * 12, "code": "context_length_exceeded"}
}


@pytest.fixture
def agents(project, monkeypatch):
    """A project with the agents of above; `run` takes a name, `refuse` how long calls end."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "k")
    project.write(suite_source('"click-menu-2", seeds=[1, 2]'), agents=AGENTS)
    project.server.retry_after = 0.001

    def refuse(status, body):
        project.server.reply = lambda prompt: (status, body) if prompt == "long" else "Yes."

    project.refuse = refuse
    project.run = lambda name, *args: project.record(f"--miniwob-agent=agents:{name}", *args)
    project.again = lambda name, **kw: project.replay(f"--miniwob-agent=agents:{name}", **kw)
    return project


def statuses(project):
    files = [yaml.safe_load(text) for text in project.recorded().values()]
    return [
        ([call["response"]["status"]["code"] for call in file["interactions"]], file["schema"])
        for file in files
    ]


def test_a_prompt_that_is_too_long_is_refused_in_a_replay_too(agents):
    names = [f"agents:{name}" for name in ("Client", "Complete", "Chat", "Stream", "Server")]
    agents.makepyfile(suite_source(f'"click-menu-2", seeds=[1], agents={names}, models="m"'))
    agents.refuse(400, TOO_LONG)
    agents.record().assert_outcomes(passed=5)
    assert statuses(agents) == [([400, 200], 2)] * 5
    assert "sk-Ab1" not in str(agents.recorded())
    agents.replay(passed=5)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "prompt is too long: 200001 tokens > 200000 maximum"}}),
        (400, {"error": {"message": "The input token count (9) exceeds the maximum number"}}),
        (400, {"error": {"message": "Please reduce the length of the messages."}}),
        (400, {"error": {"type": "exceed_context_size_error", "message": "n_ctx"}}),
        (413, b"<html>413 Request Entity Too Large</html>"),
    ],
)
def test_servers_say_in_several_ways_that_a_prompt_is_too_long(session, chat_server, status, body):
    chat_server.reply = lambda prompt: (status, body)
    with session(chat_server) as llm, pytest.raises(CallRefused, match=f"status {status}"):
        llm.complete("long", "plan")


@pytest.mark.parametrize("status", [400, 422])
def test_another_refusal_can_be_caught_once_a_call_was_answered(agents, status):
    agents.refuse(status, {"error": {"message": "the picture is broken"}})
    agents.run("Later").assert_outcomes(passed=2)
    assert statuses(agents) == [([200, status, 200], 2)] * 2
    agents.again("Later", passed=2)


def test_a_refusal_that_may_have_its_reason_in_the_parameters_ends_the_run(agents):
    agents.refuse(400, {"error": {"message": "no such parameter"}})
    result = agents.run("Swallows")
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["*!* every model call would fail*!*"])
    assert not agents.recorded()


@pytest.mark.parametrize("status", [401, 429, 500])
def test_what_is_not_of_the_call_is_never_caught(agents, status):
    agents.refuse(status, {"error": {"message": "no"}})
    result = agents.run("Later", "-k", "click-menu-2/1")
    assert result.parseoutcomes() == {"errors": 1, "deselected": 1}
    assert [call for call in statuses(agents) if call[0] != [200]] == []


def test_a_refusal_that_is_not_caught_is_the_items_error_and_is_not_recorded(agents):
    agents.refuse(400, TOO_LONG)
    result = agents.run("Dies")
    assert result.parseoutcomes() == {"errors": 2}
    result.stdout.fnmatch_lines(["*call: the server refused it: status 400: too long*"])
    result.stdout.no_fnmatch_line("*every model call*")
    assert not agents.recorded()
    agents.server.reply = lambda prompt: "Yes."
    agents.run("Dies").assert_outcomes(passed=2)
    assert statuses(agents) == [([200], 1)] * 2


def test_an_agent_that_no_longer_catches_a_recorded_refusal_fails_with_it(agents):
    agents.refuse(400, TOO_LONG)
    agents.run("Client").assert_outcomes(passed=2)
    source = AGENTS.replace("openai.BadRequestError, openai.Unp", "KeyError, openai.Unp")
    agents.makepyfile(agents=source.replace(", openai.APIStatusError", ""))
    result = agents.again("Client", errors=2)
    result.stdout.fnmatch_lines(["*call: the server refused it: status 400: too long*"])


def test_a_refusal_is_shown_with_its_reason(agents):
    agents.refuse(400, {"error": {"message": "This model's maximum context length is 9"}})
    agents.run("Complete", "-k", "click-menu-2/1")
    [path] = agents.recorded()
    shown = "\n".join(shown_calls(path))
    assert "refusal: status 400: This model's maximum context length is 9" in shown
