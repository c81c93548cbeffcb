"""A file goes through evaluate, compare, check and fit + apply; what is written back is read again."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from calcli.core.language.settings import FitSettings, Settings
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.io.saved.calibrators import load_calibrator
from calcli.work.apply import apply_file
from calcli.work.check import check_files
from calcli.work.compare import compare_files
from calcli.work.evaluate import evaluate_files
from calcli.work.fit import fit_file, save_fit
from tests.io.samples import scores_of

RNG = np.random.default_rng(21)
N = 60
THREE = RNG.dirichlet(np.ones(3), N)
LABELS = np.array([RNG.choice(3, p=row) for row in THREE])
NAMES = np.array(["ant", "bee", "cat"])
TWO = np.stack([THREE[:, 0], 1 - THREE[:, 0]], axis=1)
SETTINGS = Settings(metrics=("log_loss", "accuracy"), intervals=False, draws=0)


def trip_of_answers(path: Path, confidence: np.ndarray, right: np.ndarray):
    """Have answers read by all that reads, and written as JSON lines; return them as they are understood."""
    file, none = str(path), ReadOptions()
    predictions = read(file)
    assert predictions.of_answers
    assert predictions.provenance.read_as == "answers, right or wrong"
    np.testing.assert_allclose(scores_of(predictions)[:, 1], confidence)
    np.testing.assert_array_equal(predictions.labels, right)
    settings = replace(SETTINGS, metrics=("brier", "accuracy"))
    (result,) = evaluate_files([file], none, settings).results
    brier = float(np.mean((confidence - right) ** 2))
    assert math.isclose(result.metrics["brier"].value, brier, rel_tol=1e-6)
    assert result.metrics["accuracy"].value == np.mean(right)
    assert compare_files([file, file], none, settings).comparisons[0].differences[0]["brier"].value == 0
    policy = path.with_name("policy.toml")
    policy.write_text(f'[[rules]]\nmetric = "brier"\nmax = {brier + 1e-3}\n')
    assert check_files([file], str(policy), none).exit_status == 0
    calibrator, out = str(path.with_name("cal.json")), str(path.with_name("out.jsonl"))
    save_fit(fit_file(file, none, "temperature", FitSettings(folds=0)).fit, calibrator)
    temperature = float(load_calibrator(calibrator).calibrator.parameters["temperature"])
    apply_file(calibrator, file, out, none)
    with np.errstate(divide="ignore"):
        logits = (np.log(confidence) - np.log1p(-confidence)) / temperature
    np.testing.assert_allclose(scores_of(read(out))[:, 1], 1 / (1 + np.exp(-logits)), atol=1e-9)
    return predictions


def trip(
    path: Path, probs: np.ndarray, labels: np.ndarray, layout: str, target: str = "out.parquet", **options
):
    """Have a file read by all that reads, and written; return it as it is understood."""
    given = ReadOptions(**options)
    file = str(path)
    predictions = read(file, given)
    assert predictions.provenance.read_as == layout
    found = scores_of(predictions)
    if predictions.kind == "logits":
        found = np.exp(found - np.logaddexp.reduce(found, axis=1, keepdims=True))
    elif predictions.kind == "log-probs":
        found = np.exp(found)
    np.testing.assert_allclose(found, probs, atol=1e-6)
    np.testing.assert_array_equal(predictions.labels, labels)
    expected = -np.mean(np.log(probs[np.arange(len(labels)), labels]))
    (result,) = evaluate_files([file], given, SETTINGS).results
    assert math.isclose(result.metrics["log_loss"].value, expected, rel_tol=1e-5)
    assert result.metrics["accuracy"].value == np.mean(probs.argmax(axis=1) == labels)
    same = compare_files([file, file], given, SETTINGS)
    assert same.comparisons[0].differences[0]["log_loss"].value == 0
    policy = path.with_name("policy.toml")
    policy.write_text(f'[[rules]]\nmetric = "log_loss"\nmax = {expected + 1e-3}\n')
    assert check_files([file], str(policy), given).exit_status == 0
    if target:
        calibrator = str(path.with_name("cal.json"))
        save_fit(fit_file(file, given, "temperature", FitSettings(folds=0)).fit, calibrator)
        temperature = float(load_calibrator(calibrator).calibrator.parameters["temperature"])
        out = str(path.with_name(target))
        apply_file(
            calibrator, file, out, ReadOptions(**{k: v for k, v in options.items() if k != "label_column"})
        )
        again = scores_of(read(out, ReadOptions(label_column=options.get("label_column"))))
        scaled = probs ** (1 / temperature)
        np.testing.assert_allclose(again, scaled / scaled.sum(axis=1, keepdims=True), atol=1e-5)
    return predictions
