"""Transitions in the package: the program's numbers."""

import gibbsite
import numpy as np
import pytest

TOML = """[columns]
person = {type = "person"}
before = {type = "category", levels = ["well", "ill", "dead"]}
after = {type = "category", levels = ["well", "ill", "dead"]}
score = {type = "category", levels = ["a", "b"]}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chance = np.random.default_rng(1)
    matrix = np.array([[0.8, 0.15, 0.05], [0.3, 0.6, 0.1], [0, 0, 1]])
    lines = ["person,before,after,score"]
    states = ["well", "ill", "dead"]
    for person in range(1000):
        at = int(chance.integers(2))
        for _ in range(3):
            after = int(chance.choice(3, p=matrix[at]))
            lines.append(f"{person},{states[at]},{states[after]},a")
            at = after
    (tmp_path / "steps.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "steps.toml").write_text(TOML)
    return tmp_path


def released(columns=("before", "after"), **more):
    return gibbsite.transitions(
        "steps.csv", "steps.toml", columns, epsilon=2.0, delta=1e-6, rows_per_person=3, **more
    )


def test_are_the_programs(folder):
    command = ["fit", "--model", "transitions", "--data", "steps.csv", "--schema", "steps.toml", "--columns"]
    command += ["before,after", "--epsilon", "2", "--delta", "1e-6", "--rows-per-person", "3", "--seed", "3"]
    assert gibbsite.run_command([*command, "--out", "program.json", "--quiet"]) == 0
    of = released(seed=3)
    of.write("package.json")
    assert (folder / "package.json").read_bytes() == (folder / "program.json").read_bytes()
    assert of.states == ["well", "ill", "dead"]
    assert of.matrix.shape == of.lower.shape == of.upper.shape == (3, 3)
    np.testing.assert_allclose(of.matrix.sum(axis=1), 1)
    assert (of.lower <= of.matrix).all() and (of.matrix <= of.upper).all()
    again = gibbsite.Transitions.read("program.json")
    np.testing.assert_array_equal(of.matrix, again.matrix)
    np.testing.assert_array_equal(of.long_run, again.long_run)
    assert of.long_run.shape == (3, 3)
    assert repr(again).startswith("<gibbsite.Transitions: before → after, <gibbsite.NetworkRelease")


def test_refuse_other_states(folder):
    with pytest.raises(gibbsite.BadInput, match="same levels"):
        released(("before", "score"))
    with pytest.raises(gibbsite.BadInput, match="two columns"):
        released(("before",))
    table = gibbsite.table("steps.csv", "steps.toml", ["before", "score"], epsilon=2.0, delta=1e-6, rows_per_person=3)
    with pytest.raises(gibbsite.BadInput, match="transitions"):
        gibbsite.Transitions(table.release)


def test_ledger(folder):
    ledger = gibbsite.Ledger.create("people.ledger", epsilon=2.5, delta=1e-5, people=True)
    released(ledger=ledger)
    with pytest.raises(gibbsite.BudgetSpent):
        released(ledger=ledger)
