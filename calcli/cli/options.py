"""Options of commands: options from settings, by name, and shared options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter
from itertools import chain
from typing import Annotated, Any, Literal

from typer import Argument, BadParameter, Context, Option

from calcli.core.language.declaring import Setting, checked, declared
from calcli.core.language.figures import FIGURES
from calcli.core.language.metrics import METRICS
from calcli.core.language.settings import PairSettings, Settings
from calcli.io.options import ReadOptions

WHOLE = re.compile("-?[0-9]{1,30}")
LENSES = (
    "top-1", "top-2", "top-3", "within-top-2", "within-top-3", "class-0", "class-1", "class-wise", "marginal",
    "largest-2",
)  # fmt: skip
COMPLETED = {"metrics": METRICS, "figures": FIGURES, "lens": LENSES}  # names, by the setting that takes them
SPELLED = {"paired": "--paired/--unpaired"}
TEXT = {"folds": "N|COLUMN"}  # numbers or something else, and what stands for both


def among(*registries: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the completion of a name, also of the last name in a list."""

    def completed(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        names = dict.fromkeys(chain.from_iterable(registries))
        return [before + comma + name for name in names if name.startswith(last)]

    return completed


@dataclass(frozen=True)
class Chosen:
    """Settings of a class as options of a command.

    Attributes
    ----------
    heading
        Their heading in help.
    names
        Of the settings.
    meanings
        Help for some, in place of the declared help.
    """

    heading: str
    names: tuple[str, ...]
    meanings: Mapping[str, str]

    def parameters(self, owner: type[Any]) -> Iterator[tuple[Setting, Parameter]]:
        """Yield the settings with the parameters that typer turns into options."""
        settings = declared(owner)
        for name in self.names:
            setting = settings[name]
            default = setting.default if isinstance(setting.default, bool | int | float | str) else None
            text = name in TEXT and name in self.meanings
            if text and default is not None:
                default = str(default)
            words = [self.meanings.get(name, setting.help)]
            words += ["Repeatable."] if setting.values.several == "repeated" else []
            words += [] if default is None or isinstance(default, bool) else [f" [default: {default}]"]
            form = Option(
                SPELLED.get(name, setting.option),
                metavar=TEXT[name] if text else setting.metavar,
                help=" ".join(words),
                show_default=False,
                autocompletion=among(COMPLETED[name]) if name in COMPLETED else None,
                rich_help_panel=self.heading,
            )
            kind = (str if default is not None else str | None) if text else _type(setting)
            yield setting, option(setting.key, Annotated[kind, form], default)


def chosen(heading: str, names: str, **meanings: str) -> Chosen:
    """Return settings as options below a heading, from names separated by blanks."""
    return Chosen(heading, tuple(names.split()), meanings)


def text(metavar: str | None, help: str, *names: str, under: str | None = None) -> Any:
    """Return the declaration of an option with text, or of a flag, optionally below a separate heading."""
    return Option(*names, metavar=metavar, help=help, rich_help_panel=under)


def option(name: str, form: Any, default: Any) -> Parameter:
    """Return the parameter of an option."""
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=form)


def _type(setting: Setting) -> Any:
    """Return the type to which typer converts the text of an option."""
    values = setting.values
    if values.choices:
        return Literal[values.choices]
    if values.several == "repeated":
        return list[str] | None
    return values.type if isinstance(setting.default, values.type) else values.type | None


def made(owner: type[Any], settings: Iterable[Setting], values: Mapping[str, Any]) -> Any:
    """Return settings from the values of their options.

    Raises
    ------
    UsageError
        If a value is invalid.
    InputError
        If a file of class groups, costs or priors is damaged.
    """
    chosen = {setting.keyword: values[setting.key] for setting in settings if values[setting.key] is not None}
    if isinstance(folds := chosen.pop("folds", None), str):  # how many, or their column
        chosen |= {"folds": int(folds)} if WHOLE.fullmatch(folds) else {"fold_column": folds}
    if owner is Settings:
        from calcli.io.saved.settings import settings_of

        return settings_of(chosen, "option")
    return owner(**checked(owner, chosen, "option"))


SCORES = "scores kind scale classes positive renormalize per_character class_axis confidence against_rest"
LABELS = "sheet labels key allow_unmatched label_column correct weights ignore_label drop_missing concat"
ReadingScores = Annotated[ReadOptions, chosen("Reading", f"{SCORES} sheet drop_missing")]
FILES = Argument(metavar="FILE", help="Predictions: files, rf=FILE with a name, folders of parts, or -.")
Files = Annotated[list[str], FILES]
Reading = Annotated[ReadOptions, chosen("Reading", f"{SCORES} {LABELS}")]
ReadingSystems = Annotated[ReadOptions, chosen("Reading", f"{SCORES} {LABELS} score judge unscored system")]
Pairing = Annotated[PairSettings, chosen("Pairing rows", "paired tost")]
COMPUTED = chosen("What is computed", "metrics bins level draws groups costs clip priors workers")
GAIN = "What recalibration would gain"
CLUSTER = chosen(GAIN, "cluster")
CalibrationData = Annotated[
    str | None,
    Option(
        metavar="FILE",
        help="Fit it to these predictions, not by cross-validation; fixed in intervals.",
        rich_help_panel=GAIN,
    ),
]
Engine = Annotated[
    str | None,
    Option(
        metavar="dask|ADDRESS",
        help="Compute from states of the parts of a folder, made in many processes: dask (this machine) or a "
        "Dask scheduler at tcp://HOST:PORT.",
        rich_help_panel="Many machines",
    ),
]


def _page(path: str | None) -> str | None:
    if path == "-":
        raise BadParameter("a page is a file of its own; give a name such as report.html")
    return path


def _digits(context: Context, digits: int | None) -> int | None:
    """Set the number of decimals in the tables of this command."""
    from calcli.core.language.text import ASKED

    token = ASKED.set(digits)
    context.call_on_close(lambda: ASKED.reset(token))
    return digits


OUTPUT = "Output"
Format = Option("--format", "-f", help="Format of the results.", rich_help_panel=OUTPUT)
Html = Annotated[
    str | None,
    Option(
        "--html",
        metavar="FILE",
        callback=_page,
        help="Also write everything as one HTML page.",
        rich_help_panel=OUTPUT,
    ),
]
Digits = Annotated[
    int | None,
    Option(
        metavar="N", min=0, max=15, callback=_digits, rich_help_panel=OUTPUT,
        help="Decimals of numbers in tables, in place of those that their intervals support.",
    ),
]  # fmt: skip
Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress bar, no remarks.", rich_help_panel=OUTPUT)]


def outputs(formats: tuple[str, ...], details: str, *, page: bool) -> Iterator[Parameter]:
    """Yield the options of presentation for a command."""
    if details:
        form = Option("--details", help=details, rich_help_panel=OUTPUT)
        yield option("details", Annotated[bool, form], False)
    if formats:
        yield option("format", Annotated[Literal[formats], Format], formats[0])
    if page:
        yield option("html", Html, None)
    if page and formats:
        yield option("digits", Digits, None)
    yield option("quiet", Quiet, False)
