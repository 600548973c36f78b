"""Pictures of a model's terms: what each column adds to the score. Reads the model alone."""

import datetime
import itertools
import math

import numpy as np

from . import _tables
from ._curve import is_number

_MOST_PANELS = 100
_MOST_YEARS = 6  # on an axis
_ACROSS = 3  # panels in a row of the figure
_LETTERS = 30  # of all levels' names, beside each other below a panel
_COLORS = ["#1f6f8b", "#c8553d", "#588157", "#7b5ea7", "#b08900", "#5c677d"]
_MISSING = "(missing)"


class Term:
    """What a column adds to the score, against its own mean; or an interaction, at one level or
    knot of its other column where it is drawn over a number.

    over: the column on the axis; of an interaction one of its own
    column, title: the column, or "age × sex" of an interaction; what is above its panel
    names: one of each feature: a level's name, a knot of a curve as a float, None of a line
    at: places of what is drawn, in the column's unit; None of a category
    value, low, high: [classes or 1, features]; low and high are None without estimates
    """

    def __init__(self, column, names, range_, value, ends, title=None, over=None):
        self.over = column if over is None else over
        self.column, self.title = column, column if title is None else title
        self.names = [name for name in names if name != _MISSING or range_ is None]
        self.at = None
        k = len(self.names)
        self.is_line = self.names == [None]
        if range_ is not None:
            self.at = np.array(range_ if self.is_line else self.names, dtype=np.float64)
        if self.is_line:  # against the middle of the range
            sides = np.array([-0.5, 0.5])
            missing, gap = value[:, k:], -value[:, :1] / 2
            value = value[:, :1] * sides
            self.missing = missing + gap if missing.size else None
            if ends is not None:
                spread = ends[:, :1] * sides[:, None]
                ends = np.stack([spread.min(axis=-1), spread.max(axis=-1)], axis=-1)
            self.missing_ends = None
        else:
            self.missing = value[:, k:] if value.shape[1] > k else None
            self.missing_ends = None if ends is None or self.missing is None else ends[:, k:]
            value, ends = value[:, :k], None if ends is None else ends[:, :k]
        self.value = value
        self.low, self.high = (None, None) if ends is None else (ends[..., 0], ends[..., 1])

    @property
    def is_category(self):
        return self.at is None


def _mean_weights(names):
    """Weights of a column's features in its mean: of a curve by the range that each knot stands
    for, of levels all equal. A missing cell is in none of a curve."""
    knots = np.array([name for name in names if is_number(name)])
    if len(knots) < 2:
        return np.full(len(names), 1 / len(names))
    widths = np.diff(knots)
    weights = np.concatenate([widths, [0]]) + np.concatenate([[0], widths])
    weights = weights / weights.sum()
    return np.concatenate([weights, np.zeros(len(names) - len(knots))])


def _interactions(facts):
    """(name, [(column, names of its features there, its range or None), ...]) of each."""
    for one in facts.interactions:
        parts = []
        for name in one["columns"]:
            column = facts.columns[name]
            names, range_ = facts.levels(column), None
            if column["type"] == "number":
                names = list(map(float, one["knots"][name]))
                names += [_MISSING] * facts.has_missing_level(column)
                range_ = [float(end) for end in column["range"]]
            parts.append((name, names, range_))
        yield " × ".join(one["columns"]), parts


def _text(name):
    return f"{name:g}" if is_number(name) else name


def _crossed(column, parts, value, ends):
    """The terms of an interaction. With a number and one other column: a curve over the number for
    each level or knot of the other; of two numbers over the one with more knots, or the first. Else
    its products as levels."""
    sizes = [len(names) for _, names, _ in parts]
    over = max(range(len(parts)), key=lambda k: sum(map(is_number, parts[k][1])))
    if len(parts) != 2 or parts[over][2] is None:
        products = itertools.product(*(names for _, names, _ in parts))
        return [Term(column, [" × ".join(map(_text, one)) for one in products], None, value, ends)]
    _, names, range_ = parts[over]
    beside, levels, _ = parts[1 - over]
    out = []
    for k, level in enumerate(levels):
        places = np.arange(value.shape[1]).reshape(sizes).take(k, axis=1 - over)
        title = f"{column}\n{beside} = {_text(level)}"
        here = None if ends is None else ends[:, places]
        out.append(Term(column, names, range_, value[:, places], here, title, parts[over][0]))
    return out


def terms(model):
    """The terms of a fitted estimator, in the order of its columns, interactions last."""
    facts, slopes = model._facts, np.atleast_2d(model.coef_)
    ends = model.release_.intervals
    if ends is not None:
        ends = np.asarray(ends)
        ends = ends.reshape(-1, *ends.shape[-2:])
        head, rows, *_ = model.release_.effects()
        at, of = head.index("estimate"), head.index("column")
        # Class after class, each in the order of its features; the constant is of no column.
        estimates = np.array([row[at] for row in rows if row[of]]).reshape(len(ends), -1)
    out, first = [], 0
    for column in model.schema_.columns:
        said = facts.columns[column]
        names = facts.levels(said)
        if not names:
            continue
        places = slice(first, first + len(names))
        first += len(names)
        value, range_ = slopes[:, places].copy(), None
        if said["type"] == "number":
            range_ = [float(end) for end in said["range"]]
        if names[0] is None:  # a line: over the whole range
            value[:, 1:] -= value[:, :1] * range_[0]  # the level stands in place of a cell
            value[:, 0] *= range_[1] - range_[0]
        if ends is not None:
            value = estimates[:, places]
        elif names[0] is not None:
            value = value - value @ _mean_weights(names)[:, None]
        out.append(Term(column, names, range_, value, None if ends is None else ends[:, places]))
    for column, parts in _interactions(facts):
        places = slice(first, first + math.prod(len(names) for _, names, _ in parts))
        first = places.stop
        value = slopes[:, places]
        value = value - value.mean(axis=1, keepdims=True) if ends is None else estimates[:, places]
        out += _crossed(column, parts, value, None if ends is None else ends[:, places])
    return out


