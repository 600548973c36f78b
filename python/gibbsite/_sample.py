"""`sample`: a Bayesian regression of a formula, for people who may see the rows. Nothing here is private."""

import dataclasses
import inspect
import itertools
import math
import numbers
import tomllib
import warnings

import numpy as np

from . import _core, _formula, _tables
from ._curve import Curve
from .posterior import arviz_groups, require_arviz, require_options

_PRIOR_SCALE = 2.5  # of the default prior, for each standard deviation of a column
_COUNT_AT_ZERO = 0.1  # the mean count where the predictor is 0, as a share of the largest count
_MOST_EXPOSURES = 1e6  # the highest over the lowest one
_OTHER = "(other)"  # the level of cells that are not listed
_FAR_WEIGHTS = 1.5  # how far the mean weight may be from 1 before it is said
_KNOTS = 12  # of curve(x), as the command line's `sample`
_MOST_LEVELS = 1000
_MOST_POINTS = 300_000_000  # draws times rows of a group that has one number for each
_INTERCEPT = "Intercept"
_SIGMA = "sigma"


# Rows.


def _table_of(frame, said, weights):
    """(the formula's columns of a frame as a table of pyarrow, the rows' weights or None, the rows' places
    in the frame), without rows that lack a cell."""
    try:
        import pyarrow
        import pyarrow.compute as compute
    except ImportError:
        raise ImportError("sample: reading a frame takes pyarrow; install it (pip install pyarrow)") from None
    names = _formula._names_of(frame)
    wanted = [said.label, *said.columns]
    if isinstance(weights, str) and weights not in wanted:
        wanted.append(weights)
    lacking = [name for name in wanted if name not in names]
    if lacking:
        raise ValueError(
            f"frame: lacks {_tables.listed(lacking)} of the formula {said.text!r} or weights; its columns are "
            f"{_tables.listed(names)}"
        )
    for name in wanted:
        if names.count(name) > 1:
            raise ValueError(
                f"frame: has {names.count(name)} columns {name!r}; keep one, such as "
                "frame.loc[:, ~frame.columns.duplicated()], or rename them"
            )
    if _tables._is_pandas(frame):
        frame = _with_declared(pyarrow.Table.from_pandas(frame[wanted], preserve_index=False))
    else:
        frame = pyarrow.table(frame).select(wanted)
    if isinstance(weights, str):
        weights = frame[weights].to_numpy()
    if weights is not None:
        weights = _tables.as_weights(weights)
        if len(weights) != frame.num_rows:
            raise ValueError(f"weights: are {len(weights):,} of {frame.num_rows:,} rows; give one a row")
    absent = np.zeros(frame.num_rows, dtype=bool) if weights is None else np.isnan(weights)
    for column in frame.columns:
        absent |= compute.is_null(column, nan_is_null=True).to_numpy()
    if absent.any():
        warnings.warn(
            f"{absent.sum():,} of {len(absent):,} rows lack a cell of the formula"
            f"{'' if weights is None else ' or their weight'} and are left out",
            UserWarning,
            stacklevel=4,
        )
        frame = frame.filter(pyarrow.array(~absent))
        weights = weights if weights is None else weights[~absent]
    if frame.num_rows < 2:
        raise ValueError(f"frame: has {frame.num_rows} rows without missing cells; give more")
    frame = frame.unify_dictionaries()
    if weights is not None and not (np.isfinite(weights).all() and weights.min() >= 0 and weights.max() > 0):
        raise ValueError("weights: must be finite, 0 or more, and not all 0")
    return frame, weights, np.flatnonzero(~absent)


def _with_declared(table):
    """A table of pandas with its categories marked as ordered: their order is declared whether or not one
    is less than another. Of other frames only ordered ones are, as the order is else that of the rows."""
    import pyarrow

    for k, column in enumerate(table.columns):
        if pyarrow.types.is_dictionary(column.type):
            chunks = [
                pyarrow.DictionaryArray.from_arrays(one.indices, one.dictionary, ordered=True)
                for one in column.chunks
            ]
            table = table.set_column(k, table.column_names[k], pyarrow.chunked_array(chunks))
    return table


def _warn_of_weights(weights):
    """That weights which do not add up to the number of rows say how many rows were seen."""
    counted = int(np.count_nonzero(weights))
    ratio = float(weights.sum()) / counted
    if 1 / _FAR_WEIGHTS <= ratio <= _FAR_WEIGHTS:
        return
    width = "narrow" if ratio > 1 else "wide"
    warnings.warn(
        f"weights add up to {weights.sum():,.6g} of {counted:,} rows, and intervals are as {width} as of so many "
        "rows. Right if each row stands for that many equal ones; of a survey give w * n / sum(w), here "
        f"w * {1 / ratio:.4g}",
        UserWarning,
        stacklevel=3,
    )


