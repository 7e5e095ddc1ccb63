"""Chromium and the MiniWoB++ page in it."""
