"""The training loop: evaluations, checkpoints, resuming bit for bit, and every way to end."""

from __future__ import annotations

import csv
import math
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from shunter.agents.algorithms import DivergenceError, PpoOptions
from shunter.agents.learned_policy import LearnedPolicy, load_policy
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.ppo import Ppo
from shunter.agents.training.checkpoint_files import POLICY, TRAINING, PolicyRecord, read_part
from shunter.agents.training.config import TrainingOptions
from shunter.agents.training.trainer import Evaluate, Progress, Trainer
from shunter.envs.pick_job import PickJobOptions
from shunter.errors import InputError
from tests.agents import toy
from tests.agents.untrained import edit_policy

UPDATE = 16 * 8
"""Steps of an update."""
STEPS = 8 * UPDATE
NETWORK = NetworkOptions()
RECORD = PolicyRecord(
    toy.LAYOUT, PickJobOptions(window=toy.LAYOUT.window, lookahead_size=toy.LAYOUT.lookahead_size), NETWORK
)
PPO = PpoOptions(
    num_envs=16,
    rollout_steps=8,
    minibatch=64,
    learning_rate=3e-3,
    lr_schedule="cosine",
    entropy_schedule="linear",
    exploration=0.1,
)
TRAINING_OPTIONS = TrainingOptions(steps=STEPS, eval_every=2 * UPDATE, save_every=2 * UPDATE)


def _ppo() -> Ppo:
    environments = toy.Toy(16, seed=1, max_steps=3)
    return Ppo(environments, build(NETWORK, toy.LAYOUT, seed=2), PPO, steps=STEPS, seed=3)


def _trainer(
    folder: Path,
    ppo: Ppo | None = None,
    *,
    options: TrainingOptions = TRAINING_OPTIONS,
    evaluate: Evaluate | None = None,
    callbacks: tuple[Callable[[Progress], object], ...] = (),
    resume: bool = False,
) -> Trainer:
    chosen = ppo or _ppo()
    return Trainer(chosen, RECORD, options, folder, evaluate=evaluate, callbacks=callbacks, resume=resume)


def _rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "progress.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _some_weight(policy: LearnedPolicy) -> dict[str, float]:
    """Returns an objective that the policy decides."""
    return {"objective": float(policy.network.state_dict()["score.weight"].sum())}


def _marker(folder: Path) -> int:
    return int(read_part(folder, POLICY).facts["training"]["steps"])


class _Objectives:
    """Returns one objective after the other."""

    def __init__(self, *objectives: float) -> None:
        self._left = list(objectives)

    def __call__(self, policy: LearnedPolicy) -> dict[str, float]:
        return {"objective": self._left.pop(0), "wait": 1.0}


@pytest.mark.parametrize("paused_at", [2, 5])
def test_a_pause_changes_nothing(tmp_path: Path, paused_at: int) -> None:
    whole, paused = tmp_path / "whole", tmp_path / "paused"
    first = _trainer(whole, evaluate=_some_weight).run()

    def interrupt(progress: Progress) -> None:
        if progress.steps == (paused_at - 1) * UPDATE:
            signal.raise_signal(signal.SIGINT)

    outcome = _trainer(paused, evaluate=_some_weight, callbacks=(interrupt,)).run()
    assert (outcome.reason, outcome.steps) == ("interrupted", paused_at * UPDATE)
    second = _trainer(paused, evaluate=_some_weight, resume=True).run()
    assert replace(second, elapsed_s=0) == replace(first, elapsed_s=0)
    assert second.reason == "steps"
    for name in (POLICY, TRAINING):
        one, other = (read_part(folder / "last", name) for folder in (whole, paused))
        assert one.tensors.keys() == other.tensors.keys()
        assert all(np.array_equal(one.tensors[key], other.tensors[key]) for key in one.tensors)
    best = [read_part(folder / "best", POLICY).tensors["network.score.weight"] for folder in (whole, paused)]
    assert np.array_equal(best[0], best[1])
    timings = ("steps_per_s", "elapsed_s")
    same = [
        [{key: row[key] for key in row if key not in timings} for row in _rows(folder)] for folder in (whole, paused)
    ]
    assert same[0] == same[1]


