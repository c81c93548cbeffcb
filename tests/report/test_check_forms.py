"""JUnit XML against its schema, annotations as GitHub parses them."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calcli.core.comparing.policy import Bound, Checked, Outcome, Policy, Rule, exit_status
from calcli.core.language.expressions import parse_metric
from calcli.report.check import CheckReport
from calcli.report.ci import annotations_text, command, junit_text
from calcli.work.policy import rounded_outward

# the schema of Jenkins' xUnit plugin (junit-10.xsd, MIT license), said again as a table: of each element the
# required attributes, the optional ones, the children; elements without children hold text, the others none
SCHEMA = {
    "testsuites": ((), ("name", "time", "tests", "failures", "errors"), ("testsuite",)),
    "testsuite": (
        ("name", "tests", "failures", "errors"),
        ("group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"),
        ("testsuite", "properties", "testcase", "system-out", "system-err"),
    ),
    "testcase": (
        ("name",),
        ("time", "classname", "group"),
        ("skipped", "error", "failure", "system-out", "system-err"),
    ),
    "failure": ((), ("type", "message"), ()),
    "error": ((), ("type", "message"), ()),
    "skipped": ((), ("type", "message"), ()),
    "properties": ((), (), ("property",)),
    "property": (("name", "value"), (), ()),
    "system-out": ((), (), ()),
    "system-err": ((), (), ()),
}

text = st.text(max_size=40)


def outcome(status, reason="because", severity="error", name="") -> Outcome:
    return Outcome(Rule(parse_metric("brier"), Bound(1, True), severity=severity, name=name), status, reason)


def some(*outcomes, path="preds.csv", fault="") -> Checked:
    return Checked(path, 10, outcomes, fault)


def assert_valid(element: ET.Element) -> None:
    required, optional, children = SCHEMA[element.tag]
    assert set(required) <= set(element.keys()) <= {*required, *optional}
    for child in element:
        assert child.tag in children
        assert not (child.tail or "").strip()
        assert_valid(child)
    assert not children or not (element.text or "").strip()
    if "time" in element.keys():  # noqa: SIM118 (an element is no mapping)
        assert re.fullmatch(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?", element.get("time"))


@pytest.fixture
def mixed() -> list[Checked]:
    return [
        some(
            outcome("passed"), outcome("broken"), outcome("not judged"), outcome("broken", severity="warning")
        ),
        some(path="none.csv", fault="none.csv: no such file"),
    ]


def test_undecided_is_said_in_every_form():
    means = {
        "fail": ("failure", "error"),
        "warn": ("system-out", "warning"),
        "pass": ("system-out", "notice"),
    }
    for said, (child, kind) in means.items():
        rule = Rule(parse_metric("brier"), Bound(1, True, "upper", said))
        one = some(Outcome(rule, "undecided", "because"))
        (case,) = ET.fromstring(junit_text([one]))[0]
        assert "undecided" in (case[0].text or case[0].get("type"))
        assert case[0].tag == child
        assert annotations_text([one], "p.toml").startswith(f"::{kind} ")
        assert "undecided: because" in annotations_text([one], "p.toml")
        shown = CheckReport([one], Policy((rule,)), "p.toml")
        assert "undecided" in str(shown)
        assert "1 undecided." in shown.headline().verdict
        assert shown.exit_status == (said == "fail")


def test_junit_keeps_to_its_schema_and_counts(mixed):
    root = ET.fromstring(junit_text(mixed))
    assert_valid(root)
    assert [root.get(key) for key in ("tests", "failures", "errors")] == ["5", "1", "2"]
    first, second = root
    assert [[child.tag for child in case] for case in first] == [
        ["system-out"], ["failure"], ["error"], ["system-out"],
    ]  # fmt: skip
    assert first[3][0].text == "warning: because"
    assert second[0][0].get("message") == "none.csv: no such file"
    for suite in root:
        assert int(suite.get("tests")) == len(suite)
        assert int(suite.get("errors")) == len(suite.findall("testcase/error"))
        assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))


@given(text, text, text)
def test_junit_is_xml_whatever_the_names(path, reason, name):
    root = ET.fromstring(junit_text([some(outcome("broken", reason, name=name), path=path, fault=reason)]))
    assert_valid(root)


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """Parse a workflow command as GitHub's runner does: by its separators, then percent codes."""
    found = re.fullmatch(r"::(\w+)(?: ([^\r\n]*?))?::([^\r\n]*)", line, re.DOTALL)
    assert found is not None
    pairs = [pair.split("=", 1) for pair in found[2].split(",")] if found[2] else []
    codes = {"%0D": "\r", "%0A": "\n"}

    def decoded(value: str, codes: dict[str, str]) -> str:
        for code, character in codes.items():
            value = value.replace(code, character)
        return value.replace("%25", "%")

    own = codes | {"%3A": ":", "%2C": ","}
    return found[1], {key: decoded(value, own) for key, value in pairs}, decoded(found[3], codes)


