"""Items while an event loop runs in the thread of the tests, and agents that leave one running."""

import sys

import pytest

AGENTS = """
    import asyncio, contextvars, threading

    import sniffio
    from pytest_miniwob_agent import Click

    ASKED = contextvars.ContextVar("ASKED", default="nothing")

    def running():
        try:
            return asyncio.get_running_loop()
        except RuntimeError:
            return None

    class Base:
        def work(self, env):
            assert threading.current_thread() is threading.main_thread()
            assert ASKED.get() == "by the test"
            env.reset()
            env.step(Click(1))
            env.step(Click(2))

    class Async(Base):
        name = "async"

        async def solve(self, env, llm, note):
            await asyncio.sleep(0)
            assert sniffio.current_async_library() == "asyncio"
            client = llm.async_client.chat.completions
            question = {"model": llm.model, "messages": [{"role": "user", "content": "?"}]}
            answers = await asyncio.gather(*(client.create(**question) for _ in range(2)))
            assert [each.choices[0].message.content for each in answers] == ["x", "y"]
            self.work(env)

    class Runs(Async):
        name = "runs"

        def solve(self, env, llm, note):
            asyncio.run(super().solve(env, llm, note))

    class Calls(Base):
        name = "calls"

        async def solve(self, env, llm, note):
            env.reset()
            while True:
                await asyncio.to_thread(llm.complete, "again", "plan")

    class Interrupted(Base):
        name = "interrupted"

        async def solve(self, env, llm, note):
            env.reset()
            raise KeyboardInterrupt

    class Leaving(Base):
        '''Leaves a loop running that it goes on with, as Playwright does.'''
        name = "leaving"
        loop = None

        def solve(self, env, llm, note):
            assert running() is Leaving.loop
            if Leaving.loop is None:
                Leaving.loop = asyncio.new_event_loop()
                Leaving.loop._thread_id = threading.get_ident()
                asyncio._set_running_loop(Leaving.loop)
            self.work(env)

    class Page:
        def __init__(self, loop):
            self._loop = loop

        def use(self):
            assert running() is self._loop

    class Given(Base):
        '''Works with a page of the tests' Playwright.'''
        name = "given"

        def __init__(self, page):
            self.page = page

        def solve(self, env, llm, note):
            self.page.use()
            self.work(env)
"""

TESTS = """
    import asyncio, threading

    import agents, pytest
    from agents import running
    from pytest_miniwob_agent.testing import ScriptedLLM

    @pytest.fixture
    def miniwob_llm():
        return ScriptedLLM(["x", "y"] * 300)

    @pytest.fixture(scope="session")
    def page():
        '''As pytest-playwright's, from whose first use on a loop is running.'''
        before = running()
        loop = asyncio.new_event_loop()
        loop._thread_id = threading.get_ident()
        asyncio._set_running_loop(loop)
        yield agents.Page(loop)
        asyncio._set_running_loop(before)

    @pytest.fixture
    def miniwob_agent(request):
        cls = getattr(agents, request.config.getoption("mine"))
        agents.ASKED.set("by the test")
        return cls(request.getfixturevalue("page")) if cls is agents.Given else cls()

    @pytest.mark.miniwob("click-menu-2", seeds=[1, 2])
    def test_before(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()

    def test_page(page):
        page.use()

    @pytest.mark.miniwob("click-menu-2", seeds=[3, 4])
    def test_after(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()

    @pytest.mark.miniwob("click-menu-2", seeds=[5])
    def test_both(page, miniwob_episode):
        page.use()
        assert miniwob_episode.solved, miniwob_episode.explain()

    def test_page_again(page):
        page.use()
"""

IN_A_LOOP = {
    "a coroutine": "import asyncio; asyncio.run(main(asyncio.current_task))",
    "anyio": "import anyio, asyncio; anyio.run(main, asyncio.current_task)",
    "trio": "import trio; trio.run(main, trio.lowlevel.current_task)",
}
"""Where a test can be run; each is told how to find out the task that it is run in."""

MAIN = """
import sys, pytest

async def main(current_task):
    task = current_task()
    status = pytest.main(sys.argv[1:])
    assert current_task() is task
    sys.exit(status)

"""


@pytest.fixture
def mine(project):
    project.makeconftest(
        (project.path / "conftest.py").read_text()
        + '\n\ndef pytest_addoption(parser):\n    parser.addoption("--agent", dest="mine")\n'
    )
    for path in project.path.glob("test_*.py"):
        path.unlink()
    project.makepyfile(agents=AGENTS, test_mine=TESTS)
    project.syspathinsert()
    return project


@pytest.mark.parametrize("name", ["Async", "Runs", "Leaving", "Given"])
def test_items_run_beside_tests_that_leave_a_loop_running(mine, name):
    mine.runpytest_subprocess(f"--agent={name}").assert_outcomes(passed=7)


@pytest.mark.parametrize(
    ("where", "name"),
    [
        *(("a coroutine", name) for name in ("Async", "Runs", "Leaving", "Given")),
        ("anyio", "Async"),
        ("trio", "Async"),
    ],
)
def test_items_run_where_pytest_is_called_in_a_loop(mine, where, name):
    (mine.path / "main.py").write_text(MAIN + IN_A_LOOP[where])
    run = mine.run(sys.executable, "main.py", f"--agent={name}", *mine.path.glob("test_*.py"))
    run.assert_outcomes(passed=7)
    assert run.ret == 0


def test_limits_end_it(mine):
    run = mine.runpytest_subprocess("--agent=Calls", "-k", "page or after")
    run.assert_outcomes(passed=2, failed=2, deselected=3)
    run.stdout.fnmatch_lines(["INCOMPLETE in trial 1*", "*model calls are used up*"])


def test_an_interrupt_ends_it(mine):
    run = mine.runpytest_subprocess("--agent=Interrupted", "-k", "page or after")
    assert run.ret == pytest.ExitCode.INTERRUPTED
    run.assert_outcomes(passed=1)
