"""Makes the files that later versions must go on reading, and writes down what the version that made them says of them.

    cd tests/compat/compat && OMP_NUM_THREADS=1 python make_fixtures.py [files] [states] [environments] [expected]

Everything comes from generated workloads. Without arguments everything is made anew, which takes one to two minutes;
``expected`` alone leaves the files as they are, and writes anew what is said of them.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from shunter.simulate import Simulation, check_settings

from shunter import Cluster, load_policy, read_workload
from shunter.envs import make_vec

HERE = Path(__file__).resolve().parent
PLACE = "COMPAT"
"""Stands in manifests for the folder that the fixtures are in: paths there are absolute."""
TIMES = ("seconds", "elapsed_s", "version", "recorded_version")
"""What is told, but is another each time, or in each version."""

POOL = "generate:lublin?seed=11&jobs=120&cores=64&load=1.3&requests=factor"
GPU = "generate:bursty-gpu?seed=12&jobs=120&nodes=3&load=1.2&requests=factor"
TUNE = "generate:lublin?seed=3&jobs=600&cores=32&load=1.4&requests=factor"
UNIFORM = "generate:uniform?seed=5&jobs=600&cores=32&load=1.4&requests=factor&p_max=3600"
USERS = "generate:bursty-gpu?seed=6&jobs=600&nodes=2&load=1.4&requests=factor"

CLUSTER = """\
name = "lab"
reference_gpu = "V100"

[[nodes]]
name = "v"
count = 2
cores = 64
memory_mb = 524288
gpus = 8
gpu_type = "V100"
rack = "r1"
switch = "s1"

[[nodes]]
name = "a"
cores = 64
memory_mb = 524288
gpus = 8
gpu_type = "A100"
rack = "r2"
switch = "s1"

[gpu_types.A100]
speed = 2.0
"""
NODES = '[[nodes]]\nname = "gpu"\ncount = {count}\ncores = 64\nmemory_mb = 524288\ngpus = 8\n'
"""The generator's own, as a file."""
HOSTS = """\
[[nodes]]
name = "large"
cores = 32
memory_mb = 131072

[[nodes]]
name = "small"
cores = 16
memory_mb = 65536
"""


