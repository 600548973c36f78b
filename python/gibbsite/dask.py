"""Fits whose rows are partitions of a Dask DataFrame and stay on its workers (docs/how-to/cluster.md).

Workers encode rows and answer questions about a share of them, each answer a pure function of
(share, question): Dask may compute one again, or make the share of a lost worker anew, and no bit
changes. This process holds the key: it plans, adds what shares answer in the order of blocks, draws
the noise and decides.
"""

import asyncio
import collections
import collections.abc
import concurrent.futures
import functools
import itertools
import numbers
import os

import numpy as np

try:
    import distributed
except ImportError:
    raise ImportError("gibbsite.dask: needs Dask; pip install 'gibbsite[dask]'") from None

from . import _core, _tables
from ._ledger import opened


def _is_whole(value, least):
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return is_whole and least <= value < least + (1 << 64)


# Checks of a run's arguments, made before the cluster is used; those of a plan are read by gibbsite.plan.
_KINDS = {
    "seed": ("a whole number, 0 or more", lambda v: v is None or _is_whole(v, 0)),
    "n_jobs": ("a whole number", lambda v: v is None or _is_whole(v, -(1 << 63))),
    "release_moments": ("True or False", lambda v: isinstance(v, bool)),
    "ledger": (
        "a gibbsite.Ledger or the path of one",
        lambda v: v is None or isinstance(v, (_core.Ledger, str, os.PathLike)),
    ),
    "progress": ("a function", lambda v: v is None or callable(v)),
}


def _require_kinds(**arguments):
    for name, value in arguments.items():
        kind, is_one = _KINDS[name]
        if not is_one(value):
            is_number = kind.startswith("a whole") and isinstance(value, numbers.Integral)
            raise TypeError(f"{name}: must be {kind}, got {value if is_number else _type_of(value)}")


def _type_of(value):
    library = type(value).__module__.partition(".")[0]
    return f"{'' if library == 'builtins' else library + '.'}{type(value).__name__}"


