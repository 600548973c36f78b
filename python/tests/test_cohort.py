"""What an epidemiologist ran into: people and parts of dates in formulas, time zones, ledgers' paths, units of
weights, files of people, levels of arrays, words of errors."""

import pickle
import warnings

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLogisticRegression, PrivatePoissonRegressor

pd = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

RANGES = {"sex": ["F", "M"], "age": (18, 90), "vacc": "boolean"}
VISIT = {"type": "date", "range": ("2019-01-01", "2023-12-31"), "parts": ["month", "year"]}
SCHEMA = """[columns]
id = {type = "person"}
sex = {type = "category", levels = ["F", "M"]}
w = {type = "weight", range = [0, 2000]}
age = {type = "number", range = [18, 90]}
"""
STATES = """[columns]
stage = {type = "category", levels = ["0", "1", "2"]}
after = {type = "category", levels = ["0", "1", "2"]}
"""
LABEL = 'label = "ill"\npositive = "yes"\nnegative = "no"\n'
AGE = '[columns]\nage = {type = "number", range = [18, 90]}\n'
SEX = '[columns]\nsex = {type = "category", levels = ["F", "M"]}\n[network]\nsex = []\n'
BUDGET = {"epsilon": 2.0, "delta": 1e-7}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.FitWarning)
        yield


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    people = np.repeat(np.arange(2000), rng.integers(1, 7, 2000))
    n = len(people)
    out = pd.DataFrame({"id": [f"P{k:05d}" for k in people], "sex": rng.choice(["F", "M"], n)})
    out["age"] = rng.uniform(18, 90, n)
    out["vacc"] = rng.random(n) < 0.5
    out["visit"] = pd.to_datetime("2019-01-01") + pd.to_timedelta(rng.integers(0, 1500, n), unit="D")
    out["w"] = rng.choice([200.0, 800.0, 2000.0], n)
    out["years"] = rng.uniform(0.2, 2, n)
    out["events"] = rng.poisson(out["years"])
    out["stage"] = np.arange(n) % 3
    out["ill"] = np.where(rng.random(n) < 0.3, "yes", "no")
    return out


def of(formula, ranges=RANGES, **more):
    pytest.importorskip("formulaic", reason="formulaic is not installed: no formula is read")
    said = {"classes": ["no", "yes"], "ranges": ranges, **more}
    return PrivateLogisticRegression.from_formula(formula, **BUDGET, **said)


def fitted(frame, ranges=RANGES, **fit):
    model = PrivateLogisticRegression(**BUDGET, ranges=ranges, classes=["no", "yes"])
    return model.fit(frame[list(ranges)], frame["ill"], **fit)


# Formulas.


@pytest.mark.parametrize("formula", ["ill ~ age + sex", "ill ~ ."])
@pytest.mark.parametrize("said", ["person", {"type": "person"}])
def test_a_formula_keeps_the_people_of_ranges(frame, formula, said):
    model = of(formula, {**RANGES, "id": said}, rows_per_person=2)
    assert model.get_params()["ranges"]["id"] == said
    model.fit(frame)
    assert model.certificate_["constants"]["people"] == frame["id"].nunique()
    assert model.certificate_["constants"]["rows_of_person"] == 2
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(frame.drop(columns=["id", "ill"])) == model.predict(frame)).all()
    with pytest.raises(ValueError, match="lacks 'id'"):
        model.fit(frame.drop(columns="id"))
    with pytest.raises(ValueError, match="'id' says whose a row is in ranges"):
        of("ill ~ id", {"id": said})


def test_a_formula_keeps_the_people_and_weights_of_a_schema(frame):
    schema = LABEL + SCHEMA
    model = of("ill ~ age", None, schema=schema, classes=None).fit(frame)
    assert model.certificate_["constants"]["people"] == frame["id"].nunique()
    assert 'w = {type = "weight"' in model.schema_.to_toml()
    assert len(model.predict(frame.drop(columns=["id", "w", "ill"]))) == len(frame)
    with pytest.raises(ValueError, match="weights go beside X"):
        of("ill ~ age", {**RANGES, "w": {"type": "weight"}})


