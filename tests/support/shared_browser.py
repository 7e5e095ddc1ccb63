"""The browser of the outer run, as the `miniwob_browser` of pytest runs in the same process."""

from types import ModuleType

import pytest

from pytest_miniwob_agent.plugin.reading import get_settings


class SharedBrowser:
    """A plugin whose fixture overrides that of our plugin, as one of a user's conftest.py does.

    Runs that say which browser they want, or that its window be shown, start one of their own.

    Args:
        get: returns the browser, which is started by the first run that needs it.
    """

    def __init__(self, get):
        self._get = get

    def pytest_configure(self, config):
        @pytest.fixture(scope="session")
        def miniwob_browser(miniwob_browser):
            settings = get_settings(config)
            elsewhere = config.hook.pytest_miniwob_launcher(config=config)
            own = settings.browser or settings.headed or elsewhere
            return miniwob_browser if own else self._get()

        fixtures = ModuleType("shared_browser")  # pytest finds no fixtures in other objects
        fixtures.miniwob_browser = miniwob_browser
        # Later than our plugin, or its fixture would override this one.
        config.pluginmanager.register(fixtures)
