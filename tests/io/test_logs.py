"""Logs of evaluations in the shapes that their documentation gives, made by hand."""

import io
import json
import struct
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pytest

from calcli.core.evaluating.evaluate import evaluate
from calcli.core.language.errors import InputError
from calcli.io.options import ReadOptions
from calcli.io.read import read


def samples(values, epochs=1, **scorers):
    """Return summaries as Inspect writes them."""
    return [
        {
            "id": n,
            "epoch": epoch + 1,
            "input": f"question {n}",
            "target": "4",
            "metadata": {"topic": "ab"[n % 2]},
            "scores": {"match": {"value": value, "answer": "4"}}
            | {name: {"value": one[n]} for name, one in scorers.items()},
        }
        for epoch in range(epochs)
        for n, value in enumerate(values)
    ]


def packed(path, header, summaries):
    """Write an archive whose entries are packed by zstd, as method 93, which zipfile does not write."""
    members = {"header.json": header, "summaries.json": summaries}
    out, central = io.BytesIO(), b""
    for name, value in members.items():
        raw, sink = json.dumps(value).encode(), pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(raw)
        data, at = sink.getvalue().to_pybytes(), out.tell()
        fields = (20, 0, 93, 0, 0, zlib.crc32(raw), len(data), len(raw), len(name), 0)
        out.write(struct.pack("<IHHHHHIIIHH", 0x04034B50, *fields) + name.encode() + data)
        central += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, *fields, 0, 0, 0, 0, at) + name.encode()
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 2, 2, len(central), out.tell(), 0)
    path.write_bytes(out.getvalue() + central + end)
    return path


