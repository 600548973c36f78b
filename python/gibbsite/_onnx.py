"""A model file as an ONNX graph: encoding, clipping and link in one, for programs that know no
gibbsite. docs/how-to/onnx.md."""

import datetime
import json
import os
import re
import tempfile

import numpy as np

from . import _core

OPSET = 17
_ML_OPSET = 3  # LabelEncoder of text to whole numbers
_IR_VERSION = 8
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_BOOLEANS = {  # model/boolean.hpp
    "false": ("false", "f", "no", "n", "0"),
    "true": ("true", "t", "yes", "y", "1"),
}
_REFUSED = -2  # of a category: a cell that `predict` refuses
_NO_LEVEL = -1


def _onnx():
    try:
        import onnx
    except ImportError:
        raise ImportError(
            "writing ONNX takes onnx; install it (pip install 'gibbsite[onnx]')"
        ) from None
    return onnx


class _Graph:
    """Nodes one after the other; every method returns the name of what it computes."""

    def __init__(self, onnx, taken):
        self.onnx = onnx
        self.prefix = "gibbsite"
        while any(name.startswith(self.prefix) for name in taken):
            self.prefix += "_"
        self.nodes, self.initializers = [], []

    def _name(self):
        return f"{self.prefix}/{len(self.nodes) + len(self.initializers)}"

    def constant(self, values):
        values = np.asarray(values)
        name = self._name()
        if values.dtype.kind == "U":
            helper = self.onnx.helper
            text = [str(value).encode() for value in values.ravel()]
            tensor = helper.make_tensor(
                name, self.onnx.TensorProto.STRING, list(values.shape), text
            )
        else:
            tensor = self.onnx.numpy_helper.from_array(values, name)
        self.initializers.append(tensor)
        return name

    def node(self, op, *inputs, out=None, domain="", **attributes):
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        out = out or self._name()
        self.nodes.append(
            self.onnx.helper.make_node(op, names, [out], domain=domain, **attributes)
        )
        return out

    def cast(self, x, kind, out=None):
        return self.node("Cast", x, out=out, to=getattr(self.onnx.TensorProto, kind))

    def as_float(self, x):
        """Rounded as rows are kept in memory."""
        return self.cast(self.cast(x, "FLOAT"), "DOUBLE")

    def isnan(self, x):
        return self.node("IsNaN", x)

    def sum(self, x, axis):
        return self.node("ReduceSum", x, np.array([axis], np.int64), keepdims=1)

    def mean(self, x, axis):
        return self.node("ReduceMean", x, axes=[axis], keepdims=0)


def _number_of(text):
    """A missing cell's text as a number; NaN where it is none."""
    return float(text) if text is not None and _NUMBER.fullmatch(text) else np.nan


def _missing_in(column, facts):
    """The marks of a missing cell."""
    missing = column.get("missing", facts["missing"])
    if missing is None:
        return []
    return [missing] if isinstance(missing, str) else missing


def _unread(facts):
    """Whether cells that cannot be read are refused."""
    return facts["invalid"] == "refuse"


def _marked(column, mark):
    """The number that a mark of missing cells marks, of dates a day; NaN where it is none."""
    if "date" not in column:
        return _number_of(mark)
    try:
        day = datetime.datetime.strptime(mark, column["date"]).date()
    except ValueError:
        return np.nan
    return float(day.toordinal() - datetime.date(1970, 1, 1).toordinal())


def _numbers(graph, columns, facts, names):
    """[rows, columns] double, as `predict` scales them; NaN where it refuses."""
    v = graph.node("Concat", *names, axis=1) if len(names) > 1 else names[0]
    lo = np.array([[column["range"][0] for column in columns]])
    hi = np.array([[column["range"][1] for column in columns]])
    has_missing = [bool(_missing_in(column, facts)) for column in columns]
    # A missing cell is NaN, or a number that the schema names.
    middle = lo + (hi - lo) / 2
    absent = np.where(_unread(facts) & ~np.array([has_missing]), np.nan, middle)
    strange = np.full_like(middle, np.nan) if _unread(facts) else middle
    marks = [_missing_in(column, facts) for column in columns]
    most = max(map(len, marks))
    tokens = [
        np.array([[_marked(column, of[k]) if k < len(of) else np.nan
                   for column, of in zip(columns, marks)]])
        for k in range(most)
    ]
    inside = graph.node("Min", graph.node("Max", v, lo), hi)
    inside = graph.node("Where", graph.node("IsInf", v), strange, inside)
    inside = graph.node("Where", graph.isnan(v), absent, inside)
    for token in tokens:
        if not np.isnan(token).all():
            inside = graph.node("Where", graph.node("Equal", v, token), middle, inside)
    return inside, lo, hi


