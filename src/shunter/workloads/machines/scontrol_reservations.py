"""Slurm's advance reservations as ``scontrol show reservation`` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shunter.workloads.machines.slurm_values import printed_records

if TYPE_CHECKING:
    from shunter.workloads.machines.site import Site
    from shunter.workloads.text.source import Source

_START: Final = "ReservationName"
_NONE: Final = "No reservations in the system"
"""What is printed where there are none."""


def recognizes(source: Source) -> bool:
    """Returns whether the text begins with a reservation, or says that there are none."""
    return bool(source.head_lines) and source.head_lines[0].startswith((f"{_START}=", _NONE))


def note(source: Source, site: Site) -> None:
    """Notes each reservation."""
    if source.head_lines[0].startswith(_NONE):
        return
    site.reservations.extend(printed_records(source, site, _START))
