"""Estimates in the core's terms: a number and parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.errors import InputError
from shunter.policies.names import ESTIMATES
from shunter.policies.prior import GENERIC_PRIOR, Prior, prior_from_tables
from shunter.policies.specs import Spec, read_spec

if TYPE_CHECKING:
    from numpy.typing import NDArray

CODES: Final = {name: code for code, name in enumerate(ESTIMATES)}
"""The core's numbers for estimates."""

LEARNED: Final = ("last-two", "posterior", "history")
"""Estimates that change as jobs end."""

PARAMETERS: Final[dict[str, dict[str, float]]] = {
    "noisy": {"sigma": 1.0},
    "posterior": GENERIC_PRIOR.strengths(),
}
"""The parameters of the estimates that have some, with their defaults."""


@dataclass(frozen=True)
class NativeEstimate:
    """What the core is told of an estimate."""

    code: int
    parameters: NDArray[np.float64]
    is_learned: bool


def estimate_spec(text: str) -> Spec:
    """Returns what an estimate's spec asks for, checked.

    Raises:
        InputError: The name, a parameter or the file is wrong.
    """
    spec = read_spec("estimate", text, ESTIMATES, PARAMETERS, also=", or a file FILE.toml")
    sigma = spec.parameters.get("sigma", 0.0)
    if not 0 <= sigma <= 100:
        raise InputError(f"{spec.where}: sigma is {sigma:g}; expected 0 to 100")
    if spec.kind == "posterior":
        prior_of(spec)
    elif spec.tables:
        raise InputError(f"{spec.where}: [estimate.{next(iter(spec.tables))}] is unknown for {spec.kind!r}")
    return spec


def estimate_stand_ins(text: str) -> dict[str, str]:
    """Returns the columns that an estimate reads and a log may leave empty, with what the ledger says of it then."""
    if estimate_spec(text).kind != "history":
        return {}
    return {"user": "no user: history goes by the jobs of the same size, or by all"}


def prior_of(spec: Spec) -> Prior:
    """Returns the prior of a posterior: what the file holds, or the one for no site in particular."""
    return prior_from_tables(spec.parameters, spec.tables, spec.where)


def native_estimate(text: str) -> NativeEstimate:
    """Returns what the core is told of an estimate."""
    spec = estimate_spec(text)
    if spec.kind == "posterior":
        parameters = prior_of(spec).numbers()
    else:
        parameters = np.array(list(spec.parameters.values()), dtype=np.float64)
    return NativeEstimate(CODES[spec.kind], parameters, spec.kind in LEARNED)
