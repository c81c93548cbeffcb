"""`calcli apply`: recalibrate the scores of a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import typer

from calcli.cli.bundles import bundled
from calcli.cli.options import ReadingScores
from calcli.cli.output import remark, silence
from calcli.cli.showing import Quiet


@dataclass(frozen=True)
class Writing:
    """What is written."""

    as_: Annotated[
        Literal["probs", "log-probs", "logits"], typer.Option("--as", help="Kind of the new scores.")
    ] = "probs"
    shift_to_priors: Annotated[
        str | None,
        typer.Option(
            metavar="PRIORS",
            help="Move to other class priors: uniform, 0.2,0.8 or a file of them by class.",
        ),
    ] = None
    decide: Annotated[
        str | None,
        typer.Option(
            metavar="COSTS",
            help="Add the decisions of least expected cost, as in evaluate --costs: a word or a file.",
        ),
    ] = None


@bundled
def apply(
    *,
    calibrator: Annotated[str, typer.Argument(metavar="CALIBRATOR", help="File written by calcli fit -o.")],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Scores to recalibrate: a file, a folder of parts, or - for standard input."
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write, in the format of its ending; - for standard output. Of parts, a folder.",
        ),
    ] = "-",
    writing: Writing,
    labels: Annotated[
        str | None, typer.Option(metavar="FILE", help="Labels of .npy scores, to be written beside them.")
    ] = None,
    reading: ReadingScores,
    quiet: Quiet = False,
) -> None:
    """Recalibrate the scores of a file.

    Writes the same file with new scores: names, order and types of its columns stay. No labels are needed,
    and classes are matched by name. Rows pass through in parts: a file need not fit into memory.

    \b
    calcli apply cal.json test.parquet -o calibrated.parquet
    calcli apply cal.json test.csv | calcli evaluate -
    calcli apply cal.json test.npy --as log-probs -o calibrated.npy
    calcli apply cal.json test.csv --decide abstain:0.1 -o decided.csv
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.core.language.numbers import counted
    from calcli.report.progress import progress
    from calcli.work.apply import apply_file

    options = replace(reading.read_options(), labels=labels)
    with progress(shown=not quiet) as watcher:
        try:
            written = apply_file(
                calibrator,
                file,
                output,
                options,
                kind=writing.as_,
                priors=writing.shift_to_priors,
                decide=writing.decide,
                watcher=watcher,
            )
        except BrokenPipeError:  # a reader that has seen enough
            silence()
            return
    if not quiet:
        for note in written.notes:
            remark(note)
        changed = written.changed_rows
        of_classes = "" if changed is None else f"; the predicted class changed in {changed:,}"
        remark(f"{counted(written.rows, 'row')} recalibrated{of_classes}")
