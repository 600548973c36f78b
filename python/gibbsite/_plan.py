"""`plan`, which takes a schema as estimators do."""

import os

from . import _core, _tables


def plan(**arguments) -> _core.Plan:
    """Plans a fit of a schema's rows, or of its path or text, without any data, and returns a `Plan`.

    It warns of a large budget, of few rows and of wide curves, as `gibbsite plan` does. The arguments are those of `gibbsite plan` (docs/reference/command-line.md).
    """
    schema = arguments.get("schema")
    if isinstance(schema, (str, os.PathLike)):
        arguments["schema"] = _tables.read_schema(schema)
    made = _core.plan(**arguments)
    made._warn()
    return made


plan.__doc__ = f"{plan.__doc__}\n{_core.plan.__doc__}"
