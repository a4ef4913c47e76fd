"""How fast the core multiplies matrices of the sizes that its networks have, on one core.

    OMP_NUM_THREADS=1 python benchmarks/matmul.py    NumPy takes as many threads as it likes otherwise

In GFLOP/s, of the best of many rounds: the core's product with AVX2 and with the instructions that every processor has;
three plain loops in Rust, in the order of the definition and in the order that a compiler can make vectors of, compiled
like the core for any processor; and PyTorch's `mm` on one thread for the same sizes. The peak is the most that PyTorch,
NumPy or the core itself reach with large matrices. The core's rates are measured by `core/examples/matmul.rs`, which
cargo builds. Large products take longer than a shared machine leaves a process alone: PyTorch's and NumPy's times are
by the thread's own clock.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

MANIFEST = Path(__file__).resolve().parents[1] / "core" / "Cargo.toml"
LARGE = (256, 512, 1024)
"""Sizes of square matrices with which the peak is looked for."""
GOAL_RATIO = 5.0
"""Several times three plain loops."""


def native() -> dict[tuple[str, str], dict[str, float]]:
    """Returns rates by size, place and way, as the core's own measurement prints them."""
    command = ["cargo", "run", "--quiet", "--release", "--manifest-path", str(MANIFEST), "--example", "matmul"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[tuple[str, str], dict[str, float]] = {}
    for line in printed.splitlines():
        size, place, way, rate = line.split("\t")
        found.setdefault((size, place), {})[way] = float(rate)
    return found


def best_rate(rows: int, depth: int, columns: int, multiply: Callable[[], object]) -> float:
    """Returns the best of many rounds, in GFLOP/s."""
    operations = 2 * rows * depth * columns
    times = max(1, 40_000_000 // operations)
    taken = []
    for _ in range(60 if operations < 1e9 else 20):
        began = time.thread_time()
        for _ in range(times):
            multiply()
        taken.append((time.thread_time() - began) / times)
    return operations / min(taken) / 1e9


def torch_rate(rows: int, depth: int, columns: int) -> float:
    """Returns how fast PyTorch is, without what it takes to make the result."""
    left, right, out = torch.rand(rows, depth), torch.rand(depth, columns), torch.empty(rows, columns)
    with torch.inference_mode():
        return best_rate(rows, depth, columns, lambda: torch.mm(left, right, out=out))


def numpy_rate(size: int) -> float:
    """Returns how fast NumPy multiplies large matrices."""
    left, right = (np.random.default_rng(seed).random((size, size), dtype=np.float32) for seed in (0, 1))
    out = np.empty((size, size), np.float32)
    return best_rate(size, size, size, lambda: np.matmul(left, right, out=out))


def main() -> None:
    """Measures and prints."""
    torch.set_num_threads(1)
    found = native()
    by_libraries = {
        "PyTorch": max(torch_rate(size, size, size) for size in LARGE),
        "NumPy": max(numpy_rate(size) for size in LARGE),
    }
    of_core = max(rate for rates in found.values() for rate in rates.values())
    peak = max(of_core, *by_libraries.values())
    large = ", ".join(f"{name} {rate:.0f}" for name, rate in by_libraries.items())
    table = Table(title=f"GFLOP/s on one core; with large matrices: {large}, the core {of_core:.0f}")
    ways = ("avx2", "portable", "plain loops", "plain loops by rows")
    for column in ("size", "of", *ways, "PyTorch", "to plain loops", "by rows", "of the peak"):
        table.add_column(column, justify="left" if column in ("size", "of") else "right")
    ratios = []
    for (size, place), rates in found.items():
        best = rates.get("avx2", rates["portable"])
        ratios.append(best / rates["plain loops"])
        shown = [f"{rates[way]:.1f}" if way in rates else "" for way in ways]
        rows, depth, columns = map(int, size.split("x"))
        compared = [f"{best / rates[way]:.1f}" for way in ways[2:]]
        other = f"{torch_rate(rows, depth, columns):.1f}"
        table.add_row(size.replace("x", " × "), place, *shown, other, *compared, f"{best / peak:.0%}")
    console = Console(width=160)
    console.print(table)
    reached = "reached" if min(ratios) >= GOAL_RATIO else "missed"
    console.print(f"Goal: {GOAL_RATIO:.0f} times three plain loops everywhere: {reached} (least {min(ratios):.1f}).")


if __name__ == "__main__":
    main()
