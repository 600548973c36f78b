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
from .posterior import arviz_groups, require_arviz

_PRIOR_PRECISION = 0.16  # a standard deviation of 2.5
_KNOTS = 12  # of curve(x), as the command line's `sample`
_MOST_LEVELS = 1000
_MOST_POINTS = 300_000_000  # draws times rows of a group that has one number for each
_INTERCEPT = "Intercept"
_SIGMA = "sigma"


# Rows.


def _table_of(frame, said, weights):
    """The formula's columns of a frame as a table of pyarrow, and the rows' weights or None, without rows
    that lack a cell."""
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
    if _tables._is_pandas(frame):
        frame = pyarrow.Table.from_pandas(frame[wanted], preserve_index=False)
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
    if weights is not None and not (np.isfinite(weights).all() and weights.min() >= 0 and weights.max() > 0):
        raise ValueError("weights: must be finite, 0 or more, and not all 0")
    return frame, weights


def _is_number_type(type_):
    import pyarrow

    return pyarrow.types.is_integer(type_) or pyarrow.types.is_floating(type_) or pyarrow.types.is_decimal(type_)


def _texts(column):
    """Cells as text, whole numbers without a point."""

    def text(cell):
        whole = isinstance(cell, float) and cell.is_integer()
        return str(int(cell)) if whole else str(cell)

    return [text(cell) for cell in column.to_pylist()]


def _numbers_of(column):
    import pyarrow

    return column.cast(pyarrow.float64()).to_numpy()


def _range_of(term, column, given):
    """What `ranges` say of a term: what was given, else what the rows have."""
    if given is None:
        if term.kind == "category" or not _is_number_type(column.type):
            levels = sorted(set(_texts(column)))
            if len(levels) > _MOST_LEVELS:
                raise ValueError(
                    f"column {term.column!r}: has {len(levels):,} levels; {_MOST_LEVELS:,} are the most, "
                    "so leave it out or join levels"
                )
            if len(levels) < 2:
                raise ValueError(f"column {term.column!r}: has one level, {levels[0]!r}; leave it out")
            return levels
        values = _numbers_of(column)
        lo, hi = float(values.min()), float(values.max())
        if not (math.isfinite(lo) and math.isfinite(hi)):
            raise ValueError(f"column {term.column!r}: has an infinite cell; leave such rows out")
        if term.kind == "exposure":
            return ("exposure", lo, hi)
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


def _label_of(said, column, model):
    """(lines of the schema, labels as floats, names of several classes or None, what is modelled)."""
    values = None
    is_number = _is_number_type(column.type)
    if is_number:
        values = _numbers_of(column)
        if not np.isfinite(values).all():
            raise ValueError(f"label {said.label!r}: has an infinite cell; leave such rows out")
        if model in ("auto", "logistic") and set(np.unique(values)) <= {0.0, 1.0}:
            return ['positive = "1"', 'negative = "0"'], np.where(values == 1, 1.0, -1.0), None, f"{said.label} = 1"
    if model == "poisson":
        if values is None or values.min() < 0 or (values != np.round(values)).any():
            raise ValueError(f"label {said.label!r}: counts are whole numbers of 0 or more")
        return [f"range = [0, {float(max(values.max(), 1.0))!r}]", "counts = true"], values, None, f"the mean of {said.label}"
    if is_number and model not in ("logistic", "softmax"):
        lo, hi = float(values.min()), float(values.max())
        if lo == hi:
            raise ValueError(f"label {said.label!r}: has one value, {lo:g}; nothing can be learned")
        return [f"range = [{lo!r}, {hi!r}]"], values, None, said.label
    texts = _texts(column)
    names = sorted(set(texts))
    if len(names) < 2:
        raise ValueError(f"label {said.label!r}: has one value, {names[0]!r}; nothing can be learned")
    if len(names) == 2 and model != "softmax":
        lines = [f"positive = {_formula.quoted(names[1])}", f"negative = {_formula.quoted(names[0])}"]
        return lines, np.where(np.array(texts) == names[1], 1.0, -1.0), None, f"{said.label} = {names[1]}"
    if len(names) > 100:
        raise ValueError(
            f"label {said.label!r}: has {len(names):,} different values; classes are at most 100"
        )
    places = {name: float(k) for k, name in enumerate(names)}
    lines = [f"classes = [{', '.join(map(_formula.quoted, names))}]"]
    return lines, np.array([places[text] for text in texts]), names, f"each class of {said.label} against the mean of the classes"


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
            columns.append(_Part(term.column, levels=tuple(said["levels"])))
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


