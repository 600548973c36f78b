"""What the peers of the CPU benchmark share: the case, its data, its check, its clock.

PEER.py --rows N --features D --chains C[,C...] --dtype float|double [--threads T] [--seconds S]

prints a line of JSON for every number of chains: peer, version, variant, rows, features, chains, dtype, threads, seconds
(median of a gradient of all chains), fingerprint (three coordinates of chain 0's gradient and its norm); or peer and
skipped, the reason. A peer may offer several variants; each is held against a gradient in double by numpy before anything
is timed, and the quickest is the one reported. S is the time for a number of chains on average: what small ones leave goes to the larger.
"""

import argparse
import json
import math
import os
import statistics
import time

TOLERANCE = {"float": 1e-3, "double": 1e-9}
WINDOWS = 5
WINDOW_SECONDS = 0.02
GRACE = 1  # seconds over the limit, so that a quick gradient is timed also after a slow compilation
BLOCK = 1 << 20  # entries made at a time


class Skip(Exception):
    """Why a peer cannot take a case."""


class Case:
    """Fields of the command line; data are made on first use."""

    def __init__(self, peer):
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--rows", type=int, required=True)
        parser.add_argument("--features", type=int, required=True)
        parser.add_argument("--chains", required=True, help="ascending, comma separated")
        parser.add_argument("--dtype", choices=("float", "double"), required=True)
        parser.add_argument("--threads", type=int, default=1)
        parser.add_argument("--seconds", type=float, default=5, help="for each number of chains, on average")
        given = parser.parse_args()
        self.peer = peer
        self.rows, self.features, self.dtype = given.rows, given.features, given.dtype
        self.chains = [int(c) for c in given.chains.split(",")]
        self.threads, self.seconds = given.threads, given.seconds
        limit_threads(given.threads)

    def say(self, **fields):
        print(json.dumps({"peer": self.peer, "rows": self.rows, "features": self.features, "dtype": self.dtype,
                          "threads": self.threads, **fields}), flush=True)


def limit_threads(threads):
    """Before any library is loaded: they size their pools when they are. Affinity binds those that read no variable."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["JAX_PLATFORMS"] = "cpu"
    allowed = sorted(os.sched_getaffinity(0))
    if threads > len(allowed):
        raise SystemExit(f"--threads {threads}: this process may use {len(allowed)} processors")
    os.sched_setaffinity(0, allowed[:threads])


def uniform(seed, begin, end):
    """Numbers begin..end-1 of that seed in [0, 1), by SplitMix64; bench/step_bench.cpp has the same."""
    import numpy

    z = numpy.arange(begin, end, dtype=numpy.uint64)
    z += numpy.uint64((seed << 40) + 0x9E3779B97F4A7C15)
    z ^= z >> numpy.uint64(30)
    z *= numpy.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> numpy.uint64(27)
    z *= numpy.uint64(0x94D049BB133111EB)
    z ^= z >> numpy.uint64(31)
    z >>= numpy.uint64(11)
    return z * 2.0**-53


class Data:
    """x [rows x features] and y [rows] of +-1 in the case's type; x was rounded to float in both."""

    def __init__(self, case):
        import numpy

        self.dtype = numpy.float32 if case.dtype == "float" else numpy.float64
        count, width = case.rows * case.features, math.sqrt(3 / case.features)
        self.x = numpy.empty((case.rows, case.features), self.dtype)
        flat = self.x.reshape(-1)
        for begin in range(0, count, BLOCK):
            end = min(begin + BLOCK, count)
            flat[begin:end] = ((2 * uniform(1, begin, end) - 1) * width).astype(numpy.float32)
        self.known = {}
        self.y = numpy.where(uniform(2, 0, case.rows) < 0.5, -1, 1).astype(self.dtype)

    def theta(self, chains):
        d = self.x.shape[1]
        return (2 * uniform(3, 0, chains * d) - 1).astype(self.dtype).reshape(chains, d)

    def signed(self):
        """Rows times -y: with them the gradient is the sum of logistic(row.theta) row, which saves a pipeline of products
        two passes over the margins."""
        return self.x * -self.y[:, None]

    def exact(self, chain, theta):
        """Gradient of that chain in double, in blocks of rows; kept, since a chain is the same among few and many."""
        import numpy

        if chain in self.known:
            return self.known[chain]
        gradient, theta = numpy.zeros(theta.size), theta.astype(float)
        rows = max(1, BLOCK // theta.size)
        for begin in range(0, len(self.y), rows):
            x, y = self.x[begin:begin + rows].astype(float), self.y[begin:begin + rows].astype(float)
            gradient += (-y / (1 + numpy.exp(y * (x @ theta)))) @ x
        self.known[chain] = gradient
        return gradient


def differs(found, exact, tolerance):
    """Largest difference over the norm of `exact`; None when it is within the tolerance."""
    import numpy

    error = numpy.abs(numpy.asarray(found, float) - exact).max() / numpy.linalg.norm(exact)
    return None if error <= tolerance else error


def memory():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def seconds_of(function, calls=1):
    begin = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - begin) / calls


