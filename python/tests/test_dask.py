"""Rows on the workers of a Dask cluster: the bits of one process, whatever happens to a worker."""

import contextlib
import os
import signal
import threading

import numpy as np
import pandas as pd
import pytest

import gibbsite

pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

import dask  # noqa: E402
import dask.array  # noqa: E402
import dask.dataframe as dd  # noqa: E402

import gibbsite.dask  # noqa: E402

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
N = 9000  # nine blocks, the last one in part
HEAD = 'label = "sick"\nrow_norm = "auto"\nintercept = true\nmissing = "?"\n'
COLUMNS = """
[columns]
age = {type = "number", range = [17, 90]}
job = {type = "category", levels = ["clerk", "farmer", "other work"]}
"""
TOML = HEAD + 'positive = "yes"\nnegative = "no"\nunlisted_label = "refuse"\n' + COLUMNS


@contextlib.contextmanager
def cluster_of_four():
    with dask.config.set({"distributed.comm.timeouts.connect": "30s"}):
        with distributed.LocalCluster(
            n_workers=4, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster, distributed.Client(cluster) as client:
            yield client


@pytest.fixture(scope="module")
def client():
    with cluster_of_four() as client:
        yield client


@pytest.fixture
def mortal():
    """A cluster of its own: who is killed may not come back."""
    with cluster_of_four() as client:
        yield client


def people(n=N, seed=1):
    """Some ages are clamped, some jobs missing."""
    random = np.random.default_rng(seed)
    age = random.uniform(10, 95, n)
    job = random.choice(["clerk", "farmer", "other work", "?"], n, p=[0.4, 0.3, 0.2, 0.1])
    sick = age / 40 + (job == "clerk") + random.logistic(size=n) > 2
    return pd.DataFrame({"age": age, "job": job, "sick": np.where(sick, "yes", "no")})


SCHEMA = TOML.replace('"other work"]', '"other work"], missing = "?"')


def cut(frame, *bounds):
    """A Dask DataFrame of the rows between these places, as they are."""
    bounds = [0, *bounds, len(frame)]
    parts = [dask.delayed(frame.iloc[a:b]) for a, b in zip(bounds, bounds[1:])]
    return dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)


ONE, THREE = (), (1, 5000)
SEVEN = (3, 900, 900, 4096, 4100, 8999)  # an empty one, and ones of a few rows


def in_one_process(frame, schema, **wishes):
    schema = gibbsite.Schema.parse(schema)
    data = gibbsite.read_arrow(frame, schema)
    plan = gibbsite.plan(**BUDGET, rows=len(frame), schema=schema, **wishes)
    return gibbsite.fit(data, plan, backend="cpu", seed=5).to_json(), data


def holders(client, what):
    """Addresses of workers by how many results of that function they hold, most first."""
    held = client.has_what()
    count = {worker: sum(what in str(key) for key in keys) for worker, keys in held.items()}
    return sorted((w for w in count if count[w] > 0), key=lambda w: -count[w])


class Killer:
    """Kills, while the k-th question is out, the worker that holds most shares."""

    def __init__(self, monkeypatch, client, question):
        self.asked, self.killed = 0, []
        self.pids = client.run(os.getpid)
        wait = gibbsite.dask._gathered

        def gathered(client, futures):
            futures = list(futures)
            if futures and futures[0].key.startswith("_answer"):
                self.asked += 1
                if self.asked == question:
                    self.killed = holders(client, "_make_share")[:1]
                    os.kill(self.pids[self.killed[0]], signal.SIGKILL)
            return wait(client, futures)

        monkeypatch.setattr(gibbsite.dask, "_gathered", gathered)


