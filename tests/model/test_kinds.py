"""Tables of speeds by kind, type and number of GPUs: which row is a job's, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shunter.errors import InputError
from shunter.model.cluster import ANY_GPU_TYPE, NO_SUCH_GPU_TYPE, Cluster
from shunter.model.cluster_file import cluster_toml
from shunter.model.fitting import can_ever_fit, explain_rejection
from shunter.model.kinds import NO_KIND
from shunter.model.schedule import RejectReason
from shunter.model.workload import Workload
from shunter.workloads.generators.kinds import KINDS

NODES = """
[[nodes]]
name = "v"
count = 2
cores = 8
gpus = 4
gpu_type = "V100"

[[nodes]]
name = "k"
cores = 8
gpus = 8
gpu_type = "K80"
"""
TABLE = """# measured in May
kind,gpus,speed_V100,speed_k80,speed_A100,note
bert,1,1.0,0.25,4,small
bert,4,1.0,0.2,4,
resnet,2,1.5,0,3,needs memory
"""


def lab(folder: Path, table: str = TABLE, head: str = 'speeds = "speeds.csv"') -> Cluster:
    (folder / "speeds.csv").write_text(table)
    (folder / "lab.toml").write_text(head + NODES)
    return Cluster.read(folder / "lab.toml")


def jobs(*rows: tuple[str | None, int, float], gpu_type: str | None = None) -> pl.DataFrame:
    kinds, tasks, gpus = zip(*rows, strict=True)
    table = {"submit_s": [0.0] * len(rows), "run_s": [1.0] * len(rows), "tasks": tasks, "gpus_per_task": gpus}
    frame = pl.DataFrame(table | {"kind": pl.Series(kinds, dtype=pl.String)})
    return Workload.from_frame(frame.with_columns(gpu_type=pl.lit(gpu_type, pl.String)), name="jobs").jobs


def test_a_job_has_the_last_row_with_no_more_gpus_than_itself(tmp_path: Path) -> None:
    cluster = lab(tmp_path)
    assert cluster.kinds is not None
    assert [(row.kind, row.gpus, row.micro) for row in cluster.kinds.rows] == [
        ("bert", 1, (1_000_000, 250_000)),
        ("bert", 4, (1_000_000, 200_000)),
        ("resnet", 2, (1_500_000, 0)),
    ]
    asked = jobs(("bert", 1, 0.5), ("bert", 3, 1), ("bert", 2, 2), ("bert", 64, 1), ("resnet", 1, 1), ("bert", 1, 0))
    assert cluster.kind_rows(asked).tolist() == [0, 0, 1, 1, 2, NO_KIND]
    assert cluster.kind_rows(jobs((None, 1, 1))).tolist() == [NO_KIND]
    assert cluster.kind_rows(asked.drop("kind")).tolist() == [NO_KIND] * 6


def test_a_kind_that_is_not_named_has_the_row_for_all_others(tmp_path: Path) -> None:
    cluster = lab(tmp_path, TABLE + "*,1,1,1,1,\n")
    assert cluster.kind_rows(jobs(("gan", 1, 1), (None, 1, 1), ("bert", 1, 1))).tolist() == [0, 0, 1]


def test_what_stands_in_for_a_kind_is_counted(tmp_path: Path) -> None:
    asked = jobs(("gan", 1, 1), (None, 1, 1), ("bert", 1, 1), (None, 1, 0), ("gan", 1, 0))
    others, nodes = lab(tmp_path, TABLE + "*,1,1,1,1,\n").kinds, lab(tmp_path).kinds
    assert others is not None
    assert nodes is not None
    counted = {rule: touched.sum() for rule, touched in others.stand_ins(asked).items()}
    unknown = 'a kind without a row of speeds: the row "*" stands in'
    assert counted == {'no kind: the row "*" stands in': 1, unknown: 1}
    assert nodes.stand_ins(asked.drop("kind"))["no kind: the speed of its nodes stands in"].sum() == 3


def test_a_kind_runs_only_where_it_has_a_speed(tmp_path: Path) -> None:
    cluster = lab(tmp_path)
    asked = jobs(("bert", 1, 1), ("resnet", 2, 1), ("resnet", 16, 1), (None, 8, 1))
    assert cluster.gpu_type_masks(asked).tolist() == [ANY_GPU_TYPE, 0b01, 0b01, ANY_GPU_TYPE]
    assert can_ever_fit(asked, cluster).tolist() == [True, True, False, True]
    nowhere = jobs(("resnet", 1, 1), gpu_type="K80")
    assert cluster.gpu_type_masks(nowhere).tolist() == [NO_SUCH_GPU_TYPE]
    told = explain_rejection(nowhere.row(0, named=True), RejectReason.NO_SUCH_GPU_TYPE, cluster)
    assert told.text == f'job 1 is of kind "resnet"; by {tmp_path / "speeds.csv"} it does not run on K80'
    too_large = explain_rejection(asked.row(2, named=True), RejectReason.GPUS, cluster)
    assert "of type V100, the cluster has 8 GPUs on 2 nodes" in too_large.text


def test_throughputs_are_divided_by_that_of_the_reference(tmp_path: Path) -> None:
    table = "kind,speed_K80,speed_V100\nbert,15,60\nresnet,0,300\n"
    cluster = lab(tmp_path, table, 'speeds = "speeds.csv"\nreference_gpu = "v100"')
    assert cluster.kinds is not None
    assert cluster.kinds.micro.tolist() == [[1_000_000, 250_000], [1_000_000, 0]]


def test_a_file_that_is_written_reads_as_the_same_cluster(tmp_path: Path) -> None:
    cluster = lab(tmp_path)
    again = tmp_path / "again.toml"
    again.write_text(cluster_toml(cluster))
    assert "[[speeds]]" in again.read_text()
    assert Cluster.read(again).content_sha256 == cluster.content_sha256
    assert Cluster.read(again).content_sha256 != lab(tmp_path, TABLE.replace("0.25", "0.26")).content_sha256


WRONG_TABLES = {
    TABLE.replace("bert,1,1.0", "bert,1,-1"): "speeds.csv:3: speed_V100 is '-1'; expected a speed above 0, or 0 where",
    TABLE.replace("bert,1,1.0", "bert,1,nan"): "speeds.csv:3: speed_V100 is 'nan'; expected a speed above 0",
    TABLE.replace("bert,1,1.0", "bert,1,"): "speeds.csv:3: speed_V100 is ''; expected a speed above 0",
    TABLE.replace("bert,1,1.0", "bert,1,fast"): "speeds.csv:3: speed_V100 is 'fast'; expected",
    TABLE.replace(
        "bert,1,1.0", "bert,1,2000"
    ): "speeds.csv:3: speed_V100 comes to a speed of 2000; expected 0, or 0.001",
    TABLE.replace("resnet,2,1.5,0,3", "resnet,2,0,0,0"): 'speeds.csv:5: kind "resnet" runs on no type, for all its',
    TABLE.replace("bert,4", "bert,1"): 'speeds.csv:4: kind "bert" with 1 GPUs has a row already',
    TABLE.replace("bert,4", "bert,0"): "speeds.csv:4: gpus is 0; expected a whole number from 1",
    TABLE.replace("bert,4", "bert,4.5"): "speeds.csv:4: gpus is '4.5'; expected a whole number",
    TABLE.replace("bert,4", ",4"): "speeds.csv:4: kind is ''; expected the name of a kind",
    TABLE.replace("resnet,2,1.5,0,3,needs memory", "resnet,2,1.5"): "speeds.csv:5: has 3 cells, and the header 6",
    TABLE.replace("kind,", "model,"): "speeds.csv:2: column kind is missing",
    TABLE.replace("speed_V100", "speed_V10"): "column speed_V100 is missing, but nodes have GPUs of this type; did you",
    TABLE.split("bert")[0]: "speeds.csv: the table of speeds has no row",
}


@pytest.mark.parametrize("table", WRONG_TABLES, ids=lambda table: WRONG_TABLES[table][:40])
def test_mistakes_in_a_table_are_told_with_its_line(table: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        lab(tmp_path, table)
    assert WRONG_TABLES[table] in str(caught.value)
    assert "\n" not in str(caught.value)


WRONG_HEADS = {
    'speeds = "nowhere.csv"': "nowhere.csv: no such table of speeds",
    "speeds = 3": "speeds is '3'; expected the name of a CSV file, or [[speeds]] rows",
    'reference_gpu = "K80"\nspeeds = "speeds.csv"': "speeds.csv:5: speed_K80 is 0, and reference_gpu is K80; give",
    'speeds = "speeds.csv"\n[[nodes]]\ncores = 1\ngpus = 1\nname = "x"': "node x has no gpu_type, of which",
}


@pytest.mark.parametrize("head", WRONG_HEADS, ids=lambda head: WRONG_HEADS[head][:40])
def test_mistakes_in_a_file_that_names_a_table(head: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        lab(tmp_path, TABLE, head)
    assert WRONG_HEADS[head] in str(caught.value)


def test_rows_in_the_cluster_file_have_no_other_keys(tmp_path: Path) -> None:
    row = '\n[[speeds]]\nkind = "bert"\nspeed_V100 = 1\nspeed_K80 = 0.5\n'
    (tmp_path / "lab.toml").write_text(NODES + row)
    assert Cluster.read(tmp_path / "lab.toml").kinds is not None
    (tmp_path / "lab.toml").write_text(NODES + row + "gpu = 4\n")
    with pytest.raises(InputError, match=r"row 1: unknown key 'gpu'; did you mean 'gpus'\?"):
        Cluster.read(tmp_path / "lab.toml")


def test_a_kind_that_the_table_lacks_is_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        lab(tmp_path).kind_rows(jobs(("bert", 1, 1), ("bret", 1, 1)))
    assert str(caught.value) == (
        f'{tmp_path / "speeds.csv"}: has no kind "bret", of which job 2 is; did you mean "bert"? Add its row, or one '
        'with the kind "*" for all others'
    )


@pytest.mark.parametrize("name", KINDS)
def test_the_preset_of_a_set_of_kinds_has_all_of_them(name: str) -> None:
    kinds = Cluster.parse(name).kinds
    assert kinds is not None
    assert set(kinds.kinds) == set(KINDS[name])
    assert np.isclose(sum(KINDS[name].values()), 1)
