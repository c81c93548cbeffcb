"""The scores that the user names: columns by a pattern, and classes in an order."""

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
    """Return the columns that the user names as scores; none if there are no such columns."""
    names = [*head.columns, *head.lists]
    numbers = {*head.numeric, *(name for name, one in head.lists.items() if one.dtype.kind != "O")}
    matching = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
    if pattern in names:
        matching = [pattern]
    listing = not matching and "," in pattern
    if listing:
        matching = [one.strip() for one in pattern.split(",")]
    if not matching or not set(matching) <= numbers:
        return []
    ranked = [one for one in head.sources if one.form == "ranked" and set(one.columns) == set(matching)]
    if len(matching) == 1:
        return [*ranked, head.single(matching[0])]
    if listing:
        prefixed = [PREFIXED.fullmatch(one) for one in matching]
        listed_so = [
            match[2] if match and all(prefixed) else one
            for match, one in zip(prefixed, matching, strict=True)
        ]
        stem = prefixed[0][1] if prefixed[0] and all(prefixed) else ""
        return [
            *ranked,
            replace(head.family(matching, listed_so, stem), given=not all(map(str.isdigit, listed_so))),
        ]
    before, after = re.split(r"[*?\[]", pattern)[0], re.split(r"[*?\]]", pattern)[-1]
    classes = {one: one[len(before) : len(one) - len(after)].strip() or one for one in matching}
    return [*ranked, head.family(matching, list(classes.values()), f"{before} {after}".strip())]


def with_classes(head: Head, sources: Sequence[ScoreColumns], options: ReadOptions) -> list[ScoreColumns]:
    """Return scores with the classes that the user names, in this order.

    Raises
    ------
    UsageError
        If no scores can be of these.
    """
    wanted, sources_of_classes, fault = options.classes, [], None
    if wanted is None:
        return list(sources)
    _refuse_other_order(head, sources, wanted)
    called = {
        one.columns for one in sources if one.form == "columns" and but_for_capitals(wanted, one.classes)
    }
    for one in sources:
        if one.form == "ranked" and sorted(map(plain_text, wanted)) == sorted(one.plain):
            order = [one.places[plain_text(name)] for name in wanted]
            sources_of_classes.append(replace(one, values=one.values[:, order], classes=wanted, given=True))
        elif not one.many or one.form == "ranked":
            sources_of_classes.append(one)
        elif one.columns in called and not but_for_capitals(wanted, one.classes):
            continue  # the same columns by other names
        elif one.form == "lists":
            if len(wanted) == one.values.shape[1]:
                sources_of_classes.append(replace(one, classes=wanted, given=True))
        else:
            try:
                order, classes, before = in_order(one.classes, one.columns, options, head.name)
            except CalcliError as error:
                fault = fault or (error if says("score", one.stem) or not one.stem else None)
                continue
            sources_of_classes.append(
                replace(
                    one,
                    columns=tuple(one.columns[k] for k in order),
                    values=one.values[:, order],
                    classes=classes,
                    given=True,
                    before=before,
                )
            )
    if fault is not None and not any(one.many for one in sources_of_classes):
        raise fault
    return sources_of_classes


def _refuse_other_order(head: Head, sources: Sequence[ScoreColumns], wanted: tuple[str, ...]) -> None:
    """Refuse names in another order than metadata have them, of scores that are known by their place."""
    plain = [{*one.plain} for one in sources if one.many and one.form == "columns"]
    by_place = any(one.many and (one.form == "lists" or one.numbered) for one in sources)
    for said in head.ordered.values() if by_place else ():
        if {*said} == {*wanted} and said != wanted and {*map(plain_text, said)} not in plain:
            raise UsageError(
                f"--classes names {listed(wanted)}, but the metadata of {head.name} name the classes "
                f"{listed(said)}, in this order: if the scores are in it, say --classes {','.join(said)} or "
                "nothing; if not, save them in columns that are named after the classes"
            )
