"""The commands that a program may send to a page that is handed over to it.

They are listed, as nobody knows all that a browser can do: read files, open tabs, crash. Not listed
is also what outlives the program's connection; the browser undoes the rest with that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Commands = Mapping[str, frozenset[str] | None]
"""Names of commands by their domain; None for all of a domain."""


def _commands(**domains: str) -> Commands:
    return {name: frozenset(listed.split()) or None for name, listed in domains.items()}


PAGE: Commands = _commands(
    Accessibility="",
    Browser="getVersion getWindowForTarget grantPermissions resetPermissions setPermission",
    CSS="",
    Console="",
    DOM="describeNode disable discardSearchResults enable focus getAttributes getBoxModel "
    "getContentQuads getDocument getFlattenedDocument getFrameOwner getNodeForLocation "
    "getOuterHTML getSearchResults performSearch pushNodesByBackendIdsToFrontend querySelector "
    "querySelectorAll removeAttribute removeNode requestChildNodes requestNode resolveNode "
    "scrollIntoViewIfNeeded setAttributeValue setAttributesAsText setNodeValue setOuterHTML",
    DOMDebugger="getEventListeners",
    DOMSnapshot="",
    DOMStorage="",
    Emulation="clearDeviceMetricsOverride clearGeolocationOverride setAutoDarkModeOverride "
    "setDefaultBackgroundColorOverride setDeviceMetricsOverride setEmitTouchEventsForMouse "
    "setEmulatedMedia setEmulatedVisionDeficiency setFocusEmulationEnabled setGeolocationOverride "
    "setLocaleOverride setPageScaleFactor setScrollbarsHidden setTimezoneOverride "
    "setTouchEmulationEnabled setUserAgentOverride",
    Fetch="",
    HeapProfiler="collectGarbage",
    IO="close read",
    Input="cancelDragging dispatchDragEvent dispatchKeyEvent dispatchMouseEvent dispatchTouchEvent "
    "emulateTouchFromMouseEvent imeSetComposition insertText setInterceptDrags "
    "synthesizePinchGesture synthesizeScrollGesture synthesizeTapGesture",
    Inspector="disable enable",
    Log="",
    Network="clearBrowserCache clearBrowserCookies deleteCookies disable emulateNetworkConditions "
    "emulateNetworkConditionsByRule enable getAllCookies getCookies getRequestPostData "
    "getResponseBody overrideNetworkState setBlockedURLs setBypassServiceWorker setCacheDisabled "
    "setCookie setCookies setExtraHTTPHeaders setUserAgentOverride",
    Page="addScriptToEvaluateOnNewDocument bringToFront captureScreenshot captureSnapshot "
    "createIsolatedWorld disable enable getFrameTree getLayoutMetrics getNavigationHistory "
    "getResourceContent getResourceTree handleJavaScriptDialog printToPDF "
    "removeScriptToEvaluateOnNewDocument screencastFrameAck setBypassCSP "
    "setInterceptFileChooserDialog setLifecycleEventsEnabled startScreencast stopScreencast",
    Performance="",
    Profiler="",
    Runtime="addBinding awaitPromise callFunctionOn compileScript disable discardConsoleEntries "
    "enable evaluate getExceptionDetails getHeapUsage getIsolateId getProperties "
    "globalLexicalScopeNames releaseObject releaseObjectGroup removeBinding "
    "runIfWaitingForDebugger runScript",
    Security="disable enable setIgnoreCertificateErrors",
    Storage="clearCookies getCookies setCookies",
    Target="activateTarget attachToBrowserTarget attachToTarget detachFromTarget "
    "getBrowserContexts getTargetInfo getTargets setAutoAttach setDiscoverTargets",
)
"""For a page of the package, or one of your own: neither is left but by its own links."""

SWALLOWED = (
    "Browser.close", "Browser.setContentsSize", "Browser.setDownloadBehavior",
    "Browser.setWindowBounds", "Page.setDownloadBehavior", "Page.setFontFamilies",
)  # fmt: skip
"""Commands that are answered as if they were carried out: programs send them unasked."""

CLOSING = ("Page.close", "Target.closeTarget")
"""Commands that detach the program from the page, as if it were closed."""

_STAYS = "the page of a test item can't be left or loaded anew: follow its own links"
_ALONE = "a test item has one page and no other: work on that one"
_RUNS = "the browser of a test item can't be ended by a program"

_REASONS = {
    "Browser.crash": _RUNS,
    "Browser.crashGpuProcess": _RUNS,
    "DOM.setFileInputFiles": "a test item's page gets no file of this machine: give its name and "
    "content, as Playwright's set_input_files can",
    "Emulation.setVirtualTimePolicy": "the clock of a test item's page is moved on by the item",
    "Page.crash": _RUNS,
    "Page.navigate": _STAYS,
    "Page.navigateToHistoryEntry": _STAYS,
    "Page.reload": _STAYS,
    "Page.setDocumentContent": _STAYS,
    "Target.createBrowserContext": _ALONE,
    "Target.createTarget": _ALONE,
}
_UNLISTED = "it is none of the commands that the page of a test item takes"
_FLAT = "sessions are flat here: it needs flatten: true"


def refusal(method: str, params: Mapping[str, Any], allowed: Commands) -> str | None:
    """Return why a command is refused, with its name; None where it is not."""
    if method in (*SWALLOWED, *CLOSING):
        return None
    domain, _, name = method.partition(".")
    names = allowed.get(domain, frozenset())
    if names is not None and name not in names:
        return f"{method} was refused: {_REASONS.get(method, _UNLISTED)}"
    attaches = method == "Target.attachToTarget" or params.get("autoAttach")
    if attaches and params.get("flatten") is not True:
        return f"{method} was refused: {_FLAT}"
    return None
