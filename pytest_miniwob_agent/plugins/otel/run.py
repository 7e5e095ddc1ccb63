"""Sending of a run's traces: each process sends its own, and the controller says what was lost."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_miniwob_agent.core.protocols import Observer
from pytest_miniwob_agent.plugins.otel.spans import Spans, Traces

# In the output of a worker of pytest-xdist.
_LOST = "miniwob_lost_traces"


class Tracing:
    """Plugin of a process of a run, while its items are traced.

    Attributes:
        lost: why not all traces were sent; empty if they were.

    Raises:
        UsageError: the packages of the extra `otel` are missing.
    """

    name = "miniwob-tracing"

    def __init__(self) -> None:
        self._traces = Traces()
        self.lost = ""

    def pytest_miniwob_observer(self, agent: str, model: str) -> Observer:
        return Spans(self._traces.tracer, agent, model)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.lost = self._traces.finish() or self.lost
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output[_LOST] = self.lost

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.lost = self.lost or (getattr(node, "workeroutput", None) or {}).get(_LOST, "")

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.lost:
            terminalreporter.line(self.lost, yellow=True)
