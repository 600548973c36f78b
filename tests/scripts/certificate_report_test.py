"""scripts/certificate_report.py with made-up figures."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import certificate_report  # noqa: E402


def entry(name, gamma, chains=1, **more):
    out = dict.fromkeys(("iterations", "proposals", "rounds", "gradients", "planned_gradient_passes",
                         "planned_proposal_passes", "minimize_seconds", "setup_seconds", "run_iterations",
                         "run_gradient_passes", "run_proposal_passes", "draws"), 0)
    return {**out, "name": f"{name}/1000x5/{gamma}/{chains}/iterations:1/manual_time", "rows": 1000.0, "features": 5.0,
            "gamma": gamma, "chains": float(chains), "beta": 0.1, "smoothness": 26.0, "tv": gamma, "whole": 1.0,
            "seconds": 2e-3, "cpu_seconds": 1e-3, **more}


PART = {"context": {"num_cpus": 2, "threads": "2", "load_avg": [1, 2, 3], "date": "2000-01-01T00:00:00", "limit": "20"},
        "benchmarks": [
            entry("proximal", 1e-6, iterations=100, draws=2, planned_gradient_passes=200, planned_proposal_passes=50,
                  run_iterations=200, run_gradient_passes=380, run_proposal_passes=90),
            entry("dalalyan", 1e-6, iterations=5e8, planned_gradient_passes=5e8, whole=0.0, seconds=7200.0, tv=1.0),
            entry("proximal", 1e-6, 64, seconds=0.1), {**entry("averaged", 1e-6), "error_occurred": True}]}


class Report(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            path, out = pathlib.Path(folder) / "a.json", pathlib.Path(folder) / "b"
            path.write_text(json.dumps(PART))
            subprocess.run([sys.executable, "-B", ROOT / "scripts/certificate_report.py", path, "--out", out], check=True,
                           stdout=subprocess.DEVNULL)
            self.page, self.picture = out.with_suffix(".md").read_text(), out.with_suffix(".svg").read_text()

    def test_measured_predicted_and_too_small_for_double(self):
        self.assertIn("| 1,000 × 5 | 1e-06 | — | 2 ms | — | — | *2 h* † | 2.0 · 10⁶ |", self.page)

    def test_passes_are_of_one_draw(self):
        self.assertIn("| 1e-06 | proximal | 100 | — | 250 | 235 of 250 | 2 ms | 1 ms | 100 ms | 2.0 · 10⁶ |", self.page)

    def test_a_part_of_a_run_is_held_against_that_part(self):
        part = entry("proximal", 0.1, iterations=100, draws=1, planned_gradient_passes=200, run_iterations=10,
                     run_gradient_passes=25)
        self.assertEqual(certificate_report.run_passes(part), (20, 25))

    def test_units(self):
        self.assertEqual(certificate_report.duration(90), "1.5 min")
        self.assertEqual(certificate_report.duration(3e-7), "0.3 µs")
        self.assertEqual(certificate_report.duration(2e9 * 365.25 * 86400), "2.0 · 10⁹ years")

    def test_the_picture_is_sound(self):
        bars = [r for r in xml.dom.minidom.parseString(self.picture).getElementsByTagName("rect") if r.hasAttribute("fill-opacity")]
        self.assertEqual([bar.getAttribute("fill-opacity") for bar in bars], ["1", "0.38"])
        self.assertLess(*(float(bar.getAttribute("width")) for bar in bars))


if __name__ == "__main__":
    unittest.main()
