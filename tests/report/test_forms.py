"""JSON, CSV and Markdown hold what the tables hold."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math

import pytest

from calcli.core.language.settings import Settings
from calcli.report.evaluation import RECORD, Report
from calcli.report.latex import latex_text
from calcli.report.markdown import markdown_text
from calcli.report.shown import Column, TextTable, render


def as_json(*results) -> dict:
    return json.loads(render(Report(results, Settings()), "json"))


def as_csv(result, details=False) -> str:
    return render(Report([result], Settings(), details=details), "csv")


def test_the_json_is_versioned_and_says_its_settings(sure):
    report = as_json(sure)
    assert report["schema"] == "calcli.report/1"
    assert report["settings"]["bins"] == 15
    assert report["results"][0]["input"]["rows"] == 200


def test_numbers_are_exact(sure):
    metrics = as_json(sure)["results"][0]["metrics"]
    assert list(metrics) == list(sure.metrics)
    for name, found in sure.metrics.items():
        assert metrics[name]["value"] == (found.value if math.isfinite(found.value) else str(found.value))
        assert metrics[name]["signature"] == found.signature
        if found.interval:
            assert (metrics[name]["low"], metrics[name]["high"]) == (found.interval.low, found.interval.high)
        if found.if_calibrated:
            assert metrics[name]["if_calibrated"]["mean"] == found.if_calibrated.mean
            assert metrics[name]["p_value"] == found.if_calibrated.p_value


def test_what_json_does_not_have_is_text(impossible):
    result = as_json(impossible)["results"][0]
    assert result["metrics"]["log_loss"]["value"] == "inf"
    assert result["per_class"][2]["recall"] == "nan"
    assert result["infinite_log_loss"]["first"] == [1, 3]
    assert [warning["code"] for warning in result["warnings"]][:2] == ["infinite_log_loss", "absent_classes"]


STANDING = (
    "normalized_*",
    "constant:",
    "Errors other than",
    "Class-wise errors",
    "No interval for",
    "± se:",
    "affine is bias and temperature (dp)",
    "ece: of the probability of each class",
)  # the same in every report


def test_nothing_is_only_in_the_tables(sure, impossible):
    for result in (sure, impossible):
        text = json.dumps(as_json(result)["results"][0], ensure_ascii=False)
        for table in Report([result], Settings(), details=True).tables():
            for note in table.notes:
                assert note in text or note.startswith(STANDING)


def test_reliability_bins_are_those_with_rows(sure):
    (only,) = as_json(sure)["results"][0]["reliability"]
    assert (only["low"], only["high"], only["rows"]) == (1 / 15, 2 / 15, 200)
    assert only["predicted"] == pytest.approx(0.1, abs=1e-12)
    assert only["observed"] == 0.5


def test_files_carry_their_hash(tmp_path, sure):
    from calcli.core.evaluating.evaluate import evaluate
    from calcli.io.read import read
    from calcli.report.findings import summarize

    file = tmp_path / "preds.csv"
    file.write_text("label,prob_a,prob_b\na,0.7,0.3\nb,0.6,0.4\n")
    result = summarize(evaluate(read(file)))
    found = Report([result], Settings()).to_dict()["results"][0]["input"]["sha256"]
    assert found == hashlib.sha256(file.read_bytes()).hexdigest()
    assert Report([sure], Settings()).to_dict()["results"][0]["input"]["sha256"] is None


def test_csv_has_a_line_for_every_number(impossible):
    lines = list(csv.DictReader(io.StringIO(as_csv(impossible, details=True))))
    assert tuple(lines[0]) == RECORD
    metrics = [line for line in lines if not line["class"]]
    assert [line["metric"] for line in metrics] == list(impossible.metrics)
    for line in metrics:
        value = impossible.metrics[line["metric"]].value
        assert float(line["value"]) == value or math.isnan(value)
    classes = [line for line in lines if line["class"] == "dog"]
    assert [line["metric"] for line in classes] == ["rows", "frequency", "mean_prob", "recall", "ece"]
    assert not [line for line in as_csv(impossible).splitlines() if "recall" in line]


def test_markdown_has_the_tables_and_the_figures(sure):
    figures = {"a b/reliability.png": "Reliability of [a] by b"}
    page = markdown_text(Report([sure], Settings(), details=True).tables(), Report.title, figures)
    assert page.startswith("# Calibration report\n\n## arrays\n")
    assert "| accuracy | 0.5000 |" in page
    assert sure.verdict.sentence in page
    assert page.endswith("![Reliability of \\[a\\] by b](<a b/reliability.png>)\n")


def test_latex_has_rules_and_is_escaped():
    columns = (Column("", "left"), Column("p_a"))
    rows = (("a_b", "<0.1"), ("c^2", "1 ± 2"))
    table = TextTable("50% & more", columns, rows, ("{note}",), {(0, 1): "best"})
    assert latex_text([table]).splitlines() == [
        r"\begin{table}",
        r"\caption{50\% \& more}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r" & p\_a \\",
        r"\midrule",
        r"a\_b & \textbf{\textless{}0.1} \\",
        r"c\textasciicircum{}2 & 1 $\pm$ 2 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\footnotesize \{note\}",
        r"\end{table}",
    ]


def test_markdown_is_escaped():
    table = TextTable("a|b_", (Column("x*"), Column("log_loss")), (("<c>", "`d`\ne"),))
    page = markdown_text([table], "Page")
    assert "## a\\|b\\_" in page
    assert "| x\\* | log_loss |" in page
    assert "| \\<c> | \\`d\\` e |" in page


@pytest.mark.parametrize(
    ("note", "written"),
    [
        ("say `a_b *c*`, *not* d", "say `a_b *c*`, \\*not\\* d"),
        ("of `x", "of \\`x"),
        ("``a`` `b`", "\\`\\`a\\`\\` \\`b\\`"),
    ],
)
def test_commands_in_notes_are_code_in_markdown(note, written):
    assert markdown_text([TextTable("a", notes=(note,))], "Page") == f"# Page\n\n## a\n\n{written}\n"


def test_errors_of_a_class_are_said_to_be_of_its_probability(sure):
    page = markdown_text(Report([sure], Settings(), details=True).tables(), Report.title)
    lines = {line.split(" | ")[0]: line for line in page.splitlines()}
    assert "between probability of yes and observed frequency over bins" in lines["| ece"]
