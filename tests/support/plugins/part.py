"""A pytest plugin for inner runs: of more than sixty items it leaves all out but those of every
EVERY; an item's name alone decides."""

import os
from zlib import crc32

import pytest


@pytest.hookimpl(trylast=True)  # after -k
def pytest_collection_modifyitems(config, items):
    if len(items) > 60:
        left_out = [one for one in items if crc32(one.name.encode()) % int(os.environ["EVERY"])]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [one for one in items if one not in left_out]
