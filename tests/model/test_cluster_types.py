"""Types of GPUs in cluster files: speeds, racks, switches, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.errors import InputError
from shunter.model.cluster import Cluster, Node
from shunter.model.cluster_file import cluster_from_toml, cluster_toml

V100 = '[[nodes]]\nname = "v"\ncount = 2\ncores = 8\ngpus = 4\ngpu_type = "V100"\n'
A100 = '[[nodes]]\nname = "a"\ncores = 8\ngpus = 8\ngpu_type = "A100"\nrack = "r1"\nswitch = "s1"\n'
ODD = '[[nodes]]\nname = "o"\ncores = 8\ngpus = 8\ngpu_type = "Z100"\n'


def read(text: str) -> Cluster:
    return cluster_from_toml(text, "lab.toml", "lab")


def test_without_the_new_keys_nodes_have_speed_1_and_what_the_catalog_tells() -> None:
    cluster = read(V100 + A100 + ODD)
    assert [node.speed for node in cluster.nodes] == [1.0] * 4
    assert [node.tflops for node in cluster.nodes] == [125.0, 125.0, 312.0, None]
    assert cluster.gpu_types == ("V100", "A100", "Z100")
    assert cluster.mix is False
    assert (cluster.nodes[0].rack, cluster.nodes[2].rack, cluster.nodes[2].switch) == (None, "r1", "s1")
    assert Node("x", 1.0, gpu_type="a100").tflops == 312.0


def test_speeds_against_a_reference() -> None:
    text = f'mix = true\nreference_gpu = "v100"\n{V100}{A100}{ODD}[gpu_types.Z100]\nspeed = 3\n'
    cluster = read(text)
    assert [node.speed for node in cluster.nodes] == [1.0, 1.0, 312 / 125, 3.0]
    assert cluster.mix is True


def test_a_table_of_a_type_comes_before_the_catalog() -> None:
    cluster = read(
        f'reference_gpu = "Base"\n{V100}{A100}[gpu_types.Base]\ntflops = 10\n[gpu_types.V100]\ntflops = 20\n'
    )
    assert [(node.speed, node.tflops) for node in cluster.nodes] == [(2.0, 20.0), (2.0, 20.0), (31.2, 312.0)]
    slower = read(f"{V100}{A100}[gpu_types.A100]\nspeed = 0.5\n")
    assert [(node.speed, node.tflops) for node in slower.nodes] == [(1.0, 125.0), (1.0, 125.0), (0.5, 312.0)]


WRONG = {
    f'reference_gpu = "Z100"\n{V100}': 'lab.toml: reference_gpu is "Z100", whose speed is not known; name a type such',
    f'reference_gpu = "V100"\n{ODD}': 'gpu_type "Z100" has no known speed against reference_gpu "V100"; give it speed',
    f"reference_gpu = 5\n{V100}": "reference_gpu is 5; expected text",
    f'mix = "yes"\n{V100}': "mix is 'yes'; expected true or false",
    f"mixed = true\n{V100}": "unknown key 'mixed'; did you mean 'mix'?",
    f"{V100}rak = 'r1'\n": "group 1: unknown key 'rak'; did you mean 'rack'?",
    f"{V100}rack = 3\n": "group 1: rack is 3; expected text",
    f"{V100}switch = ''\n": "group 1: switch is ''; expected text",
    f"{V100}[gpu_types.V100]\nspeed = 0\n": "[gpu_types.V100]: speed is 0; expected a number from 0.001 to 1000",
    f"{V100}[gpu_types.V100]\nspeed = 1001\n": "speed is 1001; expected a number from 0.001 to 1000",
    f"{V100}[gpu_types.V100]\nspeed = nan\n": "speed is nan; expected",
    f"{V100}[gpu_types.V100]\nspeed = true\n": "speed is True; expected",
    f"{V100}[gpu_types.V100]\ntflops = -1\n": "tflops is -1; expected a number from 0.001 to",
    f"{V100}[gpu_types.V100]\nspead = 1\n": "[gpu_types.V100]: unknown key 'spead'; did you mean 'speed'?",
    f"{V100}[gpu_types.v100]\nspeed = 2\n": "[gpu_types.v100]: no node has this gpu_type; the nodes have V100",
    f"{V100}[gpu_types.other]\nspeed = 2\n": "no node has this gpu_type; the nodes have V100",
    "[[nodes]]\ncores = 1\n[gpu_types.V100]\nspeed = 2\n": "no node has this gpu_type; give a group gpu_type",
    f"{V100}[gpu_types]\nV100 = 3\n": "gpu_types is not a table of types; write [gpu_types.NAME]",
    f'reference_gpu = "V100"\n{V100}{ODD}[gpu_types.Z100]\ntflops = 1e6\n': '"Z100" would have speed 8000 against',
    "".join(f'[[nodes]]\ncores = 1\ngpu_type = "t{n}"\n' for n in range(63)): "63 types of GPUs; expected at most 62",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: WRONG[text][:40])
def test_mistakes(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value).startswith("lab.toml: ")
    assert WRONG[text] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cluster_made_in_python_is_checked_too() -> None:
    with pytest.raises(InputError, match=r"x: node n has speed 0; expected 0\.001 to 1000"):
        Cluster.from_nodes((Node("n", 1.0, speed=0.0),), "x")
    assert len(Cluster.from_nodes(tuple(Node(f"n{n}", 1.0, gpu_type=f"t{n}") for n in range(62)), "x").gpu_types) == 62


def test_the_hash_tells_only_what_is_new() -> None:
    plain = read(V100 + ODD)
    # The hash of these nodes before there were speeds, racks and switches.
    assert plain.content_sha256 == "e667951efdaadeaaa68c5305899beee440b542e2d7a10f6a0162f48f85966270"
    assert read(f"mix = false\n{V100}{ODD}[gpu_types.V100]\nspeed = 1\n").content_sha256 == plain.content_sha256
    others = [
        read(f"mix = true\n{V100}{ODD}"),
        read(f"{V100}{ODD}[gpu_types.V100]\nspeed = 2\n"),
        read(f"{V100}{ODD}[gpu_types.V100]\ntflops = 2\n"),
        read(f"{V100}{ODD}rack = 'a'\n"),
        read(f"{V100}{ODD}switch = 'a'\n"),
    ]
    assert len({plain.content_sha256, *(other.content_sha256 for other in others)}) == 6


TYPES = {"V100": (1.0, None), "A100": (2.5, None), 'odd "name"': (0.3, 7.25), "Z100": (1.0, None)}
NODES = st.builds(
    lambda gpu_type, rack, switch, gpus: (gpu_type, rack, switch, gpus),
    st.sampled_from([None, *TYPES]),
    st.sampled_from([None, "r1", "r2"]),
    st.sampled_from([None, "s1"]),
    st.integers(0, 8),
)


@given(drawn=st.lists(NODES, min_size=1, max_size=12), mix=st.booleans())
def test_what_is_written_is_read_again(drawn: list[tuple[str | None, str | None, str | None, int]], mix: bool) -> None:
    nodes = tuple(
        Node(f"n{n}", 4.0, None, gpus, kind, (), *TYPES.get(kind or "", (1.0, None)), rack=rack, switch=switch)
        for n, (kind, rack, switch, gpus) in enumerate(drawn)
    )
    cluster = Cluster.from_nodes(nodes, "lab", mix)
    assert read(cluster_toml(cluster, in_order=True)) == cluster
    together = read(cluster_toml(cluster))
    assert together.mix == mix
    assert sorted(together.nodes, key=lambda node: node.name) == sorted(nodes, key=lambda node: node.name)


@pytest.mark.parametrize("gpu_type", [None, "V100"])
def test_a_file_has_one_speed_a_type(gpu_type: str | None) -> None:
    nodes = (Node("a", 1.0, gpus=1, gpu_type=gpu_type), Node("b", 1.0, gpus=1, gpu_type=gpu_type, speed=2.0))
    with pytest.raises(InputError, match="x: node b has speed 2, but a file gives one speed to all nodes"):
        cluster_toml(Cluster.from_nodes(nodes, "x"))


def test_a_file_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "mixed.toml"
    path.write_text(f'reference_gpu = "A100"\n{V100}{A100}')
    assert [node.speed for node in Cluster.parse(str(path)).nodes] == [125 / 312, 125 / 312, 1.0]


def test_types_that_differ_by_case_alone_are_one_mistake(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(
        '[[nodes]]\ncores = 1\ngpus = 1\ngpu_type = "a100"\n[[nodes]]\ncores = 1\ngpus = 1\ngpu_type = "A100"\n'
    )
    with pytest.raises(InputError, match='gpu_type "A100" and "a100" differ by case alone; write both alike'):
        Cluster.read(path)


def test_the_reference_is_found_whatever_its_case(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(
        'reference_gpu = "v100"\n[[nodes]]\ncores = 1\ngpus = 1\ngpu_type = "V100"\n[gpu_types.V100]\ntflops = 250\n'
    )
    assert Cluster.read(path).nodes[0].speed == 1.0
