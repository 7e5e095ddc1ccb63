"""Runs of web agents as a pytest suite: the public API.

Everything that agents and tests are written against is imported from here; the fakes and the tests
that every agent must pass are in `pytest_miniwob_agent.testing`. docs/api.md lists the names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
from pytest_miniwob_agent.agents.registry import Program
from pytest_miniwob_agent.core.actions import (
    KEYS,
    MODIFIERS,
    Accept,
    Action,
    Answer,
    ByProgram,
    Choose,
    Click,
    ClickAt,
    ClickWith,
    CloseTab,
    Copy,
    DialogAction,
    Dismiss,
    DoubleClick,
    Drag,
    DragFrom,
    Enter,
    Follow,
    GoBack,
    GoForward,
    Hold,
    Hover,
    HoverAt,
    InputAction,
    NavigationAction,
    Paste,
    Place,
    Point,
    Press,
    PressKeys,
    Release,
    Reload,
    Scroll,
    ScrollWith,
    Select,
    Type,
    Upload,
    Wait,
)
from pytest_miniwob_agent.core.app import AppTask, AppTrial
from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.chat import Message, ModelRequest, ModelResponse, ToolCall, Usage
from pytest_miniwob_agent.core.data import (
    ADDRESS,
    DATE,
    HEX,
    ID,
    PATH,
    TIME,
    TIMESTAMP,
    VERSION,
    Mask,
    masked,
)
from pytest_miniwob_agent.core.errors import (
    BrowserError,
    BrowserLost,
    BudgetReached,
    CallLimit,
    CallRefused,
    CassetteError,
    Cause,
    Drift,
    LimitReached,
    MiniwobError,
    ModelError,
    NotRecorded,
    PageError,
    Pending,
    ProgramError,
    StepLimit,
    TrialLimit,
    UsageError,
)
from pytest_miniwob_agent.core.events import (
    Acted,
    Called,
    Completion,
    Ending,
    Episode,
    Event,
    Note,
    Origin,
    Reflected,
    Remark,
    TrialEnded,
    TrialStarted,
)
from pytest_miniwob_agent.core.grades import Grade
from pytest_miniwob_agent.core.observations import Dialog, Element, Observation, Shot, Transition
from pytest_miniwob_agent.core.outcome import (
    Change,
    DriftDetails,
    Earlier,
    Outcome,
    Picture,
    Result,
    Status,
)
from pytest_miniwob_agent.core.parsing import (
    Command,
    InvalidToolCall,
    ParseError,
    action_of_call,
    parse_action,
    tools_of,
)
from pytest_miniwob_agent.core.protocols import (
    LLM,
    ActionCounter,
    Agent,
    ChatModel,
    Drivable,
    Environment,
    HandedOver,
    HTTPModel,
    Model,
    Normalizer,
    Observer,
    Page,
    Remarking,
    RunObserver,
    Visible,
)
from pytest_miniwob_agent.episode import run_episode
from pytest_miniwob_agent.hookspec import Check, Run, Step, Subcommand
from pytest_miniwob_agent.models.api import API, Provider
from pytest_miniwob_agent.tasks.perturbations import Perturbation

if TYPE_CHECKING:
    from pytest_miniwob_agent.browser.launcher import Launcher
    from pytest_miniwob_agent.browser.local import LocalLauncher
    from pytest_miniwob_agent.browser.server import Serving
    from pytest_miniwob_agent.plugin.options import option
    from pytest_miniwob_agent.plugin.state import options_of
    from pytest_miniwob_agent.plugins.graders import trajectory
    from pytest_miniwob_agent.plugins.graders.grader import grader
    from pytest_miniwob_agent.plugins.graders.judged import judged
    from pytest_miniwob_agent.results.gate import Reason
    from pytest_miniwob_agent.screen import render

__all__ = [
    "ADDRESS",
    "API",
    "DATE",
    "HEX",
    "ID",
    "KEYS",
    "LLM",
    "MODIFIERS",
    "PATH",
    "TIME",
    "TIMESTAMP",
    "VERSION",
    "Accept",
    "Acted",
    "Action",
    "ActionCounter",
    "Agent",
    "Answer",
    "AppTask",
    "AppTrial",
    "BrowserError",
    "BrowserLost",
    "BudgetReached",
    "ByProgram",
    "CallLimit",
    "CallRefused",
    "Called",
    "Case",
    "CassetteError",
    "Cause",
    "Change",
    "ChatModel",
    "Check",
    "Choose",
    "Click",
    "ClickAt",
    "ClickWith",
    "CloseTab",
    "Command",
    "Completion",
    "Copy",
    "Dialog",
    "DialogAction",
    "Dismiss",
    "DoubleClick",
    "Drag",
    "DragFrom",
    "Drift",
    "DriftDetails",
    "Drivable",
    "Earlier",
    "Element",
    "Ending",
    "Enter",
    "Environment",
    "Episode",
    "Event",
    "Follow",
    "GoBack",
    "GoForward",
    "Grade",
    "HTTPModel",
    "HandedOver",
    "Hold",
    "Hover",
    "HoverAt",
    "InputAction",
    "InvalidToolCall",
    "Launcher",
    "LimitReached",
    "Limits",
    "LocalLauncher",
    "Mask",
    "Message",
    "MiniwobError",
    "Model",
    "ModelError",
    "ModelRequest",
    "ModelResponse",
    "NavigationAction",
    "Normalizer",
    "NotRecorded",
    "Note",
    "Observation",
    "Observer",
    "Origin",
    "Outcome",
    "Page",
    "PageError",
    "ParseError",
    "Paste",
    "Pending",
    "Perturbation",
    "Picture",
    "Place",
    "Point",
    "Press",
    "PressKeys",
    "Program",
    "ProgramError",
    "Prompt",
    "Prompts",
    "Provider",
    "Reason",
    "Reflected",
    "Release",
    "Reload",
    "Remark",
    "Remarking",
    "Result",
    "Run",
    "RunObserver",
    "Scroll",
    "ScrollWith",
    "Select",
    "Serving",
    "Shot",
    "Status",
    "Step",
    "StepLimit",
    "Subcommand",
    "ToolCall",
    "Transition",
    "TrialEnded",
    "TrialLimit",
    "TrialStarted",
    "Type",
    "Upload",
    "Usage",
    "UsageError",
    "Visible",
    "Wait",
    "action_of_call",
    "grader",
    "judged",
    "masked",
    "option",
    "options_of",
    "parse_action",
    "render",
    "run_episode",
    "tools_of",
    "trajectory",
]  # fmt: skip


_LOADED_LATER = {
    "Launcher": "browser.launcher",
    "LocalLauncher": "browser.local",
    "Reason": "results.gate",
    "Serving": "browser.server",
    "grader": "plugins.graders.grader",
    "judged": "plugins.graders.judged",
    "option": "plugin.options",
    "options_of": "plugin.state",
    "render": "screen",
    "trajectory": "plugins.graders.trajectory",
}
"""The modules of what most imports of the package do not need."""


def __getattr__(name: str) -> Any:
    """Import one of these at its first use."""
    if name not in _LOADED_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_LOADED_LATER[name]}")
    return getattr(module, name, module)  # `trajectory` is one
