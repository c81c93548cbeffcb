"""Help on one screen: the options that most people need; `--help-all` has every one, in groups."""

from __future__ import annotations

import re
from typing import Any

from calcli.cli.repeated import Repeatable

COMMON = (  # in this order, behind those of the command
    "labels", "label_column", "scores", "kind", "positive", "metrics", "by", "details",
    "format", "output", "html",
)  # fmt: skip
OWN = {  # what a command is for
    "evaluate": ("bins", "costs", "priors", "fail_if", "diagram"),
    "fit": ("method", "candidates", "lens", "score", "preserve_top1", "cross_validated"),
    "apply": ("as_", "shift_to_priors", "trained_at", "decide", "classes", "renormalize", "quiet"),
    "threshold": ("max_error", "level", "target", "cluster"),
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


class GroupedHelp(Repeatable):
    """A command whose help has the common options; `--help-all` has all others too, by group."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; how much help is asked for is known before help is written."""
        ctx.meta[ALL] = ALL in args
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the common options, and all others by group if asked for."""
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
            sections.setdefault(heading, []).append((place, _plainly(*record)))
        for heading, records in sections.items():
            if records and (ctx.meta[ALL] or heading in ("Arguments", COMMON_HEADING)):
                shown = [record for _, record in sorted(records, key=lambda one: one[0])]
                with formatter.section(heading):
                    formatter.write_dl(shown, WIDTH)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write what ends the help; the names that the command knows are told in `--help-all` alone."""
        names, _, statuses = (self.epilog or "").rpartition("\n\n")
        for text in (names, statuses) if ctx.meta[ALL] and names else (statuses,):
            formatter.write_paragraph()
            formatter.write_text(text)


def _plainly(shown: str, text: str) -> tuple[str, str]:
    """Return what is shown of an argument or option, its choices among its words."""
    found = CHOICES.search(shown)
    if found is None:
        return shown, text
    shown, choices = shown[: found.start()].rstrip(), found[1].split("|")
    if not shown.startswith("-"):  # an argument, whose choices its command describes
        return shown, text.removesuffix("  [required]")
    words, gap, default = text.partition("  [")
    text = f"{words.rstrip('.')}: {', '.join(choices)}.{gap}{default}"
    return f"{shown} {shown.split('--')[-1].upper()}", text
