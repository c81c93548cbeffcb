"""`calcli compare`: is one system better than another, beyond chance?"""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from calcli.cli.command import command
from calcli.cli.options import Pairing, ReadingSystems, chosen, text
from calcli.core.language.declaring import items
from calcli.core.language.errors import UsageError
from calcli.core.language.settings import PairSettings, Settings
from calcli.core.language.text import Watcher
from calcli.report.progress import Remark
from calcli.report.shown import Shown


@command(
    "table", "json", "markdown", "csv", "latex",
    page=True,
    details="Also list the questions that got worse or better.",
)  # fmt: skip
def compare(
    files: Annotated[
        list[str], Argument(metavar="BASELINE CANDIDATE", help="Predictions of two or more systems.")
    ],
    *,
    reading: ReadingSystems,
    settings: Annotated[
        Settings, chosen("What is computed", "metrics thresholds level draws costs clip priors cluster")
    ],
    pairing: Pairing,
    margin: Annotated[
        list[str] | None, text("METRIC=X", "A negligible difference, as in accuracy=0.01. Repeatable.")
    ] = None,
    by: Annotated[str | None, text("COLUMN", "Also compare on every value of this column.")] = None,
    select: Annotated[str | None, text("METRIC", "Select the system to ship, by this metric.")] = None,
    show: Annotated[
        list[str] | None, text("COLUMN", "A column to show of questions that --details lists. Repeatable.")
    ] = None,
    report_on: Annotated[
        str | None, text("DIR|GLOB", "Report what --select chose on these files, matched by number.")
    ] = None,
    watcher: Watcher,
    remark: Remark,
) -> Shown:
    """Compare systems: do they differ beyond chance?

    Rows are paired. Differences of scores have intervals and a verdict; calibration errors stand beside
    their values if calibrated. Several candidates are ranked, and the candidates not worse than the best are
    marked.

    \b
    calcli compare old.parquet new.parquet --margin accuracy=0.01
    calcli compare old.csv new.csv --key id --by country
    calcli compare epochs/*.parquet --select log_loss
    calcli compare val/*.npy --select accuracy,log_loss --report-on 'test/*.npy'
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.compare import compare_files, select_files

    if report_on is not None:
        if select is None:
            raise UsageError("--report-on reports what --select METRIC chose; give both")
        if reading.key is not None or pairing != PairSettings() or by is not None or margin:
            raise UsageError("--report-on compares no rows; leave out --key, --unpaired, --by, --margin")
        return select_files(files, report_on, items(select), reading, settings, watcher, remark)
    return compare_files(
        files,
        reading,
        settings,
        pairing,
        margins=margin or (),
        select=select,
        by=by,
        show=show or (),
        watcher=watcher,
        remark=remark,
    )
