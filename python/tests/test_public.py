"""schema="private" with public=...: a schema of a public table, at no cost."""

import hashlib
import json

import gibbsite
import numpy as np
import pytest

pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")


def people(rows=3000, first=0):
    place = np.arange(first, first + rows)
    return pandas.DataFrame(
        {
            "id": place,
            "age": 18 + (place * 37) % 60,
            "hours": np.where(place % 7 == 0, np.nan, (place % 40) / 2),
            "work": np.where(place % 3 == 0, "state", "private"),
        }
    )


def labels(frame):
    return (frame["age"] + frame["id"] % 11 > 45).map({True: "yes", False: "no"})


def model(public, epsilon=1.0, **params):
    params.setdefault("classes", ["no", "yes"])
    return gibbsite.PrivateLogisticRegression(epsilon, 1e-6, schema="private", public=public, **params)


def test_the_whole_budget_fits_and_the_certificate_names_the_table(tmp_path):
    frame = people()
    ledger = gibbsite.Ledger.create(str(tmp_path / "l"), epsilon=2, delta=1e-4)
    fitted = model(people(1000, 7), ledger=ledger).fit(frame, labels(frame))
    assert fitted.score(frame, labels(frame)) > 0.8
    assert fitted.verify().valid
    certificate = fitted.certificate_
    assert "bought_schema" not in certificate["constants"]
    assert certificate["schema_public"]["file"] == "frame"
    assert certificate["schema_public"]["rows"] == 1000
    assert certificate["guarantee"]["epsilon"] == 1.0
    assert [release["command"] for release in ledger.read()["releases"]] == ["fit whitened"]
    columns = {c["name"]: c for c in json.loads(fitted.to_json())["model"]["preprocessing"]["columns"]}
    assert columns["id"]["type"] == "ignore"
    assert sorted(columns["work"]["levels"]) == ["private", "state"]


def test_labels_of_a_public_frame_are_the_priors_center():
    frame, known = people(), people(1000, 7)
    known["answer"] = labels(known)
    norms, slopes = [], []
    for public, epsilon in ((known, 0.3), (known.drop(columns="answer"), 0.3), (known, 8.0)):
        with pytest.warns(gibbsite.VoidWarning):
            fitted = model(public, epsilon, random_state=5).fit(frame, labels(frame).rename("answer"))
        norms.append(fitted.certificate_["constants"].get("center_norm", 0))
        slopes.append(fitted.coef_)
    assert norms[0] > 0 and norms[1:] == [0, 0]
    assert not np.array_equal(slopes[0], slopes[1])  # of the same noise
    with pytest.warns(gibbsite.VoidWarning):  # y without a name is nobody's column
        fitted = model(known, 0.3, random_state=5).fit(frame, labels(frame).to_numpy())
    assert "center_norm" not in fitted.certificate_["constants"]
    assert model(known, 0.3).fit(frame, labels(frame).rename("answer")).verify().valid


def test_a_file_and_a_frame_say_the_same(tmp_path):
    frame, known = people(), people(1000, 7)
    known.to_csv(tmp_path / "known.csv", index=False)
    models = []
    for public in (known, tmp_path / "known.csv", str(tmp_path / "known.csv")):
        with pytest.warns(gibbsite.VoidWarning):
            fitted = model(public, random_state=5).fit(frame, labels(frame))
        models.append(json.loads(fitted.to_json())["model"])
    record = models[1]["preprocessing"]["public"]
    assert record["file"] == "known.csv"
    assert record["sha256"] == hashlib.sha256((tmp_path / "known.csv").read_bytes()).hexdigest()
    for one in models:
        one["preprocessing"].pop("public")
    assert models[0] == models[1] == models[2]


def test_labels_of_a_file_are_the_priors_center_too(tmp_path):
    frame, known = people(), people(1000, 7)
    known["answer"] = labels(known)
    known.to_csv(tmp_path / "known.csv", index=False)
    slopes = []
    for public in (known, tmp_path / "known.csv"):
        with pytest.warns(gibbsite.VoidWarning):
            fitted = model(public, 0.3, random_state=5).fit(frame, labels(frame).rename("answer"))
        assert fitted.certificate_["constants"]["center_norm"] > 0
        slopes.append(fitted.coef_)
    assert np.array_equal(*slopes)


def test_nothing_of_x_chooses():
    known = people(1000, 7)
    frame = people()
    other = frame.copy()
    other.loc[11, ["age", "hours", "work"]] = [10**9, -1e9, "nobody else"]
    schemas = []
    for table in (frame, other):
        with pytest.warns(gibbsite.VoidWarning):
            fitted = model(known, random_state=5).fit(table, labels(frame))
        schemas.append(json.loads(fitted.to_json())["model"]["preprocessing"])
    assert schemas[0] == schemas[1]


def test_the_table_itself_is_refused(tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "same.csv", index=False)
    for public in (frame, frame.copy(), tmp_path / "same.csv"):
        with pytest.raises(ValueError, match="is the private table itself"):
            model(public).fit(frame, labels(frame))


def test_what_it_refuses(tmp_path):
    frame = people()
    y = labels(frame)
    with pytest.raises(ValueError, match="has no column 'work'"):
        model(people(1000, 7).drop(columns="work")).fit(frame, y)
    with pytest.raises(ValueError, match="has 3 rows"):
        model(people(3, 7)).fit(frame, y)
    with pytest.raises(ValueError, match=r'public: goes with schema="private"'):
        gibbsite.PrivateLogisticRegression(1.0, 1e-6, ranges=(0, 1), public=frame).fit([[0.5]], [1])
    with pytest.raises(ValueError, match="schema_share"):
        model(people(1000, 7), schema_share=0.1).fit(frame, y)
    with pytest.raises(ValueError, match="row_norm"):
        model(people(1000, 7), row_norm=2.0).fit(frame, y)
    with pytest.raises((ValueError, OSError), match="absent"):
        model(tmp_path / "absent.csv").fit(frame, y)


def test_weights_and_people_are_taken():
    frame = people()
    y = labels(frame)
    weighted = model(people(1000, 7), weight_range=(0, 2)).fit(frame, y, sample_weight=np.ones(len(frame)))
    assert weighted.verify().valid
    amounts = gibbsite.PrivateLinearRegression(
        2.0, 1e-6, schema="private", public=people(1000, 7), target_range=(0, 10_000)
    )
    amounts.fit(frame, 100.0 * frame["age"], groups=frame["id"])
    assert amounts.score(frame, 100.0 * frame["age"]) > 0.8
    assert amounts.verify().valid
