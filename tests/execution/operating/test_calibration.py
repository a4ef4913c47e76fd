"""Start times that are predicted in operation are remembered, and scored when their jobs start."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shunter.errors import InputError
from shunter.execution.deciding import queue_scheduler
from shunter.execution.operating import calibration
from shunter.execution.operating.calibration import HORIZON_S, Calibration, Prediction, calibration_lines, predict
from shunter.execution.operating.picture import picture_of
from shunter.execution.operating.site import SiteJob, State
from tests.execution.operating.recorded import ORIGIN_S, SimulatedSite
from tests.execution.operating.sites import NOW_S, running, site, waiting

FCFS = queue_scheduler({"policy": "fcfs"})


def said(job: int, *after_s: float, made_s: float = NOW_S) -> Prediction:
    """Returns a prediction: low, median and high, in seconds from now."""
    return Prediction(job, made_s, *(made_s + one for one in after_s))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where predictions are remembered."""
    return tmp_path / "predictions.json"


def test_starts_are_held_against_what_was_said(file: Path) -> None:
    kept = Calibration(file)
    assert kept.add([said(1, 100, 200, 300), said(2, 100, 200, 300), said(3, 100, 200, 300), said(4, 0, 0, 0)]) == 4
    assert kept.see(site(*(waiting(id) for id in (1, 2, 3, 4)))) == [], "all of them still wait"
    inside = running(1, ("n1", 1), start_s=NOW_S + 340)
    before = running(2, ("n1", 1), start_s=NOW_S + 30)
    after = replace(running(3, ("n1", 1), start_s=NOW_S + 500), state=State.ENDED, end_s=NOW_S + 600)
    found = kept.see(site(inside, before, after, waiting(4), now_s=NOW_S + 610))
    assert [(one.prediction.job, one.side) for one in found] == [(1, 0), (2, -1), (3, 1)], "less than a minute is near"
    told = kept.told()
    assert (told["open"], told["scored"], told["left"], told["over"]) == (1, 3, 0, 3)
    assert (told["jobs"], told["times"]) == (3, 1)
    assert [told[name] for name in ("inside", "before", "after")] == pytest.approx([1 / 3] * 3)
    assert (told["median_error_s"], told["median_width_s"]) == (170, 200)
    assert calibration_lines(told) == [
        "1 prediction open, 3 scored, 0 left the queue",
        "of the latest 3 (3 jobs, 1 time), 33 % started inside the 80 % interval (33 % before, 33 % after)",
        "median error 2.83 min, median width 3.33 min",
    ]
    assert calibration_lines(Calibration(file.with_name("none")).told()) == [
        "0 predictions open, 0 scored, 0 left the queue"
    ]


def test_the_next_process_goes_on_where_this_one_ended(file: Path) -> None:
    kept = Calibration(file)
    kept.add([said(1, 100, 200, 300), said(2, 100, 200, 300)])
    kept.see(site(running(1, ("n1", 1), start_s=NOW_S + 250), waiting(2), now_s=NOW_S + 260))
    assert os.stat(file).st_mode & 0o777 == 0o640
    again = Calibration(file)
    assert (again.told(), again.trouble) == (kept.told(), "")
    again.see(site(running(2, ("n1", 1), start_s=NOW_S + 290), now_s=NOW_S + 300))
    assert again.told()["scored"] == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 2}', '{"schema": 1, "open": [[1, "x"]]}'])
def test_a_damaged_file_is_begun_anew(file: Path, text: str) -> None:
    file.write_text(text)
    kept = Calibration(file)
    assert "is begun anew" in kept.trouble
    kept.add([said(1, 100, 200, 300)])
    assert Calibration(file).told()["open"] == 1


def test_jobs_that_leave_the_queue_are_counted_and_never_scored(file: Path) -> None:
    kept = Calibration(file)
    kept.add([said(id, 100, 200, 300) for id in (1, 2, 3)])
    at_s = NOW_S + 9
    cancelled = replace(running(3, ("n1", 1)), state=State.ENDED, status="cancelled", start_s=at_s, end_s=at_s)
    assert kept.see(site(waiting(2, barrier="held"), cancelled, now_s=NOW_S + 10)) == []
    assert (kept.told()["open"], kept.told()["left"], kept.told()["over"]) == (0, 3, 0)


