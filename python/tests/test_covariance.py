"""Means, standard deviations and correlations of several columns."""

import gibbsite
import numpy as np
import pytest

TOML = """
[columns]
a = {type = "number", range = [-4, 4]}
b = {type = "number", range = [-10, 10]}
c = {type = "category", levels = ["x", "y"]}
"""


def rows_of(tmp_path, n=20_000):
    rng = np.random.default_rng(5)
    a = rng.standard_normal(n)
    b = 1.6 * a + 1.2 * rng.standard_normal(n)
    lines = ["a,b,c"] + [f"{x:.4f},{y:.4f},x" for x, y in zip(a, b)]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "table.toml").write_text(TOML)
    schema = gibbsite.Schema.read_covariance(tmp_path / "table.toml", ["a", "b"])
    data = gibbsite.read_table(
        tmp_path / "table.csv", schema, labels_optional=True, ignore_extra_columns=True
    )
    return schema, data


def test_moments_are_released_and_verify(tmp_path):
    schema, data = rows_of(tmp_path)
    plan = gibbsite.plan_covariance(epsilon=1.0, delta=1e-6, rows=data.rows, schema=schema)
    assert plan.mechanism == "moments"
    release = gibbsite.fit_covariance(data, plan)
    assert release.verify()
    assert release.columns == ["a", "b"]
    assert np.linalg.eigvalsh(release.covariance).min() >= -1e-12
    assert np.allclose(np.diag(release.correlation), 1)
    # The noise of the correlation is 0.02: ten deviations.
    assert abs(release.correlation[0, 1] - 0.8) < 0.2
    found = {(e["what"], e["column"]): e for e in release.estimates()}
    assert found["mean", "a"]["low"] < found["mean", "a"]["high"]
    assert found["correlation", "b"]["other"] == "a"
    release.write(tmp_path / "moments.json")
    assert gibbsite.verify(tmp_path / "moments.json")
    read = gibbsite.CovarianceRelease.read(tmp_path / "moments.json")
    assert np.array_equal(read.covariance, release.covariance)


def test_rows_of_a_person_that_nobody_counts(tmp_path):
    schema, data = rows_of(tmp_path)
    plan = gibbsite.plan_covariance(epsilon=1.0, delta=1e-6, rows=data.rows, schema=schema, rows_per_person=2)
    with pytest.warns(gibbsite.FitWarning, match="rows_per_person: nothing enforces it"):
        gibbsite.fit_covariance(data, plan)


def test_bad_plans_name_what_is_wrong(tmp_path):
    schema, data = rows_of(tmp_path, 50)
    with pytest.raises(gibbsite.BadInput, match="columns"):
        gibbsite.Schema.read_covariance(tmp_path / "table.toml", ["a", "c"])
    with pytest.raises(gibbsite.BadInput, match="rows_cap"):
        gibbsite.plan_covariance(
            epsilon=1.0, delta=1e-6, rows=50, schema=schema, adjacency="add-remove"
        )
    plan = gibbsite.plan_covariance(epsilon=1.0, delta=1e-6, rows=49, schema=schema)
    with pytest.raises(gibbsite.BadInput, match="plan again"):
        gibbsite.fit_covariance(data, plan)
    assert not gibbsite.fit_covariance(
        data, gibbsite.plan_covariance(epsilon=1.0, delta=1e-6, rows=50, schema=schema), seed=1
    ).verify()
