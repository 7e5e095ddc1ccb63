"""The switches of Chromium that make pages deterministic, on this machine as on others."""

from __future__ import annotations

from selenium import webdriver

BOUNDARY_EVENTS = "BoundaryEventDispatchTracksNodeRemoval"
"""Chromium's feature that sends events without end to an element that inserts itself again when the
pointer is over it, as in `click-pie`: a click would never land. It is off."""

_FEATURES_OFF = (
    BOUNDARY_EVENTS,
    "BackForwardCache",  # would keep pages in memory to which nobody goes back
    "PreloadTopChromeWebUI",  # with the two of the address bar: a renderer for a window's own parts
    "RenderDocument",  # would make a frame anew for every page: a tenth of a fresh start
    "SpareRendererForSitePerProcess",  # all pages are of one site, which has its renderer
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxPopup",
)
"""Features that are off; chromedriver adds its own, such as `PaintHolding`."""

# Others that are often recommended are chromedriver's own, or gained nothing where measured.
_SWITCHES = (
    "--disable-background-networking",
    f"--disable-blink-features={BOUNDARY_EVENTS}",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    f"--disable-features={','.join(_FEATURES_OFF)}",
    "--disable-gpu",
    "--disable-partial-raster",  # a corner of a picture would differ by what was drawn before
    "--disable-smooth-scrolling",
    "--disable-sync",
    "--font-render-hinting=none",
    "--force-device-scale-factor=1",
    "--force-prefers-reduced-motion",
    "--hide-scrollbars",
    "--in-process-gpu",  # it draws in software anyway; a process less
    "--lang=en-US",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-proxy-server",
    "--window-size=800,720",
)


def chromium_options(reachable: str, timeout: float) -> webdriver.ChromeOptions:
    """Return the options of a session, but for those that depend on where its browser runs.

    Args:
        reachable: the resolver rules for the hosts that pages reach; there are no others.
        timeout: real seconds that a page may take to load, and a script to end.
    """
    options = webdriver.ChromeOptions()
    options.unhandled_prompt_behavior = "dismiss"
    milliseconds = round(1000 * timeout)
    options.timeouts = {"pageLoad": milliseconds, "script": milliseconds}
    for switch in _SWITCHES:
        options.add_argument(switch)
    options.add_argument(f"--host-resolver-rules={reachable}, MAP * ~NOTFOUND")
    return options
