"""Random episodes for the environments: scenes stretched in time, options, rewards and limits."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import assume
from hypothesis import strategies as st

from shunter.model.schedule import RejectReason
from tests.properties.crowds import crowd, crowd_config
from tests.properties.environment_adapter import Play
from tests.properties.strategies import (
    CROWDED,
    ESTIMATES,
    GATED,
    GPUS,
    LEARNED_ESTIMATES,
    MIXED,
    MOVING,
    POOL,
    STANDING,
    Palette,
    Scene,
    random_configs,
    random_scenes,
)
from tests.properties.test_learned_estimates import in_the_past
from tests.reference.environment import Limits
from tests.reference.environment_history import History
from tests.reference.environment_jobs import MODES, PickJobOptions
from tests.reference.environment_lookahead import Lookahead
from tests.reference.environment_rewards import OBJECTIVES, Reward
from tests.reference.model import Config, RefJob
from tests.reference.resources import reject_reason

ORDERS = ["fcfs", "sjf", *GATED, *STANDING, *MOVING]
LOOKAHEADS = ["off", "per_gpu", "sorted", "cdf"]
STRETCHES = [1, 1, 1, 60, 3600, 60_000]
"""By how much times are longer than those of the other property tests: up to two weeks."""
EPOCHS_MS = [0, 0, 0, 1_700_000_123_000]
HOSTS = Palette(
    node_cores_milli=(4000, 2000, 3000),
    node_memory_mb=(8, 4, 6),
    node_gpus=(0,),
    tasks=(1,),
    cores_milli=(1000, 500, 2000, 3000, 0),
    memory_mb=(None, 0, 1, 2, 4),
    gpu_milli=(0,),
)
"""Jobs of one task each."""


def stretched(job: RefJob, first_ms: int, factor: int, epoch_ms: int) -> RefJob:
    """Returns a job with all its times longer, at another date."""
    return replace(
        job,
        submit_ms=(job.submit_ms - first_ms) * factor + first_ms + epoch_ms,
        run_ms=job.run_ms * factor,
        requested_ms=None if job.requested_ms is None else job.requested_ms * factor,
    )


def stretched_scene(scene: Scene, factor: int, epoch_ms: int) -> Scene:
    """Returns a scene with all its times longer, at another date."""
    first_ms = scene.jobs[0].submit_ms
    return replace(scene, jobs=tuple(stretched(job, first_ms, factor, epoch_ms) for job in scene.jobs))


def stretched_config(config: Config, factor: int) -> Config:
    """Returns a configuration with all its times longer."""
    return replace(
        config,
        max_wait_ms=None if config.max_wait_ms is None else config.max_wait_ms * factor,
        missing_request_ms=None if config.missing_request_ms is None else config.missing_request_ms * factor,
    )


def maybe(numbers: list[float]) -> st.SearchStrategy[float | None]:
    """Draws one of the numbers, or nothing."""
    return st.one_of(st.none(), st.sampled_from(numbers))


def by_objective(numbers: list[float]) -> st.SearchStrategy[dict[str, float]]:
    """Draws a number for some objectives."""
    return st.dictionaries(st.sampled_from(OBJECTIVES), st.sampled_from(numbers), min_size=1, max_size=4)


@st.composite
def random_rewards(draw: st.DrawFn, scene: Scene) -> Reward:
    """Draws what is wanted, and a warm-up that leaves a job to measure."""
    fits = [reject_reason(job, scene.nodes) is RejectReason.NONE for job in scene.jobs]
    warmup = draw(st.sampled_from([0, 0, 1, 3]))
    assume(any(fits[warmup:]))
    return Reward(
        weights=draw(by_objective([1.0, 0.3, 2.0])),
        priority=[draw(st.sampled_from([0.0, 0.25, 1.0])) for _ in scene.jobs],
        dense=draw(st.sampled_from([True, True, False])),
        log=draw(st.booleans()),
        scale=draw(st.one_of(st.just({}), by_objective([0.1, 4.0, 300.0]))),
        relative=draw(st.one_of(st.just({}), by_objective([0.5, 7.0, 1000.0]))),
        relative_start_ms=draw(st.one_of(st.just([]), random_starts(scene, fits))),
        wait_bound_s=draw(maybe([0.5, 3.0, 200.0])),
        utilization_bound=draw(maybe([0.1, 0.9])),
        bound_weight=draw(st.sampled_from([1.0, 0.5])),
        invalid_penalty=draw(st.sampled_from([0.0, 0.7])),
        warmup=warmup,
    )


def random_starts(scene: Scene, fits: list[bool]) -> st.SearchStrategy[list[int | None]]:
    """Draws when jobs start under some other policy, which need not exist."""
    count = len(scene.jobs)
    waits_ms = st.lists(st.sampled_from([0, 0, 1, 999, 7_000, 100_000]), min_size=count, max_size=count)

    def starts(waits_ms: list[int]) -> list[int | None]:
        each = zip(scene.jobs, waits_ms, fits, strict=True)
        return [job.submit_ms + wait_ms if fit else None for job, wait_ms, fit in each]

    return waits_ms.map(starts)


def random_limits(factor: int) -> st.SearchStrategy[Limits]:
    """Draws a number of steps, a horizon, both or neither."""
    return st.builds(
        Limits,
        max_steps=st.sampled_from([None, None, None, 1, 4, 9]),
        horizon_ms=st.sampled_from([None, None, None, 0, 5000 * factor, 12_000 * factor]),
    )


@st.composite
def random_plays(
    draw: st.DrawFn,
    modes: list[str] = list(MODES),  # noqa: B006 - never changed
    palettes: tuple[Palette, ...] = (MIXED, MIXED, GPUS, CROWDED, POOL),
    orders: list[str] = ORDERS,
    lookaheads: list[str] = LOOKAHEADS,
) -> Play:
    """Draws an episode of PickJob, sometimes with a past that estimates have learned from."""
    scene, mode = draw(random_scenes(palettes)), draw(st.sampled_from(modes))
    factor, epoch_ms = draw(st.sampled_from(STRETCHES)), draw(st.sampled_from(EPOCHS_MS))
    estimates = ["requested", *ESTIMATES, *LEARNED_ESTIMATES]
    config = draw(random_configs(dispatches=[MODES[mode]], policies=orders, estimates=estimates))
    scene = stretched_scene(scene, factor, epoch_ms)
    before: tuple[RefJob, ...] = ()
    if draw(st.booleans()):
        past = stretched_scene(draw(random_scenes(palettes)), factor, 0)
        before = in_the_past(past, scene.jobs[0].submit_ms, draw(st.sampled_from([0, 9000])), [None, 0, 4000])
    options = PickJobOptions(
        mode=mode,
        window=draw(st.sampled_from([20, 20, 1, 2, 4])),
        lookahead=Lookahead(draw(st.sampled_from(lookaheads)), draw(st.sampled_from([16, 1, 2, 3, 5]))),
    )
    return Play(
        scene,
        stretched_config(config, factor),
        draw(random_rewards(scene)),
        options,
        draw(random_limits(factor)),
        before,
        autoreset=draw(st.booleans()),
    )


def with_failures(play: Play, random: Random) -> Play:
    """Returns the same episode on nodes that fail now and then, with what a start after a stop costs."""
    longest_ms = max(max(job.run_ms for job in play.scene.jobs), 1000)
    config = replace(
        play.config,
        mtbf_ms=longest_ms * random.choice([2, 4, 8]),
        mttr_ms=max(longest_ms * random.choice([1, 2, 8]) // 8, 1),
        failure_keeps_progress=random.random() < 0.5,
        preemption_overhead_ms=random.choice([0, longest_ms // 7]),
    )
    return replace(play, config=config)


def with_history(play: Play, random: Random) -> Play:
    """Returns the same episode, in which the recent past is told of."""
    assert play.options is not None
    longest_ms = max(job.run_ms for job in play.scene.jobs) + 1
    history = History(random.choice([1, 2, 5]), random.choice([1, longest_ms // 3 + 1, longest_ms, 7 * longest_ms]))
    return replace(play, options=replace(play.options, history=history))


def with_stops(play: Play, random: Random) -> Play:
    """Returns the same episode, in which running jobs may be stopped, and what that costs."""
    assert play.options is not None
    longest_ms = max(job.run_ms for job in play.scene.jobs) + 1
    config = replace(
        play.config,
        keep_progress=random.random() < 0.7,
        preemption_overhead_ms=random.choice([0, longest_ms // 9]),
        minimum_run_ms=random.choice([0, 0, longest_ms // 5]),
    )
    # Few steps: whoever stops and starts at random gets nowhere.
    limits = replace(play.limits, max_steps=min(play.limits.max_steps or 60, 60))
    options = replace(play.options, stops=random.choice([1, 2, 20]))
    return replace(play, config=config, options=options, limits=limits)


def crowd_play(random: Random, mode: str, lookahead: str | None = None) -> Play:
    """Returns an episode of PickJob with a full queue, in which reservations, gates and the guard act often."""
    scene, factor = crowd(random), random.choice(STRETCHES)
    config = replace(
        crowd_config(random, MODES[mode]),
        policy=random.choice([*ORDERS, *[gated_linear(random)] * len(ORDERS)]),
        estimate=random.choice(["requested", "requested", *ESTIMATES]),
        reserve_by=random.choice(["requested", "estimate"]),
        kill_at_request=random.random() < 0.3,
        max_wait_ms=random.choice([None, None, 0, 3000, 6000, 9000]),
        scan_depth=random.choice([1000, 1000, 4, 2]),
    )
    if random.random() < 0.3:
        scene = of_one_kind(scene)
    scene = stretched_scene(scene, factor, random.choice(EPOCHS_MS))
    options = PickJobOptions(
        mode=mode,
        window=random.choice([20, 20, 3, 1]),
        lookahead=Lookahead(lookahead or random.choice(LOOKAHEADS), random.choice([16, 1, 3, 7])),
    )
    limits = Limits(random.choice([None, None, 20]), random.choice([None, None, 9000 * factor]))
    reward = crowd_reward(random, len(scene.jobs))
    return Play(scene, stretched_config(config, factor), reward, options, limits, autoreset=random.random() < 0.3)


def of_one_kind(scene: Scene) -> Scene:
    """Returns the scene with jobs of one user, who asks for few different things, so that much is learned."""
    jobs = [replace(job, user="ann", requested_ms=9000, tasks=min(job.tasks, 2)) for job in scene.jobs]
    return replace(scene, jobs=tuple(jobs))


def gated_linear(random: Random) -> str:
    """Returns a linear policy with a threshold and a gate that act in small scenes."""
    choices: dict[str, list[float | str]] = {
        "estimate": [1, -0.5, 0.31, 0],
        "size": [0, 1, -0.7],
        "wait": [0, 360, 2000],
        "wait_ratio": [0, 0.25, -0.1],
        "free_estimate": [0, 0.8],
        "queue_size": [0, 30],
        "reserve_below": ["inf", 0, -2, -5, -9, -11],
        "hold_share": [0, 0.1, 0.4],
        "hold_from_s": [0.5, 2, 6],
        "hold_patience_s": ["inf", 0, 4, 10],
    }
    return "linear?" + "&".join(f"{name}={random.choice(values)}" for name, values in choices.items())


def crowd_reward(random: Random, jobs: int) -> Reward:
    """Returns what is wanted, often several things at once."""

    def some(numbers: list[float], least: int) -> dict[str, float]:
        return {name: random.choice(numbers) for name in random.sample(OBJECTIVES, random.randint(least, 4))}

    return Reward(
        weights=some([1.0, 0.3], 1),
        priority=[random.choice([0.0, 0.25, 1.0]) for _ in range(jobs)],
        dense=random.random() < 0.8,
        log=random.random() < 0.3,
        scale=some([0.1, 4.0, 300.0], 0),
        relative=some([0.5, 7.0, 1000.0], 0),
        wait_bound_s=random.choice([None, 0.5, 2.0, 200.0]),
        utilization_bound=random.choice([None, 0.9]),
        bound_weight=0.5,
        invalid_penalty=random.choice([0.0, 0.7]),
        warmup=random.choice([0, 0, 1, 3]),
    )


@st.composite
def random_host_plays(draw: st.DrawFn) -> Play:
    """Draws an episode of PickHost, often with jobs of several tasks, and with GPUs."""
    scene = draw(random_scenes((HOSTS, MIXED, GPUS, CROWDED)))
    config = Config(kill_at_request=draw(st.booleans()))
    return Play(scene, config, draw(random_rewards(scene)), None, draw(random_limits(1)), autoreset=draw(st.booleans()))
