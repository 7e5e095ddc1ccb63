"""The documentation site: Sphinx over the same Markdown files that GitHub shows.

The source folder is that of the repository, so that links between README.md, docs/ and the other
folders are the same in both places. The navigation is the list of pages in docs/index.md. A file
that is linked and not a page (LICENSE, a source file) leads to GitHub.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1]
METADATA = tomllib.loads((FOLDER / "pyproject.toml").read_text("utf-8"))["project"]

project = METADATA["name"]
release = version = METADATA["version"]
html_title = project
html_theme = "furo"
html_theme_options = {"source_repository": METADATA["urls"]["Source"], "source_branch": "main"}
html_copy_source = False

extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/**", "cassettes/README.md", "examples/README.md"]
exclude_patterns = ["AGENTS.md"]  # it is for tools
myst_heading_anchors = 4
nitpicky = True

PICTURES = (".gif", ".jpg", ".png", ".svg", ".webp")

LINK = re.compile(r"(?<=\]\()(?![\w+.-]+:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")
"""The target of a link to another file, and its anchor."""


def setup(app: Any) -> None:
    """Register what happens to each page, and at the end."""
    app.connect("source-read", prepare)
    app.connect("build-finished", add_front_page)


def prepare(app: Any, name: str, source: list[str]) -> None:
    """Add the navigation to the first page, and have links to other files lead to GitHub."""
    folder = (FOLDER / name).parent

    def to_github(link: re.Match[str]) -> str:
        target = (folder / link[1]).resolve()
        path = target.relative_to(FOLDER).as_posix()
        is_page = path.removesuffix(".md") in app.env.found_docs
        if is_page or target.suffix in PICTURES or not target.exists():
            return link[0]
        return f"{METADATA['urls']['Source']}/blob/main/{path}"

    source[0] = LINK.sub(to_github, source[0])
    if name == root_doc:
        source[0] += navigation()


def navigation() -> str:
    """Return a table of contents of the lists in docs/index.md, one for each of its headings."""
    docs = FOLDER / "docs"
    tables = ["```{toctree}\n:hidden:\n\nAll pages <docs/index>\n```"]
    for section in (docs / "index.md").read_text("utf-8").split("\n## ")[1:]:
        tables.append(f"```{{toctree}}\n:hidden:\n:caption: {section.splitlines()[0]}\n")
        for title, link in re.findall(r"^- \[([^]]+)\]\(([^)]+)\.md\)", section, re.M):
            page = (docs / link).resolve().relative_to(FOLDER).as_posix()
            tables.append(f"{title} <{page}>")
        tables.append("```")
    return "\n\n" + "\n".join(tables) + "\n"


def add_front_page(app: Any, error: Exception | None) -> None:
    """Let the site's address lead to the README."""
    if error is None and app.builder.name == "html":
        shutil.copy(app.outdir / f"{root_doc}.html", app.outdir / "index.html")
