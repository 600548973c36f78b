"""Estimators of amounts and counts."""

import pickle
import warnings

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLinearRegression, PrivateLogisticRegression, PrivatePoissonRegressor

RANGES = [(-3, 3)] * 3


def amounts(rows=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (rows, 3))
    return X, 5000 + X @ [900.0, -400.0, 0.0] + rng.normal(0, 200, rows)


def counts(rows=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (rows, 3))
    return X, rng.poisson(np.exp(0.5 + X @ [0.4, -0.2, 0.0]))


def linear(X, y, epsilon=5.0, **params):
    given = {"ranges": RANGES, "target_range": (0, 10000), "random_state": 1} | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        return PrivateLinearRegression(epsilon, 1e-6, **given).fit(X, y)


def poisson(X, y, epsilon=5.0, **params):
    given = {"ranges": RANGES, "highest": 30, "random_state": 1} | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        return PrivatePoissonRegressor(epsilon, 1e-6, **given).fit(X, y)


def test_amounts():
    X, y = amounts()
    model = linear(X, y, mechanism="path")
    # Noise of the fixed seed: within a fifteenth of the largest slope.
    np.testing.assert_allclose(model.coef_, [900, -400, 0], atol=60)
    assert abs(model.intercept_ - 5000) < 60
    assert model.score(X, y) > 0.95
    predicted = np.clip(model.intercept_ + X @ model.coef_, 0, 10000)
    np.testing.assert_allclose(model.predict(X), predicted, rtol=1e-5)
    assert model.certificate_["constants"]["loss"] == "huber"
    assert not model.verify().valid  # random_state: void


