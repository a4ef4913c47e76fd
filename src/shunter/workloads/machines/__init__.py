"""Lists of machines, as schedulers print them and as published logs bring them, one file each.

To add a list, write a module with the functions of `MachineReader`, called like the list with underscores for hyphens,
and add a line to `MACHINES`. ``table`` and ``slurm_nodes`` hold what several lists share.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster, Node
    from shunter.model.log import Ledger
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

MACHINES: Final[dict[str, str]] = {
    "scontrol": "Slurm: 'scontrol show node'",
    "sinfo": "Slurm: 'sinfo --Node' or 'sinfo --json'",
    "slurm-conf": "Slurm: slurm.conf",
    "lshosts": "LSF: 'lshosts', with 'bhosts' for the slots",
    "philly-machines": "Philly: cluster_machine_list",
    "helios-gpus": "Helios: cluster_gpu_number.csv, GPUs per virtual cluster and day",
    "pai-machines": "Alibaba PAI 2020: pai_machine_spec",
    "openb-nodes": "Alibaba openb 2023: node list",
    "spot-nodes": "Alibaba spot 2026: node_info_df.csv",
    "google-machines": "Google 2011 and 2019: machine_events",
}
"""The lists of machines that are read, in the order in which they are tried on a file."""


class MachineReader(Protocol):
    """What the module of a list of machines has."""

    def recognizes(self, source: Source) -> bool:
        """Returns whether a file's beginning is such a list."""

    def read(self, sources: Sequence[Source], repairs: Repairs) -> Sequence[Node]:
        """Returns the machines, in the order of the list."""


def detect_machines(source: Source) -> str | None:
    """Returns the name of the list that a file is, or None."""
    return next((name for name in MACHINES if _reader(name).recognizes(source)), None)


def read_machines(
    paths: Sequence[str | Path], *, format: str | None = None, strict: bool = False
) -> tuple[Cluster, Ledger]:
    """Reads a cluster from one list of machines, which may be spread over several files.

    Args:
        paths: The files.
        format: One of `MACHINES`; by default what the content says.
        strict: Whether each repair is an error instead.

    Returns:
        The cluster, and what was repaired or left out.

    Raises:
        InputError: A file is no such list, or no machine is left.
    """
    from shunter.model.cluster import Cluster
    from shunter.workloads.text.repairs import UNREADABLE, Repairs
    from shunter.workloads.text.source import open_source

    sources = [open_source(path) for path in paths]
    repairs = Repairs(sources, strict)
    name = format or detect_machines(sources[0])
    if name is None or name not in MACHINES:
        raise InputError(
            f"{sources[0].where}: is no list of machines that is known; expected one of {', '.join(MACHINES)}"
        )
    nodes = tuple(_reader(name).read(sources, repairs))
    skipped = repairs.count(UNREADABLE)
    # A list of which most lines make no sense is of another kind, or broken.
    if skipped > len(nodes):
        raise InputError(
            f"{sources[0].where}: {skipped:,} lines are not readable, and {len(nodes):,} machines are: the first at "
            f"{repairs.example(UNREADABLE)}; mend the list"
        )
    if not nodes:
        raise InputError(f"{sources[0].where}: tells of no machine that could run a job")
    return Cluster.from_nodes(nodes, sources[0].path.name), repairs.ledger


def _reader(name: str) -> MachineReader:
    return cast("MachineReader", import_module(f"{__name__}.{name.replace('-', '_')}"))
