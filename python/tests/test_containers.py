"""Every container and dtype of a table: read exactly, or refused in one line by its type."""

import decimal
import warnings
from pathlib import Path

import gibbsite
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

LEVELS = ["clerk", "farmer", "nurse"]
RANGES = {"age": (18, 80), "job": LEVELS}
CLASSES = ["no", "yes"]
UNIT = """label = "buy"
positive = "yes"
negative = "no"
[columns]
age = {type = "number", range = [18, 80]}
job = {type = "category", levels = ["clerk", "farmer", "nurse"], other = true}
"""


def rows(n=400):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.integers(18, 80, n), "job": random.choice(LEVELS, n)})
    return X, pd.Series(np.where(X.age + random.integers(-20, 20, n) > 45, "yes", "no"))


def logistic(ranges=RANGES, classes=CLASSES, **more):
    return gibbsite.PrivateLogisticRegression(4, 1e-6, ranges=ranges, classes=classes, **more)


def schema(**columns):
    lines = [f"{name} = {said}" for name, said in columns.items()]
    return gibbsite.Schema.parse(
        "\n".join(['label = "y"', 'positive = "1"', "[columns]", *lines]) + "\n", "test"
    )


# Names of columns.


def test_integer_names_are_names_of_a_frame_and_places_of_an_array():
    A, y = np.random.default_rng(1).random((300, 2)), rows(300)[1]
    by_place = {1: (0, 2), 0: (0, 1)}
    for X in (A, pd.DataFrame(A), A.tolist()):
        model = logistic(by_place).fit(X, y)
        assert model.schema_.columns == ["0", "1"]
        assert 'range = [0, 2]' in model.schema_.to_toml().split("1 = ")[1].splitlines()[0].replace(".0", "")
        assert model.predict(X).shape == (300,)
    years = pd.DataFrame(A, columns=[2023, 2024])
    model = logistic({2024: (0, 2), 2023: (0, 1)}).fit(years, y)
    assert model.schema_.columns == ["2023", "2024"]
    with pytest.raises(ValueError, match="columns must be those of fit, in the same order"):
        model.predict(years[[2024, 2023]])
    with pytest.raises(ValueError, match="ranges: must name the columns of X; without a range: 2024"):
        logistic({2023: (0, 1)}).fit(years, y)
    with pytest.raises(ValueError, match="its columns are 0 to 1, got 1, 2"):
        logistic({1: (0, 1), 2: (0, 1)}).fit(A, y)


def test_names_of_a_multi_index():
    X, y = rows()
    both = pd.concat({"a": X}, axis=1)
    model = logistic({("a", "job"): LEVELS, ("a", "age"): (18, 80)}).fit(both, y)
    assert model.schema_.columns == ["('a', 'age')", "('a', 'job')"]
    assert (model.predict(both) == model.predict(both)).all()
    import pickle

    again = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="in the same order"):
        again.predict(both[both.columns[::-1]])


# What is no table.


@pytest.mark.parametrize(
    "made, words",
    [
        (lambda X: X.iloc[0], r"a pandas Series.*X\.iloc\[\[0\]\]"),
        (lambda X: X.age, "a pandas Series"),
        (lambda X: X.index, "a pandas .*Index"),
        (lambda X: pl.from_pandas(X)["age"], "a polars Series.*to_frame"),
        (lambda X: pa.chunked_array([[1, 2]]), "a pyarrow ChunkedArray"),
        (lambda X: pa.array([1, 2]), "a pyarrow Int64Array"),
        (lambda X: pl.from_pandas(X).lazy(), r"LazyFrame.*X\.collect\(\)"),
        (lambda X: X.to_dict("list"), r"X is a dict; give pandas\.DataFrame"),
        (lambda X: X.to_dict("records"), "X is a list of dicts"),
        (lambda X: X.to_records(index=False), r"records; give pandas\.DataFrame"),
        (lambda X: np.ma.masked_array(X[["age"]].to_numpy(), X[["age"]].to_numpy() < 30), "mask would be lost"),
        (lambda X: {1, 2}, "X is a set"),
        (lambda X: (row for row in X.itertuples()), "X is a generator"),
        (lambda X: "table.csv", "Expected 2D array, got 0D array"),
    ],
)
def test_what_is_no_table_is_refused_in_a_line_that_quotes_no_cell(made, words):
    X, y = rows()
    model = logistic().fit(X, y)
    X.loc[0, "job"] = "Berger"
    for call in (lambda: model.predict(made(X)), lambda: logistic().fit(made(X), y)):
        with pytest.raises((ValueError, TypeError), match=words) as refused:
            call()
        assert "\n" not in str(refused.value)
        assert "Berger" not in str(refused.value)


