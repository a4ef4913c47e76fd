"""What a tuning is asked to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from shunter.checks import check_name, timed
from shunter.comparison.bench import available_threads
from shunter.comparison.combinations import CLASSICS, Combination, combine_like
from shunter.comparison.objective import parse_objective
from shunter.errors import InputError
from shunter.extras import MILP, need
from shunter.model.windows import Days, parse_part
from shunter.policies.native import REQUESTED
from shunter.policies.scheduler import resolve_scheduler
from shunter.tuning.guards import GUARDS_S
from shunter.tuning.space import PAIRS, SPACES
from shunter.tuning.weights import Plan

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.comparison.objective import Objective
    from shunter.policies.scheduler import Scheduler

Guards = float | str | Sequence[float | str | None] | None
"""A starvation guard for everybody, or several that are tried on what was tuned."""


@dataclass(frozen=True)
class TuneRequest:
    """What a tuning is asked to do, resolved and checked as far as that is possible without the logs."""

    scheduler: Scheduler
    """What the tuned policy shares with the classics: the dispatch rule, the guard, and so on."""
    dispatch: str | None
    """The dispatch rule that the user can have; None: any."""
    estimate: str | None
    """The run time that the tuned policy sees; None: training days choose."""
    kind: str
    objective: Objective
    site: Combination
    """What the site has now."""
    plan: Plan
    part: str
    """The part of each log on which the result is judged."""
    report_days: Days
    guards_s: tuple[float | None, ...]
    """The starvation guards under which the result is tried on later days."""

    @staticmethod
    def of(
        *,
        kind: str = "linear",
        objective: str = "bounded-slowdown",
        bounds: Sequence[str] | None = (),
        site: str = "fcfs/easy",
        report: str = "0.7:1",
        report_windows: int = 20,
        estimate: str | None = None,
        max_wait_s: Guards = None,
        warmup: int | None = None,
        threads: int | None = None,
        **terms: Any,  # noqa: ANN401 - the fields of Plan, and settings by name
    ) -> TuneRequest:
        """Returns what texts and numbers ask for.

        Raises:
            InputError: The first that is wrong.
        """
        names = {one.name for one in fields(Plan)}
        # The seed is one of both: of the search and the windows, and of the simulations.
        settings = {name: value for name, value in terms.items() if name not in names or name == "seed"}
        dispatch = settings.get("dispatch")
        guard_s, guards_s = _guards(max_wait_s)
        scheduler = resolve_scheduler(**settings, estimate=estimate or REQUESTED, max_wait_s=guard_s)
        for one in guards_s:
            resolve_scheduler(max_wait_s=one)
        length = terms.get("length", Plan.length)
        plan = Plan(
            threads=available_threads() if threads is None else threads,
            # Enough for the cluster to fill up before what is measured, in windows of any length.
            warmup=length // 2 if warmup is None else warmup,
            **{name: value for name, value in terms.items() if name in names},
        )
        check_name("kind", kind, SPACES)
        if kind == PAIRS:
            need(MILP, f"--kind {PAIRS}")
        # Whether the policy goes with the dispatch rule and with the other settings.
        resolve_scheduler(**settings | {"policy": kind}, estimate=estimate or REQUESTED, max_wait_s=guard_s)
        parsed = parse_objective(objective, bounds or ())
        combination = combine_like(site, scheduler)[0]
        plan.check()
        if report_windows < 1:
            raise InputError(f"--report-windows is {report_windows}; expected 1 or more")
        days = Days("--report", _later_part(report, plan), report_windows, plan.length, plan.warmup, plan.seed)
        return TuneRequest(scheduler, dispatch, estimate, kind, parsed, combination, plan, report, days, guards_s)

    def may_keep(self, classic: Combination) -> bool:
        """Returns whether a classic may take the place of a tuned score: under a rule that is named, under no other.

        Who asks for Slurm's weights can have nothing else: these may stay as they are by default.
        """
        is_own = self.kind not in CLASSICS or classic.settings.policy == self.kind
        return is_own and self.dispatch in (None, classic.settings.dispatch)

    @property
    def files(self) -> dict[str, Path]:
        """The files that it comes from, by what errors call them."""
        found = {f"file of {given}:": path for given, path in self.site.files.items()}
        estimate = self.scheduler.estimate.file
        return found if estimate is None else found | {"estimate": estimate}


def _guards(max_wait_s: Guards) -> tuple[float | None, tuple[float | None, ...]]:
    """Returns the guard that everybody has, and the guards that are tried on the result."""
    if isinstance(max_wait_s, str) or not isinstance(max_wait_s, Sequence):
        guard_s = timed("max_wait_s", max_wait_s)
        others = () if guard_s in GUARDS_S else (guard_s,)
        return guard_s, (*GUARDS_S, *others)
    if not max_wait_s:
        raise InputError("--max-wait is empty; give times such as 1d,3d, with commas between them, or off")
    # One is a wish, and several are a question.
    if len(max_wait_s) == 1:
        return _guards(max_wait_s[0])
    return None, tuple(dict.fromkeys(timed("max_wait_s", one) for one in max_wait_s))


def _later_part(report: str, plan: Plan) -> tuple[float, float]:
    low, high = parse_part(report, "--report")
    if not plan.train[1] <= low < high <= 1:
        raise InputError(
            f"--report is {report!r}; expected two rising fractions of the log behind the training days "
            f"(--train {plan.train[1]:g}), as in 0.7:1"
        )
    return low, high
