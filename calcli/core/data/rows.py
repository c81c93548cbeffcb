"""Statistics of single rows, by name, computed block by block."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calcli.core.data.arrays import Array
from calcli.core.data.blocks import Block

RowStatistic = Callable[[Block], Array]

ROW_STATISTICS: dict[str, RowStatistic] = {
    "top1_brier": lambda block: np.square(block.confidence - block.hit),
    "confidence": lambda block: block.confidence,
    "hit": lambda block: block.hit,
    "top5_hit": lambda block: block.label_within(5),
}
LOG_ODDS: dict[str, RowStatistic] = {"log_odds": lambda block: block.log_odds}  # of two classes
