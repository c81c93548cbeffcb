"""Checks -> workflow commands, which GitHub shows as annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calcli.core.comparing.policy import Checked
from calcli.core.language.text import counted, plain


def annotations_text(checked: Sequence[Checked], policy: str, *, strict: bool = False) -> str:
    """Return an annotation for every warning, every rule that did not pass or is undecided, and each file
    where all passed.

    Parameters
    ----------
    checked
        One a file.
    policy
        Path of the policy, which the annotations are attached to; not to `-`.
    strict
        Whether a warning is an error.
    """
    lines = []

    def add(kind: str, message: str, title: str, *, placed: bool = True) -> None:
        place = {"file": plain(policy)} if placed and policy != "-" else {}
        lines.append(command(kind, plain(message), place | {"title": plain(title)}))

    for one in checked:
        if one.fault:
            add("error", f"{one.path} could not be judged: {one.fault}", one.path)
        for warning in one.warnings:
            add("error" if strict else "warning", f"{one.path}: {warning}", "calcli check")
        for outcome in one.outcomes:
            if outcome.result != "passed" or outcome.status == "undecided":
                kind = {"passed": "notice", "warning": "warning"}.get(outcome.result, "error")
                add(kind, f"{one.path}: {outcome.status}: {outcome.reason}", outcome.rule.title)
        if one.outcomes and one.count("passed") == len(one.outcomes):
            rules = counted(len(one.outcomes), "rule")
            add("notice", f"{one.path}: {rules} passed", "calcli check", placed=False)
    return "".join(f"{line}\n" for line in lines)


def command(kind: str, message: str, properties: Mapping[str, str]) -> str:
    """Return a workflow command on one line, with everything escaped that would end it or a property."""
    listed = ",".join(f"{key}={_escaped(value, PROPERTY)}" for key, value in properties.items())
    return f"::{kind} {listed}::{_escaped(message, DATA)}"


DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
PROPERTY = DATA | {":": "%3A", ",": "%2C"}


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)
