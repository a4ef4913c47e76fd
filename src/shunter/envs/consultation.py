"""A learned policy is asked in any state: what it sees and decides at one instant, as in its environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from shunter.envs.baselines import scaled_priority
from shunter.envs.features import JobColumns, JobView, own_features, write_features
from shunter.errors import InputError
from shunter.native import check, ffi, lib, opened, pointer
from shunter.policies.catalog import PICK_HOST
from shunter.simulation.decision import Answer, Decision, DecisionArrays, read_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.sources import EnvironmentOptions
    from shunter.model.workload import Workload
    from shunter.simulation.simulation import Simulation

Choose = Callable[["NDArray[np.float32]", "NDArray[np.bool_]"], int]
"""Returns an action for an observation and its mask."""


class Consultation:
    """The decisions of one instant, asked for one by one, on a copy of a simulation.

    As long as `due`, an answer is wanted: `observation` (observation size,) and `mask` (actions,) are those that the
    environment would show in this state, `jobs` are the jobs in the rows, and `act` takes the answer. Then `decision`
    tells what was decided.
    """

    def __init__(self, simulation: Simulation, workload: Workload, options: EnvironmentOptions) -> None:
        """Begins to ask.

        Args:
            simulation: Any state: of a simulation under way, or of one that has loaded a snapshot. Its dispatch rule is
                the one that the environment's mode stands for, its policy the order of the window.
            workload: Its jobs.
            options: The environment in which the policy was trained.

        Raises:
            InputError: The simulation is not one in which such a policy can decide.
        """
        table = workload.whole()
        self.layout = options.layout
        self._features = own_features(self.layout.extra_features)
        self._columns = JobColumns([table])
        self._first = len(table) - len(workload)
        """The place of the simulation's first job in the table."""
        self._simulation = simulation
        self._now_s = simulation.status().now_s
        self.answers: list[Answer] = []
        """What was shown and chosen so far."""
        shown = options.core_mode.shown_fields(self.layout)
        priority = scaled_priority(table)
        self._handle = simulation.open_consultation(ffi.new("ShunterEnvConfig *", shown), priority)
        self._check_hosts()
        self._look()

    def _check_hosts(self) -> None:
        """Raises an error where the policy was made for another number of hosts."""
        sizes = [ffi.new("uintptr_t *") for _ in range(3)]
        check(lib.shunter_consultation_sizes(self._handle.number, *sizes))
        hosts = int(sizes[1][0])
        if self.layout.kind == PICK_HOST and hosts != self.layout.num_hosts:
            raise InputError(f"the policy chooses among {self.layout.num_hosts} hosts; the cluster has {hosts}")
        self._rows = int(sizes[2][0])

    def _look(self) -> None:
        """Asks the core what is to be seen now."""
        self.observation = np.empty(self.layout.observation_size, dtype=np.float32)
        self.mask = np.empty(self.layout.actions, dtype=np.bool_)
        rows = np.empty(self._rows, dtype=np.int64)
        due = ffi.new("int32_t *")
        arrays = (pointer(self.observation), pointer(self.mask.view(np.uint8)), pointer(rows))
        check(lib.shunter_consultation_observe(self._handle.number, due, *arrays))
        self.due = bool(due[0])
        self.jobs: tuple[int, ...] = tuple(rows[rows >= 0].tolist())
        if self._features and self.due:
            places = np.where(rows >= 0, rows + self._first, -1)
            view = JobView(self._columns, places[None], np.full((1, 1), self._now_s))
            write_features(self._features, view, self.layout.split(self.observation[None])["jobs"])

    def act(self, action: int) -> None:
        """Carries out an action.

        Raises:
            InputError: The mask forbids it, or no answer is wanted.
        """
        answer = Answer(int(action), self.jobs, self.observation, self.mask)
        due = ffi.new("int32_t *")
        check(lib.shunter_consultation_act(self._handle.number, answer.action, due))
        self._simulation.raise_failure()
        self.answers.append(answer)
        self._look()

    def decision(self) -> Decision:
        """Returns what was decided, with all answers.

        Raises:
            InputError: An answer is still wanted.
        """
        return self.arrays().decision(self._now_s, tuple(self.answers))

    def arrays(self) -> DecisionArrays:
        """Returns what was decided, as the core tells it.

        Raises:
            InputError: An answer is still wanted.
        """
        return read_arrays(opened(lib.shunter_consultation_decision, self._handle.number))


def consult(simulation: Simulation, workload: Workload, options: EnvironmentOptions, choose: Choose) -> Decision:
    """Returns what is decided now if somebody chooses as in an environment; the simulation stays as it is.

    Args:
        simulation: As in `Consultation`.
        workload: Its jobs.
        options: The environment in which the chooser is at home.
        choose: Is asked for an action as often as one is wanted at this instant.

    Raises:
        InputError: The simulation is not one in which such a policy can decide, or an action is not allowed.
    """
    consultation = Consultation(simulation, workload, options)
    while consultation.due:
        consultation.act(choose(consultation.observation, consultation.mask))
    return consultation.decision()
