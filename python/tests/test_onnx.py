"""Models as ONNX graphs: what onnxruntime makes of them is what `predict` makes."""

import csv
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import gibbsite

pytest.importorskip("onnx", reason="onnx is not installed: no graph is made")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: no graph is run")

ROWS = 2000
LEVELS = ["clerk", "farmer", "with space & \"quotes\""]
COLUMNS = """
[columns]
age = {type = "number", range = [17, 90]}
id = {type = "ignore"}
job = {type = "category", levels = %s, other = true}
"height in m" = {type = "number", range = [1.0, 2.5], missing = "-1"}
town = {type = "category", levels = ["A", "B"], missing = "none"}
size = {type = "category", levels = ["?", "L"]}
""" % json.dumps(LEVELS)


def table(label, rows=ROWS, seed=0):
    """Cells as text: numbers out of their ranges, "?" where one is missing, unlisted levels."""
    random = np.random.default_rng(seed)
    out = {
        "age": np.round(random.uniform(5, 110, rows), 3).astype(str),
        "id": np.arange(rows).astype(str),
        "job": random.choice([*LEVELS, "?", "baker"], rows),
        "height in m": np.round(random.normal(1.7, 0.4, rows), 4).astype(str),
        "town": random.choice(["A", "B", "none", "C"], rows),
        "size": random.choice(["?", "L", "M"], rows),
    }
    out["height in m"][random.random(rows) < 0.1] = "-1"
    score = np.clip(out["age"].astype(float), 17, 90) / 40 + (out["job"] == "farmer")
    out["age"][random.random(rows) < 0.1] = "?"
    score += random.logistic(size=rows) * 0.3
    out["y"] = label(score)
    return {name: [str(cell) for cell in column] for name, column in out.items()}


def write_csv(path, columns):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))


def feed(session, columns):
    """Numbers as float64, missing ones as NaN; categories as they are."""
    out = {}
    for one in session.get_inputs():
        cells = columns[one.name]
        if one.type == "tensor(string)":
            out[one.name] = np.array(cells, dtype=object)[:, None]
        else:
            out[one.name] = np.array([np.nan if c == "?" else float(c) for c in cells])[:, None]
    return out


def session_of(model):
    return ort.InferenceSession(model.SerializeToString())


def fitted(tmp_path, head, label, *options, columns=COLUMNS):
    cells = table(label)
    write_csv(tmp_path / "t.csv", cells)
    schema = tmp_path / "t.toml"
    schema.write_text(head + 'missing = "?"\ninvalid = "middle"\n' + columns)
    arguments = ["fit", "--data", tmp_path / "t.csv", "--schema", schema, "--epsilon", 2]
    arguments += ["--delta", 1e-6, "--out", tmp_path / "m.json", "--quiet", *options]
    assert gibbsite.run_command([str(a) for a in arguments]) == 0
    release = gibbsite.Release.read(str(tmp_path / "m.json"))
    return release, gibbsite.read_table(str(tmp_path / "t.csv"), release.schema), cells


CLASSES = 'label = "y"\npositive = "yes"\nnegative = "no"\n'


def yes(score):
    return np.where(score > 1.6, "yes", "no")


