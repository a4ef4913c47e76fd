"""A log under a policy: a simulation that can be played through, asked about any time of it, and changed by sliders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.comparison.changes import Situation, parse_change
from shunter.errors import InputError
from shunter.metrics.run import Run, run_log
from shunter.model.schedule import Outcome
from shunter.service.live.controls import Choice, Control, Slider, read_answers, what_if_panel
from shunter.service.live.moment import Moment, Piece, bars_of, lanes_of
from shunter.service.live.panels import Column, Fact, Line, Panel, facts, gantt, lines, node_map, table
from shunter.service.live.sources import Panels
from shunter.simulation.eta import check_scheduler, state_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.log import Log
    from shunter.model.schedule import Schedule
    from shunter.policies.scheduler import Scheduler

MOST_JOBS: Final = 4000
"""So many of the last jobs of the log are simulated: an answer is there within a second."""
DISPATCHES: Final = ("easy", "conservative", "greedy", "strict")
MOST_POINTS: Final = 400
FIGURES: Final = {
    "mean_wait_s": ("Mean wait", "seconds"),
    "p95_wait_s": ("Wait of 95 in 100 at most", "seconds"),
    "max_wait_s": ("Longest wait", "seconds"),
    "mean_bounded_slowdown": ("Mean bounded slowdown", "number"),
    "core_utilization": ("Cores in use", "share"),
    "gpu_utilization": ("GPUs in use", "share"),
}
"""The metrics that are shown, with their labels and formats."""
HOUR_S: Final = 3600.0
AT: Final = "at_s"
"""What a question about a time of the log has, and nothing else."""


class LogSource:
    """One log, and the policies under which it may be simulated."""

    kind = "log"
    # It does not change: it is read once more now and then, which costs nothing.
    period_s = 30.0

    def __init__(self, name: str, log: Log, policies: Mapping[str, Scheduler]) -> None:
        self.name = name
        self._log = log
        self._policies = policies
        self._scheduler = next(iter(policies.values()))
        first = next(iter(policies))
        self.controls: list[Control] = [
            Slider("nodes", "Nodes", 50, 200, 5, 100, "% of today's"),
            Slider("load", "Load", 50, 150, 5, 100, "% of today's"),
            Choice("policy", "Policy", tuple(policies), first),
            Choice("dispatch", "Dispatch rule", ("as loaded", *DISPATCHES), "as loaded"),
        ]
        self._moment = lru_cache(maxsize=4)(self._moment_at)

    @property
    def _start(self) -> int:
        return max(0, len(self._log.workload) - MOST_JOBS)

    @cached_property
    def _run(self) -> Run:
        return run_log(self._log, self._scheduler, start=self._start)

    def read(self) -> Panels:
        """Returns the simulation as a whole."""
        return self._panels

    @cached_property
    def _panels(self) -> Panels:
        run = self._run
        settings = run.scheduler.settings
        submit_s = run.schedule.workload.jobs["submit_s"].to_numpy()
        lead = f"The last {len(submit_s):,} jobs of the log under {settings.policy}, {settings.dispatch}."
        first_s, last_s = float(submit_s[0]), float(np.nanmax(run.schedule.end_s, initial=submit_s[-1]))
        replay = {"first_s": first_s, "last_s": last_s, "last_submit_s": float(submit_s[-1])}
        words = (
            "Play the days through, or stop at a time: what the policy decides then, and when those start that wait."
        )
        gantt_lead = "Drag to move, turn the wheel to zoom, click a job to see what it asks for."
        drawn = bars_of(run.schedule.cluster, _pieces(run.schedule))
        return {
            "facts": facts(self.name, _figures(run.metrics), lead),
            "gantt": gantt("The schedule", lanes_of(run.schedule.cluster), drawn, lead=gantt_lead, now_s=first_s),
            "replay": Panel("replay", "Play it through", replay, words, wide=True),
            "length": lines(
                "The queue",
                [_queue("wait", run.schedule, "wait"), _queue("run", run.schedule, "run")],
                ("hours", "jobs"),
            ),
            "what-if": what_if_panel(
                self.controls, "The same jobs with more or fewer nodes, more load, or another policy."
            ),
        }

    def ask(self, question: Mapping[str, Any]) -> Panels:
        """Returns what was at a time, or what would have been with changes."""
        if set(question) == {AT}:
            return self._at(question[AT])
        return self._what_if(question)

    # ---- what was at a time ----

    def _at(self, given: object) -> Panels:
        panel = self._panels["replay"].content
        time_s = Slider(AT, "Time", panel["first_s"], panel["last_submit_s"], 1, 0).read(given)
        moment = self._moment(round(time_s))
        nodes = moment.nodes()
        order = moment.decision.order
        return {
            "facts": self._facts_at(moment),
            "reasons": moment.reasons(),
            "nodes": node_map("Nodes", nodes),
            "line": self._line_at(moment, order),
            "decision": moment.choices(),
        }

    def _moment_at(self, time_s: int) -> Moment:
        check_scheduler(self._scheduler)
        window = self._log.workload.window(self._start, None)
        return Moment(state_at(window, self._log.cluster, self._scheduler, float(time_s)), self._scheduler)

    def _facts_at(self, moment: Moment) -> Panel:
        cores = self._log.cluster.total_cores
        used = sum(node.used_cores for node in moment.nodes())
        return facts(
            "At this time",
            [
                Fact("Wait", len(moment.waiting), "number"),
                Fact("Run", len(moment.running), "number"),
                Fact("Cores in use", used / cores if cores else None, "share"),
                Fact("Start now", len(moment.decision.starts), "number"),
            ],
        )

    def _line_at(self, moment: Moment, order: Any) -> Panel:  # noqa: ANN401 - rows
        """Returns those that wait with their intervals, and when the simulation really started them."""
        schedule = self._run.schedule
        real = dict(zip(map(str, schedule.workload.jobs["job_id"].to_list()), schedule.start_s.tolist(), strict=True))
        columns = [Column("Job"), Column("Asks for"), Column("Earliest", "seconds"), Column("Median", "seconds"),
                   Column("Latest", "seconds"), Column("It really started after", "seconds")]  # fmt: skip
        now_s = moment.now_s
        rows = []
        for one in moment.line(order):
            ends = [None if end is None else end - now_s for end in (one.low_s, one.median_s, one.high_s)]
            rows.append([one.job, one.note, *ends, real.get(one.job, np.nan) - now_s])
        lead = "80 % intervals of the start, from what is known at this time alone; beside them what came of it."
        return table("Those that wait", columns, rows, lead, more=max(0, len(order) - len(rows)))

    # ---- what if ----

    def _what_if(self, question: Mapping[str, Any]) -> Panels:
        asked = read_answers(self.controls, question)
        scheduler = self._policies[asked["policy"]]
        if asked["dispatch"] != "as loaded":
            scheduler = with_dispatch(scheduler, asked["dispatch"])
        # The text of the change is made of numbers that were checked, and of nothing else of the question.
        factors = {"cores": asked["nodes"] / 100, "load": asked["load"] / 100}
        parts = [f"{name}={factor:.4f}x" for name, factor in factors.items() if factor != 1]
        log = self._log
        notes: list[str] = []
        if parts:
            window = self._log.workload.window(self._start, None)
            site = Situation(replace(self._log, workload=window), scheduler.settings.words())
            changed, notes = parse_change(",".join(parts)).apply(site)
            log = changed.log
            then = run_log(log, scheduler)
        else:
            then = run_log(log, scheduler, start=self._start)
        return self._answer(then, notes)

    def _answer(self, then: Run, notes: list[str]) -> Panels:
        base = self._run
        settings = then.scheduler.settings
        columns = [Column("Figure"), Column("As it is", "number"), Column("Then", "number"), Column("Change", "number")]
        rows = []
        for name, (label, format) in FIGURES.items():
            one, other = base.metrics[name], then.metrics[name]
            if one is None or other is None:
                continue
            rows.append(
                [label, {"format": format, "value": one}, {"format": format, "value": other}, _change(one, other)]
            )
        said = [f"{settings.policy}, {settings.dispatch}", *notes, f"simulated in {then.seconds:.2f} s"]
        lead = f"{'; '.join(said)}."
        both = [_queue("as it is", base.schedule, "wait"), _queue("then", then.schedule, "wait")]
        return {
            "figures": table("The answer", columns, rows, lead),
            "length": lines("Jobs that wait", both, ("hours", "jobs")),
        }


def with_dispatch(scheduler: Scheduler, dispatch: str) -> Scheduler:
    """Returns a way to schedule with another dispatch rule of those that are known by name.

    Raises:
        InputError: The policy does not go with it.
    """
    from shunter.policies.scheduler import resolve_scheduler

    if dispatch not in DISPATCHES:
        raise InputError(f"dispatch is {dispatch[:40]!r}; give one of {', '.join(DISPATCHES)}")
    # All other words are those that the service was started with.
    return resolve_scheduler(**{**scheduler.settings.words(), "dispatch": dispatch})


def _figures(metrics: Mapping[str, float | None]) -> list[Fact]:
    return [
        Fact(label, metrics[name], format) for name, (label, format) in FIGURES.items() if metrics[name] is not None
    ]


def _change(one: float, other: float) -> str:
    return f"{100 * (other / one - 1):+.0f} %" if one else ""


def _pieces(schedule: Schedule) -> list[Piece]:
    """Returns who ran where, of those that ran to their end or were stopped for good."""
    jobs = schedule.workload.jobs
    ids, cores, users = jobs["job_id"].to_list(), jobs["cores_per_task"].to_list(), jobs["user"].to_list()
    gpus = jobs["gpus_per_task"].to_list()
    latest_s = schedule.start_s if schedule.latest_start_s is None else schedule.latest_start_s
    found = []
    for row in np.flatnonzero(schedule.ended):
        state = "ended" if schedule.outcome[row] == Outcome.COMPLETED else "failed"
        part = f"{cores[row]:g} cores a task" + (f", {gpus[row]:g} GPUs" if gpus[row] else "")
        note = f"{part}, {users[row]}" if users[row] else part
        for entry in range(schedule.placement_offsets[row], schedule.placement_offsets[row + 1]):
            node, taken = int(schedule.placement_nodes[entry]), cores[row] * int(schedule.placement_tasks[entry])
            ran = float(latest_s[row]), float(schedule.end_s[row])
            found.append(Piece(node, taken, *ran, state, str(ids[row]), note))
    return found


def _queue(name: str, schedule: Schedule, what: str) -> Line:
    """Returns how many jobs waited, or ran, over time, in hours since the first job."""
    submit_s = schedule.workload.jobs["submit_s"].to_numpy()
    start_s, end_s = schedule.start_s, schedule.end_s
    comes, goes = (submit_s, np.where(np.isfinite(start_s), start_s, end_s)) if what == "wait" else (start_s, end_s)
    times = np.linspace(submit_s[0], np.nanmax(end_s, initial=submit_s[-1]), MOST_POINTS)

    def before(values: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.searchsorted(np.sort(values[np.isfinite(values)]), times, side="right")

    return Line(name, ((times - submit_s[0]) / HOUR_S).round(3).tolist(), (before(comes) - before(goes)).tolist())
