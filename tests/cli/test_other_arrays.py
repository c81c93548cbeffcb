"""Archives as a Trainer's predictions are saved: what stands beside scores and labels stops no command."""

from __future__ import annotations

import numpy as np
import pytest

RNG = np.random.default_rng(8)
N = 60
LOGITS = RNG.normal(size=(N, 3))
LABELS = RNG.integers(3, size=N)
BESIDE = {  # name: the array, and whether it is passed on
    "metrics": (np.array({"test_loss": 0.3}, dtype=object), False),
    "each": (np.array([{"a": 1}] * N, dtype=object), False),
    "pairs": (np.zeros(N, dtype=[("a", "f4"), ("b", "i4")]), False),
    "phase": (np.exp(1j * np.arange(N)), False),
    "seed": (np.float64(3), False),
    "hidden": (RNG.normal(size=(N, 4)), False),
    "code": (np.array([b"ab", b"c"] * (N // 2)), True),
    "day": (np.arange(N).astype("M8[s]"), True),
    "group": (np.array(["x", "y"] * (N // 2)), True),
}


@pytest.fixture
def archive(tmp_path):
    """Return an archive with all of these."""
    beside = {name: array for name, (array, _) in BESIDE.items()}
    np.savez(tmp_path / "preds.npz", predictions=LOGITS, label_ids=LABELS, **beside)
    return tmp_path / "preds.npz"


@pytest.mark.parametrize(
    "command",
    [
        ("inspect", "FILE"),
        ("evaluate", "FILE", "--metrics", "log_loss", "--save-state", "state.calcli"),
        ("evaluate", "FILE", "--metrics", "log_loss", "--by", "group"),
        ("compare", "FILE", "FILE", "--metrics", "log_loss"),
        ("plot", "FILE", "--draws", 0, "--figure", "ks", "-o", "figures"),
        ("check", "--init", "FILE", "--policy", "policy.toml"),
        ("benchmark", "--cal", "FILE", "--folds", 2, "--methods", "bias"),
        ("fit", "FILE", "-m", "bias", "--folds", 2, "--cross-validated", "cross-validated.npz"),
    ],
    ids=lambda command: " ".join(map(str, command[:3])),
)
def test_every_command_reads_it(run, archive, monkeypatch, command):
    monkeypatch.chdir(archive.parent)
    done = run(*(archive if word == "FILE" else word for word in command))
    assert done.status == 0, done.err


def test_apply_passes_on_what_it_can(run, archive, tmp_path):
    assert run("fit", archive, "-m", "temperature", "-o", tmp_path / "cal.json", "-q").status == 0
    done = run("apply", tmp_path / "cal.json", archive, "-o", tmp_path / "out.npz")
    assert done.status == 0, done.err
    lost = ", ".join(name for name, (_, kept) in BESIDE.items() if not kept)
    assert f"preds.npz: {lost} could not be passed on to npz" in done.err
    found = np.load(tmp_path / "out.npz")  # which loads no objects
    for name, (array, kept) in BESIDE.items():
        assert (name in found.files) == kept
        if kept:
            np.testing.assert_array_equal(found[name], array)
    np.testing.assert_array_equal(found["label_ids"], LABELS)
    np.savez(tmp_path / "plain.npz", predictions=LOGITS, label_ids=LABELS)
    assert (
        run("apply", tmp_path / "cal.json", tmp_path / "plain.npz", "-o", tmp_path / "same.npz").status == 0
    )
    np.testing.assert_array_equal(found["probs"], np.load(tmp_path / "same.npz")["probs"])
