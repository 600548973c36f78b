"""summary(), effect() and what coef_ promises of decision_function and predict_proba."""

import math
import sys
import warnings

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLinearRegression, PrivateLogisticRegression

from conftest import TOML, numbers, people

COLUMNS = ["column", "level", "unit", "estimate", "std_err", "lower", "upper", "p_value"]


def fitted(X, y, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        model = PrivateLogisticRegression(
            **{"epsilon": 10.0, "delta": 1e-6, "ranges": (-3, 3), "random_state": 1, **params}
        )
        return model.fit(X, y)


def table():
    data = people()
    y = data.pop("income")
    import pyarrow

    return pyarrow.table(data), y


def rows_of(summary):
    """The rows of a summary as dictionaries, whether it is a list or a table of pandas."""
    if isinstance(summary, list):
        return summary
    return summary.reset_index().to_dict("records")


def nothing(value):
    return value is None or value != value or str(value) == "<NA>"


# coef_, intercept_, decision_function and predict_proba.


@pytest.mark.parametrize("mechanism", ["output", "objective"])
def test_coefficients_are_the_decision_where_no_row_is_scaled(mechanism):
    X, y = numbers()
    model = fitted(X, y, mechanism=mechanism)
    assert model.coef_exact_ and model.coef_scale_ == 1.0
    score = X @ model.coef_[0] + model.intercept_[0]
    # Rows are floats: 6e-8 of each of their encoded cells.
    room = 1e-6 * (1 + np.abs(model.coef_).sum() * 6)
    np.testing.assert_allclose(model.decision_function(X), score, atol=room, rtol=0)
    p = 1 / (1 + np.exp(-score))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], p, atol=room)


def test_a_row_that_is_scaled_keeps_at_least_coef_scale_of_its_score():
    X, y = numbers()
    model = fitted(X, y, mechanism="output", row_norm=0.5)
    assert not model.coef_exact_
    assert model.coef_scale_ == pytest.approx(0.5 / math.sqrt(3))
    # The constant is not scaled; the rest of a row's score is, by between coef_scale_ and 1.
    zero = np.full((1, 3), -3.0)  # the low end of each range is 0 for the encoder
    constant = model.decision_function(zero)[0]
    score = X @ model.coef_[0] + model.intercept_[0] - constant
    scaled = model.decision_function(X) - constant
    factor = scaled[np.abs(score) > 1e-3] / score[np.abs(score) > 1e-3]
    assert factor.min() >= model.coef_scale_ - 1e-3
    assert factor.max() <= 1 + 1e-3
    assert factor.min() < 0.9


def test_decision_function_loses_no_digit_far_out():
    X, y = numbers(20_000)
    model = fitted(X, y, mechanism="objective", epsilon=700.0, prior_precision=1e-3)
    z = model.decision_function(X)
    score = X @ model.coef_[0] + model.intercept_[0]
    assert score.max() > 100  # a probability is 1 to a double from 37 on
    far = np.abs(score) > 0.5 * np.abs(score).max()
    np.testing.assert_allclose(z[far], score[far], rtol=1e-5)


# summary and effect.


def test_summary_without_intervals_has_coefficients_alone():
    X, y = table()
    model = fitted(X, y, ranges=None, schema=TOML, mechanism="output")
    rows = rows_of(model.summary())
    assert set(COLUMNS) < set(rows[0])
    assert len(rows) == 2 + 4 + 1  # job has a "(missing)" level
    by_term = {row["term"]: row for row in rows}
    age = by_term["age, 17 to 90"]
    assert age["estimate"] == pytest.approx(model.coef_[0][0] * 73)
    assert age["per_unit"] == pytest.approx(model.coef_[0][0])
    assert age["odds_ratio"] == pytest.approx(math.exp(age["estimate"]))
    for name in ("std_err", "lower", "upper", "p_value", "hidden"):
        assert nothing(age[name])
    assert rows[-1]["term"] == "(intercept)"
    with pytest.raises(ValueError, match="no estimates"):
        model.effect("age*10")


def test_summary_takes_reference_levels():
    X, y = table()
    model = fitted(X, y, ranges=None, schema=TOML, mechanism="output")
    rows = {row["term"]: row for row in rows_of(model.summary({"job": "farmer"}))}
    assert rows["job=clerk"]["reference"] == "farmer"
    assert rows["job=clerk"]["vs_reference"] == pytest.approx(
        rows["job=clerk"]["estimate"] - rows["job=farmer"]["estimate"]
    )
    assert nothing(rows["job=farmer"]["vs_reference"])
    toml = TOML.replace('"other work"]', '"other work"], reference = "other work"')
    model = fitted(X, y, ranges=None, schema=toml, mechanism="output")
    rows = {row["term"]: row for row in rows_of(model.summary())}
    assert rows["job=clerk"]["reference"] == "other work"
    for reference in ({"job": "farmr"}, {"jobs": "farmer"}, {"age": "17"}):
        with pytest.raises(ValueError, match="reference: "):
            model.summary(reference)


