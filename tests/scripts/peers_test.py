"""experiments/peer_methods.py: the accounting of the peers that are own code against exact laws and known figures, and what they reach without noise.

Exit status 77, a skip, where this interpreter lacks NumPy or SciPy. It was seen to fail on planted errors: half the shift in
objective perturbation's delta, a ridge or a second row that costs nothing, no term of the number of tries, sensitivities for a larger least
eigenvalue, half the noise of gradients, shares of AdaSSP that are all of mu, and clips that are not applied."""
import math
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "experiments"))
try:
    import numpy as np
    from scipy.special import expit, ndtr
    import peer_methods as peers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


class Still:
    """A generator that draws nothing but zeros, and remembers what was asked."""

    def __init__(self):
        self.asked = []

    def standard_normal(self, size=None, kind=float):
        self.asked.append(size)
        return 0.0 if size is None else np.zeros(size, kind)


class Ones(Still):
    def standard_normal(self, size=None, kind=float):
        return 1.0 if size is None else np.ones(size, kind)


def table(n=400, d=4, seed=1):
    draw = np.random.default_rng(seed)
    x = peers.within(np.hstack([draw.uniform(-1, 1, (n, d - 1)), np.ones((n, 1))]), 1.5)
    return x, np.where(draw.random(n) < expit(x @ draw.standard_normal(d) * 3), 1.0, -1.0)


class Gaussian(unittest.TestCase):
    def test_known_figures(self):
        # dp-accounting 0.6.0: the least noise of a Gaussian mechanism of that guarantee, 1 / mu.
        for epsilon, delta, sigma in ((1, 1e-5, 3.730631665), (0.1, 1e-6, 36.30469046)):
            self.assertAlmostEqual(1 / peers.mu_of(epsilon, delta), sigma, delta=2e-5 * sigma)



class Newton(unittest.TestCase):
    def test_no_replaced_row_moves_a_direction_further(self):
        # Random rows of length 1 with curvature 0 or 1/4, and g anywhere; then the worst pair of "add": a row that is alone in its direction.
        draw = np.random.default_rng(2)
        for change in ("add", "clip"):
            closest = 0
            for _ in range(3000):
                n, d = int(draw.integers(2, 30)), int(draw.integers(1, 4))
                rows = draw.standard_normal((n + 1, d))
                rows /= np.linalg.norm(rows, axis=1, keepdims=True)
                weights = 0.25 * (draw.random(n + 1) < 0.5)
                least, g = float(draw.uniform(1 / n, 1)), draw.standard_normal(d)
                moved = [peers.direction((rows[of].T * weights[of]) @ rows[of] / n, g, least, change) for of in (slice(0, n), slice(1, n + 1))]
                closest = max(closest, np.linalg.norm(moved[0] - moved[1]) / peers.direction_sensitivity(n, np.linalg.norm(g), least, change))
            self.assertLessEqual(closest, 1 + 1e-9)
            self.assertGreater(closest, 0.2)
        n, least = 10, 0.3
        moved = 1 / least - 1 / (0.25 / n + least)
        self.assertAlmostEqual(moved, peers.direction_sensitivity(n, 1.0, least, "add"), 12)

    def test_without_noise_it_ends_at_the_minimum(self):
        x, y = table()
        best = peers.logistic_minimum(x, y, 1e-9, np.zeros(4))
        for kind in ("hessian", "bound"):
            for change in ("add", "clip"):
                w = peers.double_noise(x, y, 1e9, Still(), 60, kind, change)
                self.assertLess(np.logaddexp(0, -y * (x @ w)).mean() - np.logaddexp(0, -y * (x @ best)).mean(), 1e-5)

    def test_the_whole_budget_is_spent_once(self):
        # The noise of the gradient alone, one step: its scale is (2/n) / mu_gradient, mu_gradient^2 = 0.7 mu^2.
        x, y = table(50, 2)
        h, mu = x.T @ x / 4 / 50, 0.5
        noise = (2 / 50) / (mu * 0.7**0.5)
        g = -(x.T @ y) / 100 + noise
        trace_noise = (0.25 / 50) / (mu * (0.3 * 0.1) ** 0.5)
        least = max((0.5 * max(np.trace(h) + trace_noise, 0) / (50**2 * 0.9 * 0.3 * mu**2 / 2)) ** (1 / 3), 1 / 50)
        scale = np.linalg.norm(g) * 0.25 / (50 * least**2 + 0.25 * least) / (mu * (0.3 * 0.9) ** 0.5)
        np.testing.assert_allclose(peers.double_noise(x, y, mu, Ones(), 1), -np.linalg.solve(h + least * np.eye(2), g) + scale, rtol=1e-9)