@pytest.mark.parametrize(
    "head, options",
    [
        (CLASSES, []),  # whitened
        (CLASSES + "row_norm = 1.2\n", ["--mechanism", "path", "--draws", "2"]),  # rows are clipped
        (CLASSES + "intercept = false\n", ["--mechanism", "output"]),
        (CLASSES + 'class_weights = {no = 1, yes = 2.5}\n', ["--mechanism", "path"]),
        (CLASSES, ["--model", "smoothed-hinge", "--mechanism", "output"]),
    ],
)
def test_two_classes(tmp_path, head, options):
    release, data, cells = fitted(tmp_path, head, yes, *options)
    gibbsite.export_onnx(tmp_path / "m.json", tmp_path / "m.onnx")
    session = ort.InferenceSession(str(tmp_path / "m.onnx"))
    assert {one.name for one in session.get_inputs()} == {
        "age", "job", "height in m", "town", "size"
    }
    label, p = session.run(["label", "probabilities"], feed(session, cells))
    expected = np.asarray(release.predict_probabilities(data))
    assert len(expected) == ROWS and expected.std() > 1e-3
    np.testing.assert_allclose(p[:, 1], expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(label, np.where(expected >= 0.5, "yes", "no"))


def test_several_classes(tmp_path):
    def of_three(score):
        return np.where(score > 2, "much", np.where(score > 1.3, "middle", "Little"))

    head = 'label = "y"\nclasses = ["middle", "much", "Little"]\n'
    release, data, cells = fitted(tmp_path, head, of_three, "--draws", "2")
    session = session_of(gibbsite.PrivateLogisticRegression.from_file(tmp_path / "m.json").to_onnx())
    label, p = session.run(["label", "probabilities"], feed(session, cells))
    expected = np.asarray(release.predict_classes(data))
    assert expected.shape == (ROWS, 3) and expected.std() > 1e-3
    np.testing.assert_allclose(p, expected, rtol=0, atol=1e-6)
    names = np.array(["middle", "much", "Little"])
    np.testing.assert_array_equal(label, names[np.argmax(expected, axis=1)])


CURVES = """
[columns]
age = {type = "number", range = [17, 90], knots = [17, 25, 40.5, 65, 90]}
id = {type = "ignore"}
job = {type = "category", levels = %s, other = true}
"height in m" = {type = "number", range = [1.0, 2.5], curve = 7, missing = ["-1", "none"]}
town = {type = "category", levels = ["A", "B"], missing = "none"}
size = {type = "category", levels = ["?", "L"]}
""" % json.dumps(LEVELS)


@pytest.mark.parametrize(
    "change, options",
    [
        (("", ""), []),  # a missing age is a level by the table's mark
        (("90]}", "90], missing_level = false}"), []),  # or the middle of the range
        (('curve = 7, missing = ["-1", "none"]', 'missing = "-1", missing_level = true'), []),  # a line
        (("", ""), ["--mechanism", "path", "--draws", "2"]),
    ],
)
@pytest.mark.parametrize("head", [CLASSES, CLASSES + "row_norm = 1.2\n"])  # and rows that are clipped
def test_curves(tmp_path, change, options, head):
    columns = CURVES.replace(*change)
    release, data, cells = fitted(tmp_path, head, yes, *options, columns=columns)
    session = session_of(gibbsite.PrivateLogisticRegression.from_file(tmp_path / "m.json").to_onnx())
    _, p = session.run(["label", "probabilities"], feed(session, cells))
    expected = np.asarray(release.predict_probabilities(data))
    assert len(expected) == ROWS and expected.std() > 1e-3
    np.testing.assert_allclose(p[:, 1], expected, rtol=0, atol=1e-6)


PAIRS = """
[[interaction]]
columns = ["age", "town"]
[[interaction]]
columns = ["size", "height in m", "job"]
curve = 5
[[interaction]]
columns = ["height in m", "age"]
"""


@pytest.mark.parametrize(
    "change",
    [
        ("", ""),
        ("90]}", "90], missing_level = false}"),
        ('curve = 7, missing = ["-1", "none"]', 'missing = "-1"'),  # a line whose missing cells are the middle
    ],
)
@pytest.mark.parametrize("head", [CLASSES, CLASSES + "row_norm = 1.2\n"])
def test_interactions(tmp_path, change, head):
    columns = CURVES.replace(*change) + PAIRS
    release, data, cells = fitted(tmp_path, head, yes, columns=columns)
    session = session_of(gibbsite.PrivateLogisticRegression.from_file(tmp_path / "m.json").to_onnx())
    _, p = session.run(["label", "probabilities"], feed(session, cells))
    expected = np.asarray(release.predict_probabilities(data))
    assert len(expected) == ROWS and expected.std() > 1e-3
    np.testing.assert_allclose(p[:, 1], expected, rtol=0, atol=1e-6)


def hats_of_rows(values, knots):
    """As the reader makes them, in its own arithmetic (docs/theory/curves.md)."""
    lo, hi = knots[0], knots[-1]
    x = ((np.clip(values, lo, hi) - lo) / (hi - lo)).astype(np.float32).astype(np.float64)
    at = (np.array(knots) - lo) / (hi - lo)
    i = np.searchsorted(at[1:-1], x, side="right")
    part = np.round(np.clip((x - at[i]) / (at[i + 1] - at[i]), 0, 1) * 2**24)
    out = np.zeros((len(values), len(knots)))
    out[np.arange(len(x)), i] = (2**24 - part) / 2**24
    out[np.arange(len(x)), i + 1] = part / 2**24
    return out


@pytest.mark.filterwarnings("ignore::gibbsite.VoidWarning")
def test_hats_are_those_of_rows_to_the_last_bit(tmp_path):
    knots = [-3.0, -2.5, 0.1, 0.3, 1e3]
    public = [gibbsite.Curve(-3, 1e3, knots), {"range": (0, 1), "missing": "-1", "missing_level": True}]
    random = np.random.default_rng(5)
    X = np.stack([random.choice([*knots, *random.normal(0, 3, 60), -9, 1e4], 400), random.random(400)], axis=1)
    X[::7, 1] = -1
    X = np.concatenate([X, [[np.nextafter(0.1, s), 0.5] for s in (-1, 1)], [[1e3 - 1e-12, 1]]])
    y = np.arange(len(X)) % 2
    model = gibbsite.PrivateLogisticRegression(1.0, 1e-6, ranges=public, random_state=3).fit(X, y)
    import gibbsite._onnx as made

    facts = json.loads(model.to_json())["model"]["preprocessing"]
    onnx = pytest.importorskip("onnx")
    for place, column in enumerate(facts["columns"]):
        graph = made._Graph(onnx, [])
        out, features = made._levels_of_number(graph, column, facts, "v")
        helper, proto = onnx.helper, onnx.TensorProto
        file = helper.make_model(
            helper.make_graph(
                graph.nodes,
                "g",
                [helper.make_tensor_value_info("v", proto.DOUBLE, ["rows", 1])],
                [helper.make_tensor_value_info(out, proto.DOUBLE, ["rows", features])],
                graph.initializers,
            ),
            opset_imports=[helper.make_opsetid("", made.OPSET)],
            ir_version=8,
        )
        onnx.checker.check_model(file, full_check=True)
        (hats,) = session_of(file).run([out], {"v": X[:, [place]]})
        assert hats.shape == (len(X), features) == (len(X), [5, 2][place])
        if place == 0:
            np.testing.assert_array_equal(hats, hats_of_rows(X[:, 0], knots))
            assert (hats.sum(axis=1) == 1).all() and ((hats > 0).sum(axis=1) <= 2).all()
        else:
            np.testing.assert_array_equal(hats[:, 1], X[:, 1] == -1)
            np.testing.assert_array_equal(hats[:, 0], np.where(X[:, 1] == -1, 0, X[:, 1].astype(np.float32)))


@pytest.mark.parametrize("more", ["", ", other = true", ', other = true, missing = "none"', ', missing = "none"'])
def test_a_listed_level_for_cells_without_one(tmp_path, more):
    town = COLUMNS.replace('["A", "B"], missing = "none"', '["A", "B"], unlisted = "B"' + more)
    release, data, cells = fitted(tmp_path, CLASSES, yes, columns=town)
    session = session_of(gibbsite.PrivateLogisticRegression.from_file(tmp_path / "m.json").to_onnx())
    _, p = session.run(["label", "probabilities"], feed(session, cells))
    np.testing.assert_allclose(p[:, 1], np.asarray(release.predict_probabilities(data)), rtol=0, atol=1e-6)


AMOUNT = 'label = "y"\nrange = [0, 50000]\ntolerance = 4000\n'
COUNT = 'label = "y"\nrange = [0, 12]\ncounts = true\n'
EXPOSED = COLUMNS.replace("range = [17, 90]}", "range = [17, 90]}").replace(
    'type = "number", range = [1.0', 'type = "exposure", range = [1.0'
)


@pytest.mark.parametrize(
    "head, columns, label",
    [
        (AMOUNT, COLUMNS, lambda score: np.round(12000 * score, 2)),
        (COUNT, COLUMNS, lambda score: np.clip(np.round(2 * score), 0, 12).astype(int)),
        (COUNT, EXPOSED, lambda score: np.clip(np.round(2 * score), 0, 12).astype(int)),
    ],
)
def test_amounts_and_counts(tmp_path, head, columns, label):
    release, data, cells = fitted(tmp_path, head, label, columns=columns)
    gibbsite.export_onnx(tmp_path / "m.json", tmp_path / "m.onnx")
    session = ort.InferenceSession(str(tmp_path / "m.onnx"))
    (y,) = session.run(["prediction"], feed(session, cells))
    expected = np.asarray(release.predict_amounts(data))
    assert y.shape == (ROWS,) and expected.std() > 0.1
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-6)


