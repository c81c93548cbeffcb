"""Finding the columns and classes of a calibrator's fit in another file."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NoReturn

import numpy as np

from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.data.predictions import called
from calcli.core.language.errors import CalcliError, InputError, UsageError
from calcli.core.language.expressions import WRONG_RIGHT
from calcli.io.formats import Format
from calcli.io.layouts import ALONE
from calcli.io.messages import answered, listed, options_alone
from calcli.io.options import ReadOptions
from calcli.io.read import understand
from calcli.io.reading import find
from calcli.io.reading.checks import Judged, judge_kind
from calcli.io.reading.columns import columns_of
from calcli.io.reading.facts import HALF, SURELY, cut, ranks
from calcli.io.reading.head import as_text
from calcli.io.tables.arrays import ArrayTable
from calcli.io.tables.source import Contents, Source
from calcli.io.tables.values import worded
from calcli.io.words import (
    MISSING_NAMES,
    PARTS,
    PREFIXED,
    customary,
    label_names,
    plain_text,
    says,
    stem_before,
    tokens,
)

LOOKED_AT = 1 << 13  # rows


def known_classes(contents: Contents, path: str, options: ReadOptions) -> tuple[str, ...]:
    """Return the classes of scores without a calibrator, in the order of `evaluate`.

    Raises
    ------
    InputError
        If these are not scores of classes, or belong to a single class.
    """
    try:
        classes = understand(find([contents], options), path, options).classes
    except CalcliError:  # there are no labels to name the classes
        source = find([contents], options, labelled=False)
        width, named_classes = source.scores.shape[1], options.classes or source.classes
        classes = named_classes or tuple(map(str, range(max(width, 2))))
        if width == 1 and len(classes) == 1:
            if classes[0] not in ("0", "1"):
                raise InputError(
                    f"{path} has scores of {classes[0]} alone, and no class is named but it; name both, in "
                    f"the order of the priors, with --classes"
                ) from None
            classes = ("0", "1")
    if classes == WRONG_RIGHT:
        raise InputError(
            f"{path} has the confidence in answers that are right or wrong, and class priors are those of "
            "classes; expected a score for each class, or that of one of two"
        )
    return classes


def find_again(record: CalibratorRecord, contents: Contents, options: ReadOptions) -> Source:
    """Return the scores in a file: in the columns of the fit, if they exist and no others are named.

    Raises
    ------
    InputError
        If there are none, or several candidates.
    UsageError
        If an option names a missing column.
    """
    look = how_to_look(record, contents, options)
    source = answered(partial(_found, record, contents), look, options_alone)
    chosen = (look.scores, options.classes, options.positive, options.against_rest, options.system)
    if record.of_answers or source.scores.shape[1] > 1 or any(chosen) or source.layout != ALONE.name:
        return source
    name = source.taken[0]
    if stem_before(name) in record.classes:
        return replace(source, classes=(stem_before(name),))
    if source.classes and (PREFIXED.fullmatch(name) or stem_before(name)):
        return source
    scored = _whose_score(record, source)
    return source if scored in (None, "1", "true") else replace(source, classes=(scored,))


def _whose_score(record: CalibratorRecord, source: Source) -> str | None:
    """Return the class of a single score from predictions or labels beside it; None if they do not tell.

    Raises
    ------
    InputError
        If it may be the confidence in the predicted class, which is not always the second one.
    """
    scores, second = source.scores.head(LOOKED_AT)[:, 0].astype(np.float64), record.classes[1]
    predicted = [column for column in source.columns if says("prediction", column)]
    texts_of = {
        column: as_text(worded(source.table, column)[: len(scores)], MISSING_NAMES)
        for column in [*predicted, *label_names(source.columns)]
    }
    sure = len(scores) > 0 and scores.min() >= HALF * (100 if scores.max() > 1 else 1)
    for head in predicted if sure else ():
        if not {*texts_of[head]} <= {plain_text(second), "1", ""}:
            raise InputError(
                f"{source.place.name}: {source.taken[0]} may be the confidence in what {head} names, and the "
                f"calibrator was fitted on scores of a class; save those of {second}, or, if these are, say "
                f"--positive {shlex.quote(second)}"
            )
    plain = {plain_text(name): name for name in record.classes}
    for head, texts in texts_of.items():
        scored = cut(scores, texts) if head in predicted else None
        if head not in predicted and {*texts.tolist()} - {""} == {*plain} and not customary(plain):
            raised = ranks(scores, texts == plain_text(second))
            scored = record.classes[int(raised > 0)] if abs(raised) > SURELY else None
        if scored is not None:
            return plain.get(scored, scored)
    return None


def _found(record: CalibratorRecord, contents: Contents, look: ReadOptions) -> Source:
    columns = record.fitted_on.get("columns") or ()
    present = look.scores is None and bool(columns) and set(columns) <= set(contents.columns)
    if present and record.fitted_on.get("scores") is not None:
        look = replace(look, scores=str(record.fitted_on["scores"]))
    try:
        return find([contents], look, labelled=False, classes=record.classes)
    except InputError as fault:
        gone = [name for name in columns if name not in contents.columns]
        if look.scores is None and 0 < len(gone) < len(columns):
            raise InputError(f"missing of the columns of the fit: {listed(gone)}; {fault}") from fault
        if not present or look.scores is not None:
            raise
        fitted = record.fitted_on
        if look.kind == "auto" and "percent" in fitted:  # the stated kind of the scores of the fit
            look = replace(look, kind=called(fitted["kind"], fitted["percent"]))
        return find(
            [contents], replace(look, scores=",".join(columns)), labelled=False, classes=record.classes
        )


def how_to_look(record: CalibratorRecord, contents: Contents, options: ReadOptions) -> ReadOptions:
    """Return options to find the scores: columns may be named after classes, a single one is the second."""
    if record.fitted_on.get("per_character"):
        options = replace(options, per_character=True)
    if record.of_answers:
        return options
    classes = options.classes
    if classes is None and set(record.classes) <= set(contents.columns):
        classes = record.classes
    return replace(options, classes=classes, positive=record.classes[1])


def judged_as_fitted(
    record: CalibratorRecord, source: Source, options: ReadOptions
) -> tuple[Judged, tuple[str, ...]]:
    """Return the kind of scores, and notes on it.

    A few values do not tell the kind of a single score: logits may all lie in [0, 1]. In the column of the
    fit scores keep the kind of the fit.

    Raises
    ------
    InputError
        If they look like another kind than the scores of the fit.
    """
    score_kind, fitted = judge_kind(source, options), record.fitted_on
    chosen = options.kind != "auto" or source.kind == "percent" or source.scores.shape[1] > 1
    if chosen or "percent" not in fitted:
        return score_kind, ()
    looks, of_fit = score_kind.called, called(fitted["kind"], fitted["percent"])
    again = [*columns_of(source)] == fitted.get("columns")
    if looks == of_fit or (not again and source.kind is not None and {looks, of_fit} != {"probs", "percent"}):
        return score_kind, ()
    name = source.place.name
    if not again:
        raise InputError(
            f"{name} has scores that look like {looks}, but {record.made} {of_fit}; say which "
            f"they are, with --kind {looks} or --kind {of_fit}"
        )
    note = f"{name} has scores that look like {looks}; they were taken for {of_fit}, as in the fit (--kind)"
    return judge_kind(source, replace(options, kind=of_fit)), (note,)


def classes_of(
    record: CalibratorRecord, source: Source, options: ReadOptions
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the class of each score in the order of the file, and notes on it.

    A single score per row belongs to the second class, unless its name says otherwise.

    Raises
    ------
    InputError
        If they differ from the classes of the fit.
    UsageError
        If a positive class is given for more than two classes.
    """
    names, name, stored, width = record.classes, source.place.name, source.classes, source.scores.shape[1]
    if max(width, 2) != len(names):
        raise InputError(
            f"{name} has scores of {max(width, 2)} classes, but {record.made} {len(names)}: {listed(names)}"
            + ("" if stored else "; of an array, --class-axis says which of its axes has the classes")
        )
    if options.positive is not None and len(names) > 2:
        raise UsageError(f"--positive is for two classes, but {name} has {width}; leave it out")
    if width == 1:
        second = options.positive or _second(stored, options.classes, record, name)
        if second not in names:
            refuse_classes(name, (second,), record)
        return (names[1 - names.index(second)], second), ()
    classes = stored or options.classes
    if classes is None:
        numbered = names == tuple(map(str, range(len(names))))
        order = names[::-1] if record.fitted_on.get("turned") is True else names  # of the columns of the fit
        note = f"{name} has no class names: its scores were taken in the order of the fit, {listed(order)}"
        return order, () if numbered else (note,)
    if sorted(classes) != sorted(names):
        refuse_classes(name, classes, record)
    return classes, ()


