"""Slowdowns of spread gangs in cluster files, and how long jobs wait for close nodes; and mistakes in both."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.cluster import Cluster
from shunter.model.cluster_file import cluster_toml
from shunter.model.locality import NO_SLOWDOWN, locality_terms
from shunter.model.settings import Settings

NODES = '[[nodes]]\ncores = 8\ngpus = 4\ngpu_type = "V100"\n[[nodes]]\ncores = 8\ngpus = 4\ngpu_type = "K80"\n'
ROW = '[[speeds]]\nkind = "bert"\nspeed_V100 = 1\nspeed_K80 = 0.5\n'


def read(folder: Path, text: str) -> Cluster:
    (folder / "lab.toml").write_text(text)
    return Cluster.read(folder / "lab.toml")


def test_levels_that_are_left_out_are_as_the_one_before(tmp_path: Path) -> None:
    assert read(tmp_path, NODES).slowdown == NO_SLOWDOWN
    assert read(tmp_path, f"{NODES}[locality]\nnodes = 1.2\n").slowdown == (1_200_000, 1_200_000, 1_200_000)
    assert read(tmp_path, f"{NODES}[locality]\nswitches = 1.5\nracks = 2\n").slowdown == (
        1_000_000,
        1_500_000,
        2_000_000,
    )


def test_a_kind_has_slowdowns_of_its_own(tmp_path: Path) -> None:
    kinds = read(tmp_path, f"{NODES}{ROW}slowdown_nodes = 3\nslowdown_racks_k80 = 4\n[locality]\nnodes = 1.2\n").kinds
    assert kinds is not None
    assert kinds.rows[0].slowdown_micro == ((3_000_000, 3_000_000, 3_000_000), (3_000_000, 3_000_000, 4_000_000))
    usual = read(tmp_path, f"{NODES}{ROW}slowdown_nodes_K80 = 0.9\n[locality]\nnodes = 1.2\n").kinds
    assert usual is not None
    assert usual.rows[0].slowdown_micro == ((1_200_000, 1_200_000, 1_200_000), (900_000, 900_000, 900_000))


def test_an_empty_cell_of_a_table_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "speeds.csv").write_text("kind,speed_V100,speed_K80,slowdown_nodes\na,1,1,\nb,1,1,2\n")
    kinds = read(tmp_path, f'speeds = "speeds.csv"\n{NODES}').kinds
    assert kinds is not None
    assert [row.slowdown_micro[0][0] for row in kinds.rows] == [1_000_000, 2_000_000]


def test_a_file_that_is_written_reads_as_the_same_cluster(tmp_path: Path) -> None:
    cluster = read(tmp_path, f"{NODES}{ROW}slowdown_nodes_K80 = 0.9\n[locality]\nnodes = 1.2\nracks = 3\n")
    again = read(tmp_path, cluster_toml(cluster))
    assert (again.kinds is not None and again.kinds.rows) == (cluster.kinds is not None and cluster.kinds.rows)
    assert again.content_sha256 == cluster.content_sha256
    assert read(tmp_path, NODES + ROW).content_sha256 != cluster.content_sha256


WRONG = {
    "[locality]\nnodes = 0\n": "[locality]: nodes is 0; expected how many times longer a job takes, 0.01 to 1000",
    "[locality]\nnodes = nan\n": "[locality]: nodes is nan; expected how many times longer",
    "[locality]\nnodes = '2'\nracks = true\n": "[locality]: racks is True; expected how many times longer",
    "[locality]\nnode = 2\n": "[locality]: unknown key 'node'; did you mean 'nodes'?",
    f"{ROW}slowdown_nodes = -1\n": "[[speeds]] row 1: slowdown_nodes is -1; expected how many times longer",
    f"{ROW}slowdown_node = 1\n": "[[speeds]] row 1: unknown key 'slowdown_node'; did you mean 'slowdown",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: WRONG[text][:40])
def test_mistakes_are_told_with_their_place(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, NODES + text)
    assert WRONG[text] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_locality_that_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lab\.toml: locality is 1\.2; write a table \[locality\]"):
        read(tmp_path, f"locality = 1.2\n{NODES}")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("never", (0, 0)),
        ("always", (-1, -1)),
        ("10m", (600_000, -1)),
        ("90", (90_000, -1)),
        ("0", (0, -1)),
        ("10%", (-1, 100_000)),
        ("0%", (-1, 0)),
        ("12.5%", (-1, 125_000)),
    ],
)
def test_how_long_a_job_waits(text: str, terms: tuple[int, int]) -> None:
    assert locality_terms(text) == terms
    assert Settings(wait_for_locality=text).checked().wait_for_locality == text


@pytest.mark.parametrize("text", ["sometimes", "10 %%", "-1%", "nan%", "%", "-5m", "1e20", "200000%"])
def test_what_is_neither_a_time_nor_a_loss_is_refused(text: str) -> None:
    with pytest.raises(
        InputError, match=r"--wait-for-locality \(wait_for_locality\) is .*; expected never, always, a time"
    ):
        Settings(wait_for_locality=text).checked()
