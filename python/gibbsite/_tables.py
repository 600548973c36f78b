"""What users hand over, made into what `_core` reads: columns and their names, labels, a schema.

What a cell or label becomes follows from it, the public schema and the type of its column, never
from other cells: else one person's odd cell would change how everyone's are read.
"""

import datetime
import decimal
import math
import numbers
import os
import re
import sys
import tomllib
import uuid
import warnings
from collections.abc import Sequence

import numpy as np

from . import _core
from ._curve import Curve, is_marks, marks_toml
from ._curve import is_number as _is_number
from ._curve import quoted as _quoted

_MOST_NAMED = 5  # columns that an error names before "..."


def _one_line(error):
    return " ".join(str(error).split())


def listed(names):
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMED])
    return shown + (", ..." if len(names) > _MOST_NAMED else "")


def _require_none(rule, **names):
    """A ValueError of the rule that lists what breaks it: names by what is said of them."""
    if any(names.values()):
        said = (f"; {words.replace('_', ' ')}: {listed(some)}" for words, some in names.items() if some)
        raise ValueError(rule + "".join(said))


def _is_pandas(X):
    return type(X).__module__.partition(".")[0] == "pandas"


def sklearn_exception(name, fallback):
    """scikit-learn's exception or warning of that name where it is in use, else `fallback`."""
    if "sklearn" in sys.modules:
        try:
            import sklearn.exceptions

            return getattr(sklearn.exceptions, name, fallback)
        except ImportError:
            pass
    return fallback


# Columns.


def rows_of(X):
    """How many rows a frame or an array has, by its shape; None of others."""
    shape = getattr(X, "shape", None)
    whole = isinstance(shape, tuple) and len(shape) == 2 and isinstance(shape[0], numbers.Integral)
    return int(shape[0]) if whole else None


class Table:
    """X as `_core` can read it, and what is known of it without looking at a cell.

    source: ndarray [rows, columns] of float32 or float64, `_Cells`, an object with
        `__arrow_c_stream__` or, with is_on_device, an array of DLPack
    columns: names, those of the frame, or None where it has none or they are no text
    raw: those that are no text, as integers or the tuples of a MultiIndex, or None
    width: number of columns
    """

    def __init__(self, source, columns, width, is_on_device=False, raw=None):
        self.is_on_device = is_on_device
        self.raw = raw
        self.source = source
        self.columns = columns
        self.width = width

    @property
    def is_array(self):
        return isinstance(self.source, np.ndarray)

    def read(self, schema, columns, labels, n_jobs, progress=None, unseen="", rows_per_person=None):
        """The `Dataset`; `columns` are the schema's columns in the order of X. unseen: of rows to
        predict, as `read_table` has it; arrays of numbers are read as the schema says.
        rows_per_person: of rows with labels, where the schema has a column of people."""
        if self.is_on_device:
            return _core.read_array(
                self.source,
                labels,
                schema,
                labels_optional=labels is None,
                n_jobs=n_jobs,
                progress=progress,
            )
        if not self.is_array:
            source = self.source
            if isinstance(source, _Cells):
                source = source.to_arrow(columns, SchemaFacts(schema))
            else:
                source = local_times(source, SchemaFacts(schema))
            return _core.read_arrow(
                source,
                schema,
                labels=labels,
                labels_optional=labels is None,
                n_jobs=n_jobs,
                progress=progress,
                unseen=unseen,
                rows_per_person=None if labels is None else rows_per_person,
            )
        array = self.source
        if columns != list(schema.columns):  # the schema's order
            ordered = np.zeros((len(array), len(schema.columns)), array.dtype)
            for j, name in enumerate(schema.columns):  # one of type ignore may lack
                if name in columns:
                    ordered[:, j] = array[:, columns.index(name)]
            array = ordered
        try:
            return _core.read_array(
                array,
                labels,
                schema,
                labels_optional=labels is None,
                n_jobs=n_jobs,
                progress=progress,
            )
        except _core.BadInput as error:
            if np.isfinite(array).all():
                raise
            raise _core.BadInput(f"X contains NaN or infinity: {error}") from None


def local_times(table, facts):
    """An Arrow table, or a stream of one, whose timestamps with a zone are as clocks there show them, as
    dates are of the day that a reader sees; other tables as they are. Ids stay instants."""
    try:
        import pyarrow
    except ImportError:
        return table
    if any(getattr(one, "time_zone", None) or "TIME ZONE" in str(one) for one in _dtypes_of(table)):
        table = pyarrow.RecordBatchReader.from_stream(table)
    if not isinstance(table, (pyarrow.Table, pyarrow.RecordBatchReader)):
        return table
    reader = table.schema
    ids = set() if facts is None else {name for name, one in facts.cells.items() if one["type"] == "person"}
    places = [k for k, one in enumerate(reader) if _has_zone(one.type) and one.name not in ids]
    if not places:
        return table
    schema = reader
    for k in places:
        schema = schema.set(k, reader.field(k).with_type(pyarrow.timestamp(reader.field(k).type.unit)))

    def local(part):
        columns = [
            local_time(field.name, part.column(k)) if k in places else part.column(k)
            for k, field in enumerate(reader)
        ]
        return type(part).from_arrays(columns, schema=schema)

    if isinstance(table, pyarrow.Table):
        return local(table)
    return pyarrow.RecordBatchReader.from_batches(schema, map(local, table))


def _dtypes_of(table):
    """Types of the columns of a polars frame or a DuckDB relation."""
    is_one = type(table).__module__.partition(".")[0] in ("polars", "duckdb", "_duckdb")
    return getattr(table, "dtypes", ()) if is_one else ()


def _has_zone(kind):
    return getattr(kind, "tz", None) not in (None, "UTC")


def local_time(name, cells):
    """A column of pyarrow; of timestamps with a zone as local ones without."""
    if not _has_zone(cells.type):
        return cells
    import pyarrow
    import pyarrow.compute

    try:
        return pyarrow.compute.local_timestamp(cells)
    except pyarrow.ArrowException as error:  # a machine without a database of zones
        raise ValueError(
            f"X: column {name!r}: its time zone cannot be read: {_one_line(error)}; give local times without "
            "a zone"
        ) from None


class _Cells:
    """Columns that pyarrow reads once the schema is known, as objects need it.

    columns: arrays of pyarrow, or ndarrays of objects [rows]
    nan_is_missing: whether an object NaN is a missing cell, as in pandas
    """

    def __init__(self, columns, nan_is_missing):
        self.columns = columns
        self.nan_is_missing = nan_is_missing

    def to_arrow(self, names, facts):
        """A table of pyarrow with all columns: the engine refuses those that the schema lacks."""
        import pyarrow

        arrays = []
        for name, cells in zip(names, self.columns):
            column = facts.cells.get(name, {"type": "ignore"})
            is_object = isinstance(cells, np.ndarray)
            if column["type"] == "person":
                cells = _id_column(cells)
            elif column["type"] == "ignore" and name != facts.label:
                cells = pyarrow.nulls(len(cells)) if is_object else cells  # not looked at
            elif is_object:
                cells = _mixed_column(cells, self.nan_is_missing, "date" in column)
            else:
                cells = local_time(name, cells)
            arrays.append(cells)
        return pyarrow.Table.from_arrays(arrays, names)


# Types of columns whose cells are numbers.
_NUMERIC = ("number", "exposure", "weight")
_MOST_DIGITS = 400  # of an id that is a number


_TEXT, _WHOLE, _NUMBER, _TRUTH, _DAY = range(5)


def _mixed_column(cells, nan_is_missing, has_dates=False):
    """Objects as Arrow's union, in which each cell has a type of its own: the engine reads it as it reads
    columns of that type (docs/reference/data.md, "Arrow")."""
    import pyarrow

    if set(map(type, cells)) <= {str, type(None)}:
        try:
            return pyarrow.array(cells, pyarrow.large_string())
        except (pyarrow.ArrowException, ValueError):  # text that is no Unicode, cell by cell
            pass
    types = [pyarrow.large_string(), pyarrow.int64(), pyarrow.float64(), pyarrow.bool_(), pyarrow.date32()]
    kinds, members = np.zeros(len(cells), np.int8), [[None] * len(cells) for _ in types]
    for row, cell in enumerate(cells):
        kinds[row], value = _typed_cell(cell, nan_is_missing, has_dates)
        members[kinds[row]][row] = value
    return pyarrow.UnionArray.from_sparse(pyarrow.array(kinds), list(map(pyarrow.array, members, types)))


def _typed_cell(cell, nan_is_missing, has_dates):
    """(type, value) of an object; what has none of the types is a text that no schema lists."""
    cell = _plain(cell)
    if isinstance(cell, str):
        return _TEXT, cell.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(cell, bytes):
        return _TEXT, cell.decode("utf-8", "replace")
    if _is_none(cell):
        return _TEXT, None
    if isinstance(cell, bool):
        return _TRUTH, cell
    if has_dates and isinstance(cell, (datetime.date, np.datetime64)):
        return _day_cell(cell)
    word = f"<{type(cell).__name__}>"
    if isinstance(cell, _DATES) or not isinstance(cell, (numbers.Real, decimal.Decimal)):
        return _TEXT, word  # one of these dates is an Integral to NumPy
    try:
        if isinstance(cell, numbers.Integral):
            whole = int(cell)
            return (_WHOLE, whole) if -(2**63) <= whole < 2**63 else (_TEXT, str(whole))
        value = float(cell)
        return (_TEXT, None) if value != value and nan_is_missing else (_NUMBER, value)
    except (ValueError, OverflowError):  # beyond what can be read
        return _TEXT, word


def _day_cell(cell):
    """The day that a date or a time shows, in its own zone."""
    if isinstance(cell, datetime.datetime):
        cell = cell.date()
    day = np.datetime64(cell, "D")
    if np.isnat(day):
        return _TEXT, None
    return _DAY, int(np.clip(day.astype(np.int64), -(2**31), 2**31 - 1))


