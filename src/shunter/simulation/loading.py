"""Loading what somebody else wrote down: the core names jobs by their rows, whoever wrote them by their ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shunter.errors import InputError
from shunter.simulation.simulation import Simulation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shunter.model.state import State
    from shunter.policies.scheduler import Scheduler

_ROW: Final = re.compile(r"job (\d+) ")
REMEDIES: Final = {
    "do not match what it asks for": "check its placed, devices and tasks",
    "do not have room for it": "check placed of all that run there, and the cluster",
    "can never run on this cluster": "leave it out, or give a larger cluster",
    "nothing in the table holds jobs": "let its state be waiting, or say what it waits for",
    "or is placed wrongly": "check its state, times and placed",
    "cannot run since": "check its eligible_s",
    "is before the first submit": "check now_s and submit_s",
}
"""What to do, by a part of what the core says."""


def loaded(state: State, scheduler: Scheduler, scores: NDArray[np.float64] | None = None) -> Simulation:
    """Returns a simulation in a state.

    Args:
        state: The state.
        scheduler: How the site schedules.
        scores: An order of the jobs, the lowest first, that takes the place of the policy's.

    Raises:
        InputError: The state contradicts itself; the message names it, and the job by its id.
    """
    simulation = Simulation(state.workload, state.cluster, scheduler, scores=scores)
    try:
        simulation.load(state.snapshot)
    except InputError as error:
        said = str(error)
        row = _ROW.match(said)
        if row is not None and int(row[1]) < len(state.workload):
            said = f"job {state.workload.jobs['job_id'][int(row[1])]} {said[row.end() :]}"
        remedy = next((f"; {words}" for part, words in REMEDIES.items() if part in said), "")
        name = "" if said.startswith("snapshot: ") else f"{state.workload.name}: "
        raise InputError(f"{name}{said}{remedy}") from None
    return simulation
