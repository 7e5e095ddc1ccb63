"""Fixtures of the commands: a recorded project, and calls in its folder."""

import pytest
from _pytest.pytester import SysModulesSnapshot, SysPathsSnapshot
from support.shared_browser import SharedBrowser

from pytest_miniwob_agent.cli import main

from .shown_episode import click_quit_first


@pytest.fixture
def call(project, capsys, monkeypatch, loaded_modules, request):
    """Call the command in the project's folder; returns its status and output.

    Its runs of pytest have the shared browser.
    """
    monkeypatch.chdir(project.path)
    run, shared = pytest.main, SharedBrowser(lambda: request.getfixturevalue("browser"))
    monkeypatch.setattr(pytest, "main", lambda args, plugins: run(args, [*plugins, shared]))

    def call(*args):
        capsys.readouterr()
        modules, paths = SysModulesSnapshot(), SysPathsSnapshot()
        try:
            status = main(args)
        finally:
            modules.restore()
            paths.restore()
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def recorded(project, recordings):
    kept = recordings / "click_quit_first"
    project.use_recordings(kept, click_quit_first, "-k", "click-menu-2/1")
    return project
