"""What is searched in the first days: the classics under all rules and placements, and a tuned score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from shunter.comparison.classics import DISPATCHES, Progress
from shunter.comparison.combinations import ALL, Combination, combine
from shunter.comparison.comparison import Comparison, best_first, run_combinations
from shunter.comparison.marks import RESTART_S, TRUE_PLANS, TRUE_TIMES
from shunter.errors import InputError
from shunter.policies.scheduler import EASY, FIRST_FIT
from shunter.tuning.request import TuneRequest
from shunter.tuning.tune import write_policy

if TYPE_CHECKING:
    from shunter.advice.kept import Kept, Object
    from shunter.advice.request import AdviseRequest
    from shunter.advice.site import Site
    from shunter.comparison.comparison import Scored
    from shunter.engines.base import Engine

TUNED_FILE, LEARNED_FOLDER = "tuned.toml", "learned"
PREEMPTING: Final = ("srtf", "las", "srsf", "gittins")
MIN_RUN_S: Final = 300.0
"""A job that was started is left alone for so long, where jobs may be stopped."""
PLACED: Final = 3
"""So many of the best classics are tried under other placements."""
WITHIN_BOUNDS: Final = 3
"""So many of the best classics that keep the bounds without a limit are candidates."""
PLACEMENTS: Final = {True: ("pack", "best-fit", "fgd"), False: ("pack", "best-fit", "spread")}
"""The placements that are tried on a machine of several nodes, by whether jobs have GPUs."""
ORACLES: Final = (TRUE_TIMES, TRUE_PLANS)
"""Whoever bears one of these marks is never advised: it knows what no scheduler knows."""


def knows_too_much(one: Scored) -> bool:
    """Returns whether a combination rests on true run times, which no scheduler knows."""
    return any(mark in ORACLES for mark in one.marks)


def comparison_stage(request: AdviseRequest, site: Site, progress: Progress) -> Object:
    """Returns what ``shunter compare --json`` prints of the first days, and which classic is the best there."""
    bench, metric = site.days.first_bench(site.early, request.effort.jobs, request.threads), request.objective.metric
    windows = bench.parts[0].windows
    combinations = _classics(request, site)
    every = list(dict.fromkeys([site.today, *combinations]))
    runs = run_combinations(site.early, every, windows, metric, progress=progress, bench=bench)
    ordered = best_first(runs.values(), windows.block, metric)
    placed = _placed(request, site, [one.combination for one in ordered if not knows_too_much(one)][:PLACED])
    if placed:
        runs |= run_combinations(site.early, placed, windows, metric, bench=bench)
        ordered = best_first(runs.values(), windows.block, metric)
    today = runs[site.today].label
    comparison = Comparison.of(
        {one.label: one for one in ordered},
        site.early,
        windows,
        request.objective,
        today,
        [today],
        request.seed,
        site.today.scheduler,
    )
    return comparison.to_json() | {"best": _best(comparison), "today": today}


def _best(comparison: Comparison) -> list[Object]:
    """The best classics of each dispatch rule and within the bounds, of those that a scheduler could run."""
    usable = [one for one in comparison.scored if not knows_too_much(one)]
    by_rule = {one.combination.settings.dispatch: one for one in reversed(usable)}
    within = [one for one in usable if all(held.holds for held in one.held)]
    labels = {one.label for one in [*by_rule.values(), *within[:WITHIN_BOUNDS]]}
    return [{"label": one.label, "words": one.combination.settings.words()} for one in usable if one.label in labels]


def _classics(request: AdviseRequest, site: Site) -> tuple[Combination, ...]:
    """Returns every classic under every rule; also those that stop jobs, if that is allowed."""
    common = site.shared.settings.words()
    for name in ("policy", "dispatch", "placement", "estimate"):
        del common[name]
    found = combine([ALL], DISPATCHES, (FIRST_FIT,), (site.estimate,), **common).possible
    if request.allow_preemption:
        stops = common | {"preemption_overhead_s": RESTART_S, "min_run_s": MIN_RUN_S}
        # Gittins and the shortest remaining times go by what is expected, and las by what has been.
        found += combine(PREEMPTING, ("greedy",), (FIRST_FIT,), (site.estimate,), **stops).possible
    return found


def _placed(request: AdviseRequest, site: Site, best: Sequence[Combination]) -> list[Combination]:
    """Returns the best classics under other placements, where a placement can make a difference."""
    cluster = site.early.cluster
    if len(cluster.nodes) < 2:
        return []
    names = request.placements or PLACEMENTS[cluster.total_gpus > 0]
    found = []
    for one in best:
        words = one.settings.words()
        policy, dispatch, estimate = (words.pop(name) for name in ("policy", "dispatch", "estimate"))
        del words["placement"]
        try:
            others = combine([policy], [dispatch], names, [estimate], **words).possible
        except InputError:
            # Some policies place jobs themselves.
            continue
        found += [Combination(f"{one.label}/{each.settings.placement}", each.scheduler) for each in others]
    return [one for one in found if one.settings.placement != FIRST_FIT]


def tuning_stage(
    request: AdviseRequest,
    site: Site,
    kept: Kept,
    engine: Engine | None,
    stage: Callable[[str], AbstractContextManager[Progress]],
) -> Object:
    """Tunes a score on the first days alone, writes it, and returns what was found."""
    out, days = kept.path(TUNED_FILE), site.days
    effort = request.effort
    low, high = days.choosing
    settings = {name: getattr(site.shared.settings, name) for name in ("reserve_by", "seed")}
    asked = TuneRequest.of(
        objective=request.objective.metric,
        bounds=[f"{bound.metric}={bound.factor:.15g}" for bound in request.objective.bounds],
        # Classics under other rules are candidates anyway, and a network that begins as this decides as easy does.
        dispatch=EASY,
        train=days.first,
        report=f"{low!r}:{high!r}",
        windows=effort.windows,
        length=days.window,
        warmup=days.warmup,
        generations=effort.generations,
        population=effort.population,
        threads=request.threads,
        **settings,
    )
    written = write_policy(asked, [site.early], out, engine, stage)
    found, trial = written.found, written.found.trial
    return {
        "policy": found.policy.text,
        "kind": found.policy.kind,
        "parameters": dict(found.policy.spec.written),
        "dispatch": found.dispatch,
        "estimate": found.chosen.estimate,
        "keeps_classic": trial.keeps_classic,
        "held_back": trial.to_json(),
        "estimates_tried": list(written.tried),
        "left_out": list(written.skipped),
        "classic": found.chosen.combination.label,
        "generations": effort.generations,
        "population": effort.population,
        "windows": effort.windows,
        "simulations": found.tuned.simulations,
        "costs": found.tuned.costs.tolist(),
    }
