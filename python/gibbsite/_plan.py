"""`plan`, which takes a schema as estimators do."""

import os

from . import _core, _tables


def plan(**arguments) -> _core.Plan:
    """Plans a fit of a schema's rows, or of its path or text, without any data, and returns a `Plan`.

    The arguments are those of `gibbsite plan` (docs/reference/command-line.md).
    """
    schema = arguments.get("schema")
    if isinstance(schema, (str, os.PathLike)):
        arguments["schema"] = _tables.read_schema(schema)
    return _core.plan(**arguments)


plan.__doc__ = f"{plan.__doc__}\n{_core.plan.__doc__}"