def test_booleans_in_formulas(frame):
    assert list(of("ill ~ C(vacc)").fit(frame).coef_names_) == ["vacc=false", "vacc=true"]
    with pytest.raises(ValueError, match="'vacc' is a category in ranges"):
        of("ill ~ curve(vacc)", {"vacc": {"type": "boolean"}})


def test_parts_of_dates_in_formulas(frame):
    model = of("ill ~ visit_month", {"visit": VISIT}).fit(frame)
    assert len(model.coef_names_) == 12 and model.coef_names_[0] == "visit_month=Jan"
    assert (pickle.loads(pickle.dumps(model)).predict(frame) == model.predict(frame)).all()
    names = of("ill ~ sex*visit_year + visit", {**RANGES, "visit": VISIT}).fit(frame).coef_names_
    assert {"visit", "visit_year"} < set(names) and not any("month" in name for name in names)
    assert of("ill ~ visit_year", {"visit": VISIT}).fit(frame).schema_.to_toml().count("[2019, 2023]") == 1
    assert list(of("ill ~ visit", {"visit": VISIT}).fit(frame).coef_names_) == ["visit"]
    assert len(of("ill ~ .", {"visit": VISIT}).fit(frame).coef_names_) == 14


# Dates.


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "UTC", None])
def test_a_date_is_the_day_that_the_user_sees(zone):
    days = pd.to_datetime(["2019-06-01 00:00", "2019-07-31 23:59"])
    frame = pd.DataFrame({"d": pd.Series(days).dt.tz_localize(zone)})
    schema = gibbsite.Schema.parse(
        'label = "y"\nrange = [0, 1]\n[columns]\nd = {type = "date", range = ["2019-06-01", "2019-07-31"]}\n', "s"
    )
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    tables = [frame, frame.astype(object), frame.astype(str), table, table.to_reader()]
    try:
        import polars

        tables.append(polars.from_pandas(frame))
    except ImportError:
        pass
    for one in tables:  # in UTC one of the two days would be outside of the range
        data = gibbsite.read_arrow(one, schema, labels=np.array([0.0, 1.0]))
        assert data.column_counts["d"]["clamped"] == 0, type(one)
    model = gibbsite.PrivateLinearRegression(
        **BUDGET, ranges={"d": {"type": "ignore", "range": ("2019-01-01", "2019-12-31"), "parts": ["month"]}},
        target_range=(0, 1), random_state=1,
    )
    with pytest.warns(gibbsite.VoidWarning):
        model.fit(frame, [0.0, 1.0])
    assert (model.predict(frame) == model.predict(frame.astype(object))).all()


def test_ids_with_a_zone_are_instants():
    days = pd.Series(pd.to_datetime(["2019-06-01 00:00", "2019-07-31 23:59"])).dt.tz_localize("Europe/Berlin")
    schema = gibbsite.Schema.parse(
        'label = "y"\nrange = [0, 1]\n[columns]\nid = {type = "person"}\nx = {type = "number", range = [0, 1]}\n', "s"
    )
    ids = pd.concat([days.astype(object), days.dt.tz_convert("UTC").astype(object)])
    frame = pd.DataFrame({"id": ids.to_numpy(), "x": 0.5})
    data = gibbsite.read_arrow(frame, schema, labels=np.zeros(4), rows_per_person=1)
    assert data.counted == 2
    tables = pytest.importorskip("gibbsite._tables")
    one = pd.DataFrame({"id": days, "x": 0.5, "d": days})
    dated = schema.to_toml() + 'd = {type = "date", range = ["2019-01-01", "2019-12-31"]}\n'
    read = tables._pandas_table(one, gibbsite.Schema.parse(dated, "s"))  # of which the engine makes the ids, in UTC
    assert read.schema.field("id").type.tz == "Europe/Berlin" and read.schema.field("d").type.tz is None


# Ranges.


