"""The agent that is a program of its own: a command line that works on the item's page.

It is started once for each trial and gets, by environment variables, the goal, the address of the
page in the Chrome DevTools Protocol, and the address of the model (docs/write-an-agent.md has the
table). The trial ends when the program ends, or when the page has judged.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_miniwob_agent.agents.registry import check_flag, check_integer, named_agent
from pytest_miniwob_agent.core.data import MASKS, Mask, masked
from pytest_miniwob_agent.core.errors import ProgramError, StepLimit, UsageError
from pytest_miniwob_agent.core.events import Note
from pytest_miniwob_agent.core.observations import Observation
from pytest_miniwob_agent.core.protocols import LLM, Environment
from pytest_miniwob_agent.core.text import counted, nearest
from pytest_miniwob_agent.hookspec import Check
from pytest_miniwob_agent.plugin.state import Setup, State
from pytest_miniwob_agent.plugins.program.environment import (
    for_models,
    past_proxies,
    without_keys,
)

if TYPE_CHECKING:
    from pytest_miniwob_agent.cassettes.varying import Varying

TIMEOUT = 600.0
"""Seconds after which a program is ended that goes on."""

GRACE = 5.0
"""Seconds that a program has to end by itself once its trial is over."""

POLL = 0.02
"""Seconds between two looks at the program and its page."""

LAST_LINES = 20
"""Lines of the program's output in an error."""

MOST_PARTS, LONGEST_PART = 10_000, 1000
"""What is kept of the program's output: the last so many parts, lines or pieces of so many
characters of longer ones."""


class ProgramAgent:
    """Runs a program on the page of each trial, and gives its answer if the task asks for one.

    Args:
        command: the command line, or its words.
        name: the folder of its cassettes; by default the stem of the program's file.
        trials: how often it is started on an item that it does not solve.
        timeout: seconds that it may take for a trial.
        normalize: what differs from run to run in its requests: `date` and other names of `MASKS`,
            or further ones as `NAME=REGEX`.
        tools: True for a program without a browser: it gets the page as the tools of an MCP
            server (`tools`), and begins further trials itself.
        open_port: True for a client that takes a port alone, which has no secret (SECURITY.md).
        cwd: where it runs, from the folder of the item's test on.
        folder: the folder of the item's test.
        task: the name of the item's task.
        seed: the item's seed.

    Raises:
        UsageError: the command is empty or no command line, or a parameter is wrong.
    """

    # A program does not know that the page has judged, and may go on for some seconds.
    calls_end_with_trial = True

    def __init__(
        self,
        command: str | Sequence[str] = (),
        name: str = "",
        trials: int = 1,
        timeout: float = TIMEOUT,
        normalize: Sequence[str] = (),
        tools: bool = False,
        open_port: bool = False,
        cwd: str = ".",
        folder: Path | None = None,
        task: str = "",
        seed: int = 0,
    ) -> None:
        self.command = _words(command)
        self._folder = (folder or Path.cwd()) / cwd
        self.name = name or program_name(self.command)
        self._trials = check_integer("trials", trials, 1, 100)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
            raise UsageError(f"timeout must be a number of seconds above 0, not {timeout!r}")
        self._timeout = timeout
        self._tools = check_flag("tools", tools)
        self._open_port = check_flag("open_port", open_port)
        if isinstance(normalize, str):
            raise UsageError(f"normalize must be a list, such as {json.dumps([normalize])}")
        self._masks = [_parse_mask(each) for each in normalize]
        self._about = {"MINIWOB_TASK": task, "MINIWOB_SEED": str(seed)}

    def normalize(self, request: dict[str, Any]) -> dict[str, Any]:
        return dict(masked(request, *self._masks))

    def propose_normalize(self, varying: Sequence[Varying]) -> str:
        """Return the parameter that leaves out of its requests what differs from run to run."""
        known = {mask: mask.name for mask in MASKS}
        masks = dict.fromkeys([*self._masks, *(one.mask for one in varying)])
        given = json.dumps([known.get(one, f"{one.name}={one.pattern}") for one in masks])
        option = shlex.quote(f'{{"normalize": {given}}}')
        return (
            f"Leave it out with\n\n--miniwob-agent-params={option}\n\n"
            f"or in a test with Program(..., normalize={given})"
        )

    def solve(self, env: Environment, llm: LLM, note: Note) -> None:
        """Run the program once for each trial, until one is solved."""
        about = {**self._about, "MINIWOB_MODEL": llm.model, **for_models(llm.base_url)}
        for trial in range(1, self._trials + 1):
            seen = env.reset(screen=env.default_screen)
            with tempfile.TemporaryDirectory(prefix="miniwob-program-") as folder:
                answer = Path(folder, "answer.txt")
                about |= {"MINIWOB_GOAL": seen.goal, "MINIWOB_TRIAL": str(trial)}
                about |= {"MINIWOB_ANSWER": str(answer)}
                try:
                    over, reward = self._play(env, seen, about)
                except StepLimit:
                    continue
                if not over and seen.answers and answer.is_file():
                    reward = env.answer(answer.read_text("utf-8").strip()).reward
                if reward >= 1:
                    return

    def _play(
        self, env: Environment, seen: Observation, about: Mapping[str, str]
    ) -> tuple[bool, float]:
        """Run the program on the page; whether that has judged, and its reward."""
        if self._tools:
            from pytest_miniwob_agent.plugins.program.tools import ToolServer

            with closing(ToolServer(env, seen)) as tools:
                self._run({**about, "MINIWOB_MCP_URL": tools.url}, lambda: tools.over)
            if tools.error is not None:
                raise tools.error
            return tools.over, tools.reward
        with env.hand_over(open_port=self._open_port) as page:
            addresses = {"MINIWOB_CDP_URL": page.cdp_url, "MINIWOB_CDP_HTTP_URL": page.http_url}
            if page.port is not None:
                addresses["MINIWOB_CDP_PORT"] = str(page.port)
            try:
                self._run({**about, **addresses}, lambda: page.over)
            except ProgramError:
                if not page.done:  # which reads the page, as it may have ended with its last input
                    raise
            return page.done, page.reward

    def _run(self, about: Mapping[str, str], is_over: Callable[[], bool]) -> None:
        """Run the program until it ends, or its trial.

        Raises:
            ProgramError: it fails, or takes too long.
        """
        environment = without_keys(os.environ)
        environment |= {**past_proxies(environment), **about}
        try:
            program = subprocess.Popen(
                self.command,
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"{self._shown} can't be started: {error}") from None
        output = _Output(program.stdout)
        began, over = time.monotonic(), 0.0
        try:
            while program.poll() is None:
                now = time.monotonic()
                over = over or (now if is_over() else 0.0)
                if over and now - over > GRACE:
                    break
                if now - began > self._timeout:
                    raise ProgramError(
                        f"{self._shown} was ended after {counted(round(self._timeout), 'second')}; "
                        f"its parameter `timeout` allows more{output.end}"
                    )
                time.sleep(POLL)
        finally:
            _end(program)
            output.finish()
        if program.returncode and not (over or is_over()):
            raise ProgramError(
                f"{self._shown} ended with the status {program.returncode}{output.end}"
            )

    @property
    def _shown(self) -> str:
        return f"the program `{shlex.join(self.command)}`"


