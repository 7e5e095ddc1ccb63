"""A pytest plugin for inner runs: writes the name of each fixture that is set up, one per line, to
the file in FIXTURES."""

import os


def pytest_fixture_setup(fixturedef):
    with open(os.environ["FIXTURES"], "a", encoding="utf-8") as file:
        file.write(f"{fixturedef.argname}\n")