class Table:
    """Encoded rows of a Dask DataFrame, which stay on its workers. Private.

    `read` makes one.

    Attributes
    ----------
    schema : Schema
        What is public about the columns.
    rows : int
        Number of rows of all partitions.
    counts : dict
        How many cells, labels and rows encoding changed, as in `Dataset.counts`. Private.
    """

    def __init__(self, client, schema, pieces, facts, is_sparse):
        self.schema = schema
        self.rows = sum(fact["rows"] for fact in facts)
        counts = collections.Counter()
        for fact in facts:
            counts.update(fact["counts"])
        self.counts = dict(counts)
        self._client = client
        self._pieces = pieces
        self._facts = facts
        self._entries = sum(fact["entries"] for fact in facts)
        self._is_sparse = is_sparse

    def __repr__(self):
        return f"<gibbsite.dask.Table: {self.rows} rows in {len(self._facts)} partitions>"

    def fit(
        self,
        plan,
        *,
        seed=None,
        ledger=None,
        release_moments=False,
        n_jobs=None,
        progress=None,
    ):
        """Fits a plan on the workers' rows and returns a `Release`.

        The arguments are those of `gibbsite.fit`, and the bits are those that it gives for the
        whole table in one process. Raises `Infeasible` if the plan cannot be kept, `BudgetSpent` if
        the ledger has no room, TypeError or `BadInput` if an argument is not as it must be.
        """
        options = {
            "seed": seed,
            "ledger": ledger,
            "release_moments": release_moments,
            "n_jobs": n_jobs,
            "progress": progress,
        }
        _require_kinds(**options)
        return self._fit_shares(self._make_shares(plan), plan, **options)

    def _make_shares(self, plan):
        """(bounds, futures of shares): whole blocks of rows, about one share a thread."""
        if not isinstance(plan, _core.Plan):
            raise TypeError(f"plan: must be a gibbsite.Plan, got {_type_of(plan)}")
        if not plan.feasible:
            raise _core.Infeasible(f"mechanism {plan.mechanism}: {plan.why}")
        threads = sum(self._client.nthreads().values())
        blocks = -(-self.rows // 1024)
        bounds = _core._share_bounds(self.rows, max(1, min(threads, blocks)))
        begins = [0, *itertools.accumulate(fact["rows"] for fact in self._facts)]
        shares = []
        for first, last in itertools.pairwise(bounds):
            slices = [
                (k, max(first, begin) - begin, min(last, end) - begin)
                for k, (begin, end) in enumerate(itertools.pairwise(begins))
                if max(first, begin) < min(last, end)
            ]
            shares.append(
                self._client.submit(
                    _make_share,
                    *(self._pieces[k] for k, _, _ in slices),
                    slices=slices,
                    digests=[self._facts[k]["digest"] for k, _, _ in slices],
                    first_row=first,
                    table_rows=self.rows,
                    table_entries=self._entries,
                    loss=plan._loss,
                    pure=False,
                )
            )
        return bounds, shares

    def _fit_shares(self, cut, plan, *, ledger, **options):
        bounds, shares = cut
        client = self._client
        digests = _gathered(client, client.map(_digest_of, shares, pure=False))

        def ask(question):
            return _gathered(
                client, [client.submit(_answer, share, question, pure=False) for share in shares]
            )

        def relay(question, before):
            for share in shares:
                before = client.submit(_answer, share, question, before, pure=False)
            return _gathered(client, [before])[0]

        return _core._fit_shares(
            self.schema,
            plan,
            bounds=bounds,
            digests=digests,
            entries=self._entries,
            sparse=self._is_sparse,
            ask=ask,
            relay=relay,
            ledger=opened(ledger),
            **options,
        )


def read(ddf, schema, *, client=None):
    """Encodes the partitions of a Dask DataFrame on their workers and returns a `Table`.

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame
        Its partitions are pandas frames with the schema's columns and the label's.
    schema : Schema, path or str
        A `gibbsite.Schema`, the path of its file, or its text.
    client : distributed.Client or None
        None takes the current client.

    Raises
    ------
    BadInput
        If a cell cannot be read: "partition K: row I: ...", with K from 0 and I from 1 within it.
    """
    schema = _tables.read_schema(schema)
    _require_frame(ddf)
    facts = _tables.SchemaFacts(schema)
    facts.require_of_dask()
    _require_given_types(ddf, facts)
    client = _client_of(client)
    meta = _with_floats(ddf._meta, schema)
    kinds = {str(name): str(dtype) for name, dtype in meta.dtypes.items()}
    parts = client.compute(ddf.to_delayed())
    lengths = _gathered(client, client.map(len, parts, pure=False))
    if sum(lengths) == 0:
        raise _core.BadInput("ddf: the table has no rows; give at least one")
    head, left = [], _core._rows_that_choose
    for k, length in enumerate(lengths):
        if length > 0 and left > 0:
            head.append((k, min(length, left)))
            left -= min(length, left)
    begins = client.submit(
        _begins_sparse, *(parts[k] for k, _ in head), head=head, schema=schema, kinds=kinds, pure=False
    )
    is_sparse = _accepted(_gathered(client, [begins])[0])
    pieces = [
        client.submit(_encode, part, k, schema, kinds, is_sparse, pure=False)
        for k, part in enumerate(parts)
    ]
    facts = [_accepted(fact) for fact in _gathered(client, client.map(_facts_of, pieces, pure=False))]
    for k, (fact, length) in enumerate(zip(facts, lengths)):
        if fact["rows"] != length:
            raise _changes(k)
    return Table(client, schema, pieces, facts, is_sparse)


def fit(
    ddf,
    schema,
    *,
    epsilon,
    delta,
    client=None,
    backend="auto",
    seed=None,
    ledger=None,
    checkpoint="",
    release_moments=False,
    n_jobs=None,
    progress=None,
    **wishes,
):
    """Reads, plans and fits a Dask DataFrame and returns a `Release` (docs/how-to/cluster.md).

    The bits are those of one process with the whole table.

    Parameters
    ----------
    ddf, schema, client
        As in `read`.
    epsilon, delta, **wishes
        As in `gibbsite.plan`: mechanism="path", rows_cap=..., and so on.
    seed, ledger, release_moments, progress
        As in `gibbsite.fit`.
    n_jobs : int or None
        Number of threads of this process; workers use their own.

    Raises
    ------
    BadInput
        If an argument or a cell is not as it must be. backend="cuda", a checkpoint, curve = "auto",
        metric-path and metric-proximal are not supported.
    Infeasible
        If no mechanism can keep the budget.
    BudgetSpent
        If the ledger has no room for this fit.
    """
    options = {
        "seed": seed,
        "ledger": ledger,
        "release_moments": release_moments,
        "n_jobs": n_jobs,
        "progress": progress,
    }
    if "rows" in wishes:
        raise _core.BadInput("rows: are those of ddf; leave it out")
    _require_kinds(**options)
    _require_frame(ddf)
    client = _client_of(client)
    if backend not in ("auto", "cpu"):
        raise _core.BadInput(f"backend: {backend}: rows on Dask workers are for the CPU; leave it out")
    if checkpoint:
        raise _core.BadInput(
            "checkpoint: a fit of rows on Dask workers has none; leave it out, or fit in one process"
        )
    schema = _tables.read_schema(schema)
    _tables.SchemaFacts(schema).require_of_dask()
    # What no table could mend is said before one is read.
    some = {} if wishes.get("rows_cap") is not None else {"rows": 1 << 20}
    _core.plan(epsilon=epsilon, delta=delta, schema=schema, **some, **wishes)
    table = read(ddf, schema, client=client)
    # With a cap how many rows there are is private, and no plan may know it.
    public = {} if wishes.get("rows_cap") is not None else {"rows": table.rows}
    plan = _core.plan(epsilon=epsilon, delta=delta, schema=table.schema, **public, **wishes)
    if plan.mechanism.startswith("metric-"):
        raise _core.BadInput(
            f"mechanism: {plan.mechanism} makes new rows, which is not done on Dask workers; take "
            "whitened, or fit in one process"
        )
    shares = table._make_shares(plan)
    table._pieces = None  # Dask forgets them once the shares are made
    return table._fit_shares(shares, plan, **options)


# Here.


def _require_frame(ddf):
    is_table = getattr(getattr(ddf, "_meta", None), "ndim", 0) == 2 and hasattr(ddf, "columns")
    if not is_table or not hasattr(ddf, "to_delayed"):
        raise ValueError(
            f"ddf: must be a dask.dataframe.DataFrame, got {_type_of(ddf)}; "
            "dask.dataframe.from_pandas, from_delayed or read_parquet make one"
        )


def _require_given_types(ddf, facts):
    """Refuses a table that Dask reads from CSV without types that every cell can have.

    Dask guesses types piece by piece and then makes all pieces alike. One missing cell can turn
    every 1 of its piece into 1.0, or is refused in a column of whole numbers."""
    if not hasattr(ddf, "expr"):
        raise _core.BadInput("ddf: is of a Dask from before 2025; install a later one")
    may_be_floats = {
        name: column["type"] in _tables._NUMERIC
        and not facts.middle
        and not facts.marks(column)
        for name, column in facts.cells.items()
        if column["type"] != "ignore"
    }
    if facts.label is not None:
        is_amount = facts.kind != "classes"
        may_be_floats[facts.label] = is_amount and not facts.middle and not facts.missing
    for node in ddf.expr.walk():
        for made_by in node.operands:
            if not isinstance(made_by, functools.partial):
                continue
            if getattr(made_by.func, "__module__", "") != "dask.dataframe.io.csv":
                continue
            read = {str(name) for name in made_by.keywords.get("full_columns") or may_be_floats}
            given = (made_by.keywords.get("kwargs") or {}).get("dtype")
            if not isinstance(given, collections.abc.Mapping):
                given = {} if given is None else dict.fromkeys(read, given)
            given = {str(name): _type_name(dtype) for name, dtype in given.items()}
            needed = may_be_floats
            if not may_be_floats.keys() <= read:  # renamed since: all, as any of them
                needed = dict.fromkeys(read, all(may_be_floats.values()))
            for name in sorted(needed):
                said = given.get(name, "guessed")
                if said == "text" or (said == "float" and needed[name]):
                    continue
                some = "str or float" if needed[name] else "str"
                how = f"dtype={{{name!r}: {some}}}, or dtype=str for all"
                if said == "guessed":
                    raise _core.BadInput(
                        f"ddf: Dask guesses the type of column {name!r} from some rows of each piece "
                        f"of the CSV, so that one cell may change others; read it with {how}"
                    )
                raise _core.BadInput(
                    f"ddf: column {name!r} is read from the CSV as {said}, which one cell that is none "
                    f"would end, whatever the schema makes of it; read it with {how}"
                )


def _type_name(dtype):
    """"text" where every cell of a CSV can be read as it, "float", or its own name."""
    import pandas

    dtype = pandas.api.types.pandas_dtype(dtype)
    if dtype.kind in "OUT" and not hasattr(dtype, "subtype"):
        return "text"
    return "float" if dtype.kind == "f" else str(dtype)


def _client_of(client):
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            raise ValueError("client: there is none; give distributed.Client(address)") from None
    if not isinstance(client, distributed.Client):
        raise ValueError(
            f"client: must be a distributed.Client, got {_type_of(client)}; give "
            "distributed.Client(address)"
        )
    if client.status == "closed":
        raise ValueError("client: is closed; give one that is open")
    if client.asynchronous:
        raise ValueError("client: is asynchronous; give distributed.Client(address) of a thread")
    return client


def _gathered(client, futures):
    """Results of the futures in their order; what the first that failed raised.

    Looks up often, so that Ctrl-C ends a wait of any length on any thread.
    """
    futures = list(futures)
    waiting = asyncio.run_coroutine_threadsafe(client._gather(futures), client.loop.asyncio_loop)
    try:
        while True:
            try:
                return waiting.result(timeout=0.1)
            except concurrent.futures.TimeoutError:
                if waiting.done():
                    raise
    except _core.Error:
        raise
    except Exception as error:  # of Dask, or of what makes a partition
        said = " ".join(str(error).split())
        raise _core.Error(
            f"dask: {type(error).__name__}: {said}; nothing is released (private: this line may "
            "quote the table)"
        ) from error
    finally:
        waiting.cancel()


def _accepted(found):
    if isinstance(found, _Refused):
        raise _core.BadInput(found.why)
    return found


def _changes(partition):
    return _core.BadInput(
        f"partition {partition}: gives other rows each time it is computed, so nothing is released; "
        "give a table that is the same whenever it is read"
    )


# On workers.


class _Refused:
    """In place of rows; not raised there, as Dask would write what it was called with to its log."""

    def __init__(self, why):
        self.why = why


def _with_floats(frame, schema):
    """Whole numbers as float64, which one missing cell makes of them in pandas."""
    facts = _tables.SchemaFacts(schema)
    read = {name for name, column in facts.cells.items() if column["type"] in _tables._NUMERIC}
    if facts.kind != "classes":
        read.add(facts.label)
    some = [
        name
        for name, dtype in frame.dtypes.items()
        if str(name) in read and isinstance(dtype, np.dtype) and dtype.kind in "iu"
    ]
    return frame.astype(dict.fromkeys(some, np.float64)) if some else frame


def _read(frame, partition, schema, kinds, is_sparse):
    """(`_Rows`, counts) of a partition, or `_Refused`."""
    if len(frame) == 0:
        return _core._Rows.none(schema, is_sparse), {}
    try:
        frame = _with_floats(frame, schema)
        for name, dtype in frame.dtypes.items():
            if str(dtype) != kinds.get(str(name)):
                raise ValueError(
                    f"column {str(name)!r} is {dtype}, and in the table it is {kinds.get(str(name))}; "
                    "give all partitions one type"
                )
        data = _core.read_arrow(
            _tables._pandas_table(frame, schema), schema, n_jobs=1, _sparse=is_sparse
        )
    except (_core.Error, ValueError, TypeError) as error:
        first = str(error).splitlines()[0]
        return _Refused(f"partition {partition}: {first.removeprefix('table: ')}")
    counts = dict(data.counts)
    return _core._Rows(data), counts


def _begins_sparse(*frames, head, schema, kinds):
    slices = []
    for frame, (partition, rows) in zip(frames, head):
        found = _read(frame.iloc[:rows], partition, schema, kinds, True)
        if isinstance(found, _Refused):
            return found
        slices.append((found[0], 0, found[0].rows))
    return _core._begins_sparse(slices)


def _encode(frame, partition, schema, kinds, is_sparse):
    """(`_Rows`, what the client must know of them), or `_Refused`."""
    found = _read(frame, partition, schema, kinds, is_sparse)
    if isinstance(found, _Refused):
        return found, found
    rows, counts = found
    facts = {"rows": rows.rows, "entries": rows.entries, "digest": rows.digest, "counts": counts}
    return rows, facts


def _facts_of(piece):
    return piece[1]


def _make_share(*pieces, slices, digests, **place):
    for (_, facts), (partition, _, _), digest in zip(pieces, slices, digests):
        if isinstance(facts, _Refused) or facts["digest"] != digest:
            raise _changes(partition)
    return _core._Share(
        [(rows, first, last) for (rows, _), (_, first, last) in zip(pieces, slices)], **place
    )


def _digest_of(share):
    return share.digest


def _answer(share, question, before=b""):
    return share.answer(question, before)
