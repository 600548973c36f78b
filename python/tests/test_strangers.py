"""What strangers ran into: classes of a model file, people in ranges, words of errors."""

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLogisticRegression

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

RANGES = {"age": (18, 80), "member": {"type": "boolean"}, "customer": "ignore"}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    n = 3000
    out = pd.DataFrame({"age": rng.uniform(18, 80, n), "member": rng.random(n) < 0.5})
    out["customer"] = [f"c{k % 1500}" for k in range(n)]
    out["y"] = rng.random(n) < 1 / (1 + np.exp(-(out["age"] - 50) / 8))
    return out


def split(frame):
    return frame.drop(columns="y"), frame["y"]


def model(frame, **more):
    return PrivateLogisticRegression(2.0, 1e-6, ranges=RANGES, **more).fit(*split(frame))


@pytest.mark.parametrize("classes", [None, [False, True], [0, 1]])
def test_a_model_file_keeps_classes(frame, tmp_path, classes):
    fitted = model(frame, classes=classes)
    fitted.save(tmp_path / "m.json")
    again = PrivateLogisticRegression.from_file(tmp_path / "m.json")
    X, y = split(frame)
    assert again.classes_.dtype == fitted.classes_.dtype and again.classes_.tolist() == fitted.classes_.tolist()
    assert again.score(X, y) == fitted.score(X, y) > 0.7


def test_a_model_file_of_texts(frame, tmp_path):
    X, y = split(frame)
    for classes in (["no", "yes"], ["low", "mid", "high"]):
        labels = np.array(classes)[(y.astype(int) if len(classes) == 2 else np.arange(len(y)) % 3)]
        fitted = PrivateLogisticRegression(2.0, 1e-6, ranges=RANGES, classes=classes).fit(X, labels)
        fitted.save(tmp_path / f"{len(classes)}.json")
        again = PrivateLogisticRegression.from_file(tmp_path / f"{len(classes)}.json")
        assert again.classes_.tolist() == classes and again.score(X, labels) == fitted.score(X, labels)


def test_people_in_ranges(frame):
    X, y = split(frame)
    for said in ({"type": "person"}, "person"):
        held = PrivateLogisticRegression(2.0, 1e-6, ranges={**RANGES, "customer": said}, rows_per_person=2)
        constants = held.fit(X, y).certificate_["constants"]
        assert constants["people"] == 1500 and constants["rows_of_person"] == 2
    with pytest.raises(ValueError, match="sample_weight=X\\['age'\\]"):
        PrivateLogisticRegression(2.0, 1e-6, ranges={**RANGES, "age": {"type": "weight"}}).fit(X, y)
    with pytest.raises(ValueError, match='"date", "boolean", "exposure", "person" or "ignore"'):
        PrivateLogisticRegression(2.0, 1e-6, ranges={**RANGES, "age": {"type": "number"}}).fit(X, y)
    with pytest.raises(ValueError, match="nothing is said"):
        PrivateLogisticRegression(2.0, 1e-6, ranges={**RANGES, "age": {"type": "person", "levels": []}}).fit(X, y)


def test_a_table_of_people_says_how_to_read_it(frame):
    schema = gibbsite.Schema.parse(
        'label = "y"\npositive = "true"\n[columns]\nage = {type = "number", range = [18, 80]}\n'
        'member = {type = "boolean"}\ncustomer = {type = "person"}\n'
    )
    with pytest.raises(gibbsite.BadInput, match="give rows_per_person=1"):
        gibbsite.read_arrow(frame, schema)
    assert gibbsite.read_arrow(frame, schema, rows_per_person=1).counted == 1500


@pytest.mark.parametrize("said", [{"type": "boolean"}, "boolean", [False, True]])
def test_booleans_in_ranges(frame, said):
    X, y = split(frame)
    ranges = {**RANGES, "member": said}
    fitted = PrivateLogisticRegression(2.0, 1e-6, ranges=ranges).fit(X, y)
    assert list(fitted.coef_names_) == ["age", "member=false", "member=true"]
    for cells in (X["member"].astype(int), np.where(X["member"], "yes", "no")):
        assert (fitted.predict(X.assign(member=cells)) == fitted.predict(X)).all()


def test_doubles_of_long_ids(frame):
    X, y = split(frame)
    estimator = PrivateLogisticRegression(2.0, 1e-6, ranges=RANGES)
    ids = np.arange(len(y), dtype=float)
    ids[7] = 4.6e18
    with pytest.raises(ValueError, match=r"groups: row 8: .*rounded to 4.6e\+18 \(a double from 2\^53 on.*dtype=str.*private"):
        estimator.fit(X, y, groups=ids)
    with pytest.raises(ValueError, match="groups: row 3: None is no id; fill it, or leave the row out.*private"):
        estimator.fit(X, y, groups=["a", "b", None] + ["c"] * (len(y) - 3))


