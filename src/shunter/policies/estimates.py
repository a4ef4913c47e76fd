"""Estimates: the run time that a policy may see, resolved once from a name, a name with parameters or a TOML file.

The posterior starts from a prior: what is believed of a job before any of its user's has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.errors import InputError
from shunter.policies.catalog import ESTIMATE_CODES, ESTIMATES, LEARNED_ESTIMATES
from shunter.policies.specs import Spec, read_spec, spec_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

BINS: Final = 23
"""Requests are told apart by powers of two of seconds, up to 2²³ s."""
SHORTEST_S: Final = 10.0
"""Shorter jobs count as this long in the mean inverse, as in the bounded slowdown."""

STRENGTHS: Final = ("user_decay", "decay", "user_strength", "request_strength", "size_strength")


@dataclass(frozen=True)
class Prior:
    """Means over training days, and how strongly they are believed; see ``docs/policies.md``."""

    user_decay: float
    decay: float
    user_strength: float
    request_strength: float
    size_strength: float
    mean_run_s: tuple[float, ...]
    """For each bin of requests; the last is for jobs without a request."""
    mean_inverse: tuple[float, ...]
    """Of 1 / max(run time, 10 s), in the same bins."""

    def strengths(self) -> dict[str, float]:
        """Returns the parameters that are single numbers."""
        return {name: float(getattr(self, name)) for name in STRENGTHS}

    def numbers(self) -> NDArray[np.float64]:
        """Returns the prior as the core takes it."""
        pairs = np.column_stack([self.mean_run_s, self.mean_inverse]).ravel()
        return np.concatenate([list(self.strengths().values()), pairs]).astype(np.float64)


_SHARES: Final = (
    *[0.31] * 5, 0.29, 0.28, 0.23, 0.22, 0.23, 0.24, 0.24, 0.27, 0.37, 0.43, 0.41, 0.37, 0.33, *[0.32] * 5,
)  # fmt: skip
"""Mean run time as a part of the request, by bin: pooled over the first 60 % of eight public logs, smoothed."""
_INVERSES: Final = (
    *[0.1] * 6, 0.0744, 0.0550, 0.0339, 0.0235, 0.0183, 0.0142, 0.0104, 0.0076, 0.0072, 0.0079, 0.0083, 0.0083,
    *[0.0078] * 5,
)  # fmt: skip
"""Mean of 1 / max(run time, 10 s), of the same jobs. Long requests die early as often as short ones."""
_NO_REQUEST: Final = 11
"""A job without a request is taken for one that asks for about an hour."""


def _generic() -> Prior:
    """Returns a prior for no site in particular."""
    run_s = [share * 2.0 ** (bin + 0.5) for bin, share in enumerate(_SHARES)]
    return Prior(
        user_decay=0.98,
        decay=0.6,
        user_strength=8.0,
        request_strength=2.0,
        size_strength=2.0,
        mean_run_s=(*run_s, run_s[_NO_REQUEST]),
        mean_inverse=(*_INVERSES, _INVERSES[_NO_REQUEST]),
    )


GENERIC_PRIOR: Final = _generic()


def prior_from_tables(parameters: Mapping[str, float], tables: Mapping[str, Any], where: str) -> Prior:
    """Returns the prior that a spec gives, the rest being the generic one's.

    Raises:
        InputError: A value is out of its range.
    """
    strengths: dict[str, Any] = dict(parameters)
    prior = replace(GENERIC_PRIOR, **strengths)
    for name in STRENGTHS:
        value = getattr(prior, name)
        high = 1.0 if name.endswith("decay") else 1e6
        if not 0 <= value <= high or (high > 1 and value == 0):
            raise InputError(f"{where}: {name} is {value:g}; expected {'0' if high == 1 else 'above 0'} to {high:g}")
    for name in tables:
        if name not in ("mean_run_s", "mean_inverse"):
            raise InputError(f"{where}: {name} is unknown in a prior; it knows mean_run_s and mean_inverse")
    columns: dict[str, Any] = {name: _means(name, tables[name], where) for name in tables}
    prior = replace(prior, **columns)
    if len(prior.mean_run_s) != len(prior.mean_inverse) or len(prior.mean_run_s) < 2:
        raise InputError(f"{where}: mean_run_s and mean_inverse need the same number of values, at least 2")
    return prior


def _means(name: str, values: object, where: str) -> tuple[float, ...]:
    if not isinstance(values, list) or not all(isinstance(value, int | float) and 0 < value < 1e12 for value in values):
        raise InputError(f"{where}: {name} is not a list of positive numbers")
    return tuple(float(value) for value in values)


REQUESTED: Final = "requested"
"""The estimate of those who name none."""

_PARAMETERS: Final = {"noisy": {"sigma": 1.0}, "posterior": GENERIC_PRIOR.strengths()}
"""The parameters of the estimates that have some, with their defaults."""


@dataclass(frozen=True)
class Estimate:
    """The run time that a policy may see."""

    text: str
    """What the user wrote."""
    spec: Spec

    @property
    def kind(self) -> str:
        """Its name in the catalog."""
        return self.spec.kind

    @property
    def label(self) -> str:
        """What tables call it: a file by its name alone."""
        return PurePath(self.text).name

    @property
    def file(self) -> Path | None:
        """The TOML file that it comes from, if it does."""
        return spec_file(self.text)

    @property
    def is_learned(self) -> bool:
        """Whether it changes as jobs end."""
        return self.kind in LEARNED_ESTIMATES

    @property
    def code(self) -> int:
        """The core's number."""
        return ESTIMATE_CODES[self.kind]

    @cached_property
    def prior(self) -> Prior:
        """The prior of a posterior: what the file holds, or the one for no site in particular."""
        return prior_from_tables(self.spec.parameters, self.spec.tables, self.spec.where)

    @cached_property
    def parameters(self) -> NDArray[np.float64]:
        """The numbers that the core takes."""
        if self.kind == "posterior":
            return self.prior.numbers()
        return np.array(list(self.spec.parameters.values()), dtype=np.float64)

    def stand_ins(self) -> dict[str, str]:
        """Returns the columns that it reads and a log may leave empty, with what the ledger says of it then."""
        if self.kind != "history":
            return {}
        return {"user": "no user: history goes by the jobs of the same size, or by all"}


def resolve_estimate(given: str | Estimate) -> Estimate:
    """Returns the estimate that a text means, checked; what is resolved already is returned.

    Raises:
        InputError: The name, a parameter or the file is wrong.
    """
    if isinstance(given, Estimate):
        return given
    spec = read_spec("estimate", given, ESTIMATES, _PARAMETERS, also=", or a file FILE.toml")
    sigma = spec.parameters.get("sigma", 0.0)
    if not 0 <= sigma <= 100:
        raise InputError(f"{spec.where}: sigma is {sigma:g}; expected 0 to 100")
    estimate = Estimate(given, spec)
    if spec.kind == "posterior":
        _ = estimate.prior  # a prior that is wrong is told now
    elif spec.tables:
        raise InputError(f"{spec.where}: [estimate.{next(iter(spec.tables))}] is unknown for {spec.kind!r}")
    return estimate


def posterior_with(prior: Prior) -> Estimate:
    """Returns the posterior that starts from a prior which stands in no file."""
    estimate = resolve_estimate("posterior")
    return Estimate(estimate.text, Spec("posterior", prior.strengths(), _tables(prior), where="the prior"))


def _tables(prior: Prior) -> dict[str, list[float]]:
    return {"mean_run_s": list(prior.mean_run_s), "mean_inverse": list(prior.mean_inverse)}