def _chosen(found, columns):
    if isinstance(columns, str):
        columns = [columns]
    if columns is not None:
        known = list(dict.fromkeys(term.column for term in found))
        unknown = [name for name in columns if name not in known]
        if unknown:
            raise ValueError(
                f"columns: the model has no term {_tables.listed(unknown)}; its terms are "
                f"{_tables.listed(known)}"
            )
        found = [term for name in columns for term in found if term.column == name]
    if not found:
        raise ValueError("columns: there is no term to draw; name some, or leave columns out")
    if len(found) > _MOST_PANELS:
        raise ValueError(
            f"columns: {len(found)} panels are more than {_MOST_PANELS}; name those to draw: "
            "columns=[...]"
        )
    return found


def _draw_levels(panel, term, colors, labels):
    classes, levels = term.value.shape
    width = 0.8 / classes
    for k in range(classes):
        x = np.arange(levels) + (k - (classes - 1) / 2) * width
        panel.bar(x, term.value[k], width, color=colors[k], label=labels[k])
        if term.low is not None:
            size = [term.value[k] - term.low[k], term.high[k] - term.value[k]]
            panel.errorbar(x, term.value[k], size, fmt="none", ecolor="0.25", elinewidth=1, capsize=2)
    fits = sum(map(len, term.names)) <= _LETTERS
    panel.set_xticks(
        np.arange(levels), term.names, rotation=0 if fits else 30, ha="center" if fits else "right"
    )


def _day(number):
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=int(number))


def _date_ticks(lo, hi):
    """(places, names) of first days of years between two days since 1970; of less, both ends."""
    days = [(datetime.date(y, 1, 1) - datetime.date(1970, 1, 1)).days for y in range(_day(lo).year, _day(hi).year + 1)]
    days = [day for day in days if lo <= day <= hi]
    if len(days) < 2:
        return [lo, hi], [_day(lo).isoformat(), _day(hi).isoformat()]
    days = days[:: math.ceil(len(days) / _MOST_YEARS)]
    return days, [str(_day(day).year) for day in days]


def _draw_line(panel, term, colors, labels, is_date):
    lo, hi = term.at[0], term.at[-1]
    for k, value in enumerate(term.value):
        panel.plot(term.at, value, color=colors[k], label=labels[k])
        if term.low is not None:
            at, low, high = term.at, term.low[k], term.high[k]
            if term.is_line:  # the interval is narrow in the middle
                middle = lo + (hi - lo) / 2
                at, low, high = [lo, middle, hi], [low[0], 0, low[1]], [high[0], 0, high[1]]
            panel.fill_between(at, low, high, color=colors[k], alpha=0.2, linewidth=0)
    inside, names = _date_ticks(lo, hi) if is_date else ([], [])
    if is_date:
        panel.set_xticks(inside, names)
    if term.missing is None:
        return
    place = hi + 0.08 * (hi - lo)
    for k, value in enumerate(term.missing[:, 0]):
        panel.plot([place], [value], marker="o", linestyle="none", color=colors[k])
        if term.missing_ends is not None:
            low, high = term.missing_ends[k, 0]
            panel.errorbar([place], [value], [[value - low], [high - value]], ecolor=colors[k], capsize=2)
    if not is_date:
        inside = [tick for tick in panel.get_xticks() if lo <= tick <= hi]
        names = [f"{tick:g}" for tick in inside]
    panel.set_xticks([*inside, place], [*names, _MISSING])


def _is_date(facts, column):
    said = facts.columns[column]
    return "date" in said and "part" not in said


def plot(model, columns, labels, axis):
    """The axes of a figure with a panel for each term. labels: of the classes, or [None]."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(
            "plot_terms: drawing takes matplotlib; install it (pip install 'gibbsite[plots]')"
        ) from None
    found = _chosen(terms(model), columns)
    across = min(_ACROSS, len(found))
    down = math.ceil(len(found) / across)
    figure, panels = pyplot.subplots(
        down, across, figsize=(4 * across, 3 * down), sharey=True, squeeze=False, layout="constrained"
    )
    colors = [_COLORS[k % len(_COLORS)] for k in range(len(labels))]
    for panel, term in zip(panels.flat, found):
        if term.is_category:
            _draw_levels(panel, term, colors, labels)
        else:
            _draw_line(panel, term, colors, labels, _is_date(model._facts, term.over))
        panel.axhline(0, color="0.7", linewidth=0.8, zorder=0)
        panel.set_title(term.title)
    for panel in panels[:, 0]:
        panel.set_ylabel(axis)
    for panel in panels.flat[len(found) :]:
        panel.remove()
    if len(labels) > 1:
        panels[0, 0].legend()
    return panels.ravel()[: len(found)]
