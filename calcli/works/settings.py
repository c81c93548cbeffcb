"""Settings of the simulated systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from calcli.core.language.declaring import FLAG, NUMBER, documented, numbers, setting, whole

if TYPE_CHECKING:
    from calcli.core.data.predictions import Predictions

System = Literal["cal", "mcs", "mcp", "mcps", "mixture", "answers", "table-1", "table-2", "thesis-2.3"]
Procedure = Literal["posteriors", "resampling", "marginal", "trained-bins", "objectives"]
GAUSSIAN = ("n_classes", "prior", "variance")
PARAMETERS: dict[str, tuple[str, ...]] = {
    "cal": GAUSSIAN,
    "mcs": (*GAUSSIAN, "logit_scale"),
    "mcp": (*GAUSSIAN, "wrong_prior"),
    "mcps": (*GAUSSIAN, "logit_scale", "wrong_prior"),
    "mixture": ("intercept", "slope"),
    "answers": ("intercept", "slope"),
}
ABOVE_ZERO = numbers("a number above 0", lambda value: value > 0)
PROBABILITY = numbers("a number between 0 and 1", lambda value: 0 < value < 1)
SHARE = numbers("a share of the labels, from 0 to 1", lambda value: 0 <= value <= 1)


@documented()
@dataclass(frozen=True)
class SystemSettings:
    """Parameters of simulated systems; None is the default of the system.

    Attributes
    ----------
    {SystemSettings}
    """

    n_classes: int | None = setting(None, whole(2, 10**6), "cal to mcps: classes; 2 by default.", "N")
    prior: float | None = setting(
        None, PROBABILITY, "cal to mcps: prior of the first class; 0.8 by default.", "P"
    )
    variance: float | None = setting(
        None, ABOVE_ZERO, "cal to mcps: of each class, higher is harder; 0.15 by default.", "X"
    )
    logit_scale: float | None = setting(
        None, ABOVE_ZERO, "mcs, mcps: over-confident above 1, else under-; 5 by default.", "X"
    )
    wrong_prior: float | None = setting(
        None, PROBABILITY, "mcp, mcps: taken for the prior of the last class; 0.9 by default.", "P"
    )
    intercept: float | None = setting(
        None, NUMBER, "mixture, answers: of the log-odds; 0 or 0.5 by default.", "X"
    )
    slope: float | None = setting(
        None, NUMBER, "mixture, answers: of the log-odds; -2 or 1.5 by default.", "X"
    )

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters other than the default, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(SystemSettings)}
        return {name: value for name, value in values.items() if value is not None}


@documented()
@dataclass(frozen=True)
class SimulationSettings(SystemSettings):
    """The system and its parameters.

    Attributes
    ----------
    {SimulationSettings}
    """

    rows: int | None = setting(None, whole(1, 10**12), "Number of rows; 10,000 by default.", "N")
    seed: int = setting(0, whole(), "Seed of the draws.", "N")
    exact: bool = setting(False, FLAG, "Tables: rows with exactly their frequencies.")
    label_noise: float = setting(0.0, SHARE, "Share of labels replaced by other ones.", "P")


@dataclass(frozen=True)
class Asked:
    """The request for a procedure.

    Attributes
    ----------
    metrics
        Calibration errors, as expressions; the default ones if empty.
    draws
        Simulated data sets, or resamples.
    seed
        Of the draws and folds.
    posteriors
        True probabilities of the rows.
    calibration
        Rows to train bins on; other folds if None.
    """

    metrics: Sequence[str] = ()
    draws: int = 200
    seed: int = 0
    posteriors: Predictions | None = None
    calibration: Predictions | None = None
