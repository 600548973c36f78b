"""Estimators of three classes and more."""

import pickle
import warnings

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLogisticRegression

NAMES = ["low", "middle", "high"]
SCHEMA = """label = "kind"
classes = ["low", "middle", "high"]
[columns]
x = {type = "number", range = [-3, 3]}
z = {type = "number", range = [-3, 3]}
"""


def three(rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (rows, 2))
    z = np.stack([-X[:, 0], np.zeros(rows), X[:, 0] + X[:, 1]], axis=1)
    return X, np.argmax(z + rng.gumbel(0, 0.5, z.shape), axis=1)


def fitted(X, y, epsilon=10.0, **params):
    given = {"ranges": [(-3, 3)] * 2, "random_state": 1, "backend": "reference"} | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        return PrivateLogisticRegression(epsilon, 1e-6, **given).fit(X, y)


@pytest.fixture(scope="module")
def model():
    X, y = three()
    return fitted(X, np.array(NAMES)[y], classes=NAMES)


def test_three_classes(model):
    X, y = three()
    assert model.classes_.tolist() == NAMES
    assert model.coef_.shape == (3, 2) and model.intercept_.shape == (3,)
    p = model.predict_proba(X)
    assert p.shape == (3000, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    # As coef_ and intercept_ say.
    z = X @ model.coef_.T + model.intercept_
    e = np.exp(z - z.max(axis=1, keepdims=True))
    np.testing.assert_allclose(p, e / e.sum(axis=1, keepdims=True), rtol=1e-5)
    decision = model.decision_function(X)
    np.testing.assert_allclose(decision, np.log(p), rtol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p), rtol=1e-9)
    assert (model.predict(X) == np.array(NAMES)[np.argmax(decision, axis=1)]).all()
    assert model.score(X, np.array(NAMES)[y]) > 0.7  # one class: 0.4
    assert model.certificate_["constants"]["loss"] == "softmax-3"
    assert not hasattr(model, "coef_interval_")
    with pytest.raises(gibbsite.BadInput, match="no intervals"):
        model.predict_intervals(X)


def test_intervals():
    X, y = three()
    fit = fitted(X, np.array(NAMES)[y], classes=NAMES, epsilon=4.0, intervals=True)
    assert fit.coef_interval_.shape == (3, 2, 2)
    assert (fit.coef_interval_[..., 0] < fit.coef_interval_[..., 1]).all()
    table = fit.summary()
    rows = table.to_dict("records") if hasattr(table, "to_dict") else table
    assert len(rows) == 9 and all(row["lower"] < row["estimate"] < row["upper"] for row in rows)
    # Coefficients of a feature add up to 0 over the classes.
    assert abs(sum(row["estimate"] for row in rows)) < 1e-6
    ends = fit.predict_intervals(X[:50])
    assert ends.shape == (50, 3, 2) and (ends[..., 0] < ends[..., 1]).all()
    assert (ends >= 0).all() and (ends <= 1).all()


def test_other_types_of_labels():
    X, y = three(600)
    for classes in ([5, 3, 4], [0.5, 1.5, 2.5], ["a", 1, None]):
        labels = np.array([classes[k] for k in y] + [None], dtype=object)[:-1]
        if None not in classes:
            assert fitted(X, labels.astype(type(classes[0])), classes=classes).classes_.tolist() == classes
        else:
            assert list(fitted(X, labels, classes=classes).classes_) == classes
    with pytest.raises(ValueError, match="list them"):
        fitted(X, y, classes="observed")
    # A class that nobody is of is a class all the same.
    assert fitted(X, y % 2, classes=[0, 1, 2]).predict_proba(X).shape == (600, 3)


