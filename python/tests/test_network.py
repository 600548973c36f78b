"""Networks in the package: from a table to a release, questions to it, people drawn from it."""

import io
import json
import os
import pickle

import gibbsite
import numpy as np
import pytest
from conftest import LEVELS, TOML, people

NETWORK = TOML + '\n[network]\nheight = []\nincome = ["age", "job"]\n'


def text_of(columns):
    names = list(columns)
    rows = zip(*columns.values())
    return "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n"


@pytest.fixture
def schema():
    return gibbsite.Schema.parse_network(NETWORK, "people.toml")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(text_of(people(2000)))
    return str(path)


def read(table, schema):
    return gibbsite.read_table(table, schema, labels_optional=True, ignore_extra_columns=True)


def fitted(data, schema, seed=1, **wishes):
    plan = gibbsite.plan_network(epsilon=5.0, delta=1e-6, rows=data.rows, schema=schema, **wishes)
    return gibbsite.fit_network(data, plan, seed=seed)


def test_rows_of_a_person_that_nobody_counts(table, schema):
    with pytest.warns(gibbsite.FitWarning, match="rows_per_person: nothing enforces it"):
        fitted(read(table, schema), schema, seed=None, rows_per_person=2)


def test_is_the_programs(table, schema, tmp_path, monkeypatch):
    """The bits of `gibbsite fit --model network` and `synthesize`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.toml").write_text(NETWORK)
    assert gibbsite.Schema.read_network("people.toml") == schema
    assert schema.columns == ["age", "job", "height", "income"]
    fit = ["fit", "--model", "network", "--data", table, "--schema", "people.toml", "--epsilon", "5", "--delta", "1e-6"]
    assert gibbsite.run_command([*fit, "--seed", "1", "--out", "program.json", "--quiet"]) == 0
    release = fitted(read(table, schema), schema)
    release.write("package.json")
    assert (tmp_path / "package.json").read_bytes() == (tmp_path / "program.json").read_bytes()
    with pytest.raises(FileExistsError):
        release.write("package.json")
    again = gibbsite.NetworkRelease.read("program.json")
    assert again.to_json() == release.to_json()
    assert gibbsite.NetworkRelease.from_json(release.to_json()).to_json() == release.to_json()
    assert gibbsite.run_command(["synthesize", "--model", "program.json", "--rows", "500", "--seed", "4", "--out", "drawn.csv", "--quiet"]) == 0
    assert release.synthesize(500, seed=4) == (tmp_path / "drawn.csv").read_text()
    release.write_synthetic("other.csv", 500, seed=4, n_jobs=2)
    assert (tmp_path / "other.csv").read_text() == (tmp_path / "drawn.csv").read_text()
    with pytest.raises(FileExistsError):
        release.write_synthetic("other.csv", 500)
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["drawn.csv", "other.csv", "people.csv"]


def test_add_remove(table, schema):
    """How many rows there are is private: the plan and the certificate have the cap."""
    wishes = {"epsilon": 5.0, "delta": 1e-6, "schema": schema}
    data = read(table, schema)
    plan = gibbsite.plan_network(**wishes, adjacency="add-remove", rows_cap=5000)
    assert plan.rows == 5000
    release = gibbsite.fit_network(data, plan)
    assert release.verify().valid
    assert '"rows": 2000' not in release.to_json()
    for given, why in [
        ({"rows": 2000, "adjacency": "add-remove"}, "adjacency: the number of rows is private under add-remove; give a public upper bound, rows_cap"),
        ({"rows": 2000, "rows_cap": 5000, "adjacency": "add-remove"}, "rows: the cap counts under add-remove; give rows_cap alone"),
        ({"rows": 2000, "rows_cap": 5000}, "rows_cap: has a meaning under the adjacency add-remove only; leave it out"),
        ({}, "rows: is missing; give the number of rows"),
    ]:  # fmt: skip
        with pytest.raises(gibbsite.BadInput) as info:
            gibbsite.plan_network(**wishes, **given)
        assert str(info.value) == why
    few = gibbsite.plan_network(**wishes, adjacency="add-remove", rows_cap=100)
    with pytest.raises(gibbsite.BadInput):
        gibbsite.fit_network(data, few)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_are_the_table(library, table, schema):
    module = pytest.importorskip(library)
    columns = people(2000)
    if library == "pandas":
        frame = module.DataFrame(columns)
        pytest.importorskip("pyarrow")
    else:
        plain = {name: values.tolist() for name, values in columns.items()}
        frame = module.DataFrame(plain) if library == "polars" else module.table(plain)
    data = gibbsite.read_arrow(frame, schema, labels_optional=True, ignore_extra_columns=True)
    assert fitted(data, schema).to_json() == fitted(read(table, schema), schema).to_json()


def test_says_what_it_holds(table, schema):
    release = fitted(read(table, schema), schema, mechanism="trimmed", trim=0.01, draws=3)
    assert release.columns == ["age", "job", "height", "income"]
    assert release.parents == {"age": [], "job": [], "height": [], "income": ["age", "job"]}
    assert release.levels("job") == [*LEVELS, "(missing)"]
    shares = release.table("income")
    jobs, ages = len(release.levels("job")), len(release.levels("age"))
    assert shares.shape == (3, ages * jobs, 2)
    assert np.allclose(shares.sum(axis=2), 1, atol=1e-9) and (shares >= 0.01 - 1e-12).all()
    # Given a level of each parent, the last of them fastest.
    age, job = 2, 1
    question = f"P(income = high | age = {release.levels('age')[age]}, job = {release.levels('job')[job]})"
    high = release.levels("income").index("high")
    each = release.probabilities(question)
    assert np.allclose(each, shares[:, age * jobs + job, high], atol=1e-12)
    assert abs(release.probability(question) - each.mean()) < 1e-12
    assert release.reach(question) is None  # of models on a junction tree alone
    assert repr(release) == "<gibbsite.NetworkRelease: 4 columns by network-trimmed, void>"
    assert release.certificate["mechanism"]["name"] == "network-trimmed"


def test_a_key_of_the_system_makes_a_guarantee(table, schema):
    data = read(table, schema)
    ledger_plan = gibbsite.plan_network(epsilon=1.0, delta=1e-6, rows=data.rows, schema=schema, mechanism="counts")
    assert ledger_plan.mechanism == "network-counts" and ledger_plan.deviation > 0
    assert not ledger_plan.chooses_structure and json.loads(ledger_plan.to_json())
    release = gibbsite.fit_network(data, ledger_plan)
    assert release.verify().valid and "(1, 1e-06)" in repr(release)
    assert "(ε, δ) = (1, 1e-06)" in release.in_words()
    assert not fitted(data, schema).verify().valid  # of a seed
    chosen = fitted(data, schema, structure="private", parents=1, cells=100, structure_share=0.3)
    assert max(len(of) for of in chosen.parents.values()) <= 1


def test_tables_are_chosen_where_no_edges_are_given(table):
    bare = gibbsite.Schema.parse_network(TOML)
    data = read(table, bare)
    plan = gibbsite.plan_network(epsilon=4.0, delta=1e-6, rows=data.rows, schema=bare)
    assert plan.mechanism == "network-tree" and plan.chooses_structure
    release = gibbsite.fit_network(data, plan)
    assert release.verify().valid and set(release.parents) == set(release.columns)
    level = release.levels("income")[0]
    assert 0 <= release.probability(f"P(income = {level})") <= 1
    assert 0 < release.reach(f"P(income = {level} | job = {release.levels('job')[0]})") <= 1
    assert len(release.synthesize(100, seed=1).splitlines()) == 101
    assert release.evaluate(data)["two_mean"] < 0.2


def test_is_entered_in_a_ledger(table, schema, tmp_path):
    data = read(table, schema)
    ledger = gibbsite.Ledger.create(str(tmp_path / "people.ledger"), epsilon=1.2, delta=1e-5)
    plan = gibbsite.plan_network(epsilon=1.0, delta=1e-6, rows=data.rows, schema=schema)
    assert gibbsite.fit_network(data, plan, ledger=ledger).verify().valid
    with pytest.raises(gibbsite.BudgetSpent):
        gibbsite.fit_network(data, plan, ledger=ledger)
    with pytest.raises(gibbsite.BadInput, match="ledger"):
        gibbsite.fit_network(data, plan, ledger=ledger, seed=1)


def test_people_drawn_follow_the_network(table, schema):
    polars = pytest.importorskip("polars")
    release = fitted(read(table, schema), schema)
    text = release.synthesize(40_000, seed=2)
    drawn = polars.read_csv(io.StringIO(text))
    assert drawn.shape == (40_000, 4)
    assert drawn["age"].min() >= 17 and drawn["age"].max() <= 90
    for level in LEVELS:  # a share of 40,000, seeded: within 6 deviations
        share = (drawn["job"] == level).mean()
        assert abs(share - release.probability(f"P(job = {level})")) < 6 * 0.5 / 200
    assert len(release.synthesize().splitlines()) == 2001  # as many as the certificate counts
    assert release.synthesize(100) != release.synthesize(100)  # another seed each time
    near = release.evaluate(read(table, schema), target="income")
    assert near["rows"] == 2000 and set(near["one_column"]) == set(release.columns)
    assert near["two_mean"] < 0.1 and ("age", "job") in near["two_columns"]
    assert near["classifier"]["synthetic"]["accuracy"] > near["classifier"]["real"]["majority"]
    assert "classifier" not in release.evaluate(read(table, schema))


@pytest.mark.parametrize(
    "wishes, error",
    [
        ({"structure": "learned"}, "structure: 'learned' is neither given nor private"),
        ({"parents": 2}, 'parents: has a meaning with structure private'),
        ({"structure_share": 0.5}, 'structure_share: has a meaning with structure private'),
        ({"mechanism": "whitened"}, "mechanism: 'whitened' is none of model network's"),
        ({"mechanism": "trimmed"}, "mechanism trimmed: needs trim"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"adjacency": "other"}, "adjacency"),
    ],
)
def test_plans_that_are_refused(wishes, error, schema):
    with pytest.raises(ValueError, match=error) as caught:
        gibbsite.plan_network(**{"epsilon": 1.0, "delta": 1e-6, "rows": 100, "schema": schema} | wishes)
    assert "\n" not in str(caught.value)


def test_what_else_is_refused(table, schema):
    bare = gibbsite.Schema.parse_network(TOML)
    with pytest.raises(gibbsite.BadInput, match=r"structure: the schema has no \[network\]"):
        gibbsite.plan_network(epsilon=1.0, delta=1e-6, rows=100, schema=bare, structure="given")
    with pytest.raises(gibbsite.BadInput, match=r"s.toml:\d+: \[network\]: 'income': parent 'town' is no column"):
        gibbsite.Schema.parse_network(NETWORK.replace('"job"]\n', '"town"]\n'), "s.toml")
    release = fitted(read(table, schema), schema)
    for question, error in [
        ("P(town = x)", "no column 'town'"),
        ("P(job = cook)", "'job' has no level 'cook'"),
        ("job", "does not begin with"),
        ("P(job = clerk | job = farmer, job = clerk)", "question 'P.*': its evidence has probability 0"),
    ]:
        with pytest.raises(gibbsite.BadInput, match=error):
            release.probability(question)
    for ask in (release.levels, release.table):
        with pytest.raises(gibbsite.BadInput, match="column: 'town' is none of the network's"):
            ask("town")
    with pytest.raises(gibbsite.BadInput, match="target: 'age' is no category"):
        release.evaluate(read(table, schema), target="age")
    with pytest.raises(gibbsite.BadInput, match="rows"):
        release.synthesize(0)
    with pytest.raises(TypeError):
        pickle.dumps(release)
    other = gibbsite.read_table(table, gibbsite.Schema.parse(TOML))
    with pytest.raises(gibbsite.BadInput):
        gibbsite.fit_network(other, gibbsite.plan_network(epsilon=1.0, delta=1e-6, rows=2000, schema=schema))


def test_progress_and_stopping(table, schema):
    release = fitted(read(table, schema), schema)

    class Enough(Exception):
        pass

    def stop(done, total):
        assert 0 <= done <= total == 2_000_000_000
        raise Enough

    with pytest.raises(Enough):
        release.write_synthetic(table + ".drawn", 2_000_000_000, progress=stop)
    assert os.listdir(os.path.dirname(table)) == ["people.csv"]


def test_an_interrupted_run_that_is_paid_says_so(tmp_path):
    """Its progress tells of noisy answers: for free, one could wait for a schema that one likes."""
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(1)
    frame = pandas.DataFrame({f"c{j}": random.choice(list("abcdefgh"), 400_000) for j in range(8)})
    ledger = gibbsite.Ledger.create(tmp_path / "l", epsilon=8.0, delta=1e-4)

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough") as raised:
        gibbsite.private_network(frame, epsilon=2.0, delta=1e-6, ledger=ledger, progress=stop)
    assert "the budget is spent" in raised.value.__notes__[0]
    assert [one["command"] for one in ledger.read()["releases"]] == ["fit network-tree, interrupted with its schema"]


def test_missing_numbers_are_a_level_from_every_source(tmp_path):
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    toml = """[columns]
age = {type = "number", range = [20, 80], bins = 6, missing = "nan"}
height = {type = "number", range = [1, 2], bins = 4}
[network]
height = ["age"]
"""
    schema = gibbsite.Schema.parse_network(toml, "s.toml")
    assert gibbsite.Schema.parse_network(schema.to_toml(), "again") == schema
    random = np.random.default_rng(5)
    X = np.stack([random.uniform(20, 80, 3000), random.uniform(1, 2, 3000)], axis=1)
    X[::3, 0] = np.nan
    path = tmp_path / "t.csv"
    path.write_text(text_of({"age": X[:, 0], "height": X[:, 1]}))
    frame = pandas.DataFrame(X, columns=["age", "height"])
    sources = [
        read(str(path), schema),
        gibbsite.read_array(X, None, schema, labels_optional=True),
        gibbsite.read_array(np.asfortranarray(X), None, schema, labels_optional=True),
    ]
    for table in (frame, polars.from_numpy(X, schema=["age", "height"]), polars.from_pandas(frame), pyarrow.table(frame)):
        sources.append(gibbsite.read_arrow(table, schema, labels_optional=True))
    texts = [fitted(data, schema).to_json() for data in sources]
    assert len(set(texts)) == 1
    release = fitted(sources[0], schema)
    assert release.levels("age")[-1] == "(missing)" and len(release.levels("age")) == 7
    assert abs(release.probability("P(age = (missing))") - 1 / 3) < 0.05
    drawn = pandas.read_csv(io.StringIO(release.synthesize(3000, seed=2)))
    assert abs(drawn["age"].isna().mean() - 1 / 3) < 0.05
