"""What differs from run to run is said after a recording and by drift, with what leaves it out."""

import datetime
import json
import textwrap

import pytest
from support.answers import completion
from support.projects import Project, suite_source

AGENT = """
import datetime, secrets, tempfile, uuid
from pytest_miniwob_agent import Click
{imports}


class Client:
    name = "client"
    {normalize}

    def ask(self, llm, system, **params):
        messages = [{{"role": "system", "content": system}}, {{"role": "user", "content": "Go."}}]
        answer = llm.client.chat.completions.create(model=llm.model, messages=messages, **params)
        return answer.choices[0].message.content

    def solve(self, env, llm, note):
        env.reset()
        {ask}
        env.step(Click(1))
        env.step(Click(2))
"""

VARYING = """
        now, user = datetime.datetime.now(), f"user_{secrets.token_hex(32)}"
        with tempfile.TemporaryDirectory() as folder:
            system = f"Today: {now}. Files are in {folder}. Released on 2020-01-02, at 3:45."
            system += f" Time: {now:%H:%M:%S.%f}. Began: {now.timestamp()}."
            self.ask(llm, system, metadata={"user_id": user, "session": str(uuid.uuid4())})
"""

STABLE = """
        said = self.ask(llm, "Released on 2020-01-02, see /opt/docs, 1.2.3.")
        self.ask(llm, f"It was said: {said}")
"""


OF_PAGE = """
        seen = env.reset(screen="full")
        self.ask(llm, f"{seen.goal} {[element.text for element in seen.elements]}")
        return env.step(Click(1))
"""

PAGE = """
<!DOCTYPE html><body><button onclick="done = 1">ORDER</button><script>
  let done = 0;
  const task = { goal: "Confirm the order of TODAY.", reward: () => done };
</script>"""


@pytest.fixture
def client(project, chat_server):
    """Writes the agent, and records or replays it."""
    project.makepyfile(suite_source('"click-menu-2", seeds=[1]'))
    project.syspathinsert()

    def run(ask, *more, normalize="", record="none"):
        imports, _, method = normalize.partition("\n")
        method = textwrap.indent(method, "    ").strip()
        source = AGENT.format(imports=imports, normalize=method, ask=ask.strip())
        project.path.joinpath("agents.py").write_text(source)
        args = [f"--miniwob-base-url={chat_server.url}"] if record != "none" else []
        args += [f"--miniwob-record={record}", "--miniwob-agent=agents:Client"]
        return project.runpytest(*args, *more, "--miniwob-trials=1")

    return run


def pasted(result, advice="Give the agent this method:"):
    """The method that the output proposes."""
    text = result.stdout.str()
    head, _, rest = text.partition("from pytest_miniwob_agent import ")
    assert advice in head
    lines = ("from pytest_miniwob_agent import " + rest).splitlines()
    end = max(n for n, line in enumerate(lines) if "return masked(" in line)
    return "\n".join(lines[: end + 1])


def test_what_is_proposed_works_when_pasted(client):
    recorded = client(VARYING, record="new_episodes")
    recorded.assert_outcomes(passed=1)
    recorded.stdout.fnmatch_lines(["client: its requests hold what will differ in the next run*"])
    drifted = client(VARYING)
    [line] = [line for line in drifted.outlines if line.startswith("  the agent: text that")]
    for named in ("the date 2", "the path /", "the time ", "the timestamp ", "the id "):
        assert named in line
    assert "--miniwob-llm-params" not in drifted.stdout.str()
    for proposed in {pasted(recorded), pasted(drifted)}:
        result = client(VARYING, normalize=proposed, record="all")
        result.assert_outcomes(passed=1)
        result.stdout.no_fnmatch_line("*will differ in the next run*")
        client(VARYING, normalize=proposed).assert_outcomes(passed=1)


OWN = """from pytest_miniwob_agent import DATE, masked

def normalize(self, request):
    request["user"] = "somebody"
    if "nothing" in request:
        return request
    return masked(request, DATE)
"""


def test_what_is_proposed_does_what_the_agents_own_method_does(client, monkeypatch):
    monkeypatch.setattr("linecache.cache", {})  # each run has another file of the same name
    recorded = client(VARYING, normalize=OWN, record="new_episodes")
    proposed = pasted(recorded, "Replace the agent's method by this one:")
    for line in ("'somebody'", "return masked(request, PATH", "return masked(request, DATE, PATH"):
        assert line in proposed
    proposed = proposed.replace("import ", "import DATE, ", 1)
    client(VARYING, normalize=proposed, record="all").assert_outcomes(passed=1)
    client(VARYING, normalize=proposed).assert_outcomes(passed=1)


TODAY = """
        self.ask(llm, f"Today is {datetime.date.today():%A, %d %B %Y}.")
"""


@pytest.mark.parametrize(
    ("before", "mask"),
    [
        ("Today is ", "DATE.after('Today is ')"),
        ("Step 2. Today is ", "DATE.after(' Today is ')"),
        ("Run f7a3: ", "DATE"),
    ],
)
def test_a_mask_does_not_depend_on_a_number_before_it(client, before, mask):
    recorded = client(TODAY.replace("Today is ", before), record="new_episodes")
    assert pasted(recorded).endswith(f"return masked(request, {mask})")


def test_what_was_deferred_is_searched_once_it_is_answered(client, project):
    client(TODAY, record="defer").stdout.no_fnmatch_line("*will differ in the next run*")
    [line] = (project.path / ".miniwob" / "pending.jsonl").read_text().splitlines()
    response = {"status_code": 200, "body": completion("DONE")}
    answer = {"custom_id": json.loads(line)["custom_id"], "response": response}
    (project.path / "answers.jsonl").write_text(json.dumps(answer))
    recorded = client(TODAY, "--miniwob-answers=answers.jsonl", record="defer")
    recorded.assert_outcomes(passed=1)
    recorded.stdout.fnmatch_lines(["client: its requests hold what will differ in the next run*"])


def test_what_stays_or_what_the_model_said_is_not_named(client, chat_server):
    chat_server.reply = lambda prompt: f"{'0a' * 32}, 0b9ecf1c-3f3d-4a4e-9c3f-6d2f8a1f0c11"
    client(STABLE, record="new_episodes").stdout.no_fnmatch_line("*will differ in the next run*")
    client(STABLE).assert_outcomes(passed=1)


def test_what_the_page_shows_is_not_named(pytester, chat_server):
    """It is the same in a replay, though a date is that of today."""
    project = Project(pytester, chat_server)
    page = PAGE.replace("TODAY", f"{datetime.datetime.now():%Y-%m-%d}").replace("ORDER", "0a" * 32)
    project.mkdir("pages").joinpath("page.html").write_text(page)
    agent = AGENT.format(imports="", normalize="", ask=OF_PAGE.strip())
    test = suite_source('"pages/page", seeds=[1]')
    project.write(test, ini="miniwob_pages = pages\n", agents=agent)
    project.syspathinsert()
    recorded = project.record("--miniwob-agent=agents:Client")
    recorded.assert_outcomes(passed=1)
    assert "0a" * 32 in chat_server.requests[0]["messages"][0]["content"]
    recorded.stdout.no_fnmatch_line("*will differ in the next run*")
