"""Labels that are passed on beside recalibrated scores, where nobody could read them any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from calcli.core.data.merged import rest_of
from calcli.core.language.errors import CalcliError, InputError
from calcli.io.formats import Format
from calcli.io.labelnumbers import number_of
from calcli.io.layouts.classlabels import class_labels
from calcli.io.layouts.names import label_names
from calcli.io.layouts.order import against_custom
from calcli.io.messages import listed
from calcli.io.options import ReadOptions
from calcli.io.reading import find
from calcli.io.source import Contents, Source
from calcli.io.tables.columns import holds_of


def refuse_numbers(contents: Contents, others: Any, options: ReadOptions, form: Format, name: str) -> None:
    """Refuse labels in numbers that are to be kept beside the scores of one class, of another name.

    Raises
    ------
    InputError
        If nobody could read what would be written.
    """
    own = options.against_rest
    if own is None or number_of(own) is not None:
        return
    try:
        labels = find([contents], options).labels
    except CalcliError:  # there are none
        return
    called = label_names(others.names)
    if labels is None:  # they are in a file of their own
        numbers = any(holds_of(others.field(one).type) != "text" for one in called)
    else:
        lost = form.name != "parquet" and {*called} & {*class_labels(others)}
        numbers = bool(lost) or all(number_of(one) is not None for one in labels.seen.names or ())
    if numbers:
        raise InputError(
            f"{name}: the labels are numbers, which beside scores of {own} and of {rest_of(own)} would not "
            f"tell whether the class is {own}; save the labels as names of classes"
        )


def refuse_open_order(
    contents: Contents,
    source: Source,
    classes: Sequence[str],
    options: ReadOptions,
    form: Format,
    *,
    by_name: bool,
) -> None:
    """Refuse labels in numbers where nothing says which class is 0, but what is written would say so.

    Parameters
    ----------
    contents, source
        The file, and what was found in it.
    classes
        In the order in which they are to be written.
    options
        `classes` says the order.
    form
        What is written: arrays have the order of their classes, and so have columns made of lists.
    by_name
        Whether each score keeps a column of its own.

    Raises
    ------
    InputError
        If that is so.
    """
    width = source.scores.shape[1]
    orders = form.name in ("npy", "npz", "safetensors") or (len(source.stored) < width and not by_name)
    if options.classes is not None or width == 1 or not orders:
        return
    if source.ordered and not against_custom(classes, options):
        return
    if _in_numbers(contents, source, replace(options, classes=tuple(classes))):
        raise InputError(
            f"{source.place.name}: the labels are numbers, and the scores are those of the classes "
            f"{listed(classes)}, of which nothing says the order, which {form.name} would; name them with "
            "--classes, that of 0 first"
        )


def _in_numbers(contents: Contents, source: Source, options: ReadOptions) -> bool:
    """Tell whether there are labels, in numbers; the scores may be known from the fit alone."""
    for scores in (options.scores, options.scores or ",".join(source.stored)):
        try:
            labels = find([contents], replace(options, scores=scores)).labels
        except CalcliError:
            continue
        return labels is not None and labels.seen.names is None
    return False


def refuse_names_lost(
    others: Any, classes: Sequence[str], options: ReadOptions, form: Format, name: str
) -> None:
    """Refuse labels in numbers whose names are lost, where the scores are in another order than these.

    Raises
    ------
    InputError
        If they would be taken for others.
    """
    if form.name == "parquet" or options.against_rest is not None:
        return
    found = class_labels(others)
    for label in found.keys() & {*label_names(others.names), options.label_column}:
        if found[label] != tuple(classes):
            raise InputError(
                f"{name}: the numbers in {label} count the classes {listed(found[label])} in its metadata, "
                f"which {form.name} does not keep, and the scores are those of {listed(classes)}; write "
                ".parquet"
            )
