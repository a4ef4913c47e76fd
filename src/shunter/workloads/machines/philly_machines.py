"""Philly's machines: cluster_machine_list, and the list that others derived from what the machines were seen to use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.errors import InputError
from shunter.model.cluster import GPUS_LIMIT, Node
from shunter.workloads.text.delimited import read_frames
from shunter.workloads.text.repairs import PLACE, UNREADABLE

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

MACHINE: Final = "machineid"
GPUS: Final = "number of gpus"
GPU_MEMORY: Final = "single gpu mem"
OFFICIAL: Final = [MACHINE, GPUS, GPU_MEMORY]
REVISED: Final = ["", MACHINE, GPUS]


def recognizes(source: Source) -> bool:
    """Returns whether the header is that of one of the two lists."""
    return source.header in (OFFICIAL, REVISED)


def read(sources: Sequence[Source], repairs: Repairs) -> list[Node]:
    """Returns the machines that have GPUs; the type of a GPU is its memory.

    No list tells cores. Philly's jobs ask for none, so that any number does: a machine gets one for each GPU.
    """
    return [node for source in sources for node in _nodes(source, repairs)]


def _nodes(source: Source, repairs: Repairs) -> Iterator[Node]:
    for text in read_frames(source, repairs):
        frame = text.rename({name: name.lower() for name in text.columns if name.lower() not in text.columns})
        for name in (MACHINE, GPUS):
            if name not in frame.columns:
                raise InputError(f"{source.where}: has no column {name!r}; expected a list of Philly's machines")
        frame = repairs.to_numbers(frame, [GPUS], whole=[GPUS])
        unusable = pl.col(MACHINE).is_null() | ~pl.col(GPUS).is_between(0, GPUS_LIMIT) | pl.col(GPUS).is_null()
        frame = repairs.drop(frame, unusable, UNREADABLE, GPUS)
        without = frame.filter(pl.col(GPUS) == 0)
        if without.height:
            repairs.tell(
                "no GPU: machine left out", without.height, without[PLACE][0], f"machine {without[MACHINE][0]}"
            )
        frame = frame.filter(pl.col(GPUS) > 0)
        memory = frame[GPU_MEMORY].str.strip_chars() if GPU_MEMORY in frame.columns else [None] * frame.height
        for name, gpus, gpu_type in zip(frame[MACHINE], frame[GPUS], memory, strict=True):
            # Nodes need cores, see `read`.
            yield Node(name, cores=float(gpus), gpus=gpus, gpu_type=gpu_type)
