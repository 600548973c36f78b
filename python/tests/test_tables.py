"""Every source of a table gives the bits that the CSV of the same table gives."""

import csv
import datetime
import decimal
import warnings

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLogisticRegression

from conftest import LEVELS, TOML, numbers, people

COLUMNS = ["age", "job", "height"]
RANGES = {"age": (17, 90), "job": LEVELS, "height": (1.0, 2.5)}


def with_missing(rows=300):
    """Columns with a missing cell of each kind: None."""
    table = {name: cells.tolist() for name, cells in people(rows).items()}
    for j, name in enumerate(COLUMNS):
        table[name][5 + j] = None
    return table


@pytest.fixture
def reference(tmp_path):
    """Of columns: the model of their CSV."""

    def of(table):
        path = tmp_path / "people.csv"
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            for row in zip(*table.values()):
                writer.writerow("?" if cell is None else cell for cell in row)
        schema = gibbsite.Schema.parse(TOML)
        data = gibbsite.read_table(str(path), schema)
        plan = gibbsite.plan(epsilon=10.0, delta=1e-6, rows=data.rows, schema=schema)
        return gibbsite.fit(data, plan, seed=1)

    return of


def fitted(X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        return PrivateLogisticRegression(10.0, 1e-6, schema=TOML, random_state=1).fit(X, y)


def same(model, release, X, names=True):
    """One coefficient bit or level that differs would show in the file."""
    assert model.to_json() == release.to_json()
    assert model.n_features_in_ == 3
    if names:
        assert list(model.feature_names_in_) == COLUMNS
    assert model.predict_proba(X).shape == (300, 2)


# pandas.


def test_pandas(reference):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(people())
    X, y = frame[COLUMNS], frame["income"]
    release = reference(people())
    same(fitted(X, y), release, X)
    same(fitted(X.astype({"job": "category"}), y.astype("category")), release, X)
    same(fitted(X.astype({"job": "string", "age": "Int64"}), y.astype("string")), release, X)
    same(fitted(X.convert_dtypes(dtype_backend="pyarrow"), y), release, X)
    # The index is no column, whatever it is.
    shuffled = X.set_axis(np.arange(300)[::-1] * 7, axis=0)
    same(fitted(shuffled, y), release, shuffled)
    named = X.set_axis([f"person {i}" for i in range(300)], axis=0).rename_axis("who")
    same(fitted(named, y), release, named)


def test_missing_cells_of_pandas(reference):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(with_missing())
    X, y = frame[COLUMNS], frame["income"]
    assert X["age"].dtype == float and X["age"].isna().any()
    release = reference(with_missing())
    same(fitted(X, y), release, X)
    same(fitted(X.convert_dtypes(), y), release, X)


def test_a_pandas_frame_of_one_type(reference):
    pandas = pytest.importorskip("pandas")
    X, y = numbers(200)
    names = ["a", "b", "c"]

    def model(X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gibbsite.VoidWarning)
            return PrivateLogisticRegression(
                9.0, 1e-6, ranges=dict.fromkeys(names, (-3, 3)), random_state=1
            ).fit(X, y)

    expected = model(X).coef_
    for dtype in (np.float64, np.float32):
        frame = pandas.DataFrame(X.astype(dtype), columns=names)
        np.testing.assert_array_equal(model(frame).coef_, model(X.astype(dtype)).coef_)
    np.testing.assert_array_equal(model(pandas.DataFrame(X)).coef_, expected)  # no names: by position
    frame = pandas.DataFrame(X, columns=names)
    frame.loc[7, "b"] = np.nan
    with pytest.raises(ValueError, match="row 8: column 'b'"):
        model(frame)


def test_pandas_frames_that_cannot_be_read():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(people())
    X, y = frame[COLUMNS], frame["income"]
    bad = {
        "objects": X.assign(job=[object()] * 300),
        "mixed types": X.assign(job=[1, "clerk"] * 150),
        "text for a number": X.assign(age=["old"] * 300),
        "another level": X.assign(job=["spy"] * 300),
        "extra": X.assign(shoe=1.0),
        "lacking": X.drop(columns="height"),
        "label": frame,
        "dates": X.assign(age=pandas.Timestamp("2026-01-01")),
        "durations": X.assign(age=pandas.Timedelta(days=3)),
        "complex": X.assign(age=1j),
        "nothing": X.iloc[:0],
        "no columns": X[[]],
        "names of two types": X.rename(columns={"height": 3}),
        "name twice": X.rename(columns={"height": "age"}),
    }
    names = {
        "objects": "job",
        "mixed types": "job",
        "text for a number": "age",
        "another level": "job",
        "extra": "shoe",
        "lacking": "height",
        "label": "income",
        "dates": "age",
        "durations": "age",
        "complex": "age|complex",
        "nothing": "0 sample",
        "no columns": "0 feature",
        "names of two types": "column names must all be strings",
        "name twice": "age",
    }
    for what, table in bad.items():
        with pytest.raises((ValueError, TypeError), match=names[what]) as info:
            fitted(table, y[: len(table)])
        assert "\n" not in str(info.value), what


def test_names_of_another_frame():
    pandas = pytest.importorskip("pandas")
    X, y = numbers(200)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        model = PrivateLogisticRegression(9.0, 1e-6, ranges=(-3, 3), random_state=1).fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.feature_names_in_.dtype == object
    for bad, match in [
        (frame[["b", "a", "c"]], "same order"),
        (frame.rename(columns={"c": "d"}), "unseen at fit time: 'd'; now missing: 'c'"),
        (frame[["a", "b"]], "now missing: 'c'"),
        (frame.assign(d=1.0), "unseen at fit time: 'd'"),
    ]:
        for method in (model.predict, model.predict_proba, model.decision_function):
            with pytest.raises(ValueError, match=match) as info:
                method(bad)
            assert "\n" not in str(info.value)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names"):
        model.predict(frame)


def test_columns_in_another_order_than_the_ranges_and_the_schema(reference):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(people())
    X, y = frame[COLUMNS[::-1]], frame["income"]
    model = fitted(X, y)
    assert list(model.feature_names_in_) == COLUMNS[::-1]
    assert model.to_json() == reference(people()).to_json()
    ranged = PrivateLogisticRegression(10.0, 1e-6, ranges=RANGES, classes=["low", "high"]).fit(X, y)
    assert list(ranged.schema_.columns) == COLUMNS[::-1]
    assert ranged.score(X, y) > 0.7
    for extra, match in [
        ({**RANGES, "shoe": (30, 50)}, "not in X: 'shoe'"),
        ({"age": (17, 90)}, "without a range: 'height', 'job'"),
    ]:
        with pytest.raises(ValueError, match=match):
            PrivateLogisticRegression(1.0, 1e-6, ranges=extra).fit(X, y)


# polars, DuckDB.


def test_polars(reference):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({name: list(cells) for name, cells in people().items()})
    X, y = frame.select(COLUMNS), frame["income"]
    release = reference(people())
    same(fitted(X, y), release, X)
    same(fitted(X.with_columns(polars.col("job").cast(polars.Categorical)), y), release, X)
    same(fitted(X.with_columns(polars.col("job").cast(polars.Enum(LEVELS))), y), release, X)
    same(fitted(X.with_columns(polars.col("age").cast(polars.Int16)), y), release, X)
    same(fitted(polars.concat([X[:100], X[100:]], rechunk=False), y), release, X)
    frame = polars.DataFrame(with_missing())
    X, y = frame.select(COLUMNS), frame["income"]
    same(fitted(X, y), reference(with_missing()), X)


def test_duckdb(reference):
    duckdb = pytest.importorskip("duckdb")
    pyarrow = pytest.importorskip("pyarrow")
    connection = duckdb.connect()
    connection.register("people", pyarrow.table({k: list(v) for k, v in people().items()}))
    y = people()["income"]
    X = connection.sql("select age, job, height from people")
    same(fitted(X, y), reference(people()), connection.sql("select age, job, height from people"))


# Arrow.


def arrow_forms(pyarrow):
    table = {name: list(cells) for name, cells in people().items() if name != "income"}
    plain = pyarrow.table(table)
    job, age, height = plain["job"], plain["age"], plain["height"]
    views = getattr(pyarrow, "string_view", None)
    forms = {
        "table": plain,
        "chunks": pyarrow.concat_tables([plain.slice(0, 100), plain.slice(100)]),
        "slice": pyarrow.concat_tables([plain.slice(7, 5), plain]).combine_chunks().slice(5),
        "batch": plain.to_batches()[0],
        "dictionary": plain.set_column(1, "job", job.dictionary_encode()),
        "large strings": plain.set_column(1, "job", job.cast(pyarrow.large_string())),
        "int8": plain.set_column(0, "age", age.cast(pyarrow.int8())),
        "uint64": plain.set_column(0, "age", age.cast(pyarrow.uint64())),
        "decimals": plain.set_column(
            2, "height", pyarrow.array([decimal.Decimal(f"{v:.2f}") for v in height.to_pylist()])
        ),
    }
    if views is not None:
        forms["string views"] = plain.set_column(1, "job", job.cast(views()))
    return forms


def test_arrow(reference):
    pyarrow = pytest.importorskip("pyarrow")
    release = reference(people())
    y = people()["income"]
    for what, X in arrow_forms(pyarrow).items():
        model = fitted(X, y)
        assert model.to_json() == release.to_json(), what
        same(model, release, X)
    table = arrow_forms(pyarrow)["chunks"]
    same(fitted(table.to_reader(), pyarrow.array(y.tolist())), release, table.to_reader())
    same(fitted(table, pyarrow.chunked_array([y[:100].tolist(), y[100:].tolist()])), release, table)
    missing = with_missing()
    y = missing.pop("income")
    X = pyarrow.table(missing)
    same(fitted(X, y), reference(with_missing()), X)


class Stream:
    """Nothing but the interface."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_a_bare_stream(reference):
    pyarrow = pytest.importorskip("pyarrow")
    table = arrow_forms(pyarrow)["chunks"]
    same(fitted(Stream(table), people()["income"]), reference(people()), Stream(table))


def test_arrow_tables_that_cannot_be_read():
    pyarrow = pytest.importorskip("pyarrow")
    y = people()["income"]
    table = arrow_forms(pyarrow)["table"]

    def with_age(cells):
        return table.set_column(0, "age", cells)

    moment = datetime.datetime(2026, 1, 1)
    for what, X, match in [
        ("timestamp", with_age(pyarrow.array([moment] * 300)), "age"),
        ("date", with_age(pyarrow.array([moment.date()] * 300)), "age"),
        ("list", with_age(pyarrow.array([[1]] * 300)), "age"),
        ("struct", with_age(pyarrow.array([{"a": 1}] * 300)), "age"),
        ("binary", with_age(pyarrow.array([b"1"] * 300)), "age"),
        ("text", with_age(pyarrow.array(["old"] * 300)), "age"),
        ("infinite", with_age(pyarrow.array([float("inf")] * 300)), "age"),
        ("level", table.set_column(1, "job", pyarrow.array(["spy"] * 300)), "job"),
        ("extra", table.append_column("shoe", pyarrow.array([1.0] * 300)), "shoe"),
        ("lacking", table.drop_columns(["height"]), "height"),
        ("no rows", table.slice(0, 0), "0 sample"),
        ("no rows to come", table.slice(0, 0).to_reader(), "0 sample"),
    ]:
        rows = 0 if what.startswith("no rows") else 300
        with pytest.raises((ValueError, TypeError), match=match) as info:
            fitted(X, y[:rows])
        assert "\n" not in str(info.value), what
    with pytest.raises(ValueError, match="labels|samples"):
        fitted(table, y[:-1])
    nulls = with_age(pyarrow.array([None] * 300, pyarrow.int64()))
    with pytest.raises(ValueError, match="age"):
        PrivateLogisticRegression(9.0, 1e-6, ranges=RANGES, classes=["low", "high"]).fit(nulls, y)


# Arrays.


def test_an_array_of_objects(reference):
    pytest.importorskip("pyarrow")
    table = people()
    X = np.empty((300, 3), dtype=object)
    for j, name in enumerate(COLUMNS):
        X[:, j] = table[name].tolist()
    same(fitted(X, table["income"]), reference(people()), X, names=False)
    X[3, 1] = 5
    with pytest.raises(ValueError, match="X: column 2"):
        fitted(X, table["income"])


def test_what_has_an_array():
    class Boxed:
        def __init__(self, array):
            self.array = array

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.array, dtype)

    X, y = numbers(200)
    model = PrivateLogisticRegression(9.0, 1e-6, ranges=(-3, 3)).fit(Boxed(X), Boxed(y))
    np.testing.assert_array_equal(model.predict(Boxed(X)), model.predict(X))
    integers = np.round(X).astype(np.int8)
    model.fit(integers, y)
    np.testing.assert_array_equal(model.predict(integers), model.predict(integers.astype(float)))


def test_sparse_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    X, y = numbers(50)
    for matrix in (sparse.csr_array(X), sparse.coo_matrix(X)):
        with pytest.raises(TypeError, match="sparse"):
            PrivateLogisticRegression(9.0, 1e-6, ranges=(-3, 3)).fit(matrix, y)
