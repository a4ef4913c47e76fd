"""PickJob's observation: the features of the cluster, and those of each job in the window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tests.reference.environment_history import History, past_numbers
from tests.reference.environment_lookahead import Lookahead, lookahead_numbers, scaled_log
from tests.reference.estimates import LastTwo, Told
from tests.reference.model import End, RefJob
from tests.reference.policies import Order
from tests.reference.posterior import read_prior
from tests.reference.projection import Hold, earliest_fit, earliest_start, free_at, running_holds
from tests.reference.resources import Free, FreeNodes
from tests.reference.specs import read_spec
from tests.reference.state import State

HOUR_S = 3600
DAY_S = 86_400
WEEK_S = 604_800
CLUSTER_FEATURES = 16
JOB_FEATURES = 21
RUNNING_FEATURES = 4
"""More of each job, where running jobs are shown."""


@dataclass(frozen=True)
class Runner:
    """A running job that is shown."""

    job: int
    left_ms: int
    """What is left of its estimate."""
    allowed: bool
    """Whether it may be stopped now."""


@dataclass(frozen=True)
class Choice:
    """Who may be chosen now, and in which rows the waiting jobs stand."""

    order: Order
    """The jobs of the pass that still wait."""
    rows: list[int]
    """The same jobs as the window shows them."""
    ranked: tuple[int, ...]
    """All jobs of the pass, as they were ranked at its beginning."""
    allowed: frozenset[int]
    held_back: frozenset[int]
    may_wait: bool
    running: tuple[Runner, ...] = ()
    """Those who run and are shown, behind those who wait."""


@dataclass(frozen=True)
class View:
    """What is seen, and how much of it."""

    lookahead: Lookahead
    window: int
    history: History
    stops: int

    @property
    def row_size(self) -> int:
        """How many numbers tell of a job."""
        return JOB_FEATURES + (RUNNING_FEATURES if self.stops else 0)


def observation(state: State, view: View, choice: Choice, priority: Sequence[float]) -> list[float]:
    """Returns the cluster's features, the past, the look-ahead, and the rows of jobs, each number cut at 1."""
    numbers = [*cluster_features(state, choice.order), *past_numbers(state, view.history)]
    numbers += lookahead_numbers(state, view.lookahead)
    shown = choice.rows[: view.window]
    for job in shown:
        numbers += job_features(state, job, choice, priority[job])
        numbers += running_features(state, job) if view.stops else []
    for one in choice.running:
        numbers += features_of_runner(state, one.job, priority[one.job])
        numbers += running_features(state, one.job)
    empty_rows = view.window + view.stops - len(shown) - len(choice.running)
    numbers += [0.0] * (view.row_size * empty_rows)
    return [min(max(number, 0.0), 1.0) for number in numbers]


def running_features(state: State, job: int) -> list[float]:
    """Returns whether a job runs, since when, what is left of its estimate, and how often it was stopped."""
    running = next((one for one in state.running if one.job == job), None)
    done_ms = state.progress_ms.get(job, 0) if running is None else state.done_ms(running)
    stopped = sum(stop.job == job for stop in state.result.stops)
    return [
        float(running is not None),
        0.0 if running is None else scaled_log((state.now_ms - running.start_ms) / 1000),
        scaled_log(max(state.estimate_ms(job) - done_ms, 0) / 1000),
        stopped / (stopped + 1),
    ]


