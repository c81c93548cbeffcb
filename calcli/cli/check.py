"""`calcli check`: the gate of a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from calcli.cli.bundles import bundled
from calcli.cli.distributing import Distributing
from calcli.cli.options import Pairing, Reading, ReadingSystems
from calcli.cli.output import emit, remark
from calcli.cli.showing import Paging
from calcli.core.language.errors import UsageError

FIRST_POLICY = "calcli.toml"
if TYPE_CHECKING:
    from calcli.work.kept import CheckReport

Format = Literal["table", "json", "markdown", "junit", "github"]
Undecided = Literal["fail", "pass", "warn"]


@bundled
def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Predictions to check.")],
    *,
    reading: ReadingSystems,
    paging: Paging,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="FILE",
            help="The rules, in TOML; - for standard input. By default calcli.toml, or [tool.calcli] in "
            "pyproject.toml.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The baseline: predictions, a state, or a JSON report."),
    ] = None,
    pairing: Pairing,
    distributing: Distributing,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="What calcli threshold wrote: is its promise true? In place of a policy."
        ),
    ] = None,
    undecided: Annotated[
        Undecided | None,
        typer.Option("--undecided", help="The outcome of every rule that the data leave undecided."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 2 if no rule uses the baseline.")
    ] = False,
    init: Annotated[
        bool, typer.Option("--init", help="Write a first policy, which the file passes.")
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Show all files, not only those that failed.")
    ] = False,
    sort: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Order several files by a metric of the rules.")
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="Format of the results.")] = "table",
    write: Annotated[
        list[str] | None,
        typer.Option(metavar="FORMAT=FILE", help="Also write the results there. Repeatable."),
    ] = None,
) -> None:
    """Check predictions against the rules of a policy.

    For continuous integration: exit status 1 if a rule is broken, 2 if a file or a rule could not be
    judged, 0 otherwise.

    \b
    calcli check --init preds.parquet --baseline old.parquet
    calcli check preds.parquet
    calcli check new.parquet --baseline old.parquet --write junit=check.xml
    calcli check preds.parquet --policy strict.toml --format github
    calcli check labelled.parquet --threshold threshold.json
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.report.progress import progress
    from calcli.work.check import check_files, write_check

    if init:
        of_results = {"--write": write, "--html": paging.html, "--strict": strict, "--details": details}
        of_results |= {"--undecided": undecided, "--threshold": threshold}
        for option, given in {**of_results, "--sort": sort, "--format": format != "table"}.items():
            if given:
                raise UsageError(f"--init writes a policy and judges nothing; leave out {option}")
        _write_first_policy(files, policy or FIRST_POLICY, reading, baseline, pairing, quiet=paging.quiet)
        return
    targets = [_target(text) for text in write or ()]
    targets += [("html", paging.html)] if paging.html is not None else []
    if threshold is not None:
        others = {"--policy": policy, "--baseline": baseline, "--sort": sort, "--strict": strict}
        report = _of_threshold(threshold, files, reading, undecided, others, details=details)
    else:
        with progress(shown=not paging.quiet) as watcher:
            report = check_files(
                files,
                policy,
                reading.read_options(),
                baseline,
                pairing.settings(reading),
                undecided=undecided,
                strict=strict,
                details=details,
                sort=sort,
                engine=distributing.found(watcher, reading.key),
            )
    write_check(report, targets)
    if format in ("junit", "github") and not paging.quiet:
        for sentence in report.reading():
            remark(sentence)
    for warning in dict.fromkeys(warning for one in report.files for warning in one.warnings):
        remark(warning)
    paging.show(report, format)
    if report.exit_status:
        raise typer.Exit(report.exit_status)


def _of_threshold(
    threshold: str,
    files: Sequence[str],
    reading: ReadingSystems,
    undecided: Undecided | None,
    others: Mapping[str, object],
    *,
    details: bool,
) -> CheckReport:
    """Judge whether a promise is true; options of policies are refused."""
    from calcli.work.check import check_threshold

    for option, given in others.items():
        if given:
            raise UsageError(f"--threshold judges a promise by itself; leave out {option}")
    return check_threshold(files, threshold, reading.read_options(), undecided, details=details)


def _write_first_policy(
    files: Sequence[str],
    path: str,
    reading: Reading,
    baseline: str | None,
    pairing: Pairing,
    *,
    quiet: bool,
) -> None:
    """Write a policy that a file passes; `-` is standard output."""
    from calcli.work.check import policy_for, write_policy

    if len(files) != 1:
        raise UsageError(f"--init takes the values of one file; {len(files)} were given")
    if path != "-" and Path(path).is_file():
        raise UsageError(f"{path} exists; give another name with --policy, or - for standard output")
    text, said = policy_for(files[0], reading.read_options(), baseline, pairing.settings(reading))
    if path == "-":
        emit(text)
    else:
        write_policy(text, path)
    for sentence in said[quiet:]:
        remark(sentence)
    if path != "-" and not quiet:
        against = "" if baseline is None else " --baseline BASELINE"
        remark(f"wrote {path}; check files against it with calcli check FILE --policy {path}{against}")


def _target(text: str) -> tuple[Format | Literal["html"], str]:
    form, _, path = text.partition("=")
    known: Format | Literal["html"]
    for known in (*get_args(Format), "html"):
        if form == known and path == "-":
            raise UsageError(f"--write {text}: standard output has one form; choose it with --format {form}")
        if form == known and path:
            return known, path
    raise UsageError(f"--write {text}: expected a format and a file, as in junit=check.xml")
