"""`calcli simulate`: synthetic predictions whose true posteriors are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from calcli.cli.bundles import bundled
from calcli.cli.options import Quiet
from calcli.cli.output import remark

System = Literal[
    "cal", "mcs", "mcp", "mcps", "mixture", "answers", "table-1", "table-2", "thesis-2.3", "top-1"
]


@dataclass(frozen=True)
class Parameters:
    """Parameters of the systems."""

    classes: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="cal to mcps: number of classes; 2 by default.")
    ] = None
    prior: Annotated[
        float | None, typer.Option(metavar="P", help="cal to mcps: prior of the first class; 0.8 by default.")
    ] = None
    variance: Annotated[
        float | None,
        typer.Option(metavar="X", help="cal to mcps: of each class, higher is harder; 0.15 by default."),
    ] = None
    scale: Annotated[
        float | None,
        typer.Option(metavar="X", help="mcs, mcps: over-confident above 1, else under-; 5 by default."),
    ] = None
    wrong_prior: Annotated[
        float | None,
        typer.Option(metavar="P", help="mcp, mcps: taken for the prior of the last class; 0.9 by default."),
    ] = None
    intercept: Annotated[
        float | None,
        typer.Option(metavar="X", help="mixture, answers: of the log-odds; 0 or 0.5 by default."),
    ] = None
    slope: Annotated[
        float | None,
        typer.Option(metavar="X", help="mixture, answers: of the log-odds; -2 or 1.5 by default."),
    ] = None

    def given(self) -> dict[str, int | float]:
        """Return those that were given."""
        return {name: value for name, value in vars(self).items() if value is not None}


@bundled
def simulate(
    *,
    system: Annotated[System, typer.Argument(metavar="SYSTEM", help="What to simulate; see above.")],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write, in the format of its ending; - for CSV on standard output.",
        ),
    ] = "-",
    posteriors: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also write the true posteriors there, with the same labels."),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of rows; 10,000 by default.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the draws.")] = 0,
    parameters: Parameters,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="table-1 to top-1: rows that have exactly the frequencies of the table."
        ),
    ] = False,
    label_noise: Annotated[
        float, typer.Option("--label-noise", metavar="P", help="Share of labels replaced by other ones.")
    ] = 0.0,
    quiet: Quiet = False,
) -> None:
    """Simulate predictions of known truth.

    \b
    cal        calibrated; classes are Gaussians (Ferrer & Ramos 2024)
    mcs        the same with scaled log-posteriors, as if over-fitted
    mcp        the same with wrong priors, as if trained on other data
    mcps       both
    mixture    logistic model of two Gaussians (Vaicenavicius et al. 2019)
    answers    right or wrong, with the confidence a model states
    table-1    three classes: right for each class, but no vector is (ibid.)
    table-2    three classes: right for the most probable class only (ibid.)
    thesis-2.3 three classes: the same (van de Waterlaat 2021, table 2.3)
    top-1      three classes: the same, with the predictions of table-1

    \b
    calcli simulate mcs --scale 2 --rows 100000 -o mcs.parquet
    calcli simulate cal --classes 10 -o cal.npy --posteriors truth.npy
    calcli simulate table-1 --exact | calcli evaluate -
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.simulate import simulate_file

    simulation, written = simulate_file(
        system,
        output,
        posteriors,
        rows=rows,
        seed=seed,
        exact=exact,
        label_noise=label_noise,
        parameters=parameters.given(),
    )
    if written and not quiet:
        n, k = simulation.scores.shape
        what = f"{n:,} answers" if simulation.of_answers else f"{n:,} rows of {k} classes"
        remark(f"{what} in {', '.join(written)}")
