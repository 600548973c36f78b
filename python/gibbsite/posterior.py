"""Draws from the posterior, for people who may see the rows. Nothing here is private."""

import difflib
import inspect

from . import _core

_OPTIONS = (
    "model", "beta", "chains", "draws", "warm_up", "thinning", "sampler", "metric", "target_acceptance", "tv",
    "seed", "backend", "n_jobs", "progress",
)  # fmt: skip


def require_arviz(caller):
    """Raises ImportError in one line if ArviZ is not installed."""
    try:
        import arviz  # noqa: F401
    except ImportError:
        raise ImportError(
            f"{caller}: reading draws takes ArviZ; install it (pip install arviz)"
        ) from None


def require_options(options, caller):
    """Raises TypeError in one line if the engine does not know an option of the caller's."""
    for name in options:
        if name in _OPTIONS:
            continue
        if name in ("groups", "rows_per_person"):
            raise TypeError(
                f"{name}: gibbsite.{caller} takes rows as independent, so intervals are too narrow where a person "
                "has several; keep one row a person, or use fit with groups= and intervals=True, which counts people"
            )
        near = difflib.get_close_matches(name, _OPTIONS, 1)
        advice = f"did you mean {near[0]}?" if near else "leave it out"
        raise TypeError(f"{name}: gibbsite.{caller} has no such argument; {advice}")


def arviz_groups(drawn, groups, coords, dims):
    """ArviZ's data of groups {group: {name: values}} and of what the engine says of its draws.

    drawn: the dict of `_core.draw_posterior`; coords and dims as in `arviz.from_dict`.
    """
    import arviz

    stats = {
        name: drawn[name] for name in ("lp", "energy", "acceptance_rate") if name in drawn
    }
    if "diverging" in drawn:
        stats["diverging"] = drawn["diverging"] > 0
    said = {name: drawn[name] for name in ("verdict", "sampler", "step_size", "gradients", "tv_gap")}
    for name in ("controlled_mean", "controlled_error"):
        if name in drawn:
            said[name] = drawn[name]
    said["usable"] = int(drawn["usable"])
    groups = {**groups, "sample_stats": stats}
    names = {"coords": coords, "dims": dims}
    if "posterior" in inspect.signature(arviz.from_dict).parameters:  # before ArviZ 1.0
        out = arviz.from_dict(**groups, **names)
    else:
        out = arviz.from_dict(groups, **names)
    out.posterior.attrs.update(said)
    return out


def sample_posterior(data, *, prior_precision=None, prior=None, **options):
    """Draws from a posterior without privacy: NOT PRIVATE (docs/theory/posterior.md).

    The density is exp(-U) with U = beta sum_i loss_i(theta) + (prior_precision/2) ||theta||^2, or with
    priors by name. Draws carry no guarantee; they are for people who may see the table itself. `fit` makes a model
    to publish.

    Parameters
    ----------
    data : Dataset
        Labeled rows (`read_table`, `read_arrow`, `read_array`).
    prior_precision : float or None
        Precision m of the prior N(0, 1/m) of the parameters without one by name, above 0. None: all
        have one.
    prior : dict, str or None
        Priors by the name of a feature, a column or "*" (all others), on the encoder's scale:
        {"age": "normal(0, 1)", "*": "student_t(3, 0, 2.5)"}, (center, scale) and (degrees, center,
        scale). A text alone is of all.
    **options
        model="auto" (by the label: logistic, softmax, normal or poisson; "normal" learns the noise of
        amounts, the last parameter), beta=1 (for counts the
        likelihood itself has the largest count of the schema as beta), chains=4, draws=1000, warm_up=500, thinning=1, sampler="auto" ("split", "hmc", "mala" or
        "proximal"), metric="auto", target_acceptance=None, tv=1e-10 (with "proximal"),
        seed=None, backend="auto", n_jobs=None, progress=None (called as
        progress(transitions done, in all)).

    Returns
    -------
    arviz.InferenceData (a DataTree from ArviZ 1.0 on)
        posterior["theta"] is [chain, draw, feature], or [chain, draw, class, feature] for several
        classes, on the encoder's scale; features and classes have their names. sample_stats has lp,
        energy, acceptance_rate and diverging; posterior.attrs has verdict, usable, the sampler
        that ran, and controlled_mean and controlled_error (one number a parameter,
        docs/theory/posterior.md).

    Raises
    ------
    ImportError
        If ArviZ is not installed.
    BadInput
        If an option is not as it must be, or rows have no labels.
    """
    require_arviz("sample_posterior")
    require_options(options, "sample_posterior")
    drawn = _core.draw_posterior(data, prior_precision=prior_precision, prior=prior, **options)
    theta, coords = drawn["draws"], {"feature": data.schema.feature_names}
    if data.schema.classes:
        coords = {"class": data.schema.classes, **coords}
        theta = theta.reshape(*theta.shape[:2], *map(len, coords.values()))
    if drawn["learns_noise"]:
        coords = {"feature": [*coords["feature"], "(noise)"]}
    return arviz_groups(drawn, {"posterior": {"theta": theta}}, coords, {"theta": list(coords)})
