"""Peer: oneDNN through its C API: a product with the logistic function as its post-operation, then a product that adds to
the gradient; the whole table or blocks of rows, margins stored by rows or by chains. oneDNN has no
product in double. See common.py."""

import ctypes
import pathlib
import sys

import common

# Constants from oneDNN's C header, version 3.
CPU, DEFAULT_STREAM, FLOAT = 1, 1, 3
LOGISTIC = 41
SOURCE, DESTINATION, WEIGHTS = 1, 17, 33


class Argument(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("memory", ctypes.c_void_p)]


class Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int)]


class Library:
    """The few functions used; a status that is not 0 is an error."""

    def __init__(self):
        path = pathlib.Path(sys.prefix) / "lib/libdnnl.so.3"
        if not path.exists():
            raise common.Skip("no oneDNN 3 in this environment")
        self.library = ctypes.CDLL(str(path))
        self.library.dnnl_version.restype = ctypes.POINTER(Version)
        found = self.library.dnnl_version().contents
        self.version = f"oneDNN {found.major}.{found.minor}.{found.patch}"
        self.engine = self.make("engine_create", ctypes.c_int(CPU), ctypes.c_size_t(0))
        self.stream = self.make("stream_create", self.engine, ctypes.c_uint(DEFAULT_STREAM))

    def call(self, name, *arguments):
        status = getattr(self.library, f"dnnl_{name}")(*arguments)
        if status != 0:
            raise common.Skip(f"dnnl_{name} failed with status {status}")

    def make(self, name, *arguments):
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), *arguments)
        return made

    def layout(self, array):
        """The memory descriptor of a matrix; a view keeps its strides."""
        dims = (ctypes.c_int64 * 2)(*array.shape)
        strides = (ctypes.c_int64 * 2)(*(step // array.itemsize for step in array.strides))
        return self.make("memory_desc_create_with_strides", ctypes.c_int(2), dims, ctypes.c_int(FLOAT), strides)

    def memory(self, array):
        return self.make("memory_create", self.layout(array), self.engine, ctypes.c_void_p(array.ctypes.data))

    def product(self, left, right, out, after):
        """out = left right with what `after` appends to its post-operations; a function of no arguments."""
        operations = self.make("post_ops_create")
        after(operations)
        attributes = self.make("primitive_attr_create")
        self.call("primitive_attr_set_post_ops", attributes, operations)
        description = self.make("matmul_primitive_desc_create", self.engine, self.layout(left), self.layout(right),
                                None, self.layout(out), attributes)
        primitive = self.make("primitive_create", description)
        given = {SOURCE: left, WEIGHTS: right, DESTINATION: out}
        arguments = (Argument * len(given))(*((kind, self.memory(array)) for kind, array in given.items()))
        return lambda: self.call("primitive_execute", primitive, self.stream, ctypes.c_int(len(given)), arguments)

    def logistic(self, operations):
        self.call("post_ops_append_eltwise", operations, ctypes.c_int(LOGISTIC), ctypes.c_float(0), ctypes.c_float(0))

    def added(self, operations):
        self.call("post_ops_append_sum", operations, ctypes.c_float(1), ctypes.c_int32(0), ctypes.c_int(FLOAT))


def prepare(case):
    import numpy

    if case.dtype == "double":
        raise common.Skip("oneDNN has no product in double on a CPU")
    dnn = Library()

    def load(data):
        n, signed = len(data.y), data.signed()

        def variant(theta, rows, by_rows):
            total, calls = numpy.zeros_like(theta), []
            space = numpy.empty(rows * len(theta), numpy.float32)
            for at in range(0, n, rows):
                x = signed[at:at + rows]
                if by_rows:
                    margins = space[:len(x) * len(theta)].reshape(len(x), len(theta))
                    calls.append(dnn.product(x, theta.T, margins, dnn.logistic))
                    calls.append(dnn.product(margins.T, x, total, dnn.added))
                else:
                    margins = space[:len(x) * len(theta)].reshape(len(theta), len(x))
                    calls.append(dnn.product(theta, x.T, margins, dnn.logistic))
                    calls.append(dnn.product(margins, x, total, dnn.added))

            def gradient():
                total[:] = 0
                for call in calls:
                    call()
                dnn.call("stream_wait", dnn.stream)
                return total
            gradient.keep = space, theta  # oneDNN has addresses
            return gradient

        def variants(theta):
            sizes = {f"blocks of {rows} rows": rows
                     for rows in (common.block_rows(data, len(theta), size) for size in (512 << 10, 4 << 20)) if rows < n}
            if common.whole_fits(data, len(theta), 1):
                sizes["whole"] = n
            return {f"{name}, margins by {order}": variant(theta, rows, order == "rows")
                    for name, rows in sizes.items() for order in ("rows", "chains")}
        return variants
    return dnn.version, load


common.run("oneDNN", prepare)
