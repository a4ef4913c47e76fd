"""One inspection: load a checkpoint, watch it decide, shuffle what it sees."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from shunter.cli.progress import step
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.agents.inspect_decisions import Decisions
    from shunter.agents.inspect_policy import Importance, Manner
    from shunter.agents.learned_policy import LearnedPolicy
    from shunter.cli.running import Inputs

GENERATED: Final = "generate:lublin?seed=1&jobs=4000&cores=256&load=1&requests=factor"
"""Where a policy that chooses jobs is watched if no log is given."""


@dataclass(frozen=True)
class InspectArguments:
    """The options of ``shunter inspect``."""

    checkpoint: str
    workload: str | None
    cluster: str | None
    part: str
    windows: int
    length: int
    seed: int


@dataclass(frozen=True)
class Inspected:
    """What was found."""

    arguments: InspectArguments
    folder: str
    """Of the checkpoint."""
    policy: LearnedPolicy
    watched: str
    """Where it was watched."""
    manner: Manner
    agreement: dict[str, float | None]
    """With classics, by name; none for a policy that chooses hosts."""
    importances: list[Importance]
    dead: dict[str, tuple[int, int]]
    """By layer, how many units never act, and of how many."""
    signs: list[str]

    def facts(self) -> dict[str, Any]:
        """Returns what the policy is made for, and how its network is built."""
        record, layout = self.policy.record, self.policy.layout
        return {
            "kind": layout.kind,
            "options": asdict(record.options),
            "observation_size": layout.observation_size,
            "actions": layout.actions,
            "network": asdict(record.network),
            "parameters": sum(each.numel() for each in self.policy.network.parameters()),
            "training": dict(record.training),
        }

    def result(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        from shunter import __version__

        return {
            "checkpoint": self.folder,
            **self.facts(),
            "watched": self.watched,
            "part": self.arguments.part,
            "windows": self.arguments.windows,
            "length": self.arguments.length,
            "seed": self.arguments.seed,
            **asdict(self.manner),
            "agreement": self.agreement,
            "importance": [asdict(one) for one in self.importances],
            "dead_units": {name: {"dead": dead, "units": units} for name, (dead, units) in self.dead.items()},
            "signs_of_collapse": self.signs,
            "version": __version__,
        }


def run_inspection(arguments: InspectArguments) -> Inspected:
    """Loads, watches and measures.

    Raises:
        InputError: The checkpoint or the log cannot be used.
    """
    from shunter.agents.inspect_policy import dead_units, importances, manner, signs_of_collapse
    from shunter.agents.learned_policy import load_policy
    from shunter.envs.layout import PICK_JOB
    from shunter.model.windows import check_numbers, parse_part
    from shunter.policies.checkpoint import checkpoint_folder
    from shunter.policies.scheduler import resolve_scheduler

    resolve_scheduler(seed=arguments.seed)
    part = parse_part(arguments.part)
    check_numbers(count=arguments.windows, length=arguments.length, blocks=None, part=part, warmup=0)
    folder = str(checkpoint_folder(arguments.checkpoint))
    policy = load_policy(folder)
    watch = _watch_jobs if policy.kind == PICK_JOB else _watch_hosts
    with step("watching it decide"):
        watched, decisions, agreement = watch(policy, arguments)
    with step("shuffling what it sees"):
        found = importances(policy, decisions, arguments.seed)
    shown, dead = manner(policy, decisions), dead_units(policy, decisions)
    signs = signs_of_collapse(shown, dead, policy.kind, getattr(policy.options, "order", None))
    return Inspected(arguments, folder, policy, watched, shown, agreement, found, dead, signs)


def _watch_jobs(policy: LearnedPolicy, arguments: InspectArguments) -> tuple[str, Decisions, dict[str, float | None]]:
    """Returns where a policy that chooses jobs was watched, what it did, and which classics do the same."""
    from shunter.agents.inspect_classics import agreement
    from shunter.agents.inspect_decisions import job_decisions
    from shunter.envs.episodes import with_fitting_jobs
    from shunter.model.log import Log
    from shunter.model.windows import choose_windows, parse_part
    from shunter.policies.scheduler import resolve_scheduler

    scheduler = resolve_scheduler(policy=arguments.checkpoint, seed=arguments.seed)
    inputs = _inputs(arguments)
    log = Log(inputs.workload, inputs.cluster)
    windows = choose_windows(
        len(log.workload),
        count=arguments.windows,
        length=arguments.length,
        part=parse_part(arguments.part),
        seed=arguments.seed,
    )
    decisions = job_decisions(policy, log, with_fitting_jobs(log, windows), scheduler)
    return log.workload.name, decisions, agreement(decisions, log.workload)


def _inputs(arguments: InspectArguments) -> Inputs:
    from shunter.cli.arguments import RunArguments
    from shunter.cli.running import read_inputs

    return read_inputs(RunArguments(arguments.workload or GENERATED, arguments.cluster, given={"seed": arguments.seed}))


def _watch_hosts(policy: LearnedPolicy, arguments: InspectArguments) -> tuple[str, Decisions, dict[str, float | None]]:
    """Returns where a policy that chooses hosts was watched, and what it did."""
    from shunter.agents.inspect_decisions import host_decisions

    if arguments.workload or arguments.cluster:
        raise InputError(
            f"{arguments.checkpoint}: it chooses hosts, and is watched on drawn jobs; leave --workload out"
        )
    return f"{arguments.windows} drawn episodes", host_decisions(policy, arguments.windows), {}
