"""scripts/gpu-check and scripts/gpu-bench on a machine without a GPU: their programs are replaced by small stand-ins."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import gpu_machine  # noqa: E402
import gpu_report  # noqa: E402

CONTEXT = {"card": "Card", "l2_bytes": "5e+07", "copy_bytes_per_second": "2e+12", "float_fma_flops": "5e+13",
           "double_fma_flops": "2e+13", "double_matrix_flops": "4e+13", "bfloat16_matrix_flops": "8e+14"}
ENDING = "/iterations:7/manual_time"


def step(design, arithmetic, rows, features, chains, seconds):
    return {"name": f"step/{design}/{arithmetic}/{rows}x{features}/{chains}{ENDING}", "run_type": "iteration",
            "label": f"{design}: asked for", "rows": float(rows), "features": float(features),
            "chains": float(chains), "seconds": seconds, "least_seconds": 0.9 * seconds,
            "largest_seconds": 1.1 * seconds}


PARTS = [
    {"context": CONTEXT,
     "benchmarks": [step("blocked", "float", 1000000, 100, 256, 0.008), step("blocked", "double", 1000000, 100, 1, 0.001)]},
    {"context": {**CONTEXT, "copy_bytes_per_second": "4e+12"},
     "benchmarks": [
         step("one-pass", "double", 1000000, 100, 1, 0.00025), step("warp-group", "bfloat16", 1000000, 100, 256, 0.0005),
         step("warp-group", "float", 1000000, 100, 256, 0.0008), step("resident", "double", 1000, 25, 4, 1e-6),
         {"name": f"step/tiled/float/1000x25/1{ENDING}", "error_occurred": True, "error_message": "refused: tiled is shy"},
         {"name": "roof/barrier/iterations:1/manual_time", "value": 1.3e-6, "label": "1.3e-06 s"},
         {"name": f"noise/given{ENDING}", "seconds": 1e-4, "normals": 1e6},
         {"name": f"noise/chacha20{ENDING}", "seconds": 3e-4, "normals": 1e6},
         {"name": f"metric/moments/1000000x100{ENDING}", "rows": 1e6, "features": 100.0, "chains": 1.0, "seconds": 0.004},
         {"name": f"metric/gradient/1000000x100{ENDING}", "rows": 1e6, "features": 100.0, "chains": 1.0, "seconds": 0.0002},
         {"name": "long/float/1000000x100/256/iterations:1/manual_time", "label": "tiled: why", "rows": 1e6,
          "features": 100.0, "chains": 256.0, "seconds": 0.004, "begin_unix": 100.0, "end_unix": 105.0}]},
]
POWER = {"long/float/1000000x100/256": [(100.5, 100.0), (102.0, 600.0), (103.0, 700.0), (104.0, None), (106.0, 90.0)]}
JAX = {"version": "1", "device": "Card", "steps": [
    {"rows": 1000000, "features": 100, "chains": 256, "arithmetic": "bfloat16", "seconds": 0.002},
    {"rows": 1000000, "features": 100, "chains": 1, "arithmetic": "float64", "seconds": 0.001},
    {"rows": 7, "features": 3, "chains": 1, "arithmetic": "tf32", "seconds": 1.0}]}


class Report(unittest.TestCase):
    def setUp(self):
        programs = [{"name": "tiled", "result": "timed out", "seconds": 70.0, "what": "last words"}]
        self.report = gpu_report.merge({"card": "Card", "date": "2000-01-01", "driver": "1", "cuda": "13.0",
                                        "compute_capability": "9.0"}, PARTS, jax=json.loads(json.dumps(JAX)),
                                       power=POWER, programs=programs)
        self.steps = {(s["design"], s["arithmetic"]): s for s in self.report["steps"]}

    def test_roofs_are_of_the_process_that_measured(self):
        # 4e8 bytes at 4e12/s: 1e-4 s; 4e8 flops at the faster double unit: 1e-5 s.
        one_pass = self.steps["one-pass", "double"]
        self.assertEqual(one_pass["roof"], "bytes")
        self.assertAlmostEqual(one_pass["of_roof"], 1e-4 / 0.00025)
        self.assertAlmostEqual(self.steps["blocked", "double"]["of_roof"], 2e-4 / 0.001)
        # 1.024e11 flops at 8e14/s.
        group = self.steps["warp-group", "bfloat16"]
        self.assertEqual(group["roof"], "flops")
        self.assertAlmostEqual(group["of_roof"], 1.28e-4 / 0.0005)
        self.assertAlmostEqual(self.steps["warp-group", "float"]["of_roof"], 3 * 1.28e-4 / 0.0008)
        self.assertAlmostEqual(self.report["roofs"]["copy_bytes_per_second"], 3e12)

    def test_rates(self):
        group = self.steps["warp-group", "bfloat16"]
        self.assertAlmostEqual(group["chain_gradients_per_second"], 512000)
        self.assertAlmostEqual(group["flops_per_second"], 1.024e11 / 0.0005)

    def test_against_blocked(self):
        self.assertAlmostEqual(self.steps["one-pass", "double"]["times_blocked"], 4)
        self.assertAlmostEqual(self.steps["warp-group", "bfloat16"]["times_blocked"], 16)  # in float
        self.assertIsNone(self.steps["resident", "double"]["times_blocked"])

    def test_small_tables_are_marked(self):
        self.assertTrue(self.steps["resident", "double"]["fits_l2"])
        self.assertFalse(self.steps["one-pass", "double"]["fits_l2"])

    def test_questions(self):
        moments, gradient = self.report["metric"]
        # 3e10 flops at the rate of double without matrix units; 4.08e8 bytes at 4e12/s.
        self.assertEqual((moments["roof"], gradient["roof"]), ("flops", "bytes"))
        self.assertAlmostEqual(moments["of_roof"], 3e10 / float(CONTEXT["double_fma_flops"]) / 0.004)
        self.assertAlmostEqual(gradient["of_roof"], 4.08e8 / 4e12 / 0.0002)
        self.assertIn("## Questions of `whitened`", gpu_report.markdown(self.report))

    def test_noise(self):
        # 2e-10 s more a normal; 25600 normals a step of 5e-4 s.
        self.assertAlmostEqual(self.steps["warp-group", "bfloat16"]["noise_share"], 25600 * 2e-10 / 5e-4)

    def test_power_is_of_the_middle(self):
        long = self.report["long"][0]
        self.assertAlmostEqual(long["watts"], 650)
        self.assertAlmostEqual(long["chain_gradients_per_joule"], 64000 / 650)

    def test_power_that_is_not_reported(self):
        report = gpu_report.merge({"card": "Card", "date": "2000-01-01"}, PARTS)
        self.assertIsNone(report["long"][0]["watts"])
        self.assertIn("not reported", gpu_report.markdown(report))

    def test_jax(self):
        ours, double, alone = self.report["jax"]["steps"]
        self.assertAlmostEqual(double["times_jax"], 4)
        self.assertAlmostEqual(ours["times_jax"], 4)
        self.assertEqual(ours["gibbsite_design"], "warp-group")
        self.assertIsNone(alone["times_jax"])

    def test_page(self):
        page = gpu_report.markdown(self.report)
        self.assertIn("| 1,000,000 × 100 | 1 | double | one-pass | 250 µs | 4,000 |", page)
        self.assertIn("| barrier | 1.3e-06 s |", page)
        self.assertIn("* refused: tiled is shy: `step/tiled/float/1000x25/1`", page)
        self.assertIn("* tiled: timed out: last words", page)
        json.dumps(self.report, allow_nan=False)

    def test_nothing_measured(self):
        page = gpu_report.markdown(gpu_report.merge({"card": "Card", "date": "2000-01-01"}, []))
        self.assertIn("No step was measured.", page)


SMI = """
if [[ $* == *power.draw* ]]; then echo 123.45; else echo 'Card Z1, 500.1, 9.0, 80000, 345, 2600, 1980, 700.00'; fi
"""
# Three suites: in the first one test fails, unless it is asked for by itself; in the second the first test hangs, and the
# other runs where the first is left out; the last one is to run last.
TESTS = """
case "$*" in
  --gtest_list_tests) printf 'Running main()\nWarpGroupTest.\n  Multiplies\nSome/A.  # TypeParam = int\n  Works\n  Faults\nB.\n  Hangs\n  Goes\n' ;;
  *filter=Some/A.Faults*) echo '[ RUN      ] Some/A.Faults'; echo '[       OK ] Some/A.Faults (2 ms)' ;;
  *filter=*Works*|*filter=*Goes*) echo '[  PASSED  ] 3 tests.' ;;
  *filter=Some/A.[*])
    echo '[ RUN      ] Some/A.Works'; echo 'word[       OK ] Some/A.Works (10 ms)'
    echo '[ RUN      ] Some/A.Faults'; echo 'file.cpp:1'; echo '  no good'
    echo '[  FAILED  ] Some/A.Faults, where GetParam() = (1, 2) (200 ms)'
    echo '[  FAILED  ] Some/A.Faults, where GetParam() = (1, 2)'; exit 1 ;;
  *filter=B.[*]-B.Hangs) echo '[ RUN      ] B.Goes'; echo '[       OK ] B.Goes (1 ms)' ;;
  *filter=B.[*]) echo '[ RUN      ] B.Hangs'; sleep 100 & wait ;;
  *filter=WarpGroupTest.[*])
    [[ ${GIBBSITE_KERNELS_RUN-} ]] && echo gpu gibbsite::kernels::TickBody >$GIBBSITE_KERNELS_RUN
    echo '[ RUN      ] WarpGroupTest.Multiplies'; echo '[  SKIPPED ] WarpGroupTest.Multiplies (0 ms)' ;;
