"""What criteria choose on one set, and what that is worth on another, as shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calcli.core.comparing.comparison import Choice, relative_change
from calcli.core.language.expressions import Measure
from calcli.core.language.text import number, relative
from calcli.report.objects import SelectionObject
from calcli.report.shown import Column, Shown, TextTable

ARROWS = {"lower": " ↓", "higher": " ↑", "zero": " → 0", "one": " → 1", "none": ""}


@dataclass(frozen=True, repr=False)
class SelectionReport(Shown):
    """Choices by several criteria (van de Waterlaat 2021, table 5.1).

    Attributes
    ----------
    choices
        One a criterion.
    sets
        Names of the set of the choice, and of the other one.
    metrics
        What is reported.
    files
        How many there were to choose from.
    same
        Whether files of both sets are the same.
    """

    choices: Sequence[Choice]
    sets: tuple[str, str]
    metrics: Sequence[Measure]
    files: int
    same: bool = False

    title = "Selection"
    schema = "calcli.selection/1"

    def tables(self) -> list[TextTable]:
        """Return the values of every choice, and the changes against the first one."""
        columns = [Column("chosen by", "left"), Column("number"), Column("set", "left")]
        columns += [Column(call.asked + ARROWS[call.entry.direction]) for call in self.metrics]
        rows = [
            (choice.criterion.asked, str(choice.number), name, *map(number, values))
            for choice in self.choices
            for name, values in self._values(choice)
        ]
        notes = (
            f"Each criterion chose the best of {self.files} files on {self.sets[0]}, where its own values "
            f"are optimistic; {self._of_the_other}.",
        )
        tables = [TextTable("Selection", tuple(columns), tuple(rows), notes)]
        if len(self.choices) > 1:
            tables.append(self._changes(columns))
        return tables

    @property
    def _of_the_other(self) -> str:
        """What the values on the other set are worth."""
        if self.same:
            return f"files on {self.sets[1]} are the same, so values there are optimistic as well"
        return f"those on {self.sets[1]} played no part in the choice"

    def _changes(self, columns: Sequence[Column]) -> TextTable:
        rows = []
        for choice in self.choices[1:]:
            for n, (name, values) in enumerate(self._values(choice)):
                first = self._values(self.choices[0])[n][1]
                changes = [relative(relative_change(*both)) for both in zip(first, values, strict=True)]
                rows.append((choice.criterion.asked, name, *changes))
        heads = (columns[0], *columns[2:])
        return TextTable(f"Change against {self.choices[0].criterion.asked}, in percent", heads, tuple(rows))

    def _values(self, choice: Choice) -> list[tuple[str, list[float]]]:
        """Return name and values of both sets."""
        both = zip(self.sets, (choice.chosen, choice.reported), strict=True)
        return [(name, [found[str(call)].value for call in self.metrics]) for name, found in both]

    def content(self) -> SelectionObject:
        """Return the choices with their values on both sets."""
        first = self.choices[0].reported
        return {
            "sets": {"chosen_on": self.sets[0], "reported_on": self.sets[1]},
            "files": self.files,
            "warnings": [f"{self._of_the_other[0].upper()}{self._of_the_other[1:]}"] if self.same else [],
            "choices": [
                {
                    "criterion": choice.criterion.asked,
                    "number": choice.number,
                    "chosen_on": {call.asked: choice.chosen[str(call)].value for call in self.metrics},
                    "reported_on": {call.asked: choice.reported[str(call)].value for call in self.metrics},
                    "relative_change": {
                        call.asked: relative_change(first[str(call)].value, choice.reported[str(call)].value)
                        for call in self.metrics
                    },
                }
                for choice in self.choices
            ],
        }
