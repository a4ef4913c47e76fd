"""One inspection: load a checkpoint, watch it decide, and shuffle what it sees."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from shunter.agents.inspection.decisions import host_decisions, job_decisions
from shunter.agents.inspection.measures import dead_units, importances, manner, signs_of_collapse
from shunter.agents.learned_policy import load_policy
from shunter.checks import MOST_SEED, whole
from shunter.envs.episodes import with_fitting_jobs
from shunter.errors import InputError
from shunter.model.windows import Days, check_numbers, parse_part
from shunter.policies.catalog import CHOOSING_JOBS
from shunter.policies.checkpoint import checkpoint_folder
from shunter.policies.scheduler import resolve_scheduler
from shunter.workloads.reading import read_log

if TYPE_CHECKING:
    from shunter.agents.inspection.decisions import Decisions
    from shunter.agents.inspection.measures import Importance, Manner
    from shunter.agents.learned_policy import LearnedPolicy

GENERATED: Final = "generate:lublin?seed=1&jobs=4000&cores=256&load=1&requests=factor"
"""Where a policy that chooses jobs is watched if no log is given."""

Stage = Callable[[str], AbstractContextManager[object]]
"""Surrounds a piece of the work, whose name it takes."""


@dataclass(frozen=True)
class Sample:
    """Which windows of a log a policy is watched in; of one that chooses hosts, how many drawn episodes."""

    part: str = "0:1"
    windows: int = 8
    length: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        whole("--seed (seed)", self.seed, 0, MOST_SEED)
        part = parse_part(self.part)
        check_numbers(count=self.windows, length=self.length, blocks=None, part=part, warmup=0)


@dataclass(frozen=True)
class Inspected:
    """What was found."""

    folder: str
    """Of the checkpoint."""
    policy: LearnedPolicy
    watched: str
    """Where it was watched."""
    sample: Sample
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
            "parameters": self.policy.evaluator.size,
            "training": dict(record.training),
        }

    def result(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        from shunter import __version__

        return {
            "checkpoint": self.folder,
            **self.facts(),
            "watched": self.watched,
            "part": self.sample.part,
            "windows": self.sample.windows,
            "length": self.sample.length,
            "seed": self.sample.seed,
            **asdict(self.manner),
            "agreement": self.agreement,
            "importance": [asdict(one) for one in self.importances],
            "dead_units": {name: {"dead": dead, "units": units} for name, (dead, units) in self.dead.items()},
            "signs_of_collapse": self.signs,
            "version": __version__,
        }


def inspect(
    checkpoint: str,
    workload: str | None = None,
    cluster: str | None = None,
    sample: Sample | None = None,
    *,
    trust: bool = False,
    stage: Stage = nullcontext,
) -> Inspected:
    """Loads a learned policy, watches it decide, and measures how it does so.

    Args:
        checkpoint: The folder of a run, or of a checkpoint.
        workload: The log in which it is watched; None: a generated one.
        cluster: The cluster of the log; None: the one that the log describes.
        sample: Which windows of the log.
        trust: Whether a Python file is run that the checkpoint names.
        stage: Surrounds each piece of the work, for those who show progress.

    Raises:
        InputError: The checkpoint or the log cannot be used.
    """
    sample = sample or Sample()
    folder = str(checkpoint_folder(checkpoint))
    policy = load_policy(folder, trust=trust)
    with stage("watching it decide"):
        if policy.kind in CHOOSING_JOBS:
            watched, decisions, agreed = _watch_jobs(policy, checkpoint, workload, cluster, sample)
        elif workload or cluster:
            raise InputError(f"{checkpoint}: it chooses hosts, and is watched on drawn jobs; leave --workload out")
        else:
            watched, decisions, agreed = f"{sample.windows} drawn episodes", host_decisions(policy, sample.windows), {}
    with stage("shuffling what it sees"):
        found = importances(policy, decisions, sample.seed)
    shown, dead = manner(policy, decisions), dead_units(policy, decisions)
    signs = signs_of_collapse(shown, dead, policy.kind, getattr(policy.options, "order", None))
    return Inspected(folder, policy, watched, sample, shown, agreed, found, dead, signs)


def _watch_jobs(
    policy: LearnedPolicy, checkpoint: str, workload: str | None, cluster: str | None, sample: Sample
) -> tuple[str, Decisions, dict[str, float | None]]:
    """Returns where a policy that chooses jobs was watched, what it did, and which classics do the same."""
    # As the user named it: errors then name the run, and not a folder inside it.
    scheduler = resolve_scheduler(policy=checkpoint, seed=sample.seed)
    log = read_log(workload or GENERATED, cluster)
    days = Days("--part", parse_part(sample.part), sample.windows, sample.length, 0, sample.seed)
    windows = with_fitting_jobs(log, days.windows_of(log))
    return log.workload.name, *job_decisions(policy, log, windows, scheduler)
