"""Slurm's qualities of service as ``sacctmgr show qos -P`` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shunter.workloads.machines.sacctmgr import columns, records

if TYPE_CHECKING:
    from shunter.workloads.machines.site import Site
    from shunter.workloads.text.source import Source

_NAME: Final = "name"
_ONE_OF: Final = {"priority", "usagefactor", "maxtrespu", "maxjobspu", "maxsubmitpu", "maxwall", "grptres", "maxtrespa"}


def recognizes(source: Source) -> bool:
    """Returns whether the columns have a name, and something that a QOS alone has."""
    names = set(columns(source))
    return _NAME in names and not names.isdisjoint(_ONE_OF) and "account" not in names


def note(source: Source, site: Site) -> None:
    """Notes each QOS."""
    for record in records(source, site):
        if _NAME not in record:
            site.repairs.skip(next(iter(record.values())).place, "the row has no Name")
            continue
        site.qos[record.pop(_NAME).value.strip()] = record
