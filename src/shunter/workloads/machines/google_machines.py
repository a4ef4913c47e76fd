"""Google (2011 and 2019): machine_events, of which the machines that are there at time 0 are taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.errors import InputError
from shunter.workloads.formats.google import RESOURCES, read_records, tells
from shunter.workloads.machines.table import nodes_of
from shunter.workloads.text.delimited import read_frames
from shunter.workloads.text.published import LARGEST_CORES, LARGEST_MEMORY_MB, most_lines
from shunter.workloads.text.repairs import PLACE
from shunter.workloads.text.source import are_numbers

if TYPE_CHECKING:
    from shunter.model.cluster import Node
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

EVENTS_2011: Final = ["time", "machine_id", "type", "platform_id", *RESOURCES]
"""The columns of a file of 2011, which has no header."""
EVENTS_2019: Final = ["time", "machine_id", "type"]
ADDED_2011: Final = 0
ADDED_2019: Final = 1
"""The types of events with which a machine comes; in 2019 they count from 1."""

_TYPES_2011: Final = ("0", "1", "2")


def recognizes(source: Source) -> bool:
    """Returns whether a file's lines or objects are events of machines."""
    return most_lines(source, _is_row) or _is_of_2019(source)


def read(sources: Sequence[Source], repairs: Repairs) -> Sequence[Node]:
    """Returns the machines that are there at time 0, in the order of the events.

    Raises:
        InputError: No machine is there at time 0.
    """
    nodes = nodes_of([frame for source in sources for frame in _read(source, repairs)], repairs)
    if not nodes:
        raise InputError(f"{sources[0].where}: no machine with a capacity comes at time 0; give the log's first file")
    return nodes


def _is_row(cells: list[str]) -> bool:
    return (
        len(cells) == len(EVENTS_2011)
        and cells[0].isdecimal()
        and cells[1].isdecimal()
        and cells[2] in _TYPES_2011
        and not are_numbers([cells[3]])
        and are_numbers(filter(None, cells[4:]))
    )


def _is_of_2019(source: Source) -> bool:
    return all(tells(source, name) for name in EVENTS_2019) and not tells(source, "collection_id")


def _read(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    if _is_of_2019(source):
        frames, added = read_records(source, repairs, EVENTS_2019, "capacity"), ADDED_2019
    else:
        frames, added = read_frames(source, repairs, EVENTS_2011), ADDED_2011
    for text in frames:
        frame = repairs.to_numbers(text, ["time", "type", *RESOURCES])
        # Later events are of machines that go, come back or change; a cluster has the machines of one moment.
        first = frame.filter((pl.col("time") == 0) & (pl.col("type") == added))
        cores, memory_mb = pl.col("cpus") * LARGEST_CORES, pl.col("memory") * LARGEST_MEMORY_MB
        yield first.select(PLACE, name="machine_id", cores=cores, memory_mb=memory_mb)
