"""What sizes are counted in is kept wherever something is to decide as it did: files, manifests, snapshots, states."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shunter
from shunter import Cluster, InputError, Workload, simulate
from shunter.agents.learned_policy import load_policy
from shunter.cli.running import RunArguments
from shunter.envs.pick_job import PickJobOptions
from shunter.metrics.run import run_log
from shunter.model.cluster import Node
from shunter.model.log import Log
from shunter.model.settings import CORES_ALONE
from shunter.model.size import SIZE_CODES, size_note
from shunter.model.snapshot import Snapshot
from shunter.policies.checkpoint import POLICY_FILE, read_record
from shunter.policies.native import resolve_native
from shunter.policies.scheduler import resolve_scheduler
from shunter.report.tables import run_title
from shunter.simulation import Simulation, decide
from tests.agents.untrained import write_policy

CLUSTER = Cluster.from_nodes((Node("n0", 64, None, 8),), name="one")
OLD_LINEAR = "linear?estimate=1&cores=-3&free_cores=0.5&queue_cores=0.1"


def workload(submit_s: float = 0.0) -> Workload:
    """Returns jobs of one run time, of which those with many GPUs have few cores; GPUs bind."""
    rows = [(8.0, 1.0), (1.0, 16.0), (2.0, 8.0), (4.0, 4.0), (8.0, 2.0), (1.0, 32.0)] * 4
    frame = pl.DataFrame(
        {
            "submit_s": [submit_s + place for place in range(len(rows))],
            "run_s": [100.0] * len(rows),
            "gpus_per_task": [gpus for gpus, _ in rows],
            "cores_per_task": [cores for _, cores in rows],
        }
    )
    return Workload.from_frame(frame, name="opposed")


def starts(**settings: Any) -> str:  # noqa: ANN401 - the settings by name
    return simulate(workload(), CLUSTER, **settings).content_sha256


def test_a_choice_can_be_made() -> None:
    assert simulate(workload(), CLUSTER, policy="largest").size_by == "gpus"
    hashes = {by: starts(policy="largest", size_by=by) for by in ("auto", "gpus", "cores", CORES_ALONE)}
    assert hashes["auto"] == hashes["gpus"]
    # By shares, 8 of 8 GPUs are the largest job there is, whatever sizes are counted in; by cores, it is the smallest.
    assert hashes["cores"] == hashes["gpus"] != hashes[CORES_ALONE]
    with pytest.raises(InputError, match="size_by"):
        resolve_scheduler(size_by="memory")


def test_old_names_of_weights_count_cores_alone() -> None:
    new = OLD_LINEAR.replace("cores", "size").replace("free_size", "free_size")
    assert resolve_scheduler(policy=OLD_LINEAR).size_by == CORES_ALONE
    assert resolve_scheduler(policy=new).size_by == "auto"
    assert resolve_native(OLD_LINEAR).spec.parameters == resolve_native(new).spec.parameters
    assert starts(policy=OLD_LINEAR) == starts(policy=new, size_by=CORES_ALONE) != starts(policy=new)


@pytest.mark.parametrize(
    ("text", "size_by"),
    [
        ('[policy]\nkind = "multifactor"\nsize = 9000\n', "auto"),
        ('[policy]\nkind = "multifactor"\nsize = 9000\n[tuned]\nseed = 1\n', CORES_ALONE),
        ('[policy]\nkind = "multifactor"\nsize = 9000\nsize_by = "gpus"\n[tuned]\nseed = 1\n', "gpus"),
        ('[policy]\nkind = "linear"\ncores = 1.0\n', CORES_ALONE),
    ],
)
def test_files_say_what_sizes_are_counted_in(text: str, size_by: str, tmp_path: Path) -> None:
    """A file that tuning wrote and that does not say is of an earlier version."""
    path = tmp_path / "policy.toml"
    path.write_text(text)
    assert resolve_scheduler(policy=str(path)).size_by == size_by
    assert resolve_scheduler(policy=str(path), size_by="cores").size_by == "cores"


def test_a_file_with_another_word_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('[policy]\nkind = "linear"\nsize_by = "gpu"\n')
    with pytest.raises(InputError, match=r"unknown size_by 'gpu'.*did you mean 'gpus'"):
        resolve_native(str(path))


def test_checkpoints_keep_it_and_old_ones_count_cores(tmp_path: Path) -> None:
    folder = Path(write_policy(tmp_path / "best", size_by="gpus"))
    policy = load_policy(str(folder))
    assert policy.record.options.scheduler.size_by == "gpus"
    assert "log_size" in policy.layout.job_features
    # As an earlier version wrote it: neither the option nor what features count.
    old = Path(write_policy(tmp_path / "old" / "best", size_by=CORES_ALONE))
    content = json.loads((old / POLICY_FILE).read_text())
    del content["options"]["size_by"], content["layout"]["counts"]
    assert content["features"]["job"][9] == "log_cores"
    assert read_record(str(old))["options"]["size_by"] == CORES_ALONE
    assert PickJobOptions(size_by=CORES_ALONE).layout.job_features[9] == "log_cores"
    assert resolve_scheduler(policy=str(old)).size_by == CORES_ALONE


def test_a_snapshot_decides_as_its_simulation_did() -> None:
    """What is loaded knows nothing of the log: of the jobs to come, and of run times, anything may be said."""
    jobs, scheduler = workload(), resolve_scheduler(policy="largest", dispatch="strict")
    simulation = Simulation(jobs, CLUSTER, scheduler)
    while simulation.advance() and simulation.status().now_s < 15:
        simulation.dispatch()
    told = simulation.snapshot()
    assert told.size_by == SIZE_CODES["gpus"]
    ended = pl.Series(told.end_ms >= 0)
    # All who have not ended run for no time at all, so that no GPUs bind any more.
    frame = jobs.jobs.with_columns(run_s=pl.when(ended).then(pl.col("run_s")).otherwise(0.001))
    frame = frame.with_columns(gpus_per_task=pl.when(pl.col("submit_s") > 15).then(0.0).otherwise("gpus_per_task"))
    other = Workload.from_frame(frame, name="other")
    again = decide(Snapshot.from_json(told.to_json()), other, CLUSTER, resolve_scheduler(policy="smallest"))
    assert again.order == decide(told, jobs, CLUSTER, resolve_scheduler(policy="smallest")).order
    cores = decide(replace(told, size_by=SIZE_CODES[CORES_ALONE]), jobs, CLUSTER, resolve_scheduler(policy="smallest"))
    assert cores.order != again.order


def test_a_snapshot_of_an_earlier_version_leaves_it_open() -> None:
    simulation = Simulation(workload(), CLUSTER, resolve_scheduler())
    simulation.advance()
    old = json.loads(simulation.snapshot().to_json())
    del old["size_by"]
    assert Snapshot.from_json(json.dumps(old)).size_by == -1


def test_a_saved_state_goes_on_as_it_was() -> None:
    scheduler = resolve_scheduler(policy="fair-share", size_by="gpus")
    simulation = Simulation(workload(), CLUSTER, scheduler)
    simulation.run(12)
    again = Simulation.restore(workload(), CLUSTER, simulation.serialize())
    assert again.snapshot().size_by == SIZE_CODES["gpus"]
    for one in (simulation, again):
        one.run()
    assert simulation.job_states().end_ms.tolist() == again.job_states().end_ms.tolist()


def test_results_say_it() -> None:
    """The manifest of a part of a log has what the whole log decided."""
    run = run_log(Log(workload(), CLUSTER), resolve_scheduler(), start=5, length=1)
    assert (run.result()["size_by"], run.resolved()["size_by"]) == ("gpus", "gpus")
    assert RunArguments.from_json({"workload": "log.swf"}).words["size_by"] == CORES_ALONE
    assert "sizes in GPUs" in run_title(run)
    compared = shunter.compare(workload(), CLUSTER, policy=["fcfs", "saf"], length=4, windows=2)
    assert compared.to_json()["size_by"] == "gpus"
    assert size_note(["gpus"], CLUSTER) == "sizes in GPUs"
    assert size_note(["gpus", "cores-alone"], CLUSTER) == "sizes as each policy counts them: GPUs or cores alone"
    assert size_note(["cores"], Cluster.pool(8)) == ""
