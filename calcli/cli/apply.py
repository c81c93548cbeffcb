"""`calcli apply`: recalibrate the scores of a file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from calcli.cli.options import Quiet, ReadingScores, bundled, split
from calcli.cli.output import remark, silence
from calcli.core.errors import UsageError

if TYPE_CHECKING:
    from calcli.core.priors import Priors

UNIFORM = "uniform"


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
            help="Move to other class priors: uniform, 0.2,0.8 or cat=0.2,dog=0.8.",
        ),
    ] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="FILE", help="Labels of .npy scores, to be written beside them.")
    ] = None,
    reading: ReadingScores,
    quiet: Quiet = False,
) -> None:
    """Recalibrate the scores of a file.

    Writes the same file with new scores, in columns prob_CLASS. Other columns are kept, no labels are needed,
    and classes are matched by name. Rows pass through in parts: a file need not fit into memory.

    \b
    calcli apply cal.json test.parquet -o calibrated.parquet
    calcli apply cal.json test.csv | calcli evaluate -
    calcli apply cal.json test.npy --as log-probs -o calibrated.npy
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.core.calibrators.record import prior_shift
    from calcli.io.calibrators import load_calibrator
    from calcli.io.recalibrating import Wanted, recalibrate_file
    from calcli.report.numbers import counted
    from calcli.report.progress import progress

    record = load_calibrator(calibrator)
    shift = None if shift_to_priors is None else prior_shift(record, parse_priors(shift_to_priors))
    options = replace(reading.read_options(), labels=labels)
    with progress(shown=not quiet) as watcher:
        bar = [partial(watcher, "rows")] if watcher else []
        try:
            written = recalibrate_file(record, file, output, options, Wanted(as_, shift), *bar)
        except BrokenPipeError:  # a reader that has seen enough
            silence()
            return
    if not quiet:
        for note in written.notes:
            remark(note)
        changed = f"the predicted class changed in {written.changed_rows:,}"
        remark(f"{counted(written.rows, 'row')} recalibrated; {changed}")


def parse_priors(text: str) -> Priors:
    """Return the class priors named in an option: uniform, 0.2,0.8 or cat=0.2,dog=0.8.

    Raises
    ------
    UsageError
        If the text is none of these.
    """
    from calcli.core.priors import Priors

    if text == UNIFORM:
        return Priors()
    pairs = [item.rpartition("=") for item in split(text)]
    names = tuple(name for name, equals, _ in pairs if equals)
    try:
        values = tuple(float(value) for _, _, value in pairs)
    except ValueError:
        values = ()
    if not values or len(names) not in (0, len(values)):
        raise UsageError(f"the priors {text!r} are none; expected uniform, 0.2,0.8 or cat=0.2,dog=0.8")
    return Priors(values, names)
