"""What a tuned policy is to be good at, and what it must not be worse in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.errors import InputError
from shunter.metrics.table import find_window_metric, higher_is_better

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

PENALTY: Final = 5.0
"""How much a search pays for each unit by which the logarithm of a bounded metric exceeds what it aims at."""
SAFETY: Final = 0.1
"""A search aims at so much (in the logarithm) less than a bound, for later days differ."""
LEAST: Final = 1e-3
"""Added to both sides of a ratio, for a window in which nobody waits."""


@dataclass(frozen=True)
class Bound:
    """A metric that may be at most so many times the baseline's (of a metric that should be high: at least)."""

    metric: str
    factor: float

    @property
    def words(self) -> str:
        """The bound as part of a sentence."""
        return f"{'at least' if higher_is_better(self.metric) else 'at most'} {self.factor:g} times"


@dataclass(frozen=True)
class Objective:
    """One metric to improve, and bounds on others."""

    metric: str
    bounds: tuple[Bound, ...] = ()

    @property
    def metrics(self) -> tuple[str, ...]:
        """Everything that has to be measured."""
        return tuple(dict.fromkeys((self.metric, *(bound.metric for bound in self.bounds))))

    def cost(self, found: Mapping[str, NDArray[np.float64]], base: Mapping[str, NDArray[np.float64]]) -> float:
        """Returns how a policy compares with the baseline on the same windows: below 0 is better.

        It is the mean over windows of the logarithm of the ratio in the metric; windows in which the metric has no
        meaning are left out. Bounds are not part of it: a policy keeps them, or it does not (`broken`).
        """
        return float(np.nanmean(self.window_costs(found, base)))

    def means_cost(self, found: Mapping[str, NDArray[np.float64]], base: Mapping[str, NDArray[np.float64]]) -> float:
        """Returns the same of the means over windows: those in which much is at stake count for more."""
        return _sign(self.metric) * float(np.log(mean_ratio(found[self.metric], base[self.metric])))

    def window_costs(
        self, found: Mapping[str, NDArray[np.float64]], base: Mapping[str, NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Returns the cost of each window, whose mean is the cost; NaN where the metric has no meaning."""
        # A mean of logarithms weighs windows alike, whether they are busy or not.
        return _sign(self.metric) * _log_ratio(found[self.metric], base[self.metric])

    def search_cost(self, found: Mapping[str, NDArray[np.float64]], base: Mapping[str, NDArray[np.float64]]) -> float:
        """Returns what a search makes small: the cost, and a penalty for each bound that is broken or nearly so."""
        # A slope, and no wall: a search that met a wall could not tell which way it is nearer.
        near = (max(0.0, self.excess(bound, found, base) + SAFETY) for bound in self.bounds)
        return self.cost(found, base) + PENALTY * sum(near)

    def broken(self, found: Mapping[str, NDArray[np.float64]], base: Mapping[str, NDArray[np.float64]]) -> float:
        """Returns by how much bounds are broken, in the logarithm and over all of them; 0: every one holds."""
        return sum(max(0.0, self.excess(bound, found, base)) for bound in self.bounds)

    def excess(
        self, bound: Bound, found: Mapping[str, NDArray[np.float64]], base: Mapping[str, NDArray[np.float64]]
    ) -> float:
        """Returns by how much, in the logarithm, the mean over windows exceeds a bound; 0 or below: it holds."""
        ratio = mean_ratio(found[bound.metric], base[bound.metric])
        return _sign(bound.metric) * float(np.log(ratio / bound.factor))


def mean_ratio(found: NDArray[np.float64], base: NDArray[np.float64]) -> float:
    """Returns the ratio of the means over windows."""
    # Of means, not the mean of ratios: that is what a bound on a mean wait says.
    own, other = float(np.nanmean(found)), float(np.nanmean(base))
    # Exact, so that a bound of 0.95 on a utilization is one of 0.95; where a mean is 0 a ratio needs something added.
    return own / other if own > 0 and other > 0 else float(np.exp(_log_ratio(own, other)))


def told_ratio(found: NDArray[np.float64], base: NDArray[np.float64]) -> float:
    """Returns the ratio of the means as people are told it; NaN where the base alone is 0: it is no number of times."""
    return float("nan") if np.nanmean(base) == 0 < np.nanmean(found) else mean_ratio(found, base)


def _sign(metric: str) -> float:
    return -1.0 if higher_is_better(metric) else 1.0


def _log_ratio(found: NDArray[np.float64] | float, base: NDArray[np.float64] | float) -> NDArray[np.float64]:
    return np.asarray(np.log((np.asarray(found) + LEAST) / (np.asarray(base) + LEAST)))


def parse_objective(metric: str, bounds: Sequence[str]) -> Objective:
    """Returns the objective that ``bounded-slowdown`` and bounds such as ``mean-wait=1.1`` mean.

    Raises:
        InputError: A metric is unknown, or a bound is not a positive number.
    """
    parsed: list[Bound] = []
    for text in bounds:
        name, equals, value = text.partition("=")
        try:
            factor = float(value)
        # NaN fails the check below, which has the message.
        except ValueError:
            factor = float("nan")
        if not equals or not 0 < factor < float("inf"):
            raise InputError(f"--bound is {text!r}; expected a metric and a positive factor, as in mean-wait=1.1")
        bound = Bound(find_window_metric("bound", name.strip()), factor)
        if any(bound.metric == other.metric for other in parsed):
            raise InputError(f"--bound {text}: {bound.metric} is bounded twice; give one bound for each metric")
        parsed.append(bound)
    return Objective(find_window_metric("objective", metric), tuple(parsed))
