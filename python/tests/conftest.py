import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before scipy: one more of scikit-learn's checks runs

import numpy as np
import pytest

LEVELS = ["clerk", "farmer", "other work"]
TOML = """label = "income"
positive = "high"
negative = "low"
missing = "?"

[columns]
age = {type = "number", range = [17, 90]}
job = {type = "category", levels = ["clerk", "farmer", "other work"], missing = "?"}
height = {type = "number", range = [1.0, 2.5]}
"""


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Ledgers are remembered here, not in the home of who tests."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def numbers(rows=2000, columns=3, seed=0):
    """X [rows, columns] within -3..3 and labels 0, 1 that the first two columns decide."""
    random = np.random.default_rng(seed)
    X = random.uniform(-3, 3, size=(rows, columns))
    y = (X[:, 0] - 0.5 * X[:, 1] + random.logistic(size=rows) * 0.2 > 0).astype(np.int64)
    return X, y


def people(rows=300, seed=1):
    """Columns of a table of both kinds, none missing: age (int), job, height (float), income."""
    random = np.random.default_rng(seed)
    age = random.integers(10, 95, size=rows)
    job = np.array(LEVELS)[random.integers(0, 3, size=rows)]
    height = np.round(random.normal(1.7, 0.2, size=rows), 2)
    high = age / 50 + (job == "clerk") + random.logistic(size=rows) * 0.3 > 1.5
    return {
        "age": age,
        "job": job.astype(object),
        "height": height,
        "income": np.where(high, "high", "low").astype(object),
    }