@given(text, text, text)
def test_annotations_survive_any_text(message, title, file):
    line = command("error", message, {"file": file, "title": title})
    assert "\n" not in line
    assert "\r" not in line
    assert parsed(line) == ("error", {"file": file, "title": title}, message)


def test_control_characters_in_annotations_are_escapes():
    (line,) = annotations_text(
        [some(path="a\x1b[31m.csv", fault="no \x1b[31mred\n::error::x")], "p\x07.toml"
    ).splitlines()
    assert line.isprintable()
    assert r"no \x1b[31mred\n" in line
    assert "::error::x" not in line


def test_every_rule_that_did_not_pass_is_an_annotation(mixed):
    found = [parsed(line) for line in annotations_text(mixed, "calcli.toml").splitlines()]
    assert [kind for kind, _, _ in found] == ["error", "error", "warning", "error"]
    assert {properties["file"] for _, properties, _ in found} == {"calcli.toml"}
    piped = [parsed(line) for line in annotations_text(mixed, "-").splitlines()]
    assert [list(properties) for _, properties, _ in piped] == [["title"]] * 4
    (good,) = annotations_text([some(outcome("passed"))], "calcli.toml").splitlines()
    assert parsed(good) == ("notice", {"title": "calcli check"}, "preds.csv: 1 rule passed")


@pytest.mark.parametrize(
    ("value", "slack", "rounded"),
    [(0.3166, 0.1111, "0.43"), (0.9117, -0.0316, "0.880"), (0.999473, -0.000552, "0.99892"),
     (2.1053, 0.0123, "2.118"), (12.04, 3.1, "15.2"), (0.000213, 0.000432, "0.00065")],
)  # fmt: skip
def test_limits_are_rounded_outward_to_two_digits_of_their_slack(value, slack, rounded):
    assert rounded_outward(value, slack) == rounded
    assert abs(float(rounded) - value) >= abs(slack)


def test_a_rule_that_passes_beyond_its_limit_says_why():
    rule = Rule(parse_metric("ece"), Bound(0.1, True))
    within = Outcome(rule, "passed", "0.02 within the limit", 0.08, 0.1, 0.02)
    beyond = Outcome(rule, "passed", "0.03 beyond the limit, which is chance", 0.13, 0.1, -0.03)
    (table,) = CheckReport([some(within, beyond)], Policy(()), "calcli.toml").tables()
    assert table.notes == ("ece at most 0.1: 0.03 beyond the limit, which is chance.", "2 rules: 2 passed.")


def test_a_warning_is_in_every_form():
    checked = [replace(some(outcome("passed")), warnings=("the baseline was not used",))]
    (table,) = CheckReport(checked, Policy(()), "calcli.toml").tables()
    assert table.notes[0] == "WARNING: the baseline was not used."
    (suite,) = ET.fromstring(junit_text(checked))
    assert_valid(suite)
    assert (suite.get("tests"), suite.get("errors")) == ("2", "0")
    assert suite[1][0].text == "warning: the baseline was not used"
    kind, _, message = parsed(annotations_text(checked, "calcli.toml").splitlines()[0])
    assert (kind, message) == ("warning", "preds.csv: the baseline was not used")


def test_a_warning_is_an_error_if_strict():
    checked = [replace(some(outcome("passed")), warnings=("the baseline was not used",))]
    assert (exit_status(checked), exit_status(checked, strict=True)) == (0, 2)
    (suite,) = ET.fromstring(junit_text(checked, strict=True))
    assert_valid(suite)
    assert suite.get("errors") == "1"
    assert suite[1][0].get("message") == "the baseline was not used"
    assert annotations_text(checked, "calcli.toml", strict=True).startswith("::error")
