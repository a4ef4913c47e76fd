"""Naming nodes beside a real Slurm: jobs run where the policy says, and are let go when that does not come true."""

from __future__ import annotations

import time

import pytest

from shunter.errors import InputError
from shunter.execution.operating.neighbor import Knob
from tests.execution.operating.beside import Beside
from tests.execution.slurm.real_slurm import RealSlurm

pytestmark = pytest.mark.slow


def test_a_job_that_slurm_would_not_start_runs_where_the_policy_says(slurm: RealSlurm, beside: Beside) -> None:
    first = slurm.submit("--ntasks=4", "--nodes=1", "--nodelist=node1")
    slurm.wait(lambda: slurm.states().get(first) == "RUNNING", "the first job")
    # It waits for all nodes, and stands first in Slurm's order: nobody may start who would delay it.
    large = slurm.submit("--ntasks=12", minutes=700)
    small = slurm.submit("--ntasks=2", "--nodes=1", minutes=600)
    # Slurm has looked at it, and left it.
    slurm.wait(lambda: slurm.field(small, "Reason") in ("Priority", "Resources"), "Slurm's refusal")
    assert slurm.line() == [large, small]
    beside.make("enforce", users=("root",)).cycle()
    line = beside.audit()[-1]
    [node] = line["chosen"][str(small)]
    assert [change["knob"] for change in line["changes"] if change["job"] == small] == ["site_factor", "nodes"]
    slurm.wait(lambda: slurm.states().get(small) == "RUNNING", "the small job")
    assert slurm.field(small, "ReqNodeList") == slurm.field(small, "NodeList") == node
    assert slurm.states()[large] == "PENDING"


def test_a_job_that_does_not_start_is_let_go_in_time(slurm: RealSlurm, beside: Beside) -> None:
    [waiting] = slurm.crowd(5)
    operation = beside.make("enforce", users=("root",), pin_s=1.0)
    hand = operation._hand
    job = next(job for job in beside.neighbor.read(with_knobs=True).jobs if job.id == waiting)
    hand.apply([hand._change(job, Knob.NODES, "node2", "shunter")])
    assert slurm.field(waiting, "ReqNodeList") == "node2"
    operation.cycle()
    assert slurm.field(waiting, "ReqNodeList") == "node2"
    time.sleep(1.1)
    operation.cycle()
    assert slurm.field(waiting, "ReqNodeList") == "(null)"
    assert slurm.field(waiting, "Priority") != "0"
    assert not hand._may_bind(job, ("node2",)), "it is not bound again at once"


def test_a_job_that_a_crash_left_held_is_released(slurm: RealSlurm, beside: Beside) -> None:
    [waiting] = slurm.crowd(5)
    operation = beside.make("enforce", users=("root",))
    job = next(job for job in beside.neighbor.read(with_knobs=True).jobs if job.id == waiting)
    # As if the process had died between holding the job and naming its node.
    operation._journal.set([(job, Knob.NODES, "", "node2"), (job, Knob.HOLD, 0, 1)], time.time())
    slurm.run("scontrol", "hold", str(waiting))
    assert beside.undo() == 1
    assert slurm.field(waiting, "Priority") != "0"
    assert slurm.field(waiting, "ReqNodeList") == "(null)"


def test_nodes_of_users_and_of_jobs_that_may_spread_are_left(slurm: RealSlurm, beside: Beside) -> None:
    slurm.crowd()
    own = slurm.submit("--nodelist=node2")
    wide = slurm.submit("--ntasks=8")
    array = slurm.submit("--array=1-3")
    slurm.wait(lambda: "Unknown" not in slurm.field(array, "EligibleTime"), "the array to be eligible")
    hand = beside.make("enforce", users=("root",))._hand
    site = beside.neighbor.read(with_knobs=True)
    starts = {own: ("node2",), wide: ("node1", "node2"), array: ("node1",)}
    assert hand.pins(site, starts, {}) == []


def test_enforcing_needs_a_list_of_those_whose_jobs_it_may_bind(beside: Beside) -> None:
    with pytest.raises(InputError, match="allow-list"):
        beside.make("enforce")