def read_array(X, labels, schema, **options):
    """Encodes an array of numbers and returns a `Dataset` (docs/reference/data.md).

    Parameters
    ----------
    X : array [n, k] of float32 or float64
        Column j of the schema is in column j; any strides will do. X is read once and not copied.
        An array on a GPU (DLPack), also of integers, is copied in blocks if the module is built
        with CUDA.
    labels : array [n] of float64, or None with labels_optional=True
        -1 or +1, places in the schema's classes from 0, or the amounts themselves.
    schema : Schema
        What is public about the columns.
    **options
        labels_optional=False; n_jobs=None (threads, None for all; no bit depends on it);
        progress=None (called as progress(bytes done, in all)).

    Raises
    ------
    TypeError
        If an array is masked: its mask would be lost.
    BadInput
        If a shape is wrong, or a cell or label cannot be read.
    """
    for name, array in (("X", X), ("labels", labels)):
        if isinstance(array, np.ma.MaskedArray):
            raise TypeError(
                f"{name} is a masked array, whose mask would be lost; give {name}.filled(numpy.nan)"
            )
    return _core.read_array(X, labels, schema, **options)


def read_arrow(
    table,
    schema,
    *,
    labels=None,
    labels_optional=False,
    ignore_extra_columns=False,
    n_jobs=None,
    progress=None,
    unseen="",
    rows_per_person=None,
):
    """Encodes a table with an Arrow stream and returns a `Dataset` (docs/reference/data.md,
    "Arrow").

    Parameters
    ----------
    table : object with `__arrow_c_stream__`
        A table of pandas, polars, pyarrow (also a reader) or DuckDB. The index of a pandas frame is
        no column; its columns of objects are read cell by cell.
    schema : Schema
        What is public about the columns.
    labels : array [n] of float64, or None
        Labels in place of the label's column: -1 or +1, places in the schema's classes from 0, or
        the amounts themselves.
    labels_optional, ignore_extra_columns : bool
        Whether a table may lack the label, or have columns that the schema does not name.
    n_jobs : int or None
        Number of threads; None takes all. No bit depends on it.
    progress : callable or None
        Called as progress(bytes done, 0).
    unseen : "", "middle" or "refuse"
        What happens to a cell that cannot be read, in rows to predict; see `read_table`.
    rows_per_person : int or None
        What all rows of one person count at most, where the schema has a column of people.

    Raises
    ------
    BadInput
        If the table has no stream, its columns are not the schema's, or a cell cannot be read.
    """
    if _is_pandas(table) and hasattr(table, "columns"):
        table = _pandas_table(table, schema)
    else:
        table = local_times(table, SchemaFacts(schema))
    return _core.read_arrow(
        table,
        schema,
        labels=labels,
        labels_optional=labels_optional,
        ignore_extra_columns=ignore_extra_columns,
        n_jobs=n_jobs,
        progress=progress,
        unseen=unseen,
        rows_per_person=rows_per_person,
    )


def _pandas_table(frame, schema):
    """A table of pyarrow, where pandas would let the cells of an object column choose its type."""
    names = [str(name) for name in frame.columns]
    return _Cells(_cells_of_frame(frame), True).to_arrow(names, SchemaFacts(schema))


_DATES = (np.datetime64, np.timedelta64)


def _is_none(cell):
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")


def _plain(cell):
    """A scalar of NumPy as Python's; dates stay what they are, neither text nor number."""
    if isinstance(cell, (np.generic, np.ndarray)) and cell.ndim == 0 and cell.dtype.kind not in "Mm":
        return cell.item()
    return cell


def _cell_at(column, row):
    """A cell of a list, an array or a column."""
    cell = column.iloc[row] if hasattr(column, "iloc") else column[row]
    return _plain(cell.as_py() if hasattr(cell, "as_py") else cell)


def _is_list(values):
    """Whether it is a sequence without a type of its own, of which NumPy would make one up from its
    values: a list, a tuple."""
    if isinstance(values, (str, bytes, bytearray, memoryview, dict, np.generic)):
        return False
    if any(hasattr(values, f"__array{what}__") for what in ("", "_interface", "_struct")):
        return False
    if not hasattr(values, "__len__") or not hasattr(values, "__getitem__"):
        return False
    try:
        memoryview(values)  # of array.array, say
        return False
    except TypeError:
        return True


def _objects(cells, kind=None):
    """ndarray of objects [rows], one a cell. kind: what `_kind_of_labels` says of them."""
    out = np.empty(len(cells), dtype=np.dtype(object, metadata={"labels": kind} if kind else {}))
    for row, cell in enumerate(cells):
        out[row] = _plain(cell)
    return out


def _cells_of_rows(rows):
    """A list of rows -> ndarray of objects [rows, columns]. A row may be an array of one type."""
    cut = []
    for row in rows:
        if isinstance(row, dict):
            raise TypeError(
                "X is a list of dicts, whose columns have no order; give pandas.DataFrame(X) or "
                "pyarrow.Table.from_pylist(X)"
            )
        if not _is_list(row):
            row = np.asarray(row)
            row = row if row.ndim else None
        cut.append(row)
    if not cut or cut[0] is None:
        return np.empty(len(cut), dtype=object)
    width = len(cut[0])
    out = np.empty((len(cut), width), dtype=object)
    for i, row in enumerate(cut):
        if row is None or len(row) != width:
            raise ValueError(
                f"X: row {i + 1} has {'no' if row is None else len(row)} cells, and row 1 has {width}; "
                "give every row as many (private: this line tells about the table)"
            )
        out[i] = _objects(row)
    return out


def read_columns(X, takes_text, has_missing=False, middle=False):
    """X -> Table. `takes_text`: whether cells may be text, so that an array of objects goes through
    Arrow. `has_missing`: whether the schema says what a missing cell becomes, so that NaN in a
    pandas frame has to stay one. `middle`: whether a cell that is no number is read as NaN."""
    if X is None:
        raise ValueError("X is None; give a two-dimensional table")
    if hasattr(X, "tocsr") or hasattr(X, "todense"):
        raise TypeError(
            "X is a sparse matrix, and sparse data is not supported; give X.toarray(), or a LIBSVM "
            "file to gibbsite.read_table"
        )
    _refuse_containers(X)
    if _is_pandas(X) and hasattr(X, "columns"):
        return _read_pandas(X, has_missing)
    if hasattr(X, "__arrow_c_stream__") and not isinstance(X, np.ndarray):
        return _read_stream(X)
    if not isinstance(X, np.ndarray) and _core._is_on_device(X):
        shape = tuple(X.shape)
        if len(shape) != 2:
            raise ValueError(f"Expected 2D array, got {len(shape)}D array instead. Reshape your data")
        _check_shape(*shape)
        return Table(X, None, shape[1], is_on_device=True)
    return _read_array(X, takes_text, middle)


def _refuse_containers(X):
    """What is no table, or would lose something on the way to one. By its type alone."""
    module, kind = type(X).__module__.partition(".")[0], type(X).__name__
    if _is_pandas(X) and not hasattr(X, "columns"):
        raise ValueError(
            f"Expected 2D array, got a pandas {kind} instead. Reshape your data: X.iloc[[0]] is a "
            "table of one row, X[['age']] one of one column"
        )
    one_column = isinstance(getattr(X, "shape", None), tuple) and len(X.shape) == 1
    if module == "polars" and (one_column or kind == "Series"):
        raise ValueError(
            "Expected 2D array, got a polars Series instead. Reshape your data: X.to_frame()"
        )
    if module == "pyarrow" and hasattr(X, "type") and not hasattr(X, "schema"):
        raise ValueError(
            f"Expected 2D array, got a pyarrow {kind} instead. Reshape your data: "
            "pyarrow.table({name: X})"
        )
    if module == "polars" and kind == "LazyFrame":
        raise TypeError("X is a LazyFrame, which holds no rows yet; give X.collect()")
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X is a masked array, whose mask would be lost; give X.filled(numpy.nan), or a table "
            "with missing cells"
        )
    if isinstance(X, np.ndarray) and X.dtype.names is not None:
        raise TypeError(
            "X is an array of records; give pandas.DataFrame(X), which has its columns by name"
        )
    if isinstance(X, dict):
        raise TypeError(
            "X is a dict; give pandas.DataFrame(X) or pyarrow.table(X), which are tables"
        )
    if isinstance(X, (set, frozenset)) or (
        hasattr(X, "__next__") and not hasattr(X, "__arrow_c_stream__")
    ):
        raise TypeError(f"X is a {kind}, whose rows have no order or no end; give a table or a list")


def columns_of(X, wanted):
    """The wanted columns that a table has, in their order; of an array or a stream X itself."""
    module = type(X).__module__.partition(".")[0]
    names = getattr(X, "column_names", getattr(X, "columns", None))
    if module not in ("pandas", "polars", "pyarrow") or names is None or callable(names):
        return X
    names = list(names)
    kept = [name for name in wanted if name in names]
    if not kept or len(set(names)) < len(names) or not hasattr(X, "select" if module != "pandas" else "iloc"):
        return X
    return X[kept] if module == "pandas" else X.select(kept)


def _raw_names(names):
    """Names that are no text, or None."""
    names = list(names)
    return None if not names or all(isinstance(name, str) for name in names) else names


def _text_names(names):
    names = list(names)
    texts = [isinstance(name, str) for name in names]
    if any(texts) and not all(texts):
        raise TypeError(
            f"X: column names must all be strings or none, got {listed(names)}; rename the columns"
        )
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ValueError(f"X: column {twice!r} occurs twice; rename one")
    return names if names and all(texts) else None


def _check_shape(rows, width):
    if width == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required."
        )
    if rows == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {width})) while a minimum of 1 is required."
        )


def _read_pandas(X, has_missing):
    if X.ndim != 2:
        raise ValueError("Expected 2D array, got a Series. Reshape your data: give a DataFrame")
    rows, width = X.shape
    columns = _text_names(X.columns)
    _check_shape(rows, width)
    kinds = {getattr(dtype, "kind", "O") for dtype in X.dtypes}
    plain = all(isinstance(dtype, np.dtype) for dtype in X.dtypes)
    same = len(set(X.dtypes)) == 1
    if plain and same and kinds == {"f"} and not has_missing:  # one block: no copy, no pyarrow
        return Table(_as_floats(X.to_numpy()), columns, width, raw=_raw_names(X.columns))
    try:
        import pyarrow
    except ImportError:
        if plain and kinds <= set("fiu") and not has_missing:
            whole = X.to_numpy()
            if whole.dtype.kind in "iu":
                _require_exact(whole)
            return Table(whole.astype(np.float64), columns, width, raw=_raw_names(X.columns))
        raise ImportError(
            "X: a pandas DataFrame with text, dates or missing cells is read through pyarrow; "
            "pip install pyarrow"
        ) from None
    return Table(_Cells(_cells_of_frame(X), True), columns, width, raw=_raw_names(X.columns))


