"""What the plugin for LSF adds to a scheduling cycle, in an emulated mbschd (plugins/lsf/host).

    PYTHONPATH=. python benchmarks/lsf_plugin.py [--cycles 100000] [--hosts 1000] [--jobs 5000] [--buckets 200]
        [--only sjf,learned] [--budget-ms 20] [--valgrind-cycles 200]

So many jobs wait at any time, in so many buckets; jobs end, others start in their places, and as many come. Times are
the thread's own CPU time in the plugin's functions, cycle by cycle, with what LSF's functions take that they call: the
machine may be shared. The budget itself goes by the clock on the wall, as it must: on a machine that is busy with other
things, more orders come too late and are LSF's own, and the columns "late" and "own order" tell how many; a large
--budget-ms shows what deciding costs there. Memory is that of the whole process, after a twentieth of the cycles, in
the middle and at the end. Under valgrind a few cycles are run without errors or leaks.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from tests.abi.test_c_program import SUPPRESSIONS
from tests.agents.untrained import opinionated, write_host_policy, write_policy
from tests.plugins.lsf_host import FOLDER, Built, counted, write_conf

CASES = ("sjf", "learned", "best-fit", "learned-hosts")


def settings(case: str, folder: Path) -> dict[str, object]:
    """Returns the settings of a case; learned policies have their usual sizes, and weights as if trained."""
    if case == "learned":
        return {"policy": "fcfs", "checkpoint": write_policy(folder / "jobs", change=opinionated, window=128)}
    if case == "learned-hosts":
        return {"policy": "sjf", "host_checkpoint": write_host_policy(folder / "hosts", opinionated, num_hosts=16)}
    return {"policy": "sjf", "placement": "" if case == "sjf" else case}


def run(built: Built, conf: Path, cycles: int, given: argparse.Namespace, *wrapper: str) -> str:
    """Returns what the host program prints."""
    sizes = [cycles, given.hosts, given.jobs, given.buckets, given.seed]
    command = [*wrapper, str(built.program), str(built.plugin), "bench", *map(str, sizes)]
    environment = {**os.environ, "SHUNTER_LSF_CONF": str(conf)}
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if outcome.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{outcome.stderr}")
    return outcome.stdout


def measure(built: Built, case: str, given: argparse.Namespace, folder: Path) -> list[str]:
    """Returns a row of the table."""
    status = folder / "status"
    conf = write_conf(folder / "conf", **settings(case, folder), budget_ms=given.budget_ms, log_s=0, status_file=status)
    lines = [line.split() for line in run(built, conf, given.cycles, given).splitlines()]
    times = np.array([[float(word) for word in line[1:]] for line in lines if line[0] == "cycle"])
    memory_kb = [int(line[1]) for line in lines if line[0] == "memory"]
    assert lines[-1] == ["forbidden", "0"], "a file was opened within a cycle"
    numbers = counted(status)
    p50, p99 = np.percentile(times[:, 0], [50, 99]) / 1000
    return [
        case,
        f"{len(times):,}",
        f"{p50:.2f}",
        f"{p99:.2f}",
        f"{times[:, 0].max() / 1000:.2f}",
        f"{times[:, 2].mean():.1f}",
        f"{numbers['decisions_total'] / len(times):.1f}",
        f"{numbers['planned_total']:,.0f}",
        f"{numbers['own_order_total']:,.0f}",
        f"{numbers['late_total']:,.0f}",
        f"{numbers['breaker_trips_total']:,.0f}",
        f"{memory_kb[0]:,} → {memory_kb[len(memory_kb) // 2]:,} → {memory_kb[-1]:,}",
    ]


def check_memory(built: Built, given: argparse.Namespace, folder: Path) -> str:
    """Runs a few cycles of every case under valgrind, which must find nothing."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return "valgrind is not installed: not run"
    suppressions = folder / "suppressions"
    suppressions.write_text(SUPPRESSIONS)
    wrapper = [valgrind, "--error-exitcode=9", "--leak-check=full", "-q", f"--suppressions={suppressions}"]
    for case in given.only:
        conf = write_conf(folder / "conf", **settings(case, folder), budget_ms=60_000, status_file=folder / "status")
        run(built, conf, given.valgrind_cycles, given, *wrapper)
        numbers = counted(folder / "status")
        assert numbers["planned_total"] > 0, "nothing was decided"
        assert numbers["failed_total"] == 0, "the core refused"
    return f"{given.valgrind_cycles} cycles of each under valgrind: no errors, no leaks ({', '.join(given.only)})"


def main() -> None:
    """Builds the plugin as it is installed, and measures it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("cycles", 100_000), ("hosts", 1000), ("jobs", 5000), ("buckets", 200), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--valgrind-cycles", type=int, default=200, help="0: none")
    parser.add_argument("--budget-ms", type=float, default=20.0)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(CASES), help=", ".join(CASES))
    given = parser.parse_args()
    subprocess.run(["make", "--silent", "-C", str(FOLDER), "host"], check=True)
    built = Built(FOLDER / "build" / "schmod_shunter.so", FOLDER / "build" / "mbschd_host")
    table = Table(
        title=f"{given.hosts:,} hosts, {given.jobs:,} jobs in {given.buckets:,} buckets, {given.budget_ms:g} ms a cycle"
    )
    names = (
        "cycles",
        "p50 ms",
        "p99 ms",
        "most ms",
        "starts",
        "decisions",
        "as planned",
        "own order",
        "late",
        "trips",
        "RSS kB",
    )
    for name in ("case", *names):
        table.add_column(name, justify="left" if name == "case" else "right")
    with tempfile.TemporaryDirectory() as folder:
        if given.cycles:
            for case in given.only:
                table.add_row(*measure(built, case, given, Path(folder)))
            Console(width=160).print(table)
        if given.valgrind_cycles:
            print(check_memory(built, given, Path(folder)))


if __name__ == "__main__":
    main()