class _Output:
    """What a program prints: it goes to standard output, where pytest captures it."""

    def __init__(self, stream: IO[str] | None) -> None:
        assert stream is not None
        self._stream = stream
        self._lines: deque[str] = deque(maxlen=MOST_PARTS)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with suppress(ValueError):  # it is closed
            self._lines.extend(iter(partial(self._stream.readline, LONGEST_PART), ""))

    def finish(self) -> None:
        self._reader.join(1)
        if not self._reader.is_alive():  # as it is while a child of the program has the pipe open
            self._stream.close()
        sys.stdout.writelines(self._lines.copy())

    @property
    def end(self) -> str:
        lines = "".join(f"\n  {line.rstrip()}" for line in list(self._lines)[-LAST_LINES:])
        return f". Its last lines:{lines}" if lines else ""


def _end(program: subprocess.Popen[str]) -> None:
    """End a program, and what it has started in its process group."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(program.pid, sent)
        with suppress(subprocess.TimeoutExpired):
            program.wait(2)


def _words(command: Any) -> list[str]:
    words, why = command, ""
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError as error:
        words, why = [], f": {error}"
    if words and isinstance(words, list | tuple) and all(isinstance(word, str) for word in words):
        return [*words]
    raise UsageError(
        "the program's command must be a command line or a list of its words, such as "
        f"'node agent.mjs', not {command!r}{why}"
    )


def program_name(command: Sequence[str]) -> str:
    """Name a program by its file: `node agent.mjs` and `python -m agent` are `agent`."""
    for before, word in pairwise(command):
        if before == "-m" or (Path(word).suffix and not word.startswith("-")):
            return Path(word).stem
    return Path(command[0]).stem


def check_programs(state: State) -> list[Check]:
    """Check that the programs of a run's agents are there."""
    setups = [Setup.of_options(state.settings), *state.setups.values()]
    named = [one for one in setups if named_agent(one.agent, one.params)[0] == "program"]
    agents: list[Any] = [one.make_agent(state) for one in named]
    checks = []
    for program in sorted({agent.command[0] for agent in agents}):
        found = shutil.which(program)
        fix = "" if found else "install it, or name its path in the command"
        checks.append(Check("program", found or f"there is no {program}", fix))
    return checks


def _parse_mask(text: str) -> Mask:
    name, _, pattern = text.partition("=")
    if pattern:
        try:
            re.compile(pattern)
        except re.error as error:
            raise UsageError(f"normalize {text!r} is no regular expression: {error}") from None
        return Mask(name, pattern)
    found = next((mask for mask in MASKS if mask.name == name), None)
    if found is None:
        known = [mask.name for mask in MASKS]
        raise UsageError(
            f"--miniwob-agent-params: normalize {text!r} is not one of {', '.join(known)}"
            f"{nearest(name, known)}; a kind of your own is NAME=REGEX"
        )
    return found
