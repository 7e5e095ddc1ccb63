"""The ways to show a screen to the model: as text, as a picture, or as both."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from pytest_miniwob_agent.agents.prompts import Prompt
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.observations import Observation
from pytest_miniwob_agent.core.protocols import Environment, Visible
from pytest_miniwob_agent.screen import render

ZOOM = 3
"""Magnification of pictures: models see a task's area of 160 x 210 pixels better so."""


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen of a trial; equal to another one if the same text, focus and picture show."""

    observation: Observation = field(compare=False)
    text: str
    focus: int | None
    picture: bytes | None = None


@dataclass(frozen=True, slots=True)
class ScreenStyle:
    """One way to show screens.

    `asked` is what the page is asked for (`Page.reset`). `prompts` names the files that replace
    common prompts, `explained_by` those that explain the screen.
    """

    asked: str = "full"
    text: bool = True
    picture: bool = False
    prompts: Mapping[str, str] = field(default_factory=dict)
    explained_by: tuple[str, ...] = ()

    def see(self, env: Environment, observation: Observation, disabled: Collection[int]) -> Screen:
        """Make a screen of the latest observation; its picture marks all ids but the disabled.

        Raises:
            UsageError: the page gives no pictures.
        """
        picture = None
        if self.picture:
            if not isinstance(env, Visible):
                raise UsageError(f"{type(env).__name__} gives no pictures: it has no look()")
            ids = [element.id for element in observation.elements if element.id is not None]
            marks = [id_ for id_ in ids if id_ not in disabled]
            picture = env.look(marks=marks, zoom=ZOOM, rulers=True).png
        return Screen(observation, render(observation.elements), observation.focus, picture)

    def show(
        self, screen: Screen, disabled: Collection[int] = (), pictures: tuple[bytes, ...] = ()
    ) -> Prompt:
        """Show a screen without the ids that are disabled.

        `pictures` are those that the prompt already has: an equal one is not sent again.
        """
        parts = [render(screen.observation.elements, disabled)] if self.text else []
        if screen.picture is not None:
            if screen.picture not in pictures:
                pictures = (*pictures, screen.picture)
            parts.append(f"[picture {pictures.index(screen.picture) + 1}]")
        return Prompt("\n".join(parts), pictures=pictures)


def _own(style: str, *names: str) -> dict[str, str]:
    return {name: f"{style}-{name}" for name in names}


_FULL = ScreenStyle(
    prompts=_own("full", "plan", "summarise", "actions", "actions-all"),
    explained_by=("full-screen",),
)

_PICTURE = ScreenStyle(
    text=False,
    picture=True,
    prompts=_own("picture", "plan", "summarise", "ground", "actions", "actions-all", "reflect"),
    explained_by=("picture-screen",),
)

SCREENS = {
    "compact": ScreenStyle(asked="compact"),
    "full": _FULL,
    "tree": ScreenStyle(
        "tree",
        prompts={**_own("full", "plan", "summarise", "actions"), **_own("tree", "actions-all")},
        explained_by=("tree-screen",),
    ),
    "picture": _PICTURE,
    "both": replace(_FULL, picture=True, explained_by=("full-screen", "both-screen")),
}
"""The values of the parameter `screen`."""
