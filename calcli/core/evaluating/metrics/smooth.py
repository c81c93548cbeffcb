"""Calibration errors by smoothing instead of binning: smooth ECE and KDE-ECE.

Both use a fine grid of the unit interval. A kernel reflected at 0 and 1 acts on the grid and its
mirror image as a plain periodic kernel: each bandwidth costs one multiplication of Fourier coefficients.
"""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles, Positions
from calcli.core.data.binning import Bins, edge_cuts
from calcli.core.evaluating.metrics.errors import EXPECTED, OneDimensional
from calcli.core.language.entries import arg, metric
from calcli.core.problems.problem import Problem, segment_sums

KernelNorm = Literal["1", "2"]

CELLS = 4096  # a Gaussian as narrow as four cells is still smooth on the grid
TRANSFORMED = 32  # simulated data sets transformed at once; their grids stay in the cache
CENTERS = (np.arange(CELLS) + 0.5) / CELLS
EMPTY = 1e-12  # share of the largest mass; smaller masses are rounding errors
TOLERANCE = 1e-10
ROUNDING = 1e-9  # tolerance between errors of the same outcomes
MAX_STEPS = 60
SILENT = 9.0  # standard deviations of the kernel's transform; beyond them it is below rounding


def grid_cuts(problem: Problem) -> Positions:
    """Return (CELLS + 2,) positions that split the ordered rows at the centers of the cells."""
    return edge_cuts(problem.score, np.concatenate([[0], (np.arange(CELLS) + 0.5) / CELLS, [1]]))


class Grid:
    """Rows between the centers of the cells of the unit interval.

    Parameters
    ----------
    bins
        Sums between adjacent centers, (CELLS + 1,) of scores and weights.

    Attributes
    ----------
    total
        Summed weight.
    score, outcome, weight
        Sums as shares of the total; outcomes (..., CELLS + 1).
    """

    def __init__(self, bins: Bins) -> None:
        self.total = bins.weight.sum()
        self.score, self.outcome, self.weight = (
            sums / self.total for sums in (bins.score, bins.outcome, bins.weight)
        )
        mean = np.divide(self.score, self.weight, out=np.zeros(CELLS + 1), where=self.weight > 0)
        self._place = np.where(self.weight > 0, mean * CELLS + 0.5 - np.arange(CELLS + 1), 0)

    def spectrum(self, masses: Doubles) -> NDArray[np.complex128]:
        """Return Fourier coefficients of (..., CELLS + 1) masses with their mirror image.

        The two centers around a mean score share its mass, which keeps the mean.
        """
        return _spectrum(masses, masses * self._place)


def row_spectrum(problem: Problem, values: Doubles) -> NDArray[np.complex128]:
    """Return Fourier coefficients of (n,) values, each shared by the two centers around its score."""
    weights, score, cuts = problem.weights, problem.score.astype(np.float64, copy=False), grid_cuts(problem)
    weighted = values if weights is None else values * weights
    masses = segment_sums(weighted, cuts) / problem.total_weight
    right = segment_sums(weighted * (score * CELLS + 0.5), cuts) / problem.total_weight
    return _spectrum(masses, right - masses * np.arange(CELLS + 1))


def _spectrum(masses: Doubles, at_right: Doubles) -> NDArray[np.complex128]:
    """Return Fourier coefficients of masses, with `at_right` in the next center and the rest in the last."""
    at_left = masses - at_right
    placed = at_left[..., 1:] + at_right[..., :-1]
    placed[..., 0] += at_left[..., 0]  # the mirror image lies beyond the border
    placed[..., -1] += at_right[..., -1]
    return np.fft.rfft(np.concatenate([placed, placed[..., ::-1]], axis=-1))


def on_grid(spectrum: NDArray[np.complex128]) -> Doubles:
    """Return the (..., CELLS) masses of Fourier coefficients, without their mirror image."""
    return np.fft.irfft(spectrum, 2 * CELLS)[..., :CELLS]


class Smoothed(OneDimensional, ABC):
    """An error on the grid."""

    rounding: ClassVar[float] = ROUNDING

    def cuts(self, problem: Problem) -> Positions:
        """Return the positions of the centers of the cells."""
        return grid_cuts(problem)


@metric("smooth_ece", "Smooth ECE", abbreviation_of=EXPECTED)
class SmoothECE(Smoothed):
    """kernel-smoothed calibration error, the bandwidth being the error itself; no bins

    Formula: the s at which the smoothed gap's integral over [0, 1] is s
    Source: Blasiok & Nakkiran 2024
    Misses: biased upward on few rows, less than ece

    A Gaussian that is reflected at 0 and 1 smooths the absolute gap between score and outcome. The grid makes
    the error exact to 1e-6 where it is above 0.002.
    """

    def value(self, problem: Problem) -> float:
        """Return the error, in [0, 1], each row at its own score."""
        gap = np.subtract(problem.score, problem.outcome, dtype=np.float64)
        return float(fixed_widths(row_spectrum(problem, gap)[None])[0])

    def of(self, problem: Problem, bins: Bins) -> Any:
        """Return the error of rows that stand together in their cell, as the draws do."""
        grid = Grid(bins)
        gaps = np.atleast_2d(grid.score - grid.outcome)
        errors = np.concatenate([fixed_widths(grid.spectrum(part)) for part in _chunks(gaps)])
        return errors if bins.outcome.ndim > 1 else errors[0]


