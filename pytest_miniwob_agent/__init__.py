"""Runs of web agents as a pytest suite: the public API.

Everything that agents and tests are written against is imported from here; the fakes and the tests
that every agent must pass are in `pytest_miniwob_agent.testing`. docs/api.md lists the names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_miniwob_agent.agents.prompts import Prompt, Prompts
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
    Copy,
    DialogAction,
    Dismiss,
    DoubleClick,
    Drag,
    DragFrom,
    Enter,
    Follow,
    Hold,
    Hover,
    HoverAt,
    Paste,
    Place,
    Point,
    Press,
    Release,
    Scroll,
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
    BadCall,
    Command,
    Unreadable,
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
from pytest_miniwob_agent.tasks.perturbations import Perturbation

if TYPE_CHECKING:
    from pytest_miniwob_agent.screen import render

__all__ = [
    "ADDRESS", "DATE", "ID", "KEYS", "LLM", "MODIFIERS", "PATH", "VERSION", "Accept", "Acted",
    "Action", "ActionCounter", "Agent", "Answer", "AppTask", "AppTrial", "BadCall", "BrowserError",
    "BrowserLost", "BudgetReached", "ByProgram", "CallLimit", "Called", "Case", "CassetteError",
    "Cause", "Change", "ChatModel", "Choose", "Click", "ClickAt", "Command", "Completion", "Copy",
    "Dialog", "DialogAction", "Dismiss", "DoubleClick", "Drag", "DragFrom", "Drift", "DriftDetails",
    "Drivable", "Earlier", "Element", "Ending", "Enter", "Environment", "Episode", "Event",
    "Follow", "HTTPModel", "HandedOver", "Hold", "Hover", "HoverAt", "LimitReached", "Limits",
    "Mask", "Message", "MiniwobError", "Model", "ModelError", "ModelRequest", "ModelResponse",
    "Normalizer", "NotRecorded", "Note", "Observation", "Observer", "Origin", "Outcome", "Page",
    "PageError", "Paste", "Pending", "Perturbation", "Picture", "Place", "Point", "Press",
    "ProgramError", "Prompt", "Prompts", "Reflected", "Release", "Remark", "Remarking", "Result",
    "RunObserver", "Scroll", "Select", "Shot", "Status", "StepLimit", "ToolCall", "Transition",
    "TrialEnded", "TrialLimit", "TrialStarted", "Type", "Unreadable", "Upload", "Usage",
    "UsageError", "Visible", "Wait", "action_of_call", "masked", "parse_action", "render",
    "run_episode", "tools_of",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import `render` at its first use: it needs lxml, which most imports of the package do not."""
    if name == "render":
        from pytest_miniwob_agent.screen import render

        return render
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