_HAT_UNITS = 2.0**24  # hats are whole multiples of 1/_HAT_UNITS


def _hats(graph, x, at):
    """[rows, knots] double: the hat functions of knots `at` at the scaled numbers x [rows, 1], to
    the last bit as rows have them (model/curve.hpp)."""
    part = graph.node("Div", graph.node("Sub", x, at[None, :-1]), np.diff(at)[None])
    part = graph.node("Min", graph.node("Max", part, np.array(0.0)), np.array(1.0))
    units = np.array(_HAT_UNITS)
    # How far x is over each step: 1 before the one that it is in, 0 behind.
    over = graph.node("Div", graph.node("Round", graph.node("Mul", part, units)), units)
    ones = graph.node("Pad", over, np.array([0, 1, 0, 0], np.int64), np.array(1.0))
    zeros = graph.node("Pad", over, np.array([0, 0, 0, 1], np.int64), np.array(0.0))
    hats = graph.node("Sub", ones, zeros)
    return graph.node("Where", graph.isnan(x), np.array([[np.nan]]), hats)


def _scaled(graph, column, facts, name):
    """[rows, 1] double of a number, rounded as rows are; NaN where `predict` refuses."""
    inside, lo, hi = _numbers(graph, [column], facts, [name])
    return graph.as_float(graph.node("Div", graph.node("Sub", inside, lo), hi - lo))


def _at(column, knots):
    """Where knots are, as a part of the column's range."""
    low, high = column["range"]
    return (np.array(knots, np.float64) - low) / (high - low)


def _with_missing(graph, column, facts, name, x):
    """x [rows, features] with a feature of missing cells behind it, and 0 for them before."""
    missing = graph.isnan(name)
    for number in {_marked(column, mark) for mark in _missing_in(column, facts)}:
        if not np.isnan(number):
            equal = graph.node("Equal", name, np.array([[number]]))
            missing = graph.node("Or", missing, equal)
    x = graph.node("Where", missing, np.array([[0.0]]), x)
    return graph.node("Concat", x, graph.cast(missing, "DOUBLE"), axis=1)


def _products(graph, parts):
    """[rows, product of features] double: products of parts [rows, features], to the last bit as
    rows have them (model/interaction.hpp). A part's features add up to 1 or 0, two of them at the
    most are not 0, and these are neighbors: what a split leaves goes to the first of the two."""
    units = np.array(_HAT_UNITS)
    x, width = parts[0]
    for part, features in parts[1:]:
        # Which feature is the first one that is not 0, and which is its neighbor behind.
        there = graph.cast(graph.node("Greater", part, np.array(0.0)), "DOUBLE")
        before = graph.node("CumSum", there, np.array(1, np.int64), exclusive=1)
        first = graph.node("Mul", there, graph.cast(graph.node("Equal", before, np.array(0.0)), "DOUBLE"))
        behind = graph.node("Sub", there, first)
        whole = graph.node("Reshape", x, np.array([-1, width, 1], np.int64))
        shape = np.array([-1, 1, features], np.int64)
        share = graph.node("Reshape", part, shape)
        parted = graph.node("Mul", graph.node("Mul", whole, share), units)
        parted = graph.node("Div", graph.node("Floor", parted), units)
        next_one = graph.node("Mul", parted, graph.node("Reshape", behind, shape))
        left = graph.node("Sub", whole, graph.sum(next_one, 2))
        first = graph.node("Mul", left, graph.node("Reshape", first, shape))
        x = graph.node("Add", first, next_one)
        width *= features
        x = graph.node("Reshape", x, np.array([-1, width], np.int64))
    return x, width


def _interaction(graph, interaction, columns, facts):
    """[rows, features] double of an interaction; NaN where `predict` refuses. And how many."""
    parts, refused = [], None
    for name in interaction["columns"]:
        column = columns[name]
        if column["type"] == "number":
            at = _at(column, interaction["knots"][name])
            x, features = _hats(graph, _scaled(graph, column, facts, name), at), len(at)
            if _has_missing_level(column, facts):
                x, features = _with_missing(graph, column, facts, name, x), features + 1
        else:
            x, features = _category(graph, column, facts, name)
        unread = graph.isnan(graph.sum(x, 1))
        refused = unread if refused is None else graph.node("Or", refused, unread)
        parts.append((graph.node("Where", unread, np.array([[0.0]]), x), features))
    x, features = _products(graph, parts)
    return graph.node("Where", refused, np.array([[np.nan]]), x), features