def _cells_of_frame(frame):
    """A frame's columns as pyarrow or objects have them; the index is no column."""
    return [_named_pandas_cells(name, frame.iloc[:, j]) for j, name in enumerate(frame.columns)]


def _named_pandas_cells(name, column):
    import pyarrow

    try:
        return _pandas_cells(column)
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise ValueError(
            f"X: column {name!r}: {_one_line(error)}; give every column one type "
            "(private: this line may quote the table)"
        ) from None


def _pandas_cells(column):
    import pyarrow

    if hasattr(column, "sparse"):
        column = column.sparse.to_dense()
    if column.dtype == object:
        return column.to_numpy()
    if getattr(column.dtype, "storage", "") == "python":  # text that may be no UTF-8
        return column.to_numpy(dtype=object)
    if getattr(column.dtype, "name", "") == "category":
        # Which categories there are, and of what type, follows from the rows.
        if getattr(column.dtype.categories.dtype, "storage", "") != "pyarrow":
            return column.astype(object).to_numpy()
    cells = pyarrow.array(column, from_pandas=True)
    if isinstance(cells.type, pyarrow.BaseExtensionType):  # periods would be read as their ordinals
        raise TypeError(f"cells of {column.dtype} are neither numbers nor text")
    return cells


def _read_stream(X):
    names = None
    for path in (("column_names",), ("columns",), ("schema", "names")):
        names = X
        for attribute in path:
            names = getattr(names, attribute, None)
        if names is not None and not callable(names):
            break
    if names is None or callable(names):
        try:
            import pyarrow
        except ImportError:
            raise ImportError("X: pip install pyarrow to read a bare Arrow stream") from None
        X = pyarrow.RecordBatchReader.from_stream(X)
        names = X.schema.names
    # pyarrow.Table.columns are arrays, but its column_names come first.
    names = [str(name) for name in names]
    shape = getattr(X, "shape", None)
    rows = shape[0] if isinstance(shape, tuple) and isinstance(shape[0], int) else None
    _check_shape("?" if rows is None else rows, len(names))
    return Table(X, names, len(names))


def _as_floats(array):
    if array.dtype in (np.float32, np.float64) and array.dtype.isnative:
        return array
    return array.astype(np.float64)


def _read_array(X, takes_text, middle):
    array = _cells_of_rows(X) if _is_list(X) else np.asarray(X)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X has complex cells")
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data: "
            "array.reshape(-1, 1) if it is one column, array.reshape(1, -1) if it is one row"
        )
    rows, width = array.shape
    _check_shape(rows, width)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and takes_text:
        try:  # a level is a whole number of 64 bits, of which a double has 53
            import pyarrow

            whole = [pyarrow.array(np.ascontiguousarray(array[:, j])) for j in range(width)]
            return Table(_Cells(whole, False), None, width)
        except ImportError:
            _require_exact(array)
    if array.dtype.kind in "biuf":
        return Table(_as_floats(array), None, width)
    if array.dtype.kind in "Mm":
        raise TypeError("X has dates or durations; make them numbers, such as days or years")
    if not takes_text:
        return Table(_numbers(array, middle), None, width)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(
            "X: a list, or an array with text, is read through pyarrow where cells may be text; pip "
            "install pyarrow"
        ) from None
    array = array.astype(object)
    return Table(_Cells([array[:, j] for j in range(width)], False), None, width)


def _require_exact(array):
    if ((array > 2**53) | (array < -(2**53))).any():
        raise ValueError(
            "X has whole numbers beyond 2^53, which floats would merge; pip install pyarrow, which "
            "reads them exactly (private: this line tells about the table)"
        )


def _numbers(array, middle):
    """An array of objects or text as float64, cell by cell; what is no number is NaN with `middle`."""
    out = np.empty(array.shape)
    array = array.astype(object)
    for j in range(array.shape[1]):
        for i, cell in enumerate(array[:, j]):
            try:
                if isinstance(cell, _DATES):
                    raise TypeError("a date or duration is no number; make it one, such as days")
                out[i, j] = np.nan if _is_none(cell) else float(cell)
            except OverflowError:  # a whole number: its range's end
                out[i, j] = np.copysign(np.finfo(np.float64).max, 1 if cell > 0 else -1)
            except (TypeError, ValueError) as error:
                if not middle:
                    raise type(error)(
                        f"X: column {j + 1}: {_one_line(error)} (private: this line may quote the "
                        "table)"
                    ) from None
                out[i, j] = np.nan
    return out


def standardized(table):
    """Names of the columns of an array whose mean is 0 and deviation 1 within rounding: as a scaler
    leaves them that was fitted to these rows. Others are told apart by a few hundred rows."""
    array = table.source if table.is_array else None
    if array is None or len(array) < 10:
        return []
    rows = len(array)
    with np.errstate(all="ignore"):
        head = array[: 1 << 9].astype(np.float64)
        near = (abs(head.mean(axis=0)) < 1) & (head.std(axis=0) > 0.1) & (head.std(axis=0) < 5)
        places = np.flatnonzero(near)
        cells = array[:, places].astype(np.float64)
        mean, deviation = cells.mean(axis=0), cells.std(axis=0)
    rounding = 1e-7 if array.dtype == np.float64 else 1e-4
    is_one = [abs(deviation * scale - 1) < rounding for scale in (1, np.sqrt(rows / (rows - 1)))]
    hits = (abs(mean) < rounding) & (is_one[0] | is_one[1])
    return [f"x{j}" if table.columns is None else table.columns[j] for j in places[hits].tolist()]


# Schema.


def read_schema(schema):
    """A `Schema`, from one, from the path of its file or from its text (which has line breaks)."""
    if isinstance(schema, _core.Schema):
        return schema
    if isinstance(schema, os.PathLike):
        return _core.Schema.read(os.fspath(schema))
    if isinstance(schema, str):
        if "\n" in schema:
            return _core.Schema.parse(schema, "schema")
        return _core.Schema.read(schema)
    raise ValueError(
        f"schema: must be a Schema, the path of its file or its text, got {type(schema).__name__}"
    )


def _is_pair(value):
    return (
        isinstance(value, (tuple, list, np.ndarray))
        and len(value) == 2
        and all(_is_number(end) for end in value)
    )


def _is_exposure(what):
    return isinstance(what, (tuple, list)) and len(what) == 3 and what[0] == "exposure" and _is_pair(what[1:])


# What a dict of `ranges` may say of a column, in the schema's words, and of which types.
_SAID = {
    "levels": (list, tuple),
    "range": (tuple, list, np.ndarray),
    "other": (bool, np.bool_),
    "curve": (numbers.Integral, str),
    "knots": (list, tuple, np.ndarray),
    "scale": (str,),
    "typical": (list, tuple, np.ndarray),
    "missing": (str, list, tuple),
    "missing_level": (bool, np.bool_),
    "unlisted": (str,),
    "reference": (str,),
}
_SAID_AS = {
    "levels": "list",
    "range": "tuple",
    "other": "bool",
    "curve": 'number of knots or "auto"',
    "knots": "list of numbers",
    "typical": "pair (center, spread)",
    "missing": "str or a list of them",
    "missing_level": "bool",
}
_OF_NUMBERS = ("range", "curve", "knots", "scale", "typical", "missing", "missing_level")
_OF_CATEGORIES = ("levels", "other", "missing", "unlisted", "reference")


def _is_said(key, value):
    """Whether a dict of `ranges` may say this."""
    if not isinstance(value, _SAID[key]):
        return False
    if key == "curve":
        return value == "auto" if isinstance(value, str) else not isinstance(value, bool)
    if key == "knots":
        return all(map(_is_number, value))
    if key == "typical":
        return _is_pair(value)
    return key != "missing" or is_marks(value)


# Types of columns that need no more said, but for `missing` of some.
_PLAIN_TYPES = ("boolean", "ignore", "person")
_MAY_BE_MISSING = ("boolean", "exposure")


def _typed_toml(name, what):
    """A column of which a dict says the type."""
    kind = what["type"]
    if kind == "weight":
        raise ValueError(
            f"ranges: column {name!r}: weights go beside X: fit(X, y, sample_weight=X[{name!r}]), "
            'weight_range=(0, largest) in the constructor, and "ignore" here'
        )
    if kind == "exposure":
        if not _is_pair(what.get("range")):
            raise ValueError(f'ranges: column {name!r}: an exposure says its "range", (lowest, highest), above 0')
    elif kind not in _PLAIN_TYPES:
        raise ValueError(
            f'ranges: column {name!r}: "type" is "date", "boolean", "exposure", "person" or "ignore", got '
            f"{kind!r}; of numbers and levels leave it out"
        )
    more = [key for key in what if key not in ("type", "missing") and (key, kind) != ("range", "exposure")]
    if more or ("missing" in what and kind not in _MAY_BE_MISSING):
        also = ' but "missing"' if kind in _MAY_BE_MISSING else ""
        raise ValueError(
            f'ranges: column {name!r}: beside "type": {kind!r} nothing is said{also}; leave the rest out'
        )
    said = [f'type = "{kind}"']
    if kind == "exposure":
        said.append(f"range = [{float(what['range'][0])!r}, {float(what['range'][1])!r}]")
    if "missing" in what:
        if not _is_said("missing", what["missing"]):
            raise ValueError(
                f"ranges: column {name!r}: 'missing' must be a str or a list of them, got {what['missing']!r}"
            )
        said.append(f"missing = {marks_toml(what['missing'])}")
    return f"{{{', '.join(said)}}}"


