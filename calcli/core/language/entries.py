"""Entries of registries: metrics and their families, methods, figures, and their arguments."""

from __future__ import annotations

import inspect
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from numbers import Real
from typing import (
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from calcli.core.language.errors import UsageError

Section = Literal["scores", "errors", "parts", "classical"]


@dataclass(frozen=True, kw_only=True)
class MetricFamily:
    """The facts about the metrics of a family.

    Attributes
    ----------
    name
        As in the JSON.
    uncertainty
        What reports show beside its values.
    section
        Which part of a report shows them.
    has_null
        Whether its values are biased upward near zero: they then stand beside the value if calibrated, and
        have no interval.
    has_interval_of_difference
        Whether a difference has an interval, and can be proven small.
    fits
        Whether its metrics fit transforms, which is too slow to repeat for every resample.
    class_by_class
        Whether its metrics look at single classes, with any lens.
    undefined
        Why a value is undefined, if nothing else says so.
    """

    name: str
    uncertainty: str
    section: Section
    has_null: bool = False
    has_interval_of_difference: bool = True
    fits: bool = False
    class_by_class: bool = False
    undefined: str = ""


SCORE = MetricFamily(
    name="score",
    uncertainty="a jackknife interval, exact for shares of rows; in comparisons a paired interval",
    section="scores",
)
RANKING = MetricFamily(
    name="ranking",
    uncertainty="an interval from its influences; in comparisons a paired interval",
    section="scores",
    class_by_class=True,
    undefined="all rows have the same label",
)
SELECTIVE = MetricFamily(
    name="selective",
    uncertainty="the values of an oracle and of a random order, and an interval from its influences, but not "
    "for coverage; in comparisons a paired interval, but not for coverage",
    section="scores",
    undefined="there are no rows",
)
RECALIBRATION = MetricFamily(
    name="recalibration",
    uncertainty="an interval for recalibrations fitted to other data; for "
    "calibration losses on request, refitted to each resample; in comparisons a paired interval of "
    "calibration losses",
    section="parts",
    fits=True,
    undefined="there are too few rows for cross-validation with two folds",
)
DECOMPOSITION = MetricFamily(
    name="decomposition",
    uncertainty="an interval for refinement and uncertainty, none for the others (biased upward)",
    section="parts",
    has_interval_of_difference=False,
)
ERROR = MetricFamily(
    name="error",
    uncertainty="its value if calibrated and a p-value; an interval for kuiper alone, as other errors are "
    "biased upward near zero; no test compares those of two systems",
    section="errors",
    has_null=True,
    has_interval_of_difference=False,
    undefined="there are fewer than two rows",
)
CLASSICAL = MetricFamily(
    name="classical",
    uncertainty="an interval, or a p-value; in comparisons a paired interval",
    section="classical",
    undefined="it has no finite value for these probabilities and labels",
)


Direction = Literal["lower", "higher", "zero", "one", "none"]
Tier = Literal["to know", "more", "works"]
MethodFamily = Literal["softmax", "one score", "vectors", "pool", "wrapper"]

TARGETS: Mapping[str, float] = {"zero": 0.0, "one": 1.0}  # of directions
TRUTH = {"true": True, "false": False}
PANELS = 20  # panels, four in a line; more do not go on a page
WORDS = re.compile(r"^(Learns|Keeps|Formula|Source|Misses|Of answers|Bounds): (.*(?:\n +.*)*)", re.MULTILINE)
C = TypeVar("C")


@dataclass(frozen=True)
class Argument:
    """An argument of an entry, with the type of its default.

    Attributes
    ----------
    default
        A boolean, a number, a string or several numbers; None for a method, which is required.
    choices
        The strings that it may be; any if empty. "true" and "false" stand for the values.
    least, most
        Ends of the range of a number, or of each of several.
    above
        Whether the range excludes the least value itself.
    fits, form
        Which strings are allowed, and the words for them, if there are no few choices.
    nested
        Whether the choices are entries, with their own arguments after slashes.
    own
        Whether only the expression changes it, and no setting does.
    says
        Its meaning in one line.
    """

    default: Any
    choices: tuple[str, ...] = ()
    least: float = -math.inf
    most: float = math.inf
    above: bool = False
    fits: Callable[[str], bool] | None = None
    form: str = ""
    nested: bool = False
    own: bool = False
    says: str = ""

    @property
    def expected(self) -> str:
        """The allowed values, in words."""
        if isinstance(self.default, bool):
            return "true or false"
        if self.choices or self.form:
            return self.form or f"one of {', '.join(self.choices)}"
        if isinstance(self.default, str):
            return "a name"
        if isinstance(self.default, tuple):
            return f"numbers{self._range}, as in 1/0.1"
        return f"a {'whole ' * isinstance(self.default, int)}number{self._range}"

    @property
    def _range(self) -> str:
        if self.above:
            return f" above {self.least:g} and up to {self.most:g}"
        if self.most < math.inf:
            return f" from {self.least:g} to {self.most:g}"
        return f" of at least {self.least:g}" if self.least > -math.inf else ""

    def read(self, text: str) -> Any:
        """Return the value of a text.

        Raises
        ------
        ValueError
            If the argument cannot have it.
        """
        value = self._typed(text)
        if not self.holds(value):
            raise ValueError(text)
        return value

    def _typed(self, text: str) -> Any:
        if isinstance(self.default, bool):
            if text not in TRUTH:
                raise ValueError(text)
            return TRUTH[text]
        if isinstance(self.default, int):
            if not re.fullmatch("-?[0-9]{1,18}", text):
                raise ValueError(text)
            return int(text)
        if text in self.choices and text in TRUTH:
            return TRUTH[text]
        if isinstance(self.default, tuple):
            return tuple(map(float, text.split("/"))) if text else ()
        return type(self.default)(text)

    def holds(self, value: Any) -> bool:
        """Return whether the value is allowed."""
        if value == self.default:
            return True
        if isinstance(self.default, bool) or self.default is None:
            return self.default is None or value in (False, True)
        if isinstance(self.default, str):
            if self.nested:
                return value.partition("/")[0] in self.choices
            if self.fits:
                return self.fits(value)
            return not self.choices or (written(value) if isinstance(value, bool) else value) in self.choices
        if not isinstance(self.default, tuple):
            return self._in_range(value)
        return isinstance(value, (tuple, list)) and bool(value) and all(map(self._in_range, value))

    def _in_range(self, value: Any) -> bool:
        if not isinstance(value, Real) or not math.isfinite(value):
            return False
        number = float(value)
        integral = not isinstance(self.default, int) or number.is_integer()
        return integral and self.least <= number <= self.most and not (self.above and number == self.least)


def written(value: Any) -> str:
    """Return the text from which `Argument.read` makes the value."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "/".join(map(written, value))
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value)


def expressed(entry: Entry, arguments: Mapping[str, Any]) -> list[str]:
    """Return the parts of a canonical expression: the name, and arguments other than their default."""
    changed = [key for key, argument in entry.arguments.items() if arguments[key] != argument.default]
    texts = {key: getattr(arguments[key], "nested", None) or written(arguments[key]) for key in changed}
    return [entry.name, *(f"{key}={text}" for key, text in texts.items())]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The facts about a metric, method or figure before it is made.

    Attributes
    ----------
    name
        Its name in expressions, on the command line and in the JSON.
    title
        Its name in words, as in the head of a table.
    letters
        What an abbreviation in the title stands for.
    source
        Where it is defined.
    arguments
        Its arguments, in the order in which expressions print them.
    needs_classes
        Why it does not apply to answers, as the end of a sentence.
    made
        The class that declares it.
    """

    kind: ClassVar[str]

    name: str
    title: str
    abbreviation_of: str = ""
    source: str = ""
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    needs_classes: str = ""
    made: Any = field(default=None, compare=False, repr=False)

    @property
    def where(self) -> str:
        """Module and class."""
        return f"{self.made.__module__}:{self.made.__qualname__}" if self.made else ""

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of every argument."""
        return {key: argument.default for key, argument in self.arguments.items()}

    def check(self, key: str, value: Any) -> None:
        """Raise a `UsageError` if an argument does not accept this value."""
        argument = self.arguments[key]
        if not argument.holds(value):
            raise UsageError(f"{key} must be {argument.expected}; got {value!r}")


@dataclass(frozen=True, kw_only=True)
class Metric(Entry):
    """A metric.

    Attributes
    ----------
    family
        How it is estimated and compared.
    direction
        Whether lower, higher, or nearer to zero or one is better; "none" where no value is better.
    range
        Least and greatest possible value, as text.
    unit
        "nats", "fraction", "ratio" or `AS_SCORE`.
    meaning
        One line: what the number says.
    formula
        One line, in plain text.
    misses
        What it does not see, and what to use instead.
    of_answers
        The meaning for answers; "" if it is the same.
    tier
        Its place in lists of metrics: first, next, or last, with the metrics mainly used in the works.
    bounds
        For a calibration error with an interval: what it bounds, and what proving it small takes.
    needs_probabilities
        Whether it looks at probabilities; else outcomes or predicted classes are enough.
    """

    kind: ClassVar[str] = "metric"

    family: MetricFamily
    direction: Direction = "lower"
    range: str = "0 to 1"
    unit: str = "fraction"
    meaning: str
    formula: str
    misses: str = ""
    of_answers: str = ""
    tier: Tier = "more"
    bounds: str = ""
    needs_probabilities: bool = True

    @property
    def bounded(self) -> bool:
        """Whether it may have an interval."""
        return bool(self.bounds) or not self.family.has_null

    @property
    def better(self) -> str:
        """Which values are better, in words; "" for none."""
        if self.target is not None:
            return f"near {self.target:g}"
        return "" if self.direction == "none" else self.direction

    @property
    def target(self) -> float | None:
        """The best value, if it lies inside the range; else None."""
        return TARGETS.get(self.direction)

    def of_class(self, name: str) -> str:
        """Return the meaning in words of the probability of a class, in place of the confidence."""
        words = self.meaning.replace("-confident", "-predicted").replace("accuracy", "observed frequency")
        return words.replace("confidence", f"probability of {name}")

    def cost(self, value: float) -> float:
        """Return how bad a value is, the lower the better; the value itself if no direction is better."""
        if self.target is not None:
            return abs(value - self.target)
        return -value if self.direction == "higher" else value


@dataclass(frozen=True, kw_only=True)
class Method(Entry):
    """A calibrator.

    Attributes
    ----------
    family
        "softmax": a softmax of transformed log-probabilities; "one score": a map of one probability at a
        time; "vectors": of whole vectors in bins; "pool": a mean of others; "wrapper": around any other
        calibrator.
    learns
        One line: the model.
    parameters
        How many numbers are learned, as text; K is the number of classes.
    keeps
        What the calibrator leaves unchanged.
    count
        Returns the number of parameters for the number of classes and the arguments; None where the data
        or a penalty decide.
    effort
        Cost of five fits, in passes over the scores. A wrapper multiplies the value of the method
        inside.
    quick
        Whether `auto` tries it by default.
    misses
        Limits of some of its settings.
    freedom
        Its place in the order of all methods, the simplest first.
    """

    kind: ClassVar[str] = "method"

    family: MethodFamily
    learns: str
    parameters: str
    keeps: str
    count: Callable[[int, Mapping[str, Any]], int | None] | None = None
    effort: int = 2
    quick: bool = False
    misses: str = ""
    freedom: int = 0

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Callable[[str], Method], tuple[str]]:
        """Pickle and copy by name, since lambdas cannot be pickled."""
        return _method_called, (self.name,)


def _method_called(name: str) -> Method:
    from calcli.core.language.methods import CHOICE, METHODS  # here, as they are made of these entries

    return CHOICE if name == CHOICE.name else METHODS[name]


@dataclass(frozen=True, kw_only=True)
class FigureKind(Entry):
    """A figure; its name is also the name of its module in `calcli.figures` and of its files.

    Attributes
    ----------
    meaning
        One line: what it shows.
    metrics
        The metrics that it draws by default; one that takes costs for each of the costs in use.
    one_score
        Whether it uses a one-dimensional lens, and so can show a region of its scores.
    lens
        The one-dimensional lens that it always uses; "" for none.
    most_systems
        How many systems it can show; infinity for any number.
    bins
        The bins it can show besides equal-width ones: bins of scores, or recursive bins of vectors.
    standard
        The least and largest number of classes for which a report contains it; None for never.
    of_classes
        The figure that replaces it with the lens class-wise.
    of_two
        Whether it needs exactly two classes.
    footed
        Whether a line below it gives the number of rows; else the figure does itself.
    chance
        Whether it shows simulated data of independent, calibrated rows: "only" such rows, or "draws"
        in addition; "" for no draws.
    rows, numbers
        How many evenly spaced rows it uses, or rows with this many probabilities; 0 if neither applies.
    own
        Settings of `ViewSettings` that only this figure has.
    at_thresholds
        Whether it shows the thresholds of the settings; a report with thresholds has it.
    """

    kind: ClassVar[str] = "figure"

    meaning: str
    metrics: tuple[str, ...] = ()
    one_score: bool = False
    lens: str = ""
    most_systems: float = PANELS
    bins: Literal["scores", "vectors"] | None = None
    standard: tuple[float, float] | None = None
    of_classes: str = ""
    of_two: bool = False
    footed: bool = False
    chance: Literal["", "draws", "only"] = ""
    rows: int = 0
    numbers: int = 0
    own: tuple[str, ...] = ()
    at_thresholds: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """The options that an expression may set."""
        regions, bins = ("region",) * self.one_score, ("binning", "min_rows") * (self.bins is not None)
        return (*bins, *regions, *self.own)

    def rows_of(self, n_classes: int) -> int:
        """Return how many evenly spaced rows it uses for a number of classes."""
        return max(self.rows, self.numbers // n_classes)


class Named(Protocol):
    """An item of a registry."""

    @property
    def name(self) -> str:
        """Its name there."""


E = TypeVar("E", bound=Named)


class Registry(Mapping[str, E]):
    """Entries by name, loaded on first use; plugins add theirs one by one.

    Parameters
    ----------
    group
        The entry points of plugins: each has the name of its entry and leads to it or to the declared class.
    kind
        What entries are.
    known
        Returns the entries of calcli itself.
    """

    def __init__(self, group: str, kind: type[E], entries: Callable[[], Iterable[E]]) -> None:
        self._group, self._kind, self._make = group, kind, entries

    @cached_property
    def _known(self) -> dict[str, E]:
        return {entry.name: entry for entry in self._make()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, name: object) -> bool:
        """Tell whether an entry is known; a plugin is known only after its first use."""
        return name in self._known

    def __getitem__(self, name: str) -> E:
        """Return an entry, from calcli or a plugin.

        Raises
        ------
        UsageError
            If the plugin is broken.
        """
        if name not in self._known:
            self._known[name] = self._of_plugin(name)
        return self._known[name]

    def _of_plugin(self, name: str) -> E:
        from importlib.metadata import entry_points

        for point in entry_points(group=self._group, name=name):
            plugin = f"the plugin {point.value} ({self._group}: {name})"
            try:
                loaded = point.load()
            except Exception as fault:  # whatever the code of others raises
                raise UsageError(
                    f"{plugin} cannot be loaded: {type(fault).__name__}: {fault}; mend or uninstall it"
                ) from fault
            loaded = getattr(loaded, "entry", loaded)
            if not isinstance(loaded, self._kind) or loaded.name != name:
                raise UsageError(
                    f"{plugin} is not a {self._kind.__name__} called {name}; mend or uninstall it"
                )
            return loaded
        raise KeyError(name)


def arg(says: str, *, default: Any = MISSING, **limits: Any) -> Any:
    """Return the field of a declared class that is an argument; see `Argument`.

    A Literal type gives the choices; without a default the argument is another method.
    """
    return field(default=default, metadata={"says": says, **limits})


def _with_fields(owner: type, **kinds: bool) -> type:
    """Make a class a dataclass; a class without new fields is one already through its base."""
    inherits = is_dataclass(owner) and not inspect.get_annotations(owner)
    return owner if inherits else dataclass(kw_only=True, **kinds)(owner)


def arguments_of(declared: type) -> dict[str, Argument]:
    """Return the arguments that fields of a dataclass are."""
    arguments, hints = {}, get_type_hints(declared)
    for field_ in fields(declared):
        if "says" not in field_.metadata:
            continue
        hint = hints[field_.name]
        choices = tuple(map(written, get_args(hint))) if get_origin(hint) is Literal else ()
        default = None if field_.default is MISSING else field_.default
        arguments[field_.name] = Argument(default, **{"choices": choices, **field_.metadata})
    return arguments


def words_of(declared: Any) -> dict[str, Any]:
    """Return the text after heads such as `Source:` in a docstring; further lines of it are indented."""
    text = inspect.cleandoc(declared.__doc__ or "")
    return {word.lower().replace(" ", "_"): " ".join(value.split()) for word, value in WORDS.findall(text)}


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(arg, field))
def metric(name: str, title: str, **facts: Any) -> Callable[[type[C]], type[C]]:
    """Declare a class as a metric: its docstring says what it means and misses, its fields are arguments.

    Parameters
    ----------
    name, title, facts
        Parameters of `Metric`.
    """

    def declare(owner: type[C]) -> type[C]:
        cls: Any = _with_fields(owner, frozen=True)
        meaning = " ".join(inspect.cleandoc(cls.__doc__).partition("\n\n")[0].split())
        cls.entry = Metric(
            name=name, title=title, made=cls, family=cls.family, arguments=arguments_of(cls),
            meaning=meaning, **(words_of(cls) | facts),
        )  # fmt: skip
        return owner

    return declare


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(arg, field))
def method(name: str, title: str, **facts: Any) -> Callable[[type[C]], type[C]]:
    """Declare a class of calibrators: its docstring says what it learns and keeps, its fields are arguments.

    Parameters
    ----------
    name, title, facts
        Parameters of `Method`.
    """

    def declare(owner: type[C]) -> type[C]:
        cls: Any = _with_fields(owner, eq=False, repr=False)
        cls.name = name
        cls.entry = Method(
            name=name, title=title, made=cls, arguments=arguments_of(cls), **words_of(cls), **facts
        )
        return owner

    return declare


def declared_in(package: str, *modules: str) -> list[Any]:
    """Return the entries of the classes that modules declare, in their order."""
    homes = [import_module(f"{package}.{name}") for name in modules]
    every = [(home.__name__, kind) for home in homes for kind in vars(home).values()]
    return [vars(kind)["entry"] for name, kind in every
            if isinstance(kind, type) and "entry" in vars(kind) and kind.__module__ == name]  # fmt: skip


_WORDS = tomllib.loads(files("calcli.core.language").joinpath("synonyms.toml").read_text("utf-8"))
CALLED: dict[str, str] = _WORDS["called"]
SYNONYMS = {word: name for name, words in CALLED.items() for word in words.split(", ")}
OTHERS: dict[str, str] = _WORDS["others"]


def meant(name: str, entries: Iterable[Entry]) -> str:
    """Return the expression that a name stands for.

    Parameters
    ----------
    name
        The name of an entry, its title or its letters written out, in any spelling, or a synonym.
    entries
        The known entries.

    Returns
    -------
    The expression of an entry; `name` itself if there is none.
    """
    entries = list(entries)
    if any(entry.name == name for entry in entries):
        return name
    names = {entry.name for entry in entries}
    meanings = {
        plain_word(word): called for word, called in SYNONYMS.items() if called.partition(":")[0] in names
    }
    for entry in reversed(entries):
        meanings |= {plain_word(words): entry.name for words in (entry.abbreviation_of, entry.title) if words}
    meanings |= {plain_word(entry.name): entry.name for entry in entries}
    return meanings.get(plain_word(name), name)


def also_called(entry: Entry) -> list[str]:
    """Return the synonyms of an entry with its usual arguments."""
    return [word for word, called in SYNONYMS.items() if called == entry.name]


def other_thing(name: str) -> str:
    """Return the meaning of a word that names no single entry; "" if it is unknown."""
    return {plain_word(word): says for word, says in OTHERS.items()}.get(plain_word(name), "")


def plain_word(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
