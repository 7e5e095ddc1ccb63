"""The table of what becomes of a program's commands, beside the protocol of the browser."""

import json
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from pytest_miniwob_agent.browser import commands
from pytest_miniwob_agent.browser.commands import ALLOWED, APP, CLOSES, EMPTY, REASONS, REFUSED


@pytest.mark.integration
def test_each_command_of_the_browser_is_decided_on(browser):
    address = browser.driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
    with build_opener(ProxyHandler({})).open(f"http://{address}/json/protocol") as answer:
        domains = json.load(answer)["domains"]
    named = {
        f"{domain['domain']}.{command['name']}"
        for domain in domains
        for command in domain.get("commands", ())
    }
    assert len(named) > 500
    assert named - {*commands.table()} == set()


def test_the_table_has_a_line_for_each_command_and_reasons_for_what_is_refused():
    text = Path(commands.__file__).with_name("commands.txt").read_text(encoding="utf-8")
    rows = [line.split() for line in text.splitlines()]
    names = [name for name, *_ in rows]
    assert names == sorted({*names})
    reasons = {tuple(reason) for _, found, *reason in rows if found in (APP, REFUSED)}
    assert reasons == {(name,) for name in REASONS}
    assert {(found, *reason) for _, found, *reason in rows if found not in (APP, REFUSED)} == {
        (ALLOWED,), (EMPTY,), (CLOSES,),
    }  # fmt: skip
