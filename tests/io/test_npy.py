"""Numpy files: every layout and type, and the search for the labels."""

from __future__ import annotations

import gzip
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from calcli.core.language.errors import InputError
from calcli.io.options import ReadOptions
from calcli.io.read import read, read_concat
from tests.io.samples import random_logits, random_probs, scores_of


def save(folder: Path, scores, labels, stem: str = "test") -> Path:
    np.save(folder / f"{stem}.npy", scores)
    np.save(folder / f"{stem}_labels.npy", labels)
    return folder / f"{stem}.npy"


def test_a_packed_array_is_read_with_the_labels_beside_it(tmp_path):
    scores, labels = random_probs()
    for name, values in (("p", scores), ("p_labels", labels)):
        with gzip.open(tmp_path / f"{name}.npy.gz", "wb") as file:
            np.save(file, values)
    found = read(tmp_path / "p.npy.gz")
    np.testing.assert_array_equal(scores_of(found), scores)
    np.testing.assert_array_equal(found.labels, labels)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_labels_show_which_axis_has_the_classes(axis, tmp_path):
    scores, labels = random_probs()
    found = read(save(tmp_path, np.moveaxis(scores, 1, axis), labels))
    np.testing.assert_array_equal(scores_of(found), scores)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f4", ">f8", "i2", "i8"])
def test_orders_and_types(order, kind, tmp_path):
    sample = random_logits()
    scores = np.array(sample.scores.astype(kind), order=order)
    predictions = read(save(tmp_path, scores, sample.labels))
    expected = np.float32 if kind in ("f2", "f4", ">f4") else np.float64
    result = scores_of(predictions)
    assert result.dtype == expected
    assert result.dtype.isnative
    np.testing.assert_array_equal(result, scores.astype(expected))
    np.testing.assert_array_equal(predictions.labels, sample.labels)
    assert predictions.classes == tuple(map(str, range(12)))


def test_column_order_is_read_in_several_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("calcli.io.tables.arrays.COLUMN_BYTES", 12 * 4 * 10)
    sample = random_logits()
    predictions = read(save(tmp_path, np.asfortranarray(sample.scores), sample.labels))
    for rows in (1, 7, 25, 100):
        np.testing.assert_array_equal(scores_of(predictions, rows), sample.scores)


@pytest.mark.parametrize("order", ["C", "F"])
def test_all_axes_but_the_last_are_rows(order, tmp_path):
    rng = np.random.default_rng(0)
    scores = np.array(rng.normal(size=(4, 5, 6, 3)), order=order)
    labels = np.array(rng.integers(3, size=(4, 5, 6)), order=order)
    predictions = read(save(tmp_path, scores, labels))
    np.testing.assert_array_equal(scores_of(predictions), scores.reshape(-1, 3))
    np.testing.assert_array_equal(predictions.labels, labels.reshape(-1))


def test_real_files_are_understood(dataset, tmp_path):
    """Raw outputs are logits; log-posteriors, which sum to one as exponentials, are log-probabilities."""
    for name, kind in (
        ("cifar10_resnet-20", "logits"),
        ("agnews_gpt2", "log-probs"),
        ("sst2_gpt2", "log-probs"),
    ):
        scores, labels = dataset(name)
        predictions = read(save(tmp_path, scores, labels))
        assert predictions.kind == kind
        np.testing.assert_array_equal(scores_of(predictions, 1000), scores)
        np.testing.assert_array_equal(predictions.labels, labels)


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ("test.npy", "test_labels.npy"),
        ("test.npy", "test_targets.npy"),
        ("test_logits.npy", "test_labels.npy"),
        ("test_logits.npy", "test_logits_labels.npy"),
        ("scores.npy", "labels.npy"),
        ("scores.npy", "targets.npy"),
        ("anything.npy", "other-labels.npy"),
    ],
)
def test_labels_are_found_beside_the_scores(scores, labels, tmp_path):
    sample = random_logits()
    np.save(tmp_path / scores, sample.scores)
    np.save(tmp_path / labels, sample.labels)
    predictions = read(tmp_path / scores)
    np.testing.assert_array_equal(predictions.labels, sample.labels)
    assert predictions.provenance.labels == str(tmp_path / labels)
    assert predictions.provenance.files == (str(tmp_path / scores), str(tmp_path / labels))


def test_labels_of_the_same_stem_go_before_others(tmp_path):
    sample = random_logits()
    save(tmp_path, sample.scores, sample.labels, "b")
    path = save(tmp_path, sample.scores, sample.labels[::-1], "a")
    np.testing.assert_array_equal(read(path).labels, sample.labels[::-1])


def test_an_option_goes_before_labels_beside(tmp_path):
    sample = random_logits()
    path = save(tmp_path, sample.scores, sample.labels)
    np.save(tmp_path / "second.npy", sample.labels[::-1])
    predictions = read(path, ReadOptions(labels=str(tmp_path / "second.npy")))
    np.testing.assert_array_equal(predictions.labels, sample.labels[::-1])


