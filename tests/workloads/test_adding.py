"""A format, a generator and a list of machines are each one module and one line in a table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shunter.model.cluster import Node
from shunter.workloads import FORMATS, formats, generators, machines, read_cluster, read_workload
from shunter.workloads.generators import GENERATORS
from shunter.workloads.machines import MACHINES, read_machines

FORMAT = '''
"""Lines such as ``arrived 5 ran 60``."""

import polars as pl

from shunter.workloads.text.log import read_jobs


def recognizes(source):
    return source.head_lines[0].startswith("arrived ")


def read(sources, reading):
    return read_jobs(sources, reading, read_file)


def read_file(source, repairs):
    for block in source.blocks():
        lines = [line.split() for line in block.text.decode().splitlines()]
        numbers = range(block.first_line, block.first_line + len(lines))
        rows = [(float(line[1]), float(line[3]), 1) for line in lines]
        jobs = pl.DataFrame(rows, schema=["submit_s", "run_s", "tasks"], orient="row")
        yield jobs.with_columns(repairs.places(source, numbers))
'''
GENERATOR = '''
"""Jobs that come one a minute."""

from dataclasses import dataclass

import polars as pl

from shunter.checks import declared
from shunter.workloads.generators.parameters import Generator, PoolParameters


@dataclass(frozen=True)
class Parameters(PoolParameters):
    run_s: float = declared(30.0, "How long each runs.", low=1.0, high=1e6)


def draw_jobs(parameters):
    return pl.DataFrame({"submit_s": [60.0 * number for number in range(parameters.jobs)]}).with_columns(
        run_s=pl.lit(parameters.run_s)
    )


GENERATOR = Generator(Parameters, draw_jobs)
'''
LIST = '''
"""Lines such as ``machine a has 8``."""

from shunter.model.cluster import Node


def recognizes(source):
    return source.head_lines[0].startswith("machine ")


def read(sources, repairs):
    return [Node(line.split()[1], float(line.split()[3])) for source in sources for line in source.head_lines]
'''


@pytest.fixture(autouse=True)
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a folder count as part of each package, as if its files lay there."""
    files = ((formats, "my_log", FORMAT), (generators, "my_jobs", GENERATOR), (machines, "my_list", LIST))
    for package, name, text in files:
        folder = tmp_path / package.__name__
        folder.mkdir()
        (folder / f"{name}.py").write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        monkeypatch.delitem(sys.modules, f"{package.__name__}.{name}", raising=False)


def test_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "my-log", "a log of mine")
    log = tmp_path / "log.txt"
    log.write_text("arrived 0 ran 60\narrived 5 ran 0\narrived 9 ran 30\n")
    workload = read_workload(log)
    assert workload.format == "my-log"
    assert workload.jobs.select("submit_s", "run_s").rows() == [(0, 60), (9, 30)]
    assert [(entry.rule, entry.example) for entry in workload.ledger.entries] == [
        ("run time 0 s: job dropped", "line 2: run_s 0")
    ]


def test_a_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GENERATORS, "my-jobs", "jobs of mine")
    workload = read_workload("generate:my-jobs?jobs=3&run_s=7&cores=4")
    assert workload.jobs.select("submit_s", "run_s").rows() == [(0, 7), (60, 7), (120, 7)]
    assert read_cluster(str(workload.cluster_spec)).total_cores == 4


def test_a_list_of_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MACHINES, "my-list", "machines of mine")
    path = tmp_path / "machines.txt"
    path.write_text("machine a has 8\nmachine b has 16\n")
    cluster, _ = read_machines([path])
    assert cluster.nodes == (Node("a", 8.0), Node("b", 16.0))
