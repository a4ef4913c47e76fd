"""``shunter queue``: a queue of commands on this machine. Each verb asks the daemon one thing, and prints it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from shunter.checks import check_name
from shunter.cli.parsing import Command, Group

ALIASES: Final = {
    "add": "submit", "sbatch": "submit", "ls": "list", "queue": "list", "squeue": "list", "jobs": "list",
    "kill": "cancel", "remove": "cancel", "rm": "cancel", "scancel": "cancel", "log": "logs", "info": "show",
    "stash": "hold", "unhold": "release", "enqueue": "release", "unpause": "resume", "continue": "resume",
    "parallel": "limit", "priority": "edit", "sinfo": "status", "shutdown": "stop",
}  # fmt: skip
"""What users of pueue, sbatch and others type, and the verb that they mean."""


_LOOKING, _CHANGING, _DAEMON = (f"shunter.cli.queue_{part}" for part in ("looking", "changing", "daemon"))
VERBS: Final = {
    "start": f"{_DAEMON}:start",
    "stop": f"{_DAEMON}:stop",
    "status": f"{_DAEMON}:status",
    "submit": "shunter.cli.queue_submit:submit",
    "list": f"{_LOOKING}:list_",
    "show": f"{_LOOKING}:show",
    "logs": f"{_LOOKING}:logs",
    "follow": f"{_LOOKING}:follow",
    "wait": f"{_LOOKING}:wait",
    "cancel": f"{_CHANGING}:cancel",
    "hold": f"{_CHANGING}:hold",
    "release": f"{_CHANGING}:release",
    "pause": f"{_CHANGING}:pause",
    "resume": f"{_CHANGING}:resume",
    "limit": f"{_CHANGING}:limit",
    "edit": f"{_CHANGING}:edit",
    "policy": f"{_DAEMON}:policy",
    "clean": f"{_CHANGING}:clean",
    "export": f"{_LOOKING}:export",
}


class Submit(Command):
    """Options end where the command begins: 'submit sleep --help' is not a question to us."""

    allow_interspersed_args = False


class Queue(Group):
    """The verbs of a queue, also by the words of other queues."""

    def find(self, word: str) -> click.Command:
        """Returns a verb.

        Raises:
            InputError: There is none of this name.
        """
        name = ALIASES.get(word, word)
        return self.load(check_name("verb of queue", name, self.verbs, synonyms=ALIASES))

    def made(self, name: str, function: Callable[..., Any], module: object) -> Command:
        """Returns the command that a function is."""
        return (Submit if name == "submit" else Command)(name, function)


def root() -> None:
    """Run commands on this machine in the best order, and never lose one.

    For instance:

        shunter queue start

        shunter queue submit -- sleep 10

        shunter queue list
    """


queue = Queue("queue", root, VERBS)