def fixed_widths(spectra: NDArray[np.complex128]) -> Doubles:
    """Return (B,) widths at which the absolute gaps smoothed by that width add up to the width itself.

    The sum falls with the width, so there is one such width, at least the absolute sum of the gaps. It
    is found by false position with the Illinois rule (Dowell & Jarratt 1971), for all B at once.
    """
    low, high = np.abs(spectra[:, 0].real) / 2, np.abs(on_grid(spectra)).sum(-1)
    low_excess = _smoothed_sums(spectra, low) - low
    high_excess = _smoothed_sums(spectra, high) - high
    side = np.zeros(len(spectra))
    for _ in range(MAX_STEPS):
        fall = low_excess - high_excess
        step = np.divide(low_excess, fall, out=np.ones_like(fall), where=fall > 0)
        # for a Gaussian narrower than a cell, sums are slightly too large, also at the upper end
        width = low + np.minimum(step, 1) * (high - low)
        excess = _smoothed_sums(spectra, width) - width
        # the excess falls at least as fast as the width grows
        if np.minimum(np.abs(excess), high - low).max() <= TOLERANCE:
            break
        above = excess > 0
        # the value at an end that stays twice in a row is halved, or it would stay forever
        low_excess = np.where(above, excess, np.where(side < 0, low_excess / 2, low_excess))
        high_excess = np.where(above, np.where(side > 0, high_excess / 2, high_excess), excess)
        low, high = np.where(above, width, low), np.where(above, high, width)
        side = np.where(above, 1, -1)
    return width


def _smoothed_sums(spectra: NDArray[np.complex128], width: Doubles) -> Doubles:
    frequency = np.pi * np.arange(CELLS + 1)  # the grid with its mirror image has period 2
    heard = slice(np.searchsorted(frequency * width.min(), SILENT))  # a Gaussian removes the rest
    smoothed = spectra[:, heard] * np.exp(-0.5 * np.square(width[:, None] * frequency[heard]))
    return np.abs(on_grid(smoothed)).sum(-1)


@metric("kde_ece", "KDE-ECE", abbreviation_of="kernel density estimate, " + EXPECTED, tier="works")
class KernelDensityECE(Smoothed):
    """calibration error from kernel density estimates, without bins

    Formula: integral of |z - accuracy(z)| density(z)
    Source: Zhang et al. 2020
    Misses: has a fixed bandwidth; smooth_ece chooses its own

    For norm 2 it is the root of the integral of the squared gap (van de Waterlaat 2021, section 8.1). One
    triweight kernel, reflected at 0 and 1, estimates the density of the scores and the accuracy at a score.
    Its standard deviation is 1.06 sd(scores) n^(-1/5), where n is the number of rows of equal weight that
    tell as much (Kish 1965).
    """

    norm: KernelNorm = arg("mean distance, or root mean square", default="1")

    def value(self, problem: Problem) -> float:
        """Return the error, in [0, 1], each row at its own score."""
        return float(_kde_errors(*_kde_spectra(problem), self.norm))

    def of(self, problem: Problem, bins: Bins) -> Any:
        """Return the error of rows that stand together in their cell, as the draws do."""
        grid, kernel = Grid(bins), _kde_kernel(problem)
        density = grid.spectrum(grid.weight) * kernel
        every = _chunks(np.atleast_2d(grid.outcome))
        errors = np.concatenate(
            [_kde_errors(grid.spectrum(part) * kernel, density, self.norm) for part in every]
        )
        return errors if bins.outcome.ndim > 1 else errors[0]


def densities(problem: Problem) -> tuple[Doubles, Doubles, Doubles]:
    """Return the mass of the scores in each cell, the scores there and the accuracy, by kernel density."""
    outcome, density = map(on_grid, _kde_spectra(problem))
    filled = density > EMPTY * density.max()
    mass = density[filled]
    return mass / mass.sum(), CENTERS[filled], np.clip(outcome[filled] / mass, 0, 1)


def _kde_spectra(problem: Problem) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Return Fourier coefficients of the smoothed outcomes and of the density of the scores."""
    grid, kernel = Grid(problem.binned(grid_cuts(problem))), _kde_kernel(problem)
    outcome = row_spectrum(problem, problem.outcome.astype(np.float64))
    return outcome * kernel, grid.spectrum(grid.weight) * kernel


def _kde_kernel(problem: Problem) -> NDArray[np.complex128]:
    """Return Fourier coefficients of the triweight kernel of a problem."""
    score = problem.score.astype(np.float64, copy=False)
    center = np.average(score, weights=problem.weights)
    deviation = np.sqrt(np.average(np.square(score - center), weights=problem.weights))
    rows = problem.total_weight**2 / problem.squared_weights.sum()
    reach = 3 * 1.06 * deviation * rows**-0.2  # a triweight reaches three standard deviations
    distance = np.arange(CELLS + 1) / CELLS
    relative = np.divide(distance, reach, out=np.ones(CELLS + 1), where=distance < reach)
    relative[0] = 0
    half = (1 - np.square(relative)) ** 3
    kernel = np.concatenate([half, half[-2:0:-1]])
    return np.fft.rfft(kernel / kernel.sum())


def _kde_errors(outcome: NDArray[np.complex128], density: NDArray[np.complex128], norm: KernelNorm) -> Any:
    mass = on_grid(density)
    gap = CENTERS * mass - on_grid(outcome)
    if norm == "1":
        return np.abs(gap).sum(-1)
    squares = np.divide(np.square(gap), mass, out=np.zeros_like(gap), where=mass > EMPTY * mass.max())
    return np.sqrt(squares.sum(-1))


def _chunks(table: Doubles) -> list[Doubles]:
    return np.split(table, range(TRANSFORMED, len(table), TRANSFORMED))
