"""PrivateLogisticRegression: what it gives, and every refusal, with nothing released or entered."""

import json
import subprocess
import sys
import textwrap
import tomllib
import warnings

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLogisticRegression

from conftest import TOML, numbers, people

RANGE = (-3, 3)


def estimator(**params):
    return PrivateLogisticRegression(**{"epsilon": 10.0, "delta": 1e-6, "ranges": RANGE, **params})


def fitted(X, y, **params):
    """With a seed, so that two fits can be compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        return estimator(random_state=1, **params).fit(X, y)


def one_line(info):
    text = str(info.value)
    assert text and "\n" not in text
    return text


def refused(X, y, match, error=ValueError, **params):
    with pytest.raises(error, match=match) as info:
        estimator(**params).fit(X, y)
    return one_line(info)


# What it gives.


def test_fit_predicts_and_verifies():
    X, y = numbers()
    model = estimator().fit(X, y)
    assert model.score(X, y) > 0.9
    assert list(model.classes_) == [0, 1]
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")
    verification = model.verify()
    assert verification.valid and not verification.void_run and not verification.failures
    assert model.certificate_["guarantee"]["epsilon"] == 10.0
    file = json.loads(model.to_json())
    assert model.certificate_["guarantee"] == file["certificate"]["guarantee"]
    assert model.certificate_["constants"]["rows"] == 2000


def test_probabilities_agree_with_the_decision():
    X, y = numbers()
    model = estimator().fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (2000, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    decision = model.decision_function(X)
    np.testing.assert_allclose(decision, np.log(p[:, 1] / p[:, 0]), rtol=1e-6)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p))
    np.testing.assert_array_equal(model.predict(X), (decision > 0).astype(int))


def test_coefficients_are_in_the_units_of_the_columns():
    X, y = numbers()
    model = estimator().fit(X, y)
    assert model.coef_.shape == (1, 3) and model.intercept_.shape == (1,)
    assert list(model.coef_names_) == ["x0", "x1", "x2"]
    assert model.coef_exact_
    logit = X @ model.coef_[0] + model.intercept_[0]
    clear = np.abs(logit) > 1e-5  # cells are kept as float
    np.testing.assert_array_equal(logit[clear] > 0, model.predict(X)[clear] == 1)
    # A column in other units has another slope, and the model is the same.
    scaled = fitted(X * [1, 100, 1], y, ranges=[RANGE, (-300, 300), RANGE])
    plain = fitted(X, y)
    np.testing.assert_allclose(scaled.coef_[0] * [1, 100, 1], plain.coef_[0], rtol=1e-3, atol=1e-3)


def test_coefficients_are_log_odds():
    """The score of the coefficients is the log-odds of predict_proba: no link lies between."""
    X, y = numbers()
    model = estimator(epsilon=1.0).fit(X, y)
    assert model.certificate_["mechanism"]["name"] == "whitened" and model.coef_exact_
    assert "link" not in json.loads(model.to_json())["model"]
    score = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), score, rtol=1e-5, atol=1e-5)


def test_rows_that_are_scaled_down_are_said():
    X, y = numbers()
    assert not fitted(X, y, row_norm=0.5).coef_exact_


def test_intervals():
    X, y = numbers()
    model = fitted(X, y, intervals=True)
    low, high = model.coef_interval_.T
    assert model.coef_interval_.shape == (3, 2)
    assert (low < high).all()
    # On the encoder's scale a column of range 6 has a sixth of its width as its unit.
    np.testing.assert_allclose(model.coef_interval_, np.asarray(model.release_.intervals)[:3] / 6)
    between = model.predict_intervals(X)
    assert between.shape == (2000, 2)
    assert ((0 <= between[:, 0]) & (between[:, 0] < between[:, 1]) & (between[:, 1] <= 1)).all()
    assert not hasattr(fitted(X, y), "coef_interval_")


def test_values_beyond_their_range_count_as_its_end():
    X, y = numbers()
    model = fitted(X, y)
    far = X * 5
    np.testing.assert_array_equal(
        model.predict_proba(far), model.predict_proba(np.clip(far, -3, 3))
    )


def test_without_an_intercept():
    X, y = numbers()
    model = fitted(X, y, fit_intercept=False)
    assert not model.schema_.intercept
    assert model.coef_.shape == (1, 3)


def test_every_way_to_say_the_ranges_is_one():
    X, y = numbers()
    toml = (
        'label = "y"\npositive = "1"\nnegative = "0"\nunlisted_label = "refuse"\n\n[columns]\n'
        + "".join(f"x{j} = {{type = \"number\", range = [-3, 3]}}\n" for j in range(3))
    )
    models = [
        fitted(X, y, ranges=RANGE),
        fitted(X, y, ranges=[RANGE] * 3),
        fitted(X, y, ranges=np.array([RANGE] * 3)),
        fitted(X, y, ranges={"x0": RANGE, "x1": list(RANGE), "x2": np.array(RANGE)}),
        fitted(X, y, ranges=None, schema=toml),
        fitted(X, y, ranges=None, schema=gibbsite.Schema.parse(toml)),
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        assert list(model.classes_) == [0, 1]
        assert model.schema_.to_toml() == models[0].schema_.to_toml()


def test_a_schema_by_its_path(tmp_path):
    path = tmp_path / "people.toml"
    path.write_text(TOML)
    table = people()
    X = np.stack([table["age"], table["height"]], axis=1).astype(float)
    for schema in (path, str(path)):
        with pytest.raises(ValueError, match="2 columns, but the schema has 3"):
            estimator(ranges=None, schema=schema).fit(X, table["income"])


def test_one_column_is_ignored():
    X, y = numbers()
    model = fitted(X, y, ranges=[RANGE, RANGE, "ignore"])
    assert list(model.coef_names_) == ["x0", "x1"]
    other = X.copy()
    other[:, 2] = 99
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(other))


def test_a_category_of_numbers_in_an_array():
    random = np.random.default_rng(3)
    X = random.integers(1, 4, size=(500, 1)).astype(float)
    y = (X[:, 0] == 2).astype(int)
    model = fitted(X, y, ranges=[["1", "2", "3"]])
    assert list(model.coef_names_) == ["x0=1", "x0=2", "x0=3"]
    assert model.score(X, y) == 1


def test_threads_change_no_bit():
    X, y = numbers()
    np.testing.assert_array_equal(fitted(X, y, n_jobs=1).coef_, fitted(X, y, n_jobs=2).coef_)
    np.testing.assert_array_equal(fitted(X, y, n_jobs=-1).coef_, fitted(X, y).coef_)


def test_strides_and_float32_are_read_as_they_are():
    X, y = numbers()
    single = X.astype(np.float32)
    reference = fitted(single, y).coef_
    for same in (
        np.asfortranarray(single),
        np.repeat(single, 2, axis=0)[::2],
        single[::-1, ::-1][::-1, ::-1],
        single.astype(np.float64),
        single.astype(">f4"),
        single.tolist(),
    ):
        np.testing.assert_array_equal(fitted(same, y).coef_, reference)


# Classes.


def test_labels_are_0_and_1_or_false_and_true():
    X, y = numbers()
    reference = fitted(X, y)
    np.testing.assert_array_equal(fitted(X, y.astype(float)).coef_, reference.coef_)
    truth = fitted(X, y.astype(bool))
    np.testing.assert_array_equal(truth.coef_, reference.coef_)
    # Classes that nobody names are 0 and 1, whatever the type of the labels is.
    assert truth.classes_.dtype == np.int64 and (truth.predict(X) == reference.predict(X)).all()
    assert list(fitted(X, y.tolist()).classes_) == [0, 1]
    named = fitted(X, y.astype(bool), classes=[False, True])
    assert named.classes_.dtype == bool and named.predict(X).dtype == bool


@pytest.mark.parametrize("classes", [["no", "yes"], [2, 1], [-1.0, 1.0], [1, "one"]])
def test_declared_classes(classes):
    X, y = numbers()
    labels = np.array([classes[k] for k in y], dtype=object)
    model = fitted(X, labels, classes=classes)
    assert list(model.classes_) == classes
    np.testing.assert_array_equal(model.coef_, fitted(X, y).coef_)
    assert model.score(X, labels) > 0.9


def test_an_unlisted_label_is_refused_and_the_certificate_says_so():
    X, y = numbers()
    assert "row 8" in refused(X, np.where(np.arange(2000) == 7, 2, y), "neither class 0 nor 1")
    assert "continuous" in refused(X, y + 0.5, "neither class")
    names = np.where(y, "yes", "no").astype(object)
    refused(X, names, "neither class 0 nor 1")
    names[5] = "perhaps"
    refused(X, names, "row 6: label 'perhaps' is neither class 'no' nor 'yes'", classes=["no", "yes"])
    assert any("can be read" in line for line in fitted(X, y).certificate_["assumptions"])


def test_one_class_is_fitted():
    X, y = numbers()
    for label in (0, 1):
        model = fitted(X, np.full_like(y, label))
        assert list(model.classes_) == [0, 1]
        assert (model.predict(X) == label).all()


def test_observed_classes():
    X, y = numbers()
    reference = fitted(X, y)
    for classes in ([3, 7], ["a", "b"], [False, True]):
        model = fitted(X, np.array(classes)[y], classes="observed")
        assert list(model.classes_) == classes
        np.testing.assert_array_equal(model.coef_, reference.coef_)
    refused(X, np.ones(2000), "one class", classes="observed")
    refused(X, np.arange(2000) % 3, "Only binary classification is supported", classes="observed")
    refused(X, X[:, 0], "Unknown label type: continuous", classes="observed")
    refused(X, np.where(y, 1.0, np.nan), "NaN", classes="observed")
    mixed = np.array([1, "a"] * 1000, dtype=object)
    refused(X, mixed, "mixed types", classes="observed")
    for ones in ([1, True, 1.0], [True, 1.0, 1], [1.0, 1, True]):  # whichever comes first
        model = fitted(X, [ones[k % 3] if one else 0 for k, one in enumerate(y)], classes="observed")
        assert model.classes_.dtype == np.int64 and model.classes_.tolist() == [0, 1]
        assert model.to_json() == reference.to_json()
    refused(X, y, 'invalid="middle" promises that none does', classes="observed", invalid="middle")


@pytest.mark.parametrize("classes", ["both", ["a"], ["a", "b", "c"], 3, ["a", "a"], []])
def test_classes_that_cannot_be(classes):
    refused(*numbers(50), "classes", classes=classes)


def test_labels_by_the_schema_s_rules():
    X, y = numbers(500)
    columns = "[columns]\n" + "".join(
        f'x{j} = {{type = "number", range = [-3, 3]}}\n' for j in range(3)
    )
    names = np.where(y, "yes", "no").astype(object)
    reference = fitted(X, y)

    def by(head, labels, **params):
        return fitted(X, labels, ranges=None, schema=head + "\n" + columns, **params)

    both = 'label = "l"\npositive = "yes"\nnegative = "no"'
    model = by(both, names)
    assert list(model.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(model.coef_, reference.coef_)
    # A third label is the negative class by default, or refused.
    third = names.copy()
    third[y == 0] = "never"
    np.testing.assert_array_equal(by(both, third).coef_, reference.coef_)
    with pytest.raises(ValueError, match="'never' is neither class"):
        by(both + '\nunlisted_label = "refuse"', third)
    # Without a name every other label is it.
    model = by('label = "l"\npositive = "yes"', third)
    assert list(model.classes_) == ["not yes", "yes"]
    np.testing.assert_array_equal(model.coef_, reference.coef_)
    # Numbers go by the classes that are numbers, or that are said.
    assert list(by('label = "l"\npositive = "1"\nnegative = "0"', y).classes_) == [0, 1]
    assert list(by('label = "l"\npositive = "1"', y).classes_) == [0, 1]
    assert list(by('label = "l"\npositive = "true"\nnegative = "false"', y == 1).classes_) == [0, 1]
    with pytest.raises(ValueError, match="classes=\\[negative, positive\\]"):
        by(both, y)
    model = by(both, y, classes=[0, 1])
    np.testing.assert_array_equal(model.coef_, reference.coef_)
    assert model.predict(X).dtype.kind == "i"
    # A label that is missing.
    lacking = names.copy()
    lacking[3] = None
    with pytest.raises(ValueError, match="y: row 4: the label is missing"):
        by(both, lacking)
    negative = names.copy()
    negative[3] = "no"
    np.testing.assert_array_equal(
        by(both + '\ninvalid = "middle"', lacking).coef_,
        by(both + '\ninvalid = "middle"', negative).coef_,
    )


# Refusals.


def test_public_knowledge_is_required():
    X, y = numbers()
    text = refused(X, y, "ranges", ranges=None)
    assert 'ranges={"age": (17, 90)' in text and "schema=" in text
    refused(X, y, "not both", schema=TOML)


@pytest.mark.parametrize(
    "ranges, match",
    [
        ({"a": RANGE}, "names 1 columns, but X has 3"),
        ([RANGE] * 2, "has 2 columns, but X has 3"),
        ([RANGE, RANGE, (3, -3)], "x2"),
        ([RANGE, RANGE, (0, np.inf)], "x2"),
        ([RANGE, RANGE, (0, np.nan)], "x2"),
        ([RANGE, RANGE, "number"], "'x2'"),
        ([RANGE, RANGE, [1, "a"]], "'x2'"),
        ([RANGE, RANGE, []], "'x2'"),
        ([RANGE, RANGE, ["a", "a"]], "x2"),
        ([RANGE, RANGE, None], "'x2'"),
        ((3, -3), "x0"),
        (5, "ranges"),
        ("auto", "ranges"),
        (["ignore"] * 3, None),
    ],
)
def test_ranges_that_cannot_be(ranges, match):
    refused(*numbers(50), match, ranges=ranges)


@pytest.mark.parametrize("schema", ["no/such/file.toml", "label = 3\n", 5])
def test_a_schema_that_cannot_be(schema):
    with pytest.raises(ValueError):  # a line for each error of a schema
        estimator(ranges=None, schema=schema).fit(*numbers(50))


def test_options_of_ranges_beside_a_schema():
    for option in ({"fit_intercept": False}, {"row_norm": 1.0}, {"invalid": "middle"}):
        refused(*numbers(50), next(iter(option)), ranges=None, schema=TOML, **option)
    refused(*numbers(50), "classes", ranges=None, schema=TOML, classes="observed")


@pytest.mark.parametrize(
    "X, match",
    [
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros((4, 0)), "0 feature"),
        (np.zeros(4), "Reshape your data"),
        (np.zeros((4, 3, 2)), "Reshape your data"),
        (np.zeros((4, 3), complex), "Complex"),
        (np.full((4, 3), np.nan), "NaN"),
        (np.full((4, 3), np.inf), "inf"),
        (np.array([["a", "b", "c"]] * 4, dtype=object), "column 1"),
        (np.array([[1, 2, "c"]] * 4, dtype=object), "column 3: .*'c'"),
        (np.array([["1", "2", "c"]] * 4), "column 3"),
        ([[1, 2], [3]], None),
        (None, "X"),
        ("table", None),
    ],
)
def test_x_that_cannot_be_read(X, match):
    refused(X, [0, 1, 0, 1], match)


def test_x_of_a_type_that_is_none_of_numbers():
    refused(np.array([[{}, 1, 2]] * 4, dtype=object), [0, 1, 0, 1], "column 1", error=TypeError)
    dates = np.zeros((4, 3), "datetime64[s]")
    refused(dates, [0, 1, 0, 1], "dates", error=TypeError)


def test_the_cell_that_is_not_finite_is_named():
    X, y = numbers(50)
    X[6, 1] = np.nan
    text = refused(X, y, "NaN")
    assert "row 7" in text and "'x1'" in text


def test_a_middle_for_what_cannot_be_read():
    X, y = numbers(500)
    X[6, 1] = np.nan
    X[7, 1] = np.inf
    middle = X.copy()
    middle[6:8, 1] = 0
    model = fitted(X, y, invalid="middle")
    np.testing.assert_array_equal(model.coef_, fitted(middle, y, invalid="middle").coef_)
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(middle))
    assert not any("can be read" in line for line in model.certificate_["assumptions"])
    refused(X, y, "invalid", invalid="drop")


def test_missing_cells_by_the_schema():
    X, y = numbers(500)
    schema = 'label = "l"\npositive = "1"\nnegative = "0"\nmissing = "nan"\n[columns]\n' + "".join(
        f'x{j} = {{type = "number", range = [-3, 3]}}\n' for j in range(3)
    )
    middle = X.copy()
    X[6, 1], middle[6, 1] = np.nan, 0
    model = fitted(X, y, ranges=None, schema=schema)
    other = fitted(middle, y, ranges=None, schema=schema)
    np.testing.assert_array_equal(model.coef_, other.coef_)


@pytest.mark.parametrize(
    "y, match",
    [
        (None, "the target y is None"),
        ([0, 1, 0], "inconsistent numbers of samples|labels"),
        ([], "0 sample"),
        (np.zeros((4, 2)), "1d array"),
        (0, "1d array"),
        ([0, 1, 0, np.nan], "row 4: the label is missing \\(NaN\\)"),
        ([0, 1, 0, None], "row 4: the label is missing"),
        (np.zeros(4, complex), "Complex"),
        (np.zeros(4, "datetime64[s]"), "Unknown label type"),
        (["0", "1", "0", "1"], "neither class"),
        ([0, 1, 0, np.inf], "neither class"),
    ],
)
def test_y_that_cannot_be_read(y, match):
    refused(np.zeros((4, 3)), y, match)


def test_a_column_of_labels_is_one_with_a_warning():
    X, y = numbers(200)
    with pytest.warns(UserWarning, match="column-vector y"):
        model = fitted(X, y[:, np.newaxis])
    np.testing.assert_array_equal(model.coef_, fitted(X, y).coef_)


def test_sample_weight_needs_a_public_range():
    X, y = numbers(50)
    with pytest.raises(ValueError, match="sample_weight: needs a public bound") as info:
        estimator().fit(X, y, sample_weight=np.ones(50))
    one_line(info)
    with pytest.raises(ValueError, match="weight_range: is of sample_weight"):
        estimator(weight_range=(0, 2)).fit(X, y)
    with pytest.raises(TypeError, match="'coef_init'"):
        estimator().fit(X, y, coef_init=0)


@pytest.mark.parametrize(
    "params, match",
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": 701.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"mechanism": "magic"}, "mechanism"),
        ({"adjacency": "near"}, "adjacency"),
        ({"rows_per_person": 0}, "rows"),
        ({"prior_precision": -1.0}, "prior"),
        ({"row_norm": -1.0}, "row_norm"),
        ({"row_norm": "long"}, "row_norm"),
        ({"fit_intercept": "perhaps"}, "fit_intercept"),
        ({"backend": "abacus"}, "abacus"),
        ({"random_state": "seed"}, "random_state"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": 1.5}, "random_state"),
        ({"random_state": True}, "random_state"),
        ({"random_state": np.random.RandomState(0)}, "random_state"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_jobs": -2}, "n_jobs"),
        ({"n_jobs": "all"}, "n_jobs"),
    ],
)
def test_options_that_cannot_be(params, match):
    refused(*numbers(50), match, error=(ValueError, gibbsite.Error), **params)


@pytest.mark.parametrize("params", [{"epsilon": "1"}, {"epsilon": None}, {"delta": [1e-6]}])
def test_a_budget_of_another_type(params):
    with pytest.raises((TypeError, ValueError)):
        estimator(**params).fit(*numbers(50))


def test_a_refusal_leaves_the_model_and_the_ledger_as_they_were(tmp_path):
    X, y = numbers(500)
    path = tmp_path / "people.ledger"
    gibbsite.Ledger.create(str(path), epsilon=12.0, delta=1e-5)
    before = path.read_bytes()
    model = estimator(ledger=path, epsilon=5.0)
    bad = [
        (X[:, 0], y),
        (X[:10], y),
        (X, np.full(500, 7)),
        (np.where(np.arange(1500).reshape(500, 3) == 70, np.nan, X), y),
        (X, None),
    ]
    for X_bad, y_bad in bad:
        with pytest.raises(ValueError):
            model.fit(X_bad, y_bad)
        assert path.read_bytes() == before
        with pytest.raises(gibbsite.NotFittedError):
            model.predict(X)
    model.fit(X, y)
    text = model.to_json()
    after = path.read_bytes()
    assert after != before
    for X_bad, y_bad in bad:
        with pytest.raises(ValueError):
            model.fit(X_bad, y_bad)
    assert model.to_json() == text and path.read_bytes() == after


# The ledger.


def test_a_ledger_until_it_is_spent(tmp_path):
    X, y = numbers(500)
    path = tmp_path / "people.ledger"
    ledger = gibbsite.Ledger.create(str(path), epsilon=1.0, delta=1e-5)
    model = estimator(epsilon=0.8, ledger=ledger).fit(X, y)
    text = model.to_json()
    with pytest.raises(gibbsite.BudgetSpent) as info:
        estimator(epsilon=0.8, ledger=str(path)).fit(X, y)
    assert str(path) in one_line(info)
    with pytest.raises(gibbsite.BudgetSpent):
        model.fit(X, y)
    assert model.to_json() == text
    with pytest.raises(ValueError):  # a seed's noise has no guarantee to enter
        estimator(epsilon=0.1, ledger=path, random_state=1).fit(X, y)


def test_a_ledger_that_cannot_be(tmp_path):
    X, y = numbers(50)
    refused(X, y, "missing.ledger", ledger=tmp_path / "missing.ledger")
    bad = tmp_path / "bad.ledger"
    bad.write_text("no ledger")
    refused(X, y, "bad.ledger", ledger=str(bad))
    assert bad.read_text() == "no ledger"


def test_a_ledger_that_another_program_holds(tmp_path):
    """Waited for ten seconds. Another process, since a wheel has an SQLite of its own, and locks of one process are one owner's."""
    X, y = numbers(50)
    path = tmp_path / "people.ledger"
    gibbsite.Ledger.create(str(path), epsilon=2.0, delta=1e-5)
    before = path.read_bytes()
    hold = ("import sqlite3, sys; held = sqlite3.connect(sys.argv[1], isolation_level=None); "
            "held.execute('begin exclusive'); print('held', flush=True); sys.stdin.read()")
    with subprocess.Popen([sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        refused(X, y, "people.ledger.*lock", epsilon=1.0, ledger=path)
        other.stdin.close()
    assert path.read_bytes() == before


def test_a_seed_makes_it_void():
    X, y = numbers()
    with pytest.warns(gibbsite.VoidWarning, match="void"):
        model = estimator(random_state=3).fit(X, y)
    assert model.certificate_["guarantee"]["void"]
    assert not model.verify().valid and model.verify().void_run
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = estimator().fit(X, y), estimator().fit(X, y)
    assert (first.coef_ != second.coef_).all()  # keys of the operating system
    np.testing.assert_array_equal(fitted(X, y).coef_, fitted(X, y).coef_)


# Predicting.


def test_nothing_before_fit():
    X, y = numbers(50)
    model = estimator()
    for call in (
        lambda: model.predict(X),
        lambda: model.predict_proba(X),
        lambda: model.predict_log_proba(X),
        lambda: model.predict_intervals(X),
        lambda: model.decision_function(X),
        lambda: model.score(X, y),
        lambda: model.verify(),
        lambda: model.to_json(),
        lambda: model.save("never.json"),
    ):
        with pytest.raises(gibbsite.NotFittedError, match="not fitted"):
            call()


def test_rows_to_predict_that_cannot_be_read():
    X, y = numbers(200)
    model = fitted(X, y)
    for bad, match in [
        (X[:, :2], "X has 2 features, but PrivateLogisticRegression is expecting 3 features"),
        (X[0], "Reshape your data"),
        (np.zeros((0, 3)), "0 sample"),
        (np.full((2, 3), np.nan), "NaN"),
        (np.full((2, 3), -np.inf), "inf"),
    ]:
        for method in (model.predict, model.predict_proba, model.decision_function):
            with pytest.raises(ValueError, match=match) as info:
                method(bad)
            one_line(info)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.score(X, y[:-1])


def test_probabilities_at_the_ends_are_finite_numbers():
    X, y = numbers(5000)
    model = fitted(X, (X[:, 0] > 0).astype(int), epsilon=20.0)
    decision = model.decision_function([[-3, 0, 0], [3, 0, 0]])
    assert np.isfinite(decision).all() and decision[0] < 0 < decision[1]


# The file.


def test_a_model_file(tmp_path):
    X, y = numbers()
    model = estimator(epsilon=2.0).fit(X, y)
    path = tmp_path / "model.json"
    model.save(path)
    assert json.loads(path.read_text()) == json.loads(model.to_json())
    with pytest.raises(FileExistsError):
        model.save(path)
    model.save(str(path), replace=True)
    again = PrivateLogisticRegression.from_file(path)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert list(again.classes_) == [0, 1]
    assert again.verify().valid
    assert again.epsilon == 2.0 and again.delta == 1e-6
    assert again.to_json() == model.to_json()
    assert PrivateLogisticRegression.from_file(str(path)).n_features_in_ == 3


def test_a_void_model_file(tmp_path):
    X, y = numbers(200)
    fitted(X, y).save(tmp_path / "void.json")
    assert PrivateLogisticRegression.from_file(tmp_path / "void.json").epsilon is None


def test_model_files_that_cannot_be(tmp_path):
    X, y = numbers(200)
    text = estimator().fit(X, y).to_json()
    path = tmp_path / "model.json"
    for bad in ("", "{}", "[]", text[: len(text) // 2], text.replace("gibbsite-release/3", "gibbsite-release/9")):
        path.write_text(bad)
        with pytest.raises(ValueError, match="model.json") as info:
            PrivateLogisticRegression.from_file(path)
        one_line(info)
    with pytest.raises(ValueError, match="nowhere.json"):
        PrivateLogisticRegression.from_file(tmp_path / "nowhere.json")


# Parameters.


def test_parameters():
    model = estimator(epsilon=1.0)
    params = model.get_params()
    assert params["epsilon"] == 1.0 and params["ranges"] == RANGE and params["schema"] is None
    assert model.set_params(epsilon=2.0, n_jobs=1) is model
    assert model.epsilon == 2.0 and model.n_jobs == 1
    with pytest.raises(ValueError, match="'epsilom'"):
        model.set_params(epsilom=1, delta=5)
    assert model.delta == 1e-6
    assert repr(model) == (
        "PrivateLogisticRegression(epsilon=2.0, delta=1e-06, ranges=(-3, 3), n_jobs=1)"
    )


def test_without_any_other_package():
    """NumPy is enough."""
    code = """
        import sys
        for name in ("sklearn", "pandas", "pyarrow", "polars", "scipy"):
            sys.modules[name] = None
        import numpy, gibbsite
        X = numpy.linspace(-3, 3, 300).reshape(100, 3)
        model = gibbsite.PrivateLogisticRegression(9.0, 1e-6, ranges=(-3, 3))
        try:
            model.predict(X)
        except gibbsite.NotFittedError:
            pass
        assert model.fit(X, (X[:, 0] > 0).astype(int)).verify().valid
        assert model.predict(X).shape == (100,)
        try:
            gibbsite.PrivateLogisticRegression(9.0, 1e-6, ranges=[["a"]]).fit([["a"]], [0])
        except ImportError as error:
            print("pyarrow" in str(error))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "True"


def test_levels_and_names_that_need_quotes():
    random = np.random.default_rng(0)
    levels = ['say "hi"', "back\\slash", "größe", "tab\tand\x7f"]
    cells = np.array(levels, dtype=object)[random.integers(0, 4, size=400)]
    y = (cells == levels[2]).astype(int)
    pytest.importorskip("pyarrow")
    model = fitted(cells[:, None], y, ranges={'a "b"\\\n.c': levels})
    assert model.score(cells[:, None], y) == 1
    assert list(model.coef_names_) == [f'a "b"\\\n.c={level}' for level in levels]




# The label's name.


def series(rows=800):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    random = np.random.default_rng(0)
    frame = pandas.DataFrame({"age": random.uniform(18, 90, rows), "job": random.choice(["clerk", "farmer"], rows)})
    frame["ill"] = (random.random(rows) < frame["age"] / 100).astype(int)
    return frame


def of_labels(y, frame=None, **params):
    frame = series() if frame is None else frame
    ranges = {"age": (18, 90), "job": ["clerk", "farmer"]}
    model = PrivateLogisticRegression(5.0, 1e-6, **{"ranges": ranges, **params})
    return model.fit(frame[["age", "job"]], y)


def test_the_label_is_called_what_it_is_called(tmp_path):
    frame = series()
    kinds = [frame["ill"], frame[["ill"]]]
    polars = pytest.importorskip("polars")
    kinds.append(polars.Series("ill", frame["ill"].to_numpy()))
    for y in kinds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a column
            model = of_labels(y)
        assert tomllib.loads(model.schema_.to_toml())["label"] == "ill"
        assert model.verify().valid
    model.save(tmp_path / "m.json")
    frame.to_csv(tmp_path / "t.csv", index=False)
    # The program finds the label in the table that the frame was of.
    assert gibbsite.run_command(["evaluate", "--model", str(tmp_path / "m.json"), "--data", str(tmp_path / "t.csv")]) == 0
    assert gibbsite.run_command(["coefficients", str(tmp_path / "m.json")]) == 0
    again = PrivateLogisticRegression.from_file(tmp_path / "m.json")
    assert again.score(frame) == model.score(frame[["age", "job"]], frame["ill"])
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame[["age", "job"]]))


def test_a_label_without_a_name_of_its_own_is_y():
    frame = series()
    plain = frame["ill"].to_numpy()
    for y in (plain, plain.tolist(), frame["ill"].rename(None), frame["ill"].rename(7), frame["ill"].rename("age"),
              frame["ill"].rename(""), frame["ill"].rename("a\nb"), frame["ill"].rename("groups")):
        assert tomllib.loads(of_labels(y).schema_.to_toml())["label"] == "y"
    odd = 'it is "so" = é'
    assert tomllib.loads(of_labels(frame["ill"].rename(odd)).schema_.to_toml())["label"] == odd
    # The name changes nothing else, and what was saved with "y" is read as before.
    named, unnamed = (of_labels(y, random_state=1) for y in (frame["ill"], plain))
    np.testing.assert_array_equal(named.coef_, unnamed.coef_)
    again = PrivateLogisticRegression._from_release(gibbsite.Release.from_json(unnamed.to_json(), "old"))
    assert again.score(frame, frame["ill"]) == named.score(frame[["age", "job"]], frame["ill"])


def test_a_bought_schema_has_the_labels_name(tmp_path):
    frame = series(3000)
    model = of_labels(frame["ill"], frame, ranges=None, schema="private", classes=[0, 1])
    assert tomllib.loads(model.schema_.to_toml())["label"] == "ill" and model.verify().valid
    ledger = gibbsite.Ledger.create(tmp_path / "a.ledger", epsilon=9.0, delta=1e-5)
    of_labels(frame["ill"], frame, ledger=ledger)
    assert len(ledger.read()["releases"]) == 1


# Messages.


def test_a_reference_is_a_level():
    pytest.importorskip("pandas")
    model = of_labels(series()["ill"], intervals=True)
    for reference, said in [
        ({"age": 3}, "reference: a level must be text, got 3; 'age' has none"),
        ({"job": 3}, "reference: a level must be text, got 3; 'job' has 'clerk', 'farmer'"),
        ("job", "reference: must be {column: level}"),
    ]:
        with pytest.raises(ValueError) as raised:
            model.summary(reference)
        assert one_line(raised).startswith(said)


def test_a_plan_takes_a_schema_s_path_and_text(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(TOML)
    some = {"epsilon": 1.0, "delta": 1e-6, "rows": 1000}
    wanted = repr(gibbsite.plan(**some, schema=gibbsite.Schema.parse(TOML)))
    for schema in (path, str(path), TOML):
        assert repr(gibbsite.plan(**some, schema=schema)) == wanted
    with pytest.raises(TypeError, match="schema"):
        gibbsite.plan(**some, schema=3)
    assert "loss_cap" in gibbsite.plan.__doc__ or "positive_share" in gibbsite.plan.__doc__


def test_missing_cells_are_told_in_the_words_of_ranges():
    pyarrow = pytest.importorskip("pyarrow")
    frame = series()
    plain = frame.assign(age=frame["age"].mask(frame.index == 7))
    both = {"age": (18, 90), "job": ["clerk", "farmer"]}
    holes = frame.assign(job=frame["job"].mask(frame.index == 7))
    named = frame["ill"]
    for X, ranges, advice in [
        (plain[["age"]], {"age": (18, 90)}, {"age": {"range": (18, 90), "missing": ""}}),
        (plain[["age", "job"]], both, {**both, "age": {"range": (18, 90), "missing": ""}}),
        (holes[["age", "job"]], both, {**both, "job": {"levels": ["clerk", "farmer"], "missing": ""}}),
        (plain[["age"]].to_numpy(), {"age": (18, 90)}, {"age": {"range": (18, 90), "missing": "nan"}}),
        (pyarrow.Table.from_pandas(plain[["age"]]), {"age": (18, 90)}, {"age": {"range": (18, 90), "missing": ""}}),
    ]:
        said = refused(X, named, "row 8: column", error=gibbsite.BadInput, ranges=ranges)
        (changed,) = (f'"{name}": {what!r}' for name, what in advice.items() if what != ranges[name])
        assert f"ranges={{{changed}}}".replace("'", '"') in said.replace("'", '"')
        assert "schema" not in said and "private: this line" in said
        estimator(ranges=advice).fit(X, named)
    curve = {"age": gibbsite.Curve(18, 90)}
    assert 'missing="" of its Curve' in refused(plain[["age"]], named, "row 8", error=gibbsite.BadInput, ranges=curve)


def test_a_missing_label_is_told_as_private():
    X, y = numbers(300)
    y = y.astype(float)
    y[5] = np.nan
    assert refused(X, y, "y: row 6: the label is missing").endswith("(private: this line tells about the table)")
    assert refused(X, y, "a label is missing", classes="observed").endswith("(private: this line tells about the table)")


def test_one_row_is_few():
    X, y = numbers(1)
    with pytest.warns(gibbsite.FitWarning, match="^1 row is few for"):
        estimator(random_state=1).fit(X, y)
