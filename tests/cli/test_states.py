"""States on the command line: saved, merged and evaluated in place of predictions."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

NETWORK, CLASSES = "digits_network_test.npy", 10


@pytest.fixture
def state(run, sample, tmp_path):
    path = tmp_path / "network.calcli"
    done = run("evaluate", sample / NETWORK, "--save-state", path, "--metrics", "log_loss,accuracy,ece,ks")
    assert done.status == 0
    return path


def metrics(done):
    assert done.status == 0, done.err
    return json.loads(done.out)["results"][0]["metrics"]


def test_a_state_is_evaluated_like_its_predictions(run, sample, state):
    asked = ("--metrics", "log_loss,accuracy,ece,ks", "-f", "json")
    mine, others = (
        metrics(run("evaluate", state, "-f", "json")),
        metrics(run("evaluate", sample / NETWORK, *asked)),
    )
    assert mine.keys() == others.keys()
    for name, found in others.items():
        assert mine[name]["value"] == pytest.approx(found["value"], rel=1e-6), name


def test_tables_show_what_a_state_was_made_for(run, sample, tmp_path):
    path = tmp_path / "ranks.calcli"
    run("evaluate", sample / NETWORK, "--save-state", path, "--metrics", "top1_brier,aurc")
    shown = [line.split()[0] for line in run("evaluate", path).out.splitlines() if line]
    assert {"top1_brier", "aurc"} <= set(shown)


def test_states_of_halves_are_merged(run, sample, tmp_path):
    epochs = sorted((sample / "epochs").iterdir())[:2]
    for number, file in enumerate(epochs):
        done = run("evaluate", file, "--save-state", tmp_path / f"{number}.calcli", "-q")
        assert done.status == 0, done.err
    whole = tmp_path / "whole.calcli"
    done = run("merge", tmp_path / "[01].calcli", "-o", whole)
    assert done.status == 0, done.err
    assert "2 data sets" in done.out
    asked = ("--metrics", "log_loss,accuracy,ece,ks", "-f", "json")
    merged, joined = (metrics(run("evaluate", *own, *asked)) for own in ([whole], [*epochs, "--concat"]))
    for name, found in joined.items():
        assert merged[name]["value"] == pytest.approx(found["value"], rel=1e-6), name
    told = run("evaluate", whole, "--metrics", "accuracy", "--details").out.splitlines()
    assert "read as  a state of 2 data sets" in told, "a colon with nothing behind it"


def test_quarters_of_few_rows_merged_in_any_order_are_evaluated_as_the_file(run, sample, tmp_path):
    file, quarters = sample / "cancer_bayes_test.csv", []
    table = pd.read_csv(file)
    for n, rows in enumerate(np.array_split(np.arange(len(table)), 4)):
        table.iloc[rows].to_csv(tmp_path / f"{n}.csv", index=False)
        quarters.append(tmp_path / f"{n}.calcli")
        assert run("evaluate", tmp_path / f"{n}.csv", "--save-state", quarters[n], "-q").status == 0
    whole, turned = tmp_path / "whole.calcli", tmp_path / "turned.calcli"
    assert run("merge", *quarters, "-o", whole).status == 0
    assert run("merge", quarters[2], *quarters[:2], quarters[3], "-o", turned).status == 0
    assert whole.read_bytes() == turned.read_bytes()
    found, expected = (metrics(run("evaluate", one, "-f", "json", "--draws", 99)) for one in (whole, file))
    assert found.keys() == expected.keys()
    for name, one in expected.items():  # with folds, which depend on the order of the rows
        assert found[name]["value"] == pytest.approx(one["value"], rel=1e-9), name
    assert run("compare", whole, file, "--metrics", "log_loss", "--paired").status == 0


@pytest.fixture
def coded(tmp_path):
    rng = np.random.default_rng(0)
    probs = rng.random(400)
    frame = pd.DataFrame({"prob": probs, "label": (rng.random(400) < probs).astype(int)})
    frame["id"], frame["site"] = [f"{row:04d}" for row in range(400)], ["01", "1", "2", "03"] * 100
    frame.to_csv(tmp_path / "coded.csv", index=False)
    return frame


def test_slices_and_clusters_of_codes_keep_their_zeros(run, tmp_path, coded):
    asked = ("--metrics", "log_loss", "-f", "json")
    done = run("evaluate", tmp_path / "coded.csv", "--by", "site", *asked)
    parts = {one["slice"]["value"]: one for one in json.loads(done.out)["results"] if one.get("slice")}
    for site, rows in coded.groupby("site"):
        right = np.where(rows["label"] == 1, rows["prob"], 1 - rows["prob"])
        assert parts[site]["metrics"]["log_loss"]["value"] == pytest.approx(-np.log(right).mean())
    assert set(parts) == set(coded["site"])
    clusters = np.array([f"{row % 40:02d}" if row % 80 < 40 else str(row % 40) for row in range(400)])
    intervals = []
    for number, values in enumerate((clusters, np.char.add("c", clusters))):
        coded.assign(site=values).to_csv(tmp_path / f"{number}.csv", index=False)
        found = metrics(run("evaluate", tmp_path / f"{number}.csv", "--cluster", "site", *asked))["log_loss"]
        intervals.append((found["low"], found["high"]))
    np.testing.assert_allclose(*intervals, rtol=1e-12)


def test_slices_of_codes_are_merged_by_their_text(run, tmp_path, coded):
    other = coded.assign(site=np.where(coded["site"] == "2", "A7", coded["site"]), prob=coded["prob"] / 2)
    other.to_csv(tmp_path / "other.csv", index=False)
    for name in ("coded", "other"):
        saving = ("--save-state", tmp_path / f"{name}.calcli", "-q")
        done = run("evaluate", tmp_path / f"{name}.csv", "--by", "site", "--metrics", "log_loss", *saving)
        assert done.status == 0, done.err
    done = run("merge", tmp_path / "coded.calcli", tmp_path / "other.calcli", "-o", tmp_path / "all.calcli")
    assert done.status == 0, done.err
    found = json.loads(run("evaluate", tmp_path / "all.calcli", "--by", "site", "-f", "json").out)["results"]
    sizes = {one["slice"]["value"]: one["input"]["rows"] for one in found if one.get("slice")}
    assert sizes == {"01": 200, "1": 200, "2": 100, "03": 200, "A7": 100}


def test_keys_that_are_codes_are_the_same_in_part_of_a_file(run, tmp_path, coded):
    coded.iloc[:150].to_csv(tmp_path / "part.csv", index=False)
    coded["id"] = coded["id"].where(coded.index < 150, "x" + coded["id"])
    coded.to_csv(tmp_path / "whole.csv", index=False)
    for name in ("part", "whole"):
        saving = ("--save-state", tmp_path / f"{name}.calcli", "-q")
        assert run("evaluate", tmp_path / f"{name}.csv", "--key", "id", *saving).status == 0
    done = run("merge", tmp_path / "part.calcli", tmp_path / "whole.calcli", "-o", tmp_path / "both.calcli")
    assert done.status == 2
    assert "150 values of id in common" in done.err


def test_keys_that_are_codes_are_paired_with_text(run, tmp_path, coded):
    coded.sample(frac=1, random_state=0).to_parquet(tmp_path / "text.parquet")
    files = tmp_path / "coded.csv", tmp_path / "text.parquet"
    done = run("compare", *files, "--key", "id", "--metrics", "log_loss", "-f", "json")
    assert done.status == 0, done.err


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Write 21,000 rows of three classes with two groups; return the file."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("many") / "many.parquet"
    logits = rng.normal(size=(21_000, 3)).astype(np.float32)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(1)
    columns = {f"logit_{k}": logits[:, k] for k in range(3)} | {"label": labels}
    pd.DataFrame(columns | {"of": np.where(np.arange(21_000) % 1000, "a", "b")}).to_parquet(path)
    return path


def test_figures_that_need_rows_are_left_out(run, many, tmp_path):
    state = tmp_path / "many.calcli"  # of three classes, which have a simplex
    assert run("evaluate", many, "--metrics", "log_loss,ks", "--save-state", state, "-q").status == 0
    done = run("plot", state, "-o", tmp_path / "figures")
    assert done.status == 0
    assert "the figure simplex needs rows, which a state does not keep, and is left out" in done.err
    assert run("evaluate", state, "-o", tmp_path / "report", "-q", "--draws", 9).status == 0
    assert {"ks.png", "report.html"} <= {file.name for file in (tmp_path / "report").iterdir()}
    assert run("plot", state, "--figure", "simplex", "-o", tmp_path / "figures").status == 2


def test_figures_and_checks_take_states(run, state, sample, tmp_path):
    two = tmp_path / "two.calcli"
    assert run("evaluate", sample / "cancer_bayes_test.csv", "--save-state", two, "-q").status == 0
    for kept in (state, two):
        assert run("evaluate", kept, "--details").status == 0
    assert run("plot", state, "-o", tmp_path / "figures").status == 0
    assert (tmp_path / "figures" / "reliability.png").exists()
    policy = tmp_path / "p.toml"
    policy.write_text('[[rules]]\nmetric = "log_loss"\nmax = 5\n\n[[rules]]\nmetric = "ece"\nmax = 0.0001\n')
    done = run("check", state, "--policy", policy)
    assert done.status == 1
    assert "log_loss" in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["merge", "{state}", "preds.parquet", "-o", "x.calcli"], "preds.parquet is not a state"),
        (["merge", "{state}", "{state}", "-o", "x.calcli"], "have the same"),
        (["merge", "{state}", "-o", "x.npz"], "end in .calcli"),
        (["evaluate", "{state}", "{state}", "--concat"], "calcli merge"),
        (["evaluate", "{state}", "--by", "country"], "made without slices by country; it has none"),
        (["evaluate", "{state}", "--labels", "y.npy"], "--labels"),
        (["evaluate", "{state}", "--save-state", "copy.calcli"], "--save-state"),
        (["evaluate", "{state}", "--cluster", "user"], "no column 'user'"),
        (["apply", "cal.json", "{state}", "-o", "out.csv"], ""),
    ],
)
def test_what_a_state_is_not_for_is_refused(run, state, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    done = run(*(argument.format(state=state) for argument in arguments))
    assert done.status == 2
    assert words in done.err
    assert "bug" not in done.err
    assert {file.name for file in tmp_path.iterdir()} == {"network.calcli"}


def test_states_are_compared_with_each_other_and_with_files(run, sample, tmp_path):
    files = [sample / "epochs" / f"epoch_0{n}.parquet" for n in (1, 2)]
    states = [tmp_path / f"{n}.calcli" for n in (1, 2)]
    for file, path in zip(files, states, strict=True):
        assert run("evaluate", file, "--save-state", path, "-q").status == 0
    asked = ("--metrics", "log_loss,accuracy,ece", "-f", "json")
    expected = json.loads(run("compare", *files, *asked).out)
    for pair in (states, [states[0], files[1]], [files[0], states[1]]):
        found = json.loads(run("compare", *pair, *asked).out)
        assert found["paired"]
        for name, other in expected["comparisons"][0]["differences"][0].items():
            mine = found["comparisons"][0]["differences"][0][name]
            assert mine["difference"] == pytest.approx(other["difference"], abs=1e-6), name
    assert run("compare", *states).status == 0


def test_a_gate_keeps_a_state_of_the_last_release(run, sample, tmp_path):
    old, new = sample / "epochs" / "epoch_09.parquet", sample / "epochs" / "epoch_01.parquet"
    baseline, policy = tmp_path / "main.calcli", tmp_path / "p.toml"
    assert run("evaluate", old, "--save-state", baseline, "-q").status == 0
    policy.write_text('[[rules]]\nmetric = "log_loss"\nmax_increase = 0.01\n')
    done = run("check", new, "--baseline", baseline, "--policy", policy)
    assert done.status == 1
    assert "nothing was paired" not in done.out
    assert "Unpaired" not in done.out
    assert run("check", old, "--baseline", baseline, "--policy", policy).status == 0


def test_states_of_other_rows_are_compared_unpaired_or_refused(run, sample, state, tmp_path):
    fewer, other = tmp_path / "fewer.npz", tmp_path / "fewer.calcli"
    scores, labels = sample / NETWORK, f"{sample / NETWORK}".replace(".npy", "_labels.npy")
    np.savez(fewer, logits=np.load(scores)[:500], labels=np.load(labels)[:500])
    assert run("evaluate", fewer, "--save-state", other, "-q").status == 0
    asked = ("--metrics", "log_loss,accuracy")
    done = run("compare", state, other, *asked)
    assert done.status == 0
    assert "could not be paired" in done.out
    done = run("compare", state, other, *asked, "--paired")
    assert done.status == 2
    assert "expected the same cases" in done.err


def test_ratios_of_slices_do_not_depend_on_the_order_in_which_weights_are_added(run, tmp_path):
    rng = np.random.default_rng(0)
    probs = rng.random(200)
    rows = {"label": (rng.random(200) < probs).astype(int), "prob_0": 1 - probs, "prob_1": probs}
    beside = {"w": rng.exponential(size=200), "id": rng.permutation(200), "site": np.arange(200) % 2}
    path = tmp_path / "a.parquet"
    pd.DataFrame(rows | beside).to_parquet(path)
    asked = ["--metrics", "cllr", "--by", "site", "--format", "json", "-q"]
    state = ["--key", "id", "--save-state", tmp_path / "a.calcli"]
    values = [
        [one["metrics"]["cllr"]["value"] for one in json.loads(run("evaluate", *call, *asked).out)["results"]]
        for call in ([path, "--weights", "w", *state], [tmp_path / "a.calcli"])
    ]
    assert len(values[0]) == 3
    np.testing.assert_allclose(values[1], values[0], rtol=1e-9)


SLICED = """
[[rules]]
metric = "log_loss"
max = 0.6
slice = "ink=light"
[[rules]]
metric = "brier"
max_increase = 0.01
slice = "ink=*"
"""


def test_rules_on_slices_judge_states_that_have_them_as_the_rows(run, sample, tmp_path):
    rows = [sample / f"release_{n}.parquet" for n in (1, 2)]
    policy, states = tmp_path / "p.toml", [tmp_path / f"{n}.calcli" for n in (1, 2)]
    policy.write_text(SLICED)
    for file, state in zip(rows, states, strict=True):
        made = run("evaluate", file, "--by", "ink", "--key", "id", "--save-state", state, "-q")
        assert made.status == 0

    def judged(file, baseline):
        asked = ("--baseline", baseline, "--key", "id", "--policy", policy, "-f", "json", "-q")
        rules = json.loads(run("check", file, *asked).out)["results"][0]["rules"]
        numbers = [rule[name] for rule in rules for name in ("value", "limit")]
        return [(rule["slice"], rule["result"]) for rule in rules], numbers

    told, numbers = judged(rows[1], rows[0])
    assert [name for name, _ in told] == ["ink=light", "ink=heavy", "ink=light", "ink=medium"]
    for file, baseline in ((rows[1], states[0]), (states[1], rows[0]), (states[1], states[0])):
        assert judged(file, baseline) == (told, pytest.approx(numbers))


def test_rules_on_slices_say_which_state_has_none(run, many, tmp_path):
    state, policy = tmp_path / "s.calcli", tmp_path / "p.toml"
    policy.write_text(SLICED.replace("ink", "of").replace("of=light", "of=a").replace("0.6", "9"))
    assert run("evaluate", many, "--metrics", "log_loss,brier", "--save-state", state, "-q").status == 0
    for files in ((many, "--baseline", state), (state, "--baseline", many)):
        done = run("check", *files, "--policy", policy)
        assert done.status == 2
        told = f"{state} is a state, made without slices by of; it has none; make one from the predictions"
        assert told.replace(" ", "") in "".join(done.out.split())
        assert "no column" not in done.out


def test_slices_of_states_that_differ_in_the_column_are_not_judged_as_pairs(run, sample, tmp_path):
    rows, other = sample / "release_1.parquet", tmp_path / "other.parquet"
    state, policy = tmp_path / "s.calcli", tmp_path / "p.toml"
    policy.write_text(SLICED)
    table = pd.read_parquet(rows)
    table.assign(ink=table["ink"].to_numpy()[::-1]).to_parquet(other)
    assert run("evaluate", rows, "--by", "ink", "--save-state", state, "-q").status == 0
    done = run("check", other, "--baseline", state, "--policy", policy)
    assert done.status == 2
    assert "differ in column 'ink'" in " ".join(done.out.split())


@pytest.fixture
def weighted(run, tmp_path):
    """Write two halves of rows with weights and groups; return what makes a state of one."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 400)
    prob = 1 / (1 + np.exp(-(2 * labels - 1) - rng.normal(size=400)))
    weights = {"w": rng.uniform(0.5, 2, 400), "v": labels + 1.0}
    columns = {"label": labels, "prob": prob, "g": labels, **weights, "id": np.arange(400)}
    pd.DataFrame(columns).to_csv(tmp_path / "all.csv", index=False)
    for n in range(2):
        pd.DataFrame(columns)[200 * n : 200 * (n + 1)].to_csv(tmp_path / f"{n}.csv", index=False)

    def made(file, *more):
        target = tmp_path / f"{file}{len(list(tmp_path.iterdir()))}.calcli"
        done = run(
            "evaluate", tmp_path / f"{file}.csv", "--metrics", "log_loss", "--save-state", target, *more
        )
        assert done.status == 0, done.err
        return target

    return made


