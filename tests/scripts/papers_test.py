"""experiments/papers: its closed forms beside integrals on a grid and sums over tables, its readers, and its page without a program.

Exit status 77, a skip, where this interpreter lacks NumPy, SciPy or matplotlib. It was seen to fail on planted errors: order and 1 - order
exchanged, only the pairs of the empty level, m that multiplies the prior, a KL divergence turned around, 2 beta^2 for beta^2, a factor 2 of
the range, and a digit of another class."""
import gzip
import importlib.machinery
import importlib.util
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "experiments" / "papers"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPT.parent))  # its helpers.py
loader = importlib.machinery.SourceFileLoader("papers", str(SCRIPT))
papers = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
try:
    import matplotlib  # noqa: F401
    loader.exec_module(papers)
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def log_density(a, b, t):
    """Log density of the log odds t of a Beta(a, b) variable."""
    return math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) - a * math.log1p(math.exp(-t)) - b * math.log1p(math.exp(t))


def integral(of, low=-60, high=60, steps=2400):
    """By the trapezoid rule, which is exact to many digits for what falls off at both ends."""
    h = (high - low) / steps
    return h * math.fsum(of(low + h * k) for k in range(steps + 1))


def renyi(order, p, q):
    return math.log(integral(lambda t: math.exp(order * log_density(*p, t) + (1 - order) * log_density(*q, t)))) / (order - 1)


class Renyi(unittest.TestCase):
    def test_the_largest_of_all_neighbors_by_integrals(self):
        for prior, rows, weight, order in (((6, 18), 6, 1.0, 2), ((6, 18), 6, 0.3, 15), ((18, 6), 5, 1.0, 4), ((1, 1), 4, 0.2, 3)):
            pairs = [(j, j + step) for step in (1, -1) for j in range(rows + 1) if 0 <= j + step <= rows]
            laws = [tuple((prior[0] + weight * j, prior[1] + weight * (rows - j)) for j in pair) for pair in pairs]
            self.assertAlmostEqual(float(papers.beta_renyi(order, prior, rows, weight)), max(renyi(order, *pair) for pair in laws), 9)

    def test_none_beyond_the_last_order(self):
        self.assertTrue(math.isfinite(papers.beta_renyi(6.9, (6, 18), 100, 1.0)))
        self.assertEqual(papers.beta_renyi(7.1, (6, 18), 100, 1.0), math.inf)  # 7 = 1 + 6/r

    def test_a_certificate_of_gibbsite_says_the_same(self):
        # `fit --model bernoulli --prior 6,18 --diffused --epsilon 1 --delta 1e-6` on 100 rows, 2026-11-27: rdp(2), rdp(8).
        for order, epsilon in ((2, 0.03243383231081335), (8, 0.15339470572409908)):
            self.assertAlmostEqual(float(papers.beta_renyi(order, (6, 18), 100, 0.4039604106369713)), epsilon, 9)

    def test_settings_spend_the_budget(self):
        for order, epsilon in ((2, 0.1), (15, 0.1), (15, 1)):
            r, m = papers.diffused(order, epsilon), papers.concentrated(order, epsilon)
            self.assertTrue(0 < r < 1 and 0 < m < 1)
            self.assertAlmostEqual(float(papers.beta_renyi(order, (6, 18), 100, r)), epsilon, 9)
            self.assertAlmostEqual(float(papers.beta_renyi(order, (6 / m, 18 / m), 100, 1.0)), epsilon, 9)
        self.assertEqual(papers.diffused(2, 50), 1)

    def test_regression(self):
        for ratio in (0.001, 0.1, 1, 10):
            for beta, precision in papers.settings(ratio).values():
                # Two unit normal laws 2 beta/sqrt(precision) apart: order/2 times the distance squared.
                self.assertAlmostEqual(min(ratio, 2.0), (2 * beta / precision**0.5)**2 / 2, 12)


class Losses(unittest.TestCase):
    def test_kl_by_sums_and_integrals(self):
        share, a, b, weight, rows = 1 / 3, 6, 18, 0.4, 5
        total = 0
        for j in range(rows + 1):
            law = a + weight * j, b + weight * (rows - j)

            def loss(t, law=law):
                theta = 1 / (1 + math.exp(-t))
                return math.exp(log_density(*law, t)) * (share * math.log(share / theta) + (1 - share) * math.log((1 - share) / (1 - theta)))

            total += math.comb(rows, j) * share**j * (1 - share)**(rows - j) * integral(loss, -30, 30)
        self.assertAlmostEqual(float(papers.expected_kl(share, a, b, weight, rows)), total, 9)

    def test_beta_of_a_range_and_of_a_slope(self):
        widest = math.log1p(math.exp(3)) - math.log1p(math.exp(-3))  # one theta of norm 3, rows on its line
        self.assertAlmostEqual(2 * papers.beta_of_range(0.7, 3) * widest, 0.7, 12)
        mu = 2 * papers.beta_of_slope(1, 1e-6)
        self.assertAlmostEqual(mu * mu / 2 + mu * math.sqrt(2 * math.log(1e6)), 1, 9)


class Tables(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_mnist(self):
        for part, digits in (("train", [3, 8, 1, 8]), ("t10k", [0, 3])):
            pixels = bytes(255 * (k == 0) for _ in digits for k in range(4))
            (self.folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">HBB3I", 0, 8, 3, len(digits), 2, 2) + pixels)
            with gzip.open(self.folder / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
                file.write(struct.pack(">HBBI", 0, 8, 1, len(digits)) + bytes(digits))
        x, y, x_test, y_test = papers.mnist(self.folder)
        self.assertEqual((y.tolist(), y_test.tolist(), x.shape), ([0, 1, 1], [0], (3, 4)))
        self.assertAlmostEqual(float(x_test[0, 0]), 0.5, 5)

    def test_abalone(self):
        (self.folder / "a.data").write_text("".join(f"{'MFI'[k % 3]},0.4,0.3,0.1,0.5,0.2,0.1,0.15,{k}\n" for k in range(20)))
        x, y, x_test, y_test = papers.abalone(self.folder / "a.data")
        self.assertEqual((x.shape, x_test.shape, int(y.sum() + y_test.sum())), ((14, 10), (6, 10), 10))

    def test_the_page_without_a_program(self):
        done = subprocess.run([sys.executable, "-B", str(SCRIPT), str(self.folder / "out")], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()),
                         ["papers-kl.svg", "papers-range.svg", "papers-renyi.svg", "papers.md"])
        self.assertIn("Left out: regression, without --program.", (self.folder / "out/papers.md").read_text())


if __name__ == "__main__":
    unittest.main()
