"""Mistakes in the files and options of GPU clusters: one line each, with file and line where there is one."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command
from tests.cli.gpu_site import CLUSTER, Site

ROWS: list[tuple[str, str]] = [
    ("9,9,1,1,1,1,1,H100,,x", "asks for GPU type H100; the cluster has FAST, SLOW; mend the name, or leave --strict"),
    ("9,9,1,1,1,1,1,FAST,small,x", "asks for GPU type FAST; partition 'small' has SLOW; mend the name, or leave"),
    ("9,9,1,1,1,1,1,,huge,x", "asks for partition 'huge'; the cluster has big, small; mend the name, or leave"),
    (
        "9,9,1,1,6,1,1,,big,x",
        "asks for 6 tasks of 1 GPU; partition 'big' has 4 GPUs on 2 nodes, at most 2 GPUs on one; g",
    ),
    (
        "9,9,1,1,6,1,1,FAST,,x",
        "6 tasks of 1 GPU of type FAST; of type FAST, the cluster has 4 GPUs on 2 nodes, at most 2",
    ),
    (
        "9,9,1,1,10,1,1,,,x",
        "at most 8 GPUs of one type (SLOW); mix = true in the cluster file would let it have several ty",
    ),
    (
        "9,9,1,1,13,1,1,,,x",
        "has 12 GPUs on 4 nodes, at most 4 GPUs on one, at most 8 GPUs of one type (SLOW); give a larger",
    ),
    ("9,9,1,1,1,1,5,,,x", "asks for 1 task of 5 GPUs; the cluster has 12 GPUs on 4 nodes, at most 4 GPUs on one"),
]


@pytest.mark.parametrize(("row", "message"), ROWS, ids=[row for row, _ in ROWS])
def test_jobs_that_can_never_run(shunter: Command, site: Site, row: str, message: str) -> None:
    site.jobs(f"1,0,100,200,2,1,1,FAST,,ada\n{row}\n")
    error = shunter("simulate", *site.inputs, "--strict").error()
    assert error.startswith(f"{site.log}:3: job 9 ")
    assert message in error
    assert shunter("simulate", *site.inputs, "--json").json()["rejected"] == 1
    (finding,) = (
        one
        for one in shunter("trace", "check", site.log, "--cluster", site.cluster, "--json").json()["findings"]
        if one["kind"] == "never-fit"
    )
    assert f"{site.log}:3: job 9 " in finding["what"]
    assert message.partition("; mend")[0].partition("; g")[0] in finding["what"]


@pytest.mark.parametrize("strict", [True, False])
def test_a_share_of_several_devices_is_no_share(shunter: Command, site: Site, strict: bool) -> None:
    site.jobs("1,0,100,200,2,1,1,FAST,,ada\n9,9,1,1,1,1,1.5,,,x\n")
    error = shunter("simulate", *site.inputs, *(["--strict"] if strict else [])).error()
    assert error == (
        f'{site.log}:3: column "gpus_per_task" is "1.5"; expected a fraction below 1, or a whole number; '
        "mend or remove the row"
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (("20,f0,down", "30,f9,down"), ':3: node "f9" is not in the cluster two types; did you mean "f1"?'),
        (("20,f0,up",), ':2: node "f0" comes up at 20 s, but was never down'),
        (("20,f0,broken",), ":2: unknown event 'broken'; the known ones are down, up"),
        (("soon,f0,down",), ":2: time_s is 'soon'; expected a number from"),
        (("20,f0",), ":2: has 2 cells; expected time_s,node,event"),
        ((), ": holds no event; write a line"),
    ],
)
def test_wrong_failures(shunter: Command, site: Site, rows: tuple[str, ...], message: str) -> None:
    failures = site.failures(*rows)
    error = shunter("simulate", *site.inputs, "--failures", failures).error()
    assert error.startswith(f"{failures}{message}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--mtbf", 5), "--mtbf (mtbf_s) is 5, but --mttr (mttr_s) is not given; give both or none"),
        (("--policy", "srtf", "--dispatch", "easy"), "but dispatch is 'easy'; use 'greedy' with it"),
        (("--placement", "milp?alpha=x"), "placement 'milp?alpha=x': alpha is 'x'; expected a number"),
        (("--placement", "milp?k=1.5"), "placement 'milp?k=1.5': k is 1.5; expected a whole number from 0 to 32"),
        (("--placement", "milp?gama=1"), "placement 'milp' has no parameter 'gama'; it knows alpha, beta, gamma, k"),
        (("--placement", "topology?x=1"), "'topology' has no parameters; leave out what follows the name"),
    ],
)
def test_wrong_options(shunter: Command, site: Site, options: tuple[object, ...], message: str) -> None:
    assert message in shunter("simulate", *site.inputs, *options).error()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("speed = 2.0", "speed = 0", "[gpu_types.FAST]: speed is 0; expected a number from 0.001 to 1000"),
        ("speed = 2.0", "sped = 2.0", "[gpu_types.FAST]: unknown key 'sped'; did you mean 'speed'?"),
        ("[gpu_types.FAST]", "[gpu_types.FASD]", "[gpu_types.FASD]: no node has this gpu_type; the nodes have "),
        ('name = "two types"', "mix = 1", "mix is 1; expected true or false"),
        ('name = "two types"', 'reference_gpu = "X9"', 'reference_gpu is "X9", whose speed is not known; name a type'),
        ('rack = "r1"', "rack = 1", "[[nodes]] group 1: rack is 1; expected text in quotes"),
    ],
)
def test_wrong_clusters(shunter: Command, site: Site, old: str, new: str, message: str) -> None:
    site.write("cluster.toml", CLUSTER.replace(old, new, 1))
    error = shunter("simulate", *site.inputs).error()
    assert error.startswith(f"{site.cluster}: {message}")


def test_training_refuses_an_order_that_stops_jobs(shunter: Command, site: Site) -> None:
    for order in ("srtf", "las"):
        error = shunter("train", *site.inputs, "--order", order, "--out", site.folder / "trained").error()
        assert f"order is '{order}', which stops running jobs; environments only start them" in error
