"""Every lens with every binning, norm and distance: against a plain twin, or refused in a sentence."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression
from scipy.special import rel_entr

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.entries import written
from calcli.core.language.errors import UsageError
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import Settings

EDGES = (0.0, 0.3, 0.55, 1.0)
MINE = "0/0.3/0.55/1"
GROUPS = {
    "two": {"0": "low", "1": "low", "2": "high", "3": "high"},
    "pairs": {"0": "low", "1": "low", "2": "high", "3": "top"},
}
DISTANCES = METRICS["expected_miscalibration"].arguments["distance"].choices
NORMS = METRICS["ece"].arguments["norm"].choices
SCALAR = ("top-1", "top-2", "within-top-2", "class-1", "predicted-1", "two", "largest-1")
VECTOR = ("canonical", "largest-2", "pairs")
NAMES = [name for name, metric in METRICS.items() if metric.family.name in ("error", "classical")]


def found(predictions, metric, **others):
    others = {"draws": 0, "groups": GROUPS, **others}
    asked = Settings(metrics=(metric,), intervals=False, **others)
    (estimate,) = evaluate(predictions, asked).estimates.values()
    return estimate


@pytest.fixture(scope="module")
def four():
    """Return probabilities of four classes, many of them tied, 0 or 1, with labels."""
    rng = np.random.default_rng(0)
    tied = rng.multinomial(8, np.full(4, 0.25), 100) / 8  # exact sums: ties stay ties
    return np.concatenate([tied, rng.dirichlet(np.ones(4), 200)]), rng.integers(0, 4, 300)


def induced(probs, labels, lens):
    """Return what a lens makes of predictions, by sorting each row: vectors, and one-hot outcomes."""
    classes = probs.shape[1]
    order = np.argsort(-probs, axis=1, kind="stable")
    ranked, hits = np.take_along_axis(probs, order, 1), order == labels[:, None]
    if lens == "canonical":
        return probs, np.eye(classes)[labels]
    if lens == "two":
        half = classes // 2
        return probs @ np.eye(2)[np.arange(classes) // half], np.eye(2)[labels // half]
    if lens == "pairs":
        return probs @ np.eye(3)[[0, 0, 1, 2]], np.eye(3)[[0, 0, 1, 2]][labels]
    if lens == "predicted-1":
        mine = order[:, 0] == 1
        return induced(probs[mine], labels[mine], "top-1")
    if lens == "largest-2":
        score, hit = ranked[:, :2], hits[:, :2]
    else:
        columns = {
            "top-1": (ranked[:, 0], hits[:, 0]),
            "top-2": (ranked[:, 1], hits[:, 1]),
            "within-top-2": (ranked[:, 0] + ranked[:, 1], hits[:, 0] | hits[:, 1]),
            "largest-1": (ranked[:, 0], hits[:, 0]),
            "class-1": (probs[:, 1], labels == 1),
        }[lens]
        score, hit = (column[:, None] for column in columns)
    return np.column_stack([score, 1 - score.sum(1)]), np.column_stack([hit, ~hit.any(1)]).astype(float)


def parted(vectors, binning):
    """Return the rows of each bin."""
    if binning == "recursive":
        return split(vectors, np.arange(len(vectors)))
    if vectors.shape[1] > 2:
        index = np.array([[cell_of(p) for p in row] for row in vectors])
        corner = index.sum(1) == 7
        index[corner, (index[corner] > 0).argmax(1)] -= 1
        keys = [tuple(key) for key in index]
        return [np.flatnonzero([key == one for key in keys]) for one in sorted(set(keys))]
    score = vectors[:, 0]
    if binning == "equal-mass":
        ordered = np.sort(score)
        edges = [ordered[part[-1]] for part in np.array_split(np.arange(len(score)), 7) if len(part)]
        index = np.searchsorted(edges, score)
    else:
        edges = np.linspace(0, 1, 8) if binning == "equal-width" else np.array(EDGES)
        index = np.digitize(score, edges[1:-1])
    return [np.flatnonzero(index == bin_) for bin_ in np.unique(index)]


def cell_of(p):
    """Return which seventh a probability is in."""
    return max(i for i in range(7) if i / 7 <= p or i == 0)


def split(vectors, rows):
    own = vectors[rows]
    widest = own.var(0).argmax()
    low = own[:, widest] < own[:, widest].mean()
    if len(rows) < 40 or low.all() or not low.any():
        return [rows]
    return split(vectors, rows[low]) + split(vectors, rows[~low])


def twin(vectors, outcomes, bins, distance, norm):
    both = [(outcomes[rows].mean(0), vectors[rows].mean(0).clip(0)) for rows in bins]
    gaps = [r - g for r, g in both]
    apart = {
        "tv": [np.abs(gap).sum() / 2 for gap in gaps],
        "euclidean": [np.linalg.norm(gap) for gap in gaps],
        "squared-euclidean": [gap @ gap for gap in gaps],
        "max": [np.abs(gap).max() for gap in gaps],
        "hellinger": [np.linalg.norm(np.sqrt(r) - np.sqrt(g)) / 2**0.5 for r, g in both],
        "kl": [rel_entr(r, g).sum() for r, g in both],
    }[distance]
    share = [len(rows) / sum(map(len, bins)) for rows in bins]
    if norm == "max":
        return max(apart)
    return sum(w * d ** int(norm) for w, d in zip(share, apart, strict=True)) ** (1 / int(norm))


@pytest.mark.parametrize("region", ["all", "0.3..0.7"])
@pytest.mark.parametrize("lens", SCALAR + VECTOR)
def test_lens_binning_norm_and_distance_against_a_twin(predict, four, lens, region):
    vectors, outcomes = induced(*four, lens)
    if region != "all":
        score = vectors[:, 0] if lens in SCALAR else vectors.max(1)
        inside = (score >= 0.3) & (score < 0.7)
        vectors, outcomes = vectors[inside], outcomes[inside]
    binnings = ("recursive", "equal-width", "equal-mass", MINE)[: 4 if vectors.shape[1] == 2 else 2]
    names, expected = [], []
    choices = itertools.product(binnings, DISTANCES, NORMS)
    for binning, distance, norm in choices:
        bins = parted(vectors, binning)
        value = twin(vectors, outcomes, bins, distance, norm)
        arguments = f":lens={lens}:region={region}:binning={binning}:bins=7"
        names.append(f"expected_miscalibration{arguments}:min_rows=40:distance={distance}:norm={norm}")
        expected.append(value)
        if lens in SCALAR and distance == "tv":
            names.append(f"ece{arguments}:min_rows=40:norm={norm}")
            expected.append(value)
    asked = Settings(tuple(names), intervals=False, draws=0, groups=GROUPS)
    estimates = evaluate(predict(*four), asked).estimates.values()
    assert [estimate.value for estimate in estimates] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("score", ["brier", "log_loss"])
@pytest.mark.parametrize("lens", SCALAR)
def test_corp_through_a_lens_takes_apart_the_problem_of_the_lens(predict, four, lens, score, classes):
    probs, labels = four
    if classes == 2:
        probs, labels = probs[:, :2] + probs[:, 2:], labels % 2
        probs[:, 0] = 1 - probs[:, 1]
    (p, *_), (hit, *_) = (table.T for table in induced(probs, labels, lens))
    p = np.clip(p, 0, 1)

    def loss(q):
        if score == "brier":
            return np.square(q - hit).mean()
        with np.errstate(divide="ignore"):
            return -np.log(np.where(hit, q, 1 - q)).mean()

    level = {value: hit[p == value].mean() for value in np.unique(p)}
    order = np.unique(p)
    weight = np.array([(p == value).sum() for value in order], float)
    fitted = isotonic_regression(np.array([level[value] for value in order]), weights=weight).x
    best = loss(fitted[np.searchsorted(order, p)])
    constant = loss(np.full(len(p), hit.mean()))
    names = [f"corp_{part}:score={score}:lens={lens}" for part in ("miscalibration", "discrimination")]
    groups = {"two": {str(k): "low" if k < classes // 2 else "high" for k in range(classes)}}
    for name, value in zip(names, (loss(p) - best, constant - best), strict=True):
        asked = Settings(metrics=(name,), intervals=False, draws=0, groups=groups)
        (estimate,) = evaluate(predict(probs, labels), asked).estimates.values()
        assert estimate.value == pytest.approx(value, abs=1e-12)


OF_VECTORS = "vectors of several outcomes take binning=recursive or equal-width"
NO_LENS = "expected one such as canonical or class-0"


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("expected_miscalibration:binning=equal-mass", OF_VECTORS),
        (f"worst_miscalibration:binning={MINE}", OF_VECTORS),
        ("worst_miscalibration:binning=yours", "must be one of equal-width, equal-mass, recursive"),
        ("ece:binning=equal-mas", "binning must be one of equal-width, .*, did you mean 'equal-mass'"),
        ("ece:region=class-0@0..1", "region must be two numbers in"),
        ("cw_ece:region=0.5..1", "a region needs one score; name the class, as in lens=class-0"),
        (
            "skce:region=class-4@0..1",
            "no outcome 'class-4' to make a region of; there are class-0 to class-3",
        ),
        ("skce:lens=class-1:region=class-1@0..1", "with one score, a region is given by its ends"),
        ("expected_miscalibration:lens=class-wise", NO_LENS),
        ("skce:lens=worst-class", NO_LENS),
        ("ece:debiased=true", "as in ece_l2:debiased=true"),
        ("ece:lens=canonical", "several outcomes; look at them with expected_miscalibration"),
    ],
)
def test_what_does_not_fit_together_is_refused(predict, four, metric, message):
    with pytest.raises(UsageError, match=message):
        found(predict(*four), metric)


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        ("skce{}", lambda probs: probs.max(1)),
        ("skce:lens=largest-2{}", lambda probs: probs.max(1)),
        ("worst_miscalibration{}:min_rows=50", lambda probs: probs.max(1)),
        *((f"{name}{{}}", lambda probs: probs.max(1)) for name in ("ks", "smooth_ece")),
        *((f"{name}:lens=class-2{{}}", lambda probs: probs[:, 2]) for name in ("ks", "mce", "smooth_ece")),
    ],
)
def test_a_region_is_the_rows_whose_score_or_largest_probability_lies_in_it(predict, four, metric, score):
    probs, labels = four
    inside = (score(probs) >= 0.5) & (score(probs) < 0.8)
    whole = found(predict(probs, labels), metric.format(":region=0.5..0.8"))
    alone = found(predict(probs[inside], labels[inside]), metric.format(""))
    assert whole.value == pytest.approx(alone.value, abs=1e-12)


@pytest.mark.parametrize(("lens", "prefix"), [("canonical", "class"), ("pairs", "group")])
def test_a_region_of_vectors_by_conditions_on_outcomes(predict, four, lens, prefix):
    vectors, outcomes = induced(*four, lens)
    inside = (vectors[:, 0] >= 0.25) & (vectors[:, 2] < 0.2)
    vectors, outcomes = vectors[inside], outcomes[inside]
    region = f"{prefix}-0@0.25..1+{prefix}-2@0..0.2"
    text = f"expected_miscalibration:lens={lens}:binning=equal-width:bins=7:region={region}"
    value = twin(vectors, outcomes, parted(vectors, "equal-width"), "tv", "1")
    assert found(predict(*four), text).value == pytest.approx(value, abs=1e-12)


@st.composite
def expressions(draw):
    """Draw a metric with any of its arguments, whether they fit together or not."""
    metric = METRICS[draw(st.sampled_from(NAMES))]
    text = metric.name
    values = {
        "lens": st.sampled_from([*SCALAR, *VECTOR, "class-wise", "worst-class", "class-0"]),
        "region": st.sampled_from(["0..0.5", "0.5..1", "0.999..1"]),
        "binning": st.sampled_from(["equal-width", "equal-mass", "recursive", MINE]),
        "bins": st.sampled_from([1, 2, 15]),
        "min_rows": st.sampled_from([1, 2, 15]),
    }
    for key in metric.arguments:
        if draw(st.booleans()):
            argument = metric.arguments[key]
            listed = argument.choices or (("true", "false") if argument.default is False else ())
            text += f":{key}={draw(values.get(key, st.sampled_from(listed)))}"
    return text


@st.composite
def small(draw):
    """Draw scores of a few rows with ties, zeros and ones, labels of one class perhaps, and weights."""
    rows, classes = draw(st.integers(1, 6)), draw(st.integers(2, 4))
    parts = st.lists(st.sampled_from([0, 0, 1, 1, 2, 5]), min_size=classes, max_size=classes).filter(any)
    scores = np.array(draw(st.lists(parts, min_size=rows, max_size=rows)), float)
    labels = draw(st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows))
    weights = draw(st.none() | st.lists(st.integers(0, 2), min_size=rows, max_size=rows).filter(any))
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    return (scores / scores.sum(1, keepdims=True)).astype(dtype), labels, weights


@given(expressions(), small())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_few_rows_of_any_kind_give_a_value_a_test_and_a_signature_or_a_sentence(predict, metric, data):
    scores, labels, weights = data
    asked = Settings(
        (metric,), draws=9, intervals=False, test=True,
        groups={
            "two": {str(k): "low" if k == 0 else "high" for k in range(scores.shape[1])},
            "pairs": {str(k): str(min(k, 2)) for k in range(scores.shape[1])},
        },
    )  # fmt: skip
    try:
        (estimate,) = evaluate(predict(scores, labels, weights=weights), asked).estimates.values()
    except UsageError:
        return
    used = estimate.metric.used
    if used.get("lens") == "auto":
        used["lens"] = "class-1" if scores.shape[1] == 2 else "top-1"
    given = [f"{key}:{written(value)}" for key, value in used.items()]
    assert estimate.signature.split("|")[: len(given) + 1] == [estimate.metric.entry.name, *given]
    if estimate.metric.entry.family.name == "classical":
        return
    null = estimate.if_calibrated
    assert (null is None) == np.isnan(estimate.value)
    if null is not None:
        unbounded = "distance=kl" in metric or "weights=inverse" in metric
        assert -2 <= estimate.value <= (np.inf if unbounded else 2)
        assert 0 < null.p_value <= 1
