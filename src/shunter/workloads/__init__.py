"""Workloads: job logs in many formats, and generators, all of which give a `Workload`; and the clusters they ran on."""

from shunter.workloads.formats import FORMATS
from shunter.workloads.reading import cluster_of, files_of, read_cluster, read_workload

__all__ = ["FORMATS", "cluster_of", "files_of", "read_cluster", "read_workload"]
