"""Lists of machines, as schedulers print them and as published logs bring them, and of a site's rules, one file each.

To add a list, write a module with the functions of `MachineReader`, called like the list with underscores for hyphens,
and add a line to `MACHINES`; or of `RulesReader`, with a line in `RULES`. ``table`` and ``slurm_nodes`` hold what
several lists share. ``slurm_site`` and ``lsf_site`` make one cluster and one policy of all that is told (``site``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster, Node
    from shunter.model.log import Ledger
    from shunter.workloads.machines.site import LeftOut, Site, SitePolicy
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

MACHINES: Final[dict[str, str]] = {
    "scontrol": "Slurm: 'scontrol show node'",
    "slurm-conf": "Slurm: slurm.conf, or 'scontrol show config'",
    "sinfo": "Slurm: 'sinfo --Node' or 'sinfo --json'",
    "lshosts": "LSF: 'lshosts', with 'bhosts' for the slots",
    "philly-machines": "Philly: cluster_machine_list",
    "helios-gpus": "Helios: cluster_gpu_number.csv, GPUs per virtual cluster and day",
    "pai-machines": "Alibaba PAI 2020: pai_machine_spec",
    "openb-nodes": "Alibaba openb 2023: node list",
    "spot-nodes": "Alibaba spot 2026: node_info_df.csv",
    "google-machines": "Google 2011 and 2019: machine_events",
}
"""The lists of machines that are read, in the order in which they are tried on a file."""
RULES: Final[dict[str, str]] = {
    "scontrol-partitions": "Slurm: 'scontrol show partition'",
    "scontrol-reservations": "Slurm: 'scontrol show reservation'",
    "scontrol-licenses": "Slurm: 'scontrol show lic'",
    "sacctmgr-qos": "Slurm: 'sacctmgr show qos -P'",
    "sacctmgr-assoc": "Slurm: 'sacctmgr show assoc -P'",
    "lsb-conf": "LSF: lsb.queues, lsb.hosts, lsb.params, lsb.users",
    "bqueues": "LSF: 'bqueues -l'",
}
"""The lists of a site's rules that are read beside its machines, in the order in which they are tried, before those."""
_SITES: Final = {
    "slurm_site": ("scontrol", "slurm-conf", "sinfo", *(name for name in RULES if name.startswith(("sc", "sa")))),
    "lsf_site": ("lshosts", "lsb-conf", "bqueues"),
}
"""The modules that make one site of several lists, with the lists; nodes come from the first that lists some."""


class MachineReader(Protocol):
    """What the module of a list of machines has."""

    def recognizes(self, source: Source) -> bool:
        """Returns whether a file's beginning is such a list."""

    def read(self, sources: Sequence[Source], repairs: Repairs) -> Sequence[Node]:
        """Returns the machines, in the order of the list."""


class RulesReader(Protocol):
    """What the module of a list of rules has; that of slurm.conf is a `MachineReader` too."""

    def recognizes(self, source: Source) -> bool:
        """Returns whether a file's beginning is such a list."""

    def note(self, source: Source, site: Site) -> None:
        """Notes what a file tells."""


class FoundSite(NamedTuple):
    """What the files of a site tell."""

    cluster: Cluster
    """The nodes, and the rules."""
    ledger: Ledger
    """What was repaired or left out of the lists of nodes."""
    policy: SitePolicy | None
    """The order of the jobs, if the files tell it."""
    left: tuple[LeftOut, ...]
    """What was read, and not taken over."""


def detect_machines(source: Source) -> str | None:
    """Returns the name of the list that a file is, or None."""
    return next((name for name in (*RULES, *MACHINES) if _module(name).recognizes(source)), None)


def read_machines(
    paths: Sequence[str | Path], *, format: str | None = None, strict: bool = False
) -> tuple[Cluster, Ledger]:
    """Reads a cluster as `read_site` does.

    Returns:
        The cluster, and what was repaired or left out.
    """
    found = read_site(paths, format=format, strict=strict)
    return found.cluster, found.ledger


