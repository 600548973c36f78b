"""The step of C Langevin chains in JAX, for comparison: gradient, noise and update jitted in one loop of many steps.

jax_step.py [--seconds S] [--shapes NxD,...] [--chains C,...]   prints one line of JSON

Its gradient is held against numpy's in double on a small case before anything is timed. Exit status 3 and a note when JAX
is missing or sees no GPU (--any-device times whatever there is).
"""

import argparse
import functools
import json
import statistics
import sys
import time


def stop(note):
    print(json.dumps({"note": note, "steps": []}))
    sys.exit(3)


try:
    import jax
    jax.config.update("jax_enable_x64", True)  # every array below says its own type
    import jax.numpy as jnp
    import numpy
except ImportError as error:
    stop(f"Not run: {error}.")

# arithmetic: type of the products, precision asked of them, type of sums, theta and noise
KINDS = {
    "float64": (jnp.float64, jax.lax.Precision.HIGHEST, jnp.float64),
    "float32": (jnp.float32, jax.lax.Precision.HIGHEST, jnp.float32),
    "tf32": (jnp.float32, jax.lax.Precision.DEFAULT, jnp.float32),
    "bfloat16": (jnp.bfloat16, jax.lax.Precision.DEFAULT, jnp.float32),
}


def gradient(kind, x, y, theta):
    """[C x d] sums over rows of the gradient of log(1 + exp(-y x.theta)); sums of products in float, or double."""
    dtype, precision, sums = KINDS[kind]
    product = functools.partial(jnp.matmul, precision=precision, preferred_element_type=sums)
    margins = y[:, None] * product(x, theta.astype(dtype).T)  # [n x C]
    residuals = -y[:, None] * jax.nn.sigmoid(-margins)
    return product(residuals.astype(dtype).T, x)


@functools.partial(jax.jit, static_argnames=("kind", "steps"))
def advance(kind, steps, x, y, theta, key):
    beta, prior, size = 1.0 / x.shape[0], 1.0, 1e-2

    def one(_, state):
        theta, key = state
        key, use = jax.random.split(key)
        drift = beta * gradient(kind, x, y, theta) + prior * theta
        noise = jax.random.normal(use, theta.shape, theta.dtype)
        return theta - size * drift + (2 * size) ** 0.5 * noise, key

    return jax.lax.fori_loop(0, steps, one, (theta, key))


def check(kind):
    """Against numpy in double; a product of two numbers rounded to b bits is off by 2^-b of itself each."""
    generator = numpy.random.default_rng(1)
    n, d, chains = 300, 7, 5
    x = generator.normal(size=(n, d)).astype(numpy.float32)
    y = numpy.where(generator.random(n) < 0.5, -1.0, 1.0)
    theta = generator.normal(size=(chains, d))
    weight = -y[:, None] / (1 + numpy.exp(y[:, None] * (x.astype(float) @ theta.T)))
    exact = weight.T @ x.astype(float)
    dtype, _, sums = KINDS[kind]
    got = gradient(kind, jnp.asarray(x, dtype), jnp.asarray(y, sums), jnp.asarray(theta, sums))
    if got.dtype != sums:
        stop(f"Not run: JAX's {kind} gradient is of {got.dtype}.")
    roundoff = {"float64": 2.0**-53, "float32": 2.0**-24, "tf32": 2.0**-11, "bfloat16": 2.0**-9}[kind]
    in_sums = 2.0**-53 if kind == "float64" else 2.0**-24
    size = numpy.abs(x).astype(float)
    # residual: rounded once, and moved by at most a quarter of the error of its margin (3 roundings of d terms);
    # the product: one rounding of each factor; the sums are in float.
    of_margin = 0.25 * (2 * roundoff + 2 * d * in_sums) * (size @ numpy.abs(theta).T)
    bound = (of_margin + (2 * roundoff + 2 * n * in_sums) * numpy.abs(weight)).T @ size
    error = numpy.abs(numpy.asarray(got, float) - exact)
    if not (error <= 1.1 * bound).all():
        stop(f"Not run: JAX's {kind} gradient is off by {error.max():.3g}, at most {bound.max():.3g} was expected.")


def measure(kind, x, y, chains):
    """Median seconds of a step. The number of steps is compiled in, so that the loop needs nothing of the host; a guess
    at the card's rates makes them about a tenth of a second."""
    n, d = x.shape
    guess = max(8.0 * n * d / 2e12, 4.0 * n * d * chains / 2e13) + 2e-5
    steps = max(4, min(5000, round(0.1 / guess)))
    theta = jnp.zeros((chains, d), KINDS[kind][2])
    key = jax.random.key(1)

    def run():
        begin = time.perf_counter()
        jax.block_until_ready(advance(kind, steps, x, y, theta, key))
        return (time.perf_counter() - begin) / steps

    run()
    run()
    return statistics.median(run() for _ in range(5))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--shapes", default="32561x108,581012x54,1000000x100")
    parser.add_argument("--chains", default="1,16,256,1024")
    parser.add_argument("--any-device", action="store_true")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds

    device = jax.devices()[0]
    if device.platform not in ("gpu", "cuda") and not arguments.any_device:
        stop("Not run: JAX sees no GPU.")
    for kind in KINDS:
        check(kind)

    steps, late = [], 0
    for shape in arguments.shapes.split(","):
        n, d = map(int, shape.split("x"))
        one, two = jax.random.split(jax.random.key(2))
        x = jax.random.normal(one, (n, d), jnp.float32) / d**0.5
        y = jnp.where(jax.random.bernoulli(two, 0.5, (n,)), 1.0, -1.0)
        for kind, (dtype, _, sums) in KINDS.items():
            typed, labels = x.astype(dtype), y.astype(sums)
            for chains in map(int, arguments.chains.split(",")):
                if time.monotonic() > end:
                    late += 1
                    continue
                steps.append({"rows": n, "features": d, "chains": chains, "arithmetic": kind,
                              "seconds": measure(kind, typed, labels, chains)})
    report = {"version": jax.__version__, "device": device.device_kind, "steps": steps}
    if late:
        report["note"] = f"{late} cases were left out: no time."
    print(json.dumps(report))


if __name__ == "__main__":
    main()