def test_what_predict_refuses_is_no_number(tmp_path):
    cells = {"x": ["0.1", "0.7", "0.4"] * 40, "c": ["a", "b", "a"] * 40, "y": ["u", "v", "u"] * 40}
    write_csv(tmp_path / "t.csv", cells)
    (tmp_path / "t.toml").write_text(
        'label = "y"\npositive = "v"\nnegative = "u"\n[columns]\n'
        'x = {type = "number", range = [0, 1]}\nc = {type = "category", levels = ["a", "b"]}\n'
    )
    estimator = gibbsite.PrivateLogisticRegression(
        1, 1e-6, schema=(tmp_path / "t.toml").read_text()
    )
    pytest.importorskip("pandas")
    import pandas

    frame = pandas.DataFrame({"x": np.array(cells["x"], float), "c": cells["c"]})
    estimator.fit(frame, cells["y"])
    session = session_of(estimator.to_onnx())
    strange = {
        "x": np.array([[0.5], [np.nan], [0.5], [np.inf], [0.5]]),
        "c": np.array([["a"], ["a"], ["z"], ["a"], [""]], dtype=object),
    }
    label, p = session.run(["label", "probabilities"], strange)
    np.testing.assert_array_equal(np.isnan(p).all(axis=1), [False, True, True, True, True])
    assert list(label[1:]) == [""] * 4 and label[0] in ("u", "v")
    expected = estimator.predict_proba(frame[:1].assign(x=0.5))
    np.testing.assert_allclose(p[0], expected[0], rtol=0, atol=1e-6)


