"""Requests that an agent normalizes: without ids and the like that a framework makes up.

What was normalized is stored with the call, so that it can be seen what matching does not compare.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from pytest_miniwob_agent.cassettes.format.call import Request
from pytest_miniwob_agent.core.data import changed_parts
from pytest_miniwob_agent.core.errors import UsageError

Normalize = Callable[[dict[str, Any]], Mapping[str, Any]]
"""An agent's `normalize`: gets a copy of a request's body, returns it as it is to be matched."""


def normalized_request(path: str, body: Any, normalize: Normalize | None) -> Request:
    """Return a request as it is matched and stored.

    Raises:
        UsageError: the agent's `normalize` returns something else than a JSON object.
    """
    if normalize is None:
        return Request(path, body)
    changed = normalize(deepcopy(body))
    try:
        changed = json.loads(json.dumps(changed, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise UsageError(f"the agent's normalize() returns what is not JSON: {error}") from None
    if not isinstance(changed, dict):
        raise UsageError("the agent's normalize() must return the body of the request, an object")
    return Request(path, changed, tuple(changed_parts(body, changed)))
