"""One tuning: read the logs, search on training days, write the policy, report on later days."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from shunter.cli.progress import step
from shunter.cli.running import read_inputs
from shunter.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shunter.cli.running import Inputs
    from shunter.cli.tune_arguments import TuneArguments
    from shunter.comparison.report import Finding, Report
    from shunter.model.log import Log
    from shunter.tuning.report import Later, LaterReport
    from shunter.tuning.tune import Tuned


@dataclass(frozen=True)
class Tuning:
    """What was tuned, and what came out."""

    arguments: TuneArguments
    inputs: tuple[Inputs, ...]
    tuned: Tuned
    report: Report[LaterReport]
    out: Path
    seconds: float
    """How long the search took, the choice of classics included."""

    def findings(self) -> list[Finding]:
        """Returns what the report comes to: over all logs, and then on each."""
        from shunter.tuning.report import OTHERS, TUNED

        return self.report.findings(TUNED, TUNED, OTHERS)

    def result(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        from shunter import __version__

        tuned, plan = self.tuned, self.arguments.plan
        return {
            "file": str(self.out),
            "policy": tuned.spec,
            "kind": tuned.kind,
            "parameters": tuned.parameters,
            "dispatch": tuned.scheduler.settings.dispatch,
            "placement": tuned.scheduler.settings.placement,
            "estimate": self.arguments.logs[0].words["estimate"],
            "objective": self.report.objective.metric,
            "bounds": [asdict(bound) for bound in self.report.objective.bounds],
            "training": asdict(plan)
            | {
                "simulations": tuned.simulations,
                "costs": tuned.costs.tolist(),
            },
            "report": self.arguments.report,
            "logs": [one.to_json() for one in self.report.logs],
            "pooled": self.report.pooled_objects(),
            "verdict": [finding.to_json() for finding in self.findings()],
            "seed": plan.seed,
            "version": __version__,
            "seconds": round(self.seconds, 6),
        }


def run_tuning(arguments: TuneArguments, out: Path) -> Tuning:
    """Reads, tunes, writes the policy and reports; all that can be checked is checked before the search."""
    from shunter.tuning.tuned_file import estimate_section, tuned_text, write_tuned

    arguments.check()
    inputs = tuple(read_inputs(log) for log in arguments.logs)
    logs = [one.log for one in inputs]
    _check_logs(arguments, logs)
    began = time.perf_counter()
    section = estimate_section(arguments.estimate, logs, arguments.plan.train)
    with TemporaryDirectory() as folder:
        # A fitted prior reaches the simulator in a file alone.
        file = Path(folder) / "estimate.toml"
        file.write_text(section, encoding="utf-8")
        tuned, later = _search(arguments, logs, file)
    seconds = time.perf_counter() - began
    facts, log_facts = _facts(arguments, tuned), [_log_facts(one) for one in later]
    write_tuned(out, tuned_text(tuned, section, facts, log_facts, _comments(tuned, out)))
    return Tuning(arguments, inputs, tuned, _report(arguments, later, out), out, seconds)


def _check_logs(arguments: TuneArguments, logs: Sequence[Log]) -> None:
    """Raises an error for a log that is too short, or with ``--strict`` for one with jobs that can never fit."""
    from shunter.model.fitting import can_ever_fit

    for log, given in zip(logs, arguments.logs, strict=True):
        arguments.plan.training_days.windows_of(log)
        arguments.report_days().windows_of(log)
        if given.strict and (rejected := int((~can_ever_fit(log.workload.jobs, log.cluster)).sum())):
            raise InputError(
                f"{log.workload.name}: {rejected} jobs can never fit on {log.cluster.name}; give a larger cluster, or "
                "leave --strict out to have such jobs rejected and counted"
            )


def _search(arguments: TuneArguments, logs: Sequence[Log], file: Path) -> tuple[Tuned, list[Later]]:
    """Returns what was found, and the later days of each log with the classics that its training days would choose."""
    from shunter.comparison.classics import choose_classic, learns, part_of
    from shunter.tuning.report import Later
    from shunter.tuning.space import SPACES
    from shunter.tuning.tune import training_benches, tune

    scheduler, objective = arguments.scheduler(file), arguments.parsed_objective()
    benches = training_benches(logs, arguments.plan)
    chosen, learned = [], []
    with step("choosing classics on training days") as progress:
        for place, bench in enumerate(benches):
            parts = 2 * len(benches)
            chosen.append(choose_classic(bench, scheduler, objective, progress=part_of(progress, 2 * place, parts)))
            if not learns(scheduler):
                learned.append(chosen[-1])
                continue
            told = part_of(progress, 2 * place + 1, parts)
            learned.append(choose_classic(bench, scheduler, objective, [scheduler.settings.estimate], told))
    with step("tuning") as progress:
        tuned = tune(benches, chosen, scheduler, SPACES[arguments.kind], objective, arguments.plan, progress)
    later = [
        Later(log, arguments.report_days().windows_of(log), one.combination.label, other.combination.label)
        for log, one, other in zip(logs, chosen, learned, strict=True)
    ]
    return tuned, later


def _report(arguments: TuneArguments, later: Sequence[Later], out: Path) -> Report[LaterReport]:
    """Returns what the file that was written does on later days."""
    from shunter.comparison.combinations import Combination
    from shunter.tuning.report import report

    scheduler = arguments.scheduler(out).changed(policy=str(out))
    with step("simulating later days") as progress:
        return report(
            later,
            Combination(f"{out.name}/{scheduler.settings.dispatch}", scheduler),
            arguments.site_combination(),
            arguments.parsed_objective(),
            seed=arguments.plan.seed,
            threads=arguments.plan.threads,
            progress=progress,
        )


def _comments(tuned: Tuned, out: Path) -> list[str]:
    dispatch = tuned.scheduler.settings.dispatch
    return [
        "A policy that 'shunter tune' found on training days; [tuned] says on which, and is for people. To use it:",
        f"shunter simulate --policy {out.name} --estimate {out.name} --dispatch {dispatch} ...",
    ]


def _facts(arguments: TuneArguments, tuned: Tuned) -> dict[str, Any]:
    from shunter import __version__

    settings = tuned.scheduler.settings.words() | {"estimate": arguments.estimate}
    del settings["policy"]
    plan, objective = arguments.plan, arguments.parsed_objective()
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
