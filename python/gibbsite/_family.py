"""Draws of a family of one column, whose range or levels the same budget buys."""

from . import _core
from ._ledger import opened, warn_after_run, warn_void
from ._tables import as_cells


def private_family(
    data,
    column,
    model,
    *,
    epsilon,
    delta,
    schema_share=None,
    variance=None,
    center=None,
    draws=1,
    rows_per_person=1,
    ledger=None,
    seed=None,
    n_jobs=None,
    progress=None,
):
    """Draws a family's parameters of a column of which nothing but the name is known.

    One budget buys the column's levels or range, and draws by them
    (docs/theory/bought-schema.md). Neighbors replace one person's rows. Numbers are held to the
    range that is found: where it cuts off some, what is true of them all may lie outside of the
    intervals.

    Parameters
    ----------
    data : DataFrame, Arrow table or 2-d array
        The private table, of one row or more.
    column : str
        The column; the others are not read.
    model : str
        "bernoulli" (of the most frequent level), "categorical", "rate", "waiting", "mean",
        "bounded-mean", "variance" or "laplace".
    epsilon, delta : float
        The privacy budget of both together, and of all draws.
    schema_share : float or None
        The share of mu^2 that buys the schema. None takes 0.03, up to 0.2 of few rows.
    variance, center : float or None
        Of "mean" the known variance, in squared units of the column; of "variance" and "laplace" the
        known mean, in its units.
    draws, rows_per_person : int
        How many draws are released; the largest number of rows of one person.
    ledger, seed, n_jobs, progress
        As in `private_network`.

    Returns
    -------
    FamilyRelease

    Raises
    ------
    BadInput
        If an argument or the table is not as it must be; where it is found once the schema is
        bought, what was spent stays in the ledger.
    Infeasible
        If the budget cannot be kept, or too much of the column would stay unseen.
    BudgetSpent
        If the ledger has no room for it.

    Warns (`FitWarning`) of a large budget, and where levels go into "(other)", and where missing
    cells of a number counted as the middle of its range.
    """
    table, columns = as_cells(data)
    asked = {
        "family": model,
        "column": column,
        "columns": columns,
        "epsilon": epsilon,
        "delta": delta,
        "schema_share": schema_share,
        "variance": variance,
        "center": center,
        "draws": draws,
        "rows_per_person": rows_per_person,
    }
    try:
        release = _core._fit_bought_family(
            table.source, seed=seed, ledger=opened(ledger), n_jobs=n_jobs, progress=progress, **asked
        )
    except _core.Infeasible as error:
        if variance is None or "no prior that can be evaluated" not in str(error):
            raise
        raise _core.Infeasible(
            f"{error}; or variance={variance:g} is far below what values of the range that was found are "
            "spread by: it is in squared units of the column, the square of their standard deviation"
        ) from None
    warn_void(seed, "draws")
    if release.missing_words:
        warn_after_run(release.missing_words)
    return release
