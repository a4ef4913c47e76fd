"""Lists of machines that come with published logs: each is recognized, read, and held to what is known of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.cluster import Node
from shunter.model.log import Ledger
from shunter.workloads.machines import detect_machines, helios_gpus, philly_machines, read_machines
from shunter.workloads.text.repairs import UNREADABLE
from shunter.workloads.text.source import open_source
from tests.support import trace
from tests.workloads.formats.published_logs import write
from tests.workloads.machines.published_kinds import kinds_of, published_kinds

OPENB = """\
sn,cpu_milli,memory_mib,gpu,model
node-0,32000,262144,0,
node-1,96000,786432,8,G2
node-2,94000,524288,2,T4
node-3,64000,262144,1,P100
node-4,104000,32768,4,V100M16
"""
SPOT = """\
gpu_model,gpu_capacity_num,cpu_num,node_name
A10,1,128,17
H800,8,192,4
GPU-series-1,4,126,0
A100-SXM4-80GB,8,128,2
GPU-series-2,8,192,3
"""
PAI_HEADER = "machine,gpu_type,cap_cpu,cap_mem,cap_gpu\n"
PAI = """\
0a1b2c3d4e5f0a1b2c3d4e5f,CPU,96,512,0
1a1b2c3d4e5f0a1b2c3d4e5f,T4,96,512,2
2a1b2c3d4e5f0a1b2c3d4e5f,V100M32,96,384,8
3a1b2c3d4e5f0a1b2c3d4e5f,MISC,64,512,8
4a1b2c3d4e5f0a1b2c3d4e5f,P100,64,512,2
"""
EVENTS_2011 = """\
0,5,0,hash+a/=,0.5,0.2493
0,6,0,hash+a/=,0.5,0.749
0,7,0,hash+b/=,0.25,0.2498
0,10,0,hash+c/=,1,1
0,13,0,hash+a/=,0.5,0.03085
600000000,5,1,hash+a/=,0.5,0.2493
700000000,5,0,hash+a/=,0.5,0.2493
800000000,14,0,hash+a/=,0.5,0.2493
900000000,6,2,hash+a/=,0.25,0.2493
"""
EVENTS_2019 = """\
{"time":"0","machine_id":"5","type":"1","switch_id":"s=","capacity":{"cpus":0.5,"memory":0.2493},"platform_id":"p="}
{"time":"0","machine_id":"6","type":"1","switch_id":"s=","capacity":{"cpus":0.5,"memory":0.749},"platform_id":"p="}
{"time":"0","machine_id":"7","type":"1","capacity":{"cpus":0.25,"memory":0.2498},"platform_id":"p="}
{"time":"9","machine_id":"7","type":"2","switch_id":"s=","platform_id":"p="}
{"time":"0","machine_id":"10","type":"1","switch_id":"s=","capacity":{"cpus":1,"memory":1},"platform_id":"p="}
{"time":"0","machine_id":"13","type":"1","switch_id":"s=","capacity":{"cpus":0.5,"memory":0.03085},"platform_id":"p="}
{"time":"7","machine_id":"14","type":"1","switch_id":"s=","capacity":{"cpus":0.5,"memory":0.2493},"platform_id":"p="}
{"time":"8","machine_id":"6","type":"3","switch_id":"s=","capacity":{"cpus":0.25,"memory":0.2493},"platform_id":"p="}
"""
TABLE_2019 = """\
time,machine_id,type,switch_id,capacity,platform_id
0,5,1,s=,"{'cpus': 0.5, 'memory': 0.2493}",p=
0,6,1,s=,"{'cpus': 0.5, 'memory': 0.749}",p=
0,7,1,s=,"{'cpus': 0.25, 'memory': 0.2498}",p=
0,10,1,s=,"{'cpus': 1.0, 'memory': 1.0}",p=
0,13,1,s=,"{'cpus': 0.5, 'memory': 0.03085}",p=
9,5,2,s=,,p=
"""
NO_GPU = "no GPU: machine left out"
PHILLY = "machineId, number of GPUs, single GPU mem\nm0,2, 12GB\nm1,2, 12GB\nm7,8, 24GB\nm20,4,\nm21,1, 24GB\n"
REVISED = ",machineId,number of GPUs\n0,m0,8\n1,m1,4\n2,m2,0\n3,m3,2\n4,m4,3\n"
HELIOS_HEADER = "date,vcAAA,vcBBB,vcCCC,total\n"
HELIOS = (
    HELIOS_HEADER
    + "2020-04-01,8,0,8,16\n2020-04-02,16,12,0,28\n2020-04-03,8,8,12,28\n2020-04-04,24,0,0,24\n2020-04-05,0,0,0,0\n"
)
GOOGLE_NODES = (
    Node("5", 50.0, 24_930),
    Node("6", 50.0, 74_900),
    Node("7", 25.0, 24_980),
    Node("10", 100.0, 100_000),
    Node("13", 50.0, 3085),
)
PAI_NODES = (
    Node("0a1b2c3d4e5f0a1b2c3d4e5f", 96.0, 524_288),
    Node("1a1b2c3d4e5f0a1b2c3d4e5f", 96.0, 524_288, 2, "T4"),
    Node("2a1b2c3d4e5f0a1b2c3d4e5f", 96.0, 393_216, 8, "V100M32"),
    Node("3a1b2c3d4e5f0a1b2c3d4e5f", 64.0, 524_288, 8, "MISC"),
    Node("4a1b2c3d4e5f0a1b2c3d4e5f", 64.0, 524_288, 2, "P100"),
)
SHORT_LISTS = {
    "openb": (
        "openb-nodes",
        OPENB,
        (
            Node("node-0", 32.0, 262_144),
            Node("node-1", 96.0, 786_432, 8, "G2"),
            Node("node-2", 94.0, 524_288, 2, "T4"),
            Node("node-3", 64.0, 262_144, 1, "P100"),
            Node("node-4", 104.0, 32_768, 4, "V100M16"),
        ),
    ),
    "spot": (
        "spot-nodes",
        SPOT,
        (
            Node("17", 128.0, None, 1, "A10"),
            Node("4", 192.0, None, 8, "H800"),
            Node("0", 126.0, None, 4, "GPU-series-1"),
            Node("2", 128.0, None, 8, "A100-SXM4-80GB"),
            Node("3", 192.0, None, 8, "GPU-series-2"),
        ),
    ),
    "pai": ("pai-machines", PAI, PAI_NODES),
    "pai with a header": ("pai-machines", PAI_HEADER + PAI, PAI_NODES),
    "google 2011": ("google-machines", EVENTS_2011, GOOGLE_NODES),
    "google 2019 as JSON": ("google-machines", EVENTS_2019, GOOGLE_NODES),
    "google 2019 as CSV": ("google-machines", TABLE_2019, GOOGLE_NODES),
    "philly": (
        "philly-machines",
        PHILLY,
        (
            Node("m0", 2.0, None, 2, "12GB"),
            Node("m1", 2.0, None, 2, "12GB"),
            Node("m7", 8.0, None, 8, "24GB"),
            Node("m20", 4.0, None, 4, None),
            Node("m21", 1.0, None, 1, "24GB"),
        ),
    ),
    "helios": (
        "helios-gpus",
        HELIOS,
        (
            Node("vcAAA-0", 48.0, None, 8, None, ("vcAAA",)),
            Node("vcAAA-1", 48.0, None, 8, None, ("vcAAA",)),
            Node("vcBBB-0", 48.0, None, 8, None, ("vcBBB",)),
            Node("vcBBB-1", 48.0, None, 4, None, ("vcBBB",)),
        ),
    ),
}
"""What each list is called, its text, and its nodes."""

PUBLISHED = {
    "openb": ("alibaba_openb_v2023/openb_node_list_all_node.csv.gz", 1523, 6212, 125_514),
    "pai": ("alibaba_gpu_v2020/pai_machine_spec.csv.gz", 1897, 6742, None),
    "spot": ("alibaba_spot_v2026/node_info_df.csv.gz", 4278, 10_412, None),
    "google-2011": ("google_2011/machine_events-part-00000-of-00001.csv.gz", 12_477, 0, 660_300),
    "philly": ("philly/cluster_machine_list", 552, 2490, None),
    "philly-revised": ("philly/revised_machine_list.csv", 539, 3205, None),
    "helios-earth": ("helios/earth_cluster_gpu_number.csv", 154, 1232, None),
}
"""Where each list is, and the nodes, GPUs and, where they are stated, cores that others count on it.

