"""``shunter operate``: work beside a scheduler that goes on dispatching."""

from __future__ import annotations

from typing import Final

import click

from shunter.checks import check_name
from shunter.cli.parsing import Group

VERBS: Final = {
    "slurm": "shunter.cli.operate_slurm:slurm",
    "lsf": "shunter.cli.operate_lsf:lsf",
    "undo": "shunter.cli.operate_looking:undo",
    "status": "shunter.cli.operate_looking:status",
    "replay": "shunter.cli.operate_replay:replay",
}


class Operate(Group):
    """The verbs of operating."""

    def find(self, word: str) -> click.Command:
        """Returns a verb.

        Raises:
            InputError: There is none of this name.
        """
        return self.load(check_name("verb of operate", word, self.verbs))


def root() -> None:
    """Work beside a scheduler: observe it, nudge its order, and undo everything.

    For instance:

        shunter operate slurm --policy sjf

        shunter operate lsf --policy sjf --mode nudge --dry-run --once

        shunter operate undo

        shunter operate replay audit.jsonl --policy wfp3
    """


operate = Operate("operate", root, VERBS)
