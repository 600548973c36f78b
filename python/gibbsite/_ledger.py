"""What every function that enters its release in a ledger does with `ledger` and with `seed`."""

import contextlib
import functools
import math
import os
import re
import sys
import warnings

from . import _core
from ._arguments import one_line

_TAKES = re.compile(r"takes (\S+) of mu\^2")


def opened(ledger):
    """The `Ledger` of a path, of itself, or None."""
    if ledger is None or isinstance(ledger, _core.Ledger):
        return ledger
    if not isinstance(ledger, (str, os.PathLike)):
        raise ValueError(
            f"ledger: must be a gibbsite.Ledger, the path of one, or None, got {type(ledger).__name__}; "
            'gibbsite.Ledger.create("people.ledger", epsilon=2, delta=1e-6) makes one'
        )
    return _core.Ledger(os.fspath(ledger))


@contextlib.contextmanager
def spending(ledger, epsilon, delta):
    """Opens a ledger for one release; a BudgetSpent from within says about which epsilon would fit."""
    ledger = opened(ledger)
    try:
        yield ledger
    except _core.BudgetSpent as error:
        hint = _hint(str(error), ledger, epsilon, delta)
        if not hint:
            raise
        raise _core.BudgetSpent(f"{error}; {hint}") from None


def _hint(error, ledger, epsilon, delta):
    """What would fit, of a release that costs what Gaussian noise does; "" of others."""
    found = _TAKES.search(error)
    if found is None or ledger is None or epsilon is None or delta is None:
        return ""
    asked = _gaussian_mu(epsilon, delta)
    if not 0.9 < float(found[1]) / asked**2 < 1.1:  # draws of families, and choices, cost more
        return ""
    left = float(ledger.read()["left"]["mu_squared"])
    fits = 0.97 * _gaussian_epsilon(math.sqrt(max(left, 0.0)), delta)  # the rest is what rounding costs
    if not 1e-3 <= fits < epsilon:
        return ""
    step = 10.0 ** (math.floor(math.log10(fits)) - 1)
    return f"about epsilon={math.floor(fits / step) * step:.2g} at this delta fits"


def _upper_tail(x):
    return 0.5 * math.erfc(x / math.sqrt(2.0))


def _gaussian_delta(epsilon, mu):
    """The delta at epsilon of Gaussian noise with this mu (docs/theory/gdp.md)."""
    if mu <= 0:
        return 0.0
    return _upper_tail(epsilon / mu - mu / 2) - math.exp(epsilon) * _upper_tail(epsilon / mu + mu / 2)


def _bisected(is_below, low, high):
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


def _gaussian_mu(epsilon, delta):
    return _bisected(lambda mu: _gaussian_delta(epsilon, mu) <= delta, 0.0, 100.0)


def _gaussian_epsilon(mu, delta):
    if _gaussian_delta(0.0, mu) <= delta:
        return 0.0
    return _bisected(lambda epsilon: _gaussian_delta(epsilon, mu) > delta, 0.0, 700.0)


def entering(function):
    """A function of the engine that enters its release: it takes a ledger's path too."""
    run = one_line(function)

    @functools.wraps(run)
    def entered(*args, ledger=None, **named):
        plan = args[1] if len(args) > 1 else named.get("plan")
        epsilon = getattr(plan, "epsilon", named.get("epsilon"))
        delta = getattr(plan, "delta", named.get("delta", 1e-15))
        with spending(ledger, epsilon, delta) as opened_one:
            return run(*args, ledger=opened_one, **named)

    if entered.__doc__ is not None:
        wide = "Ledger | str | os.PathLike | None = None"
        entered.__doc__ = re.sub(r"(?:gibbsite\._core\.)?Ledger \| None = None", wide, entered.__doc__)
    return entered


class VoidWarning(UserWarning):
    """Warns that a fit with a seed has no guarantee: anyone who knows the seed can subtract the
    noise."""


def warn_void(seed, what):
    """Warns of a release whose noise can be recomputed. what: such as "a table"."""
    if seed is None:
        return
    level, frame = 1, sys._getframe(0)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "gibbsite":
        level, frame = level + 1, frame.f_back  # the caller's line, whatever called what here
    warnings.warn(
        f"seed: the noise can be recomputed from it, so the certificate is void; leave it out for {what} to publish",
        VoidWarning,
        stacklevel=level,
    )
