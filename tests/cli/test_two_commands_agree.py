"""Users' files, where two commands once answered one question differently, or a sentence its numbers."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from tests.conftest import REFERENCE

CASES = REFERENCE / "cases" / "t5"
SCRIPTS = ("repro_monitor", "repro_gate", "repro_compare_lens", "repro_judge", "repro_refused", "make_med")
REPORTS = [  # folder, command, what it says, what it does not
    ("01-score-names-a-graded-column", "evaluate run.csv --score faithfulness", ["mean_score 0.7015"], []),
    ("01-score-names-a-graded-column", "evaluate pass.csv --score passed_check", ["accuracy 0.5500"], []),
    ("01-score-names-a-graded-column", "evaluate rouge.csv --score rougeL", ["mean_score 0.7015"], []),
    ("01-score-names-a-graded-column", "evaluate rag.csv --score faithfulness", ["mean_score 0.7085"], []),
    (
        "01-score-names-a-graded-column",
        "evaluate judge.csv --score judge",
        ["50 rows", "accuracy 0.8600"],
        [],
    ),
    (
        "01-score-names-a-graded-column",
        "evaluate llm_judge.csv --score llm_judge",
        ["50 rows", "accuracy 0.8600"],
        [],
    ),
    (
        "01-score-names-a-graded-column",
        "compare run.csv worse.csv --key id --score faithfulness",
        ["mean_score worse 0.7015 0.1000"],
        [],
    ),
    ("02-auroc-of-saturated-logits", "evaluate logits.csv --metrics auroc", ["auroc 0.8079"], []),
    (
        "02-auroc-of-saturated-logits",
        "evaluate decision_function.csv --scores decision_function --kind logits --metrics auroc",
        ["auroc 0.8956"],
        ["Doubt"],
    ),
    (
        "03-worse-although-the-interval-holds-0",
        "compare main.csv branch.csv",
        ["worse 1.0000 0.5000 -0.5000 -0.7891 to -0.0330 0.031"],
        [],
    ),
    (
        "03-worse-although-the-interval-holds-0",
        "compare a.csv b.csv c.csv",
        ["c.csv undecided"],
        ["c.csv worse"],
    ),
    ("04-few-discordant-questions", "compare main30.csv branch30.csv", ["undecided", " 0.125"], ["-0.8"]),
    ("04-few-discordant-questions", "compare main40.csv branch40.csv", ["undecided", " 0.125"], []),
    ("04-few-discordant-questions", "compare main60.csv branch60.csv", ["undecided", " 0.063"], []),
    *(
        (
            "05-positive-class-comes-first",
            f"evaluate {columns}.csv --metrics average_precision,precision,recall",
            ["fraud is predicted", "average_precision 0.5784", "precision 0.6250", "recall 0.3704"],
            [],
        )
        for columns in ("one_column", "two_columns")
    ),
    *(
        ("07-remove-copies", f"evaluate {call}", ["log_loss"], ["copies", "written twice", "remove"])
        for call in (
            "allright.csv",
            "allones.csv",
            "perfect.csv --scores y_prob --label-column y_true",
        )
    ),
    (
        "08-censored-survival",
        "evaluate surv.csv --scores risk_24m",
        ["event beside time_months looks like a survival"],
        [],
    ),
    ("08-censored-survival", "evaluate surv.csv --label-column event", ["auroc 0.4499"], ["survival"]),
    ("09-grade-as-label", "evaluate ord.csv --metrics rps", ["rps 0.1615"], ["Doubt"]),
    ("09-grade-as-label", "evaluate ord.csv --metrics normalized_log_loss", ["0.7654"], ["Doubt"]),
]
COMMANDS = [
    (
        "monitor slope_4.csv --time week --every week",
        ["Fraud under-predicted: 1.4% predicted, 2.8% observed"],
        ["less frequent", "more frequent"],
    ),
    ("evaluate gate_too_high.csv", ["over-predicted: 39.8% on average, 22.8% observed", "ece 0.1706"], []),
    (
        "compare lens_old.csv lens_new.csv --kind probs",
        ["mean_gap better 0.3954 0.2236", "ece lens_old.csv 0.3954"],
        ["worse"],
    ),
    ("evaluate lens_new.csv --kind probs", ["over-predicted", "ece 0.2236"], []),
    (
        "compare judgeA.csv judgeB.csv --score judge_grade --scale 5 --key question_id",
        ["mean_score better 0.6020 0.6600", "166 questions got worse, 265 better"],
        ["kappa", "category"],
    ),
    ("evaluate rare_0.01.csv", ["over-predicted: 35.98% on average, 0.74% observed"], ["calibrated prob"]),
    (
        "evaluate risk.csv --scores risk --label-column death30 --positive 1 --kind probs",
        ["under-predicted: 18.0% on average, 28.0% observed"],
        ["Doubt"],
    ),
    ("explain dp", ["not linear in the log-probabilities"], []),
]


def said(done):
    return " ".join((done.out + done.err).split())


@pytest.mark.parametrize(("folder", "command", "there", "absent"), REPORTS)
def test_a_report_is_right(folder, command, there, absent, run, monkeypatch):
    if not (CASES / "reports" / folder).is_dir():
        pytest.skip("the shared cases are not there")
    monkeypatch.chdir(CASES / "reports" / folder)
    shown = said(run(*shlex.split(command)))
    assert [text for text in there if text not in shown] == []
    assert [text for text in absent if text in shown] == []


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    if not CASES.is_dir():
        pytest.skip("the shared cases are not there")
    folder = tmp_path_factory.mktemp("cases")
    for script in SCRIPTS:
        subprocess.run([sys.executable, CASES / "use" / f"{script}.py"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize(("command", "there", "absent"), COMMANDS)
def test_a_sentence_follows_its_numbers(command, there, absent, data, run, monkeypatch):
    monkeypatch.chdir(data)
    shown = said(run(*shlex.split(command)))
    assert [text for text in there if text not in shown] == []
    assert [text for text in absent if text in shown] == []


def test_a_gate_catches_scores_that_are_too_high(data, run, monkeypatch):
    monkeypatch.chdir(data)
    for good, bad in (("gate_calibrated", "gate_too_high"), ("rare_good", "rare_third")):
        assert run("check", "--init", f"{good}.csv", "-p", f"{good}.toml").status == 0
        assert run("check", f"{good}.csv", "-p", f"{good}.toml").status == 0
        assert run("check", f"{bad}.csv", "-p", f"{good}.toml").status == 1
