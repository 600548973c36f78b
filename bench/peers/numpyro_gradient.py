"""Peer: NumPyro: gradient of the potential energy of a logistic regression with a flat prior, mapped over chains and
jitted, as its samplers take it. See common.py."""

import common


def prepare(case):
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions
    from numpyro.infer.util import potential_energy

    numpyro.enable_x64(case.dtype == "double")

    def model(x, y):
        flat = distributions.ImproperUniform(distributions.constraints.real_vector, (), (x.shape[1],))
        numpyro.sample("y", distributions.Bernoulli(logits=x @ numpyro.sample("theta", flat)), obs=y)

    def load(data):
        x, y = jnp.asarray(data.x), jnp.asarray(data.y > 0, jnp.int32)

        @jax.jit
        def gradient(x, y, theta):
            return jax.vmap(jax.grad(lambda one: potential_energy(model, (x, y), {}, {"theta": one})))(theta)

        def variants(theta):
            if not common.whole_fits(data, len(theta), 3):
                raise common.Skip("rows x chains does not fit in a quarter of memory")
            theta = jnp.asarray(theta)
            return {"potential_energy": lambda: gradient(x, y, theta).block_until_ready()}
        return variants
    return f"NumPyro {numpyro.__version__}, JAX {jax.__version__}", load


common.run("NumPyro", prepare)