def test_states_of_other_weights_are_not_compared_as_pairs(run, weighted):
    first, again = (weighted("all", "--weights", "w") for _ in range(2))
    assert run("compare", first, again).status == 0
    for other, said in (
        (weighted("all"), "has row weights and"),
        (weighted("all", "--weights", "v"), "have different row weights"),
    ):
        done = run("compare", first, other)
        assert done.status == 2
        assert said in done.err.replace("\n", " ")


@pytest.mark.parametrize("weights", [(), ("--weights", "w")])
def test_parts_with_slices_are_merged_in_any_order(run, weighted, tmp_path, weights):
    more = ("--by", "g", "--key", "id", *weights)
    parts = [weighted(n, *more) for n in range(2)]
    files = tmp_path / "whole.calcli", tmp_path / "turned.calcli"
    for file, order in zip(files, (parts, parts[::-1]), strict=True):
        assert run("merge", *order, "-o", file).status == 0
    told = [run("evaluate", file, "--by", "g", "-f", "csv").out for file in files]
    assert told[0].replace("whole", "turned") == told[1]
    rows = run("evaluate", tmp_path / "all.csv", "--by", "g", "--metrics", "log_loss", *weights, "-f", "csv")
    found, expected = (pd.read_csv(io.StringIO(text)) for text in (told[1], rows.out))
    assert len(found) == len(expected) > 2
    np.testing.assert_allclose(found[["value", "low", "high"]], expected[["value", "low", "high"]])
    assert run("compare", *files, "--by", "g").status == 0


