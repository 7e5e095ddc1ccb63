"""A recorded project whose pages have pictures, and a Chromium that shows reports."""

import pytest
from support import made_report
from support.projects import solve_menu
from support.report_window import Window

PICTURED = """
    from pathlib import Path

    import pytest
    from pytest_miniwob_agent import Element, Shot
    from pytest_miniwob_agent.testing import FakePage

    class Seen(FakePage):
        # A page with pictures, which are counted; files say if looking at it changes it or fails.

        def look(self, action=None):
            with open("looks.txt", "a") as file:
                print(action, file=file)
            if Path("blind").exists():
                raise ValueError("no eyes")
            if Path("shy").exists():
                self.goal += " (seen)"
            return Shot(self._screen.encode(), (160, 210), ((5, 6),) if action else ())

    @pytest.fixture
    def miniwob_page(miniwob_case):
        menu = Element(1, "button", "Menu")
        reward = -1.0 if Path("broken").exists() and miniwob_case.seed == 1 else 1.0
        return Seen(
            f"Open the menu and click Save, for {miniwob_case.seed}",
            {"start": [menu], "open": [menu, Element(2, "a", "Save")]},
            {("start", "click id=1"): "open"},
            {("open", "click id=2"): reward},
        )

    @pytest.mark.miniwob("click-menu-2", seeds=[1, 2], trials=1)
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved
"""


@pytest.fixture
def pictured(project, recordings):
    """A project of two recorded items whose pages have pictures.

    The page of seed 1 is no longer solved, as it is broken after the recording.
    """
    project.write(PICTURED, conftest="")
    project.use_recordings(recordings / "pictured", solve_menu)
    project.path.joinpath("broken").touch()
    project.path.joinpath("looks.txt").unlink(missing_ok=True)
    return project


@pytest.fixture(scope="session")
def window():
    window = Window()
    yield window
    window.driver.quit()


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    return made_report.site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def errors(tmp_path_factory):
    return made_report.errors(tmp_path_factory.mktemp("errors"))


@pytest.fixture(scope="session")
def compared(tmp_path_factory):
    return made_report.compared(tmp_path_factory.mktemp("compared"))


@pytest.fixture
def no_complaints(window):
    window.look_like(1280, "light")
    window.problems()
    yield
    assert window.problems() == []
