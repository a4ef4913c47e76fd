"""What a tuning is asked to do: the options of the command line, checked before anything long is begun."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shunter.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.cli.arguments import RunArguments
    from shunter.comparison.combinations import Combination
    from shunter.comparison.objective import Objective
    from shunter.model.log import Days
    from shunter.policies.scheduler import Scheduler
    from shunter.tuning.tune import Plan


@dataclass(frozen=True)
class TuneArguments:
    """The options of ``shunter tune`` that decide its result."""

    logs: tuple[RunArguments, ...]
    """One for each log; the settings are the same in all."""
    kind: str
    objective: str
    bounds: tuple[str, ...]
    site: str
    plan: Plan
    report: str
    report_windows: int

    @property
    def estimate(self) -> str:
        """The run time that the tuned policy sees, as the user gave it."""
        return self.scheduler().settings.estimate

    def scheduler(self, file: Path | None = None) -> Scheduler:
        """Returns what the tuned policy shares with the classics, checked.

        Args:
            file: Where a posterior's prior stands that was fitted on training days; None before that.
        """
        found = self.logs[0].scheduler()
        return found.changed(estimate=str(file)) if file is not None and found.estimate.kind == "posterior" else found

    def parsed_objective(self) -> Objective:
        """Returns what to tune for."""
        from shunter.comparison.objective import parse_objective

        return parse_objective(self.objective, self.bounds)

    def site_combination(self) -> Combination:
        """Returns what the site has now; it sees requested times."""
        from shunter.comparison.combinations import combine
        from shunter.policies.catalog import DISPATCHES

        policy, slash, dispatch = self.site.rpartition("/")
        if not slash or not (dispatch in DISPATCHES or dispatch.isdecimal()):
            # The slash is one of a file's name.
            policy, dispatch = self.site, ""
        shared = self.scheduler().settings.words()
        for name in ("policy", "dispatch", "estimate"):
            del shared[name]
        return combine([policy], [dispatch or None], [shared.pop("placement")], ["requested"], **shared).possible[0]

    def report_days(self) -> Days:
        """Returns the days on which the result is judged; they lie behind the training days."""
        from shunter.model.log import Days
        from shunter.model.windows import parse_part

        low, high = parse_part(self.report, "--report")
        if not self.plan.train[1] <= low < high <= 1:
            raise InputError(
                f"--report is {self.report!r}; expected two rising fractions of the log behind the training days "
                f"(--train {self.plan.train[1]:g}), as in 0.7:1"
            )
        plan = self.plan
        return Days("--report", (low, high), self.report_windows, plan.length, plan.warmup, plan.seed)

    @property
    def files(self) -> dict[str, str | Path | None]:
        """What is read, by what errors call it; a name that is not that of a file does no harm."""
        found: dict[str, str | Path | None] = {}
        for place, log in enumerate(self.logs, start=1):
            found |= {f"workload ({place})": log.workload, f"cluster ({place})": log.cluster}
        for given, path in self.site_combination().files.items():
            found[f"file of {given}:"] = path
        return found | {"estimate": self.scheduler().estimate.file}

    def check(self) -> None:
        """Raises an error for what can be known to be wrong without the logs."""
        from shunter.checks import check_name
        from shunter.tuning.space import SPACES

        for log in self.logs:
            log.scheduler()
        check_name("kind", self.kind, SPACES)
        self.parsed_objective()
        self.site_combination()
        self.plan.check()
        if self.report_windows < 1:
            raise InputError(f"--report-windows is {self.report_windows}; expected 1 or more")
        self.report_days()
