"""Merges what a run of scripts/gpu-bench measured into one value for JSON and a page of Markdown. Pure: no files, no
clock, no card (tests/scripts/gpu_report_test.py)."""

import statistics

# Which measured rate bounds the flops of an arithmetic; double has two units, the faster one is the roof.
FLOP_ROOFS = {
    "double": ("double_fma_flops", "double_matrix_flops"),
    "float": ("float_fma_flops",),
    "bfloat16": ("bfloat16_matrix_flops",),
}
ROOFS = ("copy_bytes_per_second", "float_fma_flops", "double_fma_flops", "double_matrix_flops", "tf32_matrix_flops",
         "bfloat16_matrix_flops")


def merge(head, parts, fit=None, jax=None, power=None, programs=()):
    """head: card and date. parts: JSON of gpu_bench, one a process. fit: of the command line. jax: of
    bench/peers/jax_step.py. power: {name of a long run: [(unix time, watts), ...]}. programs: how each process ended."""
    found = {"rates": [], "steps": [], "noise": [], "metric": [], "long": [], "left_out": []}
    for part in parts:
        for entry in part.get("benchmarks", []):
            add_entry(found, entry, part["context"], power or {})
    roofs = {name: statistics.median(float(part["context"][name]) for part in parts)
             for name in ROOFS if parts and all(name in part["context"] for part in parts)}
    compare_with_blocked(found["steps"])
    noise_share(found["steps"], found["noise"])
    found["steps"].sort(key=lambda s: (s["rows"] * s["features"], s["rows"], s["chains"], s["arithmetic"],
                                       s["seconds"]))
    return {**head, "roofs": roofs, **found, "fit": fit, "jax": with_ratio(jax, found["steps"]),
            "programs": list(programs)}


def add_entry(found, entry, context, power):
    words = entry["name"].split("/")
    name = "/".join(word for word in words if not word.startswith(("iterations:", "manual_time")))
    if entry.get("error_occurred"):
        found["left_out"].append({"case": name, "why": entry["error_message"]})
    elif words[0] == "step":
        found["steps"].append(step(words, entry, context))
    elif words[0] == "roof":
        found["rates"].append({"name": words[1], "value": entry["value"], "text": entry["label"]})
    elif words[0] == "noise":
        found["noise"].append({"kind": words[1], "seconds": entry["seconds"],
                               "normals_per_second": entry["normals"] / entry["seconds"],
                               "seconds_per_normal": entry["seconds"] / entry["normals"]})
    elif words[0] == "metric":
        found["metric"].append(answer(words[1], entry, context))
    elif words[0] == "long":
        found["long"].append(long_run(name, words, entry, power.get(name, [])))


def step(words, entry, context):
    """Work of a step: 4 n d C flops; fewest bytes: X once, 4 n d."""
    arithmetic = words[2]
    rows, features, chains = (int(entry[k]) for k in ("rows", "features", "chains"))
    seconds = entry["seconds"]
    flops, bytes_once = 4.0 * rows * features * chains, 4.0 * rows * features
    by_bytes = bytes_once / float(context["copy_bytes_per_second"])
    # In float this design makes three products in BF16 of one.
    pairs = words[1] == "warp-group" and arithmetic == "float"
    roofs = FLOP_ROOFS["bfloat16" if pairs else arithmetic]
    by_flops = flops * (3 if pairs else 1) / max(float(context[roof]) for roof in roofs)
    return {
        "design": words[1], "arithmetic": arithmetic, "rows": rows, "features": features, "chains": chains,
        "seconds": seconds, "least_seconds": entry["least_seconds"], "largest_seconds": entry["largest_seconds"],
        "chain_gradients_per_second": chains / seconds, "flops_per_second": flops / seconds, "bytes": bytes_once,
        "bytes_per_second": bytes_once / seconds,
        "roof": "bytes" if by_bytes >= by_flops else "flops",
        "of_roof": max(by_bytes, by_flops) / seconds,
        "fits_l2": bytes_once <= float(context["l2_bytes"]),
        "noise": "chacha20", "how": entry.get("label", ""),
    }