def shunter(*arguments: object, folder: Path = HERE) -> str:
    """Runs a command in a folder and returns what it printed."""
    command = [sys.executable, "-m", "shunter", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    if done.stderr:
        print(f"{arguments[:3]}: {done.stderr.strip()}")
    return done.stdout


def make_files() -> None:
    """Writes everything but the saved states."""
    (HERE / "cluster.toml").write_text(CLUSTER)
    tune = ("--windows", 6, "--report-windows", 2, "--length", 40, "--generations", 3, "--population", 6)
    (HERE / "tuned").mkdir()
    shunter("tune", "--workload", TUNE, "--out", "tuned/linear.toml", *tune)
    multifactor = ("--kind", "multifactor", "--estimate", "requested", "--objective", "mean-wait")
    shunter("tune", "--workload", USERS, "--out", "tuned/multifactor.toml", *multifactor, *tune)
    shunter("trace", "estimate", USERS, "--save", "tuned/prior.toml")
    make_runs()
    (HERE / "tables").mkdir()
    for ending in ("parquet", "csv", "swf.gz"):
        generated = POOL if ending == "swf.gz" else GPU
        shunter("trace", "generate", generated.replace("jobs=120", "jobs=60"), "-o", f"tables/jobs.{ending}")
    shunter("envs", "export", "--out", "episodes", "--workload", UNIFORM, "--length", 40, "--windows", 3)
    make_trainings()
    shunter("simulate", "--workload", TUNE, "--start", 100, "--length", 80, "--policy", "trained/tuned",
            "--out", "runs/learned")  # fmt: skip
    for manifest in HERE.glob("runs/*/manifest.json"):
        manifest.write_text(manifest.read_text().replace(str(HERE), PLACE))


def make_runs() -> None:
    """Simulates."""
    shunter("simulate", "--workload", POOL, "--policy", "fcfs", "--dispatch", "easy", "--out", "runs/pool")
    shunter(
        "simulate", "--workload", GPU, "--cluster", "cluster.toml", "--policy", "las?first_s=600",
        "--placement", "pack", "--min-run", 120, "--preemption-overhead", 30, "--mtbf", 200000, "--mttr", 7200,
        "--seed", 7, "--out", "runs/gpu",
    )  # fmt: skip
    shunter(
        "simulate", "--workload", TUNE, "--start", 200, "--length", 100, "--policy", "tuned/linear.toml",
        "--estimate", "tuned/linear.toml", "--max-wait", 50000, "--out", "runs/tuned",
    )  # fmt: skip


SHORT = (
    "--windows", 8, "--validation-windows", 3, "--length", 40, "--num-envs", 4, "--rollout-steps", 16,
    "--minibatch", 32, "--epochs", 2, "--steps", 128, "--eval-every", 64, "--save-every", 64, "--report-windows", 3,
    "--report-length", 40, "--margin-se", 0, "--lr", 0.01,
)  # fmt: skip
TRAININGS: dict[str, tuple[object, ...]] = {
    "mlp": ("--workload", UNIFORM, "--preset", "pick-job-committed", "--network", "mlp", "--hidden", "6,5",
            "--window", 6, "--set", "network.order_temperature=none"),
    "kernel": ("--workload", USERS, "--network", "kernel", "--hidden", "6,4", "--window", 8,
               "--bound", "mean-wait=1.1"),
    "attention": ("--workload", TUNE, "--network", "attention", "--hidden", "4,6", "--window", 5, "--mode", "feasible",
                  "--lookahead", "sorted", "--set", "network.order_temperature=none",
                  "--set", "environment.lookahead_size=4", "--max-wait", 40000),
    "tuned": ("--workload", TUNE, "--init", "tuned/linear.toml", "--hidden", "5", "--window", 6),
    "hosts": ("--env", "pick-host", "--network", "hosts", "--hidden", "5,4", "--set", "environment.num_hosts=3",
              "--set", "environment.episode_length=10", "--set", "environment.max_jobs_per_step=4"),
}  # fmt: skip


def make_trainings() -> None:
    """Trains."""
    for name, options in TRAININGS.items():
        shunter("train", *SHORT, *options, "--out", f"trained/{name}")


STATES: dict[str, dict[str, Any]] = {
    "easy-pool": {"workload": POOL, "cluster": "64", "settings": {"policy": "fcfs", "dispatch": "easy"}},
    "conservative-nodes": {
        "workload": "generate:eda?seed=4&jobs=120&hosts=2&load=1.3&requests=factor",
        "cluster": "states/hosts.toml",
        "settings": {"policy": "f2", "dispatch": "conservative", "placement": "best-fit"},
    },
    "posterior-sjf": {
        "workload": USERS, "cluster": "states/nodes-2.toml", "length": 100,
        "settings": {"policy": "sjf", "estimate": "posterior"},
    },
    "prior-window": {
        "workload": USERS, "cluster": "states/nodes-2.toml", "start": 60, "length": 60,
        "settings": {"policy": "saf", "estimate": "tuned/prior.toml", "reserve_by": "estimate", "dispatch": 3},
    },
    "fair-share": {
        "workload": GPU, "cluster": "states/nodes-3.toml",
        "settings": {"policy": "fair-share?half_life_s=86400", "placement": "fgd", "dispatch": "easy"},
    },
    "multifactor": {
        "workload": USERS, "cluster": "states/nodes-2.toml", "length": 80,
        "settings": {"policy": "tuned/multifactor.toml", "kill_at_request": True, "max_wait_s": 20000.0},
    },
    "las": {
        "workload": GPU, "cluster": "cluster.toml",
        "settings": {"policy": "las?first_s=600", "min_run_s": 120.0, "preemption_overhead_s": 30.0,
                     "preempted_progress": "lost", "placement": "fastest"},
    },
    "srtf-failures": {
        "workload": GPU, "cluster": "states/nodes-3.toml",
        "settings": {"policy": "srtf", "estimate": "history", "mtbf_s": 100000.0, "mttr_s": 7200.0, "seed": 3},
    },
    "failures": {
        "workload": GPU, "cluster": "states/nodes-3.toml",
        "settings": {"policy": "qssf", "placement": "tiered-defrag", "mtbf_s": 100000.0, "mttr_s": 7200.0, "seed": 5,
                     "failed_progress": "kept", "preemption_overhead_s": 60.0},
    },
    "committed": {"workload": POOL, "cluster": "64",
                  "settings": {"policy": "f1", "dispatch": "committed", "estimate": "noisy?sigma=1"}},
    "committed-backfill": {"workload": UNIFORM, "cluster": "32", "length": 100,
                           "settings": {"policy": "wfp3", "dispatch": "committed-backfill", "estimate": "last-two"}},
    "tuned": {"workload": TUNE, "cluster": "32", "start": 200, "length": 100,
              "settings": {"policy": "tuned/linear.toml", "estimate": "tuned/linear.toml", "placement": "random"}},
}  # fmt: skip
"""What is simulated, by name; the policy is followed for half of the decisions, then the state is saved."""


def make_states() -> None:
    """Writes the states of simulations that are under way."""
    (HERE / "states").mkdir()
    (HERE / "states" / "hosts.toml").write_text(HOSTS)
    for count in (2, 3):
        (HERE / "states" / f"nodes-{count}.toml").write_text(NODES.format(count=count))
    for name, about in STATES.items():
        cluster = Cluster.parse(about["cluster"])
        window = read_workload(about["workload"]).window(about.get("start", 0), about.get("length"))
        settings = check_settings(**about["settings"])
        simulation = Simulation(window, cluster, settings)
        decisions = 0
        while not simulation.run(1):
            decisions += 1
        simulation = Simulation(window, cluster, settings)
        simulation.run(decisions // 2)
        made = decisions // 2
        while simulation.status().waiting < 3:
            simulation.run(1)
            made += 1
        status = simulation.status()
        assert 0 < status.ended < 0.8 * status.jobs, (name, status)
        saved = simulation.serialize()
        (HERE / "states" / f"{name}.bin.gz").write_bytes(gzip.compress(saved, mtime=0))
        simulation.run()
        facts = about | {"decisions": made, "status": asdict(status), "final_sha256": schedule_hash(simulation)}
        assert schedule_hash(restored(name, facts)) == facts["final_sha256"]
        write_json(HERE / "states" / f"{name}.json", facts)


def restored(name: str, about: dict[str, Any]) -> Simulation:
    """Returns a saved simulation, run to its end."""
    cluster = Cluster.parse(about["cluster"])
    window = read_workload(about["workload"]).window(about.get("start", 0), about.get("length"))
    simulation = Simulation.restore(window, cluster, gzip.decompress((HERE / "states" / f"{name}.bin.gz").read_bytes()))
    assert simulation.run()
    return simulation


def schedule_hash(simulation: Simulation) -> str:
    """Returns the hash of what became of each job: phase, starts, end, stops, nodes and devices."""
    jobs, placed, stops = simulation.job_states(), simulation.snapshot(), simulation.stops()
    arrays = (
        jobs.phase, jobs.start_ms, jobs.latest_start_ms, jobs.end_ms, jobs.preemptions, jobs.failures,
        placed.node_offsets, placed.nodes, placed.tasks, placed.device_offsets, placed.devices, placed.millis,
        stops.job, stops.start_ms, stops.end_ms, stops.by_failure, stops.node_offsets, stops.nodes, stops.tasks,
    )  # fmt: skip
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.astype("<i8").tobytes())
    return digest.hexdigest()


ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "reserve": {
        "id": "shunter/PickJob-v0",
        "options": {"workload": TUNE, "window": 6, "length": 40, "order": "saf", "estimate": "posterior",
                    "reward": {"bounded_slowdown": 1.0, "wait": 0.2}, "scale": "order", "relative_to": "order"},
    },
    "feasible-gpu": {
        "id": "shunter/PickJob-v0",
        "options": {"workload": USERS, "window": 4, "length": 30, "warmup": 10, "mode": "feasible",
                    "order": "fair-share", "lookahead": "per_gpu", "lookahead_size": 8, "placement": "pack",
                    "reward": {"wait": 0.001, "queue": 1.0, "utilization": 1.0}, "max_wait_s": 20000.0},
    },
    "committed": {
        "id": "shunter/PickJob-v0",
        "options": {"workload": UNIFORM, "window": 8, "length": 24, "mode": "committed", "order": "f1",
                    "lookahead": "sorted", "reward": "bounded_slowdown", "timing": "final", "log": True},
    },
    "hosts": {
        "id": "shunter/PickHost-v0",
        "options": {"num_hosts": 3, "episode_length": 8, "max_jobs_per_step": 4,
                    "reward": {"wait": 1.0, "balance": 1.0}},
    },
}  # fmt: skip
NUM_ENVS, PLAYED, FOLLOWING = 3, 70, 60


