"""Several systems in one file, and rows that are left out as asked."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calcli.core.language.errors import InputError
from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.layouts.trips import LABELS, THREE, N
from tests.io.samples import refused, scores_of

P = THREE[:, 0]
Y = (LABELS == 0).astype(int)
SYSTEMS = ("rf=score_rf", "xgb=score_xgb")


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame({"id": range(N), "y": Y, "score_rf": P, "score_xgb": P**2})
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


OPTIONS = ("--system", "rf=score_rf", "--system", "xgb=score_xgb")


def test_a_system_is_read_by_its_name(table):
    options = ReadOptions(system=SYSTEMS)
    np.testing.assert_allclose(scores_of(read(f"{table}/xgb", options))[:, 1], P**2)
    refused(table, "t.csv names none of the systems rf, xgb; say which one", system=SYSTEMS)


def test_systems_side_by_side(run, table, tmp_path):
    done = run(
        "evaluate", table, *OPTIONS, "-f", "json", "--metrics", "brier", "-o", tmp_path / "out", "--draws", 9
    )
    assert done.status == 0, done.err
    found = {
        one["input"]["path"]: one["metrics"]["brier"]["value"] for one in json.loads(done.out)["results"]
    }
    assert found == {
        f"{table}/rf": pytest.approx(np.mean((P - Y) ** 2)),
        f"{table}/xgb": pytest.approx(np.mean((P**2 - Y) ** 2)),
    }
    assert {"rf", "xgb"} <= {folder.name for folder in (tmp_path / "out").iterdir()}


def test_systems_of_one_file_are_compared(run, table):
    done = run("compare", table, *OPTIONS, "-f", "json", "--metrics", "brier")
    assert done.status == 0, done.err
    (difference,) = json.loads(done.out)["comparisons"][0]["differences"]
    assert difference["brier"]["difference"] == pytest.approx(np.mean((P**2 - Y) ** 2 - (P - Y) ** 2))


def test_epochs_of_systems_are_series_of_files(run, table, tmp_path):
    files = [tmp_path / "val" / f"epoch_{number}.csv" for number in (3, 5)]
    files[0].parent.mkdir()
    for file in files:
        file.write_bytes(table.read_bytes())
    options = (*OPTIONS, "--figure", "epochs", "--metrics", "brier", "--data")
    done = run("plot", *files, *options, "-o", tmp_path / "out")
    assert done.status == 0, done.err
    drawn = pd.read_csv(tmp_path / "out" / "epochs.csv")
    assert drawn["number"].tolist() == [3, 5, 3, 5]
    briers = {"brier, rf": np.mean((P - Y) ** 2), "brier, xgb": np.mean((P**2 - Y) ** 2)}
    np.testing.assert_allclose(drawn["value"], drawn["name"].map(briers))


def test_systems_are_checked_and_drawn(run, table, tmp_path):
    (tmp_path / "p.toml").write_text('[[rules]]\nmetric = "brier"\nmax_increase = 2\n')
    done = run(
        "check", table, *OPTIONS, "--policy", tmp_path / "p.toml", "--baseline", f"{table}/rf", "-f", "json"
    )
    assert done.status == 0, done.err
    assert [one["path"] for one in json.loads(done.out)["results"]] == [f"{table}/rf", f"{table}/xgb"]
    done = run("plot", table, *OPTIONS, "--figure", "reliability", "-o", tmp_path / "figures")
    assert (done.status, (tmp_path / "figures" / "reliability.png").is_file()) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--system", "rf"), "--system rf: expected a name and what it stands for"),
        (("--system", "rf=score_rf", "--system", "rf=score_xgb"), "rf has been given before"),
        (("--system", "rf=score_rf", "--scores", "score_rf"), "--system and --scores score_rf both choose"),
        (("--system", "rf=none"), 'has no column like "none"'),
    ],
)
def test_systems_that_make_no_sense(run, table, arguments, message):
    done = run("evaluate", table, *arguments)
    assert done.status == 2
    assert message in done.err


def masked(tmp_path, marker, ending):
    labels = LABELS.astype(object if isinstance(marker, str) else np.int64)
    labels[::4] = marker
    if ending == "npz":
        np.savez(
            tmp_path / "t.npz", logits=np.log(THREE), labels=labels.astype(int), country=np.arange(N) % 3
        )
    else:
        frame = {"label": labels, "country": np.arange(N) % 3} | {
            f"logit_{k}": np.log(THREE[:, k]) for k in range(3)
        }
        pd.DataFrame(frame).to_csv(tmp_path / f"t.{ending}", index=False)
    return tmp_path / f"t.{ending}"


@pytest.mark.parametrize("ending", ["npz", "csv"])
@pytest.mark.parametrize("marker", [-100, 255, -1])
def test_rows_with_a_label_to_be_ignored_are_left_out_and_counted(marker, ending, tmp_path):
    path, kept = masked(tmp_path, marker, ending), np.arange(N) % 4 != 0
    refused(path, rf"row 0 has no label \({marker} marks a missing one\); .* --ignore-label {marker}")
    predictions = read(path, ReadOptions(ignore_label=(str(marker), "77")))
    np.testing.assert_allclose(scores_of(predictions), np.log(THREE[kept]))
    assert predictions.labels.tolist() == LABELS[kept].tolist()
    assert predictions.column("country").tolist() == (np.arange(N) % 3)[kept].tolist()
    assert "15 of 60 rows have a label to ignore" in predictions.provenance.notes[0]


def test_labels_to_be_ignored_may_be_text_and_rows_keep_their_numbers(tmp_path):
    labels = np.array(["ant", "bee", "cat"])[LABELS].astype(object)
    labels[:30] = "unknown"
    scores = THREE.copy()
    scores[40, 0] += 1
    frame = {"label": labels} | {f"prob_{name}": scores[:, k] for k, name in enumerate(("ant", "bee", "cat"))}
    pd.DataFrame(frame).to_csv(tmp_path / "t.csv", index=False)
    refused(tmp_path / "t.csv", "row 40 has probabilities that sum to 2", ignore_label=("unknown",))
    with pytest.raises(InputError, match="all 60 labels are to be ignored"):
        read(tmp_path / "t.csv", ReadOptions(ignore_label=("unknown", "ant", "bee", "cat")))


def test_limits_count_the_rows_that_are_left(tmp_path):
    path = masked(tmp_path, -100, "npz")
    options = ReadOptions(ignore_label=("-100",), limit=10)
    np.testing.assert_allclose(scores_of(read(path, options)), np.log(THREE[np.arange(N) % 4 != 0][:10]))
