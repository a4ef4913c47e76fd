"""What an inspection finds, on policies of which it is known."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from shunter import Cluster, load_policy, read_workload
from shunter.agents.inspection import decisions as decisions_module
from shunter.agents.inspection.decisions import CLASSICS, Decisions, host_decisions, job_decisions
from shunter.agents.inspection.measures import dead_units, importances, manner, signs_of_collapse
from shunter.agents.learned_policy import LearnedPolicy
from shunter.agents.networks import NetworkOptions
from shunter.agents.networks.base import Batch, Network
from shunter.agents.training.checkpoint_files import PolicyRecord
from shunter.envs.pick_job import PickJobOptions, pick_job_vector
from shunter.envs.playing import play
from shunter.envs.rewards import RewardOptions
from shunter.model.log import Log
from shunter.model.windows import choose_windows
from shunter.policies.scheduler import resolve_scheduler
from tests.agents.untrained import LUBLIN, opinionated, waiting, write_host_policy, write_policy


@cache
def log() -> Log:
    return Log(read_workload(LUBLIN), Cluster.pool(64))


def watched(checkpoint: str, count: int = 3) -> tuple[Decisions, dict[str, float | None]]:
    windows = choose_windows(600, count=count, length=60)
    return job_decisions(load_policy(checkpoint), log(), windows, resolve_scheduler(policy=checkpoint))


@pytest.mark.parametrize("classic", CLASSICS)
def test_who_is_a_classic_agrees_with_it(tmp_path: Path, classic: str) -> None:
    """A policy that decides as its order makes all of its choices."""
    checkpoint = write_policy(tmp_path / "best", mode="feasible", order=classic, estimate="posterior")
    decisions, found = watched(checkpoint)
    assert len(decisions) > 30
    assert found[classic] == 1.0
    assert any(share is not None and share < 0.9 for share in found.values())


def test_waiting_agrees_with_nobody(tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "best", mode="feasible", begins_as_order=False, change=waiting)
    decisions, found = watched(checkpoint)
    allowed = decisions.masks[:, 0]
    assert found["fcfs"] is not None
    assert found["fcfs"] <= (~allowed).mean() + 1e-9
    assert manner(load_policy(str(tmp_path / "best")), decisions).wait_share == 1.0


def test_without_a_choice_between_jobs_there_is_no_agreement(tmp_path: Path) -> None:
    decisions, _ = watched(write_policy(tmp_path / "best"))
    none = decisions.where(np.zeros(len(decisions), dtype=np.bool_))
    checkpoint = str(tmp_path / "best")
    alone = Log(read_workload("generate:lublin?seed=3&jobs=1&cores=64&requests=factor"), Cluster.pool(64))
    one_job = choose_windows(1, count=1, length=1)
    _, found = job_decisions(load_policy(checkpoint), alone, one_job, resolve_scheduler(policy=checkpoint))
    assert set(found.values()) == {None}
    policy = load_policy(str(tmp_path / "best"))
    assert (manner(policy, none).choices, manner(policy, none).entropy) == (0, None)
    assert importances(policy, none) == []
    assert dead_units(policy, none) == {}
    assert signs_of_collapse(manner(policy, none), {}, "pick-job", "fcfs") == []


def test_importance_of_what_alone_counts(tmp_path: Path) -> None:
    """A network that is its order looks at nothing else."""
    checkpoint = write_policy(tmp_path / "best", order="sjf")
    found = importances(load_policy(checkpoint), watched(checkpoint)[0])
    assert (found[0].feature, found[0].part) == ("order_gap", "jobs")
    assert found[0].moved > 0.05
    assert found[0].changed > 0.05
    rest = {one.feature: (one.moved, one.changed) for one in found[1:]}
    # No job is held back by sjf: shuffled, nothing changes.
    assert set(rest.values()) == {(0.0, 0.0)}
    assert len(found) == 16 + 1 + 21


class Made(Network):
    """A network made by hand: of its eight units three never act, and *wait* depends on the free cores alone."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(1, 8)
        self.activation = nn.ReLU()
        nn.init.ones_(self.first.weight)
        with torch.no_grad():
            self.first.bias[:3] = -5.0
            self.first.bias[3:] = 0.1

    def evaluate(self, batch: Batch) -> tuple[Tensor, Tensor]:
        observations = batch.observations  # type: ignore[attr-defined]
        wait = self.activation(self.first(observations[:, :1])).sum(dim=1)
        logits = torch.zeros(batch.masks.shape)
        logits[:, 0] = wait
        return logits, wait


@cache
def made() -> tuple[LearnedPolicy, Decisions]:
    windows = choose_windows(600, count=3, length=60)
    options = PickJobOptions(window=16)
    policy = LearnedPolicy(Made(), PolicyRecord(options.layout, options, NetworkOptions()))
    vector = pick_job_vector([log()], [windows], options, RewardOptions(), num_envs=3, autoreset=False)
    recorder = decisions_module.Recorder(vector)
    play(policy.evaluator, vector, finished=lambda _, simulation: simulation.close(), seen=recorder)
    return policy, recorder.decisions()


