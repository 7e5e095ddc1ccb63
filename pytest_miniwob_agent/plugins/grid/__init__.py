"""Browsers on a Selenium Grid (`--miniwob-remote`).

`launcher` opens, explains and ends the session of a worker; `address` has what the options say of
the Grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.hookspec import Check
from pytest_miniwob_agent.models.params import shown_url
from pytest_miniwob_agent.plugin.options import option
from pytest_miniwob_agent.plugins.grid.address import (
    Grid,
    HostPort,
    parse_address,
    parse_capabilities,
    parse_host_port,
    read_grid,
)

if TYPE_CHECKING:
    import pytest

    from pytest_miniwob_agent.plugins.grid.launcher import GridLauncher


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of this plugin."""

    remote: str | None = option(
        "open the browsers on the Selenium Grid at this address, such as http://grid:4444; its "
        "user and password may come from MINIWOB_REMOTE_USER and MINIWOB_REMOTE_PASSWORD",
        parse=parse_address,
        metavar="URL",
        secret=True,
        shown=shown_url,
        group="Selenium Grid",
    )
    capabilities: dict[str, Any] = option(
        "with --miniwob-remote: capabilities of the sessions besides Chrome, as JSON, such as "
        """'{"platformName": "linux", "goog:chromeOptions": {"args": ["--no-sandbox"]}}'""",
        parse=parse_capabilities,
        default="{}",
        metavar="JSON",
        secret=True,
    )
    serve: HostPort | None = option(
        "with --miniwob-remote: the host name under which the Grid reaches the pages, and the port "
        "of the first worker (default: the interface that leads to the Grid, at free ports)",
        parse=parse_host_port,
        metavar="HOST[:PORT]",
    )


def pytest_miniwob_options() -> type:
    return Options


def _grid(config: pytest.Config) -> Grid | None:
    from pytest_miniwob_agent.plugin.state import options_of

    options = options_of(config, Options)
    if options.remote is None:
        return None
    grid = read_grid(options.remote, options.capabilities, options.serve)
    return grid.for_worker(getattr(config, "workerinput", {}).get("workerid", ""))


def pytest_miniwob_begin(session: pytest.Session) -> None:
    config = session.config
    if _grid(config) is None:
        for name in ("capabilities", "serve"):
            if config.getoption(f"miniwob_{name}"):
                raise UsageError(
                    f"--miniwob-{name} goes with --miniwob-remote=URL, the address of a Grid"
                )
    elif config.getoption("miniwob_browser"):
        raise UsageError(
            "--miniwob-browser names a browser of this machine, but --miniwob-remote (or "
            "miniwob_remote) opens browsers on a Grid: choose one there with "
            """--miniwob-capabilities='{"goog:chromeOptions": {"binary": "PATH"}}', or give """
            "--miniwob-remote= to stay on this machine"
        )


def pytest_miniwob_secrets(config: pytest.Config) -> Sequence[str]:
    grid = _grid(config)
    return grid.secrets if grid else ()


def pytest_miniwob_launcher(config: pytest.Config) -> GridLauncher | None:
    if (grid := _grid(config)) is None:
        return None
    from pytest_miniwob_agent.plugin.reading import get_settings
    from pytest_miniwob_agent.plugins.grid.launcher import GridLauncher

    return GridLauncher(grid, headed=get_settings(config).headed)


def pytest_miniwob_checks(config: pytest.Config) -> Sequence[Check]:
    launcher = pytest_miniwob_launcher(config)
    return [launcher.check()] if launcher else ()
