"""Checking: do predictions satisfy the rules of a policy?"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from calcli.core.comparing.averaging import mean_systems
from calcli.core.comparing.checking import Against, StoredReport, check_promise, promise_of
from calcli.core.comparing.checking import check as check_predictions
from calcli.core.comparing.pairing import require_same_clip
from calcli.core.comparing.policy import Checked, Policy, Undecided
from calcli.core.data.predictions import Predictions
from calcli.core.language.declaring import PATH, checked, choice, documented, is_path, mapping
from calcli.core.language.errors import CalcliError, UsageError, naming
from calcli.core.language.settings import IN_ORDER, PairSettings
from calcli.core.language.text import Watcher, unwatched
from calcli.io.dataset import files_of_systems, label_of
from calcli.io.options import ReadOptions
from calcli.io.places.paths import path_of
from calcli.io.read import label_by_label, read
from calcli.io.reading.multilabel import SeveralLabels
from calcli.io.saved.policies import (
    is_report,
    load_threshold,
    parse_policy,
    policy_path,
    read_policy,
    read_report,
)
from calcli.report.check import CheckReport
from calcli.work.compare import with_keys
from calcli.work.distributed import engine_of, predictions_in
from calcli.work.read import labelled

MEANS = choice(Undecided)
ALONE = "--threshold judges a promise by itself; leave out --policy and --baseline"
RULES = mapping('a path, or the content of such a file: {"rules": [{"metric": "log_loss", "max": 0.5}]}')


@documented(PairSettings)
def check(
    data: Any,
    policy: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    baseline: Any = None,
    undecided: Undecided | None = None,
    threshold: str | os.PathLike[str] | None = None,
    **pairing: Any,
) -> CheckReport:
    """Judge predictions by the rules of a policy.

    Parameters
    ----------
    data : path, table or Predictions
        What `read` takes, or returned.
    policy : path or mapping, optional
        A TOML file, or its content: `{"rules": [{"metric": "log_loss", "max": 0.5}]}`; as `reading` it may
        hold options of `read`. By default calcli.toml, or the table [tool.calcli] of pyproject.toml.
    baseline : path, table or Predictions, optional
        The baseline: predictions, or the path of a JSON report on them.
    undecided : {"fail", "pass", "warn"}, optional
        The result of rules that the data do not decide; by default each rule defines it.
    threshold : path, optional
        A file from `threshold`; its promise is checked in place of a policy.
    {PairSettings}

    Returns
    -------
    CheckReport
        The outcome of each rule, and the exit status of `calcli check`.

    Raises
    ------
    InputError
        If the policy is not valid, or baseline and predictions do not fit together.
    UsageError
        If these are not predictions, or an option does not fit.
    """
    how = PairSettings(**checked(PairSettings, pairing, "keyword"))
    if threshold is not None:
        if policy is not None or baseline is not None:
            raise UsageError(ALONE)
        loaded = load_threshold(PATH.checked("threshold", threshold))
        promise = promise_of(loaded, undecided and MEANS.checked("undecided", undecided))
        return CheckReport([check_promise(loaded, promise, labelled(data, "data"))], promise, "python")
    if policy is None:
        policy = policy_path(None)
    elif not is_path(policy):
        policy = RULES.checked("policy", policy)
    rules = parse_policy(policy, "policy") if isinstance(policy, Mapping) else read_policy(os.fspath(policy))
    predictions = labelled(data, "data", rules.reading)
    rules = rules.where_undecided(undecided and MEANS.checked("undecided", undecided))
    against = None
    if baseline is not None:
        reference: Predictions | StoredReport
        if is_path(baseline) and is_report(os.fspath(baseline)):
            reference = read_report(os.fspath(baseline))
        else:
            reference = labelled(baseline, "baseline", rules.reading)
        against = Against(reference, how)
    return CheckReport([checked_by(predictions, rules, against)], rules, "python")


@label_by_label
def check_files(
    files: Sequence[str],
    policy: str | None,
    options: ReadOptions,
    baseline: str | None = None,
    pairing: PairSettings = IN_ORDER,
    *,
    undecided: Undecided | None = None,
    strict: bool = False,
    engine: str | None = None,
    watcher: Watcher = unwatched,
) -> CheckReport:
    """Judge files; one that cannot be read or paired has a fault. Otherwise as `check`.

    Parameters
    ----------
    files, policy
        Predictions, and the file of the rules; None for the policy of this folder.
    options
        How to read predictions; they override the options in the policy.
    baseline
        A file of predictions, or a JSON report on it.
    pairing
        How rows are paired with the baseline.
    undecided
        The result of rules that the data do not decide; None for the one that each rule defines.
    strict
        Whether a baseline that no rule uses is an error.
    engine
        Makes states of the parts of files in workers, which are then judged; None to read here.
    watcher
        Starts a progress bar.
    """
    policy = policy_path(policy)
    rules = read_policy(policy)
    options = ReadOptions(**(dict(rules.reading) | options.given))
    with naming("--undecided"):
        rules = rules.where_undecided(undecided)
    reader = engine_of(engine, watcher, options.key, rules.columns)

    def found_in(path: str) -> Predictions:
        return predictions_in([path], options, reader, lambda _: rules.evaluation_settings)

    @cache
    def against(label: str) -> Against | None:
        if baseline is None:
            return None
        is_single = not label or label_of(baseline) or is_report(baseline)
        path = baseline if is_single else f"{baseline}/{label}"
        return against_baseline(path, options, pairing, found_in)

    def judged_label(path: str) -> Checked:
        return checked_by(found_in(path), of_each if labels[path] else rules, against(labels[path]))

    def judged_means(file: str) -> Checked:
        members = [found_in(path) for path in labels if path.startswith(f"{file}/")]
        return means_checked_by(file, members, of_means, [against(of.provenance.label) for of in members])

    systems = files_of_systems(files, options)
    labels = {path: "" if options.system else label_of(path) for path in systems}
    of_each, of_means = rules.of_labels("each", len({*labels.values()})), rules.of_labels("mean")
    if "" in labels.values():
        against("")  # whose faults are faults of the call
    several = dict.fromkeys(str(path_of(path).parent) for path in labels if labels[path] and of_means.rules)
    files_judged = [_judged(file, judged_means) for file in several]
    files_judged += [_judged(path, judged_label) for path in systems if of_each.rules or not labels[path]]
    return CheckReport(files_judged, rules, policy, strict)


def check_threshold(
    files: Sequence[str], threshold: str, options: ReadOptions, undecided: Undecided | None = None
) -> CheckReport:
    """Judge whether the promise of a threshold holds for files; parameters as for `check_files`.

    Raises
    ------
    InputError
        If the file of the threshold is missing or damaged.
    """
    loaded = load_threshold(threshold)
    promise = promise_of(loaded, undecided)
    promises = [
        _judged(file, lambda path: check_promise(loaded, promise, read(path, options)))
        for file in files_of_systems(files, options)
    ]
    return CheckReport(promises, promise, threshold)


def against_baseline(
    baseline: str, options: ReadOptions, pairing: PairSettings, found_in: Callable[[str], Predictions]
) -> Against:
    """Return the baseline of files: a JSON report, or the predictions in a file."""
    pairing = with_keys(pairing, options)
    if pairing.in_order and not is_report(baseline):
        options.require_all_rows()
    return Against(read_report(baseline) if is_report(baseline) else found_in(baseline), pairing)


def _judged(path: str, judge: Callable[[str], Checked]) -> Checked:
    """Return the result of a file, or its fault."""
    try:
        return judge(path)
    except SeveralLabels:
        raise
    except CalcliError as fault:
        return Checked(path, 0, (), str(fault))
    except OSError as fault:
        return Checked(path, 0, (), f"{fault.filename or path}: {fault.strerror or fault}")


def means_checked_by(
    file: str, labels: Sequence[Predictions], rules: Policy, against: Sequence[Against | None]
) -> Checked:
    """Return what became of the rules on the means over the labels of a file."""
    members, base, paired = list[Sequence[Predictions]](), None, True
    for rows, reference in zip(labels, against, strict=True):
        base = None if reference is None else reference.baseline(rows, rules)
        if base is not None and isinstance(base.reference, Predictions):
            members.append((base.reference, base.candidate))
            paired = paired and base.paired
        else:
            members.append((rows,))
    means = mean_systems(members, rules.evaluation_settings, paired)
    return replace(check_predictions(labels[-1], rules, base, means), path=file)


def checked_by(predictions: Predictions, rules: Policy, against: Against | None) -> Checked:
    """Return the outcomes of the rules of a policy on predictions."""
    require_same_clip([predictions], rules.evaluation_settings)
    baseline = None if against is None else against.baseline(predictions, rules)
    return check_predictions(predictions, rules, baseline)
