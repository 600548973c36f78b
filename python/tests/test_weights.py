"""Public weights of classes, weights of rows, and exposures of counts."""

import warnings

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLogisticRegression, PrivatePoissonRegressor

SCHEMA = """label = "claims"
range = [0, 20]
counts = true
[columns]
x = {type = "number", range = [0, 1]}
years = {type = "exposure", range = [0.1, 10]}
"""


def quiet(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        return estimator.fit(X, y)


def two(rows=20000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 2))
    z = 2 * X[:, 0] - X[:, 1] - 1.5
    return X, (rng.random(rows) < 1 / (1 + np.exp(-z))).astype(int)


def weighted(X, y, **params):
    given = {"ranges": (-1, 1), "random_state": 1} | params
    return quiet(PrivateLogisticRegression(500.0, 1e-6, **given), X, y)


def test_a_large_budget_comes_to_scikit_learns_weighted_fit():
    from sklearn.linear_model import LogisticRegression

    X, y = two()
    weights = {0: 1.0, 1: 4.0}
    model = weighted(X, y, class_weight=weights)
    assert model.certificate_["constants"]["loss"] == "logistic(0.25,1)"
    reference = LogisticRegression(C=1e6, class_weight=weights, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=0.15)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, atol=0.15)
    # Without weights they are as far apart: slopes are held.
    assert np.abs(model.predict_proba(X) - reference.predict_proba(X)).mean() < 0.01
    plain = weighted(X, y)
    assert plain.intercept_[0] < model.intercept_[0] - 1  # log 4 = 1.39
    assert (model.predict(X) == 1).mean() > (plain.predict(X) == 1).mean() + 0.05


def test_equal_weights_are_none():
    X, y = two(500)
    a, b = weighted(X, y), weighted(X, y, class_weight={0: 3, 1: 3})
    assert (a.coef_ == b.coef_).all() and a.certificate_["constants"] == b.certificate_["constants"]


def test_several_classes():
    X, y = two(2000)
    kinds = np.array(["a", "b", "c"])[y + (X[:, 0] > 0.5)]
    model = weighted(X, kinds, classes=["a", "b", "c"], class_weight={"c": 4, "a": 1, "b": 2})
    assert model.certificate_["constants"]["loss"] == "softmax-3(0.25,0.5,1)"
    assert model.predict_proba(X).shape == (2000, 3)


@pytest.mark.parametrize(
    "weights, why",
    [
        ("balanced", "would be computed from how many rows of each class"),
        ({0: 1}, "lacking: 1"),
        ({0: 1, 1: 2, 2: 3}, "not a class: 2"),
        ({0: 1, 1: 0}, "0 is no weight"),
        ({0: 1, 1: -1}, "-1 is no weight"),
        ({0: 1, 1: "2"}, "must be a number"),
        ([1, 2], "must be {class: weight}"),
    ],
)
def test_refused_weights(weights, why):
    X, y = two(50)
    with pytest.raises(ValueError, match=why) as info:
        weighted(X, y, class_weight=weights)
    assert "class_weight" in str(info.value) and "\n" not in str(info.value)


def test_a_schema_says_its_weights_itself():
    X, y = two(50)
    schema = (
        'label = "y"\npositive = "1"\nnegative = "0"\nclass_weights = {"0" = 1, "1" = 2}\n[columns]\n'
        'a = {type = "number", range = [-1, 1]}\nb = {type = "number", range = [-1, 1]}\n'
    )
    model = weighted(X, y, ranges=None, schema=schema)
    assert model.certificate_["constants"]["loss"] == "logistic(0.5,1)"
    with pytest.raises(ValueError, match="class_weight: goes with ranges"):
        weighted(X, y, ranges=None, schema=schema, class_weight={0: 1, 1: 2})


