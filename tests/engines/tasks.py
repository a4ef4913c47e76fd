"""What engines are given in tests: functions that a fresh process can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from shunter.errors import InputError
from shunter.interruption import interruption


def square(number: int) -> int:
    """Returns the square; the smaller, the later."""
    time.sleep(0.2 if number < 2 else 0.0)
    return number * number


def picky(number: int) -> int:
    """Fails for 1 with an error that the user can mend, and for 2 with one of the program."""
    if number == 1:
        raise InputError("number is 1; expected another\nof two lines")
    if number == 2:
        raise ZeroDivisionError("by hand")
    return number


def dies(path: Path) -> str:
    """Dies without a word the first time."""
    if not path.exists():
        path.write_text("died")
        os.kill(os.getpid(), signal.SIGKILL)
    return "lived"


def dies_always(path: Path) -> None:
    """Dies without a word, and counts how often."""
    with path.open("a") as file:
        file.write("x")
    os.kill(os.getpid(), signal.SIGKILL)


def works_until_asked(path: Path) -> str:
    """Works until it is asked to stop, and then takes a moment to save."""
    with interruption() as asked:
        path.write_text(str(os.getpid()))
        while not asked.wait(0.05):
            pass
        path.with_suffix(".saved").write_text("saved")
    return "stopped"


def process_id(_: int) -> int:
    """Returns the number of the process."""
    return os.getpid()
