"""Checks -> workflow commands, which GitHub shows as annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calcli.core.comparing.policy import Checked
from calcli.report.numbers import counted


def annotations_text(checked: Sequence[Checked], policy: str, *, strict: bool = False) -> str:
    """Return an annotation for every warning, every rule that did not pass, and each file where all did.

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
    for one in checked:
        if one.fault:
            lines.append(
                command("error", f"{one.path} could not be judged: {one.fault}", _place(policy, one.path))
            )
        for warning in one.warnings:
            kind = "error" if strict else "warning"
            lines.append(command(kind, f"{one.path}: {warning}", _place(policy, "calcli check")))
        for outcome in one.outcomes:
            if outcome.result != "passed":
                kind = "warning" if outcome.result == "warning" else "error"
                place = _place(policy, outcome.rule.title)
                lines.append(command(kind, f"{one.path}: {outcome.status}: {outcome.reason}", place))
        if one.outcomes and one.count("passed") == len(one.outcomes):
            message = f"{one.path}: {counted(len(one.outcomes), 'rule')} passed"
            lines.append(command("notice", message, {"title": "calcli check"}))
    return "".join(f"{line}\n" for line in lines)


def command(kind: str, message: str, properties: Mapping[str, str]) -> str:
    """Return a workflow command on one line, with everything escaped that would end it or a property."""
    listed = ",".join(f"{key}={_escaped(value, PROPERTY)}" for key, value in properties.items())
    return f"::{kind} {listed}::{_escaped(message, DATA)}"


DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
PROPERTY = DATA | {":": "%3A", ",": "%2C"}


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)


def _place(policy: str, title: str) -> dict[str, str]:
    return ({} if policy == "-" else {"file": policy}) | {"title": title}