def _is_number_type(type_):
    import pyarrow

    return pyarrow.types.is_integer(type_) or pyarrow.types.is_floating(type_) or pyarrow.types.is_decimal(type_)


def _is_date_type(type_):
    import pyarrow

    return pyarrow.types.is_date(type_) or pyarrow.types.is_timestamp(type_)


def _text(cell):
    """A cell as text, whole numbers without a point."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _texts(column):
    return [_text(cell) for cell in column.to_pylist()]


def _levels_of(column):
    """The different cells as text: categories in their declared order, numbers as they rise, else sorted."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type) and column.type.ordered:
        found = set(_texts(column))
        return [level for level in map(_text, column.chunk(0).dictionary.to_pylist()) if level in found]
    if _is_number_type(column.type):
        return [_text(number) for number in sorted(set(column.to_pylist()))]
    return sorted(set(_texts(column)))


def _numbers_of(column):
    import pyarrow

    return column.cast(pyarrow.float64()).to_numpy()


def _exposure_of(term, column, places):
    """The exposure that rows have. places: of the rows in the frame."""
    if not _is_number_type(column.type):
        raise ValueError(f"column {term.column!r}: is text, and an exposure is a number; convert it, or leave it out")
    values = _numbers_of(column)
    wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if len(wrong):
        raise ValueError(
            f"column {term.column!r}: an exposure must be above 0 and finite, and {len(wrong):,} of "
            f"{len(values):,} rows have none, the first {values[wrong[0]]:g} in row {places[wrong[0]]:,} "
            "(from 0); leave such rows out"
        )
    lo, hi = float(values.min()), float(values.max())
    if hi > _MOST_EXPOSURES * lo:
        raise ValueError(
            f"column {term.column!r}: exposures go from {lo:g} to {hi:g}, and the highest may be "
            f"{_MOST_EXPOSURES:,.0f} times the lowest; leave the smallest out"
        )
    return ("exposure", lo, hi)


def _range_of(term, column, given, places):
    """What `ranges` say of a term: what was given, else what the rows have."""
    if term.kind == "exposure":
        if given is None:
            return _exposure_of(term, column, places)
        return ("exposure", *given) if _tables._is_pair(given) else given
    if given is None:
        if term.kind == "category" or not _is_number_type(column.type):
            levels = _levels_of(column)
            if len(levels) > _MOST_LEVELS:
                advice = "so leave it out or join levels"
                if _is_date_type(column.type):
                    advice = "so add a number in its place, such as days since the first date"
                raise ValueError(
                    f"column {term.column!r}: has {len(levels):,} levels; {_MOST_LEVELS:,} are the most, {advice}"
                )
            if len(levels) < 2:
                raise ValueError(f"column {term.column!r}: has one level, {levels[0]!r}; leave it out")
            return levels
        values = _numbers_of(column)
        lo, hi = float(values.min()), float(values.max())
        if not (math.isfinite(lo) and math.isfinite(hi)):
            raise ValueError(f"column {term.column!r}: has an infinite cell; leave such rows out")
        if lo == hi:
            raise ValueError(f"column {term.column!r}: has one value, {lo:g}; leave it out")
        given = (lo, hi)
    if term.knots is None:
        return given
    knots = _KNOTS if term.knots == "auto" else term.knots
    if isinstance(given, Curve):
        return given
    return Curve(given[0], given[1], knots, "log" if term.is_log else None)


def _kind_of(lines):
    """The kind of the label that lines of a schema say."""
    return "classes" if not lines[0].startswith("range") else "count" if "counts = true" in lines else "amount"


def _from_zero(what):
    """A line's range from 0, so that it goes through 0 without an intercept; others as they are."""
    return (0.0, what[1]) if len(what) == 2 and 0 < what[0] else what


@dataclasses.dataclass
class _Label:
    """How the label is encoded, and what is modelled of it."""

    lines: list  # of the schema
    values: np.ndarray  # as floats
    modelled: str
    classes: list | None = None  # names of several
    note: str = ""


def _two_classes(name, low, high, is_high, note=""):
    lines = [f"positive = {_formula.quoted(high)}", f"negative = {_formula.quoted(low)}"]
    return _Label(lines, np.where(is_high, 1.0, -1.0), f"{name} = {high}", note=note)


