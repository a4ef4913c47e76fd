"""The local queue beside GNU parallel, task-spooler and HyperQueue, in one run: how fast jobs come, start and end.

    PYTHONPATH=. python benchmarks/local_queue.py [--jobs 10000] [--rounds 1] [--queued 0,10000,100000]

Every job of the local queue is on the disk before it is acknowledged, and its start before it starts. GNU parallel
writes a log of ends, task-spooler and HyperQueue keep their list in memory. What is not installed is left out, with the
reason: 'make services' brings parallel and task-spooler, 'pip install hyperqueue' HyperQueue. All run two jobs at once.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

# The folder of this file comes first in the path, and the standard library has a module of the same name.
sys.path[:] = [one for one in sys.path if Path(one or ".").resolve() != Path(__file__).resolve().parent]

from tests.execution.box import Box  # noqa: E402

AT_ONCE = 2
SINGLE = 200
LATENCIES = 50


def box_in(folder: Path) -> Box:
    """Starts a queue with as many cores as jobs run at once."""
    box = Box(folder, cores=AT_ONCE)
    box.start()
    box.wait(*box.submit(["true"]))
    return box


def seconds(body: Callable[[], object]) -> float:
    """Returns how long a function takes."""
    began = time.perf_counter()
    body()
    return time.perf_counter() - began


def shunter(count: int, folder: Path) -> float:
    """Submits jobs to a local queue and waits for all of them."""
    box = box_in(folder / "queue")
    try:
        return seconds(lambda: box.wait(*box.submit(*[["true"]] * count)))
    finally:
        box.stop()


def gnu_parallel(count: int, folder: Path) -> float:
    """Has GNU parallel run the lines of a file."""
    lines = folder / "lines"
    lines.write_text("true\n" * count)
    command = ["parallel", "--jobs", str(AT_ONCE), "--joblog", str(folder / "log"), "--arg-file", str(lines)]
    return seconds(lambda: subprocess.run(command, check=True, capture_output=True))


def task_spooler(count: int, folder: Path) -> float:
    """Has task-spooler run commands, each of which is submitted by a process of its own."""
    there = os.environ | {"TS_SOCKET": str(folder / "socket"), "TMPDIR": str(folder), "TS_MAXFINISHED": "10"}

    def spool(*words: str) -> None:
        subprocess.run(["tsp", *words], check=True, env=there, stdout=subprocess.DEVNULL)

    def work() -> None:
        for _ in range(count):
            spool("-n", "true")
        spool("-w")

    spool("-S", str(AT_ONCE))
    try:
        return seconds(work)
    finally:
        spool("-K")


def hyperqueue(count: int, folder: Path) -> float:
    """Has a server and a worker of HyperQueue run a job of many tasks."""
    from hyperqueue import Job, LocalCluster  # type: ignore[import-untyped, import-not-found, unused-ignore]
    from hyperqueue.cluster import WorkerConfig  # type: ignore[import-untyped, import-not-found, unused-ignore]

    with LocalCluster() as cluster:
        cluster.start_worker(WorkerConfig(cores=AT_ONCE))
        client = cluster.client()

        def work() -> None:
            # Otherwise it writes the output of each task into the folder that one is in.
            job = Job(default_workdir=folder)
            for _ in range(count):
                job.program(["true"])
            client.wait_for_jobs([client.submit(job)])

        return seconds(work)


def missing(program: str, how: str) -> str | None:
    """Returns why a program is left out; None if it is there."""
    return None if shutil.which(program) else f"{program} is not installed ({how})"


def missing_hyperqueue() -> str | None:
    """Returns why HyperQueue is left out; None if it is there."""
    try:
        import hyperqueue  # noqa: F401
    except ImportError:
        return "hyperqueue is not installed (pip install hyperqueue)"
    return None


CONTENDERS: dict[str, tuple[Callable[[int, Path], float], Callable[[], str | None]]] = {
    "shunter queue": (shunter, lambda: None),
    "HyperQueue": (hyperqueue, missing_hyperqueue),
    "GNU parallel": (gnu_parallel, lambda: missing("parallel", "make services")),
    "task-spooler": (task_spooler, lambda: missing("tsp", "make services")),
}


def run_all(count: int, rounds: int) -> None:
    """Prints how long each takes for a job that does nothing, the contenders taking turns."""
    print(f"{count:,} x true, {AT_ONCE} at a time: milliseconds a job (best of {rounds})")
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, (run, lacking) in CONTENDERS.items():
            reason = lacking()
            if reason is not None:
                print(f"  {name:14} left out: {reason}")
                continue
            # HyperQueue prints a table and a bar.
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
                times.setdefault(name, []).append(run(count, Path(folder)))
    for name, measured in times.items():
        each = 1000 * min(measured) / count
        print(f"  {name:14} {each:8.2f}   {each / (1000 * min(times['shunter queue']) / count):.2f} of shunter queue")


def submit_rates(queued: list[int]) -> None:
    """Prints how fast jobs are submitted to queues of several lengths, and what the daemon then holds in memory."""
    print(f"\nsubmitting: jobs a second as one file of 10,000 lines, and commands a second ({SINGLE} single ones)")
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines.txt"
        lines.write_text("true\n" * 10_000)
        for count in queued:
            box = box_in(Path(folder) / f"queue-{count}")
            box.ask("pause")
            for _ in range(count // 10_000):
                box.submit(*[["true"]] * 10_000)
            command = [sys.executable, "-m", "shunter", "queue", "submit", "--queue", str(box.folder.path)]
            file_s = seconds(lambda: subprocess.run([*command, "--file", str(lines)], check=True, capture_output=True))  # noqa: B023
            single_s = seconds(lambda: [subprocess.run([*command, "true"], capture_output=True) for _ in range(SINGLE)])  # noqa: B023
            each = [seconds(lambda: box.submit(["true"])) for _ in range(SINGLE)]  # noqa: B023
            assert box.process is not None
            status = Path(f"/proc/{box.process.pid}/status").read_text()
            held_mb = int(status.split("VmRSS:")[1].split()[0]) / 1024
            rates = f"{10_000 / file_s:8,.0f} jobs/s {SINGLE / single_s:6.1f} commands/s"
            served = f"{1000 * statistics.median(each):.2f} ms at the daemon"
            print(f"  {count:8,} queued {rates} ({served}); the daemon holds {held_mb:,.0f} MB")
            box.stop()


def latencies() -> None:
    """Prints how long a job takes from being submitted to running, on a box with nothing else to do."""
    with tempfile.TemporaryDirectory() as folder:
        box = box_in(Path(folder) / "queue")
        found = []
        for _ in range(LATENCIES):
            began = time.time()
            [job] = box.submit(["true"])
            box.wait(job)
            found.append(1000 * (box.show(job)["start_s"] - began))
            time.sleep(0.02)
        box.stop()
    found.sort()
    median, most = found[len(found) // 2], found[9 * len(found) // 10]
    print(f"\nfrom submit to start: median {median:.1f} ms, 90 % within {most:.1f} ms")


def main() -> None:
    """Runs all parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--queued", default="0,10000,100000")
    given = parser.parse_args()
    # Compiled modules are kept, as an installed Shunter has them.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    run_all(given.jobs, given.rounds)
    submit_rates([int(count) for count in given.queued.split(",")])
    latencies()


if __name__ == "__main__":
    main()
