"""Private regressions of other authors for experiments/bench-all-peers, in NumPy, where no package has them. Neighbors replace one row.

Rows x [n, d] are no longer than 1 where a function says so (`within`), a constant among them; classes y are -1 and 1, amounts in
[-1, 1]. Every Gaussian part is composed exactly, in mu of Gaussian privacy, which is less noise than the authors' own conversions
ask for. Noise is drawn from NumPy's generator: for measuring, not for releasing. Tests: tests/scripts/peers_test.py.

* Double-noise Newton: Ganesh, Haghifam, Steinke, Thakurta (2023), arXiv 2305.13209, Algorithm 3, by the authors' code in
  tensorflow/privacy, research/dp_newton, with the shares of its script (0.7 for gradients, 0.1 of the rest for the trace).
* AdaSSP: Wang (2018), arXiv 1803.02596, Algorithm 2; boosted: Tang and others (2023), arXiv 2303.03451, by the authors' code.
* Objective perturbation: Redberg, Koskela, Wang (2023), arXiv 2401.00583, Theorem 3.1.
* DP gradient descent: full batch, clipped rows. A private choice of its settings: Papernot and Steinke (2022), arXiv 2110.03620,
  a Poisson number of tries (their Theorem 6)."""
import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, ndtr

TRIES = 12.0  # Poisson mean of the number of settings tried: half of the grid
ORDERS = 1 + np.geomspace(1e-2, 1e6, 2000)


def profile(epsilon, mu):
    """delta of mu-Gaussian privacy at epsilon (Balle and Wang 2018); of arrays elementwise."""
    return np.maximum(ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-epsilon / mu - mu / 2)), 0.0)


def largest(delta_of, delta, low=1e-7, high=1e3):
    """The largest number whose delta_of, which rises, is at most delta."""
    return math.exp(brentq(lambda t: math.log(max(delta_of(math.exp(t)), 1e-300)) - math.log(delta), math.log(low), math.log(high), xtol=1e-10)) * (1 - 1e-9)


def mu_of(epsilon, delta):
    return largest(lambda mu: float(profile(epsilon, mu)), delta)


def within(x, bound):
    """Rows divided by `bound`, longer ones shortened to 1."""
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), bound)


# Double-noise Newton

def curvature_weights(z, kind):
    """Each row's factor of x x' in the Hessian, or in the tightest quadratic upper bound of the loss; both within [0, 1/4]."""
    if kind == "hessian":
        p = expit(z)
        return p * (1 - p)
    return np.divide(np.tanh(z / 2), 2 * z, out=np.full(z.shape, 0.25, z.dtype), where=np.abs(z) > 1e-6)


def direction(h, g, least, change):
    """The inverse of h times g, after `least` is added to its eigenvalues or they are raised to it."""
    if change == "add":
        return np.linalg.solve(h + least * np.eye(len(g)), g)
    values, vectors = np.linalg.eigh(h)
    return vectors @ ((vectors.T @ g) / np.maximum(values, least))


def direction_sensitivity(n, g_norm, least, change):
    """How far `direction` moves when one row of n is replaced.

    One row less is at most beta/(n least^2 +- beta least) in operator norm. With "add" both changes are of one sign (a
    rank-one update of an inverse), so replacing costs no more; with "clip" they add.
    """
    beta = 0.25
    if change == "add":
        return g_norm * beta / (n * least**2 + beta * least)
    return 2 * g_norm * beta / (n * least**2 - beta * least)