def cluster_features(state: State, order: Order) -> list[float]:
    """Returns what the cluster, the queue, the pass's reservation and the clock look like."""
    free, capacity = up_alone(state, state.free_now()), state.sizes.capacity_milli / 1000
    memory_mb = sum(node.memory_mb or 0 for node in state.nodes)
    gpus_milli = 1000 * sum(node.gpus for node in state.nodes)
    area = sum(at_least_a_second(state, job) * state.sizes.size(state.jobs[job]) for job in order.jobs)
    urgency = sum(HOUR_S / max(state.estimate_s(job), 10.0) for job in order.jobs)
    waits_s = [state.wait_s(job) for job in order.jobs]
    return [
        state.free_cores_milli() / state.total_cores_milli,
        sum(node.memory_mb or 0 for node in free) / memory_mb if memory_mb else 0.0,
        sum(sum(node.devices) for node in free) / gpus_milli if gpus_milli else 0.0,
        math.log(1 + len(state.running)) / 10,
        math.log(1 + len(state.waiting)) / 10,
        math.log(1 + area / (capacity * HOUR_S)) / 10,
        scaled_log(urgency),
        scaled_log(max(waits_s, default=0.0)),
        math.log(1 + recent_arrivals(state)) / 10,
        *reservation_features(state),
        *circle(state.now_ms, DAY_S),
        *circle(state.now_ms, WEEK_S),
    ]


def up_alone(state: State, free: FreeNodes) -> list[Free]:
    """Returns what is free on the nodes that are up."""
    return [free[node] for node in state.up()]


def recent_arrivals(state: State) -> int:
    """Returns how many jobs were submitted within the last hour, rejected ones included."""
    return sum(state.now_ms - job.submit_ms < 1000 * HOUR_S for job in state.jobs[: state.arrived])


def reservation_features(state: State) -> list[float]:
    """Returns whether the pass has a reservation, for when, and the part of the cluster that it leaves then."""
    for job, held in state.reservations.items():
        then = up_alone(state, free_at(state, running_holds(state), held.start_ms))
        by_gpus, capacity = state.sizes.by_gpus, state.sizes.capacity_milli
        free_milli = sum(sum(node.devices) if by_gpus else node.cores_milli for node in then)
        spare = free_milli - state.sizes.micro(state.jobs[job]) / 1000
        return [1.0, scaled_log((held.start_ms - state.now_ms) / 1000), spare / capacity]
    return [0.0, 0.0, 0.0]


def circle(now_ms: int, period_s: int) -> list[float]:
    """Returns where in its period the time is, as a point of the circle moved into [0, 1]."""
    angle = 2 * math.pi * (now_ms / 1000 % period_s) / period_s
    return [(1 + math.sin(angle)) / 2, (1 + math.cos(angle)) / 2]


def job_features(state: State, place: int, choice: Choice, priority: float) -> list[float]:
    """Returns what the row of a waiting job shows."""
    fits = state.place(place, state.free_now()) is not None
    return [
        *what_it_is(state, place, priority),
        float(fits),
        float(fits and delays_the_reservation(state, place, choice.order)),
        age_rank(place, choice),
        user_part(state, place),
        1 - min(gap(state, place, choice), 16) / 16,
        float(place in choice.held_back),
    ]


def features_of_runner(state: State, place: int, priority: float) -> list[float]:
    """Returns what the row of a running job shows: the order itself would not choose it."""
    return [*what_it_is(state, place, priority), 0.0, 0.0, 0.0, user_part(state, place), 0.0, 1.0]


def user_part(state: State, place: int) -> float:
    """Returns the part of the cluster that a job's user holds."""
    return user_size(state, state.jobs[place].user) / (state.sizes.capacity_milli / 1000)


def what_it_is(state: State, place: int, priority: float) -> list[float]:
    """Returns what is told of a job whatever may be done with it."""
    job = state.jobs[place]
    e, n, w = at_least_a_second(state, place), state.sizes.size(job), state.wait_s(place)
    capacity, free = state.sizes.capacity_milli / 1000, state.free_milli() / 1000
    gpus_milli = 1000 * sum(node.gpus for node in state.nodes)
    memory_mb = sum(node.memory_mb or 0 for node in state.nodes)
    return [
        1.0,
        scaled_log(e),
        confidence(state, job),
        0.0 if job.requested_ms is None else scaled_log(job.requested_ms / 1000),
        float(job.requested_ms is not None),
        w / (w + HOUR_S),
        w / (w + DAY_S),
        w / (w + e),
        job.total_cores_milli / state.total_cores_milli if state.total_cores_milli else 0.0,
        math.log(1 + n) / math.log(1 + capacity),
        job.tasks * job.gpu_milli / gpus_milli if gpus_milli else 0.0,
        job.tasks * (job.memory_mb or 0) / memory_mb if memory_mb else 0.0,
        math.log(1 + e * n) / 28,
        priority,
        n / (n + free) if n else 0.0,
    ]


