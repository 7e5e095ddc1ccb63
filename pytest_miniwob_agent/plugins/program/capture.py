"""`miniwob-agent capture`: one run of a program on an app becomes a test that replays."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from os.path import relpath
from pathlib import Path

from pytest_miniwob_agent.cassettes.folder import BODIES, PENDING
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path, shown_from_here, write_atomically
from pytest_miniwob_agent.core.text import counted, sanitize_line
from pytest_miniwob_agent.models.api import FOLDER
from pytest_miniwob_agent.plugin.reading import read_ini_option
from pytest_miniwob_agent.results.file import read_results

JUDGES = {
    "text": "solved_when=lambda trial: trial.shows({0}) or None",
    "url": "solved_when=lambda trial: bool(re.search({0}, trial.url)) or None",
    "answer": "solved_when=lambda trial: None if trial.answer is None else trial.answer == {0}",
    "grader": "graders=[{1}]",
}
"""What solves the task, by the form in which `--solved-when` names it."""

TEST = '''\
"""{title}: captured by miniwob-agent."""
{imports}
import pytest

from pytest_miniwob_agent import AppTask, Program
{own}
TASK = AppTask(
    {task},
    app={app},
    start={start},
    goal={goal},
    {judge},
)


{mark}@pytest.mark.miniwob(
    TASK,
    seeds=[1],
    trials=1,
    agents=[Program({command}{cwd})],
    models=[{model}],
)
def test_{name}(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
'''

EPILOG = """\
The program gets the goal, the page and the model's address by its environment, as
docs/write-an-agent.md describes. The model is asked once; then pytest replays the test without app,
network and key:

  miniwob-agent capture --app http://127.0.0.1:3000 --goal "Buy milk" \\
      --solved-when 'text=Thank you' -- node agent.mjs
  pytest tests/test_buy_milk.py
"""


def add_capture(parser: ArgumentParser) -> None:
    parser.description = (
        "Run a program once on an app, with everything recorded, and write a test with its "
        "cassettes that pytest replays at once. The program is what follows --."
    )
    parser.epilog = EPILOG
    parser.add_argument(
        "--app", required=True, help="the app's address, or the name of a fixture that starts it"
    )
    parser.add_argument("--goal", required=True, help="what the agent is asked to do")
    parser.add_argument(
        "--solved-when",
        required=True,
        metavar="KIND=VALUE",
        help="what solves the task: text=TEXT on the page, url=REGEX of its address, answer=TEXT "
        "that the program gives, or grader=MODULE:FUNCTION",
    )
    parser.add_argument("--start", default="/", help="the path to begin at (default: %(default)s)")
    parser.add_argument("--name", help="the test's name (default: made of the goal)")
    parser.add_argument(
        "--folder", type=Path, default=Path("tests"), help="for the test (default: %(default)s)"
    )
    parser.add_argument("--model", help="the model's id (default: that of the ini file)")
    parser.add_argument("--base-url", metavar="URL", help="the model's server")
    parser.add_argument(
        "--keep", action="store_true", help="keep a run that fails, as an expected failure"
    )
    parser.set_defaults(run=capture, program=[])


def capture(options: Namespace) -> int:
    """Write the test; return 1 if the run fails and is not kept."""
    name = _identifier(options.name or options.goal)
    file = options.folder / f"test_{name}.py"
    model = options.model or read_ini_option("model")
    if not options.program:
        raise UsageError("name the program after --, such as: -- node agent.mjs")
    if not model:
        raise UsageError("no model is named: give --model, or miniwob_model in the ini file")
    if file.exists():
        raise UsageError(f"{display_path(file)} exists: choose another --name")
    write_atomically(file, _test(options, name, model, file))
    server = [f"--miniwob-base-url={options.base_url}"] if options.base_url else []
    results = PENDING.with_name("captured.jsonl")
    results.unlink(missing_ok=True)
    passed = _pytest(file, "--miniwob-record=new_episodes", f"--miniwob-results={results}", *server)
    why = "" if passed else _reason(results)
    cassettes: Path = read_ini_option("cassettes")
    recorded = [*cassettes.glob(f"*/*/{_task(name)}/*")]  # also by an earlier run
    if not passed and not (options.keep and why):
        file.unlink()
        ended = "not solved" if why else "the run has no result, as the output above says"
        print(f"\n{ended}, so no test was written")
        if recorded:
            print(f"kept {counted(len(recorded), 'file')}: the same command continues there")
        if why:
            print("--keep makes a test of it that is expected to fail")
        return 1
    if not passed:
        write_atomically(file, _test(options, name, model, file, why))
    if not _pytest(file):
        raise UsageError(
            f"{shown_from_here(file)} was recorded, but its replay is not the same: the output "
            "above says what differs"
        )
    shared = [path for each in (BODIES, FOLDER) if (path := cassettes / each).exists()]
    folders = {str(display_path(path)) for path in [*shared, *(one.parent for one in recorded)]}
    print("\nto commit:", str(shown_from_here(file)), *sorted(folders), sep="\n  ")
    print(f"run it: pytest {shlex.quote(str(shown_from_here(file)))}")
    return 0


def _identifier(text: str) -> str:
    name = re.sub(r"\W+", "_", text.lower(), flags=re.ASCII).strip("_")[:50].rstrip("_")
    if not name:
        raise UsageError("give the test a --name of letters and digits")
    return name


def _test(options: Namespace, name: str, model: str, file: Path, fails: str = "") -> str:
    kind, _, value = options.solved_when.partition("=")
    if kind not in JUDGES or not value:
        kinds = ", ".join(f"{kind}=..." for kind in JUDGES)
        raise UsageError(f"--solved-when {options.solved_when!r} is not one of {kinds}")
    if kind == "url":
        try:
            re.compile(value)
        except re.error as error:
            raise UsageError(f"--solved-when {value!r} is no regular expression: {error}") from None
    module, _, function = value.partition(":") if kind == "grader" else ("", "", "")
    if kind == "grader" and not (module and function.isidentifier()):
        raise UsageError(f"--solved-when {value!r} is not the MODULE:FUNCTION of a grader")
    folder = relpath(Path.cwd(), file.parent.resolve())
    return TEST.format(
        title=sanitize_line(options.goal).replace("\\", "/").replace('"', "'"),
        goal=_quoted(options.goal),
        imports="\nimport re\n" if kind == "url" else "",
        own=f"from {module} import {function}\n" if module else "",
        task=_quoted(_task(name)),
        app=_quoted(options.app),
        start=_quoted(options.start),
        judge=JUDGES[kind].format(_quoted(value), function),
        command=_quoted(options.program),
        cwd="" if folder == "." else f", cwd={_quoted(folder)}",
        model=_quoted(model),
        name=name,
        mark=f"@pytest.mark.xfail(reason={_quoted(fails)})\n" if fails else "",
    )


def _quoted(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)  # which is Python, too


def _task(name: str) -> str:
    return name.replace("_", "-")


def _pytest(file: Path, *args: str) -> bool:
    words = ["pytest", str(file), *args]
    print(f"$ {shlex.join(words[:3])}", flush=True)
    return subprocess.run([sys.executable, "-m", *words], check=False).returncode == 0


def _reason(results: Path) -> str:
    """Return why an item that has a result is not solved; empty if it has none."""
    if not results.exists():
        return ""
    [result] = read_results(results).results
    return f"{result.outcome}: {', '.join(result.objections or result.endings)}"