def test_squared_in_a_ball():
    X, y = amounts()
    given = {"loss": "squared", "ball": 6.0, "epsilon": 20.0}
    model = linear(X, y, **given)  # within a ball there is one mechanism
    np.testing.assert_allclose(model.coef_, [900, -400, 0], atol=60)
    assert model.score(X, y) > 0.95
    constants = model.certificate_["constants"]
    R = np.hypot(constants["row_norm"], 1)
    assert constants["loss"] == "squared"
    assert constants["max_abs_residual"] == pytest.approx(2.5 + 6 * R)
    assert model.certificate_["mechanism"]["ball"] == 6
    figures = model.release_.evaluate(gibbsite.read_array(X, y, model.schema_))
    errors = y - model.predict(X)
    assert figures["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-5)
    assert figures["mae"] == pytest.approx(np.mean(np.abs(errors)), rel=1e-5)
    with pytest.raises(gibbsite.Infeasible, match="unless chains are kept in a ball"):
        linear(X, y, loss="squared")
    with pytest.raises(ValueError, match="ball"):
        linear(X, y, ball=1.0)  # of path
    for bad, name in (
        ({"loss": 3}, "loss"),
        ({"ball": "big"}, "ball"),
        ({"ball": True}, "ball"),
        ({"loss": "logistic"}, "model"),
    ):
        with pytest.raises(ValueError, match=name):
            linear(X, y, **bad)


def test_counts():
    X, y = counts()
    model = poisson(X, y)
    np.testing.assert_allclose(model.coef_, [0.4, -0.2, 0], atol=0.08)
    assert abs(model.intercept_ - 0.5) < 0.15
    np.testing.assert_allclose(
        model.predict(X), np.minimum(np.exp(model.intercept_ + X @ model.coef_), 30), rtol=1e-5
    )
    figures = model.release_.evaluate(gibbsite.read_array(X, y, model.schema_))
    assert set(figures) == {"rows", "rmse", "mae", "r2", "deviance"}
    assert figures["r2"] == pytest.approx(model.score(X, y), rel=1e-6)


@pytest.mark.parametrize(
    ("make", "data", "truth"), [(linear, amounts, [900, -400, 0]), (poisson, counts, [0.4, -0.2, 0])]
)
def test_intervals(make, data, truth):
    X, y = data()
    model = make(X, y, intervals=True)
    low, high = model.coef_interval_.T
    assert model.coef_interval_.shape == (3, 2)
    assert (low < high).all()
    # In the label's unit and each column's own; seeded, so nothing here is by chance.
    middle, half = (low + high) / 2, (high - low) / 2
    assert (np.abs(middle - truth) < 2 * half).all()
    assert (half < 0.3 * np.abs(truth[0])).all()
    effect = model.effect("x0*2")
    assert effect["lower"] == pytest.approx(2 * low[0])
    assert effect["upper"] == pytest.approx(2 * high[0])
    between = model.predict_intervals(X)
    predicted = model.predict(X)
    assert between.shape == (4000, 2)
    # The intervals are of the estimates, which the prior holds back less than what predicts.
    assert np.mean((between[:, 0] <= predicted) & (predicted <= between[:, 1])) > 0.8


def test_a_certificate_that_holds_verifies():
    X, y = amounts(1000)
    model = PrivateLinearRegression(1.0, 1e-6, ranges=RANGES, target_range=(0, 10000)).fit(X, y)
    assert model.verify().valid
    again = PrivatePoissonRegressor(1.0, 1e-6, ranges=RANGES, highest=30).fit(*counts(1000))
    assert again.verify().valid


@pytest.mark.parametrize("fitted", [linear, poisson])
def test_pickle_and_file(fitted, tmp_path):
    X, y = amounts(500) if fitted is linear else counts(500)
    model = fitted(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    model.save(tmp_path / "m.json")
    read = type(model).from_file(tmp_path / "m.json")
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="predicts a class"):
        PrivateLogisticRegression.from_file(tmp_path / "m.json")


def test_labels_are_clamped_and_read_one_by_one():
    X, y = amounts(400)
    y[3] = 1e9
    clamped = y.copy()
    clamped[3] = 10000
    np.testing.assert_array_equal(linear(X, y).coef_, linear(X, clamped).coef_)
    middle = linear(X, [*y[:5], "x", *y[6:]], invalid="middle")
    y[5] = 5000
    np.testing.assert_array_equal(middle.coef_, linear(X, y, invalid="middle").coef_)
    for odd in (np.nan, np.inf, "1e999", None):
        with pytest.raises(ValueError, match="y: row 6: the label is no finite number"):
            linear(X, [*y[:5], odd, *y[6:]])


def test_a_tolerance_and_a_schema():
    X, y = amounts(2000)
    wide = linear(X, y, tolerance=5000.0)
    text = (
        'label = "y"\nrange = [0, 10000]\ntolerance = 5000\n[columns]\n'
        + "".join(f"x{j} = {{type = \"number\", range = [-3, 3]}}\n" for j in range(3))
    )
    by_schema = linear(X, y, ranges=None, target_range=None, schema=text)
    np.testing.assert_array_equal(by_schema.coef_, wide.coef_)
    assert by_schema.schema_.to_toml() != linear(X, y).schema_.to_toml()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda X, y: linear(X, y, target_range=None), "target_range: the range of y must be given"),
        (lambda X, y: linear(X, y, target_range=(3, 1)), "target_range: must be numbers"),
        (lambda X, y: linear(X, y, target_range=5), r"target_range: must be \(lowest, highest\)"),
        (lambda X, y: linear(X, y, tolerance=0.0), "tolerance 0 must be above 0"),
        (lambda X, y: linear(X, y, tolerance="wide"), "tolerance: must be a number"),
        (lambda X, y: poisson(X, y, highest=None), "highest: the largest count must be given"),
        (lambda X, y: poisson(X, y, highest=2.5), "highest: must be a whole number"),
        (lambda X, y: poisson(X, y + 0.5), "is not a whole number from 0 up"),
        (lambda X, y: poisson(X, -1 - y), "is not a whole number from 0 up"),
        (lambda X, y: linear(X, y, mechanism="no such"), "no such"),
        (lambda X, y: linear(X, y[:-1]), "inconsistent numbers of samples|labels"),
        (
            lambda X, y: linear(
                X, y, ranges=None, target_range=None,
                schema='label="y"\npositive="a"\n[columns]\nx={type="number",range=[0,1],count=3}\n',
            ),
            "its label is a class, and PrivateLinearRegression predicts an amount",
        ),
    ],
)
def test_what_is_refused(make, message):
    X, y = counts(50)
    with pytest.raises(ValueError, match=message) as error:
        make(X, y.astype(float))
    assert "\n" not in str(error.value)


def test_check_estimator():
    """scikit-learn's own checks, of which none fails or is skipped."""
    from sklearn.utils.estimator_checks import check_estimator

    estimator = PrivateLinearRegression(
        10.0, 1e-6, ranges=(-10, 10), target_range=(-10, 10), tolerance=2.0, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] != "passed"}
    assert not failed
    assert len(results) > 40
