"""What a candidate must meet to be recommended: a significant gain, the bounds, and no knowledge of the future."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.advice.searching import ORACLES
from shunter.comparison.objective import SAFETY
from shunter.comparison.report import BETTER, LONGEST, WAIT, judge_contrast, largest_known
from shunter.comparison.statistics import LEAST_BLOCKS, both_known, seeded_means
from shunter.metrics.labels import percent
from shunter.metrics.table import higher_is_better
from shunter.report.page.words import metric_words

if TYPE_CHECKING:
    from shunter.comparison.comparison import Comparison, Scored
    from shunter.comparison.objective import Bound, Objective

CERTAINTY: Final = 0.9
"""A bound on the mean wait must hold in this share of bootstrap draws: one busy day must not decide it."""


@dataclass(frozen=True)
class Failure:
    """A requirement that a candidate does not meet."""

    text: str
    """As the end of a sentence about the candidate, with the figure that was held against the requirement."""
    excess: float = 0.0
    """Logarithm of that figure over what is allowed, for a bound; the largest is named first."""


def failures(comparison: Comparison, label: str) -> list[Failure]:
    """Requirements that a candidate does not meet on the days of a comparison with today's policy, the worst first."""
    return [*bound_failures(comparison, label), *gain_failures(comparison, label)]


def gain_failures(comparison: Comparison, label: str) -> list[Failure]:
    """Why a candidate is no improvement that a scheduler could have; empty: it is a significant one."""
    candidate, today = comparison.contenders[label], comparison.against
    oracles = [Failure(mark.words) for mark in candidate.marks if mark in ORACLES]
    if judge_contrast("", "", candidate.against[today.label], comparison.metric)[0] == BETTER:
        return oracles
    what = f"is not significantly better than {today.label} by {metric_words(comparison.metric)}"
    return [*oracles, Failure(what)]


def bound_failures(comparison: Comparison, label: str) -> list[Failure]:
    """Bounds that a candidate breaks, the one that it breaks most first."""
    candidate, today = comparison.contenders[label], comparison.against
    broken = [
        failure for bound in comparison.objective.bounds for failure in _broken(comparison, bound, candidate, today)
    ]
    return sorted(broken, key=lambda failure: -failure.excess)


def longest_ratio(comparison: Comparison, label: str) -> float:
    """Longest wait of a candidate over that of today's policy; 1 if neither lets jobs wait."""
    return _longest_ratio(comparison.contenders[label], comparison.against)


def tightened(objective: Objective) -> Objective:
    """The objective with tighter bounds, by which candidates are chosen: later days differ."""
    bounds = [
        # The mean wait is bounded by how often it holds in draws, which needs no margin beside it.
        bound if bound.metric == WAIT else replace(bound, factor=bound.factor * math.exp(_margin(bound)))
        for bound in objective.bounds
    ]
    return replace(objective, bounds=tuple(bounds))


def _margin(bound: Bound) -> float:
    return SAFETY if higher_is_better(bound.metric) else -SAFETY


def _broken(comparison: Comparison, bound: Bound, candidate: Scored, today: Scored) -> Iterator[Failure]:
    (held,) = (held for held in candidate.held if held.bound.metric == bound.metric)
    # The ratio has no value where today's is 0 and the candidate's is not.
    ratio, where = held.ratio if math.isfinite(held.ratio) else math.inf, ""
    if bound.metric == LONGEST:
        # Held twice: the single longest wait is what people ask for, the mean of the parts' is steadier.
        single = _longest_ratio(candidate, today)
        if held.holds or single >= ratio:
            ratio = single
        else:
            where = f", on average over {len(comparison.windows)} parts of the days"
    times = f"{ratio:.3g} times that of" if math.isfinite(ratio) else "above 0, unlike"
    has = f"has a {metric_words(bound.metric)} {times} {today.label}"
    excess = math.log(ratio / bound.factor) if ratio > 0 else -math.inf
    excess = -excess if higher_is_better(bound.metric) else excess
    if excess > 0:
        allowed = "at least" if higher_is_better(bound.metric) else "at most"
        yield Failure(f"{has}{where} (allowed: {allowed} {bound.factor:.3g})", excess)
    elif bound.metric == WAIT:
        share = _share_above(comparison, candidate, today, bound)
        if share > 1 - CERTAINTY:
            yield Failure(f"{has}, but above {bound.factor:.3g} times in {percent(share)} of the bootstrap draws")


def _longest_ratio(candidate: Scored, today: Scored) -> float:
    own_s, base_s = (largest_known(each.metrics[LONGEST]) or 0.0 for each in (candidate, today))
    if base_s == 0:
        return 1.0 if own_s == 0 else math.inf
    return own_s / base_s


def _share_above(comparison: Comparison, candidate: Scored, today: Scored, bound: Bound) -> float:
    """Share of bootstrap draws of the days in which the mean is above what the bound allows."""
    own, base, block = both_known(candidate.metrics[bound.metric], today.metrics[bound.metric], comparison.block)
    excess = own - bound.factor * base
    if len(np.unique(block)) < LEAST_BLOCKS:
        return float(excess.mean() > 0)
    drawn = seeded_means(excess, block, comparison.seed)
    return float((drawn > 0).mean())
