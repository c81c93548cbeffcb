"""What a pass over rows is to keep for metrics, the states that are made of it, and their samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.data.predictions import Predictions
from calcli.core.data.slices import counted, select_each, slice_numbers
from calcli.core.evaluating.families import FAMILIES, by_family
from calcli.core.evaluating.families.base import Findings
from calcli.core.evaluating.measurements import Measurements
from calcli.core.evaluating.usual import default_metrics, gap_of
from calcli.core.language.errors import NeedsRows, UsageError
from calcli.core.language.expressions import MetricExpression, parse_metrics
from calcli.core.language.settings import NUMBERED, Settings, StateSettings
from calcli.core.language.text import Watch
from calcli.core.state.collect import RowKeys, collect
from calcli.core.state.needs import CLIPPED, Mean, Need, Pass, Sampled, UnitsOf, class_sums, through
from calcli.core.state.runs import Part
from calcli.core.state.sample import Sample
from calcli.core.state.state import State


def needs_of(
    call: MetricExpression, rows: Predictions, settings: Settings, units_for: UnitsOf | None = None
) -> Iterable[Need]:
    """Return what a pass must keep for a metric; see `Family.needs`."""
    return FAMILIES[call.entry.family].needs(call, Pass(rows, settings, units_for))


def needs_rows(
    call: MetricExpression, rows: Predictions, settings: Settings, *, summed: bool = False
) -> bool:
    """Tell whether a metric takes more than a state in a file holds, or than sums if all rows are summed."""
    return any(need.of_rows or (summed and need.each) for need in needs_of(call, rows, settings))


def lack(call: MetricExpression, state: State, remains: Predictions, settings: Settings) -> str:
    """Return why a state does not tell a metric, as a clause; "" if it does."""
    try:
        return state.lack(needs_of(call, remains, settings))
    except NeedsRows as fault:  # to know what it needs
        return str(fault)


def needs_of_report(
    rows: Predictions,
    settings: Settings,
    calls: Iterable[MetricExpression],
    lenses: Iterable[str] = (),
    units_for: UnitsOf | None = None,
) -> list[Need]:
    """Return what a report on metrics needs, and lenses that figures look through.

    Every report has the confidence, a table of the classes and how many labels the clip lifts.
    """
    needs: list[Need] = [through(name, rows, settings) for name in dict.fromkeys(["top-1", *lenses])]
    needs += class_sums(settings.bins, rows, settings)
    if settings.clip:
        least = np.log(settings.clip)
        needs.append(Mean(CLIPPED, lambda block: block.log_prob <= least))
    for call in calls:
        needs += needs_of(call, rows, settings, units_for)
    return needs


def state_of(
    predictions: Predictions,
    settings: Settings | None = None,
    watch: Watch | None = None,
    known: StateSettings = NUMBERED,
    by: Sequence[str] = (),
) -> State:
    """Return the state of predictions, for the metrics that the settings name or the default report.

    Of every value of the columns `by` a small state is in it, for the metrics that sums tell. The computation
    is in double precision unless the scores are stored in single precision or less, or the settings say
    otherwise: how many rows there are does not matter, so that states can be merged.

    Raises
    ------
    InputError
        If there is no such column, or rows share a key.
    UsageError
        If something is asked for that states cannot hold.
    """
    settings = settings or Settings()
    require_mergeable(settings)
    predictions.require_told_class()
    given, rows = predictions, counted(predictions)
    # in a run the others keep their places
    left = 0 if known.run is None else given.n_rows - rows.n_rows
    places = np.flatnonzero(given.weights) if left and given.weights is not None else None
    narrow = rows.scores.dtype.itemsize <= 4
    if settings.precision == "auto":
        settings = replace(settings, precision="single" if narrow else "double")

    calls = _calls(rows, settings)
    told = [call for call in [*calls, gap_of(rows, settings)] if not needs_rows(call, rows, settings)]
    needs = [*needs_of_report(rows, settings, told), Sampled()]
    whole = collect(rows, settings, needs, watch, keys=RowKeys(rows, known, places))
    slices = {column: _slices(rows, column, settings, calls, known, places) for column in by}
    return replace(whole, parts=(replace(whole.parts[0], left=left),), slices=slices)


def _slices(
    predictions: Predictions,
    column: str,
    settings: Settings,
    calls: Sequence[MetricExpression],
    known: StateSettings,
    places: Array | None,
) -> dict[str, State]:
    """Return a state of the rows of every value of a column, numbered like all rows, without a sample."""
    told = [call for call in calls if not needs_rows(call, predictions, settings)]
    if not told:
        raise UsageError(
            f"a state keeps only sums of slices (--by), and {', '.join(call.asked for call in calls)} need "
            "rows; ask for another metric as well, such as log_loss"
        )
    own = replace(settings, metrics=tuple(call.asked for call in told), intervals=True)  # asked for later
    slices, numbers = slice_numbers(predictions, column)
    found = {}
    for number, rows in enumerate(select_each(predictions, numbers)):
        chosen = np.flatnonzero(numbers == number)
        among = chosen if places is None else places[chosen]
        needs = needs_of_report(rows, own, [*told, gap_of(rows, own)])
        state = collect(rows, own, needs, keys=RowKeys(rows, known, among))
        part = slices[number]
        found[part.value] = replace(state, parts=(Part(str(part), rows.n_rows, ""),))
    return found


def _calls(rows: Predictions, settings: Settings) -> list[MetricExpression]:
    return parse_metrics(settings.metrics or default_metrics(rows, settings)[0], settings.defaults)


def of_sample(sample: Sample, whole: Measurements, calls: Sequence[MetricExpression]) -> Findings:
    """Return what is found out about metrics from a sample of the rows; its size stands with each."""
    measured = measured_sample(sample, whole, calls)
    found = [family.estimates(own, measured, measured.settings) for family, own in by_family(calls)]
    joined = Findings.joined(found)
    if measured.of_rows is None:
        return joined
    rows = measured.predictions.n_rows
    estimates = {name: replace(one, rows=rows) for name, one in joined.estimates.items()}
    return replace(joined, estimates=estimates)


def measured_sample(sample: Sample, whole: Measurements, calls: Sequence[MetricExpression]) -> Measurements:
    """Return what a pass over a sample of the rows finds for metrics."""
    rows, settings = sample.of(whole.predictions), replace(whole.settings, precision="auto")
    state = collect(rows, settings, [need for call in calls for need in needs_of(call, rows, settings)])
    of_rows = whole.predictions.n_rows if rows.n_rows < whole.predictions.n_rows else None
    return Measurements(rows, state, settings, of_rows=of_rows)


def of_state(state: State, settings: Settings, name: str) -> Settings:
    """Return the settings with what was decided when the state was made.

    Raises
    ------
    UsageError
        If they say otherwise, or ask for rows.
    """
    require_mergeable(settings)
    head = state.head
    for given, kept, option in (
        (settings.clip * uses_clip(settings), head.clip, "--clip"),
        (settings.groups, head.groups, "--class-groups"),
    ):
        if given and given != kept:
            was = f"with {kept}" if kept else "without"
            raise UsageError(f"{option}: {name} was made {was}; make a state with it from the predictions")
    for asked, option in ((settings.sd, "--sd"), (settings.resample_predictions, "--resample-predictions")):
        if asked:
            raise UsageError(f"{option} resamples rows, and {name} is a state, which keeps sums, not rows")
    return replace(settings, clip=head.clip, groups=head.groups, test=False)


def uses_clip(settings: Settings) -> bool:
    """Tell whether a metric asked for depends on the clip; of the usual ones some do."""
    calls = parse_metrics(settings.metrics, settings.defaults)
    return not calls or any(call.is_clipped for call in calls)


def require_mergeable(settings: Settings) -> None:
    """Raise a UsageError if settings ask for what cannot be put together of parts."""
    for given, option, reason in (
        (settings.priors, "--priors", "their weights depend on all rows"),
        (settings.shift_to_priors, "--shift-to-priors", "move the probabilities with calcli apply first"),
        (settings.cluster, "--cluster", "clusters may continue in other parts"),
        (settings.costs, "--costs", "their decisions are not among the sums"),
        (settings.decision_column, "--decision-column", "their costs are not among the sums"),
    ):
        if given:
            raise UsageError(f"{option} does not go into a state: {reason}; leave it out")
