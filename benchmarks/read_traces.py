"""How many rows of a log are read in a second, and in how much memory, beside what pandas does with the same file.

Run it as ``python benchmarks/read_traces.py [rows]``. It writes a SWF log and a sacct log in the layouts of real ones,
and reads each in processes of one thread. The goals are 1 million rows/s for SWF, 300,000 for sacct, and a peak of
memory below 4 times the table. pandas only cuts the text and parses the times; it checks and repairs nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shunter.workloads import FORMATS, read_workload
from shunter.workloads.formats import reader_of

GOALS_ROWS_PER_S = {"swf": 1_000_000, "sacct": 300_000}
MEMORY_GOAL = 4.0
ROUNDS = 3
SACCT_COLUMNS = (
    "JobID", "JobIDRaw", "Cluster", "Partition", "QOS", "Account", "Group", "GID", "User", "UID", "Submit", "Eligible",
    "Start", "End", "Elapsed", "ExitCode", "State", "NNodes", "NCPUS", "ReqCPUS", "ReqMem", "ReqTRES", "AllocTRES",
    "Timelimit", "NodeList", "JobName",
)  # fmt: skip


def write_swf(path: Path, rows: int) -> None:
    """Writes a log in which every field of every job has a value, as wide as those of the archive."""
    generator = np.random.Generator(np.random.PCG64(1))
    highs = (0, 0, 86_400, 200_000, 128, 200_000, 900_000, 128, 259_200, 2_048_000, 6, 400, 40, 900, 8, 4, 900, 600)
    columns = [generator.integers(1, max(high, 2), rows) for high in highs]
    columns[0], columns[1] = np.arange(1, rows + 1), generator.integers(0, 60, rows).cumsum()
    table = pl.DataFrame({str(number): column for number, column in enumerate(columns)})
    with path.open("wb") as file:
        file.write(b"; Version: 2.2\n; MaxProcs: 128\n")
        table.write_csv(file, include_header=False, separator=" ")


def write_sacct(path: Path, rows: int) -> None:
    """Writes what ``sacct --parsable2 --allocations`` prints for jobs of 1 to 8 nodes, some of them with GPUs."""
    generator = np.random.Generator(np.random.PCG64(2))
    submit_s = 1_480_000_000 + generator.integers(0, 20, rows).cumsum()
    wait_s, run_s = generator.integers(0, 40_000, rows), generator.integers(1, 200_000, rows)
    nodes, cores = generator.integers(1, 9, rows), generator.integers(1, 33, rows)
    user, node = generator.integers(1, 300, rows), generator.integers(1, 400, rows)
    gpus = generator.choice([0, 0, 0, 1, 4], rows)
    frame = pl.DataFrame(
        {
            "id": np.arange(1, rows + 1), "submit": submit_s, "start": submit_s + wait_s,
            "end": submit_s + wait_s + run_s, "run": run_s, "nodes": nodes, "cpus": nodes * cores, "user": user,
            "node": node, "gpus": nodes * gpus, "state": generator.choice(["COMPLETED", "FAILED", "TIMEOUT"], rows),
            "hours": generator.choice([1, 4, 12, 48], rows),
        }
    )  # fmt: skip
    stamp = {name: pl.from_epoch(name).dt.strftime("%Y-%m-%dT%H:%M:%S") for name in ("submit", "start", "end")}
    run = pl.col("run")
    clock = pl.format(
        "{}-{}:{}:{}",
        run // 86_400,
        *(_two_digits(part) for part in (run % 86_400 // 3600, run % 3600 // 60, run % 60)),
    )
    cpus, gpu = pl.col("cpus"), pl.col("gpus")
    tres = pl.format("billing={},cpu={},gres/gpu={},mem=4000M,node={}", cpus, cpus, gpu, pl.col("nodes"))
    values = (
        pl.col("id"), pl.col("id"), pl.lit("alpha"), pl.lit("batch"), pl.lit("normal"), pl.lit("physics"),
        pl.lit("staff"), pl.lit(100), pl.format("u{}", pl.col("user")), pl.col("user"), stamp["submit"],
        stamp["submit"], stamp["start"], stamp["end"], clock, pl.lit("0:0"), pl.col("state"), pl.col("nodes"), cpus,
        cpus, pl.lit("4000Mn"), tres, tres, pl.format("{}:00:00", _two_digits(pl.col("hours"))),
        pl.format("cn[{}-{}]", pl.col("node"), pl.col("node") + pl.col("nodes")), pl.lit("run.sh"),
    )  # fmt: skip
    named = (value.alias(name) for name, value in zip(SACCT_COLUMNS, values, strict=True))
    frame.select(named).write_csv(path, separator="|")


def _two_digits(number: pl.Expr) -> pl.Expr:
    return number.cast(pl.String).str.zfill(2)


def read_with_shunter(path: Path) -> int:
    """Reads a log, and returns the size of its table in bytes."""
    return int(read_workload(path).jobs.estimated_size())


def read_with_pandas(path: Path) -> int:
    """Reads the same file as most scripts do."""
    pandas: Any = importlib.import_module("pandas")
    if path.suffix == ".swf":
        frame = pandas.read_csv(path, sep=r"\s+", comment=";", header=None)
    else:
        frame = pandas.read_csv(path, sep="|", parse_dates=["Submit", "Start", "End"])
    return int(frame.memory_usage(deep=True).sum())


READERS: dict[str, Callable[[Path], int]] = {"shunter": read_with_shunter, "pandas": read_with_pandas}


def peak_bytes() -> int:
    """Returns the most memory that this process has had; what getrusage tells would count the one that started it."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def measure_here(reader: str, path: Path) -> None:
    """Prints the seconds, the table's size and the memory that one reading takes in this process."""
    if reader == "shunter":
        # Loading the code is no reading.
        for name in FORMATS:
            reader_of(name)
    else:
        importlib.import_module(reader)
    before = peak_bytes()
    begin, begin_cpu = time.perf_counter(), time.process_time()
    table_bytes = READERS[reader](path)
    result = {
        "seconds": time.perf_counter() - begin,
        "cpu_s": time.process_time() - begin_cpu,
        "table_bytes": table_bytes,
        "peak_bytes": peak_bytes() - before,
    }
    print(json.dumps(result))


