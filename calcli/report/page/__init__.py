"""Results as one self-contained HTML page: no network, and readable without scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from calcli.core.language.text import plain
from calcli.core.language.version import __version__
from calcli.report.shown import Headline, Shown, TextTable, spelled

LONG = 12  # rows from which a table has a search field
WIDE = 32  # characters from which a cell is collapsed
BETWEEN_WORDS = re.compile(r"([:=/_])(?=\w)")  # where names of metrics and files may be broken
CODE = re.compile(r"`([^`]*)`")
TAGS = {"best": "strong", "second": "u", "both": "strong"}


@dataclass(frozen=True)
class Picture:
    """A figure on a page.

    Attributes
    ----------
    title, caption
        Its title, and how to read it.
    svg
        The figure as an SVG element.
    system
        The system it belongs to; "" for a figure of all systems.
    """

    title: str
    caption: str
    svg: str
    system: str = ""


@dataclass(frozen=True)
class Figures(Shown):
    """Figures of systems, without tables.

    Attributes
    ----------
    systems
        Their names.
    written
        Their files.
    drawn
        Pictures of a page.
    """

    systems: Sequence[str]
    written: Sequence[str] = ()
    drawn: Sequence[Picture] = ()

    title = "Figures"

    def tables(self) -> list[TextTable]:
        """Return none."""
        return []

    def headline(self) -> Headline:
        """Return the systems of these figures."""
        return Headline(", ".join(self.systems))

    def pictures(self) -> Sequence[Picture]:
        """Return the figures of a page."""
        return self.drawn

    def __str__(self) -> str:
        return "".join(f"{plain(file)}\n" for file in self.written)

    def data(self) -> dict[str, Any]:
        """Return the systems."""
        return {"systems": list(self.systems)}


def page_text(report: Shown) -> str:
    """Return results as a page of HTML.

    The first figure stands beside the headline and the first table, if there is one system.
    """
    pictures = report.pictures()
    script, style = _part("page.js"), _part("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    tables, head = [table for table in report.tables() if table.on_pages], report.headline()
    lead = pictures[:1] if tables and len(head.systems) < 2 else ()
    albums = _albums(pictures[len(lead) :])
    titles = [table.title for table in tables] + list(albums)
    names = _names(titles)
    sections = [_section(name, table, head.systems) for name, table in zip(names, tables, strict=False)]
    opening = [*map(_figure, lead), *sections[: len(lead)]]
    body = [
        f"<header>{_headline(report.title, head)}{''.join(opening)}</header>",
        *_contents(names[len(lead) :], titles[len(lead) :]),
        *_switches(head.systems),
        *sections[len(lead) :],
        *(_album(name, *album) for name, album in zip(names[len(tables) :], albums.items(), strict=True)),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_text(report.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        "<main>\n" + "\n".join(body) + "\n</main>\n"
        f"<footer>calcli {__version__}</footer>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def fragment(report: Shown) -> str:
    """Return the tables of results as a piece of HTML, for notebooks."""
    tables = report.tables()
    names = _names([table.title for table in tables])
    return "".join(_section(name, table, ()) for name, table in zip(names, tables, strict=True))


def _part(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _names(titles: Sequence[str]) -> list[str]:
    """Return a distinct name for each title, for use in links."""
    slugs = [re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "part" for title in titles]
    return [f"{slug}-{slugs[:n].count(slug)}" if slug in slugs[:n] else slug for n, slug in enumerate(slugs)]


def _albums(pictures: Sequence[Picture]) -> dict[str, list[Picture]]:
    """Return the figures of each system below one another."""
    albums: dict[str, list[Picture]] = {}
    for picture in pictures:
        albums.setdefault(f"Figures of {picture.system}" if picture.system else "Figures", []).append(picture)
    return albums


def _headline(title: str, head: Headline) -> str:
    numbers = "".join(
        f"<div><dt>{_text(number.name)}</dt><dd><b>{_text(number.value)}</b>"
        f"<span>{_text(number.beside)}</span></dd></div>"
        for number in head.numbers
    )
    words = [
        f"<h1>{_text(title)}</h1>",
        *([f'<p class="read">{_text(head.read)}</p>'] if head.read else []),
        *([f'<p class="verdict {head.tone}">{_sentence(head.verdict)}</p>'] if head.verdict else []),
        *([f'<dl class="numbers">{numbers}</dl>'] if numbers else []),
    ]
    return f"<div>{''.join(words)}</div>"


def _contents(names: Sequence[str], titles: Sequence[str]) -> Iterator[str]:
    if len(names) > 1:
        items = "".join(
            f'<li><a href="#{name}">{_text(title)}</a></li>'
            for name, title in zip(names, titles, strict=True)
        )
        yield f'<nav aria-label="Contents"><ul>{items}</ul></nav>'


def _switches(systems: Sequence[str]) -> Iterator[str]:
    if len(systems) > 1:
        boxes = "".join(
            f'<label><input type="checkbox" checked value="{_text(name)}"> {_text(name)}</label>'
            for name in systems
        )
        yield f'<fieldset class="systems" hidden><legend>Show</legend>{boxes}</fieldset>'


def _section(name: str, table: TextTable, systems: Sequence[str]) -> str:
    notes = "".join(f"<p>{_sentence(note)}</p>" for note in table.notes)
    of = next((system for system in systems if table.title.endswith(f" of {system}")), "")
    rows = _table(table, systems) if table.rows else ""
    return f'<section id="{name}"{_of(of)}><h2>{_text(table.title)}</h2>{rows}{notes}</section>'


def _table(table: TextTable, systems: Sequence[str]) -> str:
    sides = [column.align for column in table.columns]
    heads = "".join(
        f'<th scope="col" class="{side}">{_text(column.head)}</th>'
        for column, side in zip(table.columns, sides, strict=True)
    )
    rows = "".join(
        f"<tr{_of(row[0] if row[0] in systems else '')}>{_cells(table, n, row)}</tr>"
        for n, row in enumerate(table.rows)
    )
    head = f"<thead><tr>{heads}</tr></thead>" if any(column.head for column in table.columns) else ""
    long = ' class="long"' if len(table.rows) >= LONG else ""
    caption = f'<caption class="unseen">{_text(table.title)}</caption>'
    region = f'<div class="wide" tabindex="0" role="region" aria-label="{_text(table.title)}">'
    return f"{region}<table{long}>{caption}{head}<tbody>{rows}</tbody></table></div>"


def _cells(table: TextTable, n: int, row: Sequence[str]) -> str:
    cells = []
    for place, (cell, column) in enumerate(zip(row, table.columns, strict=True)):
        tag = TAGS.get(table.marks.get((n, place)) or "")
        text = _breakable(_text(cell))
        text = f"<{tag}>{text}</{tag}>" if tag else text
        kind = 'th scope="row"' if place == 0 else "td"
        side = column.align if len(cell) > WIDE or column.align == "right" else "left short"
        name = BETWEEN_WORDS.sub("\\1\u200b", _text(column.head))  # a space without a width
        head = f' data-head="{name}"' if place and name else ""
        cells.append(f'<{kind} class="{side}"{head}>{text}</{kind[:2]}>')
    return "".join(cells)


def _album(name: str, title: str, pictures: Sequence[Picture]) -> str:
    figures = "".join(map(_figure, pictures))
    of = _of(pictures[0].system)
    return f'<section id="{name}"{of}><h2>{_text(title)}</h2><div class="album">{figures}</div></section>'


def _figure(picture: Picture) -> str:
    title, text = _text(picture.title), _text(picture.caption.removeprefix(picture.title))
    caption = f"<b>{title}</b>{text}" if text[:1] in " ," else f"<b>{title}.</b> {text}"
    return f"<figure>{picture.svg}<figcaption>{caption}</figcaption></figure>"


def _of(system: str) -> str:
    return f' data-system="{_text(system)}"' if system else ""


def _text(text: str) -> str:
    """Return text that a page shows as it is, control characters as their pictures."""
    visible = "".join(
        chr(0x2400 + ord(sign)) if ord(sign) < 32 else sign for sign in " ".join(text.splitlines())
    )
    return escape(visible.encode("utf-8", "replace").decode("utf-8"))


def _sentence(text: str) -> str:
    return CODE.sub(r"<code>\1</code>", _breakable(_text(spelled(text))))


def _breakable(text: str) -> str:
    """Return text with break points within names of metrics and files."""
    return BETWEEN_WORDS.sub(r"\1<wbr>", text)
