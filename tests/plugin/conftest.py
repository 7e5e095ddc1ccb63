"""Fixtures of tests of apps."""

import pytest
from support.apps import AppPages


@pytest.fixture
def app_pages(pytester, chat_server):
    return AppPages(pytester, chat_server)


@pytest.fixture
def play(app_pages):
    return app_pages.play
