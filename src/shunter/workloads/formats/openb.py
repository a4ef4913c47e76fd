"""Alibaba openb (2023): a list of pods, each of which lies on one node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.errors import InputError
from shunter.workloads.text.log import read_jobs
from shunter.workloads.text.published import read_table, scaled, with_known_cores
from shunter.workloads.text.repairs import PLACE

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

SIZES: Final = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"]
TIMES: Final = ["creation_time", "deletion_time", "scheduled_time"]
PODS: Final = [*SIZES, "gpu_spec", "qos", "pod_phase", *TIMES]
STATUSES: Final = {"Succeeded": "completed", "Pending": "pending", "Running": "running", "Failed": "failed"}
NOTE: Final = "does not tell its machines (a preset is alibaba-openb)"

_MILLI: Final = 0.001
_WHOLE_GPU: Final = 1000.0


def recognizes(source: Source) -> bool:
    """Returns whether the header has the sizes of pods, also where it has no times."""
    return set(SIZES) <= set(source.header)


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads lists of pods.

    Raises:
        InputError: A list has no times, or no pod is left.
    """
    for source in sources:
        if recognizes(source) and not set(TIMES) & set(source.header):
            raise InputError(
                f"{source.where}: tells sizes of pods but no times; give a list with creation_time, "
                "scheduled_time and deletion_time, such as openb_pod_list_default.csv"
            )
    return read_jobs(sources, reading, _read_pods, NOTE)


def _read_pods(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    for text in read_table(source, repairs, PODS):
        frame = repairs.to_numbers(text, [*SIZES[1:], *TIMES])
        pending = pl.col("scheduled_time").is_null()
        frame = repairs.drop(frame, pending, "never scheduled: run time unknown, pod dropped", "pod_phase")
        running = pl.col("deletion_time").is_null()
        frame = repairs.drop(frame, running, "still running: run time unknown, pod dropped", "pod_phase")
        jobs = frame.select(
            "qos",
            PLACE,
            job_id="name",
            submit_s="creation_time",
            run_s=pl.col("deletion_time") - pl.col("scheduled_time"),
            tasks=pl.lit(1, pl.Int64),
            cores_per_task=scaled(pl.col("cpu_milli"), _MILLI),
            memory_mb_per_task="memory_mib",
            gpus_per_task=_gpus(),
            status=pl.col("pod_phase").replace(STATUSES).str.to_lowercase(),
            logged_wait_s=pl.col("scheduled_time") - pl.col("creation_time"),
            gpu_type="gpu_spec",
        )
        yield with_known_cores(jobs, repairs)


def _gpus() -> pl.Expr:
    """Returns the GPUs of a pod: a share of one, or several whole ones."""
    number = pl.col("num_gpu").fill_null(0.0)
    # A share is told only for a pod with one GPU; several are always whole.
    return pl.when(number == 1).then(scaled(pl.col("gpu_milli").fill_null(_WHOLE_GPU), _MILLI)).otherwise(number)
