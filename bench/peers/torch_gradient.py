"""Peer: PyTorch on the CPU: two products and a sigmoid, whole or in blocks of rows, and torch.compile of the whole where
there is time for it. See common.py."""

import shutil

import common

COMPILE_SECONDS = 4  # of time for a case: below, compiling costs more than is left to measure


def prepare(case):
    import torch

    torch.set_num_threads(case.threads)
    torch.set_grad_enabled(False)

    def closed(x, theta):
        return (x @ theta.T).sigmoid_().T @ x

    @torch.compile(dynamic=True)
    def compiled(x, theta):
        return torch.sigmoid(x @ theta.T).T @ x

    def load(data):
        x = torch.from_numpy(data.signed())

        def variants(theta):
            rows = common.block_rows(data, len(theta), 4 << 20)
            theta = torch.from_numpy(theta)

            def blocks():
                total = torch.zeros_like(theta)
                for part in x.split(rows):
                    total += closed(part, theta)
                return total

            found = {f"blocks of {rows} rows": blocks}
            if common.whole_fits(data, len(theta), 2):
                found["whole"] = lambda: closed(x, theta)
                if case.seconds >= COMPILE_SECONDS and shutil.which("g++"):
                    found["torch.compile"] = lambda: compiled(x, theta)
            return found
        return variants
    return f"PyTorch {torch.__version__}", load


common.run("PyTorch", prepare)
