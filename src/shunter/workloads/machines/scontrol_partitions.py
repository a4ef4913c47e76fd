"""Slurm's partitions as ``scontrol show partition`` prints them, on one line each (``--oneliner``) or on several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shunter.workloads.machines.slurm_values import printed_records

if TYPE_CHECKING:
    from shunter.workloads.machines.site import Site
    from shunter.workloads.text.source import Source

_START: Final = "PartitionName"


def recognizes(source: Source) -> bool:
    """Returns whether the text begins with a partition, and tells what a configuration does not: its size."""
    lines = source.head_lines
    return bool(lines) and lines[0].startswith(f"{_START}=") and any("TotalNodes=" in line for line in lines[:20])


def note(source: Source, site: Site) -> None:
    """Notes each partition; what is printed is in force, and goes before what a configuration says."""
    for record in printed_records(source, site, _START):
        name = site.name_of(record.pop(_START.lower()))
        site.partitions[name] = site.partitions.get(name, {}) | record
