"""A log as it is and with changes: what each case does, and how it differs from the base."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shunter.comparison.believability import MORE_LOAD, Believability, believe_schedule, quiet_note
from shunter.comparison.changes import Change, Situation, parse_change
from shunter.comparison.marks import Marks, marks_of
from shunter.errors import InputError
from shunter.metrics.labels import brief_seconds, counted
from shunter.metrics.run import run_log
from shunter.policies.scheduler import resolve_scheduler
from shunter.workloads.reading import read_log
from shunter.workloads.think_times import THINK_LIMIT_S, find_think_times, with_think_times

if TYPE_CHECKING:
    from shunter.metrics.run import Run
    from shunter.model.cluster import Cluster
    from shunter.model.log import Log
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler


@dataclass(frozen=True)
class Case:
    """One simulation of a what-if."""

    name: str
    """``base``, or the change."""
    notes: tuple[str, ...]
    """What the change amounts to."""
    run: Run

    @property
    def marks(self) -> Marks:
        """What it has that no real scheduler has."""
        schedule = self.run.schedule
        return marks_of(self.run.scheduler, schedule.workload.jobs, schedule.bases())


@dataclass(frozen=True)
class Following:
    """How many of the simulated jobs are submitted after the end of another."""

    jobs: int
    of_jobs: int
    limit_s: float
    """Who was submitted later than this after the end of the user's last job follows nobody."""

    @property
    def line(self) -> str:
        """What a reader must know of the arrivals."""
        return (
            f"{self.jobs:,} of {counted(self.of_jobs, 'job')} arrive after their user's last job ends, as long after "
            f"it as in the log (up to {brief_seconds(self.limit_s)}); all others arrive as logged"
        )

    def to_json(self) -> dict[str, Any]:
        """Returns it as a plain object."""
        return {"jobs": self.jobs, "of_jobs": self.of_jobs, "limit_s": self.limit_s}


@dataclass(frozen=True)
class WhatIf:
    """A log as it is, and with changes."""

    base: Case
    changed: tuple[Case, ...]
    following: Following | None = None
    """Who comes when others have ended; None: all come as logged."""

    @property
    def cases(self) -> tuple[Case, ...]:
        """The base, and then every change."""
        return (self.base, *self.changed)

    @cached_property
    def believability(self) -> Believability | None:
        """Whether the base explains the log's own waits; None where the log does not tell them."""
        return believe_schedule(self.base.run.log, self.base.run.schedule)

    @property
    def quiet_note(self) -> str | None:
        """That nobody waits in any case; None where people wait."""
        worst = [
            max((value for case in self.cases if (value := case.run.metrics[name]) is not None), default=None)
            for name in ("mean_bounded_slowdown", "max_wait_s")
        ]
        return quiet_note(worst[0], worst[1], f"take busier days (--start) or {MORE_LOAD}")

    def to_json(self) -> dict[str, Any]:
        """Returns the base as ``shunter simulate --json`` tells it, and each case with its differences."""
        base = self.base.run.result()
        return {
            "base": base | {"marks": [mark.name for mark in self.base.marks]},
            "believability": None if self.believability is None else self.believability.to_json(),
            "contention_note": self.quiet_note,
            "think_times": None if self.following is None else self.following.to_json(),
            "cases": [
                {
                    "change": case.name,
                    "notes": list(case.notes),
                    "marks": [mark.name for mark in case.marks],
                    **case.run.result(),
                    "difference": {
                        name: _difference(base["metrics"][name], new) for name, new in case.run.metrics.items()
                    },
                }
                for case in self.changed
            ],
        }


def _difference(old: float | None, new: float | None) -> dict[str, float | None]:
    """Returns the difference of a metric to the base, and in percent of it; null where there is none."""
    absolute = None if old is None or new is None else new - old
    # Of the size of the base, so that the sign is that of the difference.
    percent = 100 * absolute / abs(old) if absolute is not None and old else None
    return {"absolute": absolute, "percent": percent}


def resolve_changes(changes: Sequence[str], **settings: Any) -> list[tuple[Change, Scheduler]]:  # noqa: ANN401 - by name
    """Returns what changes mean, and the way to schedule of each.

    Raises:
        InputError: A change is wrong, or does not go with the settings.
    """
    if not changes:
        raise InputError("changes is empty; give at least one, such as cores=+25%")
    parsed = [parse_change(text) for text in changes]
    return [(change, resolve_scheduler(**{**settings, **change.settings})) for change in parsed]


def what_if(
    workload: str | Path | Workload | Log,
    cluster: str | int | Cluster | None = None,
    *,
    changes: str | Sequence[str],
    start: int = 0,
    length: int | None = None,
    strict: bool = False,
    think_times: bool = False,
    think_limit_s: float | None = None,
    progress: Callable[[int, int], None] | None = None,
    **settings: Any,  # noqa: ANN401 - the settings by name, each with a type of its own
) -> WhatIf:
    """Simulates a log as it is and with each of some changes.

    Args:
        workload: A file, a generator, or what was read before.
        cluster: A number of cores, a preset, a file, or a cluster; None: the one that the workload tells of.
        changes: One or several, such as ``cores=+25%``, ``load=1.2x`` or ``limit=3600,policy=sjf``, whose parts act
            together.
        start: The place of the first job that is simulated.
        length: How many jobs are; None: all to the end of the log.
        strict: Whether a job that can never fit is an error.
        think_times: Whether a job that was submitted soon after the end of its user's last job arrives that long after
            the end of that job in the simulation, in all cases; otherwise all jobs arrive as logged.
        think_limit_s: How soon that is; None: up to 20 minutes.
        progress: Called after each simulation with how many are done, and of how many.
        settings: The policy and other settings of the base, as in `shunter.simulate`.

    Raises:
        InputError: A change, a name or a number is wrong, or no job can ever fit.
    """
    # What can be checked without the log is checked before it is read.
    parsed = resolve_changes([changes] if isinstance(changes, str) else changes, **settings)
    words = resolve_scheduler(**settings)
    # As resolved, and not as given: a change of one setting must not change what stood in for another.
    base = Situation(read_log(workload, cluster), words.settings.words())
    # Found in the log as it is: what is changed are the arrivals that nobody waited for.
    limit_s = THINK_LIMIT_S if think_limit_s is None else think_limit_s
    found = find_think_times(base.log.workload, limit_s) if think_times else None
    if found is not None:
        base = base.with_workload(with_think_times(base.log.workload, found))

    def run(site: Situation, scheduler: Scheduler, done: int) -> Run:
        result = run_log(site.log, scheduler, start=start, length=length, strict=strict)
        if progress:
            progress(done, len(parsed) + 1)
        return result

    first = Case("base", (), run(base, words, 1))
    cases = []
    for done, (change, scheduler) in enumerate(parsed, start=2):
        site, notes = change.apply(base)
        cases.append(Case(change.text, tuple(notes), run(site, scheduler, done)))
    jobs = len(first.run.schedule)
    following = None if found is None else Following(found.count(start, jobs), jobs, found.limit_s)
    return WhatIf(first, tuple(cases), following)
