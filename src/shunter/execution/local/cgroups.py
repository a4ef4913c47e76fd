"""Groups of processes whose memory the kernel keeps (cgroup v2), where the machine lets us make any."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def memory_cgroup(root: Path = ROOT, own: str | None = None) -> Path | None:
    """Returns a cgroup below which jobs can have groups of their own with a limit of memory; None if there is none.

    Args:
        root: Where cgroups are mounted.
        own: The cgroup of this process, as ``/proc/self/cgroup`` has it; None: as it has it.
    """
    try:
        if own is None:
            [line] = [one for one in Path("/proc/self/cgroup").read_text().splitlines() if one.startswith("0::")]
            own = line.removeprefix("0::")
        base = root / own.lstrip("/")
        if "memory" not in (base / "cgroup.controllers").read_text().split() or not os.access(base, os.W_OK):
            return None
        group = base / f"shunter-{os.getpid()}"
        if "memory" not in (base / "cgroup.subtree_control").read_text().split():
            # A cgroup with processes of its own cannot have groups with limits below it, so the daemon moves down.
            leaf = base / "shunter-daemon"
            leaf.mkdir(exist_ok=True)
            (leaf / "cgroup.procs").write_text(str(os.getpid()))
            (base / "cgroup.subtree_control").write_text("+memory")
        group.mkdir(exist_ok=True)
        (group / "cgroup.subtree_control").write_text("+memory")
    except (OSError, ValueError):
        return None
    return group


def make_cgroup(parent: Path, name: str, memory_mb: int) -> Path | None:
    """Makes the cgroup of a job; None if that does not succeed, so that a watcher has to do."""
    group = parent / name
    try:
        group.mkdir(exist_ok=True)
        (group / "memory.max").write_text(str(memory_mb << 20))
        with suppress(OSError):
            (group / "memory.swap.max").write_text("0")
    except OSError:
        return None
    return group


def was_out_of_memory(group: Path) -> bool:
    """Returns whether the kernel ended a process of a cgroup for want of memory."""
    with suppress(OSError):
        for line in (group / "memory.events").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1]) > 0
    return False


def remove_cgroup(group: Path) -> None:
    """Removes the cgroup of a job that is over; one with processes left in it stays."""
    with suppress(OSError):
        group.rmdir()