def read_site(paths: Sequence[str | Path], *, format: str | None = None, strict: bool = False) -> FoundSite:
    """Reads a cluster from a list of machines, which may be spread over several files, and lists of the site's rules.

    Args:
        paths: The files, in any order.
        format: One of `MACHINES` or `RULES`, for all files; by default what the content of each says.
        strict: Whether each repair is an error instead.

    Raises:
        InputError: A file is no such list, the lists are not of one site, or no machine is left.
    """
    from shunter.model.cluster import Cluster
    from shunter.workloads.machines.site import Assembled, Site
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import open_source

    sources = [open_source(path) for path in paths]
    repairs = Repairs(sources, strict)
    lists = _by_list(sources, format)
    family = _family(lists)
    site = Site(repairs)
    for name, files in lists.items():
        for source in files:
            if name in RULES or name == "slurm-conf":
                cast("RulesReader", _module(name)).note(source, site)
    nodes = _nodes(lists, site)
    assembled = Assembled(nodes) if family is None else import_module(f"{__name__}.{family}").assemble(site, nodes)
    name = next(name for name in lists if name in MACHINES)
    told = site.settings.get("clustername")
    called = told.value if told is not None else lists[name][0].path.name
    cluster = Cluster.from_nodes(tuple(assembled.nodes), called, rules=assembled.rules)
    return FoundSite(cluster, repairs.ledger, assembled.policy, site.left)


def _by_list(sources: Sequence[Source], format: str | None) -> dict[str, list[Source]]:
    """Returns the files of each list, in the order of `MACHINES` and `RULES`."""
    found: dict[str, list[Source]] = {name: [] for name in (*MACHINES, *RULES)}
    first = format or detect_machines(sources[0])
    for source in sources:
        # A file that does not say what it is goes on with the list of the first: parts of a table may have no header.
        goes_on = first if first in MACHINES and first not in _SITES["slurm_site"] else None
        name = format or detect_machines(source) or goes_on
        if name is None or name not in found:
            known = "; ".join(f"{name} ({what})" for name, what in (MACHINES | RULES).items())
            raise InputError(f"{source.where}: is no list of machines or rules that is known; expected one of {known}")
        found[name].append(source)
    return {name: files for name, files in found.items() if files}


def _family(lists: Mapping[str, Sequence[Source]]) -> str | None:
    """Returns the module that makes one site of the lists; None for a published list."""
    family = next((module for module, names in _SITES.items() if set(lists) <= set(names)), None)
    if family is None and len(lists) > 1:
        found = ", ".join(f"{files[0].where} is {name}" for name, files in lists.items())
        raise InputError(f"the files are not of one site: {found}; read them apart, or name one --format")
    return family


def _nodes(lists: Mapping[str, Sequence[Source]], site: Site) -> Sequence[Node]:
    """Returns the machines of the first list that has some; that others are not looked at is noted."""
    from shunter.workloads.machines.site import Told
    from shunter.workloads.text.repairs import UNREADABLE

    repairs = site.repairs
    nodes: Sequence[Node] = ()
    where = next(files[0].where for files in lists.values())
    for name, files in lists.items():
        if name in MACHINES and nodes:
            told = Told(repairs.place(files[0], 1), "nodes", files[0].path.name)
            site.leave(told, f"the nodes are those of {Path(where).name}")
        if name not in MACHINES or nodes:
            continue
        where, before = files[0].where, repairs.count(UNREADABLE)
        nodes = tuple(cast("MachineReader", _module(name)).read(files, repairs))
        skipped = repairs.count(UNREADABLE) - before
        # A list of which most lines make no sense is of another kind, or broken.
        if skipped > len(nodes):
            raise InputError(
                f"{where}: {skipped:,} lines are not readable, and {len(nodes):,} machines are: the first at "
                f"{repairs.example(UNREADABLE)}; mend the list"
            )
    if not nodes:
        machines = ", ".join(f"{name} ({MACHINES[name]})" for name in ("scontrol", "slurm-conf", "lshosts"))
        raise InputError(f"{where}: tells of no machine that could run a job; give a list of them too: {machines}")
    return nodes


def _module(name: str) -> MachineReader | RulesReader:
    return cast("MachineReader | RulesReader", import_module(f"{__name__}.{name.replace('-', '_')}"))
