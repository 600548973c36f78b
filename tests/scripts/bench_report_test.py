"""scripts/bench_report.py and scripts/bench with made-up figures; the generator of bench/peers/common.py."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import bench_plot  # noqa: E402
import bench_report  # noqa: E402

CORES = len(os.sched_getaffinity(0))
ENDING = "/iterations:7/manual_time"
SHAPES = ((1000, 25), (32561, 108), (581012, 54), (100000, 1000))


def seconds_of(rows, features, chains, arithmetic, threads):
    """Cost n d C / 4 of what the roofs below allow in float, a fifth in double; twice as quick on two threads."""
    return 4.0 * rows * features * chains / (1e11 * threads * (0.8 if arithmetic == "float" else 0.2))


def case(what, backend, arithmetic, rows, features, chains, threads, seconds):
    return {"name": f"{what}/{backend}/{arithmetic}/{rows}x{features}/{chains}/threads:{threads}{ENDING}",
            "run_type": "iteration", "rows": float(rows), "features": float(features), "chains": float(chains),
            "seconds": seconds}


def part(threads, shapes=SHAPES, chains=(1, 16, 64, 256)):
    context = {f"read_bytes_per_second_{threads}": f"{1e10 * threads}", f"float_fma_flops_{threads}": f"{1e11 * threads}",
               f"double_fma_flops_{threads}": f"{5e10 * threads}", "caches": [{"type": "Unified", "level": 3, "size": 36000000}]}
    benchmarks = [{"name": "noise/chacha20/108/1024", "normals/s": 3e7}]
    for n, d in shapes:
        context[f"fingerprint/{n}x{d}"] = "1.5,-2.5,3.5,10"
        for arithmetic in ("float", "double"):
            for c in chains:
                seconds = seconds_of(n, d, c, arithmetic, threads)
                benchmarks.append(case("gradient", "cpu", arithmetic, n, d, c, threads, seconds))
                benchmarks.append(case("step", "cpu", arithmetic, n, d, c, threads, 1.25 * seconds))
                benchmarks.append({**case("sparse", "cpu", arithmetic, n, d, c, threads, seconds / 3), "entries": n * 14.0})
    benchmarks.append(case("step", "reference", "double", 32561, 108, 1, threads, 0.01))
    return {"context": context, "benchmarks": benchmarks}


def peer(name, shape, chains, dtype, times, fingerprint=(1.5, -2.5, 3.5, 10), threads=2):
    return {"peer": name, "version": f"{name} 1", "variant": "whole", "rows": shape[0], "features": shape[1],
            "chains": chains, "dtype": dtype, "threads": threads, "fingerprint": list(fingerprint),
            "seconds": times * seconds_of(*shape, chains, dtype, 2)}


PEERS = [
    peer("OpenBLAS", SHAPES[1], 64, "float", 1.2), peer("oneDNN", SHAPES[1], 64, "float", 1.1),
    peer("PyTorch", SHAPES[1], 64, "float", 0.2, (1.5, -2.5, 3.5, 10.1)),  # another gradient: quick, and no comparison
    peer("JAX", SHAPES[1], 64, "float", 12), peer("NumPyro", SHAPES[1], 64, "float", 9),
    peer("JAX", SHAPES[1], 64, "double", 2, (1.5, -2.5, 3.5 + 5e-9, 10)),
    peer("JAX", SHAPES[1], 16, "double", 2, (1.5, -2.5, 3.5 + 2e-8, 10)),
    peer("JAX", SHAPES[1], 256, "double", 2, (1.5, -2.5, float("nan"), 10)),
    peer("OpenBLAS", (7, 3), 1, "float", 2),
    peer("OpenBLAS", SHAPES[1], 64, "double", 0.5, threads=1),
    {"peer": "Stan", "rows": 1000, "features": 25, "chains": 1, "dtype": "float", "threads": 2, "skipped": "Stan computes in double"},
    {"peer": "Stan", "rows": 1000, "features": 25, "chains": 4, "dtype": "float", "threads": 2, "skipped": "Stan computes in double"},
]


class Report(unittest.TestCase):
    def setUp(self):
        self.report = bench_report.merge({"cpu": "Chip", "date": "2000-01-01", "cores": 2}, [part(1), part(2)],
                                         json.loads(json.dumps(PEERS)))
        self.gradients = {(g["rows"], g["chains"], g["arithmetic"], g["threads"]): g for g in self.report["gradients"]}

    def test_rates_against_the_roofs_of_their_threads(self):
        g = self.gradients[32561, 64, "float", 2]
        self.assertAlmostEqual(g["flops_per_second"], 1.6e11)
        self.assertAlmostEqual(g["of_fma"], 0.8)
        self.assertAlmostEqual(self.gradients[32561, 64, "double", 1]["of_fma"], 0.4)
        self.assertIsNone(g["of_read"])
        # 4 n d bytes a gradient of C = 1: as many as flops.
        self.assertAlmostEqual(self.gradients[32561, 1, "float", 2]["of_read"], 1.6e11 / 2e10)
        # 256 chains bind at the peak, 1 chain at reading.
        self.assertAlmostEqual(self.gradients[581012, 256, "float", 1]["roof_seconds"], 4 * 581012 * 54 * 256 / 1e11)
        self.assertAlmostEqual(self.gradients[581012, 1, "float", 1]["roof_seconds"], 4 * 581012 * 54 / 1e10)

    def test_read_roof_of_the_table_itself(self):
        one = part(1)
        for entry in one["benchmarks"]:
            entry["read_roof"] = 4e10
        report = bench_report.merge({}, [one])
        g = next(g for g in report["gradients"] if g["chains"] == 1 and g["arithmetic"] == "float")
        self.assertAlmostEqual(g["of_read"], 2)

    def test_out_of_cache(self):
        self.assertFalse(self.gradients[32561, 1, "float", 1]["out_of_cache"])
        self.assertTrue(self.gradients[581012, 1, "float", 1]["out_of_cache"])

    def test_peers(self):
        g = self.gradients[32561, 64, "float", 2]
        self.assertEqual(g["library"], "oneDNN")
        self.assertAlmostEqual(g["times"]["oneDNN"], 1.1)
        self.assertAlmostEqual(g["times"]["JAX"], 12)
        self.assertNotIn("PyTorch", g["times"])
        # 5e-10 of the norm off is the same gradient, 2e-9 is another one, and so is a NaN.
        self.assertIn("JAX", self.gradients[32561, 64, "double", 2]["times"])
        self.assertEqual(self.gradients[32561, 16, "double", 2]["times"], {})
        self.assertEqual(self.gradients[32561, 256, "double", 2]["times"], {})
        # On one thread there is a peer of one thread and no other.
        self.assertEqual(self.gradients[32561, 64, "double", 1]["library"], "OpenBLAS")
        self.assertEqual(self.gradients[32561, 64, "float", 1]["times"], {})
        states = [p.get("gradient") for p in self.report["peers"]]
        self.assertEqual(states.count("another gradient"), 3)
        self.assertEqual(states.count("unchecked"), 1)

    def test_targets(self):
        def met(*where):
            return {t["what"]: t["met"] for t in self.gradients[where]["targets"]}
        self.assertEqual(met(32561, 64, "float", 2), {
            "of FMA peak, float": True, "times the best library pipeline": False, "times JAX": True, "times NumPyro": False})
        self.assertEqual(met(1000, 64, "float", 2), {})  # few features
        self.assertEqual(met(581012, 1, "float", 1), {"of read bandwidth, one chain, X out of cache": True})
        self.assertEqual(met(32561, 1, "float", 1), {})  # in cache
        lines = {t["what"]: t for t in self.report["targets"]}
        self.assertEqual((lines["times JAX"]["cases"], lines["times JAX"]["met"]), (2, 1))
        self.assertTrue(all(t["met"] == t["cases"] for w, t in lines.items() if w == "times one thread, on two"))
        self.assertEqual(lines["times one thread, on two"]["cases"], 32)

    def test_scaling_and_growth(self):
        self.assertTrue(all(abs(s["times"] - 2) < 1e-12 for s in self.report["scaling"]))
        self.assertEqual(len(self.report["growth"]), 4)
        for fit in self.report["growth"]:
            for name in ("rows", "features", "chains"):
                self.assertAlmostEqual(fit[name], 1, places=6)

    def test_growth_that_cannot_be_told(self):
        report = bench_report.merge({}, [part(1, SHAPES[:2])])
        self.assertIsNone(report["growth"][0]["rows"])
        self.assertIn("| float | 1 | 6 | — | — | — |", bench_report.markdown(report))

    def test_noise_share(self):
        shares = {(s["backend"], s["threads"]): s["beside_gradient"] for s in self.report["steps"]}
        self.assertAlmostEqual(shares["cpu", 2], 0.2)
        self.assertIsNone(shares["reference", 2])
        self.assertEqual(self.report["noise"], [{"kind": "chacha20", "features": 108, "chains": 1024,
                                                 "normals_per_second": 3e7}])
        self.assertIn("| chacha20 | 108 | 1,024 | 30 million |", bench_report.markdown(self.report))

    def test_sparse_beside_dense(self):
        sparse = [s for s in self.report["sparse"] if (s["rows"], s["chains"], s["threads"]) == (32561, 64, 2)]
        self.assertEqual([s["arithmetic"] for s in sparse], ["double", "float"])
        for s in sparse:
            self.assertAlmostEqual(s["times"], 3)
            self.assertEqual(s["entries_per_row"], 14)
            self.assertAlmostEqual(s["dense_seconds"], seconds_of(32561, 108, 64, s["arithmetic"], 2))
        page = bench_report.markdown(self.report)
        self.assertIn("## Sparse rows", page)
        alone = bench_report.merge({}, [{**part(1), "benchmarks": [b for b in part(1)["benchmarks"]
                                                                    if not b["name"].startswith("gradient")]}])
        self.assertTrue(all(s["times"] is None for s in alone["sparse"]))
        bench_report.markdown(alone)

    def test_page(self):
        page = bench_report.markdown(self.report, "plot.svg")
        self.assertIn("| 32,561 × 108 | 64 | 5.63 | 11,375 | 160 | 80 % | — | 1.10 oneDNN | 12.00 | 9.00 "
                      "| missed: 1.30 times the best library pipeline; 10.00 times NumPyro |", page)
        self.assertIn("![Chain-gradients per second over the number of chains](plot.svg)", page)
        self.assertIn("* Stan: Stan computes in double (2 cases)", page)
        self.assertIn("| 32,561 × 108 | 64 | 5.63 ms | 6.75 ms | 6.19 ms | 1.13 ms, another gradient | 67.5 ms | 50.6 ms |", page)
        json.dumps(self.report, allow_nan=False)

    def test_plot(self):
        picture = bench_report.plot(self.report)
        xml.dom.minidom.parseString(picture)
        self.assertIn("581,012 × 54", picture)
        self.assertEqual(picture.count('class="roof"'), 2 * len(SHAPES) + 1)

    def test_missing_cases_and_roofs(self):
        one = part(2, SHAPES[:1], (1,))
        one["context"] = {}
        one["benchmarks"] = [b for b in one["benchmarks"] if "double" not in b["name"]]
        one["benchmarks"].append({"name": f"gradient/cpu/double/1000x25/1/threads:2{ENDING}", "error_occurred": True})
        report = bench_report.merge({}, [one], [peer("OpenBLAS", SHAPES[0], 1, "float", 2)])
        (g,) = report["gradients"]
        self.assertEqual((g["of_fma"], g["of_read"], g["out_of_cache"], g["times"]), (None, None, None, {}))
        self.assertIn("unchecked", bench_report.markdown(report))
        xml.dom.minidom.parseString(bench_report.plot(report))

    def test_nothing_measured(self):
        report = bench_report.merge({}, [])
        page = bench_report.markdown(report)
        self.assertIn("No gradient was measured.", page)
        self.assertIn("`make bench-peers`", page)
        xml.dom.minidom.parseString(bench_report.plot(report))

    def test_files(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "1.json").write_text(json.dumps(part(1)))
            (folder / "2.json").write_text(json.dumps(part(2)))
            (folder / "peers.jsonl").write_text("\n".join(["noise", *map(json.dumps, PEERS[:2])]))
            command = [sys.executable, "-B", ROOT / "scripts/bench_report.py", "--step", folder / "1.json", folder / "2.json"]
            subprocess.run([*command, "--peers", folder / "peers.jsonl", "--out", folder / "out"], check=True,
                           capture_output=True)
            self.assertEqual(len(json.loads((folder / "out.json").read_text())["peers"]), 2)
            self.assertIn("out.svg", (folder / "out.md").read_text())
            ended = subprocess.run([*command, folder / "none.json", "--out", folder / "out"], capture_output=True, text=True)
            self.assertEqual((ended.returncode, ended.stderr.count("\n")), (1, 1))


class Plot(unittest.TestCase):
    def test_names_are_escaped(self):
        xml.dom.minidom.parseString(bench_plot.panels("a < b & c", "x", "y", [("<", [("&", [(1, 1), (2, 5)], [])])]))


class Generator(unittest.TestCase):
    def test_is_splitmix(self):
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("no numpy")
        sys.path.insert(0, str(ROOT / "bench/peers"))
        import common

        # The first number of Vigna's splitmix64.c from state 0; then the same arithmetic in Python's integers.
        self.assertEqual(common.uniform(0, 0, 1)[0], (0xE220A8397B1DCDAF >> 11) * 2.0**-53)
        for k, found in enumerate(common.uniform(3, 5, 25), 5):
            z = ((3 << 40) + k + 0x9E3779B97F4A7C15) % 2**64
            z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
            z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
            self.assertEqual(found, ((z ^ (z >> 31)) >> 11) * 2.0**-53)


# Says what bench_step would, of the threads it was given.
STEP = """
for word in "$@"; do [[ $word == --benchmark_out=* ]] && out=${word#*=}; done
cp "$FOLDER/$OMP_NUM_THREADS.json" "$out"
echo "a case of $OMP_NUM_THREADS"
"""
PYTHON = """
script=$(basename "$1"); shift
while (($#)); do declare "${1#--}=$2"; shift 2; done
case $script in
  openblas*) for c in 1 16; do echo "{\\"peer\\": \\"OpenBLAS\\", \\"version\\": \\"1\\", \\"rows\\": $rows,
\\"features\\": $features, \\"chains\\": $c, \\"dtype\\": \\"$dtype\\", \\"threads\\": $threads, \\"seconds\\": 0.5,
\\"fingerprint\\": [1.5, -2.5, 3.5, 10]}" | tr -d '\\n'; echo; done ;;
  jax*) echo 'it broke' >&2; exit 1 ;;
