"""Python's `fit` beside the program's and beside scikit-learn without privacy, on the same rows in the same run.

    python bench/python_bench.py PROGRAM [ROWS [FEATURES]]

Seconds of the wall and of the processor, of the best of three; rows of float32 within 0 and 1, written once as .npy for the program.
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


def main():
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
