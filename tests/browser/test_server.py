"""The server of task pages, the script that runs first in them, and what they leave behind."""

import http.client
import socket
import threading
from contextlib import closing
from pathlib import Path

import pytest
from support.in_browser import run_script

from pytest_miniwob_agent.browser import page as page_module
from pytest_miniwob_agent.browser.server import (
    HOST,
    PageServer,
    Serving,
    page_url,
)
from pytest_miniwob_agent.core.actions import Click
from pytest_miniwob_agent.tasks.catalogue import pages_folder


@pytest.fixture(scope="module")
def server():
    with closing(PageServer(Serving())) as server:
        yield server


def ask(server, path, **headers):
    connection = http.client.HTTPConnection(server.address, timeout=30)
    with closing(connection):
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


def test_files_of_the_package_are_served_and_may_be_kept(server):
    status, headers, body = ask(server, "/core/core.js?v=1")
    assert status == 200
    assert body == (pages_folder() / "core" / "core.js").read_bytes()
    # By the version of Python, application/javascript or text/javascript.
    assert headers["Content-Type"].endswith("/javascript; charset=utf-8")
    assert "immutable" in headers["Cache-Control"]
    assert ask(server, "/miniwob/click-pie.html")[1]["Content-Type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize(
    "path",
    ["/", "/core", "/core/", "/miniwob/none.html", "/../__init__.py", "/%2e%2e/__init__.py",
     "//etc/passwd", "/core/..%2f..%2f__init__.py", "/%ff", f"/core/{256 * 'x'}"],
)  # fmt: skip
def test_nothing_else_is_served(server, path):
    assert ask(server, path)[::2] == (404, b"")


@pytest.mark.parametrize("path", ["/core/core.js", "/none"])
def test_the_script_of_a_service_worker_is_never_served(server, path):
    headers = {"Host": HOST, "Service-Worker": "script"}
    assert ask(server, path, **headers)[::2] == (403, b"")


def test_the_icon_that_only_some_browsers_ask_for_is_no_error_of_the_page(server):
    assert ask(server, "/favicon.ico")[::2] == (204, b"")


def test_a_closed_server_leaves_neither_port_nor_thread():
    before = set(threading.enumerate())
    server = PageServer(Serving())
    ask(server, "/core/core.js")
    server.close()
    assert set(threading.enumerate()) == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(server.address.split(":"))


@pytest.mark.integration
def test_a_page_without_a_declared_character_set_is_read_as_utf_8(page):
    assert "\u2665" in page("unicode-test", 1000).reset().goal


@pytest.mark.integration
def test_a_page_finds_nothing_that_an_earlier_one_has_stored(open_page, browser):
    env, first = open_page("click-menu-2")
    opened = env.step(Click(1))
    stored = "return [localStorage.length, sessionStorage.length, document.cookie, location.href]"
    store = "localStorage.x = sessionStorage.x = 1; document.cookie = 'x=1'; "
    assert run_script(browser, store + stored)[:3] == [1, 1, "x=1"]
    assert env.reset() == first
    assert run_script(browser, stored) == [0, 0, "", page_url("click-menu-2")]
    assert env.step(Click(1)) == opened


def test_every_file_of_the_page_scripts_is_in_one_of_them():
    scripts = "".join((*page_module.page_scripts(), page_module.worker_script(0)))
    files = Path(page_module.__file__).parent.glob("*.js")
    assert [path.name for path in files if f"const _{path.stem} = " not in scripts] == []


def linked(folder, **modules):
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    return page_module.linked(folder / "main.js", {"UNIT": "px"})


def test_modules_run_once_in_the_order_of_their_imports(tmp_path, browser):
    script = linked(
        tmp_path,
        main="""import { high, size, Box } from "./box.js";
import "./last.js";
window.found.push("main", size, high, new Box().unit);
""",
        last="""import { log } from "./log.js";
log("last");
""",
        box="""import { log } from "./log.js";
export const { size, height: high } = { size: 2, height: 3 };
export class Box { unit = Constants.UNIT; }
log("box");
""",
        log="export const log = (...words) => (window.found ??= []).push(...words);\n",
    )
    found = run_script(browser, f"delete window.found; {script} return window.found;")
    assert found == ["box", "last", "main", 2, 3, "px"]


@pytest.mark.parametrize(
    ("main", "message"),
    [
        (
            'import { other } from "./other.js";',
            "main.js imports {'other'}, which other.js does not",
        ),
        ('import "./circle.js";', "each other: main -> circle -> main"),
        ('import "./main.js";', "each other: main -> main"),
        ('import other from "./other.js";', "'import other from .* which can't be linked"),
        ("export let state = 1;", "'export let state = 1;', which can't be linked"),
        ("export default 1;", "'export default 1;', which can't be linked"),
    ],
)
def test_what_can_not_be_linked_is_an_error_that_names_the_module(tmp_path, main, message):
    other = "const other = 1;\nexport const one = other;\n"
    with pytest.raises(ValueError, match=message):
        linked(tmp_path, main=f"{main}\n", other=other, circle='import "./main.js";\n')
