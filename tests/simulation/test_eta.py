"""Predicted start times: the same question has the same answer, and what is sure is told as sure."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from shunter.errors import InputError
from shunter.model.schedule import Phase
from shunter.model.state import SCHEMA, State
from shunter.model.workload import Workload
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.simulation import Simulation
from shunter.simulation.asked_job import AskedJob
from shunter.simulation.eta import StartTimes, eta, eta_of, state_at, with_job
from shunter.simulation.foresight import Foresight, foresee
from shunter.workloads.reading import read_log

LOG = "generate:lublin?seed=7&jobs=900&cores=64&load=1.2"
FEW = Foresight(futures=12)


def crowded(policy: str = "fcfs", dispatch: str = "easy", **more: Any) -> tuple[State, Scheduler]:  # noqa: ANN401
    """Returns a state in which many wait."""
    log = read_log(LOG)
    scheduler = resolve_scheduler(policy=policy, dispatch=dispatch, **more)
    return state_at(log.workload, log.cluster, scheduler, float(log.workload.jobs["submit_s"][700])), scheduler


def loaded(state: State, scheduler: Scheduler) -> Simulation:
    """Returns a simulation in a state."""
    simulation = Simulation(state.workload, state.cluster, scheduler)
    simulation.load(state.snapshot)
    return simulation


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("policy", "more"),
    [("fcfs", {}), ("sjf", {"estimate": "posterior"}), ("fair-share", {}), ("multifactor", {}), ("priority", {})],
)
def test_the_number_of_threads_and_of_others_changes_nothing(policy: str, more: dict[str, Any]) -> None:
    state, scheduler = crowded(policy, **more)
    simulation = loaded(state, scheduler)
    waiting = simulation.waiting()
    assert len(waiting) > 5
    alone = foresee(simulation, waiting, FEW, threads=1)
    assert (foresee(simulation, waiting, FEW, threads=3) == alone).all()
    # A future is the same whatever futures are beside it, and whoever is asked about.
    more_futures = foresee(simulation, waiting, replace(FEW, futures=20), threads=2)
    assert (more_futures[:12] == alone).all()
    assert (foresee(simulation, waiting[:1], FEW)[:, 0] == alone[:, 0]).all()
    assert (foresee(simulation, waiting, replace(FEW, seed=1)) != alone).any()


def test_the_first_that_fits_starts_now_in_all_futures() -> None:
    log = read_log(LOG)
    scheduler = resolve_scheduler(policy="fcfs", dispatch="easy")
    state = state_at(log.workload, log.cluster, scheduler, float(log.workload.jobs["submit_s"][0]))
    found = eta_of(state, scheduler, foresight=FEW)
    assert found.waiting.job_ids == (1,)
    assert (found.waiting.wait_s == 0).all()
    assert found.waiting.of(0) == {
        "job_id": 1,
        **dict.fromkeys(("low_s", "median_s", "high_s"), 0.0),
        **dict.fromkeys(("within_hour", "within_day"), 1.0),
        "beyond_horizon": 0.0,
    }


def test_a_job_that_is_not_submitted_changes_no_draw_of_others() -> None:
    """Strictly first come, first served, nobody sees those behind: then starts are the same to the millisecond."""
    state, scheduler = crowded(dispatch="strict")
    waiting = loaded(state, scheduler).waiting()
    before = foresee(loaded(state, scheduler), waiting, FEW)
    # A name that sorts before all others: users are told apart, but not by their place among the names.
    grown = with_job(state, AskedJob(time_s=3600, cores=8, user="!first"))
    assert (foresee(loaded(grown, scheduler), waiting, FEW) == before).all()


def test_asking_for_less_is_paired() -> None:
    state, scheduler = crowded()
    job = AskedJob(time_s=7200, cores=32)
    found = eta_of(state, scheduler, new=job, foresight=FEW)
    assert found.new is not None
    assert list(found.instead or {}) == ["time / 2", "time / 4", "size / 2", "size / 4"]
    for name, (other, times) in (found.instead or {}).items():
        assert times.wait_s.shape == (12, 1), name
        # The same job asked about alone has the same futures.
        again = eta_of(state, scheduler, new=other, foresight=FEW)
        assert again.new is not None
        assert (again.new.wait_s == times.wait_s).all()
    told = found.to_json()
    assert told["new"]["cores"] == 32
    assert [one["change"] for one in told["instead"]] == list(found.instead or {})


def test_a_state_survives_json() -> None:
    for policy, dispatch in (("fcfs", "conservative"), ("srtf", "greedy")):
        state, scheduler = crowded(policy, dispatch)
        again = State.from_json(state.to_json())
        arrays, copies = state.snapshot.arrays(), again.snapshot.arrays()
        # Times of jobs that have not come so far say nothing.
        matters = {
            "start_ms": np.isin(state.snapshot.phase, (Phase.RUNNING, Phase.COMPLETED)),
            "end_ms": state.snapshot.phase == Phase.COMPLETED,
        }
        for name, array in arrays.items():
            same = array == copies[name]
            assert same[matters.get(name, slice(None))].all(), name
        waiting = loaded(state, scheduler).waiting()
        assert (
            foresee(loaded(again, scheduler), waiting, FEW) == foresee(loaded(state, scheduler), waiting, FEW)
        ).all()
        assert eta(again, foresight=FEW).scheduler.settings.policy == policy


def test_a_state_tells_no_run_time_of_those_who_have_not_ended() -> None:
    state, _ = crowded()
    told = json.loads(state.to_json())["jobs"]
    assert {job["state"] for job in told if "run_s" in job} == {"completed"}
    assert {"running", "waiting"} <= {job["state"] for job in told}


def test_beyond_the_horizon() -> None:
    state, scheduler = crowded()
    found = eta_of(state, scheduler, foresight=replace(FEW, horizon_days=0.05))
    assert (found.waiting.censored > 0).any()
    last = found.waiting.of(int(np.argmax(found.waiting.censored)))
    assert last["high_s"] is None
    assert found.waiting.wait_s[np.isfinite(found.waiting.wait_s)].max() <= 0.05 * 86_400


def test_quantiles_by_hand() -> None:
    waits = np.array([[10.0 * number, np.inf if number > 8 else 1.0] for number in range(10, 0, -1)])
    times = StartTimes(0.0, (1, 2), waits, 100.0)
    assert (times.low_s[0], times.median_s[0], times.high_s[0]) == (10.0, 50.0, 90.0)
    assert (times.low_s[1], times.median_s[1], times.high_s[1]) == (1.0, 1.0, np.inf)
    assert times.within(35.0).tolist() == [0.3, 0.8]
    assert times.censored.tolist() == [0.0, 0.2]


def alike(runs_s: list[float], running_since_s: float) -> Workload:
    """Returns jobs of one user on one core, one after the other, then one that runs, and one that waits for it."""
    rows = [{"submit_s": 1000.0 * number, "run_s": run_s} for number, run_s in enumerate(runs_s)]
    last_s = 1000.0 * len(runs_s)
    rows += [{"submit_s": last_s, "run_s": 1e6}, {"submit_s": last_s + running_since_s, "run_s": 1.0}]
    frame = pl.DataFrame(rows).with_columns(requested_s=pl.lit(1000.0), user=pl.lit("a"))
    return Workload.from_frame(frame, name="alike")


def test_run_times_are_learned_given_the_time_already_run() -> None:
    scheduler = resolve_scheduler(policy="fcfs", dispatch="easy")
    cluster = read_log(LOG, 1).cluster
    asked = Foresight(futures=400, arrivals="nobody")

    def waits(running_since_s: float) -> Any:  # noqa: ANN401 - an array
        workload = alike([100.0, 900.0] * 60, running_since_s)
        state = state_at(workload, cluster, scheduler, float(workload.jobs["submit_s"][-1]))
        return eta_of(state, scheduler, foresight=asked).waiting.wait_s[:, 0]

    young, old = waits(1.0), waits(400.0)
    # Half of such jobs end after 100 s, the others after 900; who has run for 400 s is one of the others.
    assert 0.35 < (young < 130).mean() < 0.65
    assert (old < 300).mean() < 0.1
    assert 440 < np.median(old) < 560


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "shunter.state/9"}, "schema is 'shunter.state/9'; this version reads"),
        ({"jobs": {}}, "jobs is not a list of objects"),
        ({"now_s": "noon"}, "now_s is 'noon'"),
        ({"cluster": 7}, "cluster is not text"),
        ({"extra": 1}, "unknown field 'extra'"),
        ({"down": [9]}, "down is 9; expected a whole number from 0 to 0"),
        ({"jobs": [{"submit_s": 0, "state": "asleep"}]}, "job 1: unknown state 'asleep'"),
        ({"jobs": [{"submit_s": 0, "state": "waiting", "colour": 1}]}, "job 1: unknown field 'colour'"),
        ({"jobs": [{"state": "waiting"}]}, "job 1: submit_s is None"),
        ({"jobs": [{"submit_s": 0, "state": "running", "placed": [1]}]}, "placed is not a list of pairs"),
    ],
)
def test_a_wrong_state_is_refused(change: dict[str, Any], message: str) -> None:
    state = {"schema": SCHEMA, "now_s": 5, "cluster": "8", "jobs": [{"submit_s": 0, "state": "waiting"}]}
    State.from_json(json.dumps(state))
    with pytest.raises(InputError, match=message):
        State.from_json(json.dumps(state | change))


def test_a_state_by_hand() -> None:
    jobs = [
        {"submit_s": 0, "state": "completed", "start_s": 0, "end_s": 50, "requested_s": 100, "tasks": 4},
        {"submit_s": 60, "state": "running", "start_s": 60, "requested_s": 100, "tasks": 8, "placed": [[0, 8]]},
        {"submit_s": 70, "state": "waiting", "requested_s": 100, "tasks": 2},
    ]
    text = json.dumps({"schema": SCHEMA, "now_s": 80, "cluster": "8", "jobs": jobs})
    found = eta(State.from_json(text), foresight=replace(FEW, run_times="requested", arrivals="nobody"))
    # The second ends at 160, when its request is over.
    assert found.waiting.wait_s.tolist() == [[80.0]] * 12


def test_what_cannot_be_foreseen_is_refused() -> None:
    state, scheduler = crowded()
    simulation = loaded(state, scheduler)
    running = int(np.flatnonzero(state.snapshot.phase == Phase.RUNNING)[0])
    with pytest.raises(InputError, match=f"job {running} does not wait"):
        foresee(simulation, [running], FEW)
    with pytest.raises(InputError, match="job 900000 does not wait"):
        foresee(simulation, [900_000], FEW)
    with pytest.raises(InputError, match="correlation is 2; expected 0 to 1"):
        foresee(simulation, simulation.waiting(), replace(FEW, correlation=2.0))
    with pytest.raises(InputError, match="is before that of the simulation"):
        simulation.run_until(0.0)
    committed = Simulation(state.workload, state.cluster, resolve_scheduler(dispatch="committed"))
    with pytest.raises(InputError, match="a committed rule goes from event to event"):
        committed.run_until(state.snapshot.now_ms / 1000)


def test_stopping_at_a_time_changes_nothing() -> None:
    log = read_log(LOG)
    scheduler = resolve_scheduler(policy="sjf", dispatch="easy")
    whole, stopped = (Simulation(log.workload, log.cluster, scheduler) for _ in range(2))
    whole.run_to_end()
    for time_s in (1e4, 1e5, 123_456.789, 3e5):
        stopped.run_until(time_s)
        assert stopped.status().now_s == time_s
        stopped.dispatch()
    stopped.run_to_end()
    assert (whole.job_states().start_ms == stopped.job_states().start_ms).all()