def double_noise(x, y, mu, draw, steps=15, kind="hessian", change="add", grad_share=0.7, trace_share=0.1, trace_factor=0.5):
    """x: rows within 1. Weights [d]."""
    n, d = x.shape
    rho = mu**2 / 2
    rho_grad, rho_rest = grad_share * rho / steps, (1 - grad_share) * rho / steps
    w = np.zeros(d)
    for _ in range(steps):
        z = x @ w.astype(x.dtype)
        g = -(x.T @ (y * expit(-y * z))) / n + draw.standard_normal(d) * (2 / n) * math.sqrt(0.5 / rho_grad)
        h = ((x * curvature_weights(z, kind)[:, None]).T @ x).astype(float) / n
        trace = trace_factor * max(np.trace(h) + draw.standard_normal() * (0.25 / n) * math.sqrt(0.5 / (trace_share * rho_rest)), 0)
        least = max((trace / (n**2 * (1 - trace_share) * rho_rest)) ** (1 / 3), 1 / n)
        scale = direction_sensitivity(n, np.linalg.norm(g), least, change) * math.sqrt(0.5 / ((1 - trace_share) * rho_rest))
        w = w - direction(h, g, least, change) + draw.standard_normal(d) * scale
        if np.linalg.norm(w) > 200:  # the authors' guard, with a public number
            w = np.zeros(d)
    return w


# AdaSSP

def noisy_moments(x, sigma, draw, factor):
    """x'x with noise of scale sqrt(2) sigma, and a ridge from its least eigenvalue with noise of scale sigma. x: rows within 1.

    factor: how many sqrt(d) of the noise the ridge is to cover; the eigenvalue is held 1.96 sigma lower, as the boosted code does.
    """
    d = x.shape[1]
    moments = x.T @ x
    noise = np.triu(draw.standard_normal((d, d))) * math.sqrt(2) * sigma
    least = max(np.linalg.eigvalsh(moments)[0] + sigma * (draw.standard_normal() - 1.96), 0.0)
    ridge = max(0.0, math.sqrt(2) * sigma * factor * math.sqrt(d) - least)
    return moments + noise + np.triu(noise, 1).T + ridge * np.eye(d)


def ada_ssp(x, y, mu, draw, rounds=0):
    """Weights [d] of amounts within [-1, 1]. A third of mu^2 each for x'x, its least eigenvalue and x'y; boosted in `rounds`, as many
    parts of mu^2 as questions, the residuals held in [-1, 1]."""
    sigma = math.sqrt(3 if rounds == 0 else rounds + 2) / mu
    d = x.shape[1]
    moments = noisy_moments(x, sigma, draw, 1.96 if rounds else math.sqrt(math.log(2 * d**2 / 0.05)))
    w = np.zeros(d)
    for _ in range(max(rounds, 1)):
        left = np.clip(y - x @ w, -1, 1) if rounds else y
        w = w + np.linalg.solve(moments, x.T @ left + 2 * sigma * draw.standard_normal(d))
    return w


# Objective perturbation

def objective_delta(epsilon, slope, bend):
    """One row added or removed. slope: L over the scale of the noise; bend: beta over the ridge, below 1."""
    e = epsilon + math.log1p(-bend)
    half = slope**2 / 2
    if e >= half:
        return 2 * float(profile(e, slope))
    head = math.exp(e - half)
    return 1 - head + 2 * head * float(profile(half, slope))


def objective_settings(epsilon, delta, share):
    """The scale of the noise and the ridge for a loss of slope 1 and curvature 1/4; `share` of epsilon goes to the ridge. Replacing a row is
    removing one and adding one: delta(epsilon) <= (1 + e^(epsilon/2)) delta(epsilon/2)."""
    bend = -math.expm1(-share * epsilon / 2)
    slope = largest(lambda s: (1 + math.exp(epsilon / 2)) * objective_delta(epsilon / 2, s, bend), delta)
    return 1 / slope, 0.25 / bend


