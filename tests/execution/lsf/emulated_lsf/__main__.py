"""Runs one of the emulated programs: ``python -m tests.execution.lsf.emulated_lsf FOLDER PROGRAM ...``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.execution.lsf.emulated_lsf import control, machines
from tests.execution.lsf.emulated_lsf.formats import UsageError
from tests.execution.lsf.emulated_lsf.jobs import bjobs
from tests.execution.lsf.emulated_lsf.scheduler import advance
from tests.execution.lsf.emulated_lsf.state import State, changing
from tests.execution.lsf.emulated_lsf.trouble import meet

PROGRAMS: dict[str, Callable[[State, Sequence[str]], tuple[int, str, str]]] = {
    "bjobs": bjobs,
    "bhosts": machines.bhosts,
    "lshosts": machines.lshosts,
    "bqueues": machines.bqueues,
    "bmgroup": machines.bmgroup,
    "bsub": control.bsub,
    "bmod": control.bmod,
    "btop": lambda state, words: control.moved(state, words, from_top=True),
    "bbot": lambda state, words: control.moved(state, words, from_top=False),
    "bstop": lambda state, words: control.signaled(state, words, "bstop"),
    "bresume": lambda state, words: control.signaled(state, words, "bresume"),
    "bkill": lambda state, words: control.signaled(state, words, "bkill"),
    "brun": control.brun,
    "badmin": control.badmin,
}


def main() -> int:
    """Runs a program; returns its exit code."""
    folder, program, words = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    with (folder / "calls").open("a", encoding="utf-8") as calls:
        calls.write(" ".join([program, *words]) + "\n")
    code = meet(folder, program)
    if code is not None:
        return code
    with changing(folder) as state:
        advance(state, time.time())
        try:
            code, out, errors = PROGRAMS[program](state, words)
        except UsageError as error:
            code, out, errors = 255, "", f"{error}\nUsage: {program} [-h] [-V] ...\n"
        # What was changed may let a job start at once.
        advance(state, time.time())
    sys.stdout.write(out)
    sys.stderr.write(errors)
    return code


if __name__ == "__main__":
    sys.exit(main())
