"""schema="private": a schema and a fit of one budget, from frames and arrays."""

import json
import subprocess
import sys

import gibbsite
import numpy as np
import pytest

pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")


def people(rows=6000):
    place = np.arange(rows)
    age = 18 + (place * 37) % 60
    return pandas.DataFrame(
        {
            "id": place,
            "age": age,
            "hours": np.where(place % 7 == 0, np.nan, (place % 40) / 2),
            "work": np.where(place % 3 == 0, "state", "private"),
            "married": place % 2 == 0,
            "since": pandas.to_datetime("2020-01-01") + pandas.to_timedelta(place, "D"),
        }
    )


def labels(frame, spread=11):
    return (frame["age"] + frame["id"] % spread > 45).map({True: "yes", False: "no"})


def model(epsilon=4.0, **params):
    params.setdefault("classes", ["no", "yes"])
    return gibbsite.PrivateLogisticRegression(epsilon, 1e-6, schema="private", **params)


def test_one_certificate_over_both():
    frame = people()
    y = labels(frame)
    fitted = model().fit(frame, y)
    certificate = fitted.certificate_
    assert certificate["guarantee"]["epsilon"] == 4.0
    assert certificate["constants"]["bought_schema"]["columns"] == 5  # an id is not asked about
    assert fitted.verify().valid
    types = {c["name"]: c["type"] for c in json.loads(fitted.to_json())["model"]["preprocessing"]["columns"]}
    assert types["id"] == "ignore" and types["age"] == "number" and types["work"] == "category"
    assert types["married"] == "category"
    assert fitted.score(frame, y) > 0.8
    assert list(fitted.classes_) == ["no", "yes"]


