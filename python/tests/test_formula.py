"""Estimators from formulas: what each term says to the engine, what is refused, in one line."""

import pickle
import sys
import tomllib

import numpy as np
import pytest

import gibbsite
from gibbsite import Curve, PrivateLinearRegression, PrivateLogisticRegression, PrivatePoissonRegressor

pytestmark = pytest.mark.filterwarnings("ignore::gibbsite.VoidWarning", "ignore::gibbsite.FitWarning")

SCHEMA = """label = "income"
positive = "rich"
negative = "poor"
row_norm = "auto"
intercept = true
[columns]
age = {type = "number", range = [17, 90], missing = "?", missing_level = true}
wage = {type = "number", range = [0, 100000]}
"two words" = {type = "number", range = [0, 1], curve = 5}
sex = {type = "category", levels = ["f", "m"]}
job = {type = "category", levels = ["clerk", "farmer"], other = true}
"""
RANGES = {
    "age": (17, 90),
    "wage": (0, 1e5),
    "two words": Curve(0, 1, 5),
    "sex": ["f", "m"],
    "job": {"levels": ["clerk", "farmer"], "other": True},
}
BUDGET = {"epsilon": 20.0, "delta": 1e-6, "random_state": 1}


@pytest.fixture
def formulaic():
    return pytest.importorskip("formulaic", reason="formulaic is not installed: no formula is read")


def frame_of(rows=1500):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    random = np.random.default_rng(3)
    age = random.uniform(17, 90, rows)
    rich = 4 - np.abs(age - 45) / 6 + random.logistic(size=rows) * 0.5 > 0
    return pandas.DataFrame(
        {
            "income": np.where(rich, "rich", "poor"),
            "note": ["free text"] * rows,  # of no schema
            "job": np.array(["clerk", "farmer", "baker"])[random.integers(0, 3, rows)],
            "sex": np.array(["f", "m"])[random.integers(0, 2, rows)],
            "two words": random.uniform(size=rows),
            "wage": random.uniform(0, 1e5, rows).round(),
            "age": age,
        }
    )


def of(formula, where="schema", **params):
    said = {"schema": SCHEMA} if where == "schema" else {"ranges": RANGES, "classes": ["poor", "rich"]}
    return PrivateLogisticRegression.from_formula(formula, **{**BUDGET, **said, **params})


def columns_of(model):
    return tomllib.loads(model.schema_.to_toml())["columns"]


@pytest.mark.parametrize("where", ["schema", "ranges"])
def test_terms_are_the_columns_that_ranges_would_say(formulaic, where):
    frame = frame_of()
    fitted = of("income ~ curve(age, 6) + log(wage) + `two words` + C(job)", where).fit(frame)
    names = ["age", "wage", "two words", "job"]
    what = {"age": Curve(17, 90, 6), "wage": Curve(0, 1e5, "auto", "log"), **{k: RANGES[k] for k in names[2:]}}
    if where == "schema":
        what["age"] = Curve(17, 90, 6, missing="?", missing_level=True)
    plain = PrivateLogisticRegression(**BUDGET, ranges=what, classes=["poor", "rich"])
    plain.fit(frame[names], frame["income"])
    assert sorted(fitted.coef_names_) == sorted(plain.coef_names_)
    assert list(fitted.feature_names_in_) == names
    found, wanted = columns_of(fitted), columns_of(plain)
    for name in names:
        assert {key: found[name][key] for key in wanted[name]} == wanted[name], name
    if where == "ranges":
        np.testing.assert_array_equal(fitted.coef_, plain.coef_)
    else:
        assert found["sex"] == {"type": "ignore"}
    # The frame as it is, other columns and the label among them, in any order.
    again = fitted.predict_proba(frame[names])
    np.testing.assert_array_equal(fitted.predict_proba(frame[list(reversed(frame.columns))]), again)
    assert fitted.score(frame, frame["income"]) > 0.8


