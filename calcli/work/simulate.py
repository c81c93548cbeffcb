"""Simulated predictions with known true posteriors, as arrays or in files."""

from __future__ import annotations

from typing import Any

from calcli.core.language.declaring import TEXT, Spelling, checked, declared, documented
from calcli.core.language.errors import UsageError
from calcli.works.settings import SimulationSettings
from calcli.works.simulation import Simulation, mislabeled
from calcli.works.simulation import simulate as simulate_system


@documented(SimulationSettings)
def simulate(system: str, **settings: Any) -> Simulation:
    """Simulate predictions with known true posteriors, as `calcli simulate` does.

    Parameters
    ----------
    system : {"cal", "mcs", "mcp", "mcps", "mixture", "answers", "table-1", "table-2", "thesis-2.3", "top-1"}
        Ferrer & Ramos 2024 (the first four), Vaicenavicius et al. 2019, or answers with a confidence.
    {SimulationSettings}

    Returns
    -------
    Simulation
        (N, K) `scores`, their `kind`, (N,) `labels` and the true `posteriors`, (N, K).

    Raises
    ------
    UsageError
        If there is no such system, or it has no such parameter or value.
    """
    chosen = SimulationSettings(**checked(SimulationSettings, settings, "keyword"))
    return _simulated(TEXT.checked("system", system), chosen, "keyword")


def _simulated(system: str, chosen: SimulationSettings, spelling: Spelling) -> Simulation:
    called = {name: setting.spelled(spelling) for name, setting in declared(SimulationSettings).items()}
    simulation = simulate_system(
        system, chosen.parameters, chosen.rows, chosen.seed, exact=chosen.exact, spelled=called.__getitem__
    )
    if chosen.exact and chosen.label_noise:
        raise UsageError(
            f"{called['exact']} has the frequencies of a table; leave out {called['label_noise']}"
        )
    return mislabeled(simulation, chosen.label_noise, chosen.seed) if chosen.label_noise else simulation


def simulate_file(
    system: str, output: str, posteriors: str | None, settings: SimulationSettings
) -> tuple[Simulation, tuple[str, ...]]:
    """Simulate predictions and write them; otherwise as `simulate`.

    Parameters
    ----------
    output, posteriors
        Where to write scores with labels, and the true posteriors if anywhere; `-` is standard output.
    settings
        Settings of the system.

    Returns
    -------
    The simulation, and the written files.
    """
    from calcli.io.apply.simulated import write_simulation

    if posteriors == output:
        raise UsageError(f"--posteriors and --output are both {output}; choose two places")
    simulation = _simulated(system, settings, "option")
    return simulation, write_simulation(simulation, output, posteriors)
