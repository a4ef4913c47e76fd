"""Tuning from start to end: search on training days, write the policy, and report on later days."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from shunter.checks import check_name
from shunter.comparison.bench import available_threads
from shunter.comparison.classics import Progress, choose_classic, classics, learns, part_of
from shunter.comparison.combinations import Combination, combine_like
from shunter.comparison.objective import parse_objective
from shunter.comparison.roles import TUNED
from shunter.errors import InputError
from shunter.model.fitting import can_ever_fit
from shunter.model.windows import Days, parse_part
from shunter.policies.native import REQUESTED
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation.core_inputs import common_size_by
from shunter.tuning.later_days import HELD_AGAINST, Later, later_object, report_later
from shunter.tuning.space import SPACES
from shunter.tuning.tuned_file import estimate_section, tuned_text, write_tuned
from shunter.tuning.weights import Plan, find_weights, training_benches
from shunter.workloads.reading import read_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shunter.comparison.comparison import Comparison
    from shunter.comparison.objective import Objective
    from shunter.comparison.report import Finding, Report
    from shunter.model.cluster import Cluster
    from shunter.model.log import Log
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler
    from shunter.tuning.weights import Tuned

Stage = Callable[[str], AbstractContextManager[Progress]]
"""Surrounds a piece of the work, which it is told in words, and gives what is told of the progress."""

ESTIMATE: Final = "posterior"
"""The run time that a tuned policy sees where none is named."""


@contextmanager
def _untold(_: str) -> Iterator[Progress]:
    yield lambda done, total: None


@dataclass(frozen=True)
class TuneRequest:
    """What a tuning is asked to do, resolved and checked as far as that is possible without the logs."""

    scheduler: Scheduler
    """What the tuned policy shares with the classics: the dispatch rule, the estimate, and so on."""
    kind: str
    objective: Objective
    site: Combination
    """What the site has now."""
    plan: Plan
    part: str
    """The part of each log on which the result is judged."""
    report_days: Days

    @staticmethod
    def of(
        *,
        kind: str = "linear",
        objective: str = "bounded-slowdown",
        bounds: Sequence[str] | None = (),
        site: str = "fcfs/easy",
        report: str = "0.7:1",
        report_windows: int = 20,
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
        scheduler = resolve_scheduler(**{"estimate": ESTIMATE} | settings)
        plan = Plan(
            threads=available_threads() if threads is None else threads,
            **{name: value for name, value in terms.items() if name in names},
        )
        check_name("kind", kind, SPACES)
        parsed = parse_objective(objective, bounds or ())
        combination = combine_like(site, scheduler)[0]
        plan.check()
        if report_windows < 1:
            raise InputError(f"--report-windows is {report_windows}; expected 1 or more")
        days = Days("--report", _later_part(report, plan), report_windows, plan.length, plan.warmup, plan.seed)
        return TuneRequest(scheduler, kind, parsed, combination, plan, report, days)

    @property
    def files(self) -> dict[str, Path]:
        """The files that it comes from, by what errors call them."""
        found = {f"file of {given}:": path for given, path in self.site.files.items()}
        estimate = self.scheduler.estimate.file
        return found if estimate is None else found | {"estimate": estimate}

    def seeing(self, file: Path) -> Scheduler:
        """Returns the scheduler; a posterior starts from the prior in a file, which was fitted on training days."""
        if self.scheduler.estimate.kind != "posterior":
            return self.scheduler
        return self.scheduler.changed(estimate=str(file))


def _later_part(report: str, plan: Plan) -> tuple[float, float]:
    low, high = parse_part(report, "--report")
    if not plan.train[1] <= low < high <= 1:
        raise InputError(
            f"--report is {report!r}; expected two rising fractions of the log behind the training days "
            f"(--train {plan.train[1]:g}), as in 0.7:1"
        )
    return low, high


@dataclass(frozen=True)
class Tuning:
    """What was tuned, and what came out."""

    request: TuneRequest
    logs: tuple[Log, ...]
    tuned: Tuned
    report: Report[Comparison]
    out: Path
    seconds: float
    """How long the search took, the choice of classics included."""

    def findings(self) -> list[Finding]:
        """Returns what the report comes to: over all logs, and then on each."""
        return self.report.findings(TUNED, TUNED, HELD_AGAINST)

    def to_json(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        from shunter import __version__

        tuned, request = self.tuned, self.request
        return {
            "file": str(self.out),
            "policy": tuned.spec,
            "kind": tuned.kind,
            "parameters": tuned.parameters,
            "dispatch": tuned.scheduler.settings.dispatch,
            "placement": tuned.scheduler.settings.placement,
            "estimate": request.scheduler.settings.estimate,
            "objective": self.report.objective.metric,
            "bounds": [asdict(bound) for bound in self.report.objective.bounds],
            "training": asdict(request.plan) | {"simulations": tuned.simulations, "costs": tuned.costs.tolist()},
            "report": request.part,
            "logs": [later_object(one) for one in self.report.logs],
            "pooled": self.report.pooled_objects(),
            "verdict": [finding.to_json() for finding in self.findings()],
            "seed": request.plan.seed,
            "version": __version__,
            "seconds": round(self.seconds, 6),
        }


def tune(
    workload: str | Path | Workload | Log,
    cluster: str | int | Cluster | None = None,
    *,
    out: str | Path,
    strict: bool = False,
    stage: Stage = _untold,
    **terms: Any,  # noqa: ANN401 - what TuneRequest.of takes
) -> Tuning:
    """Searches a policy's weights on the first days of a log, writes them to a file, and judges them on later days.

    Args:
        workload: A file, a generator, or what was read before.
        cluster: A number of cores, a preset, a file, or a cluster; None: the one that the workload tells of.
        out: The file that is written: a TOML file, which is a policy and an estimate.
        strict: Whether a job that can never fit is an error.
        stage: Surrounds each piece of the work, for those who show progress.
        terms: The fields of `Plan` (``windows``, ``length``, ``generations``, ``population``, ``seed`` ...), ``kind``,
            ``objective``, ``bounds``, ``site``, ``report``, ``report_windows``, and any setting of `shunter.simulate`.

    Raises:
        InputError: A name or a number is wrong, or the log is too short.
    """
    request = TuneRequest.of(**terms)
    return run_tuning(request, [read_log(workload, cluster)], Path(out), strict=strict, stage=stage)


def run_tuning(
    request: TuneRequest, logs: Sequence[Log], out: Path, *, strict: bool = False, stage: Stage = _untold
) -> Tuning:
    """Tunes one policy to one or several logs, writes it, and reports what it does on later days."""
    # All logs before the first search: a short one should not be found after an hour.
    _check_logs(request, logs, strict)
    began = time.perf_counter()
    # Fitted once, on training days alone, and then the same for search, file and report.
    section = estimate_section(request.scheduler.estimate, logs, request.plan.train)
    with TemporaryDirectory() as folder:
        # A fitted prior reaches the simulator in a file alone.
        file = Path(folder) / "estimate.toml"
        file.write_text(section, encoding="utf-8")
        tuned, later = _search(request, logs, file, stage)
    seconds = time.perf_counter() - began
    facts, log_facts = _facts(request, tuned), [_log_facts(one) for one in later]
    size_by = common_size_by(request.scheduler, logs)
    write_tuned(out, tuned_text(tuned, section, facts, log_facts, _comments(tuned, out), size_by))
    scheduler = request.seeing(out).changed(policy=str(out))
    with stage("simulating later days") as progress:
        report = report_later(
            later,
            Combination(f"{out.name}/{scheduler.settings.dispatch}", scheduler),
            request.site,
            request.objective,
            seed=request.plan.seed,
            threads=request.plan.threads,
            progress=progress,
        )
    return Tuning(request, tuple(logs), tuned, report, out, seconds)


def _check_logs(request: TuneRequest, logs: Sequence[Log], strict: bool) -> None:
    """Raises an error for a log that is too short, or if it is asked for, for one with jobs that can never fit."""
    for log in logs:
        request.plan.training_days.windows_of(log)
        request.report_days.windows_of(log)
        if strict and (rejected := int((~can_ever_fit(log.workload.jobs, log.cluster)).sum())):
            raise InputError(
                f"{log.workload.name}: {rejected} jobs can never fit on {log.cluster.name}; give a larger cluster, or "
                "leave --strict out to have such jobs rejected and counted"
            )


def _search(request: TuneRequest, logs: Sequence[Log], file: Path, stage: Stage) -> tuple[Tuned, list[Later]]:
    """Returns what was found, and the later days of each log with the classics that its training days would choose."""
    scheduler, objective = request.seeing(file), request.objective
    benches = training_benches(logs, request.plan)
    requested = classics(scheduler, [REQUESTED])
    # What a policy sees more than requested times may help classics as well: they are given the same chance.
    estimated = classics(scheduler, [scheduler.settings.estimate]) if learns(scheduler) else ()
    chosen, learned = [], []
    with stage("choosing classics on training days") as progress:
        for place, bench in enumerate(benches):
            told = [part_of(progress, 2 * place + half, 2 * len(benches)) for half in (0, 1)]
            chosen.append(choose_classic(bench, requested, objective, told[0]))
            learned.append(choose_classic(bench, estimated, objective, told[1]) if estimated else chosen[-1])
    with stage("tuning") as progress:
        tuned = find_weights(benches, chosen, scheduler, SPACES[request.kind], objective, request.plan, progress)
    later = [
        Later(log, request.report_days.windows_of(log), one.combination.label, other.combination.label)
        for log, one, other in zip(logs, chosen, learned, strict=True)
    ]
    return tuned, later


def _comments(tuned: Tuned, out: Path) -> list[str]:
    dispatch = tuned.scheduler.settings.dispatch
    return [
        "A policy that 'shunter tune' found on training days; [tuned] says on which, and is for people. To use it:",
        f"shunter simulate --policy {out.name} --estimate {out.name} --dispatch {dispatch} ...",
    ]


def _facts(request: TuneRequest, tuned: Tuned) -> dict[str, Any]:
    from shunter import __version__

    # The estimate as it was asked for: the scheduler names a temporary file.
    settings = tuned.scheduler.settings.words() | {"estimate": request.scheduler.settings.estimate}
    del settings["policy"]
    plan, objective = request.plan, request.objective
    return {
        "objective": objective.metric,
        "bounds": [f"{bound.metric}={bound.factor:g}" for bound in objective.bounds],
        **{name: value for name, value in settings.items() if value is not None},
        "train": list(plan.train),
        **{name: getattr(plan, name) for name in ("windows", "drawn", "length", "warmup", "generations", "population")},
        "simulations": tuned.simulations,
        "cost": float(tuned.costs[-1]),
        "first_cost": float(tuned.costs[0]),
        "version": __version__,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def _log_facts(later: Later) -> dict[str, Any]:
    workload, cluster = later.log.workload, later.log.cluster
    return {
        "name": workload.name,
        "sha256": workload.content_sha256,
        "jobs": len(workload),
        "cluster": cluster.name,
        "chosen": later.chosen,
    }