def renamed(record: CalibratorRecord, source: Source, options: ReadOptions) -> tuple[str, ...]:
    """Return a remark on a single score with another name than in the fit.

    Raises
    ------
    InputError
        If it is named after another class.
    """
    columns: Sequence[str] = record.fitted_on.get("columns") or ()
    chosen = options.positive or options.classes or options.against_rest or record.of_answers
    if chosen or len(columns) != 1 or len(source.taken) != 1 or source.scores.shape[1] > 1:
        return ()
    fitted, name, second = columns[0], source.taken[0], record.classes[1]
    if name == fitted or source.classes or stem_before(name) in record.classes:
        return ()
    words, after = _class_words(name), _class_words(fitted)
    if words and after and (words.isdisjoint(after) or says("not", name) != says("not", fitted)):
        first_class = record.classes[0]
        raise InputError(
            f"{source.place.name}: {name} is named after another class than {fitted}, the score of {second} "
            f"in the fit; say whose it is, with --positive {shlex.quote(second)} or "
            f"--positive {shlex.quote(first_class)}"
        )
    return () if words & after else (f"{name} is taken for the score of {second}, as {fitted} of the fit is",)


def _class_words(name: str) -> set[str]:
    """Return the words of a name that may name a class."""
    kinds = ("score", "made", "system", "derived", "class")
    words = [word for word in tokens(name) if not (word.isdigit() or word in PARTS)]
    return {word for word in words if not any(says(kind, word) for kind in kinds)}


