"""Checks for continuous integration: JUnit XML, and workflow commands that GitHub shows as annotations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

from calcli.core.comparing.policy import Checked, Outcome
from calcli.core.language.text import counted, plain

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(checked: Sequence[Checked], *, strict: bool = False) -> str:
    """Return a suite for each file and a case for each rule.

    A broken rule is a failure, and a rule that could not be judged an error; a warning, or
    an undecided rule that passes, is a passed case with a note in its output. A warning about a file
    is a case as well, and an error if `strict`.
    """
    suites = [_suite(file, strict) for file in checked]
    totals = {key: str(sum(int(suite.get(key, 0)) for suite in suites)) for key in COUNTS}
    root = ET.Element("testsuites", {"name": "calcli check", **totals})
    root.extend(suites)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


COUNTS = ("tests", "failures", "errors")


def _suite(checked: Checked, strict: bool) -> ET.Element:
    cases = [_case(checked.path, outcome) for outcome in checked.outcomes]
    errors = checked.count("not judged")
    if checked.fault:
        case = _named_case(checked.path, "the file can be judged")
        ET.SubElement(case, "error", {"message": _clean(checked.fault), "type": "not judged"})
        cases.append(case)
        errors += 1
    for warning in checked.warnings:
        case = _named_case(checked.path, "what is given is used")
        if strict:
            ET.SubElement(case, "error", {"message": _clean(warning), "type": "not judged"})
            errors += 1
        else:
            ET.SubElement(case, "system-out").text = _clean(f"warning: {warning}")
        cases.append(case)
    counts = dict(zip(COUNTS, map(str, (len(cases), checked.count("failed"), errors)), strict=True))
    suite = ET.Element("testsuite", {"name": _clean(checked.path), **counts})
    suite.extend(cases)
    return suite


def _case(path: str, outcome: Outcome) -> ET.Element:
    case = _named_case(path, outcome.rule.title)
    if outcome.result in ("failed", "not judged"):
        kind = "failure" if outcome.result == "failed" else "error"
        ET.SubElement(case, kind, {"message": _clean(outcome.reason), "type": outcome.status})
    else:
        words = ["warning: "] * (outcome.result == "warning") + ["undecided: "] * (
            outcome.status == "undecided"
        )
        ET.SubElement(case, "system-out").text = _clean(f"{''.join(words)}{outcome.reason}")
    return case


def _named_case(path: str, name: str) -> ET.Element:
    return ET.Element("testcase", {"classname": _clean(path), "name": _clean(name)})


def _clean(text: str) -> str:
    """Return text on one line, with escapes for control characters, and without what XML cannot hold."""
    return NOT_XML.sub("\ufffd", plain(text))


def annotations_text(checked: Sequence[Checked], policy: str, *, strict: bool = False) -> str:
    """Return an annotation for every warning, every rule that did not pass or is undecided, and each file
    where all passed.

    Parameters
    ----------
    checked
        One a file.
    policy
        Path of the policy, to which annotations are attached unless it is `-`.
    strict
        Whether a warning is an error.
    """
    lines = []

    def add(kind: str, message: str, title: str, *, placed: bool = True) -> None:
        place = {"file": plain(policy)} if placed and policy != "-" else {}
        lines.append(command(kind, plain(message), place | {"title": plain(title)}))

    for file in checked:
        if file.fault:
            add("error", f"{file.path} could not be judged: {file.fault}", file.path)
        for warning in file.warnings:
            add("error" if strict else "warning", f"{file.path}: {warning}", "calcli check")
        for outcome in file.outcomes:
            if outcome.result != "passed" or outcome.status == "undecided":
                kind = {"passed": "notice", "warning": "warning"}.get(outcome.result, "error")
                add(kind, f"{file.path}: {outcome.status}: {outcome.reason}", outcome.rule.title)
        if file.outcomes and file.count("passed") == len(file.outcomes):
            rules = counted(len(file.outcomes), "rule")
            add("notice", f"{file.path}: {rules} passed", "calcli check", placed=False)
    return "".join(f"{line}\n" for line in lines)


def command(kind: str, message: str, properties: Mapping[str, str]) -> str:
    """Return a workflow command on one line, with everything escaped that would end it or a property."""
    listed = ",".join(f"{key}={_escaped(value, PROPERTY)}" for key, value in properties.items())
    return f"::{kind} {listed}::{_escaped(message, DATA)}"


DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
PROPERTY = DATA | {":": "%3A", ",": "%2C"}


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)