def test_a_reading_from_before_the_prediction_forgets_nothing(file: Path) -> None:
    kept = Calibration(file)
    kept.add([said(1, 100, 200, 300, made_s=NOW_S + 5)])
    assert kept.see(site(now_s=NOW_S)) == []
    assert kept.told()["open"] == 1


def test_what_lies_beyond_the_horizon_counts_as_if_it_were_there(file: Path) -> None:
    kept = Calibration(file)
    kept.add([said(1, 100, HORIZON_S, HORIZON_S)])
    late_s = NOW_S + HORIZON_S + 86_400
    (found,) = kept.see(site(running(1, ("n1", 1), start_s=late_s), now_s=late_s))
    assert found.side == 0, "nothing was said of its upper end"
    assert kept.told()["median_error_s"] == 86_400


def test_only_so_many_are_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "MOST_OPEN", 3)
    monkeypatch.setattr(calibration, "MOST_SCORED", 2)
    kept = Calibration(file)
    assert kept.add([said(1, 1, 2, 3), said(2, 1, 2, 3), said(3, 1, 2, 3)]) == 3
    assert kept.add([said(1, 1, 2, 3), said(4, 1, 2, 3)]) == 1, "one that has none gets one"
    kept.see(site(*(running(id, ("n1", 1), start_s=NOW_S + 2) for id in (1, 2, 3, 4)), now_s=NOW_S + 10))
    told = Calibration(file).told()
    assert (told["scored"], told["over"], told["open"]) == (4, 2, 0)
    monkeypatch.setattr(calibration, "MOST_JOBS", 1)
    with pytest.raises(InputError, match="2 jobs wait, more than 1"):
        predict(picture_of(site(waiting(1), waiting(2)), []), FCFS)


def test_predictions_are_of_the_present_and_of_those_that_wait() -> None:
    jobs = (running(1, ("n1", 4), ("n2", 4)), waiting(2), waiting(3, barrier="held"))
    (found,) = predict(picture_of(site(*jobs), []), FCFS)
    assert (found.job, found.made_s) == (2, NOW_S)
    assert NOW_S <= found.low_s <= found.median_s <= found.high_s
    # On an empty machine it starts at once.
    (now,) = predict(picture_of(site(waiting(2)), []), FCFS)
    assert (now.low_s, now.high_s) == (NOW_S, NOW_S)


def test_scores_are_those_that_one_finds_in_the_schedule_itself(file: Path) -> None:
    reality = SimulatedSite.crowded(300)
    jobs = reality.schedule.workload.jobs
    kept, ended = Calibration(file), dict[int, SiteJob]()
    for time_s in np.arange(float(jobs["submit_s"][150]), float(jobs["submit_s"][-1]), 1800):
        now = reality.read(float(time_s))
        kept.see(now)
        # Those that the scheduler forgets are remembered, as the operation does.
        ended |= {job.id: job for job in now.jobs if job.state == State.ENDED}
        picture = picture_of(now, list(ended.values()))
        if picture.candidates:
            kept.add(predict(picture, FCFS))
    told = kept.told()
    assert told["scored"] > 200
    assert told["left"] == 0
    rows = json.loads(file.read_text())["scores"]
    start_of = dict(zip(jobs["job_id"].to_list(), (reality.schedule.start_s + ORIGIN_S).tolist(), strict=True))
    start_s = np.array([start_of[row[1]] for row in rows])
    low_s, median_s, high_s = (np.array([row[place] for row in rows]) for place in (3, 4, 5))
    inside = np.mean((start_s >= low_s - 60) & (start_s <= high_s + 60))
    assert told["inside"] == pytest.approx(float(inside), abs=0.005)
    assert told["median_error_s"] == pytest.approx(float(np.median(np.abs(start_s - median_s))), abs=0.2)
    assert told["times"] > 10
