"""Candidates for a recommendation: classics, the tuned score and the trained network, each under several limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shunter.advice.searching import LEARNED_FOLDER, TUNED_FILE
from shunter.comparison.combinations import Combination, combine
from shunter.policies.scheduler import EASY, resolve_scheduler
from shunter.report.tables import whole_time
from shunter.tuning.choosing import supported_estimates

if TYPE_CHECKING:
    from shunter.advice.kept import Kept, Object
    from shunter.advice.request import AdviseRequest
    from shunter.advice.site import Site

TODAY, CLASSIC, TUNED, LEARNED = "today", "classic", "tuned", "learned"
"""The kinds of candidates, the plainest first."""
ORDERS: Final = ("sjf", "saf", "f2", "f3", "wfp3", "unicef")
"""Orders that gain most where a limit bounds their longest wait, under easy."""
LIMIT_SHARES: Final = (0.35, 0.5, 0.75, 1.0, 1.5)
"""Limits that are tried by default, relative to the longest wait of today."""
POSTERIOR: Final = "posterior"
HOUR_S, DAY_S = 3600.0, 86_400.0


@dataclass(frozen=True)
class Candidate:
    """One way to schedule, under one starvation limit."""

    kind: str
    """`TODAY`, `TUNED`, `LEARNED`, or `CLASSIC` with a number behind it."""
    combination: Combination

    @property
    def label(self) -> str:
        """As tables and sentences name it: ``unicef/easy --max-wait 7d``."""
        return self.combination.label

    @property
    def max_wait_s(self) -> float | None:
        """The starvation limit; None: without one."""
        return self.combination.settings.max_wait_s

    def limited(self, max_wait_s: float | None) -> Candidate:
        """The same under a starvation limit; None: as it is."""
        if max_wait_s is None:
            return self
        label = f"{self.label} --max-wait {whole_time(max_wait_s)}"
        scheduler = self.combination.scheduler.changed(max_wait_s=max_wait_s)
        return replace(self, combination=Combination(label, scheduler))


def unlimited_candidates(site: Site, kept: Kept) -> list[Candidate]:
    """Candidates that the first days have left, without limits: today's policy first, then the plainest, each once."""
    comparison, tuning, training = (kept.results[name] for name in ("comparison", "tuning", "training"))
    candidates = [Candidate(TODAY, site.today)]
    best = [Combination(row["label"], resolve_scheduler(**row["words"])) for row in comparison["best"]]
    # A schedule is tried once, and today's policy may have another name here.
    classics = {one.settings: one for one in [*_orders(site), *best]}
    others = [one for one in classics.values() if one.settings != site.today.settings and one.label != site.today.label]
    candidates += [Candidate(f"{CLASSIC} {number}", one) for number, one in enumerate(others, start=1)]
    if not _is_classic(tuning, list(classics.values())):
        file = str(kept.path(TUNED_FILE))
        words = {name: getattr(site.shared.settings, name) for name in ("reserve_by", "seed")}
        tuned = resolve_scheduler(policy=file, estimate=file, **words)
        candidates.append(Candidate(TUNED, Combination(_tuned_label(tuning), tuned)))
    if training["skipped"] is None and training["best_steps"]:
        (learned,) = combine([str(kept.path(LEARNED_FOLDER))], seed=site.shared.settings.seed).possible
        candidates.append(Candidate(LEARNED, replace(learned, label="the trained network")))
    return candidates


def limits_s(request: AdviseRequest, longest_wait_s: float) -> tuple[float | None, ...]:
    """Starvation limits to try: those asked for, or none and several relative to the longest wait of today."""
    if request.limits_s:
        return request.limits_s
    return None, *dict.fromkeys(_rounded_s(share * longest_wait_s) for share in LIMIT_SHARES if longest_wait_s > 0)


def with_limits(candidates: Sequence[Candidate], limits_s: Sequence[float | None]) -> list[Candidate]:
    """Every candidate under every limit; today's policy stays as it is.

    Without reservations a limit changes the order alone: narrow jobs still pass a wide one, and the gain is lost.
    """

    def of(candidate: Candidate) -> Sequence[float | None]:
        if candidate.kind == TODAY:
            return (None,)
        reserves = candidate.kind == LEARNED or candidate.combination.scheduler.dispatch.reservations > 0
        return limits_s if reserves or None not in limits_s else (None,)

    return [candidate.limited(limit_s) for candidate in candidates for limit_s in of(candidate)]


def _orders(site: Site) -> tuple[Combination, ...]:
    """The orders under easy, with requested times and with run times learned from ended jobs, where the log allows."""
    common = site.shared.settings.words()
    for name in ("policy", "dispatch", "placement", "estimate"):
        del common[name]
    possible, _ = supported_estimates([site.early], common["missing_request"])
    placement = site.shared.settings.placement
    orders = combine(ORDERS, (EASY,), (placement,), (site.estimate,), **common).possible
    if POSTERIOR not in possible:
        return orders
    learned = combine(ORDERS, (EASY,), (placement,), (POSTERIOR,), **common).possible
    return *orders, *(Combination(f"{one.label}/{POSTERIOR}", one.scheduler) for one in learned)


def _is_classic(tuning: Object, classics: Sequence[Combination]) -> bool:
    """Whether tuning kept a classic that is a candidate already."""
    kept = (f"{tuning['kind']}/{tuning['dispatch']}", tuning["estimate"])
    return tuning["keeps_classic"] and kept in [(one.label, one.settings.estimate) for one in classics]


def _tuned_label(tuning: Object) -> str:
    if tuning["keeps_classic"]:
        return f"{tuning['kind']}/{tuning['dispatch']} with estimate {tuning['estimate']}"
    return f"tuned score/{tuning['dispatch']}"


def _rounded_s(wait_s: float) -> float:
    """A wait rounded up to a time that people would write: whole hours, from four days on whole days."""
    unit_s = HOUR_S if wait_s < 4 * DAY_S else DAY_S
    return math.ceil(wait_s / unit_s) * unit_s
