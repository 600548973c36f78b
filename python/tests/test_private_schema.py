"""private_schema: a schema alone, of rows and of people, and what follows by it."""

import datetime
import uuid
import warnings

import gibbsite
import numpy as np
import pytest

pyarrow = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")


def visits(people=4000):
    """Rows of patients, of whom each has 1 to 5, and one 300."""
    rows = [1 + person % 5 for person in range(people)]
    rows[7] = 300
    patient = np.repeat(np.arange(people), rows)
    age = 18 + (patient * 37) % 60
    return pandas.DataFrame(
        {
            "patient": patient,
            "age": age,
            "ward": np.where((patient + np.arange(patient.size)) % 3 == 0, "surgery", "medicine"),
            "survey": 1.0 + patient % 4,
            "well": np.where(age + patient % 11 > 45, "yes", "no"),
        }
    )


LABEL = {"label": "well", "positive": "yes"}
BUDGET = {"epsilon": 4.0, "delta": 1e-6}


def test_a_schema_of_rows(tmp_path):
    frame = visits()
    bought = gibbsite.private_schema(frame, **BUDGET, **LABEL)
    assert bought.verify().valid
    assert bought.person is None
    assert bought.certificate["constants"]["rows"] == len(frame)
    assert dict(bought.columns)["age"] != ""
    toml = bought.to_toml()
    assert 'adjacency = "replace-one"' in toml and ", person = " not in toml
    path = tmp_path / "schema.json"
    bought.write(path)
    assert gibbsite.SchemaRelease.read(path).to_toml() == toml
    assert "SchemaRelease" in repr(bought)
    # As the command line has it, of the same numbers.
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["schema", str(tmp_path / "t.csv"), "--epsilon", "4", "--delta", "1e-6", "--label", "well"]
    words += ["--positive", "yes", "--out", str(tmp_path / "s.toml")]
    assert gibbsite.run_command(words) == 0
    command = gibbsite.SchemaRelease.read(tmp_path / "s.toml.json")
    for part in ("constants", "guarantee", "mechanism"):
        assert command.certificate.get(part) == bought.certificate.get(part)


