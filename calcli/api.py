"""The way in from Python: what the command line finds out, as typed objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calcli.core.calibrators.base import Calibrator
from calcli.core.calibrators.record import CalibratorRecord
from calcli.core.data.predictions import Kind, Predictions
from calcli.core.data.simulation import Simulation
from calcli.core.data.simulation import simulate as simulate_system
from calcli.core.evaluating.evaluate import evaluate as evaluate_predictions
from calcli.core.evaluating.recalibrated import Companions
from calcli.core.evaluating.results import Evaluation
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import Settings
from calcli.io.calibrators import load_calibrator, save_calibrator
from calcli.io.costs import read_costs, read_priors
from calcli.io.frames import to_frame
from calcli.io.hashing import sha256
from calcli.io.named import parse_edges, read_class_groups
from calcli.io.options import ReadOptions
from calcli.io.read import from_arrays
from calcli.io.read import read as read_file
from calcli.report.evaluation import ShownResults
from calcli.report.numbers import counted, number
from calcli.report.shown import render
from calcli.report.slices import summarize_slices
from calcli.report.summary import Result, summarize

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False)
class Report:
    """What was found out about predictions; printed, it shows the tables of the command line.

    Attributes
    ----------
    results
        Metrics by expression, the verdict, classes, reliability bins and warnings; then those of slices.
    settings
        How they were computed.
    evaluation
        What they were taken from, for `calcli.figures.standard_set`.
    """

    results: tuple[Result, ...]
    settings: Settings
    evaluation: Evaluation

    def to_dict(self) -> dict[str, Any]:
        """Return the report as the JSON object of `calcli evaluate --format json`."""
        return self._shown().to_dict()

    def to_frame(self, per_class: bool = False) -> pandas.DataFrame:
        """Return a row for every number, as `calcli evaluate --format csv` has them.

        Parameters
        ----------
        per_class
            Whether to add the figures of each class.
        """
        return to_frame(list(self._shown(per_class).records()))

    def __repr__(self) -> str:
        read = self.results[0].input
        size = f"{counted(read.rows, 'row')}, {counted(read.classes, 'class')}"
        values = [f"{name} {number(found.value)}" for name, found in self.results[0].metrics.items()]
        return f"<Report on {read.path}: {size}; {', '.join(values)}>"

    def __str__(self) -> str:
        return render(self._shown(), "table").rstrip("\n")

    def _repr_markdown_(self) -> str:
        return render(self._shown(), "markdown")

    def _shown(self, per_class: bool = False) -> ShownResults:
        return ShownResults(self.results, self.settings, per_class, sha256)


def evaluate(
    scores: Any,
    labels: Any = None,
    *,
    kind: Kind | Literal["auto"] = "auto",
    classes: Sequence[str] | None = None,
    positive: str | None = None,
    weights: Any = None,
    renormalize: bool = False,
    by: str | Sequence[str] = (),
    calibration_data: Predictions | None = None,
    posteriors: Predictions | None = None,
    **settings: Any,
) -> Report:
    """Evaluate predictions: how good are the probabilities, and where are they off?

    Parameters
    ----------
    scores : array-like (N, K), (..., K) or (N,); or Predictions
        Logits, log-probabilities or probabilities, of two classes also those of the second one only; or
        what `read` returned, which has labels and all that follows.
    labels : array-like (N,) or (...)
        Integers in 0..K-1, or names out of `classes`.
    kind
        What the scores are.
    classes
        Class names in the order of the scores.
    positive
        Of two classes, the second one.
    weights : array-like (N,), optional
        Non-negative row weights.
    renormalize
        Divide rows of probabilities by their sum, however far from 1.
    by
        Columns of predictions that were read: every value of them is reported on as well.
    calibration_data
        Predictions to train recalibrations on, in place of cross-validation.
    posteriors
        Calibrated posteriors of the same rows, for metrics with `recalibrator=given`.
    **settings
        `metrics` (expressions), `bins`, `level`, `resamples`, `draws`, `seed`, `precision` and others; see
        `Settings`. `costs`, `priors`, `groups` and `edges` may be written as on the command line.

    Raises
    ------
    InputError
        If these cannot be predictions.
    UsageError
        If a setting is unknown or does not fit them.
    """
    if isinstance(scores, Predictions):
        if (labels, kind, classes, positive, weights, renormalize) != (None, "auto", None, None, None, False):
            raise UsageError("predictions have labels and classes of their own; give such options to read()")
        predictions = scores
    elif labels is None:
        raise UsageError("labels are missing: evaluate(scores, labels), or evaluate(read(path))")
    else:
        predictions = from_arrays(
            scores,
            labels,
            kind=kind,
            classes=classes,
            positive=positive,
            weights=weights,
            renormalize=renormalize,
        )
    if calibration_data is not None:
        settings = {"training": "held-out", **settings}
    companions = Companions(calibration_data, posteriors)
    evaluation = evaluate_predictions(predictions, settings_of(settings), companions=companions)
    columns = [by] if isinstance(by, str) else by
    parts = [
        part for column in columns for part in summarize_slices(predictions, column, evaluation, companions)
    ]
    return Report((summarize(evaluation), *parts), evaluation.settings, evaluation)


def read(path: str | Path, **options: Any) -> Predictions:
    """Read a file of predictions, a folder of parts, or standard input as `-`.

    Parameters
    ----------
    path
        Where they are.
    **options
        `labels`, `label_column`, `scores`, `kind`, `classes`, `positive`, `weights`, `limit`,
        `renormalize`; see `ReadOptions`.

    Raises
    ------
    InputError
        If it is missing, damaged or not understood.
    UsageError
        If an option is unknown or does not fit it.
    """
    return read_file(path, ReadOptions(**_known(options, ReadOptions)))


def simulate(
    system: str, *, rows: int | None = None, seed: int = 0, exact: bool = False, **parameters: float
) -> Simulation:
    """Simulate predictions of known truth, as `calcli simulate` does.

    Parameters
    ----------
    system
        "cal", "mcs", "mcp", "mcps", "mixture", "table-1" or "table-2".
    rows
        Number of rows; 10,000 if None.
    seed
        Of the draws.
    exact
        Whether to return the 60 rows that have the frequencies of a table.
    **parameters
        Of the system: `classes`, `prior`, `variance`, `scale`, `wrong_prior`, `intercept`, `slope`.

    Returns
    -------
    `scores`, their `kind`, `labels` and the true `posteriors`.

    Raises
    ------
    UsageError
        If there is no such system, or it has no such parameter or value.
    """
    return simulate_system(system, parameters, rows, seed, exact=exact)


def settings_of(values: dict[str, Any]) -> Settings:
    """Return settings from keywords, some of which may be written as on the command line.

    Raises
    ------
    UsageError
        If one is unknown.
    """
    metrics = values.get("metrics", ())
    values = values | {"metrics": tuple(metrics.split(",") if isinstance(metrics, str) else metrics)}
    if isinstance(costs := values.get("costs"), str):
        values["costs"] = read_costs(tuple(costs.split(",")))
    if isinstance(priors := values.get("priors"), str):
        values["priors"] = read_priors(priors)
    if not isinstance(groups := values.get("groups", {}), Mapping):
        values["groups"] = read_class_groups((groups,) if isinstance(groups, str) else tuple(groups))
    if isinstance(edges := values.get("edges", ()), Mapping):
        edges = [f"{name}={','.join(repr(float(edge)) for edge in own)}" for name, own in edges.items()]
    values["edges"] = parse_edges((edges,) if isinstance(edges, str) else tuple(edges))
    return Settings(**_known(values, Settings))


def _known(values: dict[str, Any], owner: type[Settings] | type[ReadOptions]) -> dict[str, Any]:
    names = [field.name for field in fields(owner)]
    unknown = [name for name in values if name not in names]
    if unknown:
        raise UsageError(f"unknown option {', '.join(unknown)}; expected some of {', '.join(names)}")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def save(
    calibrator: Calibrator,
    path: str | Path,
    classes: Iterable[object],
    priors: Sequence[float] = (),
) -> None:
    """Write a calibrator file, as `calcli fit -o` does.

    Parameters
    ----------
    calibrator
        A fitted calibrator.
    path
        JSON, or .npz by its ending.
    classes
        The name of each class in the order of the scores; `range(10)` will do. `calcli apply` matches them.
    priors
        The frequency of each class in the rows of the fit, for `calcli apply --shift-to-priors`.

    Raises
    ------
    InputError
        If the file cannot be written.
    UsageError
        If the calibrator is not fitted, or the priors are not one a class.
    """
    names = tuple(map(str, classes))
    if not calibrator.parameters:
        raise UsageError(f"{type(calibrator).__name__} has not been fitted; call fit(scores, labels) first")
    if len(priors) not in (0, len(names)):
        raise UsageError(f"{len(priors)} priors are given for {len(names)} classes; expected one per class")
    record = CalibratorRecord(calibrator, names, _takes_raw(calibrator), tuple(map(float, priors)), {})
    save_calibrator(record, path)


def load(path: str | Path) -> Calibrator:
    """Read the calibrator in a file that `save` or `calcli fit -o` wrote.

    Raises
    ------
    InputError
        If there is no such file, or it is damaged or of an unknown version.
    """
    return load_calibrator(path).calibrator


def _takes_raw(calibrator: Calibrator) -> bool:
    settings = calibrator.get_params()
    return _takes_raw(settings["calibrator"]) if "calibrator" in settings else settings.get("input") == "raw"
