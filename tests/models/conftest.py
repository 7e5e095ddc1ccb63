"""A project with one item, recording without a project, and a URL where no server is."""

import contextlib
import socket

import filelock  # noqa: F401 (once, rather than in every inner run)
import pytest

from pytest_miniwob_agent.cassettes.tape.item import ItemCassette, Record
from pytest_miniwob_agent.cassettes.tape.transport import CassetteTransport
from pytest_miniwob_agent.core.limits import Limits
from pytest_miniwob_agent.models.client import OpenAILLM


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
        record = Record.NEW_EPISODES if server else Record.NONE
        cassette = ItemCassette(folder, "a/m/t/1", record)
        with CassetteTransport(cassette, budget) as transport:
            yield OpenAILLM(
                "m",
                params or {},
                base_url=server and server.url,
                transport=transport,
                live=cassette.live,
                retries=retries,
            )
        if cassette.calls:
            cassette.finish(Limits())

    return open_session