def test_the_best_is_the_one_with_the_lowest_objective(tmp_path: Path) -> None:
    outcome = _trainer(tmp_path, evaluate=_Objectives(5.0, 3.0, 1.0, math.nan, 2.0)).run()
    assert (outcome.best, outcome.best_steps, outcome.reason) == (1.0, 4 * UPDATE, "steps")
    assert _marker(tmp_path / "best") == 4 * UPDATE
    assert _marker(tmp_path / "last") == STEPS
    objectives = {int(row["steps"]): row["validation/objective"] for row in _rows(tmp_path)}
    expected = {0: "5.0", 2 * UPDATE: "3.0", 4 * UPDATE: "1.0", 6 * UPDATE: "nan", STEPS: "2.0"}
    assert {steps: value for steps, value in objectives.items() if value} == expected
    assert _rows(tmp_path)[0]["validation/wait"] == "1.0"


def test_whoever_evaluates_is_told_of_the_best_and_can_load_it(tmp_path: Path) -> None:
    told: list[int] = []

    def keep(load: Callable[[], LearnedPolicy]) -> None:
        told.append(load().record.training["steps"])

    def trainer(*objectives: float, resume: bool = False) -> Trainer:
        options = replace(TRAINING_OPTIONS, steps=(len(objectives) - 1) * 2 * UPDATE, save_every=STEPS)
        evaluate = _Objectives(*objectives[1:] if resume else objectives)
        return Trainer(_ppo(), RECORD, options, tmp_path, evaluate=evaluate, keep=keep, resume=resume)

    trainer(5.0, 3.0, 4.0).run()
    assert told == [0, 2 * UPDATE]
    told.clear()
    trainer(5.0, 3.0, 4.0, resume=True)
    assert told == [2 * UPDATE]
    told.clear()
    # A best policy of later steps, left by a run that was killed, is none of this run's.
    edit_policy(tmp_path / "best", lambda about: about["training"].update(steps=99 * UPDATE))
    trainer(5.0, 3.0, 4.0, resume=True)
    assert told == []


def test_a_new_best_is_saved_with_all_that_is_needed_to_go_on(tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.steps == 3 * UPDATE:
            raise RuntimeError("power cut")

    options = replace(TRAINING_OPTIONS, save_every=STEPS)
    with pytest.raises(RuntimeError, match="power cut"):
        _trainer(tmp_path, options=options, evaluate=_Objectives(5.0, 3.0), callbacks=(stop,)).run()
    assert (_marker(tmp_path / "best"), _marker(tmp_path / "last")) == (2 * UPDATE, 2 * UPDATE)


def test_a_run_without_evaluations_has_no_best_and_its_last_is_loaded(tmp_path: Path) -> None:
    ppo = _ppo()
    outcome = _trainer(tmp_path, ppo).run()
    assert (outcome.best, (tmp_path / "best").exists()) == (None, False)
    loaded = load_policy(tmp_path).network.state_dict()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in ppo.network.state_dict().items())


class _Gains:
    """Returns an objective and a gain of 0.1 after the beginning."""

    def __init__(self, error: float) -> None:
        self._error = error
        self._seen = 0

    def __call__(self, policy: LearnedPolicy) -> dict[str, float]:
        self._seen += 1
        gain = 0.1 if self._seen > 1 else 0.0
        return {"objective": 1.0 - gain, "gain": gain, "gain_error": self._error}


@pytest.mark.parametrize(("error", "best_steps"), [(0.05, 2 * UPDATE), (0.2, 0)])
def test_the_beginning_is_kept_unless_another_stands_out(tmp_path: Path, error: float, best_steps: int) -> None:
    outcome = _trainer(tmp_path, evaluate=_Gains(error)).run()
    assert (outcome.best_steps, _marker(tmp_path / "best")) == (best_steps, best_steps)
    assert (outcome.near is None) == (best_steps > 0)
    became = [int(row["steps"]) for row in _rows(tmp_path) if row["validation/is_best"] == "1.0"]
    assert became[-1] == best_steps


def test_what_came_near_is_remembered_over_a_pause(tmp_path: Path) -> None:
    first = _trainer(tmp_path, options=replace(TRAINING_OPTIONS, steps=2 * UPDATE), evaluate=_Gains(0.2)).run()
    assert first.near is not None
    resumed = _trainer(tmp_path, evaluate=_Objectives(2.0, 2.0, 2.0), resume=True).run()
    assert (resumed.near, resumed.best_steps) == (first.near, 0)


