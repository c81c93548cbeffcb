"""`calcli apply`: recalibrate the scores of a file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from calcli.cli.options import ReadingScores, Talking, bundled, split
from calcli.cli.output import remark, silence
from calcli.core.errors import UsageError

if TYPE_CHECKING:
    from calcli.core.calibrators.record import CalibratorRecord
    from calcli.core.predictions import Floats

UNIFORM: Literal["uniform"] = "uniform"


@bundled
def apply(
    *,
    calibrator: Annotated[str, typer.Argument(metavar="CALIBRATOR", help="File written by calcli fit -o.")],
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Scores to recalibrate, or - for standard input.")
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write, in the format of its ending; - for standard output.",
        ),
    ] = "-",
    as_: Annotated[
        Literal["probs", "log-probs", "logits"], typer.Option("--as", help="What to write the scores as.")
    ] = "probs",
    shift_to_priors: Annotated[
        str | None,
        typer.Option(
            metavar="PRIORS",
            help="Move to other class frequencies: uniform, or as in cat=0.2,dog=0.8.",
        ),
    ] = None,
    reading: ReadingScores,
    talking: Talking,
) -> None:
    """Recalibrate the scores of a file.

    Writes the same file with new scores, in columns prob_CLASS. Other columns are kept, no labels are needed,
    and classes are matched by name. Rows pass through in parts: a file need not fit into memory.

    \b
    calcli apply cal.json test.parquet -o calibrated.parquet
    calcli apply cal.json test.csv | calcli evaluate -
    calcli apply cal.json test.npy --as log-probs -o calibrated.npy
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.io.calibrators import load_calibrator
    from calcli.io.recalibrating import Wanted, recalibrate_file
    from calcli.report.numbers import counted
    from calcli.report.progress import progress

    record = load_calibrator(calibrator)
    wanted = Wanted(as_, None if shift_to_priors is None else prior_shift_of(shift_to_priors, record))
    with progress(shown=not talking.quiet) as watcher:
        bar = [partial(watcher, "rows")] if watcher else []
        try:
            written = recalibrate_file(record, file, output, reading.read_options(), wanted, *bar)
        except BrokenPipeError:  # a reader that has seen enough
            silence()
            return
    if not talking.quiet:
        for note in written.notes:
            remark(note)
        changed = f"the predicted class changed in {written.changed_rows:,}"
        remark(f"{counted(written.rows, 'row')} recalibrated; {changed}")


def prior_shift_of(text: str, record: CalibratorRecord) -> Floats:
    """Return what the priors named in an option add to the log-probabilities, (K,).

    Raises
    ------
    UsageError
        If they are not a number for each class.
    """
    from calcli.core.calibrators.record import prior_shift

    if text == UNIFORM:
        return prior_shift(record, UNIFORM)
    priors: dict[str, float] = {}
    for item in split(text):
        name, equals, value = item.rpartition("=")
        try:
            priors[name] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise UsageError(
                f"--shift-to-priors {text}: expected uniform, or a number for each class: cat=0.2,dog=0.8"
            )
    return prior_shift(record, priors)
