"""What arrays are called in annotations, by what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]  # single or double precision, as the input was
Doubles = NDArray[np.float64]
Positions = NDArray[np.intp]
Tables = dict[str, dict[str, Array]]  # by name: columns of one length by their head
