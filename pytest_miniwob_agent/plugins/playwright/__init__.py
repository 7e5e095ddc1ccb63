"""A solved item as a test for pytest-playwright: `miniwob-agent show CASE --as playwright`.

`script` writes it, while the item is replayed. What it imports is `testing.playwright`.
"""

from __future__ import annotations


def pytest_miniwob_scripts() -> dict[str, str]:
    return {"playwright": f"{__name__}.script:ScriptWriter"}