def test_files(tmp_path):
    fitted(tmp_path, CLASSES, yes)
    out = tmp_path / "m.onnx"
    gibbsite.export_onnx(tmp_path / "m.json", out)
    first = out.read_bytes()
    with pytest.raises(FileExistsError):
        gibbsite.export_onnx(tmp_path / "m.json", out)
    gibbsite.export_onnx(str(tmp_path / "m.json"), str(out), replace=True)
    assert out.read_bytes() == first
    with pytest.raises(gibbsite.BadInput):
        gibbsite.export_onnx(tmp_path / "t.csv", tmp_path / "n.onnx")
    with pytest.raises(OSError):
        gibbsite.export_onnx(tmp_path / "m.json", tmp_path / "no" / "m.onnx")
    left = {path.name for path in tmp_path.iterdir()} - {"state"}
    assert left == {"m.json", "m.onnx", "t.csv", "t.toml"}
    import onnx

    told = {one.key: one.value for one in onnx.load(out).metadata_props}
    model = json.loads((tmp_path / "m.json").read_text())
    assert told["gibbsite.digest"] == model["certificate"]["digest"]
    assert float(told["gibbsite.epsilon"]) == 2


def test_command_line(tmp_path):
    fitted(tmp_path, CLASSES, yes)

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "gibbsite", "export", *map(str, arguments)],
            capture_output=True, text=True,
        )

    made = run("--model", tmp_path / "m.json", "--onnx", tmp_path / "c.onnx")
    assert made.returncode == 0, made.stderr
    gibbsite.export_onnx(tmp_path / "m.json", tmp_path / "p.onnx")
    assert (tmp_path / "c.onnx").read_bytes() == (tmp_path / "p.onnx").read_bytes()
    again = run("--model", tmp_path / "m.json", "--onnx", tmp_path / "c.onnx")
    assert again.returncode == 2 and "--force" in again.stderr
    family = ["fit", "--data", tmp_path / "t.csv", "--schema", tmp_path / "t.toml", "--model",
              "bernoulli", "--column", "y", "--epsilon", 1, "--delta", 1e-6, "--quiet", "--out",
              tmp_path / "f.json"]
    assert gibbsite.run_command([str(a) for a in family]) == 0
    refused = run("--model", tmp_path / "f.json", "--onnx", tmp_path / "f.onnx")
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert "family" in refused.stderr and not (tmp_path / "f.onnx").exists()


def test_a_capped_link_of_before_has_no_graph(tmp_path):
    """A whitened logistic model of gibbsite-release/2 is read, predicts, and is not exported."""
    path = ROOT / "tests" / "golden" / "v2" / "whitened.json"
    out = tmp_path / "m.onnx"
    with pytest.raises(ValueError, match="model.link: capped-logistic.*fit the model again") as info:
        gibbsite.export_onnx(path, out)
    assert "\n" not in str(info.value) and not out.exists()
    refused = subprocess.run(
        [sys.executable, "-m", "gibbsite", "export", "--model", str(path), "--onnx", str(out)],
        capture_output=True, text=True,
    )
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert "fit the model again" in refused.stderr and not out.exists()
    gibbsite.export_onnx(path.with_name("output.json"), out)
    assert out.exists()