@pytest.mark.parametrize("bounds", [ONE, THREE, SEVEN], ids=["1", "3", "7"])
def test_bits_and_counts_are_those_of_one_process(client, bounds):
    frame = people()
    want, data = in_one_process(frame, SCHEMA)
    ddf = cut(frame, *bounds)
    assert gibbsite.dask.fit(ddf, SCHEMA, **BUDGET, client=client, seed=5).to_json() == want
    table = gibbsite.dask.read(ddf, SCHEMA)
    assert (table.rows, table.counts) == (N, data.counts)
    assert table.counts["missing_cells"] > 0 and table.counts["clamped_cells"] > 0


def test_a_table_may_be_fitted_twice(client):
    frame = people(3000)
    want, _ = in_one_process(frame, SCHEMA)
    table = gibbsite.dask.read(cut(frame, 10), gibbsite.Schema.parse(SCHEMA))
    plan = gibbsite.plan(**BUDGET, rows=3000, schema=table.schema)
    assert [table.fit(plan, seed=5).to_json() for _ in range(2)] == [want, want]


@pytest.mark.parametrize(
    "wishes",
    [
        {"mechanism": "path", "iterations": 12},
        {"mechanism": "output"},
        {"mechanism": "objective"},
        {"adjacency": "add-remove", "rows_cap": 20000},
        {"model": "logistic", "draws": 2, "mechanism": "path", "iterations": 5},
    ],
    ids=lambda wishes: "-".join(map(str, wishes.values())),
)
def test_other_mechanisms(client, wishes):
    frame = people()
    want, _ = in_one_process(frame, SCHEMA, **wishes)
    assert gibbsite.dask.fit(cut(frame, *SEVEN), SCHEMA, **BUDGET, seed=5, **wishes).to_json() == want


def of_labels(kind):
    random = np.random.default_rng(3)
    frame = people()
    if kind == "amounts":
        frame["sick"] = frame["age"] * 3 + random.normal(size=N)
        return frame, HEAD + "range = [0, 300]\ntolerance = 20\n" + COLUMNS
    if kind == "counts":
        frame["sick"] = random.poisson(frame["age"] / 30)
        frame["hours"] = random.uniform(0.2, 9, N)
        exposure = 'hours = {type = "exposure", range = [0.1, 10]}\n'
        return frame, HEAD + "range = [0, 20]\ncounts = true\n" + COLUMNS + exposure
    if kind == "classes":
        frame["sick"] = random.choice(["no", "a cold", "the flu"], N)
        return frame, HEAD + 'classes = ["no", "a cold", "the flu"]\n' + COLUMNS
    levels = [f"level {k}" for k in range(60)]  # rows are kept as entries
    frame["job"] = random.choice(levels, N)
    listed = ", ".join(f'"{level}"' for level in levels)
    return frame, TOML.replace('"clerk", "farmer", "other work"', listed)


@pytest.mark.parametrize("kind", ["amounts", "counts", "classes", "entries"])
def test_labels_and_rows_of_every_kind(client, kind):
    frame, schema = of_labels(kind)
    if kind != "entries":
        schema = schema.replace('"other work"]', '"other work"], missing = "?"')
    for wishes in ({}, {"mechanism": "path", "iterations": 3}):
        want, _ = in_one_process(frame, schema, **wishes)
        got = gibbsite.dask.fit(cut(frame, *THREE), schema, **BUDGET, seed=5, **wishes)
        assert got.to_json() == want


CURVED = SCHEMA.replace("range = [17, 90]}", "range = [17, 90], curve = 6}")


@pytest.mark.parametrize("bounds", [ONE, SEVEN], ids=["1", "7"])
def test_curves_whose_knots_are_given(client, bounds):
    frame = people()
    frame.loc[::9, "age"] = np.nan  # a level of its own, as the table has a mark
    want, data = in_one_process(frame, CURVED)
    assert data.features == 6 + 1 + 4 + 1 and '"knots"' in want
    assert gibbsite.dask.fit(cut(frame, *bounds), CURVED, **BUDGET, client=client, seed=5).to_json() == want


