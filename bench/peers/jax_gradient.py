"""Peer: JAX on the CPU (XLA): the closed form, the same in blocks of rows, and jax.grad of the loss. See common.py."""

import common


def prepare(case):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", case.dtype == "double")

    def closed(x, y, theta):
        return (-y[:, None] * jax.nn.sigmoid(-y[:, None] * (x @ theta.T))).T @ x

    def derived(x, y, theta):
        return jax.vmap(jax.grad(lambda one: jnp.sum(jax.nn.softplus(-y * (x @ one)))))(theta)

    def load(data):
        x, y = jnp.asarray(data.x), jnp.asarray(data.y)

        def bind(function, theta):
            compiled = jax.jit(function)
            return lambda: compiled(x, y, theta).block_until_ready()

        def blocks(rows):
            def gradient(x, y, theta):
                count = len(y) // rows
                cut = count * rows

                def one(total, block):
                    return total + closed(*block, theta), None

                total, _ = jax.lax.scan(one, jnp.zeros_like(theta), (x[:cut].reshape(count, rows, -1),
                                                                     y[:cut].reshape(count, rows)))
                return total + closed(x[cut:], y[cut:], theta)
            return gradient

        def variants(theta):
            rows = common.block_rows(data, len(theta), 4 << 20)
            theta, found = jnp.asarray(theta), {}
            if common.whole_fits(data, len(theta), 3):
                found = {"closed form": bind(closed, theta), "jax.grad": bind(derived, theta)}
            if rows < len(y):
                found[f"closed form, blocks of {rows} rows"] = bind(blocks(rows), theta)
            return found
        return variants
    return f"JAX {jax.__version__}", load


common.run("JAX", prepare)