def _number_label(name, values, model):
    """The label of numbers; None if they are names of several classes."""
    if not np.isfinite(values).all():
        raise ValueError(f"label {name!r}: has an infinite cell; leave such rows out")
    lo, hi = float(values.min()), float(values.max())
    if model == "poisson":
        if lo < 0 or (values != np.round(values)).any():
            raise ValueError(f"label {name!r}: counts are whole numbers of 0 or more")
        if hi == 0:
            raise ValueError(f"label {name!r}: every count is 0; nothing can be learned")
        return _Label([f"range = [0, {hi!r}]", "counts = true"], values, f"the mean of {name}")
    if lo == hi:
        raise ValueError(f"label {name!r}: has one value, {lo:g}; nothing can be learned")
    is_high = values == hi
    if model in ("auto", "logistic") and (is_high | (values == lo)).all():
        as_amounts = 'two numbers count as classes; model="normal" takes them as amounts'
        note = "" if (lo, hi) == (0, 1) or model == "logistic" else f", not {_text(lo)} ({as_amounts})"
        return _two_classes(name, _text(lo), _text(hi), is_high, note)
    if model in ("logistic", "softmax"):
        return None
    return _Label([f"range = [{lo!r}, {hi!r}]"], values, name)


def _label_of(said, column, model):
    if _is_number_type(column.type):
        found = _number_label(said.label, _numbers_of(column), model)
        if found is not None:
            return found
    elif model == "poisson":
        raise ValueError(f"label {said.label!r}: counts are whole numbers of 0 or more")
    texts, names = _texts(column), _levels_of(column)
    if len(names) < 2:
        raise ValueError(f"label {said.label!r}: has one value, {names[0]!r}; nothing can be learned")
    if len(names) == 2 and model != "softmax":
        return _two_classes(said.label, *names, np.array(texts) == names[1])
    if len(names) > 100:
        raise ValueError(
            f"label {said.label!r}: has {len(names):,} different values; classes are at most 100"
        )
    places = {name: float(k) for k, name in enumerate(names)}
    lines = [f"classes = [{', '.join(map(_formula.quoted, names))}]"]
    modelled = f"each class of {said.label} against the mean of the classes"
    return _Label(lines, np.array([places[text] for text in texts]), modelled, names)


def _require_counts(said, label, model, ranges):
    """That what counts are over is beside counts."""
    names = [name for name, what in ranges.items() if _tables._is_exposure(what)]
    if not names or model == "poisson":
        return
    values = label.values
    is_amount = _kind_of(label.lines) == "amount"
    could = is_amount and values.min() >= 0 and (values == np.round(values)).all()
    raise ValueError(
        f"exposure({names[0]}): is what a count is over, and {said.label!r} is taken for "
        f"{'an amount' if is_amount else 'classes'}; "
        + ('give model="poisson"' if could else 'give model="poisson" and a label of counts, or leave it out')
    )


# Cells as the model counts them.


def _cells_of(said, table, schema, ranges, found):
    """(the rows for the engine, {column: cells as they count}). Warns of cells that given ranges move."""
    import pyarrow

    rows, cells, moved = table.select(said.columns), {}, []
    toml = tomllib.loads(schema.to_toml())["columns"]
    for k, name in enumerate(said.columns):
        what = _tables.plain_column(toml[name])
        if "date" in what:
            raise ValueError(
                f"column {name!r}: sample takes no dates; add a number in its place, such as days since the first "
                "one, or a category such as the month"
            )
        if what["type"] == "category":
            cells[name] = _texts(rows[name])
            if isinstance(found[name], (list, dict)):
                rows = rows.set_column(k, name, pyarrow.array(cells[name]))
            else:  # "boolean"
                cells[name] = [cell.lower() for cell in cells[name]]
            if what.get("other"):
                cells[name] = [cell if cell in what["levels"] else _OTHER for cell in cells[name]]
            continue
        values = _numbers_of(rows[name])
        ends = what.get("range") or (what["knots"][0], what["knots"][-1])
        cells[name] = np.clip(values, ends[0], ends[-1])
        count = int(np.count_nonzero(cells[name] != values))
        if count and name in ranges:
            moved.append(f"{count:,} of {name!r} to {ends[0]:g} or {ends[-1]:g}")
    if moved:
        warnings.warn(
            f"ranges: cells beyond their range count as its end: {', '.join(moved)}, of {len(table):,} rows each; "
            "widen the ranges, or leave such rows out",
            UserWarning,
            stacklevel=3,
        )
    return rows, cells


# From the encoder's scale to the columns' units.


