"""Cluster files that are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.cluster import Cluster, Node, preset_names
from shunter.model.cluster_file import cluster_toml, write_cluster

NODES = (
    Node("cn-03", 64.0, 512_000, 4, "A100", ("gpu",)),
    Node('odd "name"\x7f', 8.0),
    Node("cn-01", 64.0, 512_000, 4, "A100", ("gpu",)),
    *(Node(f"n{number}", 16.0, 64_000) for number in range(30)),
    *(Node(f"cpu-{number:03}", 32.0, 64_000, 0, None, ("long",)) for number in range(7, 40)),
)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    cluster = Cluster.from_nodes(NODES, "my cluster")
    write_cluster(cluster, tmp_path / "c.toml", ["From a test."])
    again = Cluster.read(tmp_path / "c.toml")
    assert again.name == "my cluster"
    assert sorted(again.nodes, key=lambda node: node.name) == sorted(NODES, key=lambda node: node.name)
    # Like nodes stand together, in the order of the first of them.
    assert [node.name for node in again.nodes][:3] == ["cn-03", "cn-01", 'odd "name"\x7f']
    text = (tmp_path / "c.toml").read_text()
    assert text.startswith("# From a test.\n")
    assert 'name = "n"\ncount = 30\n' in text
    assert max(len(line) for line in text.splitlines()) <= 100


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_survives(tmp_path: Path, name: str) -> None:
    preset = Cluster.parse(name)
    path = tmp_path / "c.toml"
    path.write_text(cluster_toml(preset))
    again = Cluster.read(path)
    assert sorted(map(repr, again.nodes)) == sorted(map(repr, preset.nodes))


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ('names = ["a", "b"]\ncount = 3', "count is 3, but names has 2"),
        ('names = ["a", "a"]', 'two nodes are called "a"'),
        ('names = ["a"]\nname = "b"', "has both name and names"),
        ('names = "a"', "expected a list of names in quotes"),
        ("names = [1]", "expected a list of names in quotes"),
    ],
)
def test_wrong_names(tmp_path: Path, group: str, message: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(f"[[nodes]]\ncores = 4\n{group}\n")
    with pytest.raises(InputError, match=message):
        Cluster.read(path)
