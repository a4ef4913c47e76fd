"""A learned policy schedules: a whole workload, or many windows of one together. It always takes its best action."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from shunter.agents.learned_policy import load_policy
from shunter.envs.consultation import consult
from shunter.envs.episodes import has_fitting_job
from shunter.envs.kinds import environment_from
from shunter.envs.pick_job import PickJobOptions, pick_job_vector
from shunter.envs.resets import LEAVE
from shunter.envs.rewards import RewardOptions
from shunter.model.log import Log
from shunter.model.schedule import whole_milliseconds
from shunter.model.windows import Windows
from shunter.policies.checkpoint import Checkpoint
from shunter.policies.trust import words_of_a_file
from shunter.simulation.core_inputs import numbers
from shunter.simulation.simulation import Simulation
from shunter.simulation.windows import WindowResults, WindowRunner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.agents.learned_policy import LearnedPolicy
    from shunter.envs.vector import NativeVectorEnv
    from shunter.model.cluster import Cluster
    from shunter.model.snapshot import Snapshot
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.decision import Decision

MOST_TOGETHER: Final = 64
"""So many windows are played together; the next one begins when one has ended."""
TELL_EVERY: Final = 200
"""After so many decisions progress is told."""

Finished = Callable[[int, Simulation], None]
"""Called with an episode's place and its simulation, which is over; the simulation is the caller's to close."""


@dataclass(frozen=True)
class PlayStep:
    """One step of `play`, before it is taken; the first dimension is that of the environments that decide."""

    rows: NDArray[np.int64]
    """Which environments decide."""
    observations: NDArray[np.float32]
    masks: NDArray[np.bool_]
    actions: NDArray[np.int32]


Seen = Callable[[PlayStep], None]


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
    policy = load_policy(scheduler.settings.policy)
    with open_windows(log, whole, scheduler) as vector:
        watch = _telling(vector, workload, progress) if progress else None
        play(policy, vector, finished=lambda _, simulation: ended.append(simulation), seen=watch)
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
        threads: How many threads step the simulations.

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
        # A learned policy stops nobody.
        held_ms = states.end_ms - states.start_ms
        times = (states.start_ms, states.end_ms, held_ms, np.zeros_like(held_ms))
        _put(results, places[episode], WindowResults(*times, states.phase, basis))
        simulation.close()

    policy = load_policy(scheduler.settings.policy)
    chosen = windows.take(decides)
    with open_windows(log, chosen, scheduler, threads) as vector:
        play(policy, vector, finished=finished)
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
    policy = load_policy(scheduler.settings.policy)
    simulation = Simulation(workload, cluster, order_alone(scheduler))
    simulation.load(snapshot)

    def choose(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> int:
        return int(_decided(policy, observation[None], mask[None])[0])

    with _one_thread():
        return consult(simulation, workload, policy.options, choose)


def _put(results: WindowResults, rows: NDArray[np.bool_] | np.int64, some: WindowResults) -> None:
    """Writes the results of some windows where they belong."""
    for field in fields(WindowResults):
        getattr(results, field.name)[rows] = getattr(some, field.name)


@contextmanager
def open_windows(log: Log, windows: Windows, scheduler: Scheduler, threads: int = 1) -> Iterator[NativeVectorEnv]:
    """Yields environments in which a checkpoint decides; their episodes are the windows of a log."""
    settings = scheduler.settings
    options = replace(
        checkpoint_options(_checkpoint(scheduler)),
        # It may be another than the one that it was trained with, if that is learned too.
        placement=settings.placement,
        max_wait_s=settings.max_wait_s,
        kill_at_request=settings.kill_at_request,
        seed=settings.seed,
    )
    # A network reads many observations in little more time than one.
    together = min(len(windows), MOST_TOGETHER)
    vector = pick_job_vector(
        [log], [windows], options, RewardOptions(), num_envs=together, threads=threads, autoreset=False
    )
    try:
        yield vector
    finally:
        vector.close()


def play(policy: LearnedPolicy, vector: NativeVectorEnv, *, finished: Finished, seen: Seen | None = None) -> None:
    """Plays every episode of environments once, always by the policy's best action.

    Args:
        policy: Who decides.
        vector: Environments that do not begin an episode by themselves; no more than there are episodes.
        finished: Takes what came of an episode.
        seen: Takes what the policy sees and does.
    """
    arrays = vector.step_arrays()
    episodes = np.arange(vector.num_envs, dtype=np.int64)
    begun = vector.num_envs
    counts = np.ones(vector.num_envs, dtype=np.bool_)
    vector.reset_into(arrays.observations, arrays.masks, episodes)
    actions = np.zeros(vector.num_envs, dtype=np.int32)
    with _one_thread():
        while counts.any():
            rows = np.flatnonzero(counts)
            observations, masks = arrays.observations[rows], arrays.masks[rows]
            actions[rows] = _decided(policy, observations, masks)
            if seen is not None:
                seen(PlayStep(rows, observations, masks, actions[rows]))
            vector.step_into(actions, arrays)
            done = arrays.terminated | arrays.truncated
            for row in np.flatnonzero(done):
                if counts[row]:
                    finished(int(episodes[row]), vector.simulation(int(row)))
                # All environments are stepped together: one that has nothing left to do plays on, and counts no more.
                counts[row] = begun < vector.episodes
                episodes[row] = min(begun, vector.episodes - 1)
                begun += 1
            if done.any():
                vector.reset_into(arrays.observations, arrays.masks, np.where(done, episodes, LEAVE))


def _decided(policy: LearnedPolicy, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Returns the best action of each; where only one is allowed, nobody is asked."""
    actions: NDArray[np.int32] = masks.argmax(axis=1).astype(np.int32)
    free = masks.sum(axis=1) > 1
    if free.any():
        actions[free] = policy.actions(observations[free], masks[free])
    return actions


@contextmanager
def _one_thread() -> Iterator[None]:
    """Has PyTorch work in one thread: sums must not depend on the number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def checkpoint_options(checkpoint: Checkpoint) -> PickJobOptions:
    """Returns the environment in which a checkpoint decides.

    Raises:
        InputError: Its options are wrong.
    """
    with words_of_a_file():
        options = environment_from(checkpoint.record["options"], f"{checkpoint.file}: options")
    assert isinstance(options, PickJobOptions), "a policy that picks hosts is refused when it is resolved"
    return options


def _checkpoint(scheduler: Scheduler) -> Checkpoint:
    assert isinstance(scheduler.policy, Checkpoint)
    return scheduler.policy


def order_alone(scheduler: Scheduler) -> Scheduler:
    """Returns the schedule's conditions with the policy that sorts the window in the place of the learned one."""
    return scheduler.changed(policy=_checkpoint(scheduler).order)


def _telling(vector: NativeVectorEnv, workload: Workload, progress: Callable[[int, int], None]) -> Seen:
    """Returns what tells progress now and then."""
    submit_ms = whole_milliseconds(numbers(workload.jobs["submit_s"]))
    decisions = 0

    def tell(_: PlayStep) -> None:
        nonlocal decisions
        decisions += 1
        if decisions % TELL_EVERY == 0:
            view = vector.view()
            arrived = int(np.searchsorted(submit_ms, view.now_ms[0], side="right"))
            progress(arrived - int(view.waiting[0] + view.running[0]), len(workload))

    return tell
