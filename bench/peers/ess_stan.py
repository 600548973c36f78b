"""Peer: Stan's NUTS (bernoulli_logit_glm) through PyStan, a process for each chain. Stan times each chain: the seconds are
their sum over the processes that run at once. See ess_common.py."""

import json
import os
import pathlib
import re
import sys
import time

import common
import ess_common

MODEL = """
data { int<lower=1> n; int<lower=1> d; matrix[n, d] x; array[n] int<lower=0, upper=1> y; }
parameters { vector[d] theta; }
model { theta ~ normal(0, 1); y ~ bernoulli_logit_glm(x, 0, theta); }
"""


def sample(case):
    if case.dtype == "float":
        raise common.Skip("Stan computes in double")
    os.environ["XDG_CACHE_HOME"] = str(pathlib.Path(sys.prefix) / "cache")
    import httpstan
    import numpy
    import stan

    x, y = case.load()
    data = {"n": len(y), "d": x.shape[1], "x": x, "y": y}
    begin = time.perf_counter()
    posterior = stan.build(MODEL, data=data, random_seed=case.seed)
    compiling = time.perf_counter() - begin
    fit = posterior.sample(num_chains=case.chains, num_samples=case.draws, num_warmup=case.warm_up, save_warmup=True)
    said = " ".join(str(json.loads(line)["values"]) for output in fit.stan_outputs for line in output.splitlines()
                    if json.loads(line)["topic"] == "logger")
    at_once = min(case.chains, case.threads)
    seconds = {part: sum(map(float, re.findall(rf"([0-9.e+-]+) seconds \({part}\)", said))) / at_once
               for part in ("Warm-up", "Sampling")}


    def column(name):  # [(warm-up + draws) x chains] after PyStan has put the chains of a draw side by side
        return numpy.asarray(fit[name]).reshape(-1, case.warm_up + case.draws, case.chains)[0]

    steps, divergent = column("n_leapfrog__"), column("divergent__")
    draws = numpy.asarray(fit["theta"]).reshape(x.shape[1], case.warm_up + case.draws, case.chains)
    return f"Stan of httpstan {httpstan.__version__}", draws[:, case.warm_up:].transpose(2, 1, 0), {
        "compile_seconds": compiling, "warm_up_seconds": seconds["Warm-up"], "sampling_seconds": seconds["Sampling"],
        "warm_up_gradients": int(steps[:case.warm_up].sum()), "gradients": int(steps[case.warm_up:].sum()),
        "divergent": int(divergent[case.warm_up:].sum())}


ess_common.run("Stan", sample)
