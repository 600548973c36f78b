"""Python's `fit` beside the program's and beside scikit-learn without privacy, on the same rows in the same run.

    python bench/python_bench.py PROGRAM [ROWS [FEATURES]]
    python bench/python_bench.py parquet [ROWS [FEATURES [REPEATS]]]
    python bench/python_bench.py first [ROWS [FEATURES [REPEATS]]]

Seconds of the wall and of the processor, of the best of three; rows of float32 within 0 and 1, written once as .npy for the program.
With `parquet` only Parquet files, read by us and by pyarrow in turn, the best of each of REPEATS (15): those rows, which leave pyarrow nothing
to decode, and a table of rounded amounts, counts, measures with gaps and categories, as Parquet files are written by default.
With `first` the same as the first reading of a process, which `fit --data t.parquet` is: the allocators have no pages left of the reading before.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

import gibbsite


def timed(work):
    best = (float("inf"), 0.0)
    for _ in range(3):
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        begin = time.perf_counter()
        result = work()
        wall = time.perf_counter() - begin
        now = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        cpu = sum(b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(used, now))
        best = min(best, (wall, cpu))
    return best, result


def table_of_amounts(n):
    """(pyarrow table, text of its schema) as a company might have them."""
    import pyarrow

    random = np.random.default_rng(1)
    columns, lines = {}, []
    for j in range(12):
        columns[f"amount{j}"] = np.round(np.exp(random.normal(3, 1, n)), j % 3)
        lines.append(f'amount{j} = {{type = "number", range = [0, 500]}}')
    for j in range(4):
        columns[f"count{j}"] = random.integers(0, 100, n)
        lines.append(f'count{j} = {{type = "number", range = [0, 99]}}')
    for j in range(4):
        values = np.round(random.normal(40, 12, n), 1)
        columns[f"measure{j}"] = pyarrow.array(values, mask=random.random(n) < 0.05)
        lines.append(f'measure{j} = {{type = "number", range = [0, 90]}}')
    for j in range(4):
        levels = [f"level {j} {k}" for k in range(5 + 5 * j)]
        columns[f"kind{j}"] = np.array(levels, object)[random.integers(0, len(levels), n)]
        listed = ", ".join(f'"{level}"' for level in levels[:-1])
        lines.append(f'kind{j} = {{type = "category", levels = [{listed}], other = true}}')
    columns["y"] = np.array(["no", "yes"], object)[(random.random(n) < 0.3).astype(int)]
    head = 'label = "y"\npositive = "yes"\nmissing = ""\nintercept = true\nrow_norm = "auto"\n[columns]\n'
    return pyarrow.table(columns), head + "\n".join(lines)


def table_of_floats(n, d):
    import pyarrow

    random = np.random.default_rng(0)
    columns = {f"x{j}": random.random(n, dtype=np.float32) for j in range(d)}
    columns["y"] = (random.random(n) < 0.5).astype(np.float32)
    lines = "".join(f'x{j} = {{type = "number", range = [0, 1]}}\n' for j in range(d))
    head = 'label = "y"\npositive = "1"\nintercept = true\nrow_norm = "auto"\n[columns]\n'
    return pyarrow.table(columns), head + lines


def seconds(work):
    used = resource.getrusage(resource.RUSAGE_SELF)
    begin = time.perf_counter()
    result = work()
    wall = time.perf_counter() - begin
    now = resource.getrusage(resource.RUSAGE_SELF)
    del result  # to give it back is nobody's reading
    return wall, now.ru_utime - used.ru_utime, now.ru_stime - used.ru_stime


def parquet(n, d, repeats):
    import pyarrow.parquet

    def matrix(path):
        """What we make less the schema's work: rows of float32."""
        table = pyarrow.parquet.read_table(path)
        numbers = [c for c in table.columns if c.type not in (pyarrow.string(), pyarrow.large_string())]
        out = np.empty((n, len(numbers)), np.float32)
        for j, column in enumerate(numbers):
            out[:, j] = column.to_numpy()
        return out

    print(f"{'':40}{'wall s':>8}{'user s':>8}{'system s':>10}")
    for name, make in (("floats", lambda: table_of_floats(n, d)), ("amounts", lambda: table_of_amounts(n))):
        with tempfile.TemporaryDirectory() as folder:
            table, text = make()
            path = f"{folder}/{name}.parquet"
            pyarrow.parquet.write_table(table, path)
            size, shape = os.path.getsize(path), table.shape
            del table
            schema = gibbsite.Schema.parse(text)
            ways = {
                "pyarrow.parquet.read_table": lambda: pyarrow.parquet.read_table(path),
                "gibbsite.read_table": lambda: gibbsite.read_table(path, schema),
                "read_table, then float32 rows (NumPy)": lambda: matrix(path),
            }
            best = {way: (float("inf"),) * 3 for way in ways}
            for _ in range(repeats):
                for way, work in ways.items():
                    best[way] = tuple(map(min, best[way], seconds(work)))
        print(f"{name}: {shape[0]} x {shape[1]}, {size / 1e6:.0f} MB")
        for way, (wall, user, system) in best.items():
            print(f"  {way:38}{wall:8.3f}{user:8.3f}{system:10.3f}")
        theirs, ours = best["pyarrow.parquet.read_table"], best["gibbsite.read_table"]
        print(f"  ours over pyarrow's: {ours[0] / theirs[0]:.2f} of the wall, {sum(ours[1:]) / sum(theirs[1:]):.2f} of the processor", flush=True)


