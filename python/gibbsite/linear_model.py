"""Estimators in scikit-learn's conventions; scikit-learn itself is not needed."""

import inspect
import numbers
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from . import _core, _formula, _onnx, _plots, _tables
from ._curve import Curve
from ._curve import is_number as _is_number
from ._ledger import FitWarning, VoidWarning, opened, warn_of_fit


class NotFittedError(ValueError, AttributeError):
    """Raised by methods that need a fitted estimator. If scikit-learn is loaded, the error is also
    its NotFittedError."""


def _clones_are_unmarked():
    """Whether a scikit-learn is in use that knows no `__sklearn_clone__`."""
    version = getattr(sys.modules.get("sklearn"), "__version__", "1.3")
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < (1, 3)


_MOST_COLUMNS = 10  # that the warning of changed cells lists


def _warn_of_rows(data, classes, unlisted, lists=True):
    """Warns from private counts: columns that reading mostly changed, classes without rows, and in one
    line all else that does not count as it is written, if `lists`."""

    def warn(words):
        warnings.warn(
            f"{words} (private: this line tells about the table)", FitWarning, stacklevel=4
        )

    rows = data.rows
    facts = _tables.SchemaFacts(data.schema)
    changed = []  # (cells, words) of a column
    for name, counts in data.column_counts.items():
        parts = []
        if facts.columns.get(name, {}).get("type") == "weight" and counts["clamped"] > 0:
            # A few large ones may be most of a sum.
            warn(
                f"column {name!r}: {counts['clamped']} of {rows} weights are beyond the range and count as "
                "its ends, so sums of weights are off; does the range hold every weight that there can be?"
            )
            counts = {**counts, "clamped": 0}
        for kind, said in (
            ("clamped", "beyond the range, and count as its end"),
            ("other", "of no listed level"),
            ("missing", "missing"),
            ("invalid", "unreadable"),
        ):
            if 2 * counts[kind] > rows:
                warn(f"column {name!r}: {counts[kind]} of {rows} cells are {said}; is the schema right?")
            elif counts[kind] > 0:
                words = _tables.changed_words(facts, data.schema.feature_names, name, kind)
                parts += [(counts[kind], words)] if words else []
        if parts:
            cells = " and ".join(f"{count} {words}" for count, words in parts)
            changed.append((sum(count for count, _ in parts), f"column {name!r}: {cells}"))
    changed = [words for _, words in sorted(changed, key=lambda one: -one[0])]
    if len(changed) > _MOST_COLUMNS:
        changed[_MOST_COLUMNS:] = [f"{len(changed) - _MOST_COLUMNS} columns with fewer"]
    counts, labels = data.counts, []
    if 2 * unlisted > rows:
        said = "neither class, and count as negative" if facts.classes is None else "no class, and count as the first"
        warn(f"y: {unlisted} of {rows} labels are of {said}")
    elif unlisted > 0:
        labels.append(f"{unlisted} of no class, counted as {_tables.first_class(facts)}")
    ends = "the range" if facts.label_range is None else "the range [{:g}, {:g}]".format(*facts.label_range)
    if 2 * counts["clamped_labels"] > rows:
        warn(
            f"y: {counts['clamped_labels']} of {rows} labels are beyond {ends}, and count as its ends; "
            "are they in another unit?"
        )
    elif counts["clamped_labels"] > 0:
        labels.append(f"{counts['clamped_labels']} outside {ends}, counted as its nearer end")
    if counts["invalid_labels"] > 0:
        labels.append(f"{counts['invalid_labels']} unreadable, counted as the middle of the range")
    changed += [f"labels: {', '.join(labels)}"] if labels else []
    if changed and lists:
        if counts["clipped_rows"] > 0:
            changed.append(f"{counts['clipped_rows']} rows scaled down to row_norm")
        warn(
            f"of {rows} rows these do not count as they are written: {'; '.join(changed)}; if that is not "
            "meant, correct what you say is public, from public knowledge alone"
        )
    if classes is None:
        return
    codes = [-1.0, 1.0] if len(classes) == 2 else range(len(classes))
    seen = np.asarray(data.labels)
    absent = [one for code, one in zip(codes, classes.tolist()) if not (seen == code).any()]
    if absent:
        warn(f"y: no label is of the class {_tables.listed(absent)}; are the classes right?")


def _warn_of_weights(sample_weight):
    """Warns from private weights where no row counts."""
    if sample_weight is not None and not (_tables.as_weights(sample_weight) > 0).any():
        warnings.warn(
            "sample_weight: no weight is above 0, so no row counts and the model is of noise alone (private: "
            "this line tells about the table)",
            FitWarning,
            stacklevel=3,
        )


def _steps_that_learn(estimator):
    """Names of the steps before this estimator in the pipeline that is fitting it, other than those
    that learn nothing: such as "scale (StandardScaler)". A pipeline does not tell its last step
    about the others, so callers are asked: one of them has `steps` whose last is this object."""
    frame = sys._getframe(2)
    while frame is not None:
        owner = frame.f_locals.get("self")
        steps = getattr(owner, "__dict__", {}).get("steps")
        if isinstance(steps, list) and steps:
            last = steps[-1]
            if isinstance(last, tuple) and len(last) == 2 and last[1] is estimator:
                return [
                    f"{name} ({type(step).__name__})" for name, step in steps[:-1] if _learns(step)
                ]
        frame = frame.f_back
    return []


def _learns(step):
    """Whether a transformer learns from rows, by scikit-learn's own tag."""
    if step is None or isinstance(step, str):  # "passthrough"
        return False
    try:
        from sklearn.utils import get_tags

        return bool(get_tags(step).requires_fit)
    except Exception:  # before 1.6, or no transformer of scikit-learn's: by what it keeps
        return any(
            name.endswith("_") and not name.startswith("_") and name not in ("n_features_in_", "feature_names_in_")
            for name in getattr(step, "__dict__", {})
        )


def _warn_of_pipeline(steps):
    warnings.warn(
        f"pipeline: {_tables.listed(steps)}: fitted to these private rows without noise, so what it "
        "learned is outside of the certificate, and so is what the model says through it; leave it "
        "out (the ranges scale), or fit it to public rows beforehand",
        FitWarning,
        stacklevel=3,
    )


def _warn_of_scaled(table):
    """Warns from private values: columns that were scaled by their own mean and deviation."""
    names = _tables.standardized(table)
    if names:
        warnings.warn(
            f"X: {_tables.listed(names)}: mean 0 and deviation 1 to the last digits, as a scaler leaves "
            "columns that was fitted to these rows; means and deviations of private rows are outside "
            "of the certificate, and the ranges scale (private: this line tells about the table)",
            FitWarning,
            stacklevel=3,
        )


_KINDS = {"classes": "a class", "amount": "an amount", "count": "a count"}


