"""What a site has done since a reading: who came, started, ended and left; and all of it as tables for simulations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from shunter.execution.operating.picture import (
    Picture,
    Row,
    Shape,
    asked_shape,
    fitting,
    in_table,
    snapshot_of,
    workload_of,
)
from shunter.execution.operating.site import Site, SiteJob, State
from shunter.execution.view import USUAL_TIME_S
from shunter.model.schedule import Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.snapshot import Snapshot
    from shunter.model.workload import Workload

MOMENT_S: Final = 0.001
"""The core counts milliseconds: whoever comes after an instant comes so much later at least."""


@dataclass
class SeenJob:
    """A job of a stretch, with what has become known of it."""

    job: SiteJob
    """As it was first read."""
    shape: Shape
    came_s: float | None = None
    """When it came; None: it was there when the stretch began."""
    start_s: float | None = None
    end_s: float | None = None
    left_s: float | None = None
    """When it left the queue, or could not start any more; None: it waits, or has started."""

    @property
    def since_s(self) -> float:
        """Since when it waits."""
        return (self.job.eligible_s or self.job.submit_s) if self.came_s is None else self.came_s

    @property
    def has_ended(self) -> bool:
        """Whether it is known how long it runs."""
        return self.start_s is not None and self.end_s is not None

    def run_s(self, now_s: float) -> float:
        """Returns how long it runs: what is known, or else what it asks for, and at least as long as it has run."""
        if self.start_s is not None and self.end_s is not None:
            return max(0.0, self.end_s - self.start_s)
        has_run_s = 0.0 if self.start_s is None else now_s - self.start_s
        return max(self.job.requested_s or USUAL_TIME_S, has_run_s)


@dataclass(frozen=True)
class Tables:
    """A stretch as simulations take it: the state at its beginning, the jobs that came since, and what really was."""

    workload: Workload
    cluster: Cluster
    snapshot: Snapshot
    """At the beginning; jobs that came later are to come."""
    until_s: float
    measured: NDArray[np.intp]
    """The rows of those that waited at the beginning or came since, and have not left by themselves."""
    since_s: NDArray[np.float64]
    """Of each measured job: since when it waits."""
    run_s: NDArray[np.float64]
    """Of each measured job: how long it runs, as far as that is known."""
    start_s: NDArray[np.float64]
    """Of each measured job: when it really started; NaN: not yet."""
    ended: int
    """How many of the measured jobs have ended, so that their run times are known."""
    unfit: int
    """How many jobs are left out because they fit on no nodes as these were at the beginning."""


class Stretch:
    """What was read since a reading."""

    def __init__(self, picture: Picture) -> None:
        """Begins with a reading."""
        self.picture = picture
        self.begin_s = self.latest_s = picture.site.now_s
        self.is_changed = False
        """Whether Shunter held any change of a job meanwhile: then the site was not left to its own policy."""
        # Clocks may differ: whoever is there had come by then.
        self._rows = [
            replace(row, job=replace(row.job, submit_s=min(row.job.submit_s, self.begin_s))) for row in picture.rows
        ]
        self._jobs = {
            row.job.id: SeenJob(row.job, row.shape, start_s=row.job.start_s if row.phase == Phase.RUNNING else None)
            for row in self._rows
            if row.phase in (Phase.WAITING, Phase.RUNNING)
        }
        self._barred = {job.id for job in picture.site.pending if job.barrier} | set(picture.unfit)

    def __len__(self) -> int:
        return len(self._jobs)

    def see(self, site: Site) -> None:
        """Takes in a reading."""
        present = set()
        for job in site.jobs:
            present.add(job.id)
            if job.state == State.PENDING and job.barrier:
                self._leave(job.id, site.now_s)
                self._barred.add(job.id)
            elif job.state == State.PENDING:
                self._wait(job, site)
            elif job.state == State.RUNNING:
                self._run(job, site)
            elif job.state == State.ENDED:
                self._end(job, site)
        for id in self._jobs.keys() - present:
            self._leave(id, site.now_s)
        self.latest_s = site.now_s

    def _wait(self, job: SiteJob, site: Site) -> None:
        seen = self._seen(job, site, site.now_s)
        if seen is None:
            return
        if seen.start_s is None:
            # It may have been held meanwhile; it waits again.
            seen.left_s = None
        elif seen.end_s is None:
            # It was requeued: that run is over.
            seen.end_s = site.now_s

    def _run(self, job: SiteJob, site: Site) -> None:
        start_s = site.now_s if job.start_s is None else job.start_s
        seen = self._seen(job, site, start_s)
        if seen is not None and seen.start_s is None:
            seen.start_s, seen.left_s = start_s, None

    def _end(self, job: SiteJob, site: Site) -> None:
        if not job.has_run:
            self._leave(job.id, site.now_s)
            return
        assert job.start_s is not None
        seen = self._seen(job, site, job.start_s)
        if seen is not None and seen.end_s is None:
            seen.start_s = job.start_s if seen.start_s is None else seen.start_s
            seen.end_s, seen.left_s = job.end_s, None

    def _seen(self, job: SiteJob, site: Site, latest_s: float) -> SeenJob | None:
        """Returns what is known of a job; None of one that started before the stretch and is no part of it.

        Args:
            job: As it was read.
            site: The reading.
            latest_s: By when it had come at the latest.
        """
        if job.id in self._jobs:
            return self._jobs[job.id]
        if job.start_s is not None and job.start_s <= self.begin_s:
            return None
        told_s = job.eligible_s or job.submit_s
        if told_s <= self.begin_s and job.id in self._barred:
            # Something kept it from starting, and nobody tells until when: until this reading, or its start.
            told_s = latest_s
        # Others that are older were not told of by themselves, such as a task of an array: they waited all the time.
        came_s = max(min(told_s, latest_s), self.begin_s + MOMENT_S)
        found = self._jobs[job.id] = SeenJob(job, asked_shape(job, site), came_s)
        return found

    def _leave(self, id: int, now_s: float) -> None:
        """Says that a job is gone, or is kept from starting: one that ran has ended by now."""
        seen = self._jobs.get(id)
        if seen is None:
            return
        if seen.start_s is None:
            seen.left_s = now_s if seen.left_s is None else seen.left_s
        elif seen.end_s is None:
            seen.end_s = now_s

    def tables(self) -> Tables:
        """Returns the stretch up to the latest reading as simulations take it.

        Raises:
            InputError: What was read contradicts itself.
        """
        picture, now_s = self.picture, self.latest_s
        came = [
            Row(replace(seen.job, submit_s=seen.came_s, start_s=None, end_s=None), Phase.FUTURE, seen.shape)
            for seen in self._jobs.values()
            if seen.came_s is not None
        ]
        fits, unfit = fitting(came, now_s, picture.cluster)
        # A job that ran before may have come again under the same id.
        ids = {row.job.id for row in fits}
        rows = sorted([*(row for row in self._rows if row.job.id not in ids), *fits], key=in_table)
        seen = [self._jobs.get(row.job.id) if row.phase != Phase.COMPLETED else None for row in rows]
        workload = workload_of(rows, now_s, picture.cluster)
        known = workload.jobs["run_s"].to_list()
        run_s = [old if one is None else one.run_s(now_s) for one, old in zip(seen, known, strict=True)]
        left_s = [None if one is None else one.left_s for one in seen]
        columns = [pl.Series("run_s", run_s, pl.Float64), pl.Series("cancel_s", left_s, pl.Float64)]
        jobs = workload.jobs.with_columns(columns)
        is_measured = [
            one is not None and row.phase != Phase.RUNNING and one.left_s is None
            for row, one in zip(rows, seen, strict=True)
        ]
        chosen = [one for one, is_one in zip(seen, is_measured, strict=True) if is_one and one is not None]
        return Tables(
            replace(workload, jobs=jobs),
            picture.cluster,
            snapshot_of(rows, self.begin_s, picture.snapshot.down.astype(bool).tolist()),
            now_s,
            np.flatnonzero(is_measured),
            np.array([one.since_s for one in chosen], np.float64),
            np.array([one.run_s(now_s) for one in chosen], np.float64),
            np.array([np.nan if one.start_s is None else one.start_s for one in chosen], np.float64),
            sum(one.has_ended for one in chosen),
            len(unfit),
        )
