"""The choice, made on days that nothing was fitted to, and what it does on later days, which are looked at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shunter.advice.payers import WEEK_S, run_object, who_pays
from shunter.advice.searching import LEARNED_FOLDER, TUNED_FILE, knows_too_much
from shunter.comparison.classics import Progress
from shunter.comparison.combinations import Combination, combine
from shunter.comparison.comparison import Comparison, best_first, run_combinations
from shunter.comparison.next_step import taken
from shunter.comparison.report import WAIT, judge_contrast
from shunter.comparison.statistics import contrast
from shunter.report.tables import whole_time
from shunter.policies.scheduler import resolve_scheduler

if TYPE_CHECKING:
    from shunter.advice.kept import Kept, Object
    from shunter.advice.request import AdviseRequest
    from shunter.advice.site import Site
    from shunter.comparison.bench import Bench
    from shunter.comparison.comparison import Scored

TODAY, CLASSIC, TUNED, LEARNED = "today", "classic", "tuned", "learned"
"""The rungs of the ladder: what the site runs, the best classic of the first days, what was tuned, what was trained."""


def contenders(site: Site, kept: Kept) -> dict[str, Combination]:
    """Returns who is left after the first days, by rung: the plainest first, each once."""
    comparison, tuning, training = (kept.results[name] for name in ("comparison", "tuning", "training"))
    best = Combination(comparison["best"], resolve_scheduler(**comparison["best_words"]))
    file = str(kept.path(TUNED_FILE))
    words = {name: getattr(site.shared.settings, name) for name in ("reserve_by", "seed")}
    scheduler = resolve_scheduler(policy=file, estimate=file, **words)
    found = {TODAY: site.today, CLASSIC: best, TUNED: Combination(tuned_label(tuning), scheduler)}
    if tuning["keeps_classic"] and f"{tuning['kind']}/{tuning['dispatch']}" == best.label:
        same_estimate = tuning["estimate"] == best.settings.estimate
        if same_estimate:
            del found[TUNED]
    if training["skipped"] is None and training["best_steps"]:
        (learned,) = combine([str(kept.path(LEARNED_FOLDER))], seed=site.shared.settings.seed).possible
        found[LEARNED] = replace(learned, label="the trained network")
    if best.settings == site.today.settings:
        del found[CLASSIC]
    return found


def tuned_label(tuning: Object) -> str:
    """Returns what the tuned file is called: the classic that it kept, or a tuned score."""
    if tuning["keeps_classic"]:
        return f"{tuning['kind']}/{tuning['dispatch']} with estimate {tuning['estimate']}"
    return f"tuned score/{tuning['dispatch']}"


def choice_stage(request: AdviseRequest, site: Site, kept: Kept, progress: Progress) -> Object:
    """Returns who is surely better than the site's own on the days to choose on, and which limit on waits to take."""
    bench = site.days.choosing_bench(site.early, request.threads)
    those = contenders(site, kept)
    found = _compared(request, site, bench, list(those.values()), progress)
    ladder = {one.label: one.label for one in those.values() if not _is_barred(found, one, site)}
    chosen = next(rung for rung, one in those.items() if one.label == taken(found, ladder))
    guard_s, guards = _guard(request, site, bench, those[chosen]) if chosen != TODAY else (None, [])
    return {
        "windows": _windows_object(found),
        "rows": _rows(found),
        "ladder": {rung: one.label for rung, one in those.items() if one.label in ladder},
        "left_out": {one.label: _why_barred(found, one) for one in those.values() if one.label not in ladder},
        "contention_note": found.quiet_note,
        "chosen": chosen,
        "label": those[chosen].label,
        "guard_s": guard_s,
        "guards": guards,
        "reasons": _reasons(found, ladder, those[chosen].label),
    }


def _is_barred(found: Comparison, one: Combination, site: Site) -> bool:
    return one != site.today and knows_too_much(found.contenders[one.label])


def _why_barred(found: Comparison, one: Combination) -> str:
    return "; ".join(mark.words for mark in found.contenders[one.label].marks)


def _reasons(found: Comparison, ladder: Mapping[str, str], chosen: str) -> list[str]:
    """Returns how each of the others compares with what is chosen, in sentences."""
    others = [label for label in ladder if label != chosen]
    return [judge_contrast(one, chosen, found.contenders[one].against[chosen], found.metric)[1] for one in others]


