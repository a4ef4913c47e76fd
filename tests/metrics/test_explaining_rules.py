"""Explanations of jobs that waited for a limit, a license, hours, or reserved nodes; and decisions that say so."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shunter
from shunter.metrics.explanation import explain
from shunter.metrics.explanation_text import conclusion
from shunter.metrics.record import Record
from shunter.model.cluster import Cluster, Node
from shunter.model.site import AdvanceReservation, Limit, SiteRules
from shunter.model.workload import Workload
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Simulation, decide
from shunter.simulation.decision import Reason

DEFAULTS: dict[str, Any] = {"run_s": 10.0, "requested_s": 10.0, "user": "ann", "tasks": 1}


def workload(*jobs: dict[str, Any]) -> Workload:
    """Returns jobs that are all submitted at once, unless they say otherwise."""
    rows = [{"job_id": number, "submit_s": 0.0, **DEFAULTS, **job} for number, job in enumerate(jobs, start=1)]
    return Workload.from_frame(pl.DataFrame(rows), name="jobs")


def cluster(**rules: Any) -> Cluster:  # noqa: ANN401 - fields of the rules
    """Returns four cores with rules."""
    return Cluster.from_nodes((Node("n0", 4.0),), "site", rules=SiteRules(**rules))


def sentence(jobs: Workload, site: Cluster, job: int) -> str:
    """Returns the answer for a job."""
    record = Record.of(shunter.simulate(jobs, site))
    return conclusion(explain(record, record.find(str(job))))


def test_a_limit_of_a_user() -> None:
    site = cluster(limits=(Limit(running_jobs=1, per=("user",)),))
    text = sentence(workload({}, {}), site, 2)
    assert text == "Job 2 waited 10 s because it waits for a limit of user ann (running_jobs 1)."


def test_a_limit_by_hours() -> None:
    site = cluster(
        limits=(Limit(max_time_s=5.0, accounts=("physics",), from_time="09:00", to_time="09:01"),),
        time_zero="2026-03-02 09:00:40",
    )
    text = sentence(workload({"account": "physics"}), site, 1)
    limit = "a limit of account physics (max_time_s 5 from 09:00 to 09:01)"
    assert text == f"Job 1 waited 20 s because it waits for {limit}."


def test_a_license() -> None:
    text = sentence(workload({"licenses": "matlab"}, {"licenses": "matlab"}), cluster(licenses={"matlab": 1}), 2)
    assert text == "Job 2 waited 10 s because it waits for a license: matlab."


def test_nodes_that_are_reserved() -> None:
    site = cluster(reservations=(AdvanceReservation(5.0, 20.0, name="maintenance"),))
    text = sentence(workload({}), site, 1)
    reserved = "reserved from 5 s to 25 s (maintenance) before it would have ended"
    assert text == f"Job 1 waited 25 s because nodes of the cluster are {reserved}."


def test_a_reservation_of_other_nodes_is_not_named() -> None:
    nodes = (Node("n0", 4.0, partitions=("p",)), Node("n1", 4.0, partitions=("q",)))
    windows = (
        AdvanceReservation(1.0, 100.0, name="nightly", partition="p"),
        AdvanceReservation(5.0, 20.0, name="weekly", partition="q"),
    )
    site = Cluster.from_nodes(nodes, "site", rules=SiteRules(reservations=windows))
    assert "(weekly)" in sentence(workload({"partition": "q"}), site, 1)


def test_a_job_that_has_its_nodes_for_itself() -> None:
    text = sentence(workload({"exclusive": False}, {"exclusive": True}), cluster(), 2)
    assert text == (
        "Job 2 waited 10 s because it needs nodes for itself, and those of the cluster that nobody used had at most"
        " 0 of the 1 core that it needs free until job 1 ended at 10 s."
    )
    text = sentence(workload({}, {}), cluster(partitions={}), 2)
    assert "did not wait" in text
    text = sentence(workload({"exclusive": True}, {"exclusive": False}), cluster(), 2)
    assert text.startswith("Job 2 waited 10 s because the cluster had at most 0 of the 1 core that it needs free")


def test_a_job_that_follows_another_tells_when_it_came() -> None:
    jobs = workload({}, {"submit_s": 300.0, "depends_on": "follows:1+5s"})
    assert sentence(jobs, cluster(), 2) == "Job 2 did not wait: it started when it was submitted, at 15 s, on n0."


def test_a_job_ahead_that_left_has_not_started() -> None:
    jobs = workload({"tasks": 3}, {"tasks": 4, "cancel_s": 5.0}, {"requested_s": 30.0, "run_s": 30.0})
    assert "(job 2, which left the queue at 5 s)" in sentence(jobs, cluster(), 3)


def test_a_job_that_never_starts() -> None:
    site = cluster(reservations=(AdvanceReservation(5.0, 86_395.0, name="cleaning", repeat="daily"),))
    text = sentence(
        workload({}, {"run_s": 2.0, "requested_s": 2.0}, {"submit_s": 100.0, "requested_s": 1.0, "run_s": 1.0}), site, 1
    )
    assert text.endswith("it never started.")
    assert "(cleaning)" in text


def test_a_job_that_is_held() -> None:
    site = cluster(limits=(Limit(queued_jobs=1, accounts=("physics",)),))
    text = sentence(workload({"account": "physics"}, {"account": "physics"}), site, 2)
    assert text.endswith(
        "it could not run for 10 s, for it waits for a place under a limit of account physics (queued_jobs 1)."
    )


def test_what_lacked_besides() -> None:
    """First all cores are in use, then the license is: the longer one is told first."""
    jobs = workload(
        {"tasks": 4, "requested_s": 10.0}, {"run_s": 5.0, "requested_s": 5.0, "licenses": "x"}, {"licenses": "x"}
    )
    text = sentence(jobs, cluster(licenses={"x": 1}), 3)
    assert text.startswith("Job 3 waited 15 s because the cluster had at most 0 of the 1 core that it needs free")
    assert "for 5 s of it, a limit of the site kept it from starting" in text


@pytest.mark.parametrize(
    ("rules", "reason", "name"),
    [
        ({"limits": (Limit(running_jobs=1),)}, Reason.LIMIT, "a limit of all jobs (running_jobs 1)"),
        ({"reservations": (AdvanceReservation(15.0, 5.0, name="tests"),)}, Reason.RESERVED, "tests"),
    ],
)
def test_a_decision_names_the_rule(rules: dict[str, Any], reason: Reason, name: str) -> None:
    jobs = workload({}, {"submit_s": 6.0})
    scheduler = resolve_scheduler(policy="fcfs", dispatch="easy")
    simulation = Simulation(jobs, cluster(**rules), scheduler)
    simulation.advance()
    simulation.dispatch()
    simulation.advance()
    waiting = decide(simulation.snapshot(), jobs, cluster(**rules), scheduler).waiting[1]
    assert (waiting.reason, waiting.rule_name) == (reason, name)
