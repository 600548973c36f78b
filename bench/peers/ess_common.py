"""What the peers of experiments/bench-sampling share.

PEER.py --table FILE.npz --out DRAWS.npy [--chains C] [--draws N] [--warm-up W] [--seed S] [--threads T] [--dtype float|double]
        [--variant NAME]

samples the posterior of a logistic regression with prior N(0, I) on x [n x d], y [n] of 0 and 1, writes the draws
[chains x draws x d] and prints a line of JSON: peer, version, variant, dtype, seconds of compiling, warm-up and sampling,
leapfrog steps (= gradients of one chain) of warm-up and sampling over all chains, divergences; or peer and skipped."""

import argparse
import json
import time

import common


class Case:
    def __init__(self):
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--table", required=True)
        parser.add_argument("--out", required=True)
        parser.add_argument("--chains", type=int, default=4)
        parser.add_argument("--draws", type=int, default=1000)
        parser.add_argument("--warm-up", type=int, default=500)
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--threads", type=int, default=1)
        parser.add_argument("--dtype", choices=("float", "double"), default="double")
        parser.add_argument("--variant", default="")
        self.__dict__.update(vars(parser.parse_args()))
        common.limit_threads(self.threads)

    def load(self):
        import numpy

        table = numpy.load(self.table)
        return table["x"].astype(numpy.float32 if self.dtype == "float" else float), table["y"]

    def grouped(self):
        """Distinct rows, and [2 x rows]: how many have y = 1, how many there are. The same posterior in fewer rows."""
        import numpy

        x, y = self.load()
        rows, which = numpy.unique(x, axis=0, return_inverse=True)
        return rows, numpy.stack([numpy.bincount(which.ravel(), y), numpy.bincount(which.ravel())])


def laplace(x, y):
    """Mode and inverse Hessian there [d], [d x d], prior N(0, I): Newton's method in double."""
    import numpy
    from scipy.special import expit

    x, theta = x.astype(float), numpy.zeros(x.shape[1])
    for _ in range(50):
        p = expit(x @ theta)
        inverse = numpy.linalg.inv((x * (p * (1 - p))[:, None]).T @ x + numpy.eye(theta.size))
        step = inverse @ (x.T @ (p - y) + theta)
        theta -= step
        if numpy.abs(step).max() < 1e-12:
            break
    return theta, inverse


def run(peer, sample):
    """sample(case) -> (version, draws [chains x draws x d], fields of the line)."""
    import numpy

    case = Case()
    line = {"peer": peer, "variant": case.variant, "dtype": case.dtype}
    try:
        version, draws, fields = sample(case)
    except (common.Skip, ImportError, OSError) as why:
        print(json.dumps({**line, "skipped": str(why)}))
        return
    numpy.save(case.out, numpy.asarray(draws))
    print(json.dumps({**line, "version": version, **fields}))


def jax_runs(case, warm_up, sample):
    """Both compiled ahead, chains each on its own device ("parallel") or together ("vectorized").
    warm_up(key, x, y) -> (state of one chain, leapfrogs); sample(state, x, y) -> (draws, leapfrogs, divergences)."""
    import jax
    import jax.numpy as jnp
    import numpy

    x, y = case.grouped() if "-grouped" in case.variant else case.load()
    x, y = jnp.asarray(x), jnp.asarray(y)
    spread = jax.pmap if case.variant.startswith("parallel") else lambda f, in_axes: jax.jit(jax.vmap(f, in_axes=in_axes))
    keys = jax.random.split(jax.random.PRNGKey(case.seed), case.chains)

    def timed(function, *arguments):
        begin = time.perf_counter()
        compiled = spread(function, in_axes=(0, None, None)).lower(*arguments).compile()
        middle = time.perf_counter()
        result = jax.block_until_ready(compiled(*arguments))
        return result, middle - begin, time.perf_counter() - middle

    (state, warm_steps), compile_1, warm = timed(warm_up, keys, x, y)
    (draws, steps, divergent), compile_2, sampling = timed(sample, state, x, y)
    return numpy.asarray(draws), {
        "compile_seconds": compile_1 + compile_2, "warm_up_seconds": warm, "sampling_seconds": sampling,
        "warm_up_gradients": int(numpy.sum(warm_steps)), "gradients": int(numpy.sum(steps)),
        "divergent": int(numpy.sum(divergent))}
