"""What every function that enters its release in a ledger does with `ledger` and with `seed`."""

import contextlib
import functools
import os
import re
import sys
import warnings

from . import _core
from ._arguments import one_line


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


def entering(function):
    """A function of the engine that enters its release: it takes a ledger's path too."""
    run = one_line(function)

    @functools.wraps(run)
    def entered(*args, ledger=None, **named):
        return run(*args, ledger=opened(ledger), **named)

    if entered.__doc__ is not None:
        wide = "Ledger | str | os.PathLike | None = None"
        entered.__doc__ = re.sub(r"(?:gibbsite\._core\.)?Ledger \| None = None", wide, entered.__doc__)
    return entered


class FitWarning(UserWarning):
    """Tells the curator what to check before a fit is relied on, as the command line does.

    A warning about private rows is private. It comes after the release, which does not depend on
    it.
    """


class VoidWarning(UserWarning):
    """Warns that a fit with a seed has no guarantee: anyone who knows the seed can subtract the
    noise."""


def _warn(words, category):
    """Warns at the line that called the package, whatever called what here."""
    level, frame = 1, sys._getframe(0)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "gibbsite":
        level, frame = level + 1, frame.f_back
    warnings.warn(words, category, stacklevel=level)


def warn_of_fit(words):
    """The engine calls it with what there is to say before a fit runs, by public numbers alone."""
    _warn(words, FitWarning)


@contextlib.contextmanager
def paid_for():
    """Around warnings that come when a release is paid for and not handed over yet: one that a filter makes an error is
    printed, or the release would be lost."""
    try:
        yield
    except Warning as warning:
        print(f"gibbsite: warning: {warning}", file=sys.stderr)


def warn_after_run(words):
    """The engine calls it with what only a release tells, before it hands that over."""
    with paid_for():
        _warn(words, FitWarning)


def warn_of_answer(words):
    """Likewise with what there is to say of an answer to a question."""
    _warn(words, UserWarning)


def warn_void(seed, what):
    """Warns of a release whose noise can be recomputed. what: such as "a table"."""
    if seed is not None:
        _warn(
            f"seed: the noise can be recomputed from it, so the certificate is void; leave it out for {what} to publish",
            VoidWarning,
        )