@dataclasses.dataclass
class _Part:
    """A column within a term. Its features are either levels, or hats at places of a number."""

    column: str
    levels: tuple = ()
    at: tuple = ()  # a straight line's are the ends of its range
    is_line: bool = False

    @property
    def features(self):
        return 1 if self.is_line and not self.at else len(self.levels or self.at)

    @property
    def coords(self):
        """Names of the coefficients; none where it is one."""
        return () if self.is_line else self.levels[1:] or self.at

    def change(self):
        """Matrix [1 + coefficients, features]: a constant, and what the part says beside it."""
        if self.levels:  # against the first level
            out = np.eye(len(self.levels))
            out[1:, 0] = -1
            return out
        k = len(self.at)
        if self.is_line:  # a + b x through both ends
            lo, hi = self.at
            slope = np.array([-1.0, 1.0]) / (hi - lo)
            return np.stack([np.array([1.0, 0.0]) - lo * slope, slope])
        return np.vstack([np.full(k, 1 / k), np.eye(k) - 1 / k])  # against the mean of the knots

    def weights(self, cells):
        """[rows, coefficients or 1] with which the coefficients count at each row's cell."""
        if self.levels:
            place = {name: k for k, name in enumerate(self.levels)}
            out = np.zeros((len(cells), len(self.levels)))
            out[np.arange(len(cells)), [place[cell] for cell in cells]] = 1
            return out[:, 1:]
        if self.is_line:
            return cells[:, None]
        at = np.array(self.at)
        return np.stack([np.interp(cells, at, row) for row in np.eye(len(at))], axis=1)


def _parts_of(schema, terms):
    """(parts of the columns, parts of each interaction), as the schema has them."""
    toml = tomllib.loads(schema.to_toml())
    columns, lines = [], {}
    for term in terms:
        said = _tables.plain_column(toml["columns"][term.column])
        if said["type"] == "category":
            levels = (*said["levels"], *([_OTHER] if said.get("other") else []))
            columns.append(_Part(term.column, levels=levels))
        elif said["type"] == "number" and "knots" in said:
            columns.append(_Part(term.column, at=tuple(said["knots"])))
        elif said["type"] == "number":
            lines[term.column] = tuple(said["range"])
            columns.append(_Part(term.column, is_line=True))
    known = {part.column: part for part in columns}
    interactions = []
    for one in toml.get("interaction", []):
        parts = []
        for name in one["columns"]:
            knots = tuple(one.get("knots", {}).get(name, ()))
            is_line = name in lines and len(knots) == 2
            parts.append(_Part(name, at=knots, is_line=is_line) if knots else known[name])
        interactions.append(parts)
    return columns, interactions, lines


class _Terms:
    """Coefficients in the columns' units, of draws [..., features] on the encoder's scale."""

    def __init__(self, columns, interactions, lines, draws, has_intercept):
        self.values = {}  # {names of columns: [..., coefficients of each]}
        self.parts = {(part.column,): (part,) for part in columns}
        self.lead = draws.shape[:-1]
        self.has_intercept = has_intercept
        # The first column that can say a constant, which nothing else says without an intercept.
        carriers = (part.column for part in columns if not part.is_line and not has_intercept)
        self.carrier = next(carriers, None)
        first = 0
        for part in columns:
            own = draws[..., first : first + part.features]
            first += part.features
            if part.is_line:
                lo, hi = lines[part.column]
                slope = own[..., 0] / (hi - lo)
                self._add((part.column,), slope)
                self._add((), -lo * slope)
            elif has_intercept:
                self._push((part,), own)
            else:  # nothing else could hold a constant
                self._add((part.column,), own)
        for parts in interactions:
            sizes = [part.features if part.levels else len(part.at) for part in parts]
            width = math.prod(sizes)
            own = draws[..., first : first + width].reshape(*self.lead, *sizes)
            first += width
            self._push(parts, own)
        if has_intercept:
            self._add((), draws[..., first])
            return
        constant = self.values.pop((), None)
        if constant is not None and self.carrier is not None:
            self._add((self.carrier,), constant[..., None])

    def _add(self, key, values):
        self.values[key] = self.values[key] + values if key in self.values else values

    def _push(self, parts, values):
        """Splits what is said of several columns into what each set of them says."""
        lead = len(self.lead)
        for k, part in enumerate(parts):
            values = np.moveaxis(np.tensordot(values, part.change(), axes=(lead + k, 1)), -1, lead + k)
        for chosen in itertools.product((False, True), repeat=len(parts)):
            take = [slice(1, None) if one else 0 for one in chosen]
            part_of = values[(..., *take)]
            kept = [part for part, one in zip(parts, chosen) if one]
            # Straight lines have one coefficient, and no axis for it.
            for axis, part in reversed(list(enumerate(kept))):
                if part.is_line:
                    part_of = np.take(part_of, 0, axis=lead + axis)
            key = tuple(part.column for part in kept)
            if len(kept) == 1 and self.parts[key][0].at != kept[0].at and not kept[0].is_line:
                part_of = self._on_knots(kept[0], self.parts[key][0], part_of)
            if len(kept) == 1 and kept[0].levels and not self.has_intercept:  # which has its first level too
                part_of = np.concatenate([np.zeros_like(part_of[..., :1]), part_of], axis=-1)
            self.parts.setdefault(key, tuple(kept))
            self._add(key, part_of)

    def _on_knots(self, part, own, values):
        """A curve through some knots, at those that the column itself has."""
        weights = part.weights(np.array(own.at))  # [own knots, knots]
        values = values @ weights.T
        mean = values.mean(axis=-1)
        self._add((), mean)
        return values - mean[..., None]

    def predictor(self, cells):
        """[..., rows]: the linear predictor of each row."""
        total = self.values.get((), np.zeros(self.lead))[..., None]
        for key, values in self.values.items():
            if not key:
                continue
            axes = len(self.lead)
            weights = np.ones((len(next(iter(cells.values()))), 1))
            for part in self.parts[key]:
                own = part.weights(cells[part.column])
                if not self.has_intercept and part.levels and len(key) == 1:
                    own = np.array([[cell == name for name in part.levels] for cell in cells[part.column]])
                weights = (weights[:, :, None] * own[:, None, :]).reshape(len(weights), -1)
            total = total + values.reshape(*values.shape[:axes], -1) @ weights.T
        return total


