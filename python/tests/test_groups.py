"""`groups` of fit: whose each row is, for ids of every type, and what no id of somebody else changes."""

import datetime
import decimal
import enum
import fractions
import pathlib
import pickle
import uuid
import warnings

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLinearRegression, PrivateLogisticRegression
from gibbsite._tables import as_people, id_text


def two(people=300, rows_of=lambda person: 1 + person % 5, seed=3):
    """(X, y, ids): rows of people, of whom each has 1 to 5."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(people), [rows_of(person) for person in range(people)])
    X = rng.uniform(-1, 1, (len(ids), 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=len(ids)) > 0).astype(int)
    return X, y, ids


def estimator(**given):
    given = {"ranges": (-1, 1), "random_state": 1, **given}
    return PrivateLogisticRegression(5.0, 1e-4, **given)


def quiet(model, *args, **groups):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **groups)


def people_of(model):
    return model.certificate_["constants"]["people"]


def places(groups):
    texts, rows = as_people(groups)
    return [texts[row] for row in rows.tolist()]


ONE = [
    1, 1.0, "1", b"1", " 1 ", "01", "+1", "1.0", "1e0", np.int8(1), np.uint64(1), np.float32(1),
    np.longdouble(1), np.str_("1"), np.bytes_(b"1"), decimal.Decimal("1.00"), fractions.Fraction(1),
    np.array(1),
]
NOBODY = [
    None, float("nan"), float("inf"), np.float32("nan"), 2.0**53, -(2.0**60), b"\xff\xfe", "\ud800", (1, 2),
    1 + 2j, object(), datetime.date(2020, 1, 1), np.datetime64("2020-01-01"), np.timedelta64(1),
    "inf", "-Infinity", "NaN", decimal.Decimal("NaN"), decimal.Decimal("sNaN"), decimal.Decimal("1e999999999"), 10**6000,
]


def test_one_rule_says_whose_a_cell_is():
    assert {id_text(cell) for cell in ONE} == {"1"}
    assert {id_text(cell) for cell in NOBODY} == {None}
    assert {id_text(cell) for cell in (True, np.True_, "True", "TRUE", "true")} == {"true"}
    assert {id_text(cell) for cell in (0, 0.0, -0.0, "-0", "0.00", decimal.Decimal("-0.0"))} == {"0"}
    far = 2**53
    assert [id_text(far + 1), id_text(str(far + 1)), id_text(np.int64(far + 1))] == [str(far + 1)] * 3
    assert id_text(2**200) == str(2**200) != id_text(2**200 + 1)
    assert id_text(decimal.Decimal(far) + 1) == str(far + 1)
    assert {id_text(cell) for cell in (0.1, "0.10", decimal.Decimal("0.1"))} == {"0.1"}
    one = uuid.UUID(int=0xABCDEF)
    assert id_text(one) == id_text(str(one).upper()) != id_text(uuid.UUID(int=8))
    assert id_text("a") != id_text("A")


def test_texts_that_print_as_something_else_are_their_text():
    class Id(str, enum.Enum):
        A = "7"

    assert as_people([Id.A, "7", 7, 7.0, "007"])[0] == ["7"]  # texts of the people


def test_spellings_are_those_of_the_engine():
    with open(pathlib.Path(__file__).parents[2] / "tests" / "data" / "id_spellings.tsv", encoding="utf-8") as file:
        people = [line.removesuffix("\n").split("\t") for line in file]
    assert len(people) > 20
    for person, *texts in people:
        assert {id_text(text) for text in texts} == {person} or not person, person
        assert person or not any(id_text(text) for text in texts), texts
    floats = [np.float32(7), np.float32(2**24), np.float32(0.1), np.float16(7), 1234567.001]
    assert [id_text(cell) for cell in floats] == ["7", None, None, None, None]


def test_no_other_cell_changes_how_one_is_read():
    """numpy, and pandas by stretches of a file, choose a type by all cells."""
    rng = np.random.default_rng(1)
    cells = [*ONE, *NOBODY, True, "x", "é", "e\u0301"]
    alone = {id(cell): places([cell])[0] for cell in cells}
    for _ in range(200):
        some = [cells[at] for at in rng.integers(0, len(cells), rng.integers(1, 12))]
        expected = [alone[id(cell)] for cell in some]
        assert places(some) == expected
        array = np.empty(len(some), object)
        array[:] = some
        assert places(array) == expected


def test_types_of_arrays_and_columns_are_the_same():
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    ids = [5, 2, 5, 7]
    texts = ["5", "2", "5", "7"]
    for groups in (
        ids, tuple(ids), np.array(ids, np.uint8), np.array(ids, ">i8"), np.array(ids, float),
        np.array(ids, np.float32), np.array(texts), np.array(texts, "S3"), np.array(texts, object),
        pandas.Series(ids), pandas.Index(ids), pandas.Series(texts), pandas.Series(ids, dtype="Int64"),
        pandas.Series(texts, dtype="string"), pandas.Series(texts, dtype="category"),
        pandas.Categorical(ids), pandas.CategoricalIndex(texts, categories=["9", "7", "5", "2"]),
        pyarrow.array(ids), pyarrow.chunked_array([ids[:1], ids[1:]]),
        pyarrow.array(texts).dictionary_encode(), pyarrow.array(ids, pyarrow.float64()),
        pyarrow.array(texts, pyarrow.binary()),
        pandas.Series(pandas.arrays.ArrowExtensionArray(pyarrow.array(ids))),
    ):
        assert places(groups) == texts, groups
    for groups in (
        pandas.Series(["a", None]), pandas.Series(["a", pandas.NA], dtype="string"),
        pandas.Series(["a", None], dtype="category"), pyarrow.array(["a", None]), ["a", pandas.NaT],
    ):
        assert places(groups) == ["a", None]
    assert places(np.array([True, False])) == ["true", "false"]


def test_a_file_read_by_stretches_names_everybody_once(tmp_path):
    """One person's id that is a word makes text of the numbers near it: "007" there is 7 elsewhere."""
    pandas = pytest.importorskip("pandas")
    for odd in ("0000", "u"):
        lines = [f"{i:04}" for i in range(1000) for _ in range(300)]
        file = tmp_path / f"{odd}.csv"
        file.write_text("\n".join(["id", *lines, odd, *lines]) + "\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            column = pandas.read_csv(file)["id"]
        if odd == "u":
            assert {type(cell) for cell in column} == {int, str}
        texts, rows = as_people(column)
        counts = np.bincount(rows)
        expected = [600] * 999 + [601] if odd == "0000" else [1] + [600] * 1000
        assert sorted(counts.tolist()) == expected, odd
        assert len(texts) == (1000 if odd == "0000" else 1001)


def test_people_count_at_most_k():
    X, y, ids = two()
    model = quiet(estimator(), X, y, groups=ids)
    assert people_of(model) == 300
    assert "rows" not in model.certificate_["constants"]
    assert model.certificate_["constants"]["rows_of_person"] == 1
    # Rows of one person once more: halves of rows, and the same sums but for rounding.
    twice = quiet(estimator(), np.vstack([X, X]), np.hstack([y, y]), groups=np.hstack([ids, ids]))
    assert people_of(twice) == 300
    np.testing.assert_allclose(twice.coef_, model.coef_, atol=1e-3)
    # One spelling or another.
    texts = quiet(estimator(), X, y, groups=[f" {i:03}" for i in ids])
    np.testing.assert_array_equal(texts.coef_, model.coef_)
    other = quiet(estimator(rows_per_person=3), X, y, groups=ids)
    assert other.certificate_["guarantee"]["rows_per_person"] == 3
    assert other.certificate_["constants"]["rows_of_person"] == 3
    amounts = PrivateLinearRegression(
        5.0, 1e-4, ranges=(-1, 1), random_state=1, target_range=(-1, 1), tolerance=0.2
    )
    assert people_of(quiet(amounts, X, X[:, 0], groups=ids)) == 300


def test_one_person_of_many_rows_moves_a_model_as_little_as_one_of_one():
    """The attack: somebody with 20,000 rows of the rarest kind, under one seed's noise."""
    X, y, ids = two(2000)
    far = np.full((20_000, 2), -1.0)
    X_far, y_far = np.vstack([X, far]), np.hstack([y, np.ones(20_000, int)])
    base = quiet(estimator(), np.vstack([X, far[:1]]), np.hstack([y, [1]]), groups=[*ids, "odd"])
    held = quiet(estimator(), X_far, y_far, groups=[*ids, *["odd"] * 20_000])
    split = quiet(estimator(), X_far, y_far, groups=[*ids, *[f"odd {i}" for i in range(20_000)]])
    assert people_of(held) == people_of(base) == 2001
    np.testing.assert_allclose(held.coef_, base.coef_, atol=1e-3)
    assert np.abs(split.coef_ - base.coef_).max() > 0.5  # what 20,000 people would do


def test_a_certificate_of_people_holds_and_is_a_ledgers(tmp_path):
    X, y, ids = two()
    ledger = gibbsite.Ledger.create(tmp_path / "people", epsilon=9.0, delta=1e-3, people=True)
    assert ledger.read()["rows_per_person"] is None
    model = quiet(estimator(random_state=None, ledger=ledger), X, y, groups=ids)
    assert model.verify().valid
    assert "any number of rows per person" in model.release_.in_words()
    assert len(ledger.read()["releases"]) == 1
    with pytest.raises(ValueError, match="counts people, whatever rows they have"):
        quiet(estimator(random_state=None, ledger=ledger), X, y)
    rows = gibbsite.Ledger.create(tmp_path / "rows", epsilon=9.0, delta=1e-3)
    with pytest.raises(ValueError, match="counts rows, 1 of a person"):
        quiet(estimator(random_state=None, ledger=rows), X, y, groups=ids)
    assert [len(one.read()["releases"]) for one in (ledger, rows)] == [1, 0]
    with pytest.raises(ValueError, match="rows_per_person: a ledger of people"):
        gibbsite.Ledger.create(tmp_path / "x", epsilon=1.0, delta=1e-6, people=True, rows_per_person=2)


def test_rows_to_predict_have_no_people(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y, ids = two()
    given = {"weight_range": (0, 2)}
    model = quiet(estimator(**given), X, y, groups=ids, sample_weight=np.ones(len(y)))
    assert model.n_features_in_ == 2
    model.save(tmp_path / "model.json")
    read = PrivateLogisticRegression.from_file(tmp_path / "model.json")
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    frame = pandas.DataFrame(X, columns=["a", "b"])
    named = quiet(estimator(ranges={"a": (-1, 1), "b": (-1, 1)}), frame, y, groups=pandas.Series(ids))
    named.save(tmp_path / "named.json")
    read = PrivateLogisticRegression.from_file(tmp_path / "named.json")
    np.testing.assert_array_equal(read.predict_proba(frame), named.predict_proba(frame))


def test_a_row_of_nobody_counts_nothing_under_middle():
    X, y, ids = two()
    cells = [*ids[:-1].tolist(), None]
    with pytest.raises(ValueError, match="groups: row .* is no id.*private"):
        quiet(estimator(), X, y, groups=cells)
    models = [quiet(estimator(invalid="middle"), X, y, groups=[*cells[:-1], odd]) for odd in NOBODY[:3]]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
    changed = X.copy()
    changed[-1] = -changed[-1]
    same = quiet(estimator(invalid="middle"), changed, y, groups=cells)
    np.testing.assert_array_equal(same.coef_, models[0].coef_)


@pytest.mark.parametrize(
    "groups, kind, match",
    [
        ("id", TypeError, "is no list of ids"),
        ([1, 2], ValueError, "groups: 2 people for 50 rows"),
        (np.ones((50, 1)), ValueError, "one id a row"),
        (np.zeros(50, "M8[D]"), TypeError, "has no ids"),
        (np.zeros(50, complex), TypeError, "has no ids"),
        (np.ma.masked_greater(np.ones(50), 0.5), TypeError, "masked array"),
    ],
)
def test_groups_that_are_refused(groups, kind, match):
    X, y, _ = two(50, lambda person: 1)
    with pytest.raises(kind, match=match):
        estimator().fit(X, y, groups=groups)


def test_refusals_of_what_does_not_count_people():
    X, y, ids = two()
    with pytest.raises(TypeError, match="unexpected keyword argument 'group'"):
        estimator().fit(X, y, group=ids)
    with pytest.warns(gibbsite.FitWarning, match="rows_per_person: nothing enforces it"):
        estimator(rows_per_person=2).fit(X, y)


def test_searches_hand_groups_on_where_they_are_asked_to():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, GroupKFold

    X, y, ids = two(100)
    asked = estimator().set_fit_request(groups=True)
    copy = sklearn.base.clone(asked)
    assert copy.get_metadata_routing().fit.requests == {"sample_weight": None, "groups": True}
    assert "groups" not in asked.get_params()
    assert pickle.loads(pickle.dumps(asked)).get_metadata_routing().fit.requests["groups"] is True
    with pytest.raises(TypeError, match="set_fit_request: 'group' is none of"):
        asked.set_fit_request(group=True)
    grid = {"prior_precision": [1.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with sklearn.config_context(enable_metadata_routing=True):
            search = GridSearchCV(asked, grid, cv=GroupKFold(2)).fit(X, y, groups=ids)
        assert people_of(search.best_estimator_) == 100
        plain = GridSearchCV(estimator(), grid, cv=GroupKFold(2)).fit(X, y, groups=ids)
        assert "people" not in plain.best_estimator_.certificate_["constants"]
