"""Gymnasium is loaded by `shunter.envs`, and by nothing that does not need it; PyTorch by neither."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("shunter", {"gymnasium", "torch", "numpy"}),
        ("shunter.cli.envs", {"gymnasium", "torch", "numpy"}),
        ("shunter.envs", {"torch", "polars", "stable_baselines3"}),
        ("shunter.envs.pick_job", {"torch", "stable_baselines3", "matplotlib"}),
    ],
)
def test_imports(module: str, without: set[str]) -> None:
    script = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert module in loaded
    assert loaded.isdisjoint(without)