def _engine_name(name, said):
    """What the engine calls the intercept, and a product of columns, which may be named in any order."""
    if name == _INTERCEPT:
        return "(intercept)"
    if isinstance(name, str) and name not in said.columns:
        for columns in said.interactions:
            if sorted(name.split(":")) == sorted(columns):
                return " × ".join(columns)
    return name


# The default prior.


def _moments(values, weights):
    """(mean, standard deviation) with weights or None."""
    mean = float(np.average(values, weights=weights))
    return mean, math.sqrt(float(np.average((values - mean) ** 2, weights=weights)))


def _label_scale(label, kind, schema, weights, exposure):
    """(what the label's standard deviation is, where its middle is) on the scale of the predictor: the
    logarithm of the mean count, the mean of amounts; 1 and 0 of classes."""
    if kind == "count":
        over = 1.0 if exposure is None else np.average(exposure, weights=weights) / exposure.max()
        mean = float(np.average(label.values, weights=weights))
        return 1.0, math.log(mean / (_COUNT_AT_ZERO * label.values.max() * over))
    if kind != "amount":
        return 1.0, 0.0
    toml = tomllib.loads(schema.to_toml())
    mean, deviation = _moments(label.values, weights)
    return deviation / toml["tolerance"], (mean - sum(toml["range"]) / 2) / toml["tolerance"]


def _default_prior(schema, columns, interactions, label_scale, cells, weights, has_intercept):
    """{name: law} of N(0, 2.5^2) for each standard deviation of a number, on the encoder's scale, which is
    the effect over the number's range: of a skewed column many deviations, which would else be the prior's.

    The intercept is the predictor where each number is at the low end of its range, z deviations from its
    mean: its scale is sqrt(1 + sum z^2) times as large. So is a product's at the ends of a number.
    """
    scale, center = label_scale[0] * _PRIOR_SCALE, label_scale[1]
    out, squares, at = {}, 0.0, {}
    toml = tomllib.loads(schema.to_toml())["columns"]
    for part in columns:
        if part.is_line:
            lo, hi = _tables.plain_column(toml[part.column])["range"]
            mean, deviation = _moments(cells[part.column], weights)
            deviation = deviation or hi - lo
            out[part.column] = (0.0, scale * (hi - lo) / deviation)
            squares += ((lo - mean) / deviation) ** 2
            at[part.column] = (mean, deviation)
    names = schema.feature_names
    first = sum(part.features for part in columns)
    for parts in interactions:
        factors = []
        for part in parts:
            ends = np.array(part.at) if part.is_line else np.zeros(part.features)
            mean, deviation = at.get(part.column, (0.0, 1.0)) if part.is_line else (0.0, 1.0)
            factors.append(np.hypot(1, (ends - mean) / deviation) if part.is_line else ends + 1)
        for factor in itertools.product(*factors):
            out[names[first]] = (0.0, scale * math.prod(factor))
            first += 1
    if has_intercept:
        out["(intercept)"] = (center, scale * math.sqrt(1 + squares))
        out["*"] = (0.0, scale)
    else:  # levels, knots or a line say where the label is
        far = math.hypot(scale, center) * math.sqrt(1 + squares)
        out = {name: (0.0, own * far / scale) for name, (_, own) in out.items()}
        out["*"] = (0.0, far)
    return {name: f"normal({float(c)!r}, {float(s)!r})" for name, (c, s) in out.items()}


