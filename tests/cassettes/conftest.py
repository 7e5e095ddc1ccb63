"""A recorded project for the tests of cassettes."""

import shutil

import pytest
from projects import solve_menu


@pytest.fixture(scope="session")
def recorded_cassettes(tmp_path_factory):
    """The folder that the first test with `record` fills, and the others copy."""
    return tmp_path_factory.mktemp("recorded") / "cassettes"


@pytest.fixture
def record(project, chat_server, recorded_cassettes):
    """The project of tests/conftest.py with all items recorded, by a run or a copy of one."""
    chat_server.reply = solve_menu
    cassettes = project.path / "cassettes"
    if recorded_cassettes.exists():
        shutil.copytree(recorded_cassettes, cassettes)
    else:
        result = project.runpytest(
            "--miniwob-record=new_episodes", f"--miniwob-base-url={chat_server.url}"
        )
        result.assert_outcomes(passed=12)
        shutil.copytree(cassettes, recorded_cassettes)
        chat_server.requests.clear()
    return project
