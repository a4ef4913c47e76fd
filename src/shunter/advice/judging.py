"""The choice, made on days that nothing was fitted to, and its judgment on later days, which are looked at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from shunter.advice.acceptance import bound_failures, failures, gain_failures, longest_ratio, tightened
from shunter.advice.candidates import (
    CLASSIC,
    LEARNED,
    TODAY,
    TUNED,
    Candidate,
    limits_s,
    unlimited_candidates,
    with_limits,
)
from shunter.advice.payers import WEEK_S, run_object, who_pays
from shunter.comparison.classics import Progress
from shunter.comparison.comparison import Comparison, best_first, run_combinations
from shunter.comparison.report import LONGEST, WAIT, WORSE, judge_contrast, largest_known
from shunter.comparison.statistics import contrast

if TYPE_CHECKING:
    from shunter.advice.kept import Kept, Object
    from shunter.advice.request import AdviseRequest
    from shunter.advice.site import Site
    from shunter.comparison.bench import Bench
    from shunter.comparison.comparison import Scored
    from shunter.comparison.objective import Objective

FALLBACKS: Final = 2
"""Safer candidates that may take the place of a choice that fails on later days."""
SAFER: Final = 0.9
"""A fallback has at most this share of the longest or of the mean wait of the candidate that it replaces."""


def choice_stage(request: AdviseRequest, site: Site, kept: Kept, progress: Progress) -> Object:
    """Chooses a candidate and its starvation limit on the days to choose on, and the fallbacks behind it."""
    bench = site.days.choosing_bench(site.early, request.threads)
    unlimited = unlimited_candidates(site, kept)
    objective = tightened(request.objective)
    alone = _compared(request, site, bench, unlimited[:1], objective)
    longest_s = largest_known(alone.against.metrics[LONGEST]) or 0.0
    candidates = with_limits(unlimited, limits_s(request, longest_s))
    comparison = _compared(request, site, bench, candidates, objective, progress)
    reasons = {
        each.label: [failure.text for failure in failures(comparison, each.label)]
        for each in candidates
        if each.kind != TODAY
    }
    acceptable = [each for each in candidates if each.kind != TODAY and not reasons[each.label]]
    for label, text in _failing_before(request, site, acceptable, objective).items():
        reasons[label].append(text)
    path = _path(comparison, [each for each in acceptable if not reasons[each.label]])
    gains = [label for label in reasons if not gain_failures(comparison, label)]
    return {
        "windows": _windows_object(comparison),
        "rows": [comparison.row_object(label) for label in comparison.contenders],
        "contention_note": comparison.quiet_note,
        "candidates": [_candidate_object(each, reasons.get(each.label, [])) for each in candidates],
        "better": len(gains),
        "acceptable": sum(not texts for texts in reasons.values()),
        "path": [_candidate_object(each, []) for each in path],
        "chosen": path[0].label if path else site.today.label,
    }


def _failing_before(
    request: AdviseRequest, site: Site, candidates: Sequence[Candidate], objective: Objective
) -> dict[str, str]:
    """Candidates that break a bound on the first days already, by label, with the bound that they break there."""
    if not candidates:
        return {}
    bench = site.days.first_bench(site.early, request.effort.jobs, request.threads)
    today = Candidate(TODAY, site.today)
    comparison = _compared(request, site, bench, [today, *candidates], objective)
    broken = {each.label: bound_failures(comparison, each.label) for each in candidates}
    return {label: f"{texts[0].text}, on the first days" for label, texts in broken.items() if texts}


def _path(comparison: Comparison, acceptable: Sequence[Candidate]) -> list[Candidate]:
    """The choice, and behind it fallbacks with shorter waits; empty if nothing is acceptable."""
    by_label = {each.label: each for each in acceptable}
    best_first = [by_label[label] for label in comparison.contenders if label in by_label]
    if not best_first:
        return []
    path = [_plainest(comparison, best_first)]
    for each in best_first:
        if _is_safer(comparison, each.label, path[-1].label):
            path.append(each)
    return path[: 1 + FALLBACKS]


def _is_safer(comparison: Comparison, label: str, than: str) -> bool:
    longest, longest_than = (longest_ratio(comparison, each) for each in (label, than))
    mean, mean_than = (comparison.contenders[each].wait_ratio for each in (label, than))
    return longest <= SAFER * longest_than or mean <= SAFER * mean_than


def _plainest(comparison: Comparison, best_first: Sequence[Candidate]) -> Candidate:
    """The best candidate, or the best of a plainer kind that is not significantly worse."""
    best = best_first[0]
    against = comparison.held_against(comparison.reference, [best.label], comparison.seed).contenders
    for kind in (CLASSIC, TUNED, LEARNED):
        first = next((each for each in best_first if each.kind.startswith(kind)), None)
        if first and judge_contrast("", "", against[first.label].against[best.label], comparison.metric)[0] != WORSE:
            return first
    return best


def later_stage(request: AdviseRequest, site: Site, kept: Kept, progress: Progress) -> Object:
    """Judges the choice on the later days, which nothing has looked at before, and writes two runs.

    Where it fails there, the first fallback that does not takes its place.
    """
    choice = kept.results["choice"]
    bench = site.days.later_bench(site.log, request.threads)
    unlimited = unlimited_candidates(site, kept)
    by_kind = {each.kind: each for each in unlimited}
    path = [by_kind[each["kind"]].limited(each["max_wait_s"]) for each in choice["path"]]
    limits = _limits_of_choice(choice, by_kind)
    every = list({each.label: each for each in [*unlimited, *limits, *path]}.values())
    comparison = _compared(request, site, bench, every, request.objective, progress)
    reasons = {each.label: [failure.text for failure in failures(comparison, each.label)] for each in path}
    holding = [each for each in path if not reasons[each.label]]
    # Where nothing holds, the figures of the choice say why.
    shown = [*holding, *path, unlimited[0]][0]
    runs = {"today": site.today, **({"advised": shown.combination} if shown.kind != TODAY else {})}
    ran = {name: run_object(request, site, kept, comparison.windows, name, each) for name, each in runs.items()}
    return {
        "today": site.today.label,
        "chosen": choice["chosen"],
        "advised": shown.label,
        "kind": shown.kind,
        "max_wait_s": shown.max_wait_s,
        "is_better": bool(holding),
        "failures": reasons,
        "best": _best_object(comparison, choice, shown),
        "metric": comparison.metric,
        "windows": _windows_object(comparison),
        "interval_note": comparison.interval_note,
        "contention_note": comparison.quiet_note,
        "rows": [comparison.row_object(label) for label in comparison.contenders],
        "comparison": comparison.to_json(),
        "waits": _waits(comparison, shown.label, request.seed),
        "jobs_a_week": _jobs_a_week(site),
        "limits": [each.label for each in limits],
        "runs": {name: each.told for name, each in ran.items()},
        "pays": who_pays(ran),
    }


def _limits_of_choice(choice: Object, by_kind: dict[str, Candidate]) -> list[Candidate]:
    """The policy that was chosen under each limit that was tried, the loosest first."""
    if not choice["path"]:
        return []
    kind = choice["path"][0]["kind"]
    tried = [each["max_wait_s"] for each in choice["candidates"] if each["kind"] == kind]
    # Limits were tried in rising order, behind none.
    return [by_kind[kind].limited(limit_s) for limit_s in tried]


def _best_object(comparison: Comparison, choice: Object, shown: Candidate) -> Object | None:
    """The best of the chart on later days and why it was not chosen; None if it is the one that is shown."""
    best = comparison.scored[0]
    if best.label in (shown.label, comparison.reference):
        return None
    before: list[str] = next((each["failures"] for each in choice["candidates"] if each["label"] == best.label), [])
    after = [failure.text for failure in failures(comparison, best.label)]
    why = after[0] if after else f"{before[0]}, on the days to choose on" if before else None
    return {"label": best.label, "why": why, "against": best.against[comparison.reference].to_json()}


def _compared(
    request: AdviseRequest,
    site: Site,
    bench: Bench,
    candidates: Sequence[Candidate],
    objective: Objective,
    progress: Progress | None = None,
) -> Comparison:
    """Candidates on some days, compared with today's policy, which bounds refer to."""
    (part,) = bench.parts
    log, windows, metric = part.log, part.windows, request.objective.metric
    combinations = [each.combination for each in candidates]
    runs = run_combinations(log, combinations, windows, metric, progress=progress, bench=bench)
    # Today's policy is no candidate: whatever its simulation rests on, the others have to be better.
    runs[site.today] = replace(runs[site.today], marks=())
    by_label: dict[str, Scored] = {each.label: each for each in best_first(runs.values(), windows.block, metric)}
    today = site.today.label
    return Comparison.of(by_label, log, windows, objective, today, [today], request.seed, site.today.scheduler)


def _candidate_object(candidate: Candidate, reasons: Sequence[str]) -> Object:
    return {
        "label": candidate.label,
        "kind": candidate.kind,
        "max_wait_s": candidate.max_wait_s,
        "failures": list(reasons),
    }


def _waits(comparison: Comparison, label: str, seed: int) -> Object:
    """Change of the mean wait, with its interval."""
    own, base = (comparison.contenders[each].metrics[WAIT] for each in (label, comparison.reference))
    change: Object = contrast(own, base, comparison.block, seed=seed).to_json()
    return change


def _jobs_a_week(site: Site) -> float:
    """Jobs a week on the later days."""
    submit_s = site.log.workload.jobs["submit_s"]
    span_s = float(submit_s[-1] - submit_s[site.days.early])
    return (site.days.jobs - site.days.early) / max(span_s, 1.0) * WEEK_S


def _windows_object(comparison: Comparison) -> Object:
    """Parts in which days were measured that were simulated without a break."""
    windows = comparison.windows
    return {"count": len(windows), "length": windows.length, "first": windows.first.tolist()}
