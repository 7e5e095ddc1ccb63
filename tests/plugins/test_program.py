"""Programs in any language as agents."""

import io
import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from support.apps import AppPages
from support.projects import ROOT, Project

from pytest_miniwob_agent import UsageError
from pytest_miniwob_agent.agents.registry import load_agent
from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.plugins.program.agent import LONGEST_PART, MOST_PARTS, _Output
from pytest_miniwob_agent.plugins.program.environment import past_proxies, without_keys

PAGE = """
    <!DOCTYPE html><body><button id="no" onclick="done = -1">No</button>
    <button id="yes" onclick="done = 1">Yes</button><script>
      let done = 0;
      const task = { goal: "Click Yes.", reward: () => done };
    </script>"""

AGENT = """
    import json, os, sys, time, urllib.request
    from support.driving import Program

    def ask(text):
        messages = [{"role": "user", "content": text}]
        body = {"model": os.environ["MINIWOB_MODEL"], "messages": messages}
        url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, json.dumps(body).encode(), kind)
        return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]

    print("works on", os.environ["MINIWOB_TASK"], os.environ["MINIWOB_SEED"], *sys.argv[1:])
    with Program(os.environ["MINIWOB_CDP_URL"]) as page:
        for _ in range(20):
            page.click(ask(f"{os.environ['MINIWOB_GOAL']} Trial {os.environ['MINIWOB_TRIAL']}."))
"""

TEST_FILE = """
    import pytest
    from pytest_miniwob_agent import Program

    @pytest.mark.miniwob("pages/page", seeds=[1]{more})
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""

PYTHON = f"{sys.executable} agent.py"


@pytest.fixture
def project(pytester, chat_server, monkeypatch):
    project = Project(pytester, chat_server)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "tests"), *sys.path]))
    project.mkdir("pages").joinpath("page.html").write_text(PAGE)
    project.write(TEST_FILE.replace("{more}", ""), ini="miniwob_pages = pages\n", agent=AGENT)
    chat_server.reply = lambda prompt: "#yes"
    return project


def test_a_command_line_is_an_agent(project):
    command = f"--miniwob-agent={PYTHON} --fast"
    result = project.record(command, "-rP")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["works on page 1 --fast"])
    path = project.path / "cassettes/agent/m/page/1.yaml"
    assert path.read_text().count("Click Yes. Trial 1.") == 1  # it asks on, but nobody is asked
    project.replay(command, passed=1)
    agent = project.path / "agent.py"
    agent.write_text(agent.read_text().replace("Trial", "Try"))
    result = project.runpytest(command)
    result.stdout.fnmatch_lines(["- Click Yes. Trial 1.", "+ Click Yes. Try 1.", "*1 drifted in*"])


@pytest.mark.sweep
def test_a_program_is_started_again_while_it_may(project):
    more = f', agents=[Program({PYTHON.split()!r}, name="again", trials=3)]'
    project.makepyfile(TEST_FILE.replace("{more}", more))
    project.server.reply = lambda prompt: "#yes" if "Trial 2" in prompt else "#no"
    project.record_and_replay(passed=1)
    assert [path.name for path in project.path.joinpath("cassettes").iterdir()] == ["again"]


@pytest.mark.parametrize(
    ("code", "timeout", "message"),
    [
        ("print('no such key'); exit(3)", 60, "*ended with the status 3. Its last lines:*"),
        ("import time; time.sleep(60)", 1, "*was ended after 1 second; its parameter `timeout` *"),
    ],
)
def test_a_program_that_fails_is_an_error_of_the_item(project, code, timeout, message):
    params = json.dumps({"command": [sys.executable, "-c", code], "timeout": timeout, "name": "x"})
    result = project.record("--miniwob-agent=program", f"--miniwob-agent-params={params}")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


def test_the_end_of_a_long_output_is_kept(capsys):
    output = _Output(io.StringIO("first" + 2 * MOST_PARTS * LONGEST_PART * "." + "\nlast"))
    output.finish()
    assert output.end.endswith("  .....\n  last")
    printed = capsys.readouterr().out
    assert printed.endswith("..\nlast")
    assert len(printed) < MOST_PARTS * LONGEST_PART


def test_how_a_program_ends_does_not_count_once_the_page_has_judged(project):
    project.makepyfile(agent=AGENT + "            sys.exit(3)\n")
    project.record(f"--miniwob-agent={PYTHON}").assert_outcomes(passed=1)


HANGING = """
    import os, subprocess, sys, time
    from support.driving import Program

    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    open("children", "a").write(f"{child.pid} {os.getpid()}\\n")
    with Program(os.environ["MINIWOB_CDP_URL"]) as page:
        page.click("#yes")
        page.run("1")
        time.sleep(600)
