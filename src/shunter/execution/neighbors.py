"""The schedulers that an operation works beside, by name."""

from __future__ import annotations

from shunter.checks import check_name
from shunter.execution.operating.configuration import Configuration
from shunter.execution.operating.folder import NEIGHBORS
from shunter.execution.operating.neighbor import Neighbor


def neighbor_of(scheduler: str, configuration: Configuration) -> Neighbor:
    """Returns who speaks to a scheduler.

    Args:
        scheduler: Its name.
        configuration: Where its programs are, how long they may take, and how they answer.

    Raises:
        InputError: There is none of this name.
    """
    has_json = {"auto": None, "json": True, "text": False}[configuration.answers]
    if check_name("scheduler", scheduler, NEIGHBORS) == "lsf":
        from shunter.execution.lsf.neighbor import Lsf
        from shunter.execution.lsf.programs import Programs as LsfPrograms

        programs = LsfPrograms(configuration.programs, configuration.timeout_s)
        return Lsf(programs, has_json=has_json, brun_queues=configuration.brun_queues)
    from shunter.execution.slurm.neighbor import Slurm
    from shunter.execution.slurm.programs import Programs

    return Slurm(Programs(configuration.programs, configuration.timeout_s), has_json=has_json)
