"""Pure draws of a logistic model from a lattice in a ball."""

import math

import gibbsite
import numpy as np
import pytest

SCHEMA = """
label = "y"
positive = "yes"
negative = "no"
intercept = true
row_norm = 1.0
[columns]
x = {type = "number", range = [0, 1]}
"""


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 1, 2000)
    lines = [f"{v:.4f},{'yes' if v > 0.5 else 'no'}" for v in x]
    (tmp_path / "table.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    (tmp_path / "table.toml").write_text(SCHEMA)
    return gibbsite.read_table(tmp_path / "table.csv", gibbsite.Schema.read(tmp_path / "table.toml"))


def test_a_draw_verifies_and_predicts(rows, tmp_path):
    release = gibbsite.draw_in_ball(rows, ball=8.0, epsilon=4.0)
    assert release.verify()
    theta = release.coefficients
    assert list(theta) == ["x", "(intercept)"]
    assert math.hypot(*theta.values()) <= 8 * (1 + 1e-12)
    assert theta["x"] > 0 > theta["(intercept)"]  # the others have below e^-30 of the probability
    p = release.predict_probabilities(rows)
    assert p.shape == (2000,)
    assert np.mean((p > 0.5) == (rows.positive > 0.5)) > 0.8
    release.write(tmp_path / "draw.json")
    assert gibbsite.verify(tmp_path / "draw.json")
    assert gibbsite.SelectRelease.read(tmp_path / "draw.json").coefficients == theta
    assert release.certificate["guarantee"]["epsilon"] == 4.0


def test_a_choice_among_names_has_no_coefficients(rows):
    release = gibbsite.select(np.eye(3), candidates=["a", "b", "c"], epsilon=1.0)
    assert release.coefficients is None
    with pytest.raises(gibbsite.BadInput, match="draw_in_ball"):
        release.predict_probabilities(rows)


@pytest.mark.parametrize(
    "wrong, name",
    [({"ball": 0.0}, "ball"), ({"ball": math.nan}, "ball"), ({"rows_cap": 9}, "rows_cap")],
)
def test_bad_input_is_named(rows, wrong, name):
    with pytest.raises(gibbsite.BadInput, match=name):
        gibbsite.draw_in_ball(rows, **{"ball": 2.0, "epsilon": 1.0, **wrong})
    with pytest.raises(TypeError, match="ball"):
        gibbsite.draw_in_ball(rows, epsilon=1.0)
