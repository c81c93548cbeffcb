"""Tables as people write them, made here, with the label and the scores that an expert would choose.

Each kind is a way to name and to surround the truth and its scores; what is right is known from how the rows
are made. Where an expert would ask, there is no label.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

ROWS = 300
WORDS = np.array(["no", "yes"])


class Shape(NamedTuple):
    """Columns, the label and the scores that are meant, and the probability that these give to the truth."""

    columns: dict[str, Any]
    label: str = ""
    scores: tuple[str, ...] = ()
    true: np.ndarray | None = None


def features(rng: np.random.Generator) -> dict[str, Any]:
    """Return columns that say nothing of the truth."""
    return {
        "gender": rng.choice(["Female", "Male"], ROWS),
        "tenure": rng.integers(0, 72, ROWS),
        "Partner": rng.integers(0, 2, ROWS),
        "charges": rng.uniform(20, 120, ROWS).round(2),
    }


def shapes(seed: int) -> dict[str, Shape]:
    """Return the shapes, each by its name."""
    rng = np.random.default_rng(seed)
    z = rng.normal(scale=1.6, size=ROWS)
    p = 1 / (1 + np.exp(-z))
    y = (rng.random(ROWS) < p).astype(int)
    s = np.round(1 / (1 + np.exp(-1.2 * z)), 4)
    hit, other, hard = np.where(y == 1, s, 1 - s), rng.integers(0, 2, ROWS), (s > 0.5).astype(int)
    history = (rng.random(ROWS) < 0.3 + 0.3 * y).astype(int)
    beside = features(rng)
    three = rng.dirichlet([1, 1, 1], ROWS).round(5)
    three[:, 2] = 1 - three[:, 0] - three[:, 1]
    k = np.array([rng.choice(3, p=row / row.sum()) for row in three])
    of_three = three[np.arange(ROWS), k]

    def one(label: str, score: str, **others: Any) -> Shape:
        return Shape({**others, label: y, score: s}, label, (score,), hit)

    ids = {"customer_id": np.arange(ROWS)}
    single = {
        # truth words about the event
        "actual and predicted": Shape(
            {**beside, "Actual_Churn": y, "Predicted_Churn": hard, "Churn_Probability": s},
            "Actual_Churn",
            ("Churn_Probability",),
            hit,
        ),
        "real behind": one("churn_real", "prob_churn", **beside),
        "target before": one("target_dropout", "dropout_proba", **ids),
        "label behind": one("fraud_label", "fraud_score", **ids),
        "binary behind": one("Diabetes_binary", "diabetes_prob", **beside),
        # the event's own name and a generic score
        "event and proba": one("Churn", "proba", **beside),
        "event and rate": one("Survived", "survival_rate", **beside),
        "event and prediction": one("click", "pred_ctr", **ids),
        # scores of unknown names
        **{
            f"y and {name}": one("y", name)
            for name in ("phat", "pd", "propensity", "xG", "forecast", "toxicity", "yprob")
        },
        **{
            f"label and {name}": one("label", name)
            for name in ("p_yes", "p_pos", "p_true", "p_fraud", "P(yes)", "1")
        },
        **{
            f"y_true and {name}": one("y_true", name)
            for name in ("random_forest", "xgb", "ensemble", "model", "AI")
        },
        "of spam": Shape(
            {"label": np.array(["ham", "spam"])[y], "word_p_spam": s}, "label", ("word_p_spam",), hit
        ),
        "of a range": Shape(
            {**beside, "income": np.array(["<=50K", ">50K"])[y], "prob_>50K": s},
            "income",
            ("prob_>50K",),
            hit,
        ),
        # negations within an event
        "no-show": one("no_show", "no_show_prob", **ids),
        "no-show of y": one("y_true", "prob_no_show", **ids),
        "not paid": one("not.fully.paid", "not_paid_prob", **beside),
        "error": one("is_error", "error_prob", **ids),
        "not churn": Shape({"churn": y, "prob_no_churn": 1 - s}, "churn", ("prob_no_churn",), hit),
        # features that may look like the truth or like scores
        "past default": Shape(
            {"Default": history, "Actual Status": y, "Predicted Status": hard, "Probability of Default": s},
            "Actual Status",
            ("Probability of Default",),
            hit,
        ),
        "stroke": Shape(
            {"stroke": other, "Actual Outcome": y, "Stroke Probability": s},
            "Actual Outcome",
            ("Stroke Probability",),
            hit,
        ),
        "school scores": Shape(
            {f"{one}_Score": rng.integers(20, 100, ROWS) for one in ("Midterm", "Final", "Average")}
            | {"Actual": y, "Predicted": hard, "Probability": s},
            "Actual",
            ("Probability",),
            hit,
        ),
        "sex in numbers": one("died", "prob", sex=other, age=rng.integers(20, 90, ROWS)),
        # both columns
        "approve and reject": Shape(
            {"p_approve": s, "p_reject": 1 - s, "y_true": y}, "y_true", ("p_approve", "p_reject"), hit
        ),
        "win and loss": Shape(
            {"win_prob": s, "loss_prob": 1 - s, "won": y}, "won", ("win_prob", "loss_prob"), hit
        ),
        "fraud and not": Shape(
            {"prob_fraud": s, "prob_non_fraud": 1 - s, "fraud": y},
            "fraud",
            ("prob_fraud", "prob_non_fraud"),
            hit,
        ),
        # scales and words
        "percent": Shape(
            {"Actual Outbreak": y, "Outbreak Probability (%)": 100 * s},
            "Actual Outbreak",
            ("Outbreak Probability (%)",),
            hit,
        ),
        "words": Shape({"outcome": WORDS[y], "probability": s}, "outcome", ("probability",), hit),
        "log-odds": Shape(
            {"is_fraud": y, "fraud_logit": 1.2 * z},
            "is_fraud",
            ("fraud_logit",),
            np.where(y == 1, 1, 0) + np.where(y == 1, -1, 1) / (1 + np.exp(1.2 * z)),
        ),
    }
    grades = dict(zip(("low", "medium", "high"), three.T, strict=True))
    several = {
        "grades by place": Shape({**grades, "label": k}, "label", ("low", "medium", "high"), of_three),
        "abbreviated": Shape(
            {
                "prob_home": three[:, 0],
                "prob_draw": three[:, 1],
                "prob_away": three[:, 2],
                "FTR": np.array(["H", "D", "A"])[k],
            },
            "FTR",
            ("prob_home", "prob_draw", "prob_away"),
            of_three,
        ),
        "prefixed labels": Shape(
            {f"prob_{name}": three[:, n] for n, name in enumerate(("setosa", "versicolor", "virginica"))}
            | {"species": np.array(["Iris-setosa", "Iris-versicolor", "Iris-virginica"])[k]},
            "species",
            ("prob_setosa", "prob_versicolor", "prob_virginica"),
            of_three,
        ),
    }
    asked = {
        "no truth": {**ids, "age": rng.integers(20, 90, ROWS), "churn_prob": s, "predicted_churn": hard},
        "two systems": {"label": y, "rf_prob": s, "lr_prob": np.round(p, 4)},
        "standard and augmented": {"label": y, "std_probability": s, "tta_probability": np.round(p, 4)},
        "a feature between 0 and 1": {
            "rain": y,
            "humidity": np.clip(0.5 + 0.2 * z + rng.normal(size=ROWS) / 4, 0, 1),
        },
        "p-values": {"label": y, "p_value": rng.random(ROWS)},
        "two measures": {"label": y, "p_width": rng.random(ROWS), "p_length": rng.random(ROWS)},
        "never below one half": {"label": other, "score": np.maximum(s, 1 - s)},
        "credit points": {"default": y, "score": (850 - 550 * s).astype(int)},
        "two raters": {"rater_1": y, "rater_2": np.where(rng.random(ROWS) < 0.1, 1 - y, y), "prob": s},
        "a row for each system": {
            "id": np.tile(np.arange(150), 2),
            "model": np.repeat(["a", "b"], 150),
            "label": np.tile(y[:150], 2),
            "prob": s,
        },
        "two scales": {"correct": y, "confidence": np.where(other == 1, s, np.round(100 * s))},
        "rotated classes": {f"prob_{name}": three[:, n] for n, name in enumerate(("ant", "bee", "cat"))}
        | {"label": (k + 1) % 3},
    }
    return single | several | {name: Shape(columns) for name, columns in asked.items()}
