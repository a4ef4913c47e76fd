"""What would another policy have done? From a reading, with those that really came and what is known of run times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shunter.execution.deciding import queue_scheduler
from shunter.execution.operating.counterfactual import Counterfactual, GivenUpError, counterfactual_of, starts_of
from shunter.execution.operating.picture import picture_of
from shunter.execution.operating.site import SiteJob, State
from shunter.execution.operating.stretch import Stretch, Tables
from shunter.simulation.simulation import Simulation
from tests.execution.operating.recorded import ORIGIN_S, SimulatedSite
from tests.execution.operating.sites import NOW_S, running, site, waiting

TRAINED = Path(__file__).parents[2] / "compat" / "saved" / "trained"
BOTH = (("n1", 4), ("n2", 4))
FCFS, SJF = ({"policy": name} for name in ("fcfs", "sjf"))


def whole(id: int, minutes: float, **said: object) -> SiteJob:
    """Returns a job that waits and needs both nodes."""
    return waiting(id, minutes, cores=8, tasks=8, nodes=2, **said)


def started(job: SiteJob, after_s: float) -> SiteJob:
    """Returns the same job when it runs on both nodes."""
    return replace(job, state=State.RUNNING, start_s=NOW_S + after_s, allocation=BOTH)


def ended(job: SiteJob, after_s: float) -> SiteJob:
    """Returns the same job when it has run."""
    return replace(job, state=State.ENDED, end_s=NOW_S + after_s, allocation=())


def look_back(tables: Tables, other: dict[str, str] = SJF, *, is_changed: bool = False) -> Counterfactual:
    """Returns what another policy would have done instead of fcfs/easy."""
    schedulers = queue_scheduler(FCFS), queue_scheduler(other)
    return counterfactual_of(tables, *schedulers, is_changed=is_changed, may_go_on=lambda: True)


def by_id(tables: Tables, values: np.ndarray) -> dict[int, float]:
    """Returns a value of each measured job by its id."""
    ids = tables.workload.jobs["job_id"].to_numpy()[tables.measured]
    return dict(zip(ids.tolist(), values.tolist(), strict=True))


@pytest.fixture
def stretch() -> Stretch:
    """A long and a short job wait for both nodes, another short one comes; the site serves them as they come."""
    first, long, short, late = running(1, *BOTH), whole(2, 60), whole(3, 1), whole(4, 2, submit_s=NOW_S + 200)
    one = Stretch(picture_of(site(first, long, short), []))
    one.see(site(ended(first, 100), started(long, 100), short, now_s=NOW_S + 120))
    one.see(site(started(long, 100), short, late, now_s=NOW_S + 300))
    one.see(site(ended(started(long, 100), 1000), started(short, 1000), late, now_s=NOW_S + 1050))
    one.see(site(ended(started(short, 1000), 1060), started(late, 1060), now_s=NOW_S + 1100))
    return one


def test_the_three_waits_are_those_that_one_finds_by_hand(stretch: Stretch) -> None:
    found = look_back(stretch.tables())
    # Under both orders the first job ends after 100 s. sjf: 3 runs until 160, 2 until 1060, then 4 starts.
    assert (found.jobs, found.ended) == (3, 2)
    assert found.real.mean_wait_s == pytest.approx((160 + 1060 + 860) / 3)
    assert found.site.mean_wait_s == pytest.approx(found.real.mean_wait_s)
    assert found.other.mean_wait_s == pytest.approx((220 + 160 + 860) / 3)
    # 900 s and 60 s are known; 4 runs since 40 s and asks for 120 s.
    assert found.real.mean_bounded_slowdown == pytest.approx((1060 / 900 + 1120 / 60 + 980 / 120) / 3)
    assert found.gain.mean_wait_s == pytest.approx(280)
    assert found.error.mean_wait_s == 0
    assert found.is_gain
    assert found.sentence == (
        "sjf would have cut the mean wait by 4.67 min; the simulation of fcfs/easy is 0.00 s off the real wait: the "
        "gain is larger than the error"
    )
    told = found.told()
    assert (told["kind"], told["time_s"], told["lines"][-1]) == ("counterfactual", NOW_S + 1100, found.sentence)


def test_a_gain_that_is_no_larger_than_the_error_says_nothing(stretch: Stretch) -> None:
    found = look_back(stretch.tables())
    off = replace(found, real=replace(found.real, mean_wait_s=found.real.mean_wait_s + 300))
    assert not off.is_clear
    assert off.sentence.endswith("is 5.00 min off the real wait: that is not larger than the error, so it says nothing")
    worse = replace(found, site=found.other, other=found.site, real=found.other, is_changed=True)
    assert worse.is_clear
    assert not worse.is_gain
    assert worse.sentence.startswith("sjf would have lengthened the mean wait by 4.67 min;")
    assert "(part of which may be what Shunter changed)" in worse.sentence
    named = replace(found, policy="/etc/tuned.toml", site_policy="/etc/site.toml")
    assert named.sentence.startswith("tuned.toml would have cut")
    assert "the simulation of site.toml/easy is" in named.sentence
    same = look_back(stretch.tables(), FCFS)
    assert same.sentence == "fcfs would have changed nothing; the simulation is 0.00 s off"


def test_what_is_not_known_of_run_times_is_what_jobs_ask_for() -> None:
    over, waits = running(1, *BOTH, requested_s=60.0), whole(2, 1)
    one = Stretch(picture_of(site(over, waits), []))
    one.see(site(over, waits, now_s=NOW_S + 600))
    tables = one.tables()
    assert tables.workload.jobs["run_s"].to_list() == [630.0, 60.0], "at least as long as it has run"
    found = look_back(tables)
    assert (found.jobs, found.ended) == (1, 0)
    assert found.real.mean_wait_s == found.site.mean_wait_s == 660, "who still waits has waited until now"


def test_a_job_that_leaves_takes_part_but_is_not_measured() -> None:
    first, long, short = running(1, *BOTH), whole(2, 60), whole(3, 1)
    one = Stretch(picture_of(site(first, long, short), []))
    one.see(site(first, short, now_s=NOW_S + 50))
    one.see(site(ended(first, 100), started(short, 100), now_s=NOW_S + 130))
    tables = one.tables()
    assert tables.workload.jobs["cancel_s"].to_list() == [None, NOW_S + 50, None]
    found = look_back(tables)
    assert (found.jobs, found.error.mean_wait_s) == (1, 0), "the short job is first once the long one is gone"
    cancelled = replace(long, state=State.ENDED, status="cancelled", start_s=NOW_S + 60, end_s=NOW_S + 60)
    again = Stretch(picture_of(site(first, long, short), []))
    again.see(site(first, short, cancelled, now_s=NOW_S + 70))
    assert again.tables().workload.jobs["cancel_s"].to_list()[1] == NOW_S + 70


def test_a_job_comes_when_nothing_keeps_it_any_more() -> None:
    first, held, told = running(1, *BOTH), whole(2, 1, barrier="held"), whole(3, 1, barrier="begin")
    one = Stretch(picture_of(site(first, held, told), []))
    one.see(site(first, held, replace(told, barrier="", eligible_s=NOW_S + 20), now_s=NOW_S + 30))
    free = replace(held, barrier="")
    one.see(site(first, free, replace(told, barrier="", eligible_s=NOW_S + 20), now_s=NOW_S + 60))
    tables = one.tables()
    assert by_id(tables, tables.since_s) == {2: NOW_S + 60, 3: NOW_S + 20}
    # Held again, and let go: it is one job that waits.
    one.see(site(first, held, now_s=NOW_S + 90))
    assert 2 not in by_id(one.tables(), one.tables().since_s)
    one.see(site(first, free, now_s=NOW_S + 120))
    assert by_id(one.tables(), one.tables().since_s)[2] == NOW_S + 60


def test_tasks_of_an_array_that_nobody_told_of_waited_all_the_time() -> None:
    first, array = running(1, ("n1", 4)), waiting(5, 1, array=5)
    one = Stretch(picture_of(site(first, array), []))
    task = running(6, ("n2", 1), array=5, submit_s=NOW_S - 60, start_s=NOW_S + 10)
    one.see(site(first, array, task, now_s=NOW_S + 30))
    tables = one.tables()
    assert by_id(tables, tables.since_s)[6] == pytest.approx(NOW_S, abs=0.01)
    assert by_id(tables, tables.start_s)[6] == NOW_S + 10


def test_runs_that_are_cut_or_forgotten_end_with_the_reading() -> None:
    requeued, gone = running(1, ("n1", 4)), running(2, ("n2", 4))
    one = Stretch(picture_of(site(requeued, gone), []))
    again = replace(requeued, state=State.PENDING, start_s=None, allocation=())
    one.see(site(again, now_s=NOW_S + 70))
    tables = one.tables()
    assert tables.workload.jobs["run_s"].to_list() == [100.0, 100.0]
    assert len(tables.measured) == 0
    nobody = look_back(tables)
    assert (nobody.jobs, nobody.sentence, nobody.lines) == (0, "Nobody waited", ["0 jobs in 1.17 min", "Nobody waited"])


def test_a_job_that_ran_for_no_second_has_run() -> None:
    first, short = running(1, *BOTH), whole(2, 1)
    one = Stretch(picture_of(site(first, short), []))
    one.see(site(ended(first, 20), replace(ended(started(short, 20), 20), status="completed"), now_s=NOW_S + 30))
    found = look_back(one.tables())
    assert (found.jobs, found.ended, found.real.mean_wait_s) == (1, 1, 80)


def test_jobs_that_fit_nowhere_are_counted_and_left_out() -> None:
    first = running(1, *BOTH)
    one = Stretch(picture_of(site(first, whole(2, 1)), []))
    one.see(site(first, whole(2, 1), waiting(3, 1, cores=99, tasks=99, submit_s=NOW_S + 5), now_s=NOW_S + 30))
    found = look_back(one.tables())
    assert (found.jobs, found.unfit) == (1, 1)


def test_a_job_that_started_before_and_is_no_part_of_the_picture_stays_out() -> None:
    lost = running(9, ("elsewhere", 4))
    one = Stretch(picture_of(site(lost, whole(2, 1)), []))
    one.see(site(lost, whole(2, 1), now_s=NOW_S + 30))
    assert one.tables().workload.jobs["job_id"].to_list() == [2]


@pytest.mark.parametrize("hours", [1, 8])
def test_a_site_that_is_the_simulation_has_no_error(hours: int) -> None:
    reality = SimulatedSite.crowded()
    submit_s = reality.schedule.workload.jobs["submit_s"].to_numpy()
    begin_s = float(submit_s[200]) + 5
    one = Stretch(picture_of(reality.read(begin_s), []))
    for time_s in np.arange(begin_s + 60, begin_s + hours * 3600, 60):
        one.see(reality.read(float(time_s)))
    tables = one.tables()
    found = look_back(tables)
    assert found.jobs > 20
    assert found.mean_absolute_error_s == pytest.approx(0, abs=0.002)
    assert found.gain.mean_wait_s > 0
    # Who measures the schedule itself finds the same.
    start_s, until_s = reality.schedule.start_s, tables.until_s - ORIGIN_S
    came = (submit_s <= until_s) & (start_s > begin_s)
    waits = np.minimum(start_s, until_s)[came] - submit_s[came]
    assert found.real.mean_wait_s == pytest.approx(float(waits.mean()), abs=0.002)


def test_the_policy_decides_as_in_a_simulation_from_that_state(stretch: Stretch) -> None:
    tables, scheduler = stretch.tables(), queue_scheduler({"policy": "wfp3"})
    simulation = Simulation(tables.workload, tables.cluster, scheduler)
    simulation.load(tables.snapshot)
    simulation.dispatch()
    simulation.run_to_end()
    start_s = simulation.job_states().start_ms / 1000
    found = starts_of(tables, scheduler, lambda: True)
    assert np.array_equal(found, np.where(start_s <= tables.until_s, start_s, np.nan), equal_nan=True)


def test_policies_of_all_kinds_are_asked(stretch: Stretch, tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    score = "    def score(self, queue):\n        return queue.requested_s\n"
    for moves in (True, False):
        own.write_text(f"import shunter\n\n\nclass Own(shunter.Policy):\n    moves = {moves}\n\n{score}")
        found = look_back(stretch.tables(), {"policy": str(own)})
        assert found.other == look_back(stretch.tables()).other, "the same order by another name"
    learned = look_back(stretch.tables(), {"policy": str(TRAINED / "kernel")})
    # One job after the other needs the whole machine: no order of the three has another sum than these.
    sums = {round(3 * learned.other.mean_wait_s)}
    assert sums <= {160 + 1060 + 860, 220 + 160 + 860}


def test_what_takes_too_long_or_is_too_large_is_given_up(stretch: Stretch, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = stretch.tables()
    with pytest.raises(GivenUpError, match="was stopped"):
        counterfactual_of(
            tables, queue_scheduler(FCFS), queue_scheduler(SJF), is_changed=False, may_go_on=lambda: False
        )
    monkeypatch.setattr("shunter.execution.operating.counterfactual.MOST_JOBS", 3)
    with pytest.raises(GivenUpError, match="4 jobs are more than 3"):
        look_back(tables)
