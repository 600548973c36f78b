"""Decisions by released probabilities: the bound of the regret against brute force."""

import gibbsite
import numpy as np
import pytest
from conftest import TOML, people
from test_network import fitted, read, text_of


def largest_regret(table, chosen, points):
    """How much better another action is at the most, over probabilities [points, outcomes]."""
    utilities = points @ table.T
    return (utilities.max(axis=1) - utilities[:, chosen]).max()


def shares(k, steps):
    """All probabilities of k outcomes in steps of 1/steps [points, k]."""
    axes = np.indices((steps + 1,) * (k - 1)).reshape(k - 1, -1).T
    axes = axes[axes.sum(axis=1) <= steps]
    return np.column_stack([axes, steps - axes.sum(axis=1)]) / steps


def test_regret_is_the_largest_there_is():
    """Every bound holds and is reached, on a grid that has the corners of what is allowed."""
    rng = np.random.default_rng(1)
    steps = 40
    grid = shares(3, steps)
    seen = 0
    for _ in range(60):
        p = grid[rng.integers(len(grid))]
        table = rng.integers(-3, 4, (3, 3)).astype(float)
        low = np.maximum(p - rng.integers(0, 9, 3) / steps, 0)
        high = np.minimum(p + rng.integers(0, 9, 3) / steps, 1)
        l1 = 2 * rng.integers(0, 9) / steps
        inside = ((grid >= low - 1e-9) & (grid <= high + 1e-9)).all(axis=1)
        near = np.abs(grid - p).sum(axis=1) <= l1 + 1e-9
        for allowed, given in [(inside, {"lower": low, "upper": high}), (near, {"l1": l1})]:
            is_ = gibbsite.decide(p, table, **given)
            most = largest_regret(table, is_.action, grid[allowed])
            assert is_.regret == pytest.approx(most, abs=1e-9)
            assert is_.certain == (most < 1e-9)
            seen += most > 1e-9
        both = gibbsite.decide(p, table, lower=low, upper=high, l1=l1)
        assert both.regret >= largest_regret(table, both.action, grid[inside & near]) - 1e-9
        assert gibbsite.decide(p, table, l1=l1).regret <= np.ptp(table) * l1 + 1e-9
    assert seen >= 20


def test_sharp_constant():
    """Two even outcomes and opposite utilities lose the whole range times l1, docstring of decide."""
    is_ = gibbsite.decide([0.5, 0.5], [[1, 0], [0, 1]], l1=0.3)
    assert is_.action == 0 and is_.margin == 0 and not is_.certain
    assert is_.regret == pytest.approx(0.3)


def test_rows_names_and_functions():
    p = np.array([[0.9, 0.1], [0.2, 0.8]])
    is_ = gibbsite.decide(p, [[1, 0], [0.3, 0.4]], actions=["ask", "leave"], lower=p - 0.3, upper=p + 0.3)
    assert list(is_.action) == ["ask", "leave"]
    assert is_.utilities == pytest.approx(np.array([[0.9, 0.31], [0.2, 0.38]]))
    assert is_.margin == pytest.approx([0.59, 0.18])
    assert list(is_.certain) == [True, False]  # at 0.5 of the first outcome: 0.5 against 0.35
    assert is_.regret == pytest.approx([0, 0.15])
    def loss(action, outcome):
        return -abs(action - outcome)
    one = gibbsite.decide([0.25, 0.75], loss, actions=[0, 5, 10], outcomes=[0, 10])
    assert (one.action, one.regret, one.certain) == (10, None, None)
    assert one.utilities == pytest.approx([-7.5, -5, -2.5])
    alone = gibbsite.decide([1.0, 0.0], [[1, 2]], l1=2)
    assert (alone.action, alone.margin, alone.regret, alone.certain) == (0, np.inf, 0, True)


def test_a_dominated_action_never_turns_it():
    is_ = gibbsite.decide([0.5, 0.5], [[1, 1], [1, 0], [1, 1]], l1=2)
    assert is_.action == 0 and is_.regret == 0 and is_.certain


def test_predict_proba():
    """Rows of estimators, in single precision as well."""
    p = np.array([[0.3, 0.7], [0.6, 0.4]], dtype=np.float32)
    assert list(gibbsite.decide(p, [[0, 1], [1, 0]]).action) == [0, 1]


def test_network(tmp_path):
    """The questions that the docstring asks."""
    schema = gibbsite.Schema.parse_network(TOML, "people.toml")
    path = tmp_path / "people.csv"
    path.write_text(text_of(people(3000)))
    net = fitted(read(str(path), schema), schema)
    levels = net.levels("job")
    asked = [f"P(job = {level} | income = high)" for level in levels]
    p = np.array([net.probability(question) for question in asked])
    reach = np.array([net.reach(question) for question in asked])
    is_ = gibbsite.decide(p, np.eye(len(levels)), actions=levels, lower=p - reach, upper=p + reach)
    assert is_.action == "clerk" == levels[p.argmax()]
    sure = gibbsite.decide(p, [2 * np.eye(len(levels))[0], np.eye(len(levels))[0]], lower=p - reach, upper=p + reach)
    assert sure.certain and sure.action == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"probabilities": [0.5, 0.6]}, "probabilities: must be 0 or more and sum to 1"),
        ({"probabilities": [1.5, -0.5]}, "probabilities: must be 0 or more"),
        ({"probabilities": []}, "probabilities: must be"),
        ({"probabilities": [np.nan, 1]}, "probabilities: must be finite"),
        ({"utility": [[1, 2, 3]]}, r"utility: must be \[actions, 2\]"),
        ({"utility": [["much", 2]]}, "utility: must be numbers"),
        ({"utility": lambda a, o: 1}, "actions: are missing"),
        ({"actions": ["ask"]}, "actions: are 1 names for 2 rows"),
        ({"lower": [0.1]}, "lower: must have the shape"),
        ({"lower": [0.6, 0.1]}, "lower, upper: must hold"),
        ({"upper": [0.6, 0.1]}, "lower, upper: must hold"),
        ({"l1": -1}, "l1: must be 0 or more"),
        ({"l1": [0.1, 0.2]}, "l1: must be 0 or more"),
    ],
)
def test_bad_input(arguments, why):
    given = {"probabilities": [0.5, 0.5], "utility": [[1, 0], [0, 1]], **arguments}
    with pytest.raises(gibbsite.BadInput, match=why):
        gibbsite.decide(given.pop("probabilities"), given.pop("utility"), **given)
