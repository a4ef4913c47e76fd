"""What is searched in the first days: the classics under all rules, a tuned score, a trained network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from shunter.advice.plan import QUICK
from shunter.agents.training.request import TrainRequest
from shunter.agents.training.train import Watcher, run_request
from shunter.agents.training.validation import METRICS as REWARDS
from shunter.comparison.classics import DISPATCHES, Progress
from shunter.comparison.combinations import ALL, Combination, combine
from shunter.comparison.comparison import Comparison, best_first, run_combinations
from shunter.comparison.marks import RESTART_S, TRUE_PLANS, TRUE_TIMES
from shunter.errors import InputError
from shunter.files import parse_json, write_file
from shunter.metrics.run_folder import to_json_text
from shunter.policies.scheduler import FIRST_FIT
from shunter.tuning.request import TuneRequest
from shunter.tuning.tune import write_policy
from shunter.workloads.write import write_table

if TYPE_CHECKING:
    from shunter.advice.kept import Kept, Object
    from shunter.advice.request import AdviseRequest
    from shunter.advice.site import Site
    from shunter.agents.training.trainer import Progress as TrainerProgress
    from shunter.comparison.comparison import Scored
    from shunter.engines.base import Engine

TUNED_FILE, LEARNED_FOLDER, FIRST_DAYS_FILE = "tuned.toml", "learned", "first-days.parquet"
PREEMPTING: Final = ("srtf", "las", "srsf", "gittins")
MIN_RUN_S: Final = 300.0
"""A job that was started is left alone for so long, where jobs may be stopped."""
PLACED: Final = 3
"""So many of the best classics are tried under other placements."""
PLACEMENTS: Final = {True: ("pack", "best-fit", "fgd"), False: ("pack", "best-fit", "spread")}
"""The placements that are tried on a machine of several nodes, by whether jobs have GPUs."""
ORACLES: Final = (TRUE_TIMES, TRUE_PLANS)
"""Whoever bears one of these marks is never advised: it knows what no scheduler knows."""
EPISODE, VALIDATED = 512, 1024
"""How many jobs an episode has, and a window in which the best of a training is found."""
SMALL_NETWORK: Final = "quick"
"""The preset that networks are trained by."""


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
    best = _best(comparison, today)
    options = comparison.contenders[best].combination.settings
    return comparison.to_json() | {"best": best, "best_words": options.words(), "today": today}


def _best(comparison: Comparison, today: str) -> str:
    """Returns the best classic that a scheduler could run and that keeps the bounds; what the site has if none does."""
    for one in comparison.scored:
        if not knows_too_much(one) and all(held.holds for held in one.held):
            return one.label
    return today


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
    # A machine on which simulations take long gets a short search, or the time would be over before it is.
    if kept.seconds.get("comparison", 0.0) > request.budget_s / 3:
        effort = QUICK
    low, high = days.choosing
    settings = {name: getattr(site.shared.settings, name) for name in ("reserve_by", "seed")}
    asked = TuneRequest.of(
        objective=request.objective.metric,
        bounds=[f"{bound.metric}={bound.factor:.15g}" for bound in request.objective.bounds],
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


class _Watching(Watcher):
    """Shows how far a training is, and keeps its notes."""

    def __init__(self, progress: Progress) -> None:
        self.notes: list[str] = []
        self._progress = progress

    def note(self, text: str) -> None:
        """Keeps a note."""
        self.notes.append(text)

    def training(self, chosen: Sequence[Combination]) -> AbstractContextManager[Callable[[TrainerProgress], None]]:
        """Tells after each update how many steps are done."""
        from contextlib import nullcontext

        return nullcontext(lambda now: self._progress(now.steps, now.total_steps))


def training_stage(request: AdviseRequest, site: Site, kept: Kept, key: str, progress: Progress) -> Object:
    """Trains a network on the first days, from what was tuned on; it goes on where an earlier run was cut short.

    Args:
        request: What is asked for.
        site: What is advised on.
        kept: The folder.
        key: Of this stage: a training that was begun for another one begins anew.
        progress: Called with how many steps are done, and of how many.
    """
    if (reason := _no_training(request, kept)) is not None:
        return {"skipped": reason}
    marker, folder = kept.path(TRAINING_MARKER), kept.path(LEARNED_FOLDER)
    is_begun = not kept.fresh and marker.is_file() and parse_json(marker.read_bytes(), str(marker)) == key
    write_table(site.early.workload, kept.path(FIRST_DAYS_FILE))
    write_file(marker, lambda file: file.write(to_json_text(key).encode()))
    watcher = _Watching(progress)
    asked = TrainRequest(
        changes=_sections(request, site, kept), preset=SMALL_NETWORK, out=folder, resume=is_begun, force=not is_begun
    )
    if is_begun and asked.has_run(folder):
        # A run goes on by its own file.
        asked = TrainRequest(changes={}, out=folder, resume=True)
    try:
        training = run_request(asked, watcher, judge=False)
    except InputError as error:
        return {"skipped": f"nothing could be trained from what was tuned: {error}"}
    if training.is_interrupted:
        raise KeyboardInterrupt
    outcome = training.outcome
    return {
        "skipped": None,
        "chosen": [one.label for one in training.chosen],
        "steps": outcome.steps,
        "best_steps": outcome.best_steps,
        "best": outcome.best,
        "reason": outcome.reason,
        "notes": watcher.notes,
    }


TRAINING_MARKER: Final = ".training"
"""The file that says for which stage a training was begun."""


def _no_training(request: AdviseRequest, kept: Kept) -> str | None:
    """Returns why nothing is trained; None: there is time."""
    if not request.effort.steps:
        return "there is no time for it (--budget)"
    spent_s = kept.seconds.get("comparison", 0.0) + kept.seconds.get("tuning", 0.0)
    if spent_s > request.budget_s:
        return f"comparing and tuning took more than --budget ({request.budget_s:g} s) already"
    return None


def _sections(request: AdviseRequest, site: Site, kept: Kept) -> dict[str, dict[str, Any]]:
    """Returns what the training file says beside its preset."""
    days, objective = site.days, request.objective
    by_metric = {metric: name for name, metric in REWARDS.items()}
    reward = by_metric.get(objective.metric, "bounded_slowdown")
    bounds = {by_metric[one.metric]: one.factor for one in objective.bounds if one.metric in by_metric}
    weights = {reward: 1.0} | ({"wait": 0.4} if reward != "wait" else {})
    return {
        "data": {
            "workload": [str(kept.path(FIRST_DAYS_FILE))],
            "cluster": [str(kept.path("cluster.toml"))],
        },
        "episodes": {"part": list(days.learned_from), "length": min(days.window, EPISODE)},
        # Longer than episodes: whoever lets somebody wait for ever must be seen to.
        "validation": {
            "part": [days.learned_from[1], days.first[1]],
            "length": min(days.window, VALIDATED),
            "warmup": days.warmup,
            "windows": 16,
        },
        "report": {"part": list(days.choosing), "length": min(days.window, EPISODE)},
        "reward": {"reward": weights, "bounds": bounds or {"wait": 1.1}},
        "training": {
            "steps": request.effort.steps,
            "seed": request.seed,
            "threads": request.threads,
            "init": str(kept.path(TUNED_FILE)),
        },
    }