def test_a_parquet_file_is_bought_as_a_csv_file_is(tmp_path):
    frame = people()
    frame = frame.drop(columns="married").assign(since=frame["since"].dt.date, hours=frame["hours"] + 0.25, y=labels(frame))
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False, row_group_size=1000)
    models = []
    for name in ("t.csv", "t.parquet"):
        out = tmp_path / f"{name}.json"
        words = ["fit", "--data", tmp_path / name, "--label", "y", "--positive", "yes", "--epsilon", 4, "--delta", 1e-6]
        words += ["--seed", 5, "--quiet", "--out", out]
        done = subprocess.run([sys.executable, "-m", "gibbsite", *map(str, words)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        models.append(json.loads(out.read_text()))
    csv, parquet = models
    assert parquet["model"] == csv["model"]
    assert parquet["certificate"]["constants"]["bought_schema"] == csv["certificate"]["constants"]["bought_schema"]


def test_frames_and_arrays_have_the_cells_of_a_csv_file(tmp_path):
    frame = people().drop(columns="since")
    y = labels(frame)
    import pyarrow

    frame.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(gibbsite.VoidWarning):
        of_frame = model(random_state=5).fit(frame, y)
    with pytest.warns(gibbsite.VoidWarning):
        of_arrow = model(random_state=5).fit(pyarrow.Table.from_pandas(frame, preserve_index=False), y)
    assert json.loads(of_frame.to_json())["model"] == json.loads(of_arrow.to_json())["model"]
    objects = frame.astype(object).where(frame.notna(), None)
    with pytest.warns(gibbsite.VoidWarning):
        of_objects = model(random_state=5).fit(objects, y)
    assert json.loads(of_frame.to_json())["model"] == json.loads(of_objects.to_json())["model"]
    # Truths are "true" here and "True" in that file: all else is the same.
    with pytest.warns(gibbsite.VoidWarning):
        numbers = model(random_state=5).fit(frame[["age", "hours"]].to_numpy(), y)
    assert list(numbers.schema_.columns) == ["x0", "x1"]
    assert numbers.predict(frame[["age", "hours"]].to_numpy()).shape == (len(frame),)


def test_every_label():
    frame = people()
    three = np.select([frame["age"] < 35, frame["age"] < 60], ["young", "middle"], "old")
    several = model(classes=["young", "middle", "old"]).fit(frame, three)
    assert several.predict_proba(frame).shape == (len(frame), 3)
    assert several.score(frame, three) > 0.7
    amounts = gibbsite.PrivateLinearRegression(4.0, 1e-6, schema="private", target_range=(0, 10_000))
    amounts.fit(frame, 100.0 * frame["age"])
    assert amounts.score(frame, 100.0 * frame["age"]) > 0.8
    counts = gibbsite.PrivatePoissonRegressor(4.0, 1e-6, schema="private", highest=5)
    counts.fit(frame, frame["age"] // 20)
    assert counts.predict(frame).max() <= 5
    for fitted in (several, amounts, counts):
        assert fitted.verify().valid
        assert type(fitted).from_file  # reads what it wrote
    assert json.loads(several.to_json())["model"]["bought"]["target"]["classes"] == ["young", "middle", "old"]


def test_intervals_are_of_the_same_budget():
    frame = people()
    fitted = model(intervals=True).fit(frame, labels(frame))
    assert fitted.certificate_["guarantee"]["epsilon"] == 4.0
    assert fitted.verify().valid
    ends = fitted.coef_interval_
    assert ends.shape[1] == 2
    assert (ends[:, 0] < ends[:, 1]).all()
    three = np.select([frame["age"] < 35, frame["age"] < 60], ["young", "middle"], "old")
    several = model(intervals=True, classes=["young", "middle", "old"]).fit(frame, three)
    assert several.verify().valid
    assert (several.coef_interval_[..., 0] < several.coef_interval_[..., 1]).all()
    with pytest.raises(ValueError, match="at most 20 classes"):
        model(intervals=True, classes=[str(k) for k in range(21)]).fit(frame, three)


def test_the_label_is_not_taken_from_the_table():
    frame = people(600)
    y = np.full(600, "yes")
    with pytest.warns(gibbsite.FitWarning):
        fitted = model(10.0, classes=["nobody", "yes"]).fit(frame, y)
    assert list(fitted.classes_) == ["nobody", "yes"]
    with pytest.raises(ValueError, match="observed"):
        model(classes="observed").fit(frame, y)


def test_the_ledger_has_one_entry(tmp_path):
    ledger = gibbsite.Ledger.create(str(tmp_path / "l"), epsilon=4.5, delta=1e-5)
    frame = people()
    model(ledger=ledger).fit(frame, labels(frame))
    releases = ledger.read()["releases"]
    assert len(releases) == 1
    assert "with its schema" in releases[0]["command"]
    with pytest.raises(gibbsite.BudgetSpent):
        model(ledger=ledger).fit(frame, labels(frame))


@pytest.mark.parametrize(
    "params, what",
    [
        ({"mechanism": "path"}, "mechanism"),
        ({"adjacency": "add-remove"}, "adjacency"),
        ({"row_norm": 2.0}, "row_norm"),
        ({"ranges": {"age": (0, 1)}}, "ranges"),
        ({"schema_share": 1.0}, "schema_share"),
        ({"epsilon": 0.01}, "level is seen from"),
    ],
)
def test_what_it_refuses(params, what):
    frame = people()
    with pytest.raises((ValueError, gibbsite.Infeasible), match=what):
        model(**params).fit(frame, labels(frame))


def test_a_share_needs_a_purchase_and_labels_their_rows():
    frame = people()
    with pytest.raises(ValueError, match="schema_share"):
        gibbsite.PrivateLogisticRegression(1.0, 1e-6, ranges=(0, 1), schema_share=0.1).fit([[0.5]], [1])
    with pytest.raises(ValueError, match="labels"):
        model().fit(frame, labels(frame)[:-1])
    with pytest.raises(ValueError, match="sample"):
        model().fit(frame.iloc[:0], [])


def test_a_network_buys_its_schema():
    frame = people()
    release = gibbsite.private_network(frame, epsilon=4.0, delta=1e-6)
    file = json.loads(release.to_json())
    assert file["certificate"]["guarantee"]["epsilon"] == 4.0
    assert file["certificate"]["constants"]["bought_schema"]["columns"] == 5  # no id
    assert release.verify().valid
    assert release.columns == ["age", "hours", "work", "married"]  # dates are left out
    assert release.synthesize(50, seed=1).startswith("age,hours,work,married\n")
    with pytest.raises(gibbsite.BadInput, match="epsilon"):
        gibbsite.private_network(frame, epsilon=-1.0, delta=1e-6)
    with pytest.raises(gibbsite.Infeasible, match="seen from"):
        gibbsite.private_network(frame, epsilon=0.02, delta=1e-6)
    with pytest.warns(gibbsite.FitWarning, match="other"):
        gibbsite.private_network(frame, epsilon=1.0, delta=1e-6)


def test_rows_are_bought_under_add_remove():
    frame = people()
    capped = dict(adjacency="add-remove", rows_cap=len(frame) + 500)
    fitted = model(**capped).fit(frame, labels(frame))
    release = gibbsite.private_network(frame, epsilon=4.0, delta=1e-6, **capped)
    for made in (fitted.release_, release):
        file = json.loads(made.to_json())
        assert file["certificate"]["guarantee"]["adjacency"] == "add-remove"
        assert file["certificate"]["constants"]["rows"] == len(frame) + 500
        assert file["model"]["bought"]["scale"]["rows_noise"] > 0
        assert made.verify().valid
    with pytest.raises(ValueError, match="rows_cap"):
        model(adjacency="add-remove").fit(frame, labels(frame))
    least = len(frame) - 1
    with pytest.raises(gibbsite.BadInput, match=f"more than {least} rows"):
        gibbsite.private_network(frame, epsilon=4.0, delta=1e-6, adjacency="add-remove", rows_cap=least)


def test_a_family_buys_the_schema_of_its_column():
    frame = people()
    for family, column in (("mean", "age"), ("categorical", "work"), ("rate", "age")):
        release = gibbsite.private_family(frame, column, family, epsilon=4.0, delta=1e-6)
        file = json.loads(release.to_json())
        assert file["certificate"]["constants"]["bought_schema"]["columns"] == 1
        assert release.verify().valid
    with pytest.raises(gibbsite.BadInput, match="no column"):
        gibbsite.private_family(frame, "aged", "mean", epsilon=4.0, delta=1e-6)
    with pytest.raises(gibbsite.BadInput, match="no family"):
        gibbsite.private_family(frame, "age", "median", epsilon=4.0, delta=1e-6)
    with pytest.raises(gibbsite.BadInput, match="center"):
        gibbsite.private_family(frame, "age", "variance", epsilon=4.0, delta=1e-6)


def features(fitted):
    return json.loads(fitted.to_json())["model"]["features"]


def test_parts_of_a_date_are_those_that_are_wanted():
    frame = people().drop(columns="id")
    early = frame["since"].dt.month < 4
    y = early.map({True: "yes", False: "no"})
    fitted = model(date_parts={"since": ["month", "weekday"]}).fit(frame, y)
    assert fitted.verify().valid
    assert {"since_month=Jan", "since_weekday=Sun"} <= set(features(fitted))
    # Months decide the label: a row of twenty is wrong at most, of 6,000 with noise of about 30 rows.
    assert (fitted.predict(frame) == y).mean() > 0.95
    known = people(1000).drop(columns="id").assign(age=30)
    of_known = model(1.0, public=known, date_parts={"since": ["year"]}).fit(frame, y)
    assert "since_year" in features(of_known)
    with pytest.raises(gibbsite.BadInput, match="date_parts"):
        model(date_parts={"since": ["day"]}).fit(frame, y)
    with pytest.raises(gibbsite.BadInput, match="date_parts"):
        model(date_parts={"born": ["year"]}).fit(frame, y)
    with pytest.raises(ValueError, match="date_parts: must be a dict of lists"):
        model(date_parts={"since": "year"}).fit(frame, y)
    with pytest.raises(ValueError, match='date_parts: goes with schema="private"'):
        gibbsite.PrivateLogisticRegression(1.0, 1e-6, ranges=(0, 1), date_parts={}).fit([[0.5]], [1])


def visits(patients=3000):
    """One to five rows of each patient, and whose they are."""
    ids = np.repeat(np.arange(patients), 1 + np.arange(patients) % 5)
    return people(patients).drop(columns="id").iloc[ids].reset_index(drop=True), ids


def test_groups_hold_people_in_the_purchase_and_in_the_fit():
    frame, ids = visits()
    y = np.where(frame["age"] > 45, "yes", "no")
    fitted = model(epsilon=6.0, rows_per_person=2).fit(frame, y, groups=ids)
    constants = fitted.certificate_["constants"]
    assert constants["people"] == 3000 and constants["rows_of_person"] == 2
    assert "rows" not in constants and constants["bought_schema"]["columns"] == 5
    assert fitted.verify().valid
    assert "any number of rows per person" in fitted.release_.in_words()
    assert fitted.n_features_in_ == 5 and fitted.score(frame, y) > 0.8
    named = model(epsilon=6.0).fit(frame, y, groups=[f"p{i}" for i in ids])
    assert named.certificate_["constants"]["people"] == 3000 and '"p17' not in named.to_json()


def test_sample_weight_weighs_the_fit_of_a_bought_schema():
    frame, ids = visits()
    y = np.where(frame["age"] > 45, "yes", "no")
    weights = np.where(ids % 2 == 0, 4.0, 1.0)
    fitted = model(epsilon=6.0, weight_range=(0, 4)).fit(frame, y, sample_weight=weights)
    assert fitted.certificate_["constants"]["weighted"] is True
    assert fitted.certificate_["constants"]["bought_schema"]["columns"] == 5
    assert fitted.verify().valid and fitted.score(frame, y) > 0.8
    both = model(epsilon=6.0, weight_range=(0, 4)).fit(frame, y, sample_weight=weights, groups=ids)
    assert both.certificate_["constants"]["people"] == 3000


def test_a_bought_schema_has_the_exposure_that_is_named(tmp_path):
    """Rates are log-linear in age, and years go down with age: as a feature they would hide it."""
    random = np.random.default_rng(4)
    age = random.integers(20, 80, 8000)
    part = (age - 20) / 60
    years = 0.5 + 3.5 * (1 - part) * random.random(8000)
    events = random.poisson(0.5 * years * np.exp(part)).clip(0, 10)
    frame = pandas.DataFrame({"age": age, "years": years})
    given = {"schema": "private", "highest": 10, "ranges": {"years": ("exposure", 0.5, 4)}}
    fitted = gibbsite.PrivatePoissonRegressor(8.0, 1e-6, **given).fit(frame, events)
    assert fitted.verify().valid
    assert fitted.certificate_["constants"]["offset_bound"] > 0
    assert fitted.certificate_["constants"]["bought_schema"]["columns"] == 1
    assert 'years = {type = "exposure"' in fitted.schema_.to_toml()
    at = fitted.predict(pandas.DataFrame({"age": [30, 70], "years": [1.0, 1.0]}))
    assert abs(at[1] / at[0] - np.exp(40 / 60)) < 0.4
    path = tmp_path / "m.json"
    path.write_text(fitted.to_json())
    again = gibbsite.PrivatePoissonRegressor.from_file(path)
    assert (again.predict(frame) == fitted.predict(frame)).all()
    for ranges in ({"years": (0.5, 4)}, {"years": ("exposure", 0.5, 4), "age": (20, 80)}):
        with pytest.raises(ValueError, match="ranges: give ranges or schema"):
            gibbsite.PrivatePoissonRegressor(8.0, 1e-6, **{**given, "ranges": ranges}).fit(frame, events)
    release = gibbsite.private_schema(
        frame.assign(events=events), epsilon=4.0, label="events", counts=True, range=(0, 10),
        exposure="years", exposure_range=(0.5, 4),
    )
    assert release.verify().valid and 'years = {type = "exposure"' in release.to_toml()
    with pytest.raises(gibbsite.BadInput, match="exposure_range"):
        gibbsite.private_schema(frame.assign(events=events), epsilon=4.0, label="events", counts=True,
                                range=(0, 10), exposure="years")


def test_groups_and_weights_that_do_not_fit_are_refused():
    frame, ids = visits(200)
    y = np.where(frame["age"] > 45, "yes", "no")
    with pytest.raises(ValueError, match="groups: has 3 entries"):
        model().fit(frame, y, groups=ids[:3])
    with pytest.raises(ValueError, match="groups: X has a column"):
        model().fit(frame.assign(groups=ids), y, groups=ids)
    with pytest.raises(ValueError, match="weight_range"):
        model().fit(frame, y, sample_weight=np.ones(len(frame)))
