"""What is wrong with a log, and what is worth knowing before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from shunter.metrics.labels import brief_seconds, counted
from shunter.model.fitting import can_ever_fit, first_rejection
from shunter.report.tables import format_seconds
from shunter.simulation import simulate

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.statistics import Description

LONG_GAP_S: Final = 7 * 86_400.0
CLIPPED_SHARE, CLIPPED_JOBS = 0.005, 5
"""Run times are taken to be cut if more than this share of the jobs, and at least so many, have the longest of all."""
DROPPED: Final = ("dropped", "skipped")
"""How the rules end by which a line that should be a job becomes none."""
LEFT_OUT: Final = ("left out", "folded into it")
"""How the rules end by which a line that is no job is passed over."""


@dataclass(frozen=True)
class Remark:
    """Something that is no mistake of the log, but changes what it can be used for."""

    kind: str
    jobs: int
    """How many it concerns."""
    what: str


@dataclass(frozen=True)
class Checked:
    """What a check of a log has found."""

    description: Description
    findings: tuple[Remark, ...]

    @property
    def read_jobs(self) -> int:
        """The jobs, and those that were dropped."""
        entries = self.description.ledger.entries
        return self.description.jobs + sum(entry.count for entry in entries if entry.rule.endswith(DROPPED))

    @property
    def lines(self) -> int:
        """The jobs, those that were dropped, and what was left out."""
        entries = self.description.ledger.entries
        return self.read_jobs + sum(entry.count for entry in entries if entry.rule.endswith(LEFT_OUT))

    @property
    def repairs(self) -> int:
        """How many times something was repaired."""
        return sum(entry.count for entry in self.description.ledger.entries if entry.mistake)

    @property
    def clean(self) -> bool:
        """Whether nothing was repaired."""
        return not self.repairs

    def to_json(self) -> dict[str, Any]:
        """Returns a plain object."""
        description = self.description
        return {
            "workload": description.name,
            "format": description.format,
            "workload_sha256": description.sha256,
            "jobs": description.jobs,
            "read_jobs": self.read_jobs,
            "lines": self.lines,
            "clean": self.clean,
            "repairs": self.repairs,
            "ledger": [entry | {"share": int(entry["count"]) / self.lines} for entry in description.ledger.to_json()],
            "absent": description.absent,
            "findings": [asdict(finding) for finding in self.findings],
        }


def check_log(workload: Workload, description: Description) -> Checked:
    """Returns what was repaired in a log, and what else is worth knowing of it."""
    return Checked(description, tuple(_findings(workload, description)))


def _findings(workload: Workload, description: Description) -> Iterator[Remark]:
    yield from _partly_told(description)
    yield from _requests(workload, description)
    yield from _arrivals(workload, description)
    yield from _clipped(workload)
    yield from _never_fit(workload, description)


def _partly_told(description: Description) -> Iterator[Remark]:
    for word, share in description.told.items():
        if 0 < share < 1:
            missing = round((1 - share) * description.jobs)
            yield Remark("partly-told", missing, f"{word}: not told of {_of_jobs(missing, description.jobs)}")


def _requests(workload: Workload, description: Description) -> Iterator[Remark]:
    known = workload.jobs.drop_nulls("requested_s")
    excess_s = known["run_s"] - known["requested_s"]
    # Such requests were made of run times, by whoever published the log: a policy that sees them sees the future.
    if known.height and (excess_s == 0).all():
        of = _of_jobs(known.height, len(workload))
        what = f"requested time equal to the run time: {of}, all that have one; these are nobody's estimates"
        yield Remark("requests-are-run-times", known.height, what)
    if jobs := description.beyond_request_jobs:
        row = excess_s.arg_max() or 0
        most = f"job {known['job_id'][row]} the most, by {brief_seconds(excess_s[row])}"
        what = f"run time longer than requested: {_of_jobs(jobs, len(workload))}, {most}"
        yield Remark("beyond-request", jobs, what)


def _arrivals(workload: Workload, description: Description) -> Iterator[Remark]:
    if description.jobs > 1 and not description.span_s:
        what = "all jobs are submitted at one time: there are no arrivals to replay"
        yield Remark("one-submit-time", description.jobs, what)
    # A machine that was down or a log that was lost: windows across it mean little.
    gaps_s = workload.jobs["submit_s"].diff()
    if gaps := int((gaps_s > LONG_GAP_S).sum()):
        row = gaps_s.arg_max() or 0
        where = f"before job {workload.jobs['job_id'][row]}, {brief_seconds(gaps_s[row])}"
        longest = f"the gap {where}" if gaps == 1 else f"{gaps} gaps, the longest {where}"
        yield Remark("long-gap", gaps, f"no job arrives for more than a week: {longest}")


def _clipped(workload: Workload) -> Iterator[Remark]:
    run_s = workload.jobs["run_s"]
    longest_s = float(run_s.to_numpy().max())
    jobs = int((run_s == longest_s).sum())
    # Not all of them: a generator with equal run times cuts nothing.
    if jobs >= CLIPPED_JOBS and CLIPPED_SHARE * len(workload) < jobs < len(workload):
        of = _of_jobs(jobs, len(workload))
        what = f"run time exactly the longest, {format_seconds(longest_s)}: {of}; longer ones were probably cut"
        yield Remark("clipped-run-times", jobs, what)


def _never_fit(workload: Workload, description: Description) -> Iterator[Remark]:
    if description.cluster is None:
        return
    fits = can_ever_fit(workload.jobs, description.cluster)
    if jobs := int((~fits).sum()):
        # The core tells why.
        first = first_rejection(simulate(workload.window(int(fits.argmin()), 1), description.cluster))
        where = f"{first.where}: " if first.where else ""
        what = f"can never fit on {description.cluster.label}: {_of_jobs(jobs, len(workload))}"
        yield Remark("never-fit", jobs, f"{what}; {where}{first.text}")


def _of_jobs(jobs: int, total: int) -> str:
    """Returns a number of jobs with their share: ``12 jobs (0.4 %)``."""
    return f"{counted(jobs, 'job')} ({100 * jobs / total:.3g} %)"
