"""A table of jobs as CSV: the columns are those of `shunter.model.workload.COLUMNS`, or mapped to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from shunter.errors import InputError
from shunter.model.workload import COLUMNS, EXTRA_COLUMNS
from shunter.workloads.text.delimited import read_frames
from shunter.workloads.text.log import to_workload
from shunter.workloads.text.mapping import apply_mapping
from shunter.workloads.text.repairs import PLACE, Repairs

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Source


def recognizes(source: Source) -> bool:
    """Returns whether the header has one of the columns that every table of jobs needs, and a second one."""
    return len(source.header) > 1 and ("submit_s" in source.header or "run_s" in source.header)


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads tables with a header line each; columns that no workload has are ignored.

    Raises:
        InputError: A file is no such table, or a value is not what its column holds.
    """
    repairs = Repairs(sources, reading.strict)
    frames = [
        # Columns that nobody asked for are dropped block by block: some tables have many more than ours.
        _known(apply_mapping(frame, reading.columns, source.where))
        for source in sources
        for frame in read_frames(source, repairs, refuse=True)
    ]
    if not frames:
        raise InputError(f"{sources[0].where}: the table holds no job; give it at least one")
    # Files of one log may differ in their columns; what one of them lacks is null there.
    return to_workload(pl.concat(frames, how="diagonal"), repairs)


def _known(frame: pl.DataFrame) -> pl.DataFrame:
    if not {"submit_s", "run_s"} <= set(frame.columns):
        # The error about what is missing looks for a like name among the others.
        return frame
    return frame.select(name for name in frame.columns if name in COLUMNS or name in EXTRA_COLUMNS or name == PLACE)
