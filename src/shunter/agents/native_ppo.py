"""Proximal policy optimization in the core: `shunter.agents.ppo` without PyTorch in the loop.

Rollouts, advantages, the loss, its gradient and the steps along it are the core's (``core/src/learn``). The same seed
gives the same weights on the same machine and build, whatever the number of threads.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.agents.algorithms import check_finite
from shunter.agents.networks.weights import give_weights, weights_of
from shunter.agents.training.checkpoint_files import NORMALIZER, Part, Tensors, named_weights, network_weights
from shunter.envs.rewards import OBJECTIVES, TOTALS
from shunter.errors import InputError
from shunter.native import check, ffi, lib, opened, pointer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.agents.algorithms import PpoOptions
    from shunter.envs.network import NativeNetwork
    from shunter.envs.vector import NativeVectorEnv

UNITS: Final = ("count", "mean", "variance")
"""The numbers of the value normalizer, as a checkpoint has them."""
FIRST, SECOND = "optimizer.first", "optimizer.second"
"""What Adam remembers, in the core's order of weights."""
DIVERGED: Final = {1: "the sum of the rewards", 2: "the loss", 3: "the norm of the gradient"}
"""By the core's number: what is no longer a number."""


class NativePpo:
    """Learns a policy and a value function by playing, as `shunter.agents.ppo.Ppo` does."""

    def __init__(
        self,
        environments: NativeVectorEnv,
        network: NativeNetwork,
        options: PpoOptions,
        *,
        steps: int,
        seed: int,
    ) -> None:
        """Takes over the network; environments begin an episode with the first update.

        Args:
            environments: Those that are played.
            network: The policy and the value function, with its first weights.
            options: How to learn.
            steps: How many steps the training is to have; schedules go by it.
            seed: For the drawing of actions and of minibatches.
        """
        self.steps = 0
        self._environments = environments
        self._options = options
        self._schedules = options.schedules(steps)
        self.network = network
        """The policy and the value function with their present weights."""
        self._learner = opened(
            lib.shunter_learner_open, self.network.handle.number, _core_options(options), self._loss(0.0, 0.0), seed
        )

    @property
    def instructions(self) -> str:
        """The vector instructions that it learns with."""
        return self.network.use()

    def update(self) -> dict[str, float]:
        """Plays and learns once; returns figures to be written down.

        Raises:
            DivergenceError: A reward, a loss or a gradient is not a number; that step has not been taken.
        """
        began = time.perf_counter()
        now = {name: schedule.at(self.steps) for name, schedule in self._schedules.items()}
        learned = ffi.new("ShunterLearned *")
        handles = (self._learner.number, self._environments.handle.number, self.network.handle.number)
        loss = self._loss(now["entropy_weight"], now["exploration"])
        check(lib.shunter_learner_update(*handles, loss, now["learning_rate"], learned))
        # What went wrong in Python, in a placement of the user's own, was kept until the core had returned.
        self._environments.world.raise_failure()
        if learned.diverged:
            check_finite(DIVERGED[learned.diverged], learned.diverged_value)
        count = self._options.rollout_steps * self._environments.num_envs
        self.steps += count
        speed = count / (time.perf_counter() - began)
        return self._figures(learned, count, now["entropy_weight"]) | now | {"steps_per_s": speed}

    def _loss(self, entropy_weight: float, exploration: float) -> Any:  # noqa: ANN401 - a structure of cffi's
        options = self._options
        return ffi.new(
            "ShunterLossOptions *",
            {
                "clip": options.clip,
                "value_clip": -1.0 if options.value_clip is None else options.value_clip,
                "value_weight": options.value_weight,
                "entropy_weight": entropy_weight,
                "exploration": exploration,
            },
        )

    def _figures(
        self,
        learned: Any,  # noqa: ANN401 - a structure of cffi's
        count: int,
        entropy_weight: float,
    ) -> dict[str, float]:
        values = self._options.value_weight * learned.value_loss
        figures = {
            "loss": learned.policy_loss + values - entropy_weight * learned.entropy,
            "policy_loss": learned.policy_loss,
            "value_loss": learned.value_loss,
            "entropy": learned.entropy,
            "approximate_kl": learned.approx_kl,
            "clip_share": learned.clip_fraction,
            "explained_variance": learned.explained_variance,
            # The core draws among allowed actions alone.
            "invalid_share": 0.0,
            "episodes": float(learned.episodes),
            "env_s": learned.env_s,
            "act_s": learned.net_s,
            "learn_s": learned.learn_s,
        }
        if learned.gradient_steps:
            figures["gradient_norm"] = learned.gradient_norm
        if self._environments.layout.may_wait:
            figures["wait_share"] = learned.waits / count
        if learned.episodes:
            means = {name: total / learned.episodes for name, total in zip(TOTALS, learned.totals, strict=True)}
            figures["return"] = means["reward"]
            figures |= {f"episode/{name}": means[name] for name in (*OBJECTIVES, "max_wait_s", "steps")}
        return figures

    def policy_tensors(self) -> Tensors:
        """Returns what a policy consists of, for a checkpoint."""
        _, units = self.network.get()
        told = {f"{NORMALIZER}{name}": np.array(value) for name, value in zip(UNITS, units, strict=True)}
        return named_weights(weights_of(self.network)) | told

    def begin_from(self, policy: Tensors) -> None:
        """Takes over the units of values that a checkpoint holds; the network has its weights already."""
        units = [policy.get(f"{NORMALIZER}{name}") for name in UNITS]
        if all(unit is not None for unit in units):
            count, mean, variance = (float(unit) for unit in units if unit is not None)
            self.network.set(self.network.get()[0], (count, mean, variance))

    def state(self) -> Part:
        """Returns what is needed beside the policy to go on as if nothing had happened."""
        first, second = np.empty((2, self.network.size), np.float32)
        counts = [ffi.new("uint64_t *") for _ in range(2)]
        remembered = (pointer(first), pointer(second), self.network.size)
        check(lib.shunter_learner_get(self._learner.number, *remembered, *counts))
        environments = np.frombuffer(self._environments.state(), np.uint8)
        tensors: Tensors = {FIRST: first, SECOND: second, "environments": environments}
        facts = {"steps": self.steps, "gradient_steps": int(counts[0][0]), "updates": int(counts[1][0])}
        return Part(tensors, facts)

    def load_state(self, policy: Tensors, training: Part, where: str) -> None:
        """Goes back to a saved state.

        Raises:
            InputError: It is the state of another training.
        """
        give_weights(self.network, network_weights(policy), where)
        self.begin_from(policy)
        remembered: list[NDArray[np.float32]] = [np.array(training.tensors[name]) for name in (FIRST, SECOND)]
        if any(one.shape != (self.network.size,) for one in remembered):
            raise InputError(f"{where}: is the training of another network; build the network as it was")
        first, second = (pointer(one) for one in remembered)
        steps, updates = (int(training.facts[name]) for name in ("gradient_steps", "updates"))
        check(lib.shunter_learner_set(self._learner.number, first, second, self.network.size, steps, updates))
        arrays = self._environments.step_arrays()
        state = training.tensors["environments"].tobytes()
        self._environments.load_state(state, arrays.observations, arrays.masks)
        self.steps = int(training.facts["steps"])


def _core_options(options: PpoOptions) -> Any:  # noqa: ANN401 - a structure of cffi's
    return ffi.new(
        "ShunterPpoOptions *",
        {
            "rollout_steps": options.rollout_steps,
            "epochs": options.epochs,
            # The core adds up over any number of samples: several minibatches to a step are one large one.
            "minibatch": options.minibatch * options.accumulate,
            "gamma": options.gamma,
            "gae_lambda": options.gae_lambda,
            "max_gradient_norm": options.max_gradient_norm,
            "target_kl": -1.0 if options.target_kl is None else options.target_kl,
            "normalize_values": options.normalize_values,
            "normalize_advantages": options.normalize_advantages,
        },
    )
