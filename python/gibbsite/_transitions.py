"""Private transition probabilities of a discrete chain, with intervals and a certificate."""

from . import _core
from ._cross_table import _chain, names_of, table


class Transitions:
    """Released transitions from one state to the next (docs/theory/transitions.md).

    Everything in it follows from `release`, which may be published.

    Parameters
    ----------
    release : NetworkRelease
        A released network of two columns with the same levels.

    Attributes
    ----------
    release : NetworkRelease
        The noisy counts with their certificate.
    columns : list of str
        The column of the state before, and that of the state after.
    states : list of str
        Names of the K states.
    matrix : numpy.ndarray
        Estimates of P(after = j | before = i) [K, K].
    lower, upper : numpy.ndarray
        Ends of their 95 % intervals [K, K], of the people that the table is a sample of: noise and
        sample are both in them, with the rows of one person taken for alike.
    long_run : numpy.ndarray
        Share of time in each state in the long run from an even start, and the least and the
        largest that a matrix within the intervals has [K, 3]; [0, 3] with more than 100 states.

    Raises
    ------
    BadInput
        If the release is not of transitions.
    """

    def __init__(self, release):
        numbers = release._transitions()
        self.release = release
        self.columns = numbers["columns"]
        self.states = numbers["states"]
        k = len(self.states)
        self.matrix, self.lower, self.upper = (numbers["matrix"][:, i].reshape(k, k) for i in range(3))
        self.long_run = numbers["long_run"]

    @classmethod
    def read(cls, path):
        """Reads a file that `fit --model transitions` or `write` wrote and returns a `Transitions`.

        Raises OSError or `BadInput` if the file cannot be read or was changed.
        """
        return cls(_core.NetworkRelease.read(path))

    def write(self, path, replace=False):
        """Writes the release, with its certificate, to a file.

        Raises FileExistsError if the file exists and `replace` is False.
        """
        self.release.write(path, replace=replace)

    def __repr__(self):
        return f"<gibbsite.Transitions: {' → '.join(self.columns)}, {self.release!r}>"


def transitions(data, schema, columns, *, epsilon, delta, **options):
    """Releases certified transition probabilities (docs/theory/transitions.md).

    Parameters
    ----------
    data : path or table
        A file, or a table that `read_arrow` takes: a row is one step of a person.
    schema : path or Schema
        What is public about the columns, which have the same levels. A column of people in it holds
        all steps of one person together.
    columns : list of two str
        The column of the state before, and that of the state after.
    epsilon, delta : float
        The privacy budget.
    options
        adjacency, rows_cap, rows_per_person (the most steps of one person), ledger and seed, as of
        `table`.

    Returns
    -------
    Transitions

    Raises and warns as `table`; BadInput if the columns are not two of the same levels.
    """
    columns = names_of(columns)
    _core._require_states(_chain(schema, columns))
    return Transitions(table(data, schema, columns, epsilon=epsilon, delta=delta, **options).release)
