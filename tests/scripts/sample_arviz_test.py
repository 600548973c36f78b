#!/usr/bin/env python3
"""ArviZ reads what `gibbsite sample` writes and finds the same diagnostics, to 1e-6.

sample_arviz_test.py PROGRAM    (pip install "arviz<1"; exits with 77, a skip, where it is not there)
"""
import csv
import math
import pathlib
import subprocess
import sys
import tempfile
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOLERANCE = 1e-6  # relative, as promised in include/gibbsite/posterior/diagnostics.hpp
# Chains that agree, slow ones that do not, antithetic ones, an odd number of draws, one chain.
RUNS = {
    "split": ["--chains", "4", "--draws", "500"],
    "hmc": ["--sampler", "hmc", "--chains", "4", "--draws", "500"],
    "slow": ["--sampler", "mala", "--metric", "unit", "--warm-up", "0", "--chains", "3", "--draws", "251"],
    "thinned": ["--thinning", "3", "--draws", "101", "--chains", "12"],
    "tempered": ["--beta", "0.01", "--draws", "400", "--metric", "diagonal"],
    "one": ["--chains", "1", "--draws", "200"],
}

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz
        import numpy
    read = arviz.from_cmdstan
except (ImportError, AttributeError) as error:
    print(f"skipped: no ArviZ with from_cmdstan ({error}); python3 -m pip install 'arviz<1'")
    sys.exit(77)


def diagnostics(x):
    """x [C x N]"""
    out = {"mean": x.mean(), "sd": x.std(ddof=1), "r_hat": arviz.rhat(x), "ess_bulk": arviz.ess(x, method="bulk"),
           "ess_tail": arviz.ess(x, method="tail"), "mcse_mean": arviz.mcse(x, method="mean")}
    for name, p in (("q5", 0.05), ("q50", 0.5), ("q95", 0.95)):
        out[name] = numpy.quantile(x, p)
        out[f"mcse_{name}"] = arviz.mcse(x, method="quantile", prob=p)
    return {name: float(value) for name, value in out.items()}


def same(ours, theirs):
    if math.isnan(theirs):
        return math.isnan(ours)
    return abs(ours - theirs) <= TOLERANCE * abs(theirs)  # false for a NaN of ours


def check(program, name, options, folder):
    out = folder / name
    subprocess.run([program, "sample", "--data", ROOT / "data/berkeley.csv", "--schema", ROOT / "data/berkeley.toml",
                    "--prior-precision", "1", "--seed", "5", "--npy", "--quiet", "--out", out, *options],
                   check=True, stderr=subprocess.DEVNULL)
    # In the order of the chains.
    posterior = read([str(path) for path in sorted(out.glob("chain-*.csv"))])
    faults, worst = [], 0.0
    with open(out / "summary.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if list(posterior.posterior.data_vars) != [row["variable"] for row in rows]:
        faults.append(f"variables {list(posterior.posterior.data_vars)}")
    array = numpy.load(out / "draws.npy")
    for j, row in enumerate(rows):
        x = posterior.posterior[row["variable"]].values
        if not numpy.array_equal(x, array[:, :, j]):
            faults.append(f"{row['variable']}: draws.npy differs from the CSV files")
        for number, theirs in diagnostics(x).items():
            ours = float(row[number])
            if not same(ours, theirs):
                faults.append(f"{row['variable']}: {number} is {ours!r}, ArviZ has {theirs!r}")
            elif theirs != 0 and not math.isnan(theirs):
                worst = max(worst, abs(ours - theirs) / abs(theirs))
    print(f"{name}: {array.shape} draws, largest relative difference {worst:.1e}")
    return [f"{name}: {fault}" for fault in faults]


def main():
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        faults = [fault for name, options in RUNS.items()
                  for fault in check(sys.argv[1], name, options, pathlib.Path(folder))]
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
