"""Lines through a series of values: none, moving means, or the filter of Savitzky and Golay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calcli.core.data.arrays import Doubles
from calcli.core.language.declaring import number_in
from calcli.core.language.errors import UsageError

DEGREE = 3  # of the polynomials of the filter; van de Waterlaat 2021, remark 4.4.1, names none
NARROWEST = {"moving": 3, "savgol": 5}


def smoother(text: str) -> tuple[Callable[[Doubles], Doubles], int]:
    """Return the function that `none`, `moving/3` or `savgol/11` stands for, and its window.

    Raises
    ------
    UsageError
        If there is no such function.
    """
    if text == "none":
        return lambda value: value, 1
    name, _, window = text.partition("/")
    least, width = NARROWEST.get(name, 0), number_in(window)
    if not least or width < least or width % 2 == 0:
        raise UsageError(
            f"smooth={text}: expected none, moving/N or savgol/N, N odd and at least 3 or 5, as in savgol/11"
        )
    smooth = moving if name == "moving" else savgol
    return lambda value: smooth(value, width) if len(value) >= width else value, width


def moving(value: Doubles, window: int) -> Doubles:
    """Return the mean of each value and its neighbors, as many before it as after it; the ends stay."""
    place = np.arange(len(value))
    half = np.minimum(window // 2, np.minimum(place, place[::-1]))
    return np.array([value[n - own : n + own + 1].mean() for n, own in enumerate(half)])


def savgol(value: Doubles, window: int) -> Doubles:
    """Return the cubic least-squares fit around each value, at the ends that of the last window."""
    half = window // 2
    powers = np.vander(np.arange(-half, half + 1.0), DEGREE + 1, increasing=True)
    fit = powers @ np.linalg.pinv(powers)  # (window, window): each fitted value of the values of a window
    smooth = np.convolve(value, fit[half][::-1], mode="same")
    smooth[:half] = fit[:half] @ value[:window]
    smooth[-half:] = fit[-half:] @ value[-window:]
    return np.asarray(smooth)
