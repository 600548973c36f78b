"""Columns of dates and of yes and no, in frames of pandas, in Arrow and in lists, as in CSV."""

import datetime

import numpy as np
import pytest

import gibbsite

SCHEMA = """
label = "y"
positive = "1"
missing = "NA"
[columns]
day = {type = "date", range = ["2000-01-01", "2010-01-01"], format = "%d.%m.%Y", missing_level = true}
flag = {type = "boolean"}
"""
DAYS = [datetime.date(2000, 1, 1), datetime.date(2005, 1, 1), datetime.date(2012, 1, 1)]


def test_facts_of_dates_and_booleans():
    facts = gibbsite._tables.SchemaFacts(gibbsite.Schema.parse(SCHEMA, "schema"))
    assert facts.columns["day"]["type"] == "number"
    assert facts.columns["day"]["date"] == "%d.%m.%Y"
    assert facts.columns["flag"]["levels"] == ["false", "true"]
    assert facts.levels(facts.columns["day"]) == [None, "(missing)"]
    assert facts.takes_text


@pytest.mark.filterwarnings("ignore")  # of the seed
def test_frames_are_as_text():
    pandas = pytest.importorskip("pandas")
    texts = ["01.01.2000", "01.01.2005", "01.01.2012", "NA"]
    flags = ["yes", "no", "T", "0"]
    want = None
    for day in (
        texts,
        pandas.to_datetime([*DAYS, None]),
        pandas.Series([*DAYS, None], dtype=object),
        pandas.Series([*map(np.datetime64, DAYS), pandas.NaT], dtype=object),
    ):
        X = pandas.concat([pandas.DataFrame({"day": day, "flag": flags})] * 100)
        y = ["1", "0", "1", "0"] * 100
        model = gibbsite.PrivateLogisticRegression(9.0, 1e-6, schema=SCHEMA, random_state=1)
        model.fit(X, y)
        got = model.predict_proba(X.iloc[:4])
        want = got if want is None else want
        np.testing.assert_array_equal(got, want)


def test_numbers_are_no_dates():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"day": [20200101] * 8, "flag": ["yes"] * 8})
    model = gibbsite.PrivateLogisticRegression(9.0, 1e-6, schema=SCHEMA)
    with pytest.raises(ValueError, match="'day': numbers, and the schema says"):
        model.fit(X, ["1", "0"] * 4)


PARTS = """
label = "y"
positive = "1"
missing = "NA"
[columns]
day = {type = "date", range = ["2000-01-01", "2010-01-01"], format = "%d.%m.%Y"}
day_year = {type = "year", of = "day"}
day_month = {type = "month", of = "day"}
day_weekday = {type = "weekday", of = "day"}
"""
TEXTS = ["01.01.2000", "01.01.2005", "01.01.2012", "NA"]


def dated_rows(pandas, day):
    return pandas.concat([pandas.DataFrame({"day": day})] * 100, ignore_index=True), ["1", "0", "1", "0"] * 100


def fitted(X, y, **said):
    return gibbsite.PrivateLogisticRegression(9.0, 1e-6, random_state=1, **said).fit(X, y)


@pytest.mark.filterwarnings("ignore")  # of the seed
def test_parts_are_read_from_dates_of_every_kind(tmp_path):
    pandas = pytest.importorskip("pandas")
    want = None
    for day in (
        TEXTS,
        pandas.to_datetime([*DAYS, None]),
        pandas.Series([*DAYS, None], dtype=object),
    ):
        X, y = dated_rows(pandas, day)
        model = fitted(X, y, schema=PARTS)
        got = model.predict_proba(X.iloc[:4])
        want = got if want is None else want
        np.testing.assert_array_equal(got, want)
    assert list(model.feature_names_in_) == ["day"]
    names = list(model.coef_names_)
    assert names[:3] == ["day", "day_year", "day_month=Jan"]
    assert names[14] == "day_weekday=Mon"
    model.save(tmp_path / "m.json")
    again = gibbsite.PrivateLogisticRegression.from_file(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict_proba(X.iloc[:4]), want)
    with pytest.raises(ValueError, match="part of a date"):
        fitted(np.zeros((8, 1)), ["1", "0"] * 4, schema=PARTS)
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="'day_year' is a part of a date"):
        model.to_onnx()


@pytest.mark.filterwarnings("ignore")
def test_parts_in_ranges_and_formulas():
    pandas = pytest.importorskip("pandas")
    X, y = dated_rows(pandas, pandas.to_datetime([*DAYS, None]))
    y = [int(label) for label in y]
    first, last = datetime.date(2000, 1, 1), "2010-01-01"
    said = {"type": "date", "range": (first, last), "missing": "NA", "parts": ["month"]}
    model = fitted(X, y, ranges={"day": said})
    names = list(model.coef_names_)
    assert names[:2] == ["day", "day_month=Jan"] and names[13] == "day_month=(missing)"
    for wrong, words in (
        ({"type": "date"}, "pair of days"),
        ({**said, "parts": ["hour"]}, "must be a list of"),
        ({**said, "parts": "month"}, "must be a list of"),
        ({**said, "levels": ["a"]}, "unknown 'levels'"),
        ({**said, "curve": True}, "'curve' must be"),
    ):
        with pytest.raises(ValueError, match=words):
            fitted(X, y, ranges={"day": wrong})
    pytest.importorskip("formulaic")
    frame = X.assign(y=y)
    for formula, names in (
        ("y ~ day_month", ["day_month=Jan"]),
        ("y ~ day + day_month", ["day", "day_month=Jan"]),
        ("y ~ curve(day_year, 3)", ["day_year=2000"]),
    ):
        model = gibbsite.PrivateLogisticRegression.from_formula(
            formula, 9.0, 1e-6, schema=PARTS, random_state=1
        ).fit(frame)
        assert list(model.coef_names_)[: len(names)] == names
        assert len(model.predict(X)) == len(X)
