"""`calcli evaluate`: how good are these probabilities, and where are they off?"""

from __future__ import annotations

from typing import Annotated

from typer import Option

from calcli.cli.command import command
from calcli.cli.options import (
    CLUSTER,
    COMPUTED,
    CalibrationData,
    Engine,
    Files,
    ReadingSystems,
    chosen,
)
from calcli.core.language.settings import Settings, StateSettings
from calcli.core.language.text import Watcher
from calcli.report.progress import Remark
from calcli.report.shown import Shown

REPORTING, SAVING = "Reporting", "Saving a state"
MORE = chosen("What is computed", "intervals decision_column shift_to_priors trained_at")
RUN = "These rows are a part of a run, from this place in it; parts may be merged in any order."


@command("table", "json", "markdown", "csv", "latex", page=True, details="Show all tables, files and slices.")
def evaluate(
    files: Files,
    *,
    reading: ReadingSystems,
    settings: Annotated[Settings, COMPUTED, MORE, CLUSTER, chosen(REPORTING, "test")],
    calibration_data: CalibrationData = None,
    output: Annotated[
        str | None,
        Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Also write a folder with figures, report.json, .md and .html.",
        ),
    ] = None,
    per_class: Annotated[bool, Option("--per-class", help="Add a table of the classes.")] = False,
    engine: Engine = None,
    diagram: Annotated[
        bool,
        Option("--diagram", help="Add a reliability diagram as text.", rich_help_panel=REPORTING),
    ] = False,
    by: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN",
            help="Also report every value of this column. Repeatable.",
            rich_help_panel=REPORTING,
        ),
    ] = None,
    sort: Annotated[
        str | None,
        Option(
            metavar="METRIC",
            help="Order several files by this metric, the best first.",
            rich_help_panel=REPORTING,
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        Option(
            metavar="LIMIT",
            help="Exit with status 1 if this holds, as in 'log_loss>0.5'. Repeatable.",
            rich_help_panel=REPORTING,
        ),
    ] = None,
    save_state: Annotated[
        str | None,
        Option(
            metavar="FILE.calcli",
            help="Also save a state: what later reports need, without the rows.",
            rich_help_panel=SAVING,
        ),
    ] = None,
    known: Annotated[StateSettings, chosen(SAVING, "run", run=RUN)],
    html: str | None,
    watcher: Watcher,
    remark: Remark,
) -> Shown:
    """Say how good predicted probabilities are.

    Scores with intervals, a verdict on the confidence, and calibration errors beside what they would be if
    the probabilities were calibrated. Several files have a row each.

    \b
    calcli evaluate preds.parquet
    calcli evaluate logits.npy --labels labels.npy -o report
    calcli evaluate epochs/*.parquet --metrics log_loss,accuracy,ece
    calcli evaluate preds.parquet --costs abstain:0.1,costs.csv --priors uniform
    calcli evaluate - --format json < preds.csv
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.evaluate import evaluate_files

    return evaluate_files(
        files,
        reading,
        settings,
        folder=output,
        html=html,
        state=save_state,
        known=known,
        per_class=per_class,
        diagram=diagram,
        sort=sort,
        fail_if=fail_if or (),
        by=by or (),
        calibration_data=calibration_data,
        engine=engine,
        watcher=watcher,
        remark=remark,
    )