def _said_toml(name, what):
    """A column of which a dict says more than its range or its levels."""
    if "type" in what:
        return _typed_toml(name, what)
    kind = "levels" if "levels" in what else "range"
    known = _OF_CATEGORIES if kind == "levels" else _OF_NUMBERS
    if kind not in what and "knots" not in what:  # which begin and end with the range
        raise ValueError(
            f'ranges: column {name!r}: says neither "levels" nor "range" nor "type"; give one of them'
        )
    if kind == "levels":
        levels = what["levels"]
        levels = list(levels) if isinstance(levels, (tuple, list)) else _listed_levels(levels)
        if _is_pair(levels):
            levels = [_level_text(one) for one in levels]
        what = {**what, "levels": _listed_levels(levels)}
    for key, value in what.items():
        if key not in known:
            raise ValueError(
                f"ranges: column {name!r}: unknown {key!r}; with {kind!r} there may be "
                f"{', '.join(map(repr, known))}"
            )
        if not _is_said(key, value):
            raise ValueError(
                f"ranges: column {name!r}: {key!r} must be a {_SAID_AS.get(key, 'str')}, got {_shortly(value)}"
            )
    if kind in what:
        first = list(what["levels"]) if kind == "levels" else tuple(what["range"])
        lines = [_column_toml(name, first).rstrip("}")]
    else:
        lines = ['{type = "number"']
    for key in ("other", "missing_level"):
        if key in what:
            lines.append(f"{key} = {'true' if what[key] else 'false'}")
    if "curve" in what:
        lines.append(_curve_toml(what["curve"]))
    if "knots" in what:
        lines.append(f"knots = {[float(knot) for knot in what['knots']]!r}")
    if "typical" in what:
        lines.append(f"typical = {[float(number) for number in what['typical']]!r}")
    if "missing" in what:
        lines.append(f"missing = {marks_toml(what['missing'])}")
    lines += [f"{key} = {_quoted(what[key])}" for key in ("scale", "unlisted", "reference") if key in what]
    return ", ".join(lines) + "}"


def _curve_toml(curve):
    return f"curve = {_quoted(curve) if isinstance(curve, str) else int(curve)}"


_OF_DATES = ("type", "range", "format", "missing", "missing_level", "curve", "parts")


def _date_lines(name, what):
    """A date's own line, and one for each of its parts. Of type "ignore" only its parts count."""
    is_ignored = what["type"] == "ignore"

    def fail(said):
        raise ValueError(f"ranges: column {name!r}: {said}")

    for key, value in what.items():
        if key not in _OF_DATES:
            fail(f"unknown {key!r}; of a date there may be {', '.join(map(repr, _OF_DATES))}")
        if key in _SAID and key != "range" and not _is_said(key, value):
            fail(f"{key!r} must be a {_SAID_AS.get(key, 'str')}, got {value!r}")
    days = what.get("range")
    if not isinstance(days, (tuple, list)) or len(days) != 2:
        fail('a date says its "range": a pair of days, such as ("1990-01-01", "2024-12-31")')
    days = [str(day)[:10] if isinstance(day, (datetime.date, np.datetime64)) else day for day in days]
    parts = what.get("parts", ())
    if isinstance(parts, str) or not all(part in _PARTS for part in parts):
        fail(f'"parts" must be a list of {", ".join(map(repr, _PARTS))}, got {parts!r}')
    cells = []  # how they are written
    if "format" in what:
        cells.append(f"format = {_quoted(str(what['format']))}")
    if "missing" in what:
        cells.append(f"missing = {marks_toml(what['missing'])}")
    of = ", ".join([f"of = {_quoted(name)}", *(cells if is_ignored else [])])
    year = ""
    if is_ignored and "year" in parts:  # an ignored date has no range that its year could follow
        ends = [str(day)[:4] for day in days]
        if not all(end.isdecimal() for end in ends):
            fail('"range" must be days written as "1990-01-01"')
        year = f", range = [{', '.join(str(int(end)) for end in ends)}]"
    lines = [
        f'{_quoted(f"{name}_{part}")} = {{type = "{part}", {of}{year if part == "year" else ""}}}'
        for part in parts
    ]
    if is_ignored:
        return [f'{_quoted(name)} = {{type = "ignore"}}', *lines]
    line = [f"range = [{', '.join(_quoted(str(day)) for day in days)}]", *cells]
    if "missing_level" in what:
        line.append(f"missing_level = {'true' if what['missing_level'] else 'false'}")
    if "curve" in what:
        line.append(_curve_toml(what["curve"]))
    return [f'{_quoted(name)} = {{type = "date", {", ".join(line)}}}', *lines]


def _type_said(what):
    """The type that `ranges` say of a column in words, or None."""
    return what if isinstance(what, str) else what.get("type") if isinstance(what, dict) else None


def _is_ignored(what):
    if isinstance(what, dict):
        return what.get("type") == "ignore" and not what.get("parts")
    return isinstance(what, str) and what == "ignore"


def _column_lines(name, what):
    if isinstance(what, dict) and (what.get("type") == "date" or what.get("type") == "ignore" and what.get("parts")):
        return _date_lines(name, what)
    return [f"{_quoted(name)} = {_column_toml(name, what)}"]


def _listed_levels(what):
    """An array, an Index or a list of numbers as a list of texts; of two numbers, a range, as it is."""
    for method in ("tolist", "to_pylist", "to_list"):
        if not isinstance(what, (list, tuple)) and callable(getattr(what, method, None)):
            what = getattr(what, method)()
    if not isinstance(what, list) or _is_pair(what) or not what or all(isinstance(one, str) for one in what):
        return what
    levels = [_level_text(one) for one in what]
    return what if None in levels else levels


def _level_text(one):
    """A level as its cells read, or None of what is none."""
    one = _plain(one)
    if isinstance(one, str):
        return one
    if isinstance(one, bool):
        return str(one).lower()
    is_whole = isinstance(one, numbers.Real) and math.isfinite(one) and one == int(one)
    return str(int(one)) if is_whole else None


def _shortly(what):
    """What is said of a column, for an error: no cells of a table that was given in its place."""
    if isinstance(what, (str, bytes, numbers.Number)) or (isinstance(what, (list, tuple)) and len(what) < 5):
        return repr(what) if len(repr(what)) <= 60 else type(what).__name__
    size = f" of {len(what)}" if hasattr(what, "__len__") else ""
    return f"{type(what).__name__}{size}"


def _column_toml(name, what):
    if isinstance(what, Curve):
        return what.to_toml()
    if isinstance(what, dict):
        return _said_toml(name, what)
    if _is_exposure(what):
        return f'{{type = "exposure", range = [{float(what[1])!r}, {float(what[2])!r}]}}'
    if isinstance(what, str):
        if what not in _PLAIN_TYPES:
            raise ValueError(
                f'ranges: column {name!r}: must be (lowest, highest), a list of levels, "boolean", "person" '
                f'or "ignore", got {what!r}'
            )
        return f'{{type = "{what}"}}'
    if isinstance(what, (tuple, list)) and len(what) == 2 and all(isinstance(one, (bool, np.bool_)) for one in what):
        return '{type = "boolean"}'
    if _is_pair(what):
        return f'{{type = "number", range = [{float(what[0])!r}, {float(what[1])!r}]}}'
    levels = _listed_levels(what)
    if _is_pair(levels):  # an Index of two numbers
        return _column_toml(name, levels)
    if isinstance(levels, (tuple, list)) and levels and all(isinstance(level, str) for level in levels):
        return _levels_toml(name, levels)
    raise ValueError(
        f"ranges: column {name!r}: must be (lowest, highest) of a number, gibbsite.Curve(lowest, "
        "highest), a list of the levels of a category, "
        f'{{"levels": [...], "other": True}}, {{"type": "date", "range": (first, last)}}, "boolean", '
        f'"person" or "ignore", got {_shortly(what)}'
    )


def _levels_toml(name, levels):
    if len(set(levels)) < len(levels):
        raise ValueError(
            f"ranges: column {name!r}: its {len(levels)} levels are not different ones; list each level once, from "
            "public knowledge"
        )
    return f'{{type = "category", levels = [{", ".join(map(_quoted, levels))}]}}'


def _each(ranges):
    """What `ranges` say of columns; nothing where they are of no such type."""
    if isinstance(ranges, Curve):  # for all columns
        return [ranges]
    if _is_pair(ranges) or not isinstance(ranges, (dict, list, tuple)):
        return []
    return list(ranges.values()) if isinstance(ranges, dict) else list(ranges)


def takes_text(ranges):
    """Whether a column is a category, is ignored or has marks of missing cells, so that cells may
    be text."""

    def is_number(what):
        is_curve = isinstance(what, Curve) and what.missing is None
        return is_curve or _is_pair(what) or _is_exposure(what)

    return not all(map(is_number, _each(ranges)))


def says_missing(ranges):
    """Whether a column says how its missing cells read."""
    return any(
        what.missing is not None if isinstance(what, Curve) else isinstance(what, dict) and "missing" in what
        for what in _each(ranges)
    )


def _by_raw_names(ranges, raw, width):
    """(names, what is said of each) of columns whose names are no text."""
    if raw is not None and not all(isinstance(key, str) for key in ranges):
        _require_none(
            "ranges: must name the columns of X",
            without_a_range=[name for name in raw if name not in ranges],
            not_in_X=[name for name in ranges if name not in raw],
        )
        names = [str(name) for name in raw]
        if len(set(names)) < len(names):
            raise ValueError(f"X: column names read alike as text: {listed(names)}; rename them")
        return names, [ranges[name] for name in raw]
    keys = list(ranges)
    if len(keys) != width:
        raise ValueError(f"ranges: names {len(keys)} columns, but X has {width}")
    if any(isinstance(key, numbers.Integral) for key in keys):  # places in the array
        if set(keys) != set(range(width)):
            raise ValueError(
                f"ranges: X has no names, so its columns are 0 to {width - 1}, got {listed(keys)}"
            )
        keys = list(range(width))
    return [str(key) for key in keys], [ranges[key] for key in keys]


def _interaction_lines(interactions, columns):
    """The lines of [[interaction]], which name columns of X by their names or places."""
    if isinstance(interactions, (str, bytes, dict)) or not isinstance(interactions, Sequence):
        raise ValueError(
            'interactions: must be a list of tuples of column names, such as [("age", "sex")], got '
            f"{interactions!r}"
        )
    lines = []
    for one in interactions:
        said = one if isinstance(one, dict) else {"columns": one}
        names, curve = said.get("columns"), said.get("curve")
        known = isinstance(names, (tuple, list)) and all(
            isinstance(name, (str, int, np.integer)) and not isinstance(name, bool) for name in names
        )
        whole = isinstance(curve, (int, np.integer)) and not isinstance(curve, bool)
        if not known or set(said) - {"columns", "curve"} or not (curve is None or whole):
            raise ValueError(
                'interactions: each must be a tuple of column names, ("age", "sex"), or {"columns": '
                f'("age", "sex"), "curve": 6}}, got {one!r}'
            )
        texts = [
            columns[name] if not isinstance(name, str) and 0 <= name < len(columns) else str(name)
            for name in names
        ]
        lines += ["", "[[interaction]]", f"columns = [{', '.join(map(_quoted, texts))}]"]
        lines += [] if curve is None else [f"curve = {int(curve)}"]
    return lines


