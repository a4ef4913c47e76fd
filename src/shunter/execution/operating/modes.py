"""How far Shunter may go beside a scheduler."""

from __future__ import annotations

from enum import IntEnum

from shunter.checks import check_name


class Mode(IntEnum):
    """How far to go; each does what those before it do."""

    OFF = 0
    """Nothing is read or decided; whatever was changed is undone."""
    OBSERVE = 1
    """Read and decide, and change nothing."""
    NUDGE = 2
    """Change what the scheduler itself weighs, within bounds."""
    ENFORCE = 3
    """Name the nodes of jobs, too."""

    @property
    def word(self) -> str:
        """How people write it."""
        return self.name.lower()


MODES = tuple(mode.word for mode in Mode)


def mode_of(word: str) -> Mode:
    """Returns the mode of a word.

    Raises:
        InputError: There is none of this name.
    """
    return Mode[check_name("mode", word, MODES).upper()]
