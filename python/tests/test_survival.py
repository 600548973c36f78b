"""docs/how-to/survival.md: person-periods and their fits, by the functions of experiments/bench-survival."""

import importlib.machinery
import importlib.util
import pathlib

import numpy as np
import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "experiments" / "bench-survival"

pytestmark = [
    pytest.mark.skipif(not SCRIPT.exists(), reason="no checkout: no experiments here"),
    pytest.mark.filterwarnings("ignore::gibbsite.VoidWarning", "ignore::gibbsite.FitWarning"),
]


@pytest.fixture(scope="module")
def bench():
    for name in ("pandas", "pyarrow", "formulaic"):
        pytest.importorskip(name, reason=f"{name} is not installed: no hazards are fitted")
    loader = importlib.machinery.SourceFileLoader("bench_survival", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_survival", loader))
    loader.exec_module(module)
    return module


def made_up(count):
    """People whose hazard is .01 a year until the fifth and .03 afterwards, times exp(.05 (age - 75)); half of it in women;
    censored after 3 to 15 years."""
    import pandas

    random = np.random.default_rng(8)
    age, man = random.uniform(50, 100, count), random.integers(0, 2, count)
    sum_of_hazards = random.exponential(size=count) / (np.exp(0.05 * (age - 75)) * np.where(man, 1, 0.5))
    years = np.where(sum_of_hazards < 0.05, sum_of_hazards / 0.01, 5 + (sum_of_hazards - 0.05) / 0.03)
    end = random.uniform(3, 15, count)
    return pandas.DataFrame(
        {
            "age": age,
            "sex": np.where(man, "M", "F"),
            "light_chains": random.uniform(1, 10, count),
            "years": np.minimum(years, end),
            "died": (years <= end).astype(int),
        }
    )


def test_periods_hold_the_years_and_the_deaths(bench):
    people = made_up(500)
    rows = bench.periods_of(people, [0, 5, 10, 15])
    assert rows["years"].sum() == pytest.approx(people["years"].sum())
    assert rows["died"].sum() == people["died"].sum()
    assert rows["years"].between(0, 5).all() and set(rows["time"]) == {2.5, 7.5, 12.5}
    assert len(rows) == sum(np.ceil(people["years"] / 5))


def test_hazards_are_found_with_a_guarantee_for_people(bench):
    people = made_up(20_000)
    model = bench.private(people, [0, 5, 10, 15], 2, 20.0, 1)
    certificate = model.certificate_
    assert certificate["guarantee"]["rows_per_person"] == 3
    assert certificate["guarantee"]["adjacency"] == "add-remove"
    slope = dict(zip(model.coef_names_, model.coef_))
    assert slope["age"] == pytest.approx(0.05, rel=0.15)
    assert slope["sex=M"] - slope["sex=F"] == pytest.approx(np.log(2), abs=0.15)
    assert slope["light_chains"] == pytest.approx(0, abs=0.02)
    late = np.exp(slope["time=7.5"] - slope["time=2.5"]), np.exp(slope["time=12.5"] - slope["time=2.5"])
    assert late == pytest.approx((3, 3), rel=0.25)
    survival = bench.ten_year_survival(model, people, [0, 5, 10, 15])
    hazard = 0.2 * np.exp(0.05 * (people["age"] - 75)) * np.where(people["sex"] == "M", 1, 0.5)
    assert survival == pytest.approx(np.exp(-hazard).mean(), abs=0.03)
