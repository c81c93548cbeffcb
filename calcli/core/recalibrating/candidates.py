"""What `auto` chooses from unasked."""

from __future__ import annotations

from calcli.core.language.expressions import MethodExpression
from calcli.core.language.methods import METHODS

FEW_CLASSES = 10  # up to which maps with a value for every score are tried
ROWS_OF_CLASS = 50  # on average, from which they are: each class takes as many steps as its rows allow
MANY_CLASSES = 100  # from which one strength for the class-wise slopes will do
MOST_CLASSES = 200  # beyond, fits with slopes for each class take too long to try many
WITH_MATRIX = 0.3  # strength for the class-wise slopes beside a matrix
BASES = ("scaled", "centered", "mixed")  # of many classes the first two
OFF_DIAGONAL = (10, 3, 1, 0.3)
OF_FEW = ("centered-isotonic", "isotonic")
OF_RAW = ("bias", "vector")
POOL = "pool"
AS_FREE_AS = {"temperature-mix": "temperature"}  # by as many parameters


def candidates_for(classes: int, rows: int, *, raw: bool = False, quick: bool = False) -> list[str]:
    """Return the methods that `auto` tries unasked, the simplest first.

    Parameters
    ----------
    classes, rows
        How many.
    raw
        Whether raw logits are fitted to: then the softmax methods alone.
    quick
        Whether only quick methods are wanted.
    """
    if raw:
        softmax = [m for m in METHODS.values() if m.family == "softmax"]
        return [m.name for m in softmax if m.quick or m.name in OF_RAW]
    names = [m.name for m in METHODS.values() if m.quick]
    if quick:
        return names
    if classes <= FEW_CLASSES and rows >= ROWS_OF_CLASS * classes:
        names += OF_FEW
    if classes > MOST_CLASSES:
        return [*names, POOL]
    return [*names, *_structured(classes), POOL]


def _structured(classes: int) -> list[str]:
    form = "structured:base={}:penalties={:g}"
    own = (1, 0.1) if classes < MANY_CLASSES else (WITH_MATRIX,)
    bases = BASES if classes < MANY_CLASSES else BASES[:2]
    found = [f"{form.format(base, one)}:form=diagonal" for one in own for base in bases]
    if classes > 2:  # with two, the diagonal can do all that a matrix can
        matrices = [form.format(base, WITH_MATRIX) for base in bases]
        found += [f"{one}:off_diagonal_penalties={off:g}" for off in OFF_DIAGONAL for one in matrices]
    return found


def freedom(call: MethodExpression) -> tuple[float, ...]:
    """Return what sorts methods by their freedom, the simplest first: their order, then their strengths.

    It is the same for those that are equally free, as with other bases of structured scaling.
    """
    inner = call.chain[-1]
    strengths = inner.arguments
    name = inner.entry.name
    order: tuple[float, ...] = (list(METHODS).index(AS_FREE_AS.get(name, name)), len(call.chain))
    if name != "structured":
        return order
    off = strengths["off_diagonal_penalties"] if strengths["form"] == "matrix" else ()
    return (*order, len(off), *(-value for value in off), *(-value for value in strengths["penalties"]))


def path_of(call: MethodExpression) -> tuple[str, ...]:
    """Return what methods have in common that differ in strengths only: the fits of one start the next."""
    inner = call.chain[-1]
    said = [str(inner.arguments[key]) for key in ("base", "bends") if key in inner.arguments]
    names = [one.entry.name for one in call.chain]
    return (*names, *said) if inner.entry.name == "structured" else (str(call),)
