"""One class for each kind of policy that decides on snapshots that are held.

A decider never changes: a policy that is read anew is another object, so that files that change or break do not reach
the one that is at work.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shunter.envs.consultation import Consultation
from shunter.envs.learned import checkpoint_options, network_of, order_alone
from shunter.envs.playing import best_actions
from shunter.policies.checkpoint import Checkpoint
from shunter.policies.own import PythonPolicy
from shunter.simulation.loading import loaded
from shunter.simulation.run import OwnOrder

if TYPE_CHECKING:
    from shunter.policies.scheduler import Scheduler
    from shunter.service.snapshots import Held
    from shunter.simulation.decision import DecisionArrays


class Decided(NamedTuple):
    """What is decided."""

    arrays: DecisionArrays
    chosen: tuple[int, ...] = ()
    """The jobs that a learned policy chose, in this order."""


class Decider(ABC):
    """Decides on snapshots."""

    kind: str
    """What people call such a policy."""
    is_bounded = False
    """Whether all of it runs in the core, so that it takes as long again as it took before."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler

    @abstractmethod
    def decide(self, held: Held) -> Decided:
        """Returns what is decided; many threads may ask, one at a time.

        Raises:
            InputError: The snapshot contradicts itself, or the policy cannot decide on it.
        """


class Classic(Decider):
    """A policy of the core's, or a tuned one: a decision is one call on a simulation that stands ready."""

    kind = "classic"

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self.is_bounded = scheduler.placement.make_placer is None

    def decide(self, held: Held) -> Decided:
        """Returns what is decided."""
        simulation = held.loaded.get(self)
        if simulation is None:
            simulation = loaded(held.state, self.scheduler)
            # A placement in Python may remember what it saw: it decides on a fresh simulation each time.
            if self.is_bounded:
                held.loaded[self] = simulation
        return Decided(simulation.decide_arrays())


class Own(Decider):
    """A policy in Python."""

    kind = "python"

    def decide(self, held: Held) -> Decided:
        """Returns what is decided."""
        policy = self.scheduler.policy
        assert isinstance(policy, PythonPolicy)
        state = held.state
        own = OwnOrder(policy.policy, state.workload, state.cluster, self.scheduler)
        own.simulation.load(state.snapshot)
        return Decided(own.simulation.decide_arrays(own.order() if policy.policy.moves else None))


class Learned(Decider):
    """A checkpoint, whose network is read once and kept whatever becomes of its files."""

    kind = "learned"

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        assert isinstance(scheduler.policy, Checkpoint)
        self._options = checkpoint_options(scheduler.policy)
        self._network = network_of(scheduler.policy, self._options)
        self._order = order_alone(scheduler)

    def decide(self, held: Held) -> Decided:
        """Returns what is decided, always by the network's best action."""
        simulation = held.loaded.get(self)
        if simulation is None:
            simulation = held.loaded[self] = loaded(held.state, self._order)
        options = self._options.on_clusters([held.state.cluster])
        asking = Consultation(simulation, held.state.workload, options)
        while asking.due:
            asking.act(int(best_actions(self._network, asking.observation[None], asking.mask[None])[0]))
        chosen = [answer.jobs[answer.action] for answer in asking.answers if 0 <= answer.action < len(answer.jobs)]
        arrays = asking.arrays()
        taken = {*arrays.starts, *arrays.who("reserves")}
        return Decided(arrays, tuple(row for row in chosen if row in taken))


def decider_of(scheduler: Scheduler) -> Decider:
    """Returns what decides by a way to schedule, with everything read that it needs.

    Raises:
        InputError: A checkpoint is damaged.
    """
    if isinstance(scheduler.policy, Checkpoint):
        return Learned(scheduler)
    return Own(scheduler) if isinstance(scheduler.policy, PythonPolicy) else Classic(scheduler)


def check_decided(decided: Decided, held: Held) -> None:
    """Checks that a decision is about jobs that wait and nodes that there are.

    Raises:
        ValueError: It is not.
    """
    arrays = decided.arrays
    starts = arrays.starts
    if not held.waiting_set.issuperset(arrays.order) or not held.waiting_set.issuperset(starts):
        raise ValueError("the decision is not about jobs that wait")
    if len(arrays.nodes) and not (int(np.min(arrays.nodes)) >= 0 and int(np.max(arrays.nodes)) < len(held.node_names)):
        raise ValueError("the decision names nodes that there are not")
