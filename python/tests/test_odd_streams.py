"""Producers of Arrow streams that are odd, slow or hostile, in one process with the reader."""

import gc
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLogisticRegression

pa = pytest.importorskip("pyarrow")

SCHEMA = gibbsite.Schema.parse(
    'label = "y"\npositive = "1"\n[columns]\n'
    'a = {type = "number", range = [0, 9]}\n'
    'b = {type = "category", levels = ["x", "z"], other = true}\n'
)
GOOD = pa.table({"a": [1.0, 2.0], "b": ["x", "z"], "y": [1, 0]})


class Gives:
    """An object whose stream is `it`, or what `it` returns."""

    def __init__(self, it):
        self.it = it

    def __arrow_c_stream__(self, requested_schema=None):
        return self.it() if callable(self.it) else self.it


def refused(table, *parts, error=gibbsite.BadInput):
    with pytest.raises(error) as raised:
        gibbsite.read_arrow(table, SCHEMA)
    said = str(raised.value)
    assert "\n" not in said and all(part in said for part in parts), said
    return said


def test_capsules():
    capsule = GOOD.__arrow_c_stream__()
    assert gibbsite.read_arrow(Gives(capsule), SCHEMA).rows == 2
    refused(Gives(capsule), "table: the stream was consumed already")
    for other in (GOOD.schema.__arrow_c_schema__(), GOOD["a"].type.__arrow_c_schema__(), None, 5):
        refused(Gives(other), "table: __arrow_c_stream__ of Gives gave no capsule of a stream")
    assert gibbsite.read_arrow(GOOD, SCHEMA).rows == 2

    def fails():
        raise MemoryError("no stream today")

    with pytest.raises(MemoryError, match="no stream today"):  # its own, as it is
        gibbsite.read_arrow(Gives(fails), SCHEMA)