def _joined(default, given, said):
    """The default prior where none is given by name."""
    products = [" × ".join(columns) for columns in said.interactions]
    named = tuple(f"{name}=" for name in products if name in given)  # beginnings of their features' names
    return {**{name: law for name, law in default.items() if not name.startswith(named)}, **given}


# Summaries.


def summarize(named, interval, superchains=0):
    """(header, rows) of {name: draws [chain, draw]}; R-hat is the nested one of superchains."""
    import arviz

    tail = (1 - interval) / 2
    r_hat = "nested R-hat" if superchains else "R-hat"
    head = ["", "mean", "sd", f"{100 * tail:g} %", f"{100 * (1 - tail):g} %", r_hat, "ESS bulk", "ESS tail"]
    rows = []
    for name, draws in named.items():
        low, high = np.quantile(draws, [tail, 1 - tail])
        figures = [draws.mean(), draws.std(ddof=1), low, high]
        if superchains:
            rows.append([name, *figures, *_core.nested_summary(np.ascontiguousarray(draws), superchains)])
            continue
        sizes = [float(arviz.ess(draws, method=method)) for method in ("bulk", "tail")]
        rows.append([name, *figures, float(arviz.rhat(draws)), *sizes])
    return head, rows


def _printed(head, rows):
    lines = [head]
    for name, *figures, rhat, bulk, tail in rows:
        lines.append([name, *(f"{x:.4g}" for x in figures), f"{rhat:.3f}", f"{bulk:,.0f}", f"{tail:,.0f}"])
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:]))])
        for line in lines
    )


def _flat(variables):
    """{name: draws [chain, draw]} of variables (dims, draws, coords)."""
    out = {}
    for name, (coords, draws) in variables.items():
        for place in itertools.product(*(range(len(values)) for values in coords.values())):
            at = ", ".join(
                f"{values[k]:g}" if isinstance(values[k], float) else str(values[k])
                for values, k in zip(coords.values(), place)
            )
            out[f"{name}[{at}]" if at else name] = draws[(..., *place)]
    return out


def _log_likelihood(kind, predictor, labels, sigma=None):
    if kind == "amount":
        z = (labels - predictor) / sigma[..., None]
        return -(z**2) / 2 - np.log(sigma)[..., None] - math.log(2 * math.pi) / 2
    if kind == "classes":
        return -np.logaddexp(0, -labels * predictor)
    if kind == "count":
        return labels * predictor - np.exp(predictor) - np.array([math.lgamma(y + 1) for y in labels])
    top = predictor.max(axis=2, keepdims=True)  # [chain, draw, class, row]
    norm = top[:, :, 0] + np.log(np.exp(predictor - top).sum(axis=2))
    places = labels.astype(int)
    return predictor[:, :, places, np.arange(len(places))] - norm


def _replicated(kind, predictor, seed, sigma=None):
    random = np.random.default_rng(seed)
    if kind == "amount":
        return predictor + sigma[..., None] * random.standard_normal(predictor.shape)
    if kind == "classes":
        return (random.random(predictor.shape) < 1 / (1 + np.exp(-predictor))).astype(np.int8)
    if kind == "count":
        return random.poisson(np.exp(np.minimum(predictor, 30)))
    gumbel = random.gumbel(size=predictor.shape)
    return (predictor + gumbel).argmax(axis=2).astype(np.int16)


