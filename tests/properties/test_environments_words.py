"""Environments as a user asks for them: scales, bounds and horizons come from the policies and jobs that they name."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from shunter.envs import NativeVectorEnv, PickJobOptions, RewardOptions, pick_job_vector
from shunter.model.log import Log
from shunter.model.windows import Windows
from tests.properties.core_adapter import cluster_of, workload_of
from tests.properties.environment_adapter import Play, reference_environment
from tests.properties.environment_checks import check_reward, check_seen, check_totals, random_action
from tests.properties.environment_strategies import crowd_play
from tests.properties.strategies import Scene
from tests.reference.committed import run_committed
from tests.reference.environment import Limits
from tests.reference.environment_jobs import MODES
from tests.reference.environment_rewards import OBJECTIVES, Reward, objectives
from tests.reference.model import Config, Result
from tests.reference.simulator import run_instants
from tests.reference.sizes import sizes_of
from tests.reference.state import State
from tests.simulation.driving import settings_of

POLICIES = ["fcfs/easy", "sjf/greedy", "wfp3/committed", "saf/strict"]
LENGTH, WARMUP = 4, 1


def random_words(random: Random) -> RewardOptions:
    """Returns what is wanted, in words."""
    bounds = {name: random.choice([0.5, 1.1]) for name in ("wait", "utilization") if random.random() < 0.5}
    return RewardOptions(
        reward={name: random.choice([1.0, 0.3]) for name in random.sample(OBJECTIVES, random.randint(1, 4))},
        timing=random.choice(["dense", "final"]),
        log=random.random() < 0.5,
        scale=random.choice(POLICIES),
        relative_to=random.choice([None, *POLICIES]),
        bounds=bounds,
        bound_weight=0.5,
        invalid_penalty=random.choice([0.0, 0.7]),
    )


def reached(play: Play, policy: str) -> State:
    """Returns what a policy such as ``fcfs/easy`` does with the jobs of an episode."""
    name, dispatch = policy.split("/")
    jobs, config = play.scene.jobs, replace(play.config, policy=name, dispatch=dispatch)
    state = State(jobs, play.scene.nodes, config, Result.blank(len(jobs)), jobs[0].submit_ms, play.before)
    if dispatch.startswith("committed"):
        run_committed(state, backfill=False)
    else:
        run_instants(state)
    return state


def in_numbers(play: Play, words: RewardOptions, priority: list[float]) -> Reward:
    """Returns what the words mean for one episode."""
    log = words.log is True
    plain = Reward(words.weights, priority, words.timing == "dense", log, warmup=WARMUP)
    begin_ms = play.scene.jobs[0].submit_ms
    usual = reached(play, words.scale)
    scale = objectives(usual, begin_ms, plain, log)
    other = reached(play, words.relative_to) if words.relative_to else None
    bounds = {
        name: factor * objectives(usual, begin_ms, plain, log=False)[name] for name, factor in words.bounds.items()
    }
    return replace(
        plain,
        scale={name: value if value > 0 else 1.0 for name, value in scale.items()},
        relative=objectives(other, begin_ms, plain, log) if other else {},
        relative_start_ms=other.result.start_ms if other else [],
        wait_bound_s=bounds.get("wait"),
        utilization_bound=bounds.get("utilization"),
        bound_weight=words.bound_weight,
        invalid_penalty=words.invalid_penalty,
    )


def scaled_priorities(scene: Scene) -> list[float]:
    """Returns the jobs' priorities over their range; nothing where the log has none."""
    known = [job.priority for job in scene.jobs if job.priority is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    return [0.0 if job.priority is None or low == high else (job.priority - low) / (high - low) for job in scene.jobs]


def horizon_ms(scene: Scene, factor: float) -> int:
    """Returns so many times the span of submits and the time that the jobs take at full use."""
    area = sum(job.run_ms * job.total_cores_milli for job in scene.jobs)
    span_ms = scene.jobs[-1].submit_ms - scene.jobs[0].submit_ms
    return round(factor * (span_ms + area / sum(node.cores_milli for node in scene.nodes)))


def episode_of(play: Play, first: int, words: RewardOptions, factor: float | None) -> Play:
    """Returns the episode whose first measured job has this place in the log."""
    jobs, begin = play.scene.jobs, first - WARMUP
    scene = replace(play.scene, jobs=jobs[begin : first + LENGTH])
    limits = Limits(horizon_ms=None if factor is None else horizon_ms(scene, factor))
    # The whole log decides what sizes are counted in, not the episode.
    config = replace(play.config, size_by=sizes_of(play.config.size_by, jobs, play.scene.nodes, False, "").by)
    episode = replace(play, scene=scene, config=config, limits=limits, before=jobs[:begin], autoreset=False)
    return replace(episode, reward=in_numbers(episode, words, scaled_priorities(play.scene)[begin : first + LENGTH]))


def options_of(play: Play) -> PickJobOptions:
    """Returns what kind of environment it is, in words."""
    assert play.options is not None
    settings = settings_of(play.config).settings
    return PickJobOptions(
        mode=play.options.mode,
        order=settings.policy,
        window=play.options.window,
        lookahead=play.options.lookahead.kind,
        lookahead_size=play.options.lookahead.size,
        placement=None if settings.policy == "first-available" else settings.placement,
        estimate=settings.estimate,
        missing_request=settings.missing_request,
        reserve_by=settings.reserve_by,
        kill_at_request=settings.kill_at_request,
        max_wait_s=settings.max_wait_s,
        size_by=settings.size_by,
        scan_depth=settings.scan_depth,
        seed=settings.seed,
    )


def check_vector(vector: NativeVectorEnv, plays: list[Play], random: Random) -> None:
    """Drives the environments of a vector, one after the other, as the reference environments."""
    arrays = vector.step_arrays()
    for index, play in enumerate(plays):
        vector.reset_into(arrays.observations, arrays.masks, np.arange(vector.num_envs))
        reference, over = reference_environment(play), False
        check_seen(play, arrays.observations[index], arrays.masks[index].view(np.uint8), reference.seen)
        while not over:
            action = random_action(random, reference.seen.mask, carelessness=0.1)
            # The others begin anew, so that they are never over.
            others = np.arange(vector.num_envs)
            others[index] = -1
            vector.reset_into(arrays.observations, arrays.masks, others)
            vector.step_into(np.full(vector.num_envs, action, dtype=np.int32), arrays)
            step = reference.step(action)
            check_reward(play, arrays.rewards[index], step)
            check_seen(play, arrays.observations[index], arrays.masks[index].view(np.uint8), step.seen)
            assert (arrays.terminated[index], arrays.truncated[index]) == (step.terminated, step.truncated)
            over = step.terminated or step.truncated
        check_totals(play, arrays.totals[index], step)


def plain_config(config: Config) -> Config:
    """Returns a configuration under which every policy of `POLICIES` can run."""
    return replace(config, policy="sjf" if config.policy == "first-available" else config.policy)


@pytest.mark.every(4)
@pytest.mark.parametrize("mode", MODES)
def test_words(mode: str) -> None:
    random = Random(f"words {mode}")
    for _ in range(8):
        play, words = crowd_play(random, mode), random_words(random)
        play = replace(play, config=plain_config(play.config))
        # Of a cluster with GPUs, the document leaves open which capacity counts.
        has_gpus = any(node.gpus for node in play.scene.nodes)
        factor = None if has_gpus else random.choice([None, 0.4, 0.8])
        firsts = random.sample(range(WARMUP, len(play.scene.jobs) - LENGTH + 1), 2)
        log = Log(workload_of(play.scene.jobs), cluster_of(play.scene.nodes))
        windows = Windows(np.array(firsts, dtype=np.uintp), np.zeros(2, dtype=np.int64), LENGTH, WARMUP)
        vector = pick_job_vector(
            [log], [windows], options_of(play), words, num_envs=2, autoreset=False, horizon_factor=factor
        )
        check_vector(vector, [episode_of(play, first, words, factor) for first in firsts], random)
        vector.close()
