"""Font settings of the browser's process: the same edges of letters on any machine.

Text of the page keeps to its own outlines anyway (page/style.js). Text in drawings follows the
settings of the machine; Chromium takes them from fontconfig, and a headless shell has its own.
"""

from __future__ import annotations

import os
from pathlib import Path
from xml.sax.saxutils import escape

_SETTINGS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">{machine}</include>
  <match target="pattern">{edits}</match>
  <match target="font">{edits}</match>
</fontconfig>
"""

_EDITS = """
    <edit name="antialias" mode="assign"><bool>true</bool></edit>
    <edit name="autohint" mode="assign"><bool>false</bool></edit>
    <edit name="hinting" mode="assign"><bool>false</bool></edit>
    <edit name="hintstyle" mode="assign"><const>hintnone</const></edit>
    <edit name="rgba" mode="assign"><const>none</const></edit>
  """


def write_font_settings(folder: Path) -> Path:
    """Write settings that draw letters in grey and without hinting; return their file.

    The machine's own settings are included, so that its fonts are found. For the variable
    `FONTCONFIG_FILE` (https://fontconfig.pages.freedesktop.org/fontconfig/fontconfig-user.html).
    """
    machine = Path(os.environ.get("FONTCONFIG_FILE") or "fonts.conf")
    machine = Path(os.environ.get("FONTCONFIG_PATH") or "/etc/fonts") / machine
    path = folder / "fonts.conf"
    path.write_text(_SETTINGS.format(machine=escape(str(machine)), edits=_EDITS), encoding="utf-8")
    return path
