"""What only sweeps take."""

import os

import pytest

EVERY = os.environ.get("EVERY", "10")
"""Of long recorded suites, sweeps replay one item of so many; with 1 all, as CI does once a day."""


def swept(*values):
    """Further values of a parameter of a test, beside those of `make test`."""
    return [pytest.param(value, marks=pytest.mark.sweep) for value in values]
