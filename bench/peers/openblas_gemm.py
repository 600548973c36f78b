"""Peer: two products by OpenBLAS and numpy's exp between them, the whole table at once or in blocks of rows that stay in
cache, the blocks over a pool of threads (numpy's own functions use one). See common.py."""

import concurrent.futures

import common


def prepare(case):
    import numpy
    import scipy
    import scipy.linalg.blas
    import threadpoolctl

    controller = threadpoolctl.ThreadpoolController().select(internal_api="openblas")
    # numpy and scipy may each bring their own.
    libraries = sorted({f"OpenBLAS {entry['version']} ({entry['architecture']})" for entry in controller.info()})
    if not libraries:
        raise common.Skip("numpy's products are not by OpenBLAS here")
    version = f"{', '.join(libraries)}, numpy {numpy.__version__}, scipy {scipy.__version__}"
    numpy.seterr(over="ignore")  # 1 / (1 + inf) is what is meant
    pool = concurrent.futures.ThreadPoolExecutor(case.threads)
    in_use = [None]
    gemm = scipy.linalg.blas.sgemm if case.dtype == "float" else scipy.linalg.blas.dgemm

    def use_threads(count):
        """Sets OpenBLAS's number of threads if it changes: that costs as much as a small gradient."""
        if in_use[0] != count:
            controller.limit(limits=count)
            in_use[0] = count

    def logistic(margins):
        """In place."""
        numpy.negative(margins, out=margins)
        numpy.exp(margins, out=margins)
        margins += 1
        numpy.reciprocal(margins, out=margins)

    def load(data):
        n, table = len(data.y), data.signed()

        def whole(theta):
            one = len(theta) == 1
            weights = theta[0] if one else theta.T
            margins = numpy.empty(n if one else (n, len(theta)), data.dtype)

            def gradient():
                use_threads(case.threads)
                numpy.matmul(table, weights, out=margins)
                logistic(margins)
                return (margins.T @ table).reshape(theta.shape)
            return gradient

        edges = [n * k // case.threads for k in range(case.threads + 1)]

        def over_pool(part):
            def gradient():
                use_threads(1)
                if case.threads == 1:
                    return part(0, n)
                return sum(pool.map(part, edges, edges[1:]))
            return gradient

        def blocked(theta, rows):
            one = len(theta) == 1
            weights = theta[0] if one else theta.T

            def part(begin, end):
                total = numpy.zeros(theta.shape, data.dtype)
                space = numpy.empty(rows if one else (rows, len(theta)), data.dtype)
                for at in range(begin, end, rows):
                    x = table[at:min(at + rows, end)]
                    margins = space[:len(x)]
                    numpy.matmul(x, weights, out=margins)
                    logistic(margins)
                    total += margins.T @ x
                return total
            return over_pool(part)

        def accumulated(theta, rows):
            """scipy's gemm adds to what is there; its arrays are by columns, so everything is transposed."""
            def part(begin, end):
                total = numpy.zeros(theta.shape, data.dtype, order="F")
                for at in range(begin, end, rows):
                    x = table[at:min(at + rows, end)]
                    margins = gemm(1, theta.T, x.T, trans_a=True)
                    logistic(margins)
                    total = gemm(1, margins, x.T, trans_b=True, beta=1, c=total, overwrite_c=True)
                return total
            return over_pool(part)

        def variants(theta):
            small, large = (common.block_rows(data, len(theta), size) for size in (512 << 10, 4 << 20))
            found = {f"blocks of {small} rows": blocked(theta, small), f"blocks of {large} rows": blocked(theta, large),
                     f"blocks of {small} rows, scipy's gemm": accumulated(theta, small)}
            if common.whole_fits(data, len(theta), 1):
                found["whole"] = whole(theta)
            return found
        return variants
    return version, load


common.run("OpenBLAS", prepare)