@pytest.mark.parametrize(
    "made, words",
    [
        (lambda y: np.ma.masked_array(y.eq("yes").to_numpy(), y.eq("yes").to_numpy()), "mask would be lost"),
        (lambda y: set(y), "y is a set"),
        (lambda y: iter(y), "y is a"),
    ],
)
def test_labels_that_would_lose_something_are_refused(made, words):
    X, y = rows()
    with pytest.raises((ValueError, TypeError), match=words):
        logistic().fit(X, made(y))


def test_a_row_as_a_frame_is_read():
    X, y = rows()
    model = logistic().fit(X, y)
    assert model.predict(X.iloc[[0]]).shape == (1,)


# Classes.


@pytest.mark.parametrize("classes", [{"no", "yes"}, frozenset(CLASSES), {"no": 0, "yes": 1}])
def test_classes_without_an_order_are_refused(classes):
    with pytest.raises(TypeError, match=r"give a list: \[negative, positive\]"):
        logistic(classes=classes).fit(*rows())


def test_classes_of_another_type_than_y():
    X, y = rows()
    b = (y == "yes").astype(int)
    with pytest.raises(ValueError, match="'0', '1' are text, and the labels of y are numbers") as said:
        logistic(classes=["0", "1"]).fit(X, b)
    assert "row" not in str(said.value)
    for text in (b.astype(str).to_numpy(dtype="U1"), b.astype("string"), pl.Series(b.astype(str))):
        with pytest.raises(ValueError, match=r'0, 1 are no text.*classes=\["no", "yes"\]') as said:
            logistic(classes=[0, 1]).fit(X, text)
        assert "row" not in str(said.value)
    with pytest.raises(ValueError, match="it is text and the class a number: write classes"):
        logistic(classes=[0, 1]).fit(X, b.astype(str).astype(object).to_numpy())


# Values.


WIDE = 2**53


@pytest.mark.parametrize(
    "made",
    [
        lambda values: np.array(values, np.int64).reshape(-1, 1),
        lambda values: np.array(values, np.uint64).reshape(-1, 1),
        lambda values: pd.DataFrame({"c": values}),
        lambda values: pd.DataFrame({"c": pd.array(values, "Int64")}),
        lambda values: pd.DataFrame({"c": pd.array(values, "int64[pyarrow]")}),
        lambda values: pd.DataFrame({"c": pd.Series(values, dtype=object)}),
        lambda values: pd.DataFrame({"c": pd.Categorical(values)}),
        lambda values: pl.DataFrame({"c": values}),
        lambda values: pa.table({"c": values}),
        lambda values: [[value] for value in values],
    ],
)
def test_whole_numbers_of_64_bits_do_not_merge(made):
    """As levels 2^53 and 2^53 + 1 are two, whatever holds them: a float cannot tell them apart."""
    levels = [str(WIDE), str(WIDE + 1)]
    random = np.random.default_rng(2)
    which = random.integers(0, 2, 2000)
    X = made([WIDE + int(k) for k in which])
    ranges = [levels] if not hasattr(X, "columns") and not hasattr(X, "column_names") else {"c": levels}
    model = logistic(ranges, [0, 1]).fit(X, which)
    assert (model.predict(X) == which).all()


def test_sparse_columns_of_pandas_are_read_as_dense_ones():
    X, y = rows()
    dense = pd.get_dummies(X, dtype=float)
    sparse = dense.copy()
    for name in ("job_clerk", "job_farmer", "job_nurse"):
        sparse[name] = pd.arrays.SparseArray(dense[name], fill_value=0.0)
    model = logistic((0, 80)).fit(sparse, y)
    assert (model.predict_proba(sparse) == model.predict_proba(dense)).all()
    logistic((0, 80)).fit(pd.get_dummies(X, sparse=True), y)


@pytest.mark.parametrize(
    "column",
    [
        pd.date_range("2020-01-01", periods=3),
        pd.timedelta_range("1D", periods=3),
        pd.period_range("2020-01", periods=3, freq="M"),
        pd.interval_range(0, 3),
        np.array([1 + 2j, 2, 3]),
        pd.Series([[1], [2], [3]]),
        pd.Series([{"a": 1}, {"a": 2}, {"a": 3}]),
    ],
    ids=lambda column: type(column).__name__,
)
def test_types_that_are_no_numbers_are_refused_in_one_line(column):
    X = pd.DataFrame({"age": column})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError)) as refused:
            logistic({"age": (0, 1)}).fit(X, pd.Series(["no", "yes", "no"]))
    assert "\n" not in str(refused.value)
    assert "age" in str(refused.value) or "X" in str(refused.value)


