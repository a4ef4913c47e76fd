"""What would another policy have done? A stretch of a site's life, simulated from its first reading."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.execution.operating.stretch import Tables
from shunter.metrics.labels import brief_seconds, counted
from shunter.model.schedule import Phase, bounded_slowdown
from shunter.policies.checkpoint import Checkpoint
from shunter.policies.own import PythonPolicy
from shunter.simulation.run import OwnOrder, decide
from shunter.simulation.simulation import Simulation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.policies.scheduler import Scheduler

KIND: Final = "counterfactual"
"""What its lines of the audit are called."""
MOST_JOBS: Final = 20_000
"""A stretch with more jobs is not simulated."""
LONGEST_S: Final = 60.0
"""A simulation that takes longer is given up."""
_STARTED: Final = (Phase.RUNNING, Phase.COMPLETED, Phase.KILLED, Phase.FAILED)


class GivenUpError(Exception):
    """A simulation was too large, or took too long."""


@dataclass(frozen=True)
class Waits:
    """How jobs have waited so far, in the mean."""

    mean_wait_s: float
    mean_bounded_slowdown: float


@dataclass(frozen=True)
class Counterfactual:
    """What the site did in a stretch, what its policy does there in a simulation, and what another would have done."""

    from_s: float
    until_s: float
    policy: str
    site_policy: str
    site_dispatch: str
    is_changed: bool
    """Whether Shunter held changes of jobs meanwhile, so that the site was not left to its own policy."""
    jobs: int
    """How many waited at the beginning or came since, and have not left by themselves."""
    ended: int
    """How many of these have ended; what the others ask for stands in for their run times."""
    unfit: int
    """How many more are left out because they fit on no nodes as these were at the beginning."""
    real: Waits
    site: Waits
    other: Waits
    mean_absolute_error_s: float
    """How far the simulated wait of a job under the site's policy is from the real one, in the mean."""
    seconds: float
    """How long it took to find out."""

    @property
    def _names(self) -> tuple[str, str]:
        """How people are told the policy, and how the site schedules: files without their folders."""
        return Path(self.policy).name, f"{Path(self.site_policy).name}/{self.site_dispatch}"

    @property
    def gain(self) -> Waits:
        """What the policy would have saved: simulated against simulated."""
        return _minus(self.site, self.other)

    @property
    def error(self) -> Waits:
        """How far the simulated site is from the real one."""
        return _minus(self.site, self.real)

    @property
    def is_clear(self) -> bool:
        """Whether the gain in mean wait, or the loss, is larger than the simulator's own error."""
        return abs(self.gain.mean_wait_s) > abs(self.error.mean_wait_s)

    @property
    def is_gain(self) -> bool:
        """Whether the policy would have saved more than the simulator is wrong by."""
        return self.is_clear and self.gain.mean_wait_s > 0

    @property
    def sentence(self) -> str:
        """What people are told."""
        if not self.jobs:
            return "Nobody waited"
        policy, site = self._names
        gain_s, error_s = self.gain.mean_wait_s, abs(self.error.mean_wait_s)
        if gain_s == 0:
            return f"{policy} would have changed nothing; the simulation is {brief_seconds(error_s)} off"
        what = "cut" if gain_s > 0 else "lengthened"
        size = f"{policy} would have {what} the mean wait by {brief_seconds(abs(gain_s))}"
        off = f"the simulation of {site} is {brief_seconds(error_s)} off the real wait"
        if self.is_clear:
            verdict = f"the {'gain' if gain_s > 0 else 'loss'} is larger than the error"
        else:
            verdict = "that is not larger than the error, so it says nothing"
        changed = " (part of which may be what Shunter changed)" if self.is_changed else ""
        return f"{size}; {off}{changed}: {verdict}"

    @property
    def lines(self) -> list[str]:
        """What people who look at the status are told."""
        about = f"{counted(self.jobs, 'job')} in {brief_seconds(self.until_s - self.from_s)}"
        known = f", {self.ended:,} of them ended" if self.jobs else ""
        policy, site = self._names
        ways = (("really", self.real), (site, self.site), (policy, self.other))
        waits = ", ".join(
            f"{name} {brief_seconds(one.mean_wait_s)} (slowdown {one.mean_bounded_slowdown:,.1f})" for name, one in ways
        )
        return [f"{about}{known}", *([f"mean wait: {waits}"] if self.jobs else []), self.sentence]

    def told(self) -> dict[str, Any]:
        """Returns it as the audit and the status tell it."""
        more: dict[str, Any] = {"gain": asdict(self.gain), "error": asdict(self.error)}
        more |= {"is_clear": self.is_clear, "is_gain": self.is_gain, "lines": self.lines}
        return {"kind": KIND, "time_s": self.until_s, **asdict(self), **more}


