"""A real Slurm on loopback, in a folder of its own: a controller, three nodes, and private credentials."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

PROGRAMS = ("munged", "slurmctld", "slurmd", "squeue", "sinfo", "sprio", "sbatch", "scontrol", "scancel")
PATIENCE_S = 40.0
NODES = 3
CORES = 4
PRIORITY = "PriorityWeightJobSize=1000"
"""Lets jobs differ in priority from the start."""


def why_not() -> str:
    """Returns why there can be no Slurm here; empty if there can."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"{missing[0]} is not installed ('make services' installs Slurm)"
    return "" if os.geteuid() == 0 else "starting Slurm's daemons needs root"


def free_ports(count: int) -> list[int]:
    """Returns ports on loopback that nobody uses."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class RealSlurm:
    """One cluster, and short words for what tests do with it."""

    def __init__(self, folder: Path, cores: int = CORES, lines: Sequence[str] = (PRIORITY,)) -> None:
        """Plans a cluster.

        Args:
            folder: Where all of it is.
            cores: Of each node, whatever the machine has.
            lines: More lines of slurm.conf.
        """
        self.folder, self.cores, self.lines = folder, cores, lines
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self.controller: subprocess.Popen[bytes] | None = None
        self._nodes: list[subprocess.Popen[bytes]] = []
        self._munged: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts everything, and waits until all nodes are idle."""
        self.folder.mkdir(parents=True, exist_ok=True)
        os.chmod(self.folder, 0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid"}
        files |= {"log-file": "munged.log", "seed-file": "munge.seed"}
        words = [
            "munged",
            "--foreground",
            "--force",
            *(f"--{name}={self.folder / file}" for name, file in files.items()),
        ]
        self._munged = self._spawn(words, "munged")
        self._configure()
        self.start_controller()
        for number in range(1, NODES + 1):
            self._nodes.append(self._spawn(["slurmd", "-D", "-N", f"node{number}"], f"slurmd{number}"))
        self.wait(lambda: self.run("sinfo", "-h", "-o", "%T %D", check=False).strip() == f"idle {NODES}", "idle nodes")

    def start_controller(self) -> None:
        """Starts the controller, and waits until it answers."""
        self.controller = self._spawn(["slurmctld", "-D"], "slurmctld")
        self.wait(lambda: "UP" in self.run("scontrol", "ping", check=False), "the controller")

    def stop_controller(self) -> None:
        """Ends the controller; nodes and jobs go on."""
        assert self.controller is not None
        _end(self.controller)

    def signal_controller(self, number: signal.Signals) -> None:
        """Sends the controller a signal."""
        assert self.controller is not None
        self.controller.send_signal(number)

    def stop(self) -> None:
        """Ends everything that was started here, the jobs first: their nodes could not any more."""
        if self.controller is not None and self.controller.poll() is None:
            with suppress(AssertionError, subprocess.TimeoutExpired):
                self.clear()
        for process in [*self._nodes, self.controller, self._munged]:
            if process is not None:
                _end(process)

    def run(self, *words: str, check: bool = True) -> str:
        """Runs a command of Slurm's; returns what it prints."""
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert not check or done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def submit(self, *options: str, seconds: float = 300, minutes: int = 10) -> int:
        """Submits a job that sleeps; returns its id."""
        words = ["sbatch", "--parsable", "--output=/dev/null", f"--time={minutes}", *options]
        return int(self.run(*words, f"--wrap=sleep {seconds}", "--chdir=/").strip())

    def crowd(self, *minutes: int) -> list[int]:
        """Fills all nodes, and lets jobs of these lengths wait behind that; returns the ids of those."""
        blocker = self.submit(f"--ntasks={NODES * self.cores}", minutes=600)
        self.wait(lambda: self.states().get(blocker) == "RUNNING", "the job that fills all nodes")
        return [self.submit("--ntasks=1", minutes=one) for one in minutes]

    def states(self) -> dict[int, str]:
        """Returns the states of jobs that have not ended."""
        lines = self.run("squeue", "-h", "-o", "%A %T").splitlines()
        return {int(line.split()[0]): line.split()[1] for line in lines}

    def site_factors(self) -> dict[int, int]:
        """Returns the site factors of jobs that wait."""
        rows = [line.split() for line in self.run("sprio", "-h", "-o", "%i %S").splitlines()]
        return {int(id): int(factor) for id, factor in rows}

    def line(self) -> list[int]:
        """Returns the jobs that wait, in Slurm's own order."""
        rows = [line.split() for line in self.run("squeue", "-h", "-t", "PD", "-o", "%A %Q").splitlines()]
        waiting = [(-int(priority), int(id)) for id, priority in rows if int(priority) > 0]
        return [id for _, id in sorted(waiting)]

    def field(self, job: int | str, name: str) -> str:
        """Returns one field of a job."""
        match = re.search(rf"(?:^|\s){name}=(\S*)", self.run("scontrol", "-o", "show", "job", str(job)))
        return match[1] if match else ""

    def all_jobs(self) -> list[str]:
        """Returns all that scontrol and sprio tell of jobs, without what time alone changes."""
        moving = r" (RunTime|LastSchedEval|StartTime|EndTime|Scheduler|SchedNodeList|Reason|Priority|AccrueTime)=\S*"
        # A comment that was taken away again is shown as an empty one.
        jobs = re.sub(rf"{moving}| AdminComment= ", "", self.run("scontrol", "-o", "show", "job"))
        return [*jobs.splitlines(), *self.run("sprio", "-h", "-o", "%i %S %N %Y").splitlines()]

    def clear(self) -> None:
        """Cancels all jobs, and waits until the nodes are idle."""
        with suppress(AssertionError):
            self.run("scancel", "--user=root")
        self.wait(lambda: not self.run("squeue", "-h").strip(), "an empty queue")

    def wait(self, is_there: Callable[[], Any], what: str) -> None:
        """Waits until something is so."""
        deadline = time.monotonic() + PATIENCE_S
        while not is_there():
            assert time.monotonic() < deadline, f"waited in vain for {what}: {self._logs()}"
            time.sleep(0.05)

    def _spawn(self, words: list[str], name: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.out").open("ab") as log:
            return subprocess.Popen(
                words, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def _logs(self) -> str:
        texts = [path.read_text(errors="replace")[-400:] for path in sorted(self.folder.glob("*.out"))]
        return " | ".join(texts)

    def _configure(self) -> None:
        host, ports = socket.gethostname(), free_ports(NODES + 1)
        state = self.folder / "state"
        state.mkdir(exist_ok=True)
        lines = [
            "ClusterName=trial",
            f"SlurmctldHost={host}(127.0.0.1)",
            f"SlurmctldPort={ports[0]}",
            f"AuthInfo=socket={self.folder / 'munge.socket'}",
            "AuthType=auth/munge",
            "SlurmUser=root",
            f"StateSaveLocation={state}",
            f"SlurmdSpoolDir={self.folder}/spool.%n",
            f"SlurmctldPidFile={self.folder}/slurmctld.pid",
            f"SlurmdPidFile={self.folder}/slurmd.%n.pid",
            "ProctrackType=proctrack/pgid",
            "TaskPlugin=task/none",
            "JobAcctGatherType=jobacct_gather/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core",
            "ReturnToService=2",
            "SlurmdParameters=config_overrides",
            "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny",
            "SwitchType=switch/none",
            "MpiDefault=none",
            "SchedulerType=sched/backfill",
            "SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=0,batch_sched_delay=0",
            "PriorityType=priority/multifactor",
            "GresTypes=gpu",
            "PartitionName=main Nodes=node[1-3] Default=YES MaxTime=INFINITE State=UP",
            "PartitionName=small Nodes=node3 MaxTime=INFINITE State=UP",
            *self.lines,
        ]
        for number in range(1, NODES + 1):
            (self.folder / f"spool.node{number}").mkdir(exist_ok=True)
            about = f"NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[number]} CPUs={self.cores} RealMemory=1000"
            gpus = " Gres=gpu:a100:2" if number == 1 else ""
            lines.append(f"NodeName=node{number} {about}{gpus}")
        for number in range(2):
            device = self.folder / f"gpu{number}"
            if not device.exists():
                # A count alone is refused; any character device will do.
                os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        (self.folder / "gres.conf").write_text(f"NodeName=node1 Name=gpu Type=a100 File={self.folder}/gpu[0-1]\n")
        (self.folder / "slurm.conf").write_text("\n".join(lines) + "\n")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends one process that was started here."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