class Batches:
    """Batches from a Python generator: lives as long as anything holds them."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        for batch in self.batches:
            if isinstance(batch, BaseException):
                raise batch
            yield batch


def reader(*batches):
    return pa.RecordBatchReader.from_batches(GOOD.schema, iter(Batches(batches)))


BATCH = GOOD.to_batches()[0]


def test_generators_that_raise():
    assert gibbsite.read_arrow(reader(BATCH, BATCH.slice(0, 0), BATCH), SCHEMA).rows == 4
    said = refused(reader(BATCH, ValueError("red\n\x1b[31m")), "table: cannot be read", "ValueError")
    assert "\x1b" not in said and "private" in said
    refused(reader(BATCH, ValueError()), "table: cannot be read", "ValueError")
    refused(reader(BATCH, 5), "table: cannot be read")
    refused(reader(), "table: the table has no rows")
    refused(reader(BATCH, pa.record_batch({"a": ["q"]})), "the columns of the table")


def test_everything_is_given_back():
    """Whatever way reading ends, nothing of the producer lives on."""
    other = pa.record_batch({"a": ["q"]})
    nan = pa.record_batch({"a": [np.nan, 1.0], "b": ["x", "x"], "y": [1, 0]})
    for tail in ([], [ValueError("x")], [other], [nan]):
        rows = np.full(1000, 2.0)
        gone = weakref.ref(rows)
        first = pa.record_batch({"a": pa.array(rows), "b": ["x"] * 1000, "y": [1] * 1000})
        source = Batches([first, *tail])
        batches = weakref.ref(source)
        stream = pa.RecordBatchReader.from_batches(GOOD.schema, iter(source))
        del source, first, rows
        try:
            data = gibbsite.read_arrow(stream, SCHEMA)
            assert data.rows == 1000
        except gibbsite.BadInput as error:
            del error
        del stream
        gc.collect()
        assert gone() is None and batches() is None
    source = Batches([BATCH])
    gone = weakref.ref(source)
    held = Gives(pa.RecordBatchReader.from_batches(GOOD.schema, iter(source)).__arrow_c_stream__())
    with pytest.raises(TypeError):
        gibbsite.read_arrow(held, SCHEMA, labels="no labels")  # before it is taken
    del source, held
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "table, said",
    [
        (pa.table({}), "lacks the label column 'y'"),
        (GOOD.rename_columns(["a", "a", "y"]), "column 'a' occurs twice"),
        (GOOD.append_column("n" * 100_000, [[1, 2]]), "nnn...' is not in the schema"),
        (GOOD.append_column("\n\x1b[31m\u202e", [[1, 2]]), r"'\x0a\x1b[31m\u{202e}'"),
        (GOOD.set_column(0, "a", [[{"k": 1}, {"k": 2}]]), "column 'a': a struct"),
        (GOOD.set_column(0, "a", [[[[1]], [[2]]]]), "column 'a': a list"),
        (GOOD.set_column(0, "a", [pa.array([{"k": [1]}, None])]), "column 'a': a struct"),
        (GOOD.set_column(1, "b", [pa.array([b"0" * 16] * 2, pa.uuid())]), "column 'b': binary"),
        (GOOD.set_column(0, "a", [pa.array([1, 2], pa.timestamp("s"))]), "column 'a': a timestamp"),
    ],
)
def test_columns_that_are_no_cells(table, said):
    assert len(refused(table, said)) < 400


def test_a_text_that_is_no_utf_8():
    wrong = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 3], "i4")), pa.py_buffer(b"x\xff\xfe")]
    )
    assert gibbsite.read_arrow(GOOD.set_column(1, "b", [wrong]), SCHEMA).counts["other_cells"] == 1
    narrow = gibbsite.Schema.parse(SCHEMA.to_toml().replace("other = true", "other = false"))
    with pytest.raises(gibbsite.BadInput, match=r"column 'b': level '\\xff\\xfe'"):
        gibbsite.read_arrow(GOOD.set_column(1, "b", [wrong]), narrow)


def test_a_table_of_another_length_than_it_says():
    class Lies(Gives):
        num_rows = 2**60

    said = refused(Lies(GOOD.__arrow_c_stream__()), "need", "GiB of memory")
    assert said.startswith("table: ")
    Lies.num_rows = -1
    assert gibbsite.read_arrow(Lies(GOOD.__arrow_c_stream__()), SCHEMA).rows == 2


def test_two_threads_read_one_table():
    rows = 100_000
    table = pa.table(
        {"a": np.arange(rows) % 10, "b": np.array(["x", "z"])[np.arange(rows) % 2], "y": [1] * rows}
    )
    one = reader(*[BATCH] * 2000)
    capsule = Gives(GOOD.__arrow_c_stream__())
    for source, most in (table, 2 * rows), (one, 4000), (capsule, 2):
        got = []

        def read():
            try:
                got.append(gibbsite.read_arrow(source, SCHEMA).rows)
            except gibbsite.BadInput as error:
                got.append(0)
                assert "\n" not in str(error)

        threads = [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        assert sum(got) == most  # each row of what comes once went to one of them


def test_a_producer_of_python_gets_the_lock():
    """It is called from another thread; this one's callbacks run between its batches."""
    seen, told = set(), []

    def batches():
        for _ in range(6):
            seen.add(threading.get_ident())
            time.sleep(0.06)
            yield BATCH

    stream = pa.RecordBatchReader.from_batches(GOOD.schema, batches())
    data = gibbsite.read_arrow(stream, SCHEMA, progress=lambda done, _: told.append(done))
    assert data.rows == 12 and threading.get_ident() not in seen
    assert told == sorted(told) and len(told) >= 2


def test_progress_that_raises_stops_a_slow_producer():
    def batches():
        for k in range(10_000):
            time.sleep(0.01)
            yield BATCH

    def progress(done, _):
        raise LookupError("enough")

    start = time.monotonic()
    stream = pa.RecordBatchReader.from_batches(GOOD.schema, batches())
    with pytest.raises(LookupError, match="enough"):
        gibbsite.read_arrow(stream, SCHEMA, progress=progress)
    assert time.monotonic() - start < 10


