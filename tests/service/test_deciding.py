"""What the service decides is what `decide` decides, however the snapshot comes."""

from __future__ import annotations

import json
import random
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from shunter.execution.deciding import queue_scheduler
from shunter.execution.operating.configuration import Configuration
from shunter.execution.operating.judge import Judge
from shunter.execution.operating.picture import picture_of
from shunter.execution.operating.site import Site
from shunter.execution.slurm.json_reading import jobs_of_json, nodes_of_json
from shunter.execution.slurm.text_reading import BETWEEN, JOB_CELLS, NODE_CELLS
from shunter.model.state import State
from shunter.service.limits import Limits
from shunter.service.readers import READERS
from shunter.service.service import Loaded
from shunter.simulation.eta import eta_of, state_at
from shunter.simulation.foresight import Foresight
from shunter.simulation.run import decide
from shunter.workloads.reading import read_cluster, read_log
from tests.service.samples import SINFO, SQUEUE
from tests.service.talking import Talk, serving

TRAINED = Path(__file__).parents[1] / "compat" / "saved" / "trained"
LOG = "generate:lublin?seed=42&jobs=300&cores=64&load=1.1"


def crowded() -> State:
    """Returns the state of a log when many wait."""
    log = read_log(LOG, "64")
    scheduler = queue_scheduler({"policy": "fcfs"})
    times = log.workload.jobs["submit_s"].to_list()
    states = (state_at(log.workload, log.cluster, scheduler, times[place]) for place in range(100, 300, 20))
    found = max(states, key=lambda one: int((one.snapshot.phase == 1).sum()))
    assert (found.snapshot.phase == 1).sum() >= 3
    return found


def test_a_decision_is_the_one_of_the_library(talk: Talk) -> None:
    state = crowded()
    ids = state.workload.jobs["job_id"].to_list()
    for policy in ("sjf", "fcfs"):
        wanted = decide(state.snapshot, state.workload, state.cluster, queue_scheduler({"policy": policy}))
        told = talk.decide(json.loads(state.to_json()), policy)
        assert told["by"] == told["policy"] == policy
        assert told["fallback"] is None
        assert told["order"] == [ids[row] for row in wanted.order]
        assert {one["job_id"] for one in told["starts"]} == {ids[row] for row in wanted.starts}
        assert {one["job_id"]: (one["reason"], one["behind"]) for one in told["waiting"]} == {
            ids[row]: (why.reason.name.lower(), None if why.blocker is None else ids[why.blocker])
            for row, why in wanted.waiting.items()
        }
        assert {one["job_id"]: one["start_s"] for one in told["reservations"]} == {
            ids[row]: one.start_s for row, one in wanted.reservations.items()
        }


def test_placements_are_told_by_the_names_of_nodes(talk: Talk, free_state: dict[str, Any]) -> None:
    told = talk.decide(free_state)
    assert told["order"] == [4, 3, 2]
    assert [(one["job_id"], one["nodes"], one["tasks"]) for one in told["starts"]] == [
        (2, ["n2"], [2]),
        (3, ["n1", "n2"], [1, 1]),
        (4, ["n1"], [2]),
    ]


def test_one_job_that_can_never_run_does_not_spoil_the_others(talk: Talk, state: dict[str, Any]) -> None:
    large = {"job_id": 99, "state": "waiting", "submit_s": 10, "tasks": 99}
    told = talk.decide({**state, "jobs": [*state["jobs"], large]})
    assert (told["order"], [one["job_id"] for one in told["masked"]]) == ([4, 3, 2], [99])


def test_a_posted_snapshot_is_decided_on_by_name_again_and_again(talk: Talk, state: dict[str, Any]) -> None:
    told = talk.ask("PUT", "/v1/snapshots/now", state).content
    assert {name: told[name] for name in ("name", "jobs", "waiting", "nodes")} == {
        "name": "now", "jobs": 4, "waiting": 3, "nodes": 1,
    }  # fmt: skip
    once = talk.decide(state)
    # The first may go over a thread, and the others are made at once: all say the same.
    for _ in range(5):
        again = talk.decide("now")
        for name in ("order", "starts", "reservations", "waiting", "policy_sha256", "snapshot_sha256"):
            assert again[name] == once[name]
    assert told["sha256"] == once["snapshot_sha256"]
    other = {**state, "now_s": 1001}
    assert talk.ask("PUT", "/v1/snapshots/now", other).content["sha256"] != told["sha256"]
    assert [one["name"] for one in talk.ask("GET", "/v1/snapshots").content["snapshots"]] == ["now"]
    assert talk.ask("DELETE", "/v1/snapshots/now").status == 204
    assert "put it again" in talk.post("/v1/decide", {"policy": "sjf", "snapshot": "now"}).error
    assert talk.ask("DELETE", "/v1/snapshots/now").status == 404