def schema_of_ranges(
    ranges,
    columns,
    width,
    label_lines,
    invalid,
    row_norm,
    fit_intercept,
    raw=None,
    interactions=None,
    label=None,
):
    """The `Schema` that ranges say.

    ranges: {column: (lowest, highest) | Curve | [level, ...] | {"levels": [level, ...], "other":
    True} | "ignore"}, the same as a list in the order of the columns, or one pair or curve for all
    columns: names of the columns of X, or None
    raw: those of a frame that are no text, or None; integer keys of `ranges` are else places
    label_lines: what the label is, in the schema's words
    interactions: [(column, column), ...] or None
    label: the label's name or None
    """
    if isinstance(ranges, dict):
        if columns is None:
            columns, what = _by_raw_names(ranges, raw, width)
        else:
            extra = [name for name in columns if name not in ranges]
            lacking = [name for name in ranges if name not in columns and not _is_ignored(ranges[name])]
            _require_none(
                "ranges: must name the columns of X", without_a_range=extra, not_in_X=lacking
            )
            what = [ranges[name] for name in columns]
    else:
        columns = [f"x{j}" for j in range(width)] if columns is None else columns
        if _is_pair(ranges) or isinstance(ranges, Curve):
            what = [ranges] * width
        elif isinstance(ranges, (list, tuple, np.ndarray)):
            what = list(ranges)
            if len(what) != width:
                raise ValueError(f"ranges: has {len(what)} columns, but X has {width}")
        else:
            raise ValueError(
                "ranges: must be a dict {column: (lowest, highest)}, a list of such pairs in the "
                f"order of the columns, or one pair for all, got {ranges!r}"
            )
    parts = [f"{name}_{part}" for name in columns for part in _PARTS]  # which dates may have
    lines = [f"label = {_quoted(_free_label(label, [*columns, *parts]))}", *label_lines]
    if invalid not in ("refuse", "middle"):
        raise ValueError(f'invalid: must be "refuse" or "middle", got {invalid!r}')
    if invalid == "middle":
        lines.append('invalid = "middle"')
    if row_norm != "auto":
        if not _is_number(row_norm):
            raise ValueError(f'row_norm: must be a number or "auto", got {row_norm!r}')
        lines.append(f"row_norm = {float(row_norm)!r}")
    if not isinstance(fit_intercept, (bool, np.bool_)):
        raise ValueError(f"fit_intercept: must be True or False, got {fit_intercept!r}")
    lines += [f"intercept = {'true' if fit_intercept else 'false'}", "", "[columns]"]
    lines += [line for name, said in zip(columns, what) for line in _column_lines(name, said)]
    if interactions is not None:
        lines += _interaction_lines(interactions, columns)
    try:
        return _core.Schema.parse("\n".join(lines) + "\n", "ranges"), columns
    except _core.BadInput as error:  # a line for each error, of which the first is enough
        first, *more = str(error).splitlines()
        rest = f" (and {len(more)} more errors)" if more else ""
        raise _core.BadInput(first + rest) from None


_UNREAD = re.compile(
    r"(?:array: |table: )?(row \d+: column '(.*)': .*?); .* or set invalid = "
    r'"middle" in the schema( \(private.*)'
)


def said_in_ranges(error, ranges, is_pandas):
    """What the engine says of a cell that is missing, with advice in the words of `ranges`."""
    found = _UNREAD.search(error)
    is_nan = found is not None and "'nan'" in found[1]
    if not is_nan and (found is None or "is empty" not in found[1]):
        return error
    what = ranges.get(found[2]) if isinstance(ranges, dict) else None
    mark = "nan" if is_nan and not is_pandas else ""
    advice = f'"missing": "{mark}" beside its range or levels in ranges'
    if isinstance(what, Curve):
        advice = f'missing="{mark}" of its Curve'
    elif isinstance(what, (tuple, list)) or _type_said(what) in _MAY_BE_MISSING:
        said = f'"range": {what!r}' if _is_pair(what) else f'"levels": {what!r}'
        if not isinstance(what, (tuple, list)):
            said = f'"type": "{_type_said(what)}"'
            said += f', "range": {what["range"]!r}' if isinstance(what, dict) and "range" in what else ""
        elif _is_exposure(what):
            said = f'"type": "exposure", "range": {tuple(what[1:])!r}'
        full = f'ranges={{{_quoted(found[2])}: {{{said}, "missing": "{mark}"}}}}'
        advice = full if len(full) < 120 else advice
    return (
        f"{error[: found.start()]}{found[1]}; fill it, say that such cells are missing, {advice}, or set "
        f'invalid="middle"{found[3]}'
    )


def as_cells(X, name="X", person=None):
    """X -> (Table, names), of an Arrow table whose cells are read without a schema: text, truths and
    numbers as they are, dates as ISO 8601, objects cell by cell; the column `person` of ids as a fit
    reads them."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            'schema: "private" reads the cells of X through pyarrow; pip install pyarrow'
        ) from None
    table = read_columns(X, True, has_missing=True)
    if table.is_on_device:
        raise TypeError('schema: "private" reads the cells of X on the CPU; give a table or array there')
    names = table.columns
    if names is None:
        names = [f"x{j}" for j in range(table.width)] if table.raw is None else list(map(str, table.raw))
        if len(set(names)) < len(names):
            raise ValueError(f"{name}: column names read alike as text: {listed(names)}; rename them")
    source = table.source
    if isinstance(source, np.ndarray):
        columns = [pyarrow.array(np.ascontiguousarray(source[:, j])) for j in range(table.width)]
    elif isinstance(source, _Cells):
        columns = [
            _id_column(cells)
            if column == person
            else _mixed_column(cells, source.nan_is_missing)
            if isinstance(cells, np.ndarray)
            else cells
            for column, cells in zip(names, source.columns)
        ]
    else:
        columns = pyarrow.table(source).columns
    columns = [
        _readable(column, cells if column == person else local_time(column, cells))
        for column, cells in zip(names, columns)
    ]
    return Table(pyarrow.table(columns, names=names), table.columns, table.width, raw=table.raw), names


def _readable(name, cells):
    """A column of pyarrow as text, truths or numbers, by its type alone; a union of these as it is."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if types.is_null(cells.type) or types.is_boolean(cells.type) or types.is_string(cells.type):
        return cells
    if types.is_union(cells.type):
        return cells
    if types.is_large_string(cells.type) or str(cells.type) == "string_view":
        return cells
    if types.is_integer(cells.type) or types.is_floating(cells.type) or types.is_decimal(cells.type):
        return cells
    if types.is_date(cells.type) or types.is_timestamp(cells.type) or types.is_time(cells.type):
        return cells.cast(pyarrow.string())
    raise TypeError(
        f"X: column {name!r} is of {cells.type}, which is neither text, a number nor a date; make it "
        "one, or leave the column out"
    )


def name_of_labels(y):
    """The name of a Series, or of the only column of a table; else None."""
    name = getattr(y, "name", None)
    names = getattr(y, "column_names", getattr(y, "columns", None))
    if not isinstance(name, str) and hasattr(names, "__len__") and len(names) == 1:
        name = names[0]
    return name if isinstance(name, str) else None


def _free_label(wanted, taken):
    """The label's name in a file: the one that is wanted where it can be one, else "y" or the like."""
    is_one = wanted is not None and wanted.isprintable() and wanted == wanted.strip() != ""
    taken = [*taken, "sample_weight", "groups"]  # columns of the engine's
    names = [wanted] if is_one else []
    return next(name for name in (*names, "y", "label", "(label)", "(the label)") if name not in taken)


def schema_of_label(lines, columns, label=None):
    """The `Schema` of nothing but a label, in the schema's words, beside columns of those names."""
    text = [f"label = {_quoted(_free_label(label, columns))}", *lines, 'invalid = "middle"', "", "[columns]"]
    return _core.Schema.parse("\n".join([*text, 'x = {type = "number", range = [0, 1]}', ""]), "label")


def _marks(missing):
    """`missing` of a schema, a text, a list or nothing, as a list of marks."""
    if missing is None:
        return []
    return [missing] if isinstance(missing, str) else list(missing)


# Parts of dates, and what they may be; years are numbers.
_PARTS = {
    "year": None,
    "month": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(),
    "weekday": "Mon Tue Wed Thu Fri Sat Sun".split(),
}


def plain_column(column):
    """A column of a schema by what it becomes: a date is a number of days since 1970-01-01 with
    `date`, its format; a boolean a category of two levels."""
    if column["type"] == "date":
        days = {
            key: [
                float((datetime.date.fromisoformat(day) - datetime.date(1970, 1, 1)).days)
                for day in column[key]
            ]
            for key in ("range", "knots")
            if key in column
        }
        return {**column, **days, "type": "number", "date": column.get("format", "%Y-%m-%d")}
    if column["type"] in _PARTS:  # of cells that are dates
        out = {**column, "part": column["type"], "date": column.get("format", "%Y-%m-%d")}
        levels = _PARTS[column["type"]]
        return {**out, "type": "category", "levels": levels} if levels else {**out, "type": "number"}
    if column["type"] == "boolean":
        return {**column, "type": "category", "levels": ["false", "true"]}
    return column


