"""Peer: nutpie's NUTS (in Rust) on PyMC's model, compiled by Numba. Variant "low-rank" lets its metric have a low rank beside
the diagonal. It times warm-up and draws together: each is given the share that its gradients are. See ess_common.py."""

import time

import common
import ess_common


def sample(case):
    if case.dtype == "float":
        raise common.Skip("nutpie's model computes in double")
    import nutpie
    import pymc

    x, y = case.load()
    with pymc.Model() as model:
        theta = pymc.Normal("theta", 0, 1, shape=x.shape[1])
        pymc.Bernoulli("y", logit_p=pymc.math.dot(x, theta), observed=y)
    begin = time.perf_counter()
    compiled = nutpie.compile_pymc_model(model)
    options = {"chains": case.chains, "cores": min(case.chains, case.threads), "seed": case.seed, "progress_bar": False,
               "save_warmup": True, "low_rank_modified_mass_matrix": case.variant == "low-rank"}
    nutpie.sample(compiled, draws=2, tune=2, **options)  # what is compiled at the first call
    compiling = time.perf_counter() - begin
    begin = time.perf_counter()
    trace = nutpie.sample(compiled, draws=case.draws, tune=case.warm_up, **options)
    seconds = time.perf_counter() - begin
    warm, drawn = (int(trace[group]["n_steps"].sum()) for group in ("warmup_sample_stats", "sample_stats"))
    return f"nutpie {nutpie.__version__}, PyMC {pymc.__version__}", trace.posterior["theta"].values, {
        "compile_seconds": compiling, "warm_up_seconds": seconds * warm / (warm + drawn),
        "sampling_seconds": seconds * drawn / (warm + drawn), "warm_up_gradients": warm, "gradients": drawn,
        "divergent": int(trace.sample_stats["diverging"].sum())}


ess_common.run("nutpie", sample)
