"""What a released file guarantees of one column of a person."""

import gibbsite
import pytest

TOML = """
[columns]
a = {type = "number", range = [0, 100]}
b = {type = "number", range = [0, 1]}
"""


def test_of_moments(tmp_path):
    lines = ["a,b"] + [f"{i % 100},{(i % 7) / 7:.3f}" for i in range(2000)]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "table.toml").write_text(TOML)
    schema = gibbsite.Schema.read_covariance(tmp_path / "table.toml", ["a", "b"])
    data = gibbsite.read_table(tmp_path / "table.csv", schema, labels_optional=True)
    plan = gibbsite.plan_covariance(epsilon=1.0, delta=1e-6, rows=data.rows, schema=schema)
    path = tmp_path / "moments.json"
    gibbsite.fit_covariance(data, plan).write(path)
    whole = gibbsite.column_guarantee(path, "a")
    ten = gibbsite.column_guarantee(path, "a", moves_by=10)
    assert 0 < ten["epsilon"] < whole["epsilon"] < 1
    assert whole["delta"] == 1e-6
    assert 0.5 < ten["best_guess"] < whole["best_guess"] < 1
    assert "a weaker unit" in ten["words"]
    with pytest.raises(gibbsite.BadInput, match="no column 'c'"):
        gibbsite.column_guarantee(path, "c")
    with pytest.raises(gibbsite.BadInput, match="moves_by"):
        gibbsite.column_guarantee(path, "a", moves_by=-1)
    (tmp_path / "edited.json").write_text(path.read_text().replace('"rows": 2000', '"rows": 3000'))
    with pytest.raises(gibbsite.Infeasible, match="NOT VALID"):
        gibbsite.column_guarantee(tmp_path / "edited.json", "a")