def test_curves_that_a_plan_would_choose_are_refused_before_a_row_is_read(client, tmp_path):
    def read():
        (tmp_path / "read").touch()
        return people()

    ddf = dd.from_delayed([dask.delayed(read)()], meta=people().iloc[:0], verify_meta=False)
    schema = SCHEMA.replace("range = [17, 90]}", 'range = [17, 90], curve = "auto"}')
    said = "column 'age': curve = \"auto\" is not for Dask.*give a number of knots, such as curve = 8"
    for attempt in (
        lambda: gibbsite.dask.fit(ddf, schema, **BUDGET, client=client),
        lambda: gibbsite.dask.fit(ddf, schema, epsilon=1.0, delta=1e-6, rows_cap=100_000, adjacency="add-remove"),
        lambda: gibbsite.dask.read(ddf, schema),
    ):
        with pytest.raises(gibbsite.BadInput, match=said) as raised:
            attempt()
        assert "\n" not in str(raised.value)
    assert not (tmp_path / "read").exists()


@pytest.mark.parametrize("wishes", [{}, {"mechanism": "path", "iterations": 30}], ids=["auto", "path"])
def test_a_worker_killed_in_the_middle_changes_no_bit(mortal, monkeypatch, wishes):
    frame = people()
    want, _ = in_one_process(frame, SCHEMA, **wishes)
    killer = Killer(monkeypatch, mortal, question=4)
    got = gibbsite.dask.fit(cut(frame, *SEVEN), SCHEMA, **BUDGET, client=mortal, seed=5, **wishes)
    assert got.to_json() == want
    assert len(killer.killed) == 1 and killer.asked > 5
    assert killer.killed[0] not in mortal.nthreads()


def other_rows_each_time(path, first, last):
    """What a query without an order, or a draw without a seed, may be."""
    with open(path, "a") as file:
        file.write("computed\n")
    with open(path) as file:
        seed = len(file.readlines())
    return people(seed=seed).iloc[first:last]


def test_a_table_that_is_not_the_same_again_is_refused(mortal, monkeypatch, tmp_path):
    parts = [
        dask.delayed(other_rows_each_time)(str(tmp_path / str(a)), a, b)
        for a, b in [(0, 3000), (3000, 5000), (5000, N)]
    ]
    ddf = dd.from_delayed(parts, meta=people(5).iloc[:0], verify_meta=False)
    killer = Killer(monkeypatch, mortal, question=3)
    ledger = gibbsite.Ledger.create(str(tmp_path / "people.ledger"), epsilon=3.0, delta=1e-5)
    before = (tmp_path / "people.ledger").read_bytes()
    with pytest.raises(gibbsite.BadInput, match="partition [012]: gives other rows each time"):
        gibbsite.dask.fit(ddf, SCHEMA, **BUDGET, client=mortal, ledger=ledger)
    assert len(killer.killed) == 1
    assert (tmp_path / "people.ledger").read_bytes() == before


def test_a_release_is_valid_and_entered_once(client, tmp_path):
    ledger = gibbsite.Ledger.create(str(tmp_path / "people.ledger"), epsilon=1.2, delta=1e-5)
    release = gibbsite.dask.fit(cut(people(), *THREE), SCHEMA, **BUDGET, ledger=ledger, intervals=True)
    assert release.verify() and release.intervals is not None
    with pytest.raises(gibbsite.BudgetSpent):
        gibbsite.dask.fit(cut(people(), *THREE), SCHEMA, **BUDGET, ledger=str(ledger.path))


def test_a_bad_cell_names_its_partition(client):
    frame = people()
    frame.loc[4097, "job"] = "astronaut"  # row 2 of the fourth
    frame.loc[8000, "sick"] = "perhaps"
    line = r"^partition 4: row 2: column 'job': level 'astronaut'"
    with pytest.raises(gibbsite.BadInput, match=line) as raised:
        gibbsite.dask.fit(cut(frame, *SEVEN), SCHEMA, **BUDGET)
    assert "\n" not in str(raised.value)
    with pytest.raises(gibbsite.BadInput, match=r"^partition 0: row 4098: column 'job'"):
        gibbsite.dask.fit(cut(frame), SCHEMA, **BUDGET)