def logistic_minimum(x, y, ridge, tilt, start=None):
    """Minimum of the sum of losses + ridge/2 |w|^2 + tilt w, by damped Newton steps."""
    w = np.zeros(x.shape[1]) if start is None else start

    def value(w):
        return np.logaddexp(0, -y * (x @ w)).sum() + ridge / 2 * w @ w + tilt @ w
    now = value(w)
    for _ in range(100):
        p = expit(-y * (x @ w))
        g = -(x.T @ (y * p)) + ridge * w + tilt
        move = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(len(w)), g)
        slope, length = g @ move, 1.0
        if slope < 1e-10 * max(abs(now), 1):
            break
        while (then := value(w - length * move)) > now - 0.25 * length * slope and length > 1e-8:
            length /= 2
        w, now = w - length * move, then
    return w


def objective(x, y, epsilon, delta, draw, share, start=None):
    """x: rows within 1. Weights [d]."""
    sigma, ridge = objective_settings(epsilon, delta, share)
    return logistic_minimum(x, y, ridge, sigma * draw.standard_normal(x.shape[1]), start)


# DP gradient descent

GRID = [(clip, steps, rate) for clip in (0.3, 1) for steps in (10, 40, 160) for rate in (0.5, 2, 8, 32)]


def descents(x, y, settings, mus, draw):
    """Weights [d, S] after full-batch descents of settings (clip, steps, rate), the s-th of them mus[s]-private."""
    n, d = x.shape
    x, y = x.astype(np.float32), y.astype(np.float32)[:, None]
    lengths = np.linalg.norm(x, axis=1)[:, None]
    found = np.zeros((d, len(settings)))
    for steps in {s[1] for s in settings}:
        of = [k for k, s in enumerate(settings) if s[1] == steps]
        clips, rates = (np.array([settings[k][i] for k in of], np.float32) for i in (0, 2))
        noise = (2 * clips * math.sqrt(steps) / np.array([mus[k] for k in of])).astype(np.float32)
        w = np.zeros((d, len(of)), np.float32)
        for _ in range(steps):
            r = expit(-y * (x @ w))
            r *= np.minimum(1, clips / np.maximum(r * lengths, 1e-12))
            total = -(x.T @ (y * r)) + noise * draw.standard_normal(w.shape, np.float32)
            w = w - rates / clips * total / n
        found[:, of] = w
    return found


def tries_delta(epsilon, mu, mean=TRIES):
    """delta of the best of a Poisson number of mu-Gaussian tries, each with a score as private as the rest of it.

    Renyi divergence of order a: a mu^2/2 + mean delta(log(1 + 1/(a - 1))) + log(mean)/(a - 1); turned into delta by Canonne, Kamath,
    Steinke (2020), Proposition 12.
    """
    a = ORDERS
    renyi = a * mu**2 / 2 + mean * profile(np.log1p(1 / (a - 1)), mu) + math.log(mean) / (a - 1)
    return float(np.exp(np.minimum((a - 1) * (renyi - epsilon) + a * np.log1p(-1 / a) - np.log(a - 1), 0)).min())


def tries_mu(epsilon, delta):
    return largest(lambda mu: tries_delta(epsilon, mu), delta, low=1e-6)


def chosen_descents(x, y, epsilons, delta, draw):
    """For each epsilon the weights that a private choice among GRID ends with.

    A tenth of the rows scores: the number of right ones with noise. A row is in one part alone, so a try with its score is as private
    as either; no try at all leaves weights of 0.
    """
    cut = len(x) - len(x) // 10
    mus = [tries_mu(epsilon, delta) for epsilon in epsilons]
    tries = [draw.poisson(TRIES) for _ in epsilons]
    picked = [GRID[k] for count in tries for k in draw.integers(len(GRID), size=count)]
    w = descents(x[:cut], y[:cut], picked, np.repeat(mus, tries), draw)
    right = ((x[cut:] @ w > 0) == (y[cut:, None] > 0)).sum(0)
    found, first = [], 0
    for mu, count in zip(mus, tries):
        scores = right[first:first + count] + draw.standard_normal(count) / mu
        found.append(w[:, first + int(np.argmax(scores))] if count else np.zeros(x.shape[1]))
        first += count
    return found
