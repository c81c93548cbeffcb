"""Options that are given more than once: lists add up, of others the last counts."""

from __future__ import annotations

from typing import Any

from calcli.cli.output import remark
from calcli.cli.values import PlainCommand

LIST = "LIST"  # the metavar of options that take names or numbers separated by commas


class Repeatable(PlainCommand):
    """A command whose lists add up when repeated; of any other option given twice it says which counts."""

    def make_parser(self, ctx: Any) -> Any:
        """Return the parser of the command line, that keeps all values of an option."""
        parser = super().make_parser(ctx)
        for option in parser._long_opt.values():
            if option.action == "store":
                option.action = "append"
        parse = parser.parse_args

        def parse_args(args: list[str]) -> tuple[Any, Any, Any]:
            values, rest, order = parse(args)
            for param in dict.fromkeys(order):
                if getattr(param, "param_type_name", "") == "option" and not param.multiple:
                    values[param.name] = _one(param, values[param.name], values, ctx)
            return values, rest, order

        setattr(parser, "parse_args", parse_args)  # noqa: B010 (a method of one object)
        return parser


def _one(param: Any, value: Any, values: dict[str, Any], ctx: Any) -> Any:
    """Return the one value of an option that has one."""
    if not isinstance(value, list):
        return value
    if param.metavar == LIST and param.nargs == 1:
        return ",".join(value)
    if len(set(value)) > 1 and not values.get("quiet") and not ctx.resilient_parsing:
        remark(f"{param.opts[0]} is given {len(value)} times; the last one is used: {value[-1]}")
    return value[-1]
