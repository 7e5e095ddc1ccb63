"""The exchanges of a page with its servers: of an address, a HAR file or a WACZ archive."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import time
import zipfile
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from selenium import webdriver
from selenium.common.exceptions import WebDriverException

from pytest_miniwob_agent.browser.frozen.har import Exchange, read_har
from pytest_miniwob_agent.browser.local import LocalLauncher
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path

QUIET, MOST = 1.5, 60.0
"""Seconds without a request after which a page is there, and the most seconds to wait for that."""

_TEXT = re.compile(r"text/|.*(javascript|json|xml)")
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?([\w-]+)", re.IGNORECASE)


def read_source(source: str, wait: Callable[[], None] | None = None) -> tuple[str, list[Exchange]]:
    """Return the address of a page and its exchanges, of a file or of a page that is opened now.

    Args:
        source: an address, or the path of a HAR file or a WACZ archive.
        wait: opens the page in a window, and is called once it is there, while a person uses it.

    Raises:
        UsageError: it can't be read, or has no page.
        BrowserError: the browser does not start.
    """
    if re.match(r"https?://", source):
        page, found = _capture(source, wait)
    elif not Path(source).is_file():
        raise UsageError(
            f"there is no file {source}: name an address, a HAR file or a WACZ archive"
        )
    elif zipfile.is_zipfile(source):
        page, found = _read_wacz(Path(source))
    else:
        page, found = read_har(Path(source))
    by_url = {one.url: one for one in reversed(found) if one.method == "GET"}
    for _ in range(10):  # redirections
        first = by_url.get(page.partition("#")[0])
        if first is None or not first.location:
            break
        page = urljoin(page, first.location)
    if first is None or first.status != 200 or "html" not in first.type:
        got = f"status {first.status}, {first.type or 'no type'}" if first else "no answer"
        raise UsageError(f"{source} has no page: {page} gave {got}")
    return page.partition("#")[0], found


def _as_text(body: bytes, type_: str, charset: str | None) -> bytes:
    """Return the body of a response in UTF-8 if it is text."""
    if not _TEXT.match(type_):
        return body
    declared = _CHARSET.search(body[:2048]) if "html" in type_ else None
    for name in (charset, declared and declared[1].decode(), "utf-8"):
        with contextlib.suppress(LookupError, UnicodeDecodeError):
            if name:
                return body.decode(name).removeprefix("\ufeff").encode()
    return body.decode("latin-1").encode()


def _media_type(header: str) -> tuple[str, str | None]:
    message = Message()
    message["content-type"] = header or "application/octet-stream"
    charset = message.get_param("charset")
    return message.get_content_type(), charset if isinstance(charset, str) else None


def _read_wacz(file: Path) -> tuple[str, list[Exchange]]:
    """Return the first page of an archive, and its exchanges (https://specs.webrecorder.net/wacz)."""
    try:
        from warcio.archiveiterator import ArchiveIterator
    except ImportError:
        raise UsageError(
            f"{file} is an archive, for which warcio is missing: "
            "pip install 'pytest-miniwob-agent[freeze]'"
        ) from None
    requests: dict[str, tuple[str, str]] = {}
    responses: list[tuple[set[str], str, int, Any, bytes]] = []
    page = ""
    with zipfile.ZipFile(file) as archive:
        for name in sorted(archive.namelist()):
            if name == "pages/pages.jsonl":
                lines = [json.loads(line) for line in archive.read(name).splitlines() if line]
                page = next((line["url"] for line in lines if "url" in line), page)
            if not name.startswith("archive/"):
                continue
            with archive.open(name) as stream:
                for record in ArchiveIterator(stream):
                    head, http = record.rec_headers, record.http_headers
                    names = {
                        head.get_header(f"WARC-{part}") for part in ("Record-ID", "Concurrent-To")
                    }
                    if record.rec_type == "request":
                        method = http.protocol if http.protocol.isalpha() else "GET"
                        sent = record.content_stream().read().decode(errors="replace")
                        requests |= dict.fromkeys(names - {None}, (method, sent))
                    elif record.rec_type == "response" and http is not None:
                        url, status = head.get_header("WARC-Target-URI"), int(http.get_statuscode())
                        responses.append((names, url, status, http, record.content_stream().read()))
    found = []
    for names, url, status, http, body in responses:
        method, sent = next((requests[name] for name in names if name in requests), ("GET", ""))
        type_, charset = _media_type(http.get_header("Content-Type") or "")
        location = http.get_header("Location") or ""
        found.append(
            Exchange(method, url, sent, status, type_, location, _as_text(body, type_, charset))
        )
    if not found:
        raise UsageError(f"{display_path(file)} is not a WACZ archive: it has no responses")
    return page or next((one.url for one in found if "html" in one.type), found[0].url), found


def _capture(url: str, wait: Callable[[], None] | None) -> tuple[str, list[Exchange]]:
    """Open an address and return its exchanges."""
    launcher = LocalLauncher(headed=wait is not None)
    options = webdriver.ChromeOptions()
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    launcher.complete(options)
    driver = launcher.start(options, MOST)
    log = _NetworkLog(driver)
    try:
        driver.get(url)
        log.read_until_quiet()
        if wait is not None:
            wait()
            log.read_until_quiet()
    except WebDriverException as error:
        raise UsageError(f"{url} can't be opened: {str(error.msg).splitlines()[0]}") from None
    finally:
        launcher.kill(orderly=True)
    return url, log.exchanges


class _NetworkLog:
    """The exchanges in the driver's log of the browser's protocol (domain `Network`)."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.exchanges: list[Exchange] = []
        self._driver = driver
        self._requests: dict[str, dict[str, Any]] = {}
        self._responses: dict[str, dict[str, Any]] = {}

    def read_until_quiet(self) -> None:
        """Read what has been exchanged, until no request is made for a while."""
        end = time.monotonic() + MOST
        quiet = time.monotonic() + QUIET
        while time.monotonic() < min(quiet, end):
            for line in self._driver.get_log("performance"):
                event = json.loads(line["message"])["message"]
                if event["method"].startswith("Network."):
                    quiet = time.monotonic() + QUIET
                    self._take(event["method"].partition(".")[2], event["params"])
            time.sleep(0.1)

    def _take(self, kind: str, event: dict[str, Any]) -> None:
        id_ = event.get("requestId", "")
        if kind == "requestWillBeSent":
            if "redirectResponse" in event:
                self._add(self._requests[id_], event["redirectResponse"], b"")
            self._requests[id_] = event["request"]
        elif kind == "responseReceived":
            self._responses[id_] = event["response"]
        elif kind == "loadingFinished" and id_ in self._responses and id_ in self._requests:
            with contextlib.suppress(WebDriverException):  # the browser has dropped the body
                got = self._driver.execute_cdp_cmd("Network.getResponseBody", {"requestId": id_})
                encoded = got["base64Encoded"]
                body = base64.b64decode(got["body"]) if encoded else got["body"].encode()
                self._add(self._requests[id_], self._responses[id_], body)

    def _add(self, request: dict[str, Any], response: dict[str, Any], body: bytes) -> None:
        if request["url"].startswith("http"):
            headers = {name.lower(): value for name, value in response["headers"].items()}
            self.exchanges.append(
                Exchange(
                    request["method"],
                    request["url"],
                    request.get("postData", ""),
                    response["status"],
                    response["mimeType"],
                    headers.get("location", ""),
                    body,
                )
            )
