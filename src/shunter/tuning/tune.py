"""Tuning from start to end: search on training days, write the policy, and report on later days."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from shunter.comparison.classics import Progress, left_out
from shunter.comparison.combinations import Combination
from shunter.comparison.next_step import doubt, judged_step
from shunter.comparison.roles import JUDGED_AGAINST, TUNED
from shunter.engines.choice import LOCAL, check_on, engine_on
from shunter.errors import InputError
from shunter.model.fitting import can_ever_fit
from shunter.policies.native import NativePolicy, resolve_estimate
from shunter.policies.pairs import ANY, EFT, Pairs, pairs_text
from shunter.policies.prices import training_prices
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.simulation.core_inputs import common_size_by
from shunter.tuning.choosing import TrainingDays, choose_on_training_days, supported_estimates, try_tuned
from shunter.tuning.guards import sweep_guards
from shunter.tuning.later_days import Later, later_object, report_later
from shunter.tuning.request import TuneRequest
from shunter.tuning.space import PAIRS, SPACES, spec_text
from shunter.tuning.tuned_file import estimate_section, tuned_text, write_tuned
from shunter.tuning.weights import find_weights
from shunter.workloads.reading import read_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shunter.comparison.comparison import Comparison
    from shunter.comparison.report import Finding, Report
    from shunter.engines.base import Engine
    from shunter.model.cluster import Cluster
    from shunter.model.log import Log
    from shunter.model.workload import Workload
    from shunter.tuning.choosing import Chosen, Trial
    from shunter.tuning.guards import Guarded
    from shunter.tuning.weights import Tuned

Stage = Callable[[str], AbstractContextManager[Progress]]
"""Surrounds a piece of the work, which it is told in words, and gives what is told of the progress."""


@contextmanager
def untold(_: str) -> Iterator[Progress]:
    """Surrounds a piece of the work of which nothing is told."""
    yield lambda done, total: None


@dataclass(frozen=True)
class Found:
    """What training days have come to, before anything is written."""

    tuned: Tuned
    """The best score that was found."""
    chosen: Chosen
    """What the classics came to."""
    trial: Trial
    """The score against the best classic, in windows that are held back."""
    begins: Scheduler
    """The score that the search began with."""

    @property
    def policy(self) -> NativePolicy:
        """What is written: the score, or the classic where the score is not better."""
        policy = self._scheduler.policy
        assert isinstance(policy, NativePolicy), "classics and scores are run by the core"
        return policy

    @property
    def dispatch(self) -> str:
        """Its dispatch rule."""
        return self._scheduler.settings.dispatch

    @property
    def pairs(self) -> Pairs:
        """Which types of GPUs its jobs take."""
        return self._scheduler.pairs

    @property
    def _scheduler(self) -> Scheduler:
        if self.trial.keeps_classic:
            return self.chosen.combination.scheduler
        return self.tuned.scheduler.changed(policy=self.tuned.spec)


@dataclass(frozen=True)
class Tuning:
    """What was tuned, and what came out."""

    request: TuneRequest
    logs: tuple[Log, ...]
    found: Found
    report: Report[Comparison]
    guards: tuple[tuple[Guarded, ...], ...]
    """For each log, what is written under several starvation guards on later days."""
    left_out: tuple[str, ...]
    """What was not tried, and why."""
    tried: tuple[str, ...]
    """The estimates that were tried."""
    out: Path
    seconds: float
    """How long the search took, the choice of classics included."""

    def findings(self) -> list[Finding]:
        """Returns what the report comes to: over all logs, and then on each."""
        return self.report.findings(TUNED, TUNED, JUDGED_AGAINST)

    @cached_property
    def next_steps(self) -> list[str]:
        """For each log, what an operator should do with the file."""
        name, steps = f"the tuned file ({self.out})", []
        for one, log in zip(self.report.logs, self.logs, strict=True):
            words = ["shunter", "simulate", *log.words, "--policy", str(self.out), "--estimate", str(self.out)]
            step = doubt(one) or judged_step(one, TUNED, name, shlex.join(words))
            steps.append(step.text if len(self.logs) == 1 else f"{one.name}: {step.text}")
        return steps

    def to_json(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        from shunter import __version__

        found, request = self.found, self.request
        tuned, policy = found.tuned, found.policy.spec
        return {
            "file": str(self.out),
            "policy": found.policy.text,
            "kind": policy.kind,
            "parameters": policy.written,
            "dispatch": found.dispatch,
            "placement": tuned.scheduler.settings.placement,
            "pairs": found.pairs.text,
            "estimate": found.chosen.estimate,
            "max_wait_s": request.scheduler.settings.max_wait_s,
            "keeps_classic": found.trial.keeps_classic,
            "estimates_tried": list(self.tried),
            "left_out": list(self.left_out),
            "objective": self.report.objective.metric,
            "bounds": [asdict(bound) for bound in self.report.objective.bounds],
            "training": asdict(request.plan)
            | {"simulations": tuned.simulations, "costs": tuned.costs.tolist(), "score": tuned.spec}
            | {"classic": found.chosen.combination.label, "held_back": found.trial.to_json()},
            "report": request.part,
            "logs": [
                later_object(one) | {"max_wait": [row.to_json() for row in rows]}
                for one, rows in zip(self.report.logs, self.guards, strict=True)
            ],
            "pooled": self.report.pooled_objects(),
            "verdict": [finding.to_json() for finding in self.findings()],
            "next_steps": self.next_steps,
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
    on: str | Engine = LOCAL,
    stage: Stage = untold,
    **terms: Any,  # noqa: ANN401 - what TuneRequest.of takes
) -> Tuning:
    """Searches a policy's weights on the first days of a log, writes them to a file, and judges them on later days.

    Args:
        workload: A file, a generator, or what was read before.
        cluster: A number of cores, a preset, a file, or a cluster; None: the one that the workload tells of.
        out: The file that is written: a TOML file, which is a policy and an estimate.
        strict: Whether a job that can never fit is an error.
        on: Where simulations run: ``local``, ``ray``, or the address of a Ray cluster.
        stage: Surrounds each piece of the work, for those who show progress.
        terms: The fields of `Plan` (``windows``, ``length``, ``generations``, ``population``, ``seed`` ...), ``kind``,
            ``objective``, ``bounds``, ``site``, ``report``, ``report_windows``, ``estimate`` (by default training days
            choose), ``max_wait_s`` (one for everybody, or several to try), and any setting of `shunter.simulate`.

    Raises:
        InputError: A name or a number is wrong, or the log is too short.
    """
    request = TuneRequest.of(**terms)
    check_on(on)
    return run_tuning(request, [read_log(workload, cluster)], Path(out), strict=strict, on=on, stage=stage)


def run_tuning(
    request: TuneRequest,
    logs: Sequence[Log],
    out: Path,
    *,
    strict: bool = False,
    on: str | Engine = LOCAL,
    stage: Stage = untold,
) -> Tuning:
    """Tunes one policy to one or several logs, writes it, and reports what it does on later days."""
    # All logs before the first search: a short one should not be found after an hour.
    _check_logs(request, logs, strict)
    with engine_on(on, request.plan.threads) as engine:
        return _tuned(request, logs, out, engine, stage)


def _tuned(request: TuneRequest, logs: Sequence[Log], out: Path, engine: Engine | None, stage: Stage) -> Tuning:
    """Searches, writes and reports; simulations run on an engine, or in this process."""
    written = write_policy(request, logs, out, engine, stage)
    report, guards = _judge(request, written.found, written.later, out, engine, stage)
    lines = (*written.skipped, *left_out(request.scheduler), *_fewer_windows(request, logs))
    return Tuning(request, tuple(logs), written.found, report, guards, lines, written.tried, out, written.seconds)


@dataclass(frozen=True)
class Written:
    """A tuned policy that is written, and judged by nobody yet."""

    found: Found
    later: tuple[Later, ...]
    """The later days of each log, on which it may be judged: nothing has looked at them."""
    tried: tuple[str, ...]
    """The estimates that were tried."""
    skipped: tuple[str, ...]
    """Why others were not."""
    seconds: float
    """How long the search took, the choice of classics included."""


def write_policy(
    request: TuneRequest, logs: Sequence[Log], out: Path, engine: Engine | None = None, stage: Stage = untold
) -> Written:
    """Searches on training days and writes what was found; nothing is simulated on later days.

    Args:
        request: What to do.
        logs: What is tuned to.
        out: The file that is written.
        engine: Where simulations run; None: in this process.
        stage: Surrounds each piece of the work, for those who show progress.
    """
    began = time.perf_counter()
    tried, skipped = supported_estimates(logs, request.scheduler.settings.missing_request)
    if request.estimate is not None:
        tried, skipped = [request.estimate], []
    # Fitted once, on training days alone, and then the same for search, file and report.
    sections = {name: estimate_section(name, logs, request.plan.train) for name in tried}
    pairs = training_prices(logs, request.plan.train) if request.kind == PAIRS else request.scheduler.pairs
    with TemporaryDirectory() as folder:
        found = _search(request, logs, _estimate_specs(sections, Path(folder)), pairs, engine, stage)
    seconds = time.perf_counter() - began
    section, later = sections[found.chosen.estimate], _later(request, logs, found)
    facts, log_facts = _facts(request, found), [_log_facts(one) for one in later]
    size_by = common_size_by(request.scheduler, logs)
    settings, comments = _settings(request, found), _comments(found, out)
    if found.pairs.kind != ANY:
        section = f"{pairs_text(found.pairs)}\n{section}"
    write_tuned(out, tuned_text(found.policy.spec, settings, section, facts, log_facts, comments, size_by))
    return Written(found, tuple(later), tuple(tried), tuple(skipped), seconds)


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


def _fewer_windows(request: TuneRequest, logs: Sequence[Log]) -> list[str]:
    """Returns a line for each log that has no room for as many windows as were asked for."""
    lines = []
    for log in logs:
        for days in (request.plan.training_days, request.report_days):
            if (count := len(days.windows_of(log))) < days.windows:
                asked = f"{days.windows} windows of {days.option} were asked for"
                lines.append(f"{log.workload.name}: {asked}; the log has room for {count}")
    return lines


def _estimate_specs(sections: dict[str, str], folder: Path) -> dict[str, str]:
    """Returns what a scheduler resolves for each estimate: a fitted prior reaches the simulator in a file alone."""
    specs = {}
    for place, (name, section) in enumerate(sections.items()):
        specs[name] = name
        if resolve_estimate(name).kind == "posterior":
            file = folder / f"estimate-{place}.toml"
            file.write_text(section, encoding="utf-8")
            specs[name] = str(file)
    return specs


def _search(
    request: TuneRequest,
    logs: Sequence[Log],
    estimates: dict[str, str],
    pairs: Pairs,
    engine: Engine | None,
    stage: Stage,
) -> Found:
    """Returns what training days choose and what the search finds; classics take the types that were asked for."""
    plan, objective, space = request.plan, request.objective, SPACES[request.kind]
    days = TrainingDays.of(logs, plan, engine)
    with stage("choosing classics and an estimate on training days") as progress:
        chosen = choose_on_training_days(days, request.scheduler, estimates, objective, request.may_keep, progress)
    scheduler = request.scheduler.changed(estimate=estimates[chosen.estimate], pairs=pairs.text)
    bases = [choice.take(rows) for choice, rows in zip(chosen.requested, days.searched, strict=True)]
    with stage("tuning") as progress:
        tuned = find_weights(days.searched_benches, bases, scheduler, space, objective, plan, progress)
    trial = try_tuned(days, scheduler.changed(policy=tuned.spec), chosen, objective)
    begins = scheduler.changed(policy=spec_text(space.kind, space.parameters(space.center)))
    return Found(tuned, chosen, trial, begins)


def _later(request: TuneRequest, logs: Sequence[Log], found: Found) -> list[Later]:
    """Returns the later days of each log with the classics that its training days would choose."""
    return [
        Later(log, request.report_days.windows_of(log), one.combination.label, other.combination.label)
        for log, one, other in zip(logs, found.chosen.requested, found.chosen.same_estimate, strict=True)
    ]


def _judge(
    request: TuneRequest, found: Found, later: Sequence[Later], out: Path, engine: Engine | None, stage: Stage
) -> tuple[Report[Comparison], tuple[tuple[Guarded, ...], ...]]:
    """Returns what the file that was written does on later days, and what it does there under several guards."""
    words = request.scheduler.settings.words()
    for name in ("policy", "dispatch", "estimate", "pairs"):
        del words[name]
    # As a user would: the file says what it is, and brings its rule and its guard.
    scheduler = resolve_scheduler(policy=str(out), estimate=str(out), **words)
    tuned = Combination(f"{out.name}/{scheduler.settings.dispatch}", scheduler)
    beginning = Combination(f"{request.kind}/{found.begins.settings.dispatch}", found.begins.changed(estimate=str(out)))
    earliest = None
    if request.kind == PAIRS:
        # The search begins as sjf, whose plainest choice of types this is.
        eft = found.begins.changed(policy="sjf", pairs=EFT, estimate=str(out))
        earliest = Combination(f"sjf/{eft.settings.dispatch}/{EFT}", eft)
    plan, objective = request.plan, request.objective
    with stage("simulating later days") as progress:
        where: dict[str, Any] = {"threads": plan.threads, "engine": engine}
        report = report_later(
            later, tuned, request.site, objective, beginning, earliest, seed=plan.seed, progress=progress, **where
        )
        guards = tuple(
            sweep_guards(one.log, one.windows, scheduler, request.guards_s, objective.metric, **where) for one in later
        )
    return report, guards


def _comments(found: Found, out: Path) -> list[str]:
    what = "A policy that 'shunter tune' found on training days"
    if found.trial.keeps_classic:
        what = "A classic: 'shunter tune' found no score that was better than it on training days"
    return [
        f"{what}; [tuned] says on which, and is for people. To use it:",
        f"shunter simulate --policy {out.name} --estimate {out.name} ...",
    ]


def _settings(request: TuneRequest, found: Found) -> dict[str, Any]:
    """Returns what the file brings beside policy and estimate."""
    guard_s = request.scheduler.settings.max_wait_s
    return {"dispatch": found.dispatch} | ({} if guard_s is None else {"max_wait_s": guard_s})


def _facts(request: TuneRequest, found: Found) -> dict[str, Any]:
    from shunter import __version__

    tuned, trial = found.tuned, found.trial
    # The estimate as it was named: the scheduler names a temporary file.
    settings = tuned.scheduler.settings.words() | {"estimate": found.chosen.estimate, "dispatch": found.dispatch}
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
        "classic": f"{found.chosen.combination.label} with {found.chosen.estimate}",
        "keeps_classic": trial.keeps_classic,
        "held_back_windows": trial.windows if trial.are_held_back else 0,
        "cost_to_classic": trial.cost,
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
