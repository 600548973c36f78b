"""Arrays that are not in the CPU's memory, by DLPack: host memory stands in for a GPU's, and a
function of Python for CUDA's copies (never run on a card)."""

import ctypes
import functools
import gc
import threading
import warnings

import numpy as np
import pytest

import gibbsite
from gibbsite import PrivateLogisticRegression, _core

from conftest import numbers

CUDA, CUDA_HOST, ROCM, CUDA_MANAGED = 2, 3, 10, 13
CODES = {"f": 2, "i": 0, "u": 1, "b": 6, "c": 5}


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, Destructor]
kept = {}  # what capsules point to, until they go


@Destructor
def let_go(capsule):
    kept.pop(capsule, None)


class Fake:
    """An array on device (kind, number), whose values are those of a NumPy array."""

    def __init__(self, array, kind=CUDA, number=1, versioned=True, offset=0, spoil=None, fails=None):
        self.array, self.place, self.versioned = array, (kind, number), versioned
        self.offset, self.spoil, self.fails = offset, spoil, fails
        self.shape, self.ndim, self.asked = array.shape, array.ndim, []

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, **wishes):
        self.asked.append(wishes)
        if self.fails is not None:
            raise self.fails
        if not self.versioned and "max_version" in wishes:
            raise TypeError("unexpected keyword argument 'max_version'")
        array = self.array
        size = array.itemsize
        held = (Versioned if self.versioned else Managed)()
        if self.versioned:
            held.major, held.flags = 1, 1  # read only
        tensor = held.tensor
        tensor.data = array.ctypes.data - self.offset
        tensor.byte_offset = self.offset
        tensor.device_type, tensor.device_id = self.place
        tensor.ndim = array.ndim
        tensor.code, tensor.bits, tensor.lanes = CODES[array.dtype.kind], 8 * size, 1
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        strides = (ctypes.c_int64 * array.ndim)(*(stride // size for stride in array.strides))
        tensor.shape, tensor.strides = shape, strides
        if self.spoil is not None:
            self.spoil(held)
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        capsule = new_capsule(ctypes.addressof(held), name, let_go)
        kept[id(capsule)] = (held, shape, strides, array)
        return capsule


@pytest.fixture
def card(monkeypatch):
    """The calls of copies, (device, bytes, thread); what they read is checked to be in `memory`."""
    calls, memory = [], []

    def copy(device, address, pitch, width, height):
        assert pitch >= width > 0 and height > 0
        end = address + (height - 1) * pitch + width
        assert any(first <= address and end <= last for first, last in memory), "out of bounds"
        calls.append((device, width * height, threading.get_ident()))
        runs = (ctypes.string_at(address + i * pitch, width) for i in range(height))
        return b"".join(runs)

    copy.calls, copy.memory = calls, memory
    _core._set_device_copy(copy)
    yield copy
    _core._set_device_copy(None)
    gc.collect()
    assert not kept  # every capsule was freed


def within(card, array):
    base = array
    while base.base is not None:
        base = base.base
    card.memory[:] = [(base.ctypes.data, base.ctypes.data + base.nbytes)]
    return array


SCHEMA = gibbsite.Schema.parse(
    'label = "y"\npositive = "1"\ninvalid = "middle"\n[columns]\n'
    'x = {type = "number", range = [-3, 3], count = 3}\n'
)




@functools.cache
def any_model():
    X, y = numbers(200)
    data = gibbsite.read_array(X, np.where(y == 1, 1, -1).astype(np.float32), SCHEMA)
    plan = gibbsite.plan(epsilon=10.0, delta=1e-6, rows=data.rows, schema=SCHEMA)
    return gibbsite.fit(data, plan, seed=1)


def seen(X, labels):
    """What a model says of every row, in double, of which a bit changes with the row's."""
    data = gibbsite.read_array(X, labels, SCHEMA)
    said = np.asarray(any_model().predict_probabilities(data))
    return said.tobytes() + data.positive.tobytes(), data.counts


def arrays(rows):
    """Pairs (name, array): equal numbers with different strides."""
    X, y = numbers(rows)
    X = X.astype(np.float32)
    wide = np.zeros((2 * rows, 9), np.float32)
    wide[::2, ::3] = X
    far = np.zeros((rows, 200), np.float32)
    far[:, ::70] = X
    padded = np.zeros((rows, 8), np.float32)
    padded[:, 2:5] = X
    yield "C", X
    yield "F", np.asfortranarray(X)
    yield "backwards", np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    yield "steps", wide[::2, ::3]
    yield "far apart", far[:, ::70]
    yield "padded", padded[:, 2:5]
    yield "F backwards", np.asfortranarray(X[:, ::-1])[:, ::-1]


@pytest.mark.parametrize("rows", [1, 300, 400_000])
def test_bits_are_those_of_the_same_array_on_the_host(card, rows):
    labels = np.where(numbers(rows)[1] == 1, 1, -1).astype(np.float32)
    expected = None
    for name, X in arrays(rows):
        for kind in CUDA, CUDA_MANAGED:
            x = Fake(within(card, X), kind, offset=16)
            card.calls.clear()
            got = seen(x, labels)
            expected = expected or seen(np.ascontiguousarray(X), labels)
            assert got == expected, name
            assert x.asked == [{"max_version": (1, 0), "stream": 1}]
            assert {device for device, _, _ in card.calls} == {1}
            assert max(size for _, size, _ in card.calls) <= 9 << 20  # blocks
            assert len(card.calls) >= X.nbytes >> 22


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
def test_every_type_is_read_as_its_float64(card, dtype):
    rows = 3000
    X = np.round(numbers(rows)[0] * (1 if dtype != "?" else 0)).astype("i8")
    X = (abs(X) if dtype[0] in "u?" else X).astype(dtype)
    labels = np.ones(rows, np.float32)
    wanted = X if dtype == "f4" else X.astype(np.float64)
    for order in X, np.asfortranarray(X), X[::-1]:
        host = wanted[::-1] if order.strides[0] < 0 else wanted
        assert seen(Fake(within(card, order)), labels) == seen(host, labels)
        assert seen(Fake(order, CUDA_HOST, 0), labels) == seen(host, labels)


def test_overlapping_and_repeated_rows(card):
    line = numbers(1000)[0].ravel()
    for X in np.lib.stride_tricks.sliding_window_view(line, 3), np.broadcast_to(line[:3], (50, 3)):
        labels = np.ones(len(X), np.float32)
        within(card, line)
        assert seen(Fake(X), labels) == seen(np.ascontiguousarray(X), labels)


def test_estimators(card):
    X, y = numbers(500)
    public = {"ranges": (-3, 3), "random_state": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gibbsite.VoidWarning)
        host = PrivateLogisticRegression(10.0, 1e-6, **public).fit(X, y)
        within(card, X)
        card.memory.append((y.ctypes.data, y.ctypes.data + y.nbytes))
        model = PrivateLogisticRegression(10.0, 1e-6, **public).fit(Fake(X), Fake(y))
        one = PrivateLogisticRegression(10.0, 1e-6, **public)
        pinned = one.fit(Fake(X, CUDA_HOST), Fake(y, CUDA_HOST))
    assert model.to_json() == host.to_json() == pinned.to_json()
    assert (model.classes_ == host.classes_).all() and model.classes_.dtype == host.classes_.dtype
    assert (model.predict_proba(Fake(X)) == host.predict_proba(X)).all()
    assert model.score(Fake(X), Fake(y)) == host.score(X, y)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        model.predict(Fake(y))
    with pytest.raises(ValueError, match="X has 2 features"):
        model.predict(Fake(X[:, :2]))


def test_producers_from_before_versions(card):
    X = within(card, numbers(50)[0])
    x = Fake(X, versioned=False)
    labels = np.ones(50, np.float32)
    assert seen(x, labels) == seen(X, labels)
    assert x.asked == [{"max_version": (1, 0), "stream": 1}, {"stream": 1}]


def spoiled(field, value, of="tensor"):
    def spoil(held):
        setattr(held.tensor if of == "tensor" else held, field, value)

    return spoil


def shaped(*shape):
    def spoil(held):
        for j, count in enumerate(shape):
            held.tensor.shape[j] = count

    return spoil


def strided(*strides):
    def spoil(held):
        for j, count in enumerate(strides):
            held.tensor.strides[j] = count

    return spoil


@pytest.mark.parametrize(
    "change, said",
    [
        ({"kind": ROCM}, "DLPack's type 10, and only CUDA's are read"),
        ({"spoil": spoiled("major", 2, "held")}, "is of version 2 of DLPack"),
        ({"spoil": spoiled("device_id", 0)}, "is on another device than it says"),
        ({"spoil": spoiled("device_type", 1)}, "is on another device than it says"),
        ({"spoil": spoiled("ndim", 1)}, "has 1 dimensions and not 2"),
        ({"spoil": spoiled("bits", 12)}, "code 2, 12 bits"),
        ({"spoil": spoiled("lanes", 2)}, "that is not read"),
        ({"spoil": spoiled("code", 4)}, "code 4, 64 bits"),
        ({"spoil": spoiled("data", None)}, "has no values"),
        ({"spoil": shaped(-1, 3)}, "has a shape that cannot be"),
        ({"spoil": shaped(2**62, 3)}, "has a shape that cannot be"),
        ({"spoil": strided(2**62, 1)}, "has strides that cannot be"),
        ({"spoil": shaped(50, 2)}, "2 columns where the schema has 3"),
        ({"spoil": shaped(0, 3)}, "the table has no rows"),
        ({"fails": BufferError("no\nway")}, r"cannot be handed over \(no\)"),
        ({"fails": RuntimeError()}, r"cannot be handed over \(RuntimeError\)"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(card, change, said):
    X = within(card, numbers(50)[0])
    labels = None if "shape" in repr(change) else np.ones(50, np.float32)
    with pytest.raises(gibbsite.BadInput, match=said) as raised:
        gibbsite.read_array(Fake(X, **change), labels, SCHEMA, labels_optional=labels is None)
    assert "\n" not in str(raised.value) and str(raised.value).startswith("array")
    assert not card.calls


def test_no_tensor(card):
    class Odd(Fake):
        def __dlpack__(self, **wishes):
            return 5

    with pytest.raises(gibbsite.BadInput, match="array: its __dlpack__ gave no tensor"):
        gibbsite.read_array(Odd(numbers(5)[0]), None, SCHEMA, labels_optional=True)


def test_a_copy_that_fails_ends_the_fit(card, tmp_path):
    X, y = numbers(5000)
    within(card, X)
    _core._set_device_copy(lambda *_: b"short")
    ledger = gibbsite.Ledger.create(str(tmp_path / "a.ledger"), epsilon=1.0, delta=1e-6)
    before = (tmp_path / "a.ledger").read_bytes()
    model = PrivateLogisticRegression(1.0, 1e-6, ranges=(-3, 3), ledger=ledger)
    with pytest.raises(gibbsite.BadInput, match="a copy of another size"):
        model.fit(Fake(X), y)
    assert (tmp_path / "a.ledger").read_bytes() == before and not hasattr(model, "coef_")


def test_without_the_copier_one_line_says_what_is_missing():
    """A build without CUDA, or a machine without a card."""
    x = Fake(numbers(50)[0])
    for read in (
        lambda: gibbsite.read_array(x, np.ones(50, np.float32), SCHEMA),
        lambda: PrivateLogisticRegression(1.0, 1e-6, ranges=(-3, 3)).fit(x, np.ones(50)),
    ):
        with pytest.raises(gibbsite.BackendUnavailable, match="array is on (a )?GPU") as raised:
            read()
        said = str(raised.value)
        assert "array.get() or array.cpu()" in said and "\n" not in said
    assert not x.asked  # no work is begun there
