import pytest
from shop import make_shop


@pytest.fixture(scope="session")
def app(tmp_path_factory):
    """The app that pytest-flask's `live_server` serves, in a process of its own."""
    return make_shop(tmp_path_factory.mktemp("shop") / "shop.sqlite")
