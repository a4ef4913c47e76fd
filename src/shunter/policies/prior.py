"""The prior of the posterior: what is believed of a job's run time before any job of its user has ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.errors import InputError
from shunter.policies.catalog import ESTIMATE_PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

BINS: Final = 23
"""Requests are told apart by powers of two of seconds, up to 2²³ s."""
SHORTEST_S: Final = 10.0
"""Shorter jobs count as this long in the mean inverse, as in the bounded slowdown."""

STRENGTHS: Final = tuple(ESTIMATE_PARAMETERS["posterior"])
"""The parameters that are single numbers."""


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

    def tables(self) -> dict[str, list[float]]:
        """Returns the parameters that are lists, as a TOML file has them."""
        return {"mean_run_s": list(self.mean_run_s), "mean_inverse": list(self.mean_inverse)}

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
        **ESTIMATE_PARAMETERS["posterior"],
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
