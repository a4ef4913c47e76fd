"""Prices of types of GPUs, worked out from the mix of jobs of a log's training days.

The fluid assignment problem: all work of those days is shared out among the types that can do it, in any parts, so that
the whole is done as early as possible. What one more GPU of a type would be worth then is the type's price (the dual of
its capacity). A job whose price there, times its time there, is higher than elsewhere takes what others need more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.extras import MILP, need
from shunter.model.fitting import can_ever_fit
from shunter.policies.pairs import DEFAULT_FACTOR, PRICE, Pairs, check_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.log import Log

MICRO: Final = 1_000_000
LEAST_PRICE: Final = 0.001
"""The least price, of the highest: a type that nobody needs is not free, or every job would wait for it."""


@dataclass(frozen=True)
class Mix:
    """What jobs need, by the classes of jobs that are alike."""

    work: NDArray[np.float64]
    """(classes,): GPU-seconds, at the speed that run times are given for."""
    speed: NDArray[np.float64]
    """(classes, types): how fast each class is on each type; 0: it cannot run there."""
    gpus: NDArray[np.float64]
    """(types,): how many there are of each type."""


def training_prices(logs: Sequence[Log], train: tuple[float, float], factor: float = DEFAULT_FACTOR) -> Pairs:
    """Returns prices from the mix of the training days of logs that have the same types of GPUs.

    Raises:
        InputError: A cluster's types cannot be chosen among, the logs differ in them, or no job needs a GPU.
    """
    need(MILP, "a price of types of GPUs")
    types = logs[0].cluster.gpu_types
    for log in logs:
        check_cluster("a price of types of GPUs", log.cluster)
        if log.cluster.gpu_types != types:
            what = f"{log.cluster.name} has types {', '.join(log.cluster.gpu_types) or 'none'}"
            raise InputError(f"{what}, and {logs[0].cluster.name} {', '.join(types) or 'none'}; prices need the same")
    if not types:
        raise InputError(f"{logs[0].cluster.name} has no types of GPUs, so that there is nothing to price")
    # Each log counts the same, as everywhere in tuning.
    each = [solve(mix_of(log, train)) for log in logs]
    prices = np.mean([one / one.sum() for one in each], axis=0)
    prices = prices / prices.min()
    return Pairs(PRICE, factor, dict(zip(types, prices.tolist(), strict=True)))


def mix_of(log: Log, train: tuple[float, float]) -> Mix:
    """Returns what the jobs of a log's training days need."""
    cluster = log.cluster
    first, last = (round(fraction * len(log.workload)) for fraction in train)
    jobs = log.workload.jobs.slice(first, last - first)
    rows = cluster.kind_rows(jobs)
    gpus = jobs["tasks"] * jobs["gpus_per_task"]
    named = [name for name in ("partition", "gpu_type") if name in jobs.columns]
    alike = ["row", "tasks", "gpus_per_task", "cores_per_task", "memory_mb_per_task", *named]
    classes = (
        jobs.with_columns(row=pl.Series(rows), work=gpus * jobs["run_s"])
        .filter(pl.Series(gpus > 0))
        .group_by(alike, maintain_order=True)
        .agg(pl.col("work").sum(), *(pl.first(name) for name in jobs.columns if name not in (*alike, "work")))
    )
    if classes.is_empty():
        raise InputError(f"{log.workload.name}: no job of the training days has GPUs; there is nothing to price")
    speed = np.stack([_speeds(classes, cluster, name) for name in cluster.gpu_types], axis=1)
    can_run = speed.any(axis=1)
    counts = [sum(node.gpus for node in cluster.nodes if node.gpu_type == name) for name in cluster.gpu_types]
    return Mix(classes["work"].to_numpy()[can_run], speed[can_run], np.array(counts, dtype=np.float64))


def _speeds(classes: pl.DataFrame, cluster: Cluster, name: str) -> NDArray[np.float64]:
    """Returns how fast each class is on a type; 0 where it cannot run there."""
    number = cluster.gpu_types.index(name)
    masks = cluster.gpu_type_masks(classes)
    accepts = (masks == 0) | (masks >> number & 1 == 1)
    alone = classes.with_columns(gpu_type=pl.lit(name))
    node = next(node for node in cluster.nodes if node.gpu_type == name)
    rows = classes["row"].to_numpy()
    speed = np.full(len(classes), node.speed)
    if cluster.kinds is not None:
        micro = np.vstack([cluster.kinds.micro, np.full(len(cluster.gpu_types), round(node.speed * MICRO))])
        speed = micro[rows, number] / MICRO
    return np.where(accepts & can_ever_fit(alone, cluster), speed, 0.0)


def solve(mix: Mix) -> NDArray[np.float64]:
    """Returns the price of each type: the dual of its capacity, where all work is done as early as possible."""
    import highspy

    pairs = [(one, number) for one, number in np.argwhere(mix.speed > 0).tolist()]
    classes, types = mix.speed.shape
    share = mix.work / mix.work.sum()
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(pairs) + 1, classes + types
    # The last column is how long it takes; the others are the parts of the work.
    lp.col_cost_ = np.array([0.0] * len(pairs) + [1.0])
    lp.col_lower_ = np.zeros(lp.num_col_)
    lp.col_upper_ = np.full(lp.num_col_, highspy.kHighsInf)
    lp.row_lower_ = np.concatenate([share, np.full(types, -highspy.kHighsInf)])
    lp.row_upper_ = np.concatenate([share, np.zeros(types)])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    starts, index, value = [0], [], []
    for one, number in pairs:
        index += [one, classes + number]
        value += [1.0, 1.0 / mix.speed[one, number]]
        starts.append(len(index))
    index += [classes + number for number in range(types)]
    value += (-mix.gpus / mix.gpus.sum()).tolist()
    lp.a_matrix_.start_ = np.array([*starts, len(index)])
    lp.a_matrix_.index_ = np.array(index)
    lp.a_matrix_.value_ = np.array(value)
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.passModel(lp)
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise InputError(f"no prices were found: the solver says {highs.getModelStatus()}")
    prices = np.abs(np.array(highs.getSolution().row_dual)[classes:])
    return np.asarray(np.maximum(prices, LEAST_PRICE * prices.max()))