def deflated(path, header, summaries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("summaries.json", json.dumps(summaries))
    return path


@pytest.mark.parametrize("write", [deflated, packed])
def test_logs_of_inspect_are_read_however_they_are_packed(tmp_path, write):
    values = ["C"] * 30 + ["I"] * 10
    found = read(write(tmp_path / "run.eval", {"status": "success", "eval": {}}, samples(values)))
    assert found.n_rows == 40
    assert found.provenance.outcomes == "outcomes"
    assert found.provenance.identity == "id"
    assert not found.has_probabilities
    assert evaluate(found).estimates["accuracy"].value == 30 / 40
    assert found.column("metadata_topic").tolist()[:2] == ["a", "b"]


def test_epochs_of_a_question_are_one_row(tmp_path):
    path = deflated(tmp_path / "run.eval", {"status": "success"}, samples(["C", "I"] * 20, epochs=5))
    found = read(path)
    assert found.n_rows == 40
    assert found.provenance.questions == "40 questions x 5 epochs"


def test_what_an_unfinished_log_is_gets_said(tmp_path):
    path = deflated(tmp_path / "run.eval", {"status": "error"}, samples(["C", "I"] * 20))
    assert any("the status is error" in one for one in read(path).reading())
    with zipfile.ZipFile(tmp_path / "started.eval", "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    with pytest.raises(InputError, match=r"no header\.json"):
        read(tmp_path / "started.eval")
    (tmp_path / "torn.eval").write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match="damaged"):
        read(tmp_path / "torn.eval")


def test_samples_without_a_score_are_refused_and_counted(tmp_path):
    path = deflated(tmp_path / "run.eval", {"status": "success"}, samples(["C"] * 20 + ["I"] * 8 + ["N"] * 2))
    with pytest.raises(
        InputError, match=r"has no value in score_match, as 2 of 30 rows.*--unscored wrong.*--unscored drop"
    ):
        read(path)
    assert read(path, ReadOptions(unscored="drop")).n_rows == 28
    wrong = evaluate(read(path, ReadOptions(unscored="wrong")))
    assert wrong.estimates["accuracy"].value == 20 / 30


def test_one_of_several_scorers_is_chosen_by_name(tmp_path):
    grades = np.linspace(0, 1, 20).tolist()
    path = deflated(tmp_path / "run.eval", {"status": "success"}, samples(["C", "I"] * 10, judge=grades))
    with pytest.raises(InputError, match=r"(?s)--score match.*--score judge"):
        read(path)
    judged = read(path, ReadOptions(score="judge"))
    assert judged.provenance.outcomes == "grades"
    assert evaluate(judged).estimates["mean_score"].value == pytest.approx(np.mean(grades))
    assert evaluate(read(path, ReadOptions(score="match"))).estimates["accuracy"].value == 0.5


def test_partial_credit_is_a_grade(tmp_path):
    path = deflated(tmp_path / "run.eval", {"status": "success"}, samples(["C", "I", "P", "C"] * 8))
    found = evaluate(read(path))
    assert found.estimates["mean_score"].value == (1 + 0 + 0.5 + 1) / 4


def test_a_log_with_confidences_is_read_as_answers(tmp_path):
    rows = samples(["C", "I", "C"] * 20)
    rng = np.random.default_rng(1)
    for row in rows:
        row["scores"]["match"]["metadata"] = {"confidence": round(float(rng.random()), 3)}
    found = read(deflated(tmp_path / "run.eval", {"status": "success"}, rows))
    assert found.has_probabilities
    assert found.provenance.taken == ("confidence",)


def test_samples_of_lm_evaluation_harness_of_any_task(tmp_path):
    hits = [1.0, 0.0, 1.0, 1.0] * 10
    lines = [
        {
            "doc_id": n,
            "doc": {"question": f"what is {n}?"},
            "target": str(n),
            "arguments": [[f"what is {n}?", {"until": ["\n"]}]],
            "resps": [[str(n)]],
            "filtered_resps": [str(n)],
            "filter": name,
            "metrics": ["exact_match"],
            "exact_match": hit * (name == "flexible-extract" or n % 2),
        }
        for name in ("strict-match", "flexible-extract")
        for n, hit in enumerate(hits)
    ]
    path = tmp_path / "samples_gsm8k.jsonl"
    path.write_text("\n".join(map(json.dumps, lines[40:])))
    found = evaluate(read(path))
    accuracy = found.estimates["accuracy"].value
    assert accuracy == np.mean(hits)
    # acc_stderr of lm-eval is the standard error of a mean, with n - 1
    low, high = found.estimates["accuracy"].interval.low, found.estimates["accuracy"].interval.high
    assert (high - low) / 2 == pytest.approx(1.96 * np.std(hits, ddof=1) / np.sqrt(40), rel=0.1)
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError, match=r"--score exact_match,strict-match"):
        read(path)
    strict = read(path, ReadOptions(score="exact_match,strict-match"))
    assert strict.n_rows == 40
    assert evaluate(strict).estimates["accuracy"].value == np.mean([h * (n % 2) for n, h in enumerate(hits)])


def promptfoo(providers):
    return [
        {"testIdx": n, "promptIdx": 0, "provider": {"id": one, "label": ""}, "vars": {"q": str(n)},
         "success": bool((n + k) % 3), "score": float(bool((n + k) % 3)), "namedScores": {}}
        for n in range(30)
        for k, one in enumerate(providers)
    ]  # fmt: skip


def test_results_of_promptfoo(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": promptfoo(["gpt"])}}))
    assert evaluate(read(path)).estimates["accuracy"].value == 20 / 30
    lines = tmp_path / "results.jsonl"
    lines.write_text("\n".join(map(json.dumps, promptfoo(["gpt"]))))
    assert evaluate(read(lines)).estimates["accuracy"].value == 20 / 30
    path.write_text(json.dumps({"results": {"results": promptfoo(["gpt", "claude"])}}))
    with pytest.raises(InputError, match=r"--score gpt_0.*--score claude_0"):
        read(path)
    assert read(path, ReadOptions(score="claude_0")).n_rows == 30


def test_results_of_deepeval(tmp_path):
    cases = [
        {"name": f"case {n}", "input": "a", "actualOutput": "b", "success": n % 4 > 0,
         "metricsData": [{"name": "Answer Relevancy", "score": n / 40, "threshold": 0.5, "success": n > 20}]}
        for n in range(40)
    ]  # fmt: skip
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"testCases": cases, "conversationalTestCases": []}))
    with pytest.raises(InputError, match=r"(?s)--score success.*--score 'Answer Relevancy'"):
        read(path)
    assert evaluate(read(path, ReadOptions(score="success"))).estimates["accuracy"].value == 0.75
    graded = read(path, ReadOptions(score="Answer Relevancy"))
    assert graded.provenance.outcomes == "grades"


