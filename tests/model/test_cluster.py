"""The cluster: numbers, presets and TOML files, good and bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.cluster import Cluster, Node, preset_names

GOOD = """\
name = "lab"

[[nodes]]
count = 2
cores = 16
memory_mb = 65536
partition = "cpu"

[[nodes]]
name = "gpu"
count = 2
cores = 32
memory_mb = 131072
gpus = 4
gpu_type = "A100"
partition = "gpu"

[[nodes]]
name = "login"
cores = 4
memory_mb = 8192
"""


def read(folder: Path, text: str) -> Cluster:
    path = folder / "lab.toml"
    path.write_text(text, encoding="utf-8")
    return Cluster.parse(str(path))


def test_every_key_of_a_file(tmp_path: Path) -> None:
    cluster = read(tmp_path, GOOD)
    assert cluster.name == "lab"
    assert cluster.nodes == (
        Node("node0", 16.0, 65536, partitions=("cpu",)),
        Node("node1", 16.0, 65536, partitions=("cpu",)),
        Node("gpu0", 32.0, 131072, 4, "A100", ("gpu",)),
        Node("gpu1", 32.0, 131072, 4, "A100", ("gpu",)),
        Node("login", 4.0, 8192),
    )
    assert cluster.partitions == ("cpu", "gpu")
    assert cluster.total_cores == 100
    assert cluster.total_memory_mb == 401408
    assert cluster.total_gpus == 8


def test_a_file_without_name_is_called_like_the_file_and_memory_may_be_untracked(tmp_path: Path) -> None:
    cluster = read(tmp_path, "[[nodes]]\ncores = 2\n[[nodes]]\ncores = 3\nmemory_mb = 5\n")
    assert cluster.name == "lab"
    assert [node.name for node in cluster.nodes] == ["node0", "node1"]
    assert cluster.total_memory_mb is None
    assert cluster.partitions == ()


def test_the_hash_is_that_of_the_nodes(tmp_path: Path) -> None:
    cluster = read(tmp_path, GOOD)
    assert read(tmp_path, GOOD.replace('"lab"', '"other"') + "# a comment\n").content_sha256 == cluster.content_sha256
    assert read(tmp_path, GOOD.replace("gpus = 4", "gpus = 5")).content_sha256 != cluster.content_sha256
    assert len(cluster.content_sha256) == 64


@pytest.mark.parametrize(("spec", "cores"), [("256", 256), ("1", 1), ("1e3", 1000), ("1000000000", 10**9)])
def test_a_number_is_one_pool(spec: str, cores: int) -> None:
    cluster = Cluster.parse(spec)
    assert cluster.nodes == (Node("pool", float(cores)),)
    assert cluster == Cluster.pool(cores)
    assert cluster.total_memory_mb is None


@pytest.mark.parametrize("spec", ["-5", "0", "1e99", "2.5", "nan", "inf", "-inf", "1000000001", "+0"])
def test_bad_numbers(spec: str) -> None:
    with pytest.raises(InputError, match="expected a whole number of cores from 1 to 1000000000") as caught:
        Cluster.parse(spec)
    assert f'cluster "{spec}"' in str(caught.value)


@pytest.mark.parametrize("cores", [0, -1, 10**10])
def test_bad_pools(cores: int) -> None:
    with pytest.raises(InputError, match="expected a whole number of cores"):
        Cluster.pool(cores)


PRESETS = {
    "lublin-256": (1, 256, None, 0),
    "sdsc-sp2": (128, 128, None, 0),
    "kth-sp2": (100, 100, None, 0),
    "hpc2n": (120, 240, None, 0),
    "theta": (4360, 4360, None, 0),
    "gpu-64": (8, 512, 8 * 524288, 64),
    "gavel-like": (27, 864, None, 108),
    "eda-hosts": (10, 232, 950272, 0),
    "sdsc-blue": (144, 1152, None, 0),
    "nasa-ipsc": (128, 128, None, 0),
    "llnl-thunder": (1002, 4008, None, 0),
    "cea-curie": (5544, 93_312, None, 0),
    "ricc": (1024, 8192, None, 0),
    "lcg": (1, 24_515, None, 0),
    "kth-sp2-timetable": (100, 100, None, 0),
    "philly": (552, 2490, None, 2490),
    "philly-rltune": (36, 192, None, 192),
    "helios-venus": (133, 133 * 48, None, 1064),
    "helios-earth": (143, 143 * 48, None, 1144),
    "helios-saturn": (262, 262 * 64, None, 2096),
    "helios-uranus": (264, 264 * 64, None, 2112),
    "helios-venus-2vc": (22, 22 * 48, None, 176),
    "alibaba-2017": (1300, 83_200, 130_000_000, 0),
    "alibaba-pai": (1897, 156_576, 970_981_376, 6742),
    "alibaba-openb": (1523, 125_514, 612_028_416, 6212),
}


@pytest.mark.parametrize("name", PRESETS)
def test_presets(name: str) -> None:
    cluster = Cluster.parse(name)
    sizes = (len(cluster.nodes), cluster.total_cores, cluster.total_memory_mb, cluster.total_gpus)
    assert sizes == PRESETS[name]
    assert cluster.name == name


def test_every_preset_is_listed_here() -> None:
    assert preset_names() == tuple(sorted(PRESETS))


def test_a_generated_cluster_is_read_elsewhere() -> None:
    with pytest.raises(InputError, match=r'cluster "generate:eda\?hosts=3" is to be generated; read it with shunter'):
        Cluster.parse("generate:eda?hosts=3")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hpc2m", "unknown cluster 'hpc2m'; did you mean 'hpc2n'?"),
        ("lublin256", "did you mean 'lublin-256'?"),
        ("abc", "the known ones are alibaba-2017, alibaba-openb"),
        ("", "the known ones are alibaba-2017, alibaba-openb"),
        ("5 nodes", "; or give a number of cores, or a TOML file"),
    ],
)
def test_unknown_words_get_a_suggestion(spec: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Cluster.parse(spec)
    assert message in str(caught.value)


@pytest.mark.every(6)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no nodes; describe them in [[nodes]] groups"),
        ("nodes = []\n", "no nodes; describe them"),
        ("nodes = 5\n", "no nodes; describe them"),
        ("[nodes]\ncores = 4\n", "no nodes; describe them"),
        ("name = 'x'\n[[nodes]\n", "is not TOML"),
        ("[[nodes]]\ncores = 4\ncores = 5\n", "is not TOML"),
        ("[[node]]\ncores = 4\n", "unknown key 'node'; did you mean 'nodes'?"),
        ("[[nodes]]\ncore = 4\n", "group 1: unknown key 'core'; did you mean 'cores'?"),
        ("[[nodes]]\ncores = 4\nflavour = 1\n", "unknown key 'flavour'; the known ones are count, cores"),
        ("[[nodes]]\ncount = 2\n", "group 1: cores is missing"),
        ("[[nodes]]\ncores = 0\n", "group 1: cores is 0; expected a whole number from 1 to"),
        ("[[nodes]]\ncores = -4\n", "cores is -4; expected a whole number"),
        ("[[nodes]]\ncores = 2.5\n", "cores is 2.5; expected a whole number"),
        ("[[nodes]]\ncores = nan\n", "cores is nan; expected a whole number"),
        ("[[nodes]]\ncores = true\n", "cores is True; expected a whole number"),
        ("[[nodes]]\ncores = '4'\n", "cores is '4'; expected a whole number"),
        ("[[nodes]]\ncores = 10000000000\n", "cores is 10000000000; expected a whole number"),
        ("[[nodes]]\ncores = 4\ncount = 0\n", "count is 0; expected a whole number from 1 to"),
        ("[[nodes]]\ncores = 4\ncount = 99999999\n", "count is 99999999; expected a whole number"),
        ("[[nodes]]\ncores = 4\ncount = 1000000\n[[nodes]]\ncores = 4\n", "group 2: more than 1000000 nodes"),
        ("[[nodes]]\ncores = 1000000\ncount = 2000\n", "2000000000 cores in all"),
        ("[[nodes]]\ncores = 4\nmemory_mb = 0\n", "memory_mb is 0; expected a whole number from 1"),
        ("[[nodes]]\ncores = 4\ngpus = -1\n", "gpus is -1; expected a whole number from 0"),
        ("[[nodes]]\ncores = 4\ngpu_type = 5\n", "gpu_type is 5; expected text"),
        ("[[nodes]]\ncores = 4\npartition = ''\n", "partition is ''; expected text"),
        ("name = 5\n[[nodes]]\ncores = 4\n", "name is 5; expected text"),
        ("[[nodes]]\ncores = 4\nname = 'a'\n[[nodes]]\ncores = 4\nname = 'a'\n", 'lab.toml: two nodes are called "a"'),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert "lab" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_toml_error_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lab\.toml: is not TOML \(.*line 3"):
        read(tmp_path, "name = 'x'\n\nnodes = = 5\n")


@pytest.mark.parametrize(
    ("name", "message"),
    [("absent.toml", "no such cluster file"), ("", "is a directory"), ("a\0.toml", "cannot be read")],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Cluster.parse(f"{tmp_path}/{name}")


def test_a_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as text"):
        Cluster.parse(str(path))
