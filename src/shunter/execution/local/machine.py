"""What this machine has, and who has what of it: no core, GPU or megabyte is given away twice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shunter.errors import InputError
from shunter.execution.local.cgroups import memory_cgroup

MOST_CORES: Final = 100_000


@dataclass(frozen=True)
class Share:
    """What one running job has."""

    cpus: tuple[int, ...]
    gpus: tuple[int, ...]
    memory_mb: int


class Machine:
    """Cores, memory and GPUs, and what is free of them."""

    def __init__(self, cores: int | None, memory_mb: int | None, gpus: int | None) -> None:
        """Takes what the queue may use; None: all that there is."""
        if sys.platform != "linux":
            # Without process descriptors, /proc and affinities, nobody could promise that a job runs once.
            raise InputError(f"jobs are run on Linux only, and this is {sys.platform}; verbs that simulate work here")
        here = sorted(os.sched_getaffinity(0))
        self.cores = len(here) if cores is None else cores
        if not 1 <= self.cores <= MOST_CORES:
            raise InputError(f"--cores is {cores}; expected 1 to {MOST_CORES:,}")
        self.memory_mb = _memory_mb() if memory_mb is None else memory_mb
        self.gpus = _gpus() if gpus is None else gpus
        self.is_pinned = self.cores <= len(here)
        """Whether jobs are kept on cores of their own; not where the queue was told of more than there are."""
        self.cgroup: Path | None = memory_cgroup()
        """Where jobs get a cgroup of their own, if the machine lets us."""
        self._cpus = here[: self.cores] if self.is_pinned else list(range(self.cores))
        self.release_all()

    def release_all(self) -> None:
        """Takes everything back."""
        self._free_cpus = list(self._cpus)
        self._free_gpus = list(range(self.gpus))
        self.free_memory_mb = self.memory_mb

    @property
    def memory_kept_by(self) -> str:
        """What keeps a job from holding more memory than it asked for."""
        return "cgroup v2" if self.cgroup else "a watcher that looks four times a second, and a limit on data"

    @property
    def free_cores(self) -> int:
        """How many cores are free."""
        return len(self._free_cpus)

    @property
    def free_gpus(self) -> int:
        """How many GPUs are free."""
        return len(self._free_gpus)

    def refusal(self, cores: int, memory_mb: int, gpus: int) -> str | None:
        """Returns why a job can never run here; None if it can."""
        for asked, there, what in (
            (cores, self.cores, "cores"),
            (memory_mb, self.memory_mb, "MB of memory"),
            (gpus, self.gpus, "GPUs"),
        ):
            if asked > there:
                return f"it asks for {asked:,} {what}, and this queue has {there:,}"
        return None

    def fits(self, cores: int, memory_mb: int, gpus: int) -> bool:
        """Returns whether so much is free."""
        return cores <= self.free_cores and memory_mb <= self.free_memory_mb and gpus <= self.free_gpus

    def any_cpus(self, cores: int) -> tuple[int, ...]:
        """Returns numbers of free cores, as many as there are up to so many."""
        return tuple(self._free_cpus[:cores])

    def take(self, cores: int, memory_mb: int, gpus: int) -> Share:
        """Gives a job its share, which must be free."""
        assert self.fits(cores, memory_mb, gpus)
        share = Share(self.any_cpus(cores), tuple(self._free_gpus[:gpus]), memory_mb)
        self.hold(share)
        return share

    def hold(self, share: Share) -> None:
        """Takes a share that a job has already."""
        # After a restart with fewer cores a job may hold some that are not the queue's any more.
        self._free_cpus = [cpu for cpu in self._free_cpus if cpu not in share.cpus]
        self._free_gpus = [gpu for gpu in self._free_gpus if gpu not in share.gpus]
        self.free_memory_mb -= share.memory_mb

    def release(self, share: Share) -> None:
        """Takes a share back."""
        self._free_cpus = sorted({*self._free_cpus, *(cpu for cpu in share.cpus if cpu in self._cpus)})
        self._free_gpus = sorted({*self._free_gpus, *(gpu for gpu in share.gpus if gpu < self.gpus)})
        self.free_memory_mb += share.memory_mb


def _memory_mb() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20


def _gpus() -> int:
    """Returns how many GPUs NVIDIA's tool tells of; 0 where there is no such tool."""
    if shutil.which("nvidia-smi") is None:
        return 0
    try:
        done = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(line.startswith("GPU ") for line in done.stdout.splitlines())
