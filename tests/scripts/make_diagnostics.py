#!/usr/bin/env python3
"""Writes tests/posterior/diagnostics.json: what ArviZ says of draws that the test makes again.

make_diagnostics.py > tests/posterior/diagnostics.json    (pip install arviz-stats==0.8.0)

A draw is made of integers and correctly rounded operations alone, so both sides have the same bits.
"""
import json
import math
import sys
from importlib.metadata import version

import numpy as np
from arviz_stats.base import array_stats as az

SHAPES = [(4, 1), (5, 3), (7, 2), (101, 4), (250, 64), (600, 2), (1000, 1), (2501, 3)]  # N, C
KINDS = ["iid", "slow", "antithetic", "apart", "heavy", "ties", "constant", "binary"]
PROBABILITIES = [0, 0.05, 0.5, 0.9, 1]


def uniforms(parameter, draws, chains):
    """[N x C x 4] in (0, 1): splitmix64 of the parameter's and the number's index."""
    with np.errstate(over="ignore"):
        i = np.arange(draws * chains * 4, dtype=np.uint64) + (np.uint64(parameter) << np.uint64(40))
        z = (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(12)).astype(float) + 0.5).reshape(draws, chains, 4) * 2.0**-52


def draws_of(kind, parameter, draws, chains):
    """[N x C]"""
    u = uniforms(parameter, draws, chains)
    near_normal = ((u[..., 0] + u[..., 1]) + (u[..., 2] + u[..., 3])) - 2
    if kind in ("slow", "antithetic"):
        rho = 0.9 if kind == "slow" else -0.5
        x = near_normal.copy()
        for t in range(1, draws):
            x[t] = rho * x[t - 1] + near_normal[t]
        return x
    return {
        "iid": near_normal + 100,
        "apart": near_normal + np.arange(chains),
        "heavy": (u[..., 0] - 0.5) / (u[..., 0] * (1 - u[..., 0])),
        "ties": np.floor(u[..., 0] * 6) * 0.1,
        "constant": np.full((draws, chains), 0.3),
        "binary": np.floor(u[..., 0] * 2),
    }[kind]


def summary(x):
    """x [C x N]"""
    with np.errstate(all="ignore"):
        numbers = {
            "mean": x.mean(),
            "deviation": x.std(ddof=1),
            "r_hat": az.rhat(x, chain_axis=0, draw_axis=1),
            "ess_bulk": az.ess(x, chain_axis=0, draw_axis=1, method="bulk"),
            "ess_tail": az.ess(x, chain_axis=0, draw_axis=1, method="tail", prob=(0.05, 0.95)),
            "ess_mean": az.ess(x, chain_axis=0, draw_axis=1, method="mean"),
            "mean_standard_error": az.mcse(x, chain_axis=0, draw_axis=1, method="mean"),
            "quantiles": [np.quantile(x, p) for p in PROBABILITIES],
            "quantile_standard_errors": [
                az.mcse(x, chain_axis=0, draw_axis=1, method="quantile", prob=p) for p in PROBABILITIES
            ],
        }

    def plain(v):
        if isinstance(v, list):
            return [plain(e) for e in v]
        return float(v) if math.isfinite(v) else str(float(v))

    return {name: plain(v) for name, v in numbers.items()}


def main():
    cases = []
    for draws, chains in SHAPES:
        for parameter, kind in enumerate(KINDS):
            x = draws_of(kind, parameter, draws, chains)
            cases.append({"draws": draws, "chains": chains, "kind": kind, **summary(x.T)})
    made_by = {name: version(name) for name in ("arviz-stats", "numpy", "scipy")}
    # One case a line, so that a diff says which changed.
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    sys.stdout.write(f'{{"made_by": {json.dumps(made_by)}, "kinds": {json.dumps(KINDS)},\n'
                     f' "probabilities": {json.dumps(PROBABILITIES)},\n "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