def measure(reader: str, path: Path) -> dict[str, float]:
    """Returns what one reading takes in a process of its own, on one thread."""
    environment = os.environ | {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--one", reader, str(path)]
    answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    measured: dict[str, float] = json.loads(answer.stdout)
    return measured


def main() -> None:
    """Prints rows/s, ratios and memory for both formats."""
    if sys.argv[1:2] == ["--one"]:
        measure_here(sys.argv[2], Path(sys.argv[3]))
        return
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    readers = [reader for reader in READERS if reader == "shunter" or importlib.util.find_spec(reader)]
    if "pandas" not in readers:
        print("pandas is not installed, so that there is nothing to compare with")
    with tempfile.TemporaryDirectory() as folder:
        for format_name, write in (("swf", write_swf), ("sacct", write_sacct)):
            path = Path(folder) / f"benchmark.{format_name}"
            write(path, rows)
            print(
                f"{format_name}: {rows:,} rows, {path.stat().st_size / 1e6:.0f} MB; the fastest of {ROUNDS} runs each"
            )
            # In turn, so that a busy moment of the machine meets both.
            runs = [{reader: measure(reader, path) for reader in readers} for _ in range(ROUNDS)]
            for reader in readers:
                report(reader, format_name, rows, [run[reader] for run in runs])
            if len(readers) > 1:
                ratio = min(run["pandas"]["seconds"] for run in runs) / min(run["shunter"]["seconds"] for run in runs)
                print(f"  Shunter reads {ratio:.1f} times as fast as pandas")


def report(reader: str, format_name: str, rows: int, runs: list[dict[str, float]]) -> None:
    """Prints what the best of some readings took."""
    best = min(runs, key=lambda run: run["seconds"])
    rate, by_cpu = rows / best["seconds"], rows / min(run["cpu_s"] for run in runs)
    memory = min(run["peak_bytes"] for run in runs) / best["table_bytes"]
    goal = f", {rate / GOALS_ROWS_PER_S[format_name]:.2f} x goal" if reader == "shunter" else ""
    print(f"  {reader:<8} {rate:>12,.0f} rows/s{goal} ({by_cpu:,.0f} by CPU time)")
    table_mb = best["table_bytes"] / 1e6
    print(f"  {'':<8} peak memory {memory:.2f} times the table of {table_mb:.0f} MB (goal {MEMORY_GOAL:g})")


if __name__ == "__main__":
    main()
