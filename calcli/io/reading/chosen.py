"""Select the scores that the user names: columns by a pattern, and classes in an order."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import replace

from calcli.core.language.errors import CalcliError, UsageError
from calcli.io.messages import listed
from calcli.io.options import ReadOptions
from calcli.io.reading.classes import in_order
from calcli.io.reading.head import Head, ScoreColumns
from calcli.io.words import PREFIXED, but_for_capitals, plain_text, says


def by_pattern(head: Head, pattern: str) -> list[ScoreColumns]:
    """Return the score columns whose names match a pattern or a list of names; empty if none do."""
    names = [*head.columns, *head.lists]
    numbers = {*head.numeric, *(name for name, values in head.lists.items() if values.dtype.kind != "O")}
    matching = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
    if pattern in names:
        matching = [pattern]
    listing = not matching and "," in pattern
    if listing:
        matching = [name.strip() for name in pattern.split(",")]
    if not matching or not set(matching) <= numbers:
        return []
    ranked = [
        source for source in head.sources if source.form == "ranked" and set(source.columns) == set(matching)
    ]
    if len(matching) == 1:
        return [*ranked, head.single(matching[0])]
    if listing:
        prefixed, class_names, stem = [*filter(None, map(PREFIXED.fullmatch, matching))], matching, ""
        if len(prefixed) == len(matching):
            class_names, stem = [match[2] for match in prefixed], prefixed[0][1]
        family = head.family(matching, class_names, stem)
        return [*ranked, replace(family, given=not all(map(str.isdigit, class_names)))]
    before, after = re.split(r"[*?\[]", pattern)[0], re.split(r"[*?\]]", pattern)[-1]
    classes = {name: name[len(before) : len(name) - len(after)].strip() or name for name in matching}
    return [*ranked, head.family(matching, list(classes.values()), f"{before} {after}".strip())]


def with_classes(head: Head, sources: Sequence[ScoreColumns], options: ReadOptions) -> list[ScoreColumns]:
    """Return the scores that can have the classes that the user names, in the order of the user.

    Raises
    ------
    UsageError
        If no scores can have these classes.
    """
    wanted, selected, fault = options.classes, [], None
    if wanted is None:
        return list(sources)
    _refuse_other_order(head, sources, wanted)
    in_columns = [source for source in sources if source.form == "columns"]
    alike = {source.columns for source in in_columns if but_for_capitals(wanted, source.classes)}
    for source in sources:
        if source.form == "ranked" and sorted(map(plain_text, wanted)) == sorted(source.plain):
            order = [source.places[plain_text(name)] for name in wanted]
            selected.append(replace(source, values=source.values[:, order], classes=wanted, given=True))
        elif not source.many or source.form == "ranked":
            selected.append(source)
        elif source.columns in alike and not but_for_capitals(wanted, source.classes):
            continue  # the same columns with other class names
        elif source.form == "lists":
            if len(wanted) == source.values.shape[1]:
                selected.append(replace(source, classes=wanted, given=True))
        else:
            try:
                order, classes, before = in_order(source.classes, source.columns, options, head.name)
            except CalcliError as error:
                fault = fault or (error if says("score", source.stem) or not source.stem else None)
                continue
            columns, values = tuple(source.columns[k] for k in order), source.values[:, order]
            selected.append(
                replace(source, columns=columns, values=values, classes=classes, given=True, before=before)
            )
    if fault is not None and not any(source.many for source in selected):
        raise fault
    return selected


def _refuse_other_order(head: Head, sources: Sequence[ScoreColumns], wanted: tuple[str, ...]) -> None:
    """Refuse classes in another order than the metadata, if only their places tell scores apart."""
    plain = [{*source.plain} for source in sources if source.many and source.form == "columns"]
    by_place = any(source.many and (source.form == "lists" or source.numbered) for source in sources)
    for names in head.ordered.values() if by_place else ():
        if {*names} == {*wanted} and names != wanted and {*map(plain_text, names)} not in plain:
            raise UsageError(
                f"--classes names {listed(wanted)}, but the metadata of {head.name} name the classes "
                f"{listed(names)}, in this order: if the scores are in it, say --classes {','.join(names)} "
                "or nothing; if not, save them in columns that are named after the classes"
            )
