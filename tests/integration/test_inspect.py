"""A log that Inspect writes itself, against what its own API says of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed: make integration")


@pytest.mark.filterwarnings("ignore")  # of the package itself
def test_a_log_is_read_with_metadata_and_epochs(run, tmp_path):
    from inspect_ai import dataset, log, model, scorer, solver

    rng = np.random.default_rng(0)

    @solver.solver
    def answering():
        async def solve(state, generate):
            state.output = model.ModelOutput.from_content("mockllm/model", rng.choice(["A", "B"]))
            return state

        return solve

    samples = [
        dataset.Sample(id=f"q{n}", input="?", target="A", metadata={"category": "ab"[n % 2]})
        for n in range(30)
    ]
    task = inspect_ai.Task(
        dataset=dataset.MemoryDataset(samples),
        solver=answering(),
        scorer=[scorer.match(), scorer.includes()],
        epochs=inspect_ai.Epochs(3, "mean"),
    )
    inspect_ai.eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")
    (file,) = tmp_path.glob("*.eval")
    stored = log.read_eval_log(str(file)).samples
    right = {(one.id, one.epoch): one.scores["match"].value == "C" for one in stored}
    done = run("evaluate", str(file), "--score", "match", "--by", "metadata_category", "-f", "json")
    every, *slices = json.loads(done.stdout)["results"]
    assert every["input"]["questions"] == "30 questions x 3 epochs"
    assert every["metrics"]["accuracy"]["value"] == pytest.approx(np.mean(list(right.values())))
    for part in slices:
        own = [
            right[one.id, one.epoch] for one in stored if one.metadata["category"] == part["slice"]["value"]
        ]
        assert part["metrics"]["accuracy"]["value"] == pytest.approx(np.mean(own))
    assert "score_match" in run("inspect", str(file), "--score", "match").stdout
