"""The choice, made on days that nothing was fitted to, and what it does on later days, which are looked at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from shunter.advice.payers import WEEK_S, run_object, who_pays
from shunter.advice.searching import LEARNED_FOLDER, TUNED_FILE, knows_too_much
from shunter.comparison.classics import Progress
from shunter.comparison.combinations import Combination, combine
from shunter.comparison.comparison import Comparison, best_first, run_combinations
from shunter.comparison.next_step import taken
from shunter.comparison.objective import SAFETY
from shunter.comparison.report import LONGEST, WAIT, judge_contrast, largest_known
from shunter.comparison.statistics import contrast
from shunter.metrics.table import higher_is_better
from shunter.policies.scheduler import resolve_scheduler
from shunter.report.tables import whole_time
from shunter.tuning.guards import GUARDS_S

if TYPE_CHECKING:
    from shunter.advice.kept import Kept, Object
    from shunter.advice.request import AdviseRequest
    from shunter.advice.site import Site
    from shunter.comparison.bench import Bench
    from shunter.comparison.comparison import Scored
    from shunter.comparison.objective import Objective

TODAY, CLASSIC, TUNED, LEARNED = "today", "classic", "tuned", "learned"
"""The rungs of the ladder: what the site runs, the best classics of the first days, what was tuned and trained."""
LIMIT_COST: Final = 1.1
"""So many times as bad a limit on waits may make what is to become better."""
ROOM: Final = 2.0
"""So many times the tightest limit that costs little is taken."""
DAY_S: Final = 86_400.0


def contenders(site: Site, kept: Kept) -> dict[str, Combination]:
    """Returns who is left after the first days, by rung: the plainest first, each once."""
    comparison, tuning, training = (kept.results[name] for name in ("comparison", "tuning", "training"))
    file = str(kept.path(TUNED_FILE))
    words = {name: getattr(site.shared.settings, name) for name in ("reserve_by", "seed")}
    scheduler = resolve_scheduler(policy=file, estimate=file, **words)
    found = {TODAY: site.today}
    best = [Combination(one["label"], resolve_scheduler(**one["words"])) for one in comparison["best"]]
    # What the site has may be one of the best, under whatever name.
    others = [one for one in best if one.settings != site.today.settings and one.label != site.today.label]
    found |= {f"{CLASSIC} {number}": one for number, one in enumerate(others, start=1)}
    if not _is_kept(tuning, best):
        found[TUNED] = Combination(tuned_label(tuning), scheduler)
    if training["skipped"] is None and training["best_steps"]:
        (learned,) = combine([str(kept.path(LEARNED_FOLDER))], seed=site.shared.settings.seed).possible
        found[LEARNED] = replace(learned, label="the trained network")
    return found


def _is_kept(tuning: Object, best: Sequence[Combination]) -> bool:
    """Returns whether tuning has kept a classic that is there anyway."""
    kept = (f"{tuning['kind']}/{tuning['dispatch']}", tuning["estimate"])
    return tuning["keeps_classic"] and kept in [(one.label, one.settings.estimate) for one in best]


def tuned_label(tuning: Object) -> str:
    """Returns what the tuned file is called: the classic that it kept, or a tuned score."""
    if tuning["keeps_classic"]:
        return f"{tuning['kind']}/{tuning['dispatch']} with estimate {tuning['estimate']}"
    return f"tuned score/{tuning['dispatch']}"


def choice_stage(request: AdviseRequest, site: Site, kept: Kept, progress: Progress) -> Object:
    """Returns who is surely better than the site's own on the days to choose on, and which limit on waits to take."""
    bench = site.days.choosing_bench(site.early, request.threads)
    those = contenders(site, kept)
    found = _compared(request, site, bench, list(those.values()), progress, safety=SAFETY)
    ladder = {one.label: one.label for one in those.values() if not _is_barred(found, one, site)}
    path = _path(found, {rung: one.label for rung, one in those.items() if one.label in ladder})
    chosen = path[-1]
    guard_s: float | None = None
    guards: list[Object] = []
    if chosen != TODAY:
        guard_s, guards = _guard(request, site, bench, those[chosen], _guards_s(request, found))
    return {
        "windows": _windows_object(found),
        "rows": _rows(found),
        "ladder": {rung: one.label for rung, one in those.items() if one.label in ladder},
        "left_out": {one.label: _why_barred(found, one) for one in those.values() if one.label not in ladder},
        "contention_note": found.quiet_note,
        "path": path,
        "chosen": chosen,
        "label": those[chosen].label,
        "guard_s": guard_s,
        "guards": guards,
        "reasons": _reasons(found, ladder, those[chosen].label),
    }


