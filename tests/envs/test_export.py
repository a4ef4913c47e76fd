"""The fixed test episodes as files: read back, they are what the environments play."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shunter.agents.training.config import load_config
from shunter.cli import app
from shunter.envs import EpisodeOptions, PickHostEnv, PickHostOptions, PickJobEnv
from shunter.envs.export import FILES, SEEDS, cluster_text, pick_host_episodes, pick_job_episodes, write_episodes
from shunter.envs.sources import Use
from shunter.errors import InputError
from shunter.metrics.table import compute_metrics
from shunter.model.cluster import Cluster, Node
from shunter.model.log import Log
from shunter.simulation import simulate
from shunter.workloads import read_cluster, read_workload
from tests.envs.small import crowded_log

LUBLIN = "generate:lublin?seed=1&jobs=200&cores=64&load=1.2"
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shunter(capsys: pytest.CaptureFixture[str]) -> Command:
    """Returns a function that runs ``shunter envs`` with these arguments."""

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_:
            app([str(argument) for argument in ("envs", *arguments)])
        captured = capsys.readouterr()
        assert isinstance(exit_.value.code, int)
        return exit_.value.code, captured.out, captured.err

    return run


def test_episodes_of_hosts_are_the_first_that_their_seeds_draw() -> None:
    for fixed, seed in zip(pick_host_episodes(PickHostOptions()), SEEDS, strict=True):
        env = PickHostEnv(seed=seed, episodes=1)
        _, info = env.reset(options={"episode": fixed.episode})
        assert fixed.seed == seed
        played = env.vector.world.workloads[0].jobs.slice(int(info["jobs"][0]), len(fixed.log.workload))
        assert played["run_s"].equals(fixed.log.workload.jobs["run_s"])
        status = env.vector.simulation(0).status()
        assert (status.jobs, status.free_cores) == (len(fixed.log.workload), fixed.log.cluster.total_cores)


def test_training_draws_its_hosts_from_other_seeds() -> None:
    options = load_config(preset="pick-host").environment
    assert isinstance(options, PickHostOptions)
    used = {options.seed + use for use in Use}
    assert used.isdisjoint(SEEDS)


def test_episodes_of_a_log_are_those_that_seeds_choose() -> None:
    log = crowded_log()
    keywords: dict[str, Any] = {"part": (0.2, 1.0), "length": 8, "warmup": 2}
    env = PickJobEnv(log.workload, log.cluster, window=20, **keywords)
    for fixed, seed in zip(pick_job_episodes(log, EpisodeOptions(**keywords)), SEEDS, strict=True):
        _, info = env.reset(seed=seed)
        assert (fixed.seed, fixed.episode, fixed.warmup) == (seed, info["episode_number"], 2)
        first = int(info["jobs"][0])
        assert fixed.log.workload.jobs["job_id"][0] == log.workload.jobs["job_id"][first]
        assert len(fixed.log.workload) == 10


def test_files_read_back_give_the_same_schedule(tmp_path: Path) -> None:
    log = crowded_log()
    options = EpisodeOptions(part=(0, 1), length=8)
    episodes = pick_job_episodes(log, options)
    index = write_episodes(tmp_path / "out", "shunter/PickJob-v0", options, episodes)
    assert json.loads((tmp_path / "out" / "episodes.json").read_text()) == json.loads(json.dumps(index))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*FILES, "manifest.json"}
    for episode, record in zip(episodes, index["episodes"], strict=True):
        cluster = read_cluster(str(tmp_path / "out" / record["cluster"]))
        assert cluster.content_sha256 == log.cluster.content_sha256
        alone = Log(episode.log.workload, log.cluster)
        expected = simulate(alone.workload, alone.cluster)
        for name in record["jobs"]:
            again = simulate(read_workload(str(tmp_path / "out" / name)), cluster)
            assert again.content_sha256 == expected.content_sha256
            assert compute_metrics(again) == compute_metrics(expected)
        assert record["measured"] == 8


def test_every_kind_of_node_can_be_written(tmp_path: Path) -> None:
    nodes = (Node("a", 4.0, 100, 2, "v100", ("gpu",)), Node('b"\x7f', 1.0, partitions=("thin",)), Node("pool", 9.0))
    path = tmp_path / "nodes.toml"
    path.write_text(cluster_text(Cluster.from_nodes(nodes, "all")), encoding="utf-8")
    assert Cluster.read(path).nodes == nodes
    with pytest.raises(InputError, match=r"odd: a has 1.5 cores; a file takes whole numbers"):
        cluster_text(Cluster.from_nodes((Node("a", 1.5),), "odd"))


def test_the_command_writes_hosts(shunter: Command, tmp_path: Path) -> None:
    code, out, err = shunter("export", "--out", tmp_path / "hosts")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("seed 42: episode ")
    index = json.loads((tmp_path / "hosts" / "episodes.json").read_text())
    assert index["id"] == "shunter/PickHost-v0"
    assert "seed" not in index["options"]
    assert [(one["seed"], one["source"]) for one in index["episodes"]] == [
        (seed, f"PickHost seed {seed} episode 0") for seed in SEEDS
    ]
    again = shunter("export", "--out", tmp_path / "hosts")
    assert again[0] == 2
    assert "the folder is not empty; give another, or --force" in again[2]
    assert shunter("export", "--out", tmp_path / "hosts", "--force")[0] == 0


def test_the_command_writes_windows_of_a_log(shunter: Command, tmp_path: Path) -> None:
    arguments = ("--workload", LUBLIN, "--length", 20, "--warmup", 5, "--json")
    code, out, err = shunter("export", "--out", tmp_path / "log", *arguments)
    assert (code, err) == (0, "")
    index = json.loads(out)
    assert (index["id"], index["options"]["part"]) == ("shunter/PickJob-v0", [0.7, 1.0])
    assert index["episodes"][0]["source"].startswith(LUBLIN + "[")
    assert len(read_workload(str(tmp_path / "log" / index["episodes"][0]["jobs"][0]))) == 25


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--length", 5), "--length is given without --workload; name a log, or leave it out for PickHost's episodes"),
        (("--seed", 1), "--seed is given without --workload; name a log, or leave it out for PickHost's episodes"),
        (("--workload", LUBLIN, "--seed", -1), "seed is -1; expected a whole number from 0"),
        (("--workload", "no.swf"), "no.swf: no such file; check the path"),
        (("--workload", LUBLIN, "--part", "0.5"), "part (one of train, validation, report, or a:b) is '0.5'"),
        (("--workload", LUBLIN, "--length", 300), "a window has 300 jobs (--length)"),
    ],
)
def test_mistakes(shunter: Command, tmp_path: Path, arguments: tuple[object, ...], message: str) -> None:
    code, out, err = shunter("export", "--out", tmp_path / "none", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {message}")
    assert not (tmp_path / "none").exists()