@pytest.mark.parametrize(
    "values",
    [
        np.array([0.5, 0.25], np.float16),
        np.array([0.5, 0.25], np.longdouble),
        np.array([0.5, 0.25], ">f4"),
        np.array([0.5, 0.25], object),
        np.array(["0.5", "0.25"]),
        np.array([b"0.5", b"0.25"]),
        np.array([decimal.Decimal("0.5"), decimal.Decimal("0.25")], object),
    ],
    ids=lambda values: str(values.dtype),
)
def test_arrays_of_every_number_are_read_alike(values):
    A, y = np.random.default_rng(1).random((300, 1)), rows(300)[1]
    model = logistic([(0, 1)]).fit(A, y)
    expected = model.predict_proba(np.array([[0.5], [0.25]]))
    assert (model.predict_proba(values.reshape(-1, 1)) == expected).all()


# Rows to predict.


def test_a_level_that_was_not_listed_is_predicted_with_a_warning():
    X, y = rows()
    model = logistic().fit(X, y)
    expected = model.predict_proba(X)
    X.loc[3, "job"] = "pilot"
    X.loc[5, "job"] = None
    with pytest.warns(UserWarning, match=r"2 of 400 rows have a cell that the model cannot read, .* \(2 in 'job'\)"):
        said = model.predict_proba(X)
    others = np.delete(np.arange(400), [3, 5])
    assert (said[others] == expected[others]).all()
    assert np.isfinite(said).all()
    for other in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        with pytest.warns(UserWarning, match="2 of 400 rows"):
            assert (model.predict_proba(other) == said).all()


def test_a_table_in_a_file_says_which_cells(tmp_path):
    (tmp_path / "new.csv").write_text("a,c\n0.5,x\nabc,z\n0.25,\n")
    numbers = 'type = "number", range = [0, 1]'
    known = schema(a=f"{{{numbers}}}", c='{type = "category", levels = ["x"]}')
    read = dict(labels_optional=True)
    with pytest.raises(gibbsite.BadInput, match="is not a finite number"):
        gibbsite.read_table(tmp_path / "new.csv", known, **read)
    data = gibbsite.read_table(tmp_path / "new.csv", known, unseen="middle", **read)
    assert data.unseen == [(1, "a"), (1, "c"), (2, "c")]
    with pytest.raises(gibbsite.BadInput, match="stays as it was published"):
        gibbsite.read_table(tmp_path / "new.csv", known, unseen="refuse", **read)
    (tmp_path / "none.csv").write_text("a,c\n")
    assert gibbsite.read_table(tmp_path / "none.csv", known, unseen="middle", **read).rows == 0
    with pytest.raises(gibbsite.BadInput, match="no rows"):
        gibbsite.read_table(tmp_path / "none.csv", known, **read)
    with pytest.raises(gibbsite.BadInput, match="neither middle nor refuse"):
        gibbsite.read_table(tmp_path / "new.csv", known, unseen="skip", **read)


# What the command line warns of.


@pytest.mark.parametrize(
    "made, words",
    [
        (lambda X, y: gibbsite.PrivateLogisticRegression(0.01, 1e-6, ranges=RANGES, classes=CLASSES).fit(X[:40], y[:40]), "40 rows are few"),
        (lambda X, y: gibbsite.PrivateLogisticRegression(1, 0.1, ranges=RANGES, classes=CLASSES).fit(X, y), "delta: δ = 0.1 is not below 1/rows"),
        (lambda X, y: gibbsite.PrivateLogisticRegression(50, 1e-6, ranges=RANGES, classes=CLASSES).fit(X, y), "epsilon: ε = 50 by itself lets whoever knows"),
        (lambda X, y: logistic().fit(X, ["yes"] * len(X)), "no label is of the class 'no'"),
        (lambda X, y: logistic({"age": (0, 1), "job": LEVELS}).fit(X, y), "column 'age': 400 of 400 cells are beyond the range"),
        (lambda X, y: logistic(ranges=None, classes=None, schema=UNIT).fit(X, y.str.title()), "400 of 400 labels are of neither class"),
        (lambda X, y: logistic(ranges=None, classes=None, schema=UNIT).fit(X.assign(job="pilot"), y), "column 'job': 400 of 400 cells are of no listed level"),
    ],
)
def test_a_fit_warns_as_the_program_does(made, words):
    with pytest.warns(gibbsite.FitWarning, match=words):
        made(*rows())


