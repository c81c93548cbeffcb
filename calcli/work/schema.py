"""The JSON Schema of everything that is written as JSON, made from its types."""

from __future__ import annotations

from importlib import import_module
from typing import Any, get_type_hints, is_typeddict

from calcli.core.language.errors import UsageError
from calcli.core.language.expressions import nearest_name
from calcli.core.language.schemas import Schemas

DOCUMENTS = {  # by name: the class with `data` that writes it, or the written type
    "report": "report.evaluation:Report",
    "comparison": "report.comparison:ComparisonReport",
    "selection": "report.comparison:SelectionReport",
    "check": "report.check:CheckReport",
    "monitor": "report.monitor:MonitorReport",
    "segments": "report.segments:SegmentsReport",
    "plan": "report.plan:PlanReport",
    "fit": "report.fit:FitReport",
    "fits": "report.fit:LabelFits",
    "benchmark": "report.benchmark:BenchmarkReport",
    "study": "report.study:StudyReport",
    "procedure": "report.study:ProcedureReport",
    "inspection": "report.reading:InspectionReport",
    "merge": "report.merge:MergeReport",
    "threshold": "report.threshold:ThresholdReport",
    "calibrator": "io.saved.calibrators:CalibratorFile",
    "calibrators": "io.saved.calibrators:LabelsFile",
}


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a document.

    Raises
    ------
    UsageError
        If no document has this name.
    """
    if name not in DOCUMENTS:
        nearest = nearest_name(name, DOCUMENTS)
        raise UsageError(f"nothing called {name!r} is written as JSON{nearest}; calcli schema lists what is")
    from calcli.core.data.derived import Priors
    from calcli.core.estimators.costs import CostTable, CostWord
    from calcli.core.language.settings import ClassPriors, Costs

    module, _, attribute = DOCUMENTS[name].partition(":")
    written = getattr(import_module(f"calcli.{module}"), attribute)
    schemas = Schemas({ClassPriors: Priors, Costs: CostWord | CostTable})
    if is_typeddict(written):
        return schemas.document(f"calcli {name}", {}, written)
    head = {"schema": {"const": written.schema}, "calcli": {"type": "string"}}
    return schemas.document(f"calcli {name}", head, get_type_hints(written.data)["return"])
