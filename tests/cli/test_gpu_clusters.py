"""GPU clusters from a user's files to the numbers: two types, speeds, failures, policies that stop jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agents.untrained import LUBLIN, write_policy
from tests.cli.conftest import Command
from tests.cli.gpu_site import CLUSTER, JOBS, Site
from tests.simulation.placers import write_placers

GPU_METRICS = (
    *("mean_fragmentation", "mean_partly_used_nodes", "nodes_per_job", "flops_weighted_utilization"),
    *("preemptions", "failures", "migrations", "lost_gpu_hours"),
)
NEW_PLACEMENTS = (
    *("fastest", "slowest-that-fits", "tiered-defrag", "tiered-balance", "tiered-lex", "fgd", "topology"),
    *("milp", "milp-full", "milp?alpha=2&k=3"),
)


def times(out: Path) -> dict[str, tuple[float, float]]:
    """Returns start and end of each job in a run's folder."""
    rows = [json.loads(line) for line in (out / "schedule.jsonl").read_text().splitlines()]
    return {str(row["job_id"]): (row["start_s"], row["end_s"]) for row in rows}


def test_speeds_divide_run_times(shunter: Command, site: Site, out: Path) -> None:
    """Twice as fast, or half: job 3 needs all fast GPUs and waits for job 1; fractions go to the first that fits."""
    result = shunter("simulate", *site.inputs, "--out", out, "--json").json()
    assert times(out) == {
        "1": (0.0, 50.0),
        "2": (0.0, 200.0),
        "3": (50.0, 80.0),
        "4": (20.0, 70.0),
        "5": (30.0, 35.0),
    }
    metrics = result["metrics"]
    assert set(GPU_METRICS) <= set(metrics)
    held_gpu_s = 2 * 50 + 200 + 4 * 30 + 0.5 * 5
    assert metrics["gpu_utilization"] == pytest.approx(held_gpu_s / (12 * 200))
    assert (metrics["preemptions"], metrics["failures"], metrics["lost_gpu_hours"]) == (0, 0, 0)
    assert metrics["nodes_per_job"] == pytest.approx((1 + 1 + 2 + 1) / 4)


@pytest.mark.parametrize(("kept", "end_s"), [("kept", 80.0), ("lost", 100.0)])
def test_a_failure_costs_the_work_done(shunter: Command, site: Site, out: Path, kept: str, end_s: float) -> None:
    """Job 1 works for 20 s, waits until its type has room at 50 s, and has 60 or 100 s of work left at speed 2."""
    site.jobs("1,0,100,200,4,1,1,FAST,,ada\n")
    failures = site.failures("20,f0,down", "50,f0,up")
    options = ("--failures", failures, "--failed-progress", kept, "--out", out)
    metrics = shunter("simulate", *site.inputs, *options, "--json").json()["metrics"]
    assert times(out) == {"1": (0.0, end_s)}
    assert metrics["failures"] == 1
    assert metrics["lost_gpu_hours"] == pytest.approx(0.0 if kept == "kept" else 4 * 20 / 3600)
    assert shunter("replay", out).code == 0


def test_a_job_with_less_left_stops_another(shunter: Command, site: Site, out: Path) -> None:
    """Job 2 takes job 1's nodes from 10 to 40 s; each start after a stop costs 5 s; 80 s of work at speed 2 remain."""
    site.jobs("1,0,100,100,4,1,1,FAST,,ada\n2,10,60,60,4,1,1,FAST,,ben\n")
    options = ("--policy", "srtf", "--preemption-overhead", 5, "--out", out)
    result = shunter("simulate", *site.inputs, *options, "--json").json()
    assert times(out) == {"1": (0.0, 85.0), "2": (10.0, 40.0)}
    assert (result["metrics"]["preemptions"], result["dispatch"]) == (1, "greedy")
    kept = shunter("simulate", *site.inputs, "--policy", "srtf", "--min-run", 50, "--json").json()
    assert kept["metrics"]["preemptions"] == 0, "at 50 s job 1 is over"
    said = shunter("explain", out, 1)
    assert said.code == 0
    assert "preempted" in said.out
    assert shunter("explain", out, 2).code == 0


@pytest.mark.parametrize("placement", NEW_PLACEMENTS)
def test_every_new_placement_keeps_to_types(shunter: Command, site: Site, out: Path, placement: str) -> None:
    answer = shunter("simulate", *site.inputs, "--placement", placement, "--out", out, "--json").json()
    assert answer["placement"] == placement
    assert answer["metrics"]["completion_rate"] == 1.0
    assert times(out)["1"] == (0.0, 50.0)
    assert times(out)["2"] == (0.0, 200.0)
    assert shunter("replay", out).code == 0


def test_the_fastest_type_or_the_slowest(shunter: Command, site: Site, out: Path) -> None:
    site.jobs("1,0,100,100,1,1,1,,,ada\n")
    for placement, end_s in (("fastest", 50.0), ("slowest-that-fits", 200.0)):
        assert shunter("simulate", *site.inputs, "--placement", placement, "--out", out, "--force").code == 0
        assert times(out) == {"1": (0.0, end_s)}


def test_types_mix_where_the_cluster_lets_them(shunter: Command, site: Site, out: Path) -> None:
    """Ten GPUs are of two types; the slowest node sets the pace."""
    site.jobs("1,0,100,100,10,1,1,,,ada\n")
    assert "can never fit" in shunter("simulate", *site.inputs).error()
    site.write("cluster.toml", "mix = true\n" + CLUSTER)
    assert shunter("simulate", *site.inputs, "--out", out).code == 0
    assert times(out) == {"1": (0.0, 200.0)}


