"""``shunter trace check``: what is wrong with a log, and what is worth knowing before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import typer

from shunter.cli.errors import EXIT_DIFFERENT
from shunter.cli.options import ClusterOption, JsonOption
from shunter.cli.trace_info import study
from shunter.cli.trace_log import LogArguments, reads_log
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.statistics import Description

LONG_GAP_S: Final = 7 * 86_400.0
CLIPPED_SHARE, CLIPPED_JOBS = 0.005, 5
"""Run times are taken to be cut if more than this share of the jobs, and at least so many, have the longest of all."""
REMOVED: Final = ("dropped", "skipped", "left out")
"""How the rules end by which a line becomes no job."""


@dataclass(frozen=True)
class Finding:
    """Something that is no mistake of the log, but changes what it can be used for."""

    kind: str
    jobs: int
    """How many it concerns."""
    what: str


@dataclass(frozen=True)
class Checked:
    """What a check of a log has found."""

    description: Description
    findings: tuple[Finding, ...]
    clean: bool
    """Whether strict reading has nothing to refuse."""

    @property
    def lines(self) -> int:
        """The jobs, and what was taken out before there were only these."""
        ledger = self.description.ledger
        return self.description.jobs + sum(one.count for one in ledger.entries if one.rule.endswith(REMOVED))

    @property
    def repairs(self) -> int:
        """How many times something was repaired."""
        return 0 if self.clean else sum(entry.count for entry in self.description.ledger.entries)

    def to_json(self) -> dict[str, Any]:
        """Returns a plain object."""
        description = self.description
        return {
            "workload": description.name,
            "format": description.format,
            "workload_sha256": description.sha256,
            "jobs": description.jobs,
            "lines": self.lines,
            "clean": self.clean,
            "repairs": self.repairs,
            "ledger": [entry | {"share": int(entry["count"]) / self.lines} for entry in description.ledger.to_json()],
            "absent": description.absent,
            "findings": [asdict(finding) for finding in self.findings],
        }


@reads_log
def check(log: LogArguments, cluster: ClusterOption = None, json: JsonOption = False) -> None:
    """Say what is wrong with a log: what was repaired, what it does not tell, and what else is worth knowing.

    The exit code is 0 if nothing had to be repaired, 1 if something had, and 2 if the log cannot be read.

    For instance:

        shunter trace check log.swf.gz

        shunter trace check sacct.txt --cluster nodes.toml

        shunter trace check log.csv --json || echo 'not clean'
    """
    workload, description = study(log, cluster)
    clean = not workload.ledger or _reads_strictly(log)
    checked = Checked(description, tuple(find(workload, description)), clean)
    if json:
        from shunter import __version__
        from shunter.results import to_json_text

        typer.echo(to_json_text(checked.to_json() | {"version": __version__}))
    else:
        from shunter.cli.trace_tables import print_check

        print_check(checked)
    if not clean:
        raise typer.Exit(EXIT_DIFFERENT)


def _reads_strictly(log: LogArguments) -> bool:
    """Returns whether all that the ledger tells is left out by right, such as steps that are folded into jobs."""
    try:
        replace(log, strict=True).read()
    except InputError:
        return False
    return True


def find(workload: Workload, description: Description) -> Iterator[Finding]:
    """Yields what is worth knowing of a log."""
    yield from _partly_told(description)
    yield from _requests(workload, description)
    yield from _arrivals(workload, description)
    yield from _clipped(workload)
    yield from _never_fit(workload, description)


def _partly_told(description: Description) -> Iterator[Finding]:
    for word, share in description.told.items():
        if 0 < share < 1:
            missing = round((1 - share) * description.jobs)
            yield Finding("partly-told", missing, f"{word}: not told of {_of_jobs(missing, description.jobs)}")


def _requests(workload: Workload, description: Description) -> Iterator[Finding]:
    from shunter.cli.what_if_tables import brief

    known = workload.jobs.drop_nulls("requested_s")
    excess_s = known["run_s"] - known["requested_s"]
    if known.height and (excess_s == 0).all():
        what = f"requested times of {_of_jobs(known.height, len(workload))} all equal the run times: nobody's estimates"
        yield Finding("requests-are-run-times", known.height, what)
    if jobs := description.beyond_request_jobs:
        row = excess_s.arg_max() or 0
        longest = f"job {known['job_id'][row]} the most, by {brief('run_s', excess_s[row])}"
        what = f"{_of_jobs(jobs, len(workload))} run longer than requested, {longest}"
        yield Finding("beyond-request", jobs, what)


def _arrivals(workload: Workload, description: Description) -> Iterator[Finding]:
    from shunter.cli.what_if_tables import brief

    if description.jobs > 1 and not description.span_s:
        what = "all jobs are submitted at one time: there are no arrivals to replay"
        yield Finding("one-submit-time", description.jobs, what)
    gaps_s = workload.jobs["submit_s"].diff()
    if gaps := int((gaps_s > LONG_GAP_S).sum()):
        row = gaps_s.arg_max() or 0
        where = f"before job {workload.jobs['job_id'][row]}, {brief('gap_s', gaps_s[row])}"
        longest = f"the gap {where}" if gaps == 1 else f"{gaps} gaps, the longest {where}"
        yield Finding("long-gap", gaps, f"no job arrives for more than a week: {longest}")


def _clipped(workload: Workload) -> Iterator[Finding]:
    from shunter.cli.tables import format_seconds

    run_s = workload.jobs["run_s"]
    longest_s = float(run_s.to_numpy().max())
    jobs = int((run_s == longest_s).sum())
    if jobs >= CLIPPED_JOBS and jobs > CLIPPED_SHARE * len(workload):
        what = f"{_of_jobs(jobs, len(workload))} have exactly the longest run time, {format_seconds(longest_s)}"
        yield Finding("clipped-run-times", jobs, f"{what}: longer ones were probably cut")


def _never_fit(workload: Workload, description: Description) -> Iterator[Finding]:
    from shunter.evaluate.labels import cluster_label
    from shunter.model.fitting import can_ever_fit
    from shunter.model.rejections import explain_rejection
    from shunter.model.schedule import RejectReason

    if description.cluster is None:
        return
    fits = can_ever_fit(workload.jobs, description.cluster)
    if jobs := int((~fits).sum()):
        row = workload.jobs.row(int(fits.argmin()), named=True)
        first = explain_rejection(row, RejectReason.COMBINATION, description.cluster)
        what = f"{_of_jobs(jobs, len(workload))} can never fit on {cluster_label(description.cluster)}"
        yield Finding("never-fit", jobs, f"{what}: job {first.job_id} {first.asks}")


def _of_jobs(jobs: int, total: int) -> str:
    """Returns a number of jobs with their share: ``12 jobs (0.4 %)``."""
    from shunter.evaluate.labels import counted, percent

    return f"{counted(jobs, 'job')} ({percent(jobs / total, 0 if jobs >= 0.1 * total else 1)})"
