"""Alibaba spot (2026): node_info_df.csv, which tells no memory."""

from typing import Final

from shunter.workloads.machines.table import NodeTable

TABLE: Final = NodeTable(
    columns=["gpu_model", "gpu_capacity_num", "cpu_num", "node_name"],
    numbers=["gpu_capacity_num", "cpu_num"],
    nodes={"name": "node_name", "cores": "cpu_num", "gpus": "gpu_capacity_num", "gpu_type": "gpu_model"},
)
recognizes, read = TABLE.recognizes, TABLE.read
