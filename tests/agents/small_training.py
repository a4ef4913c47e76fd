"""Trainings small enough for a test."""

from __future__ import annotations

from typing import Any

from shunter.agents.training.config import load_config
from shunter.agents.training.setup import Site

LUBLIN = "generate:lublin?seed=3&jobs=600&cores=64&load=1.1&requests=factor"
EDA, FARM = "generate:eda?seed=1&jobs=600&max_jobs_per_step=4", "generate:eda?hosts=6&seed=1"
"""Jobs of one task each, and hosts for them."""

SMALL: dict[str, dict[str, Any]] = {
    "data": {"workload": [LUBLIN]},
    "environment": {"kind": "pick-job", "window": 8, "order": "saf"},
    "episodes": {"length": 24, "windows": 12},
    "validation": {"length": 24, "windows": 4},
    "report": {"windows": 4},
    "network": {"hidden": [8]},
    "ppo": {"num_envs": 4, "rollout_steps": 16, "minibatch": 32, "epochs": 1},
    "training": {"steps": 192, "eval_every": 64, "save_every": 64, "decide_windows": 8},
}
HOSTS: dict[str, dict[str, Any]] = {
    "environment": {"kind": "pick-host", "num_hosts": 3, "episode_length": 10, "max_jobs_per_step": 4},
    "episodes": {"windows": 6},
    "validation": {"windows": 5},
    "report": {"windows": 5},
    "reward": {"reward": {"wait": 1.0}},
    "network": {"kind": "hosts", "hidden": [8]},
    "ppo": SMALL["ppo"],
    "training": SMALL["training"],
}


def small_site(base: dict[str, dict[str, Any]] = SMALL, **sections: dict[str, Any]) -> Site:
    """Returns a small training; the sections change it."""
    changes = {name: {**base.get(name, {}), **sections.get(name, {})} for name in [*base, *sections]}
    return Site.of(load_config(changes=changes))
