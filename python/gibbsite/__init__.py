"""Models fitted on private data, with certificates of their differential privacy.

The engine is C++ (`gibbsite._core`); this package gives it NumPy arrays, tables of pandas, polars,
pyarrow and DuckDB, Parquet files, and estimators in scikit-learn's conventions. docs/reference/python.md.
"""

from ._core import (
    BackendUnavailable,
    BadInput,
    BudgetSpent,
    CovariancePlan,
    CovarianceRelease,
    Dataset,
    Error,
    EvaluationRelease,
    FamilyPlan,
    FamilyRelease,
    Infeasible,
    Ledger,
    NetworkPlan,
    NetworkRelease,
    Plan,
    Release,
    Schema,
    SchemaRelease,
    SelectRelease,
    Verification,
    __version__,
    audit,
    bench,
    column_guarantee,
    discard_checkpoint,
    draw_in_ball,
    fit,
    fit_covariance,
    fit_family,
    fit_network,
    list_backends,
    plan_covariance,
    plan_family,
    plan_network,
    read_table,
    release_evaluation,
    run_command,
    schema_template,
    select,
    set_arrow_opener,
    set_onnx_writer,
    verify,
)
from ._arguments import one_line, one_line_methods
from ._cross_table import CrossTable, table
from ._curve import Curve
from ._decide import Decision, decide
from ._family import private_family
from ._files import open_stream
from ._ledger import entering
from ._network import private_network
from ._onnx import export_onnx, write_onnx
from ._plan import plan, posterior_price
from ._sample import sample
from ._schema import private_schema
from ._tables import read_array, read_arrow
from ._transitions import Transitions, transitions
from .linear_model import (
    FitWarning,
    NotFittedError,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
    VoidWarning,
)
from .posterior import sample_posterior

__all__ = [
    "BackendUnavailable",
    "BadInput",
    "BudgetSpent",
    "CovariancePlan",
    "CovarianceRelease",
    "CrossTable",
    "Curve",
    "Dataset",
    "Decision",
    "Error",
    "EvaluationRelease",
    "FamilyPlan",
    "FamilyRelease",
    "FitWarning",
    "Infeasible",
    "Ledger",
    "NetworkPlan",
    "NetworkRelease",
    "NotFittedError",
    "Plan",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivatePoissonRegressor",
    "Release",
    "Schema",
    "SchemaRelease",
    "SelectRelease",
    "Transitions",
    "Verification",
    "VoidWarning",
    "__version__",
    "audit",
    "bench",
    "column_guarantee",
    "decide",
    "discard_checkpoint",
    "draw_in_ball",
    "export_onnx",
    "fit",
    "fit_covariance",
    "fit_family",
    "fit_network",
    "list_backends",
    "plan",
    "plan_covariance",
    "plan_family",
    "plan_network",
    "posterior_price",
    "private_family",
    "private_network",
    "private_schema",
    "read_array",
    "read_arrow",
    "read_table",
    "release_evaluation",
    "run_command",
    "sample",
    "sample_posterior",
    "schema_template",
    "select",
    "table",
    "transitions",
    "verify",
]

for _name in ("draw_in_ball", "fit", "fit_covariance", "fit_family", "fit_network", "release_evaluation", "select"):
    globals()[_name] = entering(globals()[_name])
for _name in ("column_guarantee", "plan_covariance", "plan_family", "plan_network", "read_table", "verify"):
    globals()[_name] = one_line(globals()[_name])
one_line_methods(Ledger, NetworkRelease, Schema)
set_arrow_opener(open_stream)
set_onnx_writer(write_onnx)
del _name, entering, one_line, one_line_methods, open_stream, set_arrow_opener, set_onnx_writer, write_onnx
