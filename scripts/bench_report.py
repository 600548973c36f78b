#!/usr/bin/env python3
"""Merges what bench_step and the peers measured into one value for JSON, a page of Markdown and a plot.

bench_report.py --step FILE... [--peers FILE...] --out PREFIX    writes PREFIX.json, PREFIX.md, PREFIX.svg

--step: Google Benchmark's JSON of bench_step, a file a number of threads. --peers: a line of JSON for every case of a peer
(bench/peers). scripts/bench calls merge() with what it knows of the machine.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys

import bench_plot
from gpu_report import grid, percent, ratio, significant, time_text

FINGERPRINT_TOLERANCE = {"float": 1e-3, "double": 1e-9}
LIBRARIES = ("OpenBLAS", "oneDNN", "PyTorch")  # two products and a function between them
ELSEWHERE = ("JAX", "NumPyro", "Stan")
READ_CHAINS = (1, 4)  # where reading X may bind
# What is asked of the engine; bench/README.md says the same in words.
OF_FMA = {"float": 0.75, "double": 0.40}
OF_FMA_FEATURES, OF_FMA_CHAINS = 54, 64
OF_READ = 0.85
TWO_THREADS = 1.85
TIMES_LIBRARY, TIMES_LIBRARY_CHAINS = 1.3, 16
TIMES_ELSEWHERE = {"JAX": 10, "NumPyro": 10}


def merge(head, parts, peers=(), programs=()):
    """head: of the machine. parts: JSON of bench_step, one a process. peers: their lines. programs: how each ended."""
    entries = [entry for part in parts for entry in entries_of(part)]
    gradients = sorted((e for e in entries if e["what"] == "gradient" and e["backend"] == "cpu"), key=order)
    steps = sorted((e for e in entries if e["what"] == "step"), key=order)
    fingerprints = {shape: value for part in parts for shape, value in fingerprints_of(part).items()}
    peers = [judge(dict(line), fingerprints) for line in peers]
    caches = [cache["size"] for part in parts for cache in part["context"].get("caches", [])]
    for gradient in gradients:
        gradient["out_of_cache"] = 4 * gradient["rows"] * gradient["features"] > max(caches) if caches else None
        compare(gradient, peers)
    noise_share(steps, gradients)
    sparse = beside_dense(sorted((e for e in entries if e["what"] == "sparse"), key=order), gradients)
    scaling = scale(gradients)
    for gradient in gradients:
        gradient["targets"] = targets(gradient)
    return {**head, "roofs": roofs_of(parts), "gradients": gradients, "steps": steps, "sparse": sparse, "scaling": scaling,
            "growth": growth(gradients), "noise": noise_of(parts), "peers": peers, "targets": summary(gradients, scaling),
            "programs": list(programs)}


def order(entry):
    return (entry["rows"] * entry["features"], entry["rows"], entry["chains"], entry["arithmetic"], entry["threads"],
            entry["backend"])


def entries_of(part):
    """What is not a case is left out, also one that ended badly."""
    for entry in part.get("benchmarks", []):
        words = entry["name"].split("/")
        if words[0] not in ("step", "gradient", "sparse") or entry.get("error_occurred") or entry.get("run_type") == "aggregate":
            continue
        rows, features, chains = (int(entry[name]) for name in ("rows", "features", "chains"))
        threads = int(words[5].removeprefix("threads:"))
        seconds, flops, table = entry["seconds"], 4.0 * rows * features * chains, 4.0 * rows * features
        fma = number(part["context"].get(f"{words[2]}_fma_flops_{threads}"))
        # The read rate of this very table, if it was measured: a table in cache is compared with the cache.
        read = number(entry.get("read_roof", part["context"].get(f"read_bytes_per_second_{threads}")))
        yield {"what": words[0], "backend": words[1], "arithmetic": words[2], "rows": rows, "features": features,
               "chains": chains, "threads": threads, "seconds": seconds, "chain_gradients_per_second": chains / seconds,
               "flops_per_second": flops / seconds, "of_fma": fma and flops / seconds / fma,
               "of_read": read and table / seconds / read if chains in READ_CHAINS else None,
               "roof_seconds": max(flops / fma, table / read) if fma and read else None,
               **({"entries_per_row": entry["entries"] / rows} if "entries" in entry else {})}


def number(text):
    return None if text is None else float(text)


def place(entry):
    return entry["rows"], entry["features"], entry["chains"]


def fingerprints_of(part):
    """{(rows, features): [g0, g1, g2, norm]}"""
    found = {}
    for name, text in part["context"].items():
        if name.startswith("fingerprint/"):
            rows, features = name.removeprefix("fingerprint/").split("x")
            found[int(rows), int(features)] = [float(word) for word in text.split(",")]
    return found


def judge(line, fingerprints):
    """Whether a peer computed our gradient: coordinates against the norm, and the norm against itself."""
    if "seconds" in line:
        ours, theirs = fingerprints.get((line["rows"], line["features"])), line["fingerprint"]
        if ours is None:
            line["gradient"] = "unchecked"
        else:
            tolerance = FINGERPRINT_TOLERANCE[line["dtype"]] * abs(ours[-1])
            # A NaN is not within anything.
            same = all(abs(a - b) <= tolerance for a, b in zip(ours, theirs, strict=True))
            line["gradient"] = "same" if same else "another gradient"
        line["fingerprint"] = [value if math.isfinite(value) else None for value in theirs]
    return line


def compare(gradient, peers):
    """Against the quickest line of every peer at the same shape, type and threads whose gradient is the same."""
    same = {}
    for line in peers:
        if (line.get("gradient") == "same" and place(line) == place(gradient) and line["dtype"] == gradient["arithmetic"]
                and line["threads"] == gradient["threads"]):
            same[line["peer"]] = min(line["seconds"], same.get(line["peer"], math.inf))
    gradient["times"] = {peer: seconds / gradient["seconds"] for peer, seconds in same.items()}
    libraries = {peer: gradient["times"][peer] for peer in LIBRARIES if peer in same}
    gradient["library"] = min(libraries, key=libraries.get, default=None)


def noise_share(steps, gradients):
    """What of a step is not the gradient: noise and update."""
    alone = {(*place(g), g["arithmetic"], g["threads"], g["backend"]): g["seconds"] for g in gradients}
    for step in steps:
        gradient = alone.get((*place(step), step["arithmetic"], step["threads"], step["backend"]))
        step["beside_gradient"] = None if gradient is None else max(0.0, 1 - gradient / step["seconds"])


def beside_dense(sparse, gradients):
    """Rows kept as entries beside dense rows of the same shape, whose cost does not depend on their values."""
    dense = {(*place(g), g["arithmetic"], g["threads"]): g["seconds"] for g in gradients}
    kept = ("rows", "features", "chains", "arithmetic", "threads", "seconds", "entries_per_row")
    found = []
    for s in sparse:
        seconds = dense.get((*place(s), s["arithmetic"], s["threads"]))
        found.append({**{k: s[k] for k in kept}, "dense_seconds": seconds, "times": seconds and seconds / s["seconds"]})
    return found


def scale(gradients):
    """From one thread to the most."""
    most = max((g["threads"] for g in gradients), default=1)
    one = {(*place(g), g["arithmetic"]): g for g in gradients if g["threads"] == 1}
    found = []
    for many in gradients:
        single = one.get((*place(many), many["arithmetic"]))
        if many["threads"] != most or most == 1 or single is None:
            continue
        entry = {k: many[k] for k in ("rows", "features", "chains", "arithmetic", "threads", "seconds")}
        found.append({**entry, "one_seconds": single["seconds"], "one_of_fma": single["of_fma"],
                      "times": single["seconds"] / many["seconds"]})
    return found


def growth(gradients):
    """Least squares of log seconds on the logs of n, d and C, where arithmetic binds; one of each type and threads."""
    found = []
    for arithmetic, threads in sorted({(g["arithmetic"], g["threads"]) for g in gradients}):
        cases = [g for g in gradients if (g["arithmetic"], g["threads"]) == (arithmetic, threads) and g["chains"] >= 16]
        rows = [[1.0, *(math.log(g[k]) for k in ("rows", "features", "chains"))] for g in cases]
        fit = least_squares(rows, [math.log(g["seconds"]) for g in cases])
        found.append({"arithmetic": arithmetic, "threads": threads, "cases": len(cases),
                      **dict(zip(("rows", "features", "chains"), fit[1:] if fit else (None, None, None)))})
    return found


def least_squares(rows, values):
    """None when the rows do not determine it."""
    if not rows:
        return None
    size = len(rows[0])
    system = [[sum(row[i] * row[j] for row in rows) for j in range(size)]
              + [sum(row[i] * value for row, value in zip(rows, values))] for i in range(size)]
    largest = max(system[i][i] for i in range(size))
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(system[k][i]))
        system[i], system[pivot] = system[pivot], system[i]
        if abs(system[i][i]) <= 1e-9 * largest:
            return None
        for k in range(size):
            if k != i:
                factor = system[k][i] / system[i][i]
                system[k] = [a - factor * b for a, b in zip(system[k], system[i])]
    return [system[i][size] / system[i][i] for i in range(size)]


def targets(gradient):
    """[{what, wanted, found, met}] of one case; what was not measured is no target."""
    found = []

    def add(what, wanted, value):
        if value is not None:
            found.append({"what": what, "wanted": wanted, "found": value, "met": value >= wanted})

    arithmetic, chains = gradient["arithmetic"], gradient["chains"]
    if gradient["features"] >= OF_FMA_FEATURES and chains >= OF_FMA_CHAINS:
        add(f"of FMA peak, {arithmetic}", OF_FMA[arithmetic], gradient["of_fma"])
    if chains == 1 and gradient["out_of_cache"]:
        add("of read bandwidth, one chain, X out of cache", OF_READ, gradient["of_read"])
    if gradient["library"]:
        if chains >= TIMES_LIBRARY_CHAINS:
            add("times the best library pipeline", TIMES_LIBRARY, gradient["times"][gradient["library"]])
        elif chains == 1:
            add("times the best library pipeline, one chain", 1.0, gradient["times"][gradient["library"]])
    for peer, wanted in TIMES_ELSEWHERE.items():
        add(f"times {peer}", wanted, gradient["times"].get(peer))
    return found


def summary(gradients, scaling):
    """{what: wanted, cases, met, least}, of all cases."""
    every = [t for g in gradients for t in g["targets"]]
    every += [{"what": "times one thread, on two", "wanted": TWO_THREADS, "found": s["times"],
               "met": s["times"] >= TWO_THREADS} for s in scaling if s["threads"] == 2]
    found = {}
    for target in every:
        line = found.setdefault(target["what"], {"what": target["what"], "wanted": target["wanted"], "cases": 0, "met": 0,
                                                 "least": math.inf, "median": []})
        line["cases"] += 1
        line["met"] += target["met"]
        line["least"] = min(line["least"], target["found"])
        line["median"].append(target["found"])
    return [{**found[what], "median": statistics.median(found[what]["median"])} for what in sorted(found)]


def roofs_of(parts):
    """{threads: {roof: rate}}; the median where several processes measured it."""
    seen = {}
    for part in parts:
        for name in ("read_bytes_per_second", "float_fma_flops", "double_fma_flops"):
            for key, value in part["context"].items():
                if key.startswith(f"{name}_"):
                    seen.setdefault(key.removeprefix(f"{name}_"), {}).setdefault(name, []).append(float(value))
    return {threads: {name: statistics.median(values) for name, values in roofs.items()}
            for threads, roofs in sorted(seen.items(), key=lambda item: int(item[0]))}


def noise_of(parts):
    """Normals per second and thread, medians over the processes."""
    rates = {}
    for part in parts:
        for entry in part.get("benchmarks", []):
            words = entry["name"].split("/")
            if words[0] == "noise" and "normals/s" in entry:
                rates.setdefault((words[1], int(words[2]), int(words[3])), []).append(entry["normals/s"])
    return [{"kind": kind, "features": features, "chains": chains, "normals_per_second": statistics.median(values)}
            for (kind, features, chains), values in rates.items()]


# The page


def markdown(report, plot=None):
    """plot: name of the picture beside the page."""
    lines = [f"# CPU: {report.get('cpu', 'unknown')}, {report.get('date', 'no date')}", "", machine_line(report), "",
             "How to read this page: bench/README.md.", ""]
    lines += roofs_section(report) + targets_section(report)
    if plot and report["gradients"]:
        lines += [f"![Chain-gradients per second over the number of chains]({plot})", ""]
    lines += gradients_section(report) + sparse_section(report) + scaling_section(report) + growth_section(report) + steps_section(report)
    lines += peers_section(report) + programs_section(report)
    return "\n".join(lines).rstrip() + "\n"


def machine_line(report):
    names = {"cores": "processors", "memory_gib": "GiB memory", "governor": "governor", "compiler": "compiler",
             "commit": "commit", "load": "load before it began"}
    facts = [f"{report[key]} {name}" if key in ("cores", "memory_gib") else f"{name} {report[key]}"
             for key, name in names.items() if report.get(key) is not None]
    return "; ".join(facts) + "." if facts else "Nothing is known of the machine."


def roofs_section(report):
    rows = []
    for threads, roofs in report["roofs"].items():
        rows.append([threads, *(f"{significant(roofs[name] / 1e9)}" if name in roofs else "—" for name in
                                ("read_bytes_per_second", "float_fma_flops", "double_fma_flops"))])
    if not rows:
        return []
    return ["## Roofs, measured in the same processes", "",
            *grid(["threads", "read, GB/s", "float FMA, Gflop/s", "double FMA, Gflop/s"], rows), ""]


def wanted_text(target, key):
    value = target[key]
    return f"{100 * value:.0f} %" if target["what"].startswith("of ") else f"{value:.2f}"


def targets_section(report):
    if not report["targets"]:
        return []
    rows = [[t["what"], wanted_text(t, "wanted"), f"{t['met']} of {t['cases']}", wanted_text(t, "median"),
             wanted_text(t, "least")] for t in report["targets"]]
    return ["## Targets", "", *grid(["target", "at least", "cases that meet it", "median", "least"], rows), ""]


def shape_text(entry):
    return f"{entry['rows']:,} × {entry['features']:,}"


def gradients_section(report):
    """A table a type, at the most threads."""
    gradients = report["gradients"]
    if not gradients:
        return ["## Gradients", "", "No gradient was measured.", ""]
    most, lines = max(g["threads"] for g in gradients), []
    for arithmetic in sorted({g["arithmetic"] for g in gradients}, reverse=True):
        chosen = [g for g in gradients if g["threads"] == most and g["arithmetic"] == arithmetic]
        # A column a peer that was measured here at all.
        others = [peer for peer in ELSEWHERE if any(peer in g["times"] for g in chosen)]
        head = ["n × d", "C", "ms", "chain-gradients/s", "Gflop/s", "of FMA", "of read", "× library", *(f"× {p}" for p in others),
                "target"]
        rows = []
        for g in chosen:
            library = f"{ratio(g['times'][g['library']])} {g['library']}" if g["library"] else "—"
            rows.append([shape_text(g), f"{g['chains']:,}", f"{significant(1e3 * g['seconds'])}",
                         significant(g["chain_gradients_per_second"]), significant(g["flops_per_second"] / 1e9),
                         percent(g["of_fma"]), percent(g["of_read"]), library,
                         *(ratio(g["times"].get(p)) for p in others), verdict(g["targets"])])
        lines += [f"## Gradient of all chains, {arithmetic}, {threads_text(most)}", "", *grid(head, rows), ""]
    return lines


def verdict(found):
    if not found:
        return "—"
    missed = [t for t in found if not t["met"]]
    if not missed:
        return "met"
    return "missed: " + "; ".join(f"{wanted_text(t, 'wanted')} {t['what'].split(',')[0]}" for t in missed)


def threads_text(count):
    return "1 thread" if count == 1 else f"{count} threads"


def sparse_section(report):
    if not report["sparse"]:
        return []
    most = max(s["threads"] for s in report["sparse"])
    rows = [[shape_text(s), f"{s['chains']:,}", s["arithmetic"], f"{s['entries_per_row']:.0f}", time_text(s["seconds"]),
             "—" if s["dense_seconds"] is None else time_text(s["dense_seconds"]), ratio(s["times"]),
             significant(1e9 * s["seconds"] / (s["rows"] * s["entries_per_row"] * s["chains"]))]
            for s in report["sparse"] if s["threads"] == most]
    return [f"## Sparse rows: gradient of all chains, {threads_text(most)}", "",
            "One-hot rows kept as their entries, beside dense rows of the same shape.", "",
            *grid(["n × d", "C", "type", "entries a row", "time", "dense", "× dense", "ns an entry and chain"], rows), ""]


def scaling_section(report):
    if not report["scaling"]:
        return []
    threads = report["scaling"][0]["threads"]
    rows = [[shape_text(s), f"{s['chains']:,}", s["arithmetic"], significant(1e3 * s["one_seconds"]), percent(s["one_of_fma"]),
             significant(1e3 * s["seconds"]), ratio(s["times"]),
             "—" if threads != 2 else "met" if s["times"] >= TWO_THREADS else "missed"] for s in report["scaling"]]
    return [f"## From 1 thread to {threads}", "",
            *grid(["n × d", "C", "type", "ms on 1", "of FMA on 1", f"ms on {threads}", "times", "target"], rows), ""]


def growth_section(report):
    rows = [[g["arithmetic"], str(g["threads"]), str(g["cases"]), ratio(g["rows"]), ratio(g["features"]),
             ratio(g["chains"])] for g in report["growth"]]
    if not rows:
        return []
    return ["## Growth of the cost", "", "Exponents fitted to log seconds of all cases of 16 chains and more; work alone "
            "would give 1, 1, 1. A dash: the shapes measured do not tell n from d.", "",
            *grid(["type", "threads", "cases", "n", "d", "C"], rows), ""]


def steps_section(report):
    if not report["steps"]:
        return []
    most = max(s["threads"] for s in report["steps"])
    rows = [[shape_text(s), f"{s['chains']:,}", s["backend"], s["arithmetic"], time_text(s["seconds"]),
             percent(s["beside_gradient"])] for s in report["steps"] if s["threads"] == most]
    noise = [[n["kind"], f"{n['features']:,}", f"{n['chains']:,}", f"{significant(n['normals_per_second'] / 1e6)} million"]
             for n in report["noise"]]
    return [f"## Steps: gradient, noise and update, {threads_text(most)}", "",
            *grid(["n × d", "C", "backend", "type", "time", "noise and update"], rows), "",
            *([*grid(["noise", "d", "C", "normals per second and thread"], noise), ""] if noise else [])]


def peers_section(report):
    if not report["peers"]:
        return ["## Peers", "", "No peer was measured: `make bench-peers` installs them.", ""]
    lines = ["## Peers", ""]
    versions = list(dict.fromkeys(f"{p['peer']}: {p['version']}" for p in report["peers"] if p.get("version")))
    lines += [*(f"* {version}" for version in versions), ""]
    measured = [p for p in report["peers"] if "seconds" in p]
    for dtype, threads in sorted({(p["dtype"], p["threads"]) for p in measured}, key=lambda key: (key[0] == "double", key[1])):
        lines += peers_table([p for p in measured if (p["dtype"], p["threads"]) == (dtype, threads)], dtype, threads,
                             report["gradients"])
    reasons = {}
    for p in report["peers"]:
        if "skipped" in p:
            reasons.setdefault((p["peer"], p["skipped"]), []).append(p)
    if reasons:
        lines += ["Left out:", ""]
        for (peer, why), cases in reasons.items():
            where = f"{len(cases)} cases" if len(cases) > 1 or "rows" not in cases[0] else (
                f"{shape_text(cases[0])}, C = {cases[0]['chains']}, {cases[0]['dtype']}")
            lines.append(f"* {peer}: {why} ({where})")
        lines.append("")
    return lines


def peers_table(measured, dtype, threads, gradients):
    """A row a case, a column a peer; how each computed is in the JSON."""
    names = list(dict.fromkeys(p["peer"] for p in measured))
    ours = {place(g): g["seconds"] for g in gradients if (g["arithmetic"], g["threads"]) == (dtype, threads)}
    found = {(p["peer"], *place(p)): p for p in measured}
    rows = []
    for case in sorted({place(p) for p in measured}, key=lambda c: (c[0] * c[1], c[0], c[2])):
        cells = [found.get((name, *case)) for name in names]
        rows.append([f"{case[0]:,} × {case[1]:,}", f"{case[2]:,}", time_text(ours[case]) if case in ours else "—",
                     *("—" if p is None else time_text(p["seconds"]) + ("" if p["gradient"] == "same" else f", {p['gradient']}")
                       for p in cells)])
    return [f"Time of a gradient of all chains, {dtype}, {threads_text(threads)}:", "",
            *grid(["n × d", "C", "gibbsite", *names], rows), ""]


def programs_section(report):
    bad = [p for p in report["programs"] if p["result"] != "passed"]
    return ["## Not finished", "", *(f"* {p['name']}: {p['result']}{': ' + p['what'] if p['what'] else ''}" for p in bad),
            ""] if bad else []


def plot(report):
    """SVG: chain-gradients/s over C, a line a shape, a panel a type."""
    gradients = report["gradients"]
    most = max((g["threads"] for g in gradients), default=1)
    parts = []
    for arithmetic in ("float", "double"):
        chosen = [g for g in gradients if g["arithmetic"] == arithmetic and g["threads"] == most]
        lines = []
        for shape in dict.fromkeys((g["rows"], g["features"]) for g in chosen):
            cases = [g for g in chosen if (g["rows"], g["features"]) == shape]
            lines.append((f"{shape[0]:,} × {shape[1]:,}",
                          [(g["chains"], g["chain_gradients_per_second"]) for g in cases],
                          [(g["chains"], g["chains"] / g["roof_seconds"]) for g in cases if g["roof_seconds"]]))
        parts.append((arithmetic, lines))
    return bench_plot.panels(
        f"Gradients of C chains, {threads_text(most)}: {report.get('cpu', 'CPU')}", "chains C", "chain-gradients per second",
        parts, "Roof: 4ndC flops at the measured FMA peak or one reading of X, whichever takes longer.")


def write(report, prefix):
    """PREFIX.json, .md and .svg."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    files = {"json": json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "svg": plot(report)}
    files["md"] = markdown(report, f"{prefix.name}.svg")
    for ending, text in files.items():
        prefix.with_name(f"{prefix.name}.{ending}").write_text(text)


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--peers", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    try:
        parts = [json.loads(path.read_text()) for path in arguments.step]
        peers = [line for path in arguments.peers for line in read_lines(path)]
    except (OSError, ValueError) as error:
        print(f"bench_report: {error}", file=sys.stderr)
        return 1
    write(merge({}, parts, peers), arguments.out)
    print(f"results: {arguments.out}.json, .md and .svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
