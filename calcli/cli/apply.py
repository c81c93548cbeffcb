"""`calcli apply`: recalibrate the scores of a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from typer import Argument

from calcli.cli.command import command
from calcli.cli.options import ReadingScores, text
from calcli.cli.output import silence
from calcli.core.language.errors import UsageError
from calcli.core.language.text import Watcher
from calcli.report.progress import Remark


@command()
def apply(
    *,
    files: Annotated[
        list[str],
        Argument(
            metavar="[CALIBRATOR] FILE",
            help="What calcli fit or threshold wrote, and scores: a file, a folder, or - for standard input.",
        ),
    ],
    output: Annotated[
        str,
        text(
            "FILE",
            "Output file, its format by the ending; - for standard output; a folder for parts.",
            "--output",
            "-o",
        ),
    ] = "-",
    as_: Annotated[
        Literal["probs", "log-probs", "logits"], text(None, "Kind of the new scores.", "--as")
    ] = "probs",
    shift_to_priors: Annotated[
        str | None, text("PRIORS", "Move to other class priors: uniform, 0.2,0.8 or a file.")
    ] = None,
    trained_at: Annotated[
        str | None,
        text("PRIORS", "Without a calibrator: the class priors in training, which the scores have."),
    ] = None,
    decide: Annotated[
        str | None,
        text("COSTS", "Add the decisions of least expected cost: a word or a file, as in evaluate --costs."),
    ] = None,
    in_place: Annotated[
        bool, text(None, "Replace the input even if it keeps no mark of it.", "--in-place")
    ] = False,
    labels: Annotated[str | None, text("FILE", "Labels of .npy scores, to be written beside them.")] = None,
    reading: ReadingScores,
    watcher: Watcher,
    remark: Remark,
) -> None:
    """Recalibrate the scores of a file.

    Writes the same file with new scores: names, order and types of its columns are kept. No labels are
    needed, and classes are matched by name. Files are read in parts and need not fit into memory.

    \b
    calcli apply cal.json test.parquet -o calibrated.parquet
    calcli apply cal.json test.csv | calcli evaluate -
    calcli apply --trained-at 0.5,0.5 --shift-to-priors 0.98,0.02 test.csv -o moved.csv
    calcli apply cal.json test.csv --decide abstain:0.1 -o decided.csv
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.core.language.text import counted
    from calcli.work.apply import apply_file

    if len(files) > 2:
        raise UsageError(f"expected a calibrator and a file of scores; {len(files)} files were given")
    *calibrator, file = files
    try:
        written = apply_file(
            calibrator[0] if calibrator else None,
            file,
            output,
            replace(reading, labels=labels),
            kind=as_,
            priors=shift_to_priors,
            trained_at=trained_at,
            decide=decide,
            in_place=in_place,
            watcher=watcher,
        )
    except BrokenPipeError:  # a reader that has seen enough
        silence()
        return
    for note in written.notes:
        remark(note)
    changed = written.changed_rows
    of_classes = "" if changed is None else f"; the predicted class changed in {changed:,}"
    action = "moved to other class priors" if not calibrator else "recalibrated"
    if written.answered is not None:
        action, of_classes = f"kept; {written.answered:,} are at or above the threshold", ""
    remark(f"{counted(written.rows, 'row')} {action}{of_classes}")
