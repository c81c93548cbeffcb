"""The JSON of every report: its types, from which `calcli schema` makes schemas."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from calcli.core.calibrators.crossvalidation import PairedDifference
from calcli.core.comparing.comparison import Verdict as Evidence
from calcli.core.comparing.policy import Bound, NoWorse, Result, Severity
from calcli.core.data.derived import Slice
from calcli.core.data.predictions import Kind
from calcli.core.evaluating.results import ClassRow, Decision, InfiniteLogLoss, Input, ReliabilityBin
from calcli.core.language.schemas import Fields
from calcli.core.language.settings import FitSettings, Settings
from calcli.core.recalibrating.benchmark import Trial
from calcli.core.recalibrating.choosing import Sureness
from calcli.core.state.state import Part
from calcli.report.findings import Verdict, Warning
from calcli.report.operating import OperatingPoint
from calcli.report.overview import Unread
from calcli.works.study import Deviation


class NullObject(TypedDict):
    """What an error would be if the probabilities were calibrated."""

    mean: float
    sd: float


class TestObject(TypedDict, total=False):
    """Whether an error is larger than chance makes it."""

    if_calibrated: NullObject
    p_value: float


class GivenObject(NullObject):
    """What an error would be if the labels came from given posteriors."""

    p_value: float


class CorrectedObject(TypedDict):
    """The same corrected for how many were tested; of classes, only where there are rows enough."""

    corrected_p: NotRequired[float]


class IntervalObject(TypedDict, total=False):
    """An interval, where there is one."""

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
    """The value of a metric; what it does not have is left out."""

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
    """What could have been the scores, and why it is not."""

    scores: str
    reason: str


class OriginObject(TypedDict):
    """Keys beside how a file was read."""

    considered: list[ConsideredObject]
    sha256: str | None
    judge: NotRequired[str]
    unlabelled: NotRequired[int]
    name: NotRequired[str]


LEFT_OUT = ("name", "considered", "chosen", "sampled_from", "by_ranking", "repeats", "judge", "without_label")
INPUT = Fields(Input, LEFT_OUT, (OriginObject,))
CLASS = Fields(ClassRow, ("if_calibrated",), (TestObject, CorrectedObject))
ESTIMATE = Fields(EstimateObject, (), (TestObject, IntervalObject))


class ResultObject(TypedDict):
    """What was found out about the rows of one data set, or of a slice of it."""

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
    """The clip that was used; null if it was not the same for all."""

    clip: float | None


class EvaluationObject(TypedDict):
    """A report of `calcli evaluate`."""

    settings: Annotated[Any, Fields(Settings, (), (ClipObject,))]
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
    """The rows by which an equal system is proven not to be worse by the margin, or to be within it."""

    not_worse: int
    equivalent: int


class PowerObject(TypedDict, total=False):
    """What difference the rows detect with a power of 80%, and how many the margin needs."""

    detectable_difference: float
    rows_needed: RowsObject


class DifferenceObject(IntervalObject, PowerObject):
    """How a metric differs between a baseline and a candidate."""

    baseline: float
    candidate: float
    difference: float
    relative_change: float
    no_interval: NotRequired[str]
    p_value: float
    corrected_p: float
    p_over_metrics: float
    margin: float
    verdict: Evidence
    sampled_rows: NotRequired[list[int]]
    signature: str


DIFFERENCE = Fields(DifferenceObject, (), (IntervalObject,))


class RankObject(TypedDict):
    """A place in a ranking."""

    system: int
    to_best: Annotated[Any, DIFFERENCE, None]
    among_best: bool


class FlipsObject(TypedDict):
    """The questions in which a candidate differs from the baseline."""

    worse: list[str]
    better: list[str]
    same: int
    columns: list[str]
    values: dict[str, list[str]]


class PartComparisonObject(TypedDict):
    """The systems on all rows, or on a slice."""

    slice: str | None
    rows: int
    differences: list[dict[str, Annotated[DifferenceObject, DIFFERENCE]]]
    ranked_by: str
    ranking: list[RankObject]
    accuracy_cost: Annotated[Any, DIFFERENCE, None]
    most_accurate: int | None
    flips: list[FlipsObject]


class SystemWarningObject(TypedDict):
    """A warning about one of several systems."""

    system: str
    code: str
    message: str


class ComparisonObject(TypedDict):
    """A report of `calcli compare`."""

    settings: Annotated[Any, Settings]
    paired: bool
    unpaired_because: str | None
    systems: list[SystemObject]
    comparisons: list[PartComparisonObject]
    selection: str
    warnings: list[Annotated[Any, SystemWarningObject]]


class SetsObject(TypedDict):
    """The names of two sets."""

    chosen_on: str
    reported_on: str


class ChoiceObject(TypedDict):
    """The epoch that a criterion chooses."""

    criterion: str
    number: int
    chosen_on: dict[str, float]
    reported_on: dict[str, float]
    relative_change: dict[str, float]


class SelectionObject(TypedDict):
    """A report of `calcli compare --select`."""

    sets: SetsObject
    files: int
    warnings: list[str]
    choices: list[ChoiceObject]


class ConditionObject(TypedDict):
    """The kind of a condition."""

    kind: Literal["bound", "no_worse"]


class OutcomeObject(PowerObject):
    """What became of a rule."""

    title: str
    metric: str
    slice: str | None
    severity: Severity
    min_rows: int | None
    condition: Annotated[Any, Fields(Bound, (), (ConditionObject,)), Fields(NoWorse, (), (ConditionObject,))]
    value: float | None
    limit: float | None
    left: float | None
    baseline: float | None
    p_value: float | None
    result: Result
    undecided: bool
    reason: str
    sampled_rows: NotRequired[int]
    signature: str


class ReadObject(TypedDict):
    """How a file was read, in sentences."""

    reading: list[str]


class CheckedObject(TypedDict):
    """What became of the rules on one file."""

    path: str
    rows: int
    input: ReadObject
    fault: str | None
    notes: list[str]
    warnings: list[str]
    rules: list[OutcomeObject]


class CheckObject(TypedDict):
    """A report of `calcli check`."""

    policy: str
    settings: Annotated[Any, Settings]
    exit_status: int
    results: list[CheckedObject]


class NeedObject(TypedDict):
    """A metric that is planned for."""

    metric: str
    value: float
    rows: int
    level: float


class WidthNeedObject(NeedObject):
    """How many rows its interval needs."""

    half_width: float
    rows_for_width: int


class MarginNeedObject(NeedObject):
    """How many rows a difference needs."""

    margin: float
    detectable: float
    rows_not_worse: int
    rows_equivalent: int


class DetectNeedObject(NeedObject):
    """How many rows it takes to see a difference."""

    difference: float
    detectable: float
    rows_needed: int


class PlanObject(TypedDict):
    """A report of `calcli plan`."""

    files: list[str]
    paired: bool
    needs: list[WidthNeedObject | MarginNeedObject | DetectNeedObject]


class FileObject(TypedDict):
    """A file and how it was read."""

    path: str
    reading: list[str]


class TrialObject(TypedDict):
    """Keys beside a trial."""

    fault: str | None
    relative_change: dict[str, float]


class BenchmarkObject(TypedDict):
    """A report of `calcli benchmark`."""

    input: list[FileObject]
    settings: Annotated[Any, Settings]
    trials: list[Annotated[Any, Fields(Trial, ("influences",), (TrialObject,))]]
    like_best: dict[str, dict[str, list[str]]]
    mean_ranks: dict[str, dict[str, float]]
    warnings: list[str]


class StudyObject(TypedDict):
    """A report of `calcli study`."""

    system: str
    series: int
    results: list[Annotated[Any, Deviation]]


class ProcedureRowObject(TypedDict):
    """What a procedure finds out about a metric."""

    metric: str
    estimate: float
    true: NotRequired[float]
    unexplained: NotRequired[float]
    untrained: NotRequired[float]
    temperature: NotRequired[float]
    log_loss: NotRequired[float]
    least_log_loss: NotRequired[float]
    sd: NotRequired[float]
    mean: NotRequired[float]
    spread: NotRequired[float]
    p_value: NotRequired[float]


class ProcedureObject(TypedDict):
    """A report of `calcli study` on a file."""

    procedure: str
    path: str
    results: list[ProcedureRowObject]


class FitInputObject(TypedDict):
    """What a fit was made from."""

    path: str
    rows: int
    sampled_from: int
    classes: int
    kind: Kind
    kind_reason: str
    labels: str
    read_as: str
    taken: tuple[str, ...]
    reading: tuple[str, ...]


class RangeObject(TypedDict):
    """An array of many numbers."""

    shape: list[int]
    least: float
    most: float


class CandidateObject(TypedDict):
    """A method that was tried."""

    method: str | None
    values: dict[str, float]
    difference_to_best: Annotated[Any, PairedDifference, None]
    chosen: bool
    failed: str | None


class FitObject(TypedDict):
    """A report of `calcli fit`."""

    settings: Annotated[Any, FitSettings]
    input: FitInputObject
    method: str
    learned: dict[str, Annotated[Any, RangeObject, float, list[Any]]]
    before: dict[str, float]
    after: dict[str, float]
    cross_validated: dict[str, float] | None
    gain: Annotated[Any, PairedDifference, None]
    changed_rows: int
    new_ties: int
    candidates: list[CandidateObject]
    sureness: Annotated[Any, Sureness, None]
    notes: list[str]
    warnings: list[Annotated[Any, Warning]]


class MergeObject(TypedDict):
    """A report of `calcli merge`."""

    path: str
    rows: int
    key: str | None
    parts: list[Annotated[Any, Part]]


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
