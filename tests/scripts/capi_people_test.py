#!/usr/bin/env python3
"""Fits that count people by the C interface: what they certify is what the program certifies, and a person with forty rows
counts as one.

capi_people_test.py LIBRARY PROGRAM
"""
import csv
import ctypes
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

LIBRARY = ctypes.CDLL(sys.argv[1])
PROGRAM = sys.argv[2]
for name in ("gibbsite_free", "gibbsite_settings_free", "gibbsite_model_free", "gibbsite_schema_free", "gibbsite_ledger_free"):
    getattr(LIBRARY, name).restype = None
    getattr(LIBRARY, name).argtypes = [ctypes.c_void_p]
ROWS, NETWORK = 0, 1
ANY_ROWS = 2**64 - 1  # GIBBSITE_ANY_ROWS


class Failed(Exception):
    pass


def call(name, *arguments):
    error = ctypes.c_void_p()
    status = getattr(LIBRARY, name)(*arguments, ctypes.byref(error))
    if status == 0:
        return
    text = ctypes.string_at(error).decode()
    LIBRARY.gibbsite_free(error)
    raise Failed(f"{status}: {text}")


def text_of(name, *arguments):
    out = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(out))
    text = ctypes.string_at(out).decode()
    LIBRARY.gibbsite_free(out)
    return text


def fit(table, schema, kind, settings, ledger=None):
    """The JSON of a fit through the library; schema None: it is bought."""
    handles = [ctypes.c_void_p() for _ in range(4)]
    of_schema, of_settings, of_ledger, model = handles
    try:
        if schema is not None:
            call("gibbsite_schema_read", str(schema).encode(), kind, ctypes.byref(of_schema))
        call("gibbsite_settings_new", ctypes.byref(of_settings))
        for name, value in settings.items():
            call("gibbsite_settings_set", of_settings, name.encode(), str(value).encode())
        if ledger is not None:
            call("gibbsite_ledger_open", str(ledger).encode(), ctypes.byref(of_ledger))
        call("gibbsite_fit_file", str(table).encode(), of_schema, of_settings, of_ledger, ctypes.byref(model))
        return json.loads(text_of("gibbsite_model_json", model))
    finally:
        for handle, free in zip(handles, ("schema", "settings", "ledger", "model")):
            getattr(LIBRARY, f"gibbsite_{free}_free")(handle)


def fit_by_program(folder, table, schema, settings):
    out = folder / "program.json"
    command = [PROGRAM, "fit", "--data", table, "--out", out, "--quiet", "--force"]
    command += [] if schema is None else ["--schema", schema]
    for name, value in settings.items():
        command += [f"--{name.replace('_', '-')}"] + ([] if value == "true" else [str(value)])
    subprocess.run(command, check=True, capture_output=True)
    return json.loads(out.read_text())


def said(file):
    """What a certificate claims and what it counts: all but what noise decides."""
    certificate = dict(file["certificate"])
    for name in ("digest", "created"):
        certificate.pop(name, None)
    return certificate


def same(here, there, path=""):
    """Differences of two certificates, in words."""
    if type(here) is not type(there):
        return [f"{path}: {here!r} and {there!r}"]
    if isinstance(here, dict):
        keys = sorted(set(here) | set(there))
        return [line for key in keys for line in same(here.get(key), there.get(key), f"{path}.{key}")]
    return [] if here == there else [f"{path}: {here!r} and {there!r}"]


