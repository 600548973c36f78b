"""Formulas such as "income ~ curve(age, 8) + log(wage) + sex*education", as ranges or a schema.

The parser is formulaic's. Only the words of a formula are read here, and no row: ranges and levels are
those of `schema` or `ranges`.
"""

import ast
import dataclasses
import re
import tomllib

from . import _tables
from ._curve import Curve, quoted

_TERMS = "terms are a column, curve(x), curve(x, 8), log(x), C(x), exposure(x) and products a*b"


@dataclasses.dataclass(frozen=True)
class Term:
    """What a formula says of a column. knots: a number of them, "auto" or None (as the ranges say)."""

    column: str
    knots: object = None
    is_log: bool = False
    kind: str = ""  # "category" or "exposure" if the formula says so

    @property
    def is_plain(self):
        return self.knots is None and not self.is_log and not self.kind


@dataclasses.dataclass(frozen=True)
class Formula:
    """A formula that was read. It also takes its columns out of tables."""

    text: str
    label: str
    terms: tuple
    interactions: tuple  # of tuples of columns
    intercept: bool
    cells: dict = dataclasses.field(default_factory=dict)  # of a part of a date: the table's column
    held: tuple = ()  # columns of people and of weights, which count rows and are no terms

    @property
    def columns(self):
        return [term.column for term in self.terms]

    @property
    def read(self):
        """Columns of a table that the terms read."""
        return list(dict.fromkeys(self.cells.get(name, name) for name in self.columns))

    def rows_of(self, X, more=()):
        """The formula's columns of a table and those `more`, in their order; of an array itself."""
        names = _names_of(X)
        if names is None:
            return X
        wanted = [*self.read, *more]
        lacking = [name for name in wanted if name not in names]
        if lacking:
            raise ValueError(
                f"X: lacks {_tables.listed(lacking)} of the formula {self.text!r}; its columns are "
                f"{_tables.listed(names)}"
            )
        if _tables._is_pandas(X):
            return X[wanted]
        return (X if hasattr(X, "select") else _arrow_table(X)).select(wanted)

    def split(self, X, y):
        """(X, y) to fit: y is the label's column of X if it is None."""
        if y is None:
            names = _names_of(X)
            if names is None or self.label not in names:
                raise ValueError(
                    f"X: the formula's label {self.label!r} is no column of it; give a table with "
                    "that column, or y"
                )
            y = (X if hasattr(X, "__getitem__") else _arrow_table(X))[self.label]
        return self.rows_of(X, self.held), y


def _arrow_table(X):
    import pyarrow

    return pyarrow.table(X)


def _names_of(X):
    """Names of a table's columns, or None of an array."""
    for path in (("column_names",), ("columns",)):
        names = getattr(X, path[0], None)
        if names is not None and not callable(names):
            return list(names)
    return list(_arrow_table(X).column_names) if hasattr(X, "__arrow_c_stream__") else None


def _fail(text, wrong):
    raise ValueError(f"formula {text!r}: {wrong}")


