#!/usr/bin/env python3
"""certificate_report.py JSON... --out PREFIX: what bench_certificate measured as PREFIX.md and PREFIX.svg."""

import argparse
import json
import math
import pathlib
import sys

import bench_plot
import bench_report
from gpu_report import grid, significant

CERTIFICATES = ("rejection", "proximal", "padded", "averaged", "dalalyan")
UNITS = (("years", 365.25 * 86400), ("days", 86400), ("h", 3600), ("min", 60), ("s", 1), ("ms", 1e-3), ("µs", 1e-6))


def read(paths):
    """{(rows, features, gamma, certificate, chains): counters}, and the contexts of the files."""
    parts = [json.loads(path.read_text()) for path in paths]
    cases = {}
    for part in parts:
        for entry in part["benchmarks"]:
            if not entry.get("error_occurred"):
                words = entry["name"].split("/")
                cases[int(entry["rows"]), int(entry["features"]), entry["gamma"], words[0], int(entry["chains"])] = entry
    return cases, [part["context"] for part in parts]


def power(value):
    """As 1.2 · 10⁷ from a million on, and below a thousandth."""
    if 1e-3 <= value < 1e6 or value == 0:
        return significant(value)
    exponent = math.floor(math.log10(value))
    return f"{value / 10.0 ** exponent:.1f} · 10{str(exponent).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def duration(seconds):
    for unit, scale in UNITS:
        if seconds >= scale or unit == "µs":
            return f"{power(seconds / scale) if unit == 'years' else significant(seconds / scale)} {unit}"
    return ""


def passes(entry):
    """Planned, of one draw."""
    return entry["planned_gradient_passes"] + entry["planned_proposal_passes"]


def run_passes(entry):
    """(planned passes, passes taken) for one draw over the iterations that were run; None if nothing was run."""
    done = entry["run_gradient_passes"] + entry["run_proposal_passes"]
    if not entry["draws"] or not done or not entry["run_iterations"]:
        return None
    share = entry["run_iterations"] / entry["iterations"] / entry["draws"]
    return passes(entry) * share, done / entry["draws"]


def wall(entry):
    """Predicted figures in italics; a dagger where the arithmetic cannot keep to gamma."""
    text = duration(entry["seconds"]) if entry["whole"] else f"*{duration(entry['seconds'])}*"
    return text + ("" if entry["tv"] <= entry["gamma"] else " †")


def shapes(cases):
    return sorted({key[:2] for key in cases}, key=lambda shape: (shape[0] * shape[1], shape))


def summary(cases):
    """Wall time of a draw, a row a shape and gamma."""
    rows = []
    for n, d in shapes(cases):
        for gamma in sorted({key[2] for key in cases}, reverse=True):
            found = [cases.get((n, d, gamma, name, 1)) for name in CERTIFICATES]
            by = dict(zip(CERTIFICATES, found))
            ratio = "—"
            if by["proximal"] and by["dalalyan"]:
                ratio = power(passes(by["dalalyan"]) / passes(by["proximal"]))
            rows.append([f"{n:,} × {d}", f"{gamma:g}", *("—" if e is None else wall(e) for e in found), ratio])
    return grid(["n × d", "γ", *CERTIFICATES, "passes, dalalyan/proximal"], rows, left=1)