esac
"""
DIES = """
if [[ $* == --gtest_list_tests ]]; then printf 'A.\n  Dies\n'; exit; fi
if [[ $* == *-A.Dies ]]; then echo '[  PASSED  ] 0 tests.'; exit; fi
echo '[ RUN      ] A.Dies'; echo dead; kill -SEGV $$
"""
GIBBSITE = """
case $1 in
  devices) echo 'cuda       yes        Card' ;;
  verify) echo fine ;;
  fit)
    if [[ ${CUDA_VISIBLE_DEVICES-unset} == "" || $* == *draws* ]]; then
      echo 'gibbsite: --backend cuda: 3 MiB are free'; exit 3
    fi
    while [[ $1 != --out ]]; do shift; done
    echo {} >"$2"; echo 'mechanism path: 5 steps'; echo 'backend cuda: Card' ;;
esac
"""


class Census(unittest.TestCase):
    TABLE = ("nvcc 13\nsm_80 20 run_body<Sum<double, true, 8u> >\nsm_90 20 run_body<Sum<double, true, 8u> >\n"
             "sm_90a 168 run_body<Wide<96u> >\n")
    SUM, WIDE = "gpu _ZN8gibbsite7kernels3SumIdLb1ELj8EEE", "gpu _ZN8gibbsite7kernels4WideILj96EEE"

    def counted(self, *lists, where="gpu"):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "registers.txt").write_text(self.TABLE)
            for k, lines in enumerate(lists):
                (folder / str(k)).write_text("".join(line + "\n" for line in lines))
            return subprocess.run([sys.executable, "-B", ROOT / "tests/kernels/census.py", folder / "registers.txt", where,
                                   *(folder / str(k) for k in range(len(lists)))], capture_output=True, text=True)

    def test_lists_are_taken_together(self):
        both = self.counted([self.SUM], [self.WIDE])
        self.assertEqual((both.returncode, both.stdout), (0, "2 kernels compiled, 2 run by tests, 0 complaints\n"))

    def test_a_kernel_that_no_test_runs_is_named(self):
        one = self.counted([self.SUM], [])
        self.assertEqual(one.returncode, 1)
        self.assertEqual(one.stdout.splitlines()[0], "no test runs Wide<96>")

    def test_a_gpu_runs_the_kernels_that_are_made_for_it(self):
        self.assertEqual(self.counted([self.SUM, "card 80"]).returncode, 0)
        self.assertEqual(self.counted([self.SUM, "card 100"]).returncode, 0)
        self.assertEqual(self.counted([self.SUM, "card 90"]).returncode, 1)

    def test_a_kernel_that_is_not_listed_is_named(self):
        more = self.counted([self.SUM, self.WIDE, "gpu _ZN8gibbsite7kernels3NewE"])
        self.assertEqual(more.returncode, 1)
        self.assertIn("New was run, but is not in registers.txt", more.stdout)

    def test_without_a_gpu_it_is_skipped(self):
        self.assertEqual(self.counted([]).returncode, 77)
        self.assertEqual(self.counted([self.SUM.replace("gpu", "emulated")]).returncode, 77)

    def test_the_emulated_card_runs_kernels_of_every_architecture(self):
        lines = [self.SUM.replace("gpu", "emulated"), self.WIDE, "card 80"]
        self.assertIn("no test runs Wide<96>", self.counted(lines, where="emulated").stdout)

    def test_a_list_that_is_missing_is_said(self):
        ended = subprocess.run([sys.executable, "-B", ROOT / "tests/kernels/census.py", ROOT / "kernels/registers.txt",
                                "gpu", "none"], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("none: no such file", ended.stderr)


class Scripts(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.bin = self.folder / "build/bin"

    def program(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/bash\n" + text)
        path.chmod(0o755)

    def run_script(self, name, *more):
        environment = {**os.environ, "PATH": f"{self.folder / 'tools'}:{os.environ['PATH']}"}
        return subprocess.run([sys.executable, "-B", ROOT / "scripts" / name, "--no-build", "--build",
                               self.folder / "build", "--results", self.folder / "results", *more],
                              env=environment, capture_output=True, text=True, timeout=120)

    def test_without_a_gpu(self):
        self.program(self.folder / "tools/nvidia-smi", "exit 9")
        for name in ("gpu-check", "gpu-bench"):
            ended = self.run_script(name)
            self.assertEqual(ended.returncode, 3)
            self.assertEqual(ended.stderr.count("\n"), 1)
            self.assertEqual(ended.stdout, "")
        self.assertFalse((self.folder / "results").exists())

    def test_check(self):
        self.program(self.folder / "tools/nvidia-smi", SMI)
        self.program(self.folder / "tools/compute-sanitizer", textwrap.dedent("""
            while [[ $1 != */test_* ]]; do [[ $1 == racecheck ]] && race=1; [[ $1 == initcheck ]] && init=1; shift; done
            "$@" || exit
            if [[ $race ]]; then
              echo '========= Error: Race reported between Write access at TiledBody'; echo '=========     in cp.async'
              echo '========= Error: Race reported between Write access at Other'; echo '========= RACECHECK SUMMARY: 2 hazards'; exit 77
            fi
            if [[ $init ]]; then
              echo '========= Uninitialized read'; echo '=========     at cudaMemcpyAsync'; echo '========= ERROR SUMMARY: 1 error'; exit 77
            fi
            echo '== ERROR SUMMARY: 0 errors'"""))
        self.program(self.bin / "test_kernels_cuda", TESTS.replace("sleep 100 & wait", "kill -ABRT $$"))
        self.program(self.bin / "test_other_cuda", DIES)
        self.program(self.bin / "gibbsite", GIBBSITE)
        ended = self.run_script("gpu-check")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        (path,) = (self.folder / "results").glob("gpu-check-card-z1-*.json")
        report = json.loads(path.read_text())
        self.assertEqual(report["driver"], "500.1")
        self.assertEqual(report["sm_clock_mhz"], 345)
        results = {s["step"]: s["result"] for s in report["steps"]}
        self.assertEqual(results.pop("full card: exit 3, the numbers, no file"), "failed")  # no memory to hold here
        self.assertEqual(results, {
            "test_kernels_cuda Some/A": "failed", "test_kernels_cuda B": "failed", "test_other_cuda A": "failed",
            "test_kernels_cuda WarpGroupTest": "passed", "no device: exit 3, no file": "passed",
            "devices": "passed", "fit data/berkeley.csv": "passed", "verify its model": "passed",
            "memcheck test_kernels_cuda": "passed", "racecheck test_kernels_cuda": "failed",
            "initcheck test_kernels_cuda": "reported", "synccheck test_kernels_cuda": "passed",
            "memcheck test_other_cuda": "failed", "racecheck test_other_cuda": "failed",
            "initcheck test_other_cuda": "failed", "synccheck test_other_cuda": "failed",
            "every kernel is run": "failed"})
        self.assertRegex(next(s["what"] for s in report["steps"] if s["step"] == "every kernel is run"),
                         r"^\d+ kernels compiled, 1 run by tests, \d+ complaints; no test runs ")
        order = [s["step"] for s in report["steps"]]
        self.assertGreater(order.index("test_kernels_cuda WarpGroupTest"), order.index("test_other_cuda A"))
        self.assertLess(order.index("synccheck test_kernels_cuda"), order.index("racecheck test_kernels_cuda"))
        first, second, third = report["failed_tests"]
        self.assertEqual((first["test"], first["why"], first["alone"]), ("Some/A.Faults", "file.cpp:1 no good", "passes"))
        # What comes behind a test that ended its process runs in another.
        self.assertEqual(second["test"], "B.Hangs")
        self.assertIn("2 tests, 1 failed", next(s["what"] for s in report["steps"] if s["step"].endswith(" B")))
        self.assertEqual(third["test"], "A.Dies")
        self.assertIn("status 139", third["why"])
        self.assertIn("racecheck test_kernels_cuda", ended.stdout)

    def test_check_ends_what_hangs(self):
        self.program(self.folder / "tools/nvidia-smi", SMI)
        self.program(self.bin / "test_kernels_cuda", TESTS)
        self.program(self.bin / "gibbsite", "exit 1")
        ended = self.run_script("gpu-check", "--seconds", "3", "--only", "tests")
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stdout, r"test_kernels_cuda B: timed out, [123]\.\d s: .*B.Hangs: nothing for")
        # What ran before it is kept.
        self.assertIn("test_kernels_cuda Some/A: failed", ended.stdout)
        self.assertIn("2 tests, 1 failed", ended.stdout)

    def test_stages(self):
        self.program(self.folder / "tools/nvidia-smi", SMI)
        self.program(self.bin / "gpu_bench", "echo 'roof/barrier 1.2 us'; echo noise; [[ $* == *roof* ]]")
        ended = self.run_script("gpu-check", "--only", "roofs")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("roof/barrier 1.2 us", ended.stdout)
        self.assertNotIn("test_", ended.stdout)
        wrong = self.run_script("gpu-check", "--only", "tests,coffee")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("there is no stage coffee", wrong.stderr)

    def test_preflight_says_what_to_carry(self):
        root = self.folder / "cuda"
        self.program(root / "bin/nvcc", "echo 'release 13.0, V13'")
        for name in ("include/cublasLt.h", "include/cccl/thrust/version.h", "lib64/libcurand.so.10"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        with unittest.mock.patch.dict(os.environ, {"CUDA_HOME": str(root), "LD_LIBRARY_PATH": ""}):
            found = {item["what"]: item for item in gpu_machine.preflight(self.folder / "build")}
        for name in ("nvcc", "cublasLt.h", "thrust/version.h", "libcurand.so"):
            self.assertTrue(found[name]["at"].startswith(str(root)), name)
        for name in ("curand_kernel.h", "libcublasLt.so", "libcudart_static.a"):
            self.assertEqual(found[name]["at"], "")
            self.assertTrue(found[name]["needed"] and found[name]["carry"])

    def test_a_carried_program_is_tried_while_the_build_runs(self):
        self.program(self.folder / "tools/nvidia-smi", SMI)
        self.program(self.folder / "tools/cmake", """
            if [[ $* == *help* ]]; then echo 'test_kernels_cuda: phony'; exit; fi
            if [[ $1 == -S ]]; then echo '-- cuda backend: ON'; exit; fi
            for k in {1..200}; do [[ -e $DONE ]] && exit; sleep 0.1; done; exit 1""")
        self.program(self.folder / "prefix/bin/test_kernels_cuda", TESTS.replace("sleep 100 & wait", "kill -ABRT $$") + """
            [[ $* == *WarpGroup*[*]* && $LD_LIBRARY_PATH == */prefix/lib ]] && touch $DONE; true""")
        environment = {**os.environ, "PATH": f"{self.folder / 'tools'}:{os.environ['PATH']}", "DONE": str(self.folder / "done"),
                       "GIBBSITE_PREFIX": str(self.folder / "prefix")}
        ended = subprocess.run([sys.executable, "-B", ROOT / "scripts/gpu-check", "--only", "build", "--build",
                                self.folder / "build", "--results", self.folder / "results"],
                               env=environment, capture_output=True, text=True, timeout=120)
        lines = [line.split(":")[0] for line in ended.stdout.splitlines() if ": " in line.split(",")[0]]
        self.assertEqual([line for line in lines if line.startswith("smoke")], [
            "smoke test_kernels_cuda Some/A", "smoke test_kernels_cuda B", "smoke test_kernels_cuda WarpGroupTest"])
        # The build ends when the last suite has run: they ran beside it.
        self.assertIn("build: passed", ended.stdout)

    def test_bench(self):
        self.program(self.folder / "tools/nvidia-smi", SMI)
        for k, part in enumerate(PARTS):
            (self.folder / f"{k}.json").write_text(json.dumps(part))
        # blocked writes the first part; one-pass the second, cut short by a crash; the rest nothing.
        self.program(self.bin / "gpu_bench", textwrap.dedent(f"""
            for word in "$@"; do [[ $word == --benchmark_out=* ]] && out=${{word#*=}}; done
            case $1 in
              *blocked*) cat {self.folder}/0.json >$out ;;
              *one-pass*) sed 's/]}}$//' {self.folder}/1.json >$out; echo 'a fault'; exit 134 ;;
              *) echo nothing; exit 1 ;;
            esac"""))
        self.program(self.bin / "gibbsite", GIBBSITE)
        ended = self.run_script("gpu-bench", "--seconds", "34", "--fit-rows", "50")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        (path,) = (self.folder / "results").glob("gpu-card-z1-*.json")
        report = json.loads(path.read_text())
        self.assertEqual(len(report["steps"]), 6)
        self.assertEqual(report["fit"]["rows"], 50)
        self.assertEqual(report["fit"]["plan"], "mechanism path: 5 steps.")
        ended_badly = {p["name"]: p["what"] for p in report["programs"] if p["result"] == "failed"}
        self.assertEqual(ended_badly["one-pass"], "a fault")
        self.assertIn("## One step of all chains", path.with_suffix(".md").read_text())


class Choice(unittest.TestCase):
    def test_configure_is_for_the_card(self):
        self.assertIn("-DCMAKE_CUDA_ARCHITECTURES=80",
                      gpu_machine.configure_command("b", {"compute_capability": "8.0"}))
        self.assertIn("-DCMAKE_CUDA_ARCHITECTURES=90",
                      gpu_machine.configure_command("b", {"compute_capability": "[N/A]"}))


if __name__ == "__main__":
    unittest.main()
