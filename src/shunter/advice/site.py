"""What is advised on: the log, its machine, its days, and what the site runs today."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from shunter.advice.plan import LEAST_JOBS, Days
from shunter.advice.request import USUAL_SITE
from shunter.comparison.combinations import combine_like
from shunter.comparison.marks import LEAST_SHARE
from shunter.errors import InputError
from shunter.files import write_file
from shunter.metrics.labels import percent
from shunter.metrics.log_profile import log_profile
from shunter.model.cluster import GENERATE
from shunter.model.cluster_file import write_cluster
from shunter.model.log import FROM_WORKLOAD, Log
from shunter.policies.native import REQUESTED
from shunter.policies.scheduler import resolve_scheduler
from shunter.workloads.clock import read_clock
from shunter.workloads.clusters import find_cluster, infer_cluster
from shunter.workloads.reading import files_of, read_cluster, read_log, read_workload
from shunter.workloads.statistics import describe

if TYPE_CHECKING:
    from shunter.advice.kept import Kept, Object
    from shunter.advice.request import AdviseRequest
    from shunter.comparison.combinations import Combination
    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler
    from shunter.workloads.clusters import FoundCluster

CLUSTER_FILE, SITE_FILE = "cluster.toml", "site-policy.toml"
FROM_NODES, INFERRED, GIVEN = "its lists of machines", "what its jobs had in use at once", "--cluster"
ALIKE: Final = 0.9
"""From this share of jobs on whose request is their very run time, run times are as good as known."""


@dataclass(frozen=True)
class Site:
    """What is advised on."""

    log: Log
    """Whole."""
    early: Log
    """The jobs before the later days: all that is looked at until the choice is fixed."""
    days: Days
    shared: Scheduler
    """What all ways to schedule share: what stands in for requests, and so on."""
    today: Combination
    """What the site runs."""
    cluster_words: tuple[str, ...]
    """What names the cluster on a command line."""
    estimate: str
    """What classics know of run times: requests, or where the log lacks them the user's last jobs."""


@dataclass(frozen=True)
class Told:
    """What the files tell."""

    log: Log
    assumption: str | None
    """What is assumed of run times; None: nothing."""
    machine: FoundCluster | None
    """What lists of machines and rules tell, if there are some."""
    origin: str
    """What told the machine."""
    notes: list[str]


def read_files(request: AdviseRequest) -> Told:
    """Reads the log and the machine; nothing is written.

    Raises:
        InputError: A file cannot be read, or makes no sense.
    """
    machine = _lists(request)
    workload = read_workload(
        request.spec, format=request.format, strict=request.strict, only=request.only, columns=request.columns
    )
    cluster, origin, notes = _cluster(request, workload, machine)
    log, assumption = _with_requests(read_log(workload, cluster, load=request.load))
    return Told(log, assumption, machine, origin, notes)


def keep_site(request: AdviseRequest, kept: Kept, told: Told) -> Site:
    """Returns what is advised on, and keeps what was read as the stages ``log`` and ``cluster``."""
    log, origin, machine = told.log, told.origin, told.machine
    days = Days.of(len(log.workload))
    path = kept.path(CLUSTER_FILE)
    words = _cluster_words(request, origin, path)
    log = replace(
        log, cluster_from=FROM_WORKLOAD if not words else "--cluster", cluster_word=words[-1] if words else None
    )
    described = {"sha256": log.workload.content_sha256, "load": request.load, "cluster": log.cluster.content_sha256}
    kept.stage("log", described, lambda: _log_object(request, log, days, told.assumption))
    site_policy, today = _today(request, kept, log, machine)
    found = {"origin": origin, "notes": told.notes, "site": site_policy, "words": words}
    shared = _shared(request, log)
    found |= {"reserve_by": ["--reserve-by", "estimate"] if shared.settings.reserve_by == "estimate" else []}
    inputs = found | {"cluster": log.cluster.content_sha256, "policy": _text_of(today)}
    kept.stage(
        "cluster",
        inputs,
        lambda: _write_cluster(log.cluster, found, today, path),
        rests_on=["log"],
        files=[CLUSTER_FILE],
    )
    early = _early(log, days)
    return Site(log, early, days, _shared(request, log), today, words, _estimate(log))


def _lists(request: AdviseRequest) -> FoundCluster | None:
    return find_cluster(files_of(list(request.nodes)), strict=request.strict) if request.nodes else None


def _cluster(
    request: AdviseRequest, workload: Workload, machine: FoundCluster | None
) -> tuple[Cluster, str, list[str]]:
    """Returns the machine, what told it, and what is to be known of that."""
    if machine is not None:
        left = [f"Not taken over: {one.text}" for one in machine.left]
        return machine.cluster, FROM_NODES, [*machine.notes, *left]
    if request.cluster is not None:
        return read_cluster(request.cluster), GIVEN, []
    if workload.cluster_spec is not None:
        return read_cluster(workload.cluster_spec), FROM_WORKLOAD, [f"As {workload.name} says."]
    cluster, notes = infer_cluster(workload)
    return (
        cluster,
        INFERRED,
        [*notes, "A machine that is never full looks smaller than it is: give --nodes to be sure."],
    )


