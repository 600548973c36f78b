#!/usr/bin/env python3
"""golden.py PROGRAM [--make | --every N]: seeded fits of every mechanism of rows by the cpu and reference backends, of one family and
one network, and draws of `sample`, held against bits.json.

Left out: the cuda backend, ranks, other losses than those named below with other mechanisms than there, other families.
An entry of bits.json is what the program wrote when the entry was added: it says that bits stay, not that they are right.
--every N runs every N-th alone. --make writes the file anew, which a change of bits on purpose needs (CHANGELOG says why). Coefficients and counts are
compared exactly; draws of a family and of `sample` to 1e-9, for the C library's functions, and sums without fused multiply-add, differ
in last places on other processors. A chain whose metric is poor makes a difference grow: with --metric diagonal by 10^6 from the 20th step
of the warm-up to the 60th (2e-7 of 1e-13), so such runs have 30 steps, where it is 3e-12."""

import csv
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent


def make_tables(folder):
    """A small CSV with categories, missing cells and an intercept; a sparse LIBSVM table; .npy."""
    draw = random.Random(7)
    rows = [["age", "size", "town", "y"]]
    for _ in range(400):
        age, size = draw.randint(18, 90), round(draw.uniform(-2, 2), 3)
        town = draw.choice(["north", "south", "east", "?"])
        rows.append([age, size, town, "yes" if draw.random() < 0.3 + 0.005 * age - 0.1 * (town == "east") else "no"])
    with open(folder / "people.csv", "w", newline="") as out:
        csv.writer(out).writerows(rows)
    (folder / "people.toml").write_text(
        'label = "y"\npositive = "yes"\nrow_norm = 1.5\nintercept = true\n[columns]\n'
        'age = {type = "number", range = [18, 90]}\nsize = {type = "number", range = [-1, 1]}\n'
        'town = {type = "category", levels = ["north", "south"], other = true, missing = "?"}\n')
    width = 300
    with open(folder / "sparse.svm", "w") as out:
        for _ in range(500):
            columns = sorted(draw.sample(range(1, width + 1), 6))
            out.write(f"{draw.choice([-1, 1])} " + " ".join(f"{c}:{draw.uniform(0.1, 1):.4f}" for c in columns) + "\n")
    numbers = "".join(f'{c} = {{type = "number", range = [0, 1]}}\n' for c in range(1, width + 1))
    (folder / "sparse.toml").write_text(
        f'label = "label"\npositive = "1"\nrow_norm = 1\nintercept = false\n[columns]\n{numbers}')
    n, d = 3000, 40
    values = [draw.uniform(-0.3, 0.3) for _ in range(n * d)]
    for name, shape, data in (("x", f"({n}, {d})", values), ("y", f"({n},)", [float(draw.random() < 0.4) for _ in range(n)])):
        head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
        head += b" " * (-(len(head) + 11) % 64) + b"\n"
        (folder / f"{name}.npy").write_bytes(
            b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + struct.pack(f"<{len(data)}f", *data))
    numbers = "".join(f'x{k} = {{type = "number", range = [-1, 1]}}\n' for k in range(d))
    (folder / "dense.toml").write_text(f'label = "y"\npositive = "1"\nrow_norm = 1\nintercept = true\n[columns]\n{numbers}')
    (folder / "numbers.toml").write_text(f'label = "y"\npositive = "1"\n[columns]\n{numbers}')
    make_labels(folder)


def make_labels(folder):
    """A table with an amount, a count and three classes to predict; as a network, and each column alone."""
    draw = random.Random(8)
    rows = [["age", "town", "wait", "visits", "party"]]
    for _ in range(400):
        age, town = draw.randint(18, 90), draw.choice(["north", "south"])
        rows.append([age, town, round(0.2 * age + draw.gauss(0, 3), 2), sum(draw.random() < age / 200 for _ in range(8)),
                     draw.choice("ABC" if age < 50 else "AAB")])
    with open(folder / "labels.csv", "w", newline="") as out:
        csv.writer(out).writerows(rows)
    columns = {
        "age": 'age = {type = "number", range = [18, 90], bins = 4}\n',
        "town": 'town = {type = "category", levels = ["north", "south"]}\n',
        "wait": 'wait = {type = "number", range = [0, 30], bins = 3}\n',
        "visits": 'visits = {type = "number", range = [0, 8], bins = 3}\n',
        "party": 'party = {type = "category", levels = ["A", "B", "C"]}\n',
    }
    for name, label in (("wait", "range = [0, 30]"), ("visits", "range = [0, 8]\ncounts = true"), ("party", 'classes = ["A", "B", "C"]')):
        text = "".join(f'{other} = {{type = "ignore"}}\n' if other in ("wait", "visits", "party") else line
                       for other, line in columns.items() if other != name)
        (folder / f"{name}.toml").write_text(f'label = "{name}"\n{label}\nrow_norm = 1.5\nintercept = true\n[columns]\n{text}')
    (folder / "all.toml").write_text("[columns]\n" + "".join(columns.values()))


