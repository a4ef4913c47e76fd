"""Estimates: the run time that a policy may see, resolved once from a name, a name with parameters or a TOML file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.errors import InputError
from shunter.policies.catalog import ESTIMATE_CODES, ESTIMATES, LEARNED_ESTIMATES
from shunter.policies.prior import GENERIC_PRIOR, Prior, prior_from_tables
from shunter.policies.specs import Spec, read_spec, spec_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