def test_statistics_of_single_instances_of_helm(tmp_path):
    rows = [
        {"instance_id": f"id{n}", "train_trial_index": trial,
         **({"perturbation": {"name": "typos"}} if noisy else {}),
         "stats": [{"name": {"name": "exact_match", "split": "test"}, "count": 1, "mean": n % 2},
                   {"name": {"name": "num_prompt_tokens"}, "count": 1, "sum": 90, "mean": 90.0}]}
        for n in range(30) for trial in range(2) for noisy in range(2)
    ]  # fmt: skip
    path = tmp_path / "per_instance_stats.json"
    path.write_text(json.dumps(rows))
    found = read(path)
    assert found.provenance.questions == "30 questions x 2 epochs"
    assert evaluate(found).estimates["accuracy"].value == 0.5


def test_logs_of_openai_evals(tmp_path):
    lines = [{"spec": {"eval_name": "arithmetic"}}] + [
        {"run_id": "r", "event_id": n, "sample_id": f"a.{n}", "type": "match",
         "data": {"correct": n % 5 > 0, "expected": "4", "picked": "4"}}
        for n in range(40)
    ]  # fmt: skip
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    found = read(path)
    assert found.provenance.identity == "sample_id"
    assert evaluate(found).estimates["accuracy"].value == 0.8


def test_statistics_of_helm_with_a_confidence_are_answers(tmp_path):
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.3, 1, 60)
    right = (rng.random(60) < sure).astype(float)
    rows = [
        {"instance_id": f"id{n}", "train_trial_index": 0,
         "stats": [{"name": {"name": "exact_match"}, "count": 1, "mean": right[n]},
                   {"name": {"name": "max_prob"}, "count": 1, "mean": sure[n]}]}
        for n in range(60)
    ]  # fmt: skip
    path = tmp_path / "per_instance_stats.json"
    path.write_text(json.dumps(rows))
    found = evaluate(read(path)).estimates
    expected = -np.log(np.where(right == 1, sure, 1 - sure)).mean()
    assert found["log_loss"].value == pytest.approx(expected)


def test_batches_of_openai_hold_log_probabilities_of_tokens(tmp_path):
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 1.5, (80, 3))
    logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    true = rng.integers(0, 3, 80)
    lines = []
    for n, row in enumerate(logs):
        order = np.argsort(-row)
        top = [{"token": " " * int(k == 1) + "ABC"[k], "logprob": row[k]} for k in order]
        content = [{"token": top[0]["token"], "logprob": top[0]["logprob"], "top_logprobs": top}]
        body = {"choices": [{"logprobs": {"content": content}}]}
        lines.append({"custom_id": f"q{n}", "label": "ABC"[true[n]], "response": {"body": body}})
    path = tmp_path / "batch.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    found = evaluate(read(path)).estimates
    assert found["log_loss"].value == pytest.approx(-logs[np.arange(80), true].mean())
    del lines[5]["response"]["body"]["choices"][0]["logprobs"]  # then it is no such batch
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError):
        read(path)


def test_fields_of_documents_and_variables_are_columns(tmp_path):
    samples = [
        {
            "doc_id": n,
            "doc": {"subject": "ab"[n % 2], "id": [n]},
            "filtered_resps": ["x"],
            "target": "x",
            "acc": n % 2,
        }
        for n in range(6)
    ]
    (tmp_path / "samples_x.jsonl").write_text("\n".join(map(json.dumps, samples)))
    results = [
        {"testIdx": n, "vars": {"topic": "ab"[n % 2]}, "success": n > 2, "score": n > 2} for n in range(6)
    ]
    (tmp_path / "promptfoo.json").write_text(json.dumps({"results": {"results": results}}))
    for file, column in (("samples_x.jsonl", "doc_subject"), ("promptfoo.json", "vars_topic")):
        found = read(tmp_path / file).column(column)
        assert found.tolist() == ["a", "b"] * 3