def parse(text, known=()):
    """A formula's text -> Formula. known: the columns that "." stands for, and the label."""
    if not isinstance(text, str):
        raise ValueError(f'formula: must be a str such as "income ~ age + sex", got {text!r}')
    try:
        from formulaic.parser import DefaultFormulaParser
    except ImportError:
        raise ImportError(
            "from_formula: reading a formula takes formulaic; install it (pip install "
            "'gibbsite[formula]')"
        ) from None
    if text.count("~") != 1:
        _fail(text, 'must be "label ~ terms", with one ~')
    label = text.partition("~")[0].strip().strip("`")
    if not label:
        _fail(text, 'has no label; write "label ~ terms"')
    _require_no_groups(text)
    context = {"__formulaic_variables_available__": [name for name in known if name != label]}
    try:
        tree = DefaultFormulaParser().get_ast(text, context=context)
        parsed = DefaultFormulaParser().get_terms(text, context=context)
        left, right = (
            [[(factor.expr, factor.eval_method.name) for factor in term.factors] for term in side]
            for side in (parsed.lhs, parsed.rhs)
        )
    except Exception as error:  # the parser's own types
        words = re.sub(r"\x1b\[[0-9;]*m|\s+", " ", str(error).split("\n")[0]).strip()
        _fail(text, f"cannot be read: {words or type(error).__name__}")
    _require_no_powers(text, tree)
    if left != [[(label, "LOOKUP")]]:
        _fail(text, "the label must be one column, as it is in the table")
    one = [("1", "LITERAL")]
    intercept = one in right
    products = [[_term(text, *factor) for factor in term] for term in right if term != one]
    terms, interactions = [], []
    for product in products:
        if len(product) == 1:
            terms += product
        else:
            interactions.append(tuple(term.column for term in product))
    columns = [term.column for term in terms]
    for column in columns:
        if columns.count(column) > 1:
            _fail(text, f"{column!r} is in it twice; a column has one term")
    if not products:
        _fail(text, "has no terms; " + _TERMS)
    if label in columns:
        _fail(text, f"the label {label!r} is a term too; leave it out")
    for product in products:
        for term in product:
            if term not in terms:
                _fail(
                    text,
                    f"{term.column!r} is in a product and not as the same term by itself; write a*b, "
                    "which is a + b + a:b",
                )
    for columns in interactions:
        if len(set(columns)) < len(columns):
            _fail(text, f"a product names {columns[0]!r} twice")
    return Formula(text, label, tuple(terms), tuple(interactions), intercept)


def _require_no_groups(text):
    """That no term is a random effect such as (1 | id), which the parser would call a wrong operator."""
    if "|" in re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "", text):
        _fail(
            text,
            "| is not known; there are no random effects: rows count as independent, so intervals are too "
            "narrow where a person has several; keep one row a person, or give ids as groups= to fit, with "
            "intervals=True",
        )


def _instead_of_power(name):
    if re.fullmatch(r"[A-Za-z_]+\(.*\)", name):  # a call
        return "leave it out"
    quoted_name = name if name.isidentifier() else f"`{name}`"
    return f'write curve({quoted_name}) for an effect that bends, or add a column of {name} squared to the table'


def _require_no_powers(text, node):
    """That a column is not multiplied with itself: the parser makes one column of it, as R does, and a
    square that was meant would be left out in silence. (a + b)**2 is the product of a and b."""
    operator = getattr(getattr(node, "operator", None), "symbol", None)
    if operator is None:
        return
    sides = [list(dict.fromkeys(_leaves(side))) for side in node.args]
    if operator in ("**", "^") and len(sides[0]) == 1:
        name = sides[0][0]
        _fail(text, f"{name}{operator}{node.args[1]} would be {name} alone; {_instead_of_power(name)}")
    if operator in (":", "*", "/", "in", "%in%") and len(sides) == 2:
        for name in sides[0]:
            if name in sides[1]:
                _fail(
                    text,
                    f"a product names {name!r} twice, which would be {name} alone; {_instead_of_power(name)}",
                )
    for side in node.args:
        _require_no_powers(text, side)


def _leaves(node):
    """The columns and calls below a node of the parser's tree."""
    if hasattr(node, "operator"):
        return [leaf for side in node.args for leaf in _leaves(side)]
    return [str(getattr(node, "token", node))]


def _term(text, factor, method):
    """A factor, as formulaic writes it, as a Term. method: LOOKUP of a column's name."""
    if method == "LOOKUP":
        return Term(factor)
    names = re.findall(r"`([^`]*)`", factor)  # which need not be names of Python
    code = re.sub(r"`[^`]*`", "_quoted_", factor)
    try:
        call = ast.parse(code, mode="eval").body
    except SyntaxError:
        call = None
    term = _called(call, iter(names))
    if term is None and isinstance(call, ast.Call) and getattr(call.func, "id", "") == "offset":
        _fail(
            text,
            f"{factor!r} is not known; what a count is over is exposure(x), without log, and "
            'ranges={"x": ("exposure", lowest, highest)}',
        )
    power = re.fullmatch(r"(?:I\(|\{)?\s*(\w+)\s*\*\*\s*\d+\s*[)}]?", code)
    if term is None and power:
        named = re.search(r"`([^`]*)`", factor) or power
        _fail(text, f"{factor!r} is not known; {_instead_of_power(named.group(1))}")
    if term is None:
        _fail(text, f"{factor!r} is not known; {_TERMS}")
    return term