class SchemaFacts:
    """What Python must know of a schema: its labels' rules and its columns."""

    def __init__(self, schema):
        toml = tomllib.loads(schema.to_toml())
        self.kind = (
            "classes"
            if "positive" in toml or "classes" in toml
            else "count" if toml.get("counts") else "amount"
        )
        self.classes = toml.get("classes")  # None of two
        self.positive = toml.get("positive")
        self.negative = toml.get("negative")
        self.label = toml.get("label")
        self.label_range = toml.get("range")  # None of classes
        self.middle = toml.get("invalid", "refuse") == "middle"
        # A third label: refused, or the negative class.
        self.refuses_unlisted = (
            self.negative is not None and toml.get("unlisted_label", "negative") == "refuse"
        )
        self.unlisted = 0  # of the labels that class_codes read: of neither class
        self.missing = _marks(toml.get("missing"))
        self.has_missing = "missing" in toml or any(
            "missing" in column for column in toml["columns"].values()
        )
        self.takes_text = (
            self.has_missing
            or toml.get("decimal", ".") != "."
            or "thousands" in toml
            or any(
                column["type"] not in _NUMERIC or "decimal" in column or "thousands" in column
                for column in toml["columns"].values()
            )
        )
        self.columns, self.written = {}, {}  # by what they become, and as TOML says it
        for name, column in toml["columns"].items():
            source = toml["columns"].get(column.get("of"), {"type": "ignore"})
            if source["type"] != "ignore":  # which says how the cells of its parts are written
                said = {key: source[key] for key in ("format", "missing") if key in source}
                column = {**said, **column}
            count = column.get("count")
            for full in [name] if count is None else [f"{name}{k + 1}" for k in range(count)]:
                self.columns[full] = plain_column(column)
                self.written[full] = column
        # Columns of a table by their names, each as the first column of the schema that reads it.
        self.cells = {}
        for name, column in self.columns.items():
            cell = column.get("of", name)
            if self.cells.get(cell, {"type": "ignore"})["type"] == "ignore":
                self.cells[cell] = column
        self.interactions = toml.get("interaction", [])

    @property
    def person(self):
        """The name of the column that says whose a row is, or None."""
        return next((name for name, column in self.cells.items() if column["type"] == "person"), None)

    def may_lack(self, name):
        """Whether rows to predict may lack a column of that name, or have it: it is not read."""
        return self.cells.get(name, {}).get("type") in ("ignore", "person", "weight")

    def marks(self, column):
        """How missing cells of the column read: texts, none of them where no cell is missing."""
        return _marks(column["missing"]) if "missing" in column else self.missing

    def has_missing_level(self, column):
        """Whether the column has a feature of missing cells, "(missing)"."""
        if column["type"] == "number":
            is_curve = "knots" in column or "curve" in column
            return bool(self.marks(column)) and column.get("missing_level", is_curve)
        return "missing" in column and not set(self.marks(column)) & set(column["levels"])

    def levels(self, column):
        """Names of the features that the column has, without its own name: of a category its
        levels, of a curve its knots as floats, of a straight line [None]. Then "(missing)" and
        "(other)" where they are features."""
        if column["type"] not in ("number", "category"):
            return []
        is_number = column["type"] == "number"
        names = list(column.get("knots", [None])) if is_number else list(column["levels"])
        if self.has_missing_level(column):
            names.append("(missing)")
        if column.get("other") and not column.get("unlisted"):
            names.append("(other)")
        return names

    def require_of_dask(self):
        """That no curve is left to be chosen by a plan, and that rows are counted."""
        if self.person is not None:
            raise _core.BadInput(
                f"schema: column {self.person!r} says whose a row is, and Dask's workers count rows, each as "
                "one; fit in one process, or by ranks of the command line, which count people"
            )
        for name, column in self.columns.items():
            if column.get("curve") == "auto":
                raise _core.BadInput(
                    f'schema: column {name!r}: curve = "auto" is not for Dask, whose workers encode '
                    "rows before a plan is made; give a number of knots, such as curve = 8, or fit in "
                    "one process"
                )

    def check_columns(self, columns):
        """That X has the schema's columns, by name."""
        extra = [name for name in columns if name not in self.cells]
        lacking = [
            name
            for name, column in self.cells.items()
            if name not in columns and column["type"] != "ignore"
        ]
        if self.label in extra:
            raise ValueError(
                f"X has the label column {self.label!r} of the schema; give it as y, and leave it "
                "out of X"
            )
        _require_none(
            "X must have the columns of the schema", not_in_the_schema=extra, lacking=lacking
        )


def changed_words(facts, features, name, kind):
    """What cells of a column count as that reading changed, for the curator; "" where that is a level of
    their own. features: the schema's names of them."""
    column = facts.columns.get(name, {"type": "ignore"})
    is_number = "range" in column
    if kind == "clamped":
        ends = facts.written[name]["range"] if "date" in column and "part" not in column else column.get("range")
        if ends is None:  # of a part of a date
            return "outside the range, counted as its nearer end"
        said = ", ".join(end if isinstance(end, str) else f"{end:g}" for end in ends)
        return f"outside [{said}], counted as its nearer end"
    if kind == "other":
        return f"of a level that is not listed, counted as {column.get('unlisted', '(other)')}"
    said = "missing" if kind == "missing" else "unreadable"
    if f"{name}=(missing)" in features:
        return "" if kind == "missing" else f"{said}, counted as missing"
    if "unlisted" in column:
        return f"{said}, counted as {column['unlisted']}"
    if column["type"] != "number":
        return said if column["type"] != "category" else f"{said}, counted as of no level"
    if not is_number or "date" in column:
        return f"{said}, counted as the middle of the range"
    return f"{said}, counted as {sum(column['range']) / 2:g}, the middle of the range"


def first_class(facts):
    """The class that a label of none counts as."""
    if facts.classes is not None:
        return facts.classes[0]
    return f"not {facts.positive}" if facts.negative is None else facts.negative


# Labels.


def as_labels(y):
    """y -> ndarray [rows]."""
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None; to fit a table with its label "
            "column, use gibbsite.read_table or read_arrow, plan and fit"
        )
    _refuse_labels(y)
    if hasattr(y, "tocsr"):
        raise TypeError("y is a sparse matrix, and sparse labels are not supported; give y.toarray()")
    if not isinstance(y, np.ndarray) and _core._is_on_device(y):
        values, kind = _core._read_device_labels(y)
        y = values.astype({"b": bool, "i": np.int64, "f": np.float64}[kind])
    is_column = False
    if _is_list(y):
        is_column = len(y) > 0 and _only_one(y[0]) is not y[0]
        y = _objects([_only_one(label) for label in y], "any")
    elif not isinstance(y, np.ndarray):
        if _is_pandas(y) and hasattr(y, "columns") and len(y.columns) == 1:
            y, is_column = y.iloc[:, 0], True
        kind, cells = _typed_labels(y)
        y = np.asarray(y) if kind is None else _objects(cells, kind)
    if is_column or (y.ndim == 2 and y.shape[1] == 1):
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of "
            "y to (n_samples, ), for example using ravel().",
            sklearn_exception("DataConversionWarning", UserWarning),
            stacklevel=4,
        )
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    if len(y) == 0:
        raise ValueError("Found array with 0 sample(s): y has no labels, so there are no rows to fit")
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: y has complex labels")
    if y.dtype.kind not in "biufUSO" and y.dtype.kind != "T":
        raise ValueError(f"y: Unknown label type: {y.dtype}; give two classes")
    return y


def _refuse_labels(y):
    """Labels that would lose something on the way to an array. By their type alone."""
    if isinstance(y, np.ma.MaskedArray):
        raise TypeError("y is a masked array, whose mask would be lost; give y.compressed() with the same rows of X")
    if isinstance(y, (set, frozenset, dict, str, bytes)) or hasattr(y, "__next__"):
        raise TypeError(f"y is a {type(y).__name__}; give an array or a list of labels")
    if isinstance(y, np.ndarray) and y.dtype.names is not None:
        raise TypeError("y is an array of records; give one of its fields")


def _only_one(label):
    """What a list of one holds: y may be a column."""
    is_row = isinstance(label, (list, tuple)) or (isinstance(label, np.ndarray) and label.ndim > 0)
    return label[0] if is_row and len(label) == 1 else label


# Types that may have missing labels, as pandas, polars and pyarrow write them in small letters.
_TYPES = {
    "booleans": re.compile("bool"),
    "numbers": re.compile(r"u?int\d|float|double|half|decimal"),
    "text": re.compile("str$|string|large_string|utf8|categorical|enum|dictionary"),
    "any": re.compile("category|sparse_union"),
}


def _typed_labels(y):
    """(kind, labels as objects) of a column that may lack some, which as an array would be of
    another type for one that is missing; (None, None) of others."""
    dtype = getattr(y, "dtype", getattr(y, "type", None))
    if dtype is None or isinstance(dtype, np.dtype):
        return None, None
    said = str(dtype).lower()
    kind = next((kind for kind, names in _TYPES.items() if names.match(said)), None)
    if kind is None:
        return None, None
    if _is_pandas(y):
        return kind, y.to_numpy(dtype=object)
    for method in ("to_pylist", "to_list"):
        if hasattr(y, method):
            return kind, getattr(y, method)()
    return None, None