INTERRUPTED = """
    import os, sys, time
    import gibbsite, pyarrow as pa
    from gibbsite import PrivateLogisticRegression

    batch = pa.record_batch({"a": [1.0, 2.0], "b": ["x", "z"]})
    ledger = gibbsite.Ledger(sys.argv[1])

    def batches():
        yield batch
        print("reading", flush=True)
        for _ in range(100_000 if sys.argv[2] == "many" else 1):
            %s
            yield batch

    class Slow:
        column_names = ["a", "b"]
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.RecordBatchReader.from_batches(batch.schema, batches()).__arrow_c_stream__()

    model = PrivateLogisticRegression(
        1.0, 1e-6, ranges={"a": (0, 9), "b": ["x", "z"]}, ledger=ledger
    )
    try:
        model.fit(Slow(), [0, 1] * 100_001)
    except KeyboardInterrupt:
        print("stopped", hasattr(model, "release_"), flush=True)
"""


@pytest.mark.parametrize(
    "kind, step",
    [("many", "time.sleep(0.05)"), ("one", "[time.sleep(0.01) for _ in range(6000)]")],
)
def test_ctrl_c_while_a_slow_producer_is_read(tmp_path, kind, step):
    path = tmp_path / "people.ledger"
    gibbsite.Ledger.create(str(path), epsilon=2.0, delta=1e-5)
    before = path.read_bytes()
    code = textwrap.dedent(INTERRUPTED) % step
    run = subprocess.Popen(
        [sys.executable, "-c", code, str(path), kind],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert run.stdout.readline() == "reading\n", run.stderr.read()
        time.sleep(0.3)
        start = time.monotonic()
        run.send_signal(signal.SIGINT)
        out, errors = run.communicate(timeout=40)
    finally:
        run.kill()
    assert time.monotonic() - start < 20  # the one batch alone would take a minute
    assert out == "stopped False\n" and not errors, errors
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir() if file.name != "state") == [path.name]


def test_pandas_frames_whose_cells_would_choose_a_type():
    """read_arrow of objects, cell by cell: one odd cell is one person's affair."""
    pd = pytest.importorskip("pandas")
    toml = SCHEMA.to_toml().replace('positive = "1"', 'positive = "1.0"\ninvalid = "middle"')
    schema = gibbsite.Schema.parse(toml)
    plain = {"a": [1.0, 2.0, 3.0], "b": ["x", "z", "x"], "y": [1, 0, 1]}
    expected = gibbsite.read_arrow(pa.table(plain), schema)
    for dtype in (object, "string[python]"):
        for odd in (3, None, b"x", 2.5, "\ud800", [1], {"k": 1}, np.datetime64("2020-01-01")):
            if dtype != object and not isinstance(odd, str):
                continue
            frame = pd.DataFrame(plain, index=[7, 5, 3]).astype({"a": object, "y": object})
            cells = np.empty(3, dtype=object)
            cells[:] = ["x", "z", odd]
            frame["b"] = pd.Series(cells, dtype=dtype, index=frame.index)
            data = gibbsite.read_arrow(frame, schema)
            assert data.rows == 3
            assert (data.positive == expected.positive).all() and expected.positive.sum() == 2
    frame = pd.DataFrame(plain)
    frame["a"] = pd.Series([1.0, "2", {}], dtype=object)
    assert gibbsite.read_arrow(frame, schema).counts["invalid_cells"] == 1
    ranges = {"a": (0, 9), "b": ["x", "z"]}
    model = PrivateLogisticRegression(1.0, 1e-6, ranges=ranges, classes=[0, 1], invalid="middle")
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": pd.array(["x", "\ud800"], dtype="string[python]")})
    assert model.fit(frame, [1, 0]).predict(frame).shape == (2,)
