"""Every figure calcli draws of evaluations, as data; loads without numpy, so that help is quick."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from calcli.core.errors import UsageError


@dataclass(frozen=True)
class FigureKind:
    """What is to be known of a figure before it is drawn.

    Attributes
    ----------
    name
        As given on the command line; also the name of its file.
    meaning
        One line: what is to be seen.
    source
        Where the figure comes from.
    """

    name: str
    meaning: str
    source: str


FIGURES: dict[str, FigureKind] = {
    kind.name: kind
    for kind in [
        FigureKind(
            "reliability",
            "what was observed against what was predicted, bin by bin, and where the predictions are",
            "van de Waterlaat 2021, fig. 3.2",
        ),
        FigureKind(
            "deviation",
            "the gap of each bin, and how large chance makes it if calibrated",
            "Vaicenavicius et al. 2019, fig. 4; Broecker & Smith 2007",
        ),
        FigureKind("class-wise", "reliability of every class, worst first", "Kull et al. 2019"),
        FigureKind(
            "ks",
            "cumulative score and outcome, without bins: how far apart, and where",
            "Gupta et al. 2021, fig. 1 and 2",
        ),
        FigureKind("corp", "isotonic reliability curve, without bins", "Dimitriadis, Gneiting & Jordan 2021"),
        FigureKind("smooth", "kernel reliability curve, without bins", "Blasiok & Nakkiran 2024"),
        FigureKind(
            "simplex",
            "arrows from prediction to observation, for three outcomes",
            "Vaicenavicius et al. 2019, fig. 1",
        ),
        FigureKind(
            "risk",
            "cost of decisions at every threshold, for two classes: areas are scores",
            "Ferrer & Ramos 2024, fig. 1",
        ),
        FigureKind(
            "rejection",
            "error rate of what is kept when the least sure rows are rejected",
            "El-Yaniv & Wiener 2010",
        ),
        FigureKind(
            "scores", "normalized scores with intervals, a bar a system", "Ferrer & Ramos 2024, fig. 2"
        ),
        FigureKind(
            "epochs",
            "metrics over a series of files, and where each is best",
            "van de Waterlaat 2021, fig. 5.1",
        ),
        FigureKind("temperature", "log-loss against the temperature of the scores", "Guo et al. 2017"),
    ]
}


def find_figure(name: str) -> FigureKind:
    """Return the figure of that name.

    Raises
    ------
    UsageError
        If there is none; the nearest name is suggested.
    """
    if name not in FIGURES:
        close = difflib.get_close_matches(name, FIGURES, n=1, cutoff=0.5)
        hint = f", did you mean {close[0]!r}" if close else ""
        raise UsageError(f"unknown figure {name!r}{hint}; there are: {', '.join(FIGURES)}")
    return FIGURES[name]
