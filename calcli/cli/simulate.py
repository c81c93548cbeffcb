"""`calcli simulate`: synthetic predictions whose true posteriors are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from calcli.cli.bundles import bundled
from calcli.cli.options import Chosen, option
from calcli.cli.output import remark
from calcli.cli.showing import Quiet
from calcli.works.settings import SimulationSettings, System, SystemSettings


@dataclass(frozen=True)
class Parameters(Chosen):
    """Parameters of the systems."""

    n_classes: Any = option("n_classes", SystemSettings)
    prior: Any = option("prior", SystemSettings)
    variance: Any = option("variance", SystemSettings)
    logit_scale: Any = option("logit_scale", SystemSettings)
    wrong_prior: Any = option("wrong_prior", SystemSettings)
    intercept: Any = option("intercept", SystemSettings)
    slope: Any = option("slope", SystemSettings)


@dataclass(frozen=True)
class Sampling(Chosen):
    """How many rows are drawn, and how."""

    rows: Any = option("rows", SimulationSettings)
    seed: Any = option("seed", SimulationSettings)
    exact: Any = option("exact", SimulationSettings)
    label_noise: Any = option("label_noise", SimulationSettings)


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
    drawing: Sampling,
    parameters: Parameters,
    quiet: Quiet = False,
) -> None:
    """Simulate predictions with known truth.

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

    \b
    calcli simulate mcs --logit-scale 2 --rows 100000 -o mcs.parquet
    calcli simulate cal --n-classes 10 -o cal.npy --posteriors truth.npy
    calcli simulate table-1 --exact | calcli evaluate -
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.simulate import simulate_file

    given = drawing.given() | parameters.given()
    simulation, written = simulate_file(system, output, posteriors, given)
    if written and not quiet:
        n, k = simulation.scores.shape
        what = f"{n:,} answers" if simulation.of_answers else f"{n:,} rows of {k} classes"
        remark(f"{what} in {', '.join(written)}")
