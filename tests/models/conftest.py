"""A project with one item, recording without a project, and a URL where no server is."""

import contextlib
import socket

import filelock  # noqa: F401 (once, rather than in every inner run)
import pytest

from pytest_miniwob_agent.cassettes.tape.model import RecordedModel
from pytest_miniwob_agent.cassettes.tape.recording import Record, Recording
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.models.client import LiveModel
from pytest_miniwob_agent.models.params import kept_params


@pytest.fixture
def one_item(project):
    """A project with one item, which makes three calls; `run_item` takes a URL and arguments."""
    project.makepyfile(
        """
        import pytest

        @pytest.mark.miniwob("click-menu-2", seeds=[1])
        def test_solves(miniwob_episode):
            assert miniwob_episode.solved, miniwob_episode.explain()
        """
    )
    project.cassette = project.path / "cassettes/reflective/m/click-menu-2/1.yaml"

    def run_item(url=None, *args, record="new_episodes"):
        server = [f"--miniwob-base-url={url}"] if url else []
        return project.runpytest(f"--miniwob-record={record}", *server, *args)

    project.run_item = run_item
    return project


@pytest.fixture
def closed_url():
    """The URL of a server that is gone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


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
