"""`apply` keeps the order of the classes in the file, which labels and predictions in numbers count."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calcli

NAMES = np.array(["ant", "bee", "cat"])
ORDER = [2, 0, 1]  # of the columns in the other files
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(300, 3)) * 1.5
LABELS = (LOGITS + RNG.gumbel(size=LOGITS.shape)).argmax(1)
PROBS = np.exp(2 * LOGITS) / np.exp(2 * LOGITS).sum(1, keepdims=True)
PLACES = np.argsort(ORDER)[LABELS]  # the labels as numbers of these columns


@pytest.fixture
def calibrator(run, tmp_path):
    """A calibrator of ant, bee and cat, and the log-loss of its rows behind it."""
    columns = {f"prob_{name}": PROBS[:, k] for k, name in enumerate(NAMES)}
    pd.DataFrame({"label": NAMES[LABELS], **columns}).to_csv(tmp_path / "fit.csv", index=False)
    done = run(
        "fit", tmp_path / "fit.csv", "-m", "dp", "-o", tmp_path / "cal.json", "--folds", 0, "-f", "json"
    )
    assert done.status == 0, done.err
    return tmp_path / "cal.json", json.loads(done.out)["after"]["log_loss"]


def log_loss(run, path, *more):
    """Return what `evaluate` says."""
    done = run("evaluate", path, "--metrics", "log_loss", "-f", "json", *more)
    assert done.status == 0, done.err
    return json.loads(done.out)["results"][0]["metrics"]["log_loss"]["value"]


def turned(folder, kind):
    """Write the same rows with the columns in another order, and labels that are numbers of these."""
    path = folder / f"in.{kind}"
    columns = {f"prob_{NAMES[k]}": PROBS[:, k] for k in ORDER}
    if kind == "npz":
        np.savez(path, probs=PROBS[:, ORDER], labels=PLACES, classes=NAMES[ORDER])
    elif kind == "jsonl":
        objects = [dict(zip(NAMES[ORDER].tolist(), row, strict=True)) for row in PROBS[:, ORDER].tolist()]
        pd.DataFrame({"label": PLACES, "probs": objects}).to_json(path, orient="records", lines=True)
    elif kind == "csv":
        pd.DataFrame({"label": PLACES, **columns}).to_csv(path, index=False)
    else:
        pd.DataFrame({"label": PLACES, **columns}).to_parquet(path, index=False)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz", "jsonl"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "npz", "jsonl"])
def test_labels_that_count_the_columns_still_do(run, tmp_path, calibrator, kind, ending):
    record, expected = calibrator
    target = tmp_path / f"out.{ending}"
    done = run("apply", record, turned(tmp_path, kind), "-o", target)
    assert done.status == 0, done.err
    assert log_loss(run, target) == pytest.approx(expected, rel=1e-4 if kind == "jsonl" else 1e-9)


def test_labels_that_count_the_alphabet_do_not_go_beside_an_array_in_another_order(run, tmp_path, calibrator):
    columns = {f"prob_{NAMES[k]}": PROBS[:, k] for k in ORDER}
    pd.DataFrame({"label": LABELS, **columns}).to_csv(tmp_path / "in.csv", index=False)
    assert run("apply", calibrator[0], tmp_path / "in.csv", "-o", tmp_path / "out.csv").status == 0
    assert log_loss(run, tmp_path / "out.csv") == pytest.approx(calibrator[1], rel=1e-9)
    done = run("apply", calibrator[0], tmp_path / "in.csv", "-o", tmp_path / "out.npz")
    assert done.status == 2
    assert "seem to count the classes as ant, bee, cat, and npz would" in done.err.replace("\n", " ")
    assert not (tmp_path / "out.npz").exists()


def test_numbers_named_in_metadata_are_kept_with_them(run, tmp_path, calibrator):
    record, expected = calibrator
    feature = {"label": {"names": NAMES.tolist(), "_type": "ClassLabel"}}
    said = {b"huggingface": json.dumps({"info": {"features": feature}})}
    columns = {f"prob_{NAMES[k]}": PROBS[:, k] for k in ORDER}
    pq.write_table(pa.table({"label": LABELS, **columns}, metadata=said), tmp_path / "in.parquet")
    target = tmp_path / "out.parquet"
    assert run("apply", record, tmp_path / "in.parquet", "-o", target).status == 0
    assert log_loss(run, target) == pytest.approx(expected, rel=1e-9)


def test_unnamed_columns_stand_as_in_the_fit_whichever_class_is_positive(run, tmp_path):
    scores = np.exp(LOGITS[:, :2]) / np.exp(LOGITS[:, :2]).sum(1, keepdims=True)
    labels = (RNG.random(300) < scores[:, 1] ** 0.5).astype(int)
    np.save(tmp_path / "two.npy", scores)
    np.save(tmp_path / "two_labels.npy", labels)
    files = ("-o", tmp_path / "cal.json", "--cross-validated", tmp_path / "cv.npy", "-f", "json")
    done = run("fit", tmp_path / "two.npy", "-m", "platt", "--positive", "0", *files)
    assert done.status == 0, done.err
    told = json.loads(done.out)
    assert run("apply", tmp_path / "cal.json", tmp_path / "two.npy", "-o", tmp_path / "out.csv").status == 0
    after = told["after"]["log_loss"]
    assert log_loss(run, tmp_path / "out.csv", "--label-column", "label") == pytest.approx(after, rel=1e-9)
    np.save(tmp_path / "cv_labels.npy", labels)
    validated = told["cross_validated"]["log_loss"]
    assert log_loss(run, tmp_path / "cv.npy") == pytest.approx(validated, rel=1e-9)
    fitted = calcli.fit(scores, labels, method="platt", positive="0", folds=0)
    probs = fitted.apply(scores)  # in the order of its classes, 1 and 0
    assert fitted.fit.predictions.classes == ("1", "0")
    assert -np.log(probs[np.arange(300), 1 - labels]).mean() == pytest.approx(after, rel=1e-9)


@pytest.mark.parametrize(("prefix", "options"), [("prob_", ("--classes", "ant,bee,cat")), ("", ())])
def test_options_and_the_calibrator_move_no_columns(run, tmp_path, calibrator, prefix, options):
    made, expected = calibrator
    columns = {f"{prefix}{NAMES[k]}": PROBS[:, k] for k in ORDER}
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    pd.DataFrame(columns | {"label": PLACES}).to_csv(path, index=False)
    done = run("apply", made, path, *options, "-o", out)
    assert done.status == 0, done.err
    said = () if prefix else ("--scores", ",".join(columns))  # as the file itself needs
    assert log_loss(run, out, *said) == pytest.approx(expected)
    assert [*pd.read_csv(out)] == [*columns, "label"]


def test_advice_on_several_orders_leads_to_no_wrong_numbers(run, tmp_path, calibrator):
    path = tmp_path / "test.csv"
    table = pd.DataFrame({f"prob_{NAMES[k]}": PROBS[:, k] for k in ORDER} | {"label": PLACES})
    table.to_csv(path, index=False)
    call = ("benchmark", "--cal", tmp_path / "fit.csv", "--test", path, "--methods", "dp", "-f", "json")
    done = run(*call, "--metrics", "log_loss")
    assert (done.status, "--classes ant,bee,cat if their labels are names" in done.err) == (2, True)
    done = run(*call, "--metrics", "log_loss", "--classes", "ant,bee,cat")
    assert (done.status, done.out) == (2, "")
    assert "test.csv: the labels are numbers, which may count" in done.err
    table.assign(label=NAMES[LABELS]).to_csv(path, index=False)
    found = json.loads(run(*call, "--metrics", "log_loss", "--classes", "ant,bee,cat").out)["trials"]
    losses = [log_loss(run, path), calibrator[1]]
    assert [trial["values"]["log_loss"] for trial in found] == pytest.approx(losses)


def two_classes(folder, layout):
    """Write 300 rows of two classes, labels in numbers; return the file, P(label 1) and the labels."""
    second = 1 / (1 + np.exp(-3 * LOGITS[:, 0]))
    labels = (np.random.default_rng(1).random(300) < 1 / (1 + np.exp(-LOGITS[:, 0]))).astype(int)
    both, path = np.c_[1 - second, second], folder / "two.csv"
    if layout == "ranked":
        path, ranks = folder / "two.jsonl", np.argsort(-both, axis=1)
        lists = {"prob": np.take_along_axis(both, ranks, axis=1), "label": np.array(["wolf", "ape"])[ranks]}
        rows = {"y": labels.tolist()} | {name: one.tolist() for name, one in lists.items()}
        pd.DataFrame(rows).to_json(path, orient="records", lines=True, double_precision=15)
    elif layout == "custom":
        pd.DataFrame({"label": labels, "yes": both[:, 0], "no": second}).to_csv(path, index=False)
    else:
        pd.DataFrame({"label": labels, layout: both[:, 0]}).to_csv(path, index=False)
    np.save(folder / "numbers.npy", labels)
    return path, second, labels


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "npz", "npy"])
@pytest.mark.parametrize(
    ("layout", "fit", "apply"),
    [
        ("ranked", ("--classes", "wolf,ape"), ("--classes", "wolf,ape")),
        ("prob_0", (), ()),
        ("custom", ("--classes", "yes,no"), ("--classes", "yes,no")),
        ("prob", ("--positive", "ape", "--classes", "ape,wolf"), ()),
        ("prob", ("--positive", "ape", "--classes", "ape,wolf"), ("--classes", "ape,wolf")),
    ],
)
def test_what_apply_writes_is_read_as_it_was_meant(run, tmp_path, layout, fit, apply, ending):
    path, second, labels = two_classes(tmp_path, layout)
    made, out = tmp_path / "cal.json", tmp_path / f"out.{ending}"
    assert run("fit", path, *fit, "-m", "temperature", "-o", made).status == 0
    if layout == "prob" and apply:
        apply = (*apply, "--positive", "ape")
    done = run("apply", made, path, *apply, "-o", out)
    assert done.status == 0, done.err
    exponent = 1 / json.loads(made.read_text())["parameters"]["temperature"]
    powers = np.c_[1 - second, second] ** exponent
    expected = -np.log((powers / powers.sum(axis=1, keepdims=True))[np.arange(300), labels]).mean()
    said = ("--labels", tmp_path / "numbers.npy") if ending == "npy" else ()
    named = ("--classes", "yes,no") if layout == "custom" else ()  # which no table says either
    if layout == "prob" and ending not in ("npz", "npy"):  # the same file, which says no more than before
        named = ("--positive", "ape", "--classes", "ape,wolf")
    assert log_loss(run, out, *said, *named) == pytest.approx(expected, rel=1e-9)


def test_an_array_without_names_tells_the_order_of_its_columns(run, tmp_path):
    path, _, _ = two_classes(tmp_path, "prob")
    made, out = tmp_path / "cal.json", tmp_path / "out.npy"
    options = ("--positive", "ape", "--classes", "ape,wolf")
    assert run("fit", path, *options, "-m", "temperature", "-o", made).status == 0
    said = " ".join(run("apply", made, path, "-o", out).err.split())
    assert "the columns of the array are, in this order, ape, wolf" in said


def test_scores_without_labels_need_no_order(run, tmp_path):
    path, _, _ = two_classes(tmp_path, "custom")
    made, out = tmp_path / "cal.json", tmp_path / "out.npz"
    assert run("fit", path, "--classes", "yes,no", "-m", "temperature", "-o", made).status == 0
    pd.read_csv(path).drop(columns="label").to_csv(path, index=False)
    assert run("apply", made, path, "-o", out).status == 0
    assert np.load(out)["classes"].tolist() == ["yes", "no"]


def test_scores_that_only_the_fit_names_are_found_for_it(run, tmp_path):
    path, _, _ = two_classes(tmp_path, "custom")
    pd.read_csv(path).rename(columns={"yes": "q.yes", "no": "q.no"}).to_csv(path, index=False)
    made, out = tmp_path / "cal.json", tmp_path / "out.npz"
    options = ("--scores", "q.*", "--classes", "yes,no")
    assert run("fit", path, *options, "-m", "temperature", "-o", made).status == 0
    assert run("apply", made, path, "-o", out).status == 0
    with np.load(out) as written:  # in the order of custom, which labels in numbers count
        assert written["classes"].tolist() == ["no", "yes"]
