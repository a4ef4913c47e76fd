"""Alibaba openb (2023): the list of nodes."""

from typing import Final

import polars as pl

from shunter.workloads.machines.table import NodeTable

TABLE: Final = NodeTable(
    columns=["sn", "cpu_milli", "memory_mib", "gpu", "model"],
    numbers=["cpu_milli", "memory_mib", "gpu"],
    nodes={
        "name": "sn",
        "cores": pl.col("cpu_milli") / 1000,
        "memory_mb": "memory_mib",
        "gpus": "gpu",
        "gpu_type": "model",
    },
)
recognizes, read = TABLE.recognizes, TABLE.read
