"""Items while an event loop runs in the thread of the tests, and agents that leave one running."""

import asyncio

import pytest
import trio
from support.projects import FAKE_PAGE

AGENTS = """
    import asyncio, contextvars, threading

    import sniffio
    from pytest_miniwob_agent import Click

    ASKED = contextvars.ContextVar("ASKED", default="nothing")
    LOOPS = []

    def begin_loop():
        loop = asyncio.new_event_loop()
        loop._thread_id = threading.get_ident()
        asyncio._set_running_loop(loop)
        LOOPS.append(loop)
        return loop

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
                Leaving.loop = begin_loop()
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
    import asyncio

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
        yield agents.Page(agents.begin_loop())
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

IN_A_LOOP = {"a coroutine": asyncio.run, "trio": trio.run}


HOOKS = """
    import agents

    def pytest_addoption(parser):
        parser.addoption("--agent", dest="mine")

    def pytest_unconfigure():
        for loop in agents.LOOPS:
            loop._thread_id = None
            loop.close()
"""


@pytest.fixture
def run(project):
    project.syspathinsert()
    project.write(TESTS, FAKE_PAGE + HOOKS, agents=AGENTS)
    yield lambda name, *args: project.runpytest(f"--agent={name}", *args, no_reraise_ctrlc=True)
    asyncio._set_running_loop(None)  # which Leaving leaves behind


@pytest.mark.parametrize("name", ["Async", "Runs", "Leaving", "Given"])
def test_items_run_beside_tests_that_leave_a_loop_running(run, name):
    run(name).assert_outcomes(passed=7)


@pytest.mark.parametrize(
    ("where", "name"),
    [
        *(("a coroutine", name) for name in ("Async", "Runs", "Leaving", "Given")),
        ("trio", "Async"),
    ],
)
def test_items_run_where_pytest_is_called_in_a_loop(run, where, name):
    async def main():
        current_task = trio.lowlevel.current_task if where == "trio" else asyncio.current_task
        task = current_task()
        result = run(name)
        assert current_task() is task
        return result

    IN_A_LOOP[where](main() if where == "a coroutine" else main).assert_outcomes(passed=7)


def test_limits_end_it(run):
    result = run("Calls", "-k", "page or after")
    result.assert_outcomes(passed=2, failed=2, deselected=3)
    result.stdout.fnmatch_lines(["INCOMPLETE in trial 1*", "*model calls are used up*"])


def test_an_interrupt_ends_it(run):
    result = run("Interrupted", "-k", "page or after")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(passed=1)
