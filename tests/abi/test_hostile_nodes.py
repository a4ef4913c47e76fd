"""Nodes of any kind, that fail at any time, and placers that say anything: refused with an error, or gone on with."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.errors import InputError
from shunter.native import CoreError, Handle
from tests.abi import opening, scene
from tests.abi.hostile import HOSTILE, JOBS, NODE_EVENTS, POLICIES, TIMES, failing, open_scene
from tests.abi.opening import EXTERNAL, LEARNED, Answer, Config, open_policy
from tests.abi.scene import Scene

NODES = 2
MOST_TIME_MS = 10**15

# ---- node events ----

EVENTS = st.lists(st.tuples(TIMES, st.integers(0, NODES) | st.just(2**32 - 1), st.integers(0, 1)), max_size=8)
NEAR_EVENTS = st.lists(st.tuples(st.integers(-50, 9000), st.integers(0, NODES - 1), st.integers(0, 1)), max_size=10)
RULES = [
    {"dispatch": opening.STRICT},
    *({"dispatch": opening.RESERVE, "reservation_depth": depth} for depth in (0, 1, 2, 2**32 - 1)),
    {"dispatch": opening.COMMITTED},
    {"dispatch": opening.COMMITTED_BACKFILL},
    {"policy": POLICIES["srtf"], "reservation_depth": 0},
    {"policy": POLICIES["las"], "reservation_depth": 0},
    {"policy": POLICIES["unicef"]},
]


@HOSTILE
@given(st.booleans().flatmap(lambda rising: EVENTS.map(sorted) if rising else EVENTS))
def test_node_events_are_in_order_and_of_nodes_that_there_are(events: list[tuple[int, int, int]]) -> None:
    times = [time_ms for time_ms, _, _ in events]
    in_order = times == sorted(times) and all(abs(time_ms) <= MOST_TIME_MS for time_ms in times)
    if in_order and all(node < NODES for _, node, _ in events):
        simulation = open_scene(Config((), (), events))
        simulation.restore(simulation.serialize())
    else:
        with pytest.raises(InputError, match="node"):
            open_scene(Config((), (), events))


@HOSTILE
@given(
    events=NEAR_EVENTS.map(sorted),
    rule=st.sampled_from(RULES),
    keeps=st.integers(0, 1),
    overhead_ms=st.sampled_from([0, 25]),
)
def test_whatever_fails_and_stays_away_the_rest_ends(
    events: list[tuple[int, int, int]], rule: dict[str, int], keeps: int, overhead_ms: int
) -> None:
    changes = {**rule, "failure_keeps_progress": keeps, "preemption_overhead_ms": overhead_ms}
    simulation = open_scene(Config((), (), events, **changes))
    assert simulation.run()
    status, states, stops = simulation.status(), simulation.states(), simulation.stops()
    finally_up = {node: bool(is_up) for _, node, is_up in events}
    assert status["running"] == 0
    assert status["ended"] + status["waiting"] == JOBS
    assert status["waiting"] == 0 or not all(finally_up.values()), "a job waits only if a node stays away"
    assert status["free_cores_milli"] == 5000
    assert states["phase"].count(scene.WAITING) == status["waiting"]
    assert sum(states["failures"]) == sum(stop.by_failure for stop in stops)
    downs = {(time_ms, node) for time_ms, node, is_up in events if not is_up}
    for stop in stops:
        failed = any((stop.end_ms, node) in downs for node, _ in stop.nodes)
        assert bool(stop.by_failure) <= failed, "a job fails with one of its nodes"


def test_mean_times_to_failure_are_given_together_and_above_zero() -> None:
    for mtbf_ms, mttr_ms in ((0, 1), (1, 0), (-2, 1), (1, -2), (10**12 + 1, 1)):
        with pytest.raises(InputError, match="mtbf_ms"):
            open_scene(Config(mtbf_ms=mtbf_ms, mttr_ms=mttr_ms))


# ---- snapshots of a cluster whose nodes fail ----


def test_the_clock_never_goes_back_after_a_snapshot_though_nodes_have_failed_before() -> None:
    simulation = open_scene(Config((), (), NODE_EVENTS))
    simulation.load(1500, [scene.WAITING, scene.WAITING, scene.REJECTED, scene.FUTURE, scene.FUTURE])
    while simulation.advance():
        assert simulation.status()["now_ms"] >= 1500
        simulation.dispatch()
    assert simulation.status()["ended"] == JOBS


# ---- nodes ----

RIGHT_NODES: dict[str, Any] = {
    "gpus": [1, 2, 2],
    "gpu_type": [0, 1, 1],
    "speed_milli": [1000, 400, 2500],
    "rack": [0, 0, 1],
    "switch": [-1, 0, 0],
}
LIMITS = {
    "gpus": (0, 2**24),
    "gpu_type": (-1, 61),
    "speed_milli": (1, 10**6),
    "rack": (-1, 2**32 - 1),
    "switch": (-1, 2**32 - 1),
}
COLUMN_VALUES = st.integers(-3, 70) | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([10**6, 10**6 + 1, 2**32 - 1])


@HOSTILE
@given(
    column=st.sampled_from(sorted(LIMITS)),
    place=st.integers(0, 2),
    value=COLUMN_VALUES,
    mix=st.integers(0, 1),
    placement=st.integers(0, 12),
    masks=st.lists(st.integers(0, 3) | st.integers(0, 2**63 - 1), min_size=4, max_size=4),
)
def test_nodes_are_refused_or_used(
    column: str, place: int, value: int, mix: int, placement: int, masks: list[int]
) -> None:
    columns = {name: list(values) for name, values in RIGHT_NODES.items()}
    columns[column][place] = value
    least, most = LIMITS[column]
    if not least <= value <= most:
        with pytest.raises(InputError, match=f"node {place}: {column}"):
            opening.open_cluster([4000, 4000, 4000], mix=mix, **columns)
        return
    cluster = opening.open_cluster([4000, 4000, 4000], mix=mix, **columns)
    jobs = opening.open_jobs(
        [0, 0, 5, 9],
        [100, 70, 0, 500],
        [100, 500, 0, 1000],
        tasks=[2, 3, 1, 4],
        gpu_milli=[1000, 500, 2000, 1000],
        gpu_types=masks,
    )
    simulation = Scene(cluster, jobs, 4, Config(placement=placement))
    assert simulation.run()
    states = simulation.states()
    assert simulation.status()["ended"] == 4
    for phase, reason, mask in zip(states["phase"], states["reject_reason"], masks, strict=True):
        assert phase in (scene.COMPLETED, scene.REJECTED)
        assert (phase == scene.REJECTED) == (reason > 0)
        known = any(kind >= 0 and mask >> kind & 1 for kind in columns["gpu_type"])
        assert (reason == 6) == (mask > 0 and not known), "no such type of GPU"


def test_a_table_has_no_types_below_zero() -> None:
    with pytest.raises(InputError, match="gpu_types"):
        opening.open_jobs([0], [1], [1000], gpu_milli=[1000], gpu_types=[-1])


# ---- kinds ----

MICRO = st.sampled_from([0, 1000, 10**6, 10**9]) | st.integers(-2, 2000) | st.integers(-(2**63), 2**63 - 1)


@HOSTILE
@given(
    table=st.lists(st.lists(MICRO, min_size=2, max_size=2), min_size=1, max_size=3),
    kinds=st.lists(st.integers(-1, 2) | st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4),
)
def test_kinds_are_refused_or_used(table: list[list[int]], kinds: list[int]) -> None:
    def open_cluster() -> Handle:
        return opening.open_cluster([4000] * 3, gpus=[1, 2, 2], gpu_type=[0, 1, 1], kind_micro=table)

    def open_jobs() -> Handle:
        return opening.open_jobs([0, 0, 5, 9], [100, 70, 0, 500], [0] * 4, gpu_milli=[1000, 500, 2000, 0], kind=kinds)

    if any(speed and not 1000 <= speed <= 10**9 for row in table for speed in row):
        with pytest.raises(InputError, match="its speed on type"):
            open_cluster()
        return
    cluster = open_cluster()
    if any(not -1 <= kind < 2**31 for kind in kinds):
        with pytest.raises(InputError, match="kind is"):
            open_jobs()
        return
    jobs = open_jobs()
    # The kind of a job without GPUs plays no part.
    if any(kind >= len(table) for kind in kinds[:3]):
        with pytest.raises(InputError, match="is not in the cluster's table"):
            Scene(cluster, jobs, 4, Config())
        return
    simulation = Scene(cluster, jobs, 4, Config())
    assert simulation.run()
    runs = [kind < 0 or any(table[kind]) for kind in kinds[:3]]
    runs[2] = kinds[2] < 0 or table[kinds[2]][1] > 0
    rejected = [phase == scene.REJECTED for phase in simulation.states()["phase"]]
    assert rejected == [*(not one for one in runs), False]


def test_kinds_need_types_that_their_table_knows() -> None:
    with pytest.raises(InputError, match="node 1: kinds have no speed on GPUs of its type"):
        opening.open_cluster([1000] * 2, gpus=[1, 1], gpu_type=[0, 1], kind_micro=[[10**6]])
    with pytest.raises(InputError, match="node 0: kinds have no speed"):
        opening.open_cluster([1000], gpus=[1], kind_micro=[[10**6]])
    with pytest.raises(InputError, match="too many"):
        opening.open_cluster([1000], gpus=[1], gpu_type=[0], kind_micro=[[10**6] * 63])


# ---- placers ----

UINT32 = st.integers(0, 4) | st.just(2**32 - 1)
ANSWERS = st.lists(st.tuples(UINT32, UINT32), max_size=3)


@HOSTILE
@given(answers=st.lists(ANSWERS, max_size=12), rule=st.sampled_from(RULES), fails=st.booleans())
def test_any_answers_of_a_placer_leave_a_sound_state(answers: list[Answer], rule: dict[str, int], fails: bool) -> None:
    told: list[tuple[int, list[int]]] = []

    def place(asked: Any) -> Answer:  # noqa: ANN401 - the core's scene
        told.append((asked.job, [asked.capacity[node] for node in range(asked.nodes)]))
        return answers[len(told) - 1] if len(told) <= len(answers) else [(0, asked.tasks)]

    changes = {"placement": EXTERNAL, **rule}
    config = Config((), (), NODE_EVENTS if fails else (), place, **changes)
    simulation = open_scene(config)
    for _ in range(200):
        if simulation.run(1):
            break
        status, phases = simulation.status(), simulation.states()["phase"]
        assert (status["waiting"], status["running"]) == (phases.count(scene.WAITING), phases.count(scene.RUNNING))
        assert 0 <= status["free_cores_milli"] <= 5000
    else:
        pytest.fail("a placer that declines kept the simulation from its end")
    assert simulation.status()["running"] == 0
    assert all(job < JOBS and len(capacity) == NODES for job, capacity in told)


def test_an_external_placement_needs_a_placer() -> None:
    with pytest.raises(InputError, match="placer is null"):
        open_scene(Config(placement=EXTERNAL))


def test_a_learned_placement_needs_a_policy_that_chooses_hosts() -> None:
    with pytest.raises(InputError, match="host_policy is 0"):
        open_scene(Config(placement=LEARNED))
    jobs = open_policy("pick-job")
    with pytest.raises(InputError, match="the policy chooses jobs"):
        open_scene(Config(placement=LEARNED, host_policy=jobs.number))
    hosts = open_policy("pick-host")
    simulation = open_scene(Config(placement=LEARNED, host_policy=hosts.number))
    # It has been copied.
    hosts.close()
    assert simulation.run()
    with pytest.raises(CoreError, match="is not open"):
        open_scene(Config(placement=LEARNED, host_policy=hosts.number))


def test_a_placer_is_not_asked_for_a_placement_that_the_core_knows() -> None:
    simulation = open_scene(Config((), (), (), lambda _: pytest.fail("asked")))
    assert simulation.run()


@pytest.mark.parametrize("policy", ["srtf", "las"])
def test_two_starving_jobs_do_not_stop_each_other_for_ever(policy: str) -> None:
    jobs = opening.open_jobs([0, 0], [1000, 1000], [1000, 1000])
    changes = {"policy": POLICIES[policy], "reservation_depth": 0, "keep_progress": 0}
    config = Config(max_wait_ms=700, minimum_run_ms=150, **changes)
    assert Scene(opening.open_cluster([1000]), jobs, 2, config).run(1000)


@pytest.mark.parametrize("dispatch", [opening.COMMITTED, opening.COMMITTED_BACKFILL])
@pytest.mark.parametrize("policy", ["srtf", "las"])
def test_policies_that_stop_jobs_commit_none(policy: str, dispatch: int) -> None:
    with pytest.raises(InputError, match="stops running jobs, and commits none"):
        open_scene(Config(policy=POLICIES[policy], dispatch=dispatch))


@pytest.mark.parametrize("decisions", range(6))
def test_a_copy_fails_as_the_first_does(decisions: int) -> None:
    simulation, other = open_scene(failing()), open_scene(failing())
    simulation.run(decisions)
    other.run(decisions)
    assert simulation.run()
    assert other.run()
    assert simulation.states() == other.states()
