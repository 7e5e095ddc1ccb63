"""What is seen of a page, and what an action did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Element:
    """A visible leaf of the page.

    `id` numbers the elements of a trial from 1 in the order in which they were first seen; text
    that stands beside other elements has none. `value` is what a form field holds, for check
    boxes and radio buttons whether they are checked, for options whether they are selected.
    `x` and `y` are the centre in CSS pixels from the page's top left corner.
    """

    id: int | None
    tag: str
    text: str = ""
    classes: str = ""
    dom_id: str = ""
    placeholder: str = ""
    value: str | bool | None = None
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True, slots=True)
class Observation:
    """What a person would see: the goal as the page words it, and the visible elements."""

    goal: str
    elements: tuple[Element, ...] = ()

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Observation:
        """Return the observation that `core.data.to_data` was called on."""
        return cls(data["goal"], tuple(Element(**element) for element in data["elements"]))


@dataclass(frozen=True, slots=True)
class Transition:
    """What an action did.

    `reward` is the page's raw reward, from -1 to 1, and 0 until the page is `done`. `error` says
    why the action was impossible; nothing was done then.
    """

    observation: Observation
    reward: float = 0.0
    done: bool = False
    error: str | None = None

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Transition:
        """Return the transition that `core.data.to_data` was called on."""
        observation = Observation.from_data(data["observation"])
        return cls(observation, data["reward"], data["done"], data["error"])

    @property
    def solved(self) -> bool:
        """Whether the page paid its full reward."""
        return self.done and self.reward >= 1.0


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture of a page, PNG, `size` CSS pixels wide and high.

    `points` are where in it an action points, in order, and `boxes` the elements there: left, top,
    width, height.
    """

    png: bytes = field(repr=False)
    size: tuple[int, int]
    points: tuple[tuple[int, int], ...] = ()
    boxes: tuple[tuple[int, int, int, int], ...] = ()
