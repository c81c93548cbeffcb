"""`calcli export`: calibrators and thresholds as code."""

from __future__ import annotations

from typing import Annotated, Literal

from typer import Argument, Option

from calcli.cli.command import command
from calcli.cli.options import text
from calcli.cli.output import emit
from calcli.core.language.declaring import items
from calcli.report.progress import Remark


@command()
def export(
    *,
    file: Annotated[str, Argument(metavar="FILE", help="A calibrator, or a threshold.")],
    language: Annotated[Literal["sql", "python", "c", "onnx"], text(None, "What to write.", "--as")],
    column: Annotated[
        str | None,
        text("NAMES", "Of SQL: of two classes the column of the second, p by default; else one each: a,b,c."),
    ] = None,
    tolerance: Annotated[
        float,
        Option(metavar="X", min=1e-9, max=0.1, help="Largest difference of a map without a closed form."),
    ] = 1e-4,
    output: Annotated[
        str | None, text("FILE", "Where to write it; needed for ONNX.", "--output", "-o")
    ] = None,
    remark: Remark,
) -> None:
    """Write a calibrator as code that runs without calcli.

    SQL is an expression (one per class for several classes), Python and C are a function without
    dependencies, and ONNX is a model. Maps by a softmax of logarithms are written in closed form; other maps
    of one probability as straight lines, with their largest difference.

    \b
    calcli export cal.json --as sql --column p_fraud
    calcli export cal.json --as c -o calibrate.c
    calcli export threshold.json --as python
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.export import export_file, write_code

    code, says = export_file(file, language, items(column), tolerance)
    if isinstance(code, str) and output in (None, "-"):
        emit(code)
    else:
        write_code(code, output)
    if says:
        remark(says)
