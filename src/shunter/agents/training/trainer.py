"""The loop around an algorithm: evaluations, checkpoints, a diary, and an end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from shunter.agents.algorithms import DivergenceError, check_tensors
from shunter.agents.learned_policy import LearnedPolicy, load_policy
from shunter.agents.training.beginnings import COPIES
from shunter.agents.training.best import Best, EarlyStopping, NearMiss
from shunter.agents.training.checkpoint_files import (
    POLICY,
    TRAINING,
    Part,
    PolicyRecord,
    check_layout,
    find_checkpoint,
    read_part,
    write_checkpoint,
)
from shunter.agents.training.curves import IS_BEST
from shunter.agents.training.progress_log import ProgressLog
from shunter.checks import from_table
from shunter.envs.layout import Layout
from shunter.envs.network import NativeNetwork
from shunter.errors import InputError
from shunter.interruption import interruption
from shunter.policies.checkpoint import BEST, INITIAL, LAST, POLICY_FILE, check_files

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from shunter.agents.algorithms import Algorithm
    from shunter.agents.training.config import TrainingOptions


Evaluate = Callable[[LearnedPolicy], Mapping[str, float]]
"""Measures a policy on validation episodes; `shunter.agents.training.best` says which names mean what."""
Keep = Callable[[Callable[[], LearnedPolicy]], None]
"""Is told that the policy that was just measured is the best from now on, and what loads it."""


@dataclass(frozen=True)
class Progress:
    """How far a training has come."""

    steps: int
    total_steps: int
    figures: Mapping[str, float]
    """Of the last update."""
    best: float | None
    """The best objective so far."""
    elapsed_s: float


@dataclass(frozen=True)
class TrainingOutcome:
    """How a training ended."""

    reason: str
    """``steps``, ``patience`` or ``interrupted``."""
    steps: int
    best: float | None
    best_steps: int | None
    elapsed_s: float
    near: NearMiss | None = None
    """Of the policies that were better than the beginning, but not by enough, the one that came nearest."""
    best_broken: float = 0.0
    """By how much the best breaks bounds on validation, in the logarithm; 0: it keeps them."""


class Trainer:
    """Runs an algorithm and keeps what it learns in a folder."""

    def __init__(
        self,
        algorithm: Algorithm,
        record: PolicyRecord,
        options: TrainingOptions,
        folder: Path,
        *,
        evaluate: Evaluate | None = None,
        keep: Keep | None = None,
        callbacks: tuple[Callable[[Progress], object], ...] = (),
        resume: bool = False,
        updates: int | None = None,
    ) -> None:
        """Makes ready, from the last checkpoint in the folder if that is wanted.

        Args:
            algorithm: What learns.
            record: What the policy is: goes into its checkpoints.
            options: How long, and what to do on the way.
            folder: Of the run; gets ``best/``, ``last/``, ``progress.csv`` and ``tensorboard/``.
            evaluate: Measures a policy on validation episodes; without it no policy is the best.
            keep: Told of every policy that becomes the best, and of the one that is when a run goes on.
            callbacks: Called after each update.
            resume: Go on from ``last/``: what follows is the same, bit for bit, as if there had been no pause.
            updates: End after so many updates, too; None: only the steps count.

        Raises:
            InputError: There is nothing to resume, or it is not of this training.
        """
        self._algorithm = algorithm
        self._record = record
        self._options = options
        self._folder = folder
        self._evaluate = evaluate
        self._keep = keep
        self._callbacks = callbacks
        self._updates = updates
        self._stopping = EarlyStopping(options.patience, options.threshold)
        self._best = Best(options.margin_se)
        self._elapsed_s = 0.0
        self._resumed_at = self._resume() if resume else None
        # A run that was killed may have left a best policy that is younger than where it goes on.
        if resume and self._best.steps is not None and _steps_of(folder / BEST) == self._best.steps:
            self._tell_best()

    def run(self) -> TrainingOutcome:
        """Trains until the steps are done, patience is at its end, or the user interrupts.

        Raises:
            DivergenceError: The last good checkpoint stays where it is.
        """
        began = time.perf_counter() - self._elapsed_s
        self._folder.mkdir(parents=True, exist_ok=True)
        log = ProgressLog(self._folder, self._options.algorithm, self._resumed_at)
        try:
            with interruption() as interrupted:
                # The beginning is measured too: it stays the best until something is surely better.
                if self._resumed_at is None:
                    figures, _ = self._measure()
                    log.write(0, figures)
                    self._save(LAST)
                reason = self._loop(log, began, interrupted)
            best = self._best
            return TrainingOutcome(
                reason, self._algorithm.steps, best.objective, best.steps, self._elapsed_s, best.near, best.broken
            )
        except DivergenceError as error:
            kept = f"the checkpoint before that is {self._folder / LAST}"
            raise DivergenceError(f"step {self._algorithm.steps}: {error}; {kept}") from None
        finally:
            log.close()

    def _loop(self, log: ProgressLog, began: float, interrupted: threading.Event) -> str:
        options, algorithm = self._options, self._algorithm
        reason = "steps"
        for _ in count() if self._updates is None else range(self._updates):
            if algorithm.steps >= options.steps:
                break
            before = algorithm.steps
            figures = algorithm.update()
            finished = algorithm.steps >= options.steps
            enough = False
            if finished or _passed(before, algorithm.steps, options.eval_every):
                measured, enough = self._measure()
                figures |= measured
            self._elapsed_s = time.perf_counter() - began
            log.write(algorithm.steps, figures | {"elapsed_s": self._elapsed_s})
            # Looked at between updates only: a rollout or an update is never cut in two.
            stop = enough or interrupted.is_set()
            # With each best policy too: a run that goes on compares with the one that is in the folder.
            is_due = _passed(before, algorithm.steps, options.save_every) or bool(figures.get(IS_BEST))
            if stop or finished or is_due:
                # Before the checkpoint: a resumed run drops what was written of later steps, but cannot make up for
                # what is missing.
                log.flush()
                self._save(LAST)
            progress = Progress(algorithm.steps, options.steps, figures, self._best.objective, self._elapsed_s)
            for callback in self._callbacks:
                callback(progress)
            if stop:
                reason = "patience" if enough else "interrupted"
                break
        return reason

    def _measure(self) -> tuple[dict[str, float], bool]:
        """Evaluates the present policy and keeps it if it is the best; returns figures, and whether to stop."""
        if self._evaluate is None:
            return {}, False
        measured = dict(self._evaluate(self._policy()))
        is_best = self._best.observe(measured, self._algorithm.steps)
        if is_best:
            self._save(BEST)
            self._tell_best()
        figures = {f"validation/{name}": value for name, value in measured.items()} | {IS_BEST: float(is_best)}
        return figures, self._stopping.observe(measured)

    def _policy(self) -> LearnedPolicy:
        """Returns the present policy; the core decides wherever it knows the network."""
        network = self._algorithm.network
        if not isinstance(network, NativeNetwork):
            from shunter.agents.torch_evaluator import exported

            network = exported(network, self._record) or network
        return LearnedPolicy(network, self._record)

    def _tell_best(self) -> None:
        if self._keep is not None:
            self._keep(lambda: load_policy(self._folder / BEST))

    def _save(self, name: str) -> None:
        tensors = self._algorithm.policy_tensors()
        # Better no checkpoint than one of NaN in place of the last good one.
        check_tensors(tensors)
        best = self._best
        facts = {"steps": self._algorithm.steps, "best_objective": best.objective, "best_steps": best.steps}
        record = replace(self._record, training={**self._record.training, **facts})
        parts = {POLICY: Part(tensors, record.to_json())}
        if name == LAST:
            state = self._algorithm.state()
            parts[TRAINING] = Part(state.tensors, {"algorithm": dict(state.facts), "trainer": self._state()})
        write_checkpoint(self._folder / name, parts, record.files)

    def _state(self) -> dict[str, Any]:
        reference = self._stopping.reference
        return {
            **self._best.state(),
            "reference": reference if math.isfinite(reference) else None,
            "waited": self._stopping.waited,
            "elapsed_s": self._elapsed_s,
        }

    def _resume(self) -> int:
        """Goes back to the last checkpoint, and returns how many steps it had seen."""
        folder = find_checkpoint(self._folder / LAST)
        if folder is None:
            raise InputError(f"{self._folder}: there is no checkpoint {LAST}/ to resume from; train without --resume")
        policy, training = read_part(folder, POLICY), read_part(folder, TRAINING)
        where = str(folder)
        check_layout(from_table(Layout, policy.facts.get("layout"), where), self._record.layout, where)
        try:
            state = training.facts["trainer"]
            self._best.load_state(state)
            self._stopping.reference = math.inf if state["reference"] is None else float(state["reference"])
            self._stopping.waited = int(state["waited"])
            self._elapsed_s = float(state["elapsed_s"])
            self._algorithm.load_state(policy.tensors, Part(training.tensors, training.facts["algorithm"]), where)
        except (KeyError, TypeError, RuntimeError) as error:
            raise InputError(f"{where}: not a training that this version can resume ({error!r})") from None
        return self._algorithm.steps


def _steps_of(checkpoint: Path) -> int | None:
    """Returns how many steps a policy had been trained for; None: there is none."""
    place = find_checkpoint(checkpoint)
    return None if place is None else int(read_part(place, POLICY).facts["training"]["steps"])


def check_state(folder: Path) -> None:
    """Raises an error if what a run needs to go on is damaged.

    Raises:
        InputError: A file is missing, cut short, or changed.
    """
    for name, parts in ((LAST, (POLICY, TRAINING)), (INITIAL, (POLICY,))):
        place = find_checkpoint(folder / name) or folder / name
        for part in parts:
            facts = read_part(place, part).facts
            # The run goes on by its own copies of these files.
            if part == POLICY and (folder / COPIES).is_dir():
                check_files(folder / COPIES, facts, str(place / POLICY_FILE))


def _passed(before: int, after: int, every: int) -> bool:
    """Returns whether a multiple has been reached or passed."""
    return before // every < after // every
