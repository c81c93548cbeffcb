"""`calcli simulate`: synthetic predictions with known true posteriors."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from calcli.cli.command import command
from calcli.cli.options import chosen, text
from calcli.report.progress import Remark
from calcli.works.settings import SimulationSettings, System

PARAMETERS = chosen("", "n_classes prior variance logit_scale wrong_prior intercept slope")


@command()
def simulate(
    *,
    system: Annotated[System, Argument(metavar="SYSTEM", help="What to simulate; see above.")],
    output: Annotated[
        str,
        text(
            "FILE",
            "Where to write, in the format of its ending; - for CSV on standard output.",
            "--output",
            "-o",
        ),
    ] = "-",
    posteriors: Annotated[
        str | None, text("FILE", "Also write the true posteriors there, with the same labels.")
    ] = None,
    settings: Annotated[SimulationSettings, chosen("", "rows seed exact label_noise"), PARAMETERS],
    remark: Remark,
) -> None:
    """Simulate predictions with known truth.

    \b
    cal        calibrated; classes are Gaussians (Ferrer & Ramos 2024)
    mcs        the same with scaled log-posteriors, as if over-fitted
    mcp        the same with wrong priors, as if trained on other data
    mcps       both
    mixture    logistic model of two Gaussians (Vaicenavicius et al. 2019)
    answers    right or wrong, with the confidence a model states
    table-1    three classes: right for each class, but no vector is (the same)
    table-2    three classes: right for the most probable class only (the same)
    thesis-2.3 three classes: the same (van de Waterlaat 2021, table 2.3)

    \b
    calcli simulate mcs --logit-scale 2 --rows 100000 -o mcs.parquet
    calcli simulate cal --n-classes 10 -o cal.npy --posteriors truth.npy
    calcli simulate table-1 --exact | calcli evaluate -
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.work.simulate import simulate_file

    simulation, written = simulate_file(system, output, posteriors, settings)
    if written:
        n, k = simulation.scores.shape
        size = f"{n:,} answers" if simulation.of_answers else f"{n:,} rows of {k} classes"
        remark(f"{size} in {', '.join(written)}")