def answer(question, entry, context):
    """Fewest bytes: X, labels and caps once; flops in double: the products with theta and back, with P [d x d], and
    half of the squares. The units of double alone: sums on matrix units have no order that is promised."""
    rows, features = int(entry["rows"]), int(entry["features"])
    flops = {"gradient": 4.0 * features, "first-gradient": 4.0 * features + 2.0 * features**2,
             "moments": 3.0 * features**2}[question] * rows
    by_bytes = rows * (4.0 * features + 8) / float(context["copy_bytes_per_second"])
    by_flops = flops / float(context["double_fma_flops"])
    return {"question": question, "rows": rows, "features": features, "seconds": entry["seconds"],
            "roof": "bytes" if by_bytes >= by_flops else "flops",
            "of_roof": max(by_bytes, by_flops) / entry["seconds"]}


def place(entry):
    return entry["rows"], entry["features"], entry["chains"]


def compare_with_blocked(steps):
    """Against the library on row blocks in the same arithmetic; it has no bfloat16, so there in float."""
    blocked = {(*place(s), s["arithmetic"]): s["seconds"] for s in steps if s["design"] == "blocked"}
    for s in steps:
        like = "float" if s["arithmetic"] == "bfloat16" else s["arithmetic"]
        base = blocked.get((*place(s), like))
        s["times_blocked"] = base / s["seconds"] if base else None


def noise_share(steps, noise):
    each = {n["kind"]: n["seconds_per_normal"] for n in noise}
    for s in steps:
        making = each["chacha20"] - each["given"] if {"chacha20", "given"} <= each.keys() else None
        s["noise_share"] = None if making is None else max(0.0, making) * s["chains"] * s["features"] / s["seconds"]


def long_run(name, words, entry, samples):
    """Power: mean of the samples from a second after the begin (the meter lags) to the end."""
    watts = [w for at, w in samples if entry["begin_unix"] + 1 <= at <= entry["end_unix"] and w is not None]
    rate = entry["chains"] / entry["seconds"]
    mean = statistics.fmean(watts) if watts else None
    return {"case": name, "arithmetic": words[1], "rows": int(entry["rows"]), "features": int(entry["features"]),
            "chains": int(entry["chains"]), "seconds": entry["seconds"], "chain_gradients_per_second": rate,
            "watts": mean, "samples": len(watts), "chain_gradients_per_joule": rate / mean if mean else None,
            "how": entry.get("label", "")}


def with_ratio(jax, steps):
    """The quickest of our steps at that shape in that arithmetic."""
    if not jax or not jax.get("steps"):
        return jax
    same = {"float64": "double", "float32": "float", "tf32": "float", "bfloat16": "bfloat16"}
    for peer in jax["steps"]:
        ours = [s for s in steps if place(s) == place(peer) and s["arithmetic"] == same[peer["arithmetic"]]]
        best = min(ours, key=lambda s: s["seconds"], default=None)
        peer["gibbsite_design"] = best and best["design"]
        peer["gibbsite_seconds"] = best and best["seconds"]
        peer["times_jax"] = best and peer["seconds"] / best["seconds"]
    return jax


# The page


def markdown(report):
    lines = [f"# GPU: {report['card']}, {report['date']}", "", machine_line(report), ""]
    lines += roofs_section(report) + steps_section(report) + noise_section(report)
    lines += metric_section(report) + long_section(report)
    lines += fit_section(report) + jax_section(report) + left_out_section(report)
    return "\n".join(lines) + "\n"


