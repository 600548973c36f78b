"""Peer: BlackJAX's NUTS after its window adaptation. Variants as in ess_numpyro.py. See ess_common.py."""

import os

import ess_common


def sample(case):
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={case.chains}"
    import blackjax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", case.dtype == "double")

    def log_density(theta, x, y):
        margin = x @ theta
        return jnp.sum(y * margin - jax.nn.softplus(margin)) - theta @ theta / 2

    def warm_up(key, x, y):
        place, adapt, later = jax.random.split(key, 3)
        start = jax.random.uniform(place, (x.shape[1],), x.dtype, -2, 2)
        adaptation = blackjax.window_adaptation(blackjax.nuts, lambda theta: log_density(theta, x, y),
                                                is_mass_matrix_diagonal=not case.variant.endswith("-dense"))
        (state, parameters), info = adaptation.run(adapt, start, case.warm_up)
        arrays = {name: parameters[name] for name in ("step_size", "inverse_mass_matrix")}
        return (state, arrays, later), info.info.num_integration_steps

    def draw(adapted, x, y):
        state, parameters, key = adapted
        kernel = blackjax.nuts(lambda theta: log_density(theta, x, y), **parameters)

        def step(state, key):
            state, info = kernel.step(key, state)
            return state, (state.position, info.num_integration_steps, info.is_divergent)
        return jax.lax.scan(step, state, jax.random.split(key, case.draws))[1]

    draws, fields = ess_common.jax_runs(case, warm_up, draw)
    return f"BlackJAX {blackjax.__version__}, JAX {jax.__version__}", draws, fields


ess_common.run("BlackJAX", sample)
