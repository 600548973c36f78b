"""What `ranges` say of a number whose effect is a curve."""

import dataclasses
import math
import numbers

import numpy as np

_MOST_KNOTS = 1_000
_SCALES = ("even", "log", "series")


def is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def quoted(text):
    """A basic string of TOML."""
    escaped = "".join(
        f"\\u{ord(c):04X}" if ord(c) < 0x20 or ord(c) == 0x7F else "\\" + c if c in '"\\' else c
        for c in text
    )
    return f'"{escaped}"'


def is_marks(missing):
    """Whether it is a mark of missing cells, or a list of such."""
    if isinstance(missing, str):
        return True
    is_list = isinstance(missing, (list, tuple)) and len(missing) > 0
    return is_list and all(isinstance(mark, str) for mark in missing)


def marks_toml(missing):
    return quoted(missing) if isinstance(missing, str) else f"[{', '.join(map(quoted, missing))}]"


@dataclasses.dataclass(frozen=True, repr=False)
class Curve:
    """A number whose effect is a curve in place of a straight line, for `ranges`
    (docs/theory/curves.md).

    The curve is straight between its knots, which are public: they follow from the range and the
    parameters here, never from the rows. A cell between two knots counts partly as each of them, so
    a curve of K knots has K coefficients, which are its values at the knots: "age=17", "age=25" and
    so on in `coef_names_`. `plot_terms` draws it.

    Parameters
    ----------
    lo, hi : float
        The range of the column in its own unit, known without the data. Cells beyond it count as
        its ends.
    knots : int, "auto", a list of numbers or None
        How many knots, from 3 to 1000 (2 is a straight line), or where the curve may bend, in the
        column's unit and ascending; the ends of the range belong to it in any case. "auto" takes as
        many as the budget and the number of rows allow, both of which are public, and a straight
        line if they are few. None is "auto", or what the series has with scale="series".
    scale : "even", "log", "series" or None
        How knots that are not listed lie: at equal distances, at equal distances of the logarithm,
        or at 1, 2, 5, 10, 20 and so on. None takes "log" for a range from 0 or above that is wide
        (hi - lo at least 1000 and hi at least 50 lo), else "even".
    missing : str, a list of str or None
        How a missing cell reads in text; missing cells of frames and NaN are such cells then. They
        get a level "(missing)" of their own. None: a missing cell is refused, or the middle of the
        range with invalid="middle".
    missing_level : bool or None
        With `missing`: whether missing cells have that level. False takes the middle of the range
        for them.

    Raises
    ------
    ValueError
        If a parameter is not as it must be.

    Examples
    --------
    >>> gibbsite.Curve(17, 90, knots=8)
    Curve(17, 90, knots=8)
    >>> ranges = {"age": gibbsite.Curve(17, 90, knots=[25, 40, 65]), "wage": gibbsite.Curve(0, 1e5)}
    """

    lo: float
    hi: float
    knots: int | str | tuple | None = None
    scale: str | None = None
    missing: str | tuple | None = None
    missing_level: bool | None = None

    def __post_init__(self):
        lo, hi, knots = self.lo, self.hi, self.knots
        if not (is_number(lo) and is_number(hi) and math.isfinite(lo) and math.isfinite(hi) and lo < hi):
            raise ValueError(
                "Curve: lo and hi must be finite numbers known without the data, the lowest first, got "
                f"{lo!r} and {hi!r}"
            )
        if self.scale is not None and self.scale not in _SCALES:
            raise ValueError(
                f"Curve: scale must be {', '.join(map(repr, _SCALES))} or None, got {self.scale!r}"
            )
        if isinstance(knots, np.ndarray) and knots.ndim == 1:
            knots = knots.tolist()
        if isinstance(knots, (list, tuple)):
            object.__setattr__(self, "knots", self._listed(knots))
        elif isinstance(knots, numbers.Integral) and not isinstance(knots, bool):
            if not 2 <= knots <= _MOST_KNOTS:
                raise ValueError(
                    f"Curve: knots must be from 2 (a straight line) to {_MOST_KNOTS}, got {knots}"
                )
            if self.scale == "series":
                raise ValueError(
                    'Curve: scale="series" says how many knots there are; leave knots out'
                )
            object.__setattr__(self, "knots", int(knots))
        elif knots is not None and not (isinstance(knots, str) and knots == "auto"):
            raise ValueError(
                'Curve: knots must be a number of knots, "auto" or a list of numbers, got '
                f"{knots!r}"
            )
        if self.missing is not None:
            if not is_marks(self.missing):
                raise ValueError(
                    "Curve: missing must be how a missing cell reads, a str or a list of str, got "
                    f"{self.missing!r}"
                )
            if not isinstance(self.missing, str):
                object.__setattr__(self, "missing", tuple(self.missing))
        if self.missing_level is not None:
            if not isinstance(self.missing_level, (bool, np.bool_)):
                raise ValueError(
                    f"Curve: missing_level must be True, False or None, got {self.missing_level!r}"
                )
            if self.missing is None:
                raise ValueError(
                    "Curve: missing_level is of missing cells, and no text marks them; give "
                    'missing="", or leave it out'
                )
            object.__setattr__(self, "missing_level", bool(self.missing_level))

    def _listed(self, knots):
        if self.scale is not None:
            raise ValueError(
                "Curve: knots lists where the curve bends, and scale places knots; leave one out"
            )
        if not all(map(is_number, knots)):
            raise ValueError(f"Curve: knots must be numbers, got {knots!r}")
        out = tuple(knot.item() if isinstance(knot, np.generic) else knot for knot in knots)
        ascending = all(before < after for before, after in zip(out, out[1:]))
        if not ascending or not all(self.lo <= knot <= self.hi for knot in out):
            raise ValueError(
                f"Curve: knots must ascend from {self.lo!r} to {self.hi!r} (lo and hi), got {knots!r}"
            )
        return out

    def __repr__(self):
        said = [repr(self.lo), repr(self.hi)]
        for field in dataclasses.fields(self)[2:]:
            value = getattr(self, field.name)
            if value is not None:
                value = list(value) if isinstance(value, tuple) else value
                said.append(f"{field.name}={value!r}")
        return f"Curve({', '.join(said)})"

    def to_toml(self):
        """The column as a schema says it."""
        lo, hi = float(self.lo), float(self.hi)
        said = ['type = "number"', f"range = [{lo!r}, {hi!r}]"]
        if isinstance(self.knots, tuple):
            inner = [float(knot) for knot in self.knots if lo < float(knot) < hi]
            said.append(f"knots = {[lo, *inner, hi]!r}")
        elif isinstance(self.knots, int):
            said.append(f"curve = {self.knots}")
        elif self.knots is not None or self.scale != "series":
            said.append('curve = "auto"')
        if self.scale is not None and self.knots != 2:
            said.append(f"scale = {quoted(self.scale)}")
        if self.missing is not None:
            said.append(f"missing = {marks_toml(self.missing)}")
        if self.missing_level is not None:
            said.append(f"missing_level = {str(self.missing_level).lower()}")
        return f"{{{', '.join(said)}}}"
