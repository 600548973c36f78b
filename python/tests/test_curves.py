"""Numbers as curves: what `gibbsite.Curve` says to the engine, what its coefficients mean, pictures."""

import copy
import json
import pickle
import sys
import warnings

import numpy as np
import pytest

import gibbsite
from gibbsite import Curve, PrivateLinearRegression, PrivateLogisticRegression

pytestmark = pytest.mark.filterwarnings("ignore::gibbsite.VoidWarning", "ignore::gibbsite.FitWarning")

KNOTS = [17.0, 25.0, 40.0, 65.0, 90.0]


def hump(rows=4000, seed=0):
    """X [rows, 2] of an age whose effect is a hump and a number that has none; labels 0 and 1."""
    random = np.random.default_rng(seed)
    age = random.uniform(5, 100, rows)
    X = np.stack([age, random.uniform(-1, 1, rows)], axis=1)
    return X, (4 - np.abs(age - 45) / 6 + random.logistic(size=rows) * 0.5 > 0).astype(np.int64)


def model(ranges, **params):
    return PrivateLogisticRegression(
        **{"epsilon": 20.0, "delta": 1e-6, "ranges": ranges, "random_state": 1, **params}
    )


def column_of(what):
    """The column as the engine writes the schema that a model has read from `what`."""
    import tomllib

    X = np.linspace(0, 1, 40).reshape(-1, 1)
    y = np.arange(40) % 2
    return tomllib.loads(model({0: what}).fit(X, y).schema_.to_toml())["columns"]["0"]


def hats(values, knots):
    """The hat functions of one column by their definition [rows, knots]."""
    return np.stack([np.interp(values, knots, row) for row in np.eye(len(knots))], axis=1)


# What it says.


@pytest.mark.parametrize(
    "curve, text",
    [
        (Curve(17, 90, knots=8), "Curve(17, 90, knots=8)"),
        (Curve(0.0, 1e5), "Curve(0.0, 100000.0)"),
        (Curve(0, 9, [1, 2], missing=["?", ""]), "Curve(0, 9, knots=[1, 2], missing=['?', ''])"),
        (
            Curve(-5, 5, scale="series", missing="?", missing_level=False),
            "Curve(-5, 5, scale='series', missing='?', missing_level=False)",
        ),
        (Curve(0, 9, np.int64(4), "log"), "Curve(0, 9, knots=4, scale='log')"),
        (Curve(0, 9, np.array([0.0, 3.0, 9.0])), "Curve(0, 9, knots=[0.0, 3.0, 9.0])"),
    ],
)
def test_repr_pickle_and_copies(curve, text):
    assert repr(curve) == text
    assert eval(text, {"Curve": Curve}) == curve and hash(eval(text, {"Curve": Curve})) == hash(curve)
    assert pickle.loads(pickle.dumps(curve)) == curve and copy.deepcopy(curve) == curve
    assert curve != Curve(17, 91, knots=8)
    with pytest.raises(AttributeError):
        curve.lo = 3