def machine_line(report):
    facts = [f"driver {report.get('driver')}", f"CUDA {report.get('cuda')}",
             f"compute capability {report.get('compute_capability')}"]
    for field, unit in (("memory_mib", "MiB"), ("sm_clock_mhz", "MHz SM clock at the start"),
                        ("largest_sm_clock_mhz", "MHz at most"), ("memory_clock_mhz", "MHz memory clock"),
                        ("power_limit_w", "W power limit")):
        if report.get(field) is not None:
            facts.append(f"{report[field]:,.0f} {unit}")
    return "; ".join(facts) + "."


def roofs_section(report):
    names = {"copy_bytes_per_second": ("device copy, read and written", 1e9, "GB/s"),
             "float_fma_flops": ("float multiply-adds", 1e12, "Tflop/s"),
             "double_fma_flops": ("double multiply-adds", 1e12, "Tflop/s"),
             "double_matrix_flops": ("double matrix product, cuBLASLt", 1e12, "Tflop/s"),
             "tf32_matrix_flops": ("TF32 matrix product, cuBLASLt", 1e12, "Tflop/s"),
             "bfloat16_matrix_flops": ("BF16 matrix product, cuBLASLt", 1e12, "Tflop/s")}
    rows = [[what, f"{significant(report['roofs'][name] / scale)} {unit}"]
            for name, (what, scale, unit) in names.items() if name in report["roofs"]]
    rows += [[rate["name"], rate["text"]] for rate in report["rates"]]
    if not rows:
        return []
    return ["## Roofs, measured in the same processes", "", *grid(["roof", "rate"], rows), ""]


def steps_section(report):
    lines = ["## One step of all chains", "",
             "Median of seven windows of many steps; ChaCha20 noise; work 4·n·d·C flops, bytes n·d·4 once. "
             "«Of roof»: the time the binding roof allows (bytes at copy speed, or flops) over the time taken; a byte "
             "roof marked * does not bind, because X fits the L2 cache. «× blocked»: how many times faster than the "
             "library on row blocks in the same arithmetic, same run (bfloat16 is held against float). «Noise»: making "
             "the normals, as a share of the step, from the table of noise below.", ""]
    rows = []
    for s in report["steps"]:
        star = "*" if s["roof"] == "bytes" and s["fits_l2"] else ""
        rows.append([f"{s['rows']:,} × {s['features']:,}", f"{s['chains']:,}", s["arithmetic"], s["design"],
                     time_text(s["seconds"]), f"{s['chain_gradients_per_second']:,.0f}",
                     f"{s['flops_per_second'] / 1e9:,.0f}", f"{s['bytes_per_second'] / 1e9:,.0f}",
                     f"{s['of_roof']:.2f} {s['roof']}{star}", ratio(s["times_blocked"]), percent(s["noise_share"])])
    if not rows:
        return lines + ["No step was measured.", ""]
    best = max(report["steps"], key=lambda s: s["chain_gradients_per_second"] * s["rows"] * s["features"])
    lines += grid(["n × d", "chains", "arithmetic", "design", "time", "chain-gradients/s", "Gflop/s", "GB/s", "of roof",
                   "× blocked", "noise"], rows, left=4)
    return lines + ["", f"Most work per second: {best['design']} in {best['arithmetic']}, {best['rows']:,} × "
                    f"{best['features']:,}, {best['chains']:,} chains: "
                    f"{best['chain_gradients_per_second']:,.0f} chain-gradients/s.", ""]


def noise_section(report):
    rows = [[n["kind"], f"{significant(n['normals_per_second'] / 1e9)}", f"{n['seconds_per_normal'] * 1e12:,.1f}"]
            for n in report["noise"]]
    if not rows:
        return []
    return ["## Noise", "", "The last kernel of a step, 4,096 chains of 1,000 features. given: the normals are there "
            "already; curand: cuRAND makes them first.", "",
            *grid(["noise", "10⁹ normals/s", "ps a normal"], rows, left=1), ""]


