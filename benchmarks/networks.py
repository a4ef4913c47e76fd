"""Networks and their sizes: how fast they learn and decide, and how good they become in as many steps.

    python benchmarks/networks.py [--steps 300000] [--workload LOG] [--seeds 0,1] [--only kernel]

Each network is trained by the preset `quick` (from the order smallest area first) on the first 60 % of the workload;
its best checkpoint is chosen on the next 10 % and measured on the last 30 %. The ratio is that of the geometric means
of the bounded slowdown to the classic chosen on training days; "before" is the order it began with. By default the
workload is generated.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from shunter.agents.learned_policy import LearnedPolicy, load_policy
from shunter.agents.training.config import load_config
from shunter.agents.training.setup import Site, open_trainer
from shunter.envs.episodes import PARTS, EpisodeOptions
from shunter.envs.sources import Use

WORKLOAD = "generate:lublin?seed=7&jobs=20000&cores=256&load=0.95&requests=factor"
NETWORKS = (
    ("kernel", (8, 8)),
    ("kernel", (32, 16)),
    ("kernel", (64, 32)),
    ("kernel", (128, 64)),
    ("mlp", (64, 64)),
    ("mlp", (256, 128)),
    ("attention", (16, 32)),
    ("attention", (32, 64)),
)
METRIC = "mean_bounded_slowdown"
DECISIONS = 300


def main() -> None:
    """Trains every network and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--workload", default=WORKLOAD)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--only", help="one kind of network")
    given = parser.parse_args()
    table = Table(title=f"{given.steps:,} steps each, seeds {given.seeds}")
    for column in ("network", "hidden", "weights", "steps/s", "µs a decision", "before", "ratio by seed"):
        table.add_column(column, justify="left" if column == "network" else "right")
    for kind, hidden in NETWORKS:
        if given.only in (None, kind):
            measured = [
                trained(kind, hidden, given.workload, given.steps, int(seed)) for seed in given.seeds.split(",")
            ]
            ratios = ", ".join(f"{one['ratio']:.3f}" for one in measured)
            first = measured[0]
            table.add_row(
                kind,
                ",".join(map(str, hidden)),
                f"{first['weights']:,.0f}",
                f"{first['steps_per_s']:,.0f}",
                f"{first['decision_us']:.0f}",
                f"{first['before']:.3f}",
                ratios,
            )
    Console().print(table)


def trained(kind: str, hidden: tuple[int, ...], workload: str, steps: int, seed: int) -> dict[str, float]:
    """Trains one network and returns what is to be told of it."""
    changes: dict[str, dict[str, Any]] = {
        "data": {"workload": [workload]},
        "network": {"kind": kind, "hidden": list(hidden)},
        "training": {"steps": steps, "seed": seed, "eval_every": steps // 6},
    }
    config = load_config(preset="quick", changes=changes)
    report = EpisodeOptions(part=PARTS["report"], windows=20, length=512)
    site = Site.of(config)
    chosen = site.choose()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        trainer = open_trainer(site, chosen, Path(folder))
        outcome = trainer.run()
        before, best = (load_policy(Path(folder) / name) for name in ("initial", "best"))
    trials = site.trials(report, Use.REPORT)
    (base,) = trials.of_schedulers([chosen[0].scheduler], [METRIC])

    def ratio(policy: LearnedPolicy) -> float:
        (measured,) = trials.of_policy(policy, [METRIC])
        return float(np.exp(np.log(measured[METRIC] / base[METRIC]).mean()))

    return {
        "weights": sum(parameter.numel() for parameter in best.network.parameters()),
        "steps_per_s": outcome.steps / outcome.elapsed_s,
        "decision_us": decision_us(best),
        "before": ratio(before),
        "ratio": ratio(best),
    }


def decision_us(policy: LearnedPolicy) -> float:
    """Returns how long one decision takes, with half of the window filled."""
    random = np.random.default_rng(0)
    layout = policy.layout
    observation = random.random((1, layout.observation_size), dtype=np.float32)
    layout.split(observation)["jobs"][:, layout.window // 2 :] = 0
    mask = np.zeros((1, layout.actions), dtype=bool)
    mask[:, : layout.window // 2] = True
    policy.actions(observation, mask)
    began = time.perf_counter()
    for _ in range(DECISIONS):
        policy.actions(observation, mask)
    return (time.perf_counter() - began) / DECISIONS * 1e6


if __name__ == "__main__":
    main()
