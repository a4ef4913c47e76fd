"""Lists of GPU jobs that others derived from published logs, and what tables of GPU jobs have in common.

The list has the columns ``job_id,arrival_s,service_sec,gpu_count``. Ids that begin with ``ali-`` are of Alibaba PAI,
all others of Helios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from shunter.errors import InputError
from shunter.workloads.text.log import read_jobs
from shunter.workloads.text.published import read_table
from shunter.workloads.text.repairs import PLACE

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

LAYOUT: Final = ["job_id", "arrival_s", "service_sec", "gpu_count"]
PAI_PREFIX: Final = "ali-"
CLIPPED_S: Final = 172_800.0
"""Two days, to which whoever made the lists cut longer run times."""
CLIPPED: Final = "run time 172,800 s, at which the list cuts longer ones: taken as it is"


class FileLayout(NamedTuple):
    """One of the forms in which a log is passed on."""

    recognizes: Callable[[Source], bool]
    read: Callable[[Source, Repairs], Iterator[pl.DataFrame]]


class FileLayouts(NamedTuple):
    """All forms of a log; the files of one log have the same."""

    known: Sequence[FileLayout]
    expected: str
    """What a file should have been, for the error."""
    cluster_note: str

    def recognizes(self, source: Source) -> bool:
        """Returns whether a file has one of the forms."""
        return self._of(source) is not None

    def read(self, sources: Sequence[Source], reading: Reading) -> Workload:
        """Reads a log.

        Raises:
            InputError: A file has none of the forms, or another one than the first file, or no job is left.
        """
        first = self._of(sources[0])
        for source in sources:
            layout = self._of(source)
            if layout is None:
                raise InputError(f"{source.where}: has none of the layouts that are known; expected {self.expected}")
            # Layouts count time from different zeros.
            if layout is not first:
                raise InputError(f"{source.where}: has another layout than {sources[0].where}; read them apart")
        assert first is not None
        return read_jobs(sources, reading, first.read, self.cluster_note)

    def _of(self, source: Source) -> FileLayout | None:
        return next((layout for layout in self.known if layout.recognizes(source)), None)


def is_gpu_list(source: Source, *, of_pai: bool) -> bool:
    """Returns whether a file is such a list, of PAI or else of Helios."""
    first = source.head_lines[1] if len(source.head_lines) > 1 else ""
    # Both logs are passed on with the same header; only the ids differ.
    return source.header == LAYOUT and first.lstrip('" ').startswith(PAI_PREFIX) == of_pai


def read_gpu_list(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    """Yields the jobs of such a list, as `build_workload` takes them: one task a GPU, no cores.

    Args:
        source: The file; its header is `LAYOUT`.
        repairs: Takes what is skipped, and tells how many run times are cut.
    """
    for text in read_table(source, repairs, LAYOUT):
        frame = repairs.to_numbers(text, ("arrival_s", "service_sec", "gpu_count"), whole=("gpu_count",))
        clipped = frame.filter(pl.col("service_sec") == CLIPPED_S)
        if clipped.height:
            repairs.tell(CLIPPED, clipped.height, clipped[PLACE][0], f"service_sec {CLIPPED_S:.15g}")
        yield frame.select(
            "job_id",
            *one_task_a_gpu(pl.col("gpu_count")),
            PLACE,
            submit_s="arrival_s",
            run_s="service_sec",
        )


def one_task_a_gpu(gpus: pl.Expr) -> list[pl.Expr]:
    """Returns the size of a job of which only the number of GPUs is known: it asks for no cores."""
    return [
        gpus.cast(pl.Int64).alias("tasks"),
        pl.lit(0.0).alias("cores_per_task"),
        pl.lit(1.0).alias("gpus_per_task"),
    ]
