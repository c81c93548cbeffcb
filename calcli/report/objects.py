"""The JSON of every report: its types, from which `calcli schema` makes schemas."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from calcli.core.data.derived import Slice
from calcli.core.data.predictions import Kind
from calcli.core.evaluating.results import ClassRow, Decision, InfiniteLogLoss, Input, ReliabilityBin
from calcli.core.language.schemas import Fields
from calcli.core.language.settings import Settings
from calcli.report.findings import Verdict, Warning
from calcli.report.operating import OperatingPoint
from calcli.report.overview import Unread


class NullObject(TypedDict):
    """The error under perfect calibration."""

    mean: float
    sd: float


class TestObject(TypedDict, total=False):
    """A test of whether an error exceeds chance."""

    if_calibrated: NullObject
    p_value: float


class GivenObject(NullObject):
    """The error if labels came from given posteriors."""

    p_value: float


class CorrectedObject(TypedDict):
    """The same, corrected for the number of tests; for classes only with enough rows."""

    corrected_p: NotRequired[float]


class IntervalObject(TypedDict, total=False):
    """An interval, if there is one."""

    low: float
    high: float
    level: float


class BinObject(TypedDict):
    """A bin of vectors."""

    rows: int
    share: float
    mean: list[float]
    frequency: list[float]


class BinsObject(TypedDict):
    """The bins of vectors behind an error."""

    outcomes: tuple[str, ...]
    bins: list[Annotated[Any, BinObject]]


class EstimateObject(TestObject, CorrectedObject, IntervalObject):
    """The value of a metric; keys that it lacks are left out."""

    value: float
    no_interval: NotRequired[str]
    recalibrator: NotRequired[str]
    sd: NotRequired[float]
    sampled_rows: NotRequired[int]
    parts: NotRequired[dict[str, float]]
    bins: NotRequired[BinsObject]
    if_given: NotRequired[GivenObject]
    signature: str


class SliceObject(TypedDict):
    """Keys beside the column and the value of a slice."""

    compared: bool


class ConsideredObject(TypedDict):
    """A column that could have been the scores, and why it was not chosen."""

    scores: str
    reason: str


class OriginObject(TypedDict):
    """Keys beside how a file was read."""

    considered: list[ConsideredObject]
    sha256: str | None
    judge: NotRequired[str]
    unlabelled: NotRequired[int]
    name: NotRequired[str]
    label: NotRequired[str]


LEFT_OUT = (
    "name", "label", "considered", "chosen", "sampled_from", "by_ranking", "repeats", "judge",
    "without_label",
)  # fmt: skip
INPUT = Fields(Input, LEFT_OUT, (OriginObject,))
CLASS = Fields(ClassRow, ("if_calibrated",), (TestObject, CorrectedObject))
ESTIMATE = Fields(EstimateObject, (), (TestObject, IntervalObject))


class ResultObject(TypedDict):
    """The results for the rows of one data set, or of a slice."""

    input: Annotated[Any, INPUT]
    slice: Annotated[Any, Fields(Slice, (), (SliceObject,)), None]
    metrics: dict[str, Annotated[EstimateObject, ESTIMATE]]
    verdict: Annotated[Any, Verdict, None]
    infinite_log_loss: Annotated[Any, InfiniteLogLoss, None]
    recalibration: list[str]
    decisions: dict[str, list[Annotated[Any, Decision]]]
    operating_points: list[Annotated[Any, OperatingPoint]]
    per_class: list[Annotated[Any, CLASS]]
    reliability: list[Annotated[Any, ReliabilityBin]]
    mixed: NotRequired[list[str]]
    warnings: list[Annotated[Any, Warning]]
    worst_slices: dict[str, str]
    slices_ranked_by: str | None


class ClipObject(TypedDict):
    """The clip; null if it differs."""

    clip: float | None


class EvaluationObject(TypedDict):
    """A report of `calcli evaluate`."""

    settings: Annotated[Any, Fields(Settings, ("workers",), (ClipObject,))]
    unread: list[Annotated[Any, Unread]]
    failures: dict[str, list[str]]
    results: list[ResultObject]
    seeds: NotRequired[dict[str, dict[str, dict[str, float | None]]]]


class SystemObject(TypedDict):
    """One of the compared systems."""

    input: Annotated[Any, INPUT]
    unmatched_rows: int
    metrics: dict[str, float]
    tests: dict[str, GivenObject]


class RowsObject(TypedDict):
    """The rows that prove an equal system not worse by the margin, or within it."""

    not_worse: int
    equivalent: int


class PowerObject(TypedDict, total=False):
    """The difference that the rows detect with a power of 80%, and the rows that the margin needs."""

    detectable_difference: float
    rows_needed: RowsObject


class NeedObject(TypedDict):
    """A metric that is planned for."""

    metric: str
    value: float
    rows: int
    level: float


class WidthNeedObject(NeedObject):
    """The rows that its interval needs."""

    half_width: float
    rows_for_width: int


class MarginNeedObject(NeedObject):
    """The rows that a difference needs."""

    margin: float
    detectable: float
    rows_not_worse: int
    rows_equivalent: int


class DetectNeedObject(NeedObject):
    """The rows that detect a difference."""

    difference: float
    detectable: float
    rows_needed: int


class PlanObject(TypedDict):
    """A report of `calcli plan`."""

    files: list[str]
    paired: bool
    needs: list[WidthNeedObject | MarginNeedObject | DetectNeedObject]


class InspectedObject(TypedDict):
    """How a file is read."""

    path: str
    read_as: str
    taken: tuple[str, ...]
    rows: int
    classes: tuple[str, ...]
    labels: str
    kind: Kind
    kind_reason: str
    dtype: str
    columns: tuple[str, ...]
    doubts: tuple[str, ...]
    notes: tuple[str, ...]
    considered: list[ConsideredObject]


class InspectionObject(TypedDict):
    """A report of `calcli inspect`."""

    files: list[InspectedObject]