class _Private:
    """Common base of the estimators. A subclass says what its label is."""

    _kind: str  # of the schema's label
    _of_ranges: tuple = ()  # parameters of its own that a schema says itself
    _formula = None  # of from_formula
    _beside: tuple = ()  # what a model file's fit was given beside X, so that another needs it too
    _by_name = False  # whether tables to predict may have more columns: a file knows no frame of fit's
    _fit_metadata = ("sample_weight", "groups")  # what fit takes beside X and y
    _requested: dict = {}  # of set_fit_request

    def _take(self, params):
        for name in self._parameters():
            setattr(self, name, params[name])

    # Parameters.

    @classmethod
    def _parameters(cls):
        return inspect.signature(cls).parameters

    def get_params(self, deep: bool = True) -> dict:
        """Returns the parameters by name. `deep` has no effect."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params) -> "_Private":
        """Sets parameters and returns the estimator. `fit` checks their values.

        Raises ValueError on a name that is no parameter.
        """
        for name in params:
            if name not in self._parameters():
                raise ValueError(
                    f"Invalid parameter {name!r} for {type(self).__name__}; valid ones are "
                    f"{', '.join(self._parameters())}"
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = []
        for name, parameter in self._parameters().items():
            value = getattr(self, name)
            if parameter.default is parameter.empty or repr(value) != repr(parameter.default):
                shown.append(f"{name}={value!r}")
        if self._formula is None:
            return f"{type(self).__name__}({', '.join(shown)})"
        of_formula = ("interactions=", "fit_intercept=")
        shown = [repr(self._formula.text), *(one for one in shown if not one.startswith(of_formula))]
        return f"{type(self).__name__}.from_formula({', '.join(shown)})"

    def __sklearn_clone__(self):
        copy = type(self)(**self.get_params())  # a ledger and a schema are shared
        copy._is_clone = True
        if self._formula is not None:
            copy._formula = self._formula
        if self._requested:
            copy._requested = dict(self._requested)
        if self._beside:
            copy._beside = self._beside
        return copy

    def set_fit_request(self, **requests) -> "_Private":
        """Says whether scikit-learn's searches and pipelines hand `sample_weight` and `groups` to fit.

        Each is True, False, None or another name, as scikit-learn has it ("Metadata Routing"). Else
        `groups` of a search go to its splitter alone. Raises TypeError on another name.
        """
        for name in requests:
            if name not in self._fit_metadata:
                raise TypeError(
                    f"set_fit_request: {name!r} is none of {_tables.listed(list(self._fit_metadata))}"
                )
        self._requested = {**self._requested, **requests}
        return self

    def get_metadata_routing(self):
        """Returns what `set_fit_request` said as scikit-learn's MetadataRequest."""
        from sklearn.utils.metadata_routing import MetadataRequest

        out = MetadataRequest(owner=self)
        for name in self._fit_metadata:
            out.fit.add_request(param=name, alias=self._requested.get(name))
        return out

    def __sklearn_is_fitted__(self):
        return "release_" in self.__dict__

    def _tags(self, kind, **tags):
        from sklearn.utils import InputTags, Tags

        return Tags(
            estimator_type=kind, input_tags=InputTags(allow_nan=self.invalid == "middle"), **tags
        )

    @classmethod
    def from_formula(
        cls,
        formula: str,
        epsilon: float,
        delta: float,
        *,
        schema: _core.Schema | str | os.PathLike | None = None,
        ranges: dict | None = None,
        **params,
    ) -> "_Private":
        """Returns an estimator of what a formula says, such as "income ~ curve(age, 8) + log(wage) +
        sex*education". Call its `fit(frame)`: it takes the columns that it needs, and the label.

        Parameters
        ----------
        formula : str
            "label ~ terms". A term is a column (as the schema or ranges say it), curve(x, K) with K
            knots, curve(x) with as many as the budget allows, log(x) for a curve whose knots are
            closer together at the low end (no logarithm: docs/reference/data.md, "Curves"), C(x) for
            a category, exposure(x), or a product a*b of terms: both and their interaction. "- 1"
            leaves the constant out, and is refused where the model would not go through 0 without it:
            give numbers ranges that begin at 0, an amount a range whose middle is 0, or a category. "." is all columns.
        epsilon, delta : float
            As in the constructor.
        schema, ranges
            As in the constructor, one of them, and `ranges` as a dict. Ranges and levels come from
            there, never from the rows. Columns that the formula does not name are left out, but for
            those of people and of weights.
        **params
            Further parameters of the constructor.

        Raises
        ------
        ImportError
            If formulaic is not installed (pip install 'gibbsite[formula]').
        ValueError
            If the formula cannot be read, or says what the schema or ranges do not.

        Examples
        --------
        >>> model = PrivateLogisticRegression.from_formula(
        ...     "income ~ curve(age, 8) + sex", 1.0, 1e-6, schema="people.toml")
        >>> model.fit(frame).predict_proba(frame)
        """
        if (schema is None) == (ranges is None):
            raise ValueError("from_formula: give schema or ranges, one of them")
        if isinstance(schema, str) and schema == "private":
            raise ValueError(
                'from_formula: a formula names columns of a schema, and schema="private" finds one; '
                "give a schema or ranges"
            )
        said = _formula.parse(formula, _formula.known_columns(schema, ranges))
        if said.interactions and "interactions" not in cls._parameters():
            raise ValueError(
                f"formula {formula!r}: {':'.join(said.interactions[0])}: this {cls.__name__} has no "
                "interactions; write + in place of * and :"
            )
        if schema is not None:
            params["schema"] = _formula.schema_of(said, schema)
            said = _formula.with_cells(said, params["schema"])
        else:
            said, params["ranges"] = _formula.ranges_of(said, ranges)
            ends = params.get("target_range")
            ends = ends if _tables._is_pair(ends) else None
            _formula.require_origin_of_ranges(said, params["ranges"], cls._kind, ends)
            params.setdefault("fit_intercept", said.intercept)
            if said.interactions:
                params["interactions"] = list(said.interactions)
        out = cls(epsilon, delta, **params)
        out._formula = said
        return out

    # Fitting.

    # sample_weight is not in the signature: scikit-learn's ensembles give their own to whoever has it there.
    def fit(self, X, y=None, **options) -> "_Private":
        """Releases a model of the rows X and their labels y (docs/reference/python.md).

        Parameters
        ----------
        X : table [rows, columns]
            A table of pandas, polars or pyarrow, anything with `__arrow_c_stream__`, or an array of
            numbers.
        y : array or column [rows]
            The labels; after from_formula they may be left out, and are the formula's column of X.

        Other Parameters
        ----------------
        sample_weight : array or column [rows], or None, by name
            How much each row counts, of the largest weight in `weight_range`: a survey's weights, or
            rows known to be unreliable. Private, as y is; weights outside of the range are moved
            into it (docs/reference/data.md, "Weights of rows").
        groups : array or column [rows], or None, by name
            The id of each row's person, in any type. All rows of one person then count as at most
            `rows_per_person` together, and the guarantee is for people with any number of rows
            (docs/reference/python.md, "People"). Private, as y is.

        Returns
        -------
        self
            The estimator, now fitted.

        Raises
        ------
        ValueError
            If a parameter, a cell or a label is not as it must be.
        Infeasible
            If no mechanism can keep the budget.
        BudgetSpent
            If the ledger has no room for this fit.

        Nothing is released or written if an error is raised.
        """
        sample_weight, groups = options.pop("sample_weight", None), options.pop("groups", None)
        for name in options:
            raise TypeError(f"fit() got an unexpected keyword argument {name!r}")
        if "groups" in self._beside and groups is None:
            raise ValueError(
                "groups: the model of the file counted people by ids that its fit was given beside X; give fit "
                "groups=ids, the person of each row, too"
            )
        highest_weight = self._highest_weight(sample_weight)
        if self._formula is not None:
            X, y = self._formula.split(X, y)
        seed = self._seed()
        self._check_types()
        ledger = opened(self.ledger)
        if self._buys_schema() and self.public is None:
            return self._fit_bought(X, y, seed, ledger, sample_weight, highest_weight, groups)
        schema, table, columns, labels, classes = self._prepare(X, y)
        self._require_budget(seed)
        steps = _steps_that_learn(self) if seed is None else []
        if steps:
            _warn_of_pipeline(steps)
        rows = len(labels)
        in_x = _tables.rows_of(X)
        if in_x is not None and in_x != rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {in_x}, y has {rows}"
            )
        person = _tables.SchemaFacts(schema).person
        if person is not None and (table.is_array or table.is_on_device):
            raise ValueError(
                f"X: the schema's column {person!r} says whose a row is, and an array of numbers has no "
                "ids; give a DataFrame"
            )
        try:
            data = table.read(
                schema, columns, labels, self._threads(), self.progress, rows_per_person=self.rows_per_person
            )
        except _core.BadInput as error:
            if self.ranges is None:
                raise
            said = _tables.said_in_ranges(str(error), self.ranges, _tables._is_pandas(X))
            raise _core.BadInput(said) from None
        if sample_weight is not None:
            middle = _tables.SchemaFacts(schema).middle
            weights = (_tables.as_weights if middle else _tables.require_weights)(sample_weight)
            data._weigh(weights, highest_weight)
            schema = data.schema
        if groups is not None:
            read = _tables.as_people if _tables.SchemaFacts(schema).middle else _tables.require_people
            data._group(*read(groups), self.rows_per_person)
            schema = data.schema
        elif person is None:
            self._warn_of_uncounted_rows()
        counted_otherwise = sample_weight is not None or groups is not None or person is not None
        plan = _core.plan(
            epsilon=self.epsilon,
            delta=self.delta,
            rows=data.counted,
            schema=schema,
            model=getattr(self, "loss", "auto"),
            ball=getattr(self, "ball", None),
            mechanism=self.mechanism,
            adjacency=self.adjacency,
            rows_cap=self.rows_cap,
            rows_per_person=self.rows_per_person,
            prior_precision=self.prior_precision,
            intervals=bool(getattr(self, "intervals", False)),
        )
        public = None if counted_otherwise else self._public_rows(schema, columns, classes, y)
        release = _core.fit(
            data,
            plan,
            public=public,
            backend=self.backend,
            seed=seed,
            ledger=ledger,
            n_jobs=self._threads(),
            progress=self.progress,
            _people_said=True,
        )
        self._keep(release, table, columns, classes, seed)
        _warn_of_rows(data, classes, self.__dict__.pop("_unlisted", 0))
        _warn_of_weights(sample_weight)
        if seed is None and not steps:
            _warn_of_scaled(table)
        if getattr(self, "intervals", False) and release.intervals is None:
            warnings.warn(
                "intervals: none can be made from these answers (noise hides the table's moments); "
                "the model has none",
                UserWarning,
                stacklevel=2,
            )
        if release.intervals is not None and not self.coef_exact_:
            warnings.warn(f"intervals: {release.interval_words}", UserWarning, stacklevel=2)
        return self

    def _warn_of_uncounted_rows(self):
        if self.rows_per_person != 1:
            warn_of_fit(
                f"rows_per_person: nothing enforces it: of somebody with more than {self.rows_per_person} "
                "rows only so many are hidden; give fit groups=ids, the person of each row, and no "
                "person counts more"
            )

    def _highest_weight(self, sample_weight):
        if sample_weight is None:
            if self.weight_range is not None:
                raise ValueError("weight_range: is of sample_weight; give fit both, or neither")
            return None
        if self.weight_range is None:
            raise ValueError(
                "sample_weight: needs a public bound, as a weight multiplies what one person can do to "
                "the model; give the constructor weight_range=(0, largest), known without the rows"
            )
        return _tables.highest_weight(self.weight_range)

    def _keep(self, release, table, columns, classes, seed):
        """Takes over what a fit made."""
        if seed is not None:
            warnings.warn(
                "random_state: the noise can be recomputed from it, so the certificate is void; "
                "leave it out for a model to publish",
                VoidWarning,
                stacklevel=3,
            )
        self._forget()
        self._by_name = False
        self._set_release(release)
        if classes is not None:
            self.classes_ = classes
        self.n_features_in_ = table.width
        if table.columns is not None:
            self.feature_names_in_ = np.array(table.columns, dtype=object)
        self._columns = columns
        self._raw = table.raw

    def _buys_schema(self):
        return isinstance(self.schema, str) and self.schema == "private"

    def _cells(self, X, y, *more):
        """A schema of the label alone, and X by its cells, as schema="private" takes them."""
        defaults = self._parameters()
        if self.ranges is not None and not self._bought_exposure():
            raise ValueError(
                'ranges: give ranges or schema, not both; beside schema="private" without public they may name '
                'the exposure of counts alone, {"years": ("exposure", 0.1, 10)}'
            )
        for name in ("fit_intercept", "row_norm", "invalid", "interactions", "positive_share", *more):
            if getattr(self, name, None) != getattr(defaults.get(name), "default", None):
                raise ValueError(
                    f'{name}: goes with ranges or a schema, and schema="private" finds one; leave it out'
                )
        table, columns = _tables.as_cells(X)
        labels = _tables.as_labels(y)
        lines, classes = self._label_of_ranges(labels, "middle")
        label = _tables.schema_of_label(lines, columns, self._label_name(y))
        codes = self._engine_labels(labels, classes, _tables.SchemaFacts(label))
        return label, table, columns, codes, classes

    def _bought_exposure(self):
        """The exposure beside schema="private" as the engine takes it; {} of ranges that say more, or none."""
        if not isinstance(self.ranges, dict) or len(self.ranges) != 1 or self.public is not None:
            return {}
        ((name, what),) = self.ranges.items()
        return {"exposure": name, "exposure_range": list(what[1:])} if _tables._is_exposure(what) else {}

    def _wanted_parts(self):
        """The parts of dates as the engine takes them."""
        if self.date_parts is None:
            return []
        wanted = self.date_parts
        if not isinstance(wanted, dict) or not all(
            isinstance(name, str) and isinstance(parts, (list, tuple)) for name, parts in wanted.items()
        ):
            raise ValueError(
                'date_parts: must be a dict of lists, such as {"hired": ["year", "month"]}, got '
                f"{wanted!r}"
            )
        return [f"{name}={','.join(map(str, parts))}" for name, parts in wanted.items()]

    def _prepare_public(self, X, y):
        """`_prepare` with a public table, which the schema follows from."""
        label, table, columns, codes, classes = self._cells(X, y)
        if isinstance(self.public, (str, os.PathLike)):
            schema = _core._public_schema(
                table.source,
                os.fspath(self.public),
                columns=columns,
                label=label,
                date_parts=self._wanted_parts(),
            )
        else:
            known, known_columns = _tables.as_cells(self.public, "public")
            schema = _core._public_schema(
                table.source,
                known.source,
                columns=columns,
                known_columns=known_columns,
                label=label,
                date_parts=self._wanted_parts(),
            )
        return schema, table, columns, codes, classes

    def _public_rows(self, schema, columns, classes, y):
        """Public rows that may have y's column too, for the prior's center: a path, a Dataset or None."""
        name = getattr(y, "name", None)
        if self.public is None or not isinstance(name, str):
            return None
        if isinstance(self.public, (str, os.PathLike)):
            return os.fspath(self.public)
        known, names = _tables.as_cells(self.public, "public")
        if name not in names or name in columns:
            return None
        unlisted = self.__dict__.get("_unlisted")  # of the private labels
        labels = _tables.as_labels(known.source.column(name))
        codes = self._engine_labels(labels, classes, _tables.SchemaFacts(schema))
        self._unlisted = unlisted
        rows = _tables.Table(known.source.select(columns), columns, len(columns))
        return rows.read(schema, columns, codes, self._threads())

    def _fit_bought(self, X, y, seed, ledger, sample_weight=None, highest_weight=None, groups=None):
        """`fit` with schema="private": one budget buys the schema and fits by it."""
        label, table, columns, codes, classes = self._cells(X, y, "ball")
        self._require_budget(seed)
        if groups is None:
            self._warn_of_uncounted_rows()
        cells, counting = _tables.with_counting(
            table.source, columns, len(codes), sample_weight, highest_weight, groups
        )
        asked = dict(
            _people_said=True,
            epsilon=self.epsilon,
            delta=self.delta,
            model=getattr(self, "loss", "auto"),
            mechanism=self.mechanism,
            adjacency=self.adjacency,
            rows_cap=self.rows_cap,
            rows_per_person=self.rows_per_person,
            prior_precision=self.prior_precision,
            intervals=bool(getattr(self, "intervals", False)),
            columns=list(cells.column_names) if counting else columns,
            label=label,
            schema_share=self.schema_share,
            date_parts=self._wanted_parts(),
            **self._bought_exposure(),
            **counting,
        )
        release = _core._fit_bought(
            cells,
            codes,
            backend=self.backend,
            seed=seed,
            ledger=ledger,
            n_jobs=self._threads(),
            progress=self.progress,
            **asked,
        )
        self._keep(release, table, columns, classes, seed)
        data = _core.read_arrow(
            cells,
            self.schema_,
            labels=codes,
            n_jobs=self._threads(),
            rows_per_person=self.rows_per_person,
        )
        # Rare levels and ends of ranges are what a bought schema leaves out.
        _warn_of_rows(data, classes, self.__dict__.pop("_unlisted", 0), lists=False)
        _warn_of_weights(sample_weight)
        return self

    def _seed(self):
        seed = self.random_state
        if seed is None:
            return None
        if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
            raise ValueError(
                f"random_state: must be None or an int (which makes the certificate void), got "
                f"{seed!r}"
            )
        if not 0 <= seed < 2**64:
            raise ValueError(f"random_state: must be from 0 to 2^64 - 1, got {seed}")
        return int(seed)

    def _check_types(self):
        kinds = {
            "a number": ((numbers.Real,), ("epsilon", "delta", "prior_precision", "schema_share")),
            "an int": ((numbers.Integral,), ("rows_cap", "rows_per_person")),
            "a str": ((str,), ("mechanism", "adjacency", "backend")),
        }
        for kind, (types, names) in kinds.items():
            for name in names:
                value = getattr(self, name)
                if value is None and name in ("prior_precision", "rows_cap", "schema_share"):
                    continue
                if not isinstance(value, types) or isinstance(value, (bool, np.bool_)):
                    raise ValueError(f"{name}: must be {kind}, got {value!r}")
                if kind == "an int" and not 0 <= value < 2**64:
                    raise ValueError(f"{name}: must be from 0 to 2^64 - 1, got {value}")

    def _require_budget(self, seed):
        # Whoever clones fits more than once: searches, cross-validation, ensembles. The mark goes
        # with the clone into other processes, so nothing is counted.
        if seed is not None:
            return
        if self.ledger is not None:
            if getattr(self, "_is_clone", False):
                warnings.warn(
                    "ledger: this estimator is a clone, as searches and cross-validation make them; "
                    "each of their models is entered, but what is chosen by scores on private rows, "
                    "and each of those scores, is a release that nothing counts; choose on public or "
                    "synthetic rows",
                    FitWarning,
                    stacklevel=3,
                )
            return
        if _clones_are_unmarked():
            raise ValueError(
                "ledger: this scikit-learn is older than 1.3, whose clones do not say that they are "
                "any, so searches would fit the same people unseen; install a newer one, or give "
                "ledger=..."
            )
        if getattr(self, "_is_clone", False):
            raise ValueError(
                "ledger: this estimator is a clone, as cross-validation and grid searches make "
                "them, and each of their fits costs epsilon again; give ledger=..., which counts "
                "them, or an int random_state for a trial without any guarantee"
            )

    def _threads(self):
        if self.n_jobs is None:
            return None
        if isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, (int, np.integer)):
            raise ValueError(f"n_jobs: must be a number of threads or None, got {self.n_jobs!r}")
        if self.n_jobs < 1 and self.n_jobs != -1:
            raise ValueError(f"n_jobs: must be at least 1, -1 or None, got {self.n_jobs}")
        return int(self.n_jobs)

    def _label_name(self, y):
        return _tables.name_of_labels(y) if self._formula is None else self._formula.label

    def _prepare(self, X, y):
        if self.schema_share is not None:
            raise ValueError(
                'schema_share: goes with schema="private" and without public, which costs nothing; '
                "leave it out"
            )
        for name in ("public", "date_parts"):
            if getattr(self, name) is not None and not self._buys_schema():
                raise ValueError(f'{name}: goes with schema="private"; leave it out')
        if self.public is not None:
            return self._prepare_public(X, y)
        if self.schema is None and self.ranges is None:
            raise ValueError(
                "ranges: what is public about the columns must be given, as a guarantee cannot "
                'rest on ranges computed from the rows: ranges={"age": (17, 90), "job": ["clerk", '
                '"farmer"]}, ranges=(lowest, highest) for all columns, or schema="table.toml"'
            )
        if self.schema is not None and self.ranges is not None:
            raise ValueError("ranges: give ranges or schema, not both")
        if self.schema is not None:
            return self._prepare_schema(X, y)
        middle = self.invalid == "middle"
        has_missing = _tables.says_missing(self.ranges)
        table = _tables.read_columns(X, _tables.takes_text(self.ranges), has_missing, middle)
        labels = _tables.as_labels(y)
        lines, classes = self._label_of_ranges(labels, self.invalid)
        schema, columns = _tables.schema_of_ranges(
            self.ranges,
            table.columns,
            table.width,
            lines,
            self.invalid,
            self.row_norm,
            self.fit_intercept,
            table.raw,
            self.interactions,
            self._label_name(y),
        )
        facts = _tables.SchemaFacts(schema)
        return schema, table, columns, self._engine_labels(labels, classes, facts), classes

    def _prepare_schema(self, X, y):
        defaults = self._parameters()
        for name in ("fit_intercept", "row_norm", "invalid", "interactions", *self._of_ranges):
            if getattr(self, name) != defaults[name].default:
                raise ValueError(f"{name}: goes with ranges; a schema says it itself")
        schema = _tables.read_schema(self.schema)
        facts = _tables.SchemaFacts(schema)
        if facts.kind != self._kind:
            raise ValueError(
                f"schema: its label is {_KINDS[facts.kind]}, and {type(self).__name__} predicts "
                f"{_KINDS[self._kind]}"
            )
        table = _tables.read_columns(X, facts.takes_text, facts.has_missing, facts.middle)
        labels = _tables.as_labels(y)
        columns = table.columns
        if columns is not None:
            facts.check_columns(columns)
        else:
            columns = list(facts.cells)
            if table.raw is not None and set(map(str, table.raw)) == set(columns):
                columns = [str(name) for name in table.raw]
            if len(columns) != table.width:
                raise ValueError(
                    f"X has {table.width} columns, but the schema has {len(columns)}"
                )
        return schema, table, columns, *self._labels_of_schema(labels, facts)

    def _forget(self):
        for name in [name for name in self.__dict__ if name.endswith("_")]:
            del self.__dict__[name]

    def _set_release(self, release):
        self.release_ = release
        self.schema_ = release.schema
        self.certificate_ = release.certificate
        self._facts = _tables.SchemaFacts(self.schema_)
        units = release.original_units()[0]
        several = units if isinstance(units, list) else [units]  # one of each class
        self.coef_names_ = np.array(list(several[0][1]), dtype=object)
        self.coef_ = np.array([list(slopes.values()) for _, slopes, _ in several], dtype=np.float64)
        self.intercept_ = np.array([intercept for intercept, _, _ in several])
        self.coef_exact_ = bool(several[0][2])
        self.coef_scale_ = release.least_row_scale

    # Effects.

    def _set_intervals(self, release):
        if release.intervals is not None:
            ends = np.asarray(release.intervals)  # [features, 2] of each class
            places = [list(self.schema_.feature_names).index(name) for name in self.coef_names_]
            units = np.array([_unit(self._facts, name) for name in self.coef_names_], dtype=np.float64)
            self.coef_interval_ = ends[..., places, :] * units[:, np.newaxis]

    def summary(self, reference: dict | None = None):
        """Returns the table of effects, one row for each (docs/reference/python.md, "Effects").

        The surest effects come first and those that noise hides come last. The table is public: it
        reads the model alone.

        Parameters
        ----------
        reference : {column: level} or None
            Levels that the other levels of their column are compared with, in place of the
            schema's. The default is the most frequent level by the released shares.

        Returns
        -------
        pandas.DataFrame
            Or a list of dicts with the same columns, if pandas is not installed. Without
            intervals=True, std_err, lower, upper and p_value are missing. With it
            `attrs["intervals"]` says what they include and how often they hold.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        self._require_fitted()
        columns, rows, order, _ = self.release_.effects(self._levels_of(reference))
        rows = [dict(zip(columns, rows[place])) for place in order]
        try:
            import pandas
        except ImportError:
            return rows
        frame = pandas.DataFrame(rows, columns=columns)
        keys = ["class", "term"] if "class" in columns else ["term"]
        texts = {"class", "term", "column", "level", "unit", "reference"}
        truths = {"hidden", "vs_reference_hidden", "collinear"}
        for name in columns:
            if name in truths:
                frame[name] = frame[name].astype("boolean")
            elif name not in texts:
                frame[name] = frame[name].astype("float64")
        frame = frame.set_index(keys)
        if self.release_.interval_words is not None:
            frame.attrs["intervals"] = self.release_.interval_words
        return frame

    def _levels_of(self, reference):
        """`reference` of summary as the engine takes it."""
        if reference is None:
            return {}
        if not isinstance(reference, dict):
            raise ValueError(f'reference: must be {{column: level}}, such as {{"job": "clerk"}}, got {reference!r}')
        for name, level in reference.items():
            if isinstance(name, str) and isinstance(level, str):
                continue
            known = self._facts.columns.get(name, {})
            which = f"{name!r} has {_tables.listed(known['levels'])}" if "levels" in known else f"{name!r} has none"
            raise ValueError(f"reference: a level must be text, got {level!r}; {which}")
        return reference

    def effect(self, text: str, of_class: str = "", against: str = "") -> dict:
        """Returns the estimate and 95 % interval of a linear combination of columns and levels, or
        the test of a whole column.

        It costs no privacy, as it follows from the model (docs/theory/intervals.md).

        Parameters
        ----------
        text : str
            The combination, such as "age*10 - sex=Male". A column counts per unit; a level counts
            against the mean of its column's levels. Or the name of a category, a curve or an
            interaction alone, such as "education": whether its levels differ at all.
        of_class, against : str
            With several classes: the class whose score is asked for, and the class that it is
            compared with. A whole column needs none: its test is then of all classes together.

        Returns
        -------
        dict
            What `gibbsite query --effect --json` prints: estimate, std_err, lower, upper, p_value,
            odds_ratio, hidden, collinear. Of a whole column chi_squared, degrees_of_freedom,
            p_value: Wald's test.

        Raises
        ------
        ValueError
            If the model was fitted without intervals=True, or `text` cannot be read.
        NotFittedError
            Before `fit`.
        """
        self._require_fitted()
        self._require_no_term(text)
        return self.release_.effect(text, of_class, against)

    def _require_no_term(self, text):
        """That a combination names columns, and no terms of a formula."""
        for found in re.finditer(r"\b(log|curve|C)\(\s*`?([^`(),]+?)`?\s*(,[^()]*)?\)", str(text)):
            column = self._facts.columns.get(found[2])
            if column is None or found[1] in self._facts.columns:
                continue
            ends = self._facts.written[found[2]].get("range") or column.get("knots")
            levels = column.get("levels", [])[:1] or [f"{end:g}" if _is_number(end) else end for end in ends or []]
            said = " - ".join(f"{found[2]}={one}" for one in reversed(levels))
            raise ValueError(
                f"effect {text!r}: {found[0]} is a term of a formula, and effects are of columns; name the "
                f"column and its values, such as {said!r}"
            )

    def plot_terms(self, columns: str | Sequence | None = None) -> np.ndarray:
        """Draws what each column adds to the score, one panel a column, with matplotlib.

        A curve is drawn over its range in the column's unit, a straight line likewise against the
        middle of its range, a category as bars, and missing cells as a point beside. An interaction
        of a number and one other column has a panel for each level or knot of the other; others have
        bars. With intervals=True these are the estimates with their 95 % intervals, each against the
        mean of its column. Else they are coefficients, a curve's against its mean over the range, a
        level's and an interaction's against the mean of all. The picture is public: it reads the
        model alone.

        Parameters
        ----------
        columns : list of str, str or None
            The columns to draw, in this order; an interaction is "age × sex". None draws all.

        Returns
        -------
        ndarray of matplotlib.axes.Axes [panels]
            The figure is `axes[0].figure`. Heights are on the scale of scores: log-odds, the label's
            unit, or the logarithm of the mean.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If a name is no column of the model, or there are more than 100 panels.
        NotFittedError
            Before `fit`.

        Examples
        --------
        >>> axes = model.plot_terms(["age", "job"])
        >>> axes[0].figure.savefig("terms.svg")
        """
        self._require_fitted()
        facts = self._facts
        labels, axis = [None], "log-odds"
        if facts.classes is not None:
            labels, axis = [str(one) for one in self.classes_.tolist()], "score of the class"
        elif facts.kind != "classes":
            axis = facts.label if facts.kind == "amount" else f"log of {facts.label}"
        return _plots.plot(self, columns, labels, axis)

    # Predicting.

    def _require_fitted(self):
        if not self.__sklearn_is_fitted__():
            kind = _tables.sklearn_exception("NotFittedError", NotFittedError)
            if kind is not NotFittedError:
                kind = type("NotFittedError", (NotFittedError, kind), {})
            raise kind(
                f"This {type(self).__name__} is not fitted yet; call fit first"
            )

    def _rows(self, X):
        self._require_fitted()
        if self._formula is not None:
            X = self._formula.rows_of(X)
        elif self._by_name and hasattr(self, "feature_names_in_"):
            X = _tables.columns_of(X, list(self.feature_names_in_))
        facts = self._facts
        table = _tables.read_columns(X, facts.takes_text, facts.has_missing, facts.middle)
        name = type(self).__name__
        columns = self._columns
        fitted = getattr(self, "feature_names_in_", None)
        if fitted is not None and table.columns is not None:
            unseen = [column for column in table.columns if column not in fitted and not facts.may_lack(column)]
            missing = [column for column in fitted if column not in table.columns and not facts.may_lack(column)]
            if unseen or missing:
                raise ValueError(
                    "X: feature names should match those that were passed during fit"
                    + (f"; unseen at fit time: {_tables.listed(unseen)}" if unseen else "")
                    + (f"; now missing: {_tables.listed(missing)}" if missing else "")
                )
            known = set(fitted)
            asked = [column for column in fitted if column in table.columns]
            if [column for column in table.columns if column in known] != asked:
                raise ValueError(
                    "X: feature names must be in the same order as they were in fit: "
                    f"{_tables.listed(list(fitted))}"
                )
            columns = table.columns
        elif table.raw is not None and self._raw is not None and table.raw != self._raw:
            raise ValueError(
                "X: columns must be those of fit, in the same order: "
                f"{_tables.listed(self._raw)}, got {_tables.listed(table.raw)}"
            )
        elif table.width != self.n_features_in_:
            raise ValueError(
                f"X has {table.width} features, but {name} is expecting {self.n_features_in_} "
                "features as input"
            )
        elif fitted is not None:
            warnings.warn(
                f"X does not have valid feature names, but {name} was fitted with feature names",
                UserWarning,
                stacklevel=4,
            )
        elif table.columns is not None:
            warnings.warn(
                f"X has feature names, but {name} was fitted without feature names",
                UserWarning,
                stacklevel=4,
            )
        data = table.read(self.schema_, columns, None, self._threads(), unseen="middle")
        if words := data.unseen_words:
            warnings.warn(
                f"X: {words}; they are predicted as of another level or a missing cell (private: this line "
                "tells about the table)",
                UserWarning,
                stacklevel=4,
            )
        return data

    def _scored(self, X, y):
        """Labels to score: y, or the label's column of X where X may have more than the model reads."""
        if y is not None:
            return y
        self._require_fitted()
        label = self._facts.label if self._formula is None else self._formula.label
        takes_more = self._formula is not None or self._by_name
        if not takes_more or label not in (_formula._names_of(X) or []):
            raise ValueError("score: y is missing; give the labels: score(X, y)")
        return (X if hasattr(X, "__getitem__") else _formula._arrow_table(X))[label]

    # The file.

    def verify(self) -> _core.Verification:
        """Recomputes the claims of the certificate and returns a `Verification`.

        Its `valid` is True if every claim holds, and `failures` lists the others
        (docs/reference/certificate.md). Raises NotFittedError before `fit`.
        """
        self._require_fitted()
        return self.release_.verify()

    def to_json(self) -> str:
        """Returns the text of model.json, all that there is to publish (docs/reference/formats.md).

        Raises NotFittedError before `fit`.
        """
        self._require_fitted()
        return self.release_.to_json()

    def save(self, path: str | os.PathLike, replace: bool = False) -> None:
        """Writes the model file to `path`, whole or not at all.

        Raises FileExistsError if the file exists and `replace` is False, OSError if it cannot be
        written, NotFittedError before `fit`.
        """
        self._require_fitted()
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"path: must be a path, such as \"model.json\", got {type(path).__name__}")
        self.release_.write(os.fspath(path), replace=replace)

    def to_onnx(self):
        """Returns an onnx.ModelProto that predicts as this estimator does, within 1e-6.

        Its inputs are columns by their names; encoding, clipping and scores are in the graph
        (docs/how-to/onnx.md). Raises ImportError without onnx (pip install 'gibbsite[onnx]') and
        NotFittedError before `fit`.
        """
        return _onnx.onnx_model(self.to_json())

    @classmethod
    def from_file(cls, path: str | os.PathLike) -> "_Private":
        """Returns a fitted estimator from the model file at `path`, to predict with.

        The classes_ of a classifier are the schema's names, as numbers or booleans if all are such.
        epsilon and delta are None if the certificate is void. Another `fit` keeps rows_per_person, the
        range of weights, intervals and adjacency, and needs `groups` where the file's had them. Tables
        to predict may have more columns, in any order, as a file does not know the frame of `fit`.
        Raises OSError or `BadInput` if the file cannot be read or was changed, ValueError if its label
        is of another kind than this estimator's.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"path: must be that of a model file, got {type(path).__name__}")
        return cls._from_release(_core.Release.read(os.fspath(path)))

    @classmethod
    def _from_release(cls, release):
        guarantee = release.certificate.get("guarantee") or {}
        schema = release.schema
        kind = _tables.SchemaFacts(schema).kind
        if kind != cls._kind:
            raise ValueError(
                f"this model predicts {_KINDS[kind]}, and {cls.__name__} predicts "
                f"{_KINDS[cls._kind]}"
            )
        cells = _tables.SchemaFacts(schema).cells
        given = (("sample_weight", "weight"), ("groups", "person"))
        beside = [name for name, kind in given if cells.get(name, {}).get("type") == kind]
        text = schema.to_toml()
        options = {"rows_per_person": guarantee.get("rows_per_person") or 1}
        if guarantee.get("adjacency") == "add-remove":
            constants = release.certificate["constants"]
            cap = constants.get("people", constants.get("rows"))
            options.update(adjacency="add-remove", rows_cap=None if cap is None else int(cap))
        if "sample_weight" in beside:
            options["weight_range"] = tuple(cells["sample_weight"]["range"])
        estimator = cls(
            guarantee.get("epsilon"),
            guarantee.get("delta"),
            schema=_formula.without_columns(text, beside) if beside else text,
            intervals=release.intervals is not None,
            **options,
        )
        if beside:
            estimator._beside = tuple(beside)
        estimator._set_release(release)
        estimator._columns = [name for name in estimator._facts.cells if name not in beside]
        estimator._raw = None
        estimator.n_features_in_ = len(estimator._columns)
        if estimator._columns != [f"x{j}" for j in range(estimator.n_features_in_)]:
            estimator.feature_names_in_ = np.array(estimator._columns, dtype=object)
        estimator._by_name = True
        return estimator

    # Pickles hold parameters, names and the text of model.json; no object of the extension module.

    def __getstate__(self):
        params = self.get_params()
        params["progress"] = None
        if isinstance(params["ledger"], _core.Ledger):
            params["ledger"] = os.fspath(params["ledger"].path)
        if isinstance(params["schema"], _core.Schema):
            params["schema"] = params["schema"].to_toml()
        state = {"params": params, "is_clone": getattr(self, "_is_clone", False)}
        state["formula"] = self._formula
        state["requested"] = dict(self._requested)
        state["by_name"] = self._by_name
        state["beside"] = self._beside
        if self.__sklearn_is_fitted__():
            state["model"] = self.to_json()
            if hasattr(self, "classes_"):
                state["classes"] = self.classes_.tolist()
                state["classes_dtype"] = self.classes_.dtype.str
            state["columns"] = list(self._columns)
            state["names"] = list(getattr(self, "feature_names_in_", [])) or None
            state["width"] = self.n_features_in_
            state["raw"] = self._raw
        return state

    def __setstate__(self, state):
        self.__init__(**state["params"])
        if state["is_clone"]:
            self._is_clone = True
        if state.get("formula") is not None:
            self._formula = state["formula"]
        if state.get("requested"):
            self._requested = state["requested"]
        self._by_name = state.get("by_name", False)
        if state.get("beside"):
            self._beside = state["beside"]
        if "model" not in state:
            return
        self._set_release(_core.Release.from_json(state["model"], "pickle"))
        if "classes" in state:
            self.classes_ = np.array(state["classes"], dtype=np.dtype(state["classes_dtype"]))
        self._columns = state["columns"]
        self._raw = state.get("raw")
        self.n_features_in_ = state["width"]
        if state["names"] is not None:
            self.feature_names_in_ = np.array(state["names"], dtype=object)


class PrivateLogisticRegression(_Private):
    """Logistic regression of two classes, or softmax regression of more, under differential
    privacy.

    `fit` releases coefficients that may be published. Their certificate states an (epsilon, delta)
    guarantee, which `verify` recomputes (docs/reference/certificate.md). The guarantee rests on
    public knowledge: the range of every number, the levels of every category, the classes. A person
    gives it; it must not be computed from X or y.

    Parameters
    ----------
    epsilon, delta : float
        The privacy budget of one call of `fit`. Each further fit of the same people costs again
        (`ledger`).
    schema : Schema, path or str
        What is public about the table (docs/reference/data.md): a `gibbsite.Schema`, the path of
        its file, or its text. Exactly one of `schema` and `ranges` must be given. "private": ranges
        and levels are found in X with a share of the budget, in the same release (needs pyarrow);
        the label stays public: `classes`, `target_range` or `highest`. A label that cannot be read
        then counts as with invalid="middle".
    ranges : dict, list, pair or Curve
        What is public about the columns, without a file: {"age": (17, 90), "job": ["clerk",
        "farmer"], "member": "boolean", "patient": "person", "id": "ignore"}. A list of such values
        is in the order of the columns; one pair (lowest, highest) is for all columns. Numbers
        beyond their range are clamped to it.
        gibbsite.Curve(17, 90) in place of (17, 90) makes the effect a curve. {"levels": ["clerk",
        "farmer"], "other": True} adds a level for all others (docs/reference/python.md).
    classes : [negative, positive], a list of three or more, "observed" or None
        The labels. None takes the schema's, or 0 and 1 (also False and True) with `ranges`. A label
        that is not listed is refused, which the certificate names as an assumption. A y that lacks
        a class is fitted: whether a class occurs would tell about a person who is its only member.
        "observed" takes the two labels that occur in y, and declares that both were known to occur.
        It goes neither with `schema` nor with invalid="middle", nor with three or more classes.
    class_weight : {class: weight} or None
        With `ranges`: the weight of a row of each class, every class named (docs/theory/losses.md,
        "Weighted classes"). Weights are public: "balanced" is refused, as it would publish the size
        of each class. predict_proba then describes a population in which each class is as frequent
        as its weight makes it. A schema has `class_weights` instead.
    positive_share : float, (low, high) or None
        With `ranges` and two classes: the share of positive rows, known without y. It only makes
        the warning of few rows more exact; the model does not depend on it. A schema has
        `positive_share` instead.
    mechanism : str
        "auto", or the name of a mechanism (docs/reference/command-line.md, --mechanism).
    ledger : Ledger, path or None
        The account of everything released about these people (docs/how-to/ledger.md). Every fit is
        entered before it returns; one that exceeds what is left raises `BudgetSpent`.
    random_state : int or None
        None takes a key from the operating system. An int makes runs repeatable and the certificate
        void, as the noise can be subtracted: for tests only (`VoidWarning`).
    schema_share : float or None
        With schema="private": the share of mu^2 that finds the schema. None takes 0.1, up to 0.2
        of few rows.
    public : frame, path or None
        With schema="private": a public table of the same columns, whose cells the schema follows
        from at no cost, so that the whole budget fits. No guarantee covers people in it: you answer
        for its being public (docs/reference/data.md). At small budgets a frame with a column of y's
        name also says where the fit begins (docs/theory/whitened.md, "A public center").
    date_parts : dict or None
        With schema="private": parts of dates as columns of their own, {"hired": ["year", "month",
        "weekday"]}, where the column is found to hold dates.
    fit_intercept : bool
        With `ranges`: whether a constant 1 is among the features. A schema has `intercept` instead.
    row_norm : float or "auto"
        With `ranges`: longer rows are scaled down to this Euclidean norm (docs/reference/data.md).
    invalid : "refuse" or "middle"
        With `ranges`: "refuse" raises an error if a cell or label cannot be read (NaN, an unknown
        level). "middle" takes the middle of the range for such a cell; such a label counts as the
        negative class, or as the first of several.
    interactions : list of tuples of column names, or None
        With `ranges`: which two or three columns work together, [("age", "sex")]: the effect of one
        may then differ with the other (docs/how-to/curves.md). {"columns": ("age", "sex"), "curve":
        6} gives each of its numbers that many knots in it.
    intervals : bool
        Whether a part of the budget pays for estimates with 95 % intervals, which the model then
        holds (docs/theory/intervals.md).
    prior_precision : float or None
        Precision of the Gaussian prior on the encoder's scale (docs/theory/path.md).
    adjacency : "replace-one" or "add-remove"
        Which tables are neighbors (docs/reference/certificate.md). "add-remove" needs `rows_cap`.
    rows_cap : int or None
        A public upper bound on the number of rows, or of people with `groups`.
    rows_per_person : int
        The largest number of rows of one person; with fit's `groups` what a person counts at most.
    weight_range : (0, largest) or None
        The public range of fit's sample_weight. A row counts by its weight over the largest, so at
        most once.
    n_jobs : int or None
        Number of threads; None and -1 take as many as may run. No bit of the model depends on it.
    backend : str
        "auto", "cpu", "reference" or "cuda".
    progress : callable or None
        Called as progress(done, in all) while reading and fitting.

    Attributes
    ----------
    classes_ : ndarray [classes]
        The negative and the positive class, or the classes of the list.
    coef_ : ndarray [1, slopes], or [classes, slopes] for several classes
        Change of the log-odds per unit of a column, or if a category has that level. For several
        classes: change of z_k, where class k has probability exp(z_k) over the sum of them. Slopes
        are shrunk towards 0 by the prior that follows from the noise (mechanism "whitened", the
        default) or by `prior_precision`. With mechanism "path" or "metric-path" (loss
        logistic-capped), and in files of gibbsite-release/2 by "whitened", they are scores:
        predict_proba follows from them by the file's link. `gibbsite.plan(..., loss_cap=1)` fits
        log-odds with those mechanisms.
    intercept_ : ndarray [1], or [classes] for several classes
        Log-odds, or z_k, if every column is 0.
    coef_names_ : ndarray of str [slopes]
        The name of each slope: "age", "job=clerk". A curve has one for each knot, "age=17", which
        is what it adds to the score there.
    coef_exact_ : bool
        Whether `coef_` holds for every row within the ranges: none is longer than the schema's
        norm, so none is scaled. Then intercept_ + X @ coef_ is decision_function up to the rounding
        of rows to floats. `predict` uses the encoder in either case.
    coef_scale_ : float
        The smallest factor by which a row is scaled down, 1 if coef_exact_. All of a row's score
        but the constant counts at least this much.
    coef_interval_ : ndarray [slopes, 2], or [classes, slopes, 2] for several classes
        With intervals=True: ends of the 95 % interval of each effect, in the order and units of
        coef_names_. A level's effect is against the mean of its column's levels. summary() has the
        estimates inside; coef_ is shrunk, predicts better, and may lie outside.
    certificate_ : dict
        The guarantee, and the numbers that it follows from.
    release_ : Release
        The released model with its certificate.
    schema_ : Schema
        What was taken to be public.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of object [n_features_in_]
        Names of the columns of X, if it had names.

    Notes
    -----
    A copy made by `sklearn.base.clone` can only be fitted with a ledger (or an int `random_state`).
    Functions that clone, such as `GridSearchCV` or `cross_val_predict`, fit the same people many
    times, and each fit costs epsilon.
    """

    _estimator_type = "classifier"  # of scikit-learn before 1.6
    _kind = "classes"
    _of_ranges = ("class_weight", "positive_share")

    def __init__(
        self,
        epsilon: float,
        delta: float,
        schema: _core.Schema | str | os.PathLike | None = None,
        ranges: dict | Sequence | Curve | None = None,
        classes: Sequence | str | None = None,
        mechanism: str = "auto",
        ledger: _core.Ledger | str | os.PathLike | None = None,
        random_state: int | None = None,
        *,
        schema_share: float | None = None,
        public: object | None = None,
        date_parts: dict | None = None,
        fit_intercept: bool = True,
        row_norm: float | str = "auto",
        invalid: str = "refuse",
        interactions: Sequence | None = None,
        intervals: bool = False,
        class_weight: dict | None = None,
        positive_share: float | tuple[float, float] | None = None,
        prior_precision: float | None = None,
        adjacency: str = "replace-one",
        rows_cap: int | None = None,
        rows_per_person: int = 1,
        weight_range: tuple[float, float] | None = None,
        n_jobs: int | None = None,
        backend: str = "auto",
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self._take(locals())

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, TargetTags

        return self._tags(
            "classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=self._takes_several()),
        )

    def _takes_several(self):
        """Whether labels may be more than two: the public list says so."""
        if isinstance(self.classes, str):  # "observed" takes two
            return False
        if self.classes is not None:
            return hasattr(self.classes, "__len__") and len(self.classes) > 2
        if self.schema is None or self._buys_schema():
            return False
        try:
            return _tables.SchemaFacts(_tables.read_schema(self.schema)).classes is not None
        except (ValueError, OSError):  # `fit` says what is wrong
            return False

    def _label_of_ranges(self, labels, invalid):
        if isinstance(self.classes, str) and self.classes == "observed":
            if self._buys_schema():
                raise ValueError(
                    'classes: "observed" takes them from private labels, and schema="private" buys no '
                    "label; list them: classes=[negative, positive]"
                )
            if invalid == "middle":  # its certificate names no assumption about labels
                raise ValueError(
                    'classes: "observed" lets a label decide whether there is a model, and '
                    'invalid="middle" promises that none does; list them: classes=[...]'
                )
            classes = _tables.observed_classes(labels)
        elif self.classes is not None:
            classes = _tables.list_of_classes(self.classes)
        else:
            classes = _tables.default_classes()
        names = ["0", "1"] if self.classes is None else [str(label) for label in classes.tolist()]
        lines = _tables.class_lines(names, invalid)
        lines += _tables.class_weight_lines(self.class_weight, classes, names)
        if self.positive_share is not None and len(classes) > 2:
            raise ValueError(f"positive_share: is of two classes, and there are {len(classes)}; leave it out")
        return [*lines, *_tables.positive_share_lines(self.positive_share)], classes

    def _engine_labels(self, labels, classes, facts):
        given = self.classes is not None or self.schema is not None and not self._buys_schema()
        codes = _tables.class_codes(labels, classes, facts, are_given=given)
        self._unlisted = facts.unlisted
        return codes

    def _labels_of_schema(self, labels, facts):
        if isinstance(self.classes, str) and self.classes == "observed":
            raise ValueError('classes: "observed" goes with ranges; a schema names the classes')
        if self.classes is None:
            classes = _tables.classes_of_schema(facts, labels)
        else:
            classes = _tables.list_of_classes(self.classes)
            named = 2 if facts.classes is None else len(facts.classes)
            if len(classes) != named:
                raise ValueError(f"classes: lists {len(classes)}, and the schema names {named}")
        by_name = self.classes is None
        codes = _tables.class_codes(labels, classes, facts, by_name=by_name)
        self._unlisted = facts.unlisted
        return codes, classes

    def _set_release(self, release):
        super()._set_release(release)
        self._set_intervals(release)

    @classmethod
    def _from_release(cls, release):
        estimator = super()._from_release(release)
        estimator.classes_ = _tables.declared_classes(estimator._facts)
        return estimator

    def _is_of_several(self):
        self._require_fitted()
        return self._facts.classes is not None

    def _class_probabilities(self, X):
        rows = self._rows(X)
        return np.asarray(self.release_.predict_classes(rows), dtype=np.float64)

    def _probability(self, X):
        rows = self._rows(X)
        return np.asarray(self.release_.predict_probabilities(rows), dtype=np.float64)

    def decision_function(self, X) -> np.ndarray:
        """Returns the log-odds of the positive class by `predict_proba` [rows].

        With several classes: the logarithms of `predict_proba` [rows, classes]. X is a table with
        the columns of `fit`; a cell that the model cannot read gives a UserWarning. Raises
        NotFittedError before `fit`, ValueError if columns are not those of `fit`.
        """
        if self._is_of_several():
            # A probability of 0 is told from none.
            return np.log(np.maximum(self._class_probabilities(X), np.finfo(np.float64).tiny))
        rows = self._rows(X)
        scores = self.release_.log_odds(rows)
        return np.asarray(scores, dtype=np.float64)

    def predict_proba(self, X) -> np.ndarray:
        """Returns the probability of each of classes_ [rows, classes].

        It is the sigmoid of the score, or the softmax of the scores of several classes. A model
        file with a `link` uses that (docs/reference/formats.md). X and errors are as in
        `decision_function`.
        """
        if self._is_of_several():
            return self._class_probabilities(X)
        p = self._probability(X)
        return np.stack([1 - p, p], axis=1)

    def predict_log_proba(self, X) -> np.ndarray:
        """Returns the logarithms of `predict_proba` [rows, classes], which takes the same X."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X) -> np.ndarray:
        """Returns the likeliest class of each row [rows]; the first one if several are equal.

        X and errors are as in `decision_function`.
        """
        if self._is_of_several():
            return self.classes_[np.argmax(self._class_probabilities(X), axis=1)]
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    def predict_intervals(self, X) -> np.ndarray:
        """Returns the ends of a 95 % interval of each row's P(positive) [rows, 2].

        With several classes: of the probability of each of classes_ [rows, classes, 2]. Takes a
        model that was fitted with intervals=True, else raises ValueError
        (docs/theory/intervals.md).
        """
        rows = self._rows(X)
        return np.asarray(self.release_.predict_intervals(rows), dtype=np.float64)

    def score(self, X, y=None, sample_weight=None) -> float:
        """Returns the accuracy of `predict` on X [rows, columns] for the labels y [rows], in [0,
        1].

        After from_formula or from_file y may be left out, and is the label's column of X.
        sample_weight [rows] weighs rows. The accuracy on private rows is private: the certificate
        does not cover it.
        """
        right = _tables.equal_rows(self.predict(X), _tables.as_labels(self._scored(X, y)))
        return float(np.average(right, weights=sample_weight))