def test_importance_of_one_feature_of_the_cluster() -> None:
    found = importances(*made())
    assert [one.feature for one in found if one.moved > 0] == ["free_cores"]


def test_how_sure_a_policy_is(tmp_path: Path) -> None:
    def even(network: Network) -> None:
        for layer in network.policy_layers():
            layer.weight.zero_()

    checkpoint = write_policy(tmp_path / "even", begins_as_order=False, change=even)
    decisions, policy = watched(checkpoint)[0], load_policy(checkpoint)
    found = manner(policy, decisions)
    allowed = decisions.masks.sum(axis=1)
    assert allowed.min() >= 2
    assert found.entropy == pytest.approx(np.log(allowed).mean(), rel=1e-5)
    assert found.relative_entropy == pytest.approx(1.0, rel=1e-5)
    assert "all actions are about as likely: it has learned nothing yet" in signs(checkpoint, decisions)

    def certain(network: Network) -> None:
        opinionated(network)
        for layer in network.policy_layers():
            layer.weight.mul_(1e5)

    checkpoint = write_policy(tmp_path / "certain", begins_as_order=False, change=certain)
    found = manner(load_policy(checkpoint), watched(checkpoint)[0])
    assert found.relative_entropy is not None
    assert found.relative_entropy < 0.01
    (sign,) = [one for one in signs(checkpoint, watched(checkpoint)[0]) if "sure" in one]
    assert sign.startswith("it is sure of everything")


def signs(checkpoint: str, decisions: Decisions) -> list[str]:
    policy = load_policy(checkpoint)
    order = getattr(policy.options, "order", None)
    return signs_of_collapse(manner(policy, decisions), dead_units(policy, decisions), policy.kind, order)


def test_signs_of_collapse(tmp_path: Path) -> None:
    first = write_policy(tmp_path / "first", order="saf")
    assert signs(first, watched(first)[0]) == ["it always chooses row 1: it is its order, saf"]
    lazy = write_policy(tmp_path / "lazy", mode="feasible", begins_as_order=False, change=waiting)
    assert "it waits in 100 % of the choices in which it could take a job" in signs(lazy, watched(lazy)[0])
    sound = write_policy(tmp_path / "sound", change=opinionated)
    assert signs(sound, watched(sound)[0]) == []


def test_dead_units() -> None:
    policy, decisions = made()
    assert dead_units(policy, decisions) == {"activation": (3, 8)}
    assert not policy.network.activation._forward_hooks  # type: ignore[union-attr]
    shown = signs_of_collapse(manner(policy, decisions), {"tower": (17, 32), "other": (16, 32)}, "pick-job", "fcfs")
    assert [sign for sign in shown if "never act" in sign] == ["17 of the 32 units of layer tower never act"]


def test_decisions_are_choices_spread_over_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = write_policy(tmp_path / "best", begins_as_order=False, change=opinionated)
    every, _ = watched(checkpoint, count=6)
    assert (every.masks.sum(axis=1) > 1).all()
    monkeypatch.setattr(decisions_module, "MOST", 20)
    some, _ = watched(checkpoint, count=6)
    assert 10 <= len(some) <= 20
    places = [int((every.observations == one).all(axis=1).argmax()) for one in some.observations]
    assert all((every.observations[place] == one).all() for place, one in zip(places, some.observations, strict=True))
    assert max(places) > len(every) / 2


def test_agreement_is_asked_about_some_of_many_choices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = write_policy(tmp_path / "best", mode="feasible", order="saf")
    monkeypatch.setattr(decisions_module, "ASKED", 8)
    asked = []
    compare = decisions_module.ClassicAgreement._compare

    def counted(self: decisions_module.ClassicAgreement, *step: Any) -> list[bool]:  # noqa: ANN401 - as it comes
        asked.append(step)
        return compare(self, *step)

    monkeypatch.setattr(decisions_module.ClassicAgreement, "_compare", counted)
    decisions, found = watched(checkpoint, count=6)
    assert found["saf"] == 1.0
    assert 8 < len(asked) < len(decisions) / 2


def test_a_policy_that_chooses_hosts(tmp_path: Path) -> None:
    checkpoint = write_host_policy(tmp_path / "best", change=opinionated)
    policy = load_policy(checkpoint)
    decisions = host_decisions(policy, episodes=3)
    assert len(decisions) > 20
    found = {(one.part, one.feature): one.moved for one in importances(policy, decisions)}
    parts = [("hosts", name) for name in ("core_use", "memory_use", "cores", "memory")]
    assert set(found) == {*parts, ("job", "cores"), ("job", "memory")}
    assert found["hosts", "core_use"] > 0
    shown = manner(policy, decisions)
    assert shown.wait_share is None
    assert shown.entropy is not None
    assert 0 <= shown.entropy <= math.log(4) + 1e-6