def _engine_name(name, columns):
    """What the engine calls the intercept, and a product of columns."""
    if name == _INTERCEPT:
        return "(intercept)"
    parts = name.split(":") if isinstance(name, str) else ()
    return " × ".join(parts) if len(parts) > 1 and name not in columns and set(parts) <= set(columns) else name


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
    prior_precision=_PRIOR_PRECISION,
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
        The rows. Rows that lack a cell of the formula are left out, with a warning.
    formula : str
        "label ~ terms" in the words of `from_formula`: a column, curve(x, K), log(x), C(x),
        exposure(x), and products a*b. A numeric column is a straight line, one of text or booleans a
        category.
    prior_precision : float
        Precision m of the prior N(0, 1/m) of each coefficient on the encoder's scale: of a number
        the effect over its whole range, of a level or knot its own. 0.16 is a standard deviation
        of 2.5.
    prior : dict, str or None
        Priors in its place by name, on the same scale: of a column, a level ("sex=M"), a product
        ("age:sex"), "Intercept", or "*" for all others, as "normal(center, scale)" or
        "student_t(degrees, center, scale)". A text alone is of all.
    weights : str, array or None
        How often each row counts, 0 or more: a column's name, or a number a row. Its log-likelihood is
        multiplied by it. With a survey's weights this is a pseudo-posterior, as wide as if so many rows
        had been seen; scale them to add up to the number of rows.
    ranges : dict or None
        Ranges, curves or levels of some columns in place of those that the rows have.
    interval : float
        Probability of the central intervals of the summary.
    quiet : bool
        Whether nothing is printed.
    log_likelihood, posterior_predictive : bool
        Whether the groups of these names are there, a number for each draw and row: for
        `arviz.loo` and `arviz.plot_ppc`, without weights. Not of "huber", which is no likelihood.
    **options
        model="auto" (two values: logistic; text of more: softmax; other numbers: normal, whose
        noise has the deviation `sigma`; "poisson" for counts; "huber"), and the others of
        `sample_posterior`.

    Returns
    -------
    arviz.InferenceData (a DataTree from ArviZ 1.0 on)
        posterior has `Intercept` and a variable for each term: of a number its slope, of a category
        its levels against the first one, of a curve its knots against their mean, of a product what
        it adds to its columns; of normal amounts also `sigma`. With "- 1" a line goes through 0, and
        the first category, with all its levels, or curve has the constant. Of two classes the one that
        sorts last is modelled, which posterior.attrs["modelled"] and the summary say; of more, each
        against the mean of the classes, as an effect of `fit` is: rows tell nothing else
        (docs/theory/posterior.md). sample_stats and the other attrs are as of `sample_posterior`.

    Raises
    ------
    ImportError
        If ArviZ, formulaic or pyarrow is not installed.
    ValueError, BadInput
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
    said = _formula.parse(formula, names)
    table, weights = _table_of(frame, said, weights)
    ranges = {} if ranges is None else ranges
    unknown = [name for name in ranges if name not in said.columns]
    if unknown:
        raise ValueError(f"ranges: {_tables.listed(unknown)} is not in the formula {formula!r}")
    model = options.get("model", "auto")
    lines, labels, classes, modelled = _label_of(said, table[said.label], model)
    found = {term.column: _range_of(term, table[term.column], ranges.get(term.column)) for term in said.terms}
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
    rows = table.select(said.columns)
    cells = {}
    for k, term in enumerate(said.terms):
        is_levels = isinstance(found[term.column], (list, dict))
        cells[term.column] = _texts(rows[term.column]) if is_levels else _numbers_of(rows[term.column])
        if is_levels:
            import pyarrow

            rows = rows.set_column(k, term.column, pyarrow.array(cells[term.column]))
    data = _tables.read_arrow(rows, schema, labels=labels)
    if model == "poisson":  # the loss of a count is Poisson's in units of the largest one
        options.setdefault("beta", float(max(labels.max(), 1.0)))
    if weights is not None:
        data._weigh(weights, float(weights.max()))
        options["beta"] = options.get("beta", 1.0) * float(weights.max())
    if isinstance(prior, dict):
        prior = {_engine_name(name, said.columns): law for name, law in prior.items()}
    drawn = _core.draw_posterior(data, prior_precision=prior_precision, prior=prior, **options)

    draws = drawn["draws"]  # [chain, draw, (classes x) features]
    sigma = None
    if drawn["learns_noise"]:
        draws, sigma = draws[..., :-1], draws[..., -1] * drawn["unit"]
    if classes is not None:
        draws = draws.reshape(*draws.shape[:2], len(classes), -1)
        # The likelihood knows differences of classes alone: what all of them share is the prior's.
        draws = draws - draws.mean(axis=2, keepdims=True)
    columns, interactions, linear = _parts_of(schema, said.terms)
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
            for term in said.terms:
                if term.kind == "exposure":
                    predictor = predictor + np.log(cells[term.column])
        if log_likelihood:
            groups["log_likelihood"] = {said.label: _log_likelihood(kind, predictor, labels, sigma)}
        if posterior_predictive:
            groups["posterior_predictive"] = {said.label: _replicated(kind, predictor, options.get("seed"), sigma)}
        observed = (labels > 0).astype(np.int8) if kind == "classes" else labels
        groups["observed_data"] = {said.label: observed}
    # The controlled means are of the encoder's scale.
    said_of_draws = {key: one for key, one in drawn.items() if not key.startswith("controlled_")}
    out = arviz_groups(said_of_draws, groups, all_coords, dims)
    out.posterior.attrs["modelled"] = modelled
    if not quiet:
        flat = _flat(variables)
        counted = "" if weights is None else f" that count {weights.sum():,.6g} by their weights"
        print(f"{modelled}; {len(labels):,} rows{counted}; sampler {drawn['sampler']}; not private\n")
        print(_printed(*summarize(flat, interval, drawn["superchains"])))
        print(f"\n{drawn['verdict']}")
    return out