def test_the_positive_share_is_for_the_warning_of_few_rows_alone():
    X, y = two(200)
    given = {"ranges": (-1, 1), "random_state": 3}

    def fitted(**more):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = PrivateLogisticRegression(5.0, 1e-6, **given, **more).fit(X, y)
        return model, [str(one.message) for one in caught if "rows are few for" in str(one.message)]

    (even, nothing), (rare, warned) = fitted(), fitted(positive_share=(0.001, 0.01))
    assert nothing == [] and len(warned) == 1
    np.testing.assert_array_equal(even.coef_, rare.coef_)
    for bad in (0, 1, -0.5, float("nan"), (0.3, 0.2), (0.1, 0.2, 0.3), "few"):
        with pytest.raises(ValueError, match="positive_share: must be") as info:
            fitted(positive_share=bad)
        assert "\n" not in str(info.value)
    with pytest.raises(ValueError, match="positive_share: is of two classes, and there are 3"):
        fitted(positive_share=0.1, classes=[0, 1, 2])


def claims(rows=20000, seed=0):
    """Counts of rate 0.3 or 0.9 a year by a group, over exposures of a tenth of a year to ten."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows).astype(float)
    years = rng.uniform(0.1, 10, rows)
    return np.stack([group, years], axis=1), rng.poisson(np.where(group == 1, 0.9, 0.3) * years)


@pytest.mark.parametrize("how", ["schema", "ranges"])
def test_counts_over_an_exposure(how):
    X, y = claims()
    given = (
        {"schema": SCHEMA}
        if how == "schema"
        else {"ranges": [(0, 1), ("exposure", 0.1, 10)], "highest": 20}
    )
    model = quiet(
        PrivatePoissonRegressor(
            500.0, 1e-6, random_state=1, **given
        ),
        X,
        y,
    )
    # The maximum of the likelihood is closed: a group's counts over its years.
    rate = [y[X[:, 0] == g].sum() / X[X[:, 0] == g, 1].sum() for g in (0, 1)]
    assert model.coef_.shape == (1,) and list(model.coef_names_) in (["x"], ["x0"])
    np.testing.assert_allclose(np.exp(model.intercept_), rate[0], rtol=0.05)
    np.testing.assert_allclose(np.exp(model.intercept_ + model.coef_[0]), rate[1], rtol=0.05)
    twice = model.predict(np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 99.0], [1.0, 10.0]]))
    np.testing.assert_allclose(twice[1], 2 * twice[0], rtol=1e-6)
    assert twice[2] == twice[3]  # held in the range
    assert model.certificate_["constants"]["offset_bound"] == pytest.approx(np.log(100))


def test_an_exposure_is_a_counts():
    X, y = two(50)
    with pytest.raises(ValueError, match="an exposure is what a count is over"):
        weighted(X, y, ranges=[(-1, 1), ("exposure", 0.1, 1)])


def row_weights(rows, seed=5):
    return np.random.default_rng(seed).uniform(0, 6, rows)


def test_sample_weight_comes_to_scikit_learns_weighted_fit():
    from sklearn.linear_model import LogisticRegression

    X, y = two()
    w = row_weights(len(y)) * np.where(y == 1, 1, 0.2)
    given = {"ranges": (-1, 1), "random_state": 1, "weight_range": (0, 6)}
    model = PrivateLogisticRegression(500.0, 1e-6, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        model.fit(X, y, sample_weight=w)
    reference = LogisticRegression(C=1e6, tol=1e-8).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=0.15)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, atol=0.15)
    plain = LogisticRegression(C=1e6, tol=1e-8).fit(X, y)
    assert abs(plain.intercept_[0] - model.intercept_[0]) > 1
    assert model.certificate_["constants"]["weighted"] is True
    assert model.n_features_in_ == 2
    # Rows to predict have no weights.
    assert np.abs(model.predict_proba(X) - reference.predict_proba(X)).mean() < 0.01
    assert model.certificate_["guarantee"]["void"] and not model.verify().valid  # of a seed


def test_sample_weight_of_a_frame_and_of_a_column_are_the_same():
    pandas = pytest.importorskip("pandas")
    X, y = two(400)
    w = row_weights(400)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    given = {"random_state": 1, "ranges": {"a": (-1, 1), "b": (-1, 1)}, "weight_range": (0, 4)}
    apart = PrivateLogisticRegression(5.0, 1e-6, **given)
    text = """label = "y"