class _Regressor(_Private):
    _estimator_type = "regressor"  # of scikit-learn before 1.6

    def _set_release(self, release):
        super()._set_release(release)
        self.coef_ = self.coef_[0]
        self.intercept_ = float(self.intercept_[0])
        self._set_intervals(release)

    def __sklearn_tags__(self):
        from sklearn.utils import RegressorTags, TargetTags

        return self._tags(
            "regressor",
            target_tags=TargetTags(required=True),
            regressor_tags=RegressorTags(poor_score=self._kind == "count"),
        )

    def _engine_labels(self, labels, _, facts):
        numbers = _tables.amounts(labels)
        unread = ~np.isfinite(numbers)
        if unread.any() and not facts.middle:
            row = int(np.argmax(unread))
            raise ValueError(
                f"y: row {row + 1}: the label is no finite number; fill it, or set "
                'invalid="middle" (private: this line tells about the table)'
            )
        return numbers

    def _labels_of_schema(self, labels, facts):
        return self._engine_labels(labels, None, facts), None

    def predict_intervals(self, X) -> np.ndarray:
        """Returns the ends of a 95 % interval of the mean label of rows like each one [rows, 2].

        Values are in the label's unit; a single row's own label is spread wider. Takes a model that
        was fitted with intervals=True, else raises ValueError (docs/theory/intervals.md).
        """
        rows = self._rows(X)
        return np.asarray(self.release_.predict_intervals(rows), dtype=np.float64)

    def predict(self, X) -> np.ndarray:
        """Returns the predicted label of each row [rows], in the label's unit.

        Predictions are clamped to the label's public range. X is a table with the columns of `fit`;
        a cell that the model cannot read gives a UserWarning. Raises NotFittedError before `fit`,
        ValueError if columns are not those of `fit`.
        """
        rows = self._rows(X)
        return np.asarray(self.release_.predict_amounts(rows), dtype=np.float64)

    def score(self, X, y=None, sample_weight=None) -> float:
        """Returns R² of `predict` on X [rows, columns] for the labels y [rows].

        R² is 1 minus the sum of squared errors over the sum of squares about the mean of y. After
        from_formula or from_file y may be left out, and is the label's column of X. sample_weight
        [rows] weighs rows. The score on private rows is private: the certificate does not cover it.
        """
        y = _tables.amounts(_tables.as_labels(self._scored(X, y)))
        mean = np.average(y, weights=sample_weight)
        errors = np.average((y - self.predict(X)) ** 2, weights=sample_weight)
        about = np.average((y - mean) ** 2, weights=sample_weight)
        return float(1 - errors / about) if about > 0 else float("nan")