def _called(node, names):
    """The term of a call or a name; None if it is none."""
    if isinstance(node, ast.Name):
        return Term(next(names) if node.id == "_quoted_" else node.id)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        return None
    if not node.args or any(isinstance(one, ast.Starred) for one in node.args):
        return None
    inner, more = _called(node.args[0], names), node.args[1:]
    name = node.func.id
    if inner is None or (more and name != "curve"):
        return None
    if name == "log" and not inner.is_log and not inner.kind:
        return dataclasses.replace(inner, is_log=True, knots=inner.knots or "auto")
    if name in ("C", "exposure") and inner.is_plain:
        return dataclasses.replace(inner, kind="category" if name == "C" else "exposure")
    if name != "curve" or len(more) > 1 or inner.kind or inner.knots not in (None, "auto"):
        return None
    knots = more[0].value if more and isinstance(more[0], ast.Constant) else "auto" if not more else None
    whole = isinstance(knots, int) and not isinstance(knots, bool)
    return dataclasses.replace(inner, knots=knots) if whole or knots == "auto" else None


def _require_columns(formula, known, of):
    unknown = [name for name in formula.columns if name not in known]
    if unknown:
        _fail(
            formula.text,
            f"{of} does not know {_tables.listed(unknown)}; it knows {_tables.listed(list(known))}",
        )


def _require_kind(formula, term, what, of):
    """That a term fits what the ranges, or the schema's TOML, make of its column."""
    kind = _kind_of_range(what) if of == "ranges" else _tables.plain_column(what)["type"]
    said = {"number": "a number", "category": "a category", "exposure": "the exposure"}.get(kind)
    if kind in _HELD:
        does = "says whose a row is" if kind == "person" else "weighs rows"
        _fail(formula.text, f"{term.column!r} {does} in {of}, and counts without being a term; leave it out")
    if said is None:
        _fail(formula.text, f"{of} ignores {term.column!r}; say there what it is")
    if (term.knots is not None or term.is_log) and kind != "number":
        _fail(formula.text, f"{term.column!r} is {said} in {of}, and curves and log are of numbers")
    if term.kind == "category" and kind != "category":
        _fail(
            formula.text,
            f"C({term.column}): {of} says that it is {said}; list its levels there, as they must not "
            "come from the rows",
        )
    if (term.kind == "exposure") == (kind == "exposure"):
        return
    wanted = f"write exposure({term.column})"
    if kind == "category":
        wanted = "leave exposure() out"
    elif kind == "number":
        ends = what["range"] if isinstance(what, dict) and "range" in what else what
        ends = ends if _tables._is_pair(ends) else ("lowest", "highest")
        low, high = (ends[0] if ends[0] != 0 else "lowest above 0", ends[1])
        wanted = f'write ranges={{"{term.column}": ("exposure", {low}, {high})}}'
        if of != "ranges":
            wanted = 'give it type = "exposure" there, with a range above 0'
    _fail(formula.text, f"{term.column!r} is {said} in {of}; {wanted}")


_HELD = ("person", "weight")
_CARRIERS = ("category", "boolean", "month", "weekday")  # whose features add up to 1


def carries_constant(column):
    """Whether a column of a schema, as TOML says it, has a constant among what it can say."""
    return column["type"] in _CARRIERS or "knots" in column or "curve" in column


