"""A learned policy schedules: a whole workload, many windows of one together, or the state of a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.checks import from_table
from shunter.envs.consultation import consult
from shunter.envs.episodes import has_fitting_job
from shunter.envs.kinds import environment_from
from shunter.envs.layout import Layout, check_features
from shunter.envs.log_source import log_vector
from shunter.envs.network import NativeNetwork, is_native
from shunter.envs.playing import best_actions, play
from shunter.envs.queue_options import QueueOptions
from shunter.envs.rewards import RewardOptions
from shunter.errors import InputError
from shunter.model.log import Log
from shunter.model.schedule import whole_milliseconds
from shunter.model.windows import Windows
from shunter.policies.checkpoint import WEIGHTS_FILE, Checkpoint
from shunter.policies.trust import words_of_a_file
from shunter.simulation.core_inputs import numbers
from shunter.simulation.learned import evaluator_loader
from shunter.simulation.simulation import Simulation
from shunter.simulation.windows import WindowResults, WindowRunner

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from shunter.envs.sources import EnvironmentOptions
    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.cluster import Cluster
    from shunter.model.snapshot import Snapshot
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.decision import Decision
    from shunter.simulation.learned import Evaluator

MOST_TOGETHER: Final = 64
"""So many windows are played together at most."""
KEPT: Final = 8
"""So many networks are kept loaded, for whoever decides again and again."""


def run_learned(
    workload: Workload, cluster: Cluster, scheduler: Scheduler, progress: Callable[[int, int], None] | None = None
) -> Simulation:
    """Returns the simulation of a whole workload under a checkpoint, at its end.

    Args:
        workload: The jobs.
        cluster: The nodes.
        scheduler: Its policy is a checkpoint.
        progress: Called now and then with the number of jobs that have ended, and of all jobs.

    Raises:
        InputError: The checkpoint cannot be used.
    """
    log = Log(workload, cluster)
    whole = Windows.whole(len(workload))
    if not has_fitting_job(log, whole).all():
        # Nobody ever asks the policy.
        simulation = Simulation(workload, cluster, order_alone(scheduler))
        simulation.run()
        return simulation
    ended: list[Simulation] = []
    with open_windows(log, whole, scheduler) as vector:
        network = network_of(_checkpoint(scheduler), vector.options)
        tell = _telling(vector, workload, progress) if progress else None
        play(network, vector, finished=lambda _, simulation: ended.append(simulation), tell=tell)
    return ended[0]


def run_learned_windows(
    workload: Workload, cluster: Cluster, windows: Windows, scheduler: Scheduler, threads: int = 1
) -> WindowResults:
    """Returns what happens in windows under a checkpoint; the result does not depend on the number of threads.

    Args:
        workload: The whole log.
        cluster: The nodes, empty when a window begins.
        windows: From `shunter.model.windows.choose_windows`.
        scheduler: Its policy is a checkpoint.
        threads: How many threads play the windows.

    Raises:
        InputError: The checkpoint cannot be used.
    """
    log = Log(workload, cluster)
    results = WindowResults.unfilled(windows)
    decides = has_fitting_job(log, windows)
    if not decides.all():
        # Where no measured job can ever run there is nothing to measure either: the order's schedule stands there.
        runner, first = WindowRunner(workload, cluster), windows.simulated_first[~decides].tolist()
        _put(results, ~decides, runner.run(order_alone(scheduler), first, windows.simulated_length, threads))
    if not decides.any():
        return results
    places = np.flatnonzero(decides)

    def finished(episode: int, simulation: Simulation) -> None:
        states, basis = simulation.job_states(), simulation.estimates().basis
        held = simulation.held()
        times = (simulation.eligible_ms(), states.start_ms, states.end_ms, held.held_ms, held.lost_ms)
        _put(results, places[episode], WindowResults(*times, states.phase, basis))
        simulation.close()

    chosen = windows.take(decides)
    with open_windows(log, chosen, scheduler, threads) as vector:
        play(network_of(_checkpoint(scheduler), vector.options), vector, finished=finished)
    return results


def decide_learned(snapshot: Snapshot, workload: Workload, cluster: Cluster, scheduler: Scheduler) -> Decision:
    """Returns what a checkpoint decides in the state of a snapshot, always by its best action.

    Args:
        snapshot: What is known.
        workload: The jobs.
        cluster: The nodes.
        scheduler: Its policy is a checkpoint, of either kind.

    Raises:
        InputError: The checkpoint cannot be used here, or the snapshot contradicts itself.
    """
    checkpoint = _checkpoint(scheduler)
    options = checkpoint_options(checkpoint).on_clusters([cluster])
    network = network_of(checkpoint, options)
    simulation = Simulation(workload, cluster, order_alone(scheduler))
    simulation.load(snapshot)

    def choose(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> int:
        return int(best_actions(network, observation[None], mask[None])[0])

    return consult(simulation, workload, options, choose)


def _put(results: WindowResults, rows: NDArray[np.bool_] | np.int64, some: WindowResults) -> None:
    """Writes the results of some windows where they belong."""
    for field in fields(WindowResults):
        getattr(results, field.name)[rows] = getattr(some, field.name)


@contextmanager
def open_windows(log: Log, windows: Windows, scheduler: Scheduler, threads: int = 1) -> Iterator[NativeVectorEnv]:
    """Yields environments in which a checkpoint decides; their episodes are the windows of a log."""
    settings, own = scheduler.settings, checkpoint_options(_checkpoint(scheduler))
    assert isinstance(own, QueueOptions), "a policy that picks hosts is refused when it is resolved"
    options = own.under(settings)
    together = min(len(windows), MOST_TOGETHER)
    vector = log_vector([log], [windows], options, RewardOptions(), num_envs=together, threads=threads, autoreset=False)
    try:
        yield vector
    finally:
        vector.close()


def network_of(checkpoint: Checkpoint, options: EnvironmentOptions) -> Evaluator:
    """Returns the network of a checkpoint: the core's, or where the core does not know it, PyTorch's.

    Args:
        checkpoint: Whose.
        options: From `checkpoint_options`.

    Raises:
        InputError: The checkpoint is damaged, or of another version.
    """
    where = str(checkpoint.file)
    if "layout" not in checkpoint.record:
        raise InputError(f"{where}: has no 'layout'; give a checkpoint that 'shunter train' has written")
    layout = from_table(Layout, checkpoint.record["layout"], f"{where}: layout")
    if "features" in checkpoint.record:
        check_features(checkpoint.record["features"], layout, where)
    # Both are written for people to read; one that was edited alone would shift every feature.
    if options.layout != layout:
        raise InputError(f"{where}: layout and options do not agree; take another copy")
    return _loaded(checkpoint.folder, is_native(checkpoint.record), _stamp(checkpoint))


def _stamp(checkpoint: Checkpoint) -> tuple[tuple[int, int, int], ...]:
    """Returns what changes when a checkpoint is written anew in the same place."""
    files = (path.stat() for path in (checkpoint.file, checkpoint.folder / WEIGHTS_FILE) if path.is_file())
    return tuple((about.st_mtime_ns, about.st_ino, about.st_size) for about in files)


@lru_cache(maxsize=KEPT)
def _loaded(folder: Path, native: bool, _stamp: object) -> Evaluator:
    """Returns the network in a folder; whoever decides again and again does not read it again and again."""
    return NativeNetwork.load(folder) if native else evaluator_loader().load_evaluator(folder)


def checkpoint_options(checkpoint: Checkpoint) -> EnvironmentOptions:
    """Returns the environment in which a checkpoint decides.

    Raises:
        InputError: Its options are wrong.
    """
    with words_of_a_file():
        return environment_from(checkpoint.record["options"], f"{checkpoint.file}: options")


def _checkpoint(scheduler: Scheduler) -> Checkpoint:
    assert isinstance(scheduler.policy, Checkpoint)
    return scheduler.policy


def order_alone(scheduler: Scheduler) -> Scheduler:
    """Returns the schedule's conditions with the policy that sorts the window in the place of the learned one."""
    return scheduler.changed(policy=_checkpoint(scheduler).order)


def _telling(vector: NativeVectorEnv, workload: Workload, progress: Callable[[int, int], None]) -> Callable[[], None]:
    """Returns what tells progress."""
    submit_ms = whole_milliseconds(numbers(workload.jobs["submit_s"]))

    def tell() -> None:
        view = vector.view()
        arrived = int(np.searchsorted(submit_ms, view.now_ms[0], side="right"))
        progress(arrived - int(view.waiting[0] + view.running[0]), len(workload))

    return tell
