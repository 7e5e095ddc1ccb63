"""What examples/ has recorded is replayed: by its agents, and on its pages."""

import shutil
import subprocess
import sys

import pytest
from support.frameworks import BROWSERS, FRAMEWORKS, find_program
from support.playwright_scripts import print_script, run_scripts
from support.projects import INNER_RUNS, ROOT, RUNS_OF_APPS
from support.sweeps import EVERY, swept

pytestmark = pytest.mark.integration


def replay(python, *args, options=INNER_RUNS):
    command = [python, "-m", "pytest", *args, "-pno:cacheprovider", *options.split()]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture
def replay_here(pytester, monkeypatch):
    """The same with the tests' own Python and browser."""
    monkeypatch.chdir(ROOT)

    def replay(*args):
        run = pytester.runpytest_inprocess(*args, "-pno:cacheprovider")
        assert run.ret == pytest.ExitCode.OK
        return run.stdout.str()

    return replay


def test_the_agent_without_a_framework_replays_the_item_that_it_solved(replay_here):
    args = ("examples/test_examples.py", "-k", "click-checkboxes", "--miniwob-agent=plain:Plain")
    assert "1 passed" in replay_here(*args)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("agent", "task"),
    [
        ("with_ag2:AG2", "login-user"),
        ("with_langchain:LangChain", "enter-text"),
        ("with_litellm:LiteLLM", "login-user"),
        ("with_openai_agents:OpenAIAgents", "login-user"),
        ("with_pydantic_ai:PydanticAI", "enter-text"),
        ("with_smolagents:Smolagents", "click-test-2"),
    ],
)
def test_an_agent_on_a_framework_replays_the_item_that_it_solved(agent, task):
    python = find_program(FRAMEWORKS, "python")
    assert "1 passed" in replay(
        python, "examples/test_examples.py", "-k", task, f"--miniwob-agent={agent}"
    )


@pytest.mark.sweep
@pytest.mark.parametrize(
    "agent",
    [
        "with_browser_use:BrowserUse",
        "with_playwright:Playwright",
        "with_playwright_mcp:PlaywrightMCP",
    ],
)
def test_an_agent_that_drives_the_browser_replays_to_its_baseline(agent, tmp_path):
    python, output = find_program(BROWSERS, "python"), tmp_path / "results.jsonl"
    arguments = (f"--miniwob-agent={agent}", f"--miniwob-results={output}")
    assert "10 passed" in replay(python, "examples/test_browsers.py", *arguments)
    name = agent.partition(":")[0].removeprefix("with_").replace("_", "-")
    assert output.read_bytes() == (ROOT / "examples" / f"{name}.jsonl").read_bytes()


WITH_PAGE = """
import pytest
from pytest_miniwob_agent.browser.local import find_browser

@pytest.fixture(scope="session")
def browser_type_launch_args():
    return {"executable_path": find_browser(), "args": ["--no-sandbox"]}

def test_page(page):
    page.set_content("<p>Hello</p>")
    assert page.inner_text("p") == "Hello"
"""


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("agent", "first"),
    [("with_browser_use:BrowserUse", True), ("with_playwright:Playwright", False)],
    ids=["asynchronous-before", "synchronous-after"],
)
def test_it_runs_beside_tests_with_the_page_of_pytest_playwright(agent, first, tmp_path):
    python = find_program(BROWSERS, "python")
    if not [*BROWSERS.glob("lib/*/site-packages/pytest_playwright")]:
        pytest.skip("no pytest-playwright in .venv-browsers: run `make frameworks`")
    theirs = tmp_path / "test_page.py"
    theirs.write_text(WITH_PAGE)
    items = ["examples/test_browsers.py"]
    files = [theirs, *items] if first else [*items, theirs]
    arguments = ("-cexamples/pytest.ini", "-k", "page or click-test", f"--miniwob-agent={agent}")
    assert "2 passed" in replay(python, *files, *arguments)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("twins", "some"),
    [("perturbed", "login or shop"), ("injected", "comment or mail or picture")],
)
def test_an_agent_that_drives_the_browser_replays_pages_and_their_twins(twins, some):
    arguments = (f"-cexamples/{twins}/pytest.ini", "--miniwob-agent=with_browser_use:BrowserUse")
    part = () if EVERY == "1" else ("-k", some)
    replay(find_program(BROWSERS, "python"), f"examples/{twins}", *arguments, *part)


