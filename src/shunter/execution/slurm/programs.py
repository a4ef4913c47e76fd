"""Slurm's programs, and what they are told by variables."""

from __future__ import annotations

import os

from shunter.execution.operating.programs import ProgramRunner


class Programs(ProgramRunner):
    """The programs of one Slurm."""

    def environment(self) -> dict[str, str]:
        """Returns the variables without those from which the programs read defaults."""
        told = {key: value for key, value in os.environ.items() if not key.startswith(("SQUEUE_", "SINFO_"))}
        # Slurm cuts long lists of array tasks unless told not to.
        return told | {"SLURM_BITSTR_LEN": "0", "SLURM_TIME_FORMAT": "standard", "LC_ALL": "C"}
