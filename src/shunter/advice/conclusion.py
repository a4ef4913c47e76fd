"""What an advice comes to, in sentences and figures, from what its stages have kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shunter.comparison.report import LONGEST
from shunter.metrics.calibration_verdict import Verdict
from shunter.metrics.labels import brief_seconds, counted, percent, short
from shunter.report.page.words import metric_words

if TYPE_CHECKING:
    from shunter.advice.kept import Object

TOO_SHORT, NOT_BELIEVED, QUIET, KEEP, CHANGE = "too-short", "not-believed", "quiet", "keep", "change"
"""What an advice may come to; the first three are none."""
HOUR_S: Final = 3600.0
MUCH: Final = 1.05
"""From this ratio on, a longest wait counts as longer."""
NEARLY_NONE: Final = 0.02
MANY: Final = 3.0
"""From here on a ratio is told as so many times, and not in percent."""
UNKNOWN_VERDICT: Final = "unknown"
CALIBRATION_CHECKS: Final = 2
"""The first checks, of mean waits and of ranks, stand in the summary; the page has them all."""


def conclude(kind: str, stages: dict[str, Any]) -> Object:
    """Returns the headline, sentences and figures.

    Args:
        kind: One of the words above.
        stages: What the stages came to, as far as they were reached.
    """
    sentences, facts = _SENTENCES[kind](stages)
    headline, *others = sentences
    told = [*others, *_how_sure(kind, stages)]
    if assumption := stages["log"]["assumption"]:
        told.append(assumption)
    return {"kind": kind, "headline": headline, "sentences": told, "facts": [*_believable(stages), *facts]}


def kind_of(stages: dict[str, Any]) -> str:
    """Returns what an advice comes to whose later days have been looked at."""
    return CHANGE if stages["later"]["is_better"] else KEEP


def _too_short(stages: dict[str, Any]) -> tuple[list[str], list[Object]]:
    log, least = stages["log"], stages["log"]["days"]["least_jobs"]
    jobs = f"{counted(log['jobs'], 'job')} {'is' if log['jobs'] == 1 else 'are'} too few"
    what = f"No advice: {jobs} to choose on some days and to judge on others"
    return [f"{what}; give a log of {least:,} jobs or more."], []


def _not_believed(stages: dict[str, Any]) -> tuple[list[str], list[Object]]:
    calibration = stages["calibration"]
    what = "No advice yet: this description of the machine does not explain the waits in the log"
    return [f"{what}. Describe the machine better first.", f"Why: {calibration['because']}.", *calibration["hints"]], []


def _quiet(stages: dict[str, Any]) -> tuple[list[str], list[Object]]:
    note = (stages.get("later") or stages.get("choice") or stages["comparison"])["contention_note"]
    # What remedies it names are options of other verbs; those of this one are among the next steps.
    why = note.partition(";")[0]
    what = "No advice: too few jobs wait here for policies to differ"
    return [f"{what}. Keep {stages['comparison']['today']}.", f"{why[0].upper()}{why[1:]}."], []


def _keep(stages: dict[str, Any]) -> tuple[list[str], list[Object]]:
    choice, later = stages["choice"], stages["later"]
    today, tried = later["today"], len(choice["candidates"]) - 1
    if choice["path"]:
        why = later["failures"][choice["chosen"]][0]
        sentences = [
            f"Keep {today}. The choice does not hold on the later days.",
            f"{choice['chosen']} was chosen on the days before, but on the later days it {why}.",
        ]
    elif choice["better"]:
        what = f"Each candidate that is significantly better on the days to choose on ({choice['better']} of {tried})"
        sentences = [f"Keep {today}. {what} breaks a bound."]
    else:
        what = "is significantly better on the days to choose on"
        sentences = [f"Keep {today}. None of the {counted(tried, 'candidate')} {what}."]
    return [*sentences, *_why_not_best(later)], _today_facts(later)


def _change(stages: dict[str, Any]) -> tuple[list[str], list[Object]]:
    later = stages["later"]
    better = _row(later, later["advised"])["against"][later["today"]]
    what = f"Run {later['advised']} in place of {later['today']}"
    if stages["calibration"]["verdict"] == Verdict.DOES_NOT.words:
        what = f"Not to be relied on, for the simulation does not explain this log: {what[0].lower()}{what[1:]}"
    gain = f"{metric_words(later['metric'])} {changes(better)}"
    sentences = [f"{what}: {gain}{_price(later)}.", f"{_hours(later, later['waits'])}."]
    if later["chosen"] != later["advised"]:
        why = later["failures"][later["chosen"]][0]
        sentences.append(
            f"{later['chosen']} was chosen on the days before, but on the later days it {why}; "
            f"{later['advised']}, with shorter waits on the days before, takes its place."
        )
    return [*sentences, *_why_not_best(later), *_who_pays(later)], _gains(stages)


def _why_not_best(later: Object) -> list[str]:
    """Why the best of the chart is not what is recommended."""
    best = later["best"]
    if best is None:
        return []
    why = best["why"] or f"was not significantly better than {later['chosen']} on the days to choose on"
    return [f"The best of the chart, {best['label']}, is not recommended: it {why}."]


def _price(later: Object) -> str:
    """Change of the longest wait, as the end of a sentence about a gain."""
    after_s, before_s = (_row(later, later[name])["max_wait_s"] or 0.0 for name in ("advised", "today"))
    change = f"from {brief_seconds(before_s)} to {brief_seconds(after_s)}"
    if after_s > MUCH * before_s:
        return f", but the longest wait rises {change}{_times_allowed(later, after_s, before_s)}"
    if before_s > MUCH * after_s:
        return f", and the longest wait falls {change}"
    return f"; the longest wait hardly changes, {change}"


def _times_allowed(later: Object, after_s: float, before_s: float) -> str:
    """The ratio of the longest waits beside its bound, if there is one."""
    bounds = {bound["metric"]: bound["factor"] for bound in _row(later, later["advised"])["bounds"]}
    if LONGEST not in bounds or before_s == 0:
        return ""
    return f" ({after_s / before_s:.3g} times; allowed: {bounds[LONGEST]:g})"


_SENTENCES: Final = {
    TOO_SHORT: _too_short,
    NOT_BELIEVED: _not_believed,
    QUIET: _quiet,
    KEEP: _keep,
    CHANGE: _change,
}


def _hours(later: Object, waits: Object) -> str:
    """Returns how many hours of waiting are saved or lost a week, over all jobs."""
    a_week = later["jobs_a_week"] / HOUR_S
    value = waits["difference"] * a_week
    what = "hours of waiting a week, over all jobs"
    if waits["difference_low"] is None:
        return f"On later days it changes the {what}, by {value:+,.0f} (no interval: too few blocks)"
    low, high = (waits[f"difference_{name}"] * a_week for name in ("low", "high"))
    if low < 0 < high:
        return f"On later days the {what}, do not surely change: {value:+,.0f} (95 %: {low:+,.0f} to {high:+,.0f})"
    least, most = sorted((abs(low), abs(high)))
    verb = "saves" if high <= 0 else "costs"
    return f"On later days it {verb} {abs(value):,.0f} {what} (95 %: {least:,.0f} to {most:,.0f})"


def _who_pays(later: Object) -> list[str]:
    """Returns whose waits become longer, in sentences."""
    pays = later["pays"]
    if pays is None:
        return []
    told: list[str] = []
    worse = [row for row in pays["sizes"] if row["after_s"] > row["before_s"] + 60]
    if worse:
        most = max(worse, key=lambda row: row["lost_hours"])
        waits = f"{brief_seconds(most['after_s'])} instead of {brief_seconds(most['before_s'])}"
        told.append(f"jobs of {most['name']} {pays['size_of']} wait {waits} on average")
    if pays["users_worse"]:
        told.append(f"{pays['users_worse']:,} of {counted(pays['users'], 'user')} wait longer on average than before")
    if not told:
        return ["No user, and no size of jobs, waits longer on average than before."]
    return [f"Who pays: {'; '.join(told)}."]


def _how_sure(kind: str, stages: dict[str, Any]) -> list[str]:
    """Returns what the statement rests on."""
    if kind not in (KEEP, CHANGE):
        return []
    later = stages["later"]
    windows, note = later["windows"], later["interval_note"]
    jobs = windows["count"] * windows["length"]
    what = f"on {jobs:,} jobs of the last 30 % of the log in {windows['count']} parts"
    told = [f"How sure: judged once, {what}; nothing had looked at them before the choice was fixed."]
    if kind == CHANGE and later["chosen"] != later["advised"]:
        told = [f"How sure: judged {what}, after another choice had failed there: the gain is a little flattered."]
    if note:
        told.append(f"{note[0].upper()}{note[1:]}.")
    verdict = stages["calibration"]["verdict"]
    if verdict == Verdict.ROUGHLY.words:
        told.append("The simulation explains the log's own waits only roughly: take the figures as a direction.")
    if verdict == Verdict.DOES_NOT.words:
        told.insert(
            0, "Mind that the simulation does NOT explain the log's own waits: on the machine all may be otherwise."
        )
    if verdict == UNKNOWN_VERDICT:
        told.append("The log has no start times, so the simulation could not be validated.")
    return told


def _believable(stages: dict[str, Any]) -> list[Object]:
    calibration = stages.get("calibration")
    if calibration is None:
        return []
    tones = {Verdict.EXPLAINS.words: "good", Verdict.DOES_NOT.words: "bad"}
    if calibration["verdict"] == UNKNOWN_VERDICT:
        return [_fact("simulation", "not checked", "the log has no start times")]
    # Ratios and not waits: these days are not those of the other figures.
    checks = calibration["checks"][:CALIBRATION_CHECKS]
    note = "; ".join(f"{check['check']}: {check['value'] or 0:.2f}" for check in checks)
    return [_fact("simulation", calibration["verdict"], note, tones.get(calibration["verdict"], "plain"))]


def _gains(stages: dict[str, Any]) -> list[Object]:
    """Returns the figures of what is advised against what the site runs."""
    later = stages["later"]
    own, base = (_row(later, later[name]) for name in ("advised", "today"))
    found = own["against"][later["today"]]
    a_week = later["waits"]["difference"] * later["jobs_a_week"] / HOUR_S
    longest_s, before_s = (row["max_wait_s"] or 0.0 for row in (own, base))
    return [
        _fact(
            metric_words(later["metric"]),
            _amount(found),
            f"than under {later['today']}{_interval(found)}",
            "good" if later["is_better"] else "plain",
        ),
        _fact(
            "mean wait",
            brief_seconds(own["mean_wait_s"] or 0.0),
            f"instead of {brief_seconds(base['mean_wait_s'] or 0.0)}; {a_week:+,.0f} hours of waiting a week",
        ),
        _fact(
            "longest wait",
            brief_seconds(longest_s),
            f"instead of {brief_seconds(before_s)}",
            "bad" if longest_s > MUCH * before_s else "plain",
        ),
    ]


def _today_facts(later: Object) -> list[Object]:
    base = _row(later, later["today"])
    return [
        _fact("mean wait", brief_seconds(base["mean_wait_s"] or 0.0), f"under {later['today']} on later days"),
        _fact("cores used", percent(base["core_utilization"]), "on later days"),
    ]


def _row(later: Object, label: str) -> Object:
    found: Object = next(row for row in later["rows"] if row["label"] == label)
    return found


def changes(found: Object) -> str:
    """Returns what becomes of a metric, as a verb: ``falls by 82 % (95 %: 62 % to 91 %)``."""
    ratio = found["ratio"]
    if found["identical"]:
        return "stays the same"
    if ratio is None:
        return f"changes by {short(found['difference'])}{_interval(found)}"
    if ratio >= MANY:
        return f"becomes {short(ratio)} times as much{_interval(found)}"
    return f"{'falls' if ratio < 1 else 'rises'} by {_percent(ratio)}{_interval(found)}"


def _amount(found: Object) -> str:
    """Returns how much more or less there is of a metric: ``82 % less``."""
    ratio = found["ratio"]
    if ratio is None:
        return f"{short(found['difference'])} more"
    if ratio >= MANY:
        return f"{short(ratio)} times as much"
    return f"{_percent(ratio)} {_way(ratio)}"


def _interval(found: Object) -> str:
    """Returns the interval of a change, in the words of the change."""
    name = "difference" if found["ratio"] is None else "ratio"
    low, high = found[f"{name}_low"], found[f"{name}_high"]
    if low is None:
        return " (no interval: too few blocks)"
    if name == "difference":
        return f" (95 %: {short(low)} to {short(high)})"
    if high >= MANY:
        return f" (95 %: {short(low)} to {short(high)} times)"
    # The smaller change first, as one reads intervals.
    near, far = (high, low) if high <= 1 else (low, high)
    if low < 1 < high:
        return f" (95 %: {_percent(low)} less to {_percent(high)} more)"
    return f" (95 %: {_percent(near)} to {_percent(far)})"


def _percent(ratio: float) -> str:
    """Returns how far a ratio is from 1, in percent; finer where nearly all is gone."""
    return percent(abs(1 - ratio), 1 if ratio < NEARLY_NONE else 0)


def _way(ratio: float) -> str:
    return "less" if ratio < 1 else "more"


def _fact(label: str, value: str, note: str, tone: str = "plain") -> Object:
    return {"label": label, "value": value, "note": note, "tone": tone}