@pytest.mark.parametrize(
    "arguments, said",
    [
        ((90, 17), "lowest first"),
        ((float("nan"), 1), "finite"),
        ((0, float("inf")), "finite"),
        (("0", 1), "finite numbers"),
        ((True, 3), "finite numbers"),
        ((0, 1, 1), "from 2"),
        ((0, 1, 1001), "1000"),
        ((0, 1, True), "number of knots"),
        ((0, 1, 8.0), "number of knots"),
        ((0, 1, "many"), "'many'"),
        ((0, 1, [0.2, "x"]), "must be numbers"),
        ((0, 1, [0.5, 0.2]), "ascend"),
        ((0, 1, [0.5, 0.5]), "ascend"),
        ((0, 1, [0.5, 2]), "ascend"),
        ((0, 1, [0.5, float("nan")]), "ascend"),
        ((0, 1, [0.5], "log"), "leave one out"),
        ((0, 1, 8, "series"), "leave knots out"),
        ((0, 1, 8, "cubic"), "'cubic'"),
        ((0, 1, 8, None, 3), "missing must be"),
        ((0, 1, 8, None, []), "missing must be"),
        ((0, 1, 8, None, ["?", 3]), "missing must be"),
        ((0, 1, 8, None, None, True), "no text marks them"),
        ((0, 1, 8, None, "?", 1), "missing_level must be"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, said):
    with pytest.raises(ValueError, match=said) as raised:
        Curve(*arguments)
    assert str(raised.value).startswith("Curve: ") and "\n" not in str(raised.value)


def test_curves_of_ranges_are_those_of_a_schema():
    assert column_of(Curve(0, 1, knots=5))["knots"] == [0, 0.25, 0.5, 0.75, 1]
    assert column_of(Curve(0, 1, knots=[0.3])) == column_of(Curve(0, 1, knots=[0, 0.3, 1]))
    assert column_of(Curve(0, 1, knots=[0.3]))["knots"] == [0, 0.3, 1]
    assert "knots" not in column_of(Curve(0, 1, knots=2)) and "knots" not in column_of(Curve(0, 1, []))
    assert column_of(Curve(0, 1, scale="series"))["knots"][:4] == [0, 0.001, 0.002, 0.005]
    log = np.array(column_of(Curve(0, 1, 6, "log"))["knots"])
    assert (np.diff(log, 2) > 0).all()
    assert column_of(Curve(0, 1, 5, missing=["?", "none"]))["missing"] == ["?", "none"]
    for words, curve in [
        ({"range": (0, 1), "curve": 5}, Curve(0, 1, 5)),
        ({"range": [0, 1], "curve": np.int64(5), "scale": "log"}, Curve(0, 1, 5, "log")),
        ({"range": (0, 1), "scale": "series"}, Curve(0, 1, scale="series")),
        ({"range": (0, 1), "knots": [0, 0.3, 1]}, Curve(0, 1, [0.3])),
        ({"knots": (0, 0.3, 1)}, Curve(0, 1, [0.3])),
        (
            {"range": (0, 1), "curve": 5, "missing": ["?", ""], "missing_level": False},
            Curve(0, 1, 5, missing=["?", ""], missing_level=False),
        ),
    ]:
        assert column_of(words) == column_of(curve), words


@pytest.mark.parametrize(
    "what, said",
    [
        ({"range": (0, 1), "curve": "many"}, "'curve' must be a number of knots"),
        ({"range": (0, 1), "curve": True}, "'curve' must be a number of knots"),
        ({"range": (0, 1), "curve": 1}, "from 2"),
        ({"range": (0, 1), "curve": 8, "scale": "cubic"}, "cubic"),
        ({"range": (0, 1), "curve": 8, "knots": [0, 1]}, "leave one out"),
        ({"range": (0, 1), "knots": [0, "a", 1]}, "'knots' must be a list of numbers"),
        ({"range": (0, 1), "knots": [0.2, 0.5, 1]}, "begin and end"),
        ({"range": (0, 1), "knots": [0, 0.5, 0.5, 1]}, "not ascending"),
        ({"range": (0, 1), "typical": 0.3}, "'typical' must be a pair"),
        ({"range": (0, 1), "typical": (0.3, 0.1, 1)}, "'typical' must be a pair"),
        ({"range": (0, 1), "typical": (1.3, 0.1)}, "outside of the range"),
        ({"range": (0, 1), "typical": (0.3, 0.1), "curve": 8}, "of a straight line"),
        ({"levels": ["a", "b"], "typical": (0.3, 0.1)}, "unknown 'typical'"),
        ({"range": (0, 1), "missing": 3}, "'missing' must be a str"),
        ({"levels": ["a", "b"], "curve": 8}, "unknown 'curve'"),
        ({"curve": 8}, 'neither "levels" nor "range"'),
    ],
)
def test_words_of_ranges_that_are_wrong(what, said):
    X, y = hump(100)
    with pytest.raises(ValueError, match=said) as raised:
        model({0: what, 1: (-1, 1)}).fit(X, y)
    assert "0" in str(raised.value) and "\n" not in str(raised.value)


def test_what_is_typical_of_a_number_is_in_the_model():
    assert column_of({"range": (0, 100), "typical": np.array([50, 30])})["typical"] == [50.0, 30.0]
    assert "typical" not in column_of((0, 100))
    said = {"range": (0, 100), "curve": "auto", "typical": (50, 30)}
    assert "typical" in column_of(said) or "knots" in column_of(said)


def test_one_curve_for_all_columns_and_curves_in_order():
    X, y = hump(400)
    both = model(Curve(-1, 100, 5)).fit(X, y)
    assert list(both.coef_names_) == [f"x{j}={k:g}" for j in (0, 1) for k in (-1, 24.25, 49.5, 74.75, 100)]
    mixed = model([Curve(17, 90, KNOTS), (-1, 1)]).fit(X, y)
    assert list(mixed.coef_names_) == ["x0=17", "x0=25", "x0=40", "x0=65", "x0=90", "x1"]
    listed = model([Curve(17, 90, KNOTS), (-1, 1)]).fit(X.tolist(), y)
    assert listed.to_json().partition('"digest"')[0] == mixed.to_json().partition('"digest"')[0]


# What comes back.


def test_coefficients_are_the_curve_at_its_knots():
    X, y = hump()
    fitted = model({0: Curve(17, 90, KNOTS), 1: (-1, 1)}).fit(X, y)
    assert fitted.coef_exact_
    features = np.concatenate([hats(np.clip(X[:, 0], 17, 90), KNOTS), X[:, 1:]], axis=1)
    score = features @ fitted.coef_[0] + fitted.intercept_[0]
    np.testing.assert_allclose(fitted.decision_function(X), score, atol=2e-5, rtol=0)
    ages = fitted.coef_[0, :5]
    assert ages[2] > ages[0] + 1 and ages[2] > ages[4] + 1  # a hump, which no line has
    line = model({0: (17, 90), 1: (-1, 1)}).fit(X, y)
    assert fitted.score(X, y) > line.score(X, y) + 0.05


def test_effects_of_a_curve():
    X, y = hump(20_000)
    fitted = model([Curve(17, 90, KNOTS), (-1, 1)], intervals=True).fit(X, y)
    assert fitted.coef_interval_.shape == (6, 2)
    np.testing.assert_array_equal(fitted.coef_interval_[:5], fitted.release_.intervals[:5])
    rows = fitted.release_.effects()
    found = [dict(zip(rows[0], row)) for row in rows[1]]
    ages = {one["level"]: one["estimate"] for one in found if one["column"] == "x0"}
    assert sorted(map(float, ages)) == KNOTS
    ends = [(one["lower"], one["upper"]) for one in found if one["column"] == "x0"]
    np.testing.assert_array_equal(ends, fitted.release_.intervals[:5])
    assert all(lower < age < upper for (lower, upper), age in zip(ends, ages.values()))
    top = fitted.effect("x0=40 - x0=90")
    assert top["lower"] < top["estimate"] < top["upper"] and top["lower"] > 1
    assert top["estimate"] == pytest.approx(ages["40"] - ages["90"])


def test_a_fitted_curve_in_pickles_files_and_clones(tmp_path):
    X, y = hump(1000)
    ranges = {0: Curve(17, 90, KNOTS, missing="?"), 1: (-1, 1)}
    fitted = model(ranges).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.get_params() == fitted.get_params() and again.ranges == ranges
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    fitted.save(tmp_path / "model.json")
    warnings.simplefilter("ignore", UserWarning)  # of X without names
    read = PrivateLogisticRegression.from_file(tmp_path / "model.json")
    np.testing.assert_array_equal(read.predict_proba(X), fitted.predict_proba(X))
    assert list(read.coef_names_) == list(fitted.coef_names_)
    assert "ranges={0: Curve(17, 90, knots=[17.0" in repr(fitted)
    sklearn = pytest.importorskip("sklearn.base")
    assert sklearn.clone(model(ranges)).fit(X, y).to_json() == fitted.to_json()


def test_the_plan_chooses_a_curve_from_public_numbers():
    X, y = hump()
    rest = {1: (-1, 1)}
    chosen = model({0: Curve(17, 90, "auto"), **rest}).fit(X, y)
    knots = chosen._facts.columns["0"]["knots"]
    assert 4 <= len(knots) <= 12 and knots[0] == 17 and knots[-1] == 90
    given = model({0: Curve(17, 90, len(knots)), **rest}).fit(X, y)
    assert given.schema_ == chosen.schema_
    np.testing.assert_array_equal(given.coef_, chosen.coef_)
    np.testing.assert_array_equal(given.predict_proba(X), chosen.predict_proba(X))
    left_out = model({0: Curve(17, 90), **rest}).fit(X, y)
    words = model({0: {"range": (17, 90), "curve": "auto"}, **rest}).fit(X, y)
    assert chosen.to_json() == left_out.to_json() == words.to_json()
    again = pickle.loads(pickle.dumps(chosen))
    assert again.ranges == chosen.ranges and again.schema_ == chosen.schema_
    np.testing.assert_array_equal(again.predict_proba(X), chosen.predict_proba(X))
    few = model({0: Curve(17, 90), **rest}, epsilon=0.1).fit(X[:300], y[:300])
    line = model({0: (17, 90), **rest}, epsilon=0.1).fit(X[:300], y[:300])
    assert list(few.coef_names_) == ["0", "1"]
    np.testing.assert_array_equal(few.coef_, line.coef_)


def test_missing_cells_are_a_level_of_their_own():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = hump(3000)
    frame = pandas.DataFrame(X, columns=["age", "z"])
    frame.loc[:999, "age"] = np.nan
    y[:1000] = 1
    fitted = model({"age": Curve(17, 90, KNOTS, missing="?"), "z": (-1, 1)}).fit(frame, y)
    assert list(fitted.coef_names_)[:6] == ["age=17", "age=25", "age=40", "age=65", "age=90", "age=(missing)"]
    missing = frame.iloc[:3]
    score = fitted.intercept_[0] + fitted.coef_[0, 5] + fitted.coef_[0, 6] * missing["z"].to_numpy()
    np.testing.assert_allclose(fitted.decision_function(missing), score, atol=1e-5)
    assert fitted.predict_proba(missing)[0, 1] > 0.9
    no_level = Curve(17, 90, KNOTS, missing="?", missing_level=False)
    middle = model({"age": no_level, "z": (-1, 1)}).fit(frame, y)
    assert len(middle.coef_names_) == 6
    half = frame.iloc[:3].assign(age=53.5)
    np.testing.assert_array_equal(middle.predict_proba(missing), middle.predict_proba(half))
    with pytest.raises(ValueError, match="age"):
        model({"age": Curve(17, 90, KNOTS), "z": (-1, 1)}).fit(frame, y)


@pytest.mark.parametrize("kind", ["list", "float32", "pandas", "arrow", "polars"])
def test_every_source_has_the_same_bits(kind):
    X, y = hump(500)
    X = X.astype(np.float32).astype(np.float64)
    ranges = {"a": Curve(17, 90, KNOTS), "b": Curve(-1, 1, 4)}
    if kind == "list":
        table = X.tolist()
    elif kind == "float32":
        table = X.astype(np.float32)
    else:
        library = pytest.importorskip({"arrow": "pyarrow"}.get(kind, kind))
        columns = {"a": X[:, 0], "b": X[:, 1]}
        make = {"pandas": "DataFrame", "arrow": "table", "polars": "DataFrame"}[kind]
        table = getattr(library, make)(columns)
    expected = model(ranges).fit(X, y)
    found = model(ranges).fit(table, y)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        np.testing.assert_array_equal(found.predict_proba(table), expected.predict_proba(X))


# Pictures.


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def lines_of(axes):
    """(x, y) of the lines of a panel that are no rules at 0."""
    found = [(np.asarray(one.get_xdata()), np.asarray(one.get_ydata())) for one in axes.get_lines()]
    return [(x, y) for x, y in found if not (len(y) == 2 and (y == 0).all())]


def people(rows=3000):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = hump(rows)
    frame = pandas.DataFrame(X, columns=["age", "z"])
    frame.loc[::10, "age"] = np.nan
    frame["job"] = np.array(["clerk", "farmer", "baker"])[np.arange(rows) % 3]
    ranges = {"age": Curve(17, 90, KNOTS, missing="?"), "z": (-1, 1), "job": ["clerk", "farmer", "baker"]}
    return frame, y, ranges


def test_a_panel_a_column(pyplot):
    frame, y, ranges = people()
    fitted = model(ranges).fit(frame, y)
    age, z, job = fitted.plot_terms()
    assert [one.get_title() for one in (age, z, job)] == ["age", "z", "job"]
    (at, height), (at_missing, missing) = lines_of(age)
    assert at.tolist() == KNOTS
    np.testing.assert_allclose(np.diff(height), np.diff(fitted.coef_[0, :5]))  # the shape
    assert abs(np.trapezoid(height, at)) < 1e-9  # its mean over the range is 0
    assert missing - height[0] == pytest.approx(fitted.coef_[0, 5] - fitted.coef_[0, 0])
    assert at_missing[0] > 90 and "(missing)" in [one.get_text() for one in age.get_xticklabels()]
    ((at, height),) = lines_of(z)
    assert at.tolist() == [-1, 1]
    np.testing.assert_allclose(height, fitted.coef_[0, 6] * np.array([-1, 1]))
    bars = [bar.get_height() for bar in job.patches]
    np.testing.assert_allclose(bars, fitted.coef_[0, 7:] - fitted.coef_[0, 7:].mean())
    assert [one.get_text() for one in job.get_xticklabels()] == ["clerk", "farmer", "baker"]
    assert not age.collections and age.get_ylabel() == "log-odds"


def test_intervals_are_a_band(pyplot):
    frame, y, ranges = people(20_000)
    fitted = model(ranges, intervals=True).fit(frame, y)
    ends = np.asarray(fitted.release_.intervals)
    assert np.isfinite(ends).all()
    for term in gibbsite._plots.terms(fitted):
        assert (term.low < term.value).all() and (term.value < term.high).all(), term.column
    age, z, job = fitted.plot_terms()
    (at, height), *_ = lines_of(age)
    head, rows, *_ = fitted.release_.effects()
    estimates = [row[head.index("estimate")] for row in rows]
    np.testing.assert_allclose(height, estimates[:5])
    (band,) = age.collections[:1]
    corners = band.get_paths()[0].vertices
    for knot, (low, high) in zip(KNOTS, ends[:5]):
        found = corners[np.isclose(corners[:, 0], knot), 1]
        assert found.min() == pytest.approx(low) and found.max() == pytest.approx(high)
    corners = z.collections[0].get_paths()[0].vertices
    assert corners[np.isclose(corners[:, 0], 1), 1].max() == pytest.approx(ends[6, 1] / 2)
    assert corners[np.isclose(corners[:, 0], 0), 1].max() == pytest.approx(0)
    np.testing.assert_allclose([bar.get_height() for bar in job.patches], estimates[7:10])


def test_a_line_with_a_level_of_missing_cells(pyplot):
    frame, y, ranges = people()
    ranges["age"] = {"range": (17, 90), "missing": "?", "missing_level": True}
    fitted = model(ranges).fit(frame, y)
    assert list(fitted.coef_names_)[:2] == ["age", "age=(missing)"]
    (at, height), (_, missing) = lines_of(fitted.plot_terms("age")[0])
    # As scores have it: a missing cell in place of one at the range's end.
    one = frame.iloc[[1]]
    decide = fitted.decision_function
    difference = decide(one.assign(age=np.nan)) - decide(one.assign(age=90.0))
    assert missing[0] - height[1] == pytest.approx(difference[0], abs=1e-5)


def test_several_classes_and_amounts(pyplot):
    X, y = hump()
    ranges = [Curve(17, 90, KNOTS), (-1, 1)]
    three = np.where(y == 1, "b", np.where(X[:, 0] > 45, "c", "a"))
    fitted = model(ranges, classes=["a", "b", "c"]).fit(X, three)
    axes = fitted.plot_terms(["x0"])
    assert len(axes) == 1 and len(lines_of(axes[0])) == 3
    assert [one.get_text() for one in axes[0].get_legend().get_texts()] == ["a", "b", "c"]
    params = {"ranges": ranges, "target_range": (-20, 20), "random_state": 1}
    amount = PrivateLinearRegression(20.0, 1e-6, **params).fit(X, 4 - np.abs(X[:, 0] - 45) / 6)
    (at, height), *_ = lines_of(amount.plot_terms()[0])
    assert height[2] - height[4] > 3  # the unit of y: 4 - 1 against -3 - 1 or so
    np.testing.assert_allclose(np.diff(height), np.diff(amount.coef_[:5]))


def test_interactions_have_a_panel_for_each_level(pyplot):
    frame, y, ranges = people(6000)
    pairs = [("age", "job"), ("job", "z"), {"columns": ("z", "age"), "curve": 3}]
    fitted = model(ranges, interactions=pairs, intervals=True).fit(frame, y)
    panels = fitted.plot_terms()
    titles = [one.get_title() for one in panels]
    assert titles[3:6] == [f"age × job\njob = {job}" for job in ranges["job"]]
    assert titles[6:9] == [f"job × z\njob = {job}" for job in ranges["job"]]
    assert titles[9:] == [f"z × age\nage = {age}" for age in ("17", "40", "90", "(missing)")]
    head, rows, *_ = fitted.release_.effects()
    of = {row[head.index("term")]: row[head.index("estimate")] for row in rows}
    for k, job in enumerate(ranges["job"]):
        (at, height), (_, missing), *_ = lines_of(panels[3 + k])
        assert [of[f"age × job={knot:g} × {job}"] for knot in at] == height.tolist()
        assert of[f"age × job=(missing) × {job}"] == missing[0]
        assert len(panels[3 + k].collections) >= 1  # the band
        ((at, height),) = lines_of(panels[6 + k])
        assert at.tolist() == [-1, 1]
        assert [of[f"job × z={job} × {knot:g}"] for knot in at] == height.tolist()
    assert len(fitted.plot_terms(["job × z", "age"])) == 4
    with pytest.raises(ValueError, match="no term 'z × job'; its terms are 'age', 'z', 'job', 'age × job'"):
        fitted.plot_terms(["z × job"])


def test_interactions_without_a_number_are_bars(pyplot):
    frame, y, ranges = people()
    frame["side"] = np.array(["left", "right"])[np.arange(len(frame)) % 2]
    ranges["side"] = ["left", "right"]
    fitted = model(ranges, interactions=[("side", "job")]).fit(frame, y)
    (bars,) = fitted.plot_terms("side × job")
    slopes = fitted.coef_[0, -6:]
    np.testing.assert_allclose([bar.get_height() for bar in bars.patches], slopes - slopes.mean())
    assert [one.get_text() for one in bars.get_xticklabels()][1] == "left × farmer"


def test_what_cannot_be_drawn(pyplot, monkeypatch):
    X, y = hump(200)
    fitted = model([Curve(17, 90, KNOTS), (-1, 1)])
    with pytest.raises(gibbsite.NotFittedError):
        fitted.plot_terms()
    fitted.fit(X, y)
    with pytest.raises(ValueError, match="no term 'height'; its terms are 'x0', 'x1'"):
        fitted.plot_terms(["height"])
    with pytest.raises(ValueError, match="no term to draw"):
        fitted.plot_terms([])
    with pytest.raises(ValueError, match="more than 100"):
        fitted.plot_terms(["x0"] * 101)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="takes matplotlib; install it") as raised:
        fitted.plot_terms()
    assert "\n" not in str(raised.value)