def _has_missing_level(column, facts):
    """Whether a number has a feature of missing cells."""
    marked = bool(_missing_in(column, facts))
    return marked and column.get("missing_level", "knots" in column)


def _levels_of_number(graph, column, facts, name):
    """[rows, features] double of a number that is a curve or has a level of missing cells; NaN where
    `predict` refuses. And how many features."""
    x, features = _scaled(graph, column, facts, name), 1
    if "knots" in column:
        at = _at(column, column["knots"])
        x, features = _hats(graph, x, at), len(at)
    if _has_missing_level(column, facts):
        x, features = _with_missing(graph, column, facts, name, x), features + 1
    return x, features


def _category(graph, column, facts, name):
    """[rows, features] double; NaN where `predict` refuses. And how many features."""
    levels = {level: k for k, level in enumerate(column["levels"])}
    features = len(levels)
    missing = _missing_in(column, facts)
    codes = dict(levels)
    if column.get("boolean"):
        for level, words in _BOOLEANS.items():
            for word in words:
                codes.update({w: levels[level] for w in (word, word.title(), word.upper())})
    rest = levels.get(column.get("unlisted"))  # the level of cells that have none of their own
    missing_code = None
    if missing:
        listed = [mark for mark in missing if mark in levels]
        no_level = _NO_LEVEL if rest is None else rest
        missing_code = levels[listed[0]] if listed else no_level
        if not listed and "missing" in column:
            missing_code, features = features, features + 1
        codes.update(dict.fromkeys(missing, missing_code))
    other = None
    if column["other"] and rest is not None:
        other = rest
    elif column["other"]:
        other, features = features, features + 1
    unreadable = (
        _REFUSED if _unread(facts) else other if other is not None else _NO_LEVEL
    )
    # An empty text stands for a cell that is not there.
    if missing_code is None:
        missing_code = unreadable if rest is None or _unread(facts) else rest
    codes.setdefault("", missing_code)
    index = graph.node(
        "LabelEncoder",
        name,
        domain="ai.onnx.ml",
        keys_strings=list(codes),
        values_int64s=list(codes.values()),
        default_int64=other if other is not None else unreadable,
    )
    x = graph.cast(
        graph.node("Equal", index, np.arange(features, dtype=np.int64)[None, :]), "DOUBLE"
    )
    if _unread(facts):
        refused = graph.node("Equal", index, np.array([[_REFUSED]], np.int64))
        x = graph.node("Where", refused, np.array([[np.nan]]), x)
    return x, features


def _clipped(graph, x, columns_used, row_norm):
    """Rows longer than row_norm, scaled down to it (docs/reference/data.md, Clipping)."""
    if columns_used <= row_norm * row_norm:
        return x
    square = graph.sum(graph.node("Mul", x, x), 1)
    factor = graph.node(
        "Mul",
        graph.node("Div", np.array(row_norm), graph.node("Sqrt", square)),
        np.array(1 - 2.0**-24 - 2.0**-30),
    )
    is_long = graph.node("Greater", square, np.array(row_norm * row_norm))
    return graph.as_float(
        graph.node("Mul", x, graph.node("Where", is_long, factor, np.array(1.0)))
    )


def _losing(graph, z, link):
    """The probability of the class that z speaks against."""
    size = graph.node("Abs", z)
    one = np.array(1.0)
    e = graph.node("Exp", graph.node("Neg", size))
    s = graph.node("Div", e, graph.node("Add", one, e))
    if link is None:
        return s
    kind = link["kind"].partition("(")[0]
    if kind == "logistic-capped":
        return graph.node("Div", s, graph.node("Add", np.array(0.5), s))
    if kind == "smoothed-hinge":
        room = graph.node("Max", graph.node("Sub", one, size), np.array(0.0))
        share = graph.node("Div", room, graph.node("Add", one, room))
        return graph.node("Max", share, np.array(0.001))
    if kind == "capped-logistic":
        raise ValueError(
            "model.link: capped-logistic, of a file of gibbsite-release/2, has no graph; fit the "
            "model again"
        )
    raise ValueError(f"model.link.kind: {kind!r} is unknown; use a gibbsite that knows it")


