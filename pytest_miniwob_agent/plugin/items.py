"""Pytest items and their cases."""

from __future__ import annotations

from typing import Any

from pytest_miniwob_agent.core.case import Case


def case_of(item: Any) -> Case | None:
    """The case of a pytest item, None where it is none of ours."""
    callspec = getattr(item, "callspec", None)
    found = callspec.params.get("miniwob_case") if callspec else None
    return found[0] if found else None