def test_guessed_types_of_csv_are_refused(client, tmp_path):
    """One missing code makes Dask read its piece's as 1.0, 2.0, ...: all of other levels. Of a type
    that is given no cell may end the reading but one that the schema refuses."""
    n = 6000
    codes = ["x"] * 3 + [str(k % 3 + 1) for k in range(n - 3)]
    schema = (
        'label = "sick"\nrow_norm = "auto"\nintercept = true\nmissing = ""\npositive = "yes"\n'
        'negative = "no"\n[columns]\ncode = {type = "category", levels = ["1", "2", "3"], other = true}\n'
    )

    def counts(codes, **types):
        path = tmp_path / "table.csv"
        rows = [f"{code},{'yes' if k % 2 else 'no'}\n" for k, code in enumerate(codes)]
        path.write_text("code,sick\n" + "".join(rows))
        ddf = dd.read_csv(str(path), blocksize="10KiB", sample=256, **types)
        assert ddf.npartitions > 2
        return gibbsite.dask.read(ddf, schema, client=client).counts

    for types in {}, {"dtype": {"sick": str}}:
        with pytest.raises(gibbsite.BadInput, match="guesses the type of column 'code'"):
            counts(codes, **types)
    assert counts(codes, dtype=str)["other_cells"] == 3
    neighbor = [*codes[:-1], ""]
    found = counts(neighbor, dtype={"code": str, "sick": str})
    assert (found["other_cells"], found["missing_cells"]) == (3, 1)


def test_one_empty_cell_of_csv_ends_no_reading(client, tmp_path):
    """Dask refuses a piece of whole numbers with an empty cell, whatever the schema makes of it."""
    n = 6000
    ages = [str(20 + k % 50) for k in range(n)]

    def schema(rest, column=""):
        label = 'label = "sick"\npositive = "yes"\nnegative = "no"\nrow_norm = "auto"\nintercept = true\n'
        return f'{label}{rest}[columns]\nage = {{type = "number", range = [0, 100]{column}}}\n'

    def counts(ages, schema, **types):
        path = tmp_path / "table.csv"
        rows = [f"{age},{'yes' if k % 2 else 'no'}\n" for k, age in enumerate(ages)]
        path.write_text("age,sick\n" + "".join(rows))
        ddf = dd.read_csv(str(path), blocksize="10KiB", sample=256, **types)
        assert ddf.npartitions > 2
        return gibbsite.dask.read(ddf, schema, client=client).counts

    middle, missing = schema('invalid = "middle"\n'), schema("", ', missing = "-1"')
    for table in ages, [*ages[:-1], ""]:
        for wanted in middle, missing, schema(""):
            with pytest.raises(gibbsite.BadInput, match="guesses the type of column 'age'"):
                counts(table, wanted, dtype={"sick": str})
            with pytest.raises(gibbsite.BadInput, match="column 'age' is read from the CSV as int64, .* str"):
                counts(table, wanted, dtype={"sick": str, "age": int})
        for wanted in middle, missing:  # which read "?" too
            with pytest.raises(gibbsite.BadInput, match="column 'age' is read from the CSV as float, .*: str}"):
                counts(table, wanted, dtype={"sick": str, "age": float})
    for odd in "", "?":
        assert counts([*ages[:-1], odd], middle, dtype=str)["invalid_cells"] == 1
    assert counts([*ages[:-1], ""], missing, dtype=str)["missing_cells"] == 1
    refuses = schema("")
    assert counts(ages, refuses, dtype=str) == counts(ages, refuses, dtype={"sick": str, "age": float})
    with pytest.raises(gibbsite.BadInput, match="partition [0-9]+: row [0-9]+: column 'age'"):
        counts([*ages[:-1], ""], refuses, dtype={"sick": str, "age": float})


