"""Traces of items by OpenTelemetry: `--miniwob-otel`, and `miniwob-agent results otel`.

`spans` makes them, `run` sends those of a run, `command` is the command.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miniwob_agent.hookspec import Subcommand
from pytest_miniwob_agent.plugin.options import option

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of this plugin."""

    otel: bool = option(
        "send a trace of each item by OpenTelemetry, with spans for trials, model calls and "
        "actions; OTEL_EXPORTER_OTLP_ENDPOINT says where to. Needs the extra `otel`",
        ini_type=bool,
        whole_run=True,
        group="Traces",
    )


def pytest_miniwob_options() -> type:
    return Options


def pytest_miniwob_commands() -> list[Subcommand]:
    text = "send traces of recorded items by OpenTelemetry"
    return [Subcommand("results otel", text, f"{__name__}.command:add_otel")]


def pytest_miniwob_begin(session: pytest.Session) -> None:
    from pytest_miniwob_agent.plugin.state import options_of

    if options_of(session.config, Options).otel:
        from pytest_miniwob_agent.plugins.otel.run import Tracing

        session.config.pluginmanager.register(Tracing(), Tracing.name)