def test_summary_is_a_data_frame_with_pandas():
    pandas = pytest.importorskip("pandas")
    X, y = numbers()
    frame = fitted(X, y, mechanism="output").summary()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.index.name == "term"
    for name in ("estimate", "std_err", "lower", "upper", "p_value", "odds_ratio", "share"):
        assert frame[name].dtype == np.float64


def test_summary_is_a_list_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)  # what is not installed
    X, y = numbers()
    rows = fitted(X, y, mechanism="output").summary()
    assert isinstance(rows, list) and len(rows) == 4
    assert rows[0]["estimate"] is not None and rows[0]["p_value"] is None
    assert rows[-1]["term"] == "(intercept)"


def test_summary_of_amounts_has_no_ratio():
    X, y = numbers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        model = PrivateLinearRegression(
            10.0, 1e-6, ranges=(-3, 3), target_range=(-5, 5), random_state=1
        ).fit(X, X[:, 0])
    rows = rows_of(model.summary())
    assert "odds_ratio" not in rows[0]
    by_term = {row["term"]: row for row in rows}
    assert by_term["x0, -3 to 3"]["per_unit"] == pytest.approx(model.coef_[0])


def test_with_intervals_effects_agree_with_the_table():
    X, y = numbers(20_000)
    model = fitted(X, y, intervals=True)
    rows = rows_of(model.summary())
    row = next(row for row in rows if row["column"] == "x0")
    assert row["lower"] < row["estimate"] < row["upper"]
    asked = model.effect("x0*6")
    for name in ("estimate", "std_err", "lower", "upper", "p_value", "odds_ratio", "hidden"):
        assert asked[name] == pytest.approx(row[name])
    with pytest.raises(ValueError, match="no column is called 'x_0'"):
        model.effect("x_0")


def test_a_whole_column_is_tested():
    X, y = table()
    model = fitted(X, y, ranges=None, schema=TOML, intervals=True)
    levels = sum(row["column"] == "job" for row in rows_of(model.summary()))
    asked = model.effect("job")
    assert set(asked) == {"effect", "chi_squared", "degrees_of_freedom", "p_value"}
    assert asked["degrees_of_freedom"] == levels - 1
    assert asked["chi_squared"] >= 0 and 0 <= asked["p_value"] <= 1
    assert model.effect("'job'")["p_value"] == asked["p_value"]


def test_the_words_of_intervals_say_what_they_are_of():
    X, y = numbers(2_000)  # which nearly separate
    assert "The classes nearly separate" in fitted(X, y, intervals=True).release_.interval_words
    y = np.where(np.random.default_rng(5).random(len(y)) < 0.2, 1 - y, y)
    plain = fitted(X, y, intervals=True)
    assert "On simulated tables" in plain.release_.interval_words
    summary = plain.summary()
    if not isinstance(summary, list):
        assert summary.attrs["intervals"] == plain.release_.interval_words
    assert fitted(X, y).release_.interval_words is None
    words = fitted(X, y, intervals=True, rows_per_person=3).release_.interval_words
    assert "The 3 rows of a person are taken for alike" in words
    with pytest.warns(UserWarning, match="intervals: .*effects are those of the scaled rows"):
        scaled = fitted(X, y, intervals=True, row_norm=1.0)
    assert "simulated" not in scaled.release_.interval_words


def test_a_fit_that_makes_no_estimates_says_so(monkeypatch):
    """Answers that leave no estimate, which is rare: a plan without them stands in for it."""
    X, y = numbers()
    plan = gibbsite._core.plan
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        PrivateLogisticRegression(1.0, 1e-6, ranges=(-3, 3), intervals=True, random_state=1).fit(X, y)
    monkeypatch.setattr(
        gibbsite._core, "plan", lambda **request: plan(**{**request, "intervals": False})
    )
    model = PrivateLogisticRegression(1.0, 1e-6, ranges=(-3, 3), intervals=True)
    with pytest.warns(UserWarning, match="intervals: none can be made"):
        model.fit(X, y)
    assert not hasattr(model, "coef_interval_") and model.verify().valid