esac
"""


class Bench(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        for threads in {1, CORES}:
            (self.folder / f"{threads}.json").write_text(json.dumps(part(threads, SHAPES[:2])))
        self.program("bin/bench_step", STEP.replace("$FOLDER", str(self.folder)))
        self.program("bin/bench_ingest", "echo ingest")
        self.program("venv/bin/python", PYTHON)

    def program(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/bash\n" + textwrap.dedent(text))
        path.chmod(0o755)

    def command(self):
        return [sys.executable, "-B", ROOT / "scripts/bench", self.folder, "--quick", "--venv", self.folder / "venv",
                "--results", self.folder / "results"]

    def report(self):
        (path,) = (self.folder / "results").glob("cpu-*.json")
        self.assertTrue(path.with_suffix(".md").exists())
        self.assertTrue(path.with_suffix(".svg").exists())
        return json.loads(path.read_text())

    def test_all(self):
        ended = subprocess.run(self.command(), capture_output=True, text=True, timeout=120)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        report = self.report()
        peers = [p for p in report["peers"] if p["peer"] == "OpenBLAS"]
        self.assertEqual(len([p for p in peers if p.get("gradient") == "same"]), 8)
        self.assertEqual({p["skipped"] for p in peers if "skipped" in p}, {"it said nothing of it"})
        self.assertEqual({p["skipped"] for p in report["peers"] if p["peer"] == "JAX"}, {"it broke"})
        self.assertIn("  a case of 1\n", ended.stdout)

    def test_without_peers(self):
        (self.folder / "venv/bin/python").unlink()
        ended = subprocess.run(self.command(), capture_output=True, text=True, timeout=120)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(self.report()["peers"], [])

    def test_without_a_build(self):
        (self.folder / "bin/bench_step").unlink()
        ended = subprocess.run(self.command(), capture_output=True, text=True, timeout=120)
        self.assertEqual((ended.returncode, ended.stderr.count("\n")), (1, 1))

    def test_interrupted(self):
        self.program("venv/bin/python", "echo waiting >\"$(dirname \"$0\")/here\"; sleep 100")
        process = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 60
        while not (self.folder / "venv/bin/here").exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("interrupted", out)
        self.assertTrue(self.report()["gradients"])


if __name__ == "__main__":
    unittest.main()
