"""Beside scikit-learn's own: pipelines, searches, cross-validation, and what they may not do."""

import warnings

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLogisticRegression

from conftest import numbers

pytest.importorskip("sklearn")

from sklearn.base import clone, is_classifier
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, StandardScaler
from sklearn.utils.validation import check_is_fitted

pytestmark = pytest.mark.filterwarnings("ignore::gibbsite.VoidWarning")


def estimator(**params):
    return PrivateLogisticRegression(**{"epsilon": 2.0, "delta": 1e-6, "ranges": (-3, 3), **params})


@pytest.fixture
def ledger(tmp_path):
    """With room for four fits at epsilon = 2, not for eight."""
    return gibbsite.Ledger.create(str(tmp_path / "people.ledger"), epsilon=5.0, delta=1e-4)


def entries(ledger):
    return len(ledger.read()["releases"])


def test_it_is_a_classifier():
    model = estimator()
    assert is_classifier(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.predict([[0, 0, 0]])
    check_is_fitted(model.fit(*numbers(200)))


def test_clone():
    model = estimator(ledger="people.ledger", n_jobs=1, classes=["no", "yes"]).set_params(epsilon=3.0)
    copy = clone(model)
    assert copy is not model and copy.get_params() == model.get_params()
    model.set_params(ledger=None, classes=None).fit(*numbers(200))
    with pytest.raises(NotFittedError):
        clone(model).predict([[0, 0, 0]])


def test_pipeline():
    X, y = numbers()
    pipeline = make_pipeline(FunctionTransformer(np.negative), estimator(epsilon=10.0))
    assert pipeline.fit(X, y).score(X, y) > 0.9
    np.testing.assert_array_equal(pipeline.classes_, [0, 1])
    assert pipeline.predict_proba(X).shape == (2000, 2)
    assert pipeline[-1].verify().valid
    assert pipeline.n_features_in_ == 3
    pipeline.set_params(privatelogisticregression__epsilon=1.0)
    assert pipeline[-1].epsilon == 1.0
    assert "epsilon=1.0" in repr(pipeline)


def said(what):
    """FitWarnings, as text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        what()
    return [str(one.message) for one in caught if one.category is gibbsite.FitWarning]


def test_a_pipeline_whose_steps_learn_from_private_rows_warns():
    X, y = numbers(1000)
    for step in (StandardScaler(), MinMaxScaler((-1, 1)), make_pipeline(StandardScaler())):
        pipeline = make_pipeline(step, estimator(epsilon=10.0))
        (line,) = said(lambda: pipeline.fit(X, y))
        assert line.startswith("pipeline: ") and type(step).__name__ in line and "\n" not in line
    for step in (FunctionTransformer(np.negative), Normalizer(), "passthrough", None):
        assert said(lambda: make_pipeline(step, estimator(epsilon=10.0)).fit(X, y)) == []
    assert said(lambda: make_pipeline(StandardScaler(), estimator(random_state=1)).fit(X, y)) == []
    # It comes before anything is spent.
    with warnings.catch_warnings():
        warnings.simplefilter("error", gibbsite.FitWarning)
        pipeline = make_pipeline(StandardScaler(), estimator())
        with pytest.raises(gibbsite.FitWarning):
            pipeline.fit(X, y)
        assert not hasattr(pipeline[-1], "release_")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_that_were_scaled_outside_of_a_pipeline_warn(dtype):
    X, y = numbers(1000)
    some = X.copy()
    some[:, 1] = StandardScaler().fit_transform(X)[:, 1]
    (line,) = said(lambda: estimator(epsilon=10.0).fit(some.astype(dtype), y))
    assert "'x1'" in line and "'x0'" not in line and "private: this line" in line
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    frame = ((frame - frame.mean()) / frame.std()).astype(dtype)
    (line,) = said(lambda: estimator(epsilon=10.0).fit(frame, y))
    assert "'a', 'b', 'c'" in line
    assert said(lambda: estimator(epsilon=10.0).fit(X.astype(dtype), y)) == []
    normal = np.random.default_rng(1).normal(size=(5000, 3)).astype(dtype)
    lines = said(lambda: estimator(epsilon=10.0).fit(normal, np.arange(5000) % 2))
    assert not any(line.startswith("X: ") for line in lines)


def test_a_search_that_chooses_by_private_scores_warns(tmp_path):
    X, y = numbers(1000)
    ledger = gibbsite.Ledger.create(str(tmp_path / "people.ledger"), epsilon=30.0, delta=1e-3)
    model = estimator(ledger=ledger, epsilon=4.0)
    for what in (
        lambda: GridSearchCV(model, {"row_norm": ["auto", 3.0]}, cv=2).fit(X, y),
        lambda: RandomizedSearchCV(model, {"row_norm": ["auto", 3.0]}, n_iter=1, cv=2).fit(X, y),
        lambda: cross_val_score(model, X, y, cv=2),
    ):
        lines = said(what)
        assert lines and all("scores on private rows" in line for line in lines)
    assert said(lambda: model.fit(X, y)) == []
    assert said(lambda: cross_val_score(estimator(random_state=1), X, y, cv=2)) == []


# Each of them fits clones more than once.
MANY = {
    "cross_val_score": lambda model, X, y: cross_val_score(model, X, y, cv=3),
    "cross_validate": lambda model, X, y: cross_validate(model, X, y, cv=3),
    "cross_val_predict": lambda model, X, y: cross_val_predict(model, X, y, cv=3),
    "cross_val_predict of a pipeline": lambda model, X, y: cross_val_predict(
        make_pipeline(FunctionTransformer(), model), X, y, cv=3
    ),
    "cross_val_predict in processes": lambda model, X, y: cross_val_predict(
        model, X, y, cv=3, n_jobs=2
    ),
    "GridSearchCV": lambda model, X, y: GridSearchCV(model, {"epsilon": [1.0, 2.0]}, cv=2).fit(X, y),
    "GridSearchCV without a last fit": lambda model, X, y: GridSearchCV(
        model, {"epsilon": [1.0, 2.0]}, cv=2, refit=False
    ).fit(X, y),
    "learning_curve": lambda model, X, y: learning_curve(
        model, X, y, train_sizes=[0.5, 1.0], cv=2, error_score="raise"
    ),
    "RFE": lambda model, X, y: RFE(model, n_features_to_select=1).fit(X, y),
}


@pytest.mark.parametrize("what", MANY)
def test_many_fits_without_a_ledger_are_refused(what):
    X, y = numbers(120)
    with pytest.raises(ValueError, match="ledger: this estimator is a clone"):
        MANY[what](estimator(), X, y)


def test_the_refusal_is_one_line():
    X, y = numbers(120)
    with pytest.raises(ValueError) as info:
        clone(estimator()).fit(X, y)
    assert "\n" not in str(info.value) and "ledger=" in str(info.value)


@pytest.mark.parametrize("what", [what for what in MANY if "processes" not in what])
def test_many_fits_without_a_guarantee_are_free(what):
    X, y = numbers(120)
    MANY[what](estimator(random_state=0), X, y)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_cross_val_predict_with_a_ledger(ledger, n_jobs):
    X, y = numbers()
    predicted = cross_val_predict(estimator(ledger=ledger), X, y, cv=2, n_jobs=n_jobs)
    assert (predicted == y).mean() > 0.8
    assert entries(ledger) == 2
    with pytest.raises(gibbsite.BudgetSpent):
        cross_val_predict(estimator(ledger=ledger.path), X, y, cv=6)
    spent = entries(ledger)
    with pytest.raises(gibbsite.BudgetSpent):
        estimator(ledger=ledger).fit(X, y)
    assert entries(ledger) == spent


def test_grid_search_with_a_ledger(ledger):
    X, y = numbers()
    search = GridSearchCV(estimator(ledger=ledger), {"row_norm": ["auto"]}, cv=2)
    search.fit(X, y)
    assert entries(ledger) == 3
    assert search.best_estimator_.verify().valid
    assert search.score(X, y) > 0.8
    again = GridSearchCV(
        estimator(ledger=ledger), {"row_norm": ["auto", 1.0]}, cv=3, error_score="raise"
    )
    with pytest.raises(gibbsite.BudgetSpent):
        again.fit(X, y)


def test_members_of_an_ensemble_are_void():
    """It gives each an int random_state."""
    bag = BaggingClassifier(estimator(), n_estimators=2).fit(*numbers(120))
    assert [member.verify().void_run for member in bag.estimators_] == [True, True]


def test_a_copy_of_a_clone_is_a_clone():
    import copy
    import pickle

    X, y = numbers(120)
    one = clone(estimator())
    for other in (clone(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        with pytest.raises(ValueError, match="clone"):
            other.fit(X, y)
    estimator(**{**one.get_params()}).fit(X, y)  # made anew by whoever means one fit


def test_a_vector_of_labels_that_is_a_column():
    from sklearn.exceptions import DataConversionWarning

    X, y = numbers(120)
    with pytest.warns(DataConversionWarning):
        estimator().fit(X, y[:, None])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator().fit(X, y)


@pytest.mark.parametrize("version, refused", [("1.2.2", True), ("0.24", True), ("1.3.0", False), ("1.10", False)])
def test_clones_that_old_versions_do_not_mark(monkeypatch, version, refused):
    import sklearn

    monkeypatch.setattr(sklearn, "__version__", version)
    X, y = numbers(300)
    model = PrivateLogisticRegression(1.0, 1e-6, ranges=(-3, 3))
    if refused:
        with pytest.raises(ValueError, match="older than 1.3"):
            model.fit(X, y)
        model.set_params(random_state=0).fit(X, y)
    else:
        model.fit(X, y)
