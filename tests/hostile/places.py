"""Places of calls: files, columns and classes that a call can name; and what a generator has made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.hostile import files, tables
from tests.hostile.drawing import Draw
from tests.hostile.made import sound


@dataclass
class Place:
    """What a call can name: files in its folder, columns and classes in these."""

    files: Sequence[str]
    columns: Sequence[str] = ("label", "country")
    classes: Sequence[str] = ("0", "1", "2")
    rows: int = 60

    def column(self, draw: Draw) -> str:
        """Return a name of a column, often one that is there."""
        return draw.choice(self.columns) if self.columns and draw.chance(0.75) else draw.name()

    def some_class(self, draw: Draw) -> str:
        return draw.choice(self.classes) if self.classes and draw.chance(0.75) else draw.name()

    def file(self, draw: Draw) -> str:
        return (
            draw.choice(self.files)
            if draw.chance(0.9)
            else draw.choice(("missing.csv", ".", "", draw.name()))
        )


@dataclass
class Made:
    """What a generator has made: the files to read, what is in them, and more arguments.

    Without a command any that reads predictions may be taken. What is not to be given more arguments is a
    call as it is; only such a one has a call behind it, `again`, which has to say the same, and faults
    that were `found` while its files were made by calcli.
    """

    place: Place
    arguments: list[str] = field(default_factory=list)
    command: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    stdin: str = ""
    again: list[str] = field(default_factory=list)
    alike: str = "all"
    found: list[str] = field(default_factory=list)
    as_it_is: bool = False


def two_calls(first: list[str], again: list[str], alike: str = "all", found: Sequence[str] = ()) -> Made:
    """Return two calls that have to say the same, and what their making found wrong already."""
    return Made(Place([]), first[1:], first[0], again=again, alike=alike, found=list(found))


def place_of(columns: tables.Columns, *names: str) -> Place:
    labels = files.labels_of(columns)
    known = list(dict.fromkeys(map(str, labels.ravel()[:200].tolist())))[:10]
    rows = len(columns[0][1]) if columns else 0
    return Place(names, [name for name, _ in columns], known, rows)


def sound_place(draw: Draw, classes: int = 0) -> Place:
    """Write sound rows of a few classes."""
    count = classes or draw.choice((2, 3))
    return Place([draw.put("t.csv", sound(count))], ("label", "country"), [str(n) for n in range(count)])
