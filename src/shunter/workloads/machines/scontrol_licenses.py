"""Slurm's licenses as ``scontrol show lic`` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shunter.workloads.machines.slurm_values import printed_records

if TYPE_CHECKING:
    from shunter.workloads.machines.site import Site
    from shunter.workloads.text.source import Source

_START: Final = "LicenseName"
_COUNT: Final = "total"
_NONE: Final = "No licenses configured in Slurm"
"""What is printed where there are none."""


def recognizes(source: Source) -> bool:
    """Returns whether the text begins with a license, or says that there are none."""
    return bool(source.head_lines) and source.head_lines[0].startswith((f"{_START}=", _NONE))


def note(source: Source, site: Site) -> None:
    """Notes how many there are of each license.

    Raises:
        InputError: The text does not tell it.
    """
    if source.head_lines[0].startswith(_NONE):
        return
    for record in printed_records(source, site, _START):
        name = record[_START.lower()]
        if _COUNT not in record:
            raise site.wrong(name, "its Total behind it")
        site.licenses[name.value] = record[_COUNT]