def _require_origin(formula, columns, kind, label_range):
    """That "- 1" means what it says. A number counts from the low end of its range and an amount from
    the middle of its own: without a constant the model goes through those, not through 0.

    columns: {name: TOML's words} of the terms; kind: of the label, with its range or None
    """
    if formula.intercept or any(map(carries_constant, columns.values())):
        return
    advice = "leave - 1 out, or add a category"
    for names in formula.interactions:  # of which each holds a constant
        _fail(formula.text, f"{':'.join(names)} holds a constant, so - 1 leaves none out; leave - 1 out")
    for name, column in columns.items():
        lowest = column.get("range", [0])[0]
        if column["type"] != "exposure" and lowest != 0:
            lowest = lowest if isinstance(lowest, str) else f"{lowest:g}"
            _fail(
                formula.text,
                f"- 1: {name!r} counts from the low end of its range, {lowest}, so the model would go "
                f"through that and not through 0; begin the range at 0, {advice}",
            )
    if kind == "count":
        _fail(formula.text, f"- 1: the mean of a count is a share of the highest one, not 1, at 0; {advice}")
    if kind == "amount" and label_range is not None and sum(label_range) != 0:
        _fail(
            formula.text,
            f"- 1: {formula.label!r} counts from the middle of its range, {sum(label_range) / 2:g}, so the "
            f"model would go through that and not through 0; give a range whose middle is 0, {advice}",
        )


def require_origin_of_ranges(formula, ranges, kind, label_range):
    """`_require_origin` of {column: what `ranges` say of it}."""
    if not formula.intercept:
        lines = [line for name, what in ranges.items() for line in _tables._column_lines(name, what)]
        columns = tomllib.loads("\n".join(lines))
        _require_origin(formula, {name: columns[name] for name in formula.columns}, kind, label_range)


# Ranges.


def _kind_of_range(what):
    if isinstance(what, Curve) or _tables._is_pair(what):
        return "number"
    said = _tables._type_said(what)
    if said is not None:
        kinds = {"boolean": "category", "month": "category", "weekday": "category", "date": "number", "year": "number"}
        return kinds.get(said, said if said in ("exposure", *_HELD) else None)
    if isinstance(what, dict):
        return "category" if "levels" in what else "number"
    return "exposure" if _tables._is_exposure(what) else "category"


def _parts_of(ranges):
    """{name of a part: (date, part)} of the dates in `ranges`."""
    return {
        f"{name}_{part}": (name, part)
        for name, what in ranges.items()
        if isinstance(what, dict) and isinstance(what.get("parts"), (list, tuple))
        for part in what["parts"]
    }


def ranges_of(formula, ranges):
    """(the formula, which knows its parts of dates and what else counts; the ranges of its columns, with
    its curves). A column of people is kept though no formula names it."""
    if not isinstance(ranges, dict):
        raise ValueError("ranges: with a formula it must be a dict {column: (lowest, highest)}")
    parts = {name: one for name, one in _parts_of(ranges).items() if name not in ranges}
    _require_columns(formula, [*ranges, *parts], "ranges")
    out, named = {}, {}  # parts that are terms, by their date
    for term in formula.terms:
        if term.column not in parts:
            what = ranges[term.column]
            _require_kind(formula, term, what, "ranges")
            what = what if term.knots is None else _curved_range(formula, term, what)
            if isinstance(what, dict) and "parts" in what:
                what = {key: value for key, value in what.items() if key != "parts"}
            out[term.column] = what
            continue
        date, part = parts[term.column]
        _require_kind(formula, term, part, "ranges")
        if term.knots is not None:
            _fail(formula.text, f"{term.column!r} is a part of a date, and curves of one are a schema's; give schema=")
        named.setdefault(date, []).append(part)
        if date not in formula.columns:  # then the date itself is none of the formula's
            out.setdefault(date, {key: value for key, value in ranges[date].items() if key != "curve"})
            out[date]["type"] = "ignore"
    for date, some in named.items():
        out[date] = {**out[date], "parts": some}
    held = [name for name, what in ranges.items() if _tables._type_said(what) in _HELD]
    for name in held:
        _tables._column_lines(name, ranges[name])  # weights go beside X
        out[name] = ranges[name]
    cells = {name: parts[name][0] for name in formula.columns if name in parts}
    return dataclasses.replace(formula, cells=cells, held=tuple(held)), out


def _curved_range(formula, term, what):
    if isinstance(what, Curve):
        knots = what.knots if term.knots == "auto" and what.knots is not None else term.knots
        if term.is_log and isinstance(knots, tuple):
            _fail(formula.text, f"ranges list the knots of {term.column!r}; leave log out")
        scale = "log" if term.is_log else None if what.scale == "series" else what.scale
        return dataclasses.replace(what, knots=knots, scale=scale)
    if not isinstance(what, dict):
        return Curve(what[0], what[1], term.knots, "log" if term.is_log else None)
    return _curved(formula, term, what, "ranges")