def _path(found: Comparison, ladder: Mapping[str, str]) -> list[str]:
    """Returns the rungs that are climbed, the first of all and what is taken last among them."""
    climbed = [next(iter(ladder))]
    for number in range(2, len(ladder) + 1):
        first = dict(list(ladder.items())[:number])
        best = taken(found, {label: label for label in first.values()})
        climbed += [rung for rung, label in first.items() if label == best and rung not in climbed]
    return climbed


def _is_barred(found: Comparison, one: Combination, site: Site) -> bool:
    return one != site.today and knows_too_much(found.contenders[one.label])


def _why_barred(found: Comparison, one: Combination) -> str:
    return "; ".join(mark.words for mark in found.contenders[one.label].marks)


def _reasons(found: Comparison, ladder: Mapping[str, str], chosen: str) -> list[str]:
    """Returns how each of the others compares with what is chosen, in sentences."""
    others = [label for label in ladder if label != chosen]
    return [judge_contrast(one, chosen, found.contenders[one].against[chosen], found.metric)[1] for one in others]


def _compared(
    request: AdviseRequest,
    site: Site,
    bench: Bench,
    those: Sequence[Combination],
    progress: Progress | None = None,
    against: Sequence[Combination] | None = None,
    *,
    safety: float = 0.0,
) -> Comparison:
    """Returns what some ways to schedule do on some days, held against some of them; bounds refer to the site's own."""
    others = None if against is None else list(dict.fromkeys(one.label for one in (site.today, *against)))
    (part,) = bench.parts
    log, windows = part.log, part.windows
    runs = run_combinations(log, those, windows, request.objective.metric, progress=progress, bench=bench)
    # What the site runs is no candidate: whatever its simulation rests on, the others have to be better.
    runs[site.today] = replace(runs[site.today], marks=())
    by_label: dict[str, Scored] = {
        one.label: one for one in best_first(runs.values(), windows.block, request.objective.metric)
    }
    return Comparison.of(
        by_label,
        log,
        windows,
        _within(request.objective, safety),
        site.today.label,
        others,
        request.seed,
        site.today.scheduler,
    )


def _within(objective: Objective, safety: float) -> Objective:
    """Returns an objective whose bounds are tighter by so much, in the logarithm: later days differ."""
    bounds = [
        replace(one, factor=one.factor * math.exp(safety if higher_is_better(one.metric) else -safety))
        for one in objective.bounds
    ]
    return replace(objective, bounds=tuple(bounds))


def guarded(one: Combination, guard_s: float | None) -> Combination:
    """Returns a way to schedule under a starvation guard; None: without one."""
    if guard_s is None:
        return one
    return Combination(f"{one.label}, --max-wait {whole_time(guard_s)}", one.scheduler.changed(max_wait_s=guard_s))


def _guards_s(request: AdviseRequest, found: Comparison) -> list[float | None]:
    """Returns the limits to try: where nobody names any, also once and twice the longest wait that there is today."""
    guards_s = list(request.guards_s)
    if request.guards_s == GUARDS_S:
        longest_s = largest_known(found.against.metrics[LONGEST]) or 0.0
        days = math.ceil(longest_s / DAY_S)
        guards_s += [times * days * DAY_S for times in (1, 2) if days]
    return list(dict.fromkeys(guards_s))


def _guard(
    request: AdviseRequest, site: Site, bench: Bench, chosen: Combination, guards_s: Sequence[float | None]
) -> tuple[float | None, list[Object]]:
    """Returns the limit on waits to take: at least twice the tightest that surely costs little, or else the loosest.

    It must cost little on the first days, too. On days that are busier still, a tight limit turns the queue into one by
    arrival, and all that was gained is lost: hence twice.
    """
    loosest_first = sorted(guards_s, key=lambda one: -math.inf if one is None else -one)
    those = [guarded(chosen, guard_s) for guard_s in loosest_first]
    loosest, *others = those
    found = _compared(request, site, bench, [site.today, *those], against=[loosest])
    cheap = [one for one in others if _costs_little(found, one, loosest)]
    if cheap:
        first_bench = site.days.first_bench(site.early, request.effort.jobs, request.threads)
        first = _compared(request, site, first_bench, [site.today, loosest, *cheap], against=[loosest])
        cheap = [one for one in cheap if _costs_little(first, one, loosest)]
    rows = []
    for one, guard_s in zip(those, loosest_first, strict=True):
        told = {name: found.row_object(one.label)[name] for name in ("mean", "geometric_mean", WAIT, LONGEST)}
        cost, gain = (
            found.contenders[one.label].against[other].to_json() for other in (loosest.label, site.today.label)
        )
        rows.append({"guard_s": guard_s, "is_cheap": one in cheap, **told, "cost": cost, "ratio": gain})
    tightest_s = min((one.settings.max_wait_s or math.inf for one in cheap), default=math.inf)
    wide_s = [one for one in loosest_first if one is not None and one >= ROOM * tightest_s]
    return min(wide_s, default=loosest_first[0]), rows


