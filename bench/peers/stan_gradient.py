"""Peer: Stan: bernoulli_logit_glm and its reverse mode (stan_gradient.cpp), one chain after another as Stan has it, chains
shared among threads. Stan computes in double. See common.py."""

import ctypes
import pathlib
import sys

import common


def prepare(case):
    import numpy

    if case.dtype == "float":
        raise common.Skip("Stan computes in double")
    path = pathlib.Path(sys.prefix) / "lib/stan_gradient.so"
    if not path.exists():
        raise common.Skip("stan_gradient.cpp is not built; scripts/bench-peers builds it")
    library = ctypes.CDLL(str(path))
    library.stan_table.restype = ctypes.c_void_p
    library.stan_version.restype = ctypes.c_char_p

    def pointer(array):
        return ctypes.c_void_p(array.ctypes.data)

    def load(data):
        y = (data.y > 0).astype(numpy.int32)
        table = ctypes.c_void_p(library.stan_table(pointer(data.x), pointer(y), ctypes.c_ssize_t(len(y)),
                                                   ctypes.c_ssize_t(data.x.shape[1])))

        def variants(theta):
            out = numpy.empty_like(theta)

            def gradient():
                library.stan_gradients(table, pointer(theta), ctypes.c_ssize_t(len(theta)), ctypes.c_int(case.threads),
                                       pointer(out))
                return out
            return {"bernoulli_logit_glm": gradient}
        return variants
    return f"Stan Math {library.stan_version().decode()}", load


common.run("Stan", prepare)
