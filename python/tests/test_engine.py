"""What the command line has, from Python."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import gibbsite
from gibbsite import _core

TOML = """label = "sick"
positive = "yes"
negative = "no"
row_norm = "auto"
intercept = true

[columns]
age = {type = "number", range = [0, 1]}
dose = {type = "number", range = [-1, 1]}
"""
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def rows(n=20000, seed=0):
    random = np.random.default_rng(seed)
    X = np.c_[random.random(n), random.uniform(-1, 1, n)]
    y = np.where(4 * X[:, 0] - 2 + 3 * X[:, 1] + random.logistic(size=n) > 0, 1, -1)
    return X, y.astype(np.float32)


@pytest.fixture
def schema():
    return gibbsite.Schema.parse(TOML)


@pytest.fixture
def data(schema):
    return gibbsite.read_array(*rows(), schema)


def plan_of(schema, n=20000, **wishes):
    return gibbsite.plan(**BUDGET, rows=n, schema=schema, **wishes)


def write_csv(path, X, y):
    lines = ["age,dose,sick"]
    lines += [f"{a!r},{b!r},{'yes' if c > 0 else 'no'}" for (a, b), c in zip(X.tolist(), y)]
    path.write_text("\n".join(lines) + "\n")


def test_the_price_of_a_posterior_is_what_a_fit_of_that_epsilon_draws_from(schema, tmp_path, capfd):
    price = gibbsite.posterior_price(schema=schema, rows=20000, delta=1e-6, prior_precision=400)
    assert 50 < price["best_guess"] < 100
    assert price["epsilon"] < price["fit_epsilon"] < 1.1 * price["epsilon"]
    made = gibbsite.plan(
        epsilon=price["fit_epsilon"], delta=1e-6, rows=20000, schema=schema, beta=1.0, prior_precision=400
    )
    assert made.feasible
    (tmp_path / "s.toml").write_text(TOML)
    asked = ["plan", "--schema", str(tmp_path / "s.toml"), "--rows", "20000", "--delta", "1e-6"]
    assert gibbsite.run_command([*asked, "--prior-precision", "400", "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == price
    assert gibbsite.posterior_price(schema=tmp_path / "s.toml", rows=20000, delta=1e-6, prior_precision=400) == price

    column = gibbsite.Schema.parse_column(TOML, "people.toml", "age")
    family = gibbsite.posterior_price(schema=column, model="bounded-mean", rows=1000, delta=1e-6, prior=[9, 9])
    assert family["epsilon"] > 0 and family["fit_epsilon"] is None
    nothing = gibbsite.posterior_price(schema=schema, rows=20000, delta=1e-6, prior_precision=1e-9)
    assert nothing["epsilon"] is None and nothing["best_guess"] == 100
    with pytest.raises(gibbsite.BadInput, match="^rows: is missing"):
        gibbsite.posterior_price(schema=schema, delta=1e-6, prior_precision=400)
    with pytest.raises(TypeError, match="^epsilon: "):
        gibbsite.posterior_price(schema=schema, rows=9, delta=1e-6, epsilon=1)


def test_a_schema(schema):
    assert schema.columns == ["age", "dose"]
    assert schema.feature_names == ["age", "dose", "(intercept)"]
    assert (schema.label, schema.positive, schema.negative) == ("sick", "yes", "no")
    assert gibbsite.Schema.parse(schema.to_toml()) == schema
    with pytest.raises(gibbsite.BadInput, match="people.toml"):
        gibbsite.Schema.parse("label = ", "people.toml")


def test_a_plan_is_that_of_the_program(schema, tmp_path):
    (tmp_path / "s.toml").write_text(TOML)
    write_csv(tmp_path / "t.csv", *rows())
    got = json.loads(plan_of(schema).to_json())
    said = subprocess.run(
        [sys.executable, "-m", "gibbsite", "plan", "--data", "t.csv", "--schema", "s.toml"]
        + ["--epsilon", "1", "--delta", "1e-6", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(said.stdout)
    for which in (got, told):  # predicted times are of this machine
        for offer in which["offers"] if "offers" in which else []:
            offer.pop("seconds", None)
    assert got == told


def test_the_share_of_the_positive_class_is_for_what_is_said_alone(schema):
    even = plan_of(schema, mechanism="whitened")
    for share in (0.002, (0.002, 0.1), [0.002, 0.002]):
        rare = plan_of(schema, mechanism="whitened", positive_share=share)
        assert rare.to_json() == even.to_json()
        assert rare._kept_share < 0.9 < 0.99 < even._kept_share
    said = gibbsite.Schema.parse("positive_share = 0.002\n" + TOML)
    assert plan_of(said, mechanism="whitened")._kept_share == rare._kept_share
    assert plan_of(said, mechanism="whitened", positive_share=0.5)._kept_share == even._kept_share


@pytest.mark.parametrize(
    "wishes, why",
    [
        ({"positive_share": 0.0}, "must be above 0 and below 1, got 0"),
        ({"positive_share": 1.0}, "must be above 0 and below 1, got 1"),
        ({"positive_share": float("nan")}, "got nan"),
        ({"positive_share": (0.4, 0.3)}, "must have the lower bound first"),
        ({"positive_share": 0.1, "model": "huber"}, "is of two classes, and the label is an amount"),
        ({"positive_share": 0.1, "classes": 3}, "the label is several classes"),
    ],
)
def test_shares_of_the_positive_class_that_are_refused(wishes, why):
    with pytest.raises(gibbsite.BadInput, match="positive_share: .*" + why) as info:
        gibbsite.plan(**BUDGET, rows=20000, features=3, row_norm=1.5, **wishes)
    assert "\n" not in str(info.value)


@pytest.mark.parametrize("mechanism", [offer["mechanism"] for offer in gibbsite.plan(
    epsilon=1.0, delta=1e-6, rows=20000, features=3, row_norm=1.5).offers])
def test_every_mechanism_fits_and_verifies(data, schema, mechanism):
    made = plan_of(schema, mechanism=mechanism)
    if not made.feasible:
        with pytest.raises(gibbsite.Infeasible):
            gibbsite.fit(data, made)
        return
    if made.offers and any(o["mechanism"] == mechanism and o["passes"] > 2000 for o in made.offers):
        pytest.skip("thousands of passes: the program's own tests run it")
    release = gibbsite.fit(data, made)
    verdict = release.verify()
    assert verdict.valid and bool(verdict) and not verdict.failures
    assert release.certificate["mechanism"]["name"] == mechanism
    assert release.draws.shape == (1, 3)


def test_the_model_is_that_of_the_program(data, schema, tmp_path):
    """One seed gives the same bits on the command line and in Python."""
    (tmp_path / "s.toml").write_text(TOML)
    write_csv(tmp_path / "t.csv", *rows())
    status = gibbsite.run_command(
        ["fit", "--data", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.toml")]
        + ["--epsilon", "1", "--delta", "1e-6", "--seed", "7", "--out", str(tmp_path / "m.json")]
        + ["--quiet"]
    )
    assert status == 0
    release = gibbsite.fit(data, plan_of(schema), seed=7)
    assert release.to_json() == (tmp_path / "m.json").read_text()
    verdict = release.verify()
    assert verdict.void_run and not verdict


def test_files(data, schema, tmp_path):
    release = gibbsite.fit(data, plan_of(schema))
    path = tmp_path / "model.json"
    release.write(str(path))
    assert path.read_text() == release.to_json()
    assert gibbsite.Release.read(str(path)).to_json() == release.to_json()
    assert gibbsite.verify(str(path)).valid
    with pytest.raises(FileExistsError, match="model.json"):
        release.write(str(path))
    release.write(str(path), replace=True)
    edited = release.to_json().replace('"epsilon": 1.0', '"epsilon": 0.5')
    assert edited != release.to_json()
    path.write_text(edited)
    assert not gibbsite.verify(str(path)).valid
    changed = json.loads(release.to_json())
    changed["model"]["coefficients"][0] += 1
    with pytest.raises(gibbsite.BadInput, match="was changed after fit wrote it"):
        gibbsite.Release.from_json(json.dumps(changed))


def test_predictions_and_scores(data, schema):
    # Without a seed the interval misses some of these predictions in one run of fifteen.
    release = gibbsite.fit(data, plan_of(schema, intervals=True), seed=5)
    p = release.predict_probabilities(data)
    assert p.shape == (20000,) and (p > 0).all() and (p < 1).all()
    low, high = release.predict_intervals(data).T
    assert (low < high).all() and np.mean((low <= p) & (p <= high)) > 0.9
    assert release.intervals.shape == (3, 2)
    scores = release.evaluate(data)
    assert scores["accuracy"] == pytest.approx(np.mean((p > 0.5) == (data.positive > 0)))
    assert scores["accuracy"] > 0.75
    # What the command line's --json has, and at its thresholds.
    assert scores["confusion"].shape == (2, 2) and scores["confusion"].sum() == 20000
    assert scores["recall"][1] == scores["confusion"][1, 1] / scores["confusion"][1].sum()
    assert len(scores["calibration"]) == 10 and len(scores["classes"]) == 2
    high = release.evaluate(data, threshold=0.9)["confusion"]
    assert high[:, 1].sum() == np.sum(p >= 0.9) < scores["confusion"][:, 1].sum()
    with pytest.raises(gibbsite.BadInput, match="threshold"):
        release.evaluate(data, 1.5)
    assert release.evaluate(data, 0)["confusion"][:, 0].sum() == 0
    assert release.evaluate(data, 1)["confusion"][:, 1].sum() == 0
    (intercept, slopes, exact), = release.original_units()
    assert exact and set(slopes) == {"age", "dose"}


def test_a_plan_warns_as_the_programs_does(schema):
    with pytest.warns(gibbsite.FitWarning, match="rows are few for 3 features"):
        gibbsite.plan(epsilon=0.1, delta=1e-6, rows=100, schema=schema)
    with pytest.warns(gibbsite.FitWarning, match="epsilon: ε = 20 by itself"):
        gibbsite.plan(epsilon=20.0, delta=1e-6, rows=20000, schema=schema)


def test_rows_of_a_person_that_nobody_counts(data, schema):
    nobody = "rows_per_person: nothing enforces it"
    with pytest.warns(gibbsite.FitWarning, match=nobody):
        gibbsite.fit(data, plan_of(schema, rows_per_person=2))


def test_figures_that_may_be_published(data, schema, tmp_path):
    release = gibbsite.fit(data, plan_of(schema))
    ledger = gibbsite.Ledger.create(tmp_path / "l", epsilon=2.1, delta=1e-6)
    found = gibbsite.release_evaluation(release, data, epsilon=2.0, ledger=ledger)
    accuracy = found.figures["accuracy"]
    # Noise of 20,000 rows moves it by less than 0.01, but once in a billion runs.
    assert accuracy["value"] == pytest.approx(release.evaluate(data)["accuracy"], abs=0.02)
    assert accuracy["interval"][0] < accuracy["value"] < accuracy["interval"][1]
    assert found.verify().valid and found.certificate["guarantee"]["delta"] == 1e-6
    assert json.loads(found.to_json())["model"]["of"] == json.loads(release.to_json())["certificate"]["digest"]
    found.write(tmp_path / "e.json")
    assert gibbsite.EvaluationRelease.read(tmp_path / "e.json").to_json() == found.to_json()
    with pytest.raises(gibbsite.BudgetSpent):
        gibbsite.release_evaluation(release, data, epsilon=2.0, ledger=ledger)
    for given, words in (
        ({"adjacency": "add-remove"}, "rows_cap: is missing"),
        ({"rows_cap": 9}, "rows_cap: has a meaning with adjacency add-remove"),
        ({"adjacency": "add-remove", "rows_cap": 9}, "rows_cap: the table has more than 9 rows"),
        ({"bins": 3}, "bins"),
    ):
        with pytest.raises(gibbsite.BadInput, match=words):
            gibbsite.release_evaluation(release, data, epsilon=2.0, **given)
    with pytest.warns(UserWarning, match="epsilon"):
        gibbsite.release_evaluation(release, data, epsilon=20.0)
    # Rows read by another schema would be charged for and certified as what they are not.
    other = gibbsite.read_array(*rows(), gibbsite.Schema.parse(TOML.replace("[0, 1]", "[0, 2]")))
    before = (tmp_path / "l").read_bytes()
    with pytest.raises(gibbsite.BadInput, match="data: was read by another schema"):
        gibbsite.release_evaluation(release, other, epsilon=0.01, ledger=str(tmp_path / "l"))
    assert (tmp_path / "l").read_bytes() == before


def test_the_report_takes_an_edited_template(data, schema, tmp_path):
    release = gibbsite.fit(data, plan_of(schema))
    words = tmp_path / "mine.md"
    words.write_text("# Our model of {label}\n\n{promise}\n")
    page = release.report(words)
    assert "<h1>Our model of " in page and "Differential" not in page.split("<h1>")[0]
    assert page != release.report() and "The words of this page were edited" in page
    words.write_text("# Our model\n\n{labels}\n")
    with pytest.raises(gibbsite.BadInput, match=r"mine.md:3: \{labels\} is no name"):
        release.report(template=words)


def test_a_page_for_the_curator(data, schema):
    release = gibbsite.fit(data, plan_of(schema))
    page = release.curator_report(data, threshold=0.25, table="<people>")
    assert page.startswith("<!DOCTYPE html>") and "PRIVATE. " in page
    assert "0.25 (used)" in page and "&lt;people&gt;" in page and "<people>" not in page
    assert f"this model, AUC {release.evaluate(data)['auc']:.4f}" in page
    assert page == release.curator_report(data, 0.25, "<people>")
    with pytest.raises(gibbsite.BadInput, match="threshold"):
        release.curator_report(data, threshold=2)


def test_a_plan_of_another_table_is_refused(schema):
    fewer = gibbsite.read_array(*rows(100), schema)
    with pytest.raises(gibbsite.BadInput):
        gibbsite.fit(fewer, plan_of(schema))


def test_add_remove(data, schema):
    made = gibbsite.plan(**BUDGET, schema=schema, adjacency="add-remove", rows_cap=30000)
    assert gibbsite.fit(data, made).verify().valid
    with pytest.raises(gibbsite.BadInput, match="rows_cap"):
        gibbsite.plan(**BUDGET, rows=10, schema=schema, adjacency="add-remove")


def test_a_ledger_counts_fits_of_every_kind(data, schema, tmp_path):
    ledger = gibbsite.Ledger.create(str(tmp_path / "l"), epsilon=2.0, delta=1e-5)
    release = gibbsite.fit(data, plan_of(schema), ledger=ledger)
    assert len(ledger.read()["releases"]) == 1
    with pytest.raises(gibbsite.BudgetSpent):
        for _ in range(40):
            gibbsite.fit(data, plan_of(schema), ledger=ledger)
    state = ledger.read()
    assert 1 < len(state["releases"]) < 40
    assert float(state["spent"]["mu_squared"]) <= float(state["caps"]["mu_squared"])
    with pytest.raises(gibbsite.BadInput, match="ledger"):
        gibbsite.fit(data, plan_of(schema), ledger=ledger, seed=1)
    with pytest.raises(FileExistsError):
        gibbsite.Ledger.create(str(tmp_path / "l"), epsilon=2.0, delta=1e-5)


def test_a_ledger_that_one_release_took_whole_says_so(data, schema, tmp_path):
    ledger = gibbsite.Ledger.create(str(tmp_path / "l"), epsilon=1.0, delta=1e-6)
    assert ledger.read()["whole"] is False
    gibbsite.fit(data, gibbsite.plan(epsilon=1.0, delta=1e-6, rows=data.rows, schema=schema), ledger=ledger)
    state = ledger.read()
    assert state["whole"] is True and len(state["releases"]) == 1


def test_families_and_questions(tmp_path):
    toml = """[columns]
