"""Files of a confidence and of what is right, as evaluations of language models write them."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.core.language.errors import InputError, UsageError
from calcli.io.handed import from_answers
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.samples import scores_of

CONFIDENCE, RIGHT = [0.9, 0.3, 0.55, 1.0], [True, False, True, False]


def written(path, columns):
    """Write columns as JSON lines and return the path."""
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def confidence_of(predictions):
    return np.concatenate([block[:, 1].copy() for block in predictions.scores.blocks(10)]).tolist()


def check(predictions):
    assert predictions.of_answers
    assert confidence_of(predictions) == CONFIDENCE
    assert predictions.labels.tolist() == [int(one) for one in RIGHT]


@pytest.mark.parametrize(
    "names",
    [
        ("confidence", "is_correct"),
        ("conf", "acc"),
        ("Model Confidence", "Matched"),
        ("p_correct", "grade"),
        ("p_true", "correct"),
        ("verbalized_confidence", "exact_match"),
        ("answer_certainty", "isCorrect"),
        ("max_prob", "hit"),
        ("confidence_score", "passed"),
    ],
)
def test_usual_names_are_found(tmp_path, names):
    columns = {"id": [7, 8, 9, 10], names[0]: CONFIDENCE, names[1]: RIGHT}
    found = read(written(tmp_path / "log.jsonl", columns))
    check(found)
    assert list(found.columns) == ["id"]
    assert found.provenance.labels == f'column "{names[1]}"'
    assert found.provenance.taken == (names[0],)
    assert found.reading()[0].startswith(f"read as answers, right or wrong ({names[0]}), right by column")


@pytest.mark.parametrize(
    "right",
    [
        [1, 0, 1, 0],
        [1.0, 0.0, 1.0, 0.0],
        ["true", "False", "TRUE", "false"],
        ["C", "I", "C", "I"],
        ["CORRECT", "INCORRECT", "correct", "incorrect"],
        ["yes", "no", "yes", "no"],
        ["right", "wrong", "right", "wrong"],
        ["pass", "fail", "pass", "fail"],
        ["1", "0", "1", "0"],
    ],
)
def test_outcomes_in_many_words(tmp_path, right):
    check(read(written(tmp_path / "log.jsonl", {"confidence": CONFIDENCE, "correct": right})))


@pytest.mark.parametrize(
    ("said", "true"),
    [
        (["cat", "dog", "owl", "cat"], ["cat", "cat", "owl", "dog"]),
        ([3, 1, 2, 3], [3, 2, 2, 1]),
        ([3, 1, 2, 3], ["3", "2", "2", "1"]),
    ],
)
def test_answers_are_right_where_they_are_the_label(tmp_path, said, true):
    columns = {"prediction": said, "confidence": CONFIDENCE, "label": true}
    found = read(written(tmp_path / "log.jsonl", columns))
    check(found)
    assert {"prediction", "label"} <= set(found.columns)  # to slice by


@pytest.mark.parametrize(
    "names",
    [
        ("Predicted", "Confidence", "Actual"),
        ("pred", "prob", "true"),
        ("answer", "confidence", "target"),
        ("prediction", "confidence", "answer"),
    ],
)
def test_predicted_and_actual_classes_have_many_names(tmp_path, names):
    classes = ["cat", "dog", "owl", "cat"], ["cat", "cat", "owl", "dog"]
    columns = dict(zip(names, (classes[0], CONFIDENCE, classes[1]), strict=True))
    check(read(written(tmp_path / "log.jsonl", columns)))


def test_a_score_named_true_is_no_label(tmp_path):
    columns = {"false": [0.1, 0.7, 0.45], "true": [0.9, 0.3, 0.55], "came": ["true", "false", "true"]}
    found = read(written(tmp_path / "log.jsonl", columns))
    assert not found.of_answers
    assert found.provenance.labels == 'column "came"'


def test_the_formats_say_the_same(tmp_path):
    table = pa.table({"confidence": CONFIDENCE, "correct": RIGHT})
    pq.write_table(table, tmp_path / "a.parquet")
    table.to_pandas().to_csv(tmp_path / "a.csv", index=False)
    np.savez(tmp_path / "a.npz", confidence=CONFIDENCE, correct=RIGHT)
    np.savez(tmp_path / "b.npz", conf=CONFIDENCE, y_pred=[3, 1, 2, 3], label=[3, 2, 2, 1])
    for name in ("a.parquet", "a.csv", "a.npz", "b.npz"):
        check(read(tmp_path / name))
    check(from_answers(CONFIDENCE, RIGHT))


def test_options_name_any_columns(tmp_path):
    columns = {"p": CONFIDENCE, "q": [0.1] * 4, "ok": RIGHT, "label": [0, 1, 0, 1]}
    file = written(tmp_path / "log.jsonl", columns)
    check(read(file, ReadOptions(confidence="p", correct="ok")))


def test_logarithms_and_log_odds_are_told(tmp_path):
    columns = {"confidence": np.log([0.9, 0.3]).tolist(), "correct": [1, 0]}
    found = read(written(tmp_path / "log.jsonl", columns), ReadOptions(kind="log-probs"))
    np.testing.assert_allclose(np.exp(next(found.scores.blocks(2))), [[0.1, 0.9], [0.7, 0.3]])
    columns["confidence"] = [np.log(0.9 / 0.1), np.log(0.3 / 0.7)]
    found = read(written(tmp_path / "log.jsonl", columns), ReadOptions(kind="logits"))
    odds = np.exp(next(found.scores.blocks(2)))
    np.testing.assert_allclose(odds[:, 1] / odds.sum(1), [0.9, 0.3])


@pytest.mark.parametrize(
    "columns",
    [
        {
            "prob_a": CONFIDENCE,
            "prob_b": [0.1, 0.7, 0.45, 0.0],
            "confidence": CONFIDENCE,
            "label": list("abab"),
        },
        {
            "prob_true": CONFIDENCE,
            "prob_false": [0.1, 0.7, 0.45, 0.0],
            "prediction": ["true", "false", "true", "true"],
            "label": ["true", "false", "true", "false"],
        },
        {"score": CONFIDENCE, "label": [0, 1, 0, 1]},
        {"score": CONFIDENCE, "correct": [1, 0, 0, 1], "label": [0, 1, 0, 1]},
    ],
)
def test_scores_of_classes_stay_what_they_are(tmp_path, columns):
    assert not read(written(tmp_path / "log.jsonl", columns)).of_answers


def refused(tmp_path, columns, error=InputError, **options):
    with pytest.raises(error) as fault:
        list(read(written(tmp_path / "log.jsonl", columns), ReadOptions(**options)).scores.blocks(10))
    return str(fault.value).removeprefix(f"{tmp_path}/")


def test_missing_values_are_counted(tmp_path):
    columns = {"confidence": [0.9, None, 0.5, None], "correct": RIGHT}
    said = refused(tmp_path, columns)
    assert said.startswith(
        "log.jsonl: the confidence, confidence, is missing in 2 of 4 rows, the first of them"
    )
    assert "--drop-missing" in said
    said = refused(tmp_path, {"confidence": CONFIDENCE, "correct": [True, None, None, None]})
    assert "is missing in 3 of 4 rows" in said


def test_partial_credit_is_neither_right_nor_wrong(tmp_path):
    said = refused(tmp_path, {"confidence": CONFIDENCE, "correct": [1, 0, 0.5, 0]})
    assert "correct holds fractions, such as 0.5" in said
    said = refused(tmp_path, {"confidence": CONFIDENCE, "correct": ["C", "I", "P", "I"]})
    assert "'P'" in said


def test_several_columns_are_named(tmp_path):
    columns = {"confidence": CONFIDENCE, "self_confidence": CONFIDENCE[::-1], "correct": RIGHT}
    assert "--confidence self_confidence" in refused(tmp_path, columns)
    columns = {"confidence": CONFIDENCE, "acc": RIGHT, "exact_match": RIGHT[::-1]}
    assert "--correct acc" in refused(tmp_path, columns)
    assert "has no column" in refused(tmp_path, columns, UsageError, confidence="sure")


def test_both_readings_of_a_lone_confidence_are_told(tmp_path):
    said = refused(tmp_path, {"confidence": CONFIDENCE, "label": [1, 0, 1, 0]})
    assert "the name of confidence says confidence" in said
    assert "--scores confidence" in said
    file = tmp_path / "log.jsonl"
    check(read(file, ReadOptions(confidence="confidence", correct="label")))
    assert not read(file, ReadOptions(scores="confidence")).of_answers


def test_a_misspelled_column_is_told(tmp_path):
    columns = {"confidence": CONFIDENCE, "is_correct": RIGHT}
    assert "did you mean is_correct?" in refused(tmp_path, columns, UsageError, correct="is_corect")
    assert "--weights" in refused(tmp_path, columns, UsageError, weights="w")


def test_options_of_classes_do_not_go_with_those_of_answers(tmp_path):
    columns = {"confidence": CONFIDENCE, "correct": RIGHT}
    said = refused(tmp_path, columns, UsageError, confidence="confidence", positive="1")
    assert "leave one out" in said


def test_a_confidence_above_one_is_refused(tmp_path):
    said = refused(tmp_path, {"confidence": [0.87, 0.3, 1.55, 0.99], "correct": RIGHT})
    assert "1.55" in said


def test_missing_values_are_left_out_and_counted(tmp_path):
    columns = {
        "id": [0, 1, 2, 3, 4, 5],
        "confidence": [0.9, None, 0.3, 0.55, 0.4, 1.0],
        "correct": [True, True, False, True, None, False],
    }
    found = read(written(tmp_path / "log.jsonl", columns), ReadOptions(drop_missing=True))
    check(found)
    assert found.columns["id"].tolist() == [0, 2, 3, 5]
    assert "2 of 6 rows, in which something is missing, were left out, as asked" in found.provenance.notes
    columns["confidence"][0] = 1.5
    assert "row 0" in refused(tmp_path, columns, drop_missing=True)
    columns["confidence"][:2] = [0.5, -1]  # the number of a row is the one it is stored under
    columns["confidence"][4] = None
    assert "row 1" in refused(tmp_path, columns, drop_missing=True)


def test_rows_of_classes_are_left_out_as_well(tmp_path):
    file = tmp_path / "scores.csv"
    file.write_text("label,prob_a,prob_b,day\na,.9,.1,1\nb,,.5,2\n,.5,.5,3\nb,.2,.8,4\n")
    with pytest.raises(InputError, match="--drop-missing"):
        read(file)
    found = read(file, ReadOptions(drop_missing=True))
    assert found.labels.tolist() == [0, 1]
    assert found.columns["day"].tolist() == [1, 4]
    np.testing.assert_allclose(next(found.scores.blocks(9)), [[0.9, 0.1], [0.2, 0.8]])


def test_a_column_of_as_many_texts_as_classes_may_have_some_in_rows_left_out_alone(tmp_path):
    rows = ["label,prob_0,prob_1,prob_2,note", "0,.8,.1,.1,x", "1,.1,.8,.1,y", "2,.1,.1,.8,x", "1,.2,.7,.1,"]
    file = tmp_path / "scores.csv"
    file.write_text("\n".join([*rows, *["0,,,,z"] * 3]) + "\n")
    found = read(file, ReadOptions(drop_missing=True))
    assert (found.labels.tolist(), found.provenance.labels) == ([0, 1, 2, 1], 'column "label"')


def test_nothing_left_out_is_told(tmp_path):
    file = written(tmp_path / "log.jsonl", {"confidence": CONFIDENCE, "correct": RIGHT})
    assert any(
        "left out nothing" in note for note in read(file, ReadOptions(drop_missing=True)).provenance.notes
    )
    with pytest.raises(InputError, match=r"missing in 1 of 2 rows.*; remove such rows"):
        from_answers([0.5, np.nan], [1, 0])


def test_percentages_are_confidences(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("model_confidence,ok\n90%,1\n30%,0\n55%,1\n100%,0\n")
    check(read(file))
    file.write_text("model_confidence,ok\n90,1\n30,0\n55,1\n100,0\n")
    check(read(file))
    file.write_text("model_confidence,ok\n90%,1\n,0\n30%,0\n55%,1\n100%,0\n")
    check(read(file, ReadOptions(drop_missing=True)))


MANY = 400
SURE = np.random.default_rng(3).uniform(0.3, 1, MANY).round(3)


def answered(classes, wrong):
    """Return labels, and predictions that are as often right as the confidence says, else `wrong`."""
    rng = np.random.default_rng(4)
    labels = rng.choice(classes, MANY)
    return labels, np.where(rng.random(MANY) < SURE, labels, wrong)


@pytest.mark.parametrize(
    ("classes", "wrong"),
    [
        (["01", "02", "10", "11"], "n.a."),
        (["1.0", "2.0"], "none of them"),
        (["12345678901234567", "12345678901234568"], "x"),
        (["true", "false"], "unknown"),
        (["True", "False"], "unknown"),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_text_beside_numbers_or_booleans_in_csv(tmp_path, classes, wrong, swapped):
    """Types are found column by column: what can only be text in one is a number in the other."""
    labels, said = answered(classes, wrong)
    first, second = (said, labels) if swapped else (labels, said)
    rows = "".join(f"{c},{p},{y}\n" for c, p, y in zip(SURE, second, first, strict=True))
    (tmp_path / "log.csv").write_text("confidence,prediction,label\n" + rows)
    found = read(tmp_path / "log.csv")
    assert found.of_answers
    np.testing.assert_array_equal(found.labels, said == labels)


@pytest.mark.parametrize("form", ["jsonl", "npz"])
def test_booleans_beside_text(tmp_path, form):
    labels, said = answered([True, False], None)
    texts = np.array(["unknown" if one is None else str(one) for one in said])
    if form == "npz":
        np.savez(tmp_path / "log.npz", confidence=SURE, prediction=texts, label=labels)
    else:
        columns = {"prediction": texts.tolist(), "label": labels.tolist(), "confidence": SURE.tolist()}
        written(tmp_path / "log.jsonl", columns)
    np.testing.assert_array_equal(read(tmp_path / f"log.{form}").labels, said == labels)


def test_two_columns_of_text_are_compared_letter_by_letter(tmp_path):
    columns = {
        "confidence": CONFIDENCE,
        "prediction": ["01", "1", "x", "True"],
        "label": ["01", "01", "x", "true"],
    }
    check(read(written(tmp_path / "log.jsonl", columns)))
    columns |= {"prediction": ["1", "true", "2", "x"], "label": [1, 2, 2, 1]}  # 2 is no boolean
    check(read(written(tmp_path / "log.jsonl", columns)))


def test_one_score_beside_predictions_in_another_type(tmp_path):
    """The score decides which class is predicted, so that it is that of a class."""
    classes, high = ["false", "true"], "TRUE"
    own = np.random.default_rng(5).random(MANY) < SURE
    said = np.where(SURE > 0.6, high, "unsure")
    rows = "".join(f"{c},{p},{classes[int(y)]}\n" for c, p, y in zip(SURE, said, own, strict=True))
    (tmp_path / "log.csv").write_text("confidence,prediction,label\n" + rows)
    found = read(tmp_path / "log.csv")
    said_so = np.where(SURE > 0.6, own, False)  # three values: the confidence in what is predicted
    assert found.of_answers
    np.testing.assert_array_equal(found.labels, said_so)


def test_the_class_of_a_score_is_named_as_the_labels_are(tmp_path):
    own = np.random.default_rng(6).random(MANY) < SURE
    score, labels = np.where(SURE > 0.6, SURE, 1 - SURE), np.array(["01", "02"])[own.astype(int)]
    columns = {"prob": score, "prediction": np.where(score > 0.6, 2, 1), "label": labels}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet")
    assert found.classes == ("01", "02")
    np.testing.assert_array_equal(found.labels, own)


def test_answers_in_arrays_may_be_left_out(tmp_path):
    path, said = tmp_path / "x.npz", np.array(["correct", "wrong", "refused", "correct"])
    np.savez(path, confidence=np.array([0.5, 0.6, 0.7, 0.8]), correct=said)
    with pytest.raises(InputError, match=r"row 2 has the value 'refused'.*--ignore-label refused$"):
        read(path)
    found = read(path, ReadOptions(ignore_label=("refused", "other")))
    np.testing.assert_array_equal(scores_of(found)[:, 1], [0.5, 0.6, 0.8])
    assert found.provenance.notes[-1].endswith("are left out, as asked")
    assert found.provenance.doubts[-1] == "no row has a label to be ignored (other)"