def at_least_a_second(state: State, place: int) -> float:
    """Returns a job's estimate."""
    return max(state.estimate_s(place), 1.0)


def delays(state: State, place: int, other: int, reserved_ms: int) -> bool:
    """Tells whether a job that fits, started now, would make another one start later than it is reserved to."""
    allocation = state.place(place, state.free_now())
    assert allocation is not None
    new = Hold(place, state.now_ms, state.now_ms + state.duration_ms(place, allocation), allocation)
    return earliest_start(state, other, [*running_holds(state), new])[0] > reserved_ms


def delays_the_reservation(state: State, place: int, order: Order) -> bool:
    """Tells the same of the pass's reservation, or of the one that the first job that does not fit would get."""
    reserved = {job: held.start_ms for job, held in state.reservations.items()}
    if not reserved:
        without_room = [job for job in order.jobs if state.place(job, state.free_now()) is None]
        found = {job: earliest_fit(state, job, running_holds(state)) for job in without_room}
        # Where nodes are down, some cannot be promised any time.
        promised = {job: fit[0] for job, fit in found.items() if fit is not None}
        reserved = dict(list(promised.items())[:1])
    return any(delays(state, place, job, start_ms) for job, start_ms in reserved.items())


def age_rank(place: int, choice: Choice) -> float:
    """Returns the part of the jobs that the pass began with that were submitted before it."""
    return sum(other < place for other in choice.ranked) / len(choice.ranked)


def user_size(state: State, user: str | None) -> float:
    """Returns the sizes of a user's running jobs, added; nobody is not a user."""
    running = [state.jobs[running.job] for running in state.running]
    return sum(state.sizes.size(job) for job in running if user is not None and job.user == user)


def gap(state: State, place: int, choice: Choice) -> float:
    """Returns how far behind the pass's first job this one was ranked: by score, or a quarter for each place.

    Scores tell nothing of jobs that the guard puts first.
    """
    if state.policy.name != "linear":
        return choice.ranked.index(place) / 4
    by_score = [job for job in choice.ranked if job not in choice.order.starving]
    scores = choice.order.scores
    return max(0.0, scores[place] - scores[by_score[0]]) if place in by_score else 0.0


def confidence(state: State, job: RefJob) -> float:
    """Returns what a job's estimate rests on, from nothing (0) to certainty (1)."""
    if isinstance(state.estimates, Told):
        return float(state.config.estimate == "perfect")
    if isinstance(state.estimates, LastTwo):
        return float(len([other for other in ended(state) if is_known(job) and other.user == job.user]) >= 2)
    count = 0.0
    decay = read_prior(read_spec(state.config.estimate, "estimate")).decay
    for other in ended(state):
        if is_known(job) and likeness(other) == likeness(job):
            count = decay * count + 1
    return count / (count + 2)


def is_known(job: RefJob) -> bool:
    """Tells whether the log has the job's user."""
    return job.user is not None


def likeness(job: RefJob) -> tuple[str | None, int | None, int]:
    """Returns what like jobs have in common: the user, the request and what is asked for."""
    return job.user, job.requested_ms, job.asked_milli


def ended(state: State) -> list[RefJob]:
    """Returns the jobs that are known to have ended, in the order of their ends."""
    begin_ms = state.jobs[0].submit_ms
    before = sorted(state.before, key=lambda job: job.logged_end_ms)
    now = [state.jobs[event.job] for event in state.result.events if isinstance(event, End)]
    return [job for job in before if job.logged_end_ms <= begin_ms] + now
