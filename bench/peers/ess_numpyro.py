"""Peer: NumPyro's NUTS at its defaults. Variants: parallel (a device for each chain) or vectorized, with "-dense" a dense mass
matrix that it adapts, with "-laplace" the inverse Hessian at the mode, not adapted: gibbsite's metric; with
"-grouped" equal rows as one binomial. See ess_common.py."""

import os

import ess_common


def sample(case):
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={case.chains}"
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions
    from numpyro.infer import NUTS

    numpyro.enable_x64(case.dtype == "double")

    def model(x, y):
        prior = distributions.Normal(0, 1).expand([x.shape[1]]).to_event(1)
        margin = x @ numpyro.sample("theta", prior)
        if y.ndim == 2:
            numpyro.sample("y", distributions.Binomial(y[1], logits=margin), obs=y[0])
        else:
            numpyro.sample("y", distributions.Bernoulli(logits=margin), obs=y)

    if "-laplace" in case.variant:
        mass = {"inverse_mass_matrix": jnp.asarray(ess_common.laplace(*case.load())[1]), "adapt_mass_matrix": False,
                "dense_mass": True}
    else:
        mass = {"dense_mass": case.variant.endswith("-dense")}
    kernel = NUTS(model, **mass)

    def warm_up(key, x, y):
        state = kernel.init(key, case.warm_up, None, model_args=(x, y), model_kwargs={})

        def step(state, _):
            state = kernel.sample(state, (x, y), {})
            return state, state.num_steps
        return jax.lax.scan(step, state, length=case.warm_up)

    def draw(state, x, y):
        def step(state, _):
            state = kernel.sample(state, (x, y), {})
            return state, (state.z["theta"], state.num_steps, state.diverging)
        return jax.lax.scan(step, state, length=case.draws)[1]

    draws, fields = ess_common.jax_runs(case, warm_up, draw)
    return f"NumPyro {numpyro.__version__}, JAX {jax.__version__}", jnp.asarray(draws), fields


ess_common.run("NumPyro", sample)
