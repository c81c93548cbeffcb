"""Parsing of the command line: types of values, repeated options, help that fits on a screen."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, get_args

from typer.core import TyperCommand, TyperGroup

from calcli.cli.output import remark

LIST = "LIST"  # the metavar of options that take names or numbers separated by commas
WHOLE = re.compile("[0-9]{1,18}")
COMMON = (  # options that most people need, in this order, behind those of the command
    "labels", "label_column", "scores", "kind", "positive", "metrics", "by", "details",
    "format", "output", "html",
)  # fmt: skip
OWN = {  # what a command is for
    "evaluate": ("bins", "costs", "priors", "fail_if"),
    "fit": ("method", "candidates", "lens", "score", "preserve_top1", "cross_validated"),
    "apply": ("as_", "shift_to_priors", "trained_at", "decide", "classes", "renormalize", "quiet"),
    "threshold": ("max_error", "min_precision", "min_recall", "level", "cluster"),
    "plot": ("figure", "lens", "bins", "calibrator", "data"),
    "compare": ("margin", "key", "select", "report_on"),
    "check": ("policy", "baseline", "threshold", "init", "write"),
    "monitor": ("time", "every", "tolerance", "reference", "state", "mature", "cluster", "threshold"),
    "segments": ("columns", "parts", "depth", "min_rows", "after", "metric", "cluster"),
    "plan": ("margin", "metric", "half_width", "key", "paired", "cluster", "level"),
    "benchmark": ("cal", "test", "pair", "folds", "methods"),
    "study": ("rows", "series", "seed", "draws", "posteriors", "calibration_data"),
    "inspect": ("confidence", "correct", "weights", "classes", "ignore_label", "drop_missing"),
}  # fmt: skip
FEW = 15  # options that are all shown
COMMON_HEADING, REST = "Options", "More options"
ALL = "--help-all"
CHOICES = re.compile(r"<([^<>]*)>$")  # as typer writes them, and the type of an argument
WIDTH = 24  # of the names; what is longer has a line of its own


class PlainGroup(TyperGroup):
    """Commands, and options before them."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return plainly(super().get_params(ctx))


class Command(TyperCommand):
    """A command with parameters that stay text.

    Repeated lists add up; for any other option given twice it tells which one counts. Its help has the
    common options; `--help-all` has all others too, by group.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return plainly(super().get_params(ctx))

    def make_parser(self, ctx: Any) -> Any:
        """Return the parser of the command line, that keeps all values of an option."""
        parser = super().make_parser(ctx)
        for option in parser._long_opt.values():
            if option.action == "store":
                option.action = "append"
        parse = parser.parse_args

        def parse_args(args: list[str]) -> tuple[Any, Any, Any]:
            values, arguments, order = parse(args)
            for param in dict.fromkeys(order):
                if getattr(param, "param_type_name", "") == "option" and not param.multiple:
                    values[param.name] = _one(param, values[param.name], values, ctx)
            return values, arguments, order

        setattr(parser, "parse_args", parse_args)  # noqa: B010 (a method of one object)
        return parser

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; the extent of the help is known before help is written."""
        ctx.meta[ALL] = ALL in args
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the common options, and on request all others by group."""
        sections: dict[str, list[tuple[int, tuple[str, str]]]] = {"Arguments": [], COMMON_HEADING: []}
        params = self.get_params(ctx)
        few = sum(param.param_type_name == "option" for param in params) <= FEW
        common = [param.name for param in params] if few else [*OWN.get(self.name or "", ()), *COMMON]
        for param in params:
            record = param.get_help_record(ctx)
            if record is None:
                continue
            place = common.index(param.name) if param.name in common else len(common)
            heading = getattr(param, "rich_help_panel", None) or REST
            if param.param_type_name == "argument":
                heading = "Arguments"
            elif ALL in param.opts:
                heading, place = COMMON_HEADING, len(params)
                record = ("-h, --help", f"Show this and exit; {ALL} shows every option.")
            elif place < len(common):
                heading = COMMON_HEADING
            sections.setdefault(heading, []).append((place, _with_choices(*record)))
        for heading, records in sections.items():
            if records and (ctx.meta[ALL] or heading in ("Arguments", COMMON_HEADING)):
                rows = [record for _, record in sorted(records, key=lambda record: record[0])]
                with formatter.section(heading):
                    formatter.write_dl(rows, WIDTH)


def plainly(params: list[Any]) -> list[Any]:
    """Return parameters that typer does not convert if they have their type already.

    Otherwise, even for absent values, typer loads pydantic, which takes as long as numpy. Versions
    that do not load it are left alone.
    """
    for param in params:
        if hasattr(param, "type_descriptor"):
            setattr(param, "process_value", partial(_value, param))  # noqa: B010 (a method of one object)
    return params


def _value(param: Any, ctx: Any, value: Any) -> Any:
    type_ = param.type_descriptor
    kind = type_.annotation
    if kind is int and not type_.is_ranged and isinstance(value, str) and WHOLE.fullmatch(value):
        value = int(value)
    absent = value is None and not param.required
    texts = kind == list[str] and isinstance(value, list | tuple) and len(value) > 0
    if absent or texts or type(value) is kind or (isinstance(value, str) and value in get_args(kind)):
        return value if param.callback is None else param.callback(ctx, param, value)
    return type(param).process_value(param, ctx, value)


def _one(param: Any, value: Any, values: dict[str, Any], ctx: Any) -> Any:
    """Return the value of an option with a single value."""
    if not isinstance(value, list):
        return value
    if param.metavar == LIST and param.nargs == 1:
        return ",".join(value)
    if len(set(value)) > 1 and not values.get("quiet") and not ctx.resilient_parsing:
        remark(f"{param.opts[0]} is given {len(value)} times; the last one is used: {value[-1]}")
    return value[-1]


def _with_choices(names: str, text: str) -> tuple[str, str]:
    """Return the help of an argument or option, with its choices."""
    match = CHOICES.search(names)
    if match is None:
        return names, text
    names, choices = names[: match.start()].rstrip(), match[1].split("|")
    if not names.startswith("-"):  # an argument, whose choices its command describes
        return names, text.removesuffix("  [required]")
    words, gap, default = text.partition("  [")
    text = f"{words.rstrip('.')}: {', '.join(choices)}.{gap}{default}"
    return f"{names} {names.split('--')[-1].upper()}", text