def test_plain_terms_stay_as_they_are_said(formulaic):
    frame = frame_of(400)
    columns = columns_of(of("income ~ `two words` + sex - 1").fit(frame))
    assert columns["two words"]["knots"] == [0, 0.25, 0.5, 0.75, 1]
    assert columns["sex"]["levels"] == ["f", "m"]
    fitted = of("income ~ age + curve(`two words`)").fit(frame)
    assert list(fitted.coef_names_)[:2] == ["age", "age=(missing)"]
    assert columns_of(fitted)["two words"] == columns["two words"]  # what is listed is not chosen
    assert columns_of(of("income ~ curve(log(wage), 7)", "ranges").fit(frame))["wage"]["knots"] == pytest.approx(
        columns_of(of("income ~ log(curve(wage, 7))", "ranges").fit(frame))["wage"]["knots"]
    )
    assert of("income ~ wage - 1", "ranges").fit_intercept is False
    assert set(columns_of(of("income ~ .").fit(frame))) == {*RANGES}


def test_labels_and_tables_of_every_kind(formulaic):
    frame = frame_of(600)
    pyarrow = pytest.importorskip("pyarrow")
    wanted = of("income ~ age + sex").fit(frame)
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    tables = [table]
    try:
        import polars

        tables.append(polars.from_arrow(table))
    except ImportError:
        pass
    for one in tables:
        fitted = of("income ~ age + sex").fit(one)
        np.testing.assert_array_equal(fitted.coef_, wanted.coef_)
        np.testing.assert_array_equal(fitted.predict_proba(one), wanted.predict_proba(frame))
    given = of("income ~ age + sex").fit(frame.drop(columns="income"), frame["income"])
    np.testing.assert_array_equal(given.coef_, wanted.coef_)
    with pytest.raises(ValueError, match="the formula's label 'income' is no column of it"):
        of("income ~ age").fit(frame.drop(columns="income"))
    with pytest.raises(ValueError, match="X: lacks 'age' of the formula"):
        of("income ~ age").fit(frame.drop(columns="age"))
    with pytest.raises(ValueError, match="is no column of it; give a table"):
        of("income ~ age").fit(frame[["age"]].to_numpy())


def test_a_formula_goes_with_clones_and_pickles(formulaic):
    frame = frame_of(500)
    model = of("income ~ curve(age, 5) + sex")
    fitted = pickle.loads(pickle.dumps(model)).fit(frame)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(fitted)).predict_proba(frame), fitted.predict_proba(frame)
    )
    sklearn = pytest.importorskip("sklearn.base")
    np.testing.assert_array_equal(sklearn.clone(model).fit(frame).coef_, fitted.coef_)


def test_a_formula_model_read_back_takes_the_same_frame(formulaic, tmp_path):
    frame = frame_of(600)
    model = of("income ~ curve(age, 5) + sex").fit(frame)
    model.save(tmp_path / "m.json")
    again = PrivateLogisticRegression.from_file(tmp_path / "m.json")
    for one in (again, pickle.loads(pickle.dumps(again))):
        for table in (frame, frame[list(reversed(frame.columns))], frame[["age", "sex"]]):
            np.testing.assert_array_equal(one.predict_proba(table), model.predict_proba(frame))
        with pytest.raises(ValueError, match="now missing: 'sex'"):
            one.predict(frame[["age", "job"]])
    wanted = model.score(frame, frame["income"])
    assert model.score(frame) == again.score(frame) == wanted
    for one in (model, again):
        with pytest.raises(ValueError, match=r"score: y is missing; give the labels: score\(X, y\)"):
            one.score(frame[["age", "sex"]])
    assert repr(of("income ~ age*sex", "ranges")).startswith("PrivateLogisticRegression.from_formula('income ~ age*sex', epsilon=20.0, ")
    assert "interactions" not in repr(of("income ~ age*sex", "ranges"))


