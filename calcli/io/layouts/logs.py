"""Logs of evaluations: a row for each sample, with a column `score_NAME` for each scorer.

Inspect's logs, samples of lm-evaluation-harness without options, results of promptfoo and of deepeval, and
the statistics of single instances that HELM writes; OpenAI's batches, with probabilities of tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from calcli.io.places.faults import column_of

DOUBTS = b"calcli.doubts"  # metadata: a sentence about a log
MARKS = ("testIdx", "top_logprobs")  # fields of lines of such a log only
SCORE = "score_"
SURE = ("confidence", "p_correct")  # fields of a score
NO_QUALITY = re.compile(
    r"num_|.*(logprob|perplexity|bits_per|tokens|runtime|finish_reason|max_prob|batch_size|co2|energy|cost).*"
)  # statistics of HELM that judge no answer
Row = dict[str, Any]


def log_table(content: Any, name: str) -> Any:
    """Return the samples of a log as a pyarrow.Table; None if JSON values are no known log."""
    doubt = ""
    if isinstance(content, list):
        rows = _of_records(content)
    elif not isinstance(content, dict):
        return None
    elif isinstance(content.get("samples"), list) and isinstance(content.get("eval"), dict):
        rows = [dict(_of_inspect(sample)) for sample in content["samples"]]
        if (status := content.get("status", "success")) != "success":
            doubt = f"the status is {status}: these are the {len(rows):,} samples that were run"
    else:
        rows = _of_records(_cases(content))
    if not rows:
        return None
    heads = dict.fromkeys(head for row in rows for head in row)
    table = pa.table({head: column_of([row.get(head) for row in rows]) for head in heads})
    return table.replace_schema_metadata({DOUBTS: doubt.encode()}) if doubt else table


def inspect_table(header: Mapping[str, Any], summaries: Sequence[Any]) -> Any:
    """Return the table of an Inspect log from its header and the summaries of its samples."""
    return log_table({"eval": {}, **header, "samples": list(summaries)}, "")


def _cases(content: Mapping[str, Any]) -> Any:
    """Return the records in an object of promptfoo or deepeval."""
    for key in ("results", "testRunData", "test_results", "testCases", "test_cases"):
        inner = content.get(key)
        if isinstance(inner, list):
            return inner
        if isinstance(inner, dict) and (cases := _cases(inner)):
            return cases
    return []


def _of_records(records: Any) -> list[Row]:
    record = records[0] if isinstance(records, list) and records else None
    if not isinstance(record, dict) or not all(isinstance(record, dict) for record in records):
        return []
    if "doc_id" in record and ("filtered_resps" in record or "resps" in record):
        return _harness(records)
    if "testIdx" in record or ("vars" in record and "success" in record):
        return _promptfoo(records)
    if any(isinstance(record.get(key), list) for key in ("metricsData", "metrics_data")):
        return list(map(_deepeval, records))
    if "instance_id" in record and isinstance(record.get("stats"), list):
        return [_helm(record) for record in records if not record.get("perturbation")]
    if "custom_id" in record and isinstance(record.get("response"), dict):
        return _batch(records)
    return []


def _of_inspect(sample: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from ((key, str(sample[key])) for key in ("id", "epoch") if key in sample)
    yield from plain_fields(sample, "metadata").items()
    if error := sample.get("error"):
        yield "error", str(error.get("message") if isinstance(error, dict) else error)
    for name, score in (sample.get("scores") or {}).items():
        value = score.get("value") if isinstance(score, dict) else score
        grades = value if isinstance(value, dict) else {"": value}
        for part, grade in grades.items():
            yield f"{SCORE}{name}{'_' * bool(part)}{part}", None if grade == "N" else grade
        sure = (score.get("metadata") or {}) if isinstance(score, dict) else {}
        yield from ((key, sure[key]) for key in SURE if key in sure)


def _harness(records: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return a row for each document, with a score for each filter."""
    filters = {str(record.get("filter", "none")) for record in records}
    rows: dict[str, Row] = {}
    for n, record in enumerate(records):
        suffix = f",{record.get('filter')}" if len(filters) > 1 else ""
        names = record.get("metrics") or [key for key in record if key in ("acc", "exact_match", "acc_norm")]
        values = {f"{SCORE}{key}{suffix}": record.get(key) for key in names if is_plain(record.get(key))}
        key = str(record["doc_id"])
        if any(score in rows.get(key, {}) for score in values):
            key = f"{key}/{n}"  # the same document again
        row = {"doc_id": str(record["doc_id"]), **plain_fields(record, "doc")}
        rows.setdefault(key, row).update(values)
    return list(rows.values())