def _kind_of_labels(y):
    """What is public of the labels' types: "text", "numbers", "booleans", or "any" of a list."""
    if y.dtype.kind == "O":
        return (y.dtype.metadata or {}).get("labels", "text")
    return {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers"}.get(y.dtype.kind, "text")


def default_classes():
    """The two classes 0 and 1 for labels whose classes nobody names, whatever their type is."""
    return np.array([0, 1])


def positive_share_lines(share):
    """The schema's line of a share or its bounds (low, high); none of None."""
    if share is None:
        return []
    bounds = list(share) if isinstance(share, (list, tuple)) else [share]
    if len(bounds) not in (1, 2) or not all(_is_number(value) for value in bounds):
        raise ValueError(f"positive_share: must be a number, (low, high) or None, got {share!r}")
    low, high = float(bounds[0]), float(bounds[-1])
    if not 0 < low <= high < 1:
        raise ValueError(
            f"positive_share: must be above 0 and below 1, the lower bound first, got {share!r}"
        )
    return [f"positive_share = [{low!r}, {high!r}]"]


def highest_weight(weight_range):
    """The end of a public range of weights, (0, largest)."""
    if not _is_pair(weight_range) or weight_range[0] != 0 or not 0 < weight_range[1] < np.inf:
        raise ValueError(f"weight_range: must be (0, largest) with a finite number above 0, got {weight_range!r}")
    return float(weight_range[1])


def as_weights(weights):
    """Weights [rows] as float64; what is no number becomes NaN, one cell like the other, which is then
    refused, or counts 0 under invalid="middle"."""
    if isinstance(weights, np.ma.MaskedArray):
        raise TypeError("sample_weight: is a masked array, whose mask would be lost; give filled(0)")
    if isinstance(weights, (list, tuple)):
        weights = np.array(weights, dtype=object)  # else one cell could change what the others are
    elif not isinstance(weights, np.ndarray):
        weights = weights.to_numpy(dtype=object) if _is_pandas(weights) else np.asarray(weights)
    if weights.ndim != 1:
        raise ValueError(f"sample_weight: must be one number a row, got the shape {weights.shape}")
    return amounts(weights)


def require_weights(given):
    """`as_weights`, and that each is finite, which a schema that refuses needs."""
    weights = as_weights(given)
    unread = ~np.isfinite(weights)
    if not unread.any():
        return weights
    row = int(np.argmax(unread))
    cell = _cell_at(given, row)
    is_text = isinstance(cell, (str, bytes))
    advice = "make the weights numbers" if is_text else "fill it, or leave the row out"
    raise _core.BadInput(
        f"sample_weight: row {row + 1}: {_shown(cell)} is {'text' if is_text else 'not finite'}; {advice} "
        "(private: this line quotes the table)"
    )


def with_counting(source, columns, rows, sample_weight, highest_weight, groups):
    """(an Arrow table with columns of how rows count, what they are to the engine).

    source: the Arrow table of X, which names its columns; rows: how many labels there are
    """
    counting = {}
    for name, given in (("sample_weight", sample_weight), ("groups", groups)):
        if given is not None and name in columns:
            raise ValueError(f"{name}: X has a column of this name; rename it")
    if groups is not None:
        import pyarrow

        texts, places = as_people(groups)
        _require_rows("groups", places, rows)
        ids = [texts[place] for place in places]
        source = source.append_column("groups", pyarrow.array(ids, pyarrow.large_string()))
        counting["person"] = "groups"
    if sample_weight is not None:
        import pyarrow

        weights = as_weights(sample_weight)
        _require_rows("sample_weight", weights, rows)
        source = source.append_column("sample_weight", pyarrow.array(weights, pyarrow.float64()))
        counting.update(weight="sample_weight", highest_weight=highest_weight)
    return source, counting


def _require_rows(name, cells, rows):
    if len(cells) != rows:
        raise ValueError(
            f"{name}: has {len(cells)} entries for {rows} rows (both private); give one a row"
        )


def id_text(cell):
    """The text of an id in the engine's one spelling, or None of a cell that is nobody's
    (docs/reference/python.md, "People").

    It follows from the cell alone, and what reads the same is one person's, of whatever types: pandas
    makes 7 of "007" where nobody else's id in the same stretch of a file is a word.
    """
    text = _text_of_id(cell)
    return None if text is None else _core.person_id(text) or None


def _text_of_id(cell):
    """An id as a text that the engine spells, whole numbers exactly; None of a cell that is no id."""
    if isinstance(cell, np.float16):
        return None  # 7.001 is 7 there
    if isinstance(cell, np.float32):  # what another cell may have with more digits
        return str(int(cell)) if abs(cell) < 2.0**24 and cell == np.trunc(cell) else None
    cell = _plain(cell)
    try:
        if isinstance(cell, (bytes, bytearray)):
            return bytes(cell).decode("utf-8")
        if _is_none(cell) or isinstance(cell, _DATES):  # one of them is an Integral to NumPy
            return None
        if isinstance(cell, str):
            return str.encode(cell, "utf-8").decode("utf-8")  # not half of a sign, nor what a subclass prints
        if isinstance(cell, uuid.UUID):
            return uuid.UUID.__str__(cell)
        if isinstance(cell, bool):
            return str(cell)
        if isinstance(cell, decimal.Decimal) and cell.is_finite():
            if abs(cell.adjusted()) > _MOST_DIGITS:
                return None
            cell = int(cell) if cell == cell.to_integral_value() else float(cell)
        if isinstance(cell, numbers.Integral):
            return str(int(cell))
        if isinstance(cell, numbers.Real):
            return repr(float(cell))
    except (ArithmeticError, ValueError):  # no text, no number, or beyond what is written out
        pass
    return None


def _id_column(cells):
    """A frame's column of whose rows are: objects cell by cell as `groups` has them, dates as the engine
    reads a column of them; other types as they lie."""
    import pyarrow

    if not isinstance(cells, np.ndarray):
        return cells
    texts = [_instant_text(cell) or _text_of_id(cell) for cell in cells]
    return pyarrow.array(texts, pyarrow.large_string())


def _instant_text(cell):
    """A date's or a timestamp's text as an id of the engine, "2026-11-28T18:53:00.25" and without a
    time at midnight, with a zone that of UTC. None of what is none."""
    if isinstance(cell, np.datetime64):
        text = str(cell) if np.datetime_data(cell)[0] not in "YM" else str(cell.astype("datetime64[D]"))
    elif isinstance(cell, datetime.datetime) and not _is_none(cell):
        if cell.utcoffset() is not None:
            cell = cell.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        text = cell.isoformat()
    elif isinstance(cell, datetime.date) and not _is_none(cell):
        return cell.isoformat()
    else:
        return None
    day, _, time = text.partition("T")
    if day == "NaT":
        return None
    time = ":".join((time.split(":") + ["00", "00"])[:3]) if time else "00:00:00"
    time = time.rstrip("0").rstrip(".") if "." in time else time
    return day if time == "00:00:00" else f"{day}T{time}"


def require_people(groups):
    """`as_people`, and that no row is nobody's, which a schema that refuses needs."""
    texts, places = as_people(groups)
    absent = [place for place, text in enumerate(texts) if text is None]
    unread = np.isin(places, absent)
    if not unread.any():
        return texts, places
    row = int(np.argmax(unread))
    cell = _cell_at(groups, row)
    if isinstance(cell, numbers.Real) and math.isfinite(cell):
        why = (
            f"several people's numbers may have been rounded to {cell!r} (a double from 2^53 on, or a float); "
            "read ids as text (dtype=str)"
        )
    else:
        why = f"{_shown(cell)} is no id; fill it, or leave the row out"
    raise ValueError(f"groups: row {row + 1}: {why} (private: this line quotes the table)")


def as_people(groups):
    """(texts of ids, places among them [rows] as uint32) of the person of each row."""
    if isinstance(groups, (str, bytes)):
        raise TypeError(
            f"groups: {groups!r} is no list of ids, one a row; to name a column, give a schema in which "
            'its type is "person"'
        )
    if isinstance(groups, np.ma.MaskedArray):
        raise TypeError("groups: is a masked array, whose mask would be lost; give an array of objects")
    codes = getattr(groups, "cat", groups) if _is_pandas(groups) else groups
    if _is_pandas(groups) and hasattr(codes, "categories") and hasattr(codes, "codes"):
        texts = [id_text(cell) for cell in codes.categories] + [None]
        places = np.asarray(codes.codes).astype(np.int64)
        return texts, np.where(places < 0, len(texts) - 1, places).astype(np.uint32)
    if _is_pandas(groups):
        if getattr(groups, "ndim", 1) == 1:
            plain = isinstance(groups.dtype, np.dtype)
            groups = groups.to_numpy() if plain else groups.to_numpy(dtype=object)
    elif isinstance(groups, (list, tuple)):
        groups = _objects(groups)  # else one cell could change what the others are
    elif not isinstance(groups, np.ndarray):
        cells = getattr(groups, "to_pylist", None) or getattr(groups, "to_list", None)
        groups = _objects(cells()) if cells is not None else np.asarray(groups)
    if getattr(groups, "ndim", 2) != 1:
        raise ValueError(f"groups: must be one id a row, got the shape {getattr(groups, 'shape', None)}")
    if groups.dtype.kind not in "biufOUST":
        raise TypeError(
            f"groups: an array of {groups.dtype} has no ids; give text, whole numbers or UUIDs"
        )
    if groups.dtype.kind in "biuf":
        different, places = np.unique(groups, return_inverse=True)
        return [id_text(cell) for cell in different], places.astype(np.uint32)
    place_of, places = {}, np.empty(len(groups), np.uint32)
    for row, cell in enumerate(groups):
        places[row] = place_of.setdefault(id_text(cell), len(place_of))
    return list(place_of), places


def class_weight_lines(class_weight, classes, names):
    """The schema's line of {class: weight}; none of None."""
    if class_weight is None:
        return []
    if isinstance(class_weight, str):
        raise ValueError(
            f"class_weight: {class_weight!r} would be computed from how many rows of each class there "
            "are, and publish it; give {class: weight} from public knowledge"
        )
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight: must be {{class: weight}} or None, got {class_weight!r}")
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    lacking = [label for label in known if label not in class_weight]
    _require_none(
        "class_weight: must have a weight for each of the classes",
        not_a_class=unknown,
        lacking=lacking,
    )
    weights = [class_weight[label] for label in known]
    for label, weight in zip(known, weights):
        if not _is_number(weight):
            raise ValueError(f"class_weight: {label!r}: must be a number, got {weight!r}")
    said = ", ".join(f"{_quoted(name)} = {float(w)!r}" for name, w in zip(names, weights))
    return [f"class_weights = {{{said}}}"]


def class_lines(names, invalid):
    """A label of two classes or more, as a schema says it."""
    if len(names) > 2:
        return [f"classes = [{', '.join(map(_quoted, names))}]"]
    lines = [f"positive = {_quoted(names[1])}", f"negative = {_quoted(names[0])}"]
    return lines if invalid == "middle" else [*lines, 'unlisted_label = "refuse"']


def range_lines(name, lowest, highest, rest=""):
    """A label with a public range, as a schema says it."""
    if not (_is_number(lowest) and _is_number(highest) and lowest < highest):
        raise ValueError(
            f"{name}: must be numbers known without the data, the lowest first, got "
            f"{(lowest, highest)!r}"
        )
    return [f"range = [{float(lowest)!r}, {float(highest)!r}]", *([rest] if rest else [])]


def amounts(y):
    """Labels as float64 [rows]; what is no number becomes NaN, one cell like the other, which the
    schema then refuses or takes for the middle of the range."""
    if y.dtype.kind in "biuf":
        return np.ascontiguousarray(y, dtype=np.float64)
    out = np.full(len(y), np.nan)
    for row, cell in enumerate(y.tolist()):
        cell = _plain(cell)
        if isinstance(cell, (numbers.Real, decimal.Decimal)):
            try:
                out[row] = float(cell)
            except ValueError:  # a signaling NaN
                pass
            except OverflowError:  # an int beyond every range
                out[row] = np.finfo(np.float64).max * (1 if cell > 0 else -1)
    return out


def _may_be_text(y):
    return y.dtype.kind in "OUST"


def _missing(y):
    """Which labels are missing [rows]: NaN, None, NA."""
    if y.dtype.kind == "f":
        return np.isnan(y)
    if y.dtype.kind != "O":
        return np.zeros(len(y), bool)
    return np.fromiter(
        (
            _is_none(label) or (isinstance(label, numbers.Real) and label != label)
            for label in y
        ),
        bool,
        len(y),
    )


def _equal(y, value):
    """Which labels are `value` [rows]: text is no number, whatever else y holds."""
    if y.dtype.kind != "O":
        hits = np.asarray(y == value)
        return hits.astype(bool) if hits.shape == y.shape else np.zeros(len(y), bool)

    def same(label):
        try:
            return bool(label == value)
        except Exception:  # pandas.NA and arrays have no truth
            return False

    return np.fromiter((same(label) for label in y), bool, len(y))


def _named(y, name):
    """Which labels are the schema's class `name` [rows]: its text, or the number that it is."""
    hits = _equal(y, name) if _may_be_text(y) else np.zeros(len(y), bool)
    if y.dtype.kind == "b" or y.dtype.kind == "O":
        if name.lower() in ("true", "false"):
            value = name.lower() == "true"
            if y.dtype.kind == "b":
                return y == value
            kinds = (bool, np.bool_)
            return hits | np.fromiter((isinstance(c, kinds) and c == value for c in y), bool, len(y))
    try:
        return hits | _equal(y, _number(name))
    except (ValueError, OverflowError):
        return hits


def observed_classes(y):
    """The two labels that occur in y, in order."""
    if _missing(y).any():
        raise ValueError(
            "Input y contains NaN: a label is missing; fill it (private: this line tells about the table)"
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains infinity; fix the label")
    try:
        classes = np.unique(y)
    except (TypeError, ValueError, ArithmeticError):
        raise ValueError("y: Unknown label type: labels of mixed types; give classes") from None
    if y.dtype.kind == "O" and len(classes) == 2:
        classes = list(classes)
        if _kind_of_labels(y) != "booleans":  # whether 1, 1.0 or True follows from the order of rows
            for k, one in enumerate(classes):
                if isinstance(one, numbers.Real) and np.isfinite(one) and one == int(one):
                    classes[k] = int(one)
        classes = list_of_classes(classes)
    if y.dtype.kind == "f" and (classes != np.floor(classes)).any():
        raise ValueError(
            "y: Unknown label type: continuous; a classifier needs the labels of classes"
        )
    if len(classes) == 1:
        raise ValueError(
            'y has one class, and classes="observed" needs two; declare both: classes=[negative, '
            "positive]"
        )
    if len(classes) > 2:  # how many there are, and their names, would be read off the rows
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: y has "
            f'{len(classes)} classes, and classes="observed" takes two; list them: classes=[...]'
        )
    return classes


def list_of_classes(classes):
    """[negative, positive], or three and more, as an ndarray that keeps their types."""
    if isinstance(classes, (set, frozenset, dict)):
        raise TypeError(
            f"classes: a {type(classes).__name__} does not say which is the positive class; give a "
            "list: [negative, positive]"
        )
    if isinstance(classes, str) or not hasattr(classes, "__len__") or len(classes) < 2:
        raise ValueError(
            "classes: must be [negative, positive], a list of three or more, "
            f'"observed" or None, got {classes!r}'
        )
    listed = [c.item() if isinstance(c, np.generic) else c for c in classes]
    if len({type(c) for c in listed}) == 1 and type(listed[0]) in (bool, int, float, str):
        array = np.array(listed)
    else:
        array = np.array(listed + [None], dtype=object)[:-1]
    for k, one in enumerate(listed):
        if one in listed[:k]:
            which = "the two must differ" if len(listed) == 2 else f"{one!r} is listed twice"
            raise ValueError(f"classes: {which}, got {classes!r}")
    return array


def _number(text):
    if re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        return int(text)  # which a float may not be
    value = float(text)
    return int(value) if value == int(value) else value


def classes_of_schema(facts, y):
    """`declared_classes`. The type of y, which pandas infers from all labels, changes nothing; numbers
    are refused where the names are none."""
    classes = declared_classes(facts)
    kind = _kind_of_labels(y)
    if classes.dtype.kind == "b" and kind == "numbers":
        raise ValueError(_no_numbers(["false", "true"]))
    if classes.dtype.kind in "UO" and kind in ("numbers", "booleans"):
        raise ValueError(_no_numbers(classes.tolist()))
    return classes


def declared_classes(facts):
    """[negative, positive], or the list of several, as the schema alone declares them: numbers where
    all its names are numbers, False and True where they are, else its names."""
    names = [facts.negative, facts.positive] if facts.classes is None else facts.classes
    numbers_only = _numbers_of(names)
    if numbers_only is not None:
        return np.array(numbers_only)
    if facts.classes is None and facts.positive.lower() == "true":
        if facts.negative is None or facts.negative.lower() == "false":
            return np.array([False, True])
    if facts.negative is None and facts.classes is None:
        names = [f"not {facts.positive}", facts.positive]
    return np.array(names)


def _numbers_of(names):
    """The numbers that all of these names are, or None; beside "1" alone stands 0."""
    if names[0] is None:
        names = ["0", names[1]] if names[1] == "1" else names[1:] + ["none"]
    try:
        return [_number(name) for name in names]
    except (ValueError, OverflowError):
        return None


def _no_numbers(names):
    how = "[negative, positive]" if len(names) == 2 else f"[...], {len(names)} of them"
    said = " and ".join(map(repr, names)) if len(names) == 2 else listed(names)
    return f"y has numbers, but the schema's classes are {said}; say which numbers they are: classes={how}"


def class_codes(y, classes, facts, by_name=False, are_given=True):
    """Labels as the engine takes them, float64 [rows], by the schema's rules for missing and
    unlisted ones: -1 and +1, or places in the list of several. `by_name`: by the schema's names of
    the classes. are_given: whether somebody named the classes."""
    if not by_name:
        _require_same_type(y, classes, are_given)
    if facts.classes is None:
        return _signs(y, classes, facts, by_name)
    is_one = _named if by_name else _equal
    result = np.zeros(len(y))  # what the schema takes an unreadable one for
    found = np.zeros(len(y), bool)
    for place, one in enumerate(facts.classes if by_name else classes):
        hits = is_one(y, one) & ~found
        result[hits] = place
        found |= hits
    facts.unlisted = int(np.count_nonzero(~found))
    if not facts.middle and not found.all():
        row = int(np.argmin(found))
        _refuse_missing(y, facts, ~found)
        raise ValueError(
            f"y: row {row + 1}: {_kind_of(y, row)}label {_shown(y[row])} is none of the "
            f"{len(classes)} classes; {_type_advice(y[row], classes)} (private: this line quotes the "
            "table)"
        )
    return result


def _require_same_type(y, classes, are_given=True):
    """Refuses labels whose type differs from the declared classes': text is no number. Types are
    public; no label is quoted."""
    kind = _kind_of_labels(y)
    texts = [isinstance(one, str) for one in classes.tolist()]
    is_text = y.dtype.kind in "UST" or (y.dtype.metadata or {}).get("labels") == "text"
    if is_text and not any(texts) and not are_given:
        raise ValueError(
            "classes: is missing, and the labels of y are text; list them as y writes them, the negative "
            'class first: classes=["no", "yes"]'
        )
    if is_text and not any(texts):
        raise ValueError(
            f"classes: {listed(classes.tolist())} are no text, and the labels of y are; list them as y "
            'writes them, the negative class first, such as classes=["no", "yes"]'
        )
    if kind in ("numbers", "booleans") and all(texts):
        raise ValueError(
            f"classes: {listed(classes.tolist())} are text, and the labels of y are {kind}; write "
            "them as y does, without quotes"
        )


def _refuse_missing(y, facts, among=True):
    missing = _missing(y)
    if _may_be_text(y):
        missing |= _equal(y, "")
        for mark in facts.missing:
            missing |= _equal(y, mark)
    missing &= among
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(
            f'y: row {row + 1}: the label is missing (NaN); fill it, or set invalid="middle" (private: this '
            "line tells about the table)"
        )


def _kind_of(y, row):
    continuous = y.dtype.kind == "f" and y[row] != np.floor(y[row])
    return "continuous " if continuous else ""


def _type_advice(label, classes):
    """What to do about a label that is none of the classes."""
    listed_classes = classes.tolist()
    alike = [one for one in listed_classes if str(one) == str(_plain(label))]
    if alike:
        both = ("text", "a number") if isinstance(_plain(label), str) else ("a number", "text")
        return f"it is {both[0]} and the class {both[1]}: write classes=[...] as y has them"
    if len(listed_classes) > 2:
        return "list it: classes=[...]"
    if isinstance(label, str):
        similar = [one for one in listed_classes if isinstance(one, str) and one.casefold() == label.casefold()]
        if similar:
            return f"spell it {_shown(similar[0])}, as classes do"
    return "list the classes as y writes them: classes=[negative, positive]"


def _signs(y, classes, facts, by_name):
    names = [facts.negative, facts.positive] if by_name else classes
    listed = _named if by_name else _equal
    positive = listed(y, names[1])
    result = np.where(positive, 1.0, -1.0)
    if facts.negative is not None:
        facts.unlisted = int(np.count_nonzero(~(positive | listed(y, names[0]))))
    if facts.middle:
        return result
    _refuse_missing(y, facts)
    if facts.refuses_unlisted:
        unlisted = ~(positive | listed(y, names[0]))
        if unlisted.any():
            row = int(np.argmax(unlisted))
            raise ValueError(
                f"y: row {row + 1}: {_kind_of(y, row)}label {_shown(y[row])} is neither class "
                f"{_shown(classes[0])} nor "
                f"{_shown(classes[1])}; {_type_advice(y[row], classes)} (private: this "
                "line quotes the table)"
            )
    return result


def _shown(value):
    return repr(value.item() if isinstance(value, np.generic) else value)


def equal_rows(predicted, y):
    """Which labels were predicted [rows]."""
    if len(predicted) != len(y):
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: X has "
            f"{len(predicted)}, y has {len(y)}"
        )
    if _may_be_text(y):  # or numbers, whichever classes_ are
        hits = np.zeros(len(y), bool)
        for one in set(predicted.tolist()):
            same = _equal(y, one) if y.dtype.kind == "O" else np.zeros(len(y), bool)
            for name in {str(one), str(one).lower()} if isinstance(one, bool) else {str(one)}:
                same = same | _named(y, name)
            hits |= (predicted == one) & same
        return hits
    hits = np.asarray(predicted == y)
    return hits.astype(bool) if hits.shape == y.shape else np.zeros(len(y), bool)
