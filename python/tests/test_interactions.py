"""Interactions: what `interactions` says to the engine, and what their coefficients mean."""

import tomllib

import numpy as np
import pytest

import gibbsite
from gibbsite import Curve, PrivateLinearRegression, PrivateLogisticRegression

pytestmark = pytest.mark.filterwarnings(
    "ignore::gibbsite.VoidWarning", "ignore::gibbsite.FitWarning", "ignore:X does not have valid feature names"
)


def crossed(rows=4000, seed=0):
    """X [rows, 2] of an age and a side, 0 or 1; the effect of age has the side's sign."""
    random = np.random.default_rng(seed)
    age, side = random.uniform(0, 40, rows), random.integers(0, 2, rows).astype(float)
    score = np.where(side == 1, 1, -1) * (age - 20) / 5
    return np.stack([age, side], axis=1), (score + random.logistic(size=rows) > 0).astype(np.int64)


def model(interactions, ranges=None, kind=PrivateLogisticRegression, **params):
    ranges = {0: (0, 40), 1: (0, 1)} if ranges is None else ranges
    return kind(20.0, 1e-6, ranges=ranges, random_state=1, interactions=interactions, **params)


def test_an_interaction_finds_what_columns_alone_cannot():
    X, y = crossed()
    assert model(None).fit(X, y).score(X, y) < 0.6
    fitted = model([(0, 1)]).fit(X, y)
    assert fitted.score(X, y) > 0.8
    assert list(fitted.coef_names_) == [
        "0", "1", "0 × 1=0 × 0", "0 × 1=0 × 1", "0 × 1=40 × 0", "0 × 1=40 × 1"
    ]
    # The log-odds are the sum of products with the coefficients, by hand.
    a, b = X[:, 0] / 40, X[:, 1]
    parts = np.stack([X[:, 0], b, (1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b], axis=1)
    by_hand = parts @ fitted.coef_[0] + fitted.intercept_[0]
    np.testing.assert_allclose(fitted.decision_function(X), by_hand, rtol=0, atol=1e-5)


def test_what_they_say_to_the_engine():
    X, y = crossed(200)
    ranges = [Curve(0, 40, knots=[10, 20, 30]), ["0.0", "1.0"]]
    said = [{"columns": ("x0", "x1")}, {"columns": ["x1", "x0"], "curve": np.int64(3)}]
    for interactions, knots in (([said[0]], [0, 10, 30, 40]), ([said[1]], [0, 20, 40])):
        schema = tomllib.loads(model(interactions, ranges).fit(X, y).schema_.to_toml())
        assert schema["interaction"] == [
            {"columns": list(interactions[0]["columns"]), "knots": {"x0": knots}}
        ]


def test_of_amounts():
    X, y = crossed(500)
    fitted = model([(0, 1)], kind=PrivateLinearRegression, target_range=(0, 1)).fit(X, y)
    assert len(fitted.coef_) == 6


@pytest.mark.parametrize(
    "interactions, said",
    [
        ("age", "a list of tuples"),
        ({"columns": (0, 1)}, "a list of tuples"),
        (3, "a list of tuples"),
        (["age"], "each must be a tuple"),
        ([(0, True)], "each must be a tuple"),
        ([(0, 1.0)], "each must be a tuple"),
        ([{"columns": (0, 1), "knots": 3}], "each must be a tuple"),
        ([{"columns": (0, 1), "curve": "auto"}], "each must be a tuple"),
        ([{"curve": 3}], "each must be a tuple"),
        ([(0, "age")], "no column is called 'age'"),
        ([(0, 7)], "no column is called '7'"),
        ([(0, 0)], "twice"),
        ([(0,)], "name 2 or 3"),
        ([{"columns": (0, 1), "curve": 1}], "from 2 to 1000"),
    ],
)
def test_what_is_wrong_is_said(interactions, said):
    X, y = crossed(100)
    with pytest.raises(ValueError, match=said) as error:
        model(interactions).fit(X, y)
    assert "\n" not in str(error.value)


def test_a_schema_says_them_itself(tmp_path):
    X, y = crossed(100)
    text = 'label = "y"\npositive = "1"\n[columns]\na = {type = "number", range = [0, 40]}\nb = {type = "number", range = [0, 1]}\n'
    with pytest.raises(ValueError, match="interactions: goes with ranges"):
        PrivateLogisticRegression(1.0, 1e-6, schema=text, interactions=[("a", "b")]).fit(X, y)
    schema = text + '[[interaction]]\ncolumns = ["a", "b"]\n'
    fitted = PrivateLogisticRegression(20.0, 1e-6, schema=schema, random_state=1).fit(X, y)
    assert len(fitted.coef_[0]) == 6
    fitted.save(tmp_path / "m.json")
    again = PrivateLogisticRegression.from_file(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


def command(*arguments):
    assert gibbsite.run_command([str(argument) for argument in arguments]) == 0


@pytest.mark.parametrize(
    "label, options",
    [
        ('positive = "1"', ["--intervals"]),
        ('positive = "1"', ["--mechanism", "path"]),
        ('positive = "1"', ["--mechanism", "output"]),
        ('positive = "1"', ["--mechanism", "objective"]),
        ('range = [0, 1]\ntolerance = 0.5', ["--intervals"]),
        ('range = [0, 10]\ncounts = true', ["--intervals"]),
        ('classes = ["0", "1", "2"]', ["--intervals"]),
    ],
)
def test_files_verify_and_commands_say_the_features(tmp_path, capfd, label, options):
    X, y = crossed(3000)
    rows = "".join(f"{a},{'bc'[int(b)]},{c}\n" for (a, b), c in zip(X, y))
    (tmp_path / "t.csv").write_text("a,side,y\n" + rows)
    (tmp_path / "t.toml").write_text(
        f'label = "y"\n{label}\n[columns]\na = {{type = "number", range = [0, 40], curve = "auto"}}\n'
        'side = {type = "category", levels = ["b", "c"]}\n[[interaction]]\ncolumns = ["a", "side"]\n'
    )
    table = ["--data", tmp_path / "t.csv", "--schema", tmp_path / "t.toml"]
    budget = ["--epsilon", 4, "--delta", 1e-6]
    command("plan", *table, *budget)
    assert "interactions: a × side (8) features\n" in capfd.readouterr().out
    command("fit", *table, *budget, *options, "--out", tmp_path / "m.json", "--verbose")
    assert "interactions: a × side (8) features\n" in capfd.readouterr().out
    command("verify", tmp_path / "m.json")
    command("evaluate", "--model", tmp_path / "m.json", "--data", tmp_path / "t.csv")
    command("report", tmp_path / "m.json", "--out", tmp_path / "m.html")
    assert "interaction of 8 features; a at 0 " in (tmp_path / "m.html").read_text()
    if "--intervals" in options and "classes" not in label:
        capfd.readouterr()
        effect = "a*side=35*c - a*side=5*c - a*side=35*b + a*side=5*b"
        command("query", "--model", tmp_path / "m.json", "--effect", effect)
        said = capfd.readouterr().out  # the sign is the noise's: this effect is hidden by it
        assert f"{effect}: +" in said or f"{effect}: -" in said