def test_patience(tmp_path: Path) -> None:
    options = replace(TRAINING_OPTIONS, patience=2, threshold=0.5)
    outcome = _trainer(tmp_path, options=options, evaluate=_Objectives(5.0, 4.0, 3.6, 3.55)).run()
    assert (outcome.reason, outcome.steps, outcome.best) == ("patience", 6 * UPDATE, 3.55)
    assert _marker(tmp_path / "last") == 6 * UPDATE


def test_patience_goes_on_counting_after_a_pause(tmp_path: Path) -> None:
    options = replace(TRAINING_OPTIONS, patience=2)
    short = replace(options, steps=2 * UPDATE)
    _trainer(tmp_path, options=short, evaluate=_Objectives(5.0, 6.0)).run()
    outcome = _trainer(tmp_path, options=options, evaluate=_Objectives(5.5), resume=True).run()
    assert (outcome.reason, outcome.steps, outcome.best_steps) == ("patience", 4 * UPDATE, 0)


def test_divergence_keeps_the_last_good_checkpoint(tmp_path: Path) -> None:
    ppo = _ppo()
    update = ppo.update

    def spoiled() -> dict[str, float]:
        if ppo.steps == 3 * UPDATE:
            ppo._normalizer.mean.fill_(math.nan)
        return update()

    ppo.update = spoiled  # type: ignore[method-assign]
    with pytest.raises(
        DivergenceError, match=rf"^step {3 * UPDATE}: the loss is nan.*the checkpoint before that is .*last"
    ):
        _trainer(tmp_path, ppo).run()
    assert _marker(tmp_path / "last") == 2 * UPDATE
    assert int(_rows(tmp_path)[-1]["steps"]) == 3 * UPDATE


def test_weights_that_are_no_numbers_are_not_saved(tmp_path: Path) -> None:
    ppo = _ppo()
    update = ppo.update

    def spoiled() -> dict[str, float]:
        figures = update()
        if ppo.steps == 4 * UPDATE:
            next(ppo.network.parameters()).data.fill_(math.inf)
        return figures

    ppo.update = spoiled  # type: ignore[method-assign]
    with pytest.raises(DivergenceError, match=r"network\.\S+ is nan"):
        _trainer(tmp_path, ppo).run()
    assert _marker(tmp_path / "last") == 2 * UPDATE


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[Progress] = []
    _trainer(tmp_path, evaluate=_some_weight, callbacks=(told.append,)).run()
    assert [each.steps for each in told] == [update * UPDATE for update in range(1, 9)]
    assert told[0].total_steps == STEPS
    assert told[1].figures["validation/objective"] == pytest.approx(float(_rows(tmp_path)[2]["validation/objective"]))


def test_signals_are_as_before_afterwards(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    _trainer(tmp_path, options=replace(TRAINING_OPTIONS, steps=UPDATE)).run()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_second_interruption_does_not_wait(tmp_path: Path) -> None:
    ppo = _ppo()

    def impatient() -> dict[str, float]:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return {}

    ppo.update = impatient  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        _trainer(tmp_path, ppo).run()
    assert _marker(tmp_path / "last") == 0


def test_there_must_be_something_to_resume(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no checkpoint last/ to resume from"):
        _trainer(tmp_path, resume=True)


def test_what_is_resumed_must_be_the_same_training(tmp_path: Path) -> None:
    _trainer(tmp_path, options=replace(TRAINING_OPTIONS, steps=UPDATE)).run()
    other = replace(RECORD, layout=replace(toy.LAYOUT, window=99))
    with pytest.raises(InputError, match="made for other observations: window 6 instead of 99"):
        Trainer(_ppo(), other, TRAINING_OPTIONS, tmp_path, resume=True)
    wider = Ppo(toy.Toy(16), build(NetworkOptions(hidden=(8, 8)), toy.LAYOUT), PPO, steps=STEPS, seed=3)
    with pytest.raises(InputError, match="weights of another network"):
        _trainer(tmp_path, wider, resume=True)
    (tmp_path / "last" / "training.json").write_text('{"format": 1}')
    with pytest.raises(InputError, match=r"training\.safetensors: is not the file"):
        _trainer(tmp_path, resume=True)