def _draws(model):
    """[draws, classes or 1, features]."""
    coefficients = model["coefficients"]
    classes = model["preprocessing"].get("classes")
    if classes is not None:
        several = coefficients if isinstance(coefficients, list) else [coefficients]
        return np.array([[draw[name] for name in classes] for draw in several], np.float64)
    several = coefficients if isinstance(coefficients[0], list) else [coefficients]
    return np.array(several, np.float64)[:, None, :]


def onnx_model(text):
    """The graph of a model file's text: an onnx.ModelProto, checked.

    Inputs, one for each column that is used, by its name: float64 [rows, 1] of numbers, NaN where a
    cell is missing; text [rows, 1] of categories, "" where it is missing. Outputs: of classes
    `label`, text [rows], and `probabilities`, float32 [rows, classes] in the order of the file; of
    amounts and counts `prediction`, float64 [rows], in the label's own unit. A row that `predict`
    would refuse has NaN and the label "".
    """
    onnx = _onnx()
    helper, proto = onnx.helper, onnx.TensorProto
    file = json.loads(text)
    model, certificate = file["model"], file["certificate"]
    if "draws" in model:
        raise ValueError("the file holds draws of a family, not a model of rows; use query")
    facts = model["preprocessing"]
    for column in facts["columns"]:
        if "part" in column:
            raise ValueError(
                f"column {column['name']!r} is a part of a date, which ONNX has no cells for; predict by "
                "the file, or fit it as a column of its own"
            )
    used = [column for column in facts["columns"] if column["type"] not in ("ignore", "weight", "person")]
    graph = _Graph(onnx, [column["name"] for column in used])

    inputs, parts, order, first = [], [], [], 0
    numbers, number_names, number_features = [], [], []
    exposure = None
    for column in used:
        name = column["name"]
        kind = proto.STRING if column["type"] == "category" else proto.DOUBLE
        inputs.append(helper.make_tensor_value_info(name, kind, ["rows", 1]))
        is_number = column["type"] == "number"
        if is_number and "knots" not in column and not _has_missing_level(column, facts):
            numbers.append(column)
            number_names.append(name)
            number_features.append(first)
            first += 1
        elif column["type"] == "exposure":
            exposure = column
        else:
            levels = _levels_of_number if is_number else _category
            part, features = levels(graph, column, facts, name)
            parts.append(part)
            order.extend(range(first, first + features))
            first += features
    interactions = facts.get("interactions", [])
    by_name = {column["name"]: column for column in used}
    for interaction in interactions:
        part, features = _interaction(graph, interaction, by_name, facts)
        parts.append(part)
        order.extend(range(first, first + features))
        first += features
    if numbers:
        inside, lo, hi = _numbers(graph, numbers, facts, number_names)
        scaled = graph.node("Div", graph.node("Sub", inside, lo), hi - lo)
        parts.insert(0, graph.as_float(scaled))
        order = number_features + order
    x = graph.node("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
    is_feature = len(used) - (exposure is not None) + len(interactions)
    x = _clipped(graph, x, is_feature, facts["row_norm"])
    if facts["intercept"]:
        order = order + [first]
        zero = graph.node("Mul", graph.node("Slice", x, *[np.array([k], np.int64) for k in
                                                           (0, 1, 1)]), np.array(0.0))
        x = graph.node("Concat", x, graph.node("Add", zero, np.array(1.0)), axis=1)

    theta = _draws(model)[:, :, order]
    draws, outputs, d = theta.shape
    z = graph.node("MatMul", x, theta.reshape(draws * outputs, d).T.copy())
    if exposure is not None:
        inside, _, high = _numbers(graph, [exposure], facts, [exposure["name"]])
        log = graph.node("Log", graph.node("Div", inside, high))
        z = graph.node("Add", z, graph.as_float(log))

    taken = [column["name"] for column in used]

    def output(name):
        while name in taken:
            name += "_"
        return name

    link = model.get("link")
    nan = np.array(np.nan)
    if "tolerance" in facts or facts.get("counts"):
        if facts.get("counts"):
            mean = graph.node("Exp", graph.node("Sub", z, np.array(np.log(10.0))))
            y = graph.node("Mul", graph.node("Min", mean, np.array(1.0)), np.array(link["highest"]))
        else:
            y = graph.node(
                "Add",
                np.array(link["middle"]),
                graph.node("Mul", z, np.array(link["tolerance"])),
            )
        low, high = facts["range"]
        y = graph.node("Min", graph.node("Max", y, np.array(low)), np.array(high))
        y = graph.node("Where", graph.isnan(z), nan, y)
        name = output("prediction")
        graph.node("ReduceMean", y, out=name, axes=[1], keepdims=0)
        outs = [helper.make_tensor_value_info(name, proto.DOUBLE, ["rows"])]
        classes = None
    else:
        if "classes" in facts:
            classes = facts["classes"]
            shape = np.array([-1, draws, outputs], np.int64)
            p = graph.node("Softmax", graph.node("Reshape", z, shape), axis=2)
            p = graph.mean(p, 1)
        else:
            classes = model["classes"]
            losing = _losing(graph, z, link)
            winning = graph.node("Sub", np.array(1.0), losing)
            positive = graph.node("Where", graph.node("Greater", z, np.array(0.0)), winning, losing)
            positive = graph.node("Where", graph.isnan(z), nan, positive)
            positive = graph.node("ReduceMean", positive, axes=[1], keepdims=1)
            negative = graph.node("Sub", np.array(1.0), positive)
            p = graph.node("Concat", negative, positive, axis=1)
        probabilities, label = output("probabilities"), output("label")
        graph.cast(p, "FLOAT", out=probabilities)
        if "classes" in facts:
            likeliest = graph.node("ArgMax", p, axis=1, keepdims=0)
        else:  # 1/2 or more is the positive class
            half = graph.node("GreaterOrEqual", positive, np.array(0.5))
            likeliest = graph.node("Squeeze", graph.cast(half, "INT64"), np.array([1], np.int64))
        refused = graph.isnan(graph.node("ReduceSum", p, np.array([1], np.int64), keepdims=0))
        likeliest = graph.node(
            "Where", refused, np.array(len(classes), np.int64), likeliest
        )
        graph.node(
            "LabelEncoder",
            likeliest,
            out=label,
            domain="ai.onnx.ml",
            keys_int64s=list(range(len(classes))),
            values_strings=list(classes),
            default_string="",
        )
        outs = [
            helper.make_tensor_value_info(label, proto.STRING, ["rows"]),
            helper.make_tensor_value_info(probabilities, proto.FLOAT, ["rows", len(classes)]),
        ]

    guarantee = certificate["guarantee"]
    made = helper.make_model(
        helper.make_graph(graph.nodes, "gibbsite", inputs, outs, graph.initializers),
        opset_imports=[
            helper.make_opsetid("", OPSET),
            helper.make_opsetid("ai.onnx.ml", _ML_OPSET),
        ],
        producer_name="gibbsite",
        producer_version=_core.__version__,
        ir_version=_IR_VERSION,
        doc_string=f"Predicts {facts['label']}; a copy of a gibbsite model file without its "
        "certificate, which the file holds.",
    )
    told = {
        "gibbsite.digest": certificate.get("digest", ""),
        "gibbsite.epsilon": json.dumps(guarantee.get("epsilon")),
        "gibbsite.delta": json.dumps(guarantee.get("delta")),
        "gibbsite.void": json.dumps(bool(guarantee.get("void", False))),
    }
    if classes is not None:
        told["gibbsite.classes"] = json.dumps(list(classes))
    helper.set_model_props(made, told)
    onnx.checker.check_model(made, full_check=True)
    return made


def export_onnx(model: str | os.PathLike, out: str | os.PathLike, replace: bool = False) -> None:
    """Writes the model file `model` as an ONNX graph to `out`, whole or not at all.

    docs/how-to/onnx.md describes the inputs and outputs of the graph. Raises FileExistsError if
    `out` exists and `replace` is False, `BadInput` if `model` is no unchanged file of `fit` or
    holds draws of a family, ImportError without onnx (pip install 'gibbsite[onnx]').
    """
    out = os.fspath(out)
    if not replace and os.path.exists(out):
        raise FileExistsError(f"{out}: is there already; give replace=True or another name")
    content = onnx_model(_core.Release.read(os.fspath(model)).to_json()).SerializeToString()
    handle, name = tempfile.mkstemp(dir=os.path.dirname(out) or ".", prefix=".onnx-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        if replace:
            os.replace(name, out)
        else:
            os.link(name, out)  # keeps what came meanwhile
            os.unlink(name)
    except BaseException:
        if os.path.exists(name):
            os.unlink(name)
        raise


def write_onnx(text):
    """For the command line: the bytes of the graph of a model file's text."""
    try:
        return onnx_model(text).SerializeToString()
    except ImportError as error:
        raise ValueError(str(error)) from None