Earth had 1,144 GPUs on most days, and on some 88 more.
"""


def counts(ledger: Ledger) -> dict[str, int]:
    return {entry.rule: entry.count for entry in ledger.entries}


@pytest.mark.parametrize("which", SHORT_LISTS)
def test_a_short_list(tmp_path: Path, which: str) -> None:
    name, text, nodes = SHORT_LISTS[which]
    path = write(tmp_path, text)
    assert detect_machines(open_source(path)) == name
    cluster, ledger = read_machines([path], strict=True)
    assert cluster.nodes == nodes
    assert not ledger


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_kinds_add_up_to_what_is_stated(name: str) -> None:
    _, nodes, gpus, cores = PUBLISHED[name]
    kinds = published_kinds(name)
    assert (kinds.total(), sum(kind[2] * count for kind, count in kinds.items())) == (nodes, gpus)
    if cores is not None:
        assert sum(kind[0] * count for kind, count in kinds.items()) == pytest.approx(cores, rel=1e-4)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_list(name: str) -> None:
    cluster, ledger = read_machines([trace(PUBLISHED[name][0])], strict=True)
    assert counts(ledger) == ({NO_GPU: 13} if name == "philly-revised" else {})
    assert kinds_of(cluster.nodes) == published_kinds(name)
    assert len(cluster.partitions) == (19 if name == "helios-earth" else 0)


def test_a_machine_without_gpus_is_left_out_of_the_revised_list(tmp_path: Path) -> None:
    cluster, ledger = read_machines([write(tmp_path, REVISED)], strict=True)
    assert cluster.nodes == tuple(
        Node(f"m{name}", float(gpus), None, gpus) for name, gpus in ((0, 8), (1, 4), (3, 2), (4, 3))
    )
    (entry,) = ledger.entries
    assert (entry.rule, entry.count, entry.example) == (NO_GPU, 1, "line 4: machine m2")


@pytest.mark.parametrize(
    ("text", "row"),
    [
        *(
            (PHILLY, row)
            for row in ("m8,many, 12GB", "m8,-1, 12GB", "m8,2.5, 12GB", "m8,, 12GB", "m8,1025, ", ",2, 12GB")
        ),
        *(
            (HELIOS, f"2020-04-06,{row}")
            for row in ("many,0,0,9", "-8,64,0,9", "1.5,8,64,9", ",64,0,9", "1000001,0,0,9", "800,9")
        ),
    ],
)
def test_a_line_that_tells_nothing_is_skipped(tmp_path: Path, text: str, row: str) -> None:
    without, _ = read_machines([write(tmp_path, text)])
    path = write(tmp_path, f"{text}{row}\n")
    cluster, ledger = read_machines([path])
    assert (cluster.nodes, counts(ledger)) == (without.nodes, {UNREADABLE: 1})
    with pytest.raises(InputError, match=r"log\.txt:7: "):
        read_machines([path], strict=True)


def test_two_machines_with_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='two nodes are called "m1"'):
        read_machines([write(tmp_path, f"{PHILLY}m1,2, 12GB\n")])


def test_a_list_without_gpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tells of no machine that could run a job"):
        read_machines([write(tmp_path, f"{HELIOS_HEADER}2020-04-05,0,0,0,0\n")])


def test_a_machine_without_a_capacity_is_skipped(tmp_path: Path) -> None:
    path = write(tmp_path, f"{EVENTS_2011}0,99,0,hash+a/=,,\n")
    cluster, ledger = read_machines([path])
    assert cluster.nodes == GOOGLE_NODES
    assert [(entry.rule, entry.count) for entry in ledger.entries] == [("no cores: machine skipped", 1)]
    with pytest.raises(InputError, match=r"log\.txt:10: cores empty \(no cores: machine skipped\)"):
        read_machines([path], strict=True)


def test_events_without_a_beginning_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "600000000,5,0,hash+a/=,0.5,0.2493\n")
    with pytest.raises(InputError, match=r"log\.txt: no machine with a capacity comes at time 0; give the log's first"):
        read_machines([path])


@pytest.mark.parametrize(
    "text",
    [
        *("machineId,number of GPUs\n", "m0,2,12GB\n", "{", "vc,node num\na,3\n"),
        *(HELIOS_HEADER, "date,total\nx,3\n", "time,active,total\n2020-04-01,3,4\n", f"{HELIOS_HEADER}today,1,2,3,6\n"),
    ],
)
def test_what_is_no_list(tmp_path: Path, text: str) -> None:
    source = open_source(write(tmp_path, text))
    assert not philly_machines.recognizes(source)
    assert not helios_gpus.recognizes(source)
