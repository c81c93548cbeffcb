"""`calcli monitor`: alarms and their dates, what it refuses, a state from run to run, and the known traps."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import calcli
from calcli.core.comparing.monitoring import joined
from calcli.core.language.errors import InputError, UsageError

DAYS, ROWS = 40, 200


def stream(days=DAYS, rows=ROWS, seed=0, off=0.0, after=0, start="2026-01-01", sd=0.0):
    """Return rows whose outcomes are less frequent than predicted by so much, after so many days."""
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(days), rows)
    z = rng.normal(-0.5, 1.5, len(day))
    true = expit(z + np.repeat(rng.normal(0, sd, days), rows) if sd else z)
    true = np.clip(true - off * (day >= after), 0, 1)
    time = pd.Timestamp(start) + pd.to_timedelta(day * 86_400 + rng.integers(0, 86_400, len(day)), unit="s")
    label = np.where(rng.random(len(day)) < true, "yes", "no")
    return pd.DataFrame(
        {"time": time, "group": rng.choice(["a", "b"], len(day)), "p_yes": expit(z), "label": label}
    )


@pytest.fixture
def save(tmp_path):
    def write(frame, name="log.csv"):
        (frame.to_parquet if name.endswith("parquet") else frame.to_csv)(tmp_path / name, index=False)
        return tmp_path / name

    return write


def sentence(done) -> str:
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1), done
    return done.err


def told(done) -> dict:
    return json.loads(done.out)


def test_a_change_alarms_is_dated_and_named(run, save):
    log = save(stream(off=0.1, after=20))
    done = run("monitor", log, "--time", "time")
    assert done.status == 1
    assert done.out.startswith("ALARM: 2026-01-2")
    words = " ".join(done.out.split())
    assert "Yes over-predicted: " in words
    assert "at most 5% of streams ever raise a false alarm" in words
    found = told(run("monitor", log, "--time", "time", "-f", "json"))
    assert (found["schema"], found["alarm"]) == ("calcli.monitor/1", True)
    (whole,) = found["streams"]
    assert whole["alarm_at"] == pytest.approx(20)
    assert "2026-01-20" <= whole["change"]["since"] <= "2026-01-22"
    assert -0.15 < whole["change"]["observed"] - whole["change"]["predicted"] < -0.05
    crossed = [one["name"] for one in whole["periods"] if one["evidence"] >= 20]
    assert crossed[0] == whole["alarm"]


def test_a_calibrated_stream_stays_quiet_and_every_period_is_told(run, save):
    frame = stream()
    found = told(run("monitor", save(frame), "--time", "time", "--format", "json"))
    (whole,) = found["streams"]
    assert (found["alarm"], whole["alarm"], whole["change"]) == (False, None, None)
    label, prob = frame["label"].eq("yes"), frame["p_yes"]
    loss = -np.log(np.where(label, prob, 1 - prob))
    days = pd.DataFrame({"y": label, "p": prob, "loss": loss, "v": prob * (1 - prob)}).groupby(
        frame["time"].dt.strftime("%Y-%m-%d")
    )
    expected = days.mean()
    assert [one["name"] for one in whole["periods"]] == list(expected.index)
    for name, column in (("observed", "y"), ("predicted", "p"), ("log_loss", "loss")):
        np.testing.assert_allclose([one[name] for one in whole["periods"]], expected[column], rtol=1e-9)
    error = np.sqrt(days["v"].sum()) / ROWS
    np.testing.assert_allclose([one["error"] for one in whole["periods"]], error, rtol=1e-9)


@pytest.mark.parametrize("days", [1, 6, 200])
def test_the_screen_has_24_lines_however_many_periods(run, save, days, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for off in (0.0, 0.2):
        done = run(
            "monitor", save(stream(days=days, rows=60, off=off).drop(columns="group")), "--time", "time"
        )
        assert len(done.out.splitlines()) <= 24
    everything = run("monitor", save(stream(days=30, rows=20)), "--time", "time", "--details").out
    assert sum(line.startswith("2026-01-") for line in everything.splitlines()) == 30


def test_rows_may_be_in_any_order_and_times_in_any_form(run, save):
    frame = stream(days=10)
    usual = told(run("monitor", save(frame), "--time", "time", "-f", "json"))["streams"]
    mixed = frame.sample(frac=1, random_state=1)
    zoned = mixed.assign(time=mixed["time"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    words = zoned.assign(time=zoned["time"].map(lambda one: one.isoformat()))
    days = mixed.assign(time=mixed["time"].dt.strftime("%Y%m%d").astype(int))
    utc = mixed.assign(time=mixed["time"].dt.strftime("%Y-%m-%d %H:%M:%S UTC"))
    for frame, name in (
        (mixed, "a.csv"),
        (zoned, "b.parquet"),
        (words, "c.csv"),
        (days, "d.csv"),
        (utc, "e.csv"),
    ):
        found = told(run("monitor", save(frame, name), "--time", "time", "-f", "json"))["streams"]
        assert [one["name"] for one in found[0]["periods"]] == [one["name"] for one in usual[0]["periods"]]
        np.testing.assert_allclose(
            [one["evidence"] for one in found[0]["periods"]],
            [one["evidence"] for one in usual[0]["periods"]],
            rtol=1e-8,
        )


def test_periods_are_weeks_from_monday_months_or_numbers_of_rows(run, save):
    log = save(stream(days=40, rows=20))

    def names(*options):
        found = told(run("monitor", log, *options, "-f", "json"))["streams"][0]["periods"]
        return [one["name"] for one in found]

    weeks = names("--time", "time", "--every", "week")
    assert weeks == [f"{day:%Y-%m-%d}" for day in pd.date_range("2025-12-29", "2026-02-09", freq="W-MON")]
    assert names("--time", "time", "--every", "month") == ["2026-01", "2026-02"]
    assert names("--every", "300") == ["rows 1 to 300", "rows 301 to 600", "rows 601 to 800"]
    assert names("--time", "time", "--since", "2026-02-01")[0] == "2026-02-01"


def test_days_joined_are_the_week_of_their_rows():
    frame = stream(days=14, start="2026-01-05")
    days, weeks = (
        calcli.monitor(frame, time="time", every=every).streams[0].periods for every in ("day", "week")
    )
    for week, seven in zip(weeks, (days[:7], days[7:]), strict=True):
        one = joined(seven)
        for name in ("rows", "predicted", "observed", "error", "log_loss"):
            assert getattr(one, name) == pytest.approx(getattr(week, name), rel=1e-9), name


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (["2026-01-01", "tomorrow"], "row 1 has 'tomorrow' in column 'time'; expected a date or a time"),
        ([1767225600, 1767312000], "row 0 has '1767225600' in column 'time'; expected a date"),
        (["2026-01-01", None], "row 1 has no value in column 'time'"),
        (["2026-01-01T00:00:00Z", "2026-01-01T00:00:00"], "some times in column 'time' have a time zone"),
        (["01/02/2026", "02/02/2026"], "row 0 has '01/02/2026'"),
    ],
)
def test_times_that_cannot_be_read_are_refused(run, save, column, expected):
    log = save(stream(days=1).assign(time=column * (ROWS // 2)))
    assert expected in sentence(run("monitor", log, "--time", "time"))


def test_options_that_do_not_fit_are_refused(run, save):
    log = save(stream(days=3))
    assert "--every week is about times" in sentence(run("monitor", log, "--every", "week"))
    assert "--mature is about times" in sentence(run("monitor", log, "--mature", "30d"))
    assert "expected a number of days" in sentence(run("monitor", log, "--time", "time", "--mature", "soon"))
    assert "expected day, week, month" in sentence(run("monitor", log, "--time", "time", "--every", "hour"))
    assert "no column 'when'" in sentence(run("monitor", log, "--time", "when"))
    assert "no rows to watch" in sentence(run("monitor", log, "--time", "time", "--since", "2027-01-01"))
    weighted = save(stream(days=3).assign(weight=2.0), "weighted.csv")
    assert "row weights" in sentence(run("monitor", weighted, "--weights", "weight", "--time", "time"))


def test_files_are_periods_in_the_order_of_their_numbers(run, save):
    files = [save(stream(days=1, seed=n).drop(columns="time"), f"day_{n}.csv") for n in (9, 10, 11)]
    found = told(run("monitor", *files, "-f", "json"))["streams"][0]["periods"]
    assert [one["name"].partition("/")[2] for one in found] == ["day_9.csv", "day_10.csv", "day_11.csv"]
    assert "day_9.csv comes after" in sentence(run("monitor", *files[1:], files[0]))
    again = save(stream(days=1, seed=9).drop(columns="time"), "other.csv")
    assert "is the same file as that of" in sentence(run("monitor", files[0], again))
    with_states = []
    for file in files:
        state = file.with_suffix(".calcli")
        assert run("evaluate", file, "--save-state", state, "-q").status == 0
        with_states.append(state)
    of_states = told(run("monitor", *with_states, "-f", "json"))["streams"][0]["periods"]
    for one, other in zip(found, of_states, strict=True):
        assert one["evidence"] == pytest.approx(other["evidence"], rel=1e-9)
        assert one["log_loss"] == pytest.approx(other["log_loss"], rel=1e-9)


def test_a_state_carries_the_evidence_from_run_to_run(run, save, tmp_path):
    frame, state = stream(days=30, off=0.1, after=15), tmp_path / "watch.json"
    at_once = told(run("monitor", save(frame), "--time", "time", "-f", "json"))
    parts = frame.groupby((frame["time"].dt.day_of_year - 1) // 6)
    for n, (_, day) in enumerate(parts, 1):
        done = run("monitor", save(day, "day.csv"), "--time", "time", "--state", state, "-f", "json")
        found = [one["evidence"] for one in told(done)["streams"][0]["periods"]]
        assert found == pytest.approx([one["evidence"] for one in at_once["streams"][0]["periods"][: 6 * n]])
    assert (done.status, told(done)["streams"][0]["alarm"]) == (1, at_once["streams"][0]["alarm"])
    before = state.read_bytes()
    assert "has the period 2026-01-25 already; leave out what" in sentence(
        run("monitor", save(day, "day.csv"), "--time", "time", "--state", state)
    )
    late = save(day.assign(time=day["time"] - pd.Timedelta(days=40)), "late.csv")
    assert "the period 2025-12-16 is before 2026-01-30" in sentence(
        run("monitor", late, "--time", "time", "--state", state)
    )
    assert "was begun with tolerance 0.0, and this run has 0.1" in sentence(
        run("monitor", save(day), "--time", "time", "--state", state, "--tolerance", "0.1")
    )
    assert state.read_bytes() == before
    nothing_new = run("monitor", save(frame), "--time", "time", "--state", state, "--since", "2026-01-31")
    assert (nothing_new.status, nothing_new.err) == (1, "")


def test_a_damaged_state_is_refused(run, save, tmp_path):
    state, log = tmp_path / "watch.json", save(stream(days=2).drop(columns="time"), "log_1.csv")
    assert run("monitor", log, "--state", state).status == 0
    log = save(stream(days=2, seed=1).drop(columns="time"), "log_2.csv")
    text = state.read_text()
    state.write_text(text.replace('"rows": 400', '"rows": 401'))
    assert "is damaged (it does not have its checksum); begin it again" in sentence(
        run("monitor", log, "--state", state)
    )
    state.write_text(text.replace("calcli.watch/1", "calcli.watch/7"))
    assert "has version 7 of the watch format" in sentence(run("monitor", log, "--state", state))
    state.write_text(text[:100])
    assert "is not a watch" in sentence(run("monitor", log, "--state", state))
    state.write_text(text)
    assert run("monitor", log, "--state", state).status == 0


def test_slices_share_the_level(run, save):
    frame = stream(days=30)
    off = (frame["group"] == "b") & (np.random.default_rng(1).random(len(frame)) < 0.3)
    log = save(frame.assign(label=np.where(off, "no", frame["label"])))
    done = run("monitor", log, "--time", "time", "--by", "group", "-f", "json")
    whole, a, b = told(done)["streams"]
    assert done.status == 1
    assert (whole["value"], a["value"], b["value"]) == (None, "a", "b")
    rates = [1 - one["level"] for one in (whole, a, b)]
    np.testing.assert_allclose(rates, [0.05 / 2, 0.05 / 6, 0.05 / 12], rtol=1e-9)
    assert a["alarm"] is None
    assert b["alarm"] is not None
    assert sum(one["rows"] for one in a["periods"] + b["periods"]) == len(frame)
    assert "group=b" in run("monitor", log, "--time", "time", "--by", "group").out


def test_of_many_classes_it_is_the_confidence_or_a_class(run, tmp_path):
    rng = np.random.default_rng(2)
    logits = rng.normal(0, 2, (6_000, 3))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    label = (probs.cumsum(axis=1) < rng.random((6_000, 1))).sum(axis=1)
    frame = pd.DataFrame(probs, columns=["p_0", "p_1", "p_2"]).assign(label=label)
    frame.to_csv(tmp_path / "three.csv", index=False)
    found = told(run("monitor", tmp_path / "three.csv", "--every", "1000", "-f", "json"))
    assert found["watched"] == "confidence"
    means = probs.max(axis=1).reshape(6, 1_000).mean(axis=1)
    np.testing.assert_allclose([one["predicted"] for one in found["streams"][0]["periods"]], means, rtol=1e-9)
    rest = told(
        run("monitor", tmp_path / "three.csv", "--every", "1000", "--against-rest", "2", "-f", "json")
    )
    assert rest["watched"] == "probability"
    means = probs[:, 2].reshape(6, 1_000).mean(axis=1)
    np.testing.assert_allclose([one["predicted"] for one in rest["streams"][0]["periods"]], means, rtol=1e-9)


def test_outcomes_are_watched_against_the_rate_of_a_reference(run, save):
    rng = np.random.default_rng(3)

    def answers(rows, rate, name):
        return save(pd.DataFrame({"id": np.arange(rows), "correct": rng.random(rows) < rate}), name)

    first, same, worse = (
        answers(2_000, 0.8, "first.csv"),
        answers(5_000, 0.8, "same.csv"),
        answers(5_000, 0.7, "w.csv"),
    )
    assert "has no probabilities; say with --reference" in sentence(run("monitor", same, "--every", "500"))
    quiet = run("monitor", same, "--every", "500", "--reference", first, "-f", "json")
    assert (quiet.status, told(quiet)["watched"], told(quiet)["reference_rows"]) == (0, "rate", 2_000)
    done = run("monitor", worse, "--every", "500", "--reference", first)
    assert done.status == 1
    assert "Right answers less frequent than expected" in done.out


def test_the_promise_of_a_threshold_is_watched(run, save, tmp_path):
    threshold = tmp_path / "threshold.json"
    calibrated = save(stream(days=20).drop(columns="time"), "val.csv")
    assert run("threshold", calibrated, "--max-error", "0.1", "-o", threshold).status == 0
    kept = run("monitor", save(stream(seed=1)), "--time", "time", "--threshold", threshold, "-f", "json")
    assert (kept.status, told(kept)["promise"]) == (0, 0.1)
    frame = stream(seed=1)
    least = json.loads(threshold.read_text())["thresholds"][0]["threshold"]
    sure = np.maximum(frame["p_yes"], 1 - frame["p_yes"]) >= least
    wrong = (frame["p_yes"] > 0.5) != (frame["label"] == "yes")
    assert sum(one["rows"] for one in told(kept)["streams"][0]["periods"]) == sure.sum()
    errors = sum(one["rows"] * one["observed"] for one in told(kept)["streams"][0]["periods"])
    assert errors == pytest.approx((sure & wrong).sum())
    last = told(kept)["streams"][0]["periods"][-1]
    assert last["precision_so_far"] == pytest.approx(1 - errors / sure.sum())
    flipped = np.random.default_rng(4).random(len(frame)) < 0.15
    other = np.where(frame["label"] == "yes", "no", "yes")
    broken = save(frame.assign(label=np.where(flipped, other, frame["label"])))
    done = run("monitor", broken, "--time", "time", "--threshold", threshold)
    assert done.status == 1
    assert "Errors are more frequent than promised" in done.out
    both = run("monitor", broken, "--time", "time", "--threshold", threshold, "--reference", calibrated)
    assert "give one" in sentence(both)


def test_a_number_counts_alerts_and_precision_week_by_week_and_from_run_to_run(run, save, tmp_path):
    frame = stream(days=40)
    monday = frame["time"].dt.to_period("W-SUN").dt.start_time.dt.strftime("%Y-%m-%d")
    alert, right = frame["p_yes"] >= 0.7, (frame["p_yes"] >= 0.7) & (frame["label"] == "yes")
    weeks = pd.DataFrame({"seen": 1, "above": alert, "right": right}).groupby(monday).sum()
    weeks["precision_so_far"] = weeks["right"].cumsum() / weeks["above"].cumsum()
    begun = frame["time"] < "2026-01-19"
    look = ["--time", "time", "--every", "week", "--threshold", "0.7", "--by", "group", "-f", "json"]
    carried = [*look, "--state", tmp_path / "watch.json"]
    assert run("monitor", save(frame[begun], "old.csv"), *carried).status == 0
    for done in (
        run("monitor", save(frame), *look),
        run("monitor", save(frame[~begun], "new.csv"), *carried),
    ):
        whole, *groups = told(done)["streams"]
        found = pd.DataFrame(whole["periods"]).set_index("name")[["seen", "above", "precision_so_far"]]
        pd.testing.assert_frame_equal(found, weeks.drop(columns="right"), check_names=False)
        assert sum(one["above"] for group in groups for one in group["periods"]) == alert.sum()
    shown = run("monitor", save(frame), *look[:-2]).out
    assert f"{weeks['precision_so_far'].iloc[-1]:.1%}" in shown
    assert "--threshold is 70; expected a number between 0 and 1" in sentence(
        run("monitor", save(frame), "--time", "time", "--threshold", "70")
    )


def test_labels_that_arrive_by_outcome_wait_until_all_are_known(run, save):
    """Positives are known after 3 days, negatives after 10; the log is read on day 40."""
    frame = stream(days=40)
    age = (pd.Timestamp("2026-02-10") - frame["time"]).dt.days
    known = age >= np.where(frame["label"] == "yes", 3, 10)
    log = save(frame.assign(label=frame["label"].where(known)))
    assert run("monitor", log, "--time", "time", "--drop-missing").status == 1
    done = run("monitor", log, "--time", "time", "--drop-missing", "--mature", "10d", "-f", "json")
    found = told(done)
    assert done.status == 0
    last = pd.Timestamp(found["streams"][0]["periods"][-1]["name"])
    newest = frame["time"][known].max()
    assert last + pd.Timedelta(days=11) <= newest < last + pd.Timedelta(days=12)
    assert found["left_out"] == known.sum() - sum(one["rows"] for one in found["streams"][0]["periods"])


def test_copies_alarm_and_clusters_of_them_do_not(run, save):
    frame = stream(days=40, rows=60).assign(user=np.arange(2_400))
    log = save(pd.concat([frame] * 5))
    assert run("monitor", log, "--time", "time").status == 1
    done = run("monitor", log, "--time", "time", "--cluster", "user", "-f", "json")
    alone = told(run("monitor", save(frame), "--time", "time", "-f", "json"))
    assert done.status == 0
    np.testing.assert_allclose(
        [one["evidence"] for one in told(done)["streams"][0]["periods"]],
        [one["evidence"] for one in alone["streams"][0]["periods"]],
        rtol=1e-6,
    )


@pytest.mark.parametrize("by", [(), ("--by", "site")])
def test_rows_of_a_cluster_that_came_before_add_no_evidence(by, run, save, tmp_path):
    """However the stream is cut into runs: what users that come back bring counts once."""
    frame = stream(days=40, rows=60).assign(user=np.arange(2_400) % 600)  # each comes every ten days
    frame["site"] = np.where(frame["user"] % 2, "a", "b")
    options = ("--time", "time", "--cluster", "user", *by)
    done = run("monitor", save(frame), *options)
    assert "1,800 rows add no evidence: their user came in an earlier period." in " ".join(done.out.split())
    whole = told(run("monitor", save(frame), *options, "-f", "json"))["streams"]
    alone = told(run("monitor", save(frame[:600]), "--time", "time", *by, "-f", "json"))["streams"]
    for one, first in zip(whole, alone, strict=True):
        assert one["periods"][9]["evidence"] == pytest.approx(first["periods"][-1]["evidence"], rel=1e-9)
        later = [period["evidence"] for period in one["periods"][10:]]
        assert max(later) < one["periods"][9]["evidence"] or max(later) < 1.1
    for number, part in enumerate((frame[:900], frame[900:])):
        state = ("--state", tmp_path / "watch.json", "-f", "json")
        cut = told(run("monitor", save(part, f"{number}.csv"), *options, *state))["streams"]
    assert [one["periods"] for one in cut] == [one["periods"] for one in whole]


def test_words_follow_from_the_frequencies_beside_them(run, save):
    """Rare events whose slope is .75 and whose mean is higher than predicted."""
    rng, weeks = np.random.default_rng(101), np.repeat(np.arange(8), 4_000)
    z = rng.normal(-4.8, 1.1, len(weeks))
    outcome = (rng.random(len(z)) < 1 / (1 + np.exp(0.3 - 0.75 * z))).astype(int)
    week = pd.Timestamp("2026-06-01") + pd.to_timedelta(7 * weeks, unit="D")
    log = save(pd.DataFrame({"week": week, "p_fraud": 1 / (1 + np.exp(-z)), "fraud": outcome}))
    done = run("monitor", log, "--time", "week", "--every", "week", "-f", "json")
    change = told(done)["streams"][0]["change"]
    assert change["observed"] > change["predicted"]
    predicted, observed = (f"{100 * change[name]:.1f}%" for name in ("predicted", "observed"))
    assert change["words"].startswith(f"Fraud under-predicted: {predicted} predicted, {observed} observed")
    assert "; probabilities are too extreme" in change["words"]


def test_a_reference_leaves_open_what_its_size_does(run, save):
    """A model that was never calibrated is watched against what it did, which few rows tell roughly."""
    frame = stream(days=60)
    sharper = frame.assign(p_yes=expit(1.5 * np.log(frame["p_yes"] / (1 - frame["p_yes"]))))
    day = np.arange(len(sharper)) // ROWS
    small, large = save(sharper[day < 5], "small.csv"), save(sharper[day < 30], "large.csv")
    log = save(sharper[day >= 30])
    assert run("monitor", log, "--time", "time").status == 1
    opens = []
    for reference in (small, large):
        done = run("monitor", log, "--time", "time", "--reference", reference, "-f", "json")
        assert done.status == 0
        opens.append(told(done)["left_open"])
    assert opens[0] > 2 * opens[1] > 0
    shown = " ".join(run("monitor", log, "--time", "time", "--reference", small).out.split())
    uncertain = f"tell the frequency at the usual prediction to ±{100 * opens[0]:.1f} points"
    assert f"as in the 1,000 rows of the reference, which {uncertain}" in shown


def test_days_that_differ_by_chance_want_a_tolerance(run, save):
    log = save(stream(days=60, rows=1_000, seed=1, sd=0.2))
    assert run("monitor", log, "--time", "time").status == 1
    done = run("monitor", log, "--time", "time", "--tolerance", "0.05")
    assert done.status == 0
    assert "right, up to 5.0 points" in " ".join(done.out.split())


def test_a_page_has_the_figure_and_python_has_the_same(run, save, tmp_path):
    frame = stream(off=0.1, after=20)
    page = tmp_path / "page.html"
    log = save(frame)
    assert run("monitor", log, "--time", "time", "--html", page).status == 1
    text = page.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "ALARM: 2026-01-2" in text
    found = calcli.monitor(frame, time="time")
    assert found.to_dict()["streams"] == told(run("monitor", log, "--time", "time", "-f", "json"))["streams"]
    found.save(tmp_path / "report.csv")
    assert len(pd.read_csv(tmp_path / "report.csv")) == DAYS
    days = [one.drop(columns="time") for _, one in frame.groupby(frame["time"].dt.date)]
    parts = calcli.monitor(days)
    assert parts.alarmed
    assert [one.name for one in parts.streams[0].periods][:2] == ["period 1", "period 2"]
    with pytest.raises(InputError, match="no column"):
        calcli.monitor(frame, time="when")
    with pytest.raises(UsageError, match="tolerance is 2"):
        calcli.monitor(frame, time="time", tolerance=2)
    assert math.isclose(found.streams[0].level, 0.95)
