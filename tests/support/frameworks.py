"""The environments that `make frameworks` makes: frameworks of examples/, and LiteLLM's proxy."""

import pytest

from support.projects import ROOT

BROWSERS = ROOT / ".venv-browsers"
BROWSERGYM = ROOT / ".venv-browsergym"
CLIENTS = ROOT / ".venv-clients"
FRAMEWORKS = ROOT / ".venv-frameworks"
GATEWAY = ROOT / ".venv-gateway"


def find_program(environment, name):
    """Return the path of a program in an environment; skip the test where they are not made."""
    if not (FRAMEWORKS / ".installed").exists() or not environment.exists():
        pytest.skip("no frameworks and no gateway to test with: run `make frameworks`")
    return environment / "bin" / name