ADMIN = "examples/django_admin"


@pytest.mark.parametrize("tasks", ["delete-user", *swept("not delete-user")])
def test_tasks_on_an_app_replay_without_it(tasks):
    """Nothing of Django is imported: its own settings would need it."""
    replay(sys.executable, f"{ADMIN}/test_admin.py", f"-c{ADMIN}/pytest.ini", "-k", tasks)


@pytest.mark.sweep
def test_an_agent_that_drives_the_browser_replays_tasks_on_an_app():
    python = find_program(BROWSERS, "python")
    file = f"{ADMIN}/test_admin_browser_use.py"
    assert "5 passed" in replay(python, file, f"-c{ADMIN}/pytest.ini", "-n1")


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("file", "environment"),
    [("test_admin.py", None), ("test_admin_browser_use.py", BROWSERS)],
)
def test_tasks_on_an_app_pass_on_it_with_the_recorded_answers_in_any_order(file, environment):
    python = find_program(environment, "python") if environment else sys.executable
    arguments = (f"{ADMIN}/{file}", f"-c{ADMIN}/pytest.ini", "--miniwob-app=live")
    assert "5 passed" in replay(python, *arguments, options=RUNS_OF_APPS)


BROKEN = """
from django.contrib.admin import ModelAdmin
ModelAdmin.delete_model = ModelAdmin.delete_queryset = lambda *values: None
"""
"""The admin says that a user was deleted, and deletes nobody."""


@pytest.mark.sweep
def test_solved_tasks_on_an_app_run_as_playwright_tests(tmp_path):
    folder = shutil.copytree(ROOT / ADMIN, tmp_path / "admin")
    runs = [
        print_script(folder, f"{name}/1", "test_admin.py") for name in ("delete-user", "find-staff")
    ]
    scripts = [run.stdout for run in runs]
    assert [run.stderr for run in runs] == ["", ""]
    run_scripts(folder, scripts, "pytest_django")
    with folder.joinpath("settings.py").open("a") as settings:
        settings.write(BROKEN)
    with pytest.raises(AssertionError, match="reward of AppTask 'delete-user' says False"):
        run_scripts(folder, scripts[:1], "pytest_django")


@pytest.mark.sweep
def test_solved_own_pages_run_as_playwright_tests(tmp_path):
    folder = shutil.copytree(ROOT / "examples", tmp_path / "examples")
    runs = [
        print_script(folder, f"login-code/{seed}", "test_login_code.py", PICTURES)
        for seed in (1000, 1001)
    ]
    run_scripts(folder, [run.stdout for run in runs])


PICTURES = '--miniwob-agent-params={"screen": "picture"}'


@pytest.mark.sweep
@pytest.mark.parametrize(("suite", "arguments"), [("shop", []), ("login_code", [PICTURES])])
def test_recorded_suites_of_own_pages_replay_to_their_baselines(
    replay_here, suite, arguments, tmp_path
):
    output = tmp_path / "results.jsonl"
    expected = ROOT / "examples" / f"{suite.replace('_', '-')}.jsonl"
    gate = ("--miniwob-gate=items", f"--miniwob-baseline={expected}")
    args = (f"examples/test_{suite}.py", *arguments, *gate, f"--miniwob-results={output}")
    assert "gate items: passed" in replay_here(*args)
    assert output.read_bytes() == expected.read_bytes()
