"""Recording without a project, and a URL where no server is."""

import contextlib

import filelock  # noqa: F401 (once, rather than in every inner run)
import pytest
from selenium_grid import free_port

from pytest_miniwob_agent.cassettes.model import RecordedModel
from pytest_miniwob_agent.cassettes.recording import Record, Recording
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.models.client import LiveModel
from pytest_miniwob_agent.models.params import kept_params


@pytest.fixture
def closed_url():
    """The URL of a server that is not there."""
    return f"http://127.0.0.1:{free_port()}/v1"


@pytest.fixture
def session(tmp_path):
    """Open the model of an item, which records from a server or replays, and end the item."""

    @contextlib.contextmanager
    def open_session(server=None, params=None, retries=0, budget=None, folder=tmp_path):
        recording = Recording(folder, "a/m/t/1", Record.NEW_EPISODES if server else Record.NONE)

        def connect():
            return LiveModel(
                "m", params or {}, base_url=server.url, retries=retries, budget=budget,
                on_unusable=recording.add_unusable,
            )  # fmt: skip

        model = RecordedModel(recording, "m", kept_params(params or {}), connect, budget)
        with contextlib.closing(model):
            yield model
        if recording.calls:
            recording.finish(Limits())

    return open_session
