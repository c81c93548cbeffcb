"""What a reading calls the classes of its scores, and what kind of scores these are."""

from __future__ import annotations

from collections.abc import Mapping

from calcli.core.data.predictions import Kind
from calcli.io.options import ReadOptions
from calcli.io.reading.candidates import Candidate
from calcli.io.reading.head import Head
from calcli.io.words import CUSTOM, PREFIXED, plain_text, stem_before


def kind_of(c: Candidate) -> Kind:
    """Return what kind of scores they are; percentages are probabilities."""
    return "probs" if c.kind == "percent" else c.kind


def classes_of(c: Candidate, options: ReadOptions) -> tuple[str, ...] | None:
    """Return what the classes are called, in the order of the scores, where something says it."""
    source = c.source
    if source.form == "ranked":
        return None
    if not source.many:
        return None if options.system else classes_of_one(c, options)
    if c.names:
        called = spelled(c.head, c.label)
        return tuple(called.get(plain_text(one), one) for one in c.names)
    if source.form == "lists":
        return None
    if c.how == "names" and c.label:
        called = spelled(c.head, c.label)
        there = set(called.values())
        return tuple(one if one in there else _as_labels(one, called) for one in source.classes)
    if c.how == "custom":
        called = spelled(c.head, c.label)
        words = {CUSTOM[text]: word for text, word in called.items()}
        if c.head.columns[c.label].dtype.kind == "O":
            return tuple(words.get(CUSTOM[plain_text(one)], one) for one in source.classes)
    return source.classes


def _as_labels(name: str, called: Mapping[str, str]) -> str:
    """Return the name of a class as labels spell it, if they do but for spaces."""
    label = called.get(plain_text(name), name)
    return label if label.strip() == name.strip() else name


def classes_of_one(c: Candidate, options: ReadOptions) -> tuple[str, ...] | None:
    """Return the class of one score, or both, the one it is of last; None if it is that of 1, or of true."""
    prefixed, stem = PREFIXED.fullmatch(c.source.columns[0]), stem_before(c.source.columns[0])
    own = (
        prefixed[2]
        if prefixed
        else stem
        if stem and (plain_text(stem) in CUSTOM or plain_text(stem) in c.own)
        else None
    )
    if not c.label or options.classes or options.positive or options.against_rest:
        number = own in ("0", "1") and c.label in c.head.ordered and options.positive
        return None if own is None or number else (own,)
    called = spelled(c.head, c.label)
    if c.positive in ("1", "true") and c.own <= {"0", "1", "false", "true"}:
        return None if own is None or plain_text(own) in CUSTOM else (own,)
    other = [text for text in called if text != c.positive]
    if len(other) > 1:
        return (called[c.positive],)
    last = called.get(c.positive, c.positive)
    return (called[other[0]], last) if other else (last,)


def spelled(head: Head, label: str) -> Mapping[str, str]:
    """Return how each of the labels is written, by what it means."""
    values, ordered = head.columns[label], {plain_text(one): one for one in head.ordered.get(label, ())}
    if values.dtype.kind != "O":
        return {one: one for one in sorted(head.values[label])}
    return ordered | {text: str(value) for text, value in zip(head.text[label], values, strict=True) if text}