def make_environments() -> None:
    """Writes the states of environments that are under way, the actions that follow, and what comes of them."""
    (HERE / "environments").mkdir()
    for name, about in ENVIRONMENTS.items():
        env = make_vec(about["id"], num_envs=NUM_ENVS, **about["options"])
        random = np.random.default_rng(1)
        _, info = env.reset(seed=3)
        for _ in range(PLAYED):
            *_, info = env.step(drawn(info["action_mask"], random))
        (HERE / "environments" / f"{name}.bin").write_bytes(env.state())
        actions = []
        for _ in range(FOLLOWING):
            actions.append(drawn(info["action_mask"], random))
            *_, info = env.step(actions[-1])
        facts = about | {"num_envs": NUM_ENVS, "actions": [row.tolist() for row in actions]}
        told = followed(facts, (HERE / "environments" / f"{name}.bin").read_bytes())
        assert any(any(row) for row in told["terminated"]), name
        write_json(HERE / "environments" / f"{name}.json", facts | {"expected": told})


def drawn(masks: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Returns for each environment an action that its mask allows."""
    return np.where(masks, random.random(masks.shape), -1.0).argmax(axis=1).astype(np.int32)


def followed(about: dict[str, Any], saved: bytes) -> dict[str, Any]:
    """Returns what saved environments tell of the actions that follow."""
    env = make_vec(about["id"], num_envs=about["num_envs"], **about["options"])
    size, actions = env.single_observation_space.shape[0], int(env.single_action_space.n)
    observations = np.zeros((env.num_envs, size), dtype=np.float32)
    masks = np.zeros((env.num_envs, actions), dtype=np.bool_)
    env.load_state(saved, observations, masks)
    seen = hashlib.sha256(observations.astype("<f4").tobytes() + masks.tobytes())
    rewards, terminated = [], []
    for row in about["actions"]:
        observation, reward, ended, _, info = env.step(np.array(row, dtype=np.int32))
        seen.update(observation.astype("<f4").tobytes() + info["action_mask"].tobytes())
        rewards.append(reward.tolist())
        terminated.append(ended.tolist())
    return {"seen_sha256": seen.hexdigest(), "rewards": rewards, "terminated": terminated}


NEW = (*SHORT, "--report-windows", 2)
COMMANDS: dict[str, tuple[str, tuple[object, ...]]] = {
    "replay-pool": ("core", ("replay", "runs/pool")),
    "replay-gpu": ("core", ("replay", "runs/gpu", "--cluster", "cluster.toml")),
    "explain-gpu": ("core", ("explain", "runs/gpu", "EXPLAINED:runs/gpu")),
    "replay-tuned": ("core", ("replay", "runs/tuned")),
    "replay-learned": ("network", ("replay", "runs/learned")),
    "explain-pool": ("core", ("explain", "runs/pool", "EXPLAINED:runs/pool")),
    "explain-tuned": ("core", ("explain", "runs/tuned", "EXPLAINED:runs/tuned")),
    "simulate-linear": ("core", ("simulate", "--workload", POOL, "--policy", "tuned/linear.toml",
                                 "--estimate", "tuned/linear.toml")),
    "simulate-multifactor": ("core", ("simulate", "--workload", GPU, "--policy", "tuned/multifactor.toml",
                                      "--estimate", "tuned/multifactor.toml", "--dispatch", "conservative")),
    "simulate-prior": ("core", ("simulate", "--workload", GPU, "--policy", "sjf", "--estimate", "tuned/prior.toml",
                                "--reserve-by", "estimate")),
    "simulate-cluster": ("core", ("simulate", "--workload", GPU, "--cluster", "cluster.toml", "--policy", "srtf",
                                  "--placement", "topology", "--min-run", 60)),
    "simulate-episode": ("core", ("simulate", "--workload", "episodes/seed-43.csv",
                                  "--cluster", "episodes/seed-43.toml", "--policy", "saf")),
    "info-parquet": ("core", ("trace", "info", "tables/jobs.parquet", "--cluster", "cluster.toml")),
    "info-csv": ("core", ("trace", "info", "tables/jobs.csv", "--cluster", "gpu-64")),
    "simulate-parquet": ("core", ("simulate", "--workload", "tables/jobs.parquet", "--cluster", "cluster.toml",
                                  "--policy", "f3", "--placement", "tiered-balance")),
    "simulate-swf": ("core", ("simulate", "--workload", "tables/jobs.swf.gz", "--policy", "sjf",
                              "--dispatch", "strict")),
    "compare": ("network", ("compare", "--workload", TUNE, "--policy", "fcfs,saf,tuned/linear.toml,trained/tuned",
                            "--estimate", "requested,tuned/linear.toml", "--windows", 3, "--length", 40,
                            "--threads", 1)),
    "simulate-mlp": ("network", ("simulate", "--workload", UNIFORM, "--length", 150, "--policy", "trained/mlp")),
    "simulate-kernel": ("network", ("simulate", "--workload", GPU, "--policy", "trained/kernel")),
    "simulate-kernel-last": ("network", ("simulate", "--workload", GPU, "--policy", "trained/kernel/last")),
    "simulate-attention": ("network", ("simulate", "--workload", POOL, "--policy", "trained/attention")),
    "simulate-attention-initial": ("network", ("simulate", "--workload", POOL, "--policy",
                                               "trained/attention/initial")),
    "simulate-tuned": ("network", ("simulate", "--workload", TUNE, "--start", 300, "--length", 150, "--policy",
                                   "trained/tuned", "--max-wait", 30000)),
    "evaluate": ("network", ("evaluate", "trained/tuned", "trained/attention/last", "--workload", TUNE,
                             "--also", "tuned/linear.toml", "--against", "fcfs/easy,saf/easy,f2/conservative",
                             "--windows", 3, "--length", 40, "--threads", 1)),
    "inspect-mlp": ("network", ("inspect", "trained/mlp", "--workload", UNIFORM, "--windows", 1, "--length", 20)),
    "inspect-kernel": ("network", ("inspect", "trained/kernel", "--workload", USERS, "--windows", 1, "--length", 20)),
    "inspect-attention": ("network", ("inspect", "trained/attention", "--workload", TUNE, "--windows", 1,
                                      "--length", 20)),
    "inspect-hosts": ("network", ("inspect", "trained/hosts", "--windows", 2)),
    "train-resume": ("learning", ("train", "--resume", "--out", "trained/kernel", "--steps", 256)),
    "train-config": ("learning", ("train", "--config", "trained/mlp/config.toml", "--seed", 1, "--out", "new")),
    "train-init-checkpoint": ("learning", ("train", "--init", "trained/attention", "--workload", POOL, *NEW,
                                           "--length", 10, "--report-length", 10, "--windows", 4, "--out", "new")),
    "train-init-hosts": ("learning", ("train", "--env", "pick-host", "--init", "trained/hosts", *NEW, "--out", "new")),
    "train-init-tuned": ("learning", ("train", "--init", "tuned/linear.toml", "--workload", TUNE, *NEW, "--window", 4,
                                      "--hidden", "4", "--out", "new")),
}  # fmt: skip
"""By name: what the figures rest on, and the arguments; ``--json`` is added."""


def write_expected() -> None:
    """Writes what this version says of all files."""
    told = {}
    for name, (rests_on, words) in COMMANDS.items():
        arguments = [str(word) for word in words]
        if arguments[-1].startswith("EXPLAINED:"):
            arguments[-1] = longest_waiting(HERE / arguments[-1].partition(":")[2])
        arguments.append("--json")
        with tempfile.TemporaryDirectory() as folder:
            copy = fresh_copy(Path(folder))
            printed = without_times(json.loads(shunter(*arguments, folder=copy)))
            told[name] = {"arguments": arguments, "rests_on": rests_on, "told": printed}
            if rests_on == "learning":
                weights = f"{arguments[arguments.index('--out') + 1]}/last/policy.safetensors"
                told[name]["weights"] = weights
                told[name]["weights_sha256"] = hashlib.sha256((copy / weights).read_bytes()).hexdigest()
    expected = {
        "arithmetic": arithmetic(),
        "commands": told,
        "policies": {name: policy_says(HERE / "trained" / name) for name in TRAININGS},
    }
    write_json(HERE / "expected.json", expected)


def fresh_copy(folder: Path) -> Path:
    """Returns a copy of all fixtures, whose manifests name their files there."""
    copy = shutil.copytree(HERE, folder / "compat")
    for manifest in copy.glob("runs/*/manifest.json"):
        manifest.write_text(manifest.read_text().replace(PLACE, str(copy.resolve())))
    return copy


def without_times(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Returns what was told without what is another each time."""
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key not in TIMES}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def longest_waiting(run: Path) -> str:
    """Returns the id of the job of a run that waited longest."""
    rows = [json.loads(line) for line in (run / "schedule.jsonl").read_text().splitlines()]
    return str(max(rows, key=lambda row: row["start_s"] - row["submit_s"])["job_id"])


