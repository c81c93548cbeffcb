"""Writing simulated predictions to files, as a classifier would save them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from calcli.core.data.arrays import Doubles
from calcli.core.data.predictions import Kind
from calcli.core.language.errors import UsageError
from calcli.io.formats.npy import labels_file
from calcli.io.formats.writer import ARRAYS, PREFIXES, Frame, inserted, open_writer, output_format
from calcli.io.places.outputs import together


class Simulated(Protocol):
    """Scores and labels, and the true probabilities."""

    @property
    def scores(self) -> Doubles:
        """(N, K) scores."""

    @property
    def kind(self) -> Kind:
        """What they are."""

    @property
    def labels(self) -> NDArray[np.intp]:
        """(N,) integers in 0..K-1."""

    @property
    def posteriors(self) -> Doubles:
        """(N, K) true probabilities."""

    @property
    def of_answers(self) -> bool:
        """Whether these are answers: the second class is "right", and its score the confidence."""


@together()
def write_simulation(simulation: Simulated, target: str, posteriors: str | None = None) -> tuple[str, ...]:
    """Write scores and labels, and the true posteriors.

    Parameters
    ----------
    simulation
        The simulation to write.
    target
        A file with the format as its ending, or `-` for CSV on standard output. The labels of `x.npy` go into
        `x_labels.npy`, the labels of a table into its column `label`; for answers a table has the columns
        `confidence` and `correct`.
    posteriors
        A file for the true posteriors, with the same labels; None for none.

    Returns
    -------
    The files written.

    Raises
    ------
    InputError
        If a file cannot be written.
    UsageError
        If one file would hold two things, or the format of answers has no names.
    """
    for place in set(_places(target)) & set(_places(posteriors or "-")):
        raise UsageError(f"{place} would hold both labels and probabilities; expected another name")
    written = _write(simulation, simulation.scores, simulation.kind, target)
    if posteriors is not None:
        written += _write(simulation, simulation.posteriors, "probs", posteriors)
    return written


def _write(simulation: Simulated, scores: Doubles, kind: Kind, target: str) -> tuple[str, ...]:
    form = output_format(target, "csv")
    classes = tuple(map(str, range(scores.shape[1])))
    labels = pa.RecordBatch.from_arrays([pa.array(simulation.labels)], names=["label"])
    names = tuple(PREFIXES[kind] + name for name in classes)
    frame = Frame(inserted(labels.schema, 1, names), names, ARRAYS[kind], classes)
    if simulation.of_answers:
        if form.name == "npy":
            raise UsageError(f"{target} has no names for confidence and correct; expected a table or .npz")
        labels = pa.RecordBatch.from_arrays([pa.array(simulation.labels == 1)], names=["correct"])
        names, scores = ("confidence",), scores[:, 1:]
        frame = Frame(inserted(labels.schema, 0, names), names, *names, ())
    with open_writer(target, form, frame) as writer:
        writer.write(labels, scores)
    return _places(target)


def _places(target: str) -> tuple[str, ...]:
    """Return the files for scores and labels."""
    if target == "-":
        return ()
    if output_format(target, "csv").name != "npy":
        return (target,)
    return target, str(labels_file(Path(target)))
