"""What the values themselves say: ranks, percentages, rounded probabilities, what looks like no logits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calcli.io.handed import from_arrays
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.layouts.trips import LABELS, NAMES, RNG, THREE, N, trip
from tests.io.samples import refused, scores_of

SORTED = -np.sort(-THREE, axis=1)


def saved(path, table):
    pd.DataFrame(table).to_csv(path, index=False)
    return path


def test_scores_that_descend_in_every_row_are_ranks(tmp_path):
    np.savez(tmp_path / "t.npz", probs=SORTED, labels=LABELS)
    refused(tmp_path / "t.npz", "the scores descend in every row, as if they were sorted by rank")
    np.testing.assert_allclose(
        scores_of(read(tmp_path / "t.npz", ReadOptions(classes=("0", "1", "2")))), SORTED
    )
    numbered = saved(tmp_path / "t.csv", {"label": LABELS} | {f"prob_{k}": SORTED[:, k] for k in range(3)})
    refused(numbered, "descend in every row")
    read(numbered, ReadOptions(scores="prob_*"))
    pq.write_table(pa.table({"label": LABELS, "probs": SORTED.tolist()}), tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "descend in every row")


def pieces(folder, form, scores, labels, rows):
    """Write a data set cut into pieces of so many rows: row groups, batches or files."""
    names = [f"prob_{k}" for k in range(scores.shape[1])] if scores.shape[1] > 1 else ["logit"]
    codes = pa.array(labels.astype(str)).dictionary_encode() if len(names) > 1 else labels
    table = pa.table(dict(zip(names, scores.T.copy(), strict=True)) | {"label": codes})
    if form == "lists":
        table = pa.table({"probs": scores.tolist(), "label": labels})
    folder.mkdir()
    if form in ("row groups", "lists"):
        pq.write_table(table, folder / "t.parquet", row_group_size=rows)
        return folder / "t.parquet"
    if form == "batches":
        with pa.ipc.new_file(folder / "t.arrow", table.schema) as file:
            file.write_table(table, max_chunksize=rows)
        return folder / "t.arrow"
    for start in range(0, len(labels), rows):
        piece = slice(start, start + rows)
        if form == "arrays":
            name = "scores" if scores.shape[1] > 1 else "logit"
            np.savez(folder / f"{start}.npz", **{name: scores[piece]}, labels=labels[piece])
        else:
            pq.write_table(table.slice(start, rows), folder / f"{start}.parquet")
    return folder


FORMS = ["row groups", "lists", "batches", "tables", "arrays"]


@pytest.mark.parametrize("form", FORMS)
def test_what_first_rows_say_is_said_of_pieces_too(form, tmp_path):
    labels = LABELS[:60]
    refused(pieces(tmp_path / "3", form, SORTED[:60], labels, 3), "descend in every row")
    refused(pieces(tmp_path / "7", form, SORTED[:60], labels, 7), "descend in every row", ignore_label=("0",))
    one = pieces(tmp_path / "1", form, np.vstack([SORTED[:19], SORTED[:, ::-1]])[:60], labels, 1)
    np.testing.assert_array_equal(scores_of(read(one))[:20], np.vstack([SORTED[:19], SORTED[:1, ::-1]]))


@pytest.mark.parametrize("form", [form for form in FORMS if form != "lists"])
def test_a_first_piece_that_could_be_probabilities_does_not_decide(form, tmp_path):
    logits = np.r_[0.5, 0.25, RNG.normal(size=58) * 3][:, None]
    path = pieces(tmp_path / "1", form, logits, LABELS[:60] % 2, 1)
    found = read(path)
    assert found.scores.kind == "logits"


def test_honest_orders_are_left_alone(tmp_path):
    named = {"label": NAMES[LABELS]} | {f"prob_{name}": SORTED[:, k] for k, name in enumerate(NAMES)}
    read(saved(tmp_path / "named.csv", named))
    for scores in (SORTED[:19], np.full((N, 3), 1 / 3), np.vstack([SORTED, SORTED[:1, ::-1]])):
        from_arrays(scores, np.zeros(len(scores), int))
    from_arrays(-np.sort(-RNG.dirichlet(np.ones(2), N), axis=1), np.zeros(N, int))


@pytest.mark.parametrize("options", [{}, {"kind": "percent"}])
def test_percentages_by_name_and_as_said(options, tmp_path):
    table = {"label": NAMES[LABELS]} | {f"prob_{name}": 100 * THREE[:, k] for k, name in enumerate(NAMES)}
    path = saved(tmp_path / "t.csv", table)
    found = trip(path, THREE, LABELS, "a column for each class", target="", **options)
    assert "percentages" in found.scores.kind_reason
    one = saved(tmp_path / "u.csv", {"y": LABELS > 0, "probability": 100 * (1 - THREE[:, 0])})
    np.testing.assert_allclose(scores_of(read(one, ReadOptions(**options)))[:, 0], THREE[:, 0])


def test_percentages_without_a_name_are_known_by_their_sums(tmp_path):
    path = saved(
        tmp_path / "t.csv", {"label": NAMES[LABELS]} | {n: 100 * THREE[:, k] for k, n in enumerate(NAMES)}
    )
    np.testing.assert_allclose(scores_of(read(path)), THREE)
    np.testing.assert_allclose(scores_of(read(path, ReadOptions(kind="percent"))), THREE)


def test_percentages_are_checked(tmp_path):
    wrong = 100 * THREE
    wrong[50, 1] += 20
    table = {"label": NAMES[LABELS]} | {f"prob_{name}": wrong[:, k] for k, name in enumerate(NAMES)}
    refused(saved(tmp_path / "t.csv", table), "row 50 has probabilities that sum to 1.2; expected 1")


@pytest.mark.parametrize("decimals", [2, 3])
def test_rounded_probabilities_are_told(decimals, tmp_path):
    rounded = np.round(RNG.dirichlet(np.ones(10), 400), decimals)
    kept = np.abs(rounded.sum(axis=1) - 1) <= 5 * 10.0**-decimals * np.sqrt(10 / 12)
    predictions = from_arrays(rounded[kept], np.zeros(kept.sum(), int))
    np.testing.assert_allclose(scores_of(predictions), rounded[kept])
    assert predictions.scores.kind_reason.endswith(f"; rounded to {decimals} decimals")


def test_bfloat16_is_recognized():
    stored = (RNG.dirichlet(np.ones(4), 300).astype(np.float32).view(np.uint32) + 0x7FFF) & 0xFFFF0000
    probs = stored.view(np.float32)
    assert np.abs(probs.sum(axis=1) - 1).max() > 1e-3
    predictions = from_arrays(probs, np.zeros(300, int))
    scores_of(predictions)
    assert predictions.scores.kind_reason.endswith("; rounded as bfloat16")


def test_the_largest_scores_of_more_classes_are_not_taken_for_rounded_ones():
    top = np.round(-np.sort(-RNG.dirichlet(np.ones(30), 200), axis=1)[:, :5], 2)[:, RNG.permutation(5)]
    with pytest.raises(Exception, match="largest scores of more classes"):
        scores_of(from_arrays(top, np.zeros(200, int)))


def test_confidences_of_exactly_one_look_like_no_logits(tmp_path):
    rng = np.random.default_rng(1)
    credit = saved(
        tmp_path / "t.csv",
        {"age": rng.uniform(20, 70, N), "score": rng.uniform(300, 850, N), "target": LABELS > 0},
    )
    refused(credit, "nothing says that (numbers from .* are logits|these are percentages)")
    assert not from_arrays(RNG.normal(size=(N, 3)) * 9, LABELS).provenance.doubts


BIG = 2**53 + np.arange(6) % 3


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_large_integers_are_not_rounded_where_one_is_missing(parts, encoded, tmp_path):
    stored = pa.array([None, *BIG[1:].tolist()], pa.int64())
    table = pa.table({"id": stored, "label": [0, 1] * 3, "prob": np.linspace(0.1, 0.9, 6)})
    if encoded:
        table = table.set_column(0, "id", stored.dictionary_encode())
    for part in range(parts):
        with pa.ipc.new_file(tmp_path / f"part-{part}.arrow", table.schema) as file:
            file.write_table(table)
    found = read(tmp_path).columns["id"]
    assert found.tolist() == ["", *map(str, BIG[1:].tolist())] * parts


def test_a_label_missing_in_a_dictionary_is_told(tmp_path):
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), pa.array(["a", None, "b"]))
    table = pa.table({"label": labels, "prob_a": [0.5, 0.2, 0.1], "prob_b": [0.5, 0.8, 0.9]})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    refused(tmp_path / "t.arrow", "row 1 has no label")


def test_listed_columns_are_of_the_classes_in_the_order_of_the_list(tmp_path):
    columns = {"s1": THREE[:, 1], "s2": THREE[:, 2], "s3": THREE[:, 0]}
    path = saved(tmp_path / "t.csv", {"label": LABELS} | columns)
    trip(path, THREE, LABELS, "a column for each class", target="", scores="s3,s1,s2")
    named = read(path, ReadOptions(scores="s*", classes=("a", "b", "c")))
    np.testing.assert_allclose(scores_of(named), THREE[:, [1, 2, 0]])