def test_whole_numbers_and_floats_are_one_type(client):
    """One missing cell makes floats of a partition's whole numbers."""
    frame = people().assign(age=lambda table: table["age"].round().astype(int))
    lacking = frame.iloc[:500].astype({"age": float})
    parts = [dask.delayed(frame.iloc[500:]), dask.delayed(lacking)]
    for meta in frame.iloc[:0], lacking.iloc[:0]:
        ddf = dd.from_delayed(parts, meta=meta, verify_meta=False)
        there = gibbsite.dask.fit(ddf, SCHEMA, client=client, seed=5, **BUDGET)
        want, _ = in_one_process(pd.concat([frame.iloc[500:], frame.iloc[:500]], ignore_index=True), SCHEMA)
        assert there.to_json() == want


def test_many_features(client):
    """A question of 200 kB."""
    random = np.random.default_rng(4)
    d, n = 160, 3000
    frame = pd.DataFrame(random.uniform(-1, 1, (n, d)), columns=[f"x{j}" for j in range(d)])
    frame["sick"] = np.where(random.uniform(size=n) < 0.5, "yes", "no")
    schema = (
        'label = "sick"\nrow_norm = "auto"\nintercept = true\npositive = "yes"\nnegative = "no"\n'
        "[columns]\n" + "".join(f'x{j} = {{type = "number", range = [-1, 1]}}\n' for j in range(d))
    )
    want, _ = in_one_process(frame, schema)
    there = gibbsite.dask.fit(cut(frame, 1000, 1500), schema, client=client, seed=5, **BUDGET)
    assert there.to_json() == want


def test_partitions_of_other_types_are_refused(client):
    frame = people()
    whole = frame.iloc[:10].assign(age="50")
    parts = [dask.delayed(frame), dask.delayed(whole)]
    ddf = dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)
    with pytest.raises(gibbsite.BadInput, match="partition 1: column 'age' is (str|object), .* float64"):
        gibbsite.dask.fit(ddf, SCHEMA, **BUDGET)


def test_what_is_not_done_is_one_line(client):
    ddf = cut(people(), *THREE)
    fit = gibbsite.dask.fit
    with pytest.raises(gibbsite.BadInput, match="checkpoint: "):
        fit(ddf, SCHEMA, **BUDGET, checkpoint="run.ckpt")
    with pytest.raises(gibbsite.BadInput, match="backend: cuda"):
        fit(ddf, SCHEMA, **BUDGET, backend="cuda")
    with pytest.raises(gibbsite.BadInput, match="mechanism: metric-path makes new rows"):
        fit(ddf, SCHEMA, **BUDGET, mechanism="metric-path")
    with pytest.raises(gibbsite.BadInput, match="the table has no rows"):
        fit(cut(people().iloc[:0]), SCHEMA, **BUDGET)
    with pytest.raises(gibbsite.BadInput, match="partition 0: .*sick"):
        fit(cut(people()[["age", "job"]]), SCHEMA, **BUDGET)
    with pytest.raises(gibbsite.Infeasible, match="mechanism averaged: "):
        fit(ddf, SCHEMA, **BUDGET, mechanism="averaged")


