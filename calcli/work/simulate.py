"""Simulated predictions whose true posteriors are known, as arrays or in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from calcli.core.data.simulation import Simulation, mislabeled
from calcli.core.data.simulation import simulate as simulate_system
from calcli.core.language.declaring import as_option
from calcli.core.language.errors import UsageError


def simulate(
    system: str,
    *,
    rows: int | None = None,
    seed: int = 0,
    exact: bool = False,
    label_noise: float = 0.0,
    **parameters: float,
) -> Simulation:
    """Simulate predictions of known truth, as `calcli simulate` does.

    Parameters
    ----------
    system : {"cal", "mcs", "mcp", "mcps", "mixture", "answers", "table-1", "table-2", "thesis-2.3", "top-1"}
        Ferrer & Ramos 2024 (the first four), Vaicenavicius et al. 2019, or answers with a confidence.
    rows : int, optional
        Number of rows, 1 or more; 10,000 if None.
    seed : int
        Of the draws.
    exact : bool
        Whether to return the rows that have exactly the frequencies of a table.
    label_noise : float
        Share of the labels that are replaced by those of other classes, any of them as often.
    **parameters
        Of the system: `classes`, `prior`, `variance`, `scale`, `wrong_prior`, `intercept`, `slope`.

    Returns
    -------
    Simulation
        (N, K) `scores`, their `kind`, (N,) `labels` and the true `posteriors`, (N, K).

    Raises
    ------
    UsageError
        If there is no such system, or it has no such parameter or value.
    """
    return _simulated(str, system, parameters, rows, seed, exact=exact, label_noise=label_noise)


def _simulated(
    spelled: Callable[[str], str],
    system: str,
    parameters: Mapping[str, float],
    rows: int | None,
    seed: int,
    *,
    exact: bool,
    label_noise: float,
) -> Simulation:
    simulation = simulate_system(system, parameters, rows, seed, exact=exact, spelled=spelled)
    if exact and label_noise:
        raise UsageError(
            f"{spelled('exact')} has the frequencies of a table; leave out {spelled('label_noise')}"
        )
    return mislabeled(simulation, label_noise, seed, spelled) if label_noise else simulation


def simulate_file(
    system: str,
    output: str,
    posteriors: str | None = None,
    *,
    rows: int | None = None,
    seed: int = 0,
    exact: bool = False,
    label_noise: float = 0.0,
    parameters: Mapping[str, float],
) -> tuple[Simulation, tuple[str, ...]]:
    """Simulate predictions and write them; otherwise as `simulate`.

    Parameters
    ----------
    output, posteriors
        Where to write scores with labels, and the true posteriors if anywhere; `-` is standard output.

    Returns
    -------
    What was simulated, and the files written.
    """
    from calcli.io.simulated import write_simulation

    if posteriors == output:
        raise UsageError(f"--posteriors and --output are both {output}; expected two places")
    simulation = _simulated(as_option, system, parameters, rows, seed, exact=exact, label_noise=label_noise)
    return simulation, write_simulation(simulation, output, posteriors)
