"""The ledger: every repair and every stand-in, counted, with an example."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class LedgerEntry:
    """One kind of repair or stand-in."""

    rule: str
    """What was done, as a short sentence: ``run time 0 s: job dropped``."""
    count: int
    """For how many jobs."""
    example: str
    """The first place where it was done: ``line 812: run time 0``."""
    mistake: bool = field(default=True, compare=False)
    """Whether the source was wrong; what is only left out, such as lines of another kind, is no mistake."""


@dataclass(frozen=True)
class Ledger:
    """All repairs and stand-ins behind a workload or a result, in the order in which they were made."""

    entries: tuple[LedgerEntry, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entries)

    def plus(self, rule: str, count: int, example: str, *, mistake: bool = True) -> Ledger:
        """Returns this ledger with a repair added, to the entry of the same rule if there is one; 0 adds nothing."""
        if not count:
            return self
        for place, entry in enumerate(self.entries):
            if entry.rule == rule:
                grown = LedgerEntry(rule, entry.count + count, entry.example, entry.mistake)
                return Ledger((*self.entries[:place], grown, *self.entries[place + 1 :]))
        return Ledger((*self.entries, LedgerEntry(rule, count, example, mistake)))

    def to_json(self) -> list[dict[str, str | int]]:
        """Returns the entries as plain objects."""
        return [{"rule": entry.rule, "count": entry.count, "example": entry.example} for entry in self.entries]
