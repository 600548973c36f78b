"""`plan` and `posterior_price`, which take a schema as estimators do."""

import os

from . import _core, _tables


def plan(**arguments) -> _core.Plan:
    """Plans a fit of a schema's rows, or of its path or text, without any data, and returns a `Plan`.

    It warns of a large budget, of few rows and of wide curves, as `gibbsite plan` does. The arguments are those of `gibbsite plan` (docs/reference/command-line.md).
    """
    made = _core.plan(**_with_schema(arguments))
    made._warn()
    return made


def posterior_price(**arguments) -> dict:
    """Says what exact draws of a posterior cost where no budget is asked for, as `gibbsite plan` without `--epsilon`.

    `schema` may be a path too.
    """
    return _core.posterior_price(**_with_schema(arguments))


def _with_schema(arguments):
    schema = arguments.get("schema")
    if isinstance(schema, (str, os.PathLike)):
        return arguments | {"schema": _tables.read_schema(schema)}
    return arguments


posterior_price.__doc__ = f"{posterior_price.__doc__}\n{_core.posterior_price.__doc__}"
plan.__doc__ = f"{plan.__doc__}\n{_core.plan.__doc__}"
