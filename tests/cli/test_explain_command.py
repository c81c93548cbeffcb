"""`calcli explain`, from the registries."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import calcli
from calcli.cli.explain import _options
from calcli.cli.main import app_of
from calcli.core.language.declaring import declared
from calcli.core.language.entries import OTHERS, SYNONYMS
from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import _typing_errors, parse_method, parse_metric
from calcli.core.language.figures import FIGURES
from calcli.core.language.methods import CHOICE, METHODS
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import Settings
from calcli.report.explain import Explanation


def test_everything_is_listed(run):
    out = run("explain").out
    for name in (*METRICS, *METHODS, *FIGURES):
        assert f"\n{name} " in out


ENTRIES = [*METRICS.values(), *METHODS.values(), CHOICE, *FIGURES.values()]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind} {entry.name}")
def test_every_entry_is_explained(run, entry):
    done = run("explain", entry.name)
    assert done.status == 0
    said = " ".join(done.out.split())
    for field in ("title", "source", "formula", "misses", "learns", "meaning"):
        line = getattr(entry, field, "")
        assert " ".join(line.split()) in said


def test_an_expression_stands_for_its_metric(run):
    assert run("explain", "ece:bins=20").out == run("explain", "ece").out


def test_json_is_the_registry(run):
    report = json.loads(run("explain", "--format", "json").out)
    assert list(report["metrics"]) == list(METRICS)
    assert list(report["methods"]) == list(METHODS)
    assert list(report["figures"]) == list(FIGURES)
    assert report["metrics"]["ece_l2"]["arguments"]["debiased"] is False
    assert report["methods"]["per-predicted-class"]["settings"] == {"min_rows": 100, "calibrator": None}
    assert json.loads(run("explain", "ks", "--format", "json").out)["formula"] == METRICS["ks"].formula


def test_a_metric_and_a_figure_of_one_name_are_both_explained(run):
    out = run("explain", "ks").out
    assert METRICS["ks"].title in out
    assert FIGURES["ks"].title in out
    assert json.loads(run("explain", "ks", "--format", "json").out)["figure"]["title"] == FIGURES["ks"].title


def test_the_nearest_name_is_suggested(run):
    done = run("explain", "tempratur")
    assert (done.status, done.out) == (2, "")
    assert "did you mean 'temperature'" in done.err
    assert "did you mean 'label_column'" in run("explain", "label-colum").err


def test_names_are_completed():
    environment = os.environ | {
        "_CALCLI_COMPLETE": "complete_bash", "COMP_WORDS": "calcli explain skc", "COMP_CWORD": "2",
    }  # fmt: skip
    command = [sys.executable, "-m", "calcli"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "skce"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("ECE", "ECE (ece)"),
        ("nll", "Log-loss (log_loss)"),
        ("Expected Calibration Error", "ECE (ece)"),
        ("Temperature-Scaling", "Temperature scaling (temperature)"),
        ("reliability diagram", "Reliability diagram (reliability)"),
        ("bins", "The argument bins"),
        ("--draws", "The option --draws"),
        ("direction-preserving", "Bias and temperature (dp)"),
        ("kind", "The option --kind"),
        ("-m", "The option --method"),
        ("paired", "The option --paired"),
        ("NCE", "Log-loss, normalized (normalized_log_loss)"),
        ("NBS", "Brier score, normalized (normalized_brier)"),
        ("RCL", "Calibration loss, relative (relative_calibration_loss)"),
        ("CalLoss", "Calibration loss (calibration_loss)"),
        ("ESCE", "Expected miscalibration (expected_miscalibration)"),
        ("ECEmc", "ECE (ece)"),
        ("CW-ECE2", "Class-wise ECE, L2 (cw_ece_l2)"),
        ("CL", "Binned calibration loss (binned_calibration_loss)"),
        ("RL", "Binned refinement loss (binned_refinement_loss)"),
        ("distance", "The argument distance"),
        ("--ignore-label", "The option --ignore-label"),
    ],
)
def test_what_people_call_it_is_found(run, name, title):
    assert run("explain", "--", name).out.splitlines()[0] == title


def test_options_need_no_dashes_to_set_them_off(run):
    assert run("explain", "--folds").out == run("explain", "--", "--folds").out


COMMANDS = get_command(app_of()).commands
PARAMS = [
    (command, param)
    for command, declaration in COMMANDS.items()
    for param in declaration.params
    if param.param_type_name == "option" and not param.hidden
]


def test_every_option_of_every_command_is_explained():
    options = _options()
    for command, param in PARAMS:
        for name in (*param.opts, *param.secondary_opts):
            found = Explanation(name, options).data()
            own = [one for one in (found, *found.get("others", ())) if command in one["commands"]]
            assert len(own) == 1, (command, name)
            assert own[0]["says"], (command, name)
            assert own[0]["takes"], (command, name)


def test_settings_are_explained_as_they_are_declared(run):
    found = json.loads(run("explain", "--format", "json", "--", "--bins").out)
    said = declared(Settings)["bins"]
    assert (found["name"], found["says"], found["default"]) == ("--bins", said.help, "15")
    assert (found["takes"], found["in Python"]) == (said.values.expected, "bins=")
    assert json.loads(run("explain", "level", "--format", "json").out)["in a policy"] == "level"
    assert {"evaluate", "plot"} <= set(found["commands"].split(", "))
    assert json.loads(run("explain", "bins", "--format", "json").out)["kind"] == "argument"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind} {entry.name}")
def test_every_argument_is_explained(entry):
    for name, argument in entry.arguments.items():
        found = Explanation(name).data()
        records = [one for one in (found, *found.get("others", ())) if entry.name in one.get("default", "")]
        assert any(one["says"] == argument.says != "" for one in records)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind} {entry.name}")
def test_letters_of_titles_are_spelled_out(entry):
    words = re.split("[ -]", entry.abbreviation_of.upper())
    for letters in re.findall("[A-Z]{2,}", entry.title):
        initials = iter("".join(word[:1] for word in words))
        assert all(letter in initials for letter in letters), letters


@pytest.mark.parametrize("word", OTHERS)
def test_what_is_another_thing_is_told_and_not_taken(run, word):
    done = run("explain", word)
    assert done.status == 0
    assert " ".join(done.out.split()).startswith(f"{word} meaning {OTHERS[word]}")
    with pytest.raises(UsageError, match=f"unknown metric '{word}'.*{re.escape(OTHERS[word][:20])}"):
        parse_metric(word)


@pytest.mark.parametrize("word", SYNONYMS)
def test_every_synonym_is_of_something_there_is_and_nothing_else(word):
    expression = SYNONYMS[word]
    name = expression.partition(":")[0]
    kinds = [known for known in (METRICS, METHODS, FIGURES) if name in known]
    assert kinds
    for parse, known in ((parse_metric, METRICS), (parse_method, METHODS)):
        if known in kinds:
            assert parse(word).text == expression
    assert word not in set(OTHERS).union(*kinds)


def test_metrics_and_methods_go_by_other_names(run, tmp_path):
    data = Path(__file__).parents[2] / "sample_data" / "cancer_bayes_calibration.csv"
    asked = ("--metrics", "nll,logloss,brier_score,roc_auc,calibration_loss:score=nll", "--format", "json")
    found = json.loads(run("evaluate", data, *asked).out)["results"][0]["metrics"]
    assert list(found) == ["log_loss", "brier", "auroc", "calibration_loss:score=nll"]
    done = run("fit", data, "-m", "pav", "-o", tmp_path / "cal.json")
    assert "isotonic:smoothing=0:interpolation=steps" in done.out
    assert calcli.evaluate(data, metrics="nll")["nll"].value == found["log_loss"]["value"]


@pytest.mark.parametrize(
    ("term", "start"),
    [
        ("O:E ratio", "Observed / predicted (oe_ratio)"),
        ("CITL", "Calibration intercept (calibration_intercept)"),
        ("c-statistic", "AUROC (auroc)"),
        ("NPV", "Precision (precision)"),
        ("AdaECE", "ECE (ece)"),
        ("adaptive calibration error", "ACE (ace)"),
        ("smECE", "Smooth ECE (smooth_ece)"),
        ("DCA", "Net benefit (net-benefit)"),
        ("DeLong", "DeLong meaning the variance of auroc"),
        ("Hosmer-Lemeshow", "Hosmer-Lemeshow meaning not here: its p depends on how the deciles are cut."),
        ("PSI", "PSI meaning not here: it compares distributions of scores without labels. calcli monitor"),
        ("gini", "gini meaning 2 auroc minus 1"),
        ("Brier skill score", "Brier skill score meaning 1 minus normalized_brier"),
        ("label shift", "label shift meaning calcli apply --trained-at OLD --shift-to-priors NEW"),
        ("undecided", "undecided meaning the data prove neither side of a margin or limit"),
        ("threshold", "threshold meaning the confidence, or the probability of a class"),
        ("lens", "The argument lens meaning which probability is looked at"),
    ],
)
def test_terms_of_several_fields_have_one_answer_first(run, term, start):
    done = run("explain", "--", term)
    said = " ".join(done.out.split())
    assert done.status == 0
    assert said.startswith(start)
    assert "guide " in said
    assert done.out.count("\n\n") <= 1  # one table


TERMS = Path(__file__).parents[3] / "shared" / "cases" / "t5" / "use" / "terms.txt"


def test_a_term_has_an_answer_or_is_misspelled(run):
    if not TERMS.exists():
        pytest.skip("the terms are not here")
    unknown = [term for term in TERMS.read_text().split("\n") if term and run("explain", "--", term).status]
    assert unknown == ["temprature", "isotnic", "breir", "log los"]
    for term in unknown:
        assert "did you mean" in run("explain", term).err


@pytest.mark.parametrize("word", ["loglss", "recal", "zzz", "delta", "quantum", "conformity"])
def test_only_what_is_misspelled_is_taken_for_another_name(run, word):
    done = run("explain", word)
    assert (done.status, done.out) == (2, "")
    assert ("did you mean" in done.err) == (word in ("loglss", "recal"))


@pytest.mark.parametrize(
    ("wrong", "right", "errors"),
    [
        ("brier", "brier", 0),
        ("breir", "brier", 1),
        ("isotnic", "isotonic", 1),
        ("kuper", "kuiper", 1),
        ("ks", "ece", 3),
    ],
)
def test_typing_errors_are_letters_that_differ_or_are_swapped(wrong, right, errors):
    assert _typing_errors(wrong, right) == errors
