"""The shared browser is that of inner runs in this process."""

import pytest

TEST = "def test_shared(miniwob_browser): assert miniwob_browser.of_the_outer_run"


@pytest.fixture
def marked(browser, monkeypatch):
    monkeypatch.setattr(browser, "of_the_outer_run", True, raising=False)


def test_inner_runs_have_the_shared_browser(pytester, marked):
    pytester.makepyfile(TEST)
    for _ in range(2):
        pytester.runpytest().assert_outcomes(passed=1)


@pytest.mark.own_browser
def test_those_of_a_test_that_is_marked_have_their_own(pytester, marked):
    pytester.makepyfile(TEST)
    pytester.runpytest().assert_outcomes(failed=1)