def sample(
    frame,
    formula,
    *,
    prior_precision=None,
    prior=None,
    weights=None,
    ranges=None,
    interval=0.95,
    quiet=False,
    log_likelihood=False,
    posterior_predictive=False,
    **options,
):
    """Draws from the posterior of a Bayesian regression: NOT PRIVATE, for people who may see the
    rows (docs/theory/posterior.md). Prints a summary, and returns the draws in the columns' units.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table
        The rows, which count as independent: intervals are too narrow where a person has several. Keep
        one row a person then, or use `fit` with groups= and intervals. Rows that lack a cell of the
        formula are left out, with a warning.
    formula : str
        "label ~ terms" in the words of `from_formula`: a column, curve(x, K), log(x), C(x),
        exposure(x), and products a*b. A numeric column is a straight line, one of text or booleans a
        category. Categories that pandas, or an ordered type, declares keep their order, and the first is
        the reference; others are sorted.
    prior_precision : float or None
        Precision m of the prior N(0, 1/m) of each coefficient on the encoder's scale: of a number
        the effect over its whole range, of a level or knot its own. None is N(0, 2.5^2) for each
        standard deviation of a number, each level and each knot; of amounts in standard deviations of
        the label, with the intercept about the label's mean, which is so of counts too. With
        sampler="proximal" None is 0.16.
    prior : dict, str or None
        Priors in its place by name, on the encoder's scale: of a column, a level ("sex=M"), a product
        ("age:sex"), "Intercept", or "*" for all others, as "normal(center, scale)" or
        "student_t(degrees, center, scale)". A text alone is of all.
    weights : str, array or None
        How often each row counts, 0 or more: a column's name, or a number a row. Its log-likelihood is
        multiplied by it. With a survey's weights this is a pseudo-posterior, as wide as if so many rows
        had been seen: scale them to add up to the number of rows. Else a warning says so.
    ranges : dict or None
        Ranges, curves or levels of some columns in place of those that the rows have. Cells beyond a
        range count as its end, with a warning.
    interval : float
        Probability of the central intervals of the summary.
    quiet : bool
        Whether nothing is printed.
    log_likelihood, posterior_predictive : bool
        Whether the groups of these names are there, a number for each draw and row: for
        `arviz.loo` and `arviz.plot_ppc`, without weights. Not of "huber", which is no likelihood.
    **options
        model="auto" (two values, numbers too: logistic; text of more: softmax; other numbers: normal, whose
        noise has the deviation `sigma`; "poisson" for counts; "huber"), and the others of
        `sample_posterior`.

    Returns
    -------
    arviz.InferenceData (a DataTree from ArviZ 1.0 on)
        posterior has `Intercept` and a variable for each term: of a number its slope, of a category
        its levels against the first one (posterior.attrs["references"]), of a curve its knots against their mean, of a product what
        it adds to its columns; of normal amounts also `sigma`. With "- 1" a line goes through 0, and
        the first category, with all its levels, or curve has the constant. Of two classes the one that
        is last, sorted or as declared, is modelled, which posterior.attrs["modelled"] and the summary say; of more, each
        against the mean of the classes, as an effect of `fit` is: rows tell nothing else
        (docs/theory/posterior.md). posterior.attrs["prior"] says the prior. sample_stats and the other attrs
        are as of `sample_posterior`.

    Raises
    ------
    ImportError
        If ArviZ, formulaic or pyarrow is not installed.
    ValueError, BadInput, TypeError
        If the formula, a column or an option is not as it must be.

    Examples
    --------
    >>> idata = gibbsite.sample(frame, "admit ~ gender + department", seed=1)
    """
    require_arviz("sample")
    if not (isinstance(interval, numbers.Real) and 0 < interval < 1):
        raise ValueError(f"interval: must be between 0 and 1, got {interval!r}")
    names = _formula._names_of(frame)
    if names is None:
        raise ValueError("frame: must be a table with named columns, of pandas, polars or pyarrow")
    require_options(options, "sample")
    said = _formula.parse(formula, names)
    table, weights, places = _table_of(frame, said, weights)
    if weights is not None:
        _warn_of_weights(weights)
    ranges = {} if ranges is None else ranges
    unknown = [name for name in ranges if name not in said.columns]
    if unknown:
        raise ValueError(f"ranges: {_tables.listed(unknown)} is not in the formula {formula!r}")
    model = options.get("model", "auto")
    label = _label_of(said, table[said.label], model)
    lines, labels, classes, modelled = label.lines, label.values, label.classes, label.modelled
    found = {term.column: _range_of(term, table[term.column], ranges.get(term.column), places) for term in said.terms}
    _require_counts(said, label, model, found)
    kind = "several" if classes is not None else _kind_of(lines)
    if not said.intercept and all(isinstance(what, tuple) for what in found.values()):
        found = {name: _from_zero(what) if name not in ranges else what for name, what in found.items()}
        if kind == "amount":  # whose middle is 0
            most = float(np.abs(labels).max())
            lines = [f"range = [{-most!r}, {most!r}]"]
    _formula.require_origin_of_ranges(said, found, kind, (-1, 1))
    schema, _ = _tables.schema_of_ranges(
        found,
        said.columns,
        len(said.columns),
        lines,
        "refuse",
        "auto",
        said.intercept,
        interactions=list(said.interactions) or None,
    )
    rows, cells = _cells_of(said, table, schema, ranges, found)
    exposure = next((cells[name] for name, what in found.items() if _tables._is_exposure(what)), None)
    data = _tables.read_arrow(rows, schema, labels=labels)
    columns, interactions, linear = _parts_of(schema, said.terms)
    if isinstance(prior, dict):
        prior = {_engine_name(name, said): law for name, law in prior.items()}
    if options.get("sampler") == "proximal" and prior is None and prior_precision is None:
        prior_precision = _PRIOR_SCALE**-2  # it takes one normal prior alone
    prior_words = "as given"
    if prior_precision is None and (prior is None or (isinstance(prior, dict) and "*" not in prior)):
        scale = _label_scale(label, kind, schema, weights, exposure)
        default = _default_prior(schema, columns, interactions, scale, cells, weights, said.intercept)
        given, unit = {} if prior is None else prior, " standard deviations of the label" if kind == "amount" else ""
        prior_words = (
            f"normal(0, {_PRIOR_SCALE}){unit} for each standard deviation of a number, each level and each knot"
            + (f"; as given of {', '.join(map(str, given))}" if given else "")
        )
        prior = _joined(default, given, said)
    if model == "poisson":  # the loss of a count is Poisson's in units of the largest one
        options.setdefault("beta", float(max(labels.max(), 1.0)))
    if weights is not None:
        data._weigh(weights, float(weights.max()))
        options["beta"] = options.get("beta", 1.0) * float(weights.max())
    drawn = _core.draw_posterior(data, prior_precision=prior_precision, prior=prior, **options)

    draws = drawn["draws"]  # [chain, draw, (classes x) features]
    sigma = None
    if drawn["learns_noise"]:
        draws, sigma = draws[..., :-1], draws[..., -1] * drawn["unit"]
    if classes is not None:
        draws = draws.reshape(*draws.shape[:2], len(classes), -1)
        # The likelihood knows differences of classes alone: what all of them share is the prior's.
        draws = draws - draws.mean(axis=2, keepdims=True)
    terms = _Terms(columns, interactions, linear, draws, said.intercept)
    variables, all_coords = {}, {} if classes is None else {"class": classes}
    for key, values in sorted(terms.values.items(), key=lambda one: (len(one[0]), one[0] != ())):
        name = ":".join(key) or _INTERCEPT
        if key == () or key == (terms.carrier,):
            values = values + drawn["shift"] / drawn["unit"]
        coords = {} if classes is None else {"class": classes}
        for part in terms.parts.get(key, ()):
            if not part.is_line:
                of_part = part.levels if not said.intercept and len(key) == 1 and part.levels else part.coords
                coords[f"{name}_{part.column}" if len(key) > 1 else f"{name}_at"] = list(of_part)
        variables[name] = (coords, values * drawn["unit"])
        all_coords.update(coords)
    if sigma is not None:
        variables[_SIGMA if _SIGMA not in variables else "(noise)"] = ({}, sigma)
    groups = {"posterior": {name: values for name, (_, values) in variables.items()}}
    dims = {name: list(coords) for name, (coords, _) in variables.items()}
    if log_likelihood or posterior_predictive:
        if kind == "amount" and sigma is None:
            raise ValueError('log_likelihood, posterior_predictive: "huber" is no likelihood; give model="normal"')
        points = math.prod(terms.lead) * len(labels)
        if points > _MOST_POINTS:
            raise ValueError(
                f"log_likelihood, posterior_predictive: {points:,} numbers are too many; draw less, or "
                "give fewer rows"
            )
        predictor = terms.predictor({part.column: cells[part.column] for part in columns})
        if kind == "amount":
            predictor = predictor * drawn["unit"] + drawn["shift"]
        if kind == "count":
            predictor = predictor + drawn["shift"]
            if exposure is not None:
                predictor = predictor + np.log(exposure)
        if log_likelihood:
            groups["log_likelihood"] = {said.label: _log_likelihood(kind, predictor, labels, sigma)}
        if posterior_predictive:
            groups["posterior_predictive"] = {said.label: _replicated(kind, predictor, options.get("seed"), sigma)}
        observed = (labels > 0).astype(np.int8) if kind == "classes" else labels
        groups["observed_data"] = {said.label: observed}
    # The controlled means are of the encoder's scale.
    said_of_draws = {key: one for key, one in drawn.items() if not key.startswith("controlled_")}
    out = arviz_groups(said_of_draws, groups, all_coords, dims)
    references = ""
    if said.intercept:
        references = ", ".join(f"{part.column} = {part.levels[0]}" for part in columns if part.levels)
    out.posterior.attrs.update(modelled=modelled, prior=prior_words, references=references)
    if not quiet:
        flat = _flat(variables)
        counted = "" if weights is None else f" that count {weights.sum():,.6g} by their weights"
        print(f"{modelled}{label.note}; {len(labels):,} rows{counted}; sampler {drawn['sampler']}; not private\n")
        print(_printed(*summarize(flat, interval, drawn["superchains"])))
        if references:
            print(f"\nlevels are against {references}")
        print(f"\n{drawn['verdict']}")
    return out