def test_quick_decisions_are_made_without_a_thread(talk: Talk, state: dict[str, Any]) -> None:
    held = talk.service.hold(state)
    referee = talk.service.referee("sjf")
    assert referee.answer_quickly(held) is None, "nobody knows yet how long it takes"
    first = referee.answer(held)
    held.seconds[referee.policy.decider] = 0.001
    second = referee.answer_quickly(held)
    assert second is not None
    assert {**second, "latency_ms": 0} == {**first, "latency_ms": 0}


def test_many_ask_at_once_and_all_are_told_the_same(talk: Talk, state: dict[str, Any]) -> None:
    states = {name: {**state, "now_s": 1000 + place} for place, name in enumerate(("a", "b", "c"))}
    for name, one in states.items():
        assert talk.ask("PUT", f"/v1/snapshots/{name}", one).status == 200
    wanted = {(name, policy): talk.decide(name, policy)["order"] for name in states for policy in ("sjf", "fcfs")}
    wrong = []

    def ask(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(15):
            name, policy = draw.choice(list(wanted))
            try:
                if draw.random() < 0.2:
                    assert talk.ask("PUT", f"/v1/snapshots/{name}", states[name]).status == 200
                given = name if draw.random() < 0.7 else states[name]
                assert talk.decide(given, policy)["order"] == wanted[name, policy]
            except Exception as error:
                wrong.append(repr(error))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in states:
        talk.ask("DELETE", f"/v1/snapshots/{name}")
    assert not wrong


def test_the_store_is_bounded_and_the_longest_unused_goes_first(tmp_path: Path, state: dict[str, Any]) -> None:
    with serving(limits=Limits(snapshots=2, deadline_s=30.0), socket_path=tmp_path / "s") as talk:
        for name in ("a", "b"):
            assert talk.ask("PUT", f"/v1/snapshots/{name}", state).status == 200
        talk.decide("a")
        assert talk.ask("PUT", "/v1/snapshots/c", state).status == 200
        assert [one["name"] for one in talk.ask("GET", "/v1/snapshots").content["snapshots"]] == ["a", "c"]


def test_learned_tuned_and_own_policies_decide(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "import shunter\n\nclass Last(shunter.Policy):\n    def score(self, queue):\n        return -queue.submit_s\n"
    )
    policies = {
        "learned": str(TRAINED / "kernel"),
        "tuned": str(TRAINED / "tuned" / "tuned.toml"),
        "own": str(own),
    }
    policies = {name: text for name, text in policies.items() if Path(text).exists()}
    assert {"learned", "own"} <= set(policies)
    state = crowded()
    ids = state.workload.jobs["job_id"].to_list()
    with serving(
        Loaded({name: {"policy": text} for name, text in policies.items()}), socket_path=tmp_path / "s"
    ) as talk:
        for name, text in policies.items():
            wanted = decide(state.snapshot, state.workload, state.cluster, queue_scheduler({"policy": text}))
            told = talk.decide(json.loads(state.to_json()), name)
            assert (told["by"], told["fallback"]) == (name, None)
            assert {one["job_id"] for one in told["starts"]} == {ids[row] for row in wanted.starts}
            if name != "learned":
                assert told["order"] == [ids[row] for row in wanted.order]
        kinds = {one["name"]: one["kind"] for one in talk.ask("GET", "/v1/policies").content["policies"]}
        assert (kinds["learned"], kinds["own"]) == ("learned", "python")
        # Where files are is nobody's business.
        assert str(tmp_path).encode() not in talk.ask("GET", "/v1/policies").body


def test_what_squeue_and_sinfo_print_is_decided_on(talk: Talk) -> None:
    told = talk.decide({"format": "slurm", "squeue": SQUEUE, "sinfo": SINFO, "now_s": 2000})
    assert told["order"] == [3, 2]
    assert [(one["job_id"], one["nodes"]) for one in told["starts"]] == [(3, ["n2"])]
    assert {one["job_id"]: one["reason"] for one in told["waiting"]} == {2: "no_room"}
    assert {one["job_id"]: one["reason"][:12] for one in told["masked"]} == {4: "JobHeldUser", 5: "it would not"}
    site = Site(2000.0, tuple(jobs_of_json(SQUEUE, 2000.0)), tuple(nodes_of_json(SINFO)))
    verdict = Judge(Configuration(policy="sjf", deadline_s=30.0)).decide(picture_of(site, []))
    assert (list(verdict.order), verdict.starts) == (told["order"], {3: ("n2",)}), "as 'shunter operate' decides"


def test_text_of_squeue_and_sinfo_is_decided_on(talk: Talk) -> None:
    jobs = [
        {"id": 1, "state": "RUNNING", "cores": 4, "list": "n1", "start": "1970-01-02T00:00:00", "priority": 1},
        {"id": 2, "state": "PENDING", "reason": "Resources", "cores": 1, "priority": 5, "limit": "10:00"},
    ]
    common = {"submit": "1970-01-01T12:00:00", "nodes": 1, "partition": "main", "limit": "1:00:00", "nice": 0}
    cells = [BETWEEN.join(str({**common, **job}.get(name, "N/A")) for name in JOB_CELLS) for job in jobs]
    node = {"name": "n1", "cores": 4, "memory": 1000, "partition": "main", "state": "mixed"}
    sinfo = BETWEEN.join(str(node.get(name, "N/A")) for name in NODE_CELLS)
    told = talk.decide({"format": "slurm-text", "squeue": "\n".join(cells), "sinfo": sinfo, "now_s": 200_000})
    assert (told["order"], told["starts"]) == ([2], [])


def test_what_lsf_prints_is_decided_on_as_text_and_as_objects(talk: Talk) -> None:
    hosts = "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\nn1 ok - 8 6 6 0 0 0\n"
    common = {"USER": "ann", "QUEUE": "normal", "SUBMIT_TIME": "Jan  2 10:00:00 2026", "RUNTIMELIMIT": "60.0"}
    runs = {"STAT": "RUN", "NREQ_SLOT": "6", "EXEC_HOST": "6*n1", "START_TIME": "Jan  2 10:00:30 2026"}
    waits = {"STAT": "PEND", "PEND_REASON": "New job is waiting for scheduling;"}
    jobs = [
        {**common, **runs, "JOBID": "7"},
        {**common, **waits, "JOBID": "8", "NREQ_SLOT": "4", "RUNTIMELIMIT": "10.0"},
        {**common, **waits, "JOBID": "9", "NREQ_SLOT": "2", "RUNTIMELIMIT": "5.0"},
    ]
    bjobs = {"COMMAND": "bjobs", "JOBS": len(jobs), "RECORDS": jobs}
    snapshot = {"format": "lsf", "bjobs": bjobs, "bhosts": hosts, "now_s": datetime(2026, 1, 2, 11).timestamp()}
    told = talk.decide(snapshot)
    assert (told["order"], [one["job_id"] for one in told["starts"]]) == ([9, 8], [9])
    again = talk.decide({**snapshot, "bjobs": json.dumps(bjobs)})
    assert again["order"] == told["order"]
    refused = talk.post("/v1/decide", {"policy": "sjf", "snapshot": {**snapshot, "bjobs": 3}}).error
    assert "bjobs is neither a text nor an object" in refused
    refused = talk.post("/v1/decide", {"policy": "sjf", "snapshot": {**snapshot, "memory_shared": False}}).error
    assert "unknown field 'memory_shared'" in refused


@pytest.mark.parametrize(
    "snapshot",
    [
        {"format": "slurm", "squeue": {"jobs": []}, "sinfo": SINFO},
        {"format": "slurm-text", "squeue": "", "sinfo": BETWEEN.join(["n1", "4", "1000", "N/A", "main", "idle"])},
        {
            "format": "lsf",
            "bjobs": "No unfinished job found\n",
            "bhosts": "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\nn1 ok - 8 0 0 0 0 0\n",
        },
        {"schema": "shunter.state/1", "now_s": 5, "cluster": "8", "jobs": []},
    ],
    ids=["slurm", "slurm-text", "lsf", "state"],
)
def test_a_cluster_without_jobs(talk: Talk, snapshot: dict[str, Any]) -> None:
    told = talk.decide(snapshot)
    parts = ("order", "starts", "reservations", "waiting", "masked", "guarded")
    assert {name: told[name] for name in parts} == {name: [] for name in parts}
    assert (told["by"], told["fallback"]) == ("sjf", None)
    kept = talk.ask("PUT", "/v1/snapshots/idle", snapshot)
    assert (kept.status, kept.content["jobs"], kept.content["waiting"]) == (200, 0, 0)
    assert talk.decide("idle")["order"] == []
    found = talk.post(
        "/v1/eta", {"policy": "fcfs", "snapshot": snapshot, "futures": 3, "new": {"time_s": 60, "cores": 2}}
    )
    assert (found.status, found.content["jobs"], found.content["new"]["high_s"]) == (200, [], 0.0)
    assert talk.post("/v1/explain", {"policy": "sjf", "snapshot": snapshot, "job": 7}).status == 404


def test_a_cluster_on_which_all_are_masked(talk: Talk) -> None:
    held = [job for job in SQUEUE["jobs"] if job["job_id"] in (4, 5)]
    told = talk.decide({"format": "slurm", "squeue": {"jobs": held}, "sinfo": SINFO, "now_s": 2000})
    assert (told["order"], {one["job_id"] for one in told["masked"]}) == ([], {4, 5})
    metrics = talk.ask("GET", "/metrics").body.decode()
    assert 'shunter_serve_waiting{policy="sjf",reason="masked"} 2.0' in metrics


def test_every_format_is_named_in_the_error_for_an_unknown_one(talk: Talk) -> None:
    told = talk.post("/v1/decide", {"policy": "sjf", "snapshot": {"format": "lfs"}}).error
    assert all(name in told for name in READERS)


def test_a_snapshot_may_name_a_cluster_that_was_loaded(tmp_path: Path, state: dict[str, Any]) -> None:
    loaded = Loaded({"sjf": {"policy": "sjf"}}, clusters={"site": read_cluster("8")})
    with serving(loaded, socket_path=tmp_path / "s") as talk:
        assert talk.decide({**state, "cluster": "site"})["order"] == talk.decide(state)["order"]
        assert talk.ask("GET", "/v1/policies").content["clusters"] == ["site"]


def test_start_times_are_those_of_the_library(talk: Talk, state: dict[str, Any]) -> None:
    asked = {"policy": "fcfs", "snapshot": state, "futures": 20, "seed": 3, "new": {"time_s": "10m", "cores": 8}}
    told = talk.post("/v1/eta", asked).content
    scheduler = queue_scheduler({"policy": "fcfs"})
    wanted = eta_of(State.from_content(state, "state"), scheduler, foresight=Foresight(futures=20, seed=3)).to_json()
    assert told["jobs"] == wanted["jobs"]
    assert len(told["jobs"]) == 3
    assert told["new"]["job_id"] == "not submitted"
    assert told["new"]["median_s"] >= max(one["low_s"] for one in told["jobs"])


def test_a_log_is_asked_about_by_name(tmp_path: Path) -> None:
    log = read_log(LOG, "64")
    with serving(Loaded({"sjf": {"policy": "sjf"}}, logs={"lublin": log}), socket_path=tmp_path / "s") as talk:
        told = talk.post("/v1/eta", {"log": "lublin", "job": 200, "futures": 5}).content
        assert told["now_s"] == log.workload.jobs.filter(log.workload.jobs["job_id"] == 200)["submit_s"][0]
        explained = talk.post("/v1/explain", {"log": "lublin", "job": 200}).content
        assert explained["job_id"] == 200
        assert explained["policy"] == "sjf"
        assert explained["conclusion"].startswith("Job 200 ")
        for path in ("/v1/explain", "/v1/eta"):
            unknown = talk.post(path, {"log": "lublin", "job": 99_999})
            assert (unknown.status, unknown.error) == (404, "the log has no job '99999'; check its id")
            both = talk.post(path, {"log": "lublin", "job": 200, "snapshot": "now"})
            assert (both.status, both.error) == (400, "request: both snapshot and log are given; give one")
        assert "there are: lublin" in talk.post("/v1/explain", {"log": "../lublin", "job": 1}).error


def test_a_job_that_waits_is_explained(talk: Talk, state: dict[str, Any]) -> None:
    told = talk.post("/v1/explain", {"policy": "sjf", "snapshot": state, "job": 2}).content
    assert (told["state"], told["place"], told["of"], told["starts"]) == ("waiting", 3, 3, False)
    assert (told["reason"], told["because"][:16]) == ("no_room", "it does not fit ")
    assert talk.post("/v1/explain", {"policy": "sjf", "snapshot": state, "job": 1}).content["state"] == "running"
    assert talk.post("/v1/explain", {"policy": "sjf", "snapshot": state, "job": 77}).status == 404
    raw = {"format": "slurm", "squeue": SQUEUE, "sinfo": SINFO, "now_s": 2000}
    assert talk.post("/v1/explain", {"policy": "sjf", "snapshot": raw, "job": 4}).content["because"] == "JobHeldUser"


def test_the_only_policy_need_not_be_named(tmp_path: Path, state: dict[str, Any], talk: Talk) -> None:
    with serving(Loaded({"one": {"policy": "sjf"}}), socket_path=tmp_path / "s") as alone:
        assert alone.post("/v1/decide", {"snapshot": state}).content["by"] == "one"
    assert "there are: sjf, fcfs" in talk.post("/v1/decide", {"snapshot": state}).error


@pytest.mark.parametrize("longest_s", [150.0, 10_000.0])
def test_a_job_that_starves_goes_first(longest_s: float, tmp_path: Path, state: dict[str, Any]) -> None:
    with serving(limits=Limits(max_wait_s=longest_s, deadline_s=30.0), socket_path=tmp_path / "s") as talk:
        told = talk.decide(state)
        assert (told["order"], told["guarded"]) == (([2, 3, 4], [2, 3]) if longest_s < 1000 else ([4, 3, 2], []))
        assert (b'guard_hits_total{policy="sjf"} 2.0' in talk.ask("GET", "/metrics").body) == (longest_s < 1000)