answer = {type = "category", levels = ["no", "yes"]}
"""
    schema = gibbsite.Schema.parse_column(toml, "s", "answer")
    answers = ["yes"] * 700 + ["no"] * 300
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"answer": answers, "other": list(range(1000))})
    data = gibbsite.read_arrow(table, schema, labels_optional=True, ignore_extra_columns=True)
    made = gibbsite.plan_family("bernoulli", **BUDGET, rows=1000, schema=schema)
    release = gibbsite.fit_family(data, made)
    assert release.verify().valid and release.parameters == ["no", "yes"]
    (no, yes) = release.estimates()
    assert yes["name"] == "yes" and abs(yes["value"] - 0.7) < 0.2
    assert yes["low"] < yes["value"] < yes["high"]
    value, error = release.probability("yes > no")
    assert value > 0.9
    ranked, regret = release.best_response(["treat", "wait"], ["no", "yes"], [[0, 1], [0.2, 0.2]])
    assert ranked[0][0] == "treat"
    path = tmp_path / "draws.json"
    release.write(str(path))
    assert gibbsite.FamilyRelease.read(str(path)).to_json() == release.to_json()
    assert gibbsite.verify(str(path)).valid
    with pytest.raises(gibbsite.BadInput, match="model"):
        gibbsite.plan_family("gauss", **BUDGET, rows=10, schema=schema)
    ledger = gibbsite.Ledger.create(str(tmp_path / "l"), epsilon=2.0, delta=1e-5)
    gibbsite.fit_family(data, made, ledger=ledger)
    assert ledger.read()["releases"][0]["command"].startswith("fit")


def test_posterior_draws_for_arviz(schema):
    arviz = pytest.importorskip("arviz")
    data = gibbsite.read_array(*rows(500), schema)
    drawn = gibbsite.sample_posterior(data, prior_precision=1.0, draws=200, warm_up=200, seed=3)
    theta = drawn.posterior["theta"]
    assert theta.dims == ("chain", "draw", "feature") and theta.shape == (4, 200, 3)
    assert list(theta.coords["feature"].values) == schema.feature_names
    summary = arviz.summary(drawn)
    assert np.all(np.asarray(summary["r_hat"], dtype=float) < 1.05)
    again = gibbsite.sample_posterior(data, prior_precision=1.0, draws=200, warm_up=200, seed=3)
    assert (again.posterior["theta"].values == theta.values).all()


def test_an_audit():
    found = gibbsite.audit(**BUDGET, mechanism="output", pairs=400, rows=200, features=4)
    assert not found["refuted"] and 0 <= found["mu_lower"] <= found["mu_claimed"]


def test_steps_are_timed_for_throughput(data, schema):
    shape = {"rows": 5000, "features": 10, "seconds": 0.02}
    timed = gibbsite.bench(**shape, chains=[1, 7], backend="cpu", arithmetic="float32", noise="philox")
    assert (timed["backend"], timed["arithmetic"], timed["noise"]) == ("cpu", "float32", "philox")
    assert (timed["rows"], timed["features"]) == (5000, 10)
    assert timed["description"].startswith("float on float")
    assert [step["chains"] for step in timed["steps"]] == [1, 7]
    for step in timed["steps"]:
        assert 0 < step["seconds"] < 10
        rate = step["chains"] / step["seconds"]
        assert step["chain_gradients_per_second"] == pytest.approx(rate)
        assert step["rows_measured"] == 5000 and step["chains_measured"] == step["chains"]
    as_a_fit = gibbsite.bench(rows=100, schema=schema, chains=[2], loss="softmax-3", seconds=0.01)
    assert (as_a_fit["arithmetic"], as_a_fit["noise"]) == ("float64", "chacha20")
    assert as_a_fit["features"] == len(schema.feature_names)
    for wrong, said in {
        "arithmetic": ("float16", "arithmetic: must be float64, float32 or bfloat16"),
        "noise": ("dice", "noise: must be chacha20, philox or curand"),
        "chains": ([0], "chains: must be numbers of at least 1"),
        "seconds": (0.0, "seconds"),
        "loss": ("none", "none"),
        "schema": (schema, "features: give either"),
    }.items():
        with pytest.raises(gibbsite.BadInput, match=said[1]):
            gibbsite.bench(**{**shape, "backend": "cpu", wrong: said[0]})
    for fast in ({"arithmetic": "bfloat16"}, {"noise": "curand"}):
        with pytest.raises(gibbsite.BadInput):
            gibbsite.bench(**shape, backend="cpu", **fast)
    # No fit takes them.
    for name, value in (("arithmetic", "float32"), ("noise", "philox")):
        with pytest.raises(gibbsite.BadInput, match=f"^{name}: is of bench, [^\n]*$"):
            gibbsite.fit(data, plan_of(schema), **{name: value})


def test_parquet_and_arrow_files(data, schema, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    X, y = rows()
    table = pyarrow.table({"age": X[:, 0], "dose": X[:, 1], "sick": np.where(y > 0, "yes", "no")})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=3000)
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    (tmp_path / "s.toml").write_text(TOML)
    expected = gibbsite.fit(data, plan_of(schema), seed=7).to_json()
    for name in ("t.parquet", "t.feather"):
        read = gibbsite.read_table(str(tmp_path / name), schema)
        assert gibbsite.fit(read, plan_of(schema), seed=7).to_json() == expected
        out = tmp_path / (name + ".json")
        said = subprocess.run(
            [sys.executable, "-m", "gibbsite", "fit", "--data", name, "--schema", "s.toml"]
            + ["--epsilon", "1", "--delta", "1e-6", "--seed", "7", "--out", str(out)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert said.returncode == 0, said.stderr
        assert out.read_text() == expected
    template = gibbsite.schema_template(str(tmp_path / "t.parquet"))
    assert "age" in template and "dose" in template
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(gibbsite.BadInput, match="bad.parquet"):
        gibbsite.read_table(str(tmp_path / "bad.parquet"), schema)
    with pytest.raises(gibbsite.BadInput, match="none.parquet"):
        gibbsite.read_table(str(tmp_path / "none.parquet"), schema)


def test_progress_and_what_it_raises(data, schema):
    seen = []
    made = plan_of(schema, mechanism="path")
    gibbsite.fit(data, made, progress=lambda done, total: seen.append((done, total)))
    assert seen and all(done <= total for done, total in seen)

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        gibbsite.fit(data, made, progress=stop)


def test_ctrl_c(tmp_path):
    """Within a second, with nothing entered in the ledger."""
    script = tmp_path / "long.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import signal, numpy as np, gibbsite
            # Background jobs of a shell inherit an ignored one.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            X = np.random.default_rng(0).random((400000, 30))
            y = np.where(X[:, 0] > 0.5, 1, -1).astype(np.float32)
            text = 'label = "y"\\npositive = "1"\\n[columns]\\n' + "".join(
                f'x{{j}} = {{{{type = "number", range = [0, 1]}}}}\\n' for j in range(30))
            schema = gibbsite.Schema.parse(text)
            data = gibbsite.read_array(X, y, schema)
            made = gibbsite.plan(epsilon=1.0, delta=1e-6, rows=400000, schema=schema,
                                 mechanism="path", iterations=100000)
            ledger = gibbsite.Ledger.create({str(tmp_path / "l")!r}, epsilon=2.0, delta=1e-5)
            print("fitting", flush=True)
            try:
                gibbsite.fit(data, made, ledger=ledger)
            except KeyboardInterrupt:
                print("interrupted", len(ledger.read()["releases"]), flush=True)
            """
        )
    )
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as child:
        assert child.stdout.readline() == "fitting\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=60)
    assert said == "interrupted 0\n"


