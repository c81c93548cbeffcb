"""`calcli evaluate`: how good are these probabilities, and where are they off?"""

from __future__ import annotations

from typing import Annotated

from calcli.cli.command import command
from calcli.cli.options import (
    CLUSTER,
    COMPUTED,
    CalibrationData,
    Engine,
    Files,
    ReadingSystems,
    chosen,
    text,
)
from calcli.core.language.settings import Settings
from calcli.core.language.text import Watcher
from calcli.report.progress import Remark
from calcli.report.shown import Shown

REPORTING, SAVING = "Reporting", "Saving a state"
MORE = chosen("What is computed", "decision_column cost_column shift_to_priors thresholds")


@command("table", "json", "markdown", "csv", "latex", page=True, details="Show all tables, files and slices.")
def evaluate(
    files: Files,
    *,
    reading: ReadingSystems,
    settings: Annotated[Settings, COMPUTED, MORE, CLUSTER, chosen(REPORTING, "test")],
    calibration_data: CalibrationData = None,
    output: Annotated[
        str | None, text("DIR", "Also write a folder: figures, report.json, .md, .html.", "--output", "-o")
    ] = None,
    engine: Engine = None,
    by: Annotated[
        list[str] | None, text("COLUMN", "Also report every value in it. Repeatable.", under=REPORTING)
    ] = None,
    fail_if: Annotated[
        list[str] | None, text("LIMIT", "Fail if this holds: 'log_loss>0.5'. Repeatable.", under=REPORTING)
    ] = None,
    save_state: Annotated[
        str | None,
        text("FILE.calcli", "Also save a state: what later reports need, without the rows.", under=SAVING),
    ] = None,
    html: str | None,
    watcher: Watcher,
    remark: Remark,
) -> Shown:
    """Evaluate how good predicted probabilities are.

    Shows scores with intervals, a verdict on the confidence, and calibration errors beside their values if
    calibrated. Several files get a row each.

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
        fail_if=fail_if or (),
        by=by or (),
        calibration_data=calibration_data,
        engine=engine,
        watcher=watcher,
        remark=remark,
    )
