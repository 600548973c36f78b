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