# Schemas.


def _curved(formula, term, column, of):
    """The schema's words of a number with the formula's curve."""
    out = dict(column)
    if term.knots == "auto" and ("curve" in out or "knots" in out):
        if term.is_log and "knots" in out:
            _fail(formula.text, f"{of} lists the knots of {term.column!r}; leave log out")
    else:
        if "knots" in out:
            knots = out.pop("knots")
            out.setdefault("range", [knots[0], knots[-1]])
        out["curve"] = term.knots
        if out.get("scale") == "series":
            del out["scale"]
    if term.is_log:
        out["scale"] = "log"
    return out


def _toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{quoted(key)} = {_toml(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value)


def schema_of(formula, schema):
    """The text of a schema whose other columns are ignored, with the formula's curves."""
    schema = _tables.read_schema(schema)
    facts = _tables.SchemaFacts(schema)
    if facts.label != formula.label:
        _fail(formula.text, f"the schema's label is {facts.label!r}; write that, or give its schema")
    _require_columns(formula, facts.columns, "the schema")
    toml = tomllib.loads(schema.to_toml())
    for gone in ("columns", "network", "interaction"):
        toml.pop(gone, None)
    toml["intercept"] = formula.intercept
    columns = {  # those of people and of weights count rows though no formula names them
        name: facts.written[name] if column["type"] in _HELD else {"type": "ignore"}
        for name, column in facts.columns.items()
    }
    for term in formula.terms:
        column = {key: value for key, value in facts.written[term.column].items() if key != "count"}
        _require_kind(formula, term, facts.written[term.column], "the schema")
        columns[term.column] = column if term.knots is None else _curved(formula, term, column, "the schema")
    _require_origin(
        formula, {name: columns[name] for name in formula.columns}, facts.kind, facts.label_range
    )
    for column in columns.values():
        if "of" in column and columns[column["of"]]["type"] != "ignore":  # which says it for both
            column.pop("format", None)
            column.pop("missing", None)
    known = {
        frozenset(one["columns"]): one
        for one in tomllib.loads(schema.to_toml()).get("interaction", [])
    }
    interactions = [known.get(frozenset(names), {"columns": list(names)}) for names in formula.interactions]
    return _schema_text(toml, columns, interactions)


def _schema_text(toml, columns, interactions):
    lines = [f"{key} = {_toml(value)}" for key, value in toml.items()] + ["[columns]"]
    lines += [f"{quoted(name)} = {_toml(column)}" for name, column in columns.items()]
    for one in interactions:
        lines += ["[[interaction]]"] + [f"{key} = {_toml(value)}" for key, value in one.items()]
    return "\n".join(lines) + "\n"


def without_columns(text, gone):
    """A schema's text without some of its columns."""
    toml = tomllib.loads(text)
    columns = {name: one for name, one in toml.pop("columns").items() if name not in gone}
    return _schema_text(toml, columns, toml.pop("interaction", []))


def with_cells(formula, schema):
    """The formula, and what its parts of dates and what counts rows read by the schema's text."""
    columns = _tables.SchemaFacts(_tables.read_schema(schema)).columns
    cells = {name: columns[name]["of"] for name in formula.columns if "of" in columns[name]}
    held = [name for name, column in columns.items() if column["type"] in _HELD]
    return dataclasses.replace(formula, cells=cells, held=tuple(held))


def known_columns(schema, ranges):
    """Columns that "." stands for."""
    if schema is not None:
        facts = _tables.SchemaFacts(_tables.read_schema(schema))
        return [
            name
            for name, column in facts.columns.items()
            if column["type"] not in ("ignore", "exposure", "weight", "person")
        ]
    if not isinstance(ranges, dict):
        return []
    known = [
        name
        for name, what in ranges.items()
        if isinstance(name, str) and _kind_of_range(what) in ("number", "category")
    ]
    return known + [name for name in _parts_of(ranges) if name not in ranges]
