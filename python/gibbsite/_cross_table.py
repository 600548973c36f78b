"""Private cross tables: noisy counts with margins that agree, intervals and a certificate."""

import json
import os
from collections.abc import Iterable

from . import _core
from ._ledger import opened, paid_for, warn_void
from ._tables import SchemaFacts, read_arrow, read_schema
from .linear_model import _warn_of_rows


_NUMBERS = ("estimate", "std_err", "lower", "upper", "count", "hidden")


def _columns_of(release):
    """What a released model says of its columns."""
    return json.loads(release.to_json())["model"]["preprocessing"]["columns"]


class CrossTable:
    """A released cross table of noisy counts, with margins that agree (docs/how-to/table.md).

    Everything in it follows from `release`, which may be published.

    Parameters
    ----------
    release : NetworkRelease
        A released network of counts (`fit_network`).
    columns : str or list of str
        Which of its columns to tabulate, in this order; all of them by default.

    Attributes
    ----------
    release : NetworkRelease
        The noisy counts with their certificate.
    columns : list of str
        Names of the tabulated columns.
    rows : int or None
        The total, if it is public (adjacency "replace-one").
    weight : str or None
        The column of weights that rows count by.
    unit : float
        The weight that a count of 1 stands for: the end of the weights' range; 1 without weights.
    count_of : str
        What is counted: "rows", "people", or "rows, at most 4 of a person".
    meaning : str
        How people and weights come to be counts, in sentences; "" if each row counts as one.
    frame : pandas.DataFrame
        The table of estimates.

    Raises
    ------
    BadInput
        If a name is no column of the release.
    """

    def __init__(self, release, columns=()):
        columns = [columns] if isinstance(columns, str) else list(columns)
        numbers = release._cross_table(columns)
        self.release = release
        self.columns = numbers["columns"]
        self.rows = numbers["rows"]
        self.count_of = numbers["count_of"]
        self.meaning = numbers["meaning"]
        self._numbers = numbers
        weighing = [one for one in _columns_of(release) if one["type"] == "weight"]
        self.weight = weighing[0]["name"] if weighing else None
        self.unit = float(weighing[0]["range"][1]) if weighing else 1.0

    @classmethod
    def read(cls, path, columns=()):
        """Reads a file that `gibbsite table` or `CrossTable.write` wrote and returns a
        `CrossTable`.

        columns: which of its columns to tabulate; all by default. Raises OSError or `BadInput` if
        the file cannot be read or was changed.
        """
        return cls(_core.NetworkRelease.read(path), columns)

    def write(self, path, replace=False):
        """Writes the release, with its certificate, to a file.

        Raises FileExistsError if the file exists and `replace` is False.
        """
        self.release.write(path, replace=replace)

    @property
    def frame(self):
        """The table as a pandas frame: a row for each cell, each margin of one column, and the
        total.

        "(all)" stands for a column that is summed over. `estimate` is best linear unbiased and may
        be negative; `std_err` is its standard error. `lower` and `upper` are a 95 % interval of the
        table's own count, for the noise of privacy alone. `count` is a whole number of at least 0;
        `hidden` says whether the interval contains 0. Estimates add up to their margins exactly,
        and so do counts. Where rows have weights, a count of 1 is a row of the largest weight:
        `unit` is that weight, `weighted` the estimate times it, and `attrs["weight"]` the weights' column.
        `attrs` has `count_of` and `meaning` too.
        """
        import pandas as pd

        columns = dict(zip(self.columns, self._numbers["levels"], strict=True))
        numbers = {name: self._numbers[name] for name in _NUMBERS}
        if self.weight is not None:
            numbers["weighted"] = numbers["estimate"] * self.unit
            numbers["unit"] = self.unit
        for name, values in numbers.items():
            free = name
            while free in self.columns:
                free += "_"
            columns[free] = values
        frame = pd.DataFrame(columns)
        frame.attrs.update(count_of=self.count_of, meaning=self.meaning)
        if self.weight is not None:
            frame.attrs["weight"] = self.weight
        return frame

    def __repr__(self):
        counted = "" if self._numbers["unit"] == "rows" else f", counts of {self._numbers['unit']}"
        return f"<gibbsite.CrossTable: {' × '.join(self.columns)}{counted}, {self.release!r}>"


def names_of(columns):
    """`columns` as a list of names."""
    named = [columns] if isinstance(columns, str) else list(columns) if isinstance(columns, Iterable) else [None]
    if not all(isinstance(name, str) for name in named):
        raise TypeError(f'columns: must be a list of names, such as ["sex", "age"], got {columns!r}')
    return named


def _chain(schema, columns):
    if isinstance(schema, _core.Schema):
        return schema.cross_table(columns)
    if isinstance(schema, str) and "\n" in schema:
        return _core.Schema.parse_cross_table(schema, columns)
    if not isinstance(schema, (str, os.PathLike)):
        return read_schema(schema)  # says what one is
    return _core.Schema.read_cross_table(schema, columns)


def _read(data, schema, rows_per_person):
    wishes = {
        "labels_optional": True,
        "ignore_extra_columns": True,
        "rows_per_person": rows_per_person,
    }
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
    """Releases a certified cross table of noisy counts (docs/how-to/table.md).

    Parameters
    ----------
    data : path or table
        A file, or a table that `read_arrow` takes.
    schema : Schema, path of its file, or its text
        What is public about the columns. It needs no label; numbers among `columns` need bins.
    columns : str or list of str
        The columns to tabulate. Columns of weights and of people in `schema` say what rows count.
    epsilon, delta : float
        The privacy budget.
    adjacency : "replace-one" or "add-remove"
        Which tables are neighbors. "add-remove" keeps the number of rows private and needs
        `rows_cap`.
    rows_cap : int or None
        A public upper bound on the number of rows, or of people.
    rows_per_person : int
        The largest number of rows of one person; with a column of people what one counts at most.
    ledger : Ledger, path or None
        The account of everything released about these people (docs/how-to/ledger.md).
    seed : int or None
        An int makes runs repeatable and the certificate void: for tests only.

    Returns
    -------
    CrossTable

    Raises
    ------
    BadInput
        If an argument, the schema or a cell is not as it must be.
    Infeasible
        If the budget cannot be kept.
    BudgetSpent
        If the ledger has no room for this table.

    Warns (`FitWarning`) of a large delta, and tells the curator about columns that the schema does
    not fit.
    """
    columns = names_of(columns)
    chain = _chain(schema, columns)
    rows = _read(data, chain, rows_per_person)
    counted = {"rows": rows.counted} if rows_cap is None else {}
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
    if rows_cap is not None and rows.counted > rows_cap:
        units = "people" if SchemaFacts(chain).person is not None else "rows"
        raise _core.BadInput(
            f"rows_cap: data has more than {rows_cap} {units}; give a public bound that is at least as large "
            "(private: this line tells about the table)"
        )
    release = _core.fit_network(rows, plan, ledger=opened(ledger), seed=seed)
    out = CrossTable(release, columns)
    warn_void(seed, "a table")
    with paid_for():
        _warn_of_rows(rows, None, 0)
    return out