def test_ignored_columns_may_lack(frame):
    X, y = split(frame)
    without = X.drop(columns="customer")
    fitted = PrivateLogisticRegression(2.0, 1e-6, ranges=RANGES).fit(without, y)
    assert len(fitted.predict(without)) == len(y)
    fitted = model(frame)
    assert (fitted.predict(without) == fitted.predict(X)).all()
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(X[["member", "age"]])
    with pytest.raises(ValueError, match="unseen at fit time: 'more'"):
        fitted.predict(X.assign(more=1))
    with pytest.raises(ValueError, match="now missing: 'age'"):
        fitted.predict(X[["member"]])


def test_a_loaded_model_needs_what_it_reads(frame, tmp_path):
    X, y = split(frame)
    held = PrivateLogisticRegression(2.0, 1e-6, ranges={**RANGES, "customer": "person"}).fit(X, y)
    held.save(tmp_path / "m.json")
    again = PrivateLogisticRegression.from_file(tmp_path / "m.json")
    assert (again.predict(X.drop(columns="customer")) == held.predict(X)).all()


def test_advice_about_labels(frame):
    X, y = split(frame)
    texts = np.where(y, "yes", "no")
    with pytest.raises(ValueError, match='list them as y writes them.*classes=\\["no", "yes"\\]'):
        PrivateLogisticRegression(2.0, 1e-6, ranges=RANGES).fit(X, texts)
    assert PrivateLogisticRegression(2.0, 1e-6, ranges=RANGES, classes=["no", "yes"]).fit(X, texts).score(X, texts) > 0.7
    with pytest.raises(ValueError, match="spell it 'Yes', as classes do"):
        PrivateLogisticRegression(2.0, 1e-6, ranges=RANGES, classes=["no", "Yes"]).fit(X, texts)
    with pytest.raises(ValueError, match="X has 3000, y has 100"):
        PrivateLogisticRegression(2.0, 1e-6, ranges=RANGES).fit(X, y[:100])


def test_a_file_that_is_there(frame, tmp_path):
    fitted = model(frame)
    fitted.save(tmp_path / "m.json")
    with pytest.raises(FileExistsError, match="choose another path, or give replace=True"):
        fitted.save(tmp_path / "m.json")
    fitted.save(tmp_path / "m.json", replace=True)


def test_a_report(frame, tmp_path):
    fitted = model(frame)
    fitted.save(tmp_path / "m.json")
    assert gibbsite.run_command(["report", str(tmp_path / "m.json"), "--out", str(tmp_path / "r.html")]) == 0
    assert fitted.release_.report() == (tmp_path / "r.html").read_text(encoding="utf-8")


def test_evaluation_of_a_frame(frame):
    fitted = model(frame)
    with pytest.raises(TypeError, match="gibbsite.read_arrow"):
        fitted.release_.evaluate(frame)
    X, y = split(frame)
    with pytest.raises(TypeError, match="labels: must be a contiguous numpy array of float64.*got pandas.Series"):
        gibbsite.read_arrow(X, fitted.schema_, labels=y)
    data = gibbsite.read_arrow(X, fitted.schema_, labels=np.where(y, 1.0, -1.0))
    assert fitted.release_.evaluate(data)["accuracy"] == pytest.approx(fitted.score(X, y))


def test_a_cross_table_by_the_text_of_a_schema(frame):
    text = '[columns]\nmember = {type = "boolean"}\n'
    counted = gibbsite.table(frame, text, ["member"], epsilon=2.0, delta=1e-6)
    assert counted.columns == ["member"]


@pytest.mark.parametrize("missing", [{}, {"missing": ""}])
def test_dates_on_an_axis(frame, missing):
    pytest.importorskip("matplotlib").use("Agg")
    X, y = split(frame)
    days = pd.Timestamp("2000-01-01") + pd.to_timedelta(np.arange(len(y)) % 7000, unit="D")
    date = {"type": "date", "range": ("2000-01-01", "2020-01-01"), **missing}
    fitted = PrivateLogisticRegression(2.0, 1e-6, ranges={**RANGES, "since": date}).fit(X.assign(since=days), y)
    ticks = [tick.get_text() for tick in fitted.plot_terms("since")[0].get_xticklabels()]
    assert ticks[:2] == ["2000", "2004"] and "2020" in ticks and not any(len(tick) == 5 for tick in ticks)