def test_missing_truths_and_exposures(frame):
    holes = frame.assign(vacc=frame["vacc"].astype("boolean"))
    holes.loc[3, "vacc"], holes.loc[4, "years"] = pd.NA, np.nan
    with pytest.raises(ValueError, match=r'ranges=\{"vacc": \{"type": "boolean", "missing": ""\}\}'):
        fitted(holes)
    names = fitted(holes, {**RANGES, "vacc": {"type": "boolean", "missing": ""}}).coef_names_
    assert "vacc=(missing)" in names
    count = {"age": (18, 90), "years": ("exposure", 0.1, 2)}
    with pytest.raises(ValueError, match=r'\{"type": "exposure", "range": \(0.1, 2\), "missing": ""\}'):
        PrivatePoissonRegressor(**BUDGET, ranges=count, highest=9).fit(holes[list(count)], holes["events"])
    count["years"] = {"type": "exposure", "range": (0.1, 2), "missing": ""}
    PrivatePoissonRegressor(**BUDGET, ranges=count, highest=9).fit(holes[list(count)], holes["events"])
    with pytest.raises(ValueError, match='an exposure says its "range"'):
        PrivatePoissonRegressor(**BUDGET, ranges={"years": {"type": "exposure"}}, highest=9).fit(
            holes[["years"]], holes["events"]
        )


def test_levels_of_arrays_and_numbers(frame):
    for levels in (np.array(["F", "M"]), pd.Index(["F", "M"]), pd.Series(["F", "M"]), {"levels": pd.Index(["F", "M"])}):
        assert list(fitted(frame, {"sex": levels}).coef_names_) == ["sex=F", "sex=M"]
    for levels in ([0, 1, 2], np.arange(3), [0.0, 1.0, 2.0], {"levels": [0, 1, 2]}):
        assert list(fitted(frame, {"stage": levels}).coef_names_) == ["stage=0", "stage=1", "stage=2"]
    assert list(fitted(frame, {"age": pd.Index([18, 90])}).coef_names_) == ["age"]
    for column in ("age", "sex"):  # the whole column in place of its levels
        with pytest.raises(ValueError) as raised:
            fitted(frame, {column: frame[column]})
        assert "\n" not in str(raised.value) and len(str(raised.value)) < 330
        assert str(frame["age"].iloc[0])[:6] not in str(raised.value)


def test_weights_that_are_none(frame):
    def weighed(weights):
        model = PrivateLogisticRegression(**BUDGET, ranges=RANGES, classes=["no", "yes"], weight_range=(0, 2000))
        return model.fit(frame[list(RANGES)], frame["ill"], sample_weight=weights)

    holes = frame["w"].copy()
    holes[3] = np.nan
    with pytest.raises(ValueError, match="^sample_weight: row 4: nan is not finite; fill it"):
        weighed(holes)
    with pytest.raises(ValueError, match="^sample_weight: row 1: '.*' is text; make the weights numbers"):
        weighed(frame["w"].astype(str))
    with pytest.warns(gibbsite.FitWarning, match="no weight is above 0"):
        warnings.simplefilter("always")
        weighed(frame["w"] * 0)


# Files.


def test_a_file_of_people_is_fitted_as_its_certificate_says(frame, tmp_path):
    from_ids = dict(groups=frame["id"], sample_weight=frame["w"])
    model = PrivateLogisticRegression(
        **BUDGET, ranges=RANGES, classes=["no", "yes"], rows_per_person=2, intervals=True, weight_range=(0, 2000)
    ).fit(frame[list(RANGES)], frame["ill"], **from_ids)
    model.save(tmp_path / "m.json")
    again = PrivateLogisticRegression.from_file(tmp_path / "m.json")
    assert (again.predict(frame[list(RANGES)]) == model.predict(frame[list(RANGES)])).all()
    for one in (again, pickle.loads(pickle.dumps(again))):
        with pytest.raises(ValueError, match="^groups: the model of the file counted people"):
            one.fit(frame[list(RANGES)], frame["ill"], sample_weight=frame["w"])
        one.fit(frame[list(RANGES)], frame["ill"], **from_ids)
        assert one.certificate_["constants"] == model.certificate_["constants"]
        assert one.certificate_["guarantee"]["rows_per_person"] == 2 and one.release_.intervals is not None


def test_a_file_of_private_rows_keeps_its_neighbors(frame, tmp_path):
    X, y = frame[list(RANGES)], frame["ill"]
    model = PrivateLogisticRegression(
        **BUDGET, ranges=RANGES, classes=["no", "yes"], adjacency="add-remove", rows_cap=9000
    ).fit(X, y)
    model.save(tmp_path / "m.json")
    again = PrivateLogisticRegression.from_file(tmp_path / "m.json").fit(X, y)
    for name in ("adjacency", "epsilon", "delta", "rows_per_person"):
        assert again.certificate_["guarantee"][name] == model.certificate_["guarantee"][name]
    assert again.certificate_["constants"]["rows"] == 9000


