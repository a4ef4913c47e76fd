"""How many rows of a SWF log are read in a second: writes a log of a million jobs, and reads it.

Run it as ``python benchmarks/read_swf.py [rows]``. The goal is 1 million rows/s for the whole of `read_workload`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from shunter.workloads import read_workload
from shunter.workloads.swf_tokens import tokenize

GOAL_ROWS_PER_S = 1_000_000


def write_log(path: Path, rows: int) -> None:
    """Writes a log in which every field of every job has a value, as wide as those of the archive."""
    generator = np.random.Generator(np.random.PCG64(1))
    highs = (0, 0, 86_400, 200_000, 128, 200_000, 900_000, 128, 259_200, 2_048_000, 6, 400, 40, 900, 8, 4, 900, 600)
    columns = [generator.integers(1, max(high, 2), rows) for high in highs]
    columns[0], columns[1] = np.arange(1, rows + 1), generator.integers(0, 60, rows).cumsum()
    with path.open("w") as file:
        file.write("; Version: 2.2\n; MaxProcs: 128\n")
        file.writelines(" ".join(map(str, row)) + "\n" for row in zip(*(c.tolist() for c in columns), strict=True))


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Returns the seconds by the clock, and by the processor, of the fastest of three calls."""
    fastest = (float("inf"), float("inf"))
    for _ in range(3):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        action()
        fastest = min(fastest, (time.perf_counter() - begin, time.process_time() - begin_cpu))
    return fastest


def main() -> None:
    """Prints rows/s for cutting the text into numbers alone, and for the whole reading."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "benchmark.swf"
        write_log(path, rows)
        text = path.read_bytes()
        tokenizing_s, _ = timed(lambda: tokenize(text, str(path)))
        reading_s, reading_cpu_s = timed(lambda: read_workload(path))
    print(f"log           {rows:>12,} rows, {len(text) / 1e6:.0f} MB; the fastest of three runs")
    print(f"tokenizing    {rows / tokenizing_s:>12,.0f} rows/s   {rows / tokenizing_s / GOAL_ROWS_PER_S:.2f} x goal")
    print(f"read_workload {rows / reading_s:>12,.0f} rows/s   {rows / reading_s / GOAL_ROWS_PER_S:.2f} x goal")
    print(f"  by CPU time {rows / reading_cpu_s:>12,.0f} rows/s   (what a busy machine leaves comparable)")
    print(f"share of tokenizing in the whole: {tokenizing_s / reading_s:.0%}")


if __name__ == "__main__":
    main()
