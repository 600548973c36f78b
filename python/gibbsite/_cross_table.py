"""Private cross tables: noisy counts with margins that agree, intervals and a certificate."""

import os

from . import _core
from ._tables import read_arrow
from .linear_model import _warn_of_delta, _warn_of_rows


class CrossTable:
    """A released cross table; `release` may be published, and what is here follows from it alone.

    release: the `NetworkRelease` that holds the noisy counts and the certificate. columns: their names.
    rows: the total where it is public (replace-one), else None.
    frame: a pandas frame, a row for each cell, then each margin of one column and the total, in which
    "(all)" stands for the columns that are summed over. Of each number `estimate`, best linear unbiased,
    maybe below 0; `std_err`, its standard error; `lower` and `upper`, a 95 % interval of the table's own
    count, for privacy's noise alone; `count`, whole and at least 0; `hidden`, whether the interval holds 0.
    Estimates add up to their margins exactly, as counts do.
    """

    def __init__(self, release, columns=()):
        """Of a `NetworkRelease`: these of its columns, or all of them."""
        columns = [columns] if isinstance(columns, str) else list(columns)
        numbers = release._cross_table(columns)
        self.release = release
        self.columns = numbers["columns"]
        self.rows = numbers["rows"]
        self._numbers = numbers

    @classmethod
    def read(cls, path, columns=()):
        """Of a file that `gibbsite table`, or `CrossTable.write`, wrote."""
        return cls(_core.NetworkRelease.read(path), columns)

    def write(self, path, replace=False):
        """The release, with its certificate, to a file."""
        self.release.write(path, replace=replace)

    @property
    def frame(self):
        import pandas as pd

        columns = dict(zip(self.columns, self._numbers["levels"], strict=True))
        for name in ("estimate", "std_err", "lower", "upper", "count", "hidden"):
            free = name
            while free in self.columns:
                free += "_"
            columns[free] = self._numbers[name]
        return pd.DataFrame(columns)

    def __repr__(self):
        return f"<gibbsite.CrossTable: {' × '.join(self.columns)}, {self.release!r}>"


def _read(data, schema):
    wishes = {"labels_optional": True, "ignore_extra_columns": True}
    if isinstance(data, str | os.PathLike):
        return _core.read_table(data, schema, **wishes)
    return read_arrow(data, schema, **wishes)


def table(
    data,
    schema,
    columns,
    *,
    epsilon,
    delta,
    adjacency="replace-one",
    rows_cap=None,
    rows_per_person=1,
    ledger=None,
    seed=None,
):
    """Counts a table of these columns with noise, and certifies it: `CrossTable`. docs/how-to/table.md.

    data: a file, or a frame as `read_arrow` takes it. schema: a file, or a `Schema`; needs no label, and
    numbers among `columns` need bins there. columns: names, or one. adjacency="add-remove" keeps the
    number of rows private and takes rows_cap, a public upper bound. ledger, seed: as `fit`. Warns
    (`FitWarning`) of a large delta, and for the curator of columns that the schema does not fit.
    """
    columns = [columns] if isinstance(columns, str) else list(columns)
    if isinstance(schema, _core.Schema):
        chain = schema.cross_table(columns)
    else:
        chain = _core.Schema.read_cross_table(schema, columns)
    rows = _read(data, chain)
    counted = {"rows": rows.rows} if rows_cap is None else {}
    plan = _core.plan_network(
        epsilon=epsilon,
        delta=delta,
        schema=chain,
        mechanism="counts",
        adjacency=adjacency,
        rows_cap=rows_cap,
        rows_per_person=rows_per_person,
        **counted,
    )
    _warn_of_delta(plan)
    out = CrossTable(_core.fit_network(rows, plan, ledger=ledger, seed=seed), columns)
    _warn_of_rows(rows, None, 0)
    return out