# Tables, ledgers and seeds.


def test_a_weighted_table_says_its_unit(frame, tmp_path):
    table = gibbsite.table(frame, SCHEMA, ["sex"], epsilon=1.0, delta=1e-7)
    assert table.frame["unit"].tolist() == [2000.0] * 3 and table.frame.attrs["weight"] == "w"
    assert (table.frame["weighted"] == 2000 * table.frame["estimate"]).all()
    assert "counts of people of w = 2000" in repr(table)
    table.write(tmp_path / "t.json")
    assert gibbsite.CrossTable.read(tmp_path / "t.json").unit == 2000.0
    plain = gibbsite.table(frame, SCHEMA.replace('w = {type = "weight", range = [0, 2000]}', 'w = {type = "ignore"}'),
                           ["sex"], epsilon=1.0, delta=1e-7)
    assert "unit" not in plain.frame and plain.weight is None and "of w" not in repr(plain)


def releases(frame, ledger, epsilon):
    """Every function that takes a ledger, at this epsilon."""
    two, states = frame[["sex", "stage"]].assign(after=(frame["stage"] + 1) % 3), STATES
    budget = {"epsilon": epsilon, "delta": 1e-7, "ledger": ledger}
    schema = gibbsite.Schema.parse(LABEL + AGE, "s")
    age, ill = frame[["age"]], frame["ill"]
    rows = gibbsite.read_arrow(frame[["age", "ill"]], schema)
    plan = gibbsite.plan(epsilon=epsilon, delta=1e-7, rows=rows.rows, schema=schema)
    network = gibbsite.Schema.parse_network(SEX)
    counted = gibbsite.read_arrow(frame[["sex"]], network, labels_optional=True)
    tables = gibbsite.plan_network(epsilon=epsilon, delta=1e-7, rows=counted.rows, schema=network)
    return [
        lambda: PrivateLogisticRegression(**budget, ranges={"age": (18, 90)}, classes=["no", "yes"]).fit(age, ill),
        lambda: PrivateLogisticRegression(**budget, schema="private", classes=["no", "yes"]).fit(age, ill),
        lambda: gibbsite.table(two, states, ["stage"], **budget),
        lambda: gibbsite.transitions(two, states, ["stage", "after"], **budget),
        lambda: gibbsite.private_schema(frame[["age", "ill"]], label="ill", positive="yes", **budget),
        lambda: gibbsite.private_network(two, **budget),
        lambda: gibbsite.fit(rows, plan, ledger=ledger),
        lambda: gibbsite.fit_network(counted, tables, ledger=ledger),
    ]


def test_a_ledger_may_be_a_path_and_says_what_fits(frame, tmp_path):
    count = len(releases(frame, None, 9.0))
    for k in range(count):
        path = tmp_path / f"{k}.ledger"
        gibbsite.Ledger.create(path, epsilon=2.0, delta=1e-7)
        with pytest.raises(gibbsite.BudgetSpent, match=r"; epsilon 1\.\d+ at this delta would fit$") as raised:
            releases(frame, str(path), 9.0)[k]()
        fits = float(str(raised.value).rpartition("epsilon ")[2].split()[0])
        assert fits > 1.6
        releases(frame, path, fits)[k]()
        assert len(gibbsite.Ledger(path).read()["releases"]) == 1


def test_other_releases_take_a_path(frame, tmp_path):
    path = str(tmp_path / "a.ledger")
    gibbsite.Ledger.create(path, epsilon=9.0, delta=1e-5)
    gibbsite.private_family(frame, "sex", "bernoulli", epsilon=1.5, delta=1e-7, ledger=path)
    gibbsite.select(np.ones((10, 2)), candidates=["a", "b"], epsilon=0.1, ledger=path)
    assert len(gibbsite.Ledger(path).read()["releases"]) == 2
    with pytest.raises(gibbsite.BudgetSpent, match=r"epsilon \d\S* at this delta would fit"):
        gibbsite.select(np.ones((10, 2)), candidates=["a", "b"], epsilon=20.0, ledger=path)