def test_a_plain_fit_warns_of_nothing():
    X, y = rows(4000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logistic().fit(X, y).predict(X)


def warned(make):
    """The FitWarnings of a fit about rows, and its model."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = make()
    return [str(one.message) for one in caught if "do not count as they are written" in str(one.message)], model


def test_one_warning_lists_what_does_not_count_as_written():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 10, 3000)
    X = pd.DataFrame({"x": x, "bmi": rng.normal(26, 3, 3000), "job": rng.choice(["clerk", "pilot"], 3000, p=[0.9, 0.1])})
    X.loc[: 599, "bmi"] = np.nan
    y = 10 * x
    ranges = {
        "x": (0, 6),
        "bmi": {"range": (15, 50), "missing": ""},
        "job": {"levels": ["clerk"], "other": True},
    }
    model = gibbsite.PrivateLinearRegression(3, 1e-7, ranges=ranges, target_range=(0, 80), random_state=1)
    (line,), fitted = warned(lambda: model.fit(X, y))
    assert line.startswith("of 3000 rows these do not count") and "private: this line" in line and "\n" not in line
    for said in (
        f"column 'x': {(x > 6).sum()} outside [0, 6], counted as its nearer end",
        "column 'bmi': 600 missing, counted as 32.5, the middle of the range",
        f"column 'job': {(X['job'] == 'pilot').sum()} of a level that is not listed, counted as (other)",
        f"labels: {(y > 80).sum()} outside the range [0, 80], counted as its nearer end",
    ):
        assert said in line
    # Nothing of it is in the file: it is, byte for byte, that of rows that are written as they count.
    as_counted = X.assign(x=x.clip(0, 6), bmi=X["bmi"].fillna(32.5))
    as_counted["job"] = X["job"].replace("pilot", "(other)")
    again = gibbsite.PrivateLinearRegression(3, 1e-7, ranges=ranges, target_range=(0, 80), random_state=1)
    lines, other = warned(lambda: again.fit(as_counted, y.clip(0, 80)))
    assert all("'x'" not in line and "'bmi'" not in line and "labels" not in line for line in lines)
    assert other.to_json() == fitted.to_json()


def test_labels_of_no_class_and_missing_levels_in_the_warning():
    X, y = rows(2000)
    y = y.mask(np.arange(2000) % 10 == 0)
    y[1] = "perhaps"
    (line,), _ = warned(lambda: logistic(invalid="middle").fit(X, y))
    assert f"labels: 201 of no class, counted as {CLASSES[0]}" in line
    # A missing cell that has a level of its own counts as what it is.
    X = X.assign(age=X["age"].mask(np.arange(2000) % 5 == 0))
    y = y.mask(y == "perhaps").fillna(CLASSES[0])
    curve = {"age": gibbsite.Curve(18, 80, missing=""), "job": LEVELS}
    assert warned(lambda: logistic(curve).fit(X, y))[0] == []


def test_mostly_labels_beyond_the_range_warn():
    X, _ = rows(2000)
    with pytest.warns(gibbsite.FitWarning, match=r"y: 2000 of 2000 labels are beyond the range \[0, 1\]"):
        gibbsite.PrivateLinearRegression(3, 1e-7, ranges={"age": (18, 80)}, target_range=(0, 1)).fit(X[["age"]], X["age"])


# Paths.


def test_paths_of_pathlib_are_taken_everywhere(tmp_path):
    toml, table = tmp_path / "s.toml", tmp_path / "p.csv"
    toml.write_text('label="buy"\npositive="yes"\n[columns]\nage={type="number",range=[18,80]}\n')
    X, y = rows()
    X[["age"]].assign(buy=y).to_csv(table, index=False)
    known = gibbsite.Schema.read(toml)
    assert gibbsite.Schema.read_column(toml, "age").columns == ["age"]
    assert gibbsite.Schema.read_network(toml).columns
    assert "age" in gibbsite.schema_template(table)
    data = gibbsite.read_table(table, known)
    ledger = gibbsite.Ledger.create(tmp_path / "l.db", epsilon=4.0, delta=1e-5)
    assert gibbsite.Ledger(tmp_path / "l.db").path == ledger.path
    plan = gibbsite.plan(epsilon=1.0, delta=1e-6, rows=data.rows, schema=known)
    release = gibbsite.fit(data, plan, ledger=ledger)
    release.write(tmp_path / "m.json")
    assert gibbsite.verify(tmp_path / "m.json").valid
    assert gibbsite.Release.read(tmp_path / "m.json").to_json() == release.to_json()
    assert gibbsite.run_command(["verify", tmp_path / "m.json"]) == 0
    gibbsite.discard_checkpoint(tmp_path / "none")
    np.save(tmp_path / "X.npy", X[["age"]].to_numpy(float))
    np.save(tmp_path / "y.npy", (y == "yes").to_numpy(float))
    numbers = gibbsite.Schema.parse(toml.read_text().replace('"yes"', '"1"'), "s")
    assert gibbsite.read_table(tmp_path / "X.npy", numbers, labels=tmp_path / "y.npy").labeled
    model = gibbsite.PrivateLogisticRegression(1, 1e-6, schema=toml, ledger=tmp_path / "l.db")
    model.fit(X[["age"]], y).save(tmp_path / "e.json")
    assert gibbsite.PrivateLogisticRegression.from_file(tmp_path / "e.json").predict(X[["age"]]).size
    assert Path(str(tmp_path / "e.json")).exists()