def test_a_schema_of_people_leads_to_releases_of_the_same_people(tmp_path):
    frame = visits()
    ledger = gibbsite.Ledger.create(tmp_path / "patients.ledger", epsilon=20.0, delta=1e-4, people=True)
    bought = gibbsite.private_schema(
        frame, **BUDGET, **LABEL, person="patient", rows_per_person=2, ledger=ledger
    )
    assert bought.person == "patient"
    constants = bought.certificate["constants"]
    assert constants["people"] == 4000 and constants["rows_of_person"] == 2
    assert "any number of rows per person, counted as at most 2" in bought.in_words()
    assert "all rows of everybody else" in bought.in_words()
    assert str(len(frame)) not in bought.in_words(), "rows are private"
    assert 'patient = {type = "person"}' in bought.to_toml()
    schema = bought.schema
    # A model, a network and a table of the same people, in one ledger.
    X = frame.drop(columns=["well", "survey"]).assign(survey=frame["survey"])
    model = gibbsite.PrivateLogisticRegression(2.0, 1e-6, schema=schema, rows_per_person=2, ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("error", gibbsite.FitWarning)
        model.fit(X, frame["well"])
    assert model.certificate_["constants"]["people"] == 4000
    assert model.certificate_["constants"]["rows_of_person"] == 2
    assert model.verify().valid
    assert model.certificate_["schema_bought"]["person"] == "patient"
    assert (model.predict(X) == np.where(frame["well"] == "yes", "yes", "not yes")).mean() > 0.8
    model.save(tmp_path / "m.json")
    again = gibbsite.PrivateLogisticRegression.from_file(tmp_path / "m.json")
    assert (again.predict(X) == model.predict(X)).all()
    network_schema = gibbsite.Schema.parse_network(bought.to_toml())
    data = gibbsite.read_arrow(frame, network_schema, labels_optional=True, rows_per_person=2)
    plan = gibbsite.plan_network(epsilon=2.0, delta=1e-6, rows=data.counted, schema=network_schema,
                                 structure="private", rows_per_person=2)
    network = gibbsite.fit_network(data, plan, ledger=ledger)
    assert network.certificate["constants"]["people"] == 4000
    assert len(ledger.read()["releases"]) == 3
    # It is of no other people.
    with pytest.raises(gibbsite.BadInput, match="says whose rows are"):
        gibbsite.PrivateLogisticRegression(2.0, 1e-6, schema=schema).fit(X, frame["well"], groups=frame["age"])
    with pytest.raises(ValueError, match="an array of numbers has no ids"):
        gibbsite.PrivateLogisticRegression(2.0, 1e-6, schema=schema).fit(np.zeros((4, 4)), ["yes", "no"] * 2)


def test_moments_are_of_the_same_people(tmp_path):
    frame = visits()
    (tmp_path / "s.toml").write_text(
        gibbsite.private_schema(frame, **BUDGET, **LABEL, person="patient").to_toml()
    )
    schema = gibbsite.Schema.read_covariance(tmp_path / "s.toml", ["age"])
    data = gibbsite.read_arrow(frame, schema, labels_optional=True, ignore_extra_columns=True, rows_per_person=1)
    plan = gibbsite.plan_covariance(epsilon=1.0, delta=1e-6, rows=data.counted, schema=schema)
    release = gibbsite.fit_covariance(data, plan)
    assert release.verify().valid
    assert release.certificate["constants"]["people"] == 4000
    exact = frame.groupby("patient")["age"].mean().mean()
    assert abs(release.estimates()[0]["value"] - exact) < 0.01 * exact


def test_what_a_plan_counts_is_said():
    frame = visits(1000)
    data = gibbsite.read_arrow(
        frame,
        gibbsite.Schema.parse(
            'label = "well"\npositive = "yes"\nnegative = "no"\n[columns]\npatient = {type = "person"}\n'
            'age = {type = "number", range = [0, 100]}\nward = {type = "ignore"}\nsurvey = {type = "ignore"}\n'
        ),
        rows_per_person=1,
    )
    plan = gibbsite.plan(epsilon=1.0, delta=1e-6, rows=data.counted, schema=data.schema)
    assert "1000 people" in repr(plan)


@pytest.mark.parametrize("unit", ["s", "ns"])
def test_ids_may_be_timestamps(unit):
    frame = visits()
    moment = np.datetime64("2026-01-01T00:00:00", unit) + frame["patient"].to_numpy().astype(f"timedelta64[{unit}]")
    frame["patient"] = moment
    bought = gibbsite.private_schema(frame, **BUDGET, **LABEL, person="patient")
    assert bought.certificate["constants"]["people"] == 4000
    schema = gibbsite.Schema.parse_network(bought.to_toml())
    data = gibbsite.read_arrow(frame, schema, labels_optional=True, rows_per_person=1)
    assert data.counted == 4000


FIRST = datetime.datetime(2026, 1, 1)
IDS_OF_OBJECTS = {
    # What pandas.read_csv makes of "0007" in two stretches of one file.
    "numbers and text": lambda k, row: f"{k:04d}" if row % 2 else int(k),
    "UUIDs": lambda k, row: uuid.UUID(int=int(k) + 2**100),
    "dates": lambda k, row: FIRST.date() + datetime.timedelta(days=int(k)),
    "datetimes": lambda k, row: FIRST + datetime.timedelta(microseconds=int(k)),
    "zones": lambda k, row: (FIRST + datetime.timedelta(hours=int(k))).replace(tzinfo=datetime.timezone.utc)
    .astimezone(datetime.timezone(datetime.timedelta(hours=row % 3))),
    "Timestamps": lambda k, row: pandas.Timestamp("2026-01-01") + pandas.Timedelta(int(k), "ns"),
    "datetime64": lambda k, row: np.datetime64("2026-01-01", "s") + int(k),
}


@pytest.mark.parametrize("kind", IDS_OF_OBJECTS)
def test_ids_of_objects_are_as_many_people(kind):
    frame = visits()
    made = [IDS_OF_OBJECTS[kind](k, row) for row, k in enumerate(frame["patient"])]
    frame["patient"] = pandas.Series(made, dtype=object)
    bought = gibbsite.private_schema(frame, **BUDGET, **LABEL, person="patient")
    assert bought.certificate["constants"]["people"] == 4000
    data = gibbsite.read_arrow(
        frame, gibbsite.Schema.parse_network(bought.to_toml()), labels_optional=True, rows_per_person=1
    )
    assert data.counted == 4000
    model = gibbsite.PrivateLogisticRegression(2.0, 1e-6, schema=bought.schema)
    model.fit(frame.drop(columns="well"), frame["well"])
    assert model.certificate_["constants"]["people"] == 4000


def test_objects_that_are_no_ids_are_nobodys():
    frame = visits(1000)
    frame["patient"] = pandas.Series([(1, k) for k in frame["patient"]], dtype=object)
    with pytest.raises(gibbsite.BadInput, match="nobody has a row"):
        gibbsite.private_schema(frame, **BUDGET, **LABEL, person="patient")


def test_a_ledger_is_not_taken_whole(tmp_path):
    frame = visits()
    ledger = gibbsite.Ledger.create(tmp_path / "l", epsilon=8.0, delta=1e-4, people=True)
    ids = {"person": "patient"}
    with pytest.raises(gibbsite.BudgetSpent):
        gibbsite.private_schema(frame, epsilon=8.0, delta=1e-4, **LABEL, **ids, ledger=ledger)
    assert ledger.read()["releases"] == []
    gibbsite.private_schema(frame, epsilon=1.0, delta=1e-5, **LABEL, **ids, ledger=tmp_path / "l")
    state = ledger.read()
    assert len(state["releases"]) == 1 and not state["whole"]
    model = gibbsite.PrivateLogisticRegression(4.0, 1e-6, schema="private", classes=["no", "yes"], ledger=ledger)
    model.fit(frame[["age", "ward"]], frame["well"], groups=frame["patient"])
    assert len(ledger.read()["releases"]) == 2
    whole = gibbsite.Ledger.create(tmp_path / "w", epsilon=4.0, delta=1e-6, people=True)
    with pytest.warns(gibbsite.FitWarning, match="takes all of "):
        model.set_params(ledger=whole).fit(frame[["age", "ward"]], frame["well"], groups=frame["patient"])


def test_what_is_wrong_is_said_before_anything_is_spent(tmp_path):
    frame = visits()
    ledger = gibbsite.Ledger.create(tmp_path / "l", epsilon=8.0, delta=1e-4)

    def refused(match, error=ValueError, **given):
        with pytest.raises(error, match=match):
            gibbsite.private_schema(frame, **{**BUDGET, **LABEL, "ledger": ledger, **given})

    refused("person: data has no column 'patients'", person="patients")
    refused("person", person="well")
    refused("weight_range: goes with weight", weight="survey")
    refused("weight_range", weight="survey", weight_range=(1, 4))
    refused("label", label="wells")
    refused("positive", positive=None)
    refused("rows_cap", rows_cap=5)
    refused("rows_cap", adjacency="add-remove")
    refused("counts rows", person="patient")
    refused("date_parts", date_parts={"age": ["day"]})
    refused("a level is seen", gibbsite.Infeasible, epsilon=0.01)
    assert ledger.read()["releases"] == []
    with pytest.warns(gibbsite.VoidWarning):
        void = gibbsite.private_schema(frame, **BUDGET, **LABEL, seed=3)
    assert not void.verify().valid
    form = gibbsite.private_schema(frame, **BUDGET)
    with pytest.raises(gibbsite.BadInput, match="label"):
        print(form.schema)
    assert gibbsite.Schema.parse_network(form.to_toml()) is not None
    weighed = gibbsite.private_schema(
        frame, **BUDGET, **LABEL, person="patient", weight="survey", weight_range=(0, 4),
        adjacency="add-remove", rows_cap=9000,
    )
    assert 'survey = {type = "weight"' in weighed.to_toml()
    assert weighed.verify().valid


def test_what_is_paid_for_is_handed_over_where_warnings_are_errors(tmp_path, capfd):
    """A warning of what only the release tells came after the charge and before the release: as an error it lost it."""
    random = np.random.default_rng(1)
    for cap, rows in ((20_000, 3000), (10_000, 1000)):
        frame = pandas.DataFrame({"a": random.choice(list("pqrs"), rows), "b": random.random(rows).round(3)})
        ledger = gibbsite.Ledger.create(tmp_path / f"{cap}", epsilon=3, delta=1e-5, adjacency="add-remove")
        with warnings.catch_warnings():
            warnings.simplefilter("error", gibbsite.FitWarning)
            schema = gibbsite.private_schema(
                frame, epsilon=1, delta=1e-6, adjacency="add-remove", rows_cap=cap, ledger=ledger
            )
        assert schema.to_toml() and len(ledger.read()["releases"]) == 1
    assert "gibbsite: warning: " in capfd.readouterr().err