class Squares(unittest.TestCase):
    def test_without_noise_it_is_least_squares(self):
        x, _ = table(300, 5, 3)
        y = np.clip(x @ np.array([0.3, -0.2, 0.1, 0.2, 0.1]) + 0.1 * np.random.default_rng(4).standard_normal(300), -1, 1)
        best = np.linalg.lstsq(x, y, rcond=None)[0]
        for rounds in (0, 10):
            np.testing.assert_allclose(peers.ada_ssp(x, y, 1e9, np.random.default_rng(5), rounds), best, atol=1e-6)

    def test_each_question_costs_its_share(self):
        # A third of mu^2 each: a row moves x'x by sqrt 2, its least eigenvalue by 1, x'y by 2. Boosted: as many parts as questions.
        x, _ = table(100, 3, 6)
        y, moments = x[:, 0] / 2, x.T @ x
        for rounds, parts in ((0, 3), (1, 3), (2, 4)):
            sigma = math.sqrt(parts) / 0.4
            eigenvalue = max(np.linalg.eigvalsh(moments)[0] + sigma * (1 - 1.96), 0)
            ridge = math.sqrt(2 * 3) * sigma * (1.96 if rounds else math.sqrt(math.log(2 * 9 / 0.05))) - eigenvalue
            noisy = moments + math.sqrt(2) * sigma + ridge * np.eye(3)
            w = np.zeros(3)
            for _ in range(max(rounds, 1)):
                w = w + np.linalg.solve(noisy, x.T @ np.clip(y - x @ w, -1, 1) + 2 * sigma)
            np.testing.assert_allclose(peers.ada_ssp(x, y, 0.4, Ones(), rounds), w)


class Objective(unittest.TestCase):
    def test_exact_law_of_one_row(self):
        # One row x = 1, y = 1, against none: the tilt b = sigma(-w) - ridge w is a bijection of w, so both densities of w are known.
        for scale, ridge in ((1.0, 1.0), (50.0, 0.3), (0.7, 3.0)):
            w = np.linspace(-60, 60, 400001)
            p = expit(-w)

            def density(b, slope):
                return np.exp(-b**2 / (2 * scale**2)) / (scale * math.sqrt(2 * math.pi)) * slope
            with_row, without = density(p - ridge * w, p * (1 - p) + ridge), density(ridge * w, ridge)
            exact = {}
            for epsilon in (0.5, 1.0, 2.0):
                exact[epsilon] = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() * (w[1] - w[0]) for a, b in ((with_row, without), (without, with_row)))
                self.assertLessEqual(exact[epsilon], peers.objective_delta(epsilon, 1 / scale, 0.25 / ridge) + 1e-9)
            self.assertGreater(max(exact.values()), 0)

    def test_replacing_is_two_steps(self):
        for epsilon, delta, share in ((1, 1e-6, 0.1), (0.1, 1e-9, 0.4)):
            scale, ridge = peers.objective_settings(epsilon, delta, share)
            half = peers.objective_delta(epsilon / 2, 1 / scale, 0.25 / ridge)
            self.assertLessEqual((1 + math.exp(epsilon / 2)) * half, delta)
            self.assertGreater((1 + math.exp(epsilon / 2)) * half, 0.999 * delta)
            self.assertAlmostEqual(-math.log1p(-0.25 / ridge), share * epsilon / 2)

    def test_the_minimum(self):
        x, y = table()
        tilt = np.array([3.0, -2, 1, 5])
        w = peers.logistic_minimum(x, y, 2.0, tilt)
        self.assertLess(np.linalg.norm(-(x.T @ (y * expit(-y * (x @ w)))) + 2 * w + tilt), 1e-3)


