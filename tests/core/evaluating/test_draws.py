"""What is drawn depends on the metric, the data and the seed, and on nothing that is asked beside it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from calcli.core.comparing.comparison import Plan, compare
from calcli.core.curves.needs import problem_of
from calcli.core.curves.reliability import reliability
from calcli.core.data import blocks
from calcli.core.data.derived import gathered
from calcli.core.estimators.calibrationerror import DRAWN_ROWS
from calcli.core.evaluating.evaluate import evaluate, evaluate_slices
from calcli.core.language.errors import CalcliError
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import Settings
from calcli.io.handed import from_arrays

FEW, MANY = 120, 21_000
DRAWS = 19
SPELLED = (
    "ece:bins=20", "ece:binning=equal-mass", "ece:lens=class-1", "ece:region=0.2..0.7",
    "ece:lens=within-top-2", "ece_l2:debiased=true", "ks:lens=class-1",
    "ks:lens=class-wise", "cw_ece:bins=7", "smooth_ece:lens=class-1", "kde_ece:norm=2",
    "skce:estimator=block",
)  # fmt: skip
PAIRWISE = ("skce", "skce:estimator=block")  # that look at all pairs of rows
NAMES = (*METRICS, *SPELLED)
ERRORS = tuple(name for name in NAMES if METRICS[name.partition(":")[0]].family.has_null)


def system(rows, classes, weighted=False, seed=0):
    """Return calibrated scores with ties, of which half of the rows are seen through noise."""
    rng = np.random.default_rng([seed, rows, classes])
    logits = np.round(2 * rng.normal(size=(rows, classes)), 2)
    labels = (logits + np.random.default_rng(rows).gumbel(size=logits.shape)).argmax(1)
    weights = rng.exponential(size=rows) if weighted else None
    return from_arrays(logits, labels, weights=weights, columns={"half": np.arange(rows) % 2})


def numbers(estimates):
    """Return all that is estimated, comparable where it is nan."""
    return {
        name: repr((one.value, one.interval, one.no_interval, one.if_calibrated))
        for name, one in estimates.items()
    }


def found(predictions, names, **asked):
    settings = Settings(tuple(names), draws=DRAWS, test=True, **asked)
    evaluation = evaluate(predictions, settings, sections=())
    return numbers(evaluation.estimates)


def defined(predictions, names):
    """Return the metrics that fit the data."""
    fit = []
    for name in names:
        try:
            evaluate(predictions, Settings((name,), draws=0, intervals=False))
        except CalcliError:
            continue
        fit.append(name)
    return fit


def the_same_however_it_is_asked(of, names):
    """Assert that numbers are the same alone, in pairs, all together and in reverse order."""
    together = of(names)
    assert of(names[::-1]) == together
    for number, name in enumerate(names):
        assert of([name]).items() <= together.items()
        if number % 2:
            assert of([name, names[number - 1]]).items() <= together.items()


@pytest.mark.parametrize(("classes", "weighted"), [(2, False), (3, True)])
def test_of_few_rows(classes, weighted):
    predictions = system(FEW, classes, weighted)
    names = defined(predictions, NAMES)
    assert len(names) > 40
    the_same_however_it_is_asked(partial(found, predictions), names)


@pytest.mark.parametrize("weighted", [False, True])
def test_of_many_rows(weighted):
    assert MANY > DRAWN_ROWS
    predictions = system(MANY, 2, weighted)
    names = [name for name in defined(system(FEW, 2), ERRORS) if name not in PAIRWISE]
    of = partial(found, predictions, intervals=False)
    the_same_however_it_is_asked(of, names)


@pytest.mark.parametrize(("rows", "paired"), [(FEW, True), (FEW, False), (MANY, True)])
def test_of_comparisons(rows, paired):
    systems = [system(rows, 2, seed=seed) for seed in (0, 1)]
    names = ["auroc", "ece", "cw_ece", "corp_miscalibration" if rows == FEW else "ece:binning=equal-mass"]

    def differences(own, by=None):
        plan = Plan(paired=paired, by=by)
        whole = compare(systems, Settings(tuple(own), draws=DRAWS), plan)[0]
        return {name: repr((one.interval, one.p_value)) for name, one in whole.differences[0].items()}

    the_same_however_it_is_asked(differences, names)
    assert differences(names, by="half") == differences(names)


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_of_figures_slices_threads_and_blocks(rows, monkeypatch):
    predictions, names = system(rows, 2), ("ece", "ece:bins=20", "ks", "ece:binning=equal-mass")
    settings = Settings(names, draws=99)
    evaluation = evaluate(predictions, settings)
    figure = reliability(problem_of(evaluation, "class-1"), draws=99)
    of_metrics = evaluation.estimates
    for name, error in (("ece", figure.binned), ("ks", figure.ks)):
        assert (error.value, error.if_calibrated) == (of_metrics[name].value, of_metrics[name].if_calibrated)
    part, own = next(iter(evaluate_slices(predictions, "half", evaluation.summary)))
    even = from_arrays(gathered(predictions.scores).array[::2], predictions.labels[::2])
    half = evaluate(even, Settings(names[::-1], draws=99))
    assert part.value == "0"
    assert numbers(own.estimates) == numbers(half.estimates)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 12)
    assert numbers(evaluate(predictions, settings).estimates) == numbers(of_metrics)
