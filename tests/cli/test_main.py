"""The command `miniwob-agent` as a whole."""

import re
import subprocess
import sys

import pytest

from pytest_miniwob_agent.cli import main

HEAVY = ("selenium", "openai", "httpx2", "lxml", "numpy", "vcr", "yaml", "pytest")
"""Modules that take long to import."""

COMMANDS = (
    "doctor", "show", "play", "cassettes", "prompts", "compare", "results",
    "tasks", "new-task", "open", "capture", "batch", "certify", "judges",
    "tables", "report",
)  # fmt: skip


@pytest.mark.integration
def test_help_lists_all_commands_and_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from pytest_miniwob_agent.cli import main\n"
        "try:\n"
        "    main(['--help'])\n"
        "except SystemExit as end:\n"
        "    print('status', end.code)\n"
        f"print('imported', [name for name in {HEAVY} if name in sys.modules])\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    *text, status, imported = found.stdout.splitlines()
    assert (status, imported) == ("status 0", "imported []")
    listed = [line.split()[0] for line in text if line.startswith("    ") and line[4] != " "]
    assert tuple(listed) == COMMANDS


@pytest.mark.parametrize("command", ["cassettes lint", "batch status", *COMMANDS])
def test_every_command_has_help_that_fits_a_terminal(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit, match="0"):
        main([*command.split(), "--help"])
    text = capsys.readouterr().out
    assert text.startswith(f"usage: miniwob-agent {command} ")
    assert max(map(len, text.splitlines())) < 80
    assert not re.search(r"\w-\n", text)  # options are not broken at a hyphen
    if command in ("tasks", "certify"):
        assert "suite: paper, rci, webwise, all, browsergym, " in " ".join(text.split())


@pytest.mark.parametrize(
    "arguments",
    [[], ["no-such-command"], ["batch"], ["tables"], ["tasks", "webwise", "--", "-k", "pie"]],
)
def test_wrong_usage_exits_with_2(capsys, arguments):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert capsys.readouterr().err.startswith("usage: miniwob-agent ")
