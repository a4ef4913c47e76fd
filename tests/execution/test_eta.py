"""When the waiting jobs of a queue will start: from its journal, under its own policy."""

from __future__ import annotations

import pytest

from shunter.errors import InputError
from shunter.execution.local.folder import QueueFolder
from shunter.execution.local.foreseeing import eta_of_queue
from shunter.simulation.asked_job import AskedJob
from shunter.simulation.foresight import Foresight
from tests.execution.box import Box

FEW = Foresight(futures=8)


def test_those_who_wait_in_a_queue(box: Box) -> None:
    (running,) = box.submit("sleep 60", cores=2, time_s=100.0)
    box.until(running, "running")
    first, second = box.submit("true", "true", cores=2, time_s=100.0)
    (urgent,) = box.submit("true", cores=2, time_s=100.0, priority=5)
    (held,) = box.submit("true", after=[first])
    found = eta_of_queue(box.folder, new=AskedJob(time_s=60.0, cores=1), foresight=FEW)
    times = found.eta.waiting
    assert times.job_ids == (first, second, urgent)
    assert found.left_out == 1, held
    # All need both cores: the one with the highest priority is first, the others come as they were submitted.
    of_first, of_second, of_urgent = times.wait_s.T
    assert (of_urgent > 0).all()
    assert (of_urgent < of_first).all()
    assert (of_first < of_second).all()
    assert found.eta.new is not None
    assert (found.eta.new.wait_s[:, 0] > of_second).all()


def test_no_queue(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("none") / "queue"
    with pytest.raises(InputError, match="there is none at"):
        eta_of_queue(QueueFolder(path, str(path)))
