"""Metrics and options that fit plain rows, for calls that have to agree."""

from __future__ import annotations

import numpy as np

from tests.hostile.datasets import Data
from tests.hostile.drawing import Draw

JSON = ["--format", "json", "-q"]
QUICK = ["--draws", "99"]  # of tests
SMOOTH = (  # what moves no more than scores do
    "log_loss", "brier", "normalized_log_loss", "normalized_brier", "mean_confidence",
)  # fmt: skip
STEPPED = (  # what a tie moves, or a score on an edge of a bin
    "accuracy", "auroc", "ece", "mce", "cw_ece", "ks", "ece:binning=equal-mass", "ece_l2", "mean_gap",
    "ece:lens=class-wise", "ece:lens=within-top-2", "top1_brier", "bayes_risk", "normalized_bayes_risk",
)  # fmt: skip
HIGHER, UNDIRECTED = ("accuracy", "auroc"), ("mean_confidence", "mean_gap")
OF_STATES = ("--by", "--clip", "--weights")  # options that go into states
OF_TWO = ("cllr", "beta_score")


def metrics(draw: Draw, of: Data, stepped: bool = True) -> list[str]:
    """Return metrics asked for; none that ties upset where there are ties, or if it is not to be stepped."""
    kept = [name for name in SMOOTH + STEPPED if name not in STEPPED or (stepped and not of.tied)]
    kept += OF_TWO if len(of.names) == 2 else ()
    return ["--metrics", ",".join(draw.sample(kept, 3))]


def asked(draw: Draw, of: Data, *names: str) -> list[str]:
    """Return options that fit the rows, of these names."""
    present = len(np.unique(of.labels)) == len(of.names)
    known = [
        ["--weights", "weight"],
        ["--cluster", "patient"],
        ["--by", draw.choice(("country", "age"))],
        ["--clip", draw.choice(("1e-6", "0.01"))],
        ["--costs", draw.choice(("balanced", "abstain:0.1", f"imbalanced:{of.names[-1]}:10"))],
        *([["--priors", "uniform"]] if present else []),
    ]
    given = draw.some([one for one in known if not names or one[0] in names], 2)
    return [text for one in given for text in one]


def without_cllr(given: list[str]) -> list[str]:
    """Return metrics without one that priors leave nothing of, if there are any."""
    return [text.replace("cllr", "brier") for text in given] if "--priors" in given else given


def only(names: tuple[str, ...], given: list[str]) -> list[str]:
    """Return those options that have one of these names."""
    pairs = zip(given[::2], given[1::2], strict=True)
    return [text for name, value in pairs if name in names for text in (name, value)]


def without(name: str, given: list[str]) -> list[str]:
    """Return options without that of this name."""
    pairs = zip(given[::2], given[1::2], strict=True)
    return [text for key, value in pairs if key != name for text in (key, value)]
