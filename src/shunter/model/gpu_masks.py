"""The types of GPUs that jobs ask for, as bits over the types that a cluster has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster

ANY: Final = 0
"""The mask of a job that takes GPUs of every type, or none at all."""
NO_SUCH_TYPE: Final = 1 << 62
"""The mask of a job all of whose types the cluster lacks: a bit that no node has."""


def type_numbers(cluster: Cluster) -> dict[str, int]:
    """Returns the number of each type of GPUs, in the order of the first node of each."""
    return {name: number for number, name in enumerate(cluster.gpu_types)}


def gpu_type_masks(jobs: pl.DataFrame, cluster: Cluster) -> NDArray[np.int64]:
    """Returns the types of GPUs that each job takes, as bits by `type_numbers`; `ANY` where it does not care.

    A cluster none of whose nodes has a type serves every job, whatever types the log names.

    Args:
        jobs: The workload's table; its column ``gpu_type`` may be absent.
        cluster: The nodes.
    """
    if "gpu_type" not in jobs.columns or not cluster.gpu_types:
        return np.full(jobs.height, ANY, dtype=np.int64)
    texts = jobs["gpu_type"]
    distinct = texts.drop_nulls().unique()
    masks = [_mask(text, cluster) for text in distinct.to_list()]
    found = texts.replace_strict(distinct, pl.Series(masks, dtype=pl.Int64), default=ANY, return_dtype=pl.Int64)
    return np.where(jobs["gpus_per_task"].to_numpy() > 0, found.to_numpy(), ANY).astype(np.int64)


def wanted_types(text: str) -> tuple[str, ...]:
    """Returns the types that a job asks for, any of which will do: ``A100|H100`` names two."""
    return tuple(part.strip() for part in text.split("|") if part.strip())


def _mask(text: str, cluster: Cluster) -> int:
    """Returns the bits of the types that a text names; case plays no part, for every log writes them its own way."""
    wanted = {name.casefold() for name in wanted_types(text)}
    mask = sum(1 << number for name, number in type_numbers(cluster).items() if name.casefold() in wanted)
    return (mask or NO_SUCH_TYPE) if wanted else ANY