def _compared(
    request: AdviseRequest, site: Site, bench: Bench, those: Sequence[Combination], progress: Progress | None = None
) -> Comparison:
    """Returns what some ways to schedule do on some days, held against each other; bounds refer to the site's own."""
    (part,) = bench.parts
    log, windows = part.log, part.windows
    runs = run_combinations(log, those, windows, request.objective.metric, progress=progress, bench=bench)
    # What the site runs is no candidate: whatever its simulation rests on, the others have to be better.
    runs[site.today] = replace(runs[site.today], marks=())
    by_label: dict[str, Scored] = {
        one.label: one for one in best_first(runs.values(), windows.block, request.objective.metric)
    }
    return Comparison.of(
        by_label, log, windows, request.objective, site.today.label, None, request.seed, site.today.scheduler
    )


def guarded(one: Combination, guard_s: float | None) -> Combination:
    """Returns a way to schedule under a starvation guard; None: without one."""
    if guard_s is None:
        return one
    return Combination(f"{one.label}, --max-wait {whole_time(guard_s)}", one.scheduler.changed(max_wait_s=guard_s))


def _guard(request: AdviseRequest, site: Site, bench: Bench, chosen: Combination) -> tuple[float | None, list[Object]]:
    """Returns the limit on waits to take: the tightest, unless a looser one is surely better.

    Only limits count under which the choice stays surely better than what the site runs.
    """
    tightest_first = sorted(request.guards_s, key=lambda one: float("inf") if one is None else one)
    every = {guarded(chosen, guard_s).label: guard_s for guard_s in tightest_first}
    those = [site.today, *(guarded(chosen, guard_s) for guard_s in tightest_first)]
    found = _compared(request, site, bench, those)
    today = site.today.label
    good = [label for label in every if taken(found, {today: today, label: label}) == label]
    rows = [
        {
            "max_wait_s": guard_s,
            "is_better": label in good,
            **{name: found.row_object(label)[name] for name in ("mean", "geometric_mean", "mean_wait_s", "max_wait_s")},
            "ratio": found.contenders[label].against[today].to_json(),
        }
        for label, guard_s in every.items()
    ]
    if len(every) == 1:
        return tightest_first[0], rows
    return every[taken(found, {label: label for label in good})] if good else None, rows


def later_stage(request: AdviseRequest, site: Site, kept: Kept, progress: Progress) -> Object:
    """Returns what the choice does on the later days, which nothing has looked at before, and writes two runs."""
    choice = kept.results["choice"]
    bench = site.days.later_bench(site.log, request.threads)
    windows = bench.parts[0].windows
    those = contenders(site, kept)
    chosen = those[choice["chosen"]]
    advised = guarded(chosen, choice["guard_s"])
    limits = {} if advised == site.today else {guard_s: guarded(chosen, guard_s) for guard_s in request.guards_s}
    every = list(dict.fromkeys([*those.values(), advised, *limits.values()]))
    found = _compared(request, site, bench, every, progress)
    today = site.today.label
    own, base = found.contenders[advised.label], found.contenders[today]
    waits = contrast(own.metrics[WAIT], base.metrics[WAIT], windows.block, seed=request.seed)
    result: dict[str, Any] = {
        "today": today,
        "advised": advised.label,
        "rung": choice["chosen"],
        "is_better": taken(found, {today: today, advised.label: advised.label}) == advised.label != today,
        "metric": found.metric,
        "windows": _windows_object(found),
        "interval_note": found.interval_note,
        "contention_note": found.quiet_note,
        "rows": [found.row_object(one.label) for one in dict.fromkeys([*those.values(), advised])],
        "comparison": found.to_json(),
        "waits": waits.to_json(),
        "jobs_a_week": _jobs_a_week(site),
        "guards": [{"guard_s": guard_s, **found.row_object(one.label)} for guard_s, one in limits.items()],
        "sentence": judge_contrast(advised.label, today, own.against[today], found.metric)[1],
    }
    runs = {"today": site.today, "advised": advised} if advised != site.today else {"today": site.today}
    ran = {name: run_object(request, site, kept, name, one) for name, one in runs.items()}
    return result | {"runs": {name: one.told for name, one in ran.items()}, "pays": who_pays(ran)}


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