def test_names_that_collide(tmp_path):
    """Columns named as the graph names its own."""
    columns = '\n[columns]\nage = {type = "number", range = [17, 90]}\nlabel = {type = "number", '
    columns += 'range = [1.0, 2.5]}\n"gibbsite/1" = {type = "category", levels = ["A", "B"]}\n'
    cells = table(yes)
    cells = {
        "age": cells["age"],
        "label": ["?" if c == "-1" else c for c in cells["height in m"]],
        "gibbsite/1": cells["town"],
        "y": cells["y"],
    }
    write_csv(tmp_path / "t.csv", cells)
    (tmp_path / "t.toml").write_text(CLASSES + 'missing = "?"\ninvalid = "middle"\n' + columns)
    arguments = ["fit", "--data", tmp_path / "t.csv", "--schema", tmp_path / "t.toml", "--epsilon",
                 2, "--delta", 1e-6, "--out", tmp_path / "m.json", "--quiet"]
    assert gibbsite.run_command([str(a) for a in arguments]) == 0
    estimator = gibbsite.PrivateLogisticRegression.from_file(tmp_path / "m.json")
    session = session_of(estimator.to_onnx())
    assert [one.name for one in session.get_outputs()] == ["label_", "probabilities"]
    p = session.run(["probabilities"], feed(session, cells))[0]
    release = estimator.release_
    data = gibbsite.read_table(str(tmp_path / "t.csv"), release.schema)
    np.testing.assert_allclose(p[:, 1], np.asarray(release.predict_probabilities(data)), atol=1e-6)


ADULT = """label = "income"
positive = ">50K"
negative = "<=50K"
missing = "?"
invalid = "middle"

[columns]
age = {type = "number", range = [20, 70]}
workclass = {type = "category", levels = ["Private", "State-gov", "Self-emp-inc"], other = true}
fnlwgt = {type = "ignore"}
education = {type = "category", levels = ["HS-grad", "Bachelors", "Masters", "Doctorate"]}
education_num = {type = "number", range = [1, 16]}
marital_status = {type = "ignore"}
occupation = {type = "category", levels = ["Sales", "Exec-managerial"], missing = "?", other = true}
relationship = {type = "category", levels = ["Husband", "Wife", "Own-child"], other = true}
race = {type = "ignore"}
sex = {type = "category", levels = ["Female", "Male"]}
capital_gain = {type = "number", range = [0, 20000]}
capital_loss = {type = "number", range = [0, 4000]}
hours_per_week = {type = "number", range = [1, 60]}
native_country = {type = "category", levels = ["United-States", "?"]}
"""
BERKELEY = """label = "admitted"
positive = "Admitted"
negative = "Rejected"
missing = "?"
invalid = "middle"

[columns]
gender = {type = "category", levels = ["Female", "Male"]}
department = {type = "category", levels = ["A", "B", "C"], missing = "none", other = true}
"""
ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize(
    "path, schema",
    [
        (ROOT / "data" / "berkeley.csv", BERKELEY),
        (ROOT.parent / "shared" / "data" / "adult-test.csv", ADULT),
    ],
)
def test_real_tables(tmp_path, path, schema):
    """2,000 rows, every seventh cell of a column missing besides."""
    if not path.exists():
        pytest.skip(f"{path.name} is not there: no graph is held against that table")
    with open(path, newline="") as file:
        lines = [[cell.strip() for cell in line] for line in csv.reader(file)][: ROWS + 1]
    cells = {name: list(column) for name, *column in zip(*lines)}
    for k, name in enumerate(list(cells)[:-1]):
        cells[name][k::7] = ["?"] * len(cells[name][k::7])
    write_csv(tmp_path / "t.csv", cells)
    (tmp_path / "t.toml").write_text(schema)
    arguments = ["fit", "--data", tmp_path / "t.csv", "--schema", tmp_path / "t.toml", "--epsilon",
                 2, "--delta", 1e-6, "--out", tmp_path / "m.json", "--quiet"]
    assert gibbsite.run_command([str(a) for a in arguments]) == 0
    estimator = gibbsite.PrivateLogisticRegression.from_file(tmp_path / "m.json")
    session = session_of(estimator.to_onnx())
    data = gibbsite.read_table(str(tmp_path / "t.csv"), estimator.schema_)
    expected = np.asarray(estimator.release_.predict_probabilities(data))
    assert len(expected) == ROWS and expected.std() > 1e-3
    p = session.run(["probabilities"], feed(session, cells))[0]
    np.testing.assert_allclose(p[:, 1], expected, rtol=0, atol=1e-6)