def test_what_is_refused(model):
    X, y = three(50)
    bad = y.astype(float)
    bad[7] = 3
    for labels, params, message in [
        (bad, {"classes": [0, 1, 2]}, "row 8: label 3.0 is none of the 3 classes"),
        (np.where(bad == 3, np.nan, bad), {"classes": [0, 1, 2]}, "row 8: the label is missing"),
        (y, {"classes": [0, 1, 1]}, "1 is listed twice"),
        (y, {"classes": [0, 1], "schema": SCHEMA, "ranges": None}, "lists 2, and the schema names 3"),
        (y, {"schema": SCHEMA, "ranges": None}, "say which numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            fitted(X, labels, **params)
    # As the schema's invalid = "middle" has it: the first.
    middle = fitted(X, bad, classes=[0, 1, 2], invalid="middle")
    first = np.where(bad == 3, 0, bad)
    assert middle.to_json() == fitted(X, first, classes=[0, 1, 2], invalid="middle").to_json()


def test_a_schema_a_file_and_a_pickle(model, tmp_path):
    X, y = three()
    by_schema = fitted(X, np.array(NAMES)[y], schema=SCHEMA, ranges=None)
    np.testing.assert_array_equal(by_schema.coef_, model.coef_)
    by_number = fitted(X, y, schema=SCHEMA, ranges=None, classes=[0, 1, 2])
    np.testing.assert_array_equal(by_number.coef_, model.coef_)
    assert by_number.predict(X).dtype.kind == "i"
    model.save(tmp_path / "m.json")
    for again in (
        PrivateLogisticRegression.from_file(tmp_path / "m.json"),
        pickle.loads(pickle.dumps(model)),
    ):
        assert again.classes_.tolist() == NAMES
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_release_says_how_good_it_is(model):
    X, y = three()
    data = gibbsite.read_array(X, y.astype(float), model.schema_)
    release = model.release_
    assert release.draws.shape == (1, 3, 3)
    assert model.schema_.classes == NAMES
    found = release.evaluate(data)
    predicted = np.argmax(release.predict_classes(data), axis=1)
    confusion = np.zeros((3, 3))
    np.add.at(confusion, (y, predicted), 1)
    np.testing.assert_array_equal(found["confusion"], confusion)
    assert found["accuracy"] == pytest.approx(np.mean(predicted == y))
    metrics = pytest.importorskip("sklearn.metrics")
    p = release.predict_classes(data)
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, p))
    areas = metrics.roc_auc_score(y, p, multi_class="ovr", average=None)
    np.testing.assert_allclose(found["auc_by_class"], areas, rtol=1e-12)
    assert found["auc"] == pytest.approx(np.mean(areas))
    np.testing.assert_allclose(found["recall"], metrics.recall_score(y, predicted, average=None))
    np.testing.assert_allclose(
        found["precision"], metrics.precision_score(y, predicted, average=None)
    )


def test_plans_of_classes():
    plan = gibbsite.plan(epsilon=1, delta=1e-6, rows=30000, features=9, row_norm=1, classes=5)
    assert plan.features == 9 and plan.classes == 5
    with pytest.raises(gibbsite.BadInput, match="at least 3"):
        gibbsite.plan(epsilon=1, delta=1e-6, rows=30000, features=9, row_norm=1, classes=1)


def test_tags():
    pytest.importorskip("sklearn", minversion="1.6")
    several = [{"classes": NAMES}, {"schema": SCHEMA}]
    two = [{}, {"classes": [0, 1]}, {"classes": "observed"}, {"schema": "lost.toml"}]
    for params in several + two:
        tags = PrivateLogisticRegression(1.0, 1e-6, **params).__sklearn_tags__()
        assert tags.classifier_tags.multi_class == (params in several)


def test_posterior_of_classes():
    pytest.importorskip("arviz")
    X, y = three(200)
    data = gibbsite.read_array(X, y.astype(float), gibbsite.Schema.parse(SCHEMA))
    found = gibbsite.sample_posterior(
        data, prior_precision=1.0, draws=40, warm_up=40, chains=2, seed=1, backend="reference"
    )
    theta = found.posterior["theta"]
    assert theta.dims == ("chain", "draw", "class", "feature")
    assert theta.coords["class"].values.tolist() == NAMES
    slopes = theta.mean(("chain", "draw")).sel(feature="x").values
    assert slopes[0] < slopes[1] < slopes[2]  # -1, 0, 1 times the noise's scale


@pytest.mark.parametrize("mechanism", ["objective", "objective-pure"])
def test_noise_in_the_slope_takes_classes(mechanism):
    X, y = three()
    model = fitted(X, np.array(NAMES)[y], classes=NAMES, mechanism=mechanism)
    assert model.certificate_["mechanism"]["name"] == mechanism
    assert model.score(X, np.array(NAMES)[y]) > 0.7


def test_a_plan_says_what_noise_costs_the_mean_loss():
    schema = gibbsite.Schema.parse(SCHEMA)
    plan = gibbsite.plan(epsilon=1, delta=1e-6, rows=3000, schema=schema, mechanism="objective")
    noise, ridge = plan.excess_loss
    assert 0 < noise < 1 and 0 < ridge < 0.1
    whitened = gibbsite.plan(epsilon=1, delta=1e-6, rows=3000, schema=schema, mechanism="whitened")
    assert whitened.excess_loss is None
