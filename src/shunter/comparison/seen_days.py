"""Whether a checkpoint has seen the days that it is judged on, itself or by what it began from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeGuard

if TYPE_CHECKING:
    from shunter.model.workload import Workload

TRAINED, CHOSEN, TUNED, UNKNOWN = "trained", "chosen", "tuned", "unknown"
"""What days were used for; unknown: it does not say."""
DAYS: Final = "days"
"""Under this name the facts of a checkpoint list them: which log, which part of it, what for, and by whom if not by
itself."""


def places(part: Sequence[float], jobs: int) -> tuple[int, int]:
    """Returns the places of the first and the last job of a part of a log, from 0."""
    # A part may be so small that it rounds to no job; it has at least one then.
    first = min(round(part[0] * jobs), jobs - 1)
    return first, max(round(part[1] * jobs) - 1, first)


def are_days(days: object) -> TypeGuard[list[dict[str, Any]]]:
    """Returns whether what a checkpoint has under `DAYS` can be read."""
    if not isinstance(days, list):
        return False
    return all(isinstance(day, dict) and ("part" in day if day.get("use") != UNKNOWN else "by" in day) for day in days)


@dataclass(frozen=True)
class Judged:
    """The days of a log on which something is judged."""

    log: str
    sha256: str
    jobs: int
    part: tuple[float, float]
    submit_s: tuple[float, float]
    """Of the first and the last job."""

    @staticmethod
    def of(workload: Workload, part: tuple[float, float]) -> Judged:
        """Returns a part of a log."""
        jobs = len(workload)
        first, last = places(part, jobs)
        submit_s = workload.jobs["submit_s"]
        times = float(submit_s[first]), float(submit_s[last])
        return Judged(workload.name, workload.content_sha256, jobs, part, times)

    def overlaps(self, day: Mapping[str, Any]) -> bool:
        """Returns whether days of a training are days of this log, and some of them are judged on."""
        # By content first: a log may be renamed, and another may bear its name.
        is_same = day.get("sha256") == self.sha256
        if not is_same and day.get("log") != self.log:
            return False
        if not is_same and day.get("jobs") != self.jobs and "first_submit_s" in day:
            # A log that has grown since: fractions of it are other days than they were.
            return bool(day["first_submit_s"] <= self.submit_s[1] and self.submit_s[0] <= day["last_submit_s"])
        # The same jobs: fractions can be compared as they are.
        seen = day["part"]
        return bool(seen[0] < self.part[1] and self.part[0] < seen[1])


def part_warning(label: str, training: Mapping[str, Any], judged: Judged) -> str | None:
    """Returns a warning if a checkpoint has seen the part of the log that it is judged on; None if it has not.

    Args:
        label: What the checkpoint is called.
        training: The facts of its ``policy.json``.
        judged: The part of the log.
    """
    days = training.get(DAYS)
    # Checkpoints of other tools, or edited by hand: better to warn than to trust.
    if not are_days(days):
        return f"{label} does not say what it was trained on; make sure that it was not on this part of the log"
    for day in days:
        who = f"{day['by']}, from which it began," if "by" in day else "it"
        if day.get("use") == UNKNOWN:
            what = f"{day['by']}, which does not say what it was trained on"
            return f"{label} began from {what}; make sure that it was not on this part of the log"
        if judged.overlaps(day):
            (low, high), (first, last) = judged.part, day["part"]
            parts = f"{low:g}:{high:g} of the log overlaps with {first:g}:{last:g}"
            return f"{label}: {parts}, on which {who} was {day['use']}; the figures flatter it"
    return None
