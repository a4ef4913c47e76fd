"""The page of an advice, made of what its stages have kept and nothing else: it can be made again from the folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.advice.conclusion import CHANGE, KEEP
from shunter.advice.kept import read_stages
from shunter.advice.looking import UNKNOWN
from shunter.advice.payers import RUNS
from shunter.advice.searching import LEARNED_FOLDER
from shunter.agents.training.curves import read_curves
from shunter.metrics.calibration_verdict import Verdict
from shunter.metrics.labels import brief_seconds, counted, percent
from shunter.metrics.table import higher_is_better
from shunter.report.page.calibrations import calibration_sections
from shunter.report.page.comparisons import comparison_sections
from shunter.report.page.learning import learning_sections
from shunter.report.page.log import log_section
from shunter.report.page.parts import (
    BAD,
    GOOD,
    NOTE,
    PLAIN,
    Commands,
    Details,
    Fact,
    Page,
    Part,
    Prose,
    Section,
    Summary,
    Table,
    Toned,
)
from shunter.report.page.provenance import provenance_section
from shunter.report.page.runs import ShownRun
from shunter.report.page.schedules import schedule_sections
from shunter.report.page.words import ledger_table, metric_value, metric_words, ratio_cell
from shunter.report.page.writing import write_page

if TYPE_CHECKING:
    from shunter.advice.kept import Object
    from shunter.agents.training.curves import Curves
    from shunter.report.page.parts import Cell

PAGE: Final = "report.html"
SHOWN_CLASSICS: Final = 40
TONES: Final = {CHANGE: GOOD, KEEP: PLAIN}
KINDS: Final = {"today": "today's policy", "classic": "classic", "tuned": "tuned", "learned": "trained"}


def write_advice_page(folder: Path) -> Path:
    """Writes the page of the advice in a folder, and returns where it is.

    Raises:
        InputError: The folder holds no advice that has ended.
    """
    path = folder / PAGE
    write_page(path, advice_page(folder))
    return path


def advice_page(folder: Path, anonymous: bool = False) -> Page:
    """Returns the page of the advice in a folder.

    Args:
        folder: As 'shunter advise --out' writes it.
        anonymous: Whether users become numbers, and paths and commands are left out.

    Raises:
        InputError: The folder holds no advice that has ended.
    """
    stages = read_stages(folder)
    runs = [ShownRun.read(folder / RUNS / name, label) for name, label in _ran(stages)]
    if anonymous:
        stages, runs = _without_names(stages), [run.anonymous() for run in runs]
    sections = [*_sections(stages, runs, _curves(folder, stages))]
    if not anonymous:
        sections.append(_provenance(stages))
    return Page(f"What to run: {stages['log']['workload']}", "advice", _summary(stages), tuple(sections))


def _ran(stages: dict[str, Object]) -> list[tuple[str, str]]:
    """Returns the folders of runs, the one that is advised first, with what the page calls them."""
    later = stages.get("later")
    return [(name, later[name]) for name in ("advised", "today") if name in later["runs"]] if later else []


def _curves(folder: Path, stages: dict[str, Object]) -> list[Curves]:
    training = stages.get("training")
    return [read_curves(folder / LEARNED_FOLDER)] if training and training["skipped"] is None else []


def _without_names(stages: dict[str, Object]) -> dict[str, Object]:
    """Returns the same with numbers in the place of users, and without commands."""
    found = dict(stages)
    log = found["log"]
    found["log"] = log | {"profile": log["profile"] | {"owners": None}}
    found["advice"] = found["advice"] | {"next": []}
    if (later := found.get("later")) and later["pays"]:
        pays = dict(later["pays"])
        names = dict.fromkeys(row["name"] for key in ("most_lost", "most_gained") for row in pays[key])
        numbers = {name: f"user {number}" for number, name in enumerate(names, start=1)}
        for key in ("most_lost", "most_gained"):
            pays[key] = [row | {"name": numbers[row["name"]]} for row in pays[key]]
        found["later"] = later | {"pays": pays}
    return found


def _summary(stages: dict[str, Object]) -> Summary:
    advice = stages["advice"]
    facts = tuple(Fact(one["label"], one["value"], one["note"], one["tone"]) for one in advice["facts"])
    steps: list[Part] = []
    for one in advice["next"]:
        why = f"{one['why'][:1].upper()}{one['why'][1:]}"
        steps.append(Commands(tuple(one["commands"]), why) if one["commands"] else Prose(f"{why}."))
    # Who has ten seconds takes green for settled, and it is not where the simulation does not explain the log.
    is_believed = stages.get("calibration", {}).get("verdict") != Verdict.DOES_NOT.words
    tone = TONES.get(advice["kind"], NOTE) if is_believed else NOTE
    return Summary(advice["headline"], tuple(advice["sentences"]), facts, tuple(steps), tone)


def _sections(stages: dict[str, Object], runs: list[ShownRun], curves: list[Curves]) -> Iterator[Section]:
    if later := stages.get("later"):
        yield from (one for one in comparison_sections(later["comparison"]) if one.key != "caveats")
        if later["pays"]:
            yield _payers(later["pays"])
        if later["limits"]:
            yield _limits(later)
    if runs:
        yield from (one for one in schedule_sections(runs) if one.key != "metrics")
    if choice := stages.get("choice"):
        yield _choice(choice, stages["comparison"]["today"], stages["comparison"]["metric"])
    if comparison := stages.get("comparison"):
        yield _first_days(stages, comparison)
    yield from learning_sections(curves) if curves else ()
    yield from _believability(stages)
    if estimates := stages.get("estimates"):
        yield _estimates(estimates)
    yield _log(stages["log"])
    yield _machine(stages["cluster"])


def _payers(pays: Object) -> Section:
    before, after = (pays["longest_s"][name] for name in ("today", "advised"))
    longest = f"{brief_seconds(after)} instead of {brief_seconds(before)}"
    lead = f"The longest wait is {longest}, over {pays['jobs']:,} later jobs."
    if pays["users"]:
        lead += f" Of {counted(pays['users'], 'user')} {pays['users_worse']:,} wait longer on average than before."
    parts: list[Part] = [_waits_table(pays["sizes"], f"{pays['size_of']} of the job", "Mean waits by size")]
    for name, caption in (("most_lost", "Users who lose most"), ("most_gained", "Users who gain most")):
        if pays[name]:
            parts.append(_waits_table(pays[name], "user", caption))
    return Section("payers", "Who pays", lead, tuple(parts))


def _waits_table(rows: Sequence[Object], what: str, caption: str) -> Table:
    def row(one: Object) -> tuple[Cell, ...]:
        lost = one["lost_hours"]
        tone = BAD if lost > 0 else GOOD if lost < 0 else PLAIN
        waits = (brief_seconds(one["before_s"]), brief_seconds(one["after_s"]))
        return (str(one["name"]), one["jobs"], *waits, Toned(f"{lost:+,.0f}", tone))

    columns = (what, "jobs", "mean wait today", "as advised", "hours, all jobs")
    return Table(columns, tuple(row(one) for one in rows), caption, right=(1, 2, 3, 4))


def _limits(later: Object) -> Section:
    """What the chosen policy does under each limit that was tried."""
    rows = {row["label"]: row for row in later["rows"]}
    cells = [
        (
            f"{label} (recommended)" if label == later["advised"] and later["is_better"] else label,
            metric_value(later["metric"], rows[label]["mean"]),
            ratio_cell(rows[label]["against"][later["today"]], higher_is_better(later["metric"])),
            *(metric_value(name, rows[label][name]) for name in ("mean_wait_s", "max_wait_s")),
        )
        for label in later["limits"]
    ]
    lead = (
        "A job that has waited for the limit comes first in the order. Policy and limit were chosen together on the "
        "days before; these are the figures of the later days."
    )
    columns = ("candidate", metric_words(later["metric"]), f"ratio to {later['today']}", "mean wait", "longest wait")
    table = Table(columns, tuple(cells), "The chosen policy under each limit", right=(1, 2, 3, 4))
    return Section("limits", "Limits on the wait", lead, (table,))


def _choice(choice: Object, today: str, metric: str) -> Section:
    by_label = {candidate["label"]: candidate for candidate in choice["candidates"]}
    fallbacks = [candidate["label"] for candidate in choice["path"][1:]]
    rows: list[tuple[Cell, ...]] = []
    for row in choice["rows"]:
        candidate = by_label[row["label"]]
        if row["label"] == choice["chosen"]:
            status = Toned("chosen", GOOD)
        elif row["label"] == today:
            status = Toned("today", PLAIN)
        elif row["label"] in fallbacks:
            status = Toned("fallback", PLAIN)
        else:
            status = Toned((candidate["failures"] or ["is acceptable, but another is better or simpler"])[0], PLAIN)
        waits = [metric_value(name, row[name]) for name in ("mean_wait_s", "max_wait_s")]
        kind = KINDS[candidate["kind"].partition(" ")[0]]
        ratio = ratio_cell(row["against"][today], higher_is_better(metric))
        rows.append((row["label"], kind, ratio, *waits, status))
    columns = ("candidate", "kind", f"ratio to {today}", "mean wait", "longest wait", "result")
    table = Table(columns, tuple(rows), "On the days to choose on, best first", right=(2, 3, 4))
    lead = (
        f"{counted(len(rows) - 1, 'candidate')}: policies and limits on the wait. {choice['better']} are significantly "
        f"better than {today}, {choice['acceptable']} of them within the bounds. The best of these is chosen; a "
        "classic is preferred to a tuned or trained policy that is not significantly better. Nothing was fitted to "
        "these days."
    )
    return Section("choice", "How the choice was made", lead, (table,))


def _first_days(stages: dict[str, Object], comparison: Object) -> Section:
    rows = [
        (
            row["label"],
            metric_value(comparison["metric"], row["mean"]),
            ratio_cell(row, higher_is_better(comparison["metric"])),
            metric_value("mean_wait_s", row["mean_wait_s"]),
            metric_value("max_wait_s", row["max_wait_s"]),
            " ".join(row["marks"]),
        )
        for row in comparison["combinations"][:SHOWN_CLASSICS]
    ]
    columns = (
        *("called", metric_words(comparison["metric"]), f"ratio to {comparison['today']}"),
        *("mean wait", "longest wait", "marks"),
    )
    parts: list[Part] = [Table(columns, tuple(rows), "The best on the first days", right=(1, 2, 3, 4))]
    if tuning := stages.get("tuning"):
        parts.append(Prose(_tuned_text(tuning)))
    if training := stages.get("training"):
        parts.append(Prose(_trained_text(training)))
        parts += [Prose(one, NOTE) for one in training.get("notes", [])]
    count = len(comparison["combinations"])
    lead = f"{count:,} ways to schedule were compared. What was tuned and trained was judged on other days only."
    return Section("first-days", "What was tried on the first days", lead, tuple(parts))


def _tuned_text(tuning: Object) -> str:
    if tuning["keeps_classic"]:
        what = f"No score was better than a classic: {tuning['kind']}/{tuning['dispatch']}"
        return f"{what} with the estimate {tuning['estimate']} was kept ({tuning['simulations']:,} windows simulated)."
    weights = ", ".join(
        f"{name} {value:.3g}" for name, value in tuning["parameters"].items() if isinstance(value, float)
    )
    what = f"The tuned score goes with {tuning['dispatch']} and the estimate {tuning['estimate']}"
    return f"{what} ({tuning['simulations']:,} windows simulated): {weights}."


def _trained_text(training: Object) -> str:
    if training["skipped"] is not None:
        return f"No network was trained: {training['skipped']}."
    if not training["best_steps"]:
        return f"Training for {training['steps']:,} steps found nothing better than what it began with."
    return (
        f"A network was trained for {training['steps']:,} steps; the best was found after {training['best_steps']:,}."
    )


def _believability(stages: dict[str, Object]) -> Iterator[Section]:
    calibration = stages.get("calibration")
    if calibration is None:
        return
    if calibration["verdict"] == UNKNOWN:
        lead = "The log has no start times, so the simulation could not be validated."
        yield Section("believability", "Is it believable?", lead)
    else:
        yield from calibration_sections(calibration)


def _estimates(estimates: Object) -> Section:
    rows = []
    for one in estimates["estimates"]:
        quality = one.get("quality") or {}
        known = [quality.get(name) for name in ("within_factor_two_share", "over_share", "wrong_order_rate")]
        rows.append((str(one.get("name", one.get("estimate"))), *(percent(value) for value in known)))
    columns = ("estimate", "within a factor of two", "too long", "pairs in the wrong order")
    table = Table(columns, tuple(rows), "On the days to choose on", right=(1, 2, 3))
    lead = "How well run times are known before jobs run: what an order by run times can rest on."
    return Section(
        "estimates", "Estimates of run times", lead, (table, *(Prose(str(one)) for one in estimates["notes"]))
    )


def _log(log: Object) -> Section:
    section, days = log_section(log["profile"]), log["days"]
    parts: list[Part] = [Prose(log["assumption"], NOTE)] if log["assumption"] else []
    middle, early = (f"{number:,}" for number in (days["first"][1], days["early_jobs"]))
    what = f"Jobs up to {middle} are the first days, up to {early} the days to choose on"
    parts.append(Prose(f"{what}; the rest are the later days."))
    return replace(section, parts=(*parts, *section.parts, *([ledger_table(log["ledger"])] if log["ledger"] else [])))


def _machine(cluster: Object) -> Section:
    machine, site = cluster["cluster"], cluster["site"]
    gpus = f", {machine['gpus']:,.15g} GPUs" if machine["gpus"] else ""
    size = f"{counted(machine['nodes'], 'node')}, {machine['cores']:,.15g} cores{gpus}"
    lead = f"{machine['name']}: {size}; told by {cluster['from']}."
    notes = tuple(Prose(str(one)) for one in cluster["notes"])
    today = Prose(f"The site is taken to run {site['label']} ({site['from']}): {shlex.join(site['options'])}")
    return Section("machine", "The machine", lead, (today, *([Details("What is known of it", notes)] if notes else [])))


def _provenance(stages: dict[str, Object]) -> Section:
    log = stages["log"]
    facts: dict[str, Any] = {"workload": {"name": log["workload"], "sha256": log["workload_sha256"]}}
    if comparison := stages.get("comparison"):
        facts |= {"shunter": comparison["version"], "seed": comparison["seed"]}
    return provenance_section({"the advice": facts}, [shlex.join(["shunter", "advise", *stages["advice"]["asked"]])])