def test_the_lock_is_free_during_work(data, schema):
    made = plan_of(schema, mechanism="path")
    ticks = []
    working = threading.Event()

    def count():
        while not working.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    begin = time.perf_counter()
    gibbsite.fit(data, made)
    end = time.perf_counter()
    working.set()
    counter.join()
    assert sum(begin < t < end for t in ticks) > 3


def test_the_command(tmp_path, capfd):
    before = signal.getsignal(signal.SIGINT)
    assert gibbsite.run_command(["verify", str(tmp_path / "none.json")]) == 2
    assert "none.json" in capfd.readouterr().err
    assert gibbsite.run_command(["--version"]) == 0
    assert gibbsite.__version__ in capfd.readouterr().out
    assert signal.getsignal(signal.SIGINT) is before


def test_types_are_told():
    stub = os.path.join(os.path.dirname(_core.__file__), "_core.pyi")
    if not os.path.exists(stub):
        pytest.skip("not installed: stubs are made when the wheel is")
    text = open(stub, encoding="utf-8").read()
    for name in ("def fit(", "def plan(", "class Release", "class Ledger"):
        assert name in text
    assert os.path.exists(os.path.join(os.path.dirname(gibbsite.__file__), "py.typed"))


@pytest.mark.parametrize(
    "launcher",
    [{"OMPI_COMM_WORLD_SIZE": "3"}, {"SLURM_STEP_NUM_TASKS": "3", "SLURM_PROCID": "1"}],
)
def test_a_launcher_of_several_is_refused(data, schema, monkeypatch, launcher):
    """Each process would draw noise of its own for the same rows."""
    for name, value in launcher.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(gibbsite.BadInput, match="ranks: .* started several processes"):
        gibbsite.fit(data, plan_of(schema))
