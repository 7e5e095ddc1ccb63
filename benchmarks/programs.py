"""How long items take whose agent drives the browser itself.

    make frameworks
    .venv-browsers/bin/python benchmarks/programs.py [--rounds N]

Replays the items of examples/test_browsers.py by each of the three programs. Prints milliseconds
per item: the first, which imports the program and starts the browser, and the median and the
longest of the others. `ratio` is that of the medians to Playwright's. Compare ratios between
machines, not milliseconds.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from lxml import etree

EXAMPLES = Path(__file__).parent.parent / "examples"

AGENTS = {
    "Playwright": "with_playwright:Playwright",
    "Playwright's MCP server": "with_playwright_mcp:PlaywrightMCP",
    "browser-use": "with_browser_use:BrowserUse",
}


def times(agent: str) -> list[float]:
    """Replay the items; return the milliseconds of each, in the order in which they ran."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "junit.xml"
        command = [sys.executable, "-m", "pytest", "test_browsers.py", "-pno:randomly"]
        command += [f"--miniwob-agent={agent}", f"--junitxml={output}"]
        subprocess.run(command, cwd=EXAMPLES, check=True, stdout=subprocess.DEVNULL)
        cases = etree.parse(output).iter("testcase")
        return [float(case.get("time", "nan")) * 1000 for case in cases]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds (default: 3)")
    rounds = parser.parse_args().rounds
    found: dict[str, list[list[float]]] = {name: [] for name in AGENTS}
    for _ in range(rounds):
        for name, agent in AGENTS.items():
            found[name].append(times(agent))
    print(f"{'ms per item':<25} {'first':>7} {'median':>7} {'longest':>8} {'ratio':>6}")
    medians = {}
    for name, measured in found.items():
        first = statistics.median(each[0] for each in measured)
        others = [time for each in measured for time in each[1:]]
        medians[name] = statistics.median(others)
        ratio = medians[name] / medians["Playwright"]
        print(f"{name:<25} {first:7.0f} {medians[name]:7.0f} {max(others):8.0f} {ratio:6.1f}")


if __name__ == "__main__":
    main()