def _cluster_words(request: AdviseRequest, origin: str, path: Path) -> tuple[str, ...]:
    if origin == FROM_WORKLOAD:
        return ()
    return ("--cluster", request.cluster if request.cluster is not None else str(path))


def _with_requests(log: Log) -> tuple[Log, str | None]:
    """Returns the log as policies may see it, and what is assumed of run times; None: nothing.

    A generator that draws no requests means jobs whose run times are known.
    """
    workload = log.workload
    jobs = workload.jobs
    missing = jobs["requested_s"].null_count()
    if missing and workload.words and workload.words[0].startswith(GENERATE):
        filled = jobs.with_columns(pl.col("requested_s").fill_null(pl.col("run_s")))
        changed = workload.derived("requests are run times", jobs=filled)
        what = "The generator draws no requested times: every job is taken to ask for the very time that it runs."
        return replace(log, workload=changed), f"{what} What is gained here assumes that run times are known."
    known = jobs.filter(pl.col("requested_s").is_not_null())
    if known.height and int((known["requested_s"] == known["run_s"]).sum()) >= ALIKE * known.height:
        what = "In this log requested times are the very run times, which no user knows."
        return log, f"{what} What is gained here assumes that run times are known; take less for granted."
    if missing >= LEAST_SHARE * jobs.height:
        what = f"{percent(missing / jobs.height)} of the jobs have no requested time."
        return log, f"{what} Policies that would need true run times in its place are not advised."
    return log, None


def _early(log: Log, days: Days) -> Log:
    """Returns the jobs before the later days as a log of their own: whoever has it cannot look at the others."""
    workload = log.workload
    jobs = workload.jobs.head(days.early)
    name = f"{workload.name}[0:{days.early}]"
    return replace(log, workload=workload.derived(f"the first {days.early} jobs", jobs=jobs, name=name))


def _shared(request: AdviseRequest, log: Log) -> Scheduler:
    """Returns what all ways to schedule share."""
    # Where run times stand in for requests, plans that go by requests would know the truth.
    words: dict[str, Any] = {"reserve_by": "estimate"} if _lacks_requests(log) else {}
    return resolve_scheduler(seed=request.seed, **words)


def _lacks_requests(log: Log) -> bool:
    jobs = log.workload.jobs
    return bool(jobs["requested_s"].null_count() >= LEAST_SHARE * jobs.height)


def _estimate(log: Log) -> str:
    has_users = log.workload.jobs["user"].is_not_null().any()
    return "last-two" if _lacks_requests(log) and has_users else REQUESTED


def _today(request: AdviseRequest, kept: Kept, log: Log, machine: FoundCluster | None) -> tuple[str, Combination]:
    """Returns what told how the site schedules, and what it runs."""
    shared, estimates = _shared(request, log), [_estimate(log)]
    if request.site is not None:
        return "--site", combine_like(request.site, shared, estimates)[0]
    if machine is None or machine.policy is None:
        return "nobody said", combine_like(USUAL_SITE, shared, estimates)[0]
    path = kept.path(SITE_FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = machine.policy.to_toml(["The order of jobs that the site's own files tell."])
    write_file(path, lambda file: file.write(text.encode()))
    scan: dict[str, Any] = {} if machine.policy.scan_depth is None else {"scan_depth": machine.policy.scan_depth}
    return FROM_NODES, combine_like(str(path), shared.changed(**scan), estimates)[0]


def _text_of(today: Combination) -> str:
    file = today.scheduler.policy.file
    return today.label + ("" if file is None else file.read_text(encoding="utf-8"))


def _write_cluster(cluster: Cluster, found: Object, today: Combination, path: Path) -> Object:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_cluster(cluster, path, [f"From {found['origin']}."])
    except InputError as error:
        # Some machines of generators cannot be said in a file; nothing but a training needs it.
        path.unlink(missing_ok=True)
        found = found | {"notes": [*found["notes"], str(error)]}
    return {
        "cluster": {
            "name": cluster.name,
            "nodes": len(cluster.nodes),
            "cores": cluster.total_cores,
            "gpus": cluster.total_gpus,
        },
        "from": found["origin"],
        "notes": found["notes"],
        "site": {"label": today.label, "from": found["site"], "options": today.settings.options()},
        "words": list(found["words"]),
        "reserve_by": list(found["reserve_by"]),
    }


def _log_object(request: AdviseRequest, log: Log, days: Days, assumption: str | None) -> Object:
    workload = log.workload
    clock = read_clock(workload, request.files[0])
    profile = log_profile(workload, log.cluster, describe(workload, log.cluster, clock))
    told: dict[str, Any] = profile["description"]
    return told | {
        "profile": profile,
        "words": list(workload.words),
        "assumption": assumption,
        "days": {
            "early_jobs": days.early,
            "first": [0, days.middle],
            "choosing": [days.middle, days.early],
            "later": [days.early, days.jobs],
            "window": days.window,
            "warmup": days.warmup,
            "is_enough": days.is_enough,
            "least_jobs": LEAST_JOBS,
        },
    }
