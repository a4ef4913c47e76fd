"""Which types of GPUs a job takes: texts, files, what goes together, and prices from the mix of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shunter.errors import InputError
from shunter.model.cluster import Cluster, Node
from shunter.model.kinds import KindTable
from shunter.model.log import Log
from shunter.model.workload import Workload
from shunter.policies.pairs import Pairs, pairs_text, resolve_pairs
from shunter.policies.prices import Mix, solve, training_prices
from shunter.policies.scheduler import resolve_scheduler

PRICES = {"V100": 3.25, "old K80": 1.0}


def test_a_text_says_all(tmp_path: Path) -> None:
    pairs = Pairs("price", 1.5, PRICES)
    assert pairs.text == "price?factor=1.5&V100=3.25&old%20K80=1.0"
    assert resolve_pairs(pairs.text) == pairs
    (tmp_path / "prices.toml").write_text(pairs_text(pairs, ["of a lab"]))
    assert resolve_pairs(str(tmp_path / "prices.toml")) == pairs
    assert resolve_pairs("price?A=2").factor == 1.2


def test_a_policy_brings_its_prices(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[policy]\nkind = "sjf"\n\n' + pairs_text(Pairs("price", 1.3, PRICES)))
    brought = resolve_scheduler(policy=str(file))
    assert brought.pairs == Pairs("price", 1.3, PRICES)
    assert brought.settings.pairs == brought.pairs.text
    assert resolve_scheduler(policy=str(file), pairs="eft").pairs.kind == "eft"
    assert resolve_scheduler(policy=str(file), pairs="any", asked=["pairs"]).pairs.kind == "any"
    # A score sees prices, and does not keep to them.
    file.write_text('[policy]\nkind = "pairs"\n\n' + pairs_text(Pairs("price", 1.3, PRICES)))
    assert resolve_scheduler(policy=str(file)).pairs == Pairs("score", 1.3, PRICES)
    assert resolve_scheduler(policy="pairs").settings.pairs == "score"
    assert resolve_scheduler(policy="sjf", pairs="score?V100=2").pairs == Pairs()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("prize", "unknown pairs 'prize'; did you mean 'price'?"),
        ("price", "there are no prices; give one for each type"),
        ("price?V100=0", "the price of V100 is 0.0; expected a finite number above 0"),
        ("price?V100=dear", "V100 is 'dear'; expected a number"),
        ("price?V100=1&factor=0.9", "factor is 0.9; expected a number from 1 to"),
        ("eft?V100=1", "eft has no parameters"),
        ("nowhere.toml", "nowhere.toml"),
    ],
)
def test_a_wrong_text_is_refused(text: str, told: str) -> None:
    with pytest.raises(InputError) as failed:
        resolve_pairs(text)
    assert told in str(failed.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[policy]\nkind = "sjf"\n', "has no section [pairs]"),
        ("[pairs]\nfactor = 2\n", "[pairs] has no kind"),
        ('[pairs]\nkind = "price"\nprices = 3\n', "prices are no table"),
        ('[pairs]\nkind = "price"\nfacto = 3\n', "did you mean 'factor'?"),
        ('[pairs]\nkind = "price"\n[pairs.prices]\nV100 = true\n', "the price of V100 is True"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(InputError) as failed:
        resolve_pairs(str(file))
    assert str(file) in str(failed.value)
    assert told in str(failed.value)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"pairs": "eft", "dispatch": "conservative"}, "goes with dispatch 'strict', 'greedy' or 'easy'"),
        ({"pairs": "eft", "dispatch": "committed"}, "goes with dispatch 'strict', 'greedy' or 'easy'"),
        ({"pairs": "eft", "policy": "gittins"}, "policy 'gittins' stops running jobs"),
        ({"pairs": "eft", "policy": "pairs"}, "policy 'pairs' chooses types itself"),
        ({"policy": "pairs", "dispatch": "strict"}, "policy 'pairs' goes with dispatch 'greedy' or 'easy'"),
        ({"policy": "pairs", "dispatch": "3"}, "policy 'pairs' goes with dispatch 'greedy' or 'easy'"),
    ],
)
def test_what_does_not_go_together_is_refused(words: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as failed:
        resolve_scheduler(**words)
    assert told in str(failed.value)


def test_prices_are_what_one_more_gpu_is_worth() -> None:
    """Two GPUs; a third of the work is as fast on both, the rest half as fast on the second.

    The rest is shared out between both types, so that it must cost the same on both: the first is twice as dear.
    """
    mix = Mix(np.array([1.0, 2.0]), np.array([[1.0, 1.0], [1.0, 0.5]]), np.array([1.0, 1.0]))
    prices = solve(mix)
    assert prices[0] / prices[1] == pytest.approx(2.0)


def test_a_type_that_nobody_can_use_is_cheap_but_not_free() -> None:
    prices = solve(Mix(np.array([1.0]), np.array([[1.0, 0.0]]), np.array([1.0, 1.0])))
    assert prices[1] / prices[0] == pytest.approx(0.001)


def lab(run_s: list[float], kind: list[str], *, mix: bool = False) -> Log:
    """Returns jobs of one GPU on a V100 and a K80."""
    nodes = tuple(Node(name, 8, gpus=1, gpu_type=name) for name in ("V100", "K80"))
    speeds = {"broad": (1.0, 1.0), "narrow": (1.0, 0.5)}
    rows: list[tuple[str, dict[str, object]]] = [
        (name, {"kind": name, "gpus": 1, "speed_V100": fast, "speed_K80": slow})
        for name, (fast, slow) in speeds.items()
    ]
    jobs = pl.DataFrame({"job_id": range(len(run_s)), "submit_s": 0.0, "run_s": run_s, "kind": kind, "tasks": 1})
    jobs = jobs.with_columns(gpus_per_task=pl.lit(1.0), cores_per_task=pl.lit(1.0))
    table = KindTable.of(rows, ("V100", "K80"), "speeds")
    return Log(Workload.from_frame(jobs, name="jobs"), Cluster.from_nodes(nodes, "lab", mix, table))


def test_prices_come_from_the_mix_of_the_training_days() -> None:
    log = lab([100.0, 200.0, 1e6], ["broad", "narrow", "broad"])
    pairs = training_prices([log], (0.0, 0.67))
    assert pairs.prices == pytest.approx({"V100": 2.0, "K80": 1.0})
    assert pairs.factor == 1.2
    assert pairs.for_core(log.cluster).tolist() == pytest.approx([2.0, 1.0])


def test_a_cluster_whose_types_cannot_be_chosen_is_refused() -> None:
    with pytest.raises(InputError, match="lab lets jobs mix types"):
        training_prices([lab([1.0], ["broad"], mix=True)], (0.0, 1.0))
    with pytest.raises(InputError, match="the cluster's type K80 has no price"):
        Pairs("price", 1.2, {"V100": 1.0}).for_core(lab([1.0], ["broad"]).cluster)
