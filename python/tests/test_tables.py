"""Every source of a table gives the bits that the CSV of the same table gives."""

import csv
import datetime
import decimal
import fractions
import pickle
import warnings

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLogisticRegression, _tables

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
    """A function from columns to the model of their CSV."""

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
    with pytest.raises(ValueError, match="row 4: column 'job': level '5'"):
        fitted(X, table["income"])


ODD = [
    "abc", "", None, np.nan, np.inf, True, 5, 0.5, 2**70, -(2**2000), 10**5000, 1j, b"\xff", [1],
    {}, object(), decimal.Decimal("0.25"), datetime.date(2026, 1, 1), "\ud800", np.array([1, 2]),
]  # fmt: skip

POSSIBLE = {}  # models, by kind of table


def middle(X, y, ranges, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        return PrivateLogisticRegression(
            10.0, 1e-6, ranges=ranges, invalid="middle", random_state=1, mechanism="output", **params
        ).fit(X, y)


def replaced(cells, odd):
    cells = list(cells)
    cells[7] = odd
    out = np.empty(len(cells), dtype=object)
    out[:] = cells if not hasattr(odd, "__len__") else [None] * len(cells)
    for i, cell in enumerate(cells):
        out[i] = cell
    return out


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
@pytest.mark.parametrize("kind", ["array", "list", "frame", "categories", "ignored"])
def test_an_odd_cell_is_one_person_s_affair(kind, odd):
    """invalid="middle" refuses none, and the other rows are read as they are without it: the model
    is, to the bit, that of the table in which the same cell is one of the values it can become."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = numbers(200, 2)
    cells, levels = X[:, 0], np.where(X[:, 1] > 0, "1.5", "2")
    number = kind in ("array", "list")
    ranges = [(-3, 3), (-3, 3)] if number else {"a": (-3, 3), "b": ["1.5", "2"]}

    def fit_with(cell, level=None):
        a = replaced(cells, cell)
        if number:
            table = np.stack([a, replaced(X[:, 1], X[7, 1])], axis=1)
            return middle(table.tolist() if kind == "list" else table, y, ranges).coef_
        b = replaced(levels.tolist(), levels[7] if level is None else level)
        frame = pandas.DataFrame({"a": a, "b": b})
        if kind == "categories":
            try:
                frame["b"] = frame["b"].astype("category")
            except TypeError:  # what has no hash is no category
                return None
        if kind == "ignored":
            return middle(frame, y, {"a": "ignore", "b": ["1.5", "2"]}).coef_
        return middle(frame, y, ranges).coef_

    if kind == "list" and isinstance(odd, (list, np.ndarray)):
        return  # rows of different lengths
    if kind not in POSSIBLE:
        POSSIBLE[kind] = [fit_with(value) for value in (-3.0, 0.0, 3.0, 1.0, 0.5, 0.25)]
    possible = POSSIBLE[kind]
    got = fit_with(odd)
    assert any(np.array_equal(got, model) for model in possible)
    if kind == "categories" and not (isinstance(odd, str) and odd == "\ud800"):  # pandas has none
        got = fit_with(0.0, odd)
        if "levels" not in POSSIBLE:
            POSSIBLE["levels"] = [fit_with(0.0, level) for level in ("1.5", "2", "neither")]
        plain = POSSIBLE["levels"]
        assert got is None or any(np.array_equal(got, model) for model in plain)


@pytest.mark.parametrize("cells", ["1.0", 1.0, 1, True, np.float32(1)])
def test_the_others_levels_do_not_follow_from_one_cell(cells):
    """Text that is a number in every row but one is the same text."""
    pytest.importorskip("pyarrow")
    y = np.arange(300) % 2
    X = replaced([cells if k else "x" for k in y], cells)
    all_numbers = X.copy()
    all_numbers[y == 0] = "2.0"
    one_is_none = all_numbers.copy()
    one_is_none[0] = "x"
    ranges = [["1.0", "2.0", "x"]]
    with_text = np.array([[str(cell)] for cell in all_numbers]) if cells == "1.0" else None
    models = [middle(table[:, None], y, ranges).coef_ for table in (all_numbers, one_is_none)]
    assert (np.sign(models[0][0, :2]) == np.sign(models[1][0, :2])).all()
    np.testing.assert_allclose(models[0], models[1], atol=2)
    if with_text is not None:
        np.testing.assert_array_equal(middle(with_text, y, ranges).coef_, models[0])


def test_rows_of_lists_keep_their_types():
    """NumPy would make 1.0 of [[1.0], ["x"]] the text "1.0", which is another level than "1"."""
    pytest.importorskip("pyarrow")
    y = np.arange(300) % 2
    X = [[1.0 if k else 2.0] for k in y]
    odd = [["x"], *X[1:]]
    ranges = [["1", "2", "x"]]
    data = [middle(table, y, ranges).predict(X) for table in (X, odd)]
    assert (data[0] == y).all() and (data[1] == y).all()


# Each cell is judged alone: what it is and what the schema says.

CELLS = [
    *ODD, "a", "1", "1.0", "true", False, 0, 1, -1, -1.0, 0.1, 2**53 + 1, -np.inf, np.bool_(True), np.int8(3),
    np.float32(0.1), np.float64("nan"), np.str_("a"), b"a", bytearray(b"1"), memoryview(b"1"), (),
    decimal.Decimal("1.50"), decimal.Decimal("NaN"), decimal.Decimal("sNaN"), fractions.Fraction(1, 3),
    np.datetime64("2026-01-01", "ns"), np.timedelta64(3, "ns"), np.array(5.0), "\U0001f600", "nan",
]  # fmt: skip

ONE = {
    "category": '{type = "category", levels = ["a", "1", "true"], other = true}',
    "missing": '{type = "number", range = [-3, 3], missing = "-1.0"}',
    "number": '{type = "number", range = [-3, 3]}',
}


def object_array(rows):
    out = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            out[i, j] = cell
    return out


def object_frame(rows):
    pandas = pytest.importorskip("pandas")
    columns = object_array(rows)
    return pandas.DataFrame(
        {f"x{j}": pandas.Series(columns[:, j], dtype=object) for j in range(columns.shape[1])}
    )


HOLDERS = {
    "lists": lambda rows: [list(row) for row in rows],
    "tuples": lambda rows: tuple(map(tuple, rows)),
    "objects": object_array,
    "frame": object_frame,
}


def schema_of(columns, invalid="middle"):
    lines = [f"x{j} = {column}" for j, column in enumerate(columns)]
    head = f'label = "y"\npositive = "1"\nnegative = "0"\ninvalid = "{invalid}"\n[columns]\n'
    return gibbsite.Schema.parse(head + "\n".join(lines) + "\n")


def readings(X, schema):
    """What the engine is given for each cell, as text: NaN is NaN, and a whole number of any type is one."""

    def shown(cell):
        return repr(int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else cell)

    facts = _tables.SchemaFacts(schema)
    table = _tables.read_columns(X, facts.takes_text, facts.has_missing, facts.middle)
    if table.is_array:
        return [[repr(cell) for cell in row] for row in table.source.tolist()]
    read = table.source.to_arrow(list(schema.columns), facts)
    return [[shown(cell) for cell in row.values()] for row in read.to_pylist()]


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("what", ONE)
def test_a_cell_is_read_by_itself(what, holder):
    """Whatever else is in its column or its row."""
    pytest.importorskip("pyarrow")
    schema = schema_of([ONE[what], ONE[what]])
    for cell in CELLS:
        if holder == "frame" and what == "number" and isinstance(cell, np.datetime64):
            continue  # pandas has a type of its own
        found = set()
        for other in ("a", 5, 2.5, True, None, "\ud800", cell):
            for beside in (0.5, "b"):
                rows = HOLDERS[holder]([[cell, beside], [other, beside]])
                found.add(readings(rows, schema)[0][0])
        assert len(found) == 1, (cell, found)


def test_a_list_s_others_do_not_follow_from_one_cell():
    """True is no 1 of a category, whether or not its list holds a number or None."""
    pytest.importorskip("pyarrow")
    schema = schema_of([ONE["category"], ONE["number"]])
    for kinds in ([True, 1], [True, False], [1, 2], [0.5, 1], ["a", "1"]):
        rows = [[kinds[k % 2], 0.5 * (k % 3)] for k in range(50)]
        before = readings(rows, schema)
        for cell in CELLS:
            for j in range(2):
                neighbor = [list(row) for row in rows]
                neighbor[7][j] = cell
                after = readings(neighbor, schema)
                assert [*after[:7], *after[8:]] == [*before[:7], *before[8:]], (kinds, cell, j)
    # The types of arrays are public: booleans are their numbers.
    table = _tables.read_columns(np.array([[True], [False]]), takes_text=True)
    assert table.is_array and table.source.tolist() == [[1.0], [0.0]]


def test_a_category_s_others_do_not_follow_from_one_cell():
    """pandas chooses the type of the categories from all of them."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for what in ONE:
        schema = schema_of([ONE[what]])
        for kinds in ([True, False], [1, 2], [1.0, 0.5], [-1.0, 1.0], ["a", "1"]):
            cells = [kinds[k % 2] for k in range(20)]
            for cell in ("x", 5, 2.5, None):  # True is 1 to pandas already
                found = []
                for column in (cells, [*cells[:7], cell, *cells[8:]]):
                    frame = pandas.DataFrame({"x0": pandas.Series(column, dtype=object)})
                    plain = readings(frame, schema)
                    assert readings(frame.astype("category"), schema) == plain
                    found.append([*plain[:7], *plain[8:]])
                assert found[0] == found[1]


def test_numbers_of_a_list_are_those_of_an_array():
    pytest.importorskip("pyarrow")
    for missing in ("-1.0", "-1", "1", "1.0", "nan", "9007199254740992", "?"):
        schema = schema_of(['{type = "number", range = [-3, 3], missing = "%s"}' % missing])
        whole = [[-1], [0], [1], [2], [2**53], [2**53 + 1]]
        floats = [[-1.0], [0.25], [1.0], [1e-7], [2.0**53], [float("nan")]]
        for rows in (whole, floats, [[True], [False]]):
            counts = []
            for X in (np.array(rows), rows, object_array(rows), [np.array(row) for row in rows]):
                facts = _tables.SchemaFacts(schema)
                table = _tables.read_columns(X, facts.takes_text, facts.has_missing, facts.middle)
                data = table.read(schema, list(schema.columns), np.ones(len(rows)), 1)
                counts.append((dict(data.counts), gibbsite._core._Rows(data).digest))
            assert all(one == counts[0] for one in counts), (missing, counts)
        dates = [[np.datetime64("2026-01-01", "ns")], [np.timedelta64(3, "ns")]]
        assert readings(dates, schema) == [["'<datetime64>'"], ["'<timedelta64>'"]]
    plain = schema_of([ONE["number"]])
    assert readings(dates, plain) == [["nan"], ["nan"]]
    whole = [[2**53 + 1], [-(2**63)], [2**63], [0.1], [True], [np.float32(0.1)]]
    expected = [float(cell) for (cell,) in whole]
    assert readings(whole, plain) == [[repr(cell)] for cell in expected]


def test_objects_are_read_as_columns_of_their_types_are():
    """Whatever its decimal sign, spelling of NaN or format of dates is: none is written and read again."""
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    days = [datetime.date(900, 1, 2), datetime.date(1990, 3, 4)]
    of_dates = '{type = "date", range = ["0800-01-01", "2000-12-31"], format = "%d %b %Y"}'
    for head, what, cells, kind in [
        ('decimal = ","\n', '{type = "number", range = [0, 3], decimal = "."}', [0.5, 2.25], None),
        ('decimal = ","\n', '{type = "number", range = [0, 3]}', [0.5, 2.25], None),
        ("", '{type = "number", range = [0, 3], missing = "NaN"}', [0.5, float("nan")], None),
        ("", '{type = "category", levels = ["2.50", "0.5"], other = true}', [0.5, 2.5], None),
        ("", '{type = "category", levels = ["False", "1"]}', [True, False], None),
        ("", of_dates, days, pyarrow.date32()),
    ]:
        schema = gibbsite.Schema.parse(
            f'label = "y"\npositive = "1"\ninvalid = "middle"\n{head}[columns]\nx0 = {what}\n'
        )
        typed = pyarrow.table({"x0": pyarrow.array(cells, kind)})
        objects = np.array([*cells, None], dtype=object)[:-1]
        tables = [typed, pandas.DataFrame({"x0": pandas.Series(objects, dtype=object)})]
        facts = _tables.SchemaFacts(schema)
        read = [gibbsite.read_arrow(table, schema, labels=np.ones(2)) for table in tables]
        listed = _tables.read_columns([[cell] for cell in cells], facts.takes_text, facts.has_missing, True)
        read.append(listed.read(schema, ["x0"], np.ones(2), 1))
        assert len({(str(data.counts), gibbsite._core._Rows(data).digest) for data in read}) == 1, what
        assert read[0].counts["invalid_cells"] == 0, what
    amounts = 'label = "y"\nrange = [0, 9]\ndecimal = ","\n[columns]\nx0 = {type = "number", range = [0, 3]}\n'
    frame = pandas.DataFrame({"x0": [1.0, 2.0], "y": pandas.Series([2.5, "7,5"], dtype=object)})
    assert gibbsite.read_arrow(frame, gibbsite.Schema.parse(amounts)).labels == pytest.approx([2.5, 7.5])


def test_rows_that_are_none():
    plain = schema_of([ONE["number"]] * 2)
    for rows, why in [
        ([[1, 2], [3]], "X: row 2 has 1 cells, and row 1 has 2; give every row as many"),
        ([[1, 2], 5], "X: row 2 has no cells"),
        ([1, 2], "Expected 2D array, got 1D array"),
        (["ab", "cd"], "Expected 2D array, got 1D array"),
        ([], "Expected 2D array, got 1D array"),
        ("ab", "Expected 2D array, got 0D array"),
        ([[], []], "0 feature"),
    ]:
        with pytest.raises(ValueError, match=why) as info:
            readings(rows, plain)
        assert "\n" not in str(info.value)


# Labels.

LABELS = {
    "two numbers": 'positive = "1"\nnegative = "0"\n',
    "two words": 'positive = "yes"\nnegative = "no"\n',
    "booleans": 'positive = "true"\nnegative = "false"\n',
    "one": 'positive = "1"\n',
    "numbers": 'classes = ["1", "2", "3"]\n',
    "words": 'classes = ["yes", "no", "perhaps"]\n',
}


def codes(y, label):
    """(classes_ and their type, codes) of labels by a schema that refuses none."""
    text = f'label = "y"\n{label}invalid = "middle"\n[columns]\nx = {{type = "number", range = [0, 1]}}\n'
    facts = _tables.SchemaFacts(gibbsite.Schema.parse(text))
    labels = _tables.as_labels(y)
    classes = _tables.classes_of_schema(facts, labels)
    found = _tables.class_codes(labels, classes, facts, by_name=True)
    default = _tables.default_classes()
    return (classes.dtype, classes.tolist(), default.dtype, default.tolist()), found.tolist()


@pytest.mark.parametrize("label", LABELS)
def test_a_label_is_read_by_itself(label):
    """classes_, their type and the codes of all others are the same whatever one label is."""
    for some in ([0, 1], [1.0, 2.0], ["yes", "no"], ["1", "0"], [True, False], [3, "yes"]):
        y = [some[k % 2] for k in range(20)]
        classes, before = codes(y, LABELS[label])
        for odd in CELLS:
            neighbor = [*y[:5], odd, *y[6:]]
            found, after = codes(neighbor, LABELS[label])
            assert found == classes, (some, odd)
            assert [*after[:5], *after[6:]] == [*before[:5], *before[6:]], (some, odd)


DECLARED = {
    "two numbers": [0, 1],
    "two words": ["no", "yes"],
    "booleans": [False, True],
    "one": [0, 1],
    "numbers": [1, 2, 3],
    "words": ["yes", "no", "perhaps"],
}


@pytest.mark.parametrize("label", DECLARED)
def test_classes_are_those_that_were_declared(label):
    """Not those of the type that pandas infers from all labels: one odd label would tell."""
    pandas = pytest.importorskip("pandas")
    names = [str(one) if type(one) is not bool else str(one).lower() for one in DECLARED[label]]
    labels = [names[k % len(names)] for k in range(30)]
    columns = [
        labels,
        pandas.Series(labels),
        pandas.Series(labels, dtype="string"),
        pandas.Series(labels).astype("category"),
        pandas.Series([*labels[:-1], None]),
        pandas.Series([*labels[:-1], "odd"]),
        pandas.Series([*labels[:-1], 7.5], dtype=object),
    ]
    if type(DECLARED[label][0]) is not str:  # what pandas infers of such a column of a CSV
        values = [DECLARED[label][k % len(names)] for k in range(30)]
        columns += [values, pandas.Series(values), pandas.Series(values).astype("category")]
        columns += [pandas.Series([*values[:-1], None]), pandas.Series([*values[:-1], "odd"])]
    for y in columns:
        (dtype, classes, *_), found = codes(y, LABELS[label])
        assert classes == DECLARED[label] and [type(c) for c in classes] == [type(c) for c in DECLARED[label]]
        assert found[:-1] == codes(labels, LABELS[label])[1][:-1]


def test_declared_classes_stay_in_a_pickle():
    pandas = pytest.importorskip("pandas")
    X, y = numbers(300)
    columns = "".join(f'x{j} = {{type = "number", range = [-3, 3]}}\n' for j in range(3))
    schema = f'label = "l"\npositive = "1"\nnegative = "0"\ninvalid = "middle"\n[columns]\n{columns}'
    text = pandas.Series(y).astype(str)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        for labels in (text, y == 1, pandas.Series(y).astype(float).where(np.arange(300) > 0), text.astype("category")):
            model = PrivateLogisticRegression(4.0, 1e-6, schema=schema, random_state=1).fit(X, labels)
            again = pickle.loads(pickle.dumps(model))
            for one in (model, again):
                assert one.classes_.tolist() == [0, 1] and one.classes_.dtype == np.int64
                assert one.predict(X).dtype == np.int64
                assert one.score(X, y) == one.score(X, text) > 0.8
        # As given, letter by letter.
        given = PrivateLogisticRegression(4.0, 1e-6, schema=schema, classes=["0", "1"], random_state=1)
        again = pickle.loads(pickle.dumps(given.fit(X, text)))
        assert again.classes_.tolist() == ["0", "1"] and again.predict(X).tolist() == given.predict(X).tolist()


def test_ranges_take_levels_with_others():
    pandas = pytest.importorskip("pandas")
    X, y = numbers(400)
    frame = pandas.DataFrame({"age": X[:, 0], "job": np.array(["clerk", "nurse", "pilot", "?"])[np.arange(400) % 4]})
    frame.loc[3, "age"] = np.nan
    ranges = {
        "age": {"range": (-3, 3), "missing": ""},
        "job": {"levels": ["clerk", "nurse"], "other": True, "missing": "?"},
    }
    schema = (
        'label = "y"\npositive = "1"\nnegative = "0"\nunlisted_label = "refuse"\nintercept = true\n[columns]\n'
        'age = {type = "number", range = [-3, 3], missing = ""}\n'
        'job = {type = "category", levels = ["clerk", "nurse"], other = true, missing = "?"}\n'
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        one = PrivateLogisticRegression(4.0, 1e-6, ranges=ranges, random_state=1).fit(frame, y)
        same = PrivateLogisticRegression(4.0, 1e-6, schema=schema, random_state=1).fit(frame, y)
        listed = PrivateLogisticRegression(4.0, 1e-6, ranges=[ranges["age"], ranges["job"]], random_state=1)
        listed.fit(frame, y)
    assert "job=(other)" in one.coef_names_ and "job=(missing)" in one.coef_names_
    assert one.to_json() == same.to_json() == listed.to_json()
    new = pandas.DataFrame({"age": [0.5, None], "job": ["astronaut", "?"]})
    assert one.predict_proba(new).tolist() == same.predict_proba(new).tolist()
    for said, message in (
        ({"level": ["a"]}, "neither \"levels\" nor \"range\""),
        ({"levels": ["a"], "others": True}, "unknown 'others'"),
        ({"levels": ["a"], "other": "yes"}, "'other' must be a bool"),
        ({"levels": "a"}, "'levels' must be a list"),
        ({"range": (0, 1), "other": True}, "unknown 'other'"),
        ({"range": (0, 1), "missing": 0}, "'missing' must be a str"),
        ({"range": (0,)}, "must be \\(lowest, highest\\)"),
    ):
        with pytest.raises(ValueError, match=message) as info:
            PrivateLogisticRegression(4.0, 1e-6, ranges={"age": ranges["age"], "job": said}).fit(frame, y)
        assert "\n" not in str(info.value)


def typed(values):
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    kind = type(values[0])
    of_pandas = {bool: "boolean", int: "Int64", str: "string", float: "Float64"}[kind]
    of_pyarrow = {bool: "bool", int: "int64", str: "string", float: "float64"}[kind]
    of_polars = {bool: polars.Boolean, int: polars.Int64, str: polars.String, float: polars.Float64}[kind]
    arrow = pyarrow.array(values, of_pyarrow)
    return [
        pandas.Series(values, dtype=of_pandas),
        pandas.Series(values, dtype=of_pandas).array,
        pandas.DataFrame({"y": pandas.Series(values, dtype=of_pandas)}),
        pandas.Series(values, dtype=pandas.ArrowDtype(arrow.type)),
        pandas.Series(values, dtype=of_pandas).astype("category"),
        polars.Series("y", values, dtype=of_polars),
        arrow,
        pyarrow.chunked_array([arrow]),
    ]


@pytest.mark.parametrize("label", ["two numbers", "booleans", "numbers"])
@pytest.mark.filterwarnings("ignore:A column-vector")
def test_a_column_that_lacks_a_label_is_of_its_type(label):
    for whole in ([True, False] * 3, [1, 0, 2, 3] * 2, ["1", "0", "true"] * 2, [1.0, 0.0] * 2):
        lacking = [*whole[:-1], None]
        for k, (y, neighbor) in enumerate(zip(typed(whole), typed(lacking))):
            if label == "booleans" and type(whole[0]) in (int, float):
                with pytest.raises(ValueError, match="y has numbers") if k != 4 else warnings.catch_warnings():
                    codes(neighbor, LABELS[label])
                continue
            classes, before = codes(y, LABELS[label])
            found, after = codes(neighbor, LABELS[label])
            assert found == classes, (k, whole)
            assert before[:-1] == after[:-1]
            array = np.array(whole)
            if k != 4:  # which categories there are follows from the rows
                assert (found, before) == codes(array, LABELS[label]), (k, whole)


def test_a_score_is_of_the_class_that_a_label_names():
    X, y = numbers(400)
    schema = 'label = "l"\npositive = "1"\nnegative = "0"\n[columns]\n' + "".join(
        f"x{j} = {{type = \"number\", range = [-3, 3]}}\n" for j in range(3)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        model = PrivateLogisticRegression(9.0, 1e-6, schema=schema, random_state=1)
        scores = []
        for labels in (y, y.tolist(), [str(one) for one in y], y.astype(object), y.astype(str).astype(object)):
            scores.append(model.fit(X, labels).score(X, labels))
    assert scores[0] > 0.8 and len(set(scores)) == 1


@pytest.mark.parametrize("odd", [*ODD, "1", "0"], ids=lambda odd: type(odd).__name__)
@pytest.mark.parametrize("as_list", [True, False])
def test_an_odd_label_is_one_person_s_affair(as_list, odd):
    """Labels of the others are not text, or negative, because one is."""
    X, y = numbers(200, 2)
    schema = 'label = "l"\npositive = "1"\nnegative = "0"\ninvalid = "middle"\n[columns]\n' + (
        "a = {type = \"number\", range = [-3, 3]}\nb = {type = \"number\", range = [-3, 3]}\n"
    )
    possible = POSSIBLE.setdefault("labels", [])
    for label in (0, 1) if not possible else ():
        labels = y.copy()
        labels[7] = label
        possible.append(middle(X, labels, (-3, 3)).coef_)
    labels = replaced(y.tolist(), odd)
    labels = labels.tolist() if as_list else labels
    models = [middle(X, labels, (-3, 3)).coef_]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        models.append(
            PrivateLogisticRegression(
                10.0, 1e-6, schema=schema, random_state=1, mechanism="output"
            )
            .fit(X, labels)
            .coef_
        )
    for model in models:
        assert any(np.array_equal(model, one) for one in possible)


def test_ignored_columns_may_lack_and_names_occur_once():
    pandas = pytest.importorskip("pandas")
    X, y = numbers(200, 2)
    schema = 'label = "l"\npositive = "1"\nnegative = "0"\n[columns]\nid = {type = "ignore"}\n' + (
        "a = {type = \"number\", range = [-3, 3]}\nb = {type = \"number\", range = [-3, 3]}\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrivateLogisticRegression(10.0, 1e-6, schema=schema, random_state=1)
        frame = pandas.DataFrame(X, columns=["a", "b"])
        lacking = model.fit(frame, y).coef_
        np.testing.assert_array_equal(model.predict(X), model.predict(frame))
        np.testing.assert_array_equal(lacking, model.fit(frame.assign(id=1.0), y).coef_)
        with pytest.raises(ValueError, match="column 'a' occurs twice"):
            model.fit(pandas.DataFrame(np.c_[X, X[:, :1]], columns=["a", "b", "a"]), y)


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


def test_several_marks_of_missing():
    """By every container the same; a mark that is a number marks each cell of that value."""
    pyarrow = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    schema = gibbsite.Schema.parse(
        'label = "y"\npositive = "1"\nnegative = "0"\nmissing = ["NA", "", "-9"]\n[columns]\n'
        'x = {type = "number", range = [0, 10]}\n'
        'c = {type = "category", levels = ["a", "b"], missing = ["?", "none"]}\n'
    )
    x = ["NA", "", "-9", "5", -9.0, 5, "-9.0"]
    c = ["a", "?", "none", "b", None, "a", "b"]
    y = ["1", "0", "1", "0", "1", "0", "1"]
    frame = pd.DataFrame({"x": np.array(x, dtype=object), "c": c, "y": y})
    texts = pyarrow.table({"x": [str(cell) for cell in x], "c": c, "y": y})
    for table in (frame, texts):
        counts = gibbsite.read_arrow(table, schema).counts
        assert counts["missing_cells"] == 8
    facts = _tables.SchemaFacts(schema)
    assert facts.marks(facts.columns["x"]) == ["NA", "", "-9"]
    assert facts.marks(facts.columns["c"]) == ["?", "none"]
