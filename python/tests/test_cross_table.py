"""Cross tables in the package: the program's numbers, as a frame."""

import csv

import gibbsite
import numpy as np
import pytest
from conftest import TOML, people

BINS = TOML.replace('age = {type = "number",', 'age = {type = "number", bins = 3,')


def text_of(columns):
    names = list(columns)
    rows = zip(*columns.values())
    return "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(text_of(people(2000)))
    (tmp_path / "people.toml").write_text(BINS)
    return tmp_path


def counted(columns=("income", "job"), **more):
    return gibbsite.table("people.csv", "people.toml", list(columns), epsilon=1.0, delta=1e-6, **more)


def test_is_the_programs(folder):
    pandas = pytest.importorskip("pandas")
    command = ["table", "--data", "people.csv", "--schema", "people.toml", "--columns", "income,job", "--epsilon", "1"]
    command += ["--delta", "1e-6", "--seed", "3", "--out", "program.json", "--csv", "program.csv", "--quiet"]
    assert gibbsite.run_command(command) == 0
    table = counted(seed=3)
    table.write("package.json")
    assert (folder / "package.json").read_bytes() == (folder / "program.json").read_bytes()
    rows = list(csv.DictReader((folder / "program.csv").read_text().splitlines()))
    assert list(rows[0]) == list(table.frame.columns)
    for column in table.frame.columns:
        cells = [row[column] for row in rows]
        if column == "hidden":
            cells = [cell == "true" for cell in cells]
        elif column not in ("income", "job"):
            cells = [float(cell) for cell in cells]
        assert table.frame[column].tolist() == cells
    again = gibbsite.CrossTable.read("program.json")
    pandas.testing.assert_frame_equal(table.frame, again.frame)
    assert repr(again).startswith("<gibbsite.CrossTable: income × job, <gibbsite.NetworkRelease: 2 columns")


def is_level(values, level):
    """Where the values are of a level, or in a bin, of that name."""
    if not level.startswith("["):
        return values == level
    low, high = (float(end) for end in level.strip("[])").split(", "))
    values = np.clip(values, 17, 90)  # ages beyond the range count at its ends
    return (values >= low) & ((values <= high) if level.endswith("]") else (values < high))


@pytest.mark.parametrize("columns", [["income", "job"], ["job", "income"], ["age", "job", "income"]])
def test_margins_agree_and_hold_the_counts(folder, columns):
    pytest.importorskip("pandas")
    table = counted(columns)
    assert table.release.verify().valid and table.rows == 2000 and table.columns == columns
    frame = table.frame
    cells = frame[(frame[columns] != "(all)").all(axis=1)]
    assert len(cells) == np.prod([len(table.release.levels(column)) for column in columns])
    for column in columns:
        others = [other for other in columns if other != column]
        margin = frame[(frame[others] == "(all)").all(axis=1) & (frame[column] != "(all)")]
        margin = margin.set_index(column)
        for what in ("estimate", "count"):
            assert (cells.groupby(column, sort=False)[what].sum() == margin[what]).all()
    assert frame.estimate.iloc[-1] == 2000 and frame["count"].min() >= 0
    exact = people(2000)
    for _, row in cells.iterrows():
        is_there = np.logical_and.reduce([is_level(exact[column], row[column]) for column in columns])
        # Nine deviations: by chance with a probability below 1e-17.
        missing = row.job == "(missing)"
        assert missing or abs(row.estimate - is_there.sum()) < 9 * row.std_err


def test_takes_frames_schemas_and_one_column(folder):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    whole = gibbsite.Schema.parse(BINS)
    of_frame = gibbsite.table(pandas.DataFrame(people(2000)), whole, "age", epsilon=1.0, delta=1e-6, seed=1)
    of_file = counted(["age"], seed=1)
    assert of_frame.release.to_json() == of_file.release.to_json()
    assert of_frame.columns == ["age"] and len(of_frame.frame) == 5
    assert of_frame.frame["age"].tolist()[3:] == ["(missing)", "(all)"]  # the whole table has a mark
    assert of_frame.frame["std_err"].iloc[-1] == 0


def test_add_remove_and_the_ledger(folder):
    ledger = gibbsite.Ledger.create(
        "people.ledger", epsilon=1.2, delta=1e-5, adjacency="add-remove", rows_per_person=1
    )
    wishes = {"adjacency": "add-remove", "rows_cap": 5000, "ledger": ledger}
    table = counted(**wishes)
    assert table.rows is None and '"rows": 2000' not in table.release.to_json()
    with pytest.raises(gibbsite.BudgetSpent):
        counted(**wishes)


