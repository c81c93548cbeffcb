"""The layouts of files: what frameworks write, each a declaration; the guide's table is made from them.

A layout with scores in other than plain columns names a module of this folder, which makes plain columns of
them and is loaded when tables are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from calcli.core.data.predictions import Kind


@dataclass(frozen=True)
class Layout:
    r"""What some software writes.

    Attributes
    ----------
    name
        What reports call it.
    scores, labels
        What its files hold, in Markdown, for the guide.
    columns
        Pattern of the columns of scores; its group `class` is the class, `label` the column of labels.
    beside
        Names of columns that must be there too.
    by_class
        Whether columns are named as the labels, whatever other numbers stand beside them.
    of_label
        Whether the label in these names must be the column of labels.
    kind
        What the scores are, where their names do not say it.
    module
        What unpacks its columns.
    """

    name: str
    scores: str
    labels: str = "a column of labels"
    columns: str = ""
    beside: tuple[str, ...] = ()
    by_class: bool = False
    of_label: bool = False
    kind: Kind | None = None
    module: str = ""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of its columns."""
        return re.compile(self.columns)

    @cached_property
    def unpacker(self) -> Any:
        """What unpacks its columns."""
        return import_module(f"calcli.io.layouts.{self.module}")


COLUMNS = Layout(
    "a column for each class",
    "`prob_cat`, `logit_cat`, `score_cat`, `p_cat`, `y_pred_proba_0`, `pred_proba_0`, `cat_prob` ..., "
    "columns named as the classes or `0`, `1` ...",
    "`label`, `target`, `y`, `y_true`, `y_test`, `class`, `truth`, `gold` ...; where there is none of these "
    "`actual`, `response`, `obs`, `outcome` ...",
)
LISTS = Layout("a list of scores in each row", "a list column, best one named `probs`, `logits` or the like")
ALONE = Layout(
    "one score in each row",
    "of the second of two classes: `prob`, `y_pred_proba`, `default_proba`, `score`; `prediction`, `pred`, "
    "`y_pred`, `oof_pred` where they lie in [0, 1]",
)
RANKS = Layout(
    "scores sorted by rank",
    "`prob_0` ... beside `index_0` ... or `label_0` ..., also as lists; `top1_prob` ... beside "
    "`top1_class` ...",
)
ARRAYS = Layout(
    "arrays",
    "an (N, K) array in `.npy`; in `.npz` that named `scores`, `logits`, `probs`, `y_proba` ...",
    "`x_labels.npy`, or `x_labels.txt` with one a line, beside `x.npy`; in `.npz` an array `labels`, "
    "`y_test`, `label_ids` ...",
)
ANSWERS = Layout(
    "answers, right or wrong",
    "one score, the confidence that the answer is right: `confidence`, `conf`, `p_correct`, `certainty` ...",
    "`correct`, `is_correct`, `acc`, `matched`, `grade`, `verdict` ..., `score_match` of Inspect, "
    "`evaluation.is_correct` of every-eval-ever; or `prediction` beside `label`",
)
OUTCOMES = Layout(
    "outcomes",
    "none: right or wrong in `correct`, `passed`, `success`, `exact_match`, a grade in [0, 1] in `score`, "
    "or `prediction` beside a label; rows that share an `id`, such as epochs, are one question",
    "where there is a prediction",
)
LOGS = Layout(
    "logs of evaluations",
    "none: `.eval` and JSON of Inspect, samples of lm-evaluation-harness, results of promptfoo and deepeval, "
    "`per_instance_stats.json` of HELM; `--score NAME` chooses a scorer",
    "none",
)
HARNESS = Layout(
    "lm-evaluation-harness",
    "`samples_*.jsonl`: log-likelihoods of the options in `filtered_resps` or `resps`; `--per-character` "
    "divides them as `acc_norm` does",
    "`target`, the number or the text of an option, in all rows the same; `acc` says which where both fit",
    module="harness",
)
OBJECTS = Layout(
    "objects of scores", '`"probs": {"cat": 0.9, "dog": 0.1}`, `"cats"` of spaCy', module="objects"
)
LAYOUTS = (
    ARRAYS,
    COLUMNS,
    LISTS,
    ALONE,
    RANKS,
    ANSWERS,
    OUTCOMES,
    LOGS,
    Layout(
        "Spark ML vectors",
        "`probability`, a struct of type, size, indices and values, dense or sparse",
        module="vectors",
    ),
    Layout(
        "classes with their scores",
        "lists of {label, score} as pipelines of Hugging Face return, {label, prob} as BigQuery ML writes to "
        "`predicted_species_probs`, {classes, scores} as Vertex AI writes to `prediction`",
        "a column of labels; `species`; `instance.label`",
        module="pairs",
    ),
    HARNESS,
    OBJECTS,
    Layout(
        "text in cells",
        "`[0.1, 0.9]`, `0.1,0.9`, `[0.1 0.9]`, `(3,[0,2],[0.1,0.9])` of Spark, lists of {label, score}, "
        "objects of scores, also inside the objects that Snowflake writes to `PREDICTION`, `87%`",
        module="texts",
    ),
    Layout("NannyML", "`y_pred_proba_cat`", "`y_true`", r"y_pred_proba_(?P<class>.+)", ("y_pred",)),
    Layout(
        "H2O",
        "`p0`, `p1` or columns named as the classes beside `predict`, never `cal_p0`",
        columns=r"p(?P<class>-?\d.*)",
        beside=("predict",),
        by_class=True,
        kind="probs",
    ),
    Layout(
        "caret", "columns named as the classes beside `pred`", "`obs`", "", ("pred", "obs"), by_class=True
    ),
    Layout("tidymodels", "`.pred_cat`", columns=r"\.pred_(?!class$)(?P<class>.+)", kind="probs"),
    Layout(
        "Azure ML",
        "`Scored Probabilities_cat`",
        columns=r'Scored Probabilities(?:_| for Class )"?(?P<class>.+?)"?',
        kind="probs",
    ),
    Layout(
        "CatBoost",
        "`Probability:Class=cat`, or `Probability`, of the second class, beside `SampleId`",
        "`Label`, never `Class`",
        r"Probability:Class=(?P<class>.+)",
        kind="probs",
    ),
    Layout(
        "CatBoost, raw values",
        "`RawFormulaVal:Class=cat`",
        "`Label`",
        r"RawFormulaVal:Class=(?P<class>.+)",
        kind="logits",
    ),
    Layout(
        "DataRobot",
        "`species_cat_PREDICTION`",
        "the column in the names, `species`",
        r"(?P<label>.+)_(?P<class>.+?)_PREDICTION",
        of_label=True,
        kind="probs",
    ),
    Layout(
        "SAS",
        "`P_BAD0`, `P_BAD1` beside `I_BAD`",
        "the column in the names, `BAD`",
        r"P_(?P<label>.*\D)(?P<class>\d+)",
        of_label=True,
        kind="probs",
    ),
    Layout(
        "KNIME",
        "`P (species=cat)`",
        "the column in the names, `species`",
        r"(?:P|Probability) ?[(:](?P<label>[^=]+)=(?P<class>[^=]+?)\)?",
        kind="probs",
    ),
    Layout("RapidMiner", "`confidence(cat)`", columns=r"confidence\((?P<class>.+)\)", kind="probs"),
)
UNPACKED = tuple(layout for layout in LAYOUTS if layout.module)
