"""The HTTP library of the installed `openai`: httpx2 since its version 3, httpx before that."""

from importlib import import_module
from typing import TYPE_CHECKING

import openai

if TYPE_CHECKING:
    import httpx2 as httpx
else:
    httpx = import_module("httpx" if openai.VERSION.startswith("2.") else "httpx2")

__all__ = ["httpx"]