def counterfactual_of(
    tables: Tables, site: Scheduler, other: Scheduler, *, is_changed: bool, may_go_on: Callable[[], bool]
) -> Counterfactual:
    """Simulates a stretch under the site's policy and under another one.

    Args:
        tables: The stretch.
        site: How the site schedules.
        other: The other way.
        is_changed: Whether Shunter held changes of jobs meanwhile.
        may_go_on: Is asked after every decision.

    Raises:
        GivenUpError: There are too many jobs, or it takes too long.
        InputError: The stretch contradicts itself, or a policy fails.
    """
    began = time.monotonic()
    if len(tables.workload) > MOST_JOBS:
        raise GivenUpError(f"{len(tables.workload):,} jobs are more than {MOST_JOBS:,}")
    nobody = np.empty(0)
    starts = {"real": tables.start_s, "site": nobody, "other": nobody}
    if len(tables.measured):
        for name, scheduler in (("site", site), ("other", other)):
            starts[name] = starts_of(tables, scheduler, may_go_on)[tables.measured]
    waits = {name: _wait_s(tables, start_s) for name, start_s in starts.items()}
    errors_s = np.abs(waits["site"] - waits["real"])
    settings = site.settings
    return Counterfactual(
        from_s=tables.snapshot.now_ms / 1000,
        until_s=tables.until_s,
        policy=other.settings.policy,
        site_policy=settings.policy,
        site_dispatch=settings.dispatch,
        is_changed=is_changed,
        jobs=len(tables.measured),
        ended=tables.ended,
        unfit=tables.unfit,
        **{name: _waits(tables, wait_s) for name, wait_s in waits.items()},
        mean_absolute_error_s=float(errors_s.mean()) if len(errors_s) else 0.0,
        seconds=time.monotonic() - began,
    )


def starts_of(tables: Tables, scheduler: Scheduler, may_go_on: Callable[[], bool]) -> NDArray[np.float64]:
    """Returns when each job of a stretch starts under a way to schedule; NaN: not by the end of the stretch.

    Args:
        tables: The stretch.
        scheduler: Any that operations take.
        may_go_on: Is asked after every decision.

    Raises:
        GivenUpError: It may not go on, or takes longer than `LONGEST_S`.
        InputError: The stretch contradicts itself, or the policy fails.
    """
    until = time.monotonic() + LONGEST_S
    simulation, pass_once = _opened(tables, scheduler)
    try:
        # A decision is due at the reading itself.
        is_due = True
        while is_due and simulation.status().now_s <= tables.until_s:
            if time.monotonic() > until or not may_go_on():
                raise GivenUpError(f"{scheduler.settings.policy} took longer than {LONGEST_S:g} s, or was stopped")
            pass_once()
            is_due = simulation.advance()
        states = simulation.job_states()
    finally:
        simulation.close()
    start_s = states.start_ms / 1000
    has_started = np.isin(states.phase, _STARTED) & (start_s <= tables.until_s)
    return np.where(has_started, start_s, np.nan)


def _opened(tables: Tables, scheduler: Scheduler) -> tuple[Simulation, Callable[[], None]]:
    """Returns a simulation at the beginning of a stretch, and what decides in it once."""
    workload, cluster, policy = tables.workload, tables.cluster, scheduler.policy
    if isinstance(policy, PythonPolicy):
        own = OwnOrder(policy.policy, workload, cluster, scheduler)
        own.simulation.load(tables.snapshot)
        moves = policy.policy.moves
        return own.simulation, lambda: own.simulation.dispatch(own.order() if moves else None)
    simulation = Simulation(workload, cluster, scheduler)
    simulation.load(tables.snapshot)
    if not isinstance(policy, Checkpoint):
        return simulation, simulation.dispatch

    def ask() -> None:
        for job, place in decide(simulation.snapshot(), workload, cluster, scheduler).starts.items():
            simulation.start(job, place.nodes, place.tasks)

    return simulation, ask


def _wait_s(tables: Tables, start_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns how long each measured job has waited so far."""
    return np.maximum(0.0, np.where(np.isnan(start_s), tables.until_s, start_s) - tables.since_s)


def _waits(tables: Tables, wait_s: NDArray[np.float64]) -> Waits:
    if not len(wait_s):
        return Waits(0.0, 0.0)
    slowdown = bounded_slowdown(wait_s + tables.run_s, tables.run_s)
    return Waits(float(wait_s.mean()), float(slowdown.mean()))


def _minus(one: Waits, other: Waits) -> Waits:
    return Waits(one.mean_wait_s - other.mean_wait_s, one.mean_bounded_slowdown - other.mean_bounded_slowdown)