def test_a_placement_of_ones_own(shunter: Command, site: Site, out: Path) -> None:
    site.jobs("1,0,100,100,1,1,1,,,ada\n")
    path = write_placers(site.folder)
    options = ("--placement", f"{path}:LastFit", "--out", out)
    assert shunter("simulate", *site.inputs, *options, "--json").json()["placement"] == f"{path}:LastFit"
    assert times(out) == {"1": (0.0, 200.0)}, "the last nodes are slow"
    broken = shunter("simulate", *site.inputs, "--placement", f"{path}:Broken").error()
    line = next(at for at, text in enumerate(path.read_text().splitlines(), 1) if "no idea" in text)
    assert broken == f"placement 'own': place() failed ({path}:{line}: RuntimeError: no idea)"


def test_what_stood_in_for_the_solver_is_counted(shunter: Command, site: Site) -> None:
    site.jobs("".join(f"{job},{job},50,50,{job % 3 + 1},1,1,,,ada\n" for job in range(1, 13)))
    inputs = ("--workload", site.log, "--cluster", "gpu-64", "--placement", "milp?time_limit_s=0")
    ledger = shunter("simulate", *inputs, "--json").json()["ledger"]
    (entry,) = (entry for entry in ledger if entry["rule"].startswith("milp"))
    assert entry["rule"] == "milp: no optimum in time: tiered-defrag stands in"
    assert entry["count"] > 0
    assert entry["example"].endswith("s: time_limit_s is 0")


def test_a_figure_of_jobs_that_were_stopped(shunter: Command, site: Site) -> None:
    figure = site.folder / "figure.svg"
    options = ("--policy", "srtf", "--failures", site.failures("20,f0,down", "40,f0,up"), "--plot", figure)
    assert shunter("simulate", *site.inputs, *options).code == 0
    assert figure.read_text().startswith("<?xml")


def test_compare(shunter: Command, site: Site) -> None:
    site.jobs(JOBS + "6,40,20,20,3,1,1,,,ben\n")
    options = ("--policy", "fcfs,srtf,las,qssf", "--dispatch", "easy", "--placement", "fgd,milp")
    sizes = ("--length", 6, "--windows", 1)
    result = shunter("compare", *site.inputs, *options, *sizes, "--json").json()
    labels = {one["label"] for one in result["combinations"]}
    assert labels == {"fcfs/easy/fgd", "fcfs/easy/milp", "qssf/easy/fgd", "qssf/easy/milp"}
    assert len(result["skipped"]) == 2
    assert all("stops others for it, but dispatch is 'easy'; use 'greedy'" in line for line in result["skipped"])


def test_compare_measures_jobs_that_were_stopped_as_simulate_does(shunter: Command, site: Site) -> None:
    chosen = ("--policy", "srtf", "--preempted-progress", "lost")
    sizes = ("--length", 5, "--windows", 1)
    (one,) = shunter("compare", *site.inputs, *chosen, *sizes, "--json").json()["combinations"]
    metrics = shunter("simulate", *site.inputs, *chosen, "--json").json()["metrics"]
    assert metrics["preemptions"] == 1
    for name in ("mean_wait_s", "core_utilization"):
        assert one[name] == pytest.approx(metrics[name])
    assert one["geometric_mean"] == pytest.approx(metrics["mean_bounded_slowdown"])


def test_what_if(shunter: Command, site: Site) -> None:
    failures = site.failures("20,f0,down", "40,f0,up")
    changes = ("policy=srtf,preemption-overhead=5", "placement=milp", f"failures={failures}", "mtbf=100,mttr=10")
    options = [word for change in changes for word in ("--change", change)]
    result = shunter("what-if", *site.inputs, *options, "--json").json()
    text = json.dumps(result)
    assert all(change in text for change in changes[:2])


def test_the_lists_have_them(shunter: Command) -> None:
    text = shunter("policies").out
    for name in ("qssf", "srtf", "las", "history", *NEW_PLACEMENTS[:-1]):
        assert f"\n  {name} " in text


def test_evaluate_against_policies_of_gpu_clusters(
    shunter: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_policy(tmp_path / "runs" / "first" / "best", order="qssf", placement="milp")
    inputs = ("--workload", LUBLIN, "--windows", 2, "--length", 25, "--threads", 2)
    result = shunter("evaluate", "runs/first", *inputs, "--against", "srtf,las/greedy,qssf/easy", "--json").json()
    rows = {row["label"]: row for row in result["combinations"]}
    costly = {"srtf/greedy/overhead=30", "las/greedy/overhead=30"}
    assert set(rows) == {"runs/first", "srtf/greedy", "las/greedy", "qssf/easy"} | costly
    assert rows["runs/first"]["placement"] == "milp"
    error = shunter("evaluate", "runs/first", *inputs, "--against", "srtf/easy").error()
    assert "policy 'srtf' starts whatever fits, and stops others for it, but dispatch is 'easy'" in error
    Path("down.csv").write_text("time_s,node,event\n5,node0,down\n")
    failing = ("simulate", "--workload", LUBLIN, "--policy", "runs/first", "--failures", "down.csv")
    assert "give --mtbf and --mttr in the place of --failures (failures)" in shunter(*failing).error()


def test_jobs_whose_node_never_comes_back_are_counted(shunter: Command, site: Site) -> None:
    site.jobs("1,0,100,200,4,1,1,FAST,,ada\n")
    options = ("--failures", site.failures("20,f0,down", "20,f1,down"))
    counts = shunter("simulate", *site.inputs, *options, "--json").json()
    assert {name: counts[name] for name in ("rejected", "killed", "failed", "unfinished")} == {
        **dict.fromkeys(("rejected", "killed", "failed"), 0),
        "unfinished": 1,
    }
    assert "1 jobs, 0 rejected, 1 unfinished" in shunter("simulate", *site.inputs, *options).out
