"""Text in cells that could be read in two ways, or that is not like the cells before it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calcli.io.options import ReadOptions
from calcli.io.read import read
from tests.io.layouts.trips import LABELS, RNG, THREE, TWO, N
from tests.io.samples import refused, scores_of

LOGITS = RNG.normal(0, 1.5, N).round(2)
BINARY = (LABELS > 0).astype(int)


def saved(folder, cells, labels=BINARY, **columns):
    table = pd.DataFrame({"label": labels, **columns, "cells": cells})
    table.rename(columns={"cells": "logits"}).to_csv(folder / "t.tsv", sep="\t", index=False)
    return folder / "t.tsv"


@pytest.mark.parametrize("form", ["{}", "{:.2f}", "{:.1e}"])
def test_decimal_commas(form, tmp_path):
    cells = [form.format(value).replace(".", ",") for value in LOGITS]
    found = read(saved(tmp_path, cells))
    np.testing.assert_allclose(scores_of(found)[:, 1], [float(form.format(value)) for value in LOGITS])


@pytest.mark.parametrize("cells", [["0,1", "1,0"], ["30,70", "55,45"]])
def test_a_comma_between_two_numbers_or_within_one_is_asked(cells, tmp_path):
    path = saved(tmp_path, [cells[n % 2] for n in range(N)])
    refused(path, 't.tsv: row 0 has ".*", as others, which may be one number with a decimal comma, or two')


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("form", ["{:.2f};{:.2f}", "[{:.2f} {:.2f}]", "({:.2f} | {:.2f})"])
def test_two_kinds_of_separators_are_refused(form, late, tmp_path):
    cells = [form.format(-value, value) for value in LOGITS]
    row = 40 if late else 0
    cells[row:] = [cell.replace(".", ",") for cell in cells[row:]]
    refused(
        saved(tmp_path, cells), f'row {row} has ".*", scores with two kinds of separators; .* write points'
    )


@pytest.mark.parametrize(
    "form", ["[{},{}]", "{}, {}", "{};{}", "{} {}", "[ {} , {} ]", "{},\n {}", "({}\t|{} )"]
)
def test_integers_with_one_kind_of_separator_are_scores(form, tmp_path):
    scores = RNG.integers(-9, 9, (N, 2))
    found = read(saved(tmp_path, [form.format(*row) for row in scores]))
    np.testing.assert_array_equal(scores_of(found), scores)


def test_a_decimal_comma_in_another_column_is_no_matter(tmp_path):
    cells = [str(row.tolist()) for row in np.log(THREE)]
    others = [f"{value:.2f}".replace(".", ",") for value in LOGITS]
    found = read(saved(tmp_path, cells, LABELS, score_old=others))
    np.testing.assert_allclose(scores_of(found), np.log(THREE))


def test_a_cell_without_a_percent_sign_is_refused(tmp_path):
    cells = [f"{100 * p:.6f}%" for p in TWO[:, 1]]
    path = tmp_path / "t.csv"
    pd.DataFrame({"label": BINARY, "prob": cells}).to_csv(path, index=False)
    np.testing.assert_allclose(scores_of(read(path))[:, -1], TWO[:, 1], atol=1e-8)
    cells[37] = f"{TWO[37, 1]:.6f}"
    pd.DataFrame({"label": BINARY, "prob": cells}).to_csv(path, index=False)
    refused(path, f'row 37 has "{cells[37]}" among percentages; expected a number with a percent sign')
    cells[37] = "nan"
    pd.DataFrame({"label": BINARY, "prob": cells}).to_csv(path, index=False)
    refused(path, "row 37: .*missing")


@pytest.mark.parametrize("options", [{}, {"scores": "prob_*"}, {"scores": "prob_cat,prob_dog,prob_emu"}])
def test_decimal_commas_in_several_columns(options, tmp_path):
    texts = pd.DataFrame(THREE, columns=["prob_cat", "prob_dog", "prob_emu"]).map("{:.6f}".format)
    texts = texts.map(lambda text: text.replace(".", ","))
    path = tmp_path / "t.tsv"
    texts.assign(label=LABELS).to_csv(path, sep="\t", index=False)
    np.testing.assert_allclose(scores_of(read(path, ReadOptions(**options))), THREE, atol=1e-6)


def test_decimal_commas_in_a_confidence_and_elsewhere(tmp_path):
    confidence = [f"{value:.3f}".replace(".", ",") for value in TWO[:, 1]]
    frame = pd.DataFrame({"confidence": confidence, "correct": BINARY == 1, "price": "3,50"})
    frame.to_csv(tmp_path / "t.tsv", sep="\t", index=False)
    np.testing.assert_allclose(scores_of(read(tmp_path / "t.tsv"))[:, 1], TWO[:, 1], atol=1e-3)
