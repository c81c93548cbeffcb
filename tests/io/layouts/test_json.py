"""JSON: records, columns with data as W&B and MLflow write them, samples of lm-evaluation-harness."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.errors import InputError, UsageError
from calcli.io.options import ReadOptions
from calcli.io.read import read
from calcli.work.apply import apply_file
from calcli.work.evaluate import evaluate
from calcli.work.fit import fit
from tests.io.layouts.trips import LABELS, NAMES, RNG, THREE, TWO, N, trip
from tests.io.samples import refused, scores_of

FRAME = pd.DataFrame(
    {"id": range(N), "label": NAMES[LABELS]} | {f"prob_{name}": THREE[:, k] for k, name in enumerate(NAMES)}
)


@pytest.mark.parametrize("orient", ["records", "split", "columns", "index", "table"])
def test_what_pandas_writes(orient, tmp_path):
    FRAME.to_json(tmp_path / "t.json", orient=orient, double_precision=15)
    found = trip(tmp_path / "t.json", THREE, LABELS, "a column for each class", target="out.json")
    assert "id" in found.columns


def test_json_lines_may_end_in_json(tmp_path):
    FRAME.to_json(tmp_path / "t.json", orient="records", lines=True, double_precision=15)
    trip(tmp_path / "t.json", THREE, LABELS, "a column for each class", target="out.jsonl")


def test_tables_of_wandb(tmp_path):
    """As a `.table.json` artifact: columns and data, beside what says their types."""
    table = {"columns": ["id", "pred", "truth", *(f"score_{name}" for name in NAMES)], "ncols": 6, "nrows": N}
    table["data"] = [[n, str(NAMES[THREE[n].argmax()]), str(NAMES[LABELS[n]]), *THREE[n]] for n in range(N)]
    (tmp_path / "t.table.json").write_text(json.dumps(table | {"column_types": {"wb_type": "typedDict"}}))
    trip(tmp_path / "t.table.json", THREE, LABELS, "a column for each class")


def test_static_data_of_mlflow(tmp_path):
    labels = (LABELS > 0).astype(int)
    table = {
        "feature_0": RNG.normal(size=N),
        "prediction": (TWO[:, 1] > 0.5).astype(int),
        "prediction_proba": TWO[:, 1],
    }
    frame = pd.DataFrame(table | {"target": labels})
    frame.to_json(tmp_path / "eval_results_table.json", orient="split", index=False, double_precision=15)
    trip(tmp_path / "eval_results_table.json", TWO, labels, "one score in each row")


def test_what_pipelines_return(tmp_path):
    order = np.argsort(-THREE, axis=1)
    rows = [[{"label": NAMES[k], "score": THREE[n, k]} for k in order[n]] for n in range(N)]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    np.save(tmp_path / "gold.npy", NAMES[LABELS])
    options = ReadOptions(labels=str(tmp_path / "gold.npy"))
    np.testing.assert_allclose(scores_of(read(tmp_path / "t.json", options)), THREE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "holds list values without rows"),
        ("[1, 2]", "not all rows are objects"),
        ('{"a": 1}', "an object without a table"),
        ('{"columns": ["a", "b"], "data": [[1]]}', "row 0 of the data does not have 2 values"),
        (
            '{"columns": ["label", "prob_a", "prob_b", "label"], "data": [["a", 0.3, 0.7, "b"]]}',
            "t.json has more than one column named label; rename",
        ),
        (
            '[{"label": "a", "prob_a": 0.3, "prob_b": 0.7, "label": "b"}]',
            "t.json has an object with more than one key label; rename",
        ),
        ('{"label": [0], "probs": [[0.3, 0.7]], "label": [1]}', "more than one key label;"),
        ('[{"label": 0, "probs": {"a": 0.3, "b": 0.7, "a": 0.3}}]', "more than one key a;"),
        ("[{", "not a complete and valid JSON"),
    ],
)
def test_json_that_is_no_table(text, message, tmp_path):
    (tmp_path / "t.json").write_text(text)
    refused(tmp_path / "t.json", message)


def samples(counts, texts=False):
    """Return questions with so many options as lm-evaluation-harness logs them, and their log-likelihoods."""
    found, likelihoods = [], []
    for n, count in enumerate(counts):
        lls = RNG.normal(-20, 5, count).round(4)
        options = [f" {'word ' * (k + 1)}{n}" for k in range(count)]
        right = n % count
        found.append(
            {
                "doc_id": n,
                "doc": {"question": "?", "mixed": n if n % 2 else "text"},
                "target": options[right] if texts else str(right),
                "arguments": {
                    f"gen_args_{k}": {"arg_0": "Q:", "arg_1": one} for k, one in enumerate(options)
                },
                "resps": [[[str(ll), "False"]] for ll in lls],
                "filtered_resps": [[str(ll), "False"] for ll in lls],
                "filter": "none",
                "metrics": ["acc", "acc_norm"],
                "doc_hash": "0" * 64,
                "acc": float(lls.argmax() == right),
                "acc_norm": float((lls / [len(one) - 1 for one in options]).argmax() == right),
            }
        )
        likelihoods.append(lls)
    return found, likelihoods


def written(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def softmax(likelihoods, most):
    padded = np.full((len(likelihoods), most), -np.inf)
    for n, one in enumerate(likelihoods):
        padded[n, : len(one)] = one
    found = np.exp(padded - padded.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("texts", [False, True])
def test_samples_of_the_harness(texts, tmp_path):
    records, likelihoods = samples([4] * 40, texts)
    path = written(tmp_path / "samples_mmlu_2026-01-01.jsonl", records)
    found = trip(path, softmax(likelihoods, 4), np.arange(40) % 4, "lm-evaluation-harness")
    assert found.column("acc").tolist() == [record["acc"] for record in records]


@pytest.mark.parametrize("per_character", [False, True])
def test_accuracy_is_what_the_harness_logged(per_character, tmp_path):
    records, _ = samples([3, 4, 5, 4] * 10)
    path = written(tmp_path / "samples_arc.jsonl", records)
    predictions = read(path, ReadOptions(per_character=per_character))
    assert predictions.classes == tuple(f"option {k}" for k in range(5))
    found = evaluate(predictions, intervals=False, draws=0).results[0]
    logged = np.mean([record["acc_norm" if per_character else "acc"] for record in records])
    assert found.metrics["accuracy"].value == pytest.approx(logged)
    assert not any("class" in name or name == "auroc" for name in found.metrics)
    (scores,) = [np.exp(scores_of(predictions, 40))]
    assert (scores[0, 3:] == 0).all()
    with pytest.raises(
        UsageError, match="cw_ece: it looks at single classes, and these are the places of options"
    ):
        evaluate(predictions, metrics=["cw_ece"], intervals=False, draws=0)


def test_a_target_that_is_no_option(tmp_path):
    records, _ = samples([4] * 5)
    records[3]["target"] = "7"
    refused(written(tmp_path / "t.jsonl", records), "row 3 has the target '7'; expected one of its 4 options")


def numeric(targets, words=(), acc=True):
    """Return samples whose options are permuted numbers, but for some with words, and what was drawn."""
    found, likelihoods = samples([4] * len(targets))
    options = np.array([RNG.permutation(4) for _ in targets])
    right = np.empty(len(targets), int)
    for n, record in enumerate(found):
        texts = ["red", "blue", "green", "grey"] if n in words else list(map(str, options[n]))
        record["arguments"] = [["Q:", f" {text}"] for text in texts]
        by_text = texts.index(str(targets[n])) if str(targets[n]) in texts else -1
        record["target"], right[n] = str(targets[n]), by_text
        if not acc:
            del record["acc"], record["acc_norm"]
    return found, likelihoods, right


@pytest.mark.parametrize("words", [(), range(0, 40, 2)])
@pytest.mark.parametrize("form", [str, int])
def test_targets_in_numbers_are_so_in_all_rows(words, form, tmp_path):
    targets = RNG.integers(4, size=40)
    records, likelihoods, _ = numeric(targets, words)
    for record, lls, target in zip(records, likelihoods, targets, strict=True):
        record["acc"], record["target"] = float(lls.argmax() == target), form(target)
    found = read(written(tmp_path / "t.jsonl", records))
    np.testing.assert_array_equal(found.labels, targets)
    np.testing.assert_allclose(np.exp(scores_of(found)), softmax(likelihoods, 4), rtol=1e-9)


def test_targets_that_are_the_text_of_numbers(tmp_path):
    records, likelihoods, right = numeric(RNG.integers(4, size=40))
    for record, lls, target in zip(records, likelihoods, right, strict=True):
        record["acc"] = float(lls.argmax() == target)
    np.testing.assert_array_equal(read(written(tmp_path / "t.jsonl", records)).labels, right)


def test_targets_that_may_be_numbers_or_text_are_refused(tmp_path):
    records, *_ = numeric(RNG.integers(4, size=40), acc=False)
    refused(written(tmp_path / "t.jsonl", records), "may be the numbers of options or their text, as '")
    wide, *_ = numeric(np.full(40, 3), acc=False)
    for record in wide:
        record["arguments"] = [["Q:", f" {text}"] for text in ("3", "7", "8", "9")]
    wide[5]["target"] = "9"
    np.testing.assert_array_equal(
        read(written(tmp_path / "t.jsonl", wide)).labels, np.where(np.arange(40) == 5, 3, 0)
    )


def test_a_calibrator_divides_by_characters_as_its_fit_did(tmp_path):
    records, likelihoods = samples([4] * 40)
    path = written(tmp_path / "samples_arc.jsonl", records)
    fitted = fit(path, method="temperature", per_character=True)
    fitted.save(tmp_path / "cal.json")
    apply_file(str(tmp_path / "cal.json"), str(path), str(tmp_path / "out.csv"), ReadOptions())
    lengths = [[len(one["arg_1"]) - 1 for one in record["arguments"].values()] for record in records]
    divided = np.array(likelihoods) / lengths / fitted.calibrator.parameters["temperature"]
    found = pd.read_csv(tmp_path / "out.csv").filter(like="prob_")
    np.testing.assert_allclose(found, softmax(divided, 4), rtol=1e-9)
    again = fitted.apply(read(path, ReadOptions(per_character=True)))
    np.testing.assert_allclose(again, softmax(divided, 4), rtol=1e-9)
    with pytest.raises(InputError, match=r"divided by the characters.*; give read\(..., --per-character\)"):
        fitted.apply(path)


@pytest.mark.parametrize("name", ["a.jsonl", "a.npz"])
def test_only_options_have_characters(name, tmp_path):
    if name == "a.npz":
        np.savez(tmp_path / name, probs=np.eye(2), labels=np.arange(2))
    else:
        written(tmp_path / name, [{"label": n, "prob_0": 1 - n, "prob_1": n} for n in (0, 1)])
    with pytest.raises(UsageError, match=f"--per-character: .*{name} has no log-likelihoods of options"):
        read(tmp_path / name, ReadOptions(per_character=True))


def test_values_of_columns_are_found_by_the_names_of_their_rows(tmp_path):
    columns = {"label": {"a": 0, "b": 1, "c": 1}, "prob": {"c": 0.7, "a": 0.2, "b": 0.9}}
    (tmp_path / "t.json").write_text(json.dumps(columns))
    found = read(tmp_path / "t.json")
    np.testing.assert_array_equal(scores_of(found)[:, 1], [0.2, 0.9, 0.7])
    del columns["prob"]["a"]
    (tmp_path / "t.json").write_text(json.dumps(columns))
    refused(tmp_path / "t.json", "the columns label and prob have values for other rows")