def test_parts_with_their_own_labels(tmp_path):
    sample = random_logits(60)
    for part in range(12):
        rows = slice(5 * part, 5 * part + 5)
        save(tmp_path, sample.scores[rows], sample.labels[rows], f"part{part}")
    for predictions in (read(tmp_path), read_concat([tmp_path / f"part{part}.npy" for part in range(12)])):
        np.testing.assert_array_equal(scores_of(predictions), sample.scores)
        np.testing.assert_array_equal(predictions.labels, sample.labels)


def test_parts_with_one_file_of_labels(tmp_path):
    sample = random_logits(60)
    for part in range(3):
        np.save(tmp_path / f"part{part}.npy", sample.scores[20 * part : 20 * part + 20])
    np.save(tmp_path / "labels.npy", sample.labels)
    predictions = read(tmp_path)
    np.testing.assert_array_equal(scores_of(predictions), sample.scores)
    np.testing.assert_array_equal(predictions.labels, sample.labels)


@pytest.mark.parametrize("limit", [1, 20, 21, 60])
def test_limit_may_end_within_a_part(limit, tmp_path):
    sample = random_logits(60)
    for part in range(3):
        rows = slice(20 * part, 20 * part + 20)
        save(tmp_path, sample.scores[rows], sample.labels[rows], f"part{part}")
    predictions = read(tmp_path, ReadOptions(limit=limit))
    np.testing.assert_array_equal(scores_of(predictions), sample.scores[:limit])
    np.testing.assert_array_equal(predictions.labels, sample.labels[:limit])


def test_text_labels_with_class_names(tmp_path):
    sample = random_probs()
    names = np.array(["red", "green", "blue"])
    path = save(tmp_path, sample.scores, names[sample.labels])
    predictions = read(path, ReadOptions(classes=("red", "green", "blue")))
    np.testing.assert_array_equal(predictions.labels, sample.labels)


@pytest.mark.parametrize("second", ["logits", "probs"])
def test_one_score_a_row_is_that_of_the_second_class(second, tmp_path):
    scores = np.array([0.25, 0.5, 1.0]) if second == "probs" else np.array([-3.0, 0.0, 2.0])
    predictions = read(save(tmp_path, scores, [0, 1, 1]))
    first = 1 - scores if second == "probs" else np.zeros(3)
    assert predictions.kind == second
    assert predictions.classes == ("0", "1")
    np.testing.assert_array_equal(scores_of(predictions), np.stack([first, scores], axis=1))


def test_positive_says_which_class_is_second(tmp_path):
    path = save(tmp_path, np.array([0.25, 0.5, 1.0]), ["yes", "no", "no"])
    predictions = read(path, ReadOptions(positive="yes"))
    assert predictions.classes == ("no", "yes")
    np.testing.assert_array_equal(predictions.labels, [1, 0, 0])


def test_positive_turns_two_columns_round(tmp_path):
    scores = np.array([[0.25, 0.75], [0.5, 0.5]])
    path = save(tmp_path, scores, ["yes", "no"])
    predictions = read(path, ReadOptions(classes=("yes", "no"), positive="yes"))
    assert predictions.classes == ("no", "yes")
    np.testing.assert_array_equal(predictions.labels, [1, 0])
    np.testing.assert_array_equal(scores_of(predictions), scores[:, ::-1])


def test_a_single_log_probability_gives_the_other(tmp_path):
    chance = np.array([0.25, 1e-9, 1.0])
    path = save(tmp_path, np.log(chance), [0, 1, 1])
    scores = scores_of(read(path, ReadOptions(kind="log-probs")))
    np.testing.assert_allclose(np.exp(scores), np.stack([1 - chance, chance], axis=1), rtol=1e-12)


def test_archive_by_usual_names_and_by_options(tmp_path):
    sample = random_probs()
    weights = np.arange(1.0, 41)
    names = ["red", "green", "blue"]
    path = tmp_path / "a.npz"
    np.savez(
        path, probs=sample.scores, y_true=sample.labels, w=weights, classes=names, site=np.arange(40) % 2
    )
    predictions = read(path, ReadOptions(weights="w"))
    np.testing.assert_array_equal(scores_of(predictions), sample.scores)
    np.testing.assert_array_equal(predictions.labels, sample.labels)
    np.testing.assert_array_equal(predictions.weights, weights)
    np.testing.assert_array_equal(predictions.columns["site"], np.arange(40) % 2)
    assert predictions.classes == ("red", "green", "blue")
    assert (predictions.kind, predictions.provenance.labels) == ("probs", 'array "y_true"')
    np.savez_compressed(path, a=sample.scores, b=sample.labels)
    predictions = read(path, ReadOptions(scores="a", labels="b"))
    np.testing.assert_array_equal(scores_of(predictions), sample.scores)
    np.testing.assert_array_equal(predictions.labels, sample.labels)


