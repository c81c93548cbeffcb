"""`calcli segments`: what is found and told, how columns become segments, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import calcli
from calcli.core.language.errors import UsageError


def table(rows=12_000, seed=0, gap=0.0, slope=1.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(-0.5, 1.3, rows)
    country, device = rng.choice(["DE", "FR", "US"], rows), rng.choice(["ios", "web"], rows)
    age = rng.integers(18, 80, rows).astype(float)
    age[rng.random(rows) < 0.05] = np.nan
    true = np.clip(expit(slope * z) - gap * ((country == "FR") & (device == "ios")), 0, 1)
    label = np.where(rng.random(rows) < true, "yes", "no")
    return pd.DataFrame({"country": country, "device": device, "age": age, "p_yes": expit(z), "label": label})


@pytest.fixture
def save(tmp_path):
    def write(frame, name="preds.csv"):
        frame.to_csv(tmp_path / name, index=False)
        return tmp_path / name

    return write


def sentence(done) -> str:
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1), done
    return done.err


def told(done) -> dict:
    assert done.status == 0, done.err
    return json.loads(done.out)


def test_a_segment_beyond_chance_is_told_with_all_it_takes(run, save):
    frame = table(gap=0.12)
    file = save(frame)
    done = run("segments", file, "--columns", "country,device,age")
    words = " ".join(done.out.split())
    assert done.status == 0
    assert " off beyond chance" in done.out.splitlines()[0]
    assert "With it corrected, nothing else is off beyond chance" in words
    assert "All rows were recalibrated first" in words
    assert max(map(len, done.out.splitlines())) <= 80
    assert len(done.out.splitlines()) <= 24
    found = told(run("segments", file, "--columns", "country,device,age", "-f", "json"))
    assert found["schema"] == "calcli.segments/1"
    (one,) = found["found"]
    own = frame[(frame["country"] == "FR") & (frame["device"] == "ios")]
    assert one["name"] == "country=FR, device=ios"
    assert one["rows"] == len(own)
    assert one["observed"] == pytest.approx((own["label"] == "yes").mean())
    assert 0 < one["low"] < one["value"] < one["high"]
    assert found["p_value_left"] > 0.05
    assert {one["name"] for one in found["segments"]} >= {"country=DE", "device=web", "age=(empty)"}


def test_nothing_beyond_chance_is_an_answer(run, save):
    done = run("segments", save(table(seed=1)), "--columns", "country,device")
    assert done.status == 0
    assert done.out.startswith("Nothing beyond chance in 11 segments")
    assert "Furthest off:" in done.out
    assert "Smallest raw difference found in 80% of cases" in " ".join(done.out.split())


def test_a_whole_model_that_is_over_confident_has_no_segment_that_is(run, save):
    file = save(table(seed=2, slope=0.6))
    assert "Nothing beyond chance" in run("segments", file, "--columns", "country,device").out
    raw = told(run("segments", file, "--columns", "country,device", "--after", "none", "-f", "json"))
    assert raw["found"]


def test_numbers_are_cut_between_values_and_missing_ones_are_a_segment(run, save):
    frame = table(seed=3)
    found = told(run("segments", save(frame), "--columns", "age", "--parts", "4", "-f", "json"))
    names = [one["name"] for one in found["segments"]]
    assert len(names) == 5
    assert sum(one["rows"] for one in found["segments"]) == len(frame)
    for one in found["segments"]:
        low, _, high = one["name"].removeprefix("age=").partition(" to ")
        inside = frame["age"].isna() if low == "(empty)" else frame["age"].between(float(low), float(high))
        assert one["rows"] == inside.sum()
    few = frame.assign(age=np.arange(len(frame)) % 4)
    found = told(run("segments", save(few), "--columns", "age", "-f", "json"))
    assert sorted(one["name"] for one in found["segments"]) == ["age=0", "age=1", "age=2", "age=3"]


def test_depth_and_least_rows(run, save, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    file = save(table(seed=4))
    single = told(run("segments", file, "--columns", "country,device", "--depth", "1", "-f", "json"))
    assert len(single["segments"]) == 5
    large = told(run("segments", file, "--columns", "country,device", "--min-rows", "3000", "-f", "json"))
    assert all(one["rows"] >= 3_000 for one in large["segments"])
    everything = run("segments", file, "--columns", "country,device", "--details").out
    assert sum(line.startswith(("country=", "device=")) for line in everything.splitlines()) == 11


def test_clusters_outcomes_and_many_classes(run, save, tmp_path):
    frame = table(rows=2_000, seed=5)
    frame["user"] = np.arange(2_000)
    copies = save(pd.concat([frame] * 5))
    apart = told(run("segments", copies, "--columns", "country,device", "-f", "json"))
    whole = told(run("segments", copies, "--columns", "country,device", "--cluster", "user", "-f", "json"))
    sizes = [{one["name"]: one["high"] - one["low"] for one in found["segments"]} for found in (apart, whole)]
    assert all(1.7 < sizes[1][name] / sizes[0][name] < 2.8 for name in sizes[1])  # sqrt(5) is 2.24
    rng = np.random.default_rng(6)
    topic = rng.choice(["law", "math", "art"], 4_000)
    correct = rng.random(4_000) < np.where(topic == "math", 0.6, 0.8)
    answers = save(pd.DataFrame({"id": np.arange(4_000), "topic": topic, "correct": correct}), "answers.csv")
    found = told(run("segments", answers, "--columns", "topic", "-f", "json"))
    assert found["found"][0]["name"] == "topic=math"
    assert found["found"][0]["predicted"] == pytest.approx(correct.mean(), abs=1e-5)
    assert "has no probabilities; leave out --metric" in sentence(
        run("segments", answers, "--columns", "topic", "--metric", "log_loss")
    )
    logits = rng.normal(0, 2, (6_000, 3))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    label = (probs.cumsum(axis=1) < rng.random((6_000, 1))).sum(axis=1)
    three = pd.DataFrame(probs, columns=["p_0", "p_1", "p_2"]).assign(label=label, half=np.arange(6_000) % 2)
    file = save(three, "three.csv")
    top = told(run("segments", file, "--columns", "half", "--after", "none", "-f", "json"))
    (one,) = [one for one in top["segments"] if one["name"] == "half=1"]
    assert one["observed"] == pytest.approx((probs.argmax(axis=1) == label)[1::2].mean())
    rest = told(
        run("segments", file, "--columns", "half", "--against-rest", "2", "--after", "none", "-f", "json")
    )
    (one,) = [one for one in rest["segments"] if one["name"] == "half=1"]
    assert one["predicted"] == pytest.approx(probs[1::2, 2].mean())


def test_what_does_not_fit_is_refused(run, save, tmp_path):
    file = save(table(rows=500).assign(id=[f"case {n}" for n in range(500)]))
    assert "--columns is missing" in sentence(run("segments", file))
    assert "no column 'town'" in sentence(run("segments", file, "--columns", "town"))
    assert "no segment has 5,000 rows" in sentence(
        run("segments", file, "--columns", "country", "--min-rows", "5000")
    )
    assert "has 500 values in 500 rows" in sentence(run("segments", file, "--columns", "id"))
    many, saving = save(table(rows=21_000)), ("--save-state", tmp_path / "s.calcli", "-q")
    assert run("evaluate", many, "--metrics", "log_loss", *saving).status == 0
    assert "is a state, which has sums and no rows" in sentence(
        run("segments", tmp_path / "s.calcli", "--columns", "country")
    )
    alike = save(table(rows=500).assign(label="no"), "alike.csv")
    done = run("segments", alike, "--columns", "country")
    assert done.status == 2


def test_a_page_has_the_figure_and_python_has_the_same(run, save, tmp_path):
    frame, page = table(gap=0.12), tmp_path / "page.html"
    file = save(frame)
    assert run("segments", file, "--columns", "country,device", "--html", page).status == 0
    text = page.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "country=FR, device=ios" in text
    found = calcli.segments(frame, columns=["country", "device"])
    assert (
        found.to_dict()["found"]
        == told(run("segments", file, "--columns", "country,device", "-f", "json"))["found"]
    )
    found.save(tmp_path / "report.csv")
    read = pd.read_csv(tmp_path / "report.csv")
    assert list(read.loc[read["found"], "name"]) == ["country=FR, device=ios"]
    with pytest.raises(UsageError, match="columns is missing"):
        calcli.segments(frame)


def test_a_policy_has_a_limit_for_the_gaps_of_segments(run, save, tmp_path):
    file, policy = save(table(gap=0.12)), tmp_path / "calcli.toml"

    def judged(text):
        policy.write_text(f"[[rules]]\n{text}\n")
        done = run("check", file, "--policy", policy, "--format", "json")
        return done.status, json.loads(done.out)["results"][0]["rules"][0] if done.out else done.err

    found = told(run("segments", file, "--columns", "country,device", "-f", "json"))["found"][0]
    status, rule = judged('segments = ["country", "device"]\nmax_gap = 0.02')
    assert (status, rule["result"]) == (1, "failed")
    assert rule["title"] == "gap at most 0.02 [country, device]"
    assert rule["value"] == pytest.approx(abs(found["value"]))
    assert rule["left"] == pytest.approx(0.02 - found["low"])
    assert "the gap of country=FR, device=ios is +" in rule["reason"]
    assert judged('segments = ["country", "device"]\nmax_gap = 0.2')[0] == 0
    assert judged('segments = ["country"]\nmax_gap = 0.02\nmin_rows = 10000')[1]["result"] == "not judged"
    assert judged('segments = ["town"]\nmax_gap = 0.02')[1]["result"] == "not judged"
    both = '[[rules]]\nmetric = "log_loss"\nmax = 9\n[[rules]]\nsegments = ["country"]\nmax_gap = 0.5\n'
    policy.write_text(both)
    assert run("check", file, "--policy", policy).status == 0
    for wrong in (
        'segments = ["country"]',
        "segments = []\nmax_gap = 0.1",
        'segments = ["a"]\nmetric = "ece"',
    ):
        status, message = judged(wrong)
        assert status == 2
        assert "rule 1" in message