def metric_section(report):
    rows = [[a["question"], f"{a['rows']:,} × {a['features']:,}", significant(a["seconds"] * 1e3),
             f"{a['of_roof']:.2f} {a['roof']}"] for a in report["metric"]]
    if not rows:
        return []
    return ["## Questions of `whitened`", "", "In a full metric, double. first-gradient finds its caps before.", "",
            *grid(["question", "rows × features", "ms", "of the roof"], rows, left=2), ""]


def long_section(report):
    rows = [[f"{r['rows']:,} × {r['features']:,}", f"{r['chains']:,}", r["arithmetic"], r["how"].split(":")[0],
             f"{r['chain_gradients_per_second']:,.0f}",
             f"{r['watts']:,.0f}" if r["watts"] else "not reported",
             significant(r["chain_gradients_per_joule"]) if r["watts"] else "not reported"]
            for r in report["long"]]
    if not rows:
        return []
    return ["## Power of a long run", "", *grid(["n × d", "chains", "arithmetic", "design", "chain-gradients/s", "W",
                                                 "chain-gradients/J"], rows, left=4), ""]


def fit_section(report):
    fit = report["fit"]
    if not fit:
        return []
    lines = ["## A certified fit, end to end", ""]
    if fit.get("note"):
        return lines + [fit["note"], ""]
    return lines + [f"`gibbsite fit` on a CSV of {fit['rows']:,} rows × {fit['columns']} columns "
                    f"({fit['megabytes']:,.0f} MB), one chain, ε = 1, δ = 1e-6, from the start of the program to the "
                    f"model file: {time_text(fit['seconds'])}; the same with `--backend cpu`: "
                    f"{time_text(fit['cpu_seconds']) if fit.get('cpu_seconds') else 'not run'}. {fit['plan']}", ""]


def jax_section(report):
    jax = report["jax"]
    if not jax:
        return []
    lines = ["## The same step in JAX, same card, same run", ""]
    if not jax.get("steps"):
        return lines + [jax.get("note", "Not run."), ""]
    rows = [[f"{p['rows']:,} × {p['features']:,}", f"{p['chains']:,}", p["arithmetic"], time_text(p["seconds"]),
             p["gibbsite_design"] or "—", time_text(p["gibbsite_seconds"]) if p["gibbsite_seconds"] else "—",
             ratio(p["times_jax"])] for p in jax["steps"]]
    note = [jax["note"], ""] if jax.get("note") else []
    return lines + [f"JAX {jax['version']} on {jax['device']}; gradient, noise and update jitted in one loop of many "
                    "steps. float64 and float32 at highest precision; tf32: floats at its default on this card.", "", *note,
                    *grid(["n × d", "chains", "arithmetic", "JAX", "our design", "gibbsite", "times faster"], rows,
                          left=3), ""]


def left_out_section(report):
    reasons = {}
    for case in report["left_out"]:
        reasons.setdefault(case["why"], []).append(case["case"])
    for program in report["programs"]:
        if program["result"] != "passed":
            reasons.setdefault(f"{program['name']}: {program['result']}: {program['what']}", [])
    if not reasons:
        return []
    lines = ["## Left out", ""]
    for why, cases in reasons.items():
        shown = ", ".join(f"`{case}`" for case in cases[:3])
        more = f" and {len(cases) - 3} more" if len(cases) > 3 else ""
        lines.append(f"* {why}{': ' if cases else ''}{shown}{more}")
    return lines + [""]


def grid(head, rows, left=1):
    """A Markdown table; columns from number `left` on are right-aligned."""
    rule = ["---" if k < left else "---:" for k in range(len(head))]
    return ["| " + " | ".join(row) + " |" for row in (head, rule, *rows)]


def significant(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def time_text(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1 or unit == "µs":
            return f"{significant(seconds * scale)} {unit}"
    return ""


def ratio(value):
    return "—" if value is None else f"{value:.2f}"


def percent(value):
    return "—" if value is None else f"{100 * value:.0f} %"
