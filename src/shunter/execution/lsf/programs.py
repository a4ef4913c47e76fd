"""LSF's programs, and what they are told by variables."""

from __future__ import annotations

import os
import re
from typing import Final

from shunter.execution.operating.programs import ProgramRunner

NOTHING: Final = re.compile(
    r"^(No (unfinished |pending )?job found|Job <[\d\[\]]+> is not found"
    r"|LSF is down\. Please wait|Cannot connect to LSF\. Please wait)"
)
"""What bjobs says where there is nothing to tell; that it had to wait for LSF may stand before that."""


class Programs(ProgramRunner):
    """The programs of one LSF."""

    def environment(self) -> dict[str, str]:
        """Returns the variables without those from which the programs read formats."""
        told = {key: value for key, value in os.environ.items() if not re.fullmatch(r"LSB_\w+_FORMAT", key)}
        return told | {"LSB_DISPLAY_YEAR": "Y", "LSB_SHORT_HOSTLIST": "1", "LC_ALL": "C"}