def _costs_little(found: Comparison, one: Combination, loosest: Combination) -> bool:
    """Returns whether a limit has made a difference, and surely costs at most so much as `LIMIT_COST` says."""
    cost = found.contenders[one.label].against[loosest.label]
    # A limit that no job has reached may do anything on other days.
    if cost.identical or cost.ratio_interval is None:
        return False
    low, high = cost.ratio_interval
    return low >= 1 / LIMIT_COST if higher_is_better(found.metric) else high <= LIMIT_COST


def later_stage(request: AdviseRequest, site: Site, kept: Kept, progress: Progress) -> Object:
    """Returns what the choice does on the later days, which nothing has looked at before, and writes two runs.

    Where it does not hold there, what stood below it on the ladder takes its place, if that does.
    """
    choice = kept.results["choice"]
    bench = site.days.later_bench(site.log, request.threads)
    those = contenders(site, kept)
    chosen = those[choice["chosen"]]
    limits = {one["guard_s"]: guarded(chosen, one["guard_s"]) for one in choice["guards"]}
    steps = _steps(request, choice, those)
    every = list(dict.fromkeys([*those.values(), *limits.values(), *(one for _, _, one in steps)]))
    found = _compared(request, site, bench, every, progress, against=[one for _, _, one in steps])
    today = site.today.label
    holding = [step for step in steps if taken(found, {today: today, step[2].label: step[2].label}) == step[2].label]
    # Who stands for the choice where nothing holds: the choice itself, for its figures say why.
    rung, guard_s, advised = holding[0] if holding and holding[0][0] != TODAY else steps[0]
    result: dict[str, Any] = {
        "today": today,
        "chosen": steps[0][2].label,
        "advised": advised.label,
        "rung": rung,
        "guard_s": guard_s,
        "is_better": rung != TODAY and (rung, guard_s, advised) in holding,
        "metric": found.metric,
        "windows": _windows_object(found),
        "interval_note": found.interval_note,
        "contention_note": found.quiet_note,
        "rows": [
            found.row_object(one.label) for one in dict.fromkeys([*those.values(), *(one for _, _, one in steps)])
        ],
        "comparison": found.to_json(),
        "waits": _waits(found, advised.label, request.seed),
        "jobs_a_week": _jobs_a_week(site),
        "guards": [{"guard_s": guard_s, **found.row_object(one.label)} for guard_s, one in limits.items()],
    }
    runs = {"today": site.today, "advised": advised} if advised != site.today else {"today": site.today}
    ran = {name: run_object(request, site, kept, found.windows, name, one) for name, one in runs.items()}
    return result | {"runs": {name: one.told for name, one in ran.items()}, "pays": who_pays(ran)}


def _steps(
    request: AdviseRequest, choice: Object, those: Mapping[str, Combination]
) -> list[tuple[str, float | None, Combination]]:
    """Returns what may be advised, the choice first, then what stood below it: rung, limit on waits, combination."""
    chosen, limit_s = choice["chosen"], choice["guard_s"]
    steps = [(chosen, limit_s, guarded(those[chosen], limit_s))]
    # Who asks for a limit has one, whatever rung it is; what the site runs stays as it is.
    below_s = None if None in request.guards_s else limit_s
    for rung in reversed(choice["path"]):
        guard_s = None if rung == TODAY else below_s
        if (rung, guard_s) != (chosen, limit_s):
            steps.append((rung, guard_s, guarded(those[rung], guard_s)))
    return steps


def _waits(found: Comparison, advised: str, seed: int) -> Object:
    """Returns what becomes of the mean wait, with its interval."""
    own, base = (found.contenders[label].metrics[WAIT] for label in (advised, found.reference))
    result: Object = contrast(own, base, found.block, seed=seed).to_json()
    return result


def _jobs_a_week(site: Site) -> float:
    """Returns how many jobs came a week on the later days."""
    submit_s = site.log.workload.jobs["submit_s"]
    span_s = float(submit_s[-1] - submit_s[site.days.early])
    return (site.days.jobs - site.days.early) / max(span_s, 1.0) * WEEK_S


def _windows_object(found: Comparison) -> Object:
    """Returns in how many parts days were measured that were simulated as one stretch."""
    windows = found.windows
    return {"count": len(windows), "length": windows.length, "first": windows.first.tolist()}


def _rows(found: Comparison) -> list[Object]:
    return [found.row_object(label) for label in found.contenders]