def detail(cases, shape):
    rows = []
    for key in sorted((k for k in cases if k[:2] == shape and k[4] == 1),
                      key=lambda k: (-k[2], CERTIFICATES.index(k[3]))):
        e, many, slow = cases[key], cases.get((*key[:4], 64)), cases.get((*key[:3], "dalalyan", 1))
        pair = run_passes(e)
        rows.append([
            f"{e['gamma']:g}", key[3], power(e["iterations"]), significant(e["proposals"]) if e["proposals"] else "—",
            power(passes(e)), "—" if pair is None else f"{power(pair[1])} of {power(pair[0])}",
            wall(e), duration(e["cpu_seconds"]) if e["draws"] else "—", "—" if many is None else wall(many),
            "—" if slow is None else power(passes(slow) / passes(e))])
    any_case = next(e for k, e in cases.items() if k[:2] == shape)
    minimize = max(e["minimize_seconds"] for k, e in cases.items() if k[:2] == shape)
    model = max((e["setup_seconds"] for k, e in cases.items() if k[:2] == shape and k[3] == "proximal"), default=0)
    return [f"## {shape[0]:,} × {shape[1]}", "",
            f"β = {any_case['beta']:.4g}, m = 1, M = {any_case['smoothness']:.4g}. Setting up: minimizer {duration(minimize)} "
            f"(not for padded), Hessian {duration(model)} (proximal alone).", "",
            *grid(["γ", "certificate", "iterations", "B", "passes planned", "passes, came of planned", "wall", "CPU", "64 chains",
                   "dalalyan's passes over its"], rows, left=2), ""]


def markdown(cases, contexts, picture):
    context, loads = contexts[0], [c["load_avg"][0] for c in contexts]
    lines = ["# A draw within total variation γ, by certificate", "",
             f"{context['num_cpus']} processors, {bench_report.threads_text(int(context['threads']))}, shared with other programs at "
             f"the same time: load {min(loads):.1f} to {max(loads):.1f} before each table. {context['date'][:10]}.", "",
             "One chain of the `cpu` backend in double from the set-up on, logistic loss, rows made up (norm 1, labels at "
             "random). β and m are what `plan` gives at ε = 1, δ = 1/n², m = 1, "
             "all of it public numbers; γ is taken for itself, whether δ has room for it or not.", "",
             f"*Italics*: predicted. What would take more than {float(context['limit']):g} s was stopped after 3 s and 10 iterations, or after that time, and counted in "
             "proportion to its iterations; Langevin chains are steps times the measured step, and exact rejection beyond 2³¹ proposals is "
             "passes times a measured pass; padded runs likewise, their passes being known. Wall times below 2 s are medians of up to 25 draws. «CPU»: the processor's seconds in the same draws, nearer to what an idle machine would take. †: rounding in double "
             "exceeds γ, so the certificate would refuse.", "",
             f"![Seconds of a draw]({picture})", "", *summary(cases), ""]
    lines += ["A pass reads all rows once. «Came of planned»: in the iterations that were run. B: proposals of a pass, which costs "
              "more than a gradient's by its arithmetic.", ""]
    for shape in shapes(cases):
        lines += detail(cases, shape)
    return "\n".join(lines)


def plot(cases):
    """SVG: a panel a gamma, bars of seconds."""
    parts = []
    for gamma in sorted({key[2] for key in cases}, reverse=True):
        groups = []
        for n, d in shapes(cases):
            found = [(name, cases.get((n, d, gamma, name, 1))) for name in CERTIFICATES]
            groups.append((f"{n:,} × {d}", [(name, e["seconds"], bool(e["whole"]), duration(e["seconds"]))
                                            for name, e in found if e]))
        parts.append((f"γ = {gamma:g}", groups))
    marks = [(1, "1 s"), (UNITS[0][1], "1 year"), (1e9 * UNITS[0][1], "10⁹ years"), (1e18 * UNITS[0][1], "10¹⁸ years")]
    return bench_plot.bars("Time of one draw within total variation γ of the posterior", parts, marks, 1e-4, 1e32,
                           "Full: measured. Pale: predicted. One chain, cpu backend.")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", type=pathlib.Path, nargs="+")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    try:
        cases, contexts = read(arguments.json)
    except (OSError, ValueError) as error:
        print(f"certificate_report: {error}", file=sys.stderr)
        return 1
    if not cases:
        print("certificate_report: nothing was measured; run bench_certificate with --benchmark_out=FILE", file=sys.stderr)
        return 1
    arguments.out.with_suffix(".md").write_text(markdown(cases, contexts, f"{arguments.out.name}.svg"))
    arguments.out.with_suffix(".svg").write_text(plot(cases))
    print(f"results: {arguments.out}.md and .svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