class PrivateLinearRegression(_Regressor):
    """Linear regression of an amount under differential privacy, by default with Huber's loss.

    `fit` releases coefficients that may be published. Errors up to `tolerance` count by their
    square and larger ones in proportion, so that one row has bounded influence
    (docs/theory/losses.md). The guarantee rests on public knowledge: the ranges of the columns and
    of y. A person gives them; they must not be computed from X or y.

    Parameters
    ----------
    epsilon, delta, schema, ranges
        As in PrivateLogisticRegression; the label of a schema has a `range`.
    target_range : (lowest, highest) or None
        The range of y, known without the data; required with `ranges`. Labels and predictions are
        clamped to it.
    tolerance : float or None
        With `ranges`: the error, in y's unit, above which a prediction counts as far off. None
        takes a fifth of the range.
    invalid : "refuse" or "middle"
        With `ranges`: "refuse" raises an error if a cell or label cannot be read; "middle" takes
        the middle of its range.
    loss : "huber", "pseudo-huber" or "squared"
        The loss of errors, measured in tolerances. The squared loss (least squares) needs a `ball`:
        without one, the influence of a row has no bound.
    ball : float or None
        With mechanism="path" or the squared loss: the largest norm of every iterate and model, for
        coefficients of the encoded columns in tolerances. It is public and chosen without the data
        (docs/theory/ball.md).
    intervals : bool
        Whether a part of the budget pays for estimates with 95 % intervals, which the model then
        holds (docs/theory/intervals.md). Only with the losses huber and pseudo-huber.
    mechanism, ledger, random_state, schema_share, public, date_parts, fit_intercept, row_norm,
    interactions, prior_precision, adjacency, rows_cap, rows_per_person, weight_range, n_jobs, backend, progress
        As in PrivateLogisticRegression.

    Attributes
    ----------
    coef_ : ndarray [slopes]
        Change of the prediction per unit of a column, or if a category has that level.
    intercept_ : float
        The prediction if every column is 0.
    coef_interval_ : ndarray [slopes, 2]
        With intervals=True: ends of the 95 % interval of each effect, in the order and units of
        coef_. A level's effect is against the mean of its column's levels.
    coef_names_, coef_exact_, coef_scale_, certificate_, release_, schema_, n_features_in_, feature_names_in_
        As in PrivateLogisticRegression.
    """

    _kind = "amount"
    _of_ranges = ("target_range", "tolerance")

    def __init__(
        self,
        epsilon: float,
        delta: float,
        schema: _core.Schema | str | os.PathLike | None = None,
        ranges: dict | Sequence | Curve | None = None,
        target_range: tuple[float, float] | None = None,
        tolerance: float | None = None,
        mechanism: str = "auto",
        ledger: _core.Ledger | str | os.PathLike | None = None,
        random_state: int | None = None,
        *,
        schema_share: float | None = None,
        public: object | None = None,
        date_parts: dict | None = None,
        fit_intercept: bool = True,
        row_norm: float | str = "auto",
        invalid: str = "refuse",
        interactions: Sequence | None = None,
        prior_precision: float | None = None,
        adjacency: str = "replace-one",
        loss: str = "huber",
        ball: float | None = None,
        intervals: bool = False,
        rows_cap: int | None = None,
        rows_per_person: int = 1,
        weight_range: tuple[float, float] | None = None,
        n_jobs: int | None = None,
        backend: str = "auto",
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self._take(locals())

    def _check_types(self):
        super()._check_types()
        if not isinstance(self.loss, str):
            raise ValueError(f"loss: must be a str, got {self.loss!r}")
        if self.ball is not None and (
            not isinstance(self.ball, numbers.Real) or isinstance(self.ball, (bool, np.bool_))
        ):
            raise ValueError(f"ball: must be a number, got {self.ball!r}")

    @classmethod
    def _from_release(cls, release):
        estimator = super()._from_release(release)
        estimator.loss = release.certificate["constants"]["loss"]
        estimator.ball = release.certificate["mechanism"].get("ball")
        return estimator

    def _label_of_ranges(self, labels, invalid):
        if self.target_range is None:
            raise ValueError(
                "target_range: the range of y must be given, as a guarantee cannot rest on one "
                "computed from the rows: target_range=(lowest, highest)"
            )
        if not isinstance(self.target_range, (tuple, list, np.ndarray)) or len(self.target_range) != 2:
            raise ValueError(f"target_range: must be (lowest, highest), got {self.target_range!r}")
        lowest, highest = self.target_range
        tolerance = self.tolerance
        if tolerance is None:
            return _tables.range_lines("target_range", lowest, highest), None
        if isinstance(tolerance, bool) or not isinstance(tolerance, numbers.Real):
            raise ValueError(f"tolerance: must be a number, got {tolerance!r}")
        line = f"tolerance = {float(tolerance)!r}"
        return _tables.range_lines("target_range", lowest, highest, line), None


class PrivatePoissonRegressor(_Regressor):
    """Poisson regression of a count under differential privacy.

    `fit` releases coefficients that may be published. The predicted mean is exp(intercept_ +
    X @ coef_), at most `highest` (docs/theory/losses.md). If a column is the exposure (what the
    count is over), the mean is multiplied by it.

    Parameters
    ----------
    epsilon, delta, schema, ranges
        As in PrivateLogisticRegression; the label of a schema has a `range` and counts = true. With
        `ranges`, one column may be ("exposure", lowest, highest), with public bounds above 0. With
        schema="private" `ranges` may be that column alone.
    highest : int or None
        The largest count, known without the data; required with `ranges`. Larger counts are clamped
        to it. Labels are whole numbers from 0 up; anything else cannot be read.
    invalid : "refuse" or "middle"
        With `ranges`: "refuse" raises an error if a cell or label cannot be read; "middle" takes
        the middle of its range.
    intervals : bool
        Whether a part of the budget pays for estimates with 95 % intervals, which the model then
        holds (docs/theory/intervals.md).
    mechanism, ledger, random_state, schema_share, public, date_parts, fit_intercept, row_norm,
    interactions, prior_precision, adjacency, rows_cap, rows_per_person, weight_range, n_jobs, backend, progress
        As in PrivateLogisticRegression.

    Attributes
    ----------
    coef_ : ndarray [slopes]
        Change of the log of the mean per unit of a column, or if a category has that level.
    intercept_ : float
        Log of the mean if every column is 0.
    coef_interval_ : ndarray [slopes, 2]
        With intervals=True: ends of the 95 % interval of each effect, in the order and units of
        coef_. A level's effect is against the mean of its column's levels.
    coef_names_, coef_exact_, coef_scale_, certificate_, release_, schema_, n_features_in_, feature_names_in_
        As in PrivateLogisticRegression.
    """

    _kind = "count"
    _of_ranges = ("highest",)

    def __init__(
        self,
        epsilon: float,
        delta: float,
        schema: _core.Schema | str | os.PathLike | None = None,
        ranges: dict | Sequence | Curve | None = None,
        highest: int | None = None,
        mechanism: str = "auto",
        ledger: _core.Ledger | str | os.PathLike | None = None,
        random_state: int | None = None,
        *,
        schema_share: float | None = None,
        public: object | None = None,
        date_parts: dict | None = None,
        fit_intercept: bool = True,
        row_norm: float | str = "auto",
        invalid: str = "refuse",
        interactions: Sequence | None = None,
        prior_precision: float | None = None,
        adjacency: str = "replace-one",
        intervals: bool = False,
        rows_cap: int | None = None,
        rows_per_person: int = 1,
        weight_range: tuple[float, float] | None = None,
        n_jobs: int | None = None,
        backend: str = "auto",
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self._take(locals())

    def _label_of_ranges(self, labels, invalid):
        if self.highest is None:
            raise ValueError(
                "highest: the largest count must be given, as a guarantee cannot rest on one "
                "computed from the rows: highest=20"
            )
        if isinstance(self.highest, bool) or not isinstance(self.highest, (int, np.integer)):
            raise ValueError(f"highest: must be a whole number, got {self.highest!r}")
        return _tables.range_lines("highest", 0, int(self.highest), "counts = true"), None


def _unit(facts, name):
    """Factor from the encoder's scale to the column's unit: 1/(hi - lo) of a number, else 1."""
    column = facts.columns.get(name)
    if column is None or column["type"] != "number":
        return 1.0
    lowest, highest = column["range"]
    return 1.0 / (highest - lowest)
