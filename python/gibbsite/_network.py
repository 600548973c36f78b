"""A network and its schema, bought with one budget."""

from . import _core
from ._ledger import opened, warn_void
from ._tables import as_cells


def private_network(
    data,
    *,
    epsilon,
    delta,
    schema_share=None,
    structure_share=None,
    adjacency="replace-one",
    rows_cap=None,
    rows_per_person=1,
    ledger=None,
    seed=None,
    n_jobs=None,
    progress=None,
):
    """Fits a network to a table of which nothing is known but the names of its columns.

    One budget buys a schema (types, levels, ranges, bins) and counts the tables of a network by it
    (docs/how-to/network.md).

    Parameters
    ----------
    data : DataFrame, Arrow table or 2-d array
        The private table, of one row or more. Columns named like an id are left out.
    epsilon, delta : float
        The privacy budget of both together.
    schema_share : float or None
        The share of mu^2 that buys the schema. None takes 0.1, up to 0.2 of few rows.
    structure_share : float or None
        The share of what is left that chooses which tables are counted; None takes a tenth.
    adjacency : "replace-one" or "add-remove"
        Which tables are neighbors. "add-remove" needs `rows_cap`: the number of rows is then bought.
    rows_cap : int or None
        Under "add-remove", a public bound of the number of rows.
    rows_per_person : int
        The largest number of rows of one person.
    ledger : Ledger, path or None
        The account of everything released about these people (docs/how-to/ledger.md).
    seed : int or None
        An int makes runs repeatable and the certificate void: for tests only.
    n_jobs : int or None
        Threads that read; None takes all.
    progress : callable or None
        Called as progress(done, in all).

    Returns
    -------
    NetworkRelease

    Raises
    ------
    BadInput
        If an argument or the table is not as it must be.
    Infeasible
        If the budget cannot be kept, or too much of the table would stay unseen.
    BudgetSpent
        If the ledger has no room for it.

    Warns (`FitWarning`) of a large budget, and where levels go into "(other)".
    """
    table, columns = as_cells(data)
    asked = {
        "epsilon": epsilon,
        "delta": delta,
        "schema_share": schema_share,
        "structure_share": structure_share,
        "adjacency": adjacency,
        "rows_cap": rows_cap,
        "rows_per_person": rows_per_person,
        "columns": columns,
    }
    out = _core._fit_bought_network(
        table.source, seed=seed, ledger=opened(ledger), n_jobs=n_jobs, progress=progress, **asked
    )
    warn_void(seed, "a network")
    return out