"""


def test_nothing_of_a_program_outlives_its_item(project, monkeypatch):
    monkeypatch.setattr("pytest_miniwob_agent.plugins.program.agent.GRACE", 0.1)
    project.makepyfile(agent=HANGING)
    project.runpytest(f"--miniwob-agent={PYTHON}").assert_outcomes(passed=1)
    for id_ in project.path.joinpath("children").read_text().split():
        state = Path(f"/proc/{id_}/stat")
        assert not state.exists() or state.read_text().split()[2] == "Z"


def test_a_program_answers_a_task_of_an_app(pytester, chat_server, monkeypatch):
    project = AppPages(pytester, chat_server)
    project.write_task({"/": "<p>Four</p>"}, solved='trial.answer == "4" or None')
    project.makepyfile(agent="import os; open(os.environ['MINIWOB_ANSWER'], 'w').write('4\\n')")
    project.record(f"--miniwob-agent={PYTHON}").assert_outcomes(passed=1)
    project.runpytest(f"--miniwob-agent={PYTHON}").assert_outcomes(passed=1)


NODE = """
    const { env } = process;
    const ask = async (content) => {
      const messages = [{ role: "user", content }];
      const answer = await fetch(`${env.OPENAI_BASE_URL}/chat/completions`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ model: env.MINIWOB_MODEL, messages }),
      });
      return (await answer.json()).choices[0].message.content;
    };
    const socket = new WebSocket(env.MINIWOB_CDP_URL);
    const waiting = new Map();
    socket.onmessage = ({ data }) => {
      const { id, result } = JSON.parse(data);
      waiting.get(id)?.(result);
    };
    await new Promise((opened) => { socket.onopen = opened; });
    let number = 0, sessionId;
    const call = (method, params = {}) => new Promise((answered) => {
      waiting.set(++number, answered);
      socket.send(JSON.stringify({ id: number, method, params, ...(sessionId && { sessionId }) }));
    });
    const { targetInfos: [{ targetId }] } = await call("Target.getTargets");
    ({ sessionId } = await call("Target.attachToTarget", { targetId, flatten: true }));
    const selector = await ask(env.MINIWOB_GOAL);
    const expression = `(() => { const { x, y } = document.querySelector("${selector}")
      .getBoundingClientRect(); return [x + 5, y + 5]; })()`;
    const { result: { value: [x, y] } } =
      await call("Runtime.evaluate", { expression, returnByValue: true });
    for (const type of ["mousePressed", "mouseReleased"])
      await call("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
    socket.close();
"""


def test_a_program_in_node_is_an_agent(project):
    project.path.joinpath("shop.mjs").write_text(NODE)
    command = f"{shutil.which('node')} --experimental-websocket shop.mjs"
    project.record(f"--miniwob-agent={command}").assert_outcomes(passed=1)
    assert project.path.joinpath("cassettes/shop/m/page/1.yaml").exists()


def test_a_program_gets_no_key():
    kept = {"HOME": "/home/me", "PATH": "/bin"}
    keys = {"OPENAI_API_KEY": "any", "MY_TOKEN": "any", "DATABASE": "postgres://me:S3cr3tPw@db/x"}
    assert without_keys(kept | keys) == kept


def test_hosts_that_are_reached_without_a_proxy_are_kept_for_each_client():
    both = {"NO_PROXY": "a.test,127.0.0.1,localhost", "no_proxy": "a.test,127.0.0.1,localhost"}
    assert past_proxies({"NO_PROXY": "a.test"}) == past_proxies({"no_proxy": "a.test"}) == both


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "the program's command must be a command line or a list .* not ()"),
        ({"command": 'node "x'}, "such as 'node agent.mjs', not .*: No closing quotation"),
        ({"command": ["node", 3]}, "not .'node', 3."),
        ({"command": "x", "timeout": 0}, "timeout must be a number of seconds above 0, not 0"),
        ({"command": "x", "normalize": "date"}, 'normalize must be a list, such as ."date".'),
        ({"command": "x", "normalize": ["x=("]}, r"normalize 'x=\(' is no regular expression"),
        ({"command": "x", "trials": 0}, "trials must be an integer from 1 to 100, not 0"),
        ({"command": "x", "normalize": ["dat"]}, r"normalize 'dat' is not one of .*mean date"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    with pytest.raises(UsageError, match=message):
        load_agent("program", params=params)


@pytest.mark.parametrize(
    ("command", "name"),
    [("./run.sh", "run"), ("/bin/agent", "agent"), ("npx tsx agent.mts --x=1.5", "agent")],
)
def test_a_path_alone_is_a_program_too(command, name):
    agent = load_agent(command)
    assert (agent.name, agent.command) == (name, command.split())


@pytest.mark.sweep
def test_the_parameter_that_is_proposed_works_when_pasted(project):
    """The page's clock stands at another day, so the date is the program's; the id may be its."""
    before = 'page.click(ask(f"'
    assert AGENT.count(before) == 1
    more = "{__import__('datetime').datetime.now()}, {__import__('secrets').token_hex(16)}: "
    project.write(
        TEST_FILE.replace("{more}", ""),
        ini="miniwob_pages = pages\n",
        agent=AGENT.replace(before, f"{before}At {more}"),
    )
    project.server.reply = lambda prompt: "#yes"
    agent = f"--miniwob-agent={PYTHON}"
    recorded = project.record(agent)
    recorded.assert_outcomes(passed=1)
    drifted = project.runpytest(agent)
    for result, kinds in ((recorded, ["date"]), (drifted, ["date", "hex"])):
        [line] = [line for line in result.outlines if line.startswith("--miniwob-agent-params=")]
        [option] = shlex.split(line)
        given = json.loads(option.partition("=")[2])["normalize"]
        assert [one.partition("=")[0] for one in given] == kinds
    project.record(agent, option).assert_outcomes(passed=1)
    project.runpytest(agent, option).assert_outcomes(passed=1)


def test_a_program_that_is_not_there_is_named(project, monkeypatch, capsys):
    monkeypatch.chdir(project.path)
    main(["doctor", "--", f"--miniwob-agent={PYTHON}"])
    assert f"ok    program               {sys.executable}" in capsys.readouterr().out
    assert main(["doctor", "--", "--miniwob-agent=no-such-program x"]) == 1
    assert "WRONG program               there is no no-such-program" in capsys.readouterr().out
    result = project.record("--miniwob-agent=no-such-program x")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*the program `no-such-program x` can't be started: *No such file*"]
    )


SHOP = """
    import json, os, urllib.request
    from support.driving import Program

    with Program(os.environ["MINIWOB_CDP_URL"]) as page:
        page.click("button" if os.environ["MINIWOB_GOAL"] == "Buy milk" else "p")
        page.run("1")
"""


@pytest.fixture
def capture(pytester, chat_server, monkeypatch):
    """Capture runs on an app that is a fixture of conftest.py."""
    project = AppPages(pytester, chat_server)
    project.write_task({"/": BUY})
    project.test_file.unlink()
    project.makepyfile(agent=SHOP)
    paths = [str(ROOT / "tests"), str(project.path), *sys.path]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.chdir(project.path)

    def run(*options):
        wanted = ["--app=app", "--solved-when=text=Thank you", "--folder=e2e", *options]
        return main(["capture", *wanted, "--", *PYTHON.split()])

    run.project = project
    return run


@pytest.fixture
def in_process(capture, monkeypatch):
    """Let captures run pytest in this process, which has a browser."""
    monkeypatch.setattr(
        "pytest_miniwob_agent.plugins.program.capture._pytest",
        lambda *args: capture.project.runpytest(*args).ret == 0,
    )


BUY = "<p>Milk</p><button onclick='document.body.textContent = `Thank you`'>Buy</button>"


@pytest.mark.usefixtures("in_process")
def test_a_run_becomes_a_test_that_a_grader_judges(capture, capsys):
    capture.project.makepyfile(my_graders="def thanks(episode):\n    return episode.steps == 1\n")
    assert capture("--goal=Buy milk", "--solved-when=grader=my_graders:thanks") == 0
    said = capsys.readouterr().out
    assert "to commit:\n  e2e/test_buy_milk.py\n  cassettes/" in said
    assert "graders: thanks 1/1" in said
    written = capture.project.path.joinpath("e2e/test_buy_milk.py").read_text()
    assert "from my_graders import thanks\n" in written
    assert "graders=[thanks]" in written
    assert capture("--goal=Buy milk") == 2
    assert "exists: choose another --name" in capsys.readouterr().err


def test_a_run_without_a_result_becomes_no_test(capture, capfd):
    assert capture("--goal=Buy milk", "--solved-when=grader=nowhere:thanks", "--keep") == 1
    output, told = capfd.readouterr().out.split("\nthe run has no result, as the output above says")
    assert "No module named 'nowhere'" in output
    assert told == ", so no test was written\n"


@pytest.mark.sweep
@pytest.mark.usefixtures("in_process")
def test_a_run_that_fails_is_kept_if_that_is_asked_for(capture, capsys):
    bread = ("--goal=Buy bread", "--name=bread")
    assert capture(*bread) == 1
    said = capsys.readouterr().out
    assert "1 xfailed" not in said
    assert "not solved, so no test was written\nkept " in said
    written = capture.project.path.joinpath("e2e/test_bread.py")
    assert not written.exists()
    assert capture(*bread, "--keep") == 0
    said = capsys.readouterr().out
    assert "1 xfailed" in said
    assert "to commit:\n  e2e/test_bread.py\n  cassettes/" in said
    test = written.read_text()
    assert 'solved_when=lambda trial: trial.shows("Thank you") or None' in test
    assert '@pytest.mark.xfail(reason="unsolved: incomplete")' in test
    capture.project.makepyfile(my_graders="def never(episode):\n    return False\n")
    judge = "--solved-when=grader=my_graders:never"
    assert capture("--goal=Buy bread", "--name=never", judge, "--keep") == 0
    test = written.with_name("test_never.py").read_text()
    assert '@pytest.mark.xfail(reason="unsolved: never: failed")' in test


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--solved-when=colour=red"], "'colour=red' is not one of text=..., url=..., answer=..."),
        (["--solved-when=grader=thanks"], "'thanks' is not the MODULE:FUNCTION of a grader"),
        (["--solved-when=url=("], "'(' is no regular expression"),
        (["--name=!"], "give the test a --name of letters and digits"),
    ],
)
def test_what_can_not_be_captured_is_said(capture, capsys, options, message):
    assert capture("--goal=Buy", *options) == 2
    assert message in capsys.readouterr().err


TOOLS = """
    import asyncio, os
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def work():
        async with streamable_http_client(os.environ["MINIWOB_MCP_URL"]) as (read, write, *_):
            async with ClientSession(read, write) as session:
                await session.initialize()
                listed = {tool.name for tool in (await session.list_tools()).tools}
                assert {"observe", "reset", "click", "go_back"} <= listed, listed
                call = session.call_tool
                print((await call("observe", {})).content[0].text)
                wrong = await call("click", {"element": 99})
                print(wrong.is_error, wrong.content[0].text)
                print((await call("click", {"element": 2})).content[0].text)

    asyncio.run(work())
"""


@pytest.mark.sweep
def test_a_program_without_a_browser_gets_tools(project):
    project.makepyfile(agent=TOOLS)
    more = f", agents=[Program({PYTHON.split()!r}, tools=True)]"
    project.makepyfile(TEST_FILE.replace("{more}", more))
    result = project.record("-rP")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Goal: Click Yes.", "True *99*", "The task is over."])


def test_without_the_extra_the_error_names_it(project, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    params = json.dumps({"command": PYTHON, "tools": True})
    result = project.record("--miniwob-agent=program", f"--miniwob-agent-params={params}")
    result.stdout.fnmatch_lines(["*pip install 'pytest-miniwob-agent[[]mcp[]]'"])


OPEN = """
    import json, os, urllib.request
    from support.driving import Program

    port = os.environ["MINIWOB_CDP_PORT"]
    for url in (f"http://127.0.0.1:{port}", os.environ["MINIWOB_CDP_HTTP_URL"]):
        with urllib.request.urlopen(f"{url}/json/version") as found:
            address = json.load(found)["webSocketDebuggerUrl"]
    with Program(address) as page:
        page.click("#yes")
        page.run("1")
"""


def test_a_program_may_get_a_port(project):
    project.makepyfile(agent=OPEN)
    params = json.dumps({"command": PYTHON, "open_port": True, "name": "port"})
    options = ("--miniwob-agent=program", f"--miniwob-agent-params={params}")
    project.runpytest(*options).assert_outcomes(passed=1)
