"""Recording without a project, and a URL where no server is."""

import contextlib

import filelock  # noqa: F401 (once, rather than in every inner run)
import pytest
from support.selenium_grid import free_port

from pytest_miniwob_agent.cassettes.files import ItemFiles
from pytest_miniwob_agent.cassettes.modes import Record
from pytest_miniwob_agent.cassettes.recording import RecordedModel, Server
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.models.client import LiveModel
from pytest_miniwob_agent.models.params import kept_params


@pytest.fixture
def closed_url():
    return f"http://127.0.0.1:{free_port()}/v1"


@pytest.fixture
def session(tmp_path):
    """Open the model of an item, which records from a server or replays, and end the item."""

    @contextlib.contextmanager
    def open_session(server=None, params=None, retries=0, budget=None, folder=tmp_path):
        files = ItemFiles(folder, "a/m/t/1", Record.NEW_EPISODES if server else Record.NONE)

        def connect(on_unusable):
            return LiveModel(
                "m", params or {}, base_url=server.url, retries=retries, budget=budget,
                on_unusable=on_unusable,
            )  # fmt: skip

        with contextlib.closing(Server(connect, budget)) as live:
            model = RecordedModel(files, live, "m", kept_params(params or {}))
            yield model
        if model.tape.calls:
            model.finish(Limits())

    return open_session