def test_fits_of_the_engine_warn_as_the_command_line_does(frame):
    two = gibbsite.Schema.parse_network(SEX)
    rows = gibbsite.read_arrow(frame[["sex"]], two, labels_optional=True)
    plan = gibbsite.plan_network(epsilon=20.0, delta=0.01, rows=rows.rows, schema=two)
    with pytest.warns(gibbsite.FitWarning) as caught:
        gibbsite.fit_network(rows, plan)
    said = [str(one.message) for one in caught]
    assert any("epsilon: ε = 20 by itself lets whoever knows" in one for one in said)
    assert any("delta: δ = 0.01 is not below 1/rows" in one for one in said)
    assert all(one.filename == __file__ for one in caught)


def test_seeds_void_every_release(frame):
    two, states = frame[["sex", "stage"]].assign(after=(frame["stage"] + 1) % 3), STATES
    budget = {"epsilon": 2.0, "delta": 1e-7, "seed": 1}
    for run in (
        lambda: gibbsite.table(two, states, ["stage"], **budget),
        lambda: gibbsite.transitions(two, states, ["stage", "after"], **budget),
        lambda: gibbsite.private_network(two, **budget),
        lambda: gibbsite.private_family(frame, "sex", "bernoulli", **budget),
        lambda: gibbsite.private_schema(frame, **budget),
    ):
        with pytest.warns(gibbsite.VoidWarning, match="^seed: the noise can be recomputed") as warned:
            run()
        assert warned[0].filename == __file__


# Words.


def test_errors_name_the_parameter_in_one_line(frame, tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(SCHEMA)
    network = gibbsite.private_network(frame[["sex", "vacc"]], epsilon=2.0, delta=1e-7)
    budget = {"epsilon": 1.0, "delta": 1e-7}
    for words, run in (
        ("schema: must be a Schema, the path", lambda: gibbsite.table(frame, {"sex": ["F"]}, ["sex"], **budget)),
        ("columns: must be a list of names", lambda: gibbsite.table(frame, SCHEMA, 5, **budget)),
        ("columns: must be a list of str, got str", lambda: gibbsite.Schema.read_covariance(path, "age")),
        ("rows: must be a whole number of at least 0", lambda: network.synthesize(-1)),
        ("rows: must be a whole number of at least 0 or None, got str", lambda: network.synthesize("10")),
        ("synthesize: has no parameter 'sed'", lambda: network.synthesize(10, sed=1)),
        ("ledger: must be a gibbsite.Ledger, the path", lambda: PrivateLogisticRegression(
            **budget, ranges=RANGES, classes=["no", "yes"], ledger=5).fit(frame[list(RANGES)], frame["ill"])),
        ("path: must be a path", lambda: fitted(frame).save(None)),
        ("path: must be that of a model file", lambda: PrivateLogisticRegression.from_file(None)),
        ("rows_cap: data has more than 100 people", lambda: gibbsite.table(
            frame, SCHEMA, ["sex"], adjacency="add-remove", rows_cap=100, **budget)),
        ("data: must be a gibbsite.Dataset, got int", lambda: gibbsite.fit(1, 2)),
        ("candidates: must be a list of str, got str", lambda: gibbsite.select([1], candidates="ab", epsilon=1.0)),
        ("path: must be a path, got int", lambda: gibbsite.Ledger.create(5, **budget)),
        ("fit_network: needs 'plan'", lambda: gibbsite.fit_network(None)),
    ):
        with pytest.raises((TypeError, ValueError)) as raised:
            run()
        assert str(raised.value).startswith(words) and "\n" not in str(raised.value)


def test_a_variance_far_below_the_range_is_said(frame):
    income = pd.DataFrame({"income": np.exp(np.random.default_rng(1).normal(10, 0.8, 2000))})
    with pytest.raises(gibbsite.Infeasible, match="variance=60 is far below .* squared units"):
        gibbsite.private_family(income, "income", "mean", epsilon=1.0, delta=1e-7, variance=60.0)


def test_a_wide_variance_is_not_blamed(frame):
    income = pd.DataFrame({"income": np.exp(np.random.default_rng(1).normal(10, 0.8, 2000))})
    release = gibbsite.private_family(income, "income", "mean", epsilon=1.0, delta=1e-7, variance=4e8)
    assert release.verify().valid