PEOPLE = ["--data", "people.csv", "--schema", "people.toml"]
SPARSE = ["--data", "sparse.svm", "--schema", "sparse.toml"]
DENSE = ["--data", "x.npy", "--labels", "y.npy", "--schema", "dense.toml"]
NUMBERS = DENSE[:-1] + ["numbers.toml"]
BERKELEY = ["--data", str(root / "data" / "berkeley.csv"), "--schema", str(root / "data" / "berkeley.toml")]
WAIT, VISITS, PARTY, ALL = (["--data", "labels.csv", "--schema", f"{name}.toml"] for name in ("wait", "visits", "party", "all"))
PATH = ["--mechanism", "path", "--loss-cap", "1"]
EASY = ["--epsilon", "1", "--delta", "1e-5"]
LOOSE = ["--epsilon", "0.05", "--delta", "0.4", "--prior-precision", "50", "--tv", "0.15"]  # what slow chains can reach
TV = ["--prior-precision", "1"]


def fits():
    """Name: (table, options of fit)."""
    out = {
        "path-berkeley": BERKELEY + EASY + PATH,
        "path-fixed": PEOPLE + EASY + PATH + ["--iterations", "37", "--step-size", "0.02", "--prior-precision", "2"],
        "path-add-remove": PEOPLE + EASY + ["--adjacency", "add-remove", "--rows-cap", "500", "--rows-per-person", "2"] + PATH,
        "path-minami-cor8": PEOPLE + EASY + ["--calibration", "minami-cor8"] + PATH,
        "path-minami-thm7": PEOPLE + EASY + ["--calibration", "minami-thm7"] + PATH,
        "path-geumlek-rdp": PEOPLE + EASY + ["--calibration", "geumlek-rdp"] + PATH,
        "path-17-draws": DENSE + EASY + ["--draws", "17"] + PATH,
        "path-sparse": SPARSE + EASY + ["--draws", "3"] + PATH,
        "whitened": PEOPLE + EASY,
        "whitened-small": NUMBERS + EASY,  # a small budget
        "whitened-small-add-remove": NUMBERS + EASY + ["--adjacency", "add-remove", "--rows-cap", "4000", "--rows-per-person", "2"],
        "whitened-large": PEOPLE + ["--epsilon", "8", "--delta", "1e-5"],
        "whitened-add-remove": PEOPLE + EASY + ["--adjacency", "add-remove", "--rows-cap", "500", "--rows-per-person", "2"],
        "whitened-sparse": SPARSE + EASY,
        "whitened-intervals": PEOPLE + EASY + ["--intervals"],
        "whitened-dense": DENSE + EASY + ["--release-moments"],
        "path-capped": PEOPLE + EASY + ["--mechanism", "path", "--iterations", "50"],
        "metric-path": PEOPLE + EASY + ["--draws", "2", "--release-moments"],
        "metric-path-add-remove": PEOPLE + EASY + ["--mechanism", "metric-path", "--adjacency", "add-remove", "--rows-cap", "500", "--loss-cap", "1"],
        "metric-path-sparse": SPARSE + EASY + ["--mechanism", "metric-path", "--iterations", "20"],
        "metric-proximal": PEOPLE + EASY + ["--mechanism", "metric-proximal", "--tv", "1e-7"],
        "rejection": PEOPLE + EASY + TV + ["--mechanism", "rejection"],
        "proximal": PEOPLE + EASY + TV + ["--mechanism", "proximal", "--draws", "3"],
        "proximal-padded": PEOPLE + EASY + TV + ["--mechanism", "proximal", "--padded"],
        "proximal-sparse": SPARSE + EASY + TV + ["--mechanism", "proximal"],
        "output": PEOPLE + EASY + ["--mechanism", "output", "--draws", "2"],
        "output-pure": PEOPLE + EASY + ["--mechanism", "output-pure", "--draws", "2"],
        "objective": PEOPLE + EASY + ["--mechanism", "objective", "--draws", "2"],
        "objective-pure": PEOPLE + EASY + ["--mechanism", "objective-pure", "--draws", "2"],
        "objective-redberg": PEOPLE + EASY + ["--mechanism", "objective", "--calibration", "redberg", "--adjacency", "add-remove", "--rows-cap", "500"],
        "averaged": PEOPLE + LOOSE + ["--mechanism", "averaged"],
        "dalalyan": PEOPLE + LOOSE + ["--mechanism", "dalalyan"],
        "auto-tv": BERKELEY + EASY + ["--tv", "1e-9"],
        "huber": WAIT + EASY + ["--model", "huber"],
        "poisson": VISITS + EASY + ["--model", "poisson"],
        "softmax": PARTY + EASY + ["--model", "softmax"],
        "squared-ball": WAIT + EASY + ["--model", "squared", "--ball", "1"],
    }
    layouts = {}
    for name, options in out.items():
        backends = ["cpu", "reference"]
        if name in ("averaged", "dalalyan"):
            backends = ["cpu"]
        for backend in backends:
            layouts[f"{name}-{backend}"] = options + ["--backend", backend]
    for threads in ("1", "2"):
        layouts[f"path-17-draws-threads-{threads}"] = out["path-17-draws"] + ["--backend", "cpu"]
    layouts["bernoulli"] = ALL + EASY + ["--model", "bernoulli", "--column", "town", "--draws", "3"]
    for family, more in (("bounded-mean", []), ("variance", ["--center", "5"]), ("laplace", ["--center", "5"])):
        layouts[f"family-{family}"] = ALL + EASY + ["--model", family, "--column", "wait", "--draws", "3"] + more
    layouts["network"] = ALL + EASY + ["--model", "network", "--structure", "private", "--mechanism", "counts"]
    layouts["path-cache"] = out["path-17-draws"] + ["--backend", "cpu", "--cache", "always"]
    return layouts