def test_regressors_and_exposures(formulaic):
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(5)
    years = random.uniform(1, 5, 2000)
    frame = pandas.DataFrame({"age": random.uniform(0, 50, 2000), "years": years})
    frame["events"] = random.poisson(years * np.exp(frame["age"] / 50 - 1)).clip(0, 20)
    ranges = {"age": (0, 50), "years": ("exposure", 1, 5)}
    fitted = PrivatePoissonRegressor.from_formula(
        "events ~ age + exposure(years)", **BUDGET, ranges=ranges, highest=20
    ).fit(frame)
    assert fitted.coef_[0] == pytest.approx(1 / 50, rel=0.3)
    with pytest.raises(ValueError, match=r"is the exposure in ranges; write exposure\(years\)"):
        PrivatePoissonRegressor.from_formula("events ~ age + years", **BUDGET, ranges=ranges, highest=20)
    for ends, said in (((1, 5), '("exposure", 1, 5)'), ((0, 5), '("exposure", lowest above 0, 5)')):
        with pytest.raises(ValueError) as raised:
            PrivatePoissonRegressor.from_formula(
                "events ~ age + exposure(years)", **BUDGET, ranges={"age": (0, 50), "years": ends}, highest=20
            )
        assert str(raised.value).endswith(f"'years' is a number in ranges; write ranges={{\"years\": {said}}}")
    amount = PrivateLinearRegression.from_formula(
        "years ~ age", **BUDGET, ranges=ranges, target_range=(0, 10)
    ).fit(frame)
    assert amount.intercept_ == pytest.approx(3, abs=0.5)


def test_without_a_constant_a_model_goes_through_zero_or_is_refused(formulaic):
    low = "- 1: 'age' counts from the low end of its range, 17"
    for where in ("schema", "ranges"):
        for formula, wrong in (("income ~ age - 1", low), ("income ~ 0 + age + wage", low), ("income ~ age*wage - 1", "age:wage holds")):
            with pytest.raises(ValueError) as raised:
                of(formula, where)
            assert wrong in str(raised.value) and "leave - 1 out" in str(raised.value)
        for formula in ("income ~ wage - 1", "income ~ age + sex - 1", "income ~ curve(age, 5) - 1"):
            of(formula, where)
    frame = frame_of(2000)
    frame["score"] = frame["wage"] / 2000
    lines = {**BUDGET, "ranges": {"wage": (0, 1e5)}}
    for ends in ((0, 60), (-10, 60)):
        with pytest.raises(ValueError, match="'score' counts from the middle of its range"):
            PrivateLinearRegression.from_formula("score ~ wage - 1", **lines, target_range=ends)
    fitted = PrivateLinearRegression.from_formula("score ~ wage - 1", **lines, target_range=(-60, 60)).fit(frame)
    assert fitted.intercept_ == 0 and fitted.coef_[0] == pytest.approx(1 / 2000, rel=0.05)
    with pytest.raises(ValueError, match="- 1: the mean of a count"):
        PrivatePoissonRegressor.from_formula("n ~ wage - 1", **lines, highest=9)