def test_archives_are_joined(tmp_path):
    sample = random_probs()
    for part in range(4):
        rows = slice(10 * part, 10 * part + 10)
        site = np.arange(40)[rows]
        np.savez(
            tmp_path / f"{part}.npz", probs=sample.scores[rows], label=sample.labels[rows], w=site, site=site
        )
    predictions = read(tmp_path, ReadOptions(weights="w"))
    np.testing.assert_array_equal(scores_of(predictions), sample.scores)
    np.testing.assert_array_equal(predictions.columns["site"], np.arange(40))
    np.testing.assert_array_equal(predictions.weights, np.arange(40))


def test_a_file_cut_while_it_is_read(tmp_path):
    sample = random_logits()
    path = save(tmp_path, sample.scores, sample.labels)
    predictions = read(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="became shorter"):
        scores_of(predictions)


def test_arrays_load_neither_pyarrow_nor_pandas(tmp_path):
    sample = random_logits()
    path = save(tmp_path, sample.scores, sample.labels)
    code = (
        "import sys\nfrom calcli.io.read import read\n"
        "sum(len(block) for block in read(sys.argv[1]).scores.blocks(9))\n"
        "assert not {'pandas', 'pyarrow'} & set(sys.modules)"
    )
    run = [sys.executable, "-c", code, path]
    done = subprocess.run(run, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("columns", [-3, -(2**63)])
@pytest.mark.parametrize("drop", [False, True])
def test_an_array_of_less_than_no_columns_is_damaged(columns, drop, tmp_path):
    path = tmp_path / "t.npy"
    with path.open("wb") as file:
        head = {"descr": "<f4", "fortran_order": False, "shape": (60, columns)}
        np.lib.format.write_array_header_1_0(file, head)
        file.write(bytes(400))
    np.save(tmp_path / "t_labels.npy", np.zeros(60, int))
    with pytest.raises(InputError, match=r"t.npy: the head of this .npy file is damaged; save it again"):
        read(path, ReadOptions(drop_missing=drop))


@pytest.mark.parametrize("name", ["test_labels.txt", "labels.txt", "y_test.txt"])
def test_labels_are_read_from_a_text_file_with_one_a_line(name, tmp_path):
    scores, labels = random_probs()
    np.save(tmp_path / "test.npy", scores)
    np.savetxt(tmp_path / name, labels, fmt="%d")
    predictions = read(tmp_path / "test.npy")
    np.testing.assert_array_equal(predictions.labels, labels)
    assert predictions.provenance.labels.endswith(name)


def test_labels_in_a_text_file_may_be_names_or_numbers(tmp_path):
    scores, labels = random_probs()
    np.save(tmp_path / "test.npy", scores)
    classes = tuple(f"class {k}" for k in range(scores.shape[1]))
    (tmp_path / "names.txt").write_text("".join(f"{classes[k]}\r\n" for k in labels), encoding="utf-8-sig")
    (tmp_path / "numbers.txt").write_text("\n".join(f"{k}.0" for k in labels))
    options = ReadOptions(labels=str(tmp_path / "names.txt"), classes=classes)
    np.testing.assert_array_equal(read(tmp_path / "test.npy", options).labels, labels)
    options = ReadOptions(labels=str(tmp_path / "numbers.txt"))
    np.testing.assert_array_equal(read(tmp_path / "test.npy", options).labels, labels)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"1\n0\n"])
def test_a_text_file_without_a_label_for_each_row_is_refused(content, tmp_path):
    np.save(tmp_path / "test.npy", random_probs().scores)
    (tmp_path / "labels.txt").write_bytes(content)
    with pytest.raises(InputError, match=r"labels\.txt (is empty|is not text in UTF-8|has 2 labels)"):
        read(tmp_path / "test.npy")


@pytest.mark.parametrize("packed", [False, True])
def test_scores_in_one_flat_array_are_refused_with_a_command_that_shapes_them(packed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores, labels = random_probs()
    if packed:
        np.savez("p.npz", probs=scores.ravel(), labels=labels)
    else:
        np.save("p.npy", scores.ravel())
        np.save("labels.npy", labels)
    with pytest.raises(InputError, match="row by row: python -c") as caught:
        read(f"p.np{'z' if packed else 'y'}")
    command = str(caught.value).partition("python ")[2].partition("; else name")[0]
    subprocess.run([sys.executable, *shlex.split(command)], check=True)
    predictions = read(f"p_rows.np{'z' if packed else 'y'}")
    np.testing.assert_array_equal(scores_of(predictions), scores)
    np.testing.assert_array_equal(predictions.labels, labels)