positive = "1"
negative = "0"
[columns]
a = {type = "number", range = [-1, 1]}
b = {type = "number", range = [-1, 1]}
w = {type = "weight", range = [0, 4]}
"""
    column = PrivateLogisticRegression(5.0, 1e-6, schema=text, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        apart.fit(frame, y, sample_weight=w)
        column.fit(frame.assign(w=w), y)
    np.testing.assert_array_equal(apart.coef_, column.coef_)
    np.testing.assert_array_equal(apart.predict(frame), column.predict(frame.assign(w=0.0)))


@pytest.mark.parametrize(
    "weight, bounds, match",
    [
        (np.ones(49), (0, 2), "sample_weight: 49 weights for 50 rows"),
        (np.ones((50, 1)), (0, 2), "one number a row"),
        (np.full(50, np.nan), (0, 2), "sample_weight: row 1: nan is not finite"),
        (np.ones(50), (1, 2), "weight_range: must be"),
        (np.ones(50), (0, 0), "weight_range: must be"),
        (np.ones(50), (0, np.inf), "weight_range: must be"),
        (np.ones(50), 2, "weight_range: must be"),
    ],
)
def test_sample_weights_that_are_refused(weight, bounds, match):
    X, y = two(50)
    model = PrivateLogisticRegression(5.0, 1e-6, ranges=(-1, 1), random_state=1, weight_range=bounds)
    with pytest.raises(ValueError, match=match):
        quiet(model, X, y) if weight is None else model.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("cell", [np.nan, np.inf, None, "7", "pandas.NA"])
def test_one_weight_that_is_no_number_decides_nothing_under_middle(cell):
    """Whether there is a model would tell of the row: the certificate says that every table can be read."""
    X, y = two(50)
    if cell == "pandas.NA":
        cell = pytest.importorskip("pandas").NA
    weights = [cell] + [1.5] * 49
    given = {"ranges": (-1, 1), "random_state": 1, "weight_range": (0, 2)}
    with pytest.raises(ValueError, match="sample_weight: row 1: .* is (not finite|text)"):
        PrivateLogisticRegression(5.0, 1e-6, **given).fit(X, y, sample_weight=weights)
    models = [PrivateLogisticRegression(5.0, 1e-6, invalid="middle", **given) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models[0].fit(X, y, sample_weight=weights)
        models[1].fit(X, y, sample_weight=[0.0] + [1.5] * 49)  # the others are not touched
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_a_mask_of_weights_is_not_lost():
    X, y = two(50)
    model = PrivateLogisticRegression(5.0, 1e-6, ranges=(-1, 1), weight_range=(0, 2))
    with pytest.raises(TypeError, match="sample_weight: is a masked array"):
        model.fit(X, y, sample_weight=np.ma.masked_greater(np.ones(50), 0.5))


def test_intervals_are_of_as_many_rows_as_weights_leave():
    X, y = two(5000)
    width = {}
    for low in (2.0, 0.02):  # of every second row: as if half of the rows were left
        model = PrivateLogisticRegression(
            20.0, 1e-6, ranges=(-1, 1), random_state=1, weight_range=(0, 2), intervals=True
        )
        model.fit(X, y, sample_weight=np.where(np.arange(5000) % 2 == 0, 2.0, low))
        width[low] = np.diff(model.coef_interval_, axis=-1).mean()
    assert 1.2 < width[0.02] / width[2.0] < 1.8


def test_intervals_of_weighted_classes_are_of_the_same_slopes():
    X, y = two(20000)
    weights = {0: 1.0, 1: 4.0}
    model = weighted(X, y, class_weight=weights, intervals=True)
    low, high = model.coef_interval_[:, 0], model.coef_interval_[:, 1]
    assert (low < [2, -1]).all() and ([2, -1] < high).all() and (high - low < 0.5).all()
    assert "only the intercept moves" in model.release_.interval_words
    kinds = np.array(["a", "b", "c"])[y + (X[:, 0] > 0.5)]
    several = weighted(X, kinds, classes=["a", "b", "c"], class_weight={"c": 4, "a": 1, "b": 2}, intervals=True)
    assert several.coef_interval_.shape == (3, 2, 2)