def test_refuses_in_one_line(folder):
    for columns, why in [
        (["height"], "columns: 'height' has no bins"),
        (["job", "job"], "columns: 'job' is given twice"),
        (["town"], "columns: 'town' is not in the schema"),
        ([], "columns: a table has from 1 to 11"),
    ]:
        with pytest.raises(gibbsite.BadInput) as info:
            counted(columns)
        assert str(info.value).startswith(why), str(info.value)
    with pytest.raises(gibbsite.BadInput, match="columns: 'age' is no column"):
        gibbsite.CrossTable(counted(seed=1).release, ["age"])
    with pytest.raises(gibbsite.BadInput, match="rows is private under add-remove; give a public"):
        counted(adjacency="add-remove")
    with pytest.raises(gibbsite.BadInput, match="rows_cap: has a meaning under"):
        counted(rows_cap=5000)
    with pytest.warns(gibbsite.FitWarning, match="delta"):
        gibbsite.table("people.csv", "people.toml", "job", epsilon=1.0, delta=1e-3)
    assert np.isfinite(counted(seed=1).release.certificate["constants"]["rows"])


def test_rows_count_by_weight_and_people_together(tmp_path):
    """Sums of weights, within five deviations: seeds are fixed; by chance below 1e-6."""
    random = np.random.default_rng(4)
    person = np.repeat(np.arange(3000), random.integers(1, 4, 3000))
    group, weight = random.integers(0, 2, person.size), random.choice([1.0, 4.0], person.size)
    toml = (
        '[columns]\nwho = {type = "person"}\nw = {type = "weight", range = [0, 4]}\n'
        'group = {type = "category", levels = ["0", "1"]}\n'
    )
    columns = {"who": person, "w": weight, "group": group}
    (tmp_path / "t.csv").write_text(text_of(columns))
    (tmp_path / "t.toml").write_text(toml)
    budget = {"epsilon": 1.0, "delta": 1e-6, "rows_per_person": 2}
    table = gibbsite.table(tmp_path / "t.csv", tmp_path / "t.toml", "group", seed=5, **budget)
    share = weight / 4 * np.minimum(1, 2 / np.bincount(person)[person])
    exact = [share[group == level].sum() for level in (0, 1)]
    assert table.rows is None
    frame = table.frame
    assert (np.abs(frame.estimate[:2] - exact) < 5 * frame.std_err[:2]).all()
    assert frame.std_err.iloc[-1] > 0  # the total is private
    constants = table.release.certificate["constants"]
    assert constants["people"] == 3000 and constants["rows_of_person"] == 2

    schema = gibbsite.Schema.parse_network(toml)
    wishes = {"labels_optional": True, "ignore_extra_columns": True}
    with pytest.raises(gibbsite.BadInput, match="says whose a row is"):
        gibbsite.read_table(tmp_path / "t.csv", schema, **wishes)
    data = gibbsite.read_table(tmp_path / "t.csv", schema, rows_per_person=2, **wishes)
    assert data.counted == 3000
    plan = gibbsite.plan_network(schema=schema, rows=data.counted, **budget)
    release = gibbsite.fit_network(data, plan, seed=1)
    shares = np.array(exact) / np.sum(exact)
    assert abs(release.probability("P(group = 1)") - shares[1]) < 0.05
    assert set(release.evaluate(data)["one_column"]) == {"group"}


def test_says_what_a_count_is(tmp_path):
    pytest.importorskip("pandas")
    toml = '[columns]\nwho = {type = "person"}\ngroup = {type = "category", levels = ["0", "1"]}\n'
    columns = {"who": np.arange(900) // 3, "group": np.arange(900) % 2, "w": np.arange(900) % 5}
    (tmp_path / "t.csv").write_text(text_of(columns))
    budget = {"epsilon": 1.0, "delta": 1e-6, "seed": 1}
    ignored = toml + 'w = {type = "ignore"}\n'
    table = gibbsite.table(tmp_path / "t.csv", ignored, "group", **budget)
    assert table.count_of == table.frame.attrs["count_of"] == "people"
    assert "count as one together" in table.meaning and "counts of people" in repr(table)
    table = gibbsite.table(tmp_path / "t.csv", ignored, "group", rows_per_person=2, **budget)
    assert table.count_of == "rows, at most 2 of a person" and "at most 2 together" in table.meaning

    weighed = toml + 'w = {type = "weight", range = [0, 3]}\n'
    with pytest.warns(gibbsite.FitWarning, match="column 'w': 180 of 900 weights are beyond the range"):
        table = gibbsite.table(tmp_path / "t.csv", weighed, "group", **budget)
    assert "a sum over people of the mean w of their rows, over 3" in table.meaning
