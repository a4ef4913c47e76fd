"""A small GPU cluster of two types, and a log for it, as a user would write them."""

from __future__ import annotations

from pathlib import Path

CLUSTER = """name = "two types"

[gpu_types.FAST]
speed = 2.0

[gpu_types.SLOW]
speed = 0.5

[[nodes]]
names = ["f0", "f1"]
cores = 8
gpus = 2
gpu_type = "FAST"
partition = "big"
rack = "r1"
switch = "w1"

[[nodes]]
names = ["s0", "s1"]
cores = 8
gpus = 4
gpu_type = "SLOW"
partition = "small"
rack = "r2"
switch = "w2"
"""
HEADER = "job_id,submit_s,run_s,requested_s,tasks,cores_per_task,gpus_per_task,gpu_type,partition,user\n"
JOBS = """1,0,100,200,2,1,1,FAST,,ada
2,0,100,200,1,1,1,SLOW,,ada
3,10,60,60,4,1,1,fast,,ben
4,20,50,50,1,1,0,,,ben
5,30,10,20,1,1,0.5,SLOW|FAST,,ada
"""


class Site:
    """A folder with a cluster, a log, and what else a command reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cluster = self.write("cluster.toml", CLUSTER)
        self.log = self.jobs(JOBS)

    def write(self, name: str, text: str) -> Path:
        """Writes a file."""
        path = self.folder / name
        path.write_text(text)
        return path

    def jobs(self, rows: str) -> Path:
        """Writes another log."""
        return self.write("jobs.csv", HEADER + rows)

    def failures(self, *rows: str) -> Path:
        """Writes a failures file."""
        return self.write("failures.csv", "\n".join(["time_s,node,event", *rows]) + "\n")

    @property
    def inputs(self) -> tuple[object, ...]:
        """The options that every verb has."""
        return "--workload", self.log, "--cluster", self.cluster
