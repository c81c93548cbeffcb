"""The manual: one page a file, in Markdown; loads without numpy."""

from __future__ import annotations

import re
from importlib.resources import files

PAGES = (  # in the order to read them
    "files",
    "reading-a-report",
    "metrics",
    "calibrators",
    "answers",
    "decisions",
    "slices-and-dependence",
    "comparing",
    "gates-and-ci",
    "monitoring",
    "sizes",
    "clusters",
    "figures",
    "python",
    "terms",
    "statistics",
    "recalibration",
    "promises",
    "compatibility",
    "works",
    "development",
)


def page_text(page: str) -> str:
    """Return a page as Markdown, without the marks around its generated tables."""
    return re.sub(r"(?m)^<!-- .* -->\n", "", (files(__name__) / f"{page}.md").read_text("utf-8"))


def summary(page: str) -> str:
    """Return what a page is about: the paragraph below its title, one line."""
    return page_text(page).split("\n\n", 2)[1].strip()