def _promptfoo(records: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return a row for each test, with a score for each provider and prompt."""

    def system(record: Mapping[str, Any]) -> str:
        provider = record.get("provider")
        called = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        return f"{called}_{record.get('promptIdx', 0)}"

    several, rows = len({system(record) for record in records}) > 1, dict[tuple[str, int], Row]()
    times: dict[tuple[str, str], int] = {}
    for n, record in enumerate(records):
        test, name_of_system = str(record.get("testIdx", n)), system(record)
        time = times[name_of_system, test] = times.get((name_of_system, test), -1) + 1
        row = rows.setdefault((test, time), {"test_idx": test, **plain_fields(record, "vars")})
        if several:
            row[f"{SCORE}{name_of_system}"] = record.get("success")
            continue
        row |= {"success": record.get("success"), "score": record.get("score")}
        row |= {f"{SCORE}{key}": value for key, value in (record.get("namedScores") or {}).items()}
    return list(rows.values())


def _deepeval(record: Mapping[str, Any]) -> Row:
    row = {"id": str(record.get("name", "")), "success": record.get("success")}
    for metric in record.get("metricsData") or record.get("metrics_data") or ():
        row[f"{SCORE}{metric.get('name')}"] = metric.get("score")
    return row


def _helm(run: Mapping[str, Any]) -> Row:
    row: Row = {"instance_id": str(run["instance_id"]), "train_trial_index": run.get("train_trial_index", 0)}
    for stat in run["stats"]:
        called = stat.get("name")
        called = called.get("name") if isinstance(called, dict) else called
        if called == "max_prob":
            row["confidence"] = stat.get("mean")
        elif not NO_QUALITY.fullmatch(str(called)):
            row[f"{SCORE}{called}"] = stat.get("mean")
    scores = [head for head in row if head.startswith(SCORE)]
    if "confidence" in row and len(scores) == 1:  # whether it is right, and its confidence
        row["correct"] = row.pop(scores[0])
    return row


def _batch(records: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return a row for each answer of OpenAI's batches, with the logarithms of the tokens that all have."""
    rows, options = [], list[Row]()
    for record in records:
        try:
            (answer, *_) = record["response"]["body"]["choices"][0]["logprobs"]["content"]
            top = {str(token["token"]).strip(): token["logprob"] for token in answer["top_logprobs"]}
        except (KeyError, IndexError, TypeError, ValueError):
            return []
        options.append(top)
        rows.append({key: value for key, value in record.items() if is_plain(value)})
    common = [token for token in options[0] if all(token in top for top in options)]
    return [
        row | {f"logprob_{token}": top[token] for token in sorted(common)}
        for row, top in zip(rows, options, strict=True)
    ]


def plain_fields(record: Mapping[str, Any], name: str) -> Row:
    """Return texts and numbers of an object within a record, as columns such as metadata_category."""
    inner = record.get(name)
    fields = inner.items() if isinstance(inner, dict) else ()
    return {f"{name}_{key}": value for key, value in fields if is_plain(value)}


def is_plain(value: Any) -> bool:
    """Return whether a value is a text or a number."""
    return isinstance(value, str | int | float)
