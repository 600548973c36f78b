"""A private choice among candidates, and what certificates say to other accountants."""

import json

import gibbsite
import numpy as np
import pytest


def scores():
    rng = np.random.default_rng(3)
    return np.column_stack([rng.uniform(0.8, 1.0, 400), rng.uniform(0.0, 0.2, (400, 2))])


def test_the_best_is_chosen_and_verifies(tmp_path):
    release = gibbsite.select(scores(), candidates=["a", "b", "c"], epsilon=1.0)
    assert release.chosen == "a"  # the others have e^-100 of its probability
    assert release.candidates == ["a", "b", "c"]
    assert release.verify()
    release.write(tmp_path / "choice.json")
    assert gibbsite.verify(tmp_path / "choice.json")
    assert gibbsite.SelectRelease.read(tmp_path / "choice.json").chosen == "a"
    assert json.loads(release.to_json())["model"]["range"] == [0, 1]


def test_a_choice_is_entered_and_seeded_ones_are_void(tmp_path):
    ledger = gibbsite.Ledger.create(tmp_path / "l.ledger", epsilon=2.0, delta=1e-6)
    with pytest.raises(gibbsite.BudgetSpent):
        gibbsite.select(scores(), candidates=["a", "b", "c"], epsilon=3.0, ledger=ledger)
    gibbsite.select(scores(), candidates=["a", "b", "c"], epsilon=0.5, ledger=ledger)
    assert not gibbsite.select(scores(), candidates=["a", "b", "c"], epsilon=1.0, seed=1).verify()


@pytest.mark.parametrize(
    "wrong, name",
    [
        ({"candidates": ["a", "b"]}, "candidates"),
        ({"candidates": ["a", "b", "b"]}, "candidates"),
        ({"range": (1.0, 0.0)}, "range"),
        ({"rows_cap": 500}, "rows_cap"),
        ({"adjacency": "add-remove"}, "rows_cap"),
        ({"adjacency": "add-remove", "rows_cap": 399}, "rows_cap"),
    ],
)
def test_bad_input_is_named(wrong, name):
    arguments = {"candidates": ["a", "b", "c"], "epsilon": 1.0, **wrong}
    with pytest.raises(gibbsite.BadInput, match=name):
        gibbsite.select(scores(), **arguments)


def test_other_accountants_are_told():
    release = gibbsite.select(scores(), candidates=["a", "b", "c"], epsilon=1.0)
    assert release.rdp(2) == pytest.approx(0.25)
    rho, xi, delta = release.zcdp
    assert rho == pytest.approx(1 / 8)
    assert xi < 1e-10 and delta < 1e-23
    with pytest.raises(gibbsite.BadInput, match="rdp"):
        release.rdp(1)


def test_budgets_of_zcdp_and_rdp_are_kept():
    shape = {"rows": 5000, "features": 5, "row_norm": 1.0, "delta": 1e-6}
    plan = gibbsite.plan(rho=0.02, **shape)
    assert plan.feasible and plan.epsilon == pytest.approx(0.99, abs=0.5)
    assert gibbsite.plan(epsilon=0.2, rdp=10, **shape).feasible
    with pytest.raises(gibbsite.BadInput, match="epsilon"):
        gibbsite.plan(epsilon=1.0, rho=0.02, **shape)
    with pytest.raises(TypeError, match="epsilon"):
        gibbsite.plan(**shape)
