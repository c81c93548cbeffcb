"""Several labels in a row: a line for each, and the means over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calcli.core.evaluating.results import Estimate
from calcli.core.language.text import counted, p_value, percent, some
from calcli.report.estimates import CORRECTED, NONE, P, ends, interval_head, value, without_interval
from calcli.report.files import short_names
from calcli.report.findings import Result
from calcli.report.overview import SCORES_OF_TWO
from calcli.report.shown import Column, TextTable

USUAL = (*(name for name in SCORES_OF_TWO if name != "brier"), "ece")


def labels_of(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return the means over labels and then the results of each, by the file that has these in a row."""
    files = {result.input.labelled_file for result in results} - {""}
    of_files = {r.input.path: [r] for r in results if r.input.path in files}
    for result in results:
        of_files.get(result.input.labelled_file, []).append(result)
    return of_files


def label_tables(results: Sequence[Result]) -> Iterator[TextTable]:
    """Yield for each file with several labels in a row a line for each, and one for the means over them."""
    of_files = labels_of(results)
    for name, (mean, *labels) in zip(short_names([*of_files]), of_files.values(), strict=True):
        means = [e for name, e in mean.metrics.items() if mean.settings.metrics or name in USUAL]
        heads = ["rows", "observed", "predicted"]
        lines = [[result.input.label, *_shares(result)] for result in labels]
        lines += [[f"{mean.input.name} mean", "", "", ""], [interval_head(means), "", "", ""]]
        for estimate in means:
            of_labels = [result.metrics[estimate.metric.text] for result in labels]
            cells = [value(e) for e in (*of_labels, estimate)], [_p(e) for e in (*of_labels, estimate)]
            tested = estimate.metric.entry.family.has_null
            heads += [estimate.metric.text, "p"] if tested else [estimate.metric.text]
            for line, *pair in zip(lines, (*cells[0], ends(estimate)), (*cells[1], ""), strict=True):
                line += pair if tested else pair[:1]
        notes = [f"{P} {CORRECTED}"] * ("p" in heads) + without_interval(means)
        notes += ["rows: those that have the label."] * (len({result.input.rows for result in labels}) > 1)
        scores = list(dict.fromkeys(column for result in labels for column in result.input.taken))
        title = f"{name}: {counted(len(labels), 'label')} in a row, {mean.input.kind} in {some(scores)}"
        yield TextTable(
            title, (Column("", "left"), *map(Column, heads)), tuple(map(tuple, lines)), tuple(notes)
        )


def _shares(result: Result) -> list[str]:
    """Return how many rows have a label, its frequency and its mean probability."""
    row = result.per_class[1]
    return [f"{result.input.rows:,}", percent(row.frequency), percent(row.mean_prob)]


def _p(estimate: Estimate) -> str:
    null = estimate.if_calibrated
    return NONE if null is None or null.corrected_p is None else p_value(null.corrected_p)
