"""Cross tables in the package: the program's numbers, as a frame."""

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
    program = pandas.read_csv("program.csv", float_precision="round_trip")
    pandas.testing.assert_frame_equal(table.frame, program, check_dtype=False, check_exact=True)
    again = gibbsite.CrossTable.read("program.json")
    pandas.testing.assert_frame_equal(table.frame, again.frame)
    assert repr(again).startswith("<gibbsite.CrossTable: income × job, <gibbsite.NetworkRelease: 2 columns")


def test_margins_agree_and_hold_the_counts(folder):
    pytest.importorskip("pandas")
    table = counted()
    assert table.release.verify().valid and table.rows == 2000
    frame = table.frame
    cells = frame[(frame.income != "(all)") & (frame.job != "(all)")]
    for column in ("income", "job"):
        other = "job" if column == "income" else "income"
        margin = frame[(frame[other] == "(all)") & (frame[column] != "(all)")].set_index(column)
        for what in ("estimate", "count"):
            assert (cells.groupby(column)[what].sum() == margin[what]).all()
    assert frame.estimate.iloc[-1] == 2000 and frame["count"].min() >= 0
    exact = people(2000)
    for row in cells.itertuples():
        is_there = sum((exact["income"] == row.income) & (exact["job"] == row.job))
        # Nine deviations: by chance with a probability below 1e-17.
        assert row.job == "(missing)" or abs(row.estimate - is_there) < 9 * row.std_err


def test_takes_frames_schemas_and_one_column(folder):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    whole = gibbsite.Schema.parse(BINS)
    of_frame = gibbsite.table(pandas.DataFrame(people(2000)), whole, "age", epsilon=1.0, delta=1e-6, seed=1)
    of_file = counted(["age"], seed=1)
    assert of_frame.release.to_json() == of_file.release.to_json()
    assert of_frame.columns == ["age"] and len(of_frame.frame) == 4
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
    with pytest.warns(gibbsite.FitWarning, match="delta"):
        gibbsite.table("people.csv", "people.toml", "job", epsilon=1.0, delta=1e-3)
    assert np.isfinite(counted(seed=1).release.certificate["constants"]["rows"])