def written_order(
    record: CalibratorRecord, source: Source, classes: tuple[str, ...], options: ReadOptions, form: Format
) -> tuple[str, ...]:
    """Return the classes in the order in which scores are written, in which labels count them.

    Parameters
    ----------
    record, source, options
        The calibrator, the scores, and the options.
    classes
        From `classes_of`.
    form
        The format to write.
    """
    numbers, alone = tuple(map(str, range(len(classes)))), source.scores.shape[1] == 1
    if set(classes) == set(numbers) and (alone or form.name == "npy"):  # whose columns have no names
        return numbers
    if not alone:
        order = source.before or classes
        if form.of_arrays and not isinstance(source.table, ArrayTable):
            _refuse_counting(source, classes, order, form)
        return order
    if options.classes is not None and set(options.classes) == set(classes):
        return options.classes
    turned = record.fitted_on.get("turned") is True and options.positive is None
    return classes[::-1] if turned and classes == record.classes else classes


def _refuse_counting(source: Source, classes: Sequence[str], order: Sequence[str], form: Format) -> None:
    """Raise an InputError if the scores show that numbered labels do not count classes as an array would."""
    scores, alphabet = source.scores.head(LOOKED_AT), sorted(order)
    for column in label_names(source.columns):
        labels = source.columns[column][: len(scores)]
        if labels.dtype.kind not in "iuf" or not np.isin(labels, range(len(classes))).all():
            continue
        order_of = [np.array([classes.index(name) for name in names]) for names in (alphabet, order)]
        raised = np.subtract(*(scores[np.arange(len(scores)), at[labels.astype(int)]] for at in order_of))
        if raised.mean() > 3 * raised.std() / np.sqrt(len(raised)):
            raise InputError(
                f"{source.place.name}: labels in {column} seem to count the classes as {listed(alphabet)}, "
                f"and {form.name} would have them as {listed(order)}; save them as names, or write a table"
            )


def _second(
    stored: tuple[str, ...] | None, stated: tuple[str, ...] | None, record: CalibratorRecord, name: str
) -> str:
    """Return the class of a single score: by its name or, if this is 1, the second named class.

    By number 0 is the first of two names, but a single score belongs to the last one elsewhere.
    """
    classes = record.classes
    last = (stored or stated or classes)[-1]
    if last in classes or last not in ("0", "1"):
        return last
    if stated is not None and last == "1":
        return stated[-1]
    options = " or ".join(f"--positive {shlex.quote(class_name)}" for class_name in classes)
    raise InputError(
        f"{name} has one score in each row, that of class {last}, but {record.made} "
        f"{listed(classes)}; say which of them that is, with {options}"
    )


def refuse_classes(name: str, classes: tuple[str, ...], record: CalibratorRecord) -> NoReturn:
    """Raise an InputError: the classes of a file differ from the fit."""
    raise InputError(
        f"{name} has scores of the classes {listed(classes)}, but {record.made} "
        f"{listed(record.classes)}; expected the same names in any order; --classes names scores that are "
        "only numbered, there as in apply"
    )