class Descent(unittest.TestCase):
    def test_one_step_of_it(self):
        # From 0 every gradient is -y x / 2, held to the clip; noise 2 clip sqrt(T) / mu.
        x, y = table(30, 3)
        found = peers.descents(4 * x, y, [(0.3, 1, 2), (1, 1, 8)], [0.5, 2.0], Ones())
        for k, (clip, rate, mu) in enumerate(((0.3, 2, 0.5), (1, 8, 2.0))):
            g = -(4 * x) * y[:, None] / 2
            g *= np.minimum(1, clip / np.linalg.norm(g, axis=1))[:, None]
            np.testing.assert_allclose(found[:, k], -rate / clip * (g.sum(0) + 2 * clip / mu) / 30, rtol=1e-4)

    def test_without_noise_it_nears_the_minimum(self):
        x, y = table()
        best = peers.logistic_minimum(x, y, 1e-9, np.zeros(4))
        w = peers.descents(x, y, [(1, 3000, 8)], [1e9], Still())[:, 0]
        self.assertLess(np.logaddexp(0, -y * (x @ w)).mean() - np.logaddexp(0, -y * (x @ best)).mean(), 1e-4)

    def test_exact_law_of_the_best_score(self):
        # Scores N(0, 1) and N(mu, 1), the largest of a Poisson number of them: P(<= t) = exp(-m (1 - F(t))), no try at all is an atom.
        for epsilon, delta in ((0.5, 1e-4), (1, 1e-5), (4, 1e-6)):
            mu, m = peers.tries_mu(epsilon, delta), peers.TRIES
            for shift, less in ((mu, True), (peers.mu_of(epsilon, delta), False)):  # the second: as if trying cost nothing
                t = np.linspace(-12, 16, 400001)

                def density(middle):
                    return m * np.exp(-(t - middle) ** 2 / 2) / math.sqrt(2 * math.pi) * np.exp(-m * ndtr(middle - t))
                a, b = density(0.0), density(shift)
                exact = max(np.maximum(p - math.exp(epsilon) * q, 0).sum() * (t[1] - t[0]) for p, q in ((a, b), (b, a)))
                (self.assertLessEqual if less else self.assertGreater)(exact, delta)

    def test_what_trying_costs(self):
        # Papernot and Steinke's Theorem 6 in other words: at order a, mu = 0.1.
        def by_hand(a, epsilon, m=12, mu=0.1):
            e = math.log(1 + 1 / (a - 1))
            delta = (math.erfc((e / mu - mu / 2) / 2**0.5) - math.exp(e) * math.erfc((e / mu + mu / 2) / 2**0.5)) / 2
            renyi = a * mu**2 / 2 + m * delta + math.log(m) / (a - 1)
            return math.exp((a - 1) * (renyi - epsilon)) / (a - 1) * (1 - 1 / a) ** a
        for epsilon in (0.5, 1):
            best = min(by_hand(1.01 * 1.01**k, epsilon) for k in range(1, 550))
            self.assertAlmostEqual(peers.tries_delta(epsilon, 0.1) / best, 1, 2)

    def test_a_choice_without_noise_is_the_best_try(self):
        x, y = table(2000, 3, 8)
        found = peers.chosen_descents(x, y, [100], 1e-9, np.random.default_rng(9))[0]
        self.assertGreater(np.mean((x @ found > 0) == (y > 0)), np.mean(y > 0) + 0.05)


if __name__ == "__main__":
    unittest.main()
