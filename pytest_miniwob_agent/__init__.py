"""Runs of web agents as a pytest suite: the public API.

Everything that agents and tests are written against is imported from here; the fakes and the tests
that every agent must pass are in `pytest_miniwob_agent.testing`. docs/api.md lists the names.
"""

from __future__ import annotations

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
from pytest_miniwob_agent.core.data import ADDRESS, DATE, ID, PATH, VERSION, Mask, masked
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
from pytest_miniwob_agent.hookspec import Run, Step, Subcommand
from pytest_miniwob_agent.tasks.perturbations import Perturbation

if TYPE_CHECKING:
    from pytest_miniwob_agent.plugin.options import option
    from pytest_miniwob_agent.plugin.state import options_of
    from pytest_miniwob_agent.screen import render

__all__ = [
    "ADDRESS",
    "DATE",
    "ID",
    "KEYS",
    "LLM",
    "MODIFIERS",
    "PATH",
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
    "HTTPModel",
    "HandedOver",
    "Hold",
    "Hover",
    "HoverAt",
    "InputAction",
    "InvalidToolCall",
    "LimitReached",
    "Limits",
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
    "masked",
    "option",
    "options_of",
    "parse_action",
    "render",
    "run_episode",
    "tools_of",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import at its first use what needs libraries that most imports of the package do not."""
    if name == "render":
        from pytest_miniwob_agent.screen import render

        return render
    if name == "option":
        from pytest_miniwob_agent.plugin.options import option

        return option
    if name == "options_of":
        from pytest_miniwob_agent.plugin.state import options_of

        return options_of
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