def read_once(who, path, text):
    import pyarrow.parquet

    schema = gibbsite.Schema.parse(text)
    import pyarrow.dataset  # to load a library is no reading

    read = {
        "pyarrow": lambda: pyarrow.parquet.read_table(path),
        "gibbsite": lambda: gibbsite.read_table(path, schema),
    }
    print(*seconds(read[who]))


def first_readings(n, d, repeats):
    import pyarrow.parquet

    print(f"{'':40}{'wall s':>8}{'of both':>9}")
    for name, make in (("floats", lambda: table_of_floats(n, d)), ("amounts", lambda: table_of_amounts(n))):
        with tempfile.TemporaryDirectory() as folder:
            table, text = make()
            path = f"{folder}/{name}.parquet"
            pyarrow.parquet.write_table(table, path)
            del table
            best = {"pyarrow": [float("inf")] * 2, "gibbsite": [float("inf")] * 2}
            for _ in range(repeats):
                for who in best:
                    command = [sys.executable, os.path.abspath(__file__), "read", who, path, text]
                    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                    wall, user, system = map(float, said.split())
                    best[who] = list(map(min, best[who], (wall, user + system)))
        for who, (wall, used) in best.items():
            print(f"  {name + ', ' + who:38}{wall:8.3f}{used:9.3f}")
        theirs, ours = best["pyarrow"], best["gibbsite"]
        print(f"  ours over pyarrow's: {ours[0] / theirs[0]:.2f} of the wall, {ours[1] / theirs[1]:.2f} of the processor", flush=True)


def main():
    if sys.argv[1] == "read":
        return read_once(*sys.argv[2:])
    if sys.argv[1] in ("parquet", "first"):
        n, d, repeats = (int(float(v)) for v in sys.argv[2:] + ["1e6", "100", "15"][len(sys.argv) - 2 :])
        return (parquet if sys.argv[1] == "parquet" else first_readings)(n, d, repeats)
    program = os.path.abspath(sys.argv[1])
    n = int(float(sys.argv[2])) if len(sys.argv) > 2 else 1_000_000
    d = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    random = np.random.default_rng(0)
    X = random.random((n, d), dtype=np.float32)
    weights = random.normal(size=d).astype(np.float32)
    y = ((X - 0.5) @ weights + random.logistic(size=n) > 0).astype(np.float32)
    print(f"{n} x {d} float32, {X.nbytes / 1e6:.0f} MB, {os.cpu_count()} processors\n")
    print(f"{'':44}{'wall s':>8}{'cpu s':>8}")

    def line(name, figures):
        print(f"{name:44}{figures[0]:8.2f}{figures[1]:8.2f}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", X)
        np.save(f"{folder}/y.npy", y)
        columns = "".join(f'x{j} = {{type = "number", range = [0, 1]}}\n' for j in range(d))
        with open(f"{folder}/s.toml", "w") as file:
            file.write(f'label = "y"\npositive = "1"\nintercept = true\nrow_norm = "auto"\n[columns]\n{columns}')
        command = [program, "fit", "--data", "x.npy", "--labels", "y.npy", "--schema", "s.toml"]
        command += ["--epsilon", "1", "--delta", "1e-8", "--out", "m.json", "--force", "--quiet"]
        figures, _ = timed(lambda: subprocess.run(command, cwd=folder, check=True))
        line("gibbsite fit --data x.npy", figures)

    make = lambda: gibbsite.PrivateLogisticRegression(1.0, 1e-8, ranges=(0, 1))
    figures, model = timed(lambda: make().fit(X, y))
    line("PrivateLogisticRegression.fit(X, y)", figures)
    assert model.verify().valid

    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        pass
    else:
        table = pyarrow.table({f"x{j}": X[:, j] for j in range(d)})
        figures, _ = timed(lambda: make().fit(table, y))
        line("  of a pyarrow table", figures)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/t.parquet"
            pyarrow.parquet.write_table(table.append_column("y", pyarrow.array(y)), path)
            schema = gibbsite.Schema.parse(f'label = "y"\npositive = "1"\nintercept = true\nrow_norm = "auto"\n[columns]\n{columns}')
            figures, _ = timed(lambda: gibbsite.read_table(path, schema))
            line("gibbsite.read_table(t.parquet)", figures)
            figures, _ = timed(lambda: pyarrow.parquet.read_table(path))
            line("pyarrow.parquet.read_table(t.parquet)", figures)
        del table

    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        return
    figures, fitted = timed(lambda: LogisticRegression(C=1e3, max_iter=200).fit(X, y))
    line("sklearn LogisticRegression.fit(X, y)", figures)
    print(f"\naccuracy: {model.score(X, y):.4f}, without privacy {fitted.score(X, y):.4f}")


if __name__ == "__main__":
    main()
