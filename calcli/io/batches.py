"""Writing record batches, for the formats that pyarrow writes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

import pyarrow as pa

from calcli.core.data.arrays import Doubles
from calcli.io.writing import Frame, Writer


class BatchWriter(Writer):
    """Formats that pyarrow writes a record batch at a time."""

    def __init__(
        self, sink: BinaryIO, frame: Frame, opened: Callable[[BinaryIO, Any], Any], *, decoded: bool
    ) -> None:
        super().__init__(sink, frame, None)
        self._schema = frame.schema(decoded=decoded)
        self._opened = opened(sink, self._schema)

    def write(self, beside: Any, scores: Doubles) -> None:
        """Write a record batch, in parquet a row group."""
        self._opened.write_batch(self.frame.batch(beside, scores, self._schema))

    def end(self) -> None:
        """Write the foot of the file."""
        self._opened.close()

    def abandon(self) -> None:
        """Close what pyarrow would otherwise try to close later, behind the sink."""
        with suppress(OSError, pa.ArrowException):
            self._opened.close()