def median_seconds(function, once):
    """Median of at least five windows; of up to 25 while they take less than a second in all."""
    calls = max(1, round(WINDOW_SECONDS / max(once, 1e-9)))
    windows, end = [], time.monotonic() + 1
    while len(windows) < WINDOWS or (len(windows) < 25 and time.monotonic() < end):
        windows.append(seconds_of(function, calls))
    return statistics.median(windows)


def quickest(variants, data, theta, case, limit):
    """(name, seconds, gradient) of the quickest variant, in about `limit` seconds at most; a variant that computes
    something else ends the case."""
    begin = time.monotonic()
    exact = {c: data.exact(c, theta[c]) for c in {0, len(theta) - 1}}
    once, gradients = {}, {}
    for name, function in variants.items():
        if once and time.monotonic() + min(once.values()) * (WINDOWS + 2) > begin + limit:
            continue  # no time to try what is left and to measure the best
        found = function()  # warms up, and compiles where there is something to compile
        for c, expected in exact.items():
            error = differs(found[c], expected, TOLERANCE[case.dtype])
            if error is not None:
                raise Skip(f"{name} computes another gradient: chain {c} is off by {error:.3g} of its norm")
        once[name] = seconds_of(function)
        if once[name] < 0.1:
            once[name] = min(once[name], seconds_of(function), seconds_of(function))
        gradients[name] = [float(value) for value in found[0]]
    best = min(once, key=once.get)
    left = begin + limit - time.monotonic()
    if once[best] * WINDOWS > max(left, GRACE):
        raise Skip(f"a gradient takes {once[best]:.2g} s, too long for five in the time left")
    return best, median_seconds(variants[best], once[best]), gradients[best]


def run(peer, prepare):
    """prepare(case) -> (version, load); load(data) -> variants(theta) -> {name: function that returns the gradient
    [chains x features]}. Whatever is missing is a reason, not an error."""
    case = Case(peer)
    try:
        version, load = prepare(case)
        size = 4 if case.dtype == "float" else 8
        if case.rows * case.features * size > memory() / 4:
            raise Skip("X takes more than a quarter of this machine's memory")
        data = Data(case)
        variants = load(data)
    except (Skip, ImportError, OSError) as why:
        for chains in case.chains:
            case.say(chains=chains, skipped=str(why))
        return
    last = None  # chains and seconds of the largest case so far
    end = time.monotonic() + case.seconds * len(case.chains)
    for chains in case.chains:
        try:
            limit = max(0.0, end - time.monotonic())
            if last and last[1] * chains / last[0] * WINDOWS > 2 * max(limit, GRACE):  # cost may grow by less than chains do
                raise Skip(f"no time: {last[0]} chains took {last[1]:.2g} s")
            theta = data.theta(chains)
            name, seconds, gradient = quickest(variants(theta), data, theta, case, limit)
        except (Skip, MemoryError) as why:
            case.say(chains=chains, version=version, skipped=str(why) or "not enough memory")
            continue
        last = chains, seconds
        case.say(chains=chains, version=version, variant=name, seconds=seconds,
                 fingerprint=[*gradient[:3], math.hypot(*gradient)])


def block_rows(data, chains, bytes_in_cache):
    """Rows of X and of margins that stay in that much cache."""
    return max(32, bytes_in_cache // (data.x.itemsize * (data.x.shape[1] + chains)))


def whole_fits(data, chains, copies):
    """Whether `copies` arrays of rows x chains leave room for the rest."""
    return copies * data.x.itemsize * len(data.y) * chains <= memory() / 4