def test_arguments_of_other_types_are_one_line(client):
    """Before anything is asked of the cluster: from no cluster's answer, nor from deep inside."""
    ddf = cut(people(), *THREE)
    array = dask.array.ones((9, 3), chunks=3)
    plan = gibbsite.plan(**BUDGET, rows=N, schema=gibbsite.Schema.parse(SCHEMA))
    calls = {
        "ddf: must be a dask.dataframe.DataFrame, got pandas.DataFrame": ((people(), SCHEMA), {}),
        "ddf: must be a dask.dataframe.DataFrame, got str": (("people.parquet", SCHEMA), {}),
        "ddf: must be a dask.dataframe.DataFrame, got dask.Array": ((array, SCHEMA), {}),
        "ddf: must be a dask.dataframe.DataFrame, got dask.Series": ((ddf["age"], SCHEMA), {}),
        "ddf: must be a dask.dataframe.DataFrame, got NoneType": ((None, SCHEMA), {}),
        "schema: must be a Schema, the path of its file or its text, got int": ((ddf, 3), {}),
        "client: must be a distributed.Client, got str": ((ddf, SCHEMA), {"client": "tcp://here:1"}),
        "client: must be a distributed.Client, got distributed.LocalCluster": (
            (ddf, SCHEMA),
            {"client": client.cluster},
        ),
        "epsilon: must be a number, got str": ((ddf, SCHEMA), {"epsilon": "1"}),
        "delta: must be a number, got NoneType": ((ddf, SCHEMA), {"delta": None}),
        "seed: must be a whole number, 0 or more, got -1": ((ddf, SCHEMA), {"seed": -1}),
        "draws: must be a whole number, 0 or more, got float": ((ddf, SCHEMA), {"draws": 2.0}),
        "n_jobs: must be a whole number, got str": ((ddf, SCHEMA), {"n_jobs": "2"}),
        "intervals: must be True or False, got str": ((ddf, SCHEMA), {"intervals": "no"}),
        "ledger: must be a gibbsite.Ledger or the path of one, got int": ((ddf, SCHEMA), {"ledger": 5}),
        "progress: must be a function, got int": ((ddf, SCHEMA), {"progress": 1}),
        "mechanism: must be text, got NoneType": ((ddf, SCHEMA), {"mechanism": None}),
        "epochs: gibbsite.plan has no such argument": ((ddf, SCHEMA), {"epochs": 3}),
    }
    asked = len(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)))
    for line, (positional, named) in calls.items():
        with pytest.raises((TypeError, ValueError)) as raised:
            gibbsite.dask.fit(*positional, **{**BUDGET, **named})
        assert str(raised.value).startswith(line) and "\n" not in str(raised.value)
    assert len(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))) <= asked
    with pytest.raises(TypeError, match="plan: must be a gibbsite.Plan, got dict"):
        gibbsite.dask.read(ddf, SCHEMA).fit({})
    with pytest.raises(TypeError, match="seed: must be a whole number"):
        gibbsite.dask.read(ddf, SCHEMA).fit(plan, seed="5")


def test_links_that_are_encrypted():
    pytest.importorskip("cryptography")  # makes a certificate for the test
    frame = people(3000)
    want, _ = in_one_process(frame, SCHEMA)
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=True,
        dashboard_address=":0",
        security=distributed.Security.temporary(),
    ) as cluster, distributed.Client(cluster) as client:
        assert client.scheduler.address.startswith("tls://")
        assert all(worker.startswith("tls://") for worker in client.nthreads())
        got = gibbsite.dask.fit(cut(frame, 10, 2000), SCHEMA, **BUDGET, client=client, seed=5)
    assert got.to_json() == want


def raises_of_its_own(frame):
    raise KeyError("no such file")


def test_what_the_table_raises_is_one_line(client):
    ddf = cut(people(), *THREE).map_partitions(raises_of_its_own, meta=people().iloc[:0])
    with pytest.raises(gibbsite.Error, match="dask: KeyError: .*no such file.*; nothing is released"):
        gibbsite.dask.fit(ddf, SCHEMA, **BUDGET)


@pytest.fixture
def heeds_ctrl_c():
    """Background jobs of a shell inherit an ignored one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_it(client, heeds_ctrl_c):
    ddf = cut(people(), *THREE)
    steps = []

    def progress(done, in_all):
        steps.append((done, in_all))
        if len(steps) == 1:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        gibbsite.dask.fit(ddf, SCHEMA, **BUDGET, mechanism="path", iterations=100000, progress=progress)
    assert steps and steps[-1][0] < 100000


def test_ctrl_c_ends_a_wait_for_a_worker(client, heeds_ctrl_c):
    ddf = cut(people(), *THREE).map_partitions(waits, meta=people().iloc[:0])
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        gibbsite.dask.fit(ddf, SCHEMA, **BUDGET)
    timer.join()


def waits(frame):
    import time

    time.sleep(3)
    return frame
