"""Google: machine_events of 2011 and 2019."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.cluster import Node
from shunter.workloads.machines import detect_machines, read_machines
from shunter.workloads.text.source import open_source
from tests.support import trace
from tests.workloads.published_logs import write

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
EXPECTED = (
    Node("5", 50.0, 24_930),
    Node("6", 50.0, 74_900),
    Node("7", 25.0, 24_980),
    Node("10", 100.0, 100_000),
    Node("13", 50.0, 3085),
)


@pytest.mark.parametrize("text", [EVENTS_2011, EVENTS_2019, TABLE_2019])
def test_five_machines(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    assert detect_machines(open_source(path)) == "google-machines"
    cluster, ledger = read_machines([path], strict=True)
    assert cluster.nodes == EXPECTED
    assert not ledger


def test_a_machine_without_a_capacity_is_skipped(tmp_path: Path) -> None:
    path = write(tmp_path, f"{EVENTS_2011}0,99,0,hash+a/=,,\n")
    cluster, ledger = read_machines([path])
    assert cluster.nodes == EXPECTED
    assert [(entry.rule, entry.count) for entry in ledger.entries] == [("no cores: machine skipped", 1)]
    with pytest.raises(InputError, match=r"log\.txt:10: cores empty \(no cores: machine skipped\)"):
        read_machines([path], strict=True)


def test_events_without_a_beginning_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "600000000,5,0,hash+a/=,0.5,0.2493\n")
    with pytest.raises(InputError, match=r"log\.txt: no machine with a capacity comes at time 0; give the log's first"):
        read_machines([path])


def test_the_published_events() -> None:
    cluster, ledger = read_machines([trace("google_2011/machine_events-part-00000-of-00001.csv.gz")], strict=True)
    assert not ledger
    assert len(cluster.nodes) == 12_477
    assert cluster.total_cores == pytest.approx(660_300, rel=1e-4)
    assert cluster.total_memory_mb == pytest.approx(586_300_000, rel=1e-4)
    shares = {cores: 100 * count / 12_477 for cores, count in Counter(node.cores for node in cluster.nodes).items()}
    assert shares == pytest.approx({50: 92.7, 100: 6.3, 25: 1.0}, abs=0.05)
