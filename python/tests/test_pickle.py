"""A pickle holds parameters and the text of model.json, and no object of the engine."""

import copy
import json
import pickle
import pickletools

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLogisticRegression

from conftest import TOML, numbers


def globals_of(data):
    """Modules and names that loading would call upon."""
    names, strings = [], []
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            names.append(argument)
        elif opcode.name == "STACK_GLOBAL":
            names.append(" ".join(strings[-2:]))
        elif isinstance(argument, str):
            strings.append(argument)
    return names


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_fitted_model(protocol):
    X, y = numbers()
    model = PrivateLogisticRegression(
        2.0, 1e-6, ranges=(-3, 3), classes=["no", "yes"], intervals=True, n_jobs=1
    ).fit(X, np.where(y, "yes", "no"))
    data = pickle.dumps(model, protocol)
    names = globals_of(data)
    assert any("PrivateLogisticRegression" in name for name in names)
    assert not any("_core" in name for name in names), names
    again = pickle.loads(data)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.coef_interval_, model.coef_interval_)
    assert again.get_params() == model.get_params()
    assert again.to_json() == model.to_json() and again.verify().valid
    assert json.loads(again.to_json()) == json.loads(model.__getstate__()["model"])
    assert again.n_features_in_ == 3 and not hasattr(again, "feature_names_in_")
    assert sorted(vars(again)) == sorted(vars(model))
    copied = copy.deepcopy(model)
    np.testing.assert_array_equal(copied.predict_proba(X), model.predict_proba(X))


def test_one_that_is_not_fitted(tmp_path):
    ledger = gibbsite.Ledger.create(str(tmp_path / "people.ledger"), epsilon=2.0, delta=1e-5)
    model = PrivateLogisticRegression(
        1.0, 1e-6, schema=gibbsite.Schema.parse(TOML), ledger=ledger, progress=lambda *_: None
    )
    data = pickle.dumps(model)
    assert not any("_core" in name for name in globals_of(data))
    again = pickle.loads(data)
    assert again.ledger == str(tmp_path / "people.ledger")
    assert gibbsite.Schema.parse(again.schema).to_toml() == model.schema.to_toml()
    assert again.progress is None
    with pytest.raises(gibbsite.NotFittedError, match="not fitted"):
        again.predict([[0, 0, 0]])


def test_names_and_types_of_classes_are_kept():
    pandas = pytest.importorskip("pandas")
    X, y = numbers(300)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    for classes in ([0, 1], ["no", "yes"], [False, True], [1, "one"], [-1.0, 1.0]):
        model = PrivateLogisticRegression(2.0, 1e-6, ranges=(-3, 3), classes=classes)
        model.fit(frame, np.array([classes[k] for k in y], dtype=object))
        again = pickle.loads(pickle.dumps(model))
        assert again.classes_.dtype == model.classes_.dtype
        assert again.classes_.tolist() == classes
        assert list(again.feature_names_in_) == ["a", "b", "c"]
        with pytest.raises(ValueError, match="same order"):
            again.predict(frame[["c", "b", "a"]])


def test_a_model_in_a_pickle_that_cannot_be():
    X, y = numbers(200)
    model = PrivateLogisticRegression(2.0, 1e-6, ranges=(-3, 3)).fit(X, y)
    state = model.__getstate__()
    state["model"] = state["model"].replace("gibbsite-release/3", "gibbsite-release/9")
    with pytest.raises(ValueError) as info:
        PrivateLogisticRegression.__new__(PrivateLogisticRegression).__setstate__(state)
    assert "\n" not in str(info.value)
