"""`calcli check`: the gate of a release."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from calcli.cli.options import Reading, Talking, bundled
from calcli.cli.output import colored, emit, remark

if TYPE_CHECKING:
    from calcli.core.comparing.baseline import Against, StoredReport
    from calcli.core.comparing.policy import Checked, Policy
    from calcli.core.data.predictions import Predictions
    from calcli.io.options import ReadOptions

Format = Literal["table", "json", "markdown", "junit", "github"]


@bundled
def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Predictions to be judged.")],
    reading: Reading,
    talking: Talking,
    policy: Annotated[
        str, typer.Option("--policy", "-p", metavar="FILE", help="The rules, in TOML; - for standard input.")
    ] = "calcli.toml",
    baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What may not get worse: predictions, or a JSON report of them."),
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Pair rows by this column, not by their order.")
    ] = None,
    allow_unmatched: Annotated[
        bool, typer.Option("--allow-unmatched", help="Leave out rows that the other file does not have.")
    ] = False,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="The baseline holds other cases; a weaker comparison.")
    ] = False,
    allow_other_classes: Annotated[
        bool, typer.Option("--allow-other-classes", help="The baseline may have other classes; unpaired.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 2 if no rule compares with the baseline given.")
    ] = False,
    init: Annotated[
        bool, typer.Option("--init", help="Write a first policy, with limits that the file passes today.")
    ] = False,
    format: Annotated[Format, typer.Option("--format", "-f", help="Form of the results.")] = "table",
    write: Annotated[
        list[str] | None,
        typer.Option(metavar="FORMAT=FILE", help="Also write the results there. Repeatable."),
    ] = None,
) -> None:
    """Judge predictions by the rules of a policy; for continuous integration.

    Exit status 1 if a rule is broken, 2 if a file or a rule could not be judged, 0 otherwise.

    \b
    calcli check --init preds.parquet --baseline old.parquet
    calcli check preds.parquet
    calcli check new.parquet --baseline old.parquet --write junit=check.xml
    calcli check preds.parquet --policy strict.toml --format github
    """  # noqa: D301 (the escape keeps the lines below it apart)
    from calcli.core.comparing.baseline import Against
    from calcli.core.comparing.policy import exit_status
    from calcli.io.atomic import atomic_path
    from calcli.io.policy import read_policy
    from calcli.report.check import ShownChecks
    from calcli.report.shown import render

    options = reading.read_options()
    if init:
        write_first_policy(files, policy, options, with_baseline=baseline is not None, quiet=talking.quiet)
        return
    rules = read_policy(policy)
    targets = [_target(text) for text in write or ()]
    against = None
    if baseline is not None:
        reference = read_reference(baseline, options)
        against = Against(reference, key, allow_unmatched, unpaired, allow_other_classes)
    checked = [check_file(file, rules, against, options) for file in files]
    shown = ShownChecks(checked, rules, policy, strict)
    with ExitStack() as written:  # all or none
        for form, path in targets:
            temporary = written.enter_context(atomic_path(path))
            temporary.write_text(render(shown, form), encoding="utf-8")
    for warning in dict.fromkeys(warning for one in checked for warning in one.warnings):
        remark(warning)
    emit(render(shown, format, color=colored(talking.no_color)))
    status = exit_status(checked, strict=strict)
    if status:
        raise typer.Exit(status)


def check_file(path: str, policy: Policy, against: Against | None, options: ReadOptions) -> Checked:
    """Judge one file; one that cannot be read or paired has a fault, and its rules are not judged."""
    from calcli.core.comparing.checking import check
    from calcli.core.comparing.policy import Checked
    from calcli.core.language.errors import CalcliError
    from calcli.io.read import read

    try:
        predictions = read(path, options)
        baseline = None if against is None else against.baseline(predictions, policy)
        return check(predictions, policy, baseline)
    except CalcliError as fault:
        return Checked(path, 0, (), str(fault))
    except OSError as fault:
        return Checked(path, 0, (), f"{fault.filename or path}: {fault.strerror or fault}")


def read_reference(path: str, options: ReadOptions) -> Predictions | StoredReport:
    """Read a baseline: a JSON report, or predictions."""
    from calcli.io.read import read
    from calcli.io.reports import is_report, read_report

    return read_report(path) if is_report(path) else read(path, options)


def write_first_policy(
    files: Sequence[str], path: str, options: ReadOptions, *, with_baseline: bool, quiet: bool
) -> None:
    """Write a policy that a file passes; `-` is standard output.

    Raises
    ------
    UsageError
        If there are several files, or the policy exists.
    """
    from calcli.core.evaluating.evaluate import evaluate
    from calcli.core.language.errors import UsageError
    from calcli.io.atomic import atomic_path
    from calcli.io.read import read
    from calcli.report.check import first_policy

    if len(files) != 1:
        raise UsageError(f"--init takes the values of one file; {len(files)} were given")
    if path != "-" and Path(path).is_file():
        raise UsageError(f"{path} exists; give another name with --policy, or - for standard output")
    text = first_policy(evaluate(read(files[0], options)), with_baseline)
    if path == "-":
        emit(text)
        return
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    if not quiet:
        against = " --baseline BASELINE" if with_baseline else ""
        remark(f"wrote {path}; judge files by it with calcli check FILE --policy {path}{against}")


def _target(text: str) -> tuple[Format, str]:
    from calcli.core.language.errors import UsageError

    form, _, path = text.partition("=")
    for known in get_args(Format):
        if form == known and path == "-":
            raise UsageError(f"--write {text}: standard output has one form; choose it with --format {form}")
        if form == known and path:
            return known, path
    raise UsageError(f"--write {text}: expected a format and a file, as in junit=check.xml")