def write(path, head, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def visits(folder):
    """4,000 people with one to five rows, one of them with forty."""
    random.seed(3)
    rows = []
    for person in range(4000):
        for _ in range(40 if person == 7 else random.randint(1, 5)):
            age = random.randint(18, 80)
            rows.append([f"p{person}", age, random.choice("fm"), "yes" if random.random() < (age - 10) / 80 else "no", random.randint(0, 9)])
    random.shuffle(rows)
    table = write(folder / "visits.csv", ["id", "age", "sex", "y", "w"], rows)
    schema = folder / "visits.toml"
    schema.write_text(
        'label = "y"\npositive = "yes"\nnegative = "no"\n[columns]\nid = {type = "person"}\nage = {type = "number", range = [18, 80]}\n'
        'sex = {type = "category", levels = ["f", "m"]}\nw = {type = "weight", range = [0, 9]}\n'
    )
    return table, schema


def test_certificates(folder):
    table, schema = visits(folder)
    budget = {"epsilon": 2, "delta": 1e-6, "rows_per_person": 3}
    label = {"label": "y", "positive": "yes"}
    more = {**budget, "epsilon": 5}
    cases = [
        (schema, ROWS, budget),
        (schema, ROWS, {**budget, "intervals": "true"}),
        (schema, ROWS, {**budget, "mechanism": "path"}),
        (schema, ROWS, {**budget, "adjacency": "add-remove", "rows_cap": 5000}),
        (schema, NETWORK, {**budget, "model": "network", "structure": "private"}),
        (None, ROWS, {**more, **label, "person": "id"}),
        (None, ROWS, {**more, **label, "person": "id", "weight": "w", "weight_range": "0,9", "intervals": "true"}),
        (None, NETWORK, {**more, "model": "network", "person": "id"}),
    ]
    for of, kind, settings in cases:
        here, there = fit(table, of, kind, settings), fit_by_program(folder, table, of, settings)
        wrong = same(said(here), said(there))
        if of is None:  # constants of a model whose schema noise decides
            wrong = [line for line in wrong if not line.startswith((".constants.features", ".constants.levels", ".constants.answered"))]
        assert not wrong, (settings, wrong)
        constants = here["certificate"]["constants"]
        assert constants["rows_of_person"] == 3, constants
        if "rows_cap" not in settings:
            assert constants["people"] == 4000, constants
    # Planted: a certificate of rows is another one.
    assert same({"constants": {"people": 4000}}, {"constants": {"rows": 4000}})


def test_one_person_of_many_rows(folder):
    """400 rows of one person among 1,600 people are 1/1601 of them, and a fifth of the rows. At epsilon 100 a count is off by
    under 3 people (one standard deviation); the limits are 80 away."""
    rows = [["one", "a", "yes"]] * 400 + [[f"p{k}", "b", "no"] for k in range(1600)]
    table = write(folder / "many.csv", ["id", "x", "y"], rows)
    schema = folder / "many.toml"
    schema.write_text(
        'label = "y"\npositive = "yes"\nnegative = "no"\n[columns]\nid = {type = "person"}\nx = {type = "category", levels = ["a", "b"]}\n'
    )
    alike = folder / "alike.toml"  # no column tells the labels apart
    alike.write_text(schema.read_text().replace('["a", "b"]}', '["c"], other = true}'))
    settings = {"epsilon": 100, "delta": 1e-6}

    def of_rows(schema):  # planted: the test sees rows that are not held
        out = folder / f"rows-{schema.name}"
        out.write_text(schema.read_text().replace('"person"', '"ignore"'))
        return out

    shares = [probability(fit(table, of, NETWORK, {**settings, "structure": "private"}), "P(x = a)") for of in (schema, of_rows(schema))]
    assert shares[0] < 0.05 and shares[1] > 0.15, shares
    bought = fit(table, None, NETWORK, {**settings, "epsilon": 10, "model": "network", "person": "id"})
    assert probability(bought, "P(x = b)") > 0.9
    chances = [predicted(fit(table, of, ROWS, settings), table) for of in (alike, of_rows(alike))]
    assert chances[0] < 0.05 and chances[1] > 0.12, chances


class Numbers(ctypes.Structure):
    _fields_ = [("values", ctypes.POINTER(ctypes.c_double)), ("rows", ctypes.c_size_t), ("columns", ctypes.c_size_t)]


def predicted(file, table):
    """P(positive) of the table's first row."""
    model, out = ctypes.c_void_p(), Numbers()
    call("gibbsite_model_parse", json.dumps(file).encode(), ctypes.byref(model))
    call("gibbsite_predict_file", model, str(table).encode(), 0, ctypes.byref(out))
    chance = out.values[0]
    LIBRARY.gibbsite_free(ctypes.cast(out.values, ctypes.c_void_p))
    LIBRARY.gibbsite_model_free(model)
    return chance


def probability(network, question):
    model = ctypes.c_void_p()
    call("gibbsite_model_parse", json.dumps(network).encode(), ctypes.byref(model))
    try:
        return json.loads(text_of("gibbsite_query", model, question.encode(), None, None))["probability"]
    finally:
        LIBRARY.gibbsite_model_free(model)


def test_ledger(folder):
    """A ledger of people takes fits of people and no other."""
    table, schema = visits(folder)
    ledger = folder / "people.ledger"
    call("gibbsite_ledger_create", str(ledger).encode(), ctypes.c_double(2), ctypes.c_double(1e-5), None, ctypes.c_uint64(ANY_ROWS))
    settings = {"epsilon": 1, "delta": 1e-6, "rows_per_person": 2}
    fit(table, schema, ROWS, settings, ledger)
    ignoring = folder / "rows.toml"
    ignoring.write_text(schema.read_text().replace('"person"', '"ignore"'))
    refused(lambda: fit(table, ignoring, ROWS, settings, ledger), "people")
    shown = json.loads(subprocess.run([PROGRAM, "ledger", "show", ledger, "--json"], check=True, capture_output=True, text=True).stdout)
    assert len(shown["releases"]) == 1, shown


def test_refusals(folder):
    table, schema = visits(folder)
    budget = {"epsilon": 2, "delta": 1e-6}
    label = {"label": "y", "positive": "yes"}
    refused(lambda: fit(table, schema, ROWS, {**budget, "person": "id"}), 'type = "person"')
    refused(lambda: fit(table, None, ROWS, {**budget, **label, "weight": "w"}), "weight_range: is missing")
    refused(lambda: fit(table, None, ROWS, {**budget, **label, "weight_range": "0,9"}), "weight_range: is of a weight")
    refused(lambda: fit(table, None, ROWS, {**budget, **label, "weight": "w", "weight_range": "9,0"}), "the lower first")
    refused(lambda: fit(table, None, ROWS, {**budget, **label, "exposure": "w"}), "exposure_range: is missing")
    refused(lambda: fit(table, None, ROWS, {**budget, **label, "exposure_range": "1,9"}), "exposure_range: is of an exposure")
    refused(
        lambda: fit(table, None, ROWS, {**budget, **label, "exposure": "w", "exposure_range": "1,9"}),
        "exposure: is what a count is over",
    )
    refused(lambda: fit(table, None, ROWS, {**budget, **label, "person": "nobody"}), "nobody")
    refused(lambda: fit(table, None, ROWS, {**budget, **label, "person": "id", "public": str(table)}), "public table")


def refused(run, words):
    try:
        run()
    except Failed as failed:
        assert words in str(failed), failed
        return
    raise AssertionError(f"nothing was refused: {words}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_STATE_HOME"] = scratch
        for test in (test_certificates, test_one_person_of_many_rows, test_ledger, test_refusals):
            folder = pathlib.Path(scratch) / test.__name__
            folder.mkdir()
            test(folder)
    print("people are counted as the program counts them")


main()