def test_slices_of_a_state_need_a_metric_that_sums_tell(run, weighted, tmp_path):
    weighted("all", "--by", "g")
    target, asked = tmp_path / "rows.calcli", ["--metrics", "smooth_ece:lens=class-wise,skce", "--by", "g"]
    asked += ["--draws", "9"]
    done = run("evaluate", tmp_path / "all.csv", *asked, "--save-state", target)
    assert done.status == 2
    said = " ".join(done.err.split())
    assert "and smooth_ece:lens=class-wise, skce need rows; ask for another metric as well" in said
    assert not target.exists()


def test_what_needs_rows_is_refused_for_what_it_is(run, many, tmp_path):
    state, asked = tmp_path / "many.calcli", ("--by", "of", "--metrics", "log_loss,auroc")
    assert run("evaluate", many, *asked, "--save-state", state, "-q").status == 0
    trained = run("evaluate", state, "--calibration-data", many, "--metrics", "calibration_loss")
    assert trained.status == 2
    assert "--calibration-data is for rows, and" in trained.err
    assert "is a state" in trained.err
    sliced = run("evaluate", state, *asked)
    assert sliced.status == 2
    assert "cannot give auroc: this needs rows, and a state keeps sums, not rows" in sliced.err
    assert run("evaluate", state, "--metrics", "auroc").status == 0
    costs = run("evaluate", state, "--metrics", "bayes_risk:costs=zero-one", "--costs", "zero-one")
    assert "--costs does not go into a state" in costs.err


def test_what_is_saved_shows_no_absolute_path(run, sample, tmp_path):
    file = (sample / "cancer_bayes_test.csv").resolve()
    state, policy = tmp_path / "s.calcli", tmp_path / "p.toml"
    assert run("evaluate", file, "--save-state", state, "-q").status == 0
    assert run("check", "--init", file, "--policy", policy).status == 0
    assert str(sample.resolve()).encode() not in state.read_bytes()
    assert str(sample.resolve()) not in policy.read_text()
    assert f"values of {file.name} (269 rows)" in policy.read_text()
    assert "sample_data/cancer_bayes_test.csv" in run("evaluate", state, "--details").out