@pytest.mark.parametrize(
    "formula, wrong",
    [
        ("income", "with one ~"),
        ("income ~ age ~ sex", "with one ~"),
        ("log(income) ~ age", "the label must be one column"),
        ("income + sex ~ age", "the label must be one column"),
        ("sex ~ age", "the schema's label is 'income'"),
        ("income ~ 1", "has no terms"),
        ("income ~ age +", "cannot be read"),
        ("income ~ curve(age", "cannot be read"),
        ("income ~ age | sex", "| is not known; there are no random effects"),
        ("income ~ sex + age**2", "age**2 would be age alone; write curve(age) for an effect that bends"),
        ("income ~ `a b`^2", "write curve(`a b`)"),
        ("income ~ age + age:age", "a product names 'age' twice"),
        ("income ~ log(wage):log(wage)", "which would be log(wage) alone; leave it out"),
        ("income ~ 2*age", "cannot be read"),
        ("income ~ agee", "the schema does not know 'agee'"),
        ("income ~ np.log(wage)", "'np.log(wage)' is not known; terms are"),
        ("income ~ I(age ** 2)", "is not known"),
        ("income ~ curve(age, 'many')", "is not known"),
        ("income ~ curve(age, 8, 9)", "is not known"),
        ("income ~ curve(age, True)", "is not known"),
        ("income ~ C(C(sex))", "is not known"),
        ("income ~ age + log(age)", "'age' is in it twice"),
        ("income ~ age + income", "the label 'income' is a term too"),
        ("income ~ C(age)", "list its levels there"),
        ("income ~ curve(sex)", "curves and log are of numbers"),
        ("income ~ exposure(age)", "'age' is a number in the schema; give it type = \"exposure\" there"),
        ("income ~ exposure(sex)", "'sex' is a category in the schema; leave exposure() out"),
        ("income ~ age + offset(log(wage))", 'exposure(x), without log, and ranges={"x": ("exposure", lowest, highest)}'),
        ("~ age", 'has no label; write "label ~ terms"'),
        ("income ~ log(`two words`)", "lists the knots of 'two words'"),
        ("income ~ age:sex", "is in a product and not as the same term by itself"),
        ("income ~ curve(age, 8) + age:sex + sex", "is in a product and not as the same term"),
        (7, "must be a str"),
    ],
)
def test_what_is_refused(formulaic, formula, wrong):
    with pytest.raises(ValueError) as raised:
        of(formula)
    assert wrong in str(raised.value) and "\n" not in str(raised.value) and "\x1b" not in str(raised.value)


def test_effects_of_terms_name_the_column(formulaic):
    model = of("income ~ log(wage) + curve(age, 4) + C(sex)", "ranges", intervals=True).fit(frame_of(3000))
    for text, said in [
        ("log(wage)", "'wage=100000 - wage=0'"),
        ("2*log(wage) - sex=f", "log(wage) is a term of a formula"),
        ("curve(age, 4)", "'age=90 - age=17'"),
        ("C(sex)", "'sex=f'"),
    ]:
        with pytest.raises(ValueError) as raised:
            model.effect(text)
        assert said in str(raised.value) and "\n" not in str(raised.value)
    assert set(model.effect("wage=100000 - wage=0")) >= {"estimate", "lower", "upper"}


def test_text_labels_need_classes(formulaic):
    frame = frame_of(200)
    model = PrivateLogisticRegression.from_formula("income ~ age", **BUDGET, ranges=RANGES)
    for fit in (
        lambda: model.fit(frame),
        lambda: PrivateLogisticRegression(**BUDGET, ranges={"age": (17, 90)}).fit(frame[["age"]], frame["income"]),
    ):
        with pytest.raises(ValueError, match=r'^classes: is missing, and the labels of y are text; .* classes=\["no", "yes"\]$'):
            fit()


def test_knots_are_checked_by_the_engine(formulaic):
    with pytest.raises(ValueError, match="knots must be from 2"):
        of("income ~ curve(age, 1)", "ranges")
    with pytest.raises(gibbsite.BadInput, match="curve"):
        of("income ~ curve(age, 1)").fit(frame_of(100))


def test_products_are_interactions(formulaic):
    takes = "interactions" in PrivateLogisticRegression._parameters()
    if not takes:
        for where in ("schema", "ranges"):
            with pytest.raises(ValueError, match="sex:job: this PrivateLogisticRegression has no"):
                of("income ~ sex*job", where)
        return
    model = of("income ~ sex*job + age", "ranges")
    assert model.interactions == [("sex", "job")]
    frame = frame_of(2000)
    by_schema = tomllib.loads(of("income ~ sex*job + age").fit(frame).schema_.to_toml())
    assert [one["columns"] for one in by_schema["interaction"]] == [["sex", "job"]]
    assert len(model.fit(frame).coef_names_) > 7


def test_the_parser_is_optional(monkeypatch):
    for name in ("formulaic", "formulaic.parser"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="takes formulaic; install it") as raised:
        of("income ~ age")
    assert "\n" not in str(raised.value)
    with pytest.raises(ValueError, match="give schema or ranges, one of them"):
        PrivateLogisticRegression.from_formula("income ~ age", 1.0, 1e-6)
