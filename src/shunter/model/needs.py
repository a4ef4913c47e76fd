"""The words of the column ``depends_on``: ``afterok:12:13,after:14+30,singleton``."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from shunter.native import core_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SINGLETON: Final = "singleton"
FOLLOWS: Final = "follows"
"""The job is submitted when the other has ended, whatever its submit time."""
KINDS: Final = {name.replace("-", ""): code for name, code in core_numbers("Dependency").items()}
"""The kinds of dependencies by the names that users write, with the core's numbers."""
LONGEST_S: Final = 1e9
_MINUTES: Final = re.compile(r"(.+)\+([0-9]{1,12})", re.ASCII)
_SECONDS: Final = re.compile(r"(.+)\+([0-9]{1,12}(?:\.[0-9]{1,9})?)s", re.ASCII)
_MINUTES_OF: Final = "after"
"""The kind behind whose jobs Slurm writes minutes; elsewhere ``12+1`` is a job, a part of a heterogeneous one."""


class Need(NamedTuple):
    """One dependency: of which kind, and on which job or array, as the table calls it; `SINGLETON` names none."""

    kind: str
    on: str
    delay_ms: int = 0
    """How long after it is met the job may wait for nodes, or is submitted."""

    @property
    def word(self) -> str:
        """What stands behind the kind: ``12``, ``12+30``, ``12+95.5s``."""
        if self.delay_ms % 60_000 == 0 and self.delay_ms and self.kind == _MINUTES_OF:
            return f"{self.on}+{self.delay_ms // 60_000}"
        # An id may itself look like one with a delay.
        if self.delay_ms or _need(self.kind, self.on) != self:
            return f"{self.on}+{self.delay_ms / 1000:.3f}".rstrip("0").rstrip(".") + "s"
        return self.on

    @property
    def hint(self) -> str:
        """What to tell who may have meant minutes; empty where nobody can have."""
        meant = _MINUTES.fullmatch(self.on)
        return f" (a delay stands there in seconds, {meant[1]}+{60 * int(meant[2])}s)" if meant else ""


def parse_needs(text: str) -> Iterator[Need]:
    """Returns the dependencies in a cell: ``afterok:12:13,after:14+30,singleton``.

    Raises:
        ValueError: It is no such text; the message says what was expected.
    """
    if "?" in text:
        raise ValueError('dependencies that are all met ("," between them); "?" for any of them is not known')
    for part in text.split(","):
        kind, *others = part.strip().split(":")
        if kind == SINGLETON and not others:
            yield Need(SINGLETON, "")
        elif kind in KINDS and others and all(others):
            yield from (_need(kind, other) for other in others)
        else:
            raise ValueError(f"{', '.join(KINDS)} with job ids (afterok:12:13), or {SINGLETON}")


def _need(kind: str, word: str) -> Need:
    delay_s = 0.0
    if (told := _SECONDS.fullmatch(word)) is not None:
        delay_s = float(told[2])
    elif kind == _MINUTES_OF and (told := _MINUTES.fullmatch(word)) is not None:
        delay_s = 60 * float(told[2])
    if delay_s > LONGEST_S:
        raise ValueError(f"a delay of at most {LONGEST_S:,.0f} s")
    return Need(kind, told[1] if told else word, round(delay_s * 1000))


def with_other_names(cells: Iterable[str | None], name_of: Callable[[Need], str | None]) -> list[str | None]:
    """Returns cells of ``depends_on`` with other names for jobs and arrays; a need whose name is None is left out."""

    def renamed(text: str) -> str | None:
        needs = [need._replace(on=name_of(need) or "") if need.on else need for need in parse_needs(text)]
        kept = [need for need in needs if need.on or need.kind == SINGLETON]
        return written(kept) or None

    return [None if text is None else renamed(text) for text in cells]


def written(needs: Iterable[Need]) -> str:
    """Returns dependencies as a cell has them; neighbors of one kind stand together, as people write them."""
    groups = [(kind, list(group)) for kind, group in groupby(needs, key=lambda need: need.kind)]
    return ",".join(":".join([kind, *(need.word for need in group if need.on)]) for kind, group in groups)
