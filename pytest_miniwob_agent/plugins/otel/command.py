"""`miniwob-agent results otel`: traces of items that are replayed for them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

import pytest

from pytest_miniwob_agent.cli.arguments import add_pytest_args
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.text import counted
from pytest_miniwob_agent.plugin.inner import Replay, run
from pytest_miniwob_agent.plugins.otel.run import Tracing


def add_otel(parser: ArgumentParser) -> None:
    parser.description = (
        "Replay items from their cassettes, and send a trace of each by OTLP over HTTP "
        "to OTEL_EXPORTER_OTLP_ENDPOINT, as pytest --miniwob-otel does while a run goes on. "
        "Durations are those of the replay. Nothing is written, and no model is called."
    )
    add_pytest_args(parser)
    parser.set_defaults(run=send_traces)


def send_traces(options: Namespace) -> int:
    print(f"sent the traces of {counted(trace(options.pytest_args), 'item')}")
    return 0


class _Tracing(Replay):
    """Plugin of a run that replays items for their traces."""

    def __init__(self) -> None:
        self.traced = 0
        self.lost = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.option.miniwob_otel = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.traced += getattr(report, "miniwob", None) is not None

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        if (tracing := config.pluginmanager.get_plugin(Tracing.name)) is not None:
            self.lost = tracing.lost


def trace(args: Sequence[str]) -> int:
    """Replay the items of `pytest ARGS` and send their traces; return how many those are.

    Raises:
        UsageError: there is no such item, or pytest can't run them; the message has its output. Or
        the
            collector did not take all.
    """
    plugin = _Tracing()
    output = run(plugin, args)
    if not plugin.traced:
        raise UsageError(f"no item was replayed:\n{output}")
    if plugin.lost:
        raise UsageError(plugin.lost)
    return plugin.traced
