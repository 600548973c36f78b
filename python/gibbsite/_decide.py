"""Decisions by released probabilities, and how much a wrong one can cost."""

from typing import Any, NamedTuple

import numpy as np

from ._core import BadInput


class Decision(NamedTuple):
    """The best action by expected utility: what `decide` returns.

    Of probabilities [rows, outcomes] each is an array [rows, ...].

    Attributes
    ----------
    action : int or str
        The best action: its name where `actions` were given, else its row in the table.
    utilities : numpy.ndarray
        Expected utility of each action [actions].
    margin : float
        By how much the runner-up is behind; inf with a single action.
    regret : float or None
        Upper bound of how much better another action can be, in units of utility. None if nothing
        says how far the probabilities may be from the true ones.
    certain : bool or None
        Whether no action can be better: the regret is 0.
    """

    action: Any
    utilities: Any
    margin: Any
    regret: Any
    certain: Any


def decide(
    probabilities,
    utility,
    *,
    actions=None,
    outcomes=None,
    lower=None,
    upper=None,
    l1=None,
):
    """Chooses the action of the largest expected utility by released probabilities.

    It reads nothing else, so it costs no privacy (docs/theory/trimmed.md, "Questions"). Of an
    estimator: `decide(model.predict_proba(X), utility)`. Of a network::

        levels = net.levels("income")
        asked = [f"P(income = {level} | sex = Female)" for level in levels]
        p = np.array([net.probability(question) for question in asked])
        reach = np.array([net.reach(question) for question in asked])  # None where it is unknown
        gibbsite.decide(p, utility, lower=p - reach, upper=p + reach)

    Parameters
    ----------
    probabilities : array
        Of the outcomes [outcomes], or a row for each case [rows, outcomes]. Rows sum to 1.
    utility : array or callable
        Utilities [actions, outcomes], or a function u(action, outcome) of `actions` and `outcomes`.
    actions, outcomes : sequence or None
        Names of the actions, and of the outcomes for a function; None takes 0, 1, ....
    lower, upper : array or None
        Ends of intervals of the probabilities, in their shape. Together they hold only if each
        does: k intervals that each hold in 95 of 100 releases hold all in 100 - 5k of 100 or more.
    l1 : float, array or None
        Upper bound of sum_k |p_k - true p_k|, of all rows or of each [rows].

    Returns
    -------
    Decision

    Raises
    ------
    BadInput
        If an argument is not as it must be.

    Notes
    -----
    The regret of action a is max_b max_p E_p[u(b) - u(a)] over the p that intervals or l1 allow:
    the largest mean of a difference d, exact for each of the two, the smaller one of both. Under l1
    alone it is at most max_b [(max d - min d) l1 / 2 - what b is behind], and so at most
    (max u - min u) l1; two outcomes of 1/2 with utilities (1, 0) and (0, 1) reach that.
    """
    p = _probabilities(probabilities)
    single = p.ndim == 1
    p = np.atleast_2d(p)
    table = _table(utility, actions, outcomes, p.shape[1])
    if actions is not None and len(actions) != len(table):
        raise BadInput(f"actions: are {len(actions)} names for {len(table)} rows of utility; give one each")
    utilities = p @ table.T
    best = utilities.argmax(axis=1)
    others = np.sort(utilities, axis=1)[:, -2] if len(table) > 1 else -np.inf
    margin = utilities.max(axis=1) - others
    regret = _regret(p, table, best, _box(p, lower, upper), _distance(l1, len(p)))
    out = (
        best if actions is None else np.asarray(actions, dtype=object)[best],
        utilities,
        margin,
        regret,
        None if regret is None else regret == 0,
    )
    if not single:
        return Decision(*out)
    action, utilities, *numbers = (None if value is None else value[0] for value in out)
    action = int(action) if actions is None else action
    return Decision(action, utilities, *(None if value is None else value.item() for value in numbers))


def _probabilities(values):
    p = _numbers("probabilities", values)
    if p.ndim not in (1, 2) or 0 in p.shape:
        raise BadInput("probabilities: must be [outcomes] or [rows, outcomes]; give one of them")
    total = p.sum(axis=-1, keepdims=True)
    if (p < 0).any() or (np.abs(total - 1) > 1e-6).any():
        raise BadInput("probabilities: must be 0 or more and sum to 1; give one for each outcome")
    return p / total


def _numbers(name, values):
    try:
        out = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise BadInput(f"{name}: must be numbers; give an array") from None
    if not np.isfinite(out).all():
        raise BadInput(f"{name}: must be finite; leave it out where nothing is known")
    return out


def _table(utility, actions, outcomes, k):
    if callable(utility):
        if actions is None:
            raise BadInput("actions: are missing; name those that utility is a function of")
        outcomes = range(k) if outcomes is None else outcomes
        utility = [[utility(action, outcome) for outcome in outcomes] for action in actions]
    table = _numbers("utility", utility)
    if table.ndim != 2 or table.shape[1] != k or not len(table):
        raise BadInput(f"utility: must be [actions, {k}], a number for each outcome; give a row for each action")
    return table


def _box(p, lower, upper):
    """Ends of the probabilities (low, high), each [rows, outcomes]; None if no end is given."""
    if lower is None and upper is None:
        return None
    ends = []
    for name, given, default in (("lower", lower, 0.0), ("upper", upper, 1.0)):
        end = np.full_like(p, default) if given is None else np.atleast_2d(_numbers(name, given))
        if end.shape != p.shape:
            raise BadInput(f"{name}: must have the shape of probabilities; give an end for each")
        ends.append(np.clip(end, 0.0, 1.0))
    low, high = ends
    slack = 1e-9
    if (low > p + slack).any() or (high < p - slack).any():
        raise BadInput("lower, upper: must hold the probabilities between them; give them in their order")
    return np.minimum(low, p), np.maximum(high, p)


def _distance(l1, rows):
    if l1 is None:
        return None
    out = _numbers("l1", l1)
    if out.shape not in ((), (rows,)) or (out < 0).any():
        raise BadInput("l1: must be 0 or more, one number or one for each row; give such a bound")
    return np.broadcast_to(out, (rows,))


def _regret(p, table, best, box, l1):
    if box is None and l1 is None:
        return None
    regret = np.zeros(len(p))
    for chosen in np.unique(best):
        rows = best == chosen
        for other in table:
            gain = other - table[chosen]
            worst = np.full(rows.sum(), np.inf)
            if box is not None:
                worst = np.minimum(worst, _largest_in_box(gain, box[0][rows], box[1][rows]))
            if l1 is not None:
                worst = np.minimum(worst, _largest_near(gain, p[rows], l1[rows]))
            regret[rows] = np.maximum(regret[rows], worst)
    regret[regret < 1e-12 * np.ptp(table)] = 0  # by rounding
    return regret


def _largest_in_box(gain, low, high):
    """max of gain . q over q in [low, high] that sum to 1: what `low` leaves goes to large gains first."""
    order = np.argsort(-gain, kind="stable")
    room = (high - low)[:, order]
    left = 1 - low.sum(axis=1, keepdims=True)
    before = np.cumsum(room, axis=1) - room
    return low @ gain + np.clip(left - before, 0, room) @ gain[order]


def _largest_near(gain, p, l1):
    """max of gain . q over shares q with |q - p|_1 <= l1: l1/2 goes from small gains to the largest."""
    order = np.argsort(gain, kind="stable")
    mass = p[:, order]
    before = np.cumsum(mass, axis=1) - mass
    moved = np.clip(l1[:, None] / 2 - before, 0, mass)
    return p @ gain + moved @ (gain.max() - gain[order])
