"""Formats of job logs, one file each.

To add a format, write a module with the functions of `Reader`, called like the format with underscores for hyphens, and
add a line to `FORMATS`. What the formats of one family share stands beside them, in ``slurm``, ``lsf``, ``google``
and ``gpu_list``; what all readers share stands in `shunter.workloads.text`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol, cast

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.text.source import Source

FORMATS: Final[dict[str, str]] = {
    "parquet": "a table of jobs, as Parquet",
    "sacct": "Slurm's accounting, from 'sacct --parsable2'",
    "sacct-json": "Slurm's accounting, from 'sacct --json'",
    "jobcomp": "Slurm's job completion log (jobcomp/filetxt)",
    "lsb-acct": "LSF's accounting file lsb.acct",
    "lsb-events": "LSF's event log lsb.events",
    "pbs": "accounting of PBS: Torque, PBS Pro, OpenPBS",
    "gridengine": "accounting of Grid Engine: SGE, Univa, Altair",
    "batsim": "a workload of the simulator Batsim, as JSON",
    "philly": "Microsoft Philly: cluster_job_log, or flat CSV",
    "helios": "SenseTime Helios: cluster_log.csv, or derived CSV",
    "pai": "Alibaba PAI 2020: task and job tables, or derived CSV",
    "openb": "Alibaba openb 2023: list of pods",
    "alibaba-2017": "Alibaba 2017: batch_task",
    "alibaba-dlrm": "Alibaba DLRM 2025: instances of services",
    "google-2011": "Google 2011: task_events",
    "google-2019": "Google 2019: instance_events, as CSV or JSON lines",
    "rltune": "RLTune's CSV with 19 or 20 columns",
    "swf": "Standard Workload Format of the Parallel Workloads Archive",
    "csv": "a table of jobs, with a header line or with --map",
}
"""Every format with a line on it, in the order in which they are tried on a file: the most specific ones first."""

SYNONYMS: Final = {
    "slurm": "sacct",
    "lsf": "lsb-acct",
    "torque": "pbs",
    "openpbs": "pbs",
    "sge": "gridengine",
    "uge": "gridengine",
}
"""What people may call a format; the right name is suggested."""

TABLES: Final = ("csv", "parquet")
"""The formats whose columns have names, and so can be mapped to ours."""


@dataclass(frozen=True)
class Reading:
    """How a log is to be read."""

    strict: bool = False
    """Whether each repair is an error instead."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """For tables: what gives a column of ours, by its name (``submit_s``): a column of the file, or a small formula."""


class Reader(Protocol):
    """What the module of a format has."""

    def recognizes(self, source: Source) -> bool:
        """Returns whether a file's beginning is of this format."""

    def read(self, sources: Sequence[Source], reading: Reading) -> Workload:
        """Reads one log, which may be spread over several files."""


def reader_of(format_name: str) -> Reader:
    """Returns the module that reads a format; it is imported when it is first needed."""
    # Most commands read one format; the other modules are never loaded.
    return cast("Reader", import_module(f"{__name__}.{format_name.replace('-', '_')}"))


def detect_format(source: Source) -> str | None:
    """Returns the format that a file's content has, or None."""
    # A name such as log.swf.gz is only a guess, but a good one: if the content agrees, no other reader is loaded. Of
    # .csv it says nothing, for half of the formats are called so.
    guessed = [name for name in FORMATS if f".{name}" in source.path.suffixes and name != "csv"]
    if {"submit_s", "run_s"} <= set(source.columns):
        # Our own names: whatever else the numbers below look like, it is a table of ours.
        return "csv"
    for name in dict.fromkeys([*guessed, *FORMATS]):
        if reader_of(name).recognizes(source):
            return name
    return None
