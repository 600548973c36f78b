"""plan_family(public=...): rows of a public table in a family's prior."""
import hashlib
import json

import pytest

import gibbsite

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
SCHEMA = gibbsite.Schema.parse_column('[columns]\nanswer = {type = "category", levels = ["no", "yes"]}\n', "s", "answer")


def dataset(yes, no):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"answer": ["yes"] * yes + ["no"] * no})
    return gibbsite.read_arrow(table, SCHEMA, labels_optional=True, ignore_extra_columns=True)


def counts_of(release):
    return json.loads(release.to_json())["certificate"]["constants"]["public_counts"]


def plan(**more):
    return gibbsite.plan_family("bernoulli", **BUDGET, rows=1000, schema=SCHEMA, **more)


def test_a_file_and_a_frame_count_alike(tmp_path):
    data = dataset(700, 300)
    path = tmp_path / "lastyear.csv"
    path.write_text("answer\n" + "yes\n" * 1500 + "no\n" * 500)
    release = gibbsite.fit_family(data, plan(public=str(path)))
    assert release.verify().valid
    of_file = counts_of(release)
    assert of_file["counts"] == [250, 750] and of_file["weight"] == 0.5 and of_file["rows"] == 2000
    assert of_file["file"] == "lastyear.csv" and of_file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    other = gibbsite.fit_family(data, plan(public=dataset(1500, 500), public_weight=0.1))
    assert other.verify().valid
    of_frame = counts_of(other)
    assert of_frame["counts"] == [50, 150] and of_frame["file"] == "frame"
    assert of_frame["sha256"] == hashlib.sha256(b"500\n1500\n").hexdigest()


def test_what_means_nothing_is_refused(tmp_path):
    with pytest.raises(gibbsite.BadInput, match="public_weight"):
        plan(public_weight=0.5)
    with pytest.raises(gibbsite.BadInput, match="public_weight: must be above 0"):
        plan(public=dataset(5, 5), public_weight=0.0)
    with pytest.raises(gibbsite.BadInput, match="nowhere.csv"):
        plan(public=str(tmp_path / "nowhere.csv"))
