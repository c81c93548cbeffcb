"""Labels in a second table, joined by a key: the same numbers as of one table that was joined by pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from calcli.core.language.errors import InputError, UsageError
from calcli.io.options import ReadOptions
from calcli.io.read import read

WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
}


@pytest.fixture
def made():
    """Scores of three classes and, in another order and of more rows, the labels; keys are numbers."""
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(3), 200)
    y = np.array([rng.choice(["cat", "dog", "eel"], p=one) for one in p])
    keys = rng.permutation(1000)[:200]
    scores = pd.DataFrame(
        {"id": keys, **{f"prob_{name}": p[:, k] for k, name in enumerate(("cat", "dog", "eel"))}}
    )
    truth = pd.DataFrame({"id": keys, "animal": y}).sample(frac=1, random_state=1)
    return scores, truth


def write(frame, path):
    WRITERS[path.suffix[1:]](frame, path)
    return path


def expected(scores, truth):
    """The log-loss of the rows that have one counterpart each, in the order of the scores."""
    both = scores.drop_duplicates("id", keep=False).merge(truth.drop_duplicates("id", keep=False), on="id")
    return log_loss(both.iloc[:, -1], both.filter(like="prob_"))


def found(scores, truth, **options):
    given = read(scores, ReadOptions(labels=str(truth), key="id", **options))
    p = np.concatenate([block.copy() for block in given.scores.blocks(64)])
    return -np.log(p[np.arange(len(p)), given.labels]).mean(), given


@pytest.mark.parametrize(
    "forms", [("csv", "csv"), ("csv", "parquet"), ("parquet", "jsonl"), ("jsonl", "csv")]
)
def test_rows_are_found_by_their_key(made, tmp_path, forms):
    scores, truth = made
    paths = [
        write(one, tmp_path / f"{n}.{form}") for n, (one, form) in enumerate(zip(made, forms, strict=True))
    ]
    value, given = found(*paths)
    assert value == pytest.approx(expected(scores, truth), rel=1e-9)
    assert given.provenance.files == tuple(map(str, paths))
    assert (given.column("id") == scores["id"]).all()


def test_floats_and_integers_are_the_same_keys_and_codes_are_not(made, tmp_path):
    scores, truth = made
    value, _ = found(
        write(scores.astype({"id": float}), tmp_path / "s.parquet"), write(truth, tmp_path / "t.csv")
    )
    assert value == pytest.approx(expected(scores, truth), rel=1e-9)
    codes = scores.assign(id=scores["id"].map("{:05d}".format))
    coded = truth.assign(id=truth["id"].map("{:05d}".format))
    value, _ = found(write(codes, tmp_path / "c.csv"), write(coded, tmp_path / "d.csv"))
    assert value == pytest.approx(expected(scores, truth), rel=1e-9)
    with pytest.raises(InputError, match="share no value of id"):
        read(tmp_path / "c.csv", ReadOptions(labels=str(tmp_path / "t.csv"), key="id"))


def test_rows_without_a_counterpart_are_refused_or_left_out(made, tmp_path):
    scores, truth = made
    truth = pd.concat([truth.iloc[:-7], truth.iloc[:2]])  # 7 are gone, 2 are there twice
    scores = pd.concat([scores, scores.iloc[:1]])
    paths = write(scores, tmp_path / "s.csv"), write(truth, tmp_path / "t.csv")
    twice = int(scores["id"].iloc[0])
    lost = {*truth["id"].iloc[-2:], twice, *scores["id"]} - {*truth["id"].iloc[2:-2]} | {twice}
    left = int(scores["id"].isin(lost).sum())
    said = (
        f"{left} of 201 rows have no label of their own in .*; the first is row 0: id {twice} is there more"
    )
    with pytest.raises(InputError, match=said):
        found(*paths)
    value, given = found(*paths, allow_unmatched=True)
    assert value == pytest.approx(expected(scores, truth), rel=1e-9)
    assert given.n_rows == 201 - left
    assert f"{left} of 201 rows without one were left out, as asked" in given.provenance.notes[0]


def test_the_column_of_labels_is_the_only_one_or_named(made, tmp_path):
    scores, truth = made
    given = write(scores, tmp_path / "s.csv")
    two = write(truth.assign(seen=truth["animal"].str.upper()), tmp_path / "t.csv")
    with pytest.raises(
        InputError, match="columns animal, seen beside id; say which has the labels with --label-column"
    ):
        found(given, two)
    assert found(given, two, label_column="animal")[0] == pytest.approx(expected(scores, truth), rel=1e-9)
    kept = write(truth.rename(columns={"animal": "label"}).assign(used="public"), tmp_path / "u.csv")
    assert found(given, kept)[0] == pytest.approx(expected(scores, truth), rel=1e-9)
    with pytest.raises(UsageError, match=r"say by which column .* --key COLUMN \(columns of both: id\)"):
        read(given, ReadOptions(labels=str(kept)))
    with pytest.raises(UsageError, match=r'--key: .*t\.csv has no column "other"'):
        read(
            write(scores.rename(columns={"id": "other"}), tmp_path / "o.csv"),
            ReadOptions(labels=str(two), key="other"),
        )


def test_the_one_score_may_have_the_name_of_the_labels(made, tmp_path):
    scores, truth = made
    is_cat = truth.assign(animal=(truth["animal"] == "cat").astype(int))
    one = scores[["id"]].assign(animal=scores["prob_cat"])
    given = read(
        write(one, tmp_path / "s.csv"), ReadOptions(labels=str(write(is_cat, tmp_path / "t.csv")), key="id")
    )
    y = one.merge(is_cat, on="id")["animal_y"]
    assert (given.labels == y).all()
    assert np.concatenate([block.copy() for block in given.scores.blocks(64)])[:, -1] == pytest.approx(
        one["animal"]
    )