def arithmetic() -> str:
    """Returns a hash by which two machines see whether torch computes to the same last digit on both."""
    random = torch.Generator().manual_seed(0)
    seen, weights = torch.rand(32, 70, generator=random), torch.rand(70, 12, generator=random) - 0.5
    weights.requires_grad_()
    chosen = torch.log_softmax(torch.tanh(seen @ weights), dim=-1)[:, 0].exp().mean()
    chosen.backward()
    assert weights.grad is not None
    return hashlib.sha256(chosen.detach().numpy().tobytes() + weights.grad.numpy().tobytes()).hexdigest()


def policy_says(run: Path) -> dict[str, Any]:
    """Returns what a policy makes of observations that are drawn."""
    policy = load_policy(run)
    random = np.random.default_rng(2)
    observations = random.random((6, policy.layout.observation_size), dtype=np.float32)
    masks = random.random((6, policy.layout.actions)) < 0.6
    masks[:, 1] = True
    return {
        "kind": policy.kind,
        "actions": policy.actions(observations, masks).tolist(),
        "probabilities": policy.action_probabilities(observations, masks).tolist(),
        "values": policy.values(observations, masks).tolist(),
    }


def write_json(path: Path, value: object) -> None:
    """Writes JSON, one key a line; what has no further objects in it, or is short, stands in one line."""
    path.write_text(json_text(value, 0) + "\n")


def json_text(value: object, depth: int) -> str:
    """Returns JSON that is indented down to the third level."""
    if depth == 3 or not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    margin = " " * (depth + 1)
    rows = [f"{margin}{json.dumps(key)}: {json_text(one, depth + 1)}" for key, one in value.items()]
    return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"


def main() -> None:
    """Makes everything anew."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.chdir(HERE)
    wanted = sys.argv[1:] or list(PARTS)
    for name, (folders, make) in PARTS.items():
        if name in wanted:
            for folder in folders:
                shutil.rmtree(HERE / folder, ignore_errors=True)
            make()


PARTS: dict[str, tuple[tuple[str, ...], Callable[[], None]]] = {
    "files": (("runs", "tuned", "trained", "tables", "episodes"), make_files),
    "states": (("states",), make_states),
    "environments": (("environments",), make_environments),
    "expected": ((), write_expected),
}


if __name__ == "__main__":
    main()
