"""A schema of a table of which nothing is known, bought with privacy budget."""

from . import _core
from ._ledger import opened, warn_void
from ._tables import as_cells, highest_weight


def private_schema(
    data,
    *,
    epsilon,
    delta=1e-7,
    label=None,
    positive=None,
    classes=None,
    range=None,
    tolerance=None,
    counts=False,
    person=None,
    weight=None,
    weight_range=None,
    exposure=None,
    exposure_range=None,
    date_parts=None,
    adjacency="replace-one",
    rows_cap=None,
    rows_per_person=1,
    ledger=None,
    seed=None,
    progress=None,
):
    """Buys a schema (types, ranges, levels) of a table of which only the columns' names are known.

    Cells are counted with noise, and the schema follows from the answers
    (docs/theory/bought-schema.md). It may be published. What is fitted by it later costs what it
    costs without: both guarantees add up.

    Parameters
    ----------
    data : DataFrame, Arrow table or 2-d array
        The private table, of one row or more, with the label's column. Columns named like an id are
        left out.
    epsilon, delta : float
        The privacy budget of the schema.
    label : str or None
        The column to predict, which is not asked about. None: a schema for networks and tables, or
        a form that needs a label.
    positive, classes, range, tolerance, counts
        What the label holds: of two classes the positive one; all classes; a public range (lowest,
        highest) of amounts, with the error above which a prediction is far off, or of counts.
    person : str or None
        The column that says whose a row is. All rows of one person then count as at most
        `rows_per_person` together, and the guarantee is for people with any number of rows. Every
        release by the schema must be for the same people.
    weight : str or None
        The column that says how much a row counts in fits, with weight_range (0, largest). The
        purchase counts rows.
    exposure : str or None
        Of counts, the column that says over how much each was made, such as person-years, with its
        public exposure_range (lowest, highest) above 0.
    date_parts : dict or None
        Parts of dates as columns of their own: {"hired": ["year", "month"]}.
    adjacency : "replace-one" or "add-remove"
        Which tables are neighbors. "add-remove" needs `rows_cap`.
    rows_cap : int or None
        Under "add-remove", a public bound of the number of rows, with `person` of people.
    rows_per_person : int
        The largest number of rows of one person; with `person` what one counts at most.
    ledger : Ledger, path or None
        The account of everything released about these people (docs/how-to/ledger.md).
    seed : int or None
        An int makes runs repeatable and the certificate void: for tests only.
    progress : callable or None
        Called as progress(done, in all).

    Returns
    -------
    SchemaRelease
        Its `schema` is what fits, networks and tables take.

    Raises
    ------
    BadInput
        If an argument or the table is not as it must be.
    Infeasible
        If the budget cannot be kept, or too much of the table would stay unseen.
    BudgetSpent
        If the ledger has no room for it, or nothing of it would be left.

    Warns (`FitWarning`) of a large budget, and where levels go into "(other)".
    """
    table, columns = as_cells(data, "data", person)
    asked = {
        "epsilon": epsilon,
        "delta": delta,
        "adjacency": adjacency,
        "rows_cap": rows_cap,
        "rows_per_person": rows_per_person,
        "columns": columns,
        "label": label or "",
        "positive": _text(positive),
        "classes": [_text(one) for one in classes or []],
        "range": None if range is None else [float(end) for end in range],
        "tolerance": tolerance,
        "counts": counts,
        "person": person or "",
        "exposure": exposure or "",
        "date_parts": [f"{name}={','.join(parts)}" for name, parts in (date_parts or {}).items()],
    }
    if (weight is None) != (weight_range is None):
        raise ValueError("weight_range: goes with weight; give both, or neither")
    if weight is not None:
        asked.update(weight=weight, highest_weight=highest_weight(weight_range))
    if exposure_range is not None:
        asked.update(exposure_range=[float(end) for end in exposure_range])
    if person is not None and person not in columns:
        raise _core.BadInput(f"person: data has no column {person!r}; name one of its columns")
    out = _core._buy_schema(table.source, seed=seed, ledger=opened(ledger), progress=progress, **asked)
    warn_void(seed, "a schema")
    return out


def _text(one):
    """A class as the cells of its column read."""
    if one is None:
        return ""
    return str(one).lower() if isinstance(one, bool) else str(one)