def samples():
    fixed = ["--prior-precision", "1", "--chains", "2", "--draws", "40", "--seed", "3", "--backend"]
    common, brief = (["--warm-up", steps, *fixed, "cpu"] for steps in ("60", "30"))
    return {
        "sample-split": PEOPLE + common,
        "sample-hmc": PEOPLE + common + ["--sampler", "hmc"],
        "sample-hmc-laplace": PEOPLE + common + ["--sampler", "hmc", "--metric", "laplace"],
        "sample-hmc-diagonal-reference": PEOPLE + brief[:-1] + ["reference", "--metric", "diagonal"],
        "sample-mala": PEOPLE + brief + ["--sampler", "mala", "--metric", "diagonal"],
        "sample-hmc-sparse": SPARSE + common + ["--sampler", "hmc"],
        "sample-proximal": PEOPLE + fixed + ["cpu", "--sampler", "proximal"],
    }


def run(program, arguments, folder, threads=None):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    passed = ("ASAN_OPTIONS", "LSAN_OPTIONS", "GIBBSITE_INSTRUCTIONS", "GLIBC_TUNABLES")
    environment |= {name: os.environ[name] for name in passed if name in os.environ}
    if threads:
        environment["OMP_NUM_THREADS"] = threads
    done = subprocess.run([program, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"golden: {' '.join(arguments)}: status {done.returncode}: {done.stderr.strip()}")
    return done


def released(model):
    """Coefficients, class after class; draws of a family; of a network each column's parents, by place, and its counts."""
    if "draws" in model:
        return model["draws"]
    if "nodes" in model:
        places = {node["column"]: k for k, node in enumerate(model["nodes"])}
        return [[[places[parent] for parent in node["parents"]], node["counts"]] for node in model["nodes"]]
    found = model["coefficients"]
    return [found[name] for name in model["classes"]] if isinstance(found, dict) else found


def fitted(program, name, options, folder):
    threads = name[-1] if "threads" in name else None
    run(program, ["fit", *options, "--seed", "5", "--quiet", "--force", "--out", "model.json"], folder, threads)
    model = json.loads((folder / "model.json").read_text())["model"]
    (folder / "model.json").unlink()
    return released(model)


def draws(program, name, options, folder):
    run(program, ["sample", *options, "--quiet", "--out", name], folder)
    lines = []
    for file in sorted((folder / name).glob("*.csv")):
        rows = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
        if "lp__" not in rows[0]:
            continue
        names = rows[0].split(",")
        skip = [k for k, column in enumerate(names) if column.endswith("__")]
        for row in rows[1::13]:
            lines.append([float(cell) for k, cell in enumerate(row.split(",")) if k not in skip])
    return lines


def same(ours, kept, tolerance):
    if isinstance(kept, list):
        return len(ours) == len(kept) and all(same(a, b, tolerance) for a, b in zip(ours, kept))
    return ours == kept or abs(ours - kept) <= tolerance * max(1.0, abs(kept))


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    every = int(sys.argv[sys.argv.index("--every") + 1]) if "--every" in sys.argv else 1
    file = here / "bits.json"
    now = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_tables(folder)
        runs = [(fitted, *run) for run in fits().items()] + [(draws, *run) for run in samples().items()]
        for run, label, options in runs[::every]:
            now[label] = run(program, label, options, folder)
    assert all(now.values()), [label for label, value in now.items() if not value]
    if "--make" in sys.argv:
        lines = ",\n".join(f"{json.dumps(label)}: {json.dumps(value)}" for label, value in now.items())
        file.write_text("{" + lines + "}\n")
        return
    kept = json.loads(file.read_text())
    assert set(kept) >= set(now) and (every > 1 or len(kept) == len(now)), set(kept) ^ set(now)
    near = ("sample", "bernoulli", "family")
    wrong = [label for label in now if not same(now[label], kept[label], 1e-9 if label.startswith(near) else 0.0)]
    if wrong:
        sys.exit(f"golden: other bits than {file}: {', '.join(wrong)}")
    print(f"golden: {len(now)} runs have the bits of {file.name}")


if __name__ == "__main__":
    main()
